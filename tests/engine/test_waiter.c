/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include <criterion/criterion.h>

#include "sys/park.h"
#include "virtual_clock.h"
#include "waiter.h"

static struct weir__waiters list;
static struct weir__waiter w[4];
static struct weir__caller callers[4];

static void check_order(const int *order, uint32_t n) {
  struct weir__waiter *at = list.first;
  struct weir__waiter *before = NULL;
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_eq(at, &w[order[i]]);
    cr_assert_eq(at->prev, before);
    before = at;
    at = at->next;
  }
  cr_assert_null(at);
  cr_assert_eq(list.last, before);
  cr_assert_eq(list.n, n);
}

Test(waiter, queues_and_leaves_from_anywhere, .timeout = 5) {
  check_order(NULL, 0);
  for (int i = 0; i < 3; i++) {
    weir__waiters_push(&list, &w[i]);
  }
  weir__waiters_push_front(&list, &w[3]);
  check_order((const int[]){3, 0, 1, 2}, 4);
  weir__waiters_remove(&list, &w[0]);
  check_order((const int[]){3, 1, 2}, 3);
  weir__waiters_remove(&list, &w[2]);
  check_order((const int[]){3, 1}, 2);
  weir__waiters_remove(&list, &w[3]);
  check_order((const int[]){1}, 1);
  weir__waiters_remove(&list, &w[1]);
  check_order(NULL, 0);
  weir__waiters_push_front(&list, &w[2]);
  check_order((const int[]){2}, 1);
}

/* ------------------------------------------------- Pool Async=dispatcher */

enum {
  CROWD = 12,
  STEPS = 20000
};

static struct weir__waiters behind;
static struct weir__waiter crowd[CROWD];
static bool listed[CROWD];

/* What the header says: at most one submitted node is in line, none is behind while
 * none is in line, and none behind is older than the one in line. */
static void check_lists(void) {
  const struct weir__waiter *one = NULL;
  uint32_t n = 0;
  for (const struct weir__waiter *at = list.first; at != NULL; at = at->next) {
    cr_assert_not(at->behind);
    cr_assert(at->next == NULL || at->since <= at->next->since);
    cr_assert(at->caller != NULL || one == NULL);
    one = at->caller == NULL ? at : one;
    n++;
  }
  cr_assert_eq(n, list.n);
  cr_assert_eq(list.n_submitted, one != NULL);
  n = 0;
  for (const struct weir__waiter *at = behind.first; at != NULL;
       at = at->next) {
    cr_assert(at->behind);
    cr_assert_null(at->caller);
    cr_assert_not_null(one);
    cr_assert_leq(one->since, at->since);
    cr_assert(at->next == NULL || at->since <= at->next->since);
    n++;
  }
  cr_assert_eq(n, behind.n);
  for (unsigned i = 0; i < CROWD; i++) {
    n -= listed[i];
  }
  cr_assert_eq(n + list.n, 0);
}

/* Comes, or comes back to where it was; a third of them block. */
static void join(unsigned i, uint64_t now, bool back) {
  struct weir__waiter *x = &crowd[i];
  x->caller = i % 3 == 0 ? &callers[0] : NULL;
  x->since = back ? x->since : now;
  listed[i] = true;
  if (!back) {
    weir__waiters_push(&list, x);
  } else if (x->caller != NULL) {
    weir__waiters_restore(&list, x);
  } else {
    weir__waiters_push_front(&list, x);
  }
}

/* Those that may come back to the front: nobody older is in line. */
static bool is_oldest(unsigned i) {
  return list.first == NULL || crowd[i].since <= list.first->since;
}

Test(waiter, keeps_all_submitted_ones_but_the_oldest_behind, .timeout = 20) {
  unsigned seed = 1;
  list.behind = &behind;
  for (unsigned step = 0; step < STEPS; step++) {
    seed = seed * 1103515245u + 12345u;
    unsigned i = (seed >> 16) % CROWD;
    bool moves = !listed[i] || !crowd[i].behind;
    if (!listed[i]) {
      bool back = (seed >> 28) % 4 == 0 && crowd[i].since != 0 && is_oldest(i);
      join(i, 1 + step / 3, back);
    } else {
      bool next = moves && crowd[i].caller == NULL && behind.n != 0;
      list.moved_up = false;
      weir__waiters_remove(&list, &crowd[i]);
      listed[i] = false;
      cr_assert_eq(list.moved_up, next);
    }
    check_lists();
  }
}

/* Nobody who came at the same time is overtaken by one that moves up, nor one that
 * comes back by those it was in front of. */
Test(waiter, keeps_the_order_of_those_who_came_together, .timeout = 5) {
  list.behind = &behind;
  w[0].caller = &callers[0];
  w[1].caller = w[2].caller = w[3].caller = NULL;
  weir__waiters_push(&list, &w[1]);
  weir__waiters_push(&list, &w[0]);
  weir__waiters_push(&list, &w[2]);
  weir__waiters_push(&list, &w[3]);
  check_order((const int[]){1, 0}, 2);
  weir__waiters_remove(&list, &w[1]);
  check_order((const int[]){0, 2}, 2);
  weir__waiters_push_front(&list, &w[1]);
  check_order((const int[]){1, 0}, 2);
  weir__waiters_remove(&list, &w[1]);
  check_order((const int[]){0, 2}, 2);
  weir__waiters_remove(&list, &w[2]);
  check_order((const int[]){0, 3}, 2);
}

Test(waiter, is_woken_as_it_waits, .timeout = 5) {
  struct weir__wakes wakes = {.n_asleep = 0};
  for (int i = 0; i < 2; i++) {
    w[i].caller = &callers[i];
  }
  atomic_store(&w[1].state, WEIR_WAITER_DRIVING);
  weir__waiter_decide(&w[0], WEIR_WAITER_GRANTED, &wakes);
  weir__waiter_decide(&w[1], WEIR_WAITER_FAILED, &wakes);
  cr_assert_eq(wakes.n_asleep, 1);
  cr_assert_eq(wakes.asleep[0], &callers[0]);
  cr_assert_eq(wakes.n_polling, 1);
  cr_assert_eq(wakes.polling[0], &callers[1]);
  cr_assert_eq(weir__waiter_state(&w[0]), WEIR_WAITER_GRANTED);
  cr_assert_eq(weir__waiter_state(&w[1]), WEIR_WAITER_FAILED);
}

Test(waiter, is_not_woken_by_itself, .timeout = 5) {
  struct weir__wakes wakes = {.n_asleep = 0};
  w[0].caller = &callers[0];
  weir__waiter_decide(&w[0], WEIR_WAITER_GRANTED, &wakes);
  weir__wakes_flush(&wakes, &callers[0]);
  cr_assert_eq(atomic_load(&callers[0].wake), 0);
  cr_assert_eq(wakes.n_asleep, 0);
}

Test(waiter, leaves_room_for_no_more_than_32, .timeout = 5) {
  struct weir__wakes wakes = {.n_asleep = WEIR_WAKES_MAX - 1};
  cr_assert(weir__wakes_room(&wakes));
  wakes.n_asleep++;
  cr_assert_not(weir__wakes_room(&wakes));
  wakes = (struct weir__wakes){.n_polling = WEIR_WAKES_MAX};
  cr_assert_not(weir__wakes_room(&wakes));
}

static enum weir__waiter_state seen;

static void *sleeper(void *arg) {
  seen = weir__waiter_sleep(arg);
  return NULL;
}

Test(waiter, sleeps_until_it_is_decided, .timeout = 5) {
  struct weir__wakes wakes = {.n_asleep = 0};
  pthread_t thread;
  virtual_clock_install();
  w[0].caller = &callers[0];
  w[0].deadline = UINT64_MAX;
  cr_assert_eq(pthread_create(&thread, NULL, sleeper, &w[0]), 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  /* A wake-up meant for a call before this one is spurious. */
  atomic_fetch_add(&callers[0].wake, 1);
  weir__unpark(&callers[0].wake);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  weir__waiter_decide(&w[0], WEIR_WAITER_GRANTED, &wakes);
  weir__wakes_flush(&wakes, NULL);
  (void)pthread_join(thread, NULL);
  cr_assert_eq(seen, WEIR_WAITER_GRANTED);
  virtual_clock_restore();
}

Test(waiter, sleeps_until_its_time_is_over, .timeout = 5) {
  pthread_t thread;
  virtual_clock_install();
  w[0].caller = &callers[0];
  w[0].deadline = virtual_clock_now() + 5;
  cr_assert_eq(pthread_create(&thread, NULL, sleeper, &w[0]), 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(5);
  (void)pthread_join(thread, NULL);
  cr_assert_eq(seen, WEIR_WAITER_WAITING);
  virtual_clock_restore();
}
