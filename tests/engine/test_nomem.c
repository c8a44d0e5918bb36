/* SPDX-License-Identifier: MIT */
/* Every allocation fails once, through a whole life of an engine: no crash, no
 * leak (AddressSanitizer looks), and the next life is as good as ever. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers_dir.h"
#include "failing_alloc.h"
#include "fixture.h"
#include "virtual_clock.h"

static struct fixture f;
static const char *strategy = "direct";

static bool expected(int rc) {
  return rc == WEIR_OK || rc == WEIR_E_NOMEM || rc == WEIR_E_FAIL ||
         rc == WEIR_E_TIMEOUT;
}

static int use_txn(struct fixture *own, weir_h lease) {
  int begun = weir_begin(lease, WEIR_ISO_SNAPSHOT, &own->err);
  cr_assert(expected(begun), "begin answered %d", begun);
  int saved = weir_save(lease, "a", 1, &own->err);
  cr_assert(expected(saved), "save answered %d", saved);
  int rc = weir_commit(lease, &own->err);
  cr_assert(expected(rc), "commit answered %d", rc);
  return begun == WEIR_OK && saved == WEIR_OK && rc == WEIR_OK;
}

static int use_params(struct fixture *own, weir_h lease) {
  struct weir_param p = {.struct_size = sizeof p,
                         .flags = WEIR_PARAM_OUT,
                         .type = WEIR_T_TEXT,
                         .p = "hush",
                         .n = 4};
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .flags = WEIR_EXEC_PREPARED,
                                .params = &p,
                                .n_params = 1};
  struct weir_item item = {.struct_size = sizeof item};
  int rc = weir_exec(lease, "count 1", 7, &opts, &own->err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, &own->err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_OUTPUT) {
      (void)weir_rows_free(item.rows);
    }
  }
  cr_assert(expected(rc), "parameters answered %d", rc);
  return rc == WEIR_OK;
}

struct supplier {
  weir_h credential;
  pthread_t thread;
};

/* Answers until the credential is closed. */
static void *supply(void *arg) {
  const struct supplier *s = arg;
  int rc;
  do {
    struct weir_credential_request r = {.struct_size = sizeof r};
    rc = weir_credential_next(s->credential, FIXTURE_S, &r, NULL);
    while (rc == WEIR_OK &&
           weir_credential_answer(r.request, "t", 1, 0, NULL) == WEIR_E_NOMEM) {
    }
  } while (rc == WEIR_OK || rc == WEIR_E_TIMEOUT || rc == WEIR_E_NOMEM);
  return NULL;
}

/* 1 if all went well. */
static int use_credential(weir_h engine) {
  char text[160];
  struct weir_error err = {.struct_size = sizeof err};
  struct supplier s = {.credential = 0};
  weir_h pool = 0;
  weir_h lease = 0;
  int rc = weir_credential_open(engine, &s.credential, &err);
  cr_assert(expected(rc), "credential answered %d", rc);
  if (rc != WEIR_OK) {
    return 0;
  }
  cr_assert_eq(pthread_create(&s.thread, NULL, supply, &s), 0);
  (void)snprintf(
      text, sizeof text,
      "Driver=mock;Mock Strict=true;Mock Bearer=true;Credential=%llu",
      (unsigned long long)s.credential);
  rc = weir_pool_open(engine, text, strlen(text), &pool, &err);
  cr_assert(expected(rc), "open answered %d", rc);
  if (rc == WEIR_OK) {
    rc = weir_acquire(pool, 5 * FIXTURE_S, &lease, &err);
    cr_assert(expected(rc), "acquire answered %d", rc);
    cr_assert_eq(rc == WEIR_OK ? weir_release(lease) : WEIR_OK, WEIR_OK);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  cr_assert_eq(weir_credential_close(s.credential), WEIR_OK);
  (void)pthread_join(s.thread, NULL);
  return rc == WEIR_OK;
}

/* 1 if all went well.  Whatever fails, what was opened is closed. */
static int use_pool(weir_h engine) {
  char text[256];
  (void)snprintf(text, sizeof text,
                 "Driver=mock;Mock Strict=true;Max Pool Size=2;Password=hush;"
                 "Pool Strategy=%s;Mock Script Text=\"exec 2: rows 2x2 1 'a' 2 "
                 "null, notice 1 1 'x'\"",
                 strategy);
  struct weir_error err = {.struct_size = sizeof err};
  struct fixture own = {.engine = engine, .err = {.struct_size = sizeof err}};
  weir_h pool = 0;
  weir_h lease = 0;
  int rc = weir_pool_open(engine, text, strlen(text), &pool, &err);
  cr_assert(expected(rc), "open answered %d", rc);
  if (rc != WEIR_OK) {
    return 0;
  }
  rc = weir_acquire(pool, 5 * FIXTURE_S, &lease, &err);
  cr_assert(expected(rc), "acquire answered %d", rc);
  int good = rc == WEIR_OK;
  if (good) {
    static const char *const sql[] = {"notice 1 1 hello; rows 3 3; count 2",
                                      "x", "set y"};
    for (unsigned i = 0; i < 3; i++) {
      rc = fixture_run(&own, lease, sql[i]);
      cr_assert(expected(rc), "%s answered %d", sql[i], rc);
      good = good && rc == WEIR_OK;
    }
    good = use_txn(&own, lease) && good;
    good = use_params(&own, lease) && good;
    /* In the middle of a result. */
    (void)fixture_exec(&own, lease, "rows 100000");
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
  /* Whatever failed above, the pool works once there is memory. */
  uint64_t failed = failing_alloc_failed();
  failing_alloc_at(0);
  if (failed != 0) {
    cr_assert_eq(weir_acquire(pool, 5 * FIXTURE_S, &lease, &own.err), WEIR_OK,
                 "%s", own.err.message);
    cr_assert_eq(fixture_run(&own, lease, "count 1"), WEIR_OK, "%s",
                 own.err.message);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    good = 0;
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  return good;
}

/* One completion, whatever fails; 1 if it is as expected. */
static int complete_one(weir_h queue, int status) {
  struct weir_completion c = {.struct_size = sizeof c};
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(weir_queue_take(queue, 5 * FIXTURE_S, &c, &err), WEIR_OK);
  cr_assert(expected(c.status) || c.status == status, "completed with %d",
            c.status);
  cr_assert(c.status == WEIR_OK || err.code == c.status);
  if (c.status == WEIR_OK) {
    cr_assert_eq(weir_release(c.lease), WEIR_OK);
  }
  return c.status == status;
}

static int use_submitted(weir_h pool, weir_h queue) {
  weir_h lease = 0;
  weir_h none = 0;
  weir_h op = 0;
  /* The first has the reactor open a connection. */
  int rc =
      weir_submit_acquire(pool, 5 * FIXTURE_S, queue, 1, &lease, &op, NULL);
  cr_assert(rc == WEIR_PENDING || expected(rc), "submit answered %d", rc);
  if (rc != WEIR_PENDING || !complete_one(queue, WEIR_OK)) {
    return 0;
  }
  rc = weir_acquire(pool, 5 * FIXTURE_S, &lease, NULL);
  cr_assert(expected(rc), "acquire answered %d", rc);
  if (rc != WEIR_OK) {
    return 0;
  }
  /* These wait for it, and end in three ways. */
  int good = 1;
  rc = weir_submit_acquire(pool, FIXTURE_MS, queue, 2, &none, NULL, NULL);
  good = good && rc == WEIR_PENDING && complete_one(queue, WEIR_E_TIMEOUT);
  rc = weir_submit_acquire(pool, 5 * FIXTURE_S, queue, 3, &none, &op, NULL);
  if (rc == WEIR_PENDING) {
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    good = complete_one(queue, WEIR_E_CANCELLED) && good;
  }
  rc = weir_submit_acquire(pool, 5 * FIXTURE_S, queue, 4, &none, NULL, NULL);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  return rc == WEIR_PENDING && complete_one(queue, WEIR_OK) && good;
}

/* 1 if all went well. */
static int use_queue(weir_h engine) {
  char text[128];
  (void)snprintf(text, sizeof text,
                 "Driver=mock;Mock Strict=true;Max Pool Size=1;Pool "
                 "Strategy=%s",
                 strategy);
  struct weir_error err = {.struct_size = sizeof err};
  weir_h queue = 0;
  weir_h pool = 0;
  int good = 0;
  int rc = weir_queue_open(engine, 100, &queue, &err);
  cr_assert(expected(rc), "queue answered %d", rc);
  if (rc != WEIR_OK) {
    return 0;
  }
  rc = weir_pool_open(engine, text, strlen(text), &pool, &err);
  cr_assert(expected(rc), "open answered %d", rc);
  if (rc == WEIR_OK) {
    good = use_submitted(pool, queue);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  return good;
}

static int use_engine(void) {
  char dirs[512];
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  weir_h engine = 0;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  int rc = weir_engine_open(&opts, &engine, &err);
  cr_assert(expected(rc), "engine answered %d", rc);
  if (rc != WEIR_OK) {
    return 0;
  }
  int good = use_credential(engine);
  good = use_queue(engine) && good;
  good = use_pool(engine) && good;
  cr_assert_eq(weir_engine_shutdown(engine, 5 * FIXTURE_S, &err), WEIR_OK, "%s",
               err.message);
  return good;
}

static void live_without(const char *which) {
  strategy = which;
  failing_alloc_install();
  unsigned failures = 0;
  int good = 0;
  for (uint64_t n = 1; n < 5000 && !good; n++) {
    failing_alloc_at(n);
    good = use_engine();
    failures += !good;
  }
  failing_alloc_at(0);
  cr_assert(good);
  cr_assert_gt(failures, 30);
  failing_alloc_restore();
}

Test(nomem, survives_every_failed_allocation_of_a_life, .timeout = 100) {
  live_without("direct");
}

Test(nomem, survives_every_one_of_a_life_of_legacy, .timeout = 100) {
  live_without("legacy");
}

Test(nomem, survives_every_one_of_a_life_of_channel, .timeout = 100) {
  live_without("channel");
}

/* From the nth on all fail: a memory shortage that lasts. */
Test(nomem, ends_in_good_order_when_all_memory_is_gone, .timeout = 100) {
  failing_alloc_install();
  for (uint64_t n = 1; n < 300; n++) {
    fixture_open(&f);
    weir_h pool = fixture_pool(&f, "Max Pool Size=2;Min Pool Size=1");
    weir_h lease = 0;
    struct weir_pool_stats s = fixture_stats(pool);
    (void)s;
    failing_alloc_from(n);
    int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
    cr_assert(expected(rc));
    if (rc == WEIR_OK) {
      rc = fixture_run(&f, lease, "rows 2 2");
      cr_assert(expected(rc));
      cr_assert_eq(weir_release(lease), WEIR_OK);
    }
    bool past = failing_alloc_failed() == 0;
    failing_alloc_at(0);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "rows 2 2"), WEIR_OK);
    fixture_close(&f);
    if (past) {
      break;
    }
  }
  failing_alloc_restore();
}

/* --------------------------------------- units, permits and places in line */

/* One statement that nobody waits for, to its completion. */
static void use_submit_exec(weir_h lease, weir_h queue) {
  struct weir_param p = {
      .struct_size = sizeof p, .type = WEIR_T_TEXT, .p = "hush", .n = 4};
  struct weir_exec_opts opts = {
      .struct_size = sizeof opts, .params = &p, .n_params = 1};
  struct weir_completion c = {.struct_size = sizeof c};
  int rc = weir_submit_exec(lease, "sleep 1us", 9, &opts, queue, 1, NULL, NULL);
  cr_assert(expected(rc) || rc == WEIR_PENDING, "submit answered %d", rc);
  if (rc == WEIR_PENDING) {
    cr_assert_eq(weir_queue_take(queue, 5 * FIXTURE_S, &c, NULL), WEIR_OK);
    cr_assert(expected(c.status), "completed with %d", c.status);
  }
}

/* A blocking and a submitted acquire, one of whose connects fails, changes of the
 * settings, and a lease that is thrown away. */
static void be_in_trouble(weir_h a, weir_h b, weir_h queue) {
  static const char more[] = "Max Concurrent Connects=3;Connect Rate=1000000";
  weir_h lease = 0;
  int rc = weir_acquire(a, FIXTURE_S, &lease, NULL);
  cr_assert(expected(rc), "acquire answered %d", rc);
  if (rc == WEIR_OK) {
    use_submit_exec(lease, queue);
    rc = weir_discard(lease);
    cr_assert(rc == WEIR_OK, "discard answered %d", rc);
  }
  rc = weir_pool_reconfigure(a, more, sizeof more - 1, NULL);
  cr_assert(expected(rc), "reconfigure answered %d", rc);
  rc = weir_submit_acquire(b, FIXTURE_S, queue, 2, &lease, NULL, NULL);
  cr_assert(expected(rc) || rc == WEIR_PENDING, "submit answered %d", rc);
  if (rc == WEIR_PENDING) {
    (void)complete_one(queue, WEIR_OK);
  } else if (rc == WEIR_OK) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
  rc = weir_pool_resize(b, 1, 2, NULL);
  cr_assert(expected(rc), "resize answered %d", rc);
  rc = weir_pool_wait_ready(b, FIXTURE_S, NULL);
  cr_assert(expected(rc), "wait_ready answered %d", rc);
}

/* With all of the budget there again, either pool gets all of it in turn. */
static void be_well(weir_h pool) {
  weir_h lease[2];
  for (unsigned i = 0; i < 2; i++) {
    f.err.struct_size = sizeof f.err;
    int rc = weir_acquire(pool, 20 * FIXTURE_S, &lease[i], &f.err);
    if (rc == WEIR_E_FAIL) { /* the one connect that fails */
      cr_assert_eq(weir_pool_clear(pool), WEIR_OK); /* and its period */
      rc = weir_acquire(pool, 20 * FIXTURE_S, &lease[i], &f.err);
    }
    cr_assert_eq(rc, WEIR_OK, "%s", f.err.message);
  }
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(weir_discard(lease[i]), WEIR_OK);
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
}

static void lose_nothing(const char *which) {
#define TROUBLE                                                           \
  "Endpoint Max Connections=2;Max Pool Size=2;Max Concurrent Connects=2;" \
  "Close Timeout=0;Mock Script Text=\"connect 2: fail conn network 'no'\";"
  bool past = false;
  uint64_t n = 1;
  failing_alloc_install();
  for (; n < 1000 && !past; n++) {
    weir_h queue = 0;
    fixture_open(&f);
    weir_h a = fixture_pool(&f, TROUBLE "Database=a;Pool Strategy=%s", which);
    weir_h b = fixture_pool(&f, TROUBLE "Database=b;Pool Strategy=%s", which);
    cr_assert_eq(weir_queue_open(f.engine, 4, &queue, NULL), WEIR_OK);
    failing_alloc_at(n);
    be_in_trouble(a, b, queue);
    past = failing_alloc_failed() == 0;
    failing_alloc_at(0);
    cr_assert_eq(weir_pool_clear(b), WEIR_OK);
    cr_assert_eq(weir_pool_resize(b, 0, 2, NULL), WEIR_OK);
    be_well(a);
    be_well(b);
    cr_assert_leq(fixture_counts(&f).sessions_max, 2);
    fixture_close(&f);
  }
  cr_assert(past);
  cr_assert_gt(n, 10);
  failing_alloc_restore();
}

Test(nomem, loses_no_unit_no_permit_and_no_waiter, .timeout = 100) {
  lose_nothing("direct");
}

Test(nomem, loses_none_under_legacy, .timeout = 100) {
  lose_nothing("legacy");
}

Test(nomem, loses_none_under_channel, .timeout = 100) {
  lose_nothing("channel");
}

/* ------------------------------------------ a shortage is not the server's fault */

static int acquire_without(weir_h pool, uint64_t n) {
  weir_h lease = 0;
  failing_alloc_at(n);
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  bool past = failing_alloc_failed() == 0;
  failing_alloc_at(0);
  cr_assert(rc == WEIR_OK || rc == WEIR_E_NOMEM || rc == WEIR_E_FAIL,
            "acquire answered %d: %s", rc, f.err.message);
  cr_assert(rc != WEIR_OK || weir_discard(lease) == WEIR_OK);
  return past;
}

/* No blocking period begins with it, nor does one go on because its probe found no
 * memory: whoever comes with memory opens. */
static void be_short(const char *failure) {
  bool past = false;
  for (uint64_t n = 1; n < 100 && !past; n++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(
        &f,
        "Pool Failure=%s;Mock Script Text=\"connect 1: fail endpoint network "
        "'no'\"",
        failure);
    weir_h lease = 0;
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, NULL), WEIR_E_FAIL);
    fixture_advance(&f, fixture_stats(pool).blocked_ns);
    past = acquire_without(pool, n);
    cr_assert_eq(fixture_stats(pool).blocked_ns, 0, "%s, %d", failure, (int)n);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    fixture_close(&f);
  }
  cr_assert(past);
}

Test(nomem, begins_and_lengthens_no_blocking_period, .timeout = 30) {
  failing_alloc_install();
  be_short("all");
  be_short("one");
  failing_alloc_restore();
}

/* A connect that fails, of which nothing can be told for want of memory, fails
 * nobody else. */
Test(nomem, has_no_period_that_nobody_can_be_told_of, .timeout = 30) {
  bool past = false;
  unsigned untold = 0;
  failing_alloc_install();
  for (uint64_t n = 1; n < 100 && !past; n++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(
        &f, "Pool Failure=all;Mock Script Text=\"connect 1: fail endpoint "
            "network 'no'\"");
    weir_h lease = 0;
    past = acquire_without(pool, n);
    int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
    /* The connect that fails may only come now, or have been kept for nobody. */
    if (rc == WEIR_OK) {
      cr_assert_eq(weir_release(lease), WEIR_OK);
      untold++;
    } else {
      cr_assert_eq(rc, WEIR_E_FAIL, "%d: %s", (int)n, f.err.message);
    }
    fixture_close(&f);
  }
  cr_assert(past);
  cr_assert_neq(untold, 0);
  failing_alloc_restore();
}
