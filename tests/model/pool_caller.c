/* SPDX-License-Identifier: MIT */
/* pool_caller.c - engine/acquire.c, the sleeping of waiter.c, lease.c and what of
 * cleanup.c runs on the thread that releases. */
#include <string.h>

#include "pool.h"

/* ---------------------------------------------------------------- acquire */

bool step_take_q(struct run *r) {
  struct thread *t = r->t;
  const struct pool *p = r->p;
  bool queue = p->waiters != 0 && !tries(r->setup);
  t->phase = ASKING;
  t->need = p->cleared;
  if (queue || p->paused != 0 || p->closed != 0) {
    return go(r, STEP_enqueue);
  }
  t->generation = p->q_generation;
  return call(r, search(r->setup, STEP_hint), STEP_took);
}

bool step_took(struct run *r) {
  if (r->t->slot == NOTHING) {
    bool leaves = r->setup->impatient && r->me == 0;
    return leaves ? end_cycle(r) : go(r, STEP_enqueue);
  }
  note_overtake(r);
  return go(r, STEP_reread_closed);
}

static bool away_with(struct run *r, uint8_t slot, enum step_number after) {
  r->t->here = slot;
  return call(r, STEP_retire_cas, after);
}

/* Whether the driver finds it alive (alternative 1: not). */
static bool is_dead(struct run *r) {
  if (r->alt == 1) {
    r->p->rotten--;
  }
  return r->alt == 1;
}

bool step_reread_closed(struct run *r) {
  struct thread *t = r->t;
  struct pool *p = r->p;
  if (r->alt > 1 || (r->alt == 1 && p->rotten == 0)) {
    return false;
  }
  uint8_t slot = t->slot;
  t->slot = NOTHING;
  if (is_dead(r) || (p->closed != 0 && !is(r, SHUT_UNSEEN))) {
    return away_with(r, slot, STEP_take_q);
  }
  return hold(r, slot, t->seen);
}

bool step_enqueue(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  struct thread *t = r->t;
  if (r->p->closed != 0) {
    unlock(r);
    return end_cycle(r);
  }
  t->live = 1;
  t->state = WAITING;
  t->overdue = 0;
  if (is(r, SCAN_BEFORE_QUEUE)) {
    t->mine = 1;
    then(r, STEP_queued);
    return go(r, STEP_serve);
  }
  put_last(&r->p->waiting, r->me);
  return go(r, STEP_queued);
}

bool step_queued(struct run *r) {
  if (r->t->mine != 0) { /* the mutant: only now */
    r->t->mine = 0;
    put_last(&r->p->waiting, r->me);
    return end_locked(r, STEP_sleep_word);
  }
  then(r, STEP_sleep_word);
  then(r, STEP_unlock_flush);
  then(r, STEP_look);
  return go(r, is(r, FLAG_AFTER_SCAN) ? STEP_serve_only : STEP_flag);
}

bool step_serve_only(struct run *r) {
  r->t->depth--;
  return go(r, STEP_serve);
}

/* The word first: a wake between the two reads changes it. */
bool step_sleep_word(struct run *r) {
  if (is(r, SLEEP_BEFORE_LOOK)) {
    return go(r, r->t->state != WAITING ? STEP_decided : STEP_sleep_late);
  }
  r->t->woken = 0;
  return go(r, STEP_sleep_state);
}

bool step_sleep_late(struct run *r) {
  r->t->woken = 0;
  return go(r, STEP_park);
}

bool step_sleep_state(struct run *r) {
  const struct thread *t = r->t;
  if (t->state == TRYING) {
    return go(r, STEP_try_begin);
  }
  return go(r, t->state != WAITING ? STEP_decided : STEP_park);
}

bool step_park(struct run *r) {
  const struct thread *t = r->t;
  if (t->woken != 0) {
    return go(r, STEP_sleep_word);
  }
  return t->expired != 0 &&
         go(r, tries(r->setup) ? STEP_sleep_over : STEP_leave);
}

/* Its time is over; leave() looks once more, with the mutex. */
bool step_sleep_over(struct run *r) {
  return go(r, r->t->state == TRYING    ? STEP_try_begin
               : r->t->state == WAITING ? STEP_leave
                                        : STEP_decided);
}

bool step_leave(struct run *r) {
  struct thread *t = r->t;
  if (!lock(r)) {
    return false;
  }
  if (!waits(t) && !is(r, TIME_OUT_DROPS_GRANT)) {
    unlock(r);
    return go(r, STEP_decided);
  }
  bool tried = r->p->trier == r->me;
  unlist(r->p, r->me);
  t->live = 0;
  if (tried && is(r, TRYING_KEPT_LATE)) {
    t->tried = 1;
    return end_locked(r, STEP_left);
  }
  if (tried && !is(r, TRY_NOT_PASSED_ON)) {
    return serve_locked(r, STEP_left);
  }
  if (is(r, FLAG_KEPT)) {
    return call(r, STEP_unlock_flush, STEP_left);
  }
  return end_locked(r, STEP_left);
}

bool step_left(struct run *r) {
  return end_cycle(r);
}

bool step_decided(struct run *r) {
  struct thread *t = r->t;
  if (waits(t)) {
    return go(r, STEP_sleep_word);
  }
  if (t->state == DRIVING) {
    t->here = t->place;
    t->place = NOTHING;
    return go(r, STEP_drive_state);
  }
  return go(r, STEP_accept);
}

/* Told to open, and decided otherwise before it could begin. */
bool step_accept(struct run *r) {
  struct thread *t = r->t;
  if (t->place != NOTHING && !is(r, PLACE_FORGOTTEN)) {
    t->here = t->place;
    t->place = NOTHING;
    t->seen = r->p->slots[t->here].word;
    return go(r, STEP_drop_cas);
  }
  if (t->state == FAILED) {
    return end_cycle(r);
  }
  return t->state == GRANTED ? go(r, STEP_accept_grant)
                             : go(r, STEP_sleep_word);
}

bool step_drop_cas(struct run *r) {
  struct thread *t = r->t;
  struct word to = word_of(CLOSING, 0, t->seen.generation, t->seen.lease);
  /* A failure is a DOOMED that came: once more. */
  return swap(r, t->here, to) ? go(r, STEP_drop_count) : true;
}

bool step_drop_count(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->n_connecting--;
  r->p->n_closing++;
  unlock(r);
  return call(r, STEP_emptied, STEP_accept);
}

bool step_accept_grant(struct run *r) {
  struct thread *t = r->t;
  if (r->alt > 1 || (r->alt == 1 && r->p->rotten == 0)) {
    return false;
  }
  uint8_t slot = t->granted;
  t->seen = t->granted_word;
  t->granted = NOTHING;
  if (is_dead(r)) {
    return away_with(r, slot, STEP_requeue);
  }
  return hold(r, slot, t->seen);
}

bool step_requeue(struct run *r) {
  struct word none = {0, 0, 0, 0};
  r->t->granted_word = none;
  r->t->state = WAITING;
  return go(r, STEP_requeue_lock);
}

bool step_requeue_lock(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  if (r->p->closed != 0) {
    unlock(r);
    return end_cycle(r);
  }
  put_first(&r->p->waiting, r->me);
  then(r, STEP_sleep_word);
  then(r, STEP_unlock_flush);
  return call(r, STEP_flag, STEP_serve);
}

/* ------------------------------------------------------------ what it got */

bool hold(struct run *r, uint8_t slot, struct word word) {
  struct pool *p = r->p;
  for (uint8_t i = 0; i < THREADS; i++) {
    const struct thread *other = &p->threads[i];
    if (i != r->me && other->phase == HOLDING && other->here == slot &&
        (other->lease == word.lease || p->handle_slot != slot)) {
      return broken(r, "a connection is in two hands (P2)");
    }
  }
  if (word.generation < r->t->need || p->slots[slot].born < r->t->need) {
    return broken(r, "an acquire that began after a clear got what is older "
                     "than it (I9)");
  }
  if (p->revoked != 0 && p->slots[slot].word.state == LEASED &&
      p->slots[slot].word.lease == word.lease) {
    return broken(r,
                  "a lease begins after a shutdown has taken them all (P10)");
  }
  struct thread *t = r->t;
  struct word none = {0, 0, 0, 0};
  t->live = 0;
  t->expired = 0;
  t->state = WAITING;
  t->granted = NOTHING;
  t->granted_word = none;
  t->seen = none;
  t->generation = 0;
  t->need = 0;
  t->here = slot;
  t->lease = word.lease;
  t->phase = HOLDING;
  return go(r, STEP_hold);
}

bool end_cycle(struct run *r) {
  struct thread fresh = {.cycles = (uint8_t)(r->t->cycles + 1),
                         .kicked = r->t->kicked,
                         .slot = NOTHING,
                         .heir = NOTHING,
                         .here = NOTHING,
                         .place = NOTHING,
                         .granted = NOTHING,
                         .pc = STEP_take_q};
  if (fresh.cycles == r->setup->cycles + (r->setup->busy && r->me == 1)) {
    fresh.phase = DONE;
    fresh.kicked = 0;
  }
  *r->t = fresh;
  return true;
}

/* Alternative 1: it has run something, so a reset is due. */
bool step_hold(struct run *r) {
  if (r->alt > 1 || (r->alt == 1 && !r->setup->resets)) {
    return false;
  }
  r->t->used = r->alt;
  r->move->passes_time = true; /* for as long as it likes */
  return go(r, STEP_release_word);
}

/* ---------------------------------------------------------------- release */

static bool is_lease(const struct thread *t, struct word w) {
  return w.state == LEASED && w.lease == t->lease;
}

bool step_release_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->here].word;
  if (!is_lease(t, t->seen)) {
    return go(r, STEP_released); /* WEIR_E_HANDLE */
  }
  t->phase = ASKING;
  if ((t->seen.flags & INCALL) != 0) {
    return go(r, STEP_released); /* WEIR_E_BUSY */
  }
  return go(r, t->used != 0 ? STEP_begin_word : STEP_worn_q);
}

static bool is_worn_out(const struct run *r) {
  const struct pool *p = r->p;
  return (r->t->seen.flags & DOOMED) != 0 || p->closed != 0 ||
         r->t->seen.generation != p->q_generation;
}

bool step_worn_q(struct run *r) {
  if (is_worn_out(r)) {
    return go(r, STEP_begin_word);
  }
  return call(r, STEP_publish_q, STEP_published);
}

bool step_published(struct run *r) {
  return go(r, r->t->good != 0 ? STEP_released : STEP_begin_word);
}

bool step_begin_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->here].word;
  bool mine = is_lease(t, t->seen) && (t->seen.flags & INCALL) == 0;
  return go(r, mine ? STEP_begin_cas : STEP_released);
}

bool step_begin_cas(struct run *r) {
  struct thread *t = r->t;
  struct word to = t->seen;
  to.flags |= INCALL;
  if (!swap(r, t->here, to)) {
    bool mine = is_lease(t, t->seen) && (t->seen.flags & INCALL) == 0;
    return mine ? true : go(r, STEP_released);
  }
  t->seen = to;
  return go(r, STEP_cleanup_q);
}

bool step_cleanup_q(struct run *r) {
  if (is_worn_out(r)) {
    return go(r, STEP_cleanup_retire);
  }
  return go(r, r->t->used != 0 ? STEP_reserve_cas : STEP_cleanup_word);
}

bool step_cleanup_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->here].word;
  if (t->seen.lease != t->lease || (t->seen.flags & DOOMED) != 0) {
    return go(r, STEP_cleanup_retire);
  }
  return call(r, STEP_publish_q, STEP_kept);
}

bool step_kept(struct run *r) {
  return go(r, r->t->good != 0 ? STEP_released : STEP_cleanup_retire);
}

bool step_cleanup_retire(struct run *r) {
  r->t->seen = r->p->slots[r->t->here].word;
  return call(r, STEP_retire_cas, STEP_released);
}

bool step_reserve_cas(struct run *r) {
  struct thread *t = r->t;
  struct word to = word_of(RESERVED, t->seen.flags & DOOMED, t->seen.generation,
                           t->seen.lease);
  if (!swap(r, t->here, to)) {
    /* DOOMED has come: once more; or the lease has gone. */
    return t->seen.lease == t->lease ? true : go(r, STEP_cleanup_retire);
  }
  r->p->slots[t->here].job = JOB_RESET;
  return go(r, STEP_released);
}

bool step_released(struct run *r) {
  return r->me == OPERATOR ? go(r, STEP_acted) : end_cycle(r);
}
