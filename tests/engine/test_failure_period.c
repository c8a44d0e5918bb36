/* SPDX-License-Identifier: MIT */
/* What Pool Failure=all and one have in common: whether there is a period, what ends
 * it, Min Pool Size, the endpoint, the start of a pool. */
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

#define S     ((uint64_t)FIXTURE_S)
#define DOWN  "fail endpoint network 'nobody home'"
#define WRONG "fail config auth 'wrong password'"

static struct fixture f;
static weir_h pool;
static struct acquirer many[4];

static const char *const both[] = {"all", "one"};
#define EACH_POLICY(p) \
  for (const char *const *p = both; p < both + 2; fixture_close(&f), p++)

static void open_with(const char *policy,
                      const char *script,
                      const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(
      &f, "Max Pool Size=4;Pool Failure=%s;Mock Script Text=\"%s\";%s", policy,
      script, settings);
}

static int acquire_of(weir_h of) {
  weir_h lease = 0;
  int rc = weir_acquire(of, FIXTURE_S, &lease, &f.err);
  return rc != WEIR_OK ? rc : weir_release(lease);
}

static int acquire(void) {
  return acquire_of(pool);
}

static uint64_t connects(void) {
  return fixture_counts(&f).calls[MOCK_CONNECT];
}

static uint64_t blocked(void) {
  return fixture_stats(pool).blocked_ns;
}

/* ------------------------------------------------------------ whether at all */

static const struct {
  const char *settings;
  bool blocks;
} whether[] = {
    {"", true},
    {"Pool Blocking Period=auto", true},
    {"Pool Blocking Period=auto;Mock Cloud=true", false},
    {"Pool Blocking Period=always;Mock Cloud=true", true},
    {"Pool Blocking Period=never", false},
};

Test(period, is_there_unless_the_server_is_a_cloud_host, .timeout = 20) {
  for (size_t i = 0; i < sizeof whether / sizeof whether[0]; i++) {
    EACH_POLICY(p) {
      open_with(*p, "connect 1: " DOWN, whether[i].settings);
      cr_assert_eq(acquire(), WEIR_E_FAIL);
      cr_assert_eq(blocked() != 0, whether[i].blocks, "%s",
                   whether[i].settings);
      cr_assert_eq(acquire(), whether[i].blocks ? WEIR_E_FAIL : WEIR_OK);
    }
  }
}

/* Pool Blocking Period=never: nobody is told of another's failure, and each connect
 * is tried. */
Test(period, never_leaves_each_caller_its_own_error, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 1: hang, " DOWN "; connect 2: " DOWN,
              "Pool Blocking Period=never;Max Concurrent Connects=1");
    for (unsigned i = 0; i < 3; i++) {
      acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
      AWAIT_STAT(pool, waiters, i + 1);
    }
    AWAIT_COUNT(&f, hung, 1);
    (void)f.mock->release_hung(f.drv, 0);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
    cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
    cr_assert_eq(many[1].err.retry_after_ms, 0);
    cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
    cr_assert_eq(connects(), 3);
  }
}

/* --------------------------------------------------------------- what ends it */

static void has_ended(void) {
  cr_assert_eq(blocked(), 0);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(blocked(), 5 * S); /* the next one is a first one */
  cr_assert_eq(connects(), 3);
}

/* The second of its failures, so that the next period would be of 20 s. */
static void open_blocked(const char *policy) {
  open_with(policy, "connect: " DOWN, "");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  fixture_advance(&f, 5 * S);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(blocked(), 10 * S);
}

Test(period, ends_with_a_clear, .timeout = 20) {
  EACH_POLICY(p) {
    open_blocked(*p);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    has_ended();
  }
}

Test(period, ends_with_a_change_of_settings, .timeout = 20) {
  EACH_POLICY(p) {
    open_blocked(*p);
    cr_assert_eq(weir_pool_reconfigure(pool, "Connect Timeout=9", 17, &f.err),
                 WEIR_OK, "%s", f.err.message);
    has_ended();
  }
}

Test(period, ends_for_those_in_line_with_a_clear, .timeout = 20) {
  open_with("one", "connect 1: " DOWN, "");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  fixture_close(&f);
}

/* A connect that was under way when another failed. */
Test(period, ends_with_a_success_that_began_before, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 1: hang; connect 2: " DOWN, "Pool Growth=parallel");
    acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(blocked(), 5 * S);
    (void)f.mock->release_hung(f.drv, 0);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
    cr_assert_eq(blocked(), 0);
    cr_assert_eq(acquire(), WEIR_OK);
  }
}

/* Connects that began together and fail one after the other: one period. */
Test(period, is_one_for_connects_that_fail_together, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 1-3: hang, " DOWN, "Pool Growth=parallel");
    for (unsigned i = 0; i < 3; i++) {
      acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
      AWAIT_STAT(pool, waiters, i + 1);
    }
    AWAIT_COUNT(&f, hung, 3);
    (void)f.mock->release_hung(f.drv, 0);
    for (unsigned i = 0; i < 3; i++) {
      cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    }
    cr_assert_eq(blocked(), 5 * S);
  }
}

/* -------------------------------------------------------------- new secrets */

static weir_h credential;

static weir_h bearer_pool(const char *policy, const char *database) {
  return fixture_pool(&f,
                      "Mock Bearer=true;User ID=me;Credential=%" PRIu64
                      ";Pool Failure=%s;Database=%s;Max Pool Size=2;"
                      "Mock Script Text=\"connect: token 'good'\"",
                      credential, policy, database);
}

/* An acquire of a thread's, whose connect is given that token. */
static int acquire_with(weir_h of, const char *token) {
  struct acquirer a;
  struct weir_credential_request r = {.struct_size = sizeof r};
  acquirer_start(&a, of, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_credential_next(credential, 5 * FIXTURE_S, &r, &f.err),
               WEIR_OK);
  cr_assert_eq(
      weir_credential_answer(r.request, token, strlen(token), 0, &f.err),
      WEIR_OK);
  return acquirer_join(&a);
}

/* Another pool of the credential hears of the new token first. */
Test(period, ends_when_the_credential_gives_another_secret, .timeout = 20) {
  static const char *const policies[] = {"all", "one", "breaker"};
  for (unsigned i = 0; i < 3; i++) {
    fixture_open_virtual(&f);
    cr_assert_eq(weir_credential_open(f.engine, &credential, &f.err), WEIR_OK);
    pool = bearer_pool(policies[i], "a");
    weir_h other = bearer_pool(policies[i], "b");
    cr_assert_eq(acquire_with(pool, "bad"), WEIR_E_FAIL);
    cr_assert_neq(blocked(), 0);
    cr_assert_eq(acquire_with(other, "bad"), WEIR_E_FAIL);
    cr_assert_eq(acquire(), WEIR_E_FAIL); /* the same as before: no news */
    cr_assert_eq(connects(), 2);
    cr_assert_eq(weir_pool_clear(other), WEIR_OK);
    cr_assert_eq(acquire_with(other, "good"), WEIR_OK);
    cr_assert_eq(acquire_with(pool, "good"), WEIR_OK, "%s", policies[i]);
    cr_assert_eq(blocked(), 0);
    fixture_close(&f);
  }
}

/* A server that is down is not helped by a token. */
Test(period, stays_for_other_failures_when_a_secret_changes, .timeout = 20) {
  EACH_POLICY(p) {
    fixture_open_virtual(&f);
    cr_assert_eq(weir_credential_open(f.engine, &credential, &f.err), WEIR_OK);
    pool =
        fixture_pool(&f,
                     "Mock Bearer=true;User ID=me;Credential=%" PRIu64
                     ";Pool Failure=%s;Mock Script Text=\"connect: " DOWN "\"",
                     credential, *p);
    weir_h other = bearer_pool(*p, "b");
    cr_assert_eq(acquire_with(other, "first"), WEIR_E_FAIL);
    cr_assert_eq(acquire_with(pool, "first"), WEIR_E_FAIL);
    cr_assert_eq(weir_pool_clear(other), WEIR_OK);
    cr_assert_eq(acquire_with(other, "good"), WEIR_OK);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(blocked(), 5 * S);
  }
}

/* ------------------------------------------------------------ Min Pool Size */

Test(period, holds_up_the_minimum_until_it_is_over, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 2-3: " DOWN, "");
    cr_assert_eq(acquire(), WEIR_OK);
    fixture_sync(&f);
    cr_assert_eq(weir_pool_resize(pool, 2, 4, &f.err), WEIR_OK);
    AWAIT_STAT(pool, connects_failed, 1);
    fixture_sync(&f);
    uint64_t left = blocked();
    cr_assert_gt(left, 0);
    fixture_advance(&f, left - 1);
    cr_assert_eq(connects(), 2);
    fixture_advance(&f, 1);
    AWAIT_STAT(pool, connects_failed, 2);
    fixture_sync(&f);
    fixture_advance(&f, 10 * S - 1);
    cr_assert_eq(connects(), 3);
    fixture_advance(&f, 1);
    AWAIT_STAT(pool, idle, 2);
    cr_assert_eq(blocked(), 0);
  }
}

/* A wrong password is asked again by callers, once a period; not by ourselves. */
Test(period, does_not_fill_after_a_wrong_password, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 2: " WRONG, "");
    cr_assert_eq(acquire(), WEIR_OK);
    fixture_sync(&f);
    cr_assert_eq(weir_pool_resize(pool, 2, 4, &f.err), WEIR_OK);
    AWAIT_STAT(pool, connects_failed, 1);
    weir_h held = fixture_acquire(&f, pool);
    fixture_sync(&f);
    fixture_advance(&f, 3600 * S);
    fixture_sync(&f);
    cr_assert_eq(connects(), 2);
    cr_assert_eq(acquire(), WEIR_OK);
    cr_assert_eq(weir_release(held), WEIR_OK);
  }
}

Test(period, is_the_same_after_a_wrong_password, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect: " WRONG, "");
    for (unsigned i = 0; i < 10; i++) {
      cr_assert_eq(acquire(), WEIR_E_FAIL);
      cr_assert_eq(f.err.kind, WEIR_KIND_AUTH);
    }
    cr_assert_eq(connects(), 1);
    cr_assert_eq(blocked(), 5 * S);
  }
}

/* ------------------------------------------------------------- the endpoint */

/* Neither asks the breaker nor tells it; the last error of another's pool is not
 * the breaker's. */
Test(period, is_no_business_of_the_breaker, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 1: " DOWN, "");
    weir_h direct = fixture_pool(&f, "Mock Script Text=\"connect: " DOWN
                                     "\";Pool Blocking Period=always");
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(direct).breaker, WEIR_BREAKER_CLOSED);
    cr_assert_eq(acquire_of(direct), WEIR_E_FAIL);
    cr_assert_eq(acquire_of(direct), WEIR_E_DOWN);
    cr_assert_eq(fixture_stats(direct).breaker, WEIR_BREAKER_OPEN);
    weir_h another = fixture_pool(&f, "Pool Failure=%s;Database=b", *p);
    cr_assert_eq(acquire_of(another), WEIR_OK);
    cr_assert_eq(fixture_stats(direct).breaker, WEIR_BREAKER_OPEN);
  }
}

/* The budget is for all. */
Test(period, takes_part_in_the_budget, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 2: fail endpoint throttled 'too many'",
              "Endpoint Max Connections=2");
    weir_h direct = fixture_pool(&f, "Endpoint Max Connections=2");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_stats(direct).effective_max, 1);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(blocked(), 5 * S);
    AWAIT_STAT(pool, closing, 0);
    /* The server bears one less than was tried. */
    cr_assert_eq(fixture_stats(pool).effective_max, 1);
    cr_assert_eq(fixture_stats(direct).effective_max, 0);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
}

/* Clear On Failover clears, and does not end the period that begins. */
Test(period, outlives_the_clear_of_a_wrong_role, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 2: fail conn failover 'read only'", "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).generation, 1);
    cr_assert_eq(blocked(), 5 * S);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
}

/* -------------------------------------------------------------- replacements */

/* A connection that dies under its user is not replaced while connects fail. */
Test(period, replaces_nothing_while_it_lasts, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "reset: fail conn network; connect 2: " DOWN, "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(connects(), 2);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
}

Test(period, begins_with_a_replacement_that_fails, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "reset: fail conn network; connect 2: " DOWN, "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(blocked(), 5 * S);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
}

/* ------------------------------------------------------- the start of a pool */

/* weir_pool_open() of a mock pool. */
static int open_required(const char *policy, weir_h *out_pool) {
  char text[512];
  int n = snprintf(text, sizeof text,
                   "Driver=mock;Mock Strict=true;Pool Failure=%s;"
                   "Startup=require;Mock Script Text=\"connect 1: " DOWN "\"",
                   policy);
  f.err.struct_size = sizeof f.err;
  return weir_pool_open(f.engine, text, (uint64_t)n, out_pool, &f.err);
}

Test(period, fails_a_pool_that_requires_a_start, .timeout = 20) {
  EACH_POLICY(p) {
    weir_h found = 0;
    fixture_open_virtual(&f);
    cr_assert_eq(open_required(*p, &found), WEIR_E_FAIL);
    cr_assert_not_null(strstr(f.err.message, "nobody home"));
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 1);
    /* That pool has gone, and with it its period. */
    cr_assert_eq(open_required(*p, &found), WEIR_E_FAIL);
    cr_assert_eq(f.err.retry_after_ms, 0);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
  }
}

struct readier {
  pthread_t thread;
  int rc;
  struct weir_error err;
};

static void *wait_ready(void *arg) {
  struct readier *r = arg;
  r->err.struct_size = sizeof r->err;
  r->rc = weir_pool_wait_ready(pool, 60 * FIXTURE_S, &r->err);
  return NULL;
}

/* It asks again when the server is. */
Test(period, is_waited_for_by_who_waits_until_all_is_ready, .timeout = 20) {
  EACH_POLICY(p) {
    struct readier r;
    open_with(*p, "connect 1: " DOWN, "");
    cr_assert_eq(pthread_create(&r.thread, NULL, wait_ready, &r), 0);
    AWAIT_STAT(pool, connects_failed, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_sync(&f);
    fixture_advance(&f, S); /* a pause of its own: refused again */
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, 4 * S);
    cr_assert_eq(pthread_join(r.thread, NULL), 0);
    cr_assert_eq(r.rc, WEIR_OK, "%s", r.err.message);
    cr_assert_eq(connects(), 2);
  }
}

Test(period, ends_the_wait_for_a_start_if_it_is_for_good, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect: " WRONG, "");
    f.err.struct_size = sizeof f.err;
    cr_assert_eq(weir_pool_wait_ready(pool, 60 * FIXTURE_S, &f.err),
                 WEIR_E_FAIL);
    cr_assert_eq(weir_pool_wait_ready(pool, 60 * FIXTURE_S, &f.err),
                 WEIR_E_FAIL);
    cr_assert_eq(connects(), 1);
  }
}

/* What a drain has cut off when its grace had passed is no failure of the server's. */
Test(period, does_not_begin_with_what_a_drain_cuts_off, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 2: hang", "");
    cr_assert_eq(acquire(), WEIR_OK);
    cr_assert_eq(weir_pool_resize(pool, 2, 4, &f.err), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_pool_drain(pool, 0, &f.err), WEIR_OK);
    AWAIT_STAT(pool, connecting, 0);
    fixture_sync(&f);
    cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
    cr_assert_eq(blocked(), 0);
    cr_assert_eq(acquire(), WEIR_OK);
  }
}

/* ---------------------------------------------------------- a probe that ends */

/* Its caller leaves it: the reactor drives it on, and it is the probe still. */
Test(period, has_one_probe_whoever_drives_it, .timeout = 20) {
  EACH_POLICY(p) {
    open_with(*p, "connect 1: " DOWN "; connect 2: hang", "");
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    fixture_advance(&f, 5 * S);
    acquirer_start(&many[0], pool, FIXTURE_S);
    AWAIT_COUNT(&f, hung, 1);
    acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 2);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, S);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
    fixture_sync(&f);
    fixture_advance(&f, S);
    cr_assert_eq(connects(), 2);
    (void)f.mock->release_hung(f.drv, 0);
    cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
    cr_assert_eq(blocked(), 0);
  }
}

/* A probe of the reactor's that is not begun after all, because the pool was paused,
 * is another's to make. */
Test(period, is_probed_by_another_when_a_probe_is_not_begun, .timeout = 20) {
  EACH_POLICY(p) {
    struct weir_completion c = {.struct_size = sizeof c};
    weir_h queue = 0;
    weir_h op = 0;
    weir_h lease = 0;
    fixture_open_foreign_virtual(&f);
    pool = fixture_pool(
        &f, "Pool Failure=%s;Mock Script Text=\"connect 1: " DOWN "\"", *p);
    cr_assert_eq(acquire(), WEIR_E_FAIL);
    cr_assert_eq(weir_queue_open(f.engine, 4, &queue, &f.err), WEIR_OK);
    fixture_sync(&f);
    fixture_advance(&f, 5 * S);
    /* Nobody runs the loop: the place is taken, and its connect not begun. */
    cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 1, &lease,
                                     &op, &f.err),
                 WEIR_PENDING);
    cr_assert_eq(fixture_stats(pool).connecting, 1);
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    cr_assert_eq(weir_queue_take(queue, 0, &c, &f.err), WEIR_OK);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connecting, 0);
    cr_assert_eq(connects(), 1);
    cr_assert_eq(acquire(), WEIR_OK);
  }
}
