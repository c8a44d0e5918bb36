/* SPDX-License-Identifier: MIT */
/* What a time-out says of its pool, in virtual time: every number is exact. */
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S FIXTURE_S

static struct fixture f;
static weir_h pool;

static void says(const struct weir_error *err, const char *text) {
  cr_assert_eq(err->code, WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(err->message, text), "\"%s\" is not in: %s", text,
                     err->message);
}

static void is_silent_about(const struct weir_error *err, const char *text) {
  cr_assert_null(strstr(err->message, text), "\"%s\" is in: %s", text,
                 err->message);
}

static void ends_with(const struct weir_error *err, const char *text) {
  size_t len = strlen(err->message);
  size_t end = strlen(text);
  cr_assert_geq(len, end);
  cr_assert_str_eq(err->message + len - end, text);
}

static void wait_for(unsigned waiters) {
  AWAIT_STAT(pool, waiters, waiters);
  cr_assert_eq(virtual_clock_wait_parked(waiters), 0);
}

static void pass(int64_t ns) {
  fixture_advance(&f, (uint64_t)ns);
}

/* One that must time out after `ns`. */
static struct acquirer late(int64_t ns) {
  struct acquirer a;
  acquirer_start(&a, pool, ns);
  wait_for(1);
  pass(ns);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  return a;
}

/* ---------------------------------------------------------- who holds what */

#define HOLDERS 10u
#define NESTED  50u

struct nested {
  pthread_t thread;
  weir_h first;
  struct weir_error err;
};

static pthread_barrier_t all_held;
static pthread_barrier_t all_failed;

/* Two connections at a time, where no thread gets more than one. */
static void *nest(void *arg) {
  struct nested *n = arg;
  weir_h second = 0;
  n->err.struct_size = sizeof n->err;
  if (weir_acquire(pool, 2 * S, &n->first, &n->err) == WEIR_OK) {
    (void)pthread_barrier_wait(&all_held);
    (void)weir_acquire(pool, 2 * S, &second, &n->err);
  }
  (void)pthread_barrier_wait(&all_failed);
  if (n->first != 0) {
    (void)weir_release(n->first);
  }
  return NULL;
}

Test(explain, scenario_033_nested_acquire_is_explained, .timeout = 10) {
  static struct nested threads[NESTED];
  unsigned holders = 0;
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=10");
  cr_assert_eq(pthread_barrier_init(&all_held, NULL, HOLDERS), 0);
  cr_assert_eq(pthread_barrier_init(&all_failed, NULL, NESTED), 0);
  for (unsigned i = 0; i < NESTED; i++) {
    cr_assert_eq(pthread_create(&threads[i].thread, NULL, nest, &threads[i]),
                 0);
  }
  wait_for(NESTED);
  pass(2 * S);
  for (unsigned i = 0; i < NESTED; i++) {
    cr_assert_eq(pthread_join(threads[i].thread, NULL), 0);
    const struct weir_error *err = &threads[i].err;
    holders += threads[i].first != 0;
    says(err, "timed out after 2.00 s waiting for a connection: Max Pool Size "
              "10, 10 leased (the oldest for 2.00 s, the youngest for 2.00 s), "
              "0 connecting, 0 idle, 0 closing, ");
    says(err, " other caller");
    ends_with(err, "; no connection has come back for long: does a caller wait "
                   "for a second one while it holds one?");
  }
  cr_assert_eq(holders, HOLDERS);
  (void)pthread_barrier_destroy(&all_held);
  (void)pthread_barrier_destroy(&all_failed);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 10);
  fixture_close(&f);
}

Test(explain, tells_for_how_long_each_lease_is_out, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h first = fixture_acquire(&f, pool);
  pass(3 * S);
  weir_h second = fixture_acquire(&f, pool);
  pass(3 * S);
  struct acquirer a = late(2 * S);
  says(&a.err, "2 leased (the oldest for 8.00 s, the youngest for 5.00 s)");
  /* Given back and taken again, from idle or from hand to hand: from the start. */
  cr_assert_eq(weir_release(first), WEIR_OK);
  pass(7 * S);
  first = fixture_acquire(&f, pool);
  struct acquirer heir;
  acquirer_start(&heir, pool, WEIR_TIMEOUT_NEVER);
  wait_for(1);
  cr_assert_eq(weir_release(second), WEIR_OK);
  cr_assert_eq(acquirer_join(&heir), WEIR_OK);
  pass(S);
  a = late(4 * S);
  says(&a.err, "2 leased (the oldest for 5.00 s, the youngest for 5.00 s)");
  cr_assert_eq(weir_discard(first), WEIR_OK);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(weir_pool_resize(pool, 0, 1, &f.err), WEIR_OK);
  a = late(S);
  says(&a.err, "Max Pool Size 1, 1 leased (for 6.00 s), 0 connecting");
  fixture_close(&f);
}

Test(explain, tells_who_was_in_front, .timeout = 5) {
  struct acquirer a[3];
  fixture_open_virtual(&f);
  (void)fixture_single(&f, "", &pool);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&a[i], pool, (3 - (int64_t)i) * S);
    wait_for(i + 1);
  }
  for (unsigned i = 3; i-- > 0;) {
    pass(S);
    cr_assert_eq(acquirer_join(&a[i]), WEIR_E_TIMEOUT);
  }
  says(&a[2].err, "2 other callers waiting, 2 of them longer; ");
  says(&a[1].err, "1 other caller waiting, 1 of them longer; ");
  says(&a[0].err, "0 other callers waiting; ");
  fixture_close(&f);
}

Test(explain, counts_not_beyond_a_hundred_in_front, .timeout = 5) {
  fixture_open_virtual(&f);
  (void)fixture_single(&f, "", &pool);
  weir_h queue = queue_of(&f, 151);
  for (unsigned i = 0; i < 150; i++) {
    (void)submit_waiting(&f, pool, 60 * S, queue, i);
  }
  (void)submit_waiting(&f, pool, S, queue, 150);
  fixture_sync(&f);
  pass(S);
  (void)take_one(&f, queue, 150, WEIR_E_TIMEOUT);
  says(&f.err, "150 other callers waiting, 100 or more of them longer; ");
  fixture_close(&f);
}

Test(explain, says_the_same_to_submitted_ones, .timeout = 5) {
  fixture_open_virtual(&f);
  (void)fixture_single(&f, "", &pool);
  weir_h queue = queue_of(&f, 1);
  struct acquirer a = late(2 * S);
  (void)submit_waiting(&f, pool, 2 * S, queue, 1);
  fixture_sync(&f);
  pass(2 * S);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  says(&f.err, "1 leased (for 4.00 s)");
  says(&a.err, "1 leased (for 2.00 s)");
  memcpy(strstr(a.err.message, "for 2.00 s)"), "for 4.00 s)", 11);
  cr_assert_str_eq(f.err.message, a.err.message);
  cr_assert_eq(f.err.kind, WEIR_KIND_TIMEOUT);
  cr_assert_eq(f.err.phase, WEIR_PHASE_QUEUE);
  fixture_close(&f);
}

/* --------------------------------------------------- what is wrong elsewhere */

static void fail_a_connect(void) {
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, S, &lease, &f.err), WEIR_E_FAIL);
}

Test(explain, tells_the_last_connect_error_and_its_age, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=1;Password=hunter2;Mock Script Text="
                          "\"connect 1: fail conn network 'no such port'\"");
  fail_a_connect();
  pass(3 * S);
  (void)fixture_acquire(&f, pool);
  struct acquirer a = late(2 * S);
  says(&a.err, "; the last connect failed 5.00 s ago: no such port; release ");
  is_silent_about(&a.err, "hunter2");
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, 0, &lease, &a.err), WEIR_E_TIMEOUT);
  says(&a.err, "; the last connect failed 5.00 s ago: no such port)");
  fixture_close(&f);
}

/* Waiters stay in line while the server is down, and learn why it took so long. */
Test(explain, tells_that_the_server_is_down, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Mock Script Text="
                          "\"connect every: fail endpoint network 'refused'\"");
  struct acquirer a = late(500 * FIXTURE_MS);
  says(&a.err, "Max Pool Size 2, 0 leased, 0 connecting, ");
  says(&a.err, "; the server is down and left alone until a probe; the last "
               "connect failed 0.50 s ago: ");
  says(&a.err, "refused");
  ends_with(&a.err, "; is the server reachable and answering?");
  fixture_close(&f);
}

/* Another pool of the server has found out; this one has never tried. */
Test(explain, tells_why_a_server_is_down_that_others_have_tried, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Database=a;Mock Script Text="
                          "\"connect: fail endpoint network 'refused'\"");
  (void)late(100 * FIXTURE_MS);
  pool = fixture_pool(&f, "Database=b;Max Pool Size=2");
  struct acquirer a = late(500 * FIXTURE_MS);
  says(&a.err, "; the server is down and left alone until a probe; the last "
               "connect failed: refused");
  ends_with(&a.err, "; is the server reachable and answering?");
  fixture_close(&f);
}

/* Nothing but the words of others is cut. */
Test(explain, cuts_the_last_connect_error_first, .timeout = 5) {
  char words[801];
  memset(words, 'x', 800);
  words[800] = '\0';
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Max Pool Size=1;Mock Script Text="
                      "\"connect 1: fail conn network '%s'\"",
                      words);
  fail_a_connect();
  cr_assert_not_null(strstr(f.err.message, words));
  (void)fixture_acquire(&f, pool);
  struct acquirer a = late(2 * S);
  says(&a.err, "; the last connect failed 2.00 s ago: xxxxxxxxxx");
  cr_assert_eq(strlen(a.err.message), sizeof a.err.message - 1);
  cr_assert_eq(a.err.message_len, sizeof a.err.message - 1);
  ends_with(&a.err,
            "xxx; release connections sooner, or raise Max Pool Size or "
            "the time-out");
  fixture_close(&f);
}

static int drain_for_ever(weir_h handle) {
  return weir_pool_drain(handle, WEIR_TIMEOUT_NEVER, NULL);
}

Test(explain, tells_of_a_pause_and_of_a_drain, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=3");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  struct acquirer a = late(S);
  says(&a.err, "Max Pool Size 3, 1 leased");
  ends_with(&a.err, "; the pool is paused: weir_pool_resume() ends that");
  struct doing drain;
  struct acquirer other;
  acquirer_start(&other, pool, 2 * S);
  wait_for(1);
  doing_start(&drain, drain_for_ever, pool);
  AWAIT_STAT(pool, state, WEIR_POOL_DRAINING);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  pass(2 * S);
  cr_assert_eq(acquirer_join(&other), WEIR_E_TIMEOUT);
  says(&other.err, "; the pool is draining: ");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(doing_join(&drain), WEIR_OK);
  fixture_close(&f);
}

Test(explain, tells_the_phase_of_a_connect_and_the_pool, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Password=hunter2;Mock Script Text="
                          "\"connect 2: hang\"");
  (void)fixture_acquire(&f, pool);
  struct acquirer a;
  acquirer_start(&a, pool, 2 * S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  pass(2 * S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  says(&a.err, "timed out after 2.00 s while opening a connection, in phase ");
  says(&a.err,
       ": Max Pool Size 2, 1 leased (for 2.00 s), 1 connecting, 0 idle, "
       "0 closing; is the server reachable and answering?");
  is_silent_about(&a.err, "hunter2");
  fixture_close(&f);
}
