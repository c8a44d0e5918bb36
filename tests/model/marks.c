/* SPDX-License-Identifier: MIT */
/* marks.c - engine/caller.c: who is inside a call, told by plain stores, against
 * one who makes a handle stale, runs membarrier(2) and reads the marks.  Each
 * caller's stores go through a buffer of its own, in order, as on x86 (TSO); what
 * drains it is a step of its own or the barrier.  The reader sleeps on a word of
 * its own until no mark is left. */
#include <string.h>

#include "small.h"

#define CALLERS 2

enum {
  READER = CALLERS,
  MEMORY, /* writes one buffered store back */
  MOVERS
};

#define BUFFER 3

struct marks {
  uint8_t pc[MOVERS];
  uint8_t epoch, stale, freed, awaited, left, seen;
  uint8_t mark[CALLERS];               /* in memory */
  uint8_t buffer[CALLERS][BUFFER];     /* stores to the mark: value + 1 */
  uint8_t held[CALLERS], was[CALLERS]; /* an object; the epoch read */
};

enum {
  NO_BARRIER = 1, /* mutants */
  BARRIER_EARLY,
  NO_COMPILER_FENCE,
  LEFT_EARLY,
  SEEN_LATE,
  AWAITED_LATE,
  EPOCH_STRICT
};

static void start(void *state, const void *setup) {
  struct marks *s = state;
  (void)setup;
  memset(s, 0, sizeof *s);
  s->epoch = 1;
}

static void put(struct marks *s, int who, uint8_t value) {
  uint8_t i = 0;
  while (s->buffer[who][i] != 0) {
    i++;
  }
  s->buffer[who][i] = (uint8_t)(value + 1);
}

static bool drain_one(struct marks *s, int who) {
  if (s->buffer[who][0] == 0) {
    return false;
  }
  s->mark[who] = (uint8_t)(s->buffer[who][0] - 1);
  for (uint8_t i = 0; i + 1 < BUFFER; i++) {
    s->buffer[who][i] = s->buffer[who][i + 1];
  }
  s->buffer[who][BUFFER - 1] = 0;
  return true;
}

static void barrier(struct marks *s) {
  for (int who = 0; who < CALLERS; who++) {
    while (drain_one(s, who)) {
    }
  }
}

static bool resolve(struct marks *s, int who) {
  s->held[who] = s->stale == 0;
  return true;
}

static bool make_caller(struct move *m, struct marks *s) {
  int who = m->mover;
  uint8_t *pc = &s->pc[who];
  bool swapped = m->mutant == NO_COMPILER_FENCE;
  switch (*pc) {
  case 0:
    s->was[who] = s->epoch;
    return small_go(pc, 1);
  case 1:
    if (swapped) {
      (void)resolve(s, who);
    } else {
      put(s, who, s->was[who]);
    }
    return small_go(pc, 2);
  case 2:
    if (swapped) {
      put(s, who, s->was[who]);
    } else {
      (void)resolve(s, who);
    }
    return small_go(pc, m->mutant == LEFT_EARLY ? 4 : 3);
  case 3: /* uses the object */
    if (s->held[who] != 0 && s->freed != 0) {
      return small_broken(m, "a call uses what has been freed");
    }
    if (m->mutant == LEFT_EARLY) {
      s->held[who] = 0;
      return small_go(pc, 5);
    }
    return small_go(pc, 4);
  case 4: /* leaves */
    put(s, who, 0);
    if (m->mutant == LEFT_EARLY) {
      return small_go(pc, 3);
    }
    s->held[who] = 0;
    return small_go(pc, 5);
  case 5: /* does somebody wait for callers? */
    if (s->awaited != 0) {
      return small_go(pc, 6);
    }
    s->was[who] = 0;
    return small_go(pc, SMALL_END);
  case 6: /* the wake is a locked operation, so what was stored is out by then */
    while (drain_one(s, who)) {
    }
    s->left++;
    s->was[who] = 0;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

static bool none_inside(const struct move *m, const struct marks *s) {
  for (int who = 0; who < CALLERS; who++) {
    uint8_t limit =
        m->mutant == EPOCH_STRICT ? (uint8_t)(s->epoch - 1) : s->epoch;
    if (s->mark[who] != 0 && s->mark[who] < limit) {
      return false;
    }
  }
  return true;
}

static bool make_reader(struct move *m, struct marks *s) {
  uint8_t *pc = &s->pc[READER];
  switch (*pc) {
  case 0:
    s->stale = m->mutant != BARRIER_EARLY;
    return small_go(pc, 1);
  case 1:
    s->epoch++;
    return small_go(pc, m->mutant == AWAITED_LATE ? 3 : 2);
  case 2:
    s->awaited = 1;
    return small_go(pc, 3);
  case 3:
    s->seen = s->left;
    return small_go(pc, 4);
  case 4:
    if (m->mutant != NO_BARRIER) {
      barrier(s);
    }
    return small_go(pc, 5);
  case 5: /* reads the marks: all of them are out, or come later and are new */
    s->stale = 1;
    if (m->mutant == AWAITED_LATE) {
      s->awaited = 1;
    }
    if (!none_inside(m, s)) {
      return small_go(pc, m->mutant == SEEN_LATE ? 7 : 6);
    }
    s->freed = 1;
    return small_go(pc, SMALL_END);
  case 6:
    return s->left != s->seen && small_go(pc, 3);
  case 7:
    s->seen = s->left;
    return small_go(pc, 6);
  default:
    return false;
  }
}

static bool make(struct move *m) {
  struct marks *s = m->state;
  if (m->mover == MEMORY) {
    return m->alternative < CALLERS && drain_one(s, m->alternative);
  }
  if (m->alternative != 0) {
    return false;
  }
  return m->mover == READER ? make_reader(m, s) : make_caller(m, s);
}

static const char *never(const void *state, const void *setup) {
  (void)state;
  (void)setup;
  return NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct marks *s = state;
  (void)setup;
  return s->freed == 0 ? "the one who waits for callers sleeps for ever" : NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  static const char *const caller[] = {
      "reads the epoch",        "stores its mark",
      "resolves the handle",    "uses the object",
      "stores 0 as its mark",   "reads weir__caller_awaited",
      "wakes the one who waits"};
  static const char *const reader[] = {"makes the handle stale",
                                       "begins an epoch",
                                       "says that it waits",
                                       "reads its word",
                                       "membarrier",
                                       "reads the marks",
                                       "sleeps",
                                       "reads its word"};
  const struct marks *s = m->state;
  if (m->mover == MEMORY) {
    (void)snprintf(text, size, "memory    a store of caller %d comes out",
                   m->alternative);
    return;
  }
  uint8_t pc = s->pc[m->mover];
  small_tell(text, size, m->mover == READER ? "reader" : "caller",
             m->mover == READER ? reader[pc % 8u] : caller[pc % 7u], 0);
}

static const struct model model = {
    .name = "marks",
    .state_size = (sizeof(struct marks) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = CALLERS,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"marks_two", NULL, false}};
static const struct part_mutant mutants[] = {
    {NO_BARRIER, "NO_BARRIER", "weir__caller_count",
     "marks are read without membarrier", NULL},
    {BARRIER_EARLY, "BARRIER_EARLY", "weir__caller_count",
     "the handle becomes stale only after the barrier", NULL},
    {NO_COMPILER_FENCE, "NO_COMPILER_FENCE", "weir__caller_enter",
     "the handle is resolved before the mark is stored", NULL},
    {LEFT_EARLY, "LEFT_EARLY", "weir__caller_leave",
     "the mark is taken away before the last use", NULL},
    {SEEN_LATE, "SEEN_LATE", "weir__caller_await",
     "the word is read after the marks and not before", NULL},
    {AWAITED_LATE, "AWAITED_LATE", "weir__caller_await",
     "that somebody waits is said after the barrier", NULL},
    {EPOCH_STRICT, "EPOCH_STRICT", "weir__caller_count",
     "a mark of the epoch that has just ended does not count", NULL},
};
SMALL_PART(part_marks, "marks", model, runs, mutants);
