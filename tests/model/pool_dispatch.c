/* SPDX-License-Identifier: MIT */
/* pool_dispatch.c - engine/dispatch.c and what of growth.c it calls. */
#include "pool.h"

void unlist(struct pool *p, uint8_t who) {
  bool head = p->waiting.n != 0 && p->waiting.at[0] == who;
  if (!take_out(&p->waiting, who)) {
    (void)take_out(&p->driving, who);
  }
  if (head) {
    p->overtakes = 0;
  }
  if (p->trier == who) {
    p->trier = NOBODY;
  }
}

/* I5: the head has waited for the bound, and another takes what was idle. */
void note_overtake(struct run *r) {
  uint8_t head = heir_of(r);
  if (head != NOBODY && head != r->me && r->p->threads[head].overdue != 0 &&
      waits(&r->p->threads[head])) {
    r->p->overtakes++;
  }
}

uint8_t due_now(const struct pool *p, const struct setup *setup) {
  if (!setup->bounded || p->waiting.n + p->driving.n == 0) {
    return DUE_NEVER; /* direct, queued: WAITERS says as much */
  }
  if (p->waiting.n == 0) {
    return DUE_NOW;
  }
  return p->threads[p->waiting.at[0]].overdue != 0 ? DUE_NOW : DUE_LATER;
}

/* dispatch.c: grant() up to the decision, which is a step of its own. */
static bool grant(struct run *r,
                  uint8_t slot,
                  struct word word,
                  enum step_number after) {
  struct thread *heir = &r->p->threads[r->t->heir];
  if (heir->state == DRIVING) {
    if (!serves_openers(r->setup)) {
      return broken(r, "one who opens its own is handed a connection (I6)");
    }
    unclaimed(r->p);
  } else if (r->setup->barging) {
    return broken(r, "under barging a waiter is handed a connection (I6)");
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
  return go(r, tries(r->setup) ? STEP_publish_bound : STEP_publish_lock);
}

bool step_publish_bound(struct run *r) {
  bool passed =
      (r->p->due == DUE_NOW && !is(r, NO_BOUND)) || is(r, BARGING_HANDS);
  return go(r, passed ? STEP_publish_lock : STEP_publish_idle);
}

static bool may_serve(const struct pool *p) {
  return p->closed == 0 && p->paused == 0;
}

/* Whether it is overdue: dispatch.c due_of(). */
static bool is_overdue(const struct run *r, uint8_t who) {
  const struct thread *w = &r->p->threads[who];
  return !tries(r->setup) || !waits(w) || w->overdue != 0 ||
         is(r, BARGING_HANDS);
}

bool step_publish_lock(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->t->heir = (may_serve(r->p) || (is(r, PAUSE_GRANTS) && r->p->closed == 0))
                   ? heir_of(r)
                   : NOBODY;
  if (r->t->heir == NOBODY || !is_overdue(r, r->t->heir)) {
    r->t->heir = NOTHING;
    unlock(r);
    return go(r, STEP_publish_idle);
  }
  r->t->tried = r->p->trier == r->t->heir && !is(r, GRANT_NO_DISPATCH);
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
    t->tried = 0;
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
  bool tried = r->t->tried != 0;
  r->t->tried = 0;
  if (r->t->seen.state != CONNECTING && !tried) {
    return go(r, STEP_hand_flag);
  }
  then(r, STEP_publish_end);
  then(r, STEP_unlock_flush);
  if (r->t->seen.state != CONNECTING) {
    return go(r, STEP_serve);
  }
  if (tried) {
    then(r, STEP_serve);
  }
  return go(r, STEP_grow);
}

bool step_hand_flag(struct run *r) {
  if (is(r, FLAG_CLEARED_EARLY)) {
    r->p->waiters = 0;
    return call(r, STEP_unlock_flush, STEP_publish_end);
  }
  return end_locked(r, STEP_publish_end);
}

/* Makes it findable, in its turn. */
static enum step_number note(struct run *r) {
  uint8_t noted = r->t->noted;
  if (!r->setup->listed) {
    return STEP_note_bit;
  }
  r->t->noted = is(r, LIST_NOTED_LATE);
  return noted != 0 || is(r, LIST_NOTED_LATE) ? STEP_reread_q : STEP_list_note;
}

bool step_publish_idle(struct run *r) {
  struct thread *t = r->t;
  if (is(r, LIST_NOTED_FIRST) && t->noted == 0) {
    t->noted = 1;
    return go(r, STEP_list_note);
  }
  struct word was = t->seen;
  uint8_t generation = is(r, STAMP_AT_END) && was.state == CONNECTING
                           ? r->p->q_generation
                           : was.generation;
  struct word to = word_of(IDLE, 0, generation, was.lease);
  if (!swap(r, t->here, to)) {
    t->good = 0;
    t->noted = 0;
    return back(r);
  }
  t->good = 1;
  t->owes = was.state == CONNECTING;
  t->connected = was.state == CONNECTING && tries(r->setup);
  t->seen = to;
  return go(r, was.state == CONNECTING && !is(r, PERMIT_AFTER_WAKE)
                   ? STEP_permit_back
                   : note(r));
}

bool step_permit_back(struct run *r) {
  if (!lock(r)) {
    return false;
  }
  r->p->n_connecting--;
  unlock(r);
  r->t->owes = 0;
  return go(r, note(r));
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
  bool on_its_way = p->q_trying != 0 && (p->paused | p->closed) == 0;
  t->q_flags = (p->waiters | p->paused | p->closed) != 0 &&
               (t->connected != 0 || !on_its_way) && !is(r, TRY_NO_REREAD) &&
               !is(r, BARGING_NO_REREAD);
  t->connected = 0;
  if (over && !is(r, REREAD_UNCLOSED)) {
    return call(r, STEP_retire_cas, STEP_reread_flags);
  }
  return go(r, STEP_reread_flags);
}

bool step_reread_flags(struct run *r) {
  r->t->good = 1;
  uint8_t flags = r->t->q_flags;
  r->t->q_flags = 0;
  return flags != 0 ? call(r, STEP_dispatch, STEP_publish_end)
                    : go(r, STEP_publish_end);
}

bool step_publish_end(struct run *r) {
  if (r->t->noted != 0) { /* the mutant: only now */
    return go(r, STEP_list_note);
  }
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
  bool has_gone = r->p->trier == NOBODY && r->p->q_trying != 0;
  if (has_gone && !is(r, TRY_CLEARED_LATE) && !is(r, TRY_LOOKS_FIRST)) {
    return call(r, STEP_flag, STEP_serve);
  }
  r->t->generation = r->p->q_generation;
  if (tries(r->setup) && waits(&r->p->threads[r->t->heir])) {
    if (r->p->trier != NOBODY) {
      return go(r, STEP_grow);
    }
    r->t->peek = 1;
    r->t->i = 0;
    r->t->slot = NOTHING;
    return call(r, search(r->setup, STEP_scan), STEP_any_idle);
  }
  return call(r, search(r->setup, STEP_hint), STEP_served);
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

/* growth.c: tried(), what is idle counted at once. */
static uint8_t about_to_take(const struct run *r) {
  const struct pool *p = r->p;
  uint8_t n = 0;
  if (p->trier == NOBODY) {
    return 0;
  }
  for (uint8_t i = 0; i < r->setup->slots; i++) {
    if (p->empties != 0 && p->slots[i].word.state == IDLE && n < p->waiting.n) {
      n++;
    }
  }
  return n == 0 ? 1 : n;
}

/* growth_adaptive.c: covered(). */
static bool is_enough(const struct run *r) {
  const struct pool *p = r->p;
  uint8_t others =
      p->unclaimed != 0 ? (uint8_t)(p->n_connecting - p->driving.n) : 0;
  return p->waiting.n <= about_to_take(r) + others;
}

/* strategy/growth_adaptive.c: opener(). */
static uint8_t opener_of(const struct pool *p) {
  if (p->waiting.at[0] != p->trier) {
    return p->waiting.at[0];
  }
  return p->waiting.n > 1 ? p->waiting.at[1] : NOBODY;
}

bool step_grow(struct run *r) {
  struct pool *p = r->p;
  r->t->heir = NOTHING;
  if (!may_serve(r->p) || p->waiting.n == 0 ||
      p->n_connecting >= connects_allowed(r->setup)) {
    return go(r, STEP_grow_end);
  }
  if (is_enough(r) || opener_of(p) == NOBODY) {
    bool ask = p->unclaimed != 0 && p->told == 0 && !is(r, NO_PATIENCE_TIMER);
    p->told |= p->unclaimed;
    return go(r, ask ? STEP_grow_ask : STEP_grow_end);
  }
  return go(r, p->empties != 0 ? STEP_grow_open : STEP_grow_end);
}

bool step_grow_open(struct run *r) {
  struct pool *p = r->p;
  uint8_t i = lowest(p->empties);
  uint8_t who = opener_of(p);
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

/* Mutants forget TRYING when the one who was to try has gone. */
static bool wants_trying(const struct run *r) {
  bool kept = is(r, TRYING_KEPT_LATE) || is(r, TRYING_KEPT_SHED);
  return r->p->trier != NOBODY ||
         (kept && r->t->tried != 0 && r->p->q_trying != 0);
}

/* Every part that holds the mutex ends here. */
bool step_flag(struct run *r) {
  const struct pool *p = r->p;
  bool any = awaited(p, r->setup);
  bool same = any == (p->waiters != 0) && wants_trying(r) == (p->q_trying != 0);
  if (p->due != due_now(p, r->setup) && !(same && is(r, DUE_STALE))) {
    return go(r, STEP_due);
  }
  return same ? back(r) : go(r, STEP_flag_write);
}

bool step_due(struct run *r) {
  r->p->due = due_now(r->p, r->setup);
  return go(r, STEP_flag);
}

/* First what is to be set, then what is to be cleared. */
bool step_flag_write(struct run *r) {
  struct pool *p = r->p;
  bool waiters = awaited(p, r->setup);
  bool trying = wants_trying(r);
  if ((waiters && p->waiters == 0) || (trying && p->q_trying == 0)) {
    p->waiters |= waiters;
    p->q_trying |= trying;
  } else {
    p->waiters = waiters;
    p->q_trying = trying;
  }
  return go(r, STEP_flag);
}

/* ---------------------------------------------------------------- bounded
 *
 * Until the head has waited for the bound, a release publishes its slot idle and
 * whoever runs may have it.  One waiter at a time is woken to try for it, which
 * TRYING in Q says.  The one who tries clears TRYING first and looks then, for
 * itself and for all who are in line. */

/* the heir is the one who is to try. */
bool step_any_idle(struct run *r) {
  struct thread *t = r->t;
  bool found = t->slot != NOTHING;
  t->slot = NOTHING;
  t->peek = 0;
  if (!found) {
    return go(r, STEP_grow);
  }
  r->p->trier = t->heir;
  return go(r, STEP_try_tell);
}

bool step_try_tell(struct run *r) {
  r->p->threads[r->t->heir].state = TRYING;
  r->t->asleep |= bit(r->t->heir);
  return go(r, STEP_grow);
}

/* Has its turn been taken from it, or its node decided, the next step tells. */
bool step_try_begin(struct run *r) {
  struct pool *p = r->p;
  if (!lock(r)) {
    return false;
  }
  if (p->trier != r->me) {
    unlock(r);
    return go(r, STEP_decided);
  }
  p->trier = NOBODY;
  r->t->state = WAITING;
  then(r, STEP_decided);
  then(r, STEP_unlock_flush);
  if (is(r, TRY_CLEARED_LATE)) {
    return go(r, STEP_look);
  }
  then(r, STEP_look);
  return go(r, STEP_flag);
}

/* For itself: one who has just queued, or was woken to try. */
bool step_look(struct run *r) {
  if (!tries(r->setup) || !may_serve(r->p)) {
    return go(r, STEP_serve);
  }
  r->t->generation = r->p->q_generation;
  return call(r, search(r->setup, STEP_hint), STEP_looked);
}

bool step_looked(struct run *r) {
  struct thread *t = r->t;
  if (t->slot == NOTHING) {
    return go(r, STEP_serve);
  }
  t->granted = t->slot;
  t->granted_word = t->seen;
  t->slot = NOTHING;
  note_overtake(r);
  unlist(r->p, r->me);
  t->state = GRANTED;
  return go(r, is(r, TRY_NO_DISPATCH) ? STEP_flag : STEP_serve);
}
