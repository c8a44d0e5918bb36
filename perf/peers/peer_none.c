/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "peers.h"
#include "sim.h"

static int open_pool(const struct pool_config *config,
                     void **out_pool,
                     struct fault *fault) {
  struct sim *sim = calloc(1, sizeof *sim);
  if (sim == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  sim->connect_delay_ns = config->connect_delay_ns;
  *out_pool = sim;
  return 0;
}

static void close_pool(void *pool) {
  free(pool);
}

static int renew(void *pool, struct fault *fault) {
  (void)pool;
  (void)fault;
  return 0;
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  struct sim_conn *conn = sim_open(pool);
  if (conn == NULL) {
    fault_set(fault, "no memory");
    return POOL_FAILED;
  }
  sim_begin(conn);
  *out_lease = (uint64_t)(uintptr_t)conn;
  return POOL_OK;
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  (void)pool;
  (void)fault;
  struct sim_conn *conn = (struct sim_conn *)(uintptr_t)lease;
  sim_end(conn);
  sim_close(conn);
  return 0;
}

static void count(void *pool, struct pool_counts *out) {
  struct sim *sim = pool;
  out->connects = atomic_load_explicit(&sim->connects, memory_order_relaxed);
  out->timeouts = 0;
}

static const char *driver(const void *pool) {
  (void)pool;
  return "sim";
}

static const char *strategy(const void *pool) {
  (void)pool;
  return "no-pool";
}

const struct pool_kind peer_none = {
    .name = "no-pool",
    .open = open_pool,
    .close = close_pool,
    .renew = renew,
    .take = take,
    .give = give,
    .count = count,
    .driver = driver,
    .strategy = strategy,
};
