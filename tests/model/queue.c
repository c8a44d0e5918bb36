/* SPDX-License-Identifier: MIT */
/* queue.c - engine/submit.c and queue.c: a submitted acquire ends in exactly one
 * completion.  One entry, used for two operations one after the other; one
 * connection, which its first user gives back some time.  The node is decided under
 * the pool's mutex by whoever takes it out of the line: a release, a cancellation,
 * its deadline, the end of the queue; who decides it posts. */
#include <string.h>

#include "small.h"

enum {
  SUBMITTER,
  RELEASER,
  CANCELLER,
  REACTOR,
  CLOSER,
  TAKER,
  MOVERS
};
enum state {
  FREE,
  TAKEN,
  POSTED,
  DROPPED
};
enum connection {
  USED, /* by the releaser or a taker */
  IDLE,
  GRANTED, /* to the node */
  TOLD,    /* its lease is in a completion */
  CLOSING  /* not good: the reactor opens another */
};

#define CYCLES 2

struct queue {
  uint8_t pc[MOVERS];
  uint8_t state, lease; /* the entry, and whether its completion has a lease */
  uint8_t handle;       /* number of the operation */
  uint8_t pins;
  uint8_t closed;
  uint8_t listed, cancelled; /* the node; guarded by the pool's mutex */
  uint8_t connection;
  uint8_t check;  /* the reactor is to look at a grant */
  uint8_t rotten; /* looks that will find it dead */
  uint8_t cycles;
  uint8_t known[MOVERS]; /* handles that a mover knows */
  uint8_t told;          /* the operation that out_op told last */
};

enum {
  LEFT_LISTED = 1, /* mutants */
  CANCEL_POSTS,
  REQUEUE_DEAF,
  CLOSED_UNSEEN,
  LEASE_LOST,
  UNPINNED,
  NOT_POSTED,
  TIMER_BLIND
};

static void start(void *state, const void *setup) {
  struct queue *q = state;
  (void)setup;
  memset(q, 0, sizeof *q);
  q->rotten = 1;
}

/* weir__queue_post(). */
static bool post(struct move *m, struct queue *q, bool lease, unsigned next) {
  if (q->state != TAKEN) {
    return small_broken(m, "an operation is posted twice, or another's is");
  }
  q->lease = lease;
  q->state = q->closed == 0 ? POSTED : lease ? DROPPED : FREE;
  q->connection = lease ? TOLD : q->connection;
  return small_go(&q->pc[m->mover], next);
}

/* The connection has come free: to the node, or idle. */
static bool publish(struct move *m,
                    struct queue *q,
                    unsigned granted,
                    unsigned next) {
  if (q->listed != 0) {
    q->listed = m->mutant == LEFT_LISTED;
    q->connection = GRANTED;
    return small_go(&q->pc[m->mover], granted);
  }
  q->connection = IDLE;
  return small_go(&q->pc[m->mover], next);
}

/* weir__submit_decided(): posted here, or looked at on the reactor first. */
static bool decided(struct move *m, struct queue *q, unsigned next) {
  if (m->mutant == NOT_POSTED) {
    return small_go(&q->pc[m->mover], next);
  }
  if (m->alternative == 1) {
    q->check = 1;
    return small_go(&q->pc[m->mover], next);
  }
  return post(m, q, true, next);
}

/* weir__submit_cancel_op() with steps from, from + 1, ... */
static bool cancel(struct move *m,
                   struct queue *q,
                   unsigned from,
                   unsigned next) {
  uint8_t *pc = &q->pc[m->mover];
  bool pinned = m->mutant != UNPINNED;
  if (*pc == from) { /* weir__entry_pin() */
    bool found = q->state == TAKEN && q->handle == q->known[m->mover];
    if (found && pinned) {
      q->pins++;
    }
    return small_go(pc, found ? from + 1 : next);
  }
  if (*pc == from + 1) { /* cancel_acquire() */
    if (q->handle != q->known[m->mover] && q->listed != 0) {
      return small_broken(m, "a cancellation hits another operation");
    }
    bool left = q->listed != 0;
    q->listed = 0;
    q->cancelled = 1;
    return small_go(pc,
                    left || m->mutant == CANCEL_POSTS ? from + 2 : from + 3);
  }
  if (*pc == from + 2) {
    return post(m, q, false, from + 3);
  }
  if (pinned) {
    q->pins--;
  }
  return small_go(pc, next);
}

static bool next_cycle(struct queue *q) {
  q->cycles++;
  q->pc[SUBMITTER] = q->cycles == CYCLES ? SMALL_END : 0;
  return true;
}

static bool make_submitter(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[SUBMITTER];
  if (*pc == SMALL_END || (m->alternative != 0 && *pc != 2)) {
    return false;
  }
  switch (*pc) {
  case 0: /* weir__queue_reserve() */
    if (q->closed != 0) {
      q->pc[SUBMITTER] = SMALL_END;
      return true;
    }
    if (q->state != FREE || q->pins != 0) {
      return false; /* WEIR_E_BUSY: comes again */
    }
    q->state = TAKEN;
    q->handle++;
    q->known[SUBMITTER] = q->handle;
    return small_go(pc, 1);
  case 1: /* enqueue() */
    q->cancelled = 0;
    if (q->connection == IDLE) {
      q->connection = GRANTED;
      return small_go(pc, 2);
    }
    q->listed = 1;
    return small_go(pc, 3);
  case 2:
    return decided(m, q, 3);
  case 3: /* weir__queue_closed()? */
    q->told = q->known[SUBMITTER];
    if (q->closed != 0 && m->mutant != CLOSED_UNSEEN) {
      return small_go(pc, 4);
    }
    return next_cycle(q);
  default:
    (void)cancel(m, q, 4, 9);
    return *pc == 9 ? next_cycle(q) : true;
  }
}

static bool make_releaser(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[RELEASER];
  if (*pc == 0) {
    m->passes_time = true; /* when its user likes */
    return m->alternative == 0 && publish(m, q, 1, SMALL_END);
  }
  return *pc == 1 && decided(m, q, SMALL_END);
}

static bool make_canceller(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[CANCELLER];
  if (m->alternative != 0 || *pc == SMALL_END) {
    return false;
  }
  if (*pc == 0) { /* knows a handle from the submitter */
    if (q->told == 0) {
      return false;
    }
    q->known[CANCELLER] = q->told;
    return small_go(pc, 1);
  }
  return cancel(m, q, 1, SMALL_END);
}

/* submit.c: check_grant(), requeue(). */
static bool check_grant(struct move *m, struct queue *q) {
  q->check = 0;
  if (q->rotten == 0) {
    return post(m, q, true, 0);
  }
  q->rotten--;
  q->connection = CLOSING;
  return small_go(&q->pc[REACTOR], 3);
}

static bool requeue(struct move *m, struct queue *q) {
  if (q->cancelled != 0 && m->mutant != REQUEUE_DEAF) {
    return small_go(&q->pc[REACTOR], 4);
  }
  if (q->connection == IDLE) {
    q->connection = GRANTED;
    return small_go(&q->pc[REACTOR], 2);
  }
  q->listed = 1;
  return small_go(&q->pc[REACTOR], 0);
}

static bool make_task(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[REACTOR];
  switch (m->alternative) {
  case 0: /* look_at_time(): the deadline */
    if (q->state != TAKEN || (q->listed == 0 && m->mutant != TIMER_BLIND)) {
      return false;
    }
    m->passes_time = true;
    q->listed = 0;
    return small_go(pc, 1);
  case 1:
    return q->check != 0 && check_grant(m, q);
  case 2: /* another connection in its place */
    m->passes_time = true;
    return q->connection == CLOSING && publish(m, q, 2, 0);
  default: /* weir__submit_drop_lease() */
    if (q->state != DROPPED) {
      return false;
    }
    q->state = FREE;
    if (m->mutant == LEASE_LOST) {
      return true;
    }
    return publish(m, q, 2, 0);
  }
}

static bool make_reactor(struct move *m, struct queue *q) {
  switch (q->pc[REACTOR]) {
  case 0:
    return make_task(m, q);
  case 1:
    return m->alternative == 0 && post(m, q, false, 0);
  case 2:
    return m->alternative < 2 && decided(m, q, 0);
  case 3:
    return m->alternative == 0 && requeue(m, q);
  case 4:
    return m->alternative == 0 && post(m, q, false, 0);
  default:
    return false;
  }
}

/* queue.c: shut(), give_all_up(). */
static bool make_closer(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[CLOSER];
  if (m->alternative != 0 || *pc == SMALL_END) {
    return false;
  }
  if (*pc == 0) {
    q->closed = 1;
    if (q->state == POSTED) {
      q->state = q->lease != 0 ? DROPPED : FREE;
    }
    return small_go(pc, 1);
  }
  if (*pc == 1) {
    q->known[CLOSER] = q->handle;
  }
  return cancel(m, q, 1, SMALL_END);
}

/* Takes completions and gives leases back. */
static bool make_taker(struct move *m, struct queue *q) {
  uint8_t *pc = &q->pc[TAKER];
  switch (*pc) {
  case 0:
    if (m->alternative != 0 || q->state != POSTED) {
      return false;
    }
    q->state = FREE;
    q->connection = q->lease != 0 ? USED : q->connection;
    return small_go(pc, q->lease != 0 ? 1 : 0);
  case 1:
    m->passes_time = true;
    return m->alternative == 0 && publish(m, q, 2, 0);
  default:
    return m->alternative < 2 && decided(m, q, 0);
  }
}

static bool make(struct move *m) {
  static bool (*const makers[])(struct move *, struct queue *) = {
      make_submitter, make_releaser, make_canceller,
      make_reactor,   make_closer,   make_taker};
  return makers[m->mover](m, m->state);
}

static const char *never(const void *state, const void *setup) {
  const struct queue *q = state;
  (void)setup;
  return q->listed != 0 && q->state != TAKEN
             ? "a node is in line whose operation is over"
             : NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct queue *q = state;
  (void)setup;
  if (q->listed != 0 && q->connection == IDLE) {
    return "an operation waits beside an idle connection (P3)";
  }
  bool held = q->pc[RELEASER] == 0 || q->pc[TAKER] == 1;
  if (q->state == TAKEN && q->listed == 0) {
    return "an operation is never completed (P4)";
  }
  if (q->state == TAKEN && (q->closed != 0 || q->cancelled != 0)) {
    return "an operation that was told to end waits on";
  }
  if (q->connection != IDLE && q->connection != CLOSING && !held) {
    return "a connection is lost";
  }
  return NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  static const char *const who[] = {"submitter", "releaser", "canceller",
                                    "reactor",   "closer",   "taker"};
  const struct queue *q = m->state;
  char what[64];
  (void)snprintf(what, sizeof what, "step %u (entry %u, listed %u)",
                 q->pc[m->mover], q->state, q->listed);
  small_tell(text, size, who[m->mover], what, m->alternative);
}

static const struct model model = {
    .name = "queue",
    .state_size = (sizeof(struct queue) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = 4,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"queue_two", NULL, false}};
static const struct part_mutant mutants[] = {
    {LEFT_LISTED, "LEFT_LISTED", "dispatch.c grant",
     "a node that was granted stays in line", NULL},
    {CANCEL_POSTS, "CANCEL_POSTS", "submit.c cancel_acquire",
     "a cancellation posts though somebody else has decided", NULL},
    {REQUEUE_DEAF, "REQUEUE_DEAF", "submit.c requeue",
     "one whose queue closed while its grant was looked at waits on", NULL},
    {CLOSED_UNSEEN, "CLOSED_UNSEEN", "submit.c submit_slow",
     "an operation that began beside the end of its queue is not given up",
     NULL},
    {LEASE_LOST, "LEASE_LOST", "submit.c weir__submit_drop_lease",
     "a lease that nobody will take is not given back", NULL},
    {UNPINNED, "UNPINNED", "queue_entry.c weir__entry_pin",
     "an entry that is looked at is used again meanwhile", NULL},
    {NOT_POSTED, "NOT_POSTED", "submit.c weir__submit_decided",
     "a grant is not posted", NULL},
    {TIMER_BLIND, "TIMER_BLIND", "submit.c look_at_time",
     "a deadline does not ask whether the node is still in line", NULL},
};
SMALL_PART(part_queue, "queue", model, runs, mutants);
