/* SPDX-License-Identifier: MIT */
/*
 * weir.h - Weir's API for programs and language bindings.
 *
 * The only header an embedder includes.  It says everything in fixed-width
 * integers, explicit lengths and UTF-8, so that it can be called from any
 * language with a C interface.
 *
 * HANDLES
 *   Each object is a 64-bit handle below 2^53: 4 bits of type, 17 bits of
 *   index, 32 bits of lease or generation.  0 is never valid.  A stale, foreign
 *   or doubly released handle is answered with WEIR_E_HANDLE; it never reaches
 *   a connection and never crashes.  A handle's value could repeat after its
 *   slot has been used 2^32 times (at 10 million leases a second of one and the
 *   same slot: 7 minutes).  At most 131,072 objects of one kind exist at a time;
 *   beyond that, calls answer WEIR_E_SPACE.
 *   A handle is not a secret: a value that the caller makes up may happen to be
 *   somebody's.
 *
 * RESULTS
 *   Each function that can fail returns WEIR_OK, or a negative WEIR_E_* code,
 *   and fills *err when err is not NULL.  Outputs are written on success only.
 *   Every pointer named err, and every output said to be optional, may be NULL.
 *
 * TIME
 *   Time-outs are nanoseconds, relative to the call: 0 tries without waiting,
 *   WEIR_TIMEOUT_POOL (-1) takes the pool's setting, WEIR_TIMEOUT_NEVER waits
 *   for ever.  Other negative values are refused with WEIR_E_ARG.  A jump of
 *   the wall clock changes nothing.
 *
 * THREADS
 *   Every function may be called from any thread, unless it says otherwise.
 *   Calls on one lease must not overlap; one that does is answered with
 *   WEIR_E_BUSY.  None may be called from a signal handler.  The library
 *   installs no signal handler and its threads block all signals.
 *
 * FORK
 *   In a forked child each call answers WEIR_E_FORK.
 *   weir_forget_after_fork() closes the descriptors the child inherited.
 *
 * CONNECTION STRING
 *   "Name=value;Name=value", names case-insensitive, as ADO.NET reads it.  All
 *   settings live there.  Driver= is required.  engine/README.md lists them.
 *
 * LOG
 *   WEIR_LOG=error, warn, info or debug in the environment has each engine
 *   opened from then on write lines of that level and the graver ones to
 *   standard error: "weir: LEVEL: text".  Without it, with another value, with
 *   WEIR_ENGINE_NO_ENV, or in a program that runs with more rights than its
 *   caller, nothing is written.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#  define WEIR_API __attribute__((visibility("default")))
#else
#  define WEIR_API
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

typedef uint64_t weir_h;

/* ------------------------------------------------------------------ status */

#define WEIR_OK            0
#define WEIR_PENDING       1    /* not finished yet */
#define WEIR_E_FAIL        (-1) /* it failed: *err says how */
#define WEIR_E_ARG         (-2) /* an argument is wrong: *err names it */
#define WEIR_E_HANDLE      (-3) /* stale, foreign or released handle */
#define WEIR_E_NOMEM       (-4) /* no memory */
#define WEIR_E_FORK        (-5) /* called in a forked child */
#define WEIR_E_CLOSED      (-6) /* the pool or the engine is shutting down */
#define WEIR_E_UNSUPPORTED (-7) /* neither this build nor driver can do it */
#define WEIR_E_BUSY        (-8) /* a call on this lease runs; a queue is full */
#define WEIR_E_SPACE       (-9) /* too many objects, or the buffer is small */
#define WEIR_E_TIMEOUT     (-10) /* the time-out passed */
#define WEIR_E_OVERLOADED  (-11) /* refused so that others are served */
#define WEIR_E_DOWN        (-12) /* the endpoint is down */
#define WEIR_E_CANCELLED   (-13) /* cancelled by the caller */

#define WEIR_TIMEOUT_POOL  INT64_C(-1)
#define WEIR_TIMEOUT_NEVER INT64_MAX

/* phase: what was being done when it failed. */
#define WEIR_PHASE_NONE    0
#define WEIR_PHASE_PARSE   1  /* reading the connection string */
#define WEIR_PHASE_LOAD    2  /* loading the driver */
#define WEIR_PHASE_QUEUE   3  /* waiting for a connection of the pool */
#define WEIR_PHASE_RESOLVE 4  /* looking up the server's name */
#define WEIR_PHASE_CONNECT 5  /* opening the byte stream */
#define WEIR_PHASE_TLS     6  /* TLS handshake */
#define WEIR_PHASE_LOGIN   7  /* the driver's protocol up to a usable session */
#define WEIR_PHASE_EXEC    8  /* running a statement */
#define WEIR_PHASE_RESET   9  /* cleaning a connection for its next user */
#define WEIR_PHASE_CLOSE   10 /* closing */

/* scope: how much is broken.  Each contains those before it. */
#define WEIR_SCOPE_NONE      0
#define WEIR_SCOPE_STATEMENT 1 /* this statement; the connection is good */
#define WEIR_SCOPE_TXN       2 /* the transaction: only roll-back is left */
#define WEIR_SCOPE_CONN      3 /* this connection */
#define WEIR_SCOPE_ENDPOINT  4 /* every connection to that server */
#define WEIR_SCOPE_CONFIG    5 /* every attempt with this connection string */
#define WEIR_SCOPE_DRIVER    6 /* the driver itself */

/* kind: what went wrong. */
#define WEIR_KIND_OTHER        0
#define WEIR_KIND_NETWORK      1
#define WEIR_KIND_TIMEOUT      2
#define WEIR_KIND_CANCELLED    3
#define WEIR_KIND_AUTH         4  /* credential refused */
#define WEIR_KIND_AUTH_EXPIRED 5  /* credential too old */
#define WEIR_KIND_TLS          6  /* handshake or certificate */
#define WEIR_KIND_NAME         7  /* the server's name did not resolve */
#define WEIR_KIND_PROTOCOL     8  /* the server sent what it must not */
#define WEIR_KIND_THROTTLED    9  /* the server asks for less load */
#define WEIR_KIND_FAILOVER     10 /* wrong or moving replica */
#define WEIR_KIND_DEADLOCK     11
#define WEIR_KIND_CONSTRAINT   12
#define WEIR_KIND_SYNTAX       13
#define WEIR_KIND_RESOURCE     14 /* out of memory, descriptors, sessions, ... */
#define WEIR_KIND_CONFIG       15 /* bad option */
#define WEIR_KIND_UNSUPPORTED  16
#define WEIR_KIND_INTERNAL     17 /* a bug in the driver */

/* retry: what may help. */
#define WEIR_RETRY_NO    0
#define WEIR_RETRY_SAME  1 /* again on the same connection */
#define WEIR_RETRY_OTHER 2 /* another connection to the same server */
#define WEIR_RETRY_ELSE  3 /* another server */
#define WEIR_RETRY_CRED  4 /* a new credential */

/* txn: what is known of the connection's transaction. */
#define WEIR_TXN_NONE    0
#define WEIR_TXN_OPEN    1
#define WEIR_TXN_DOOMED  2 /* only roll-back is left */
#define WEIR_TXN_UNKNOWN 3 /* commit was sent; the outcome is not known */

/* flags, of an error. */
#define WEIR_FLAG_MAYBE_EXECUTED UINT32_C(1) /* the server may have run it */
#define WEIR_FLAG_TRUNCATED      UINT32_C(2) /* the message was cut */

/* What went wrong, in the caller's memory.  struct_size is set by the caller
 * to sizeof(struct weir_error); the library fills no more than that. */
struct weir_error {
  uint32_t struct_size;
  int32_t code;   /* WEIR_E_*: the same as the function's result */
  int32_t phase;  /* WEIR_PHASE_* */
  int32_t scope;  /* WEIR_SCOPE_* */
  int32_t kind;   /* WEIR_KIND_* */
  int32_t retry;  /* WEIR_RETRY_* */
  int32_t txn;    /* WEIR_TXN_* */
  uint32_t flags; /* WEIR_FLAG_* */
  int32_t native; /* the server's number, 0 if none */
  uint32_t native_severity;
  uint32_t retry_after_ms; /* 0: no advice */
  uint32_t message_len;    /* bytes in message, without the NUL */
  char sqlstate[8];        /* NUL-terminated, "" if none */
  char message[1024];      /* UTF-8, NUL-terminated, cut at a character */
  uint32_t native_state;   /* the server's state of its number; 0: none */
  uint32_t line;           /* in the statement or procedure; 0: not known */
};

/* The name of a status code, such as "WEIR_E_TIMEOUT"; "unknown" for others.
 * Never NULL; static storage.  Does not block. */
WEIR_API const char *weir_status_name(int32_t code);

/* Version of the library: major << 16 | minor << 8 | patch. */
WEIR_API uint32_t weir_version(void);

/* 1 if this library has the feature called name ("tls", "driver-abi-0",
 * "blocking", ...), else 0.  name is UTF-8 of name_len bytes. */
WEIR_API int32_t weir_feature(const char *name, uint64_t name_len);

/* ------------------------------------------------------------------ engine */

#define WEIR_ENGINE_NO_ENV       1u /* ignore WEIR_DRIVER_PATH and WEIR_LOG */
#define WEIR_ENGINE_FOREIGN_LOOP 2u /* no reactor thread: weir_engine_turn() */

/* All zero means defaults. */
struct weir_engine_opts {
  uint32_t struct_size;     /* sizeof(struct weir_engine_opts) */
  uint32_t flags;           /* WEIR_ENGINE_* */
  uint32_t threads;         /* reactor threads: 0 and 1 mean one; 0 with
                             * WEIR_ENGINE_FOREIGN_LOOP: none */
  uint32_t offload_threads; /* most threads for DNS and the like; 0 = 16 */
  const char *driver_dirs;  /* directories searched first, ':' between them */
  uint64_t driver_dirs_len;
};

/* Opens an engine: the owner of drivers, pools and the reactor thread.
 * opts: optional.  Returns WEIR_E_ARG (bad option), WEIR_E_NOMEM,
 * WEIR_E_SPACE, WEIR_E_FAIL (no thread or descriptor to be had).
 * Owns: *out_engine until weir_engine_shutdown().  Blocks: for the start of a
 * thread. */
WEIR_API int32_t weir_engine_open(const struct weir_engine_opts *opts,
                                  weir_h *out_engine,
                                  struct weir_error *err);

/* Ends an engine: refuses new work, ends every waiting acquire with
 * WEIR_E_CLOSED, closes idle connections, waits until leases come back, aborts
 * what is left when grace_ns has passed, and frees everything.  Returns WEIR_OK
 * when nothing remains, WEIR_E_TIMEOUT when calls are still inside a driver or
 * other foreign code (*err counts them; what they hold is freed when they
 * return), WEIR_E_HANDLE.  grace_ns: 0 aborts at once, WEIR_TIMEOUT_NEVER waits
 * for all leases.  The handle is dead from the start of the call; a second call
 * answers WEIR_E_HANDLE.  Blocks: up to grace_ns and the drivers' abort. */
WEIR_API int32_t weir_engine_shutdown(weir_h engine,
                                      int64_t grace_ns,
                                      struct weir_error *err);

/* For an engine with WEIR_ENGINE_FOREIGN_LOOP, which starts no thread but for name
 * look-ups and blocking calls of drivers, and whose reactor runs on the program's
 * own event loop.  Writes the descriptor to be watched for reading to *out_fd; it
 * is the engine's, only to be polled, and stays the same to its end, before which
 * it is to be taken out of poll sets.  It is readable at first: call
 * weir_engine_turn().
 *
 * Blocking calls work as ever: one that waits for something only the reactor can
 * do (an acquire in line, a completion, a drain, weir_pool_wait_ready(), a request
 * of a credential, the shutdown) runs the reactor while it waits, in turn with
 * others.  A call that drives its own connection (a connect, a statement) does
 * not; closes, resets and expiries then wait for the next turn.
 *
 * Returns WEIR_E_HANDLE; WEIR_E_ARG (out_fd is NULL, or the engine has a thread of
 * its own).  Does not block. */
WEIR_API int32_t weir_engine_fd(weir_h engine,
                                int64_t *out_fd,
                                struct weir_error *err);

/* Runs what is due on the reactor of such an engine: to be called when the
 * descriptor is readable and when the time it gave last has passed.  *out_due_ns
 * (optional) gets the time from now to the next deadline, in nanoseconds, 0 if
 * there is more to do at once, WEIR_TIMEOUT_NEVER if none is set.  That holds until
 * the next call; a deadline that is set meanwhile, by any thread, makes the
 * descriptor readable if it is an earlier one.  While another thread runs the
 * reactor (a blocking call that takes its turn) the descriptor is not readable,
 * nothing is done here, and *out_due_ns gets WEIR_TIMEOUT_NEVER; when that thread
 * is through, the descriptor is readable if there is something to do or to know.
 * Returns WEIR_E_HANDLE, WEIR_E_ARG (the engine has a thread of its own).
 * Threads: any, one at a time runs it.  Does not block. */
WEIR_API int32_t weir_engine_turn(weir_h engine,
                                  int64_t *out_due_ns,
                                  struct weir_error *err);

/* In a forked child: closes every descriptor of the parent's engines with
 * close(2) and makes all their handles stale, so that the child may open an
 * engine of its own.  Frees nothing and takes no lock.  Returns WEIR_OK, also
 * when there was nothing to do; WEIR_E_ARG if this process opened the engines
 * itself. */
WEIR_API int32_t weir_forget_after_fork(void);

/* ----------------------------------------------------------------- drivers */

/* Loads the driver called name (letters, digits, _) or, if name contains a
 * slash, the file at that absolute path.  Loading twice is loading once; a
 * driver is never unloaded.  Pools load theirs by themselves; this call is for
 * finding trouble early.  Returns WEIR_E_FAIL with the file, what was found,
 * what was wanted and what to do; WEIR_E_ARG, WEIR_E_HANDLE, WEIR_E_NOMEM.
 * Blocks: on the file system. */
WEIR_API int32_t weir_driver_load(weir_h engine,
                                  const char *name,
                                  uint64_t name_len,
                                  struct weir_error *err);

/* One driver, as weir_driver_list() tells it.  Texts are NUL-terminated. */
struct weir_driver_info {
  uint32_t struct_size; /* set by the caller: the size of one element */
  int32_t status;       /* WEIR_OK: it loads; else why it does not */
  uint64_t caps;        /* WEIR_DRV_CAP_* of weir_driver.h */
  char name[32];
  char version[32];
  char path[256];
  char problem[512]; /* "" when status is WEIR_OK */
};

/* Tells every driver found in the search path, in order of name, loading each.
 * info: array of cap elements, each with struct_size set; *out_n gets the
 * number there are, which may be more than cap.  Returns WEIR_E_HANDLE,
 * WEIR_E_ARG, WEIR_E_NOMEM.  Blocks: on the file system. */
WEIR_API int32_t weir_driver_list(weir_h engine,
                                  struct weir_driver_info *info,
                                  uint32_t cap,
                                  uint32_t *out_n,
                                  struct weir_error *err);

/* ------------------------------------------------------------- credentials */

/* A credential that the program supplies when a connection is being opened: an
 * access token, say.  Its handle goes into the connection string as a decimal
 * number, Credential=N; the pool's key holds that number and nothing of the
 * secret, so two credentials are two pools, whatever they supply.  Each time a
 * driver needs a secret, a request appears, which the program answers; a connect
 * that nobody answers for runs into its time-out.  A string that gives a Password
 * or an Access Token itself is refused. */

/* Makes a credential.  Returns WEIR_E_HANDLE, WEIR_E_SPACE, WEIR_E_NOMEM,
 * WEIR_E_CLOSED.  Owns: *out_credential until weir_credential_close().  Does not
 * block. */
WEIR_API int32_t weir_credential_open(weir_h engine,
                                      weir_h *out_credential,
                                      struct weir_error *err);

/* Ends a credential: its open requests fail, a weir_credential_next() that waits
 * answers WEIR_E_CLOSED, and later connects that need it fail.  The end of the
 * engine does the same.  Returns WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_credential_close(weir_h credential);

#define WEIR_CRED_PASSWORD    1
#define WEIR_CRED_BEARER      2 /* OAuth access token */
#define WEIR_CRED_KERBEROS    3
#define WEIR_CRED_CLIENT_CERT 4

/* What a driver asks for.  The texts are UTF-8 with a NUL, cut if they do not
 * fit; "" is absent. */
struct weir_credential_request {
  uint32_t struct_size; /* set by the caller */
  int32_t kind;         /* WEIR_CRED_* */
  uint32_t attempt;     /* 0 so far: a refused secret fails its connect */
  uint32_t reserved0;
  weir_h request;      /* for the answer */
  char server[256];    /* host,port */
  char principal[256]; /* the user, if the connection string names one */
  char resource[512];  /* the audience or SPN that the server named */
  char authority[512]; /* the issuer that the server named */
};

/* Waits up to timeout_ns (0 or more) for the next request of a credential.  Returns
 * WEIR_E_TIMEOUT, WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_ARG.  Several threads may
 * wait; each request goes to one.  Blocks: up to timeout_ns. */
WEIR_API int32_t weir_credential_next(weir_h credential,
                                      int64_t timeout_ns,
                                      struct weir_credential_request *out,
                                      struct weir_error *err);

/* Answers a request.  secret: len bytes, 1 to 1 MiB, copied to pages set aside
 * for secrets and wiped after use.  expires_unix_s: when it ends; 0: not known.
 * Returns WEIR_E_HANDLE (answered before, or the connect has given up),
 * WEIR_E_ARG, WEIR_E_NOMEM.  Does not block. */
WEIR_API int32_t weir_credential_answer(weir_h request,
                                        const void *secret,
                                        uint64_t len,
                                        uint64_t expires_unix_s,
                                        struct weir_error *err);

/* Refuses a request: the connect fails with message (UTF-8, no secret).  Returns
 * as weir_credential_answer(). */
WEIR_API int32_t weir_credential_refuse(weir_h request,
                                        const char *message,
                                        uint64_t message_len,
                                        struct weir_error *err);

/* ------------------------------------------------------------------- pools */

/* Opens the pool for a connection string, or finds the one this engine already
 * has for an equal key; each successful call needs one weir_pool_close().
 * Settings that are not part of the key (Connect Timeout, Command Timeout, ...)
 * are those of the first open; a later one changes nothing about them.
 * Opens no connection unless Min Pool Size says so, and then in the background;
 * with Startup=require it returns when they are open, at least one, and fails with
 * the first connect that does, as weir_acquire() would, within Connect Timeout.
 * Returns WEIR_E_ARG (the string: *err names the option and the position),
 * WEIR_E_FAIL (driver cannot be loaded, or refused an option), WEIR_E_HANDLE,
 * WEIR_E_CLOSED, WEIR_E_SPACE, WEIR_E_NOMEM; with Startup=require also
 * WEIR_E_TIMEOUT, WEIR_E_DOWN and WEIR_E_OVERLOADED.  The string is copied,
 * secrets in it are kept apart.  Blocks: on loading a driver; with
 * Startup=require up to Connect Timeout. */
WEIR_API int32_t weir_pool_open(weir_h engine,
                                const char *conninfo,
                                uint64_t conninfo_len,
                                weir_h *out_pool,
                                struct weir_error *err);

/* Gives one weir_pool_open() back.  With the last one the pool closes: waiting
 * acquires end with WEIR_E_CLOSED, idle connections are closed, leased ones
 * when they come back.  Returns WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_pool_close(weir_h pool);

/* Retires every connection opened before this call: idle ones now, leased ones
 * when they come back, those being opened as soon as they are open.  An acquire
 * that begins after this call returned gets none of them.  Waiters keep their
 * place.  Failed connects are forgotten.  With Pool Growth=adaptive nothing is
 * opened for Min Pool Size for 1 s.  The sessions end in the
 * background; with no lease out, the server has none left when weir_pool_stats()
 * shows closing = 0 and connecting = 0, so that a database can be dropped then.
 * Returns WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_pool_clear(weir_h pool);

/* Counts of one pool at one moment.  Slots add up: total = connecting + idle +
 * leased + reserved + parked + stasis + closing, and empty is the rest up to
 * effective_max, 0 if that has become less than the total. */
struct weir_pool_stats {
  uint32_t struct_size; /* set by the caller */
  uint32_t max_size;
  uint32_t min_size;
  uint32_t empty;
  uint32_t connecting;
  uint32_t idle;
  uint32_t leased;
  uint32_t reserved;
  uint32_t parked;
  uint32_t stasis;
  uint32_t closing;
  uint32_t waiters;
  uint64_t acquired;        /* leases given since the pool opened */
  uint64_t released;        /* leases taken back */
  uint64_t connects_begun;  /* physical connects started */
  uint64_t connects_ok;     /* ... that gave a session */
  uint64_t connects_failed; /* ... that did not */
  uint64_t closed;          /* sessions closed */
  uint64_t timeouts;        /* acquires that ended with WEIR_E_TIMEOUT */
  uint64_t handovers;       /* leases handed from a release to a waiter */
  /* Members from here on are filled if struct_size says they are there. */
  uint32_t effective_max;  /* Max Pool Size, or less: resize, overload */
  uint32_t generation;     /* grows with each clear */
  uint32_t state;          /* WEIR_POOL_* */
  uint32_t breaker;        /* WEIR_BREAKER_* of the endpoint */
  uint64_t oldest_wait_ns; /* of those who wait now */
  uint64_t hold_ns;        /* running average of a lease's time; 0: not known */
  uint64_t connect_ns;     /* running average of a connect's; 0: not known */
  uint64_t cancelled;      /* acquires that ended with WEIR_E_CANCELLED */
  uint64_t overloaded;     /* ... with WEIR_E_OVERLOADED */
  uint64_t down;           /* ... with WEIR_E_DOWN */
  uint64_t overtakes;      /* leases taken past a waiter (Pool Handoff) */
  uint64_t wait_count;     /* acquires that waited and were served */
  uint64_t wait_sum_ns;    /* their waits, from enqueue to grant */
  uint64_t wait_max_ns;
  /* wait_bucket[i]: of those, waits below 1 us << i; the last has the rest. */
  uint64_t wait_bucket[32];
  /* How long no connect begins because some have failed (Pool Failure); 0: one
   * may. */
  uint64_t blocked_ns;
};

#define WEIR_POOL_OPEN     0
#define WEIR_POOL_PAUSED   1
#define WEIR_POOL_DRAINING 2
#define WEIR_POOL_CLOSED   3

#define WEIR_BREAKER_CLOSED    0 /* the endpoint is thought well */
#define WEIR_BREAKER_OPEN      1 /* down: nothing is opened before a probe */
#define WEIR_BREAKER_HALF_OPEN 2 /* one probe is under way */
#define WEIR_BREAKER_RAMP      3 /* up again: 1, 2, 4 ... connects at once */

/* Fills *out.  Sums are exact when no call is running.  Returns WEIR_E_HANDLE,
 * WEIR_E_ARG.  Blocks: briefly, on the pool's lock. */
WEIR_API int32_t weir_pool_stats(weir_h pool, struct weir_pool_stats *out);

/* The sixteen counters of Microsoft.Data.SqlClient, by its names and definitions.
 * Exact when no call is running. */
struct weir_counters {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved0;
  uint64_t active_hard_connections;
  uint64_t hard_connects;    /* cumulative, where SqlClient shows rates */
  uint64_t hard_disconnects; /* likewise */
  uint64_t active_soft_connects;
  uint64_t soft_connects;    /* likewise */
  uint64_t soft_disconnects; /* likewise */
  uint64_t number_of_non_pooled_connections;
  uint64_t number_of_pooled_connections;
  uint64_t number_of_active_connection_pool_groups; /* keys */
  uint64_t number_of_inactive_connection_pool_groups;
  uint64_t number_of_active_connection_pools;
  uint64_t number_of_inactive_connection_pools; /* closed, not yet empty */
  uint64_t number_of_active_connections;
  uint64_t number_of_free_connections; /* idle and parked */
  uint64_t number_of_stasis_connections;
  uint64_t number_of_reclaimed_connections; /* cumulative */
};

/* Fills *out with the counters of one pool, or with the sums over all pools the
 * engine has had.  Returns WEIR_E_HANDLE, WEIR_E_ARG.  Blocks: briefly, on locks
 * of the pools. */
WEIR_API int32_t weir_pool_counters(weir_h pool, struct weir_counters *out);
WEIR_API int32_t weir_engine_counters(weir_h engine, struct weir_counters *out);

/* Waits until the pool is ready: Min Pool Size connections are open, or one if
 * that is 0, in which case one is opened.  Connects that fail are tried again, once
 * a second.  Returns WEIR_E_TIMEOUT (*err tells the
 * last connect error), WEIR_E_FAIL (a connect failed in a way that another
 * attempt cannot mend, such as a wrong password), WEIR_E_CLOSED, WEIR_E_HANDLE,
 * WEIR_E_ARG.  Blocks: up to timeout_ns. */
WEIR_API int32_t weir_pool_wait_ready(weir_h pool,
                                      int64_t timeout_ns,
                                      struct weir_error *err);

/* Pauses: from now on no acquire is served, those that come wait in line, and
 * their time-outs run on.  Leases go on as before, and nothing is opened.
 * weir_pool_resume() ends that, and a drain, and serves who waits.  Both do
 * nothing if there is nothing to do; a pool that drains is not paused, and pauses
 * are not counted.  Returns WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_pool_pause(weir_h pool);
WEIR_API int32_t weir_pool_resume(weir_h pool);

/* Empties the pool: new acquires are refused with WEIR_E_CLOSED, those that wait
 * are served as leases come back and told WEIR_E_CLOSED when none is left that
 * could, idle connections are closed, leased ones when they come back.  Nothing is
 * opened, and a pause ends.  When grace_ns has passed, waiters end with
 * WEIR_E_CLOSED, connects are given up, and the leases that are left are taken
 * away: their handles are stale, a statement that runs ends with WEIR_E_CLOSED.
 * The pool stays so until weir_pool_resume().
 * Returns WEIR_OK when every lease came back and every session is closed;
 * WEIR_E_TIMEOUT when the grace passed first (*err says how many leases were taken
 * away, how many waiters refused, and how many sessions are still closing),
 * WEIR_E_CANCELLED (resumed meanwhile), WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_ARG.
 * grace_ns: 0 cuts off at once, WEIR_TIMEOUT_NEVER waits for all leases.
 * Blocks: up to grace_ns, Close Timeout and 1 s. */
WEIR_API int32_t weir_pool_drain(weir_h pool,
                                 int64_t grace_ns,
                                 struct weir_error *err);

/* Changes Min and Max Pool Size.  A smaller maximum closes idle connections at
 * once, and leased ones as they come back, until it is met; a larger one serves
 * those who wait.  No lease and no place in line is lost.  Returns WEIR_E_ARG,
 * WEIR_E_HANDLE, WEIR_E_NOMEM, WEIR_E_CLOSED, WEIR_E_SPACE as
 * weir_pool_reconfigure().  Does not block. */
WEIR_API int32_t weir_pool_resize(weir_h pool,
                                  uint32_t min_size,
                                  uint32_t max_size,
                                  struct weir_error *err);

/* Gives settings of a running pool new values: all of them, or none if one is
 * refused.  changes: "Name=value;Name=value", UTF-8; those that are marked
 * changeable in `weirctl help settings`.  Each acts on what is done from then on;
 * an expiry that a connection has been given stays.  The pool's key stays what it
 * was, so two pools can come to have equal settings.  Those who wait keep their
 * places, also when Max Waiters becomes less, and their time-outs.  Failed connects
 * are forgotten: the next may begin at once.  Returns
 * WEIR_E_ARG (*err names the setting), WEIR_E_UNSUPPORTED (it is not built yet),
 * WEIR_E_HANDLE, WEIR_E_NOMEM, WEIR_E_CLOSED; WEIR_E_SPACE when calls that began
 * before are still inside the library and 1,024 changes were made meanwhile.  Does
 * not block. */
WEIR_API int32_t weir_pool_reconfigure(weir_h pool,
                                       const char *changes,
                                       uint64_t changes_len,
                                       struct weir_error *err);

/* Writes the pool's key, without secrets, as UTF-8 with a NUL into buf of cap
 * bytes; *out_need (optional) gets the bytes needed.  Returns WEIR_E_SPACE when
 * cap is too small, WEIR_E_HANDLE, WEIR_E_ARG. */
WEIR_API int32_t weir_pool_key(weir_h pool,
                               char *buf,
                               uint64_t cap,
                               uint64_t *out_need);

/* The same for a connection string that no pool is opened for; errors as
 * weir_pool_open(). */
WEIR_API int32_t weir_conninfo_key(weir_h engine,
                                   const char *conninfo,
                                   uint64_t conninfo_len,
                                   char *buf,
                                   uint64_t cap,
                                   uint64_t *out_need,
                                   struct weir_error *err);

/* Says what keeps two connection strings from sharing a pool: one line for each
 * difference, "KIND NAME" and '\n', with a NUL behind; "" if they would share one.
 * KIND is driver (the driver, or something that it goes by), setting (of the
 * engine), secret (of either: named, never shown), or text (with Pool Key=exact:
 * the way it is written).  NAME is the rest of the line, as in the key.
 * *inout_len is the room in buf, and then the bytes needed.  Returns WEIR_E_SPACE
 * when that is too small; errors as weir_pool_open(). */
WEIR_API int32_t weir_conninfo_diff(weir_h engine,
                                    const char *a,
                                    uint64_t a_len,
                                    const char *b,
                                    uint64_t b_len,
                                    char *buf,
                                    uint64_t *inout_len,
                                    struct weir_error *err);

/* Writes what the engine has noticed about its pools: one line each, "N pools or
 * more differ only in "Application Name", ...", '\n' behind it, and a NUL; "" if
 * there is nothing to say.  It tells of eight pools or more of one server, among
 * the 64 opened last, whose keys differ in one part only; of eight such parts at
 * most, by name, never by value.  WEIR_LOG=warn has each told once when it is
 * noticed.  *out_need (optional) gets the bytes needed.  Returns WEIR_E_SPACE,
 * WEIR_E_HANDLE, WEIR_E_ARG.  Does not block. */
WEIR_API int32_t weir_engine_advice(weir_h engine,
                                    char *buf,
                                    uint64_t cap,
                                    uint64_t *out_need);

/* ------------------------------------------------------------------ leases */

/* Gets a connection, waiting at most timeout_ns for an idle one or a new one;
 * WEIR_TIMEOUT_POOL is the pool's Connect Timeout.  0 takes an idle connection
 * or none: it opens nothing, so on a new pool it always fails.  With Connect
 * Timeout Scope=per-phase timeout_ns is for the wait, and a connect that has begun
 * may take a whole Connect Timeout besides.  First come, first served among
 * callers that wait (engine/README.md: Pool Handoff).
 * Returns WEIR_E_TIMEOUT (*err tells in one sentence what the connections are
 * doing and for how long, how many callers wait, and the last connect error),
 * WEIR_E_FAIL (this caller's connect failed: *err says in which phase; or one of
 * the pool's did before, and none begins for err->retry_after_ms: Pool Failure),
 * WEIR_E_DOWN (the endpoint is down and Pool Blocking Period is always, or
 * Startup=require has yet to open one), WEIR_E_CLOSED, WEIR_E_OVERLOADED (Max
 * Waiters, Queue Policy), WEIR_E_HANDLE, WEIR_E_ARG, WEIR_E_NOMEM, WEIR_E_SPACE.
 * Owns: *out_lease until weir_release() or weir_discard().
 * Blocks: up to timeout_ns; per phase a Connect Timeout more. */
WEIR_API int32_t weir_acquire(weir_h pool,
                              int64_t timeout_ns,
                              weir_h *out_lease,
                              struct weir_error *err);

/* Gives a connection back.  It is reset before anyone else uses it, and closed
 * instead if it is broken, expired or was cleared.  An open transaction is rolled
 * back.  A result that was not read to its end is cancelled and its rest thrown
 * away, both in the background; a server that does not confirm that within 1 s
 * costs the connection.  Returns WEIR_OK; WEIR_E_HANDLE for a second or
 * stale release; WEIR_E_BUSY while another call on the lease runs.
 * Does not block and does no network I/O. */
WEIR_API int32_t weir_release(weir_h lease);

/* Gives a connection back and has it closed.  Results as weir_release(). */
WEIR_API int32_t weir_discard(weir_h lease);

/* Facts about the connection, for weir_lease_info(). */
#define WEIR_INFO_SERVER_NAME    1
#define WEIR_INFO_SERVER_VERSION 2
#define WEIR_INFO_SESSION_ID     3
#define WEIR_INFO_DATABASE       4
#define WEIR_INFO_TLS            5 /* protocol and cipher; "" when in clear */
#define WEIR_INFO_PEER           6
#define WEIR_INFO_REDIRECTS      7 /* how often the server sent us on: 0 so far */
#define WEIR_INFO_PACKET_SIZE    8

/* Writes one fact as UTF-8 text with a NUL into buf; *out_need (optional) gets
 * the bytes needed.  Returns WEIR_E_SPACE, WEIR_E_UNSUPPORTED (the driver does
 * not know), WEIR_E_HANDLE, WEIR_E_BUSY, WEIR_E_ARG. */
WEIR_API int32_t weir_lease_info(weir_h lease,
                                 int32_t what,
                                 char *buf,
                                 uint64_t cap,
                                 uint64_t *out_need);

/* -------------------------------------------------------------- statements */

/* Types of cells.  All numbers are little-endian; cells are not aligned. */
#define WEIR_T_NULL  0
#define WEIR_T_BOOL  1 /* 1 byte, 0 or 1 */
#define WEIR_T_INT   2 /* 8 bytes, two's complement */
#define WEIR_T_UINT  3 /* 8 bytes */
#define WEIR_T_FLOAT 4 /* 8 bytes, IEEE 754 binary64 */
#define WEIR_T_TEXT  5 /* UTF-8 */
#define WEIR_T_BYTES 6
#define WEIR_T_DEC   7 /* decimal text: -?digits[.digits] */
#define WEIR_T_TIME  8 /* ISO 8601 text */
#define WEIR_T_UUID  9 /* 16 bytes in RFC 4122 order */

struct weir_column {
  uint32_t struct_size; /* set by the library: the stride of the array */
  int32_t type;         /* WEIR_T_* of the column's cells */
  const char *name;     /* UTF-8, NUL-terminated too */
  uint64_t name_len;
  const char *native_type; /* the server's name for it, e.g. "nvarchar" */
  uint64_t native_type_len;
  uint32_t native_code;
  int32_t nullable; /* 1, 0, or -1: not known */
  int32_t precision;
  int32_t scale;
  uint64_t max_bytes; /* 0: not known or no limit */
};

/* One cell: p is NULL and n UINT64_MAX for SQL NULL. */
struct weir_cell {
  const void *p;
  uint64_t n;
};

#define WEIR_ITEM_META   1 /* a result set starts: columns, n_columns */
#define WEIR_ITEM_ROWS   2 /* rows: batch, cells, n_rows, n_columns */
#define WEIR_ITEM_COUNT  3 /* a statement ended: row_count */
#define WEIR_ITEM_NOTICE 4 /* a message of the server: native, severity, ... */
#define WEIR_ITEM_DONE   5 /* the request ended; the lease is free again */
#define WEIR_ITEM_OUTPUT 6 /* output parameters: as ROWS, with one row */

/* One piece of a result. */
struct weir_item {
  uint32_t struct_size; /* set by the caller */
  int32_t type;         /* WEIR_ITEM_* */
  /* META and OUTPUT; valid until the next of them or the end of the request. */
  const struct weir_column *columns;
  uint32_t n_columns; /* META, ROWS and OUTPUT */
  uint32_t columns_stride;
  /* ROWS and OUTPUT; valid until weir_rows_free(rows), whatever becomes of the
   * lease. */
  weir_h rows;
  const struct weir_cell *cells; /* row-major, n_rows * n_columns */
  uint64_t n_rows;
  /* COUNT: rows affected or sent; UINT64_MAX: the server gave no count. */
  uint64_t row_count;
  /* NOTICE; valid until the next weir_next() on the lease. */
  const char *message;
  uint64_t message_len;
  int32_t native;
  uint32_t
      severity; /* the server's class; over 10 is an error with SQL Server */
  uint32_t line;
  uint32_t state; /* the server's state of its number */
  const char *server;
  uint64_t server_len;
  const char *procedure; /* "" when the message is not from one */
  uint64_t procedure_len;
};

/* The parameter's value comes back in WEIR_ITEM_OUTPUT. */
#define WEIR_PARAM_OUT 1u

/* One parameter of a statement.  The type says which member carries the value:
 *
 *   NULL                            none
 *   BOOL, INT                       i
 *   UINT                            u
 *   FLOAT                           f
 *   TEXT, DEC, TIME                 p, n: text, the last two as in cells
 *   BYTES, UUID                     p, n
 */
struct weir_param {
  uint32_t struct_size; /* sizeof(struct weir_param) */
  uint32_t flags;       /* WEIR_PARAM_* */
  int32_t type;         /* WEIR_T_* */
  uint32_t reserved0;
  const char *name; /* as the statement writes it: "@a" */
  uint64_t name_len;
  const char *native_type; /* such as "nvarchar(50)"; optional */
  uint64_t native_type_len;
  const void *p;
  uint64_t n;
  int64_t i;
  uint64_t u;
  double f;
};

/* Prepare the statement, or use what the connection has prepared before; a driver
 * that cannot prepare runs it plainly. */
#define WEIR_EXEC_PREPARED 1u

struct weir_exec_opts {
  uint32_t struct_size;
  uint32_t flags;       /* WEIR_EXEC_* */
  int64_t timeout_ns;   /* for the request to its end; 0 and -1: the pool's
                         * Command Timeout; WEIR_TIMEOUT_NEVER */
  uint32_t batch_rows;  /* most rows in one batch; 0: the driver's choice */
  uint32_t batch_bytes; /* about the most bytes in one batch; 0: likewise */
  /* Optional: n_params parameters, params_stride bytes apart (0: packed).  They
   * are copied. */
  const struct weir_param *params;
  uint32_t n_params; /* at most 65535 */
  uint32_t params_stride;
};

/* Sends a statement.  opts: optional.  The result is read with weir_next()
 * until it answers WEIR_ITEM_DONE or fails.  Returns WEIR_E_FAIL (*err: the
 * server's or the network's complaint), WEIR_E_TIMEOUT, WEIR_E_CANCELLED,
 * WEIR_E_CLOSED (the engine was shut down meanwhile), WEIR_E_BUSY (a result
 * is still being read), WEIR_E_UNSUPPORTED (the driver takes no parameters, or
 * none of that kind), WEIR_E_HANDLE, WEIR_E_ARG, WEIR_E_NOMEM.  After a
 * failure the request has ended; messages that the server sent before it can
 * still be read with weir_next() until that answers WEIR_E_ARG.  sql is UTF-8 of
 * sql_len bytes and is not needed after the call.  Blocks: until the first
 * answer. */
WEIR_API int32_t weir_exec(weir_h lease,
                           const char *sql,
                           uint64_t sql_len,
                           const struct weir_exec_opts *opts,
                           struct weir_error *err);

/* Reads the next piece of the running request's result into *out.  After
 * WEIR_ITEM_DONE, or a failure, the request has ended; messages that the server
 * sent before a failure are told first, the failure by the call after them.
 * Returns WEIR_E_FAIL (a statement failed: *err), WEIR_E_TIMEOUT,
 * WEIR_E_CANCELLED, WEIR_E_CLOSED (the engine was shut down), WEIR_E_HANDLE,
 * WEIR_E_ARG (no request is running and no message is left), WEIR_E_NOMEM;
 * WEIR_E_SPACE: too many batches are held; free some and call again.
 * Blocks: until there is something, up to the request's time-out. */
WEIR_API int32_t weir_next(weir_h lease,
                           struct weir_item *out,
                           struct weir_error *err);

/* Asks the server to stop the running request, which still ends through
 * weir_exec() or weir_next(): with WEIR_E_CANCELLED, or with its own result if
 * that was faster, which may be read as slowly as before.  If the driver cannot
 * cancel, or the server is waited for longer than 2 s in all, the connection is
 * closed.  Without effect on a request that has
 * not begun or has just ended.  Returns WEIR_OK or WEIR_E_HANDLE.  May be called
 * while another thread is inside weir_exec() or weir_next() on the same lease.
 * Does not block. */
WEIR_API int32_t weir_cancel(weir_h lease);

/* Isolation levels. */
#define WEIR_ISO_DEFAULT          0 /* as the session has it */
#define WEIR_ISO_READ_UNCOMMITTED 1
#define WEIR_ISO_READ_COMMITTED   2
#define WEIR_ISO_REPEATABLE_READ  3
#define WEIR_ISO_SERIALIZABLE     4
#define WEIR_ISO_SNAPSHOT         5

/* Begins a transaction on the lease.  isolation: WEIR_ISO_*.  The level lasts to
 * the end of the lease; the next user gets the server's default.  One transaction
 * at a time.  Returns WEIR_E_FAIL, WEIR_E_TIMEOUT (Command Timeout), WEIR_E_BUSY
 * (a result is still being read), WEIR_E_HANDLE, WEIR_E_ARG,
 * WEIR_E_UNSUPPORTED, WEIR_E_CANCELLED, WEIR_E_CLOSED, as weir_exec() does.
 * Blocks: one round trip. */
WEIR_API int32_t weir_begin(weir_h lease,
                            int32_t isolation,
                            struct weir_error *err);

/* Ends it.  When the server has ended the transaction by itself, every statement
 * fails until the user ends it too; weir_commit() then fails and *err says
 * whether anything was committed, and weir_rollback() succeeds.  A commit fails,
 * too, and the transaction stays open, when a statement has begun a nested one.  A
 * commit whose answer did not come fails with txn = WEIR_TXN_UNKNOWN and must not
 * be repeated.  Returns as weir_begin(). */
WEIR_API int32_t weir_commit(weir_h lease, struct weir_error *err);
WEIR_API int32_t weir_rollback(weir_h lease, struct weir_error *err);

/* Sets a savepoint in the open transaction, or goes back to one.  name: UTF-8,
 * 1 to 32 characters.  Returns as weir_begin(). */
WEIR_API int32_t weir_save(weir_h lease,
                           const char *name,
                           uint64_t name_len,
                           struct weir_error *err);
WEIR_API int32_t weir_rollback_to(weir_h lease,
                                  const char *name,
                                  uint64_t name_len,
                                  struct weir_error *err);

/* ------------------------------------------------------------ submit forms
 *
 * A call that may wait has a form that does not: weir_submit_X().  It either ends
 * at once, exactly as weir_X() would, and nothing else happens; or it answers
 * WEIR_PENDING, and then one completion for it appears in the queue it was given.
 * Exactly one, whatever happens: success, failure, time-out, weir_op_cancel(), the
 * end of the pool or of the engine.  The one exception is the end of the queue,
 * which comes with the end of the engine: what has not been taken by then is not
 * told.  No memory of the caller is used after the call.  Nothing is allocated in
 * order to wait: a queue holds its capacity of operations from the start, each
 * from its submission until its completion was taken.  (A statement, its
 * parameters and the name of a savepoint are copied, as weir_exec() does.)
 *
 * A lease is busy from a submission that answered WEIR_PENDING to its completion:
 * other calls on it, weir_release() included, are answered with WEIR_E_BUSY, but
 * weir_cancel() is not.  Blocking and submit forms may be used on one lease in
 * turn. */

/* What a completion is of. */
#define WEIR_OP_ACQUIRE     1
#define WEIR_OP_EXEC        2
#define WEIR_OP_NEXT        3
#define WEIR_OP_BEGIN       4
#define WEIR_OP_COMMIT      5
#define WEIR_OP_ROLLBACK    6
#define WEIR_OP_SAVE        7
#define WEIR_OP_ROLLBACK_TO 8

struct weir_completion {
  uint32_t struct_size; /* set by the caller */
  int32_t type;         /* WEIR_OP_* */
  int32_t status; /* WEIR_OK or WEIR_E_*: what the blocking form answers */
  uint32_t reserved0;
  uint64_t user; /* as it was submitted */
  weir_h op;     /* stale by now */
  /* ACQUIRE with WEIR_OK: the lease, now the receiver's; 0 after other endings.
   * Others: the lease they are of. */
  weir_h lease;
};

/* Makes a queue of completions.  capacity: most operations at a time, submitted
 * and not yet taken, 1 to 65536, of less than 300 bytes each; a process can have
 * 131,072 of them (WEIR_E_SPACE beyond).  Returns WEIR_E_HANDLE, WEIR_E_ARG,
 * WEIR_E_NOMEM, WEIR_E_SPACE, WEIR_E_CLOSED, WEIR_E_FAIL (no descriptor).
 * Owns: *out_queue until weir_queue_close(); the end of the engine ends it too.
 * Does not block. */
WEIR_API int32_t weir_queue_open(weir_h engine,
                                 uint32_t capacity,
                                 weir_h *out_queue,
                                 struct weir_error *err);

/* Ends a queue.  Its acquires that still wait are given up and leases that nobody
 * took are released, soon after; statements that run are cancelled and their
 * leases remain their users'.  A weir_queue_take() that waits answers
 * WEIR_E_CLOSED.  Its descriptor is closed: take it out of poll sets first.
 * Returns
 * WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_queue_close(weir_h queue);

/* Writes the descriptor that is readable exactly while a completion can be taken
 * or a weir_queue_wake() has not been answered, to *out_fd.  It is the queue's:
 * only to be polled, never read, written or closed.
 * Returns WEIR_E_HANDLE, WEIR_E_ARG.  Does not block. */
WEIR_API int32_t weir_queue_fd(weir_h queue, int64_t *out_fd);

/* Takes the oldest completion into *out.  *err (optional) gets what the blocking
 * form would have put there if out->status is not WEIR_OK; it is otherwise filled
 * only if the call itself fails.  timeout_ns: 0 or more, WEIR_TIMEOUT_NEVER.
 * Returns WEIR_OK (one was taken; look at out->status), WEIR_E_TIMEOUT (none
 * came), WEIR_E_CANCELLED (weir_queue_wake()), WEIR_E_CLOSED, WEIR_E_HANDLE,
 * WEIR_E_ARG.  Threads: any number may take; each completion goes to one.  With
 * WEIR_ENGINE_FOREIGN_LOOP a taker that waits runs the reactor meanwhile.
 * Blocks: up to timeout_ns. */
WEIR_API int32_t weir_queue_take(weir_h queue,
                                 int64_t timeout_ns,
                                 struct weir_completion *out,
                                 struct weir_error *err);

/* Has one weir_queue_take(), present or next, answer WEIR_E_CANCELLED, as soon as
 * one finds no completion; completions go first.  Each call is answered once.
 * Returns WEIR_OK or WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_queue_wake(weir_h queue);

/* weir_acquire() that does not wait.  WEIR_OK: *out_lease is there, an idle
 * connection.  WEIR_PENDING: *out_op (optional) may be cancelled; the completion
 * brings the lease.  Waits in the same line as blocking callers, or with Pool
 * Async=dispatcher behind the one that does; what has to be opened is opened by
 * the reactor.  With timeout_ns 0 it never waits.  Another
 * thread may take the completion before this has returned.  Returns what
 * weir_acquire() does, and WEIR_E_BUSY (the queue is full: take completions
 * first); WEIR_E_ARG if the queue is of another engine. */
WEIR_API int32_t weir_submit_acquire(weir_h pool,
                                     int64_t timeout_ns,
                                     weir_h queue,
                                     uint64_t user,
                                     weir_h *out_lease,
                                     weir_h *out_op,
                                     struct weir_error *err);

/* weir_exec() that does not wait.  The completion, or WEIR_OK, says that
 * weir_submit_next() has something to tell.  What can be sent at once is sent by
 * this thread; the rest is the reactor's.  The time-out counts from here.  Returns
 * what weir_exec() does, and WEIR_E_BUSY also for a queue that is full;
 * WEIR_E_HANDLE also for the queue; WEIR_E_ARG if the queue is of another engine.
 * After WEIR_PENDING *out_op (optional) may be cancelled.  Does not block. */
WEIR_API int32_t weir_submit_exec(weir_h lease,
                                  const char *sql,
                                  uint64_t sql_len,
                                  const struct weir_exec_opts *opts,
                                  weir_h queue,
                                  uint64_t user,
                                  weir_h *out_op,
                                  struct weir_error *err);

/* weir_next() that does not wait.  WEIR_OK: *out has the next piece.
 * WEIR_PENDING: *out is untouched; a completion with WEIR_OK means that a call of
 * weir_submit_next() or weir_next() now finds a piece at once, one with another
 * status that the request has failed so.  Returns what weir_next() does, and as
 * weir_submit_exec() for queue and out_op.  Does not block. */
WEIR_API int32_t weir_submit_next(weir_h lease,
                                  struct weir_item *out,
                                  weir_h queue,
                                  uint64_t user,
                                  weir_h *out_op,
                                  struct weir_error *err);

/* weir_begin(), weir_commit(), weir_rollback(), weir_save() and
 * weir_rollback_to() that do not wait.  what: WEIR_OP_BEGIN to
 * WEIR_OP_ROLLBACK_TO.  opts: optional but for SAVE and ROLLBACK_TO.  Returns what
 * those do, and as weir_submit_exec() for queue and out_op.  Does not block. */
struct weir_txn_opts {
  uint32_t struct_size;
  int32_t isolation; /* of BEGIN: WEIR_ISO_* */
  const char *name;  /* of SAVE and ROLLBACK_TO */
  uint64_t name_len;
};
WEIR_API int32_t weir_submit_txn(weir_h lease,
                                 int32_t what,
                                 const struct weir_txn_opts *opts,
                                 weir_h queue,
                                 uint64_t user,
                                 weir_h *out_op,
                                 struct weir_error *err);

/* Gives up on a submitted operation.  It still completes exactly once: with
 * WEIR_E_CANCELLED, or with its own result if that was faster.  For a request of a
 * lease it does what weir_cancel() does, and never hits a later one.  Returns
 * WEIR_OK; WEIR_E_HANDLE when it is over.  Any thread.  Does not block. */
WEIR_API int32_t weir_op_cancel(weir_h op);

/* Frees a batch of rows; its cells are gone.  Returns WEIR_OK or
 * WEIR_E_HANDLE.  Does not block. */
WEIR_API int32_t weir_rows_free(weir_h rows);

#ifdef __cplusplus
}
#endif
#endif /* WEIR_H */
