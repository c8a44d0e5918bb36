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
 *   [B2] A driver that cannot obey [B1] says WEIR_DRV_CAP_BLOCKING.
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
 * major is 0 the engine refuses a driver whose hash differs from its own. */
#define WEIR_DRV_ABI_HASH     UINT64_C(0x0000000000000000)
#define WEIR_DRV_MAGIC        UINT32_C(0x52494557) /* "WEIR" read little-endian */
#define WEIR_DRV_ENTRY_SYMBOL "weir_driver_entry_v0"
#define WEIR_DRV_NOTE_SECTION ".note.weir"

#if defined(_WIN32)
#  define WEIR_DRV_EXPORT __declspec(dllexport)
#else
#  define WEIR_DRV_EXPORT __attribute__((visibility("default")))
#endif

/* ------------------------------------------------------------------ basics */

typedef int32_t weir_drv_status; /* WEIR_DRV_DONE.. below */
typedef uint64_t weir_drv_time;  /* ns; see above */
typedef int64_t weir_drv_fd; /* POSIX descriptor or Windows SOCKET; -1 = none */

#define WEIR_DRV_NEVER UINT64_MAX

typedef struct weir_drv_drv weir_drv_drv; /* driver: one per engine instance */
typedef struct weir_drv_cfg
    weir_drv_cfg; /* driver: one validated configuration  */
typedef struct weir_drv_conn
    weir_drv_conn; /* driver: one session with a server    */
typedef struct weir_drv_hconn
    weir_drv_hconn; /* engine: its side of that session     */
typedef struct weir_drv_stream
    weir_drv_stream; /* engine: a byte stream to a server    */
typedef struct weir_drv_tls weir_drv_tls;     /* engine: one TLS state     */
typedef struct weir_drv_batch weir_drv_batch; /* engine: rows being collected */

struct weir_drv_text { /* frozen [G3] */
  const char *p;
  uint64_t n;
};

struct weir_drv_bytes { /* frozen [G3] */
  const uint8_t *p;
  uint64_t n;
};

/* Results.  Zero and positive: progress.  Negative: failure. */
#define WEIR_DRV_DONE \
  INT32_C(0) /* operation finished                            */
#define WEIR_DRV_WAIT \
  INT32_C(1) /* not finished: see weir_drv_wait                    */
#define WEIR_DRV_META \
  INT32_C(2) /* exec: a result set starts; columns() is valid */
#define WEIR_DRV_ROWS INT32_C(3) /* exec: the batch holds whole rows; take it \
                                  */
#define WEIR_DRV_COUNT \
  INT32_C(4) /* exec: a statement ended; wait->row_count is set */

#define WEIR_DRV_FAIL \
  INT32_C(-1) /* see weir_drv_error                        */
#define WEIR_DRV_E_INVALID \
  INT32_C(-2) /* the caller broke the contract        */
#define WEIR_DRV_E_UNSUPPORTED \
  INT32_C(-3) /* not in this driver or version        */
#define WEIR_DRV_E_NOMEM INT32_C(-4)
#define WEIR_DRV_E_AGAIN \
  INT32_C(-5) /* stream: would block                       */
#define WEIR_DRV_E_CLOSED \
  INT32_C(-6) /* stream: orderly end                       */
#define WEIR_DRV_E_SPACE \
  INT32_C(-7) /* buffer too small; needed size was stored  */

/* Types of values: options, properties, parameters, and the cells of a row.
 * The second column is how struct weir_drv_value carries it, the third how a
 * cell of a batch does.  All numbers in cells are little-endian; cells need not
 * be aligned. */
#define WEIR_DRV_T_NULL 0
#define WEIR_DRV_T_BOOL 1 /* i: 0 or 1   | 1 byte, 0 or 1 */
#define WEIR_DRV_T_INT  2 /* i           | 8 bytes, two's complement */
#define WEIR_DRV_T_UINT 3 /* u           | 8 bytes */
#define WEIR_DRV_T_FLOAT \
  4                       /* f           | 8 bytes, IEEE 754 binary64         */
#define WEIR_DRV_T_TEXT 5 /* p,n         | UTF-8 */
#define WEIR_DRV_T_BYTES \
  6 /* p,n         | the bytes                          */
#define WEIR_DRV_T_DEC                                \
  7 /* p,n         | decimal text: -?digits[.digits], \
     *               with the column's scale            */
#define WEIR_DRV_T_TIME                                                        \
  8                       /* p,n         | ISO 8601 text: date, time, date and \
                           *               time with a 'T', offset as +hh:mm  */
#define WEIR_DRV_T_UUID 9 /* p,n         | 16 bytes in RFC 4122 order */

#define WEIR_DRV_V_SECRET \
  UINT32_C(1) /* never log, never keep, wipe after use     */

struct weir_drv_value { /* frozen [G3] */
  int32_t type;
  uint32_t flags;
  uint64_t n;
  const void *p;
  int64_t i;
  uint64_t u;
  double f;
};

/* ------------------------------------------------------------------ errors */

/* scope: how much is broken.  The pool acts on this alone. */
#define WEIR_DRV_SCOPE_NONE 0
#define WEIR_DRV_SCOPE_STATEMENT \
  1                           /* the connection may be used again at once     */
#define WEIR_DRV_SCOPE_TXN  2 /* must roll back before anything else */
#define WEIR_DRV_SCOPE_CONN 3 /* discard this connection */
#define WEIR_DRV_SCOPE_ENDPOINT \
  4 /* ... and suspect every one to that server     */
#define WEIR_DRV_SCOPE_CONFIG \
  5 /* ... and every attempt with this config fails */
#define WEIR_DRV_SCOPE_DRIVER \
  6 /* the driver itself is unusable                */

/* kind: what went wrong.  For callers, metrics, log lines. */
#define WEIR_DRV_K_OTHER   0
#define WEIR_DRV_K_NETWORK 1
#define WEIR_DRV_K_TIMEOUT \
  2 /* the server or the driver's protocol timed out      */
#define WEIR_DRV_K_CANCELLED 3
#define WEIR_DRV_K_AUTH      4 /* credential refused                            */
#define WEIR_DRV_K_AUTH_EXPIRED \
  5                       /* credential expired: fetch a new one and retry */
#define WEIR_DRV_K_TLS  6 /* handshake or certificate                      */
#define WEIR_DRV_K_NAME 7 /* name did not resolve                          */
#define WEIR_DRV_K_PROTOCOL \
  8 /* the server sent what it must not              */
#define WEIR_DRV_K_THROTTLED \
  9 /* the server asks for less load                 */
#define WEIR_DRV_K_FAILOVER \
  10 /* wrong or moving replica                       */
#define WEIR_DRV_K_DEADLOCK   11
#define WEIR_DRV_K_CONSTRAINT 12
#define WEIR_DRV_K_SYNTAX     13
#define WEIR_DRV_K_RESOURCE \
  14 /* server out of memory, disk, sessions             */
#define WEIR_DRV_K_CONFIG \
  15 /* bad option                                       */
#define WEIR_DRV_K_UNSUPPORTED 16
#define WEIR_DRV_K_INTERNAL \
  17 /* a bug in the driver                              */

/* retry: what may help. */
#define WEIR_DRV_RETRY_NO 0
#define WEIR_DRV_RETRY_SAME \
  1 /* same connection                                  */
#define WEIR_DRV_RETRY_OTHER \
  2 /* another connection, same endpoint                */
#define WEIR_DRV_RETRY_ELSE \
  3 /* another endpoint                                 */
#define WEIR_DRV_RETRY_CRED \
  4 /* after a new credential                           */

/* txn: what is known of the transaction that was open. */
#define WEIR_DRV_TXN_NONE 0
#define WEIR_DRV_TXN_OPEN 1
#define WEIR_DRV_TXN_DOOMED \
  2 /* only roll-back is left                           */
#define WEIR_DRV_TXN_UNKNOWN \
  3 /* commit was sent; its outcome is not known        */

/* flags */
#define WEIR_DRV_EF_MAYBE_EXECUTED \
  UINT32_C(1)                             /* bytes of the request left us     */
#define WEIR_DRV_EF_TRUNCATED UINT32_C(2) /* message did not fit */

struct weir_drv_error { /* grows [G2]; memory and struct_size are the engine's
                         */
  uint32_t struct_size;
  int32_t scope;
  int32_t kind;
  int32_t retry;
  int32_t txn;
  uint32_t flags;
  int32_t native; /* the server's number, e.g. 1205            */
  uint32_t native_severity;
  uint32_t retry_after_ms; /* 0 = no advice                             */
  uint32_t reserved0;
  char sqlstate[8]; /* NUL-terminated, "" if none                */
  char *message;    /* buffer of the engine, UTF-8               */
  uint32_t message_cap;
  uint32_t message_len; /* set to the full length even if truncated  */
};
#define WEIR_DRV_ERROR_SIZE_V0 64u

/* One server message: a notice, or one of several errors. */
struct weir_drv_diag { /* grows [G2] */
  uint32_t struct_size;
  int32_t native;
  uint32_t severity;
  uint32_t line;
  struct weir_drv_text sqlstate;
  struct weir_drv_text message;
  struct weir_drv_text server;
  struct weir_drv_text procedure;
};
#define WEIR_DRV_DIAG_SIZE_V0 80u

/* ------------------------------------------------- waiting and being woken */

#define WEIR_DRV_EV_READ  UINT32_C(1)
#define WEIR_DRV_EV_WRITE UINT32_C(2)

/* Something to wait on: a host stream, or a descriptor of the driver's own
 * (a wrapped client library).  Level-triggered: it describes the wait until
 * the next call and is then forgotten.  Spurious wake-ups are legal. */
struct weir_drv_want {     /* frozen [G3] */
  weir_drv_stream *stream; /* NULL: use fd                                    */
  weir_drv_fd fd;
  uint32_t events;
  uint32_t ready; /* filled by the engine before step()                  */
};

#define WEIR_DRV_WANT_MAX 8u

#define WEIR_DRV_WAIT_AGAIN                               \
  UINT32_C(1) /* call step() again without waiting: there \
               * is buffered (e.g. decrypted) input, or   \
               * the CPU budget ran out                  */

/* Requests a driver may make of the engine while it waits.  One at a time.  A
 * request stays open until a step() with WEIR_DRV_WHY_REPLY, or until
 * abort_conn(). A step() in between (timer, I/O, cancel) leaves wait->request
 * at 0, meaning "still waiting for that answer"; asking for something else then
 * is a breach. After cancel() the answer may never come: the driver must not
 * insist. */
#define WEIR_DRV_REQ_NONE 0
#define WEIR_DRV_REQ_RESOLVE \
  1 /* struct weir_drv_req_resolve, reply weir_drv_rep_resolve */
#define WEIR_DRV_REQ_CREDENTIAL \
  2 /* struct weir_drv_req_cred,    reply weir_drv_rep_cred    */
#define WEIR_DRV_REQ_OFFLOAD \
  3 /* struct weir_drv_req_offload, no reply              */

/* dirty: what the session carries that the next user must not see. */
#define WEIR_DRV_DIRTY_TXN      UINT32_C(1)
#define WEIR_DRV_DIRTY_SETTINGS UINT32_C(2)
#define WEIR_DRV_DIRTY_TEMP     UINT32_C(4)
#define WEIR_DRV_DIRTY_CURSOR   UINT32_C(8)
#define WEIR_DRV_DIRTY_LOCKS    UINT32_C(16)
#define WEIR_DRV_DIRTY_RESULTS \
  UINT32_C(32) /* unread results on the wire      */
#define WEIR_DRV_DIRTY_UNKNOWN UINT32_C(0x80000000)

#define WEIR_DRV_NO_COUNT UINT64_MAX

/* What the driver says when it returns from an operation or from step().
 *
 * The first part is read after WEIR_DRV_WAIT.  The second part is the state of
 * the session and is read after WEIR_DRV_DONE and after each failure, so that
 * the pool can take a connection back without asking the driver anything.
 *
 * The memory and struct_size are the engine's.  Before each call it zeroes the
 * struct and sets timer to WEIR_DRV_NEVER and row_count to WEIR_DRV_NO_COUNT.
 */
struct weir_drv_wait { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;
  weir_drv_time timer; /* call step() then, at the latest */
  int32_t request;     /* WEIR_DRV_REQ_* */
  uint32_t n_want;
  const void *request_arg; /* driver's, valid until answered or aborted */
  struct weir_drv_want want[WEIR_DRV_WANT_MAX];

  int32_t usable; /* 1: the session may run another statement */
  int32_t txn;    /* WEIR_DRV_TXN_* */
  uint32_t dirty; /* WEIR_DRV_DIRTY_* */
  uint32_t reserved0;
  uint64_t row_count;         /* with WEIR_DRV_COUNT; rows affected or sent */
  uint64_t auth_expires_unix; /* seconds; 0 = never or not known */
};
#define WEIR_DRV_WAIT_SIZE_V0 256u

#define WEIR_DRV_WHY_RESUME                                       \
  UINT32_C(1) /* WEIR_DRV_WAIT_AGAIN, or WEIR_DRV_META/ROWS/COUNT \
               * has been dealt with                     */
#define WEIR_DRV_WHY_IO    UINT32_C(2)
#define WEIR_DRV_WHY_TIMER UINT32_C(4)
#define WEIR_DRV_WHY_REPLY UINT32_C(8)
#define WEIR_DRV_WHY_CANCEL \
  UINT32_C(16) /* first step after cancel()               */

struct weir_drv_wake { /* grows [G2]; engine's */
  uint32_t struct_size;
  uint32_t why;
  weir_drv_time now;
  uint32_t n_want;
  int32_t reply_status; /* WEIR_DRV_DONE, or negative: the request failed     */
  const struct weir_drv_want *want;
  const void *reply; /* valid during this step() only                    */
  const struct weir_drv_error *reply_error;
};
#define WEIR_DRV_WAKE_SIZE_V0 48u

struct weir_drv_addr { /* frozen [G3]: a struct sockaddr image */
  uint32_t len;
  int32_t family;
  uint8_t bytes[128];
};

struct weir_drv_req_resolve { /* grows [G2] */
  uint32_t struct_size;
  uint32_t port;
  struct weir_drv_text host;
  int32_t family; /* 0 = any */
  uint32_t reserved0;
};
#define WEIR_DRV_REQ_RESOLVE_SIZE_V0 32u

struct weir_drv_rep_resolve { /* grows [G2] */
  uint32_t struct_size;
  uint32_t n;
  const struct weir_drv_addr *addr; /* frozen elements, so no stride needed   */
};
#define WEIR_DRV_REP_RESOLVE_SIZE_V0 16u

#define WEIR_DRV_CRED_PASSWORD 1
#define WEIR_DRV_CRED_BEARER \
  2 /* OAuth access token                              */
#define WEIR_DRV_CRED_KERBEROS \
  3 /* which cache or keytab to use                    */
#define WEIR_DRV_CRED_CLIENT_CERT 4

struct weir_drv_req_cred { /* grows [G2]: what the server asked for */
  uint32_t struct_size;
  int32_t kind;
  uint32_t attempt; /* 0 first; >0: the previous one was refused         */
  uint32_t reserved0;
  struct weir_drv_text resource; /* audience, SPN                             */
  struct weir_drv_text scope;
  struct weir_drv_text authority; /* issuer or STS URL sent by the server     */
  struct weir_drv_text server;
  struct weir_drv_text principal; /* from the config, if any                  */
  struct weir_drv_text option;    /* the secret option that would answer it */
  struct weir_drv_bytes nonce;
};
#define WEIR_DRV_REQ_CRED_SIZE_V0 128u

struct weir_drv_rep_cred { /* grows [G2] */
  uint32_t struct_size;
  int32_t kind;
  struct weir_drv_text principal;
  struct weir_drv_bytes secret;
  uint64_t expires_unix_s; /* 0 = unknown */
};
#define WEIR_DRV_REP_CRED_SIZE_V0 48u

/* Run fn(arg) on a worker thread of the engine, then step().  No other call on
 * this connection happens meanwhile but interrupt().  If the deadline passes
 * first, the engine reports the time-out at once, but keeps the connection
 * alive until fn has returned, and only then calls abort_conn() and
 * conn_destroy(). */
struct weir_drv_req_offload { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;
  void (*fn)(void *arg);
  void *arg;
};
#define WEIR_DRV_REQ_OFFLOAD_SIZE_V0 24u

/* ------------------------------------------------------- what the host gives
 */

#define WEIR_DRV_LOG_ERROR 1
#define WEIR_DRV_LOG_WARN  2
#define WEIR_DRV_LOG_INFO  3
#define WEIR_DRV_LOG_DEBUG 4
#define WEIR_DRV_LOG_WIRE \
  5 /* bytes on the wire; off in release builds             */

struct weir_drv_host { /* grows [G2]; engine's, valid until close() returns */
  uint32_t struct_size;
  uint32_t abi_minor;
  void *ctx; /* first argument of everything below */

  /* clock, offload-safe.  Tests substitute virtual time. */
  weir_drv_time (*now)(void *ctx);
  uint64_t (*unix_ms)(void *ctx);

  /* memory, offload-safe.  alloc returns zeroed memory or NULL.
   * WEIR_DRV_V_SECRET memory is locked where possible and wiped on release. */
  void *(*alloc)(void *ctx, uint64_t size, uint32_t flags);
  void (*release)(void *ctx, void *p);
  void (*wipe)(void *ctx, void *p, uint64_t n);
  weir_drv_status (*random)(void *ctx, void *p, uint64_t n);

  /* diagnostics, offload-safe.  Text is copied before return. */
  int32_t (*log_on)(void *ctx, int32_t level);
  void (*log)(void *ctx,
              weir_drv_hconn *hc,
              int32_t level,
              const struct weir_drv_text *text);
  void (*diag)(void *ctx, weir_drv_hconn *hc, const struct weir_drv_diag *d);

  /* rows.  batch() gives the batch that is being filled for the operation
   * running on hc, a new one after each WEIR_DRV_ROWS; NULL: no memory.
   * batch_space() gives n bytes in it that do not move until the batch is
   * handed over; batch_grow() enlarges the block handed out last from n to
   * bigger bytes and may move it; both NULL: no memory.  batch_cell() appends
   * one cell: a block of this batch, or p NULL and n UINT64_MAX for SQL NULL.
   * Cells count off rows by themselves: n_cols cells of the last
   * WEIR_DRV_META make a row.  At WEIR_DRV_ROWS the last row must be whole. */
  weir_drv_batch *(*batch)(void *ctx, weir_drv_hconn *hc);
  void *(*batch_space)(weir_drv_batch *b, uint64_t n);
  void *(*batch_grow)(weir_drv_batch *b,
                      void *block,
                      uint64_t n,
                      uint64_t bigger);
  weir_drv_status (*batch_cell)(weir_drv_batch *b, const void *p, uint64_t n);

  /* byte streams.  All non-blocking.  read and write return bytes moved
   * (> 0) or WEIR_DRV_E_AGAIN, WEIR_DRV_E_CLOSED, WEIR_DRV_FAIL.  stream_open
   * starts a connect: wait for WEIR_DRV_EV_WRITE, then stream_connected. */
  weir_drv_status (*stream_open)(void *ctx,
                                 weir_drv_hconn *hc,
                                 const struct weir_drv_addr *to,
                                 uint32_t flags,
                                 weir_drv_stream **out,
                                 struct weir_drv_error *err);
  weir_drv_status (*stream_connected)(weir_drv_stream *s,
                                      struct weir_drv_error *err);
  int64_t (*stream_read)(weir_drv_stream *s, void *p, uint64_t cap);
  int64_t (*stream_write)(weir_drv_stream *s, const void *p, uint64_t n);
  int64_t (*stream_peek)(weir_drv_stream *s, void *p, uint64_t cap);
  void (*stream_close)(weir_drv_stream *s);

  /* A driver with descriptors of its own calls this BEFORE it closes one
   * it has ever put in a weir_drv_want.  When it returns, no poller of the
   * engine refers to the descriptor. */
  void (*fd_forget)(void *ctx, weir_drv_hconn *hc, weir_drv_fd fd);

  /* Named service tables: "weir.tls" returns const struct weir_drv_tls_api *.
   * NULL if absent or older than min_version. */
  const void *(*service)(void *ctx, const char *name, uint32_t min_version);
};
#define WEIR_DRV_HOST_SIZE_V0 184u

/* Service "weir.tls": TLS as a transform of bytes in memory, so that a protocol
 * may wrap the handshake in packets of its own and a driver links no TLS
 * library.
 *
 * handshake() gives WEIR_DRV_DONE, WEIR_DRV_WAIT (drain, send, read, feed, call
 * it again) or WEIR_DRV_FAIL with the reason in *err.  feed() takes ciphertext
 * from the wire and always takes all of it; drain() gives ciphertext for the
 * wire, 0 when there is none; read() and write() move plaintext.  They return
 * bytes moved, WEIR_DRV_E_AGAIN (read: feed more; write: drain first),
 * WEIR_DRV_E_CLOSED (read: the peer ended TLS in order) or WEIR_DRV_FAIL.
 * Alerts to be sent are in drain() even after a failure.  info() stores
 * protocol and cipher as text and returns its length. */
#define WEIR_DRV_TLS_NO_VERIFY UINT32_C(1) /* accept any certificate        */
#define WEIR_DRV_TLS_MAX_1_2                                                 \
  UINT32_C(2)                              /* for handshakes inside packets: \
                                            * 1.3 sends tickets after it    */
#define WEIR_DRV_TLS_NO_TICKET UINT32_C(4) /* neither offer nor keep tickets \
                                            */

struct weir_drv_tls_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;
  struct weir_drv_text server_name; /* SNI, unless it is an IP literal */
  struct weir_drv_text verify_name; /* absent: server_name */
  struct weir_drv_text ca_file;     /* PEM; absent: the system's store */
  struct weir_drv_text pin_file;    /* PEM or DER: accept exactly this one */
  struct weir_drv_text alpn;        /* one protocol name, e.g. tds/8.0 */
  struct weir_drv_text min_version; /* 1.2 (default) or 1.3 */
  struct weir_drv_text peer;        /* host:port, names the ticket cache */
};
#define WEIR_DRV_TLS_ARGS_SIZE_V0 120u

struct weir_drv_tls_api { /* grows [G2] */
  uint32_t struct_size;
  uint32_t version;
  weir_drv_status (*open)(void *ctx,
                          weir_drv_hconn *hc,
                          const struct weir_drv_tls_args *a,
                          weir_drv_tls **out,
                          struct weir_drv_error *err);
  weir_drv_status (*handshake)(weir_drv_tls *t, struct weir_drv_error *err);
  int64_t (*feed)(weir_drv_tls *t, const void *p, uint64_t n);
  int64_t (*drain)(weir_drv_tls *t, void *p, uint64_t cap);
  int64_t (*read)(weir_drv_tls *t, void *p, uint64_t cap);
  int64_t (*write)(weir_drv_tls *t, const void *p, uint64_t n);
  int32_t (*pending)(weir_drv_tls *t); /* 1: read would give something now   */
  int64_t (*binding)(weir_drv_tls *t, int32_t kind, void *p, uint64_t cap);
  int64_t (*info)(weir_drv_tls *t, char *p, uint64_t cap);
  void (*close)(weir_drv_tls *t);
};
#define WEIR_DRV_TLS_API_SIZE_V0 88u

/* --------------------------------------------------------- configuration */

/* What an option is and does; lets the engine parse, document, complete and
 * diff connection strings without knowing the driver. */
#define WEIR_DRV_OPT_KEY UINT32_C(1) /* part of the pool key */
#define WEIR_DRV_OPT_SESSION \
  UINT32_C(2) /* may change by reset, no reconnect     */
#define WEIR_DRV_OPT_SECRET \
  UINT32_C(4) /* kept by the engine: see config_create  */
#define WEIR_DRV_OPT_REQUIRED   UINT32_C(8)
#define WEIR_DRV_OPT_DEPRECATED UINT32_C(16)
#define WEIR_DRV_OPT_ENGINE \
  UINT32_C(32) /* the engine's own, shown for help only */

struct weir_drv_option_info { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  int32_t type; /* WEIR_DRV_T_* */
  uint32_t flags;
  uint32_t since_minor;
  struct weir_drv_text name;     /* canonical                                */
  struct weir_drv_text aliases;  /* comma-separated                          */
  struct weir_drv_text choices;  /* comma-separated, or absent               */
  struct weir_drv_text fallback; /* default as text                          */
  struct weir_drv_text help;
};
#define WEIR_DRV_OPTION_INFO_SIZE_V0 96u

struct weir_drv_option { /* frozen [G3] */
  struct weir_drv_text name;
  struct weir_drv_value value;
};

/* The driver hands the parts of a key to the engine one by one.  Parts with
 * WEIR_DRV_V_SECRET are keyed-hashed by the engine with a key of this process,
 * so that no pool key ever holds a password. */
struct weir_drv_key_sink { /* grows [G2]; engine's */
  uint32_t struct_size;
  uint32_t reserved0;
  void *ctx;
  weir_drv_status (*part)(void *ctx,
                          uint32_t flags,
                          const struct weir_drv_text *name,
                          const struct weir_drv_bytes *value);
};
#define WEIR_DRV_KEY_SINK_SIZE_V0 24u

#define WEIR_DRV_KEY_POOL \
  1 /* equal <=> connections are interchangeable       */
#define WEIR_DRV_KEY_ENDPOINT \
  2 /* equal <=> same server, for breakers and limits  */
#define WEIR_DRV_KEY_DISPLAY \
  3 /* safe to print; secrets left out                 */

/* -------------------------------------------------------------- operations */

struct weir_drv_connect_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t attempt;
  weir_drv_time deadline; /* hint only [D1] */
  struct weir_drv_text app_name;
  struct weir_drv_text client_id; /* for server-side tracing */
  struct weir_drv_text avoid;     /* endpoints the engine has marked down */
};
#define WEIR_DRV_CONNECT_ARGS_SIZE_V0 64u

#define WEIR_DRV_RESET_LAZY \
  1 /* piggy-back on the next request, no round trip */
#define WEIR_DRV_RESET_EAGER \
  2 /* round trip now                                */
#define WEIR_DRV_RESET_KEEP_TXN \
  3 /* lazy, but keep the transaction                */

struct weir_drv_reset_args { /* grows [G2] */
  uint32_t struct_size;
  int32_t mode;
  weir_drv_time deadline;
  const weir_drv_cfg *cfg; /* config of the next user; may differ in
                            * WEIR_DRV_OPT_SESSION options only */
};
#define WEIR_DRV_RESET_ARGS_SIZE_V0 24u

#define WEIR_DRV_TX_BEGIN       1
#define WEIR_DRV_TX_COMMIT      2
#define WEIR_DRV_TX_ROLLBACK    3
#define WEIR_DRV_TX_SAVE        4
#define WEIR_DRV_TX_ROLLBACK_TO 5
/* two-phase verbs need WEIR_DRV_CAP_2PC */
#define WEIR_DRV_TX_ENLIST \
  6 /* `branch` is an XID or a propagation cookie        */
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
  int32_t verb;
  int32_t isolation;
  uint32_t flags;
  weir_drv_time deadline;
  struct weir_drv_text name; /* savepoint or transaction name */
  struct weir_drv_bytes branch;
};
#define WEIR_DRV_TXN_ARGS_SIZE_V0 56u

struct weir_drv_param { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  uint32_t flags; /* in, out */
  struct weir_drv_text name;
  struct weir_drv_text type_hint;
  struct weir_drv_value value;
};
#define WEIR_DRV_PARAM_SIZE_V0 88u

#define WEIR_DRV_XF_NO_ROWS \
  UINT32_C(1) /* drop rows, give counts only             */

struct weir_drv_exec_args { /* grows [G2]; pointed-to memory must stay valid
                             * until the operation ends, so large parameters
                             * need no copy */
  uint32_t struct_size;
  uint32_t flags;
  weir_drv_time deadline;
  struct weir_drv_text sql;
  const struct weir_drv_param *params;
  uint32_t n_params;
  uint32_t params_stride;
  uint32_t batch_rows;  /* 0 = driver's choice; an upper bound          */
  uint32_t batch_bytes; /* likewise                                     */
};
#define WEIR_DRV_EXEC_ARGS_SIZE_V0 56u

struct weir_drv_column { /* grows [G2]; array passed with a stride */
  uint32_t struct_size;
  int32_t type;
  struct weir_drv_text name;
  struct weir_drv_text native_type;
  uint32_t native_code;
  int32_t nullable; /* -1 unknown */
  int32_t precision;
  int32_t scale;
  uint64_t max_bytes;
};
#define WEIR_DRV_COLUMN_SIZE_V0 64u

#define WEIR_DRV_ALIVE_YES \
  1                         /* nothing pending, socket open                   */
#define WEIR_DRV_ALIVE_NO 2 /* closed or in error */
#define WEIR_DRV_ALIVE_PENDING \
  3 /* bytes are waiting that nobody asked for        */

#define WEIR_DRV_CFG_CLOUD                        \
  UINT32_C(1) /* the server is a cloud host: Pool \
               * Blocking Period=auto is then off */

struct weir_drv_config_info { /* grows [G2]; engine's */
  uint32_t struct_size;
  uint32_t flags; /* WEIR_DRV_CFG_* */
};
#define WEIR_DRV_CONFIG_INFO_SIZE_V0 8u

/* Properties of a live connection. */
#define WEIR_DRV_P_SERVER_NAME    1
#define WEIR_DRV_P_SERVER_VERSION 2
#define WEIR_DRV_P_SESSION_ID \
  3 /* e.g. spid                                       */
#define WEIR_DRV_P_DATABASE    4
#define WEIR_DRV_P_TLS         5 /* text: protocol and cipher; absent if clear      */
#define WEIR_DRV_P_PEER        6
#define WEIR_DRV_P_REDIRECTS   7
#define WEIR_DRV_P_PACKET_SIZE 8
#define WEIR_DRV_P_PHASE 9 /* text: what the connection is doing: resolve, connect, prelogin, tls, login, ... */

#define WEIR_DRV_ABORT_CLOSE \
  1 /* local close at once; unsent bytes are lost      */
#define WEIR_DRV_ABORT_FORGET \
  2 /* forked child [F1]                               */

/* --------------------------------------------------------- the driver table */

/* Threading promise.  The engine adds locks for the weaker ones. */
#define WEIR_DRV_THREAD_PER_CONN \
  1 /* [T1] as written                            */
#define WEIR_DRV_THREAD_PER_DRIVER \
  2 /* one call at a time in the whole driver     */
#define WEIR_DRV_THREAD_PINNED \
  3 /* a connection stays on its first thread     */

#define WEIR_DRV_CAP_BLOCKING \
  UINT64_C(0x0001) /* [B2]                             */
#define WEIR_DRV_CAP_CANCEL      UINT64_C(0x0002)
#define WEIR_DRV_CAP_RESET_LAZY  UINT64_C(0x0004)
#define WEIR_DRV_CAP_RESET_EAGER UINT64_C(0x0008)
#define WEIR_DRV_CAP_TXN         UINT64_C(0x0010)
#define WEIR_DRV_CAP_2PC         UINT64_C(0x0020)
#define WEIR_DRV_CAP_IDLE_WATCH  UINT64_C(0x0040)
#define WEIR_DRV_CAP_PARAMS      UINT64_C(0x0080)
#define WEIR_DRV_CAP_OWN_FDS \
  UINT64_C(0x0100) /* puts raw descriptors in weir_drv_want  */
#define WEIR_DRV_CAP_NATIVE_TLS \
  UINT64_C(0x0200) /* brings its own TLS library     */

struct weir_drv_open_args { /* grows [G2] */
  uint32_t struct_size;
  uint32_t flags;
  struct weir_drv_text resource_dir; /* where the manifest was found         */
};
#define WEIR_DRV_OPEN_ARGS_SIZE_V0 24u

/*
 * The driver's table: static, constant, in its read-only data.  The engine
 * copies min(struct_size, sizeof) bytes into a zeroed table of its own.
 *
 * Mandatory: open close options config_create config_destroy config_key
 * conn_create conn_destroy abort_conn get health connect exec step columns.
 * The others may be NULL; the engine then acts as if they had answered
 * WEIR_DRV_E_UNSUPPORTED.  interrupt is mandatory with WEIR_DRV_CAP_BLOCKING.
 *
 * connect, ping, reset, txn, exec and logout start an operation.  Each returns
 * WEIR_DRV_WAIT with *wait filled, or ends at once with WEIR_DRV_DONE or a
 * failure; step() carries it on.  Only exec gives WEIR_DRV_META, _ROWS and
 * _COUNT: after one of these the engine calls step() with WEIR_DRV_WHY_RESUME
 * when its consumer is ready for more, which is all the flow control there is.
 * One operation at a time on a connection.  After a failure with scope >=
 * WEIR_DRV_SCOPE_CONN only get(), abort_conn() and conn_destroy() are legal.
 */
struct weir_driver { /* grows [G2] */
  uint32_t struct_size;
  uint32_t magic;     /* WEIR_DRV_MAGIC */
  uint64_t abi_hash;  /* WEIR_DRV_ABI_HASH of the header it was built with */
  uint32_t abi_minor; /* likewise, WEIR_DRV_ABI_MINOR */
  uint32_t min_host_minor; /* lowest engine it accepts */
  int32_t thread_model;
  uint32_t reserved0;
  uint64_t caps;
  const char *name;    /* NUL-terminated, [a-z0-9_]+, equals the manifest */
  const char *version; /* NUL-terminated, for people                      */

  /* driver instance.  open is called once per engine, and two engines in
   * one process share one copy of the driver: no mutable globals. */
  weir_drv_status (*open)(const struct weir_drv_host *host,
                          const struct weir_drv_open_args *a,
                          weir_drv_drv **out,
                          struct weir_drv_error *err);
  void (*close)(weir_drv_drv *d);
  /* optional; names reserved so far: "weir.stmt" (prepared statements),
   * "weir.rate" (score an idle connection against a request), "weir.bulk",
   * "weir.arrow", "weir.recover" (list in-doubt branches).  Vendors use
   * their reversed domain name.  Unknown name => NULL, never a crash. */
  const void *(*extension)(weir_drv_drv *d,
                           const char *name,
                           uint32_t min_version);

  /* configuration */
  weir_drv_status (*options)(weir_drv_drv *d,
                             const struct weir_drv_option_info **arr,
                             uint32_t *n,
                             uint32_t *stride);
  /* Validates.  An unknown option does not reach the driver (the engine knows
   * the names from options() and refuses it).  An option with
   * WEIR_DRV_OPT_SECRET comes with type WEIR_DRV_T_NULL and
   * WEIR_DRV_V_SECRET set, which says that it was given; its value is asked for
   * with WEIR_DRV_REQ_CREDENTIAL when it is needed, and is part of the pool key
   * without the driver's help. */
  weir_drv_status (*config_create)(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err);
  void (*config_destroy)(weir_drv_drv *d, weir_drv_cfg *c);
  weir_drv_status (*config_key)(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink);

  weir_drv_status (*config_info)(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 struct weir_drv_config_info *out);

  /* connection life; cfg outlives conn */
  weir_drv_status (*conn_create)(weir_drv_drv *d,
                                 const weir_drv_cfg *c,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err);
  void (*conn_destroy)(weir_drv_conn *c); /* implies abort if still open     */
  void (*abort_conn)(weir_drv_conn *c, int32_t how);
  void (*interrupt)(
      weir_drv_conn *c); /* [T2]; needed with WEIR_DRV_CAP_BLOCKING */

  /* synchronous, local, microseconds */
  weir_drv_status (*get)(weir_drv_conn *c,
                         int32_t prop,
                         struct weir_drv_value *out);
  /* One look at the idle session without waiting: WEIR_DRV_ALIVE_*. */
  int32_t (*health)(weir_drv_conn *c);
  weir_drv_status (*idle)(
      weir_drv_conn *c,
      struct weir_drv_wait *wait); /* optional:
                                    * what to watch while nobody uses it; on a
                                    * wake-up the engine calls health() */

  /* operations */
  weir_drv_status (*connect)(weir_drv_conn *c,
                             const struct weir_drv_connect_args *a,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err);
  weir_drv_status (*ping)(weir_drv_conn *c,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);
  weir_drv_status (*reset)(weir_drv_conn *c,
                           const struct weir_drv_reset_args *a,
                           struct weir_drv_wait *wait,
                           struct weir_drv_error *err);
  weir_drv_status (*txn)(weir_drv_conn *c,
                         const struct weir_drv_txn_args *a,
                         struct weir_drv_wait *wait,
                         struct weir_drv_error *err);
  weir_drv_status (*exec)(weir_drv_conn *c,
                          const struct weir_drv_exec_args *a,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);
  weir_drv_status (*logout)(weir_drv_conn *c,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err); /* graceful close */

  weir_drv_status (*step)(weir_drv_conn *c,
                          const struct weir_drv_wake *wake,
                          struct weir_drv_wait *wait,
                          struct weir_drv_error *err);

  /* Turns the running operation into its own cancellation (attention).
   * The operation still ends through step(): with WEIR_DRV_K_CANCELLED when
   * the server has acknowledged, or with its own result if it won. */
  weir_drv_status (*cancel)(weir_drv_conn *c,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err);

  /* The columns of the result set that WEIR_DRV_META announced; valid until the
   * next call on the connection.  n may be 0. */
  weir_drv_status (*columns)(weir_drv_conn *c,
                             const struct weir_drv_column **arr,
                             uint32_t *n,
                             uint32_t *stride);
};
#define WEIR_DRV_DRIVER_SIZE_V0 248u

/* The one exported symbol.  Must not allocate, read files or look at the
 * environment.  Returns NULL if it refuses host_abi_minor. */
typedef const struct weir_driver *(*weir_driver_entry_fn)(
    uint32_t host_abi_minor);
WEIR_DRV_EXPORT const struct weir_driver *weir_driver_entry_v0(
    uint32_t host_abi_minor);

/* ELF note, so that `readelf -n` and the engine can see what a file is before
 * a single instruction of it runs. */
struct weir_drv_elf_note { /* frozen [G3] */
  uint32_t namesz;         /* 5 */
  uint32_t descsz;         /* 24 */
  uint32_t type;           /* WEIR_DRV_ABI_MAJOR */
  char name[8];            /* "WEIR", padded with NUL */
  uint32_t abi_minor;
  uint32_t min_host_minor;
  uint32_t abi_hash_low;  /* WEIR_DRV_ABI_HASH in two halves: a note is */
  uint32_t abi_hash_high; /* aligned to 4 bytes only */
  uint32_t flags;
  uint32_t reserved0;
};

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
#  define WEIR_DRV_DRIVER_NOTE(min_host) extern int weir_drv_driver_note_unused
#endif

/* --------------------------------------------- layout, frozen by the compiler
 */

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
WEIR_DRV_CHECK_SIZE(weir_drv_column, WEIR_DRV_COLUMN_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_config_info, WEIR_DRV_CONFIG_INFO_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_drv_open_args, WEIR_DRV_OPEN_ARGS_SIZE_V0);
WEIR_DRV_CHECK_SIZE(weir_driver, WEIR_DRV_DRIVER_SIZE_V0);
#endif

#ifdef __cplusplus
}
#endif
#endif /* WEIR_DRIVER_H */
