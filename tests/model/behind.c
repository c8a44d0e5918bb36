/* SPDX-License-Identifier: MIT */
/* behind.c - engine/waiter.c with Pool Async=dispatcher: of the submitted acquires one
 * is in line and the others behind it.  One connection, which its first user and
 * each that was served gives back some time; deadlines pass, and are told later;
 * one grant is looked at and found dead.  Each step is a hold of the pool's mutex,
 * or one of those accesses without it by which a release and the line must not miss
 * each other. */
#include <string.h>

#include "small.h"

#define NODES 3

enum {
  RELEASER = NODES, /* whoever has the connection */
  REACTOR,
  MOVERS
};
enum where {
  AWAY,
  IN_LINE,
  BEHIND,
  SERVED, /* has the connection, or is looked at */
  OVER
};
enum connection {
  USED,
  PUBLISHED, /* idle, and its giver has yet to read Q again */
  IDLE,
  CHECKED, /* granted, and the reactor is to look at it */
  CLOSING
};

struct behind {
  uint8_t pc[MOVERS];
  uint8_t where[NODES]; /* they come in the order of their numbers */
  uint8_t late[NODES];  /* its deadline has passed: it is no heir */
  uint8_t connection;
  uint8_t owner;   /* of what is USED or CHECKED; NODES: the first user */
  uint8_t waiters; /* WAITERS in Q */
  uint8_t rotten;
  uint8_t moved_up;
};

enum {
  NOT_MOVED_UP = 1, /* mutants */
  MOVED_UP_SILENTLY,
  ALL_IN_LINE,
  BACK_BEHIND
};

static void start(void *state, const void *setup) {
  struct behind *b = state;
  (void)setup;
  memset(b, 0, sizeof *b);
  b->owner = NODES;
  b->rotten = 1;
}

static unsigned first(const struct behind *b, uint8_t where) {
  unsigned i = 0;
  while (i < NODES && b->where[i] != where) {
    i++;
  }
  return i;
}

/* weir__waiters_remove(). */
static void leave(const struct move *m,
                  struct behind *b,
                  unsigned i,
                  uint8_t to) {
  bool in_line = b->where[i] == IN_LINE;
  unsigned next = first(b, BEHIND);
  b->where[i] = to;
  if (in_line && next < NODES && m->mutant != NOT_MOVED_UP) {
    b->where[next] = IN_LINE;
    b->moved_up = 1;
  }
}

static void flag(struct behind *b) {
  b->waiters = first(b, IN_LINE) < NODES;
}

/* handoff.c: the first in line whose time has not passed. */
static unsigned heir(const struct behind *b) {
  unsigned i = 0;
  while (i < NODES && (b->where[i] != IN_LINE || b->late[i] != 0)) {
    i++;
  }
  return i;
}

/* weir__dispatch_locked(). */
static void dispatch(const struct move *m, struct behind *b) {
  unsigned i = heir(b);
  bool idle = b->connection == IDLE || b->connection == PUBLISHED;
  if (idle && i < NODES) {
    leave(m, b, i, SERVED);
    b->owner = (uint8_t)i;
    b->connection = CHECKED;
  }
  b->moved_up = 0;
  flag(b);
}

/* weir__dispatch_tried_locked(). */
static void tried(const struct move *m, struct behind *b) {
  if (b->moved_up != 0 && m->mutant != MOVED_UP_SILENTLY) {
    dispatch(m, b);
  }
  b->moved_up = 0;
  flag(b);
}

/* Comes; or, when its time is over, or it is cancelled, goes. */
static bool make_node(struct move *m, struct behind *b) {
  unsigned i = (unsigned)m->mover;
  if (b->where[i] == AWAY) {
    bool before = i == 0 || b->where[i - 1] != AWAY;
    if (!before || m->alternative != 0) {
      return false;
    }
    bool alone = first(b, IN_LINE) == NODES || m->mutant == ALL_IN_LINE;
    b->where[i] = alone ? IN_LINE : BEHIND;
    flag(b);
    dispatch(m, b); /* in the same hold */
    return true;
  }
  if (b->where[i] != IN_LINE && b->where[i] != BEHIND) {
    return false;
  }
  m->passes_time = m->alternative == 0 && b->late[i] == 0;
  if (m->passes_time) { /* the deadline passes */
    b->late[i] = 1;
    return true;
  }
  if (m->alternative > 1) {
    return false;
  }
  m->passes_time = m->alternative == 1;
  leave(m, b, i, OVER); /* told of it, or cancelled */
  tried(m, b);
  return true;
}

/* weir__publish() of whoever has the connection. */
static bool make_releaser(struct move *m, struct behind *b) {
  uint8_t *pc = &b->pc[RELEASER];
  if (m->alternative != 0) {
    return false;
  }
  switch (*pc) {
  case 0: /* reads Q: hands over, or makes it idle */
    m->passes_time = true;
    if (b->connection != USED) {
      return false;
    }
    if (b->owner < NODES) {
      b->where[b->owner] = OVER;
    }
    return small_go(pc, b->waiters != 0 ? 1 : 2);
  case 1: { /* try_hand_over() */
    unsigned i = heir(b);
    if (i == NODES) {
      return small_go(pc, 2);
    }
    leave(m, b, i, SERVED);
    b->owner = (uint8_t)i;
    b->connection = CHECKED;
    tried(m, b);
    return small_go(pc, 0);
  }
  case 2:
    b->connection = PUBLISHED;
    return small_go(pc, 3);
  case 3: /* reads Q again */
    b->connection = b->connection == PUBLISHED ? IDLE : b->connection;
    return small_go(pc, b->waiters != 0 ? 4 : 0);
  default:
    dispatch(m, b);
    return small_go(pc, 0);
  }
}

/* requeue(): in front; one that has moved up meanwhile goes back behind. */
static void put_back(const struct move *m, struct behind *b, unsigned i) {
  unsigned other = first(b, IN_LINE);
  bool behind = m->mutant == BACK_BEHIND && other < NODES;
  if (other < NODES && !behind && m->mutant != ALL_IN_LINE) {
    b->where[other] = BEHIND;
  }
  b->where[i] = behind ? BEHIND : IN_LINE;
  dispatch(m, b);
}

static bool make_reactor(struct move *m, struct behind *b) {
  if (b->connection == CLOSING && m->alternative == 0) {
    m->passes_time = true;
    b->connection = IDLE; /* another in its place, of which all are told */
    dispatch(m, b);
    return true;
  }
  if (b->connection != CHECKED || m->alternative != 0) {
    return false;
  }
  if (b->rotten == 0) {
    b->connection = USED;
    return true;
  }
  b->rotten--;
  b->connection = CLOSING;
  put_back(m, b, b->owner);
  return true;
}

static bool make(struct move *m) {
  return m->mover < NODES       ? make_node(m, m->state)
         : m->mover == RELEASER ? make_releaser(m, m->state)
                                : make_reactor(m, m->state);
}

static const char *never(const void *state, const void *setup) {
  const struct behind *b = state;
  unsigned n = 0;
  (void)setup;
  for (unsigned i = 0; i < NODES; i++) {
    n += b->where[i] == IN_LINE;
  }
  unsigned in_line = first(b, IN_LINE);
  unsigned behind = first(b, BEHIND);
  if (n > 1) {
    return "two submitted acquires are in line";
  }
  if (behind < NODES && in_line == NODES) {
    return "one is behind, and nobody is in line";
  }
  if (behind < NODES && behind < in_line) {
    return "one that is behind came before the one in line";
  }
  return (n != 0) != (b->waiters != 0) ? "WAITERS is not as the line is" : NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct behind *b = state;
  (void)setup;
  bool waits = first(b, IN_LINE) < NODES || first(b, BEHIND) < NODES;
  return waits && (b->connection == IDLE || b->connection == PUBLISHED)
             ? "an acquire waits beside an idle connection (P3)"
             : NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  const struct behind *b = m->state;
  char what[64];
  (void)snprintf(what, sizeof what, "(line %u, behind %u, connection %u)",
                 first(b, IN_LINE), first(b, BEHIND), b->connection);
  small_tell(text, size,
             m->mover < NODES       ? "acquire"
             : m->mover == RELEASER ? "releaser"
                                    : "reactor",
             what, m->alternative);
}

static const struct model model = {
    .name = "behind",
    .state_size = (sizeof(struct behind) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = 2,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"behind_three", NULL, false}};
static const struct part_mutant mutants[] = {
    {NOT_MOVED_UP, "NOT_MOVED_UP", "waiter.c weir__waiters_remove",
     "who leaves the line has nobody come in", NULL},
    {MOVED_UP_SILENTLY, "MOVED_UP_SILENTLY",
     "dispatch.c weir__dispatch_tried_locked",
     "nobody looks what there is for one that has come in", NULL},
    {ALL_IN_LINE, "ALL_IN_LINE", "waiter.c weir__waiters_push",
     "all that come are in line", NULL},
    {BACK_BEHIND, "BACK_BEHIND", "waiter.c weir__waiters_push_front",
     "one whose connection was dead loses its place", NULL},
};
SMALL_PART(part_behind, "behind", model, runs, mutants);
