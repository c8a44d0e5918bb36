/* SPDX-License-Identifier: MIT */
/* kick.c - engine/caller.c: weir__caller_kick() against weir__caller_close_fds().
 * The number of a descriptor that has been closed is somebody else's at once. */
#include <string.h>

#include "small.h"

enum {
  KICKER_A,
  KICKER_B,
  CLOSER,
  MOVERS
};

struct kick {
  uint8_t pc[MOVERS];
  uint8_t fd[2]; /* what a kicker has read: 1 a descriptor, 0 none */
  uint8_t has_fd;
  uint8_t kickers;
  uint8_t closed;
};

enum {
  FD_FIRST = 1, /* mutants */
  COUNT_FIRST,
  NO_WAIT
};

static void start(void *state, const void *setup) {
  struct kick *k = state;
  (void)setup;
  memset(k, 0, sizeof *k);
  k->has_fd = 1;
}

static bool make_kicker(struct move *m, struct kick *k) {
  uint8_t *pc = &k->pc[m->mover];
  uint8_t *fd = &k->fd[m->mover];
  bool early = m->mutant == FD_FIRST;
  switch (*pc) {
  case 0: /* counts itself */
    if (early) {
      *fd = k->has_fd;
    } else {
      k->kickers++;
    }
    return small_go(pc, 1);
  case 1: /* reads the descriptor's number */
    if (early) {
      k->kickers++;
    } else {
      *fd = k->has_fd;
    }
    return small_go(pc, *fd != 0 ? 2 : 3);
  case 2: /* writes to it */
    if (k->closed != 0) {
      return small_broken(m, "a kick writes to a number that was closed");
    }
    return small_go(pc, 3);
  case 3:
    k->kickers--;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

static bool make_closer(struct move *m, struct kick *k) {
  uint8_t *pc = &k->pc[CLOSER];
  bool swapped = m->mutant == COUNT_FIRST;
  switch (*pc) {
  case 0: /* takes the number away */
    if (swapped) {
      return k->kickers == 0 && small_go(pc, 1);
    }
    k->has_fd = 0;
    return small_go(pc, m->mutant == NO_WAIT ? 2 : 1);
  case 1: /* waits until nobody kicks */
    if (swapped) {
      k->has_fd = 0;
      return small_go(pc, 2);
    }
    return k->kickers == 0 && small_go(pc, 2);
  case 2:
    k->closed = 1;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

static bool make(struct move *m) {
  struct kick *k = m->state;
  return m->mover == CLOSER ? make_closer(m, k) : make_kicker(m, k);
}

static const char *never(const void *state, const void *setup) {
  (void)state;
  (void)setup;
  return NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct kick *k = state;
  (void)setup;
  return k->closed == 0 ? "the descriptor is never closed" : NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  static const char *const kicker[] = {"counts itself in kickers", "reads fd",
                                       "writes to the descriptor",
                                       "takes itself out of kickers"};
  static const char *const closer[] = {"takes fd away", "reads kickers: 0",
                                       "closes the number"};
  const struct kick *k = m->state;
  uint8_t pc = k->pc[m->mover] & 3u;
  small_tell(text, size, m->mover == CLOSER ? "closer" : "kicker",
             m->mover == CLOSER ? closer[pc % 3u] : kicker[pc], 0);
}

static const struct model model = {
    .name = "kick",
    .state_size = (sizeof(struct kick) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = 1,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"kick_two", NULL, false}};
static const struct part_mutant mutants[] = {
    {FD_FIRST, "FD_FIRST", "weir__caller_kick",
     "a kicker reads the descriptor before it counts itself", NULL},
    {COUNT_FIRST, "COUNT_FIRST", "weir__caller_close_fds",
     "the closer reads the count before it takes the descriptor away", NULL},
    {NO_WAIT, "NO_WAIT", "weir__caller_close_fds",
     "the closer does not wait for kicks under way", NULL},
};
SMALL_PART(part_kick, "kick", model, runs, mutants);
