/* SPDX-License-Identifier: MIT */
/* test_replace.c - a connection that is replaced while somebody has it: behaviours
 * 190 to 204.  SqlClient does that when a session is to be recovered; here a lazy
 * reset that fails with a lease's first statement is the occasion. */
#include <string.h>

#include "presets.h"

static struct fixture f;
static weir_h pool;

/* The lease of a second user, whose first statement finds its connection dead.
 * then: what else the script says, and settings. */
static weir_h doomed_lease(unsigned preset, const char *then) {
  char more[256];
  (void)snprintf(more, sizeof more,
                 "Probe Window=1 h;Mock Script Text=\"reset 1: fail conn "
                 "network 'gone'%s",
                 then);
  pool = preset_open(&f, preset, more);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
  PRESET_RELEASE(lease);
  return fixture_acquire(&f, pool);
}

Test(replace, behaviour_020_replacing_keeps_the_count, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\";Max Pool Size=3");
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_stats(pool).empty, 2);
    cr_assert_eq(fixture_stats(pool).connects_ok, 2);
    fixture_close(&f);
  }
}

Test(replace,
     behaviour_021_the_new_one_is_in_the_pool_and_the_old_is_not,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h extra = 0;
    weir_h lease = doomed_lease(i, "\";Max Pool Size=1");
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    PRESET_RELEASE(lease);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
    cr_assert_eq(weir_acquire(pool, 0, &extra, NULL), WEIR_E_TIMEOUT);
    cr_assert_eq(f.mock->kill_session(f.drv, 1), 0); /* it has gone */
    fixture_close(&f);
  }
}

/* A lease that is over names no connection any more. */
Test(replace, behaviour_022_an_unknown_one_is_not_replaced, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    PRESET_RELEASE(lease);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_HANDLE);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

Test(replace, behaviour_025_nobody_elses_is_touched, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    weir_h other = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, other, "set his"), WEIR_OK);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_number(&f, other, "session", 0), 2);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 3);
    fixture_close(&f);
  }
}

/* What takes its place is not replaced in turn. */
Test(replace, behaviour_026_it_is_replaced_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, ";exec on 2: fail conn network\"");
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(replace, behaviour_069_the_replacement_is_not_the_old_one, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONN_CREATE], 1);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONN_CREATE], 2);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
    fixture_close(&f);
  }
}

Test(replace,
     behaviour_190_a_replacement_is_another_connection,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
    PRESET_RELEASE(lease);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
    fixture_close(&f);
  }
}

Test(replace, behaviour_191_the_old_connection_is_closed, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_counts(&f).conns_live, 1);
    cr_assert_eq(fixture_stats(pool).closed, 1);
    fixture_close(&f);
  }
}

Test(replace, behaviour_192_the_count_stays_what_it_was, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    weir_h other = fixture_acquire(&f, pool);
    cr_assert_eq(preset_count(pool), 2);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(preset_count(pool), 2);
    cr_assert_eq(fixture_stats(pool).leased, 2);
    PRESET_RELEASE(other);
    fixture_close(&f);
  }
}

Test(replace, behaviour_193_it_works_in_a_full_pool, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\";Max Pool Size=1");
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_counts(&f).sessions_max, 1);
    fixture_close(&f);
  }
}

#define NOBODY ";connect 2: fail endpoint network 'nobody listens'\""

Test(replace,
     behaviour_194_a_connect_that_fails_is_told_to_the_user,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, NOBODY);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_not_null(strstr(f.err.message, "nobody listens"), "%s",
                       f.err.message);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(replace,
     behaviour_201_without_an_idle_one_a_connection_is_opened,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = doomed_lease(i, "\"");
    cr_assert_eq(fixture_stats(pool).idle, 0);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).connects_ok, 2);
    fixture_close(&f);
  }
}

/* Another caller's connect has failed: the user keeps the error of its own
 * connection, and the server is left alone. */
Test(replace,
     behaviour_202_in_a_blocking_period_nothing_is_opened_for_it,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h other = 0;
    weir_h lease = doomed_lease(i, NOBODY);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &other, &f.err), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(replace,
     behaviour_203_a_connect_that_fails_begins_the_blocking_period,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h other = 0;
    weir_h lease = doomed_lease(i, NOBODY);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    PRESET_RELEASE(lease);
    cr_assert_neq(weir_acquire(pool, FIXTURE_S, &other, &f.err), WEIR_OK);
    cr_assert_not_null(strstr(f.err.message, "nobody listens"), "%s",
                       f.err.message);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    fixture_close(&f);
  }
}
