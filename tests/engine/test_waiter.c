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
