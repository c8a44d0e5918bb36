/* SPDX-License-Identifier: MIT */
/* test_transactions.c - of behaviours 226 to 277 those that need no transaction. */
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
