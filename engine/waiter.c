/* SPDX-License-Identifier: MIT */
#include "waiter.h"

#include <stddef.h>

#include "engine.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

void weir__waiters_push(struct weir__waiters *list, struct weir__waiter *w) {
  w->next = NULL;
  w->prev = list->last;
  if (list->last == NULL) {
    list->first = w;
  } else {
    list->last->next = w;
  }
  list->last = w;
  list->n++;
  list->n_submitted += w->caller == NULL;
}

void weir__waiters_push_front(struct weir__waiters *list,
                              struct weir__waiter *w) {
  w->prev = NULL;
  w->next = list->first;
  if (list->first == NULL) {
    list->last = w;
  } else {
    list->first->prev = w;
  }
  list->first = w;
  list->n++;
  list->n_submitted += w->caller == NULL;
}

void weir__waiters_remove(struct weir__waiters *list, struct weir__waiter *w) {
  WEIR_ASSERT(list->n > 0);
  if (w->prev == NULL) {
    list->first = w->next;
  } else {
    w->prev->next = w->next;
  }
  if (w->next == NULL) {
    list->last = w->prev;
  } else {
    w->next->prev = w->prev;
  }
  list->n--;
  list->n_submitted -= w->caller == NULL;
  list->trier = list->trier == w ? NULL : list->trier;
}

static void note_submitted(struct weir__wakes *wakes, struct weir__waiter *w) {
  w->next = NULL;
  if (wakes->first_submitted == NULL) {
    wakes->first_submitted = w;
  } else {
    wakes->last_submitted->next = w;
  }
  wakes->last_submitted = w;
}

void weir__waiters_restore(struct weir__waiters *list, struct weir__waiter *w) {
  struct weir__waiter *before = NULL;
  struct weir__waiter *after = list->first;
  while (after != NULL && after->since < w->since) {
    before = after;
    after = after->next;
  }
  if (before == NULL) {
    weir__waiters_push_front(list, w);
  } else if (after == NULL) {
    weir__waiters_push(list, w);
  } else {
    w->prev = before;
    w->next = after;
    before->next = w;
    after->prev = w;
    list->n++;
    list->n_submitted += w->caller == NULL;
  }
}

static bool may_move(enum weir__waiter_state from, enum weir__waiter_state to) {
  switch (to) {
  case WEIR_WAITER_WAITING:
    return true; /* new, tried in vain, opened in vain, or granted in vain */
  case WEIR_WAITER_TRYING:
    return from == WEIR_WAITER_WAITING;
  case WEIR_WAITER_DRIVING:
    return weir__waiter_waits(from);
  case WEIR_WAITER_GRANTED:
  case WEIR_WAITER_FAILED:
  default:
    return weir__waiter_waits(from) || from == WEIR_WAITER_DRIVING;
  }
}

void weir__waiter_move(struct weir__waiter *w, enum weir__waiter_state to) {
  WEIR_ASSERT(
      may_move((enum weir__waiter_state)weir__load_relaxed_u32(&w->state), to));
  weir__store_release_u32(&w->state, (uint32_t)to);
}

void weir__waiter_try(struct weir__waiters *list,
                      struct weir__waiter *w,
                      struct weir__wakes *wakes) {
  WEIR_ASSERT(list->trier == NULL && w->caller != NULL);
  list->trier = w;
  wakes->asleep[wakes->n_asleep++] = w->caller;
  weir__waiter_move(w, WEIR_WAITER_TRYING);
}

void weir__waiter_untry(struct weir__waiters *list) {
  weir__waiter_move(list->trier, WEIR_WAITER_WAITING);
  list->trier = NULL;
}

void weir__waiter_decide(struct weir__waiter *w,
                         enum weir__waiter_state state,
                         struct weir__wakes *wakes) {
  struct weir__caller *caller = w->caller;
  if (caller == NULL) {
    WEIR_ASSERT(state != WEIR_WAITER_DRIVING);
    note_submitted(wakes, w);
  } else if (weir__load_relaxed_u32(&w->state) == WEIR_WAITER_DRIVING) {
    wakes->polling[wakes->n_polling++] = caller;
  } else {
    wakes->asleep[wakes->n_asleep++] = caller;
  }
  weir__waiter_move(w, state); /* the node may be gone now */
}

static void post_submitted(struct weir__wakes *wakes) {
  struct weir__waiter *w = wakes->first_submitted;
  wakes->first_submitted = NULL;
  while (w != NULL) {
    struct weir__waiter *next = w->next; /* w may be gone afterwards */
    WEIR_POINT("submit.decided.locked", w);
    weir__submit_decided(w);
    w = next;
  }
}

void weir__wakes_flush(struct weir__wakes *wakes,
                       const struct weir__caller *self) {
  for (uint32_t i = 0; i < wakes->n_asleep; i++) {
    if (wakes->asleep[i] != self) {
      /* One that has moved on meanwhile is woken for nothing. */
      weir__caller_wake(wakes->asleep[i]);
    }
  }
  for (uint32_t i = 0; i < wakes->n_polling; i++) {
    if (wakes->polling[i] != self) {
      weir__caller_kick(wakes->polling[i]);
    }
  }
  wakes->n_asleep = 0;
  wakes->n_polling = 0;
  post_submitted(wakes);
}

enum weir__waiter_state weir__waiter_sleep(struct weir__waiter *w) {
  for (;;) {
    /* The word first: a wake between the two reads changes it, and the park
     * then returns at once. */
    uint32_t seen = weir__load_acquire_u32(&w->caller->wake);
    enum weir__waiter_state state = weir__waiter_state(w);
    if (state != WEIR_WAITER_WAITING) {
      return state;
    }
    WEIR_POINT("waiter.park", w);
    if (weir__engine_park(weir__engine_of(w->caller), w->caller,
                          &w->caller->wake, seen, w->deadline) != 0 ||
        weir__clock_now() >= w->deadline) {
      return weir__waiter_state(w);
    }
  }
}
