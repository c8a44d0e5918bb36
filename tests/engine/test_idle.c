/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "failing_alloc.h"
#include "fixture.h"
#include "handle.h"
#include "pool.h"

#define N 70u

static struct fixture f;
static struct weir__pool *pool;
static weir_h leases[N];

static void open_full_pool(void) {
  fixture_open(&f);
  weir_h h = fixture_pool(&f, "Max Pool Size=%u", N);
  pool = weir__handle_find(h, WEIR_TYPE_POOL);
  for (unsigned i = 0; i < N; i++) {
    leases[i] = fixture_acquire(&f, h);
  }
}

static struct weir__idle_hint *hints(void) {
  return atomic_load_explicit(&pool->idle.hints, memory_order_relaxed);
}

static void forget_hints(void) {
  for (uint32_t i = 0; i <= pool->idle.hint_mask; i++) {
    atomic_store(&hints()[i].index_plus_1, 0);
  }
}

static struct weir__slot *take(uint32_t generation) {
  uint64_t word = 0;
  struct weir__slot *slot = weir__idle_take(pool, generation, &word);
  cr_assert(slot == NULL || word == atomic_load(&slot->word));
  return slot;
}

/* Takes the slot out of the fixture's way again. */
static void retire(struct weir__slot *slot) {
  cr_assert_eq(weir_discard(weir__handle_make(
                   WEIR_TYPE_LEASE, slot->number,
                   weir__slot_lease(atomic_load(&slot->word)))),
               WEIR_OK);
}

Test(idle, finds_the_lowest_index_without_a_hint, .timeout = 10) {
  static const unsigned back[] = {69, 3, 64, 17};
  static const uint32_t order[] = {3, 17, 64, 69};
  open_full_pool();
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(weir_release(leases[back[i]]), WEIR_OK);
  }
  for (unsigned i = 0; i < 4; i++) {
    forget_hints();
    struct weir__slot *slot = take(0);
    cr_assert_eq(slot->index, order[i]);
    retire(slot);
  }
  cr_assert_null(take(0));
  fixture_close(&f);
}

Test(idle, takes_the_hinted_slot_first, .timeout = 10) {
  open_full_pool();
  cr_assert_eq(weir_release(leases[3]), WEIR_OK);
  cr_assert_eq(weir_release(leases[50]), WEIR_OK);
  for (uint32_t i = 0; i <= pool->idle.hint_mask; i++) {
    atomic_store(&hints()[i].index_plus_1, 51);
  }
  struct weir__slot *slot = take(0);
  cr_assert_eq(slot->index, 50);
  retire(slot);
  /* The hint points to nothing idle now. */
  slot = take(0);
  cr_assert_eq(slot->index, 3);
  retire(slot);
  fixture_close(&f);
}

Test(idle, takes_nothing_of_another_generation, .timeout = 10) {
  open_full_pool();
  cr_assert_eq(weir_release(leases[5]), WEIR_OK);
  cr_assert_null(take(1));
  struct weir__slot *slot = take(0);
  cr_assert_not_null(slot);
  retire(slot);
  fixture_close(&f);
}

/* The bits are a superset: one over a slot that is not idle is tidied away. */
Test(idle, tidies_bits_of_slots_that_are_not_idle, .timeout = 10) {
  open_full_pool();
  for (unsigned i = 0; i < N; i++) {
    weir__bits_set(&pool->idle.bits, i);
  }
  forget_hints();
  cr_assert_null(take(0));
  cr_assert_eq(weir__bits_next(&pool->idle.bits, 0), WEIR_BITS_NONE);
  fixture_close(&f);
}

Test(idle, writes_no_bit_on_the_warm_path, .timeout = 10) {
  open_full_pool();
  cr_assert_eq(weir_release(leases[9]), WEIR_OK);
  for (unsigned i = 0; i < 100; i++) {
    cr_assert(weir__bits_has(&pool->idle.bits, 9));
    cr_assert_eq(weir_release(fixture_acquire(&f, pool->handle)), WEIR_OK);
  }
  cr_assert_eq(weir__bits_next(&pool->idle.bits, 10), WEIR_BITS_NONE);
  fixture_close(&f);
}

Test(idle, says_when_there_is_no_memory, .timeout = 5) {
  struct weir__idle idle;
  failing_alloc_install();
  for (uint64_t n = 1; n <= 2; n++) {
    memset(&idle, 0, sizeof idle);
    failing_alloc_at(n);
    cr_assert_not(weir__idle_grow(&idle, 100));
    weir__idle_fini(&idle);
  }
  failing_alloc_restore();
}

/* A hint to a slot beyond what the pool needs at once is not followed. */
Test(idle, follows_hints_below_the_packed_limit_only, .timeout = 10) {
  static const uint32_t packed[] = {50, 51};
  static const uint32_t first[] = {3, 50};
  for (unsigned i = 0; i < 2; i++) {
    open_full_pool();
    cr_assert_eq(weir_release(leases[3]), WEIR_OK);
    cr_assert_eq(weir_release(leases[50]), WEIR_OK);
    for (uint32_t k = 0; k <= pool->idle.hint_mask; k++) {
      atomic_store(&hints()[k].index_plus_1, 51);
    }
    atomic_store(&pool->idle.packed, packed[i]);
    struct weir__slot *slot = take(0);
    cr_assert_eq(slot->index, first[i], "packed %u", packed[i]);
    retire(slot);
    fixture_close(&f);
  }
}

Test(idle, marks_all_idle_slots_and_none_in_use, .timeout = 10) {
  fixture_open(&f);
  weir_h h = fixture_pool(&f, "Max Pool Size=3");
  pool = weir__handle_find(h, WEIR_TYPE_POOL);
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = fixture_acquire(&f, h);
  }
  cr_assert_eq(weir_release(leases[0]), WEIR_OK);
  cr_assert_eq(weir_release(leases[1]), WEIR_OK);
  struct mock_counts before = fixture_counts(&f);
  weir__idle_suspect_all(pool);
  /* The reactor looks at each once and finds them good. */
  AWAIT_COUNT(&f, calls[MOCK_HEALTH], before.calls[MOCK_HEALTH] + 2);
  AWAIT_STAT(h, idle, 2);
  cr_assert_eq(fixture_stats(h).leased, 1);
  for (unsigned i = 0; i < 3; i++) {
    uint64_t word = atomic_load(&weir__pool_slot(pool, i)->word);
    cr_assert_eq(weir__slot_flags(word) & WEIR_SLOT_SUSPECT, 0);
  }
  fixture_close(&f);
}
