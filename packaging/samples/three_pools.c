/* SPDX-License-Identifier: MIT */
/* three_pools.c - a pool for each connection string given, side by side in one
 * program.  How a pool behaves is in its string: nothing here knows of strategies, and
 * nothing is built anew to try another one.
 *
 *   sample_three_pools SQL CONNINFO [CONNINFO]...
 *
 * From each pool a few callers take a connection at once, and hold it until all of
 * them have one; each runs the statement and counts its rows. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"

#define CALLERS 8

struct crowd {
  weir_h pool;
  const char *sql;
  pthread_barrier_t all_have_one;
};

struct caller {
  struct crowd *crowd;
  pthread_t thread;
  uint64_t rows;
  struct weir_error err; /* code 0: all went well */
};

static double now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int32_t count_rows(weir_h lease, struct caller *c) {
  struct weir_item item = {.struct_size = sizeof item};
  const char *sql = c->crowd->sql;
  int32_t rc = weir_exec(lease, sql, strlen(sql), NULL, &c->err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, &c->err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      c->rows += item.n_rows;
      (void)weir_rows_free(item.rows);
    }
  }
  return rc;
}

static void *call(void *arg) {
  struct caller *c = arg;
  weir_h lease = 0;
  int32_t rc = weir_acquire(c->crowd->pool, WEIR_TIMEOUT_POOL, &lease, &c->err);
  (void)pthread_barrier_wait(&c->crowd->all_have_one); /* or have failed */
  if (rc == WEIR_OK) {
    (void)count_rows(lease, c);
    (void)weir_release(lease);
  }
  return NULL;
}

/* Returns how many callers have failed. */
static int report(const char *key,
                  const struct caller *callers,
                  double opened_ms) {
  uint64_t rows = 0;
  int failed = 0;
  for (int i = 0; i < CALLERS; i++) {
    rows += callers[i].rows;
    if (callers[i].err.code != WEIR_OK) {
      (void)fprintf(stderr, "%s\n", callers[i].err.message);
      failed++;
    }
  }
  (void)printf("%d connections in %.1f ms, %llu rows: %s\n", CALLERS - failed,
               opened_ms, (unsigned long long)rows, key);
  return failed;
}

static int run_crowd(weir_h pool, const char *sql, const char *key) {
  struct crowd crowd = {.pool = pool, .sql = sql};
  struct caller callers[CALLERS];
  (void)pthread_barrier_init(&crowd.all_have_one, NULL, CALLERS + 1);
  double begun = now_ms();
  for (int i = 0; i < CALLERS; i++) {
    callers[i] = (struct caller){.crowd = &crowd, .err = {.struct_size = 0}};
    callers[i].err.struct_size = sizeof callers[i].err;
    if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0) {
      (void)fputs("no thread\n", stderr);
      _exit(1); /* the others wait for all */
    }
  }
  (void)pthread_barrier_wait(&crowd.all_have_one);
  double opened_ms = now_ms() - begun;
  for (int i = 0; i < CALLERS; i++) {
    (void)pthread_join(callers[i].thread, NULL);
  }
  (void)pthread_barrier_destroy(&crowd.all_have_one);
  return report(key, callers, opened_ms);
}

/* A pool, and what tells it from others: its key, which shows no password. */
static int run_pool(weir_h engine, const char *sql, const char *conninfo) {
  struct weir_error err = {.struct_size = sizeof err};
  char key[4096];
  weir_h pool = 0;
  if (weir_pool_open(engine, conninfo, strlen(conninfo), &pool, &err) != 0 ||
      weir_conninfo_key(engine, conninfo, strlen(conninfo), key, sizeof key,
                        NULL, &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  return run_crowd(pool, sql, key); /* which stays open beside the others */
}

int main(int argc, char **argv) {
  struct weir_error err = {.struct_size = sizeof err};
  weir_h engine = 0;
  int failed = 0;
  if (argc < 3) {
    (void)fprintf(stderr, "usage: %s SQL CONNINFO [CONNINFO]...\n", argv[0]);
    return 2;
  }
  if (weir_engine_open(NULL, &engine, &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  for (int i = 2; i < argc; i++) {
    failed += run_pool(engine, argv[1], argv[i]);
  }
  (void)weir_engine_shutdown(engine, 1000000000, NULL);
  return failed == 0 ? 0 : 1;
}
