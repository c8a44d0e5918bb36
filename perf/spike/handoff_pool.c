/* SPDX-License-Identifier: MIT */
/* handoff_pool.c - why no wake-up is lost under BOUNDED and BARGING.
 *
 * While a slot is idle and somebody is in line, at least one of these is true:
 *   1. a thread is between making a slot idle and reading Q afterwards;
 *   2. somebody holds the mutex and will look for idle slots before he lets go;
 *   3. TRYING is set: one waiter has been woken, and before it sleeps again it
 *      clears TRYING and then looks for idle slots.
 * A release writes a slot's word and then reads Q; whoever goes to sleep writes
 * Q (sets WAITERS, or clears TRYING) and then reads the slots' words.  All four
 * are sequentially consistent, so one of the two sees the other.  Whatever takes
 * the trier out of the line (a grant; in the engine also a time-out or a cancel)
 * clears TRYING and looks for idle slots too, and wakes the next head if there is
 * one. */
#include "handoff_pool.h"

#include <sched.h>
#include <stddef.h>

#include "spike.h"
#include "sys/clock.h"
#include "sys/park.h"

#define Q_WAITERS UINT64_C(1)
#define Q_TRYING  UINT64_C(2)
#define Q_OVERDUE UINT64_C(4) /* HANDOFF_ALARM only */

enum {
  NODE_WAITING,
  NODE_TRYING,
  NODE_GRANTED
};

void handoff_init(struct handoff_pool *p,
                  enum handoff_rule rule,
                  uint64_t bound_ns,
                  uint64_t fair_parts) {
  memset(p, 0, sizeof *p);
  p->rule = rule;
  p->bound_ns = bound_ns;
  p->fair_parts = fair_parts;
  weir__store_relaxed_u64(&p->due, WEIR_NEVER);
  (void)pthread_mutex_init(&p->mu, NULL);
  if (!weir__bits_init(&p->idle, HANDOFF_SLOTS)) {
    spike_die("no memory");
  }
  for (uint32_t i = 0; i < HANDOFF_SLOTS; i++) {
    p->slots[i].index = i;
    weir__store_relaxed_u64(&p->slots[i].word,
                            weir__slot_word(WEIR_SLOT_IDLE, 0, 0, 0));
    weir__bits_set(&p->idle, i);
  }
}

void handoff_fini(struct handoff_pool *p) {
  weir__bits_fini(&p->idle);
  (void)pthread_mutex_destroy(&p->mu);
}

static _Atomic uint32_t *hint_here(struct handoff_pool *p) {
  return &p->hints[(uint32_t)sched_getcpu() % 64u].index_plus_1;
}

/* As weir__idle_take(), but a bit is never cleared over a slot in use: ten words
 * are soon read, and the moment without a bit is not what is measured here. */
static struct weir__slot *find(struct handoff_pool *p, uint64_t *out_word) {
  uint32_t hint = weir__load_acquire_u32(hint_here(p));
  if (hint != 0 &&
      (*out_word = weir__slot_claim(&p->slots[hint - 1], 0)) != 0) {
    return &p->slots[hint - 1];
  }
  for (uint32_t i = weir__bits_next(&p->idle, 0); i != WEIR_BITS_NONE;
       i = weir__bits_next(&p->idle, i + 1)) {
    if ((*out_word = weir__slot_claim(&p->slots[i], 0)) != 0) {
      return &p->slots[i];
    }
  }
  return NULL;
}

static bool any_idle(struct handoff_pool *p) {
  for (uint32_t i = 0; i < HANDOFF_SLOTS; i++) {
    if (weir__slot_state(weir__load_seq_u64(&p->slots[i].word)) ==
        WEIR_SLOT_IDLE) {
      return true;
    }
  }
  return false;
}

static uint64_t bound_of(const struct handoff_pool *p) {
  uint64_t fair = p->fair_parts * p->hold_ns * p->n / HANDOFF_SLOTS;
  return fair > p->bound_ns ? fair : p->bound_ns;
}

/* HANDOFF_ALARM: whether releases are to hand over. */
static void refresh_overdue(struct handoff_pool *p, uint64_t due) {
  bool set = (weir__load_relaxed_u64(&p->q) & Q_OVERDUE) != 0;
  bool overdue = p->first != NULL && spike_now() >= due;
  if (overdue && !set) {
    (void)weir__or_seq_u64(&p->q, Q_OVERDUE);
  } else if (!overdue && set) {
    (void)weir__and_seq_u64(&p->q, ~Q_OVERDUE);
  }
}

/* After each change of the line.  When the head is overdue comes first: a release
 * that sees WAITERS sees it too, or that of a later head. */
static void refresh(struct handoff_pool *p) {
  bool set = (weir__load_relaxed_u64(&p->q) & Q_WAITERS) != 0;
  uint64_t due = p->first == NULL ? WEIR_NEVER : p->first->since + bound_of(p);
  weir__store_relaxed_u64(&p->due, due);
  if (p->n != 0 && !set) {
    (void)weir__or_seq_u64(&p->q, Q_WAITERS);
  } else if (p->n == 0 && set) {
    (void)weir__and_seq_u64(&p->q, ~Q_WAITERS);
  }
  if (p->rule == HANDOFF_ALARM) {
    refresh_overdue(p, due);
  }
}

static void push(struct handoff_pool *p, struct handoff_node *w) {
  w->next = NULL;
  w->prev = p->last;
  if (p->last == NULL) {
    p->first = w;
  } else {
    p->last->next = w;
  }
  p->last = w;
  p->n++;
  refresh(p);
}

static void unlink_node(struct handoff_pool *p, struct handoff_node *w) {
  if (w->prev == NULL) {
    p->first = w->next;
  } else {
    w->prev->next = w->next;
  }
  if (w->next == NULL) {
    p->last = w->prev;
  } else {
    w->next->prev = w->prev;
  }
  p->n--;
  if (p->trying == w) {
    p->trying = NULL;
    (void)weir__and_seq_u64(&p->q, ~Q_TRYING);
  }
  refresh(p);
}

static void wake(_Atomic uint32_t *word) {
  (void)weir__add_acq_rel_u32(word, 1);
  weir__unpark_futex(word);
}

/* Who is to be woken once the mutex is free: at most a grant and a try. */
struct wakes {
  _Atomic uint32_t *word[HANDOFF_SLOTS + 2];
  unsigned n;
};

static void unlock_and_wake(struct handoff_pool *p, const struct wakes *wakes) {
  (void)pthread_mutex_unlock(&p->mu);
  for (unsigned i = 0; i < wakes->n; i++) {
    wake(wakes->word[i]);
  }
}

static void grant(struct handoff_pool *p,
                  struct handoff_node *w,
                  struct weir__slot *slot,
                  uint64_t word,
                  struct wakes *wakes) {
  unlink_node(p, w);
  w->slot = slot;
  w->word = word;
  w->granted_at = spike_now();
  wakes->word[wakes->n++] = w->wake;
  weir__store_release_u32(&w->state, NODE_GRANTED);
}

/* An idle slot and somebody in line: STRICT gives it to the head, the others
 * wake the head to try, unless one is trying already. */
static void dispatch_locked(struct handoff_pool *p, struct wakes *wakes) {
  if (p->rule == HANDOFF_STRICT) {
    struct weir__slot *slot;
    uint64_t word;
    while (p->first != NULL && (slot = find(p, &word)) != NULL) {
      grant(p, p->first, slot, word, wakes);
    }
    return;
  }
  if (p->first != NULL && p->trying == NULL && any_idle(p)) {
    p->trying = p->first;
    p->n_tries++;
    wakes->word[wakes->n++] = p->trying->wake;
    weir__store_release_u32(&p->trying->state, NODE_TRYING);
    (void)weir__or_seq_u64(&p->q, Q_TRYING);
  }
}

/* The trier looks, having cleared TRYING first. */
static struct weir__slot *try_locked(struct handoff_pool *p,
                                     struct handoff_node *w,
                                     struct wakes *wakes) {
  p->trying = NULL;
  weir__store_release_u32(&w->state, NODE_WAITING);
  (void)weir__and_seq_u64(&p->q, ~Q_TRYING);
  w->slot = find(p, &w->word);
  if (w->slot != NULL) {
    w->granted_at = spike_now();
    unlink_node(p, w);
    dispatch_locked(p, wakes); /* what came idle while TRYING was set */
  }
  return w->slot;
}

/* HANDOFF_ALARM: the head has slept for the bound and says so. */
static void ring_locked(struct handoff_pool *p, const struct handoff_node *w) {
  if (p->first == w) {
    refresh(p);
  }
}

/* Returns with its slot, or NULL: sleep again. */
static struct weir__slot *look(struct handoff_pool *p, struct handoff_node *w) {
  struct wakes wakes = {.n = 0};
  (void)pthread_mutex_lock(&p->mu);
  uint32_t state = weir__load_relaxed_u32(&w->state);
  struct weir__slot *slot = state == NODE_GRANTED  ? w->slot
                            : state == NODE_TRYING ? try_locked(p, w, &wakes)
                                                   : NULL;
  if (slot == NULL && p->rule == HANDOFF_ALARM) {
    ring_locked(p, w);
  }
  unlock_and_wake(p, &wakes);
  return slot;
}

static struct weir__slot *sleep_in_line(struct handoff_pool *p,
                                        struct handoff_node *w) {
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(w->wake);
    uint32_t state = weir__load_acquire_u32(&w->state);
    if (state == NODE_GRANTED) {
      return w->slot;
    }
    uint64_t until = WEIR_NEVER;
    if (p->rule == HANDOFF_ALARM) {
      /* Once is enough: one that was not the head when its time came is seen to
       * be overdue when it becomes the head. */
      uint64_t due = w->since + p->bound_ns;
      until = spike_now() < due ? due : WEIR_NEVER;
    }
    int rc = state == NODE_TRYING ? -1 : weir__park_futex(w->wake, seen, until);
    if (rc != 0) {
      struct weir__slot *slot = look(p, w);
      if (slot != NULL) {
        return slot;
      }
    }
  }
}

static struct weir__slot *take_in_line(struct handoff_pool *p,
                                       struct handoff_user *u,
                                       uint64_t *out_word) {
  struct handoff_node w = {.since = spike_now(), .wake = &u->wake};
  struct wakes wakes = {.n = 0};
  struct weir__slot *slot = NULL;
  (void)pthread_mutex_lock(&p->mu);
  push(p, &w);
  /* In line and visible; only now a last look, for itself where overtaking is
   * the rule. */
  if (p->rule != HANDOFF_STRICT && (slot = find(p, &w.word)) != NULL) {
    unlink_node(p, &w);
    w.granted_at = w.since;
  }
  dispatch_locked(p, &wakes);
  unlock_and_wake(p, &wakes);
  if (slot == NULL) {
    slot = sleep_in_line(p, &w);
  }
  u->waited = w.granted_at - w.since;
  *out_word = w.word;
  return slot;
}

struct weir__slot *handoff_take(struct handoff_pool *p,
                                struct handoff_user *u,
                                uint64_t *out_word) {
  u->q = weir__load_seq_u64(&p->q);
  u->waited = 0;
  if (u->q == 0 || (p->rule != HANDOFF_STRICT && (u->q & Q_OVERDUE) == 0)) {
    struct weir__slot *slot = find(p, out_word);
    if (slot != NULL) {
      u->overtook += u->q & Q_WAITERS;
      return slot;
    }
  }
  return take_in_line(p, u, out_word);
}

static bool must_hand_over(const struct handoff_pool *p, uint64_t q) {
  switch (p->rule) {
  case HANDOFF_STRICT:
    return true;
  case HANDOFF_BOUNDED:
    return spike_now() >= weir__load_relaxed_u64(&p->due);
  case HANDOFF_ALARM:
    return (q & Q_OVERDUE) != 0;
  case HANDOFF_BARGING:
  default:
    return false;
  }
}

static bool hand_over(struct handoff_pool *p,
                      const struct handoff_user *u,
                      struct weir__slot *slot,
                      uint64_t word) {
  struct wakes wakes = {.n = 0};
  (void)pthread_mutex_lock(&p->mu);
  p->hold_ns = (p->hold_ns * 7 + u->hold_ns) / 8;
  /* Again, as the head may be another one by now. */
  struct handoff_node *w =
      must_hand_over(p, weir__load_relaxed_u64(&p->q)) ? p->first : NULL;
  if (w != NULL) {
    uint64_t next =
        weir__slot_word(WEIR_SLOT_LEASED, 0, 0, weir__slot_lease(word) + 1);
    bool was_trying = p->trying == w;
    if (!weir__slot_move(slot, &word, next)) {
      spike_die("a slot changed hands");
    }
    p->n_handed++;
    grant(p, w, slot, next, &wakes);
    if (was_trying) {
      dispatch_locked(p, &wakes); /* what came idle while TRYING was set */
    }
  }
  unlock_and_wake(p, &wakes);
  return w != NULL;
}

void handoff_put(struct handoff_pool *p,
                 struct handoff_user *u,
                 struct weir__slot *slot,
                 uint64_t word) {
  uint64_t q = weir__load_seq_u64(&p->q);
  if ((q & Q_WAITERS) != 0 && must_hand_over(p, q) &&
      hand_over(p, u, slot, word)) {
    return;
  }
  uint32_t index = slot->index;
  if (!weir__slot_move(
          slot, &word,
          weir__slot_word(WEIR_SLOT_IDLE, 0, 0, weir__slot_lease(word)))) {
    spike_die("a slot changed hands");
  }
  _Atomic uint32_t *hint = hint_here(p);
  if (weir__load_relaxed_u32(hint) != index + 1) {
    weir__store_release_u32(hint, index + 1);
  }
  q = weir__load_seq_u64(&p->q);
  if ((q & Q_WAITERS) != 0 &&
      (p->rule == HANDOFF_STRICT || (q & Q_TRYING) == 0)) {
    struct wakes wakes = {.n = 0};
    (void)pthread_mutex_lock(&p->mu);
    dispatch_locked(p, &wakes);
    unlock_and_wake(p, &wakes);
  }
}
