/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/heap.h"

#define N 500

static struct weir__heap_node node[N];

/* A fixed, well mixed sequence. */
static uint64_t mixed(uint64_t i) {
  return (i * UINT64_C(2654435761) + 12345) % 1000;
}

static void fill(struct weir__heap *heap) {
  for (uint64_t i = 0; i < N; i++) {
    weir__heap_insert(heap, &node[i], mixed(i));
  }
}

static void take_in_order(struct weir__heap *heap, size_t expected) {
  uint64_t last = 0;
  size_t n = 0;
  for (;;) {
    struct weir__heap_node *first = weir__heap_first(heap);
    if (first == NULL) {
      break;
    }
    cr_assert_geq(first->key, last);
    last = first->key;
    weir__heap_remove(heap, first);
    cr_assert(weir__heap_check(heap));
    n++;
  }
  cr_assert_eq(n, expected);
}

Test(heap, is_empty_at_first, .timeout = 5) {
  struct weir__heap heap = {0};
  cr_assert_null(weir__heap_first(&heap));
  cr_assert(weir__heap_check(&heap));
}

Test(heap, gives_the_smallest_key_first, .timeout = 5) {
  struct weir__heap heap = {0};
  fill(&heap);
  cr_assert(weir__heap_check(&heap));
  take_in_order(&heap, N);
}

Test(heap, keeps_its_order_when_nodes_leave_the_middle, .timeout = 5) {
  struct weir__heap heap = {0};
  fill(&heap);
  for (size_t i = 0; i < N; i += 3) {
    weir__heap_remove(&heap, &node[i]);
    cr_assert(weir__heap_check(&heap));
  }
  take_in_order(&heap, N - (N + 2) / 3);
}

Test(heap, gives_equal_keys_in_the_order_of_insertion, .timeout = 5) {
  struct weir__heap heap = {0};
  for (size_t i = 0; i < N; i++) {
    weir__heap_insert(&heap, &node[i], 7);
  }
  for (size_t i = 0; i < N; i++) {
    struct weir__heap_node *first = weir__heap_first(&heap);
    cr_assert_eq(first, &node[i]);
    weir__heap_remove(&heap, first);
  }
}

Test(heap, ignores_the_removal_of_a_node_that_is_out, .timeout = 5) {
  struct weir__heap heap = {0};
  weir__heap_insert(&heap, &node[0], 1);
  weir__heap_remove(&heap, &node[1]);
  weir__heap_remove(&heap, &node[0]);
  weir__heap_remove(&heap, &node[0]);
  cr_assert_eq(heap.n, 0);
  cr_assert(weir__heap_check(&heap));
}

Test(heap, notices_a_broken_order, .timeout = 5) {
  struct weir__heap heap = {0};
  fill(&heap);
  heap.root->key = 5000;
  cr_assert_not(weir__heap_check(&heap));
}
