/* SPDX-License-Identifier: MIT */
/* Strictly first come, first served: a connection that comes back goes to the
 * oldest waiter, and nobody can take it meanwhile.  What a wake costs is what a
 * connection lies idle. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peers.h"
#include "sim.h"

/* One that waits, on its own stack. */
struct waiter {
  struct waiter *next;
  struct sim_conn *conn; /* written before word */
  _Atomic uint32_t word; /* 1: served */
};

struct handover_pool {
  struct sim sim;
  pthread_mutex_t mutex;
  uint32_t max;
  uint32_t open; /* guarded by mutex, as all below */
  uint32_t n_idle;
  struct waiter *oldest;
  struct waiter **newest;
  struct sim_conn *idle[];
};

static int open_pool(const struct pool_config *config,
                     void **out_pool,
                     struct fault *fault) {
  struct handover_pool *p =
      calloc(1, sizeof *p + config->max_pool * sizeof p->idle[0]);
  if (p == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  p->sim.connect_delay_ns = config->connect_delay_ns;
  p->max = config->max_pool;
  p->newest = &p->oldest;
  (void)pthread_mutex_init(&p->mutex, NULL);
  *out_pool = p;
  return 0;
}

static int renew(void *pool, struct fault *fault) {
  struct handover_pool *p = pool;
  (void)fault;
  while (p->n_idle > 0) {
    sim_close(p->idle[--p->n_idle]);
  }
  p->open = 0;
  return 0;
}

static void close_pool(void *pool) {
  struct handover_pool *p = pool;
  (void)renew(p, NULL);
  (void)pthread_mutex_destroy(&p->mutex);
  free(p);
}

static void sleep_on(struct waiter *w) {
  while (atomic_load_explicit(&w->word, memory_order_acquire) == 0) {
    (void)syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
}

/* An idle connection or one that was handed over; NULL: open one. */
static struct sim_conn *take_or_grow(struct handover_pool *p) {
  struct waiter w = {.next = NULL, .conn = NULL};
  struct sim_conn *conn = NULL;
  bool waits = false;
  (void)pthread_mutex_lock(&p->mutex);
  if (p->n_idle > 0) {
    conn = p->idle[--p->n_idle];
  } else if (p->open < p->max) {
    p->open++;
  } else {
    *p->newest = &w;
    p->newest = &w.next;
    waits = true;
  }
  (void)pthread_mutex_unlock(&p->mutex);
  if (waits) {
    sleep_on(&w);
    conn = w.conn;
  }
  return conn;
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  struct handover_pool *p = pool;
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

static struct waiter *oldest_or_idle(struct handover_pool *p,
                                     struct sim_conn *conn) {
  (void)pthread_mutex_lock(&p->mutex);
  struct waiter *w = p->oldest;
  if (w == NULL) {
    p->idle[p->n_idle++] = conn;
  } else {
    p->oldest = w->next;
    p->newest = p->oldest == NULL ? &p->oldest : p->newest;
  }
  (void)pthread_mutex_unlock(&p->mutex);
  return w;
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  struct sim_conn *conn = (struct sim_conn *)(uintptr_t)lease;
  (void)fault;
  sim_end(conn);
  struct waiter *w = oldest_or_idle(pool, conn);
  if (w != NULL) {
    w->conn = conn;
    /* The waiter may return, and its stack be gone, as soon as the word is
     * written; a wake at an address that is somebody else's by then is only a
     * spurious one, against which every futex user loops. */
    _Atomic uint32_t *word = &w->word;
    atomic_store_explicit(word, 1, memory_order_release);
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return 0;
}

static void count(void *pool, struct pool_counts *out) {
  struct handover_pool *p = pool;
  out->connects = atomic_load_explicit(&p->sim.connects, memory_order_relaxed);
  out->timeouts = 0;
}

static const char *driver(const void *pool) {
  (void)pool;
  return "sim";
}

static const char *strategy(const void *pool) {
  (void)pool;
  return "futex-handover";
}

const struct pool_kind peer_handover = {
    .name = "futex-handover",
    .open = open_pool,
    .close = close_pool,
    .renew = renew,
    .take = take,
    .give = give,
    .count = count,
    .driver = driver,
    .strategy = strategy,
};
