/* SPDX-License-Identifier: MIT */
#include "waiter.h"

#include "engine.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

/* Between two neighbours; NULL: at an end. */
static void link_between(struct weir__waiters *list,
                         struct weir__waiter *before,
                         struct weir__waiter *w,
                         struct weir__waiter *after) {
  w->prev = before;
  w->next = after;
  if (before == NULL) {
    list->first = w;
  } else {
    before->next = w;
  }
  if (after == NULL) {
    list->last = w;
  } else {
    after->prev = w;
  }
  list->n++;
  list->n_submitted += w->caller == NULL;
}

static void unlink_from(struct weir__waiters *list, struct weir__waiter *w) {
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
}

/* By its time of coming.  first: before those of the same time. */
static void insert(struct weir__waiters *list,
                   struct weir__waiter *w,
                   bool first) {
  struct weir__waiter *before = NULL;
  struct weir__waiter *after = list->first;
  while (after != NULL &&
         (after->since < w->since || (!first && after->since == w->since))) {
    before = after;
    after = after->next;
  }
  link_between(list, before, w, after);
}

void weir__waiters_restore(struct weir__waiters *list, struct weir__waiter *w) {
  insert(list, w, true);
}

/* -------------------------------------------- one submitted node at a time */

/* The submitted one that is in line, if no other may be beside it; or NULL. */
static struct weir__waiter *one_in_line(const struct weir__waiters *list) {
  struct weir__waiter *w = list->first;
  if (list->behind == NULL || list->n_submitted == 0) {
    return NULL;
  }
  while (w->caller != NULL) {
    w = w->next;
  }
  return w;
}

/* One that has been in line: in front of those that came with it. */
static void put_back(struct weir__waiters *list, struct weir__waiter *w) {
  w->behind = true;
  insert(list->behind, w, true);
}

static void move_up(struct weir__waiters *list) {
  struct weir__waiter *w = list->behind == NULL ? NULL : list->behind->first;
  if (w == NULL || list->n_submitted != 0) {
    return;
  }
  unlink_from(list->behind, w);
  w->behind = false;
  insert(list, w, false);
  list->moved_up = true;
}

void weir__waiters_push(struct weir__waiters *list, struct weir__waiter *w) {
  if (w->caller == NULL && list->behind != NULL && list->n_submitted != 0) {
    w->behind = true;
    link_between(list->behind, list->behind->last, w, NULL);
  } else {
    link_between(list, list->last, w, NULL);
  }
}

void weir__waiters_push_front(struct weir__waiters *list,
                              struct weir__waiter *w) {
  struct weir__waiter *other = w->caller == NULL ? one_in_line(list) : NULL;
  if (other != NULL && other->since < w->since) {
    put_back(list, w);
    return;
  }
  if (other != NULL) {
    unlink_from(list, other);
    put_back(list, other);
  }
  link_between(list, NULL, w, list->first);
}

void weir__waiters_remove(struct weir__waiters *list, struct weir__waiter *w) {
  if (w->behind) {
    unlink_from(list->behind, w);
    w->behind = false;
    return;
  }
  unlink_from(list, w);
  list->trier = list->trier == w ? NULL : list->trier;
  move_up(list);
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
