/* SPDX-License-Identifier: MIT */
/* Barging: whoever comes first takes what is there, a waiter that was woken may
 * find nothing and waits again. */
#include <pthread.h>
#include <stdlib.h>

#include "peers.h"
#include "sim.h"

struct condvar_pool {
  struct sim sim;
  pthread_mutex_t mutex;
  pthread_cond_t back; /* a connection came back */
  uint32_t max;
  uint32_t open; /* connections open or being opened; guarded by mutex */
  uint32_t n_idle;
  uint32_t waiters;
  struct sim_conn *idle[];
};

static int open_pool(const struct pool_config *config,
                     void **out_pool,
                     struct fault *fault) {
  struct condvar_pool *p =
      calloc(1, sizeof *p + config->max_pool * sizeof p->idle[0]);
  if (p == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  p->sim.connect_delay_ns = config->connect_delay_ns;
  p->max = config->max_pool;
  (void)pthread_mutex_init(&p->mutex, NULL);
  (void)pthread_cond_init(&p->back, NULL);
  *out_pool = p;
  return 0;
}

static int renew(void *pool, struct fault *fault) {
  struct condvar_pool *p = pool;
  (void)fault;
  while (p->n_idle > 0) {
    sim_close(p->idle[--p->n_idle]);
  }
  p->open = 0;
  return 0;
}

static void close_pool(void *pool) {
  struct condvar_pool *p = pool;
  (void)renew(p, NULL);
  (void)pthread_cond_destroy(&p->back);
  (void)pthread_mutex_destroy(&p->mutex);
  free(p);
}

/* An idle connection, or NULL and the right to open one. */
static struct sim_conn *take_or_grow(struct condvar_pool *p) {
  struct sim_conn *conn = NULL;
  (void)pthread_mutex_lock(&p->mutex);
  while (p->n_idle == 0 && p->open == p->max) {
    p->waiters++;
    (void)pthread_cond_wait(&p->back, &p->mutex);
    p->waiters--;
  }
  if (p->n_idle > 0) {
    conn = p->idle[--p->n_idle];
  } else {
    p->open++;
  }
  (void)pthread_mutex_unlock(&p->mutex);
  return conn;
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  struct condvar_pool *p = pool;
  struct sim_conn *conn = take_or_grow(p);
  conn = conn == NULL ? sim_open(&p->sim) : conn;
  if (conn == NULL) {
    fault_set(fault, "no memory");
    return POOL_FAILED;
  }
  sim_begin(conn);
  *out_lease = (uint64_t)(uintptr_t)conn;
  return POOL_OK;
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  struct condvar_pool *p = pool;
  struct sim_conn *conn = (struct sim_conn *)(uintptr_t)lease;
  (void)fault;
  sim_end(conn);
  (void)pthread_mutex_lock(&p->mutex);
  p->idle[p->n_idle++] = conn;
  bool wake = p->waiters > 0;
  (void)pthread_mutex_unlock(&p->mutex);
  if (wake) {
    (void)pthread_cond_signal(&p->back);
  }
  return 0;
}

static void count(void *pool, struct pool_counts *out) {
  struct condvar_pool *p = pool;
  out->connects = atomic_load_explicit(&p->sim.connects, memory_order_relaxed);
  out->timeouts = 0;
}

static const char *driver(const void *pool) {
  (void)pool;
  return "sim";
}

static const char *strategy(const void *pool) {
  (void)pool;
  return "mutex-condvar";
}

const struct pool_kind peer_condvar = {
    .name = "mutex-condvar",
    .open = open_pool,
    .close = close_pool,
    .renew = renew,
    .take = take,
    .give = give,
    .count = count,
    .driver = driver,
    .strategy = strategy,
};
