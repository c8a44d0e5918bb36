/* SPDX-License-Identifier: MIT */
/* stress_shed.c - Queue Policy=codel before two connections: callers that block and
 * callers that submit, with time-outs of 5 ms, 40 ms and none, more than can be
 * served.  Each acquire ends once; what the pool counts is what they were told; and
 * who waits for ever is never refused.
 *
 * WEIR_STRESS_SECONDS sets how long (default 2), WEIR_STRESS_SEED the seed. */
#include <pthread.h>

#include "stress.h"

#define BLOCKERS   10
#define SUBMITTERS 2
#define IN_FLIGHT  16u

static weir_h pool;
static weir_h engine;
static _Atomic int stop;
static _Atomic uint64_t leases;
static _Atomic uint64_t late;
static _Atomic uint64_t refused;
static _Atomic int holders; /* of two connections */

static int64_t any_timeout(struct stress_random *r) {
  switch (stress_below(r, 3)) {
  case 0:
    return 5 * STRESS_MS;
  case 1:
    return 40 * STRESS_MS;
  default:
    return WEIR_TIMEOUT_NEVER;
  }
}

static void hold(struct stress_random *r, weir_h lease) {
  if (atomic_fetch_add(&holders, 1) >= 2) {
    stress_broken("a connection is in two hands", WEIR_E_FAIL);
  }
  atomic_fetch_add(&leases, 1);
  stress_pause(stress_below(r, 2000) * STRESS_US);
  atomic_fetch_sub(&holders, 1);
  if (weir_release(lease) != WEIR_OK) {
    stress_broken("release", WEIR_E_HANDLE);
  }
}

/* What an acquire with that time-out was told. */
static void note(struct stress_random *r,
                 int64_t timeout,
                 int rc,
                 weir_h lease) {
  STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_OVERLOADED);
  if (rc == WEIR_OK) {
    hold(r, lease);
  } else if (timeout == WEIR_TIMEOUT_NEVER) {
    stress_broken("one that waits for ever was sent away", rc);
  } else if (rc == WEIR_E_TIMEOUT) {
    atomic_fetch_add(&late, 1);
  } else {
    atomic_fetch_add(&refused, 1);
  }
}

static void *block(void *arg) {
  struct stress_random *r = arg;
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int64_t timeout = any_timeout(r);
    int rc = weir_acquire(pool, timeout, &lease, NULL);
    note(r, timeout, rc, lease);
  }
  return NULL;
}

static void take(struct stress_random *r, weir_h queue) {
  struct weir_completion c = {.struct_size = sizeof c};
  struct weir_error err = {.struct_size = sizeof err};
  int rc = weir_queue_take(queue, STRESS_PATIENCE_NS, &c, &err);
  if (rc != WEIR_OK) {
    stress_broken("a completion that does not come", rc);
  }
  if (c.status != WEIR_OK && err.message_len == 0) {
    stress_broken("a completion without a word", c.status);
  }
  note(r, (int64_t)c.user, c.status, c.lease);
}

static void *submit(void *arg) {
  struct stress_random *r = arg;
  weir_h queue = 0;
  uint32_t under_way = 0;
  /* Room to spare: an entry may be looked at for a moment after it was taken. */
  if (weir_queue_open(engine, 2 * IN_FLIGHT, &queue, NULL) != WEIR_OK) {
    stress_broken("queue", WEIR_E_FAIL);
  }
  while (atomic_load(&stop) == 0 || under_way != 0) {
    if (atomic_load(&stop) == 0 && under_way < IN_FLIGHT) {
      weir_h lease = 0;
      int64_t timeout = any_timeout(r);
      int rc = weir_submit_acquire(pool, timeout, queue, (uint64_t)timeout,
                                   &lease, NULL, NULL);
      if (rc == WEIR_PENDING) {
        under_way++;
      } else {
        note(r, timeout, rc, lease);
      }
      continue;
    }
    take(r, queue);
    under_way--;
  }
  if (weir_queue_close(queue) != WEIR_OK) {
    stress_broken("close", WEIR_E_HANDLE);
  }
  return NULL;
}

/* What the pool has counted is what its callers were told. */
static void check(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  struct weir_counters c = {.struct_size = sizeof c};
  if (weir_pool_stats(pool, &s) != WEIR_OK ||
      weir_pool_counters(pool, &c) != WEIR_OK || s.waiters != 0 ||
      s.oldest_wait_ns != 0 || s.timeouts != atomic_load(&late) ||
      s.overloaded != atomic_load(&refused) ||
      c.soft_connects != atomic_load(&leases) ||
      c.soft_disconnects != c.soft_connects) {
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
}

static void open_pool(void) {
  static const char conninfo[] =
      "Driver=mock;Max Pool Size=2;Queue Policy=codel;Probe Window=10";
  struct weir_error err = {.struct_size = sizeof err};
  if (weir_pool_open(engine, conninfo, sizeof conninfo - 1, &pool, &err) !=
      WEIR_OK) {
    stress_broken(err.message, err.code);
  }
}

int main(void) {
  static struct stress_random random[BLOCKERS + SUBMITTERS];
  pthread_t threads[BLOCKERS + SUBMITTERS];
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 2);
  long seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  engine = stress_open_engine();
  open_pool();
  for (int i = 0; i < BLOCKERS + SUBMITTERS; i++) {
    random[i] = stress_seed(seed, i);
    if (pthread_create(&threads[i], NULL, i < BLOCKERS ? block : submit,
                       &random[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(seconds * STRESS_S);
  atomic_store(&stop, 1);
  for (int i = 0; i < BLOCKERS + SUBMITTERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  check();
  int rc = weir_engine_shutdown(engine, STRESS_PATIENCE_NS, NULL);
  if (rc != WEIR_OK) {
    stress_broken("shutdown", rc);
  }
  uint64_t served = atomic_load(&leases);
  uint64_t sent_away = atomic_load(&refused);
  (void)printf("seed %ld: %lu leases, %lu refused, %lu late\n1 passed, 0 "
               "failed\n",
               seed, (unsigned long)served, (unsigned long)sent_away,
               (unsigned long)atomic_load(&late));
  return served == 0 || sent_away == 0;
}
