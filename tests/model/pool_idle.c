/* SPDX-License-Identifier: MIT */
/* pool_idle.c - engine/strategy/idle_affinity.c, and of base/bits.c what a pool of up to 64 slots
 * uses: one word.  (The summary levels are stress_bits' and sets.c's.)  And, at
 * the end, engine/idle_list.c. */
#include "pool.h"

/* t->tries: 0 for the hinted slot, then which attempt at a bit's. */

bool step_hint(struct run *r) {
  struct thread *t = r->t;
  t->i = 0;
  t->tries = 0;
  t->slot = NOTHING;
  if (*hint_here(r) == 0) {
    return go(r, STEP_scan);
  }
  t->i = (uint8_t)(*hint_here(r) - 1);
  return go(r, STEP_claim_word);
}

bool step_claim_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[t->i].word;
  bool fits = t->seen.state == IDLE && t->seen.flags == 0 &&
              t->seen.generation == t->generation;
  if (fits && t->peek != 0) {
    t->slot = t->i;
    t->i = 0;
    t->tries = 0;
    return back(r);
  }
  return go(r, fits ? STEP_claim_cas : STEP_claim_failed);
}

bool step_claim_cas(struct run *r) {
  struct thread *t = r->t;
  struct word to =
      word_of(LEASED, 0, t->generation, (uint8_t)(t->seen.lease + 1));
  if (!swap(r, t->i, to)) {
    return go(r, STEP_claim_failed);
  }
  t->seen = to;
  t->slot = t->i;
  t->i = 0;
  t->tries = 0;
  return back(r);
}

bool step_claim_failed(struct run *r) {
  struct thread *t = r->t;
  if (t->tries == 0) {
    t->i = 0;
    return go(r, STEP_scan);
  }
  return go(r, STEP_tidy_word);
}

bool step_scan(struct run *r) {
  struct thread *t = r->t;
  for (uint8_t i = t->i; i < SLOTS; i++) {
    if ((r->p->bits & bit(i)) != 0) {
      t->i = i;
      t->tries = 1;
      return go(r, STEP_claim_word);
    }
  }
  t->i = 0;
  t->tries = 0;
  t->slot = NOTHING;
  t->generation = 0;
  t->seen = word_of(0, 0, 0, 0);
  return back(r);
}

/* The second attempt at this slot, or the next slot. */
static bool after_tidy(struct run *r) {
  struct thread *t = r->t;
  if (t->tries == 1) {
    t->tries = 2;
    return go(r, STEP_claim_word);
  }
  t->i++;
  return go(r, STEP_scan);
}

bool step_tidy_word(struct run *r) {
  r->t->seen = r->p->slots[r->t->i].word;
  return r->t->seen.state == IDLE ? after_tidy(r) : go(r, STEP_tidy_clear);
}

bool step_tidy_clear(struct run *r) {
  r->p->bits &= (uint8_t)~bit(r->t->i);
  return is(r, BIT_NOT_LOOKED_AT) ? after_tidy(r) : go(r, STEP_tidy_look);
}

bool step_tidy_look(struct run *r) {
  r->t->seen = r->p->slots[r->t->i].word;
  return r->t->seen.state == IDLE ? go(r, STEP_tidy_set) : after_tidy(r);
}

bool step_tidy_set(struct run *r) {
  r->p->bits |= bit(r->t->i);
  return is(r, BIT_UNTENDED) ? after_tidy(r) : go(r, STEP_tidy_q);
}

bool step_tidy_q(struct run *r) {
  return r->p->waiters != 0 ? go(r, STEP_tidy_tend) : after_tidy(r);
}

bool step_tidy_tend(struct run *r) {
  r->p->tend_posted = 1;
  return after_tidy(r);
}

/* ------------------------------------------------------------------- listed
 *
 * t->i is a place in the list, which nobody else changes while its mutex is held.
 * Whoever holds it reads and writes words as others do. */

bool step_list_lock(struct run *r) {
  if (r->p->list_mutex != NOBODY) {
    return false;
  }
  r->p->list_mutex = r->me;
  r->t->i = 0;
  r->t->slot = NOTHING;
  return go(r, STEP_list_next);
}

/* Whatever it has found. */
static bool end_search(struct run *r) {
  r->p->list_mutex = NOBODY;
  r->t->i = 0;
  return back(r);
}

bool step_list_next(struct run *r) {
  struct thread *t = r->t;
  if (t->i < r->p->order.n) {
    return go(r, STEP_list_word);
  }
  t->generation = 0;
  t->seen = word_of(0, 0, 0, 0);
  return end_search(r);
}

static uint8_t at_hand(const struct run *r) {
  return r->p->order.at[r->t->i];
}

bool step_list_word(struct run *r) {
  struct thread *t = r->t;
  t->seen = r->p->slots[at_hand(r)].word;
  bool fits = t->seen.state == IDLE && t->seen.flags == 0 &&
              t->seen.generation == t->generation;
  if (!fits) {
    return go(r, STEP_list_gone);
  }
  if (t->peek == 0) {
    return go(r, STEP_list_cas);
  }
  t->slot = at_hand(r);
  return end_search(r);
}

bool step_list_cas(struct run *r) {
  struct thread *t = r->t;
  uint8_t slot = at_hand(r);
  struct word to =
      word_of(LEASED, 0, t->generation, (uint8_t)(t->seen.lease + 1));
  if (!swap(r, slot, to)) {
    return go(r, STEP_list_word);
  }
  (void)take_out(&r->p->order, slot);
  t->seen = to;
  t->slot = slot;
  return end_search(r);
}

bool step_list_gone(struct run *r) {
  uint8_t slot = at_hand(r);
  uint8_t state = r->p->slots[slot].word.state;
  bool gone = state != IDLE && state != RESERVED;
  if (gone || is(r, LIST_DROPS)) {
    (void)take_out(&r->p->order, slot);
  } else {
    r->t->i++;
  }
  return go(r, STEP_list_next);
}

bool step_list_note(struct run *r) {
  struct pool *p = r->p;
  if (p->list_mutex != NOBODY) {
    return false;
  }
  (void)take_out(&p->order, r->t->here);
  put_last(&p->order, r->t->here);
  if (is(r, LIST_NOTED_LATE)) {
    r->t->noted = 0;
    return go(r, STEP_publish_end);
  }
  if (is(r, LIST_NOTED_FIRST)) {
    r->t->noted = 2;
    return go(r, STEP_publish_idle);
  }
  return go(r, STEP_reread_q);
}
