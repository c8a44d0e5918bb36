/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "pool.h"

const struct step pool_steps[STEPS] = {
#define STEP(name, where, what) \
  [STEP_##name] = {step_##name, false, #name, where, what},
#define LOCAL(name, where, what) \
  [STEP_##name] = {step_##name, true, #name, where, what},
#include "pool_steps.h"
#undef STEP
#undef LOCAL
};

void then(struct run *r, enum step_number after) {
  if (r->t->depth == DEPTH) {
    (void)broken(r, "the model's own stack is too small");
    return;
  }
  r->t->back[r->t->depth++] = (uint8_t)after;
}

bool back(struct run *r) {
  struct thread *t = r->t;
  t->pc = t->back[--t->depth];
  t->back[t->depth] = 0;
  return true;
}

bool broken(struct run *r, const char *what) {
  r->move->broken = what;
  return true;
}

bool lock(struct run *r) {
  if (r->p->mutex != NOBODY) {
    return false;
  }
  r->p->mutex = r->me;
  return true;
}

void unlock(struct run *r) {
  r->p->mutex = NOBODY;
}

struct word word_of(uint8_t state,
                    uint8_t flags,
                    uint8_t generation,
                    uint8_t lease) {
  struct word w = {state, flags, generation, lease};
  return w;
}

bool same_word(struct word a, struct word b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

/* As slot.c: may[]. */
static bool may_move(uint8_t from, uint8_t to) {
  static const uint32_t may[] = {
      [EMPTY] = 1u << CONNECTING,
      [CONNECTING] =
          1u << CONNECTING | 1u << LEASED | 1u << IDLE | 1u << CLOSING,
      [IDLE] = 1u << LEASED | 1u << RESERVED | 1u << CLOSING,
      [LEASED] = 1u << LEASED | 1u << IDLE | 1u << RESERVED | 1u << CLOSING,
      [RESERVED] = 1u << RESERVED | 1u << IDLE | 1u << LEASED | 1u << CLOSING,
      [CLOSING] = 1u << EMPTY,
  };
  return (may[from] >> to & 1u) != 0;
}

/* The end of a lease whose handle two threads have is accepted once. */
static void check_handle(struct run *r, uint8_t slot, struct word to) {
  struct pool *p = r->p;
  struct word was = p->slots[slot].word;
  if (slot != p->handle_slot || was.state != LEASED ||
      was.lease != p->handle_lease ||
      (to.state == LEASED && (to.flags | was.flags) != 0)) {
    return;
  }
  if (p->handle_over != 0) {
    (void)broken(r, "a second release of one handle was accepted");
  }
  p->handle_over = 1;
}

bool swap(struct run *r, uint8_t slot, struct word to) {
  struct slot *s = &r->p->slots[slot];
  if (!same_word(s->word, r->t->seen)) {
    r->t->seen = s->word;
    return false;
  }
  if (!may_move(s->word.state, to.state)) {
    (void)broken(r, "a slot makes a move that slot.c does not allow (P2)");
  }
  check_handle(r, slot, to);
  s->word = to;
  return true;
}

static void insert(struct list *list, uint8_t at, uint8_t who) {
  for (uint8_t i = list->n; i > at; i--) {
    list->at[i] = list->at[i - 1];
  }
  list->at[at] = who;
  list->n++;
}

void put_last(struct list *list, uint8_t who) {
  insert(list, list->n, who);
}

void put_first(struct list *list, uint8_t who) {
  insert(list, 0, who);
}

bool take_out(struct list *list, uint8_t who) {
  for (uint8_t i = 0; i < list->n; i++) {
    if (list->at[i] == who) {
      list->n--;
      for (; i < list->n; i++) {
        list->at[i] = list->at[i + 1];
      }
      list->at[i] = 0;
      return true;
    }
  }
  return false;
}

static uint8_t first_in_time(const struct pool *p, const struct list *list) {
  for (uint8_t i = 0; i < list->n; i++) {
    if (p->threads[list->at[i]].expired == 0) {
      return list->at[i];
    }
  }
  return NOBODY;
}

uint8_t heir_of(const struct run *r) {
  uint8_t who = first_in_time(r->p, &r->p->waiting);
  if (who != NOBODY || (!serves_openers(r->setup) && !is(r, OPENER_INHERITS))) {
    return who;
  }
  return first_in_time(r->p, &r->p->driving);
}

void unclaimed(struct pool *p) {
  p->unclaimed = 1;
  p->timer_old = p->timer;
  p->now_old = p->threads[REACTOR].pc != STEP_reactor;
}

/* What only a clock does. */
static bool make_time(struct run *r) {
  struct pool *p = r->p;
  if (r->alt == 0 && p->unclaimed != 0) {
    p->unclaimed = 0; /* patience always ends */
    return true;
  }
  /* From when releases can see that somebody is in line. */
  if (r->alt == 1 && r->setup->bounded && p->waiting.n != 0 &&
      p->waiters != 0 && p->threads[p->waiting.at[0]].overdue == 0) {
    p->threads[p->waiting.at[0]].overdue = 1;
    p->due = p->due == DUE_LATER ? DUE_NOW : p->due;
    r->move->passes_time = true;
    return true;
  }
  return false;
}

static bool chooses(uint8_t pc) {
  return pc == STEP_reread_closed || pc == STEP_accept_grant ||
         pc == STEP_hold || pc == STEP_drive_poll || pc == STEP_reactor;
}

#define ALT_EXPIRES (2 * SLOTS + 2)

static bool expire(struct run *r) {
  struct thread *t = r->t;
  if (!r->setup->time_outs || t->live == 0 || t->expired != 0) {
    return false;
  }
  t->expired = 1;
  r->move->passes_time = true;
  return true;
}

/* Forgets what no step to come will read, so that fewer states differ. */
static void forget(struct thread *t) {
  static const struct word none = {0, 0, 0, 0};
  if (t->depth != 0 ||
      (t->pc != STEP_sleep_word && t->pc != STEP_sleep_state &&
       t->pc != STEP_park && t->pc != STEP_enqueue &&
       t->pc != STEP_drive_state && t->pc != STEP_drive_poll &&
       t->pc != STEP_release_word && t->pc != STEP_cleanup_retire &&
       t->pc != STEP_tend_patience && t->pc != STEP_requeue_lock)) {
    return;
  }
  t->seen = none;
  t->i = 0;
  t->tries = 0;
  t->generation = 0;
  t->slot = NOTHING;
  t->heir = NOTHING;
  t->to_tell = 0;
  t->good = 0;
  t->q_flags = 0;
}

static bool make(struct move *move) {
  struct pool *p = move->state;
  struct run r = {.move = move,
                  .p = p,
                  .setup = move->setup,
                  .me = (uint8_t)move->mover,
                  .alt = (uint8_t)move->alternative,
                  .mutant = (uint8_t)move->mutant};
  if (move->mover == THREADS) {
    return make_time(&r);
  }
  r.t = &p->threads[move->mover];
  if (r.t->phase == DONE) {
    return false;
  }
  if (r.alt == ALT_EXPIRES) {
    return expire(&r);
  }
  if ((r.alt != 0 && !chooses(r.t->pc)) || !pool_steps[r.t->pc].run(&r)) {
    return false;
  }
  r.alt = 0;
  while (move->broken == NULL && r.t->phase != DONE &&
         pool_steps[r.t->pc].local) {
    (void)pool_steps[r.t->pc].run(&r);
  }
  forget(r.t);
  return true;
}

static void name_of(int mover, char *text, size_t size) {
  if (mover < REACTOR) {
    (void)snprintf(text, size, "caller %u", (unsigned)mover % 8u);
  } else {
    (void)snprintf(text, size, "%s",
                   mover == REACTOR    ? "reactor"
                   : mover == OPERATOR ? "operator"
                                       : "clock");
  }
}

static const char *why_text(uint8_t alt) {
  static const char *const texts[] = {"kicked", "opened", "refused", "late",
                                      "over"};
  return alt < 5 ? texts[alt] : "?";
}

/* What a choice chooses. */
static void choice_of(const struct pool *p,
                      const struct move *m,
                      char *text,
                      size_t size) {
  uint8_t pc = p->threads[m->mover].pc;
  text[0] = '\0';
  if (pc == STEP_drive_poll) {
    (void)snprintf(text, size, ": %s", why_text((uint8_t)m->alternative));
  } else if (pc == STEP_reactor) {
    (void)snprintf(text, size, " (choice %d)", m->alternative);
  } else if (pc == STEP_hold) {
    (void)snprintf(text, size, m->alternative == 0 ? "" : ", having used it");
  } else if (chooses(pc)) {
    (void)snprintf(text, size, m->alternative == 0 ? ": good" : ": dead");
  }
}

static void tell(const struct move *m, char *text, size_t size) {
  const struct pool *p = m->state;
  char who[16];
  char choice[32];
  name_of(m->mover, who, sizeof who);
  if (m->mover == THREADS) {
    (void)snprintf(text, size, "clock: %s",
                   m->alternative == 0 ? "patience with a connect ends"
                                       : "the head has waited long enough");
    return;
  }
  if (m->alternative == ALT_EXPIRES) {
    (void)snprintf(text, size, "clock: the deadline of %s passes", who);
    return;
  }
  const struct thread *t = &p->threads[m->mover];
  choice_of(p, m, choice, sizeof choice);
  (void)snprintf(text, size, "%-9s %-14s %s%s  [%s]", who,
                 pool_steps[t->pc].name, pool_steps[t->pc].what, choice,
                 pool_steps[t->pc].where);
}

void pool_start(void *state, const void *setup);
const char *pool_never(const void *state, const void *setup);
const char *pool_at_rest(const void *state, const void *setup);

const struct model pool_model = {
    .name = "pool",
    .state_size = (sizeof(struct pool) + 7) / 8 * 8,
    .movers = THREADS + 1,
    .alternatives = ALT_EXPIRES + 1,
    .start = pool_start,
    .make = make,
    .never = pool_never,
    .at_rest = pool_at_rest,
    .tell = tell,
};
