/* SPDX-License-Identifier: MIT */
/* pool_check.c - how a run begins, and what must hold. */
#include <string.h>

#include "pool.h"

static void start_thread(struct thread *t, uint8_t pc) {
  t->pc = pc;
  t->slot = NOTHING;
  t->heir = NOTHING;
  t->here = NOTHING;
  t->place = NOTHING;
  t->granted = NOTHING;
}

/* Caller 2 has overtaken caller 0, which has been woken. */
static void start_told(struct pool *p) {
  for (uint8_t i = 0; i < 2; i++) {
    p->waiting.at[p->waiting.n++] = i;
    p->threads[i].pc = STEP_sleep_word;
    p->threads[i].phase = ASKING;
    p->threads[i].live = 1;
    p->threads[i].state = i == 0 ? TRYING : WAITING;
  }
  p->waiters = 1;
  p->q_trying = 1;
  p->trier = 0;
  p->due = DUE_LATER;
  p->slots[0].word.state = LEASED;
  p->threads[2].pc = STEP_hold;
  p->threads[2].phase = HOLDING;
  p->threads[2].here = 0;
}

void pool_start(void *state, const void *setup) {
  const struct setup *set = setup;
  struct pool *p = state;
  memset(p, 0, pool_model.state_size);
  p->mutex = NOBODY;
  p->trier = NOBODY;
  p->list_mutex = NOBODY;
  p->handle_slot = NOTHING;
  for (uint8_t i = 0; i < set->slots; i++) {
    if (i < set->idle) {
      p->slots[i].word.state = IDLE;
      p->bits |= set->listed ? 0 : bit(i);
      if (set->listed) {
        put_last(&p->order, i);
      }
      p->n_open++;
    } else if (i < set->idle + set->opening) {
      p->slots[i].word.state = CONNECTING;
      p->slots[i].job = JOB_CONNECT;
      p->n_open++;
      p->n_connecting++;
    } else {
      p->empties |= bit(i);
    }
  }
  p->refusals = set->refusals;
  p->overruns = set->overruns;
  p->rotten = set->rotten;
  for (uint8_t i = 0; i < THREADS; i++) {
    start_thread(&p->threads[i], STEP_take_q);
    p->threads[i].phase = i < set->callers ? AWAY : DONE;
  }
  p->threads[REACTOR].pc = STEP_reactor;
  p->threads[REACTOR].phase = ASKING;
  p->threads[OPERATOR].pc = STEP_operator;
  p->threads[OPERATOR].phase = ASKING;
  if (set->told) {
    start_told(p);
  }
}

static uint8_t count(const struct pool *p, uint8_t state) {
  uint8_t n = 0;
  for (uint8_t i = 0; i < SLOTS; i++) {
    if (p->slots[i].word.state == state) {
      n++;
    }
  }
  return n;
}

static bool is_listed(const struct list *list, uint8_t who) {
  for (uint8_t i = 0; i < list->n; i++) {
    if (list->at[i] == who) {
      return true;
    }
  }
  return false;
}

/* Holds whenever the mutex is free. */
static const char *check_lists(const struct pool *p, const struct setup *set) {
  if ((p->waiters != 0) != awaited(p, set)) {
    return "WAITERS is not as the lists are, and the mutex is free (I4)";
  }
  if ((p->q_trying != 0) != (p->trier != NOBODY)) {
    return "TRYING is set and nobody is to try, and the mutex is free (I4)";
  }
  if (p->due != due_now(p, set)) {
    return "due is not as the line is, and the mutex is free (I4)";
  }
  for (uint8_t i = 0; i < REACTOR; i++) {
    const struct thread *t = &p->threads[i];
    bool listed = is_listed(&p->waiting, i);
    bool drives = is_listed(&p->driving, i);
    if ((listed || drives) && t->live == 0) {
      return "a node is in line whose caller has gone (P4)";
    }
    if (t->live != 0 &&
        ((listed != (waits(t) && !t->mine && t->pc != STEP_requeue_lock)) ||
         drives != (t->state == DRIVING))) {
      return "a node is not in the list of its state";
    }
  }
  return NULL;
}

const char *pool_never(const void *state, const void *setup) {
  const struct setup *set = setup;
  const struct pool *p = state;
  if (count(p, CONNECTING) > p->n_connecting ||
      p->n_connecting > connects_allowed(set)) {
    return "more connects are under way than Max Concurrent Connects allows";
  }
  if (SLOTS - count(p, EMPTY) > set->slots || p->n_open > set->slots) {
    return "there are more sessions than Max Pool Size (P1)";
  }
  if (p->overtakes > set->slots) {
    return "the head is overtaken for longer than the bound (I5)";
  }
  return p->mutex == NOBODY ? check_lists(p, set) : NULL;
}

/* Nothing moves any more but clocks, and somebody waits. */
static const char *check_waiter(const struct pool *p, const struct setup *set) {
  bool comes = false; /* somebody, some time */
  for (uint8_t i = 0; i < THREADS; i++) {
    comes = comes || p->threads[i].phase == HOLDING;
  }
  for (uint8_t i = 0; i < set->slots; i++) {
    comes =
        comes || p->slots[i].job == JOB_HANG || p->slots[i].job == JOB_CLOSE;
    if (p->slots[i].word.state == IDLE) {
      return "a waiter sleeps beside an idle connection (P3)";
    }
  }
  if (p->empties != 0 && p->n_connecting < connects_allowed(set)) {
    return "a waiter sleeps beside an empty place that may be opened (P3)";
  }
  return comes ? NULL : "a waiter sleeps and nobody will ever come (P3)";
}

static const char *check_counts(const struct pool *p, const struct setup *set) {
  uint8_t empty = 0;
  for (uint8_t i = 0; i < set->slots; i++) {
    const struct word *w = &p->slots[i].word;
    empty |= w->state == EMPTY ? bit(i) : 0;
    if (w->state != EMPTY && w->state != IDLE && p->slots[i].job != JOB_HANG &&
        p->slots[i].job != JOB_CLOSE) {
      return "a slot at rest is neither empty nor idle: it is lost";
    }
    if (w->state == IDLE && (p->bits & bit(i)) == 0 &&
        !is_listed(&p->order, i)) {
      return "an idle slot at rest has no bit and no entry: nobody will find "
             "it (I10)";
    }
    if (w->state == IDLE && w->generation != p->q_generation) {
      return "an idle slot at rest is older than the last clear";
    }
    if (w->state == IDLE && p->closed != 0) {
      return "an idle slot is left in a closed pool";
    }
  }
  if (empty != p->empties ||
      p->n_open != count(p, IDLE) + p->n_connecting + p->n_closing ||
      p->n_connecting != count(p, CONNECTING) ||
      p->n_closing != count(p, CLOSING)) {
    return "the counts are wrong at rest (P8)";
  }
  return p->waiters != 0 ? "WAITERS is set at rest" : NULL;
}

const char *pool_at_rest(const void *state, const void *setup) {
  const struct setup *set = setup;
  const struct pool *p = state;
  bool sleeps = false;
  bool holds = false;
  for (uint8_t i = 0; i < THREADS; i++) {
    const struct thread *t = &p->threads[i];
    if (t->phase == DONE || (i == REACTOR && t->pc == STEP_reactor) ||
        t->pc == STEP_again_take) {
      continue;
    }
    if (t->pc == STEP_hold) {
      holds = true;
      continue;
    }
    if (t->pc != STEP_park || t->live == 0) {
      return "a thread is stuck for ever";
    }
    if (t->state != WAITING) {
      return "a waiter was served and sleeps on";
    }
    sleeps = true;
  }
  if (sleeps) {
    return p->paused != 0 ? NULL : check_waiter(p, set);
  }
  return holds ? NULL : check_counts(p, set);
}
