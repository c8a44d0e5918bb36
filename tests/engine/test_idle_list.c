/* SPDX-License-Identifier: MIT */
/* test_idle_list.c - Pool Idle Order=lifo and fifo: the order of returns, and entries of
 * slots that were taken by their word. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "failing_alloc.h"
#include "fixture.h"
#include "gates.h"
#include "growth.h"
#include "handle.h"
#include "idle_list.h"
#include "pool.h"

#define N 70u

static struct fixture f;
static weir_h handle;
static struct weir__pool *pool;
static weir_h leases[N];

static const char *const orders[] = {"lifo", "fifo"};

static void open_pool(const char *order, unsigned n) {
  fixture_open(&f);
  handle = fixture_pool(&f, "Max Pool Size=%u;Pool Idle Order=%s", n, order);
  pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  for (unsigned i = 0; i < n; i++) {
    leases[i] = fixture_acquire(&f, handle);
  }
}

static void give_back(unsigned i) {
  cr_assert_eq(weir_release(leases[i]), WEIR_OK);
}

/* Acquires and tells which slot it was. */
static uint32_t acquire_index(void) {
  weir_h lease = fixture_acquire(&f, handle);
  uint32_t number = 0;
  uint32_t count = 0;
  cr_assert(weir__handle_split(lease, WEIR_TYPE_LEASE, &number, &count));
  return weir__slot_find(number)->index;
}

static uint32_t entries(void) {
  return weir__idle_list_count(pool->idle.list);
}

static uint64_t word_of(uint32_t index) {
  return weir__load_seq_u64(&weir__pool_slot(pool, index)->word);
}

static void check_order(const char *order, const unsigned *want, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    uint32_t got = acquire_index();
    cr_assert_eq(got, want[i], "%s, %u: %u", order, i, got);
  }
}

Test(idle_list, hands_out_in_the_order_of_returns, .timeout = 10) {
  static const unsigned back[] = {69, 3, 64, 17};
  static const unsigned want[2][4] = {{17, 64, 3, 69}, {69, 3, 64, 17}};
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], N);
    for (unsigned i = 0; i < 4; i++) {
      give_back(back[i]);
    }
    check_order(orders[o], want[o], 4);
    cr_assert_eq(entries(), 0);
    fixture_close(&f);
  }
}

/* Who comes back again is the last to have come. */
Test(idle_list, a_second_return_is_a_new_turn, .timeout = 10) {
  static const unsigned back[2][3] = {{2, 1, 0}, {0, 1, 2}};
  static const unsigned want[2][3] = {{0, 1, 2}, {1, 2, 0}};
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], 3);
    for (unsigned i = 0; i < 3; i++) {
      give_back(back[o][i]);
    }
    leases[0] = fixture_acquire(&f, handle);
    give_back(0);
    check_order(orders[o], want[o], 3);
    fixture_close(&f);
  }
}

/* The reactor takes each by its word, finds it good and puts it back. */
Test(idle_list, being_looked_at_changes_nobodys_turn, .timeout = 10) {
  static const unsigned want[2][3] = {{1, 2, 0}, {0, 2, 1}};
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], 3);
    give_back(0);
    give_back(2);
    give_back(1);
    struct mock_counts before = fixture_counts(&f);
    weir__idle_suspect_all(pool);
    AWAIT_COUNT(&f, calls[MOCK_HEALTH], before.calls[MOCK_HEALTH] + 3);
    AWAIT_STAT(handle, idle, 3);
    check_order(orders[o], want[o], 3);
    fixture_close(&f);
  }
}

/* One that is looked at when a search comes by keeps its entry. */
Test(idle_list, steps_over_one_that_is_looked_at, .timeout = 10) {
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], 2);
    give_back(0);
    give_back(1);
    gates_install();
    gate_hold("probe.reserved");
    weir__idle_suspect_all(pool);
    cr_assert_eq(gate_wait_reached("probe.reserved", 1), 0);
    cr_assert_eq(weir__slot_state(word_of(0)), WEIR_SLOT_RESERVED);
    uint64_t word;
    cr_assert_eq(weir__idle_take(pool, 0, &word)->index, 1);
    cr_assert_null(weir__idle_take(pool, 0, &word));
    cr_assert_eq(entries(), 1);
    gate_open("probe.reserved");
    AWAIT_STAT(handle, idle, 1);
    cr_assert_eq(acquire_index(), 0);
    gates_restore();
    fixture_close(&f);
  }
}

/* Who retires an idle slot takes it by its word, and leaves the entry. */
Test(idle_list, drops_the_entry_of_one_that_has_left, .timeout = 10) {
  static const unsigned want[2][2] = {{2, 0}, {0, 2}};
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], 3);
    for (unsigned i = 0; i < 3; i++) {
      give_back(i);
    }
    uint64_t word = word_of(1);
    cr_assert(weir__growth_retire(weir__pool_slot(pool, 1), &word));
    AWAIT_STAT(handle, closing, 0);
    cr_assert_eq(entries(), 3);
    check_order(orders[o], want[o], 2);
    cr_assert_eq(entries(), 0);
    fixture_close(&f);
  }
}

/* ... and its place, used anew, has one entry as before. */
Test(idle_list, a_place_that_is_used_anew_has_one_entry, .timeout = 10) {
  for (unsigned o = 0; o < 2; o++) {
    open_pool(orders[o], 2);
    give_back(0);
    give_back(1);
    cr_assert_eq(weir_pool_clear(handle), WEIR_OK);
    AWAIT_STAT(handle, empty, 2);
    cr_assert_eq(entries(), 2);
    leases[0] = fixture_acquire(&f, handle);
    leases[1] = fixture_acquire(&f, handle);
    give_back(0);
    give_back(1);
    cr_assert_eq(entries(), 2);
    cr_assert_neq(acquire_index(), acquire_index());
    cr_assert_eq(entries(), 0);
    fixture_close(&f);
  }
}

Test(idle_list, takes_nothing_of_another_generation, .timeout = 10) {
  for (unsigned o = 0; o < 2; o++) {
    uint64_t word;
    open_pool(orders[o], 2);
    give_back(0);
    cr_assert_null(weir__idle_take(pool, 1, &word));
    cr_assert_not(weir__idle_any(pool, 1));
    cr_assert(weir__idle_any(pool, 0));
    cr_assert_eq(entries(), 1); /* it is somebody else's to close */
    cr_assert_eq(acquire_index(), 0);
    cr_assert_not(weir__idle_any(pool, 0));
    fixture_close(&f);
  }
}

/* The slot is idle, its entry not yet made; a waiter comes, finds nothing and sleeps.
 * The release reads Q after it has made the entry. */
Test(idle_list, nobody_sleeps_beside_one_without_an_entry, .timeout = 10) {
  static const char *const handoffs[] = {"barging", "queued", "bounded"};
  for (unsigned i = 0; i < 6; i++) {
    struct acquirer waiter;
    struct doing release;
    fixture_open(&f);
    handle =
        fixture_pool(&f, "Max Pool Size=1;Pool Idle Order=%s;Pool Handoff=%s",
                     orders[i % 2], handoffs[i / 2]);
    leases[0] = fixture_acquire(&f, handle);
    gates_install();
    gate_hold("idle.note");
    doing_start(&release, weir_release, leases[0]);
    cr_assert_eq(gate_wait_reached("idle.note", 1), 0);
    acquirer_start(&waiter, handle, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&waiter, 1);
    cr_assert_eq(fixture_stats(handle).idle, 1);
    gate_open("idle.note");
    cr_assert_eq(doing_join(&release), WEIR_OK);
    cr_assert_eq(acquirer_join(&waiter), WEIR_OK);
    gates_restore();
    fixture_close(&f);
  }
}

Test(idle_list, grows_and_keeps_its_order, .timeout = 5) {
  struct weir__pool own = {.closed = false};
  own.idle.list = weir__idle_list_new();
  cr_assert_not_null(own.idle.list);
  for (uint32_t i = 0; i < N; i++) {
    cr_assert(weir__idle_list_grow(own.idle.list, i + 1));
    weir__idle_list_note(&own, i, false);
    weir__idle_list_note(&own, i, true); /* which is no second entry */
    cr_assert_eq(weir__idle_list_count(own.idle.list), i + 1);
  }
  weir__idle_list_free(own.idle.list);
}

Test(idle_list, says_when_there_is_no_memory, .timeout = 5) {
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_null(weir__idle_list_new());
  failing_alloc_at(2);
  struct weir__idle_list *list = weir__idle_list_new();
  cr_assert_not_null(list);
  cr_assert_not(weir__idle_list_grow(list, 8));
  cr_assert(weir__idle_list_grow(list, 8));
  failing_alloc_at(1);
  cr_assert_not(weir__idle_list_grow(list, 100));
  cr_assert(weir__idle_list_grow(list, 8));
  failing_alloc_restore();
  weir__idle_list_free(list);
}

/* A pool is opened, or it is refused and nothing is left of it. */
Test(idle_list, a_pool_without_memory_for_it_is_refused, .timeout = 10) {
  fixture_open(&f);
  failing_alloc_install();
  static const char conninfo[] = "Driver=mock;Pool Idle Order=lifo";
  uint64_t n = 0;
  int rc;
  do {
    failing_alloc_at(++n);
    rc = weir_pool_open(f.engine, conninfo, sizeof conninfo - 1, &handle,
                        &f.err);
    cr_assert(rc == WEIR_OK || rc == WEIR_E_NOMEM, "%u: %d", (unsigned)n, rc);
    if (rc == WEIR_OK && failing_alloc_failed() != 0) {
      cr_assert_eq(weir_pool_close(handle), WEIR_OK);
    }
  } while (failing_alloc_failed() != 0);
  failing_alloc_restore();
  cr_assert_eq(rc, WEIR_OK);
  cr_assert_eq(weir_release(fixture_acquire(&f, handle)), WEIR_OK);
  fixture_close(&f);
}
