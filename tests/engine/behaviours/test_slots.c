/* SPDX-License-Identifier: MIT */
/* test_slots.c - the places of a pool: behaviours 1 to 26. */
#include <string.h>

#include "completions.h"
#include "failing_alloc.h"
#include "presets.h"

#define MANY 16u

static struct fixture f;
static weir_h pool;

static void refuses_maximum(const char *max) {
  char text[128];
  weir_h h = 0;
  fixture_open_virtual(&f);
  EACH_PRESET(i) {
    int n = snprintf(text, sizeof text,
                     "Driver=mock;Pool Strategy=%s;Max Pool Size=%s",
                     preset_names[i], max);
    cr_assert_eq(weir_pool_open(f.engine, text, (uint64_t)n, &h, &f.err),
                 WEIR_E_ARG);
    cr_assert_not_null(strstr(f.err.message, "Max Pool Size"), "%s",
                       f.err.message);
  }
  fixture_close(&f);
}

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static int try_once(void) {
  weir_h lease = 0;
  return weir_acquire(pool, 0, &lease, NULL);
}

static void discard(weir_h lease) {
  cr_assert_eq(weir_discard(lease), WEIR_OK);
}

Test(slots, behaviour_001_a_new_pool_has_no_connection, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=7");
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).empty, 7);
    cr_assert_eq(fixture_counts(&f).conns_live, 0);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_002_a_maximum_of_0_is_refused_by_its_name,
     .timeout = 10) {
  refuses_maximum("0");
}

Test(slots,
     behaviour_003_a_maximum_beyond_the_limit_is_refused,
     .timeout = 10) {
  refuses_maximum("2147483648");
}

Test(slots,
     behaviour_004_a_maximum_of_10000_opens_without_a_connection,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=10000");
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).empty, 10000);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_005_a_connect_runs_once_and_takes_one_place,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=2");
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONN_DESTROY], 0);
    fixture_close(&f);
  }
}

/* Each allocation on the way fails once; where it is the connection's, the driver is
 * not even asked to connect. */
static bool fails_without_memory(unsigned preset, unsigned n) {
  weir_h lease = 0;
  open_pool(preset, "Max Pool Size=2");
  failing_alloc_install();
  failing_alloc_at(n);
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  bool failed = failing_alloc_failed() != 0;
  failing_alloc_restore();
  cr_assert(rc == WEIR_OK || failed);
  if (rc != WEIR_OK) {
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 0, "allocation %u", n);
    cr_assert_eq(fixture_stats(pool).empty, 2);
  }
  fixture_close(&f);
  return failed;
}

Test(slots,
     behaviour_006_a_connect_without_memory_leaves_its_place_empty,
     .timeout = 30) {
  EACH_PRESET(i) {
    for (unsigned n = 1; fails_without_memory(i, n); n++) {
    }
  }
}

Test(slots, behaviour_007_a_full_pool_opens_nothing_more, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(try_once(), WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONN_CREATE], 1);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_008_a_connect_that_fails_gives_its_place_back,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Max Pool Size=2;Mock Script Text="
                 "\"connect 1: fail config auth 'not you'\"");
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err),
                 WEIR_E_FAIL);
    cr_assert_not_null(strstr(f.err.message, "not you"), "%s", f.err.message);
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).empty, 2);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONN_DESTROY], 1);
    fixture_close(&f);
  }
}

Test(slots, behaviour_009_two_connects_take_two_places, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=3");
    (void)fixture_acquire(&f, pool);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(preset_count(pool), 2);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
    fixture_close(&f);
  }
}

/* Each place is in exactly one state, and those that are not empty are what the
 * driver has. */
static void check_places(uint64_t live) {
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(preset_count(pool) + s.closing, live);
  cr_assert_eq(s.empty, 5 - live);
  cr_assert_eq(fixture_counts(&f).conns_live, live);
}

Test(slots,
     behaviour_010_the_places_give_exactly_the_connections_there_are,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease[4];
    open_pool(i, "Max Pool Size=5");
    for (unsigned k = 0; k < 4; k++) {
      check_places(k);
      lease[k] = fixture_acquire(&f, pool);
    }
    check_places(4);
    PRESET_RELEASE(lease[0]);
    check_places(4);
    discard(lease[1]);
    AWAIT_STAT(pool, closing, 0);
    check_places(3);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    AWAIT_STAT(pool, closing, 0);
    check_places(2); /* those in use */
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_011_a_connection_thrown_away_leaves_its_place,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=2");
    discard(fixture_acquire(&f, pool));
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).empty, 2);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_012_what_is_not_of_the_pool_cannot_be_taken_out_of_it,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=2");
    weir_h other = fixture_pool(&f, "Mock Server=other");
    weir_h lease = fixture_acquire(&f, pool);
    weir_h foreign = fixture_acquire(&f, other);
    cr_assert_eq(weir_discard(lease + 1), WEIR_E_HANDLE);
    cr_assert_eq(weir_discard(pool), WEIR_E_HANDLE);
    discard(foreign); /* which is the other's alone */
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_013_the_same_lease_is_thrown_away_once_only,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=2");
    weir_h lease = fixture_acquire(&f, pool);
    (void)fixture_acquire(&f, pool);
    discard(lease);
    cr_assert_eq(weir_discard(lease), WEIR_E_HANDLE);
    cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

Test(slots, behaviour_015_only_the_connection_meant_is_closed, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease[3];
    int64_t session[3];
    open_pool(i, "Max Pool Size=3");
    for (unsigned k = 0; k < 3; k++) {
      lease[k] = fixture_acquire(&f, pool);
      session[k] = fixture_number(&f, lease[k], "session", 0);
    }
    discard(lease[1]);
    AWAIT_COUNT(&f, sessions_live, 2);
    cr_assert_eq(fixture_number(&f, lease[0], "session", 0), session[0]);
    cr_assert_eq(fixture_number(&f, lease[2], "session", 0), session[2]);
    cr_assert_eq(preset_count(pool), 2);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_016_many_threads_open_and_close_and_the_count_is_exact,
     .timeout = 20) {
  EACH_PRESET(i) {
    static struct acquirer caller[MANY];
    static struct doing end[MANY];
    open_pool(i, "Max Pool Size=20");
    for (unsigned k = 0; k < MANY; k++) {
      acquirer_start(&caller[k], pool, WEIR_TIMEOUT_NEVER);
    }
    for (unsigned k = 0; k < MANY; k++) {
      cr_assert_eq(acquirer_join(&caller[k]), WEIR_OK);
    }
    cr_assert_eq(preset_count(pool), MANY);
    for (unsigned k = 0; k < MANY; k++) {
      doing_start(&end[k], weir_discard, caller[k].lease);
    }
    for (unsigned k = 0; k < MANY; k++) {
      cr_assert_eq(doing_join(&end[k]), WEIR_OK);
    }
    AWAIT_STAT(pool, empty, 20);
    cr_assert_eq(preset_count(pool), 0);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_017_filled_to_its_maximum_the_next_one_gets_none,
     .timeout = 20) {
  static const unsigned sizes[] = {1, 5, 10, 100};
  EACH_PRESET(i) {
    for (unsigned s = 0; s < 4; s++) {
      char more[32];
      (void)snprintf(more, sizeof more, "Max Pool Size=%u", sizes[s]);
      open_pool(i, more);
      for (unsigned k = 0; k < sizes[s]; k++) {
        (void)fixture_acquire(&f, pool);
      }
      cr_assert_eq(try_once(), WEIR_E_TIMEOUT);
      cr_assert_eq(preset_count(pool), sizes[s]);
      fixture_close(&f);
    }
  }
}

Test(slots,
     behaviour_018_the_count_follows_each_opening_and_closing,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=4");
    weir_h a = fixture_acquire(&f, pool);
    weir_h b = fixture_acquire(&f, pool);
    cr_assert_eq(preset_count(pool), 2);
    discard(a);
    cr_assert_eq(preset_count(pool), 1);
    a = fixture_acquire(&f, pool);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(preset_count(pool), 3);
    discard(b);
    discard(a);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

Test(slots,
     behaviour_019_a_pool_of_one_works_and_opens_no_second,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "SELECT 1"), WEIR_OK);
    cr_assert_eq(try_once(), WEIR_E_TIMEOUT);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_counts(&f).conns_max, 1);
    fixture_close(&f);
  }
}
