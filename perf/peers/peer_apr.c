/* SPDX-License-Identifier: MIT */
#include <apr_general.h>
#include <apr_reslist.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "peers.h"
#include "sim.h"

#define TIMEOUT_US 60000000

struct apr_bench {
  struct sim sim; /* first: what the constructor is given */
  apr_pool_t *memory;
  apr_reslist_t *list;
  int max;
  _Atomic uint64_t timeouts;
};

static apr_status_t construct(void **out, void *params, apr_pool_t *memory) {
  (void)memory;
  struct sim_conn *conn = sim_open(params);
  if (conn == NULL) {
    return APR_ENOMEM;
  }
  *out = conn;
  return APR_SUCCESS;
}

static apr_status_t destruct(void *conn, void *params, apr_pool_t *memory) {
  (void)params;
  (void)memory;
  sim_close(conn);
  return APR_SUCCESS;
}

/* No time to live, so that neither acquire nor release reads a clock. */
static int create(struct apr_bench *b, struct fault *fault) {
  if (apr_pool_create(&b->memory, NULL) != APR_SUCCESS) {
    b->memory = NULL;
    fault_set(fault, "apr_pool_create failed");
    return -1;
  }
  if (apr_reslist_create(&b->list, 0, b->max, b->max, 0, construct, destruct,
                         &b->sim, b->memory) != APR_SUCCESS) {
    fault_set(fault, "apr_reslist_create failed");
    return -1;
  }
  apr_reslist_timeout_set(b->list, TIMEOUT_US);
  return 0;
}

static void initialize(void) {
  (void)apr_initialize();
}

static void close_pool(void *pool) {
  struct apr_bench *b = pool;
  if (b->memory != NULL) {
    apr_pool_destroy(b->memory);
  }
  free(b);
}

static int open_pool(const struct pool_config *config,
                     void **out_pool,
                     struct fault *fault) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, initialize);
  struct apr_bench *b = calloc(1, sizeof *b);
  if (b == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  b->sim.connect_delay_ns = config->connect_delay_ns;
  b->max = (int)config->max_pool;
  if (create(b, fault) != 0) {
    close_pool(b);
    return -1;
  }
  *out_pool = b;
  return 0;
}

static int renew(void *pool, struct fault *fault) {
  struct apr_bench *b = pool;
  apr_pool_destroy(b->memory);
  return create(b, fault);
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  struct apr_bench *b = pool;
  void *conn;
  apr_status_t rc = apr_reslist_acquire(b->list, &conn);
  if (APR_STATUS_IS_TIMEUP(rc)) {
    (void)atomic_fetch_add_explicit(&b->timeouts, 1, memory_order_relaxed);
    return POOL_TIMEOUT;
  }
  if (rc != APR_SUCCESS) {
    fault_set(fault, "apr_reslist_acquire failed: %d", rc);
    return POOL_FAILED;
  }
  sim_begin(conn);
  *out_lease = (uint64_t)(uintptr_t)conn;
  return POOL_OK;
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  struct apr_bench *b = pool;
  struct sim_conn *conn = (struct sim_conn *)(uintptr_t)lease;
  sim_end(conn);
  apr_status_t rc = apr_reslist_release(b->list, conn);
  if (rc != APR_SUCCESS) {
    fault_set(fault, "apr_reslist_release failed: %d", rc);
    return -1;
  }
  return 0;
}

static void count(void *pool, struct pool_counts *out) {
  struct apr_bench *b = pool;
  out->connects = atomic_load_explicit(&b->sim.connects, memory_order_relaxed);
  out->timeouts = atomic_load_explicit(&b->timeouts, memory_order_relaxed);
}

static const char *driver(const void *pool) {
  (void)pool;
  return "sim";
}

static const char *strategy(const void *pool) {
  (void)pool;
  return "apr-reslist";
}

const struct pool_kind peer_apr = {
    .name = "apr-reslist",
    .open = open_pool,
    .close = close_pool,
    .renew = renew,
    .take = take,
    .give = give,
    .count = count,
    .driver = driver,
    .strategy = strategy,
};
