/* SPDX-License-Identifier: MIT */
/*
 * weir_driver.h - the seam between Weir and a wire driver.
 *
 * This is the only header a driver includes.  Version 0: unstable.  A driver
 * must have been built with the very header the engine was built with; the two
 * compare WEIR_DRV_ABI_HASH when the driver is loaded.  abi/README.md shows a
 * complete driver and explains how this header will be frozen.
 *
 * ---------------------------------------------------------------------------
 * IN SHORT
 *
 *   - A driver is one shared object that exports ONE symbol,
 *     weir_driver_entry_v0.  It imports nothing from the engine: everything
 *     the engine offers arrives in `struct weir_drv_host`.
 *   - A driver starts no thread, installs no signal handler, registers no
 *     atexit or thread-exit destructor, and is never unloaded.
 *   - Each operation that may need the network is a state machine: a call that
 *     starts it, then step() until it ends.  Between two calls the driver has
 *     said in `struct weir_drv_wait` what it waits for.  The engine does the
 *     waiting, so a blocking caller, the engine's reactor and a foreign event
 *     loop all run the same driver code.
 *   - The engine owns each deadline.  A driver is told it as a hint only.  When
 *     it passes, the engine stops stepping and calls abort_conn().
 *
 * ---------------------------------------------------------------------------
 * WHO CALLS WHAT, WHERE, AND WHAT MAY BLOCK
 *
 *   [T1] Calls on one weir_drv_conn never overlap, and each happens before the
 *        next.  They may come from a different thread each time, so state kept
 *        per calling thread is forbidden (WEIR_DRV_THREAD_* weakens this).
 *   [T2] interrupt() is the exception: it may run beside any other call on the
 *        connection.  It must be wait-free, allocate nothing and call no host
 *        function.
 *   [T3] Calls that take only a weir_drv_drv or a weir_drv_cfg may overlap.  A
 *        weir_drv_cfg does not change after config_create() returned it.
 *   [T4] Host functions may be called inside any driver call but interrupt(),
 *        and inside an offloaded function where marked "offload-safe".  They
 *        never call back into the driver.
 *   [T5] The engine holds no lock of its own during any driver call.
 *   [B1] No driver call blocks: no sleep, poll, getaddrinfo, blocking socket or
 *        file I/O, no lock that another thread may hold across I/O.  Budget:
 *        about 1 ms of CPU, then return WEIR_DRV_WAIT with
 *        WEIR_DRV_WAIT_AGAIN.  Work that must block goes through
 *        WEIR_DRV_REQ_OFFLOAD.
 *   [B2] A driver that cannot obey [B1] says WEIR_DRV_CAP_BLOCKING.  Engines
 *        of minor 0 refuse it.
 *   [D1] The engine enforces each time-out.  When one passes: cancel() with a
 *        short grace period if the operation can be cancelled, else
 *        abort_conn(), which must succeed at once and without I/O that waits.
 *   [F1] In a forked child the only legal call is
 *        abort_conn(conn, WEIR_DRV_ABORT_FORGET): close(2) on descriptors of
 *        the driver's own and nothing else.
 *
 * ---------------------------------------------------------------------------
 * GROWTH RULES (from version 1 on; version 0 may change in any commit)
 *
 *   [G1] A breaking change gets a new entry symbol.  One file may export both.
 *   [G2] A struct whose first member is struct_size may grow at its end only.
 *        It is passed by pointer, is never a member by value and never an
 *        array element without a stride.
 *   [G3] A struct without struct_size is frozen.
 *   [G4] The reader uses min(struct_size, its own sizeof) and takes what is
 *        absent as zero.  It demands no more than the struct's first size
 *        (WEIR_DRV_*_SIZE_V0).
 *   [G5] If an input struct is larger than the callee knows, the excess must be
 *        all zero, else WEIR_DRV_E_UNSUPPORTED.
 *   [G6] Zero means "default" or "not given" in every field ever added.
 *   [G7] A slot of a table is never reused, reordered or removed.
 *   [G8] Optional groups of functions are tables of their own, found by name
 *        and version through extension() and service().
 *   [G9] Unknown flags, property ids, constants and option names coming IN are
 *        refused; coming OUT they are ignored.
 *
 * DATA RULES
 *
 *   Fixed-width integers only; no enum, bool, long, size_t, bit-field,
 *   variadic, errno, or struct by value in a signature.  Padding is explicit.
 *   Text is UTF-8 with a length and no NUL unless said; a NULL pointer with
 *   length 0 is "absent".  Times are nanoseconds of the host's monotonic clock.
 *
 * OWNERSHIP RULES
 *
 *   Who allocates, frees.  IN pointers are valid during the call unless said.
 *   OUT pointers belong to the driver and stay valid until the next call on the
 *   same connection.  Errors live in memory of the engine, so that an error can
 *   outlive its connection and its driver.  Row batches are memory of the
 *   engine that the driver fills, so that rows can outlive both, too.
 *
 * HOW TO READ A CONTRACT
 *
 *   What the function does; arguments that are not obvious; Returns each code
 *   and its cause; Owns; Threads; Blocks.  What is not said is as follows.
 *   Returns: weir_drv_status.  A driver answers WEIR_DRV_E_UNSUPPORTED to what
 *   it does not know and WEIR_DRV_E_NOMEM when host->alloc() gave NULL; both
 *   with *err filled.  Outputs are written on success only.  Threads: [T1] for
 *   a function of a connection, [T3] for others.  Blocks: no [B1].
 */
#ifndef WEIR_DRIVER_H
#define WEIR_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_DRV_ABI_MAJOR    0u
#define WEIR_DRV_ABI_MINOR    0u
/* First 8 bytes of the SHA-256 of this file without the next line.  While the
 * major is 0 the engine refuses a driver whose hash differs from its own.
 * `abi/hash.sh --write` brings it up to date. */
#define WEIR_DRV_ABI_HASH     UINT64_C(0xc43ef43b2275a8ef)
#define WEIR_DRV_MAGIC        UINT32_C(0x52494557) /* "WEIR", little-endian */
#define WEIR_DRV_ENTRY_SYMBOL "weir_driver_entry_v0"
#define WEIR_DRV_NOTE_SECTION ".note.weir"

#if defined(_WIN32)
#  define WEIR_DRV_EXPORT __declspec(dllexport)
#else
#  define WEIR_DRV_EXPORT __attribute__((visibility("default")))
#endif

/* ------------------------------------------------------------------ basics */

typedef int32_t weir_drv_status; /* WEIR_DRV_DONE .. WEIR_DRV_E_SPACE */
typedef uint64_t weir_drv_time;  /* ns of host->now() */
typedef int64_t weir_drv_fd; /* POSIX descriptor, Windows SOCKET; -1: none */

#define WEIR_DRV_NEVER UINT64_MAX

/* The driver's objects, whose insides only it knows. */
typedef struct weir_drv_drv weir_drv_drv;   /* one per engine */
typedef struct weir_drv_cfg weir_drv_cfg;   /* one validated configuration */
typedef struct weir_drv_conn weir_drv_conn; /* one session with a server */

/* The engine's objects, whose insides only it knows. */
typedef struct weir_drv_hconn weir_drv_hconn;   /* its side of a session */
typedef struct weir_drv_stream weir_drv_stream; /* bytes to and from a server */
typedef struct weir_drv_tls weir_drv_tls;       /* one TLS state */
typedef struct weir_drv_batch weir_drv_batch;   /* rows being collected */

/* Text: n bytes of UTF-8 without a NUL.  p NULL and n 0: absent. */
struct weir_drv_text { /* frozen [G3] */
  const char *p;
  uint64_t n;
};

/* Any bytes.  p NULL and n 0: absent. */
struct weir_drv_bytes { /* frozen [G3] */
  const uint8_t *p;
  uint64_t n;
};

/* Results.  Zero and positive: progress.  Negative: failure.
 *
 * DONE          the operation finished
 * WAIT          it goes on: struct weir_drv_wait says what it waits for
 * META          exec: a result set starts; columns() is valid
 * ROWS          exec: the batch holds whole rows; take it
 * COUNT         exec: a statement ended; wait->row_count is set
 * OUT           exec: the values of the output parameters follow, as one row
 *               in WEIR_DRV_ROWS; columns() describes them
 * FAIL          it failed; see struct weir_drv_error
 * E_INVALID     the caller broke the contract
 * E_UNSUPPORTED not in this driver or version; nothing was done
 * E_NOMEM       no memory
 * E_AGAIN       stream, TLS: would block
 * E_CLOSED      stream, TLS: the peer ended in order
 * E_SPACE       the buffer is too small; the needed size was stored */
#define WEIR_DRV_DONE          INT32_C(0)
#define WEIR_DRV_WAIT          INT32_C(1)
#define WEIR_DRV_META          INT32_C(2)
#define WEIR_DRV_ROWS          INT32_C(3)
#define WEIR_DRV_COUNT         INT32_C(4)
#define WEIR_DRV_OUT           INT32_C(5)
#define WEIR_DRV_FAIL          INT32_C(-1)
#define WEIR_DRV_E_INVALID     INT32_C(-2)
#define WEIR_DRV_E_UNSUPPORTED INT32_C(-3)
#define WEIR_DRV_E_NOMEM       INT32_C(-4)
#define WEIR_DRV_E_AGAIN       INT32_C(-5)
#define WEIR_DRV_E_CLOSED      INT32_C(-6)
#define WEIR_DRV_E_SPACE       INT32_C(-7)

/* Types of values: options, properties, parameters, and the cells of a row.
 *
 *         in struct weir_drv_value   in a cell of a batch
 * NULL    nothing                    p NULL, n UINT64_MAX
 * BOOL    i: 0 or 1                  1 byte, 0 or 1
 * INT     i                          8 bytes, two's complement
 * UINT    u                          8 bytes
 * FLOAT   f                          8 bytes, IEEE 754 binary64
 * TEXT    p, n                       UTF-8
 * BYTES   p, n                       the bytes
 * DEC     p, n                       text -?digits[.digits] with the column's
 *                                    scale
 * TIME    p, n                       ISO 8601 text: date, time, or date and
 *                                    time with a 'T'; offset as +hh:mm
 * UUID    p, n                       16 bytes in the order of RFC 4122
 *
 * All numbers in cells are little-endian; cells need not be aligned. */
#define WEIR_DRV_T_NULL  0
#define WEIR_DRV_T_BOOL  1
#define WEIR_DRV_T_INT   2
#define WEIR_DRV_T_UINT  3
#define WEIR_DRV_T_FLOAT 4
#define WEIR_DRV_T_TEXT  5
#define WEIR_DRV_T_BYTES 6
#define WEIR_DRV_T_DEC   7
#define WEIR_DRV_T_TIME  8
#define WEIR_DRV_T_UUID  9

/* A secret: never log it, never keep it, wipe each copy after use. */
#define WEIR_DRV_V_SECRET UINT32_C(1)

/* One value; the type says which member carries it. */
struct weir_drv_value { /* frozen [G3] */
  int32_t type;         /* WEIR_DRV_T_* */
  uint32_t flags;       /* WEIR_DRV_V_* */
  uint64_t n;
  const void *p;
  int64_t i;
  uint64_t u;
  double f;
};

/* ------------------------------------------------------------------ errors */

/* scope: how much is broken.  The pool acts on this alone.
 *
 * NONE       no error
 * STATEMENT  the connection may be used again at once
 * TXN        it must roll back before anything else
 * CONN       discard the connection
 * ENDPOINT   ... and suspect every one to that server
 * CONFIG     ... and every attempt with this configuration fails
 * DRIVER     the driver itself is unusable */
#define WEIR_DRV_SCOPE_NONE      0
#define WEIR_DRV_SCOPE_STATEMENT 1
#define WEIR_DRV_SCOPE_TXN       2
#define WEIR_DRV_SCOPE_CONN      3
#define WEIR_DRV_SCOPE_ENDPOINT  4
#define WEIR_DRV_SCOPE_CONFIG    5
#define WEIR_DRV_SCOPE_DRIVER    6

/* kind: what went wrong.  For callers, metrics, log lines. */
#define WEIR_DRV_K_OTHER        0
#define WEIR_DRV_K_NETWORK      1
#define WEIR_DRV_K_TIMEOUT      2 /* by the server or the driver's protocol */
#define WEIR_DRV_K_CANCELLED    3
#define WEIR_DRV_K_AUTH         4  /* credential refused */
#define WEIR_DRV_K_AUTH_EXPIRED 5  /* fetch a new credential and retry */
#define WEIR_DRV_K_TLS          6  /* handshake or certificate */
#define WEIR_DRV_K_NAME         7  /* name did not resolve */
#define WEIR_DRV_K_PROTOCOL     8  /* the server sent what it must not */
#define WEIR_DRV_K_THROTTLED    9  /* the server asks for less load */
#define WEIR_DRV_K_FAILOVER     10 /* wrong or moving replica */
#define WEIR_DRV_K_DEADLOCK     11
#define WEIR_DRV_K_CONSTRAINT   12
#define WEIR_DRV_K_SYNTAX       13
#define WEIR_DRV_K_RESOURCE     14 /* server out of memory, disk, sessions */
#define WEIR_DRV_K_CONFIG       15 /* bad option */
#define WEIR_DRV_K_UNSUPPORTED  16
#define WEIR_DRV_K_INTERNAL     17 /* a bug in the driver */

/* retry: what may help. */
#define WEIR_DRV_RETRY_NO    0
#define WEIR_DRV_RETRY_SAME  1 /* the same connection */
#define WEIR_DRV_RETRY_OTHER 2 /* another connection, same endpoint */
#define WEIR_DRV_RETRY_ELSE  3 /* another endpoint */
#define WEIR_DRV_RETRY_CRED  4 /* after a new credential */

/* txn: what is known of the session's transaction. */
#define WEIR_DRV_TXN_NONE    0
#define WEIR_DRV_TXN_OPEN    1
#define WEIR_DRV_TXN_DOOMED  2 /* only roll-back is left */
#define WEIR_DRV_TXN_UNKNOWN 3 /* commit was sent; the outcome is not known */

/* flags of an error */
#define WEIR_DRV_EF_MAYBE_EXECUTED UINT32_C(1) /* bytes of the request left */
#define WEIR_DRV_EF_TRUNCATED      UINT32_C(2) /* the message did not fit */

/* An error.  Its memory, struct_size, message and message_cap are the engine's;
 * the engine zeroes the rest before a call, and the driver fills the rest of it
 * before it returns a failure.  A driver must not keep the pointer. */
struct weir_drv_error { /* grows [G2] */
  uint32_t struct_size;
  int32_t scope;  /* WEIR_DRV_SCOPE_* */
  int32_t kind;   /* WEIR_DRV_K_* */
  int32_t retry;  /* WEIR_DRV_RETRY_* */
  int32_t txn;    /* WEIR_DRV_TXN_* */
  uint32_t flags; /* WEIR_DRV_EF_* */
  int32_t native; /* the server's number, e.g. 1205 */
  uint32_t native_severity;
  uint32_t retry_after_ms; /* 0: no advice */
  uint32_t native_state;   /* the server's state of that number; 0: none */
  char sqlstate[8];        /* NUL-terminated, "" if none */
  char *message;           /* UTF-8, no secret, no NUL needed */
  uint32_t message_cap;    /* bytes there are; may be 0 */
  uint32_t message_len;    /* bytes it has, also when they did not fit */
  uint32_t line;           /* of the statement or procedure; 0: not known */
  uint32_t reserved0;
};
#define WEIR_DRV_ERROR_SIZE_V0 72u

/* One message of the server: a notice, or one of several errors. */
struct weir_drv_diag { /* grows [G2] */
  uint32_t struct_size;
  int32_t native;
  uint32_t severity;
  uint32_t line;
  struct weir_drv_text sqlstate;
  struct weir_drv_text message;
  struct weir_drv_text server;
  struct weir_drv_text procedure;
  uint32_t state; /* the server's state of that number; 0: none */
  uint32_t reserved0;
};
#define WEIR_DRV_DIAG_SIZE_V0 88u

/* ------------------------------------------------- waiting and being woken */

#define WEIR_DRV_EV_READ  UINT32_C(1)
#define WEIR_DRV_EV_WRITE UINT32_C(2)

/* Something to wait on: a host stream, or a descriptor of the driver's own (a
 * wrapped client library).  Level-triggered: it describes the wait until the
 * next call and is then forgotten.  Spurious wake-ups are legal. */
struct weir_drv_want {     /* frozen [G3] */
  weir_drv_stream *stream; /* NULL: use fd */
  weir_drv_fd fd;
  uint32_t events; /* WEIR_DRV_EV_* */
  uint32_t ready;  /* filled by the engine before step() */
};

#define WEIR_DRV_WANT_MAX 8u

/* Call step() again without waiting: there is buffered (e.g. decrypted) input,
 * or the CPU budget ran out.  A driver that waits for reading must have emptied
 * every layer (stream, TLS, its own buffer) or set this: nobody else knows of
 * bytes that have already left the socket. */
#define WEIR_DRV_WAIT_AGAIN UINT32_C(1)

/* Requests a driver may make of the engine while it waits, one at a time.
 *
 * RESOLVE     struct weir_drv_req_resolve, answered by weir_drv_rep_resolve
 * CREDENTIAL  struct weir_drv_req_cred, answered by weir_drv_rep_cred
 * OFFLOAD     struct weir_drv_req_offload, answered when the function returned
 *
 * A request stays open until a step() with WEIR_DRV_WHY_REPLY, or until
 * abort_conn().  A step() in between (timer, I/O, cancel) leaves wait->request
 * at 0, meaning "still waiting for that answer"; asking for something else then
 * is a breach.  After cancel() the answer may never come: the driver must not
 * insist. */
#define WEIR_DRV_REQ_NONE       0
#define WEIR_DRV_REQ_RESOLVE    1
#define WEIR_DRV_REQ_CREDENTIAL 2
#define WEIR_DRV_REQ_OFFLOAD    3

/* dirty: what the session carries that the next user must not see. */
#define WEIR_DRV_DIRTY_TXN      UINT32_C(1)
#define WEIR_DRV_DIRTY_SETTINGS UINT32_C(2)
#define WEIR_DRV_DIRTY_TEMP     UINT32_C(4)
#define WEIR_DRV_DIRTY_CURSOR   UINT32_C(8)
#define WEIR_DRV_DIRTY_LOCKS    UINT32_C(16)
#define WEIR_DRV_DIRTY_RESULTS  UINT32_C(32) /* unread results on the wire */
#define WEIR_DRV_DIRTY_UNKNOWN  UINT32_C(0x80000000)

#define WEIR_DRV_NO_COUNT UINT64_MAX

/* What the driver says when it returns from an operation or from step().
 *
 * The first part is read after WEIR_DRV_WAIT.  The second part is the state of
 * the session and is read after WEIR_DRV_DONE and after each failure, so that
 * the pool can take a connection back without asking the driver anything.
 *
 * The memory and struct_size are the engine's.  Before each call it zeroes the
 * struct and sets timer to WEIR_DRV_NEVER and row_count to
 * WEIR_DRV_NO_COUNT. */
struct weir_drv_wait { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;          /* WEIR_DRV_WAIT_AGAIN */
  weir_drv_time timer;     /* call step() then, at the latest */
  int32_t request;         /* WEIR_DRV_REQ_* */
  uint32_t n_want;         /* how many of want are meant */
  const void *request_arg; /* driver's, valid until answered or aborted */
  struct weir_drv_want want[WEIR_DRV_WANT_MAX];

  int32_t usable; /* 1: the session may run another statement */
  int32_t txn;    /* WEIR_DRV_TXN_* */
  uint32_t dirty; /* WEIR_DRV_DIRTY_* */
  uint32_t reserved0;
  uint64_t row_count;         /* with WEIR_DRV_COUNT: rows affected or sent */
  uint64_t auth_expires_unix; /* seconds; 0: never, or not known */
};
#define WEIR_DRV_WAIT_SIZE_V0 256u

/* why step() is called; several at once are possible.
 *
 * RESUME  WEIR_DRV_WAIT_AGAIN was set, or the consumer is done with
 *         WEIR_DRV_META, WEIR_DRV_ROWS, WEIR_DRV_COUNT or WEIR_DRV_OUT
 * IO      something in want is ready
 * TIMER   the timer has passed
 * REPLY   the request is answered
 * CANCEL  the first step after cancel() */
#define WEIR_DRV_WHY_RESUME UINT32_C(1)
#define WEIR_DRV_WHY_IO     UINT32_C(2)
#define WEIR_DRV_WHY_TIMER  UINT32_C(4)
#define WEIR_DRV_WHY_REPLY  UINT32_C(8)
#define WEIR_DRV_WHY_CANCEL UINT32_C(16)

/* What step() is told.  All of it is the engine's and valid during that step()
 * only. */
struct weir_drv_wake { /* grows [G2] */
  uint32_t struct_size;
  uint32_t why; /* WEIR_DRV_WHY_* */
  weir_drv_time now;
  uint32_t n_want;
  int32_t reply_status; /* WEIR_DRV_DONE, or negative: the request failed */
  const struct weir_drv_want *want; /* what was asked for, with ready filled */
  const void *reply; /* of the type that belongs to the request */
  const struct weir_drv_error *reply_error; /* why the request failed */
};
#define WEIR_DRV_WAKE_SIZE_V0 48u

/* An address: the image of a struct sockaddr. */
struct weir_drv_addr { /* frozen [G3] */
  uint32_t len;
  int32_t family;
  uint8_t bytes[128];
};

/* Look up a host name.  port is put into each address of the answer. */
struct weir_drv_req_resolve { /* grows [G2] */
  uint32_t struct_size;
  uint32_t port;
  struct weir_drv_text host;
  int32_t family; /* 0: any */
  uint32_t reserved0;
};
#define WEIR_DRV_REQ_RESOLVE_SIZE_V0 32u

/* The addresses, best first; at least one. */
struct weir_drv_rep_resolve { /* grows [G2] */
  uint32_t struct_size;
  uint32_t n;
  const struct weir_drv_addr *addr; /* frozen elements need no stride */
};
#define WEIR_DRV_REP_RESOLVE_SIZE_V0 16u

#define WEIR_DRV_CRED_PASSWORD    1
#define WEIR_DRV_CRED_BEARER      2 /* OAuth access token */
#define WEIR_DRV_CRED_KERBEROS    3 /* which cache or keytab to use */
#define WEIR_DRV_CRED_CLIENT_CERT 4

/* Give me a credential; the texts tell what the server asked for. */
struct weir_drv_req_cred { /* grows [G2] */
  uint32_t struct_size;
  int32_t kind;     /* WEIR_DRV_CRED_* */
  uint32_t attempt; /* 0 first; > 0: the previous one was refused */
  uint32_t reserved0;
  struct weir_drv_text resource; /* audience, SPN */
  struct weir_drv_text scope;
  struct weir_drv_text authority; /* issuer or STS URL sent by the server */
  struct weir_drv_text server;
  struct weir_drv_text principal; /* from the config, if any */
  struct weir_drv_text option;    /* the secret option that would answer it */
  struct weir_drv_bytes nonce;
};
#define WEIR_DRV_REQ_CRED_SIZE_V0 128u

/* A credential.  The engine wipes secret when the step() returns. */
struct weir_drv_rep_cred { /* grows [G2] */
  uint32_t struct_size;
  int32_t kind; /* WEIR_DRV_CRED_* */
  struct weir_drv_text principal;
  struct weir_drv_bytes secret;
  uint64_t expires_unix_s; /* 0: not known */
};
#define WEIR_DRV_REP_CRED_SIZE_V0 48u

/* Run fn(arg) on a worker thread of the engine, then step().  fn may block and
 * may call host functions that are marked offload-safe.  No other call on this
 * connection happens meanwhile but interrupt().  If the deadline passes first,
 * the engine reports the time-out at once, but keeps the connection alive until
 * fn has returned, and only then calls abort_conn() and conn_destroy(). */
struct weir_drv_req_offload { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void (*fn)(void *arg);
  void *arg;
};
#define WEIR_DRV_REQ_OFFLOAD_SIZE_V0 24u

/* ------------------------------------------------------ what the host gives */

#define WEIR_DRV_LOG_ERROR 1
#define WEIR_DRV_LOG_WARN  2
#define WEIR_DRV_LOG_INFO  3
#define WEIR_DRV_LOG_DEBUG 4
#define WEIR_DRV_LOG_WIRE  5 /* bytes on the wire; off in release builds */

/* The host's table: the engine's, valid from open() until close() returns.
 * ctx is the first argument wherever a function has one.  Threads [T4].  None
 * blocks and none is NULL.  "Offload-safe": also inside an offloaded
 * function. */
struct weir_drv_host { /* grows [G2] */
  uint32_t struct_size;
  uint32_t abi_minor;
  void *ctx;

  /* The time.  Tests substitute a virtual one, so there is no other clock for a
   * driver.  Offload-safe. */
  weir_drv_time (*now)(void *ctx);

  /* Milliseconds since 1970 of the wall clock, which may jump: for certificates
   * and tokens only.  Offload-safe. */
  uint64_t (*unix_ms)(void *ctx);

  /* Zeroed memory of size > 0 bytes, aligned for any type, or NULL.  flags:
   * WEIR_DRV_V_SECRET gives memory that is locked where possible and wiped when
   * released.  Owns: the caller, until release().  Offload-safe. */
  void *(*alloc)(void *ctx, uint64_t size, uint32_t flags);

  /* Frees what alloc() gave; NULL is fine.  Offload-safe. */
  void (*release)(void *ctx, void *p);

  /* Overwrites n bytes in a way that no compiler removes.  Offload-safe. */
  void (*wipe)(void *ctx, void *p, uint64_t n);

  /* Fills n bytes that nobody can guess.  Returns WEIR_DRV_DONE, WEIR_DRV_FAIL
   * (the system has none).  Offload-safe. */
  weir_drv_status (*random)(void *ctx, void *p, uint64_t n);

  /* 1 if lines of this level are kept, so that a driver need not make them.
   * Offload-safe. */
  int32_t (*log_on)(void *ctx, int32_t level);

  /* Logs one line.  hc: NULL if it is about no connection.  text is copied; it
   * must hold no secret.  Offload-safe. */
  void (*log)(void *ctx,
              weir_drv_hconn *hc,
              int32_t level,
              const struct weir_drv_text *text);

  /* Passes on one message of the server to the user of hc.  All is copied.
   * Offload-safe. */
  void (*diag)(void *ctx, weir_drv_hconn *hc, const struct weir_drv_diag *d);

  /* The batch that is being filled for the operation running on hc; a new one
   * after each WEIR_DRV_ROWS.  NULL: no memory.  Owns: the engine. */
  weir_drv_batch *(*batch)(void *ctx, weir_drv_hconn *hc);

  /* n bytes in the batch that do not move until the batch is handed over, for
   * one cell or several.  NULL: no memory. */
  void *(*batch_space)(weir_drv_batch *b, uint64_t n);

  /* Enlarges the block handed out last from n to bigger bytes; it may move.
   * NULL: no memory, the block is as it was. */
  void *(*batch_grow)(weir_drv_batch *b,
                      void *block,
                      uint64_t n,
                      uint64_t bigger);

  /* Appends one cell: n bytes at p inside a block of this batch, or p NULL and
   * n UINT64_MAX for SQL NULL.  Cells count off rows by themselves: as many as
   * the last WEIR_DRV_META has columns make a row, and at WEIR_DRV_ROWS the
   * last row must be whole.  Returns WEIR_DRV_DONE, WEIR_DRV_E_NOMEM,
   * WEIR_DRV_E_INVALID (p is not in a block of the batch). */
  weir_drv_status (*batch_cell)(weir_drv_batch *b, const void *p, uint64_t n);

  /* Starts to connect a byte stream.  Wait for WEIR_DRV_EV_WRITE, then ask
   * stream_connected().  flags: 0.  Returns WEIR_DRV_DONE; WEIR_DRV_FAIL with
   * the reason in *err; WEIR_DRV_E_NOMEM.
   * Owns: the driver *out, until stream_close(). */
  weir_drv_status (*stream_open)(void *ctx,
                                 weir_drv_hconn *hc,
                                 const struct weir_drv_addr *to,
                                 uint32_t flags,
                                 weir_drv_stream **out,
                                 struct weir_drv_error *err);

  /* How the connect went.  Returns WEIR_DRV_DONE; WEIR_DRV_E_AGAIN (not yet);
   * WEIR_DRV_FAIL with the reason in *err: close the stream. */
  weir_drv_status (*stream_connected)(weir_drv_stream *s,
                                      struct weir_drv_error *err);

  /* Move bytes; peek leaves them where they are.  cap, n > 0.  Return the bytes
   * moved (> 0), WEIR_DRV_E_AGAIN (wait for READ or WRITE), WEIR_DRV_E_CLOSED
   * (the peer ended in order), WEIR_DRV_FAIL (broken for good). */
  int64_t (*stream_read)(weir_drv_stream *s, void *p, uint64_t cap);
  int64_t (*stream_write)(weir_drv_stream *s, const void *p, uint64_t n);
  int64_t (*stream_peek)(weir_drv_stream *s, void *p, uint64_t cap);

  /* Closes; bytes not yet sent may be lost.  s is gone. */
  void (*stream_close)(weir_drv_stream *s);

  /* A driver with descriptors of its own calls this BEFORE it closes one that
   * it has ever put in a weir_drv_want.  When it returns, no poller of the
   * engine refers to the descriptor. */
  void (*fd_forget)(void *ctx, weir_drv_hconn *hc, weir_drv_fd fd);

  /* A named table of more functions, valid as long as this one.  "weir.tls":
   * const struct weir_drv_tls_api *.  NULL if the engine has none of that name
   * or only one older than min_version. */
  const void *(*service)(void *ctx, const char *name, uint32_t min_version);
};
#define WEIR_DRV_HOST_SIZE_V0 184u

#define WEIR_DRV_TLS_NO_VERIFY UINT32_C(1) /* accept any certificate */
/* For handshakes inside packets of the protocol: TLS 1.3 sends tickets after
 * its end, when nobody unpacks them. */
#define WEIR_DRV_TLS_MAX_1_2   UINT32_C(2)
#define WEIR_DRV_TLS_NO_TICKET UINT32_C(4) /* neither offer nor keep tickets */

/* Channel bindings: RFC 5929, sections 4 and 3. */
#define WEIR_DRV_TLS_BIND_END_POINT 1 /* tls-server-end-point */
#define WEIR_DRV_TLS_BIND_UNIQUE    2 /* tls-unique; TLS 1.2 at most */

/* What a TLS session is to be.  All is copied by open(). */
struct weir_drv_tls_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;                   /* WEIR_DRV_TLS_* */
  struct weir_drv_text server_name; /* SNI, unless it is an IP literal */
  struct weir_drv_text verify_name; /* absent: server_name */
  struct weir_drv_text ca_file;     /* PEM; absent: the system's store */
  struct weir_drv_text pin_file;    /* PEM or DER: accept exactly this one */
  struct weir_drv_text alpn;        /* one protocol name, e.g. tds/8.0 */
  struct weir_drv_text min_version; /* 1.2 (default) or 1.3 */
  struct weir_drv_text peer;        /* host:port, names the ticket cache */
};
#define WEIR_DRV_TLS_ARGS_SIZE_V0 120u

/* Service "weir.tls": TLS as a transform of bytes in memory, so that a protocol
 * may wrap the handshake in packets of its own and a driver links no TLS
 * library.  Threads [T1] for each weir_drv_tls.
 *
 *             feed()               read()
 *     wire --------->  weir_drv_tls  --------->  driver
 *          <---------                <---------
 *             drain()              write()
 */
struct weir_drv_tls_api { /* grows [G2] */
  uint32_t struct_size;
  uint32_t version;

  /* Makes a TLS state.  ctx: the host's.  Returns WEIR_DRV_DONE; WEIR_DRV_FAIL
   * (a file of args cannot be used, named in *err); WEIR_DRV_E_NOMEM.
   * Owns: the driver *out, until close(). */
  weir_drv_status (*open)(void *ctx,
                          weir_drv_hconn *hc,
                          const struct weir_drv_tls_args *a,
                          weir_drv_tls **out,
                          struct weir_drv_error *err);

  /* Goes on with the handshake.  Returns WEIR_DRV_DONE; WEIR_DRV_WAIT (drain,
   * send, receive, feed, call again); WEIR_DRV_FAIL with the reason in *err.
   * Alerts to be sent are in drain() even then. */
  weir_drv_status (*handshake)(weir_drv_tls *t, struct weir_drv_error *err);

  /* Takes n bytes that came from the wire, always all of them.  Returns n, or
   * WEIR_DRV_E_NOMEM. */
  int64_t (*feed)(weir_drv_tls *t, const void *p, uint64_t n);

  /* Gives up to cap bytes for the wire.  Returns how many; 0: none are left. */
  int64_t (*drain)(weir_drv_tls *t, void *p, uint64_t cap);

  /* Gives up to cap bytes of plaintext.  Returns how many, WEIR_DRV_E_AGAIN
   * (feed more), WEIR_DRV_E_CLOSED (the peer ended TLS in order),
   * WEIR_DRV_FAIL. */
  int64_t (*read)(weir_drv_tls *t, void *p, uint64_t cap);

  /* Takes up to n bytes of plaintext.  Returns how many, WEIR_DRV_E_AGAIN
   * (drain first), WEIR_DRV_FAIL. */
  int64_t (*write)(weir_drv_tls *t, const void *p, uint64_t n);

  /* 1 if read() would give something now. */
  int32_t (*pending)(weir_drv_tls *t);

  /* Stores the channel binding of a kind, WEIR_DRV_TLS_BIND_*, in up to cap
   * bytes.  Returns its length; WEIR_DRV_E_UNSUPPORTED; WEIR_DRV_E_SPACE. */
  int64_t (*binding)(weir_drv_tls *t, int32_t kind, void *p, uint64_t cap);

  /* Stores protocol and cipher as text in up to cap bytes.  Returns its
   * length. */
  int64_t (*info)(weir_drv_tls *t, char *p, uint64_t cap);

  /* Frees; sends nothing. */
  void (*close)(weir_drv_tls *t);
};
#define WEIR_DRV_TLS_API_SIZE_V0 88u

/* ----------------------------------------------------------- configuration */

/* What an option is and does; lets the engine parse, document, complete and
 * compare connection strings without knowing the driver.
 *
 * KEY         part of the pool's key
 * SESSION     may be changed by reset(), without a reconnect
 * SECRET      kept by the engine: see config_create()
 * REQUIRED    there is no connection without it
 * DEPRECATED  still understood
 * ENGINE      the engine's own, shown for help only */
#define WEIR_DRV_OPT_KEY        UINT32_C(1)
#define WEIR_DRV_OPT_SESSION    UINT32_C(2)
#define WEIR_DRV_OPT_SECRET     UINT32_C(4)
#define WEIR_DRV_OPT_REQUIRED   UINT32_C(8)
#define WEIR_DRV_OPT_DEPRECATED UINT32_C(16)
#define WEIR_DRV_OPT_ENGINE     UINT32_C(32)

/* One option that a driver understands. */
struct weir_drv_option_info { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  int32_t type;                  /* WEIR_DRV_T_* */
  uint32_t flags;                /* WEIR_DRV_OPT_* */
  uint32_t since_minor;          /* of the driver ABI */
  struct weir_drv_text name;     /* canonical */
  struct weir_drv_text aliases;  /* comma-separated */
  struct weir_drv_text choices;  /* comma-separated, or absent */
  struct weir_drv_text fallback; /* default as text */
  struct weir_drv_text help;     /* one sentence */
};
#define WEIR_DRV_OPTION_INFO_SIZE_V0 96u

/* One option that was given, under its canonical name. */
struct weir_drv_option { /* frozen [G3] */
  struct weir_drv_text name;
  struct weir_drv_value value;
};

/* Where a driver puts the parts of a key, one by one and always in the same
 * order.  part() copies; parts with WEIR_DRV_V_SECRET are hashed by the engine
 * with a key of this process, so that no pool key ever holds a password.  It
 * returns WEIR_DRV_DONE, or a failure that config_key() passes on. */
struct weir_drv_key_sink { /* grows [G2] */
  uint32_t struct_size;
  uint32_t reserved0;
  void *ctx; /* first argument of part() */
  weir_drv_status (*part)(void *ctx,
                          uint32_t flags,
                          const struct weir_drv_text *name,
                          const struct weir_drv_bytes *value);
};
#define WEIR_DRV_KEY_SINK_SIZE_V0 24u

#define WEIR_DRV_KEY_POOL     1 /* equal: connections are interchangeable */
#define WEIR_DRV_KEY_ENDPOINT 2 /* equal: same server; breakers, limits */
#define WEIR_DRV_KEY_DISPLAY  3 /* safe to print; secrets left out */

/* -------------------------------------------------------------- operations */

struct weir_drv_connect_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t attempt;
  weir_drv_time deadline; /* hint only [D1] */
  struct weir_drv_text app_name;
  struct weir_drv_text client_id; /* for tracing at the server */
  struct weir_drv_text avoid;     /* endpoints the engine has marked down */
};
#define WEIR_DRV_CONNECT_ARGS_SIZE_V0 64u

#define WEIR_DRV_RESET_LAZY     1 /* with the next request: no round trip */
#define WEIR_DRV_RESET_EAGER    2 /* a round trip now */
#define WEIR_DRV_RESET_KEEP_TXN 3 /* lazy, but keep the transaction */

struct weir_drv_reset_args { /* grows [G2] */
  uint32_t struct_size;
  int32_t mode; /* WEIR_DRV_RESET_* */
  weir_drv_time deadline;
  const weir_drv_cfg *cfg; /* of the next user; may differ from the present
                            * one in WEIR_DRV_OPT_SESSION options only */
};
#define WEIR_DRV_RESET_ARGS_SIZE_V0 24u

/* Verbs; those from ENLIST on need WEIR_DRV_CAP_2PC.  ENLIST: branch is an XID
 * or a propagation cookie. */
#define WEIR_DRV_TX_BEGIN             1
#define WEIR_DRV_TX_COMMIT            2
#define WEIR_DRV_TX_ROLLBACK          3
#define WEIR_DRV_TX_SAVE              4
#define WEIR_DRV_TX_ROLLBACK_TO       5
#define WEIR_DRV_TX_ENLIST            6
#define WEIR_DRV_TX_DELIST            7
#define WEIR_DRV_TX_PREPARE           8
#define WEIR_DRV_TX_COMMIT_PREPARED   9
#define WEIR_DRV_TX_ROLLBACK_PREPARED 10

#define WEIR_DRV_ISO_DEFAULT          0
#define WEIR_DRV_ISO_READ_UNCOMMITTED 1
#define WEIR_DRV_ISO_READ_COMMITTED   2
#define WEIR_DRV_ISO_REPEATABLE_READ  3
#define WEIR_DRV_ISO_SERIALIZABLE     4
#define WEIR_DRV_ISO_SNAPSHOT         5

#define WEIR_DRV_TXF_READ_ONLY UINT32_C(1)

struct weir_drv_txn_args { /* grows [G2] */
  uint32_t struct_size;
  int32_t verb;      /* WEIR_DRV_TX_* */
  int32_t isolation; /* WEIR_DRV_ISO_*; with BEGIN */
  uint32_t flags;    /* WEIR_DRV_TXF_*; with BEGIN */
  weir_drv_time deadline;
  struct weir_drv_text name; /* savepoint or transaction name */
  struct weir_drv_bytes branch;
};
#define WEIR_DRV_TXN_ARGS_SIZE_V0 56u

/* The value comes back: after the results of the statement the driver gives
 * WEIR_DRV_OUT and one row with the values of all such parameters, in the order
 * of the parameters.  The value given is what the statement starts with. */
#define WEIR_DRV_PARAM_OUT UINT32_C(1)

/* A parameter of a statement.  name: as the statement writes it, with the prefix
 * that the server's language has ("@a"); absent: the server's name for its
 * position, if it has one.  type_hint: the server's name for the type, with
 * length, precision or scale ("nvarchar(50)", "decimal(10,2)"); absent: the type
 * that holds the value best. */
struct weir_drv_param { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  uint32_t flags; /* WEIR_DRV_PARAM_* */
  struct weir_drv_text name;
  struct weir_drv_text type_hint;
  struct weir_drv_value value;
};
#define WEIR_DRV_PARAM_SIZE_V0 88u

#define WEIR_DRV_XF_NO_ROWS UINT32_C(1) /* drop rows, give counts only */

/* What it points to stays valid until the operation ends, so that a large
 * statement or parameter needs no copy. */
struct weir_drv_exec_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags; /* WEIR_DRV_XF_* */
  weir_drv_time deadline;
  struct weir_drv_text sql;
  const struct weir_drv_param *params;
  uint32_t n_params;
  uint32_t params_stride;
  uint32_t batch_rows;  /* most rows in a batch; 0: the driver's choice */
  uint32_t batch_bytes; /* likewise */
};
#define WEIR_DRV_EXEC_ARGS_SIZE_V0 56u

/* Prepared statements: the extension "weir.stmt".
 *
 * The driver keeps what it has prepared on a connection, by database, text and
 * parameter types, and forgets the oldest when it has too many.  A reset empties
 * the cache when the server has confirmed it.  The engine sees none of this: it
 * calls exec() here instead of the table's when its user asks for it. */
#define WEIR_DRV_STMT_NAME "weir.stmt"

struct weir_drv_stmt_stats { /* grows [G2]; the engine's memory */
  uint32_t struct_size;
  uint32_t cached;   /* statements prepared on this connection now */
  uint64_t prepared; /* ... since it was opened */
  uint64_t reused;   /* executions that needed no preparation */
};
#define WEIR_DRV_STMT_STATS_SIZE_V0 24u

struct weir_drv_stmt_api { /* grows [G2] */
  uint32_t struct_size;
  uint32_t version; /* 1 */

  /* Operation: as exec() of the table, but prepares a->sql, or runs what has
   * been prepared before.  One round trip either way. */
  weir_drv_status (*exec)(weir_drv_conn *c,
                          const struct weir_drv_exec_args *a,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);

  /* Fills *out as far as out->struct_size reaches. */
  weir_drv_status (*stats)(weir_drv_conn *c, struct weir_drv_stmt_stats *out);
};
#define WEIR_DRV_STMT_API_SIZE_V0 24u

/* One column of a result set. */
struct weir_drv_column { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  int32_t type; /* WEIR_DRV_T_* of its cells */
  struct weir_drv_text name;
  struct weir_drv_text native_type; /* as the server calls it */
  uint32_t native_code;
  int32_t nullable; /* 0 no, 1 yes, -1 not known */
  int32_t precision;
  int32_t scale;
  uint64_t max_bytes;
};
#define WEIR_DRV_COLUMN_SIZE_V0 64u

#define WEIR_DRV_ALIVE_YES     1 /* nothing pending, socket open */
#define WEIR_DRV_ALIVE_NO      2 /* closed or in error */
#define WEIR_DRV_ALIVE_PENDING 3 /* bytes are there that nobody asked for */

/* The server is a cloud host: Pool Blocking Period=auto is then off. */
#define WEIR_DRV_CFG_CLOUD UINT32_C(1)

/* Facts about a configuration.  The memory is the engine's. */
struct weir_drv_config_info { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags; /* WEIR_DRV_CFG_* */
};
#define WEIR_DRV_CONFIG_INFO_SIZE_V0 8u

/* Properties of a connection; see get(). */
#define WEIR_DRV_P_SERVER_NAME    1
#define WEIR_DRV_P_SERVER_VERSION 2
#define WEIR_DRV_P_SESSION_ID     3 /* e.g. spid */
#define WEIR_DRV_P_DATABASE       4
#define WEIR_DRV_P_TLS            5 /* protocol and cipher; absent if clear */
#define WEIR_DRV_P_PEER           6
#define WEIR_DRV_P_REDIRECTS      7
#define WEIR_DRV_P_PACKET_SIZE    8
/* Text: what the session is doing now: resolve, connect, prelogin, tls, login,
 * ... */
#define WEIR_DRV_P_PHASE          9

#define WEIR_DRV_ABORT_CLOSE  1 /* close at once; unsent bytes are lost */
#define WEIR_DRV_ABORT_FORGET 2 /* in a forked child [F1] */

/* -------------------------------------------------------- the driver table */

/* Threading promise.
 *
 * PER_CONN    [T1] as written
 * PER_DRIVER  one call at a time in the whole driver
 * PINNED      a connection stays on its first thread
 *
 * Engines of minor 0 take PER_CONN only. */
#define WEIR_DRV_THREAD_PER_CONN   1
#define WEIR_DRV_THREAD_PER_DRIVER 2
#define WEIR_DRV_THREAD_PINNED     3

/* What a driver can do beyond the mandatory.  Each needs its slot of the table:
 * CANCEL cancel, RESET_* reset, TXN and 2PC txn, IDLE_WATCH idle, BLOCKING
 * interrupt. */
#define WEIR_DRV_CAP_BLOCKING    UINT64_C(0x0001) /* [B2] */
#define WEIR_DRV_CAP_CANCEL      UINT64_C(0x0002)
#define WEIR_DRV_CAP_RESET_LAZY  UINT64_C(0x0004)
#define WEIR_DRV_CAP_RESET_EAGER UINT64_C(0x0008)
#define WEIR_DRV_CAP_TXN         UINT64_C(0x0010)
#define WEIR_DRV_CAP_2PC         UINT64_C(0x0020)
#define WEIR_DRV_CAP_IDLE_WATCH  UINT64_C(0x0040)
#define WEIR_DRV_CAP_PARAMS      UINT64_C(0x0080)
#define WEIR_DRV_CAP_OWN_FDS     UINT64_C(0x0100) /* raw fds in weir_drv_want */
#define WEIR_DRV_CAP_NATIVE_TLS  UINT64_C(0x0200) /* brings a TLS library */

struct weir_drv_open_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;                    /* 0 */
  struct weir_drv_text resource_dir; /* where the driver was found */
};
#define WEIR_DRV_OPEN_ARGS_SIZE_V0 24u

/* The driver's table: static, constant, in its read-only data.  The engine
 * copies min(struct_size, sizeof) bytes into a zeroed table of its own.
 *
 * Mandatory: open close options config_create config_destroy config_key
 * conn_create conn_destroy abort_conn get health connect exec step columns.
 * The others may be NULL; the engine then acts as if they had answered
 * WEIR_DRV_E_UNSUPPORTED.  interrupt is mandatory with WEIR_DRV_CAP_BLOCKING.
 *
 * connect, ping, reset, txn, exec and logout start an operation.  Each returns
 * WEIR_DRV_WAIT with *wait filled, or ends at once with WEIR_DRV_DONE or a
 * failure; step() carries it on.  Only exec gives WEIR_DRV_META, _ROWS, _COUNT
 * and _OUT: after one of these the engine calls step() with WEIR_DRV_WHY_RESUME
 * when its consumer is ready for more, which is all the flow control there is.
 * One operation at a time on a connection.  After a failure with scope >=
 * WEIR_DRV_SCOPE_CONN only get(), abort_conn() and conn_destroy() are legal.
 * The args of an operation are valid during the starting call only, unless
 * their struct says more. */
struct weir_driver { /* grows [G2] */
  uint32_t struct_size;
  uint32_t magic;     /* WEIR_DRV_MAGIC */
  uint64_t abi_hash;  /* WEIR_DRV_ABI_HASH of the header it was built with */
  uint32_t abi_minor; /* likewise, WEIR_DRV_ABI_MINOR */
  uint32_t min_host_minor; /* lowest engine it accepts */
  int32_t thread_model;    /* WEIR_DRV_THREAD_* */
  uint32_t reserved0;
  uint64_t caps;       /* WEIR_DRV_CAP_* */
  const char *name;    /* NUL-terminated, [a-z0-9_]{1,31}: its file's name */
  const char *version; /* NUL-terminated, for people */

  /* Makes the driver's instance for one engine.  Called once per engine; two
   * engines in one process share one copy of the driver, so there are no
   * mutable globals.  host stays valid until close() has returned; a is copied
   * if it is needed.  Returns WEIR_DRV_DONE; WEIR_DRV_FAIL.
   * Owns: the engine *out, until close().  Blocks: no, and reads no file. */
  weir_drv_status (*open)(const struct weir_drv_host *host,
                          const struct weir_drv_open_args *a,
                          weir_drv_drv **out,
                          struct weir_drv_error *err);

  /* Ends an instance.  Its configurations and connections are gone by then.
   * Frees all that host->alloc() gave. */
  void (*close)(weir_drv_drv *d);

  /* Optional.  A named table of more functions, valid until close().  Names
   * reserved so far: "weir.stmt" (struct weir_drv_stmt_api), "weir.rate" (score an
   * idle connection against a request), "weir.bulk", "weir.arrow",
   * "weir.recover" (list in-doubt branches).  Vendors use their reversed domain
   * name.  NULL for an unknown name, whatever it is. */
  const void *(*extension)(weir_drv_drv *d,
                           const char *name,
                           uint32_t min_version);

  /* The options the driver understands: *n elements, *stride bytes apart.
   * Owns: the driver; valid until close(). */
  weir_drv_status (*options)(weir_drv_drv *d,
                             const struct weir_drv_option_info **arr,
                             uint32_t *n,
                             uint32_t *stride);

  /* Validates n options and keeps what it needs of them.  An unknown option
   * does not reach the driver (the engine knows the names from options() and
   * refuses it).  An option with WEIR_DRV_OPT_SECRET comes with type
   * WEIR_DRV_T_NULL and WEIR_DRV_V_SECRET set, which says that it was given;
   * its value is asked for with WEIR_DRV_REQ_CREDENTIAL when it is needed, and
   * is part of the pool key without the driver's help.  Returns WEIR_DRV_DONE;
   * WEIR_DRV_FAIL with a message that names the option, scope CONFIG.
   * Owns: the engine *out, until config_destroy(). */
  weir_drv_status (*config_create)(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err);

  /* Frees a configuration; its connections are gone by then. */
  void (*config_destroy)(weir_drv_drv *d, weir_drv_cfg *c);

  /* Hands the parts of a key to sink.  which: WEIR_DRV_KEY_*.  Canonical: host
   * names in lower case, aliases and default values resolved, options at their
   * default left out.  Returns WEIR_DRV_DONE, or what sink->part() returned. */
  weir_drv_status (*config_key)(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink);

  /* Optional.  Fills *out as far as out->struct_size reaches. */
  weir_drv_status (*config_info)(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 struct weir_drv_config_info *out);

  /* Makes a connection that is not connected yet.  c outlives it.  hc: its name
   * in calls to the host.  Returns WEIR_DRV_DONE.
   * Owns: the engine *out, until conn_destroy(). */
  weir_drv_status (*conn_create)(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err);

  /* Frees a connection; implies abort_conn() if it is still open. */
  void (*conn_destroy)(weir_drv_conn *c);

  /* Cuts a connection off, in the middle of whatever it does, and always
   * succeeds.  how: WEIR_DRV_ABORT_*.  Afterwards only get(), conn_destroy()
   * and a second abort_conn(), which does nothing, are legal.
   * Blocks: no, and does no I/O that waits. */
  void (*abort_conn)(weir_drv_conn *c, int32_t how);

  /* Optional; mandatory with WEIR_DRV_CAP_BLOCKING.  Makes a call that blocks
   * in this connection return soon.  Threads [T2]. */
  void (*interrupt)(weir_drv_conn *c);

  /* A fact about the connection, also after it has failed.  prop:
   * WEIR_DRV_P_*.  Returns WEIR_DRV_DONE; WEIR_DRV_E_UNSUPPORTED (unknown, or
   * not known yet).  Texts in *out belong to the driver until the next call.
   * Blocks: no; local, microseconds. */
  weir_drv_status (*get)(weir_drv_conn *c,
                         int32_t prop,
                         struct weir_drv_value *out);

  /* One look at the idle session.  Returns WEIR_DRV_ALIVE_*.  Blocks: no; one
   * peek at the stream. */
  int32_t (*health)(weir_drv_conn *c);

  /* Optional.  Fills *wait with what to watch while nobody uses the session; on
   * a wake-up the engine calls health().  Returns WEIR_DRV_WAIT (wait->want says
   * what); WEIR_DRV_DONE (there is nothing to watch); WEIR_DRV_E_INVALID (the
   * session is not idle). */
  weir_drv_status (*idle)(weir_drv_conn *c, struct weir_drv_wait *wait);

  /* Operation: opens the session, up to the point where exec() may be called.
   * Once per connection. */
  weir_drv_status (*connect)(weir_drv_conn *c,
                             const struct weir_drv_connect_args *a,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err);

  /* Operation, optional: one round trip that shows that the server answers. */
  weir_drv_status (*ping)(weir_drv_conn *c,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);

  /* Operation, optional: makes the session as good as new for a->cfg.  After a
   * lazy one the failure belongs to the first request: it must then say scope
   * CONN and, if so, that nothing was executed. */
  weir_drv_status (*reset)(weir_drv_conn *c,
                           const struct weir_drv_reset_args *a,
                           struct weir_drv_wait *wait,
                           struct weir_drv_error *err);

  /* Operation, optional: one verb of a transaction.  A commit whose answer did
   * not come fails with WEIR_DRV_TXN_UNKNOWN. */
  weir_drv_status (*txn)(weir_drv_conn *c,
                         const struct weir_drv_txn_args *a,
                         struct weir_drv_wait *wait,
                         struct weir_drv_error *err);

  /* Operation: runs a->sql.  For each result set WEIR_DRV_META, then
   * WEIR_DRV_ROWS as often as a batch is full and once for the rest; for each
   * statement WEIR_DRV_COUNT; if there are output parameters, WEIR_DRV_OUT and
   * WEIR_DRV_ROWS with one row of their values; at the end WEIR_DRV_DONE. */
  weir_drv_status (*exec)(weir_drv_conn *c,
                          const struct weir_drv_exec_args *a,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);

  /* Operation, optional: takes leave of the server.  Afterwards only get(),
   * abort_conn() and conn_destroy() are legal. */
  weir_drv_status (*logout)(weir_drv_conn *c,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err);

  /* Carries the running operation on.  A spurious call changes nothing and
   * returns WEIR_DRV_WAIT again. */
  weir_drv_status (*step)(weir_drv_conn *c,
                          const struct weir_drv_wake *wake,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);

  /* Optional.  Turns the running operation into its own cancellation
   * (attention).  The operation still ends through step(): with
   * WEIR_DRV_K_CANCELLED when the server has acknowledged, or with its own
   * result if it won. */
  weir_drv_status (*cancel)(weir_drv_conn *c,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err);

  /* The columns of the result set that WEIR_DRV_META announced: *n elements (0
   * is possible), *stride bytes apart.
   * Owns: the driver; valid until the next call on the connection. */
  weir_drv_status (*columns)(weir_drv_conn *c,
                             const struct weir_drv_column **arr,
                             uint32_t *n,
                             uint32_t *stride);
};
#define WEIR_DRV_DRIVER_SIZE_V0 248u

typedef const struct weir_driver *(*weir_driver_entry_fn)(
    uint32_t host_abi_minor);

/* The one exported symbol: the driver's table, or NULL if the driver refuses an
 * engine of that minor.  Must not allocate, read files or look at the
 * environment.  Owns: the driver; valid for the life of the process.  Threads:
 * any, at the same time. */
WEIR_DRV_EXPORT const struct weir_driver *weir_driver_entry_v0(
    uint32_t host_abi_minor);

/* ELF note, so that `readelf -n` and the engine can see what a file is before a
 * single instruction of it runs. */
struct weir_drv_elf_note { /* frozen [G3] */
  uint32_t namesz;         /* 5 */
  uint32_t descsz;         /* 24 */
  uint32_t type;           /* WEIR_DRV_ABI_MAJOR */
  char name[8];            /* "WEIR", padded with NUL */
  uint32_t abi_minor;
  uint32_t min_host_minor;
  uint32_t abi_hash_low;  /* WEIR_DRV_ABI_HASH in two halves: a note is */
  uint32_t abi_hash_high; /* aligned to 4 bytes only */
  uint32_t flags;         /* 0 */
  uint32_t reserved0;
};

/* Write WEIR_DRV_DRIVER_NOTE(0); once, in one source of a driver.  min_host: as
 * min_host_minor in the table. */
#if defined(__ELF__) && defined(__GNUC__)
#  define WEIR_DRV_DRIVER_NOTE(min_host)                                     \
    __attribute__((section(WEIR_DRV_NOTE_SECTION), used,                     \
                   aligned(4))) static const struct weir_drv_elf_note        \
        weir_drv_driver_note = {5u,                                          \
                                24u,                                         \
                                WEIR_DRV_ABI_MAJOR,                          \
                                {'W', 'E', 'I', 'R', 0, 0, 0, 0},            \
                                WEIR_DRV_ABI_MINOR,                          \
                                (min_host),                                  \
                                (uint32_t)(WEIR_DRV_ABI_HASH & 0xFFFFFFFFu), \
                                (uint32_t)(WEIR_DRV_ABI_HASH >> 32),         \
                                0u,                                          \
                                0u}
#else
#  define WEIR_DRV_DRIVER_NOTE(min_host) \
    extern int32_t weir_drv_driver_note_unused
#endif

/* -------------------------------------------- layout, held by the compiler */

#if defined(__cplusplus)
#  define WEIR_DRV_CHECK(cond, why) static_assert(cond, why)
#else
#  define WEIR_DRV_CHECK(cond, why) _Static_assert(cond, why)
#endif

#if UINTPTR_MAX == UINT64_MAX
#  define WEIR_DRV_CHECK_SIZE(type, bytes) \
    WEIR_DRV_CHECK(sizeof(struct type) == (bytes), #type " changed size")
WEIR_DRV_CHECK_SIZE(weir_drv_text, 16);
WEIR_DRV_CHECK_SIZE(weir_drv_value, 48);
WEIR_DRV_CHECK_SIZE(weir_drv_want, 24);
WEIR_DRV_CHECK_SIZE(weir_drv_addr, 136);
WEIR_DRV_CHECK_SIZE(weir_drv_option, 64);
WEIR_DRV_CHECK_SIZE(weir_drv_elf_note, 44);
/* Growing structs: the first-version size must remain a prefix.  At minor 0 the
 * two are equal; later these become >=, with an offsetof for each old field. */
WEIR_DRV_CHECK_SIZE(weir_drv_error, WEIR_DRV_ERROR_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_diag, WEIR_DRV_DIAG_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_wait, WEIR_DRV_WAIT_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_wake, WEIR_DRV_WAKE_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_req_resolve, WEIR_DRV_REQ_RESOLVE_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_rep_resolve, WEIR_DRV_REP_RESOLVE_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_req_cred, WEIR_DRV_REQ_CRED_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_rep_cred, WEIR_DRV_REP_CRED_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_req_offload, WEIR_DRV_REQ_OFFLOAD_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_host, WEIR_DRV_HOST_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_tls_args, WEIR_DRV_TLS_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_tls_api, WEIR_DRV_TLS_API_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_option_info, WEIR_DRV_OPTION_INFO_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_key_sink, WEIR_DRV_KEY_SINK_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_connect_args, WEIR_DRV_CONNECT_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_reset_args, WEIR_DRV_RESET_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_txn_args, WEIR_DRV_TXN_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_param, WEIR_DRV_PARAM_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_exec_args, WEIR_DRV_EXEC_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_stmt_stats, WEIR_DRV_STMT_STATS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_stmt_api, WEIR_DRV_STMT_API_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_column, WEIR_DRV_COLUMN_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_config_info, WEIR_DRV_CONFIG_INFO_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_open_args, WEIR_DRV_OPEN_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_driver, WEIR_DRV_DRIVER_SIZE_V0);
#endif

#ifdef __cplusplus
}
#endif
#endif /* WEIR_DRIVER_H */
