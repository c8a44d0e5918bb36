/* SPDX-License-Identifier: MIT */
#include "contract.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "sys/clock.h"

/* Of real time: machines that test are busy, and sanitizers slow. */
#define PATIENCE_NS (UINT64_C(30) * WEIR_NS_PER_S)

_Noreturn void contract_broken(const struct contract *c, const char *what) {
  (void)fprintf(stderr, "broken: \"%s\" with %s: %s (last error: %s)\n",
                c->clause, c->settings, what, c->err.message);
  abort();
}

const struct contract_clause *contract_at(size_t i) {
  static const struct contract_clause *(*const files[])(size_t *) = {
      contract_serving, contract_ending,  contract_changing,
      contract_keeping, contract_sharing, contract_timing};
  for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
    size_t n = 0;
    const struct contract_clause *clauses = files[k](&n);
    if (i < n) {
      return &clauses[i];
    }
    i -= n;
  }
  return NULL;
}

static uint64_t real_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * WEIR_NS_PER_S + (uint64_t)t.tv_nsec;
}

weir_h contract_pool(struct contract *c, const char *fmt, ...) {
  char text[1024];
  weir_h pool = 0;
  int n = snprintf(text, sizeof text,
                   "Driver=mock;Mock Strict=true;%s;Database=c%u_%u;",
                   c->settings, c->number, c->pools++);
  va_list args;
  va_start(args, fmt);
  n += vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
  va_end(args);
  c->err.struct_size = sizeof c->err;
  CONTRACT(c, n > 0 && (size_t)n < sizeof text);
  CONTRACT(c, weir_pool_open(c->engine, text, (uint64_t)n, &pool, &c->err) ==
                  WEIR_OK);
  return pool;
}

weir_h contract_acquire(struct contract *c, weir_h pool) {
  weir_h lease = 0;
  CONTRACT(c, weir_acquire(pool, CONTRACT_LONG, &lease, &c->err) == WEIR_OK);
  return lease;
}

void contract_release(struct contract *c, weir_h lease) {
  CONTRACT(c, weir_release(lease) == WEIR_OK);
}

static int64_t number_in(const struct weir_item *item) {
  int64_t found = INT64_MIN;
  if (item->n_columns != 0 && item->cells[0].n == sizeof found) {
    memcpy(&found, item->cells[0].p, sizeof found);
  }
  return found;
}

/* The first number of the result in *out_number. */
static int run(struct contract *c,
               weir_h lease,
               const char *sql,
               int64_t *out_number) {
  struct weir_item item = {.struct_size = sizeof item};
  int rc = weir_exec(lease, sql, strlen(sql), NULL, &c->err);
  while (rc == WEIR_OK && (rc = weir_next(lease, &item, &c->err)) == WEIR_OK &&
         item.type != WEIR_ITEM_DONE) {
    if (item.type == WEIR_ITEM_ROWS) {
      *out_number = number_in(&item);
      CONTRACT(c, weir_rows_free(item.rows) == WEIR_OK);
    }
  }
  return rc;
}

int contract_run(struct contract *c, weir_h lease, const char *sql) {
  int64_t unused = 0;
  return run(c, lease, sql, &unused);
}

int64_t contract_session(struct contract *c, weir_h lease) {
  int64_t number = 0;
  CONTRACT(c, run(c, lease, "session", &number) == WEIR_OK);
  CONTRACT(c, number > 0);
  return number;
}

struct weir_pool_stats contract_stats(struct contract *c, weir_h pool) {
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  CONTRACT(c, weir_pool_stats(pool, &stats) == WEIR_OK);
  return stats;
}

void contract_await(struct contract *c,
                    weir_h pool,
                    size_t offset,
                    uint32_t n) {
  uint64_t end = real_now() + PATIENCE_NS;
  uint32_t found;
  do {
    struct weir_pool_stats stats = contract_stats(c, pool);
    memcpy(&found, (const char *)&stats + offset, sizeof found);
    if (found == n) {
      return;
    }
    (void)sched_yield();
  } while (real_now() < end);
  struct weir_pool_stats s = contract_stats(c, pool);
  (void)fprintf(stderr,
                "statistic at %zu is %u, never %u (%u empty, %u connecting, %u "
                "idle, %u leased, %u reserved, %u closing, %u waiters)\n",
                offset, found, n, s.empty, s.connecting, s.idle, s.leased,
                s.reserved, s.closing, s.waiters);
  contract_broken(c, "a statistic does not come true");
}

void contract_pass(struct contract *c, int64_t ns) {
  if (c->alone != NULL) {
    fixture_advance(c->alone, (uint64_t)ns);
  }
}

void contract_close(struct contract *c, weir_h pool) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  CONTRACT(c, weir_pool_close(pool) == WEIR_OK);
  /* It goes when its last session has; a session that hangs has its second. */
  uint64_t end = real_now() + PATIENCE_NS;
  while (weir_pool_stats(pool, &s) == WEIR_OK) {
    CONTRACT(c, real_now() < end);
    contract_pass(c, CONTRACT_MS);
    (void)sched_yield();
  }
}

static void *acquire(void *arg) {
  struct contract_caller *caller = arg;
  caller->rc = weir_acquire(caller->pool, caller->timeout_ns, &caller->lease,
                            &caller->err);
  /* Otherwise the engine, and its clock, may have ended. */
  caller->ended = caller->rc == WEIR_E_TIMEOUT ? weir__clock_now() : 0;
  atomic_store(&caller->back, 1);
  return NULL;
}

void contract_call(struct contract *c,
                   struct contract_caller *caller,
                   weir_h pool,
                   int64_t timeout_ns,
                   uint32_t n) {
  memset(caller, 0, sizeof *caller);
  caller->pool = pool;
  caller->timeout_ns = timeout_ns;
  caller->err.struct_size = sizeof caller->err;
  CONTRACT(c, pthread_create(&caller->thread, NULL, acquire, caller) == 0);
  uint64_t end = real_now() + PATIENCE_NS;
  while (atomic_load(&caller->back) == 0 &&
         contract_stats(c, pool).waiters < n) {
    CONTRACT(c, real_now() < end);
    (void)sched_yield();
  }
}

int contract_join(struct contract_caller *caller) {
  (void)pthread_join(caller->thread, NULL);
  return caller->rc;
}

weir_h contract_queue(struct contract *c) {
  weir_h queue = 0;
  CONTRACT(c, weir_queue_open(c->engine, 16, &queue, &c->err) == WEIR_OK);
  return queue;
}

weir_h contract_submit(struct contract *c,
                       weir_h pool,
                       weir_h queue,
                       int64_t timeout_ns,
                       uint64_t user) {
  weir_h lease = 0;
  weir_h op = 0;
  CONTRACT(c, weir_submit_acquire(pool, timeout_ns, queue, user, &lease, &op,
                                  &c->err) == WEIR_PENDING);
  return op;
}

struct weir_completion contract_take(struct contract *c, weir_h queue) {
  struct weir_completion done = {.struct_size = sizeof done};
  CONTRACT(c, weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &done, &c->err) ==
                  WEIR_OK);
  return done;
}
