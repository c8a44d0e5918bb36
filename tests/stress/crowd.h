/* SPDX-License-Identifier: MIT */
/* crowd.h - fifty threads on a few pools of one engine: what they share, and what
 * is checked all the while.
 *
 * A life is one engine.  Leases belong to threads; a lease with an operation under
 * way belongs to nobody and becomes that of the thread which takes the completion.
 * Who holds a session is noted by the session's number, which the mock server
 * never gives twice in a life. */
#ifndef WEIR_TEST_CROWD_H
#define WEIR_TEST_CROWD_H

#include <stdbool.h>

#include "stress.h"

#define CROWD_THREADS  50
#define CROWD_POOLS    4  /* the last one is closed and opened again */
#define CROWD_QUEUES   3  /* of different capacity */
#define CROWD_LARGEST  10 /* highest Max Pool Size */
#define CROWD_SESSIONS (UINT32_C(1) << 18)
#define CROWD_TICKETS  (UINT32_C(1) << 18)
#define CROWD_RECENT   32u

enum crowd_ticket_state {
  CROWD_UNUSED,
  CROWD_OUT,     /* submitted, or about to be */
  CROWD_TOLD,    /* its completion was taken */
  CROWD_REFUSED, /* the submission ended at once */
};

/* One submission. */
struct crowd_ticket {
  _Atomic int state;
  uint64_t session; /* of the lease that is busy, 0: none */
  int64_t deadline; /* of an acquire; INT64_MAX: none */
};

struct crowd {
  long seed;
  bool foreign; /* the engine has no thread of its own */
  bool rough;   /* it is shut down in the middle */
  weir_h engine;
  weir_drv_drv *driver;
  const struct mock_control *mock;
  _Atomic weir_h pool[CROWD_POOLS];
  weir_h queue[CROWD_QUEUES];
  _Atomic int calm;      /* nothing is changed any more */
  _Atomic int over;      /* nothing is begun any more */
  _Atomic int unplugged; /* server and loop leave */
  _Atomic uint32_t callers;
  _Atomic uint32_t tickets_used;
  _Atomic int64_t out; /* submissions that were accepted and not told of */
  _Atomic weir_h recent_op[CROWD_RECENT];
  _Atomic weir_h recent_lease[CROWD_RECENT];
  _Atomic uint32_t opens; /* of the last pool */
  _Atomic uint64_t leases;
  _Atomic uint64_t completions;
  _Atomic uint64_t changes;
  _Atomic uint64_t failures;
  struct crowd_ticket tickets[CROWD_TICKETS];
  _Atomic weir_h holder[CROWD_SESSIONS];
};

extern struct crowd crowd;

/* A lease in somebody's hands. */
struct crowd_lease {
  weir_h lease;
  uint64_t session; /* 0: it was taken away before we could ask */
  bool reading;     /* a result has begun */
};

/* crowd.c: what is noted and checked. */

/* Notes that this thread holds the lease from now on.  Aborts if the session is
 * held by anyone. */
struct crowd_lease crowd_hold(weir_h lease);

/* Gives it back, now and then to be closed; a second time is tried, too. */
void crowd_give(struct crowd_lease *l, struct stress_random *r);

/* Returns the number of a new ticket, CROWD_TICKETS when there are no more. */
uint32_t crowd_ticket(uint64_t session, int64_t deadline);

/* What the submission answered, and its operation. */
void crowd_submitted(uint32_t ticket, int rc, weir_h op);

/* Aborts unless the completion is the first of a submission. */
const struct crowd_ticket *crowd_told(const struct weir_completion *c);

/* Aborts if it is much later than it may be. */
void crowd_in_time(const char *what, int64_t deadline);

/* Returns the deadline of a call that begins now. */
int64_t crowd_deadline(int64_t timeout_ns);

/* crowd_work.c: callers, and takers of completions, who wait for no lease. */
void *crowd_call(void *random);
void *crowd_take(void *random);

/* crowd_change.c: who changes things, and who watches. */
void *crowd_master(void *random); /* pauses, drains, resizes, reconfigures */
void *crowd_opener(void *random); /* opens and closes references and pools */
void *crowd_server(void *random); /* ends sessions, lets go of what hangs */
void *crowd_cancel(void *random); /* of what others do */
void *crowd_watch(void *random);  /* counts add up at each moment */
void *crowd_loop(void *unused);   /* turns a foreign loop */

/* Opens pool i.  Returns what weir_pool_open() does. */
int crowd_open_pool(unsigned i, weir_h *out_pool);

/* Every pool is as before, and paused by nobody. */
void crowd_calm_down(void);

#endif
