/* SPDX-License-Identifier: MIT */
/* inbox.c - engine/reactor.c: weir__reactor_post() against the end of the loop.
 * A task may run, and make another thread stop the reactor, before the post that
 * brought it has returned. */
#include <string.h>

#include "small.h"

#define POSTERS 2

enum {
  LOOP = POSTERS,
  STOPPER,
  MOVERS
};

#define TASK_STOP 4u

struct inbox {
  uint8_t pc[MOVERS];
  uint8_t tasks;   /* in the stack: a bit for each poster's, and the stop */
  uint8_t posting; /* how many are inside */
  uint8_t awaits;  /* POSTING_AWAIT */
  uint8_t was_empty[MOVERS];
  uint8_t seen;
  uint8_t signal; /* of uv_async_send() */
  uint8_t ran;    /* tasks that have run */
  uint8_t stopping;
  uint8_t ended; /* the handles are closed */
  uint8_t woken;
};

enum {
  NOT_COUNTED = 1, /* mutants */
  ALWAYS_QUIET,
  NO_UNPARK
};

static void start(void *state, const void *setup) {
  (void)setup;
  struct inbox *s = state;
  memset(s, 0, sizeof *s);
  s->signal = 1; /* one wake-up for nothing: signals run together */
}

/* weir__reactor_post() from its first step on. */
static bool make_post(struct move *m, struct inbox *s, uint8_t task) {
  uint8_t *pc = &s->pc[m->mover];
  uint8_t *was = &s->was_empty[m->mover];
  switch (*pc) {
  case 0:
  case 1: /* counts itself */
    s->posting = (uint8_t)(s->posting + (m->mutant != NOT_COUNTED));
    return small_go(pc, 2);
  case 2: /* pushes */
    *was = s->tasks == 0;
    s->tasks |= task;
    return small_go(pc, *was != 0 && m->mutant != ALWAYS_QUIET ? 3 : 4);
  case 3: /* wakes the loop */
    if (s->ended != 0) {
      return small_broken(m, "a post wakes a loop that has ended");
    }
    s->signal = 1;
    *was = 0;
    return small_go(pc, 4);
  case 4: /* takes itself out; nothing of the reactor is touched afterwards */
    *was = 0;
    s->posting = (uint8_t)(s->posting - (m->mutant != NOT_COUNTED));
    s->woken |= s->awaits != 0 && m->mutant != NO_UNPARK;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

static void run_tasks(struct inbox *s) {
  s->ran |= s->tasks;
  s->stopping |= (s->tasks & TASK_STOP) != 0;
  s->tasks = 0;
}

static bool make_loop(struct inbox *s) {
  uint8_t *pc = &s->pc[LOOP];
  switch (*pc) {
  case 0: /* sleeps in the loop */
    if (s->signal == 0) {
      return false;
    }
    s->signal = 0;
    return small_go(pc, 1);
  case 1:
    run_tasks(s);
    return small_go(pc, s->stopping != 0 ? 2 : 0);
  case 2: /* wait_for_posters(): AWAIT */
    s->awaits = 1;
    return small_go(pc, 3);
  case 3:
    run_tasks(s);
    return small_go(pc, 4);
  case 4: /* reads posting */
    s->seen = s->posting;
    s->woken = 0;
    if (s->seen != 0) {
      return small_go(pc, 5);
    }
    return small_go(pc, 6);
  case 5: /* sleeps while posting is what it was */
    return s->woken != 0 && small_go(pc, 3);
  case 6: /* reads the inbox */
    return small_go(pc, s->tasks == 0 ? 7 : 3);
  case 7:
    s->ended = 1;
    return small_go(pc, SMALL_END);
  default:
    return false;
  }
}

/* Stops the reactor once the tasks of both have run. */
static bool make_stopper(struct move *m, struct inbox *s) {
  uint8_t *pc = &s->pc[STOPPER];
  if (*pc == 0) {
    return (s->ran & 3u) == 3u && small_go(pc, 1);
  }
  return make_post(m, s, TASK_STOP);
}

static bool make(struct move *m) {
  struct inbox *s = m->state;
  if (m->mover == LOOP) {
    return make_loop(s);
  }
  if (m->mover == STOPPER) {
    return make_stopper(m, s);
  }
  return make_post(m, s, (uint8_t)(1u << m->mover));
}

static const char *never(const void *state, const void *setup) {
  (void)state;
  (void)setup;
  return NULL;
}

static const char *at_rest(const void *state, const void *setup) {
  const struct inbox *s = state;
  (void)setup;
  if ((s->ran & 3u) != 3u || s->tasks != 0) {
    return "a task is never run";
  }
  return s->ended == 0 ? "the loop never ends" : NULL;
}

static void tell(const struct move *m, char *text, size_t size) {
  static const char *const post[] = {
      "counts itself in posting", "counts itself in posting", "pushes its task",
      "uv_async_send()", "takes itself out of posting"};
  static const char *const loop[] = {
      "is woken",        "runs tasks",        "sets AWAIT in posting",
      "runs tasks",      "reads posting",     "is woken by a poster",
      "reads the inbox", "closes its handles"};
  const struct inbox *s = m->state;
  uint8_t pc = s->pc[m->mover];
  small_tell(text, size,
             m->mover == LOOP      ? "loop"
             : m->mover == STOPPER ? "stopper"
                                   : "poster",
             m->mover == LOOP ? loop[pc % 8u] : post[pc % 5u], 0);
}

static const struct model model = {
    .name = "inbox",
    .state_size = (sizeof(struct inbox) + 7) / 8 * 8,
    .movers = MOVERS,
    .alternatives = 1,
    .start = start,
    .make = make,
    .never = never,
    .at_rest = at_rest,
    .tell = tell,
};

static const struct part_run runs[] = {{"inbox_stop", NULL, false}};
static const struct part_mutant mutants[] = {
    {NOT_COUNTED, "NOT_COUNTED", "reactor.c enter",
     "posters do not count themselves", NULL},
    {ALWAYS_QUIET, "ALWAYS_QUIET", "reactor.c weir__reactor_post",
     "a push onto an empty stack wakes nobody", NULL},
    {NO_UNPARK, "NO_UNPARK", "reactor.c leave",
     "the last poster does not wake the loop that waits for it", NULL},
};
SMALL_PART(part_inbox, "inbox", model, runs, mutants);
