/* SPDX-License-Identifier: MIT */
/* pool_idle.c - engine/idle.c, and of base/bits.c what a pool of up to 64 slots
 * uses: one word.  (The summary levels are stress_bits' and sets.c's.) */
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
