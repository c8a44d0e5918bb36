/* SPDX-License-Identifier: MIT */
/* test_edges.c - what happens where two things meet: the rows of the table of edges
 * of SqlClient's pools that no numbered behaviour is about, and their defaults. */
#include <string.h>

#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

/* Indices of preset_names. */
enum {
  CHANNEL = 0,
  LEGACY = 1
};

static struct fixture f;
static weir_h pool;
static struct acquirer caller[2];

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static void line_up(unsigned i, int64_t timeout_ns) {
  acquirer_start(&caller[i], pool, timeout_ns);
  acquirer_settle(&caller[i], i + 1);
}

static int64_t session_of(weir_h lease) {
  return fixture_number(&f, lease, "session", 0);
}

static uint64_t begun(void) {
  fixture_sync(&f);
  return fixture_stats(pool).connects_begun;
}

static void end_connect(void) {
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
}

/* Three connections, that came back in the order of their sessions 1, 2, 3. */
static void open_three(unsigned preset, const char *more) {
  weir_h lease[3];
  open_pool(preset, more);
  for (unsigned k = 0; k < 3; k++) {
    lease[k] = fixture_acquire(&f, pool);
  }
  for (unsigned k = 0; k < 3; k++) {
    PRESET_RELEASE(lease[k]);
  }
}

/* ---------------------------------------------------------------- whose turn */

Test(edges,
     channel_hands_out_the_longest_idle_and_legacy_the_latest,
     .timeout = 10) {
  static const int64_t order[PRESETS][3] = {{1, 2, 3}, {3, 2, 1}};
  EACH_PRESET(i) {
    open_three(i, "");
    for (unsigned k = 0; k < 3; k++) {
      weir_h lease = fixture_acquire(&f, pool);
      cr_assert_eq(session_of(lease), order[i][k], "%s, %u", preset_names[i],
                   k);
    }
    fixture_close(&f);
  }
}

/* In channel each that waits has begun its own; in legacy the end of the one lets
 * the next begin. */
Test(edges,
     a_connect_that_succeeds_is_its_callers_and_lets_legacys_next_begin,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Mock Script Text='connect: hang'");
    line_up(0, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    line_up(1, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, i == LEGACY ? 1 : 2);
    cr_assert_eq(begun(), i == LEGACY ? 1 : 2);
    cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(begun(), 2);
    end_connect();
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    cr_assert_neq(session_of(caller[0].lease), session_of(caller[1].lease));
    fixture_close(&f);
  }
}

Test(edges, who_opens_takes_no_return, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Mock Script Text='connect 2: hang'");
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    PRESET_RELEASE(lease);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).idle, 1);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    end_connect();
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(session_of(caller[0].lease), 2);
    fixture_close(&f);
  }
}

/* --------------------------------------------------- who leaves while it waits */

/* Told so at once; what was being opened for it is kept. */
Test(edges,
     who_cancels_while_its_connect_runs_leaves_it_to_the_next,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Max Pool Size=1;Mock Script Text='connect 1: hang'");
    weir_h queue = queue_of(&f, 1);
    weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    (void)take_one(&f, queue, 7, WEIR_E_CANCELLED);
    cr_assert_eq(fixture_stats(pool).connecting, 1);
    end_connect();
    AWAIT_STAT(pool, idle, 1);
    fixture_sync(&f); /* an idle one is found a moment later */
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_OK);
    cr_assert_eq(begun(), 1);
    fixture_close(&f);
  }
}

static void *pass_time(void *unused) {
  virtual_clock_advance(S);
  return unused;
}

/* Either it has the connection, or the connection is idle. */
Test(edges, a_time_out_beside_a_return_loses_no_connection, .timeout = 30) {
  EACH_PRESET(i) {
    for (unsigned round = 0; round < 50; round++) {
      pthread_t time;
      open_pool(i, "Max Pool Size=1");
      weir_h lease = fixture_acquire(&f, pool);
      line_up(0, FIXTURE_S);
      cr_assert_eq(virtual_clock_wait_parked(1), 0);
      cr_assert_eq(pthread_create(&time, NULL, pass_time, NULL), 0);
      PRESET_RELEASE(lease);
      cr_assert_eq(pthread_join(time, NULL), 0);
      int rc = acquirer_join(&caller[0]);
      fixture_sync(&f);
      cr_assert(rc == WEIR_OK || rc == WEIR_E_TIMEOUT);
      cr_assert_eq(fixture_stats(pool).leased, rc == WEIR_OK ? 1 : 0);
      cr_assert_eq(fixture_stats(pool).idle, rc == WEIR_OK ? 0 : 1);
      cr_assert_eq(fixture_stats(pool).waiters, 0);
      cr_assert_eq(begun(), 1);
      fixture_close(&f);
    }
  }
}

/* SqlClient's public clear ends the pool and fails them: here they stay. */
Test(edges, a_clear_leaves_those_who_wait_in_line, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_NEVER);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).waiters, 2);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(session_of(caller[0].lease), 2);
    PRESET_RELEASE(caller[0].lease);
    lease = take_one(&f, queue, 7, WEIR_OK).lease;
    cr_assert_eq(session_of(lease), 2);
    fixture_close(&f);
  }
}

/* V2 stamps a connection when it is open: it survives such a clear. */
Test(edges, a_connect_that_began_before_a_clear_serves_nobody, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1;Mock Script Text='connect 1: hang'");
    line_up(0, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    end_connect();
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(session_of(caller[0].lease), 2);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

/* -------------------------------------------------------------- what is broken */

Test(edges,
     one_that_breaks_in_use_is_closed_and_another_serves_who_waits,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_NEVER);
    cr_assert_eq(fixture_run(&f, lease, "kill"), WEIR_E_FAIL);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(session_of(caller[0].lease), 2);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

Test(edges, one_that_breaks_below_the_minimum_is_filled_up, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1");
    AWAIT_STAT(pool, idle, 1);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "kill"), WEIR_E_FAIL);
    PRESET_RELEASE(lease);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

/* The next that is idle is tried, before any connect. */
Test(edges, dead_idle_ones_are_passed_over, .timeout = 10) {
  EACH_PRESET(i) {
    open_three(i, "Mock Idle Watch=false");
    /* The two that are first in turn. */
    cr_assert_eq(f.mock->kill_session(f.drv, i == LEGACY ? 3 : 1), 1);
    cr_assert_eq(f.mock->kill_session(f.drv, 2), 1);
    fixture_advance(&f, S);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(session_of(lease), i == LEGACY ? 1 : 3);
    cr_assert_eq(begun(), 3);
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}

/* SqlClient finds it when it would hand it out; here its end is news. */
Test(edges, one_that_dies_idle_is_closed_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    open_three(i, "Min Pool Size=3;Max Pool Size=3");
    cr_assert_eq(f.mock->kill_session(f.drv, 2), 1);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 4);
    AWAIT_STAT(pool, idle, 3); /* filled up again */
    cr_assert_eq(fixture_stats(pool).closed, 1);
    fixture_close(&f);
  }
}

/* Nobody looks within 5 ms of the last use, and everybody does behind them. */
Test(edges, health_is_looked_at_after_5_ms, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    fixture_advance(&f, 5 * (uint64_t)FIXTURE_MS - 1);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 0);
    fixture_advance(&f, 6 * (uint64_t)FIXTURE_MS);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 1);
    fixture_close(&f);
  }
}

/* ------------------------------------------------------- in a blocking period */

#define DOWN_AFTER_1                             \
  "Mock Script Text=\"connect 2: fail endpoint " \
  "network 'nobody home'\""

Test(edges, what_is_idle_is_handed_out_in_a_blocking_period, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, DOWN_AFTER_1);
    weir_h queue = queue_of(&f, 1);
    weir_h good = fixture_acquire(&f, pool);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
    cr_assert_neq(fixture_stats(pool).blocked_ns, 0);
    for (unsigned k = 0; k < 3; k++) {
      PRESET_RELEASE(good);
      good = fixture_acquire(&f, pool);
    }
    PRESET_RELEASE(good);
    cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &lease,
                                     NULL, &f.err),
                 WEIR_OK);
    cr_assert_eq(begun(), 2);
    cr_assert_neq(fixture_stats(pool).blocked_ns, 0);
    fixture_close(&f);
  }
}

Test(edges, who_submits_in_a_blocking_period_fails_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    weir_h op = 0;
    open_pool(i, DOWN_AFTER_1);
    weir_h queue = queue_of(&f, 1);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
    int rc = weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &lease,
                                 &op, &f.err);
    if (rc == WEIR_PENDING) {
      (void)take_one(&f, queue, 7, WEIR_E_FAIL);
    } else {
      cr_assert_eq(rc, WEIR_E_FAIL);
    }
    cr_assert_not_null(strstr(f.err.message, "nobody home"), "%s",
                       f.err.message);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

/* Session Init belongs to the connect: V2's activation, which begins none, does not. */
Test(edges, a_session_that_cannot_be_set_up_begins_a_period, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Session Init='fail 102'");
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).blocked_ns, 5 * S);
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 0);
    fixture_close(&f);
  }
}

/* SqlClient counts a new soft connect and an end of one. */
Test(edges, a_replacement_is_no_new_lease, .timeout = 10) {
  EACH_PRESET(i) {
    struct weir_counters c = {.struct_size = sizeof c};
    open_pool(i, "Probe Window=1 h;"
                 "Mock Script Text='reset 1: fail conn network'");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
    PRESET_RELEASE(lease);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(weir_pool_counters(pool, &c), WEIR_OK);
    cr_assert_eq(c.hard_connects, 2);
    cr_assert_eq(c.hard_disconnects, 1);
    cr_assert_eq(c.soft_connects, 2);
    cr_assert_eq(c.soft_disconnects, 1);
    cr_assert_eq(c.number_of_pooled_connections, 1);
    cr_assert_eq(c.number_of_active_connections, 1);
    fixture_close(&f);
  }
}

/* ------------------------------------------------------------- without a pool */

/* Pooling=false is no pool in SqlClient: nobody waits for another's connect, and
 * nobody is told of another's failure. */
Test(edges, without_pooling_each_opens_for_itself, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Pooling=false;Mock Script Text='connect: hang'");
    weir_h queue = queue_of(&f, 2);
    line_up(0, WEIR_TIMEOUT_NEVER);
    line_up(1, WEIR_TIMEOUT_NEVER);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    AWAIT_COUNT(&f, hung, 4);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 4);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    (void)take_one(&f, queue, 7, WEIR_OK);
    (void)take_one(&f, queue, 7, WEIR_OK);
    fixture_close(&f);
  }
}

Test(edges, without_pooling_there_is_no_blocking_period, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Pooling=false;Mock Script Text=\"connect 1-2: fail endpoint "
                 "network 'nobody home'\"");
    for (unsigned k = 1; k <= 2; k++) {
      cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
      cr_assert_eq(fixture_stats(pool).blocked_ns, 0);
      cr_assert_eq(begun(), k);
    }
    PRESET_RELEASE(fixture_acquire(&f, pool));
    fixture_close(&f);
  }
}

/* ------------------------------------------------------------------- defaults */

/* What SqlClient 7.1 does when its connection string says nothing: said outright it
 * is the same pool. */
Test(edges, their_defaults_are_those_of_sqlclient_7_1, .timeout = 10) {
  static const char said[] =
      "Pooling=true;Min Pool Size=0;Max Pool Size=100;Load Balance Timeout=0;"
      "Connection Idle Timeout=300;Pool Blocking Period=auto;Enlist=true;"
      "Transaction Binding=Implicit Unbind;Connection Reset=true;"
      "Idle Expiry=sqlclient;Connect Timeout Scope=per-phase;"
      "Probe Window=5 ms;Lifetime Jitter=0;Max Uses=0;Min Idle=0;"
      "Max Waiters=0;Queue Policy=fifo;Keepalive Interval=0;"
      "Max Concurrent Connects=0;Connect Rate=0;Endpoint Max Connections=0;";
  static const char *const policies[PRESETS] = {
      "Pool Idle Order=fifo;Pool Growth=parallel;Pool Handoff=queued;"
      "Pool Trim=median;Pool Failure=one;Pool Async=queue",
      "Pool Idle Order=lifo;Pool Growth=serial;Pool Handoff=barging;"
      "Pool Trim=sweep;Pool Failure=all;Pool Async=dispatcher"};
  EACH_PRESET(i) {
    open_pool(i, "");
    weir_h same = fixture_pool(&f, "Pool Strategy=%s;%s%s", preset_names[i],
                               said, policies[i]);
    cr_assert_eq(same, pool, "%s", preset_names[i]);
    fixture_close(&f);
  }
}

/* Connect Timeout, which is no part of the key. */
Test(edges, a_wait_is_15_s_unless_said_otherwise, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    (void)fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_POOL);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    uint64_t from = virtual_clock_now();
    fixture_advance(&f, 15 * S - 1);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    fixture_advance(&f, 1);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_E_TIMEOUT);
    cr_assert_eq(caller[0].ended - from, 15 * S);
    fixture_close(&f);
  }
}

/* A minimum above the maximum is refused with words of its own. */
Test(edges, a_minimum_above_the_maximum_is_refused, .timeout = 10) {
  fixture_open_virtual(&f);
  EACH_PRESET(i) {
    char text[128];
    weir_h h = 0;
    int n = snprintf(text, sizeof text,
                     "Driver=mock;Pool Strategy=%s;Min Pool Size=6;"
                     "Max Pool Size=5",
                     preset_names[i]);
    cr_assert_eq(weir_pool_open(f.engine, text, (uint64_t)n, &h, &f.err),
                 WEIR_E_ARG);
    cr_assert_not_null(strstr(f.err.message, "Min Pool Size"), "%s",
                       f.err.message);
    cr_assert_not_null(strstr(f.err.message, "Max Pool Size"), "%s",
                       f.err.message);
  }
  fixture_close(&f);
}
