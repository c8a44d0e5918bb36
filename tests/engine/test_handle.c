/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "failing_alloc.h"
#include "handle.h"

static int things[2];

static uint64_t make(void *object) {
  uint64_t h = 0;
  cr_assert_eq(weir__handle_new(WEIR_TYPE_ROWS, object, &h), 0);
  return h;
}

Test(handle, finds_its_object, .timeout = 5) {
  uint64_t a = make(&things[0]);
  uint64_t b = make(&things[1]);
  cr_assert_neq(a, b);
  cr_assert_lt(a, UINT64_C(1) << 53);
  cr_assert_eq(weir__handle_find(a, WEIR_TYPE_ROWS), &things[0]);
  cr_assert_eq(weir__handle_find(b, WEIR_TYPE_ROWS), &things[1]);
}

Test(handle, is_stale_once_taken, .timeout = 5) {
  uint64_t a = make(&things[0]);
  cr_assert_eq(weir__handle_take(a, WEIR_TYPE_ROWS), &things[0]);
  cr_assert_null(weir__handle_take(a, WEIR_TYPE_ROWS));
  cr_assert_null(weir__handle_find(a, WEIR_TYPE_ROWS));
}

Test(handle, is_of_one_type, .timeout = 5) {
  uint64_t a = make(&things[0]);
  cr_assert_null(weir__handle_find(a, WEIR_TYPE_POOL));
  cr_assert_null(weir__handle_take(a, WEIR_TYPE_ENGINE));
  cr_assert_eq(weir__handle_find(a, WEIR_TYPE_ROWS), &things[0]);
}

Test(handle, is_not_made_up, .timeout = 5) {
  static const uint64_t foreign[] = {0,
                                     1,
                                     UINT64_MAX,
                                     UINT64_C(4) << 49,
                                     UINT64_C(4) << 49 |
                                         UINT64_C(0x1FFFF) << 32 | 1,
                                     UINT64_C(4) << 49 | 12345,
                                     UINT64_C(15) << 49 | 1,
                                     UINT64_C(1) << 53,
                                     UINT64_C(1) << 63};
  (void)make(&things[0]);
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
    cr_assert_null(weir__handle_find(foreign[i], WEIR_TYPE_ROWS));
    cr_assert_null(weir__handle_take(foreign[i], WEIR_TYPE_ROWS));
  }
}

/* Every index has been used once when all entries of a chunk are taken. */
Test(handle, has_a_new_generation_when_its_index_is_used_again, .timeout = 5) {
  uint64_t first = make(&things[0]);
  uint64_t again = 0;
  (void)weir__handle_take(first, WEIR_TYPE_ROWS);
  for (unsigned i = 0; i < 200 && again == 0; i++) {
    uint64_t h = make(&things[1]);
    again = (h >> 32) == (first >> 32) ? h : 0;
    if (again == 0) {
      (void)weir__handle_take(h, WEIR_TYPE_ROWS);
    }
  }
  cr_assert_neq(again, 0);
  cr_assert_neq((uint32_t)again, (uint32_t)first);
  cr_assert_null(weir__handle_find(first, WEIR_TYPE_ROWS));
  cr_assert_eq(weir__handle_find(again, WEIR_TYPE_ROWS), &things[1]);
}

Test(handle, runs_out_at_131072_and_recovers, .timeout = 30) {
  static uint64_t all[WEIR_HANDLE_MAX];
  uint64_t one_more = 0;
  for (size_t i = 0; i < WEIR_HANDLE_MAX; i++) {
    all[i] = make(&things[0]);
  }
  cr_assert_eq(weir__handle_new(WEIR_TYPE_ROWS, &things[1], &one_more),
               WEIR_E_SPACE);
  /* Other types have their own. */
  cr_assert_eq(weir__handle_new(WEIR_TYPE_POOL, &things[1], &one_more), 0);
  cr_assert_eq(weir__handle_take(all[77], WEIR_TYPE_ROWS), &things[0]);
  uint64_t h = make(&things[1]);
  cr_assert_eq(h >> 32, all[77] >> 32);
  cr_assert_neq(h, all[77]);
}

Test(handle, says_when_there_is_no_memory, .timeout = 5) {
  uint64_t h = 0;
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_eq(weir__handle_new(WEIR_TYPE_ENGINE, &things[0], &h),
               WEIR_E_NOMEM);
  cr_assert_eq(h, 0);
  cr_assert_eq(weir__handle_new(WEIR_TYPE_ENGINE, &things[0], &h), 0);
  failing_alloc_restore();
}

#define TAKERS 4
static _Atomic uint64_t race_handle;
static _Atomic unsigned wins;
static pthread_barrier_t barrier;

static void *taker(void *arg) {
  for (unsigned i = 0; i < 500; i++) {
    (void)pthread_barrier_wait(&barrier);
    uint64_t h = atomic_load(&race_handle);
    (void)pthread_barrier_wait(&barrier);
    if (weir__handle_take(h, WEIR_TYPE_ROWS) != NULL) {
      atomic_fetch_add(&wins, 1);
    }
    (void)pthread_barrier_wait(&barrier);
  }
  return arg;
}

Test(handle, is_taken_by_one_of_many, .timeout = 20) {
  pthread_t threads[TAKERS];
  (void)pthread_barrier_init(&barrier, NULL, TAKERS + 1);
  for (int i = 0; i < TAKERS; i++) {
    (void)pthread_create(&threads[i], NULL, taker, NULL);
  }
  for (unsigned i = 0; i < 500; i++) {
    atomic_store(&race_handle, make(&things[0]));
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    cr_assert_eq(atomic_load(&wins), i + 1);
  }
  for (int i = 0; i < TAKERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* ------------------------------------------------------ reserved indices */

Test(handle, of_a_reserved_index_is_good_while_it_is_armed, .timeout = 5) {
  uint32_t index = 0;
  int object = 0;
  uint64_t last = 0;
  cr_assert_eq(weir__handle_reserve(WEIR_TYPE_OP, &index), 0);
  for (int i = 0; i < 10; i++) {
    uint64_t h = weir__handle_arm(WEIR_TYPE_OP, index, &object);
    cr_assert_neq(h, last);
    cr_assert_null(weir__handle_find(last, WEIR_TYPE_OP));
    cr_assert_eq(weir__handle_find(h, WEIR_TYPE_OP), &object);
    cr_assert_null(weir__handle_find(h, WEIR_TYPE_QUEUE));
    weir__handle_disarm(WEIR_TYPE_OP, index);
    cr_assert_null(weir__handle_find(h, WEIR_TYPE_OP));
    last = h;
  }
  weir__handle_unreserve(WEIR_TYPE_OP, index);
}

Test(handle, of_a_reserved_index_is_nobody_elses, .timeout = 5) {
  enum {
    N = 100
  };
  uint32_t mine[N];
  uint64_t theirs = 0;
  int object = 0;
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(weir__handle_reserve(WEIR_TYPE_OP, &mine[i]), 0);
  }
  cr_assert_eq(weir__handle_new(WEIR_TYPE_OP, &object, &theirs), 0);
  for (unsigned i = 0; i < N; i++) {
    cr_assert_neq((uint32_t)(theirs >> 32) & (WEIR_HANDLE_MAX - 1), mine[i]);
    weir__handle_unreserve(WEIR_TYPE_OP, mine[i]);
  }
  cr_assert_eq(weir__handle_take(theirs, WEIR_TYPE_OP), &object);
}
