/* SPDX-License-Identifier: MIT */
/* test_transactions.c - of behaviours 226 to 277 those that need no
 * transaction, or one that begins and ends within a lease. */
#include "presets.h"

static struct fixture f;
static weir_h pool;

Test(transactions, behaviour_227_without_one_it_is_idle, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "Enlist=true");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    struct weir_pool_stats s = fixture_stats(pool);
    cr_assert_eq(s.idle, 1);
    cr_assert_eq(s.parked, 0);
    fixture_close(&f);
  }
}

static void begin(weir_h lease) {
  cr_assert_eq(weir_begin(lease, WEIR_ISO_DEFAULT, &f.err), WEIR_OK);
}

/* One transaction to its end. */
static void whole(weir_h lease, bool commit) {
  begin(lease);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(commit ? weir_commit(lease, &f.err)
                      : weir_rollback(lease, &f.err),
               WEIR_OK);
}

/* Returned after the end: idle, and the next user has it. */
static void keeps_after_the_end(unsigned preset) {
  for (unsigned commit = 0; commit < 2; commit++) {
    pool = preset_open(&f, preset, "");
    weir_h lease = fixture_acquire(&f, pool);
    whole(lease, commit);
    PRESET_RELEASE(lease);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(fixture_stats(pool).parked, 0);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 1);
    fixture_close(&f);
  }
}

Test(transactions, behaviour_228_after_the_end_it_is_idle, .timeout = 10) {
  keeps_after_the_end(0);
}

Test(transactions,
     behaviour_239_an_end_leaves_it_with_its_user,
     .timeout = 10) {
  EACH_PRESET(i) {
    for (unsigned commit = 0; commit < 2; commit++) {
      pool = preset_open(&f, i, "Max Pool Size=1");
      weir_h lease = fixture_acquire(&f, pool);
      whole(lease, commit);
      fixture_sync(&f);
      cr_assert_eq(fixture_stats(pool).leased, 1);
      cr_assert_eq(fixture_stats(pool).idle, 0);
      cr_assert_eq(fixture_number(&f, lease, "session", 0), 1);
      PRESET_RELEASE(lease);
      fixture_close(&f);
    }
  }
}

/* Whatever is done with the connections, none is kept for a transaction. */
Test(transactions,
     behaviour_253_without_one_nothing_is_ever_parked,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h leases[3];
    pool = preset_open(&f, i, "");
    for (unsigned round = 0; round < 5; round++) {
      for (unsigned k = 0; k < 3; k++) {
        leases[k] = fixture_acquire(&f, pool);
        cr_assert_eq(fixture_run(&f, leases[k], "rows 1"), WEIR_OK);
        cr_assert_eq(fixture_stats(pool).parked, 0);
      }
      for (unsigned k = 0; k < 3; k++) {
        PRESET_RELEASE(leases[k]);
        cr_assert_eq(fixture_stats(pool).parked, 0);
      }
    }
    cr_assert_eq(fixture_stats(pool).idle, 3);
    fixture_close(&f);
  }
}

Test(transactions,
     behaviour_269_a_full_pool_blocks_until_a_release,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a;
    pool = preset_open(&f, i, "Max Pool Size=2");
    weir_h one = fixture_acquire(&f, pool);
    weir_h other = fixture_acquire(&f, pool);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&a, 1);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    PRESET_RELEASE(one);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).leased, 2);
    PRESET_RELEASE(a.lease);
    PRESET_RELEASE(other);
    fixture_close(&f);
  }
}

Test(transactions,
     behaviour_272_a_shutdown_after_the_end_leaves_nothing,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    weir_h lease = fixture_acquire(&f, pool);
    whole(lease, true);
    PRESET_RELEASE(lease);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_close(&f);
  }
}

/* The transaction still open, too: its end is the session's. */
Test(transactions,
     behaviour_273_a_return_after_a_shutdown_closes_it,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    weir_h lease = fixture_acquire(&f, pool);
    begin(lease);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    fixture_sync(&f);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    PRESET_RELEASE(lease);
    AWAIT_COUNT(&f, conns_live, 0);
    cr_assert_eq(fixture_counts(&f).commits, 0);
    fixture_close(&f);
  }
}

Test(transactions,
     behaviour_274_a_return_after_the_end_keeps_it,
     .timeout = 10) {
  keeps_after_the_end(1);
}

Test(transactions,
     behaviour_277_one_after_the_other_uses_one_connection,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    for (unsigned k = 0; k < 6; k++) {
      weir_h lease = fixture_acquire(&f, pool);
      whole(lease, k % 2 == 0);
      PRESET_RELEASE(lease);
      AWAIT_STAT(pool, idle, 1);
    }
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    cr_assert_eq(fixture_counts(&f).begins, 6);
    cr_assert_eq(fixture_counts(&f).commits, 3);
    fixture_close(&f);
  }
}
