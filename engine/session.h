/* SPDX-License-Identifier: MIT */
/* session.h - the engine's side of one driver connection: struct weir_drv_hconn.
 *
 * A session runs at most one operation at a time (connect, exec, reset, logout).
 * Who may touch the session is whoever owns its slot; while an operation is on
 * its way, the op word says who drives it:
 *
 *   NONE      nobody: no operation
 *   DRIVING   the thread whose record is in `by`
 *   PARKED    nobody; posted to the reactor
 *   REACTOR   the reactor
 *
 * Each change is one compare-and-swap.  A request of the driver (a look-up, an
 * offloaded call) may be answered from any thread.  The answerer adds the bit
 * REPLIED, and the owner it replaces says what it does next:
 *
 *   NONE, DRIVING    kicks `by`; the owner, or whoever follows it, finds the bit
 *   PARKED, REACTOR  posts reply_task, and the reactor uses the answer only when
 *                    that task runs
 *
 * So the answerer never touches a session that its answer may have ended. */
#ifndef WEIR_SESSION_H
#define WEIR_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

#include "caller.h"
#include "net/offload.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "notice.h"
#include "reactor.h"
#include "sys/atomic.h"

struct weir__ask;
struct weir__command;
struct weir__engine;
struct weir__entry;
struct weir__pool;
struct weir__slot;
struct weir__driver;
struct weir__params;
struct weir__secret;

enum weir__op_owner {
  WEIR_OP_NONE = 0,
  WEIR_OP_DRIVING,
  WEIR_OP_PARKED,
  WEIR_OP_REACTOR
};
#define WEIR_OP_OWNER   UINT32_C(0x0F)
#define WEIR_OP_REPLIED UINT32_C(0x10)

struct weir__session_watch {
  struct weir__watch watch;
  struct weir_drv_hconn *session;
};

struct weir__exec_args {
  const char *sql;
  uint64_t sql_len;
  uint64_t deadline;
  const struct weir__params *params; /* NULL: none */
  uint32_t batch_rows;
  uint32_t batch_bytes;
  bool prepared; /* by the driver's "weir.stmt", if it has one */
};

#define WEIR_SESSION_TEXT 1024u

/* Descriptors of one session that watch.c can have in its set. */
#define WEIR_SESSION_WATCHED 8u

struct weir_drv_hconn {
  struct weir__engine *engine;
  struct weir__pool *pool;
  struct weir__slot *slot;
  const struct weir__driver *driver;
  uint32_t birth;  /* which session of the process; fixed */
  uint64_t pinged; /* when keepalive.c had an answer; the owner's */
  uint32_t n_watched;
  int watched[WEIR_SESSION_WATCHED]; /* in watch.c's set; the owner's */
  weir_drv_conn *conn; /* NULL before conn_create and after conn_destroy */
  struct weir__streams streams;

  /* The operation. */
  _Atomic uint32_t op; /* enum weir__op_owner */
  struct weir__caller *_Atomic by;
  int32_t phase;   /* WEIR_PHASE_* of the operation */
  uint64_t limit;  /* when a connect or a reset must have ended; WEIR_NEVER */
  int32_t status;  /* what the last driver call answered */
  bool cancelling; /* cancel() was called; deadline is then the grace's end */
  bool cancel_untold; /* no step() has been told of that cancel() yet */
  bool expired;       /* the deadline passed: the result is a time-out */
  bool closed;        /* shutdown took the lease away in the middle of it */
  bool pauses;        /* an exec: it may pause at META, ROWS, COUNT and OUT */
  bool outputs;       /* the next row is that of the output values */
  bool draining;      /* nobody reads the result: it is thrown away */
  bool initing;       /* it is Session Init that runs */
  bool after_lazy;    /* nothing was sent since a lazy reset */
  bool replaceable;   /* an exec, the first thing since then: replace.h */
  bool replacing;     /* a connect in the middle of an exec */
  struct weir__exec_args again; /* of an exec, to be sent once more */
  uint64_t connect_by;          /* deadline of a connect */
  uint64_t replaced_at;         /* replacing: since when, */
  uint32_t ticket;              /* and what the endpoint gave for it */
  uint64_t grace_ns; /* of a cancelled one that pauses: what is left of it */
  struct weir_drv_wait wait;
  struct weir_drv_want wants[WEIR_DRV_WANT_MAX]; /* the wait's, with ready */
  uint32_t n_wants;
  struct weir_drv_error error;
  char text[WEIR_SESSION_TEXT]; /* error.message */

  /* The request the driver waits for, one at a time. */
  int32_t request; /* WEIR_DRV_REQ_* */
  bool replied;    /* the owner has seen the answer */
  int32_t reply_status;
  const struct weir_drv_req_offload *offload;
  struct weir_drv_error reply_error;
  char reply_text[256];
  struct weir_drv_rep_resolve rep_resolve;
  struct weir_drv_rep_cred rep_cred;
  struct weir__lookup lookup;
  struct weir__job job;
  struct weir__ask *ask;       /* guarded by credential.c's mutex */
  struct weir__secret *secret; /* of an answer; rep_cred shows it */
  uint64_t secret_expires;     /* seconds since 1970; 0: not known */

  /* On the reactor (remote.c). */
  struct weir__task task;
  struct weir__task reply_task;
  struct weir__timer timer;
  struct weir__session_watch watches[WEIR_DRV_WANT_MAX];
  void (*run)(struct weir_drv_hconn *session);  /* what task does */
  void (*done)(struct weir_drv_hconn *session); /* operation ended there */
  /* Asked before each step there, may be NULL: true if it has dealt with the
   * session itself.  With it a limit that passes is its business, too. */
  bool (*look)(struct weir_drv_hconn *session);
  bool reply_pending; /* reply_task will run: not to be freed before */
  bool closing;       /* close.c */
  bool patient;     /* closing, and counted as such; guarded by the pool's mu */
  bool opened;      /* it has been logged in: observe/counters.c */
  bool reset;       /* tear streams down instead of closing them */
  bool for_waiters; /* its connect was begun for those who open none */
  struct weir_drv_hconn *next_closing;
  struct weir_drv_hconn **prev_closing;

  /* Results of the running request. */
  weir_drv_batch *batch;
  struct weir_column *columns;
  uint32_t n_columns;
  struct weir__notices notices;
  struct weir__notice *notice; /* handed out; lives until the next item */

  /* What the driver said after its last operation. */
  bool usable;
  int32_t txn;
  uint32_t dirty;
  uint64_t auth_expires_unix;

  /* The lease's request. */
  char *sql; /* copies that live as long as it runs */
  struct weir__params *params;
  uint64_t deadline; /* of the request */
  uint32_t lease;    /* whose it is */
  int32_t verb;      /* of a transaction: WEIR_DRV_TX_* */
  int32_t pending;   /* a status not yet told by weir_next(), or 0 */
  bool reading;      /* the request is not at its end */

  /* Submitted (submit_command.c): the operation that it completes, NULL while a
   * caller waits or nobody does; what becomes of it; and the lease's call, which
   * lasts until then. */
  struct weir__entry *entry;
  const struct weir__command *command;
  uint64_t call;
};

/* A session for a slot, with no driver connection yet.  NULL: no memory. */
struct weir_drv_hconn *weir__session_new(struct weir__engine *engine,
                                         struct weir__pool *pool,
                                         struct weir__slot *slot);

/* Aborts and destroys the driver connection if there is one, closes what is left
 * of its streams, and frees.  No request of it is open (request.h).  Calls the
 * driver: no lock is held. */
void weir__session_free(struct weir_drv_hconn *session);

/* Tears its connection down and makes the session one that has yet to connect, as
 * old as a new one.  No request of it is open.  Threads: its owner. */
void weir__session_renew(struct weir_drv_hconn *session);

/* Ends the driver connection by force; the session stays. */
void weir__session_abort(struct weir_drv_hconn *session);

/* In a forked child: closes the descriptors with close(2), takes no lock and
 * frees nothing. */
void weir__session_forget(struct weir_drv_hconn *session);

/* Takes a descriptor of the driver's own out of every poller. */
void weir__session_forget_fd(struct weir_drv_hconn *session, weir_drv_fd fd);

/* The driver's answer to get(what) as text with a NUL, cut to cap; *out_len gets
 * its full length.  False: it has none. */
bool weir__session_fact(struct weir_drv_hconn *session,
                        int32_t what,
                        char *buf,
                        uint64_t cap,
                        uint64_t *out_len);

#endif
