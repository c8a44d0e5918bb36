/* SPDX-License-Identifier: MIT */
/* pool_dispatch.c - engine/dispatch.c and what of growth.c it calls; and the plan
 * of Pool Handoff=bounded. */
#include "pool.h"

void unlist(struct pool *p, uint8_t who) {
  bool head = p->waiting.n != 0 && p->waiting.at[0] == who;
  if (!take_out(&p->waiting, who)) {
    (void)take_out(&p->driving, who);
  }
  if (head) {
    p->bound_passed = 0;
    p->overtakes = 0;
  }
  if (p->trier == who) {
    p->trier = NOBODY;
    p->threads[who].trying = 0;
  }
}

/* dispatch.c: grant() up to the decision, which is a step of its own. */
static bool grant(struct run *r,
                  uint8_t slot,
                  struct word word,
                  enum step_number after) {
  struct thread *heir = &r->p->threads[r->t->heir];
  if (heir->state == DRIVING) {
    unclaimed(r->p);
  }
  unlist(r->p, r->t->heir);
  heir->granted = slot;
  heir->granted_word = word;
  r->t->to_tell = GRANTED;
  return call(r, STEP_grant_store, after);
}

/* ------------------------------------------------------------- a decision */

static void note_wake(struct run *r, uint8_t who, uint8_t was) {
  if (was == DRIVING) {
    r->t->polling |= bit(who);
  } else {
    r->t->asleep |= bit(who);
  }
}

bool step_grant_store(struct run *r) {
  struct thread *node = &r->p->threads[r->t->heir];
  if (node->live == 0) {
    return broken(r, "a node is decided whose caller has gone (P4)");
  }
  if (r->t->to_tell == GRANTED && r->p->paused != 0) {
    return broken(r, "a waiter is served while the pool is paused");
  }
  uint8_t was = node->state;
  node->state = r->t->to_tell;
  if (is(r, NOTED_AFTER_STORE)) {
    r->t->why = was;
    return go(r, STEP_grant_note);
  }
  note_wake(r, r->t->heir, was);
  return back(r);
}

bool step_grant_note(struct run *r) {
  if (r->p->threads[r->t->heir].live == 0) {
    return broken(r, "a node is read whose caller has gone");
  }
  note_wake(r, r->t->heir, r->t->why);
  return back(r);
}

/* Unlocks first: a wake is never done with the mutex held. */
bool step_unlock_flush(struct run *r) {
  unlock(r);
  r->t->heir = NOTHING;
  r->t->asleep &= (uint8_t)~bit(r->me);
  r->t->polling &= (uint8_t)~bit(r->me);
  return (r->t->asleep | r->t->polling) != 0 ? go(r, STEP_flush) : back(r);
}

bool end_locked(struct run *r, enum step_number after) {
  then(r, after);
  then(r, STEP_unlock_flush);
  return go(r, STEP_flag);
}

bool serve_locked(struct run *r, enum step_number after) {
  then(r, after);
  then(r, STEP_unlock_flush);
  return go(r, STEP_serve);
}

static uint8_t lowest(uint8_t set) {
  uint8_t i = 0;
  while ((set & bit(i)) == 0) {
    i++;
  }
  return i;
}

bool step_flush(struct run *r) {
  struct thread *t = r->t;
  if (t->asleep != 0) {
    uint8_t who = lowest(t->asleep);
    t->asleep &= (uint8_t)~bit(who);
    r->p->threads[who].woken |= !is(r, NO_WAKE);
  } else {
    uint8_t who = lowest(t->polling);
    t->polling &= (uint8_t)~bit(who);
    r->p->threads[who].kicked = 1;
  }
  return (t->asleep | t->polling) != 0 ? true : back(r);
}

/* ---------------------------------------------------------------- publish */

bool step_publish_q(struct run *r) {
  if (r->p->waiters == 0) {
    return go(r, STEP_publish_idle);
  }
  return go(r, r->setup->bounded ? STEP_publish_bound : STEP_publish_lock);
}

bool step_publish_bound(struct run *r) {
  bool passed = r->p->bound_passed != 0 && !is(r, NO_BOUND);
  return go(r, passed ? STEP_publish_lock : STEP_publish_idle);
}

static bool may_serve(const struct pool *p) {
  return p->closed == 0 && p->paused == 0;
}

bool step_publish_lock(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->t->heir = (may_serve(r->p) || (is(r, PAUSE_GRANTS) && r->p->closed == 0))
                   ? heir_of(r)
                   : NOBODY;
  if (r->t->heir == NOBODY) {
    unlock(r);
    return go(r, STEP_publish_idle);
  }
  return go(r, STEP_hand_cas);
}

/* The word that the owner believes to be the slot's, with mutants that believe
 * wrongly. */
static struct word believed(struct run *r) {
  struct thread *t = r->t;
  struct word is_now = r->p->slots[t->here].word;
  struct word w = t->seen;
  w.flags = DOOMED;
  if (is(r, DOOM_BLIND) && same_word(w, is_now)) {
    t->seen = is_now;
  }
  return t->seen;
}

bool step_hand_cas(struct run *r) {
  struct thread *t = r->t;
  uint8_t lease = (uint8_t)(t->seen.lease + !is(r, LEASE_KEPT));
  struct word to = word_of(LEASED, 0, t->seen.generation, lease);
  struct word was = believed(r);
  if (!swap(r, t->here, to)) {
    unlock(r);
    t->heir = NOTHING;
    t->good = 0;
    return back(r);
  }
  t->seen = was;
  t->good = 1;
  if (was.state == CONNECTING) {
    r->p->n_connecting--;
  }
  return grant(r, t->here, to, STEP_handed);
}

bool step_handed(struct run *r) {
  if (r->t->seen.state != CONNECTING) {
    return go(r, STEP_hand_flag);
  }
  then(r, STEP_publish_end);
  then(r, STEP_unlock_flush);
  return go(r, STEP_grow);
}

bool step_hand_flag(struct run *r) {
  if (is(r, FLAG_CLEARED_EARLY)) {
    r->p->waiters = 0;
    return call(r, STEP_unlock_flush, STEP_publish_end);
  }
  return end_locked(r, STEP_publish_end);
}

bool step_publish_idle(struct run *r) {
  struct thread *t = r->t;
  struct word was = t->seen;
  uint8_t generation = is(r, STAMP_AT_END) && was.state == CONNECTING
                           ? r->p->q_generation
                           : was.generation;
  struct word to = word_of(IDLE, 0, generation, was.lease);
  if (!swap(r, t->here, to)) {
    t->good = 0;
    return back(r);
  }
  t->good = 1;
  t->owes = was.state == CONNECTING;
  t->seen = to;
  return go(r, was.state == CONNECTING && !is(r, PERMIT_AFTER_WAKE)
                   ? STEP_permit_back
                   : STEP_note_bit);
}

bool step_permit_back(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->n_connecting--;
  unlock(r);
  r->t->owes = 0;
  return go(r, STEP_note_bit);
}

bool step_note_bit(struct run *r) {
  r->p->bits |= bit(r->t->here);
  return go(r, STEP_note_hint);
}

bool step_note_hint(struct run *r) {
  *hint_here(r) = (uint8_t)(r->t->here + 1);
  return go(r, is(r, NO_REREAD) ? STEP_publish_end : STEP_reread_q);
}

bool step_reread_q(struct run *r) {
  struct thread *t = r->t;
  const struct pool *p = r->p;
  bool over = p->closed != 0 || p->q_generation != t->seen.generation;
  t->q_flags = (p->waiters | p->paused | p->closed) != 0;
  if (r->setup->bounded && p->waiters != 0) {
    t->q_flags =
        (p->q_trying != 0 && !is(r, TRY_TWICE)) || is(r, TRY_NO_REREAD) ? 0 : 2;
  }
  if (over && !is(r, REREAD_UNCLOSED)) {
    return call(r, STEP_retire_cas, STEP_reread_flags);
  }
  return go(r, STEP_reread_flags);
}

bool step_reread_flags(struct run *r) {
  r->t->good = 1;
  uint8_t flags = r->t->q_flags;
  r->t->q_flags = 0;
  if (flags == 2) {
    return go(r, STEP_try_lock);
  }
  return flags != 0 ? call(r, STEP_dispatch, STEP_publish_end)
                    : go(r, STEP_publish_end);
}

bool step_publish_end(struct run *r) {
  if (r->t->owes != 0) {
    return go(r, STEP_permit_late);
  }
  r->t->good = 1;
  return back(r);
}

bool step_permit_late(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->n_connecting--;
  unlock(r);
  r->t->owes = 0;
  return back(r);
}

/* --------------------------------------------------------------- dispatch */

bool step_dispatch(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  then(r, STEP_unlock_flush);
  return go(r, STEP_serve);
}

bool step_serve(struct run *r) {
  if (!may_serve(r->p)) {
    return go(r, STEP_flag);
  }
  r->t->heir = heir_of(r);
  if (r->t->heir == NOBODY) {
    return go(r, STEP_grow);
  }
  r->t->generation = r->p->q_generation;
  return call(r, STEP_hint, STEP_served);
}

bool step_served(struct run *r) {
  struct thread *t = r->t;
  if (t->slot == NOTHING) {
    return go(r, STEP_grow);
  }
  uint8_t slot = t->slot;
  t->slot = NOTHING;
  return grant(r, slot, t->seen, STEP_serve);
}

/* ----------------------------------------------------------------- growth */

/* strategy/direct.c: enough(). */
static bool is_enough(const struct pool *p) {
  return p->unclaimed != 0 &&
         p->waiting.n <= (uint8_t)(p->n_connecting - p->driving.n);
}

bool step_grow(struct run *r) {
  struct pool *p = r->p;
  r->t->heir = NOTHING;
  if (!may_serve(r->p) || p->waiting.n == 0 ||
      p->n_connecting >= connects_allowed(r->setup)) {
    return go(r, STEP_grow_end);
  }
  if (is_enough(p)) {
    bool ask = p->told == 0 && !is(r, NO_PATIENCE_TIMER);
    p->told = 1;
    return go(r, ask ? STEP_grow_ask : STEP_grow_end);
  }
  return go(r, p->empties != 0 ? STEP_grow_open : STEP_grow_end);
}

bool step_grow_open(struct run *r) {
  struct pool *p = r->p;
  uint8_t i = lowest(p->empties);
  uint8_t who = p->waiting.at[0];
  r->t->seen = p->slots[i].word;
  if (!swap(r, i, word_of(CONNECTING, 0, p->q_generation, r->t->seen.lease))) {
    return broken(r, "an EMPTY slot has moved without the mutex");
  }
  p->slots[i].born = p->q_generation;
  p->empties &= (uint8_t)~bit(i);
  p->n_open++;
  p->n_connecting++;
  unlist(p, who);
  put_last(&p->driving, who);
  p->threads[who].place = i;
  r->t->heir = who;
  r->t->to_tell = DRIVING;
  return call(r, STEP_grant_store, STEP_grow);
}

bool step_grow_ask(struct run *r) {
  r->p->tend_posted = 1;
  return go(r, STEP_grow_end);
}

bool step_grow_end(struct run *r) {
  bool wanted = may_serve(r->p) && r->p->waiting.n != 0 && r->p->n_closing != 0;
  return go(r, wanted ? STEP_grow_tend : STEP_flag);
}

bool step_grow_tend(struct run *r) {
  r->p->tend_posted = 1;
  return go(r, STEP_flag);
}

/* Every part that holds the mutex ends here. */
bool step_flag(struct run *r) {
  const struct pool *p = r->p;
  bool any = p->waiting.n + p->driving.n != 0;
  if (p->q_trying != 0 && p->trier == NOBODY) {
    return go(r, STEP_pass_on);
  }
  return any != (p->waiters != 0) ? go(r, STEP_flag_write) : back(r);
}

bool step_flag_write(struct run *r) {
  r->p->waiters = !r->p->waiters;
  return back(r);
}

/* ---------------------------------------------------------------- bounded
 *
 * Until the head has waited for the bound, a release publishes its slot idle and
 * whoever runs may have it.  One waiter at a time is woken to try for it, which
 * TRYING in Q says: a release that finds it set need not lock.  The one who tries
 * clears TRYING first and looks then, so that one of the two sees the other. */

bool step_try_lock(struct run *r) {
  struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  uint8_t who = heir_of(r);
  if (who == NOBODY || p->closed != 0 || p->paused != 0 ||
      (p->trier != NOBODY && !is(r, TRY_TWICE))) {
    return call(r, STEP_unlock_flush, STEP_publish_end);
  }
  if (p->threads[who].state != WAITING) {
    return serve_locked(r, STEP_publish_end); /* it polls: hand over */
  }
  if (is(r, TRY_TWICE) && p->trier == who && p->waiting.n > 1) {
    who = p->waiting.at[1];
  }
  r->t->heir = who;
  p->trier = who;
  return go(r, STEP_try_mark);
}

bool step_try_mark(struct run *r) {
  r->p->q_trying = 1;
  return go(r, STEP_try_tell);
}

bool step_try_tell(struct run *r) {
  r->p->threads[r->t->heir].trying = 1;
  r->t->asleep |= bit(r->t->heir);
  return call(r, STEP_unlock_flush, STEP_publish_end);
}

static bool end_try(struct run *r) {
  r->p->q_trying = 0;
  r->p->trier = NOBODY;
  r->t->trying = 0;
  return true;
}

/* Has its turn been taken from it, or its node decided, the next steps tell. */
bool step_try_begin(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  if (r->p->trier != r->me || r->t->state != WAITING) {
    unlock(r);
    return go(r, STEP_decided);
  }
  if (!is(r, TRY_CLEARED_LATE)) {
    (void)end_try(r);
  }
  return go(r, STEP_try_scan);
}

bool step_try_scan(struct run *r) {
  r->t->generation = r->p->q_generation;
  if (r->p->closed != 0 || r->p->paused != 0) {
    r->t->slot = NOTHING;
    return go(r, STEP_try_took);
  }
  return call(r, STEP_hint, STEP_try_took);
}

bool step_try_took(struct run *r) {
  struct thread *t = r->t;
  if (t->slot != NOTHING) {
    t->granted = t->slot;
    t->granted_word = t->seen;
    t->state = GRANTED;
    unlist(r->p, r->me);
    t->slot = NOTHING;
  }
  if (is(r, TRY_CLEARED_LATE)) {
    return go(r, STEP_try_late);
  }
  return end_locked(r, STEP_try_again);
}

bool step_try_late(struct run *r) {
  (void)end_try(r);
  return end_locked(r, STEP_try_again);
}

bool step_try_again(struct run *r) {
  return go(r, r->t->state == WAITING ? STEP_sleep_word : STEP_decided);
}

bool step_pass_on(struct run *r) {
  r->p->q_trying = 0;
  return go(r, is(r, TRY_NOT_PASSED_ON) ? STEP_flag : STEP_serve);
}
