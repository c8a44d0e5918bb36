/* SPDX-License-Identifier: MIT */
/* pool.h - what a workload needs of a pool, so that one workload drives Weir, a
 * peer and a physical limit alike. */
#ifndef WEIRBENCH_POOL_H
#define WEIRBENCH_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

struct pool_config {
  const char *conninfo; /* Weir's connection string; may hold secrets */
  const char *strategy; /* Weir's Pool Strategy; NULL: the string's own */
  uint32_t max_pool;
  int64_t connect_delay_ns; /* of the simulated connections of peers */
};

#define POOL_BUCKETS 32u

/* Counts since the pool was opened, over all its renewals. */
struct pool_counts {
  uint64_t connects; /* physical connects begun */
  uint64_t timeouts; /* acquires that timed out; peers that do not time: 0 */
  /* What the pool itself says of waits, from enqueue to grant.  Peers, and
   * libraries that do not tell, leave these 0. */
  uint64_t waits;                     /* that were served */
  uint64_t wait_bucket[POOL_BUCKETS]; /* [i]: below 1 us << i */
  uint64_t wait_sum_ns;
  uint64_t wait_max_ns; /* the longest ever */
  uint64_t overtakes;   /* leases taken past a waiter */
};

enum pool_result {
  POOL_OK,
  POOL_PENDING, /* of submit: it will come out of the queue */
  POOL_TIMEOUT,
  POOL_FAILED /* *fault says how */
};

/* One kind of pool.  All may be called from any thread, but open, renew and
 * close only while nothing else runs. */
struct pool_kind {
  const char *name; /* of peers: stands as "strategy" in results */

  /* Opens a pool.  Returns 0, or -1 with *fault. */
  int (*open)(const struct pool_config *config,
              void **out_pool,
              struct fault *fault);
  void (*close)(void *pool);

  /* Ends all connections, which nobody holds, and forgets all history: as a
   * pool that was just opened.  Returns 0, or -1 with *fault. */
  int (*renew)(void *pool, struct fault *fault);

  /* Takes a connection, waiting for it; gives it back. */
  enum pool_result (*take)(void *pool,
                           uint64_t *out_lease,
                           struct fault *fault);
  int (*give)(void *pool, uint64_t lease, struct fault *fault);

  /* Runs "SELECT 1" and reads its result; NULL where there is no server. */
  int (*query)(void *pool, uint64_t lease, struct fault *fault);

  void (*count)(void *pool, struct pool_counts *out);

  /* Acquires that do not block; NULL where the pool has none.  A queue takes so
   * many at once.  next waits for one that was pending and tells its number. */
  int (*queue_open)(void *pool,
                    uint32_t capacity,
                    uint64_t *out_queue,
                    struct fault *fault);
  void (*queue_close)(void *pool, uint64_t queue);
  enum pool_result (*submit)(void *pool,
                             uint64_t queue,
                             uint64_t number,
                             uint64_t *out_lease,
                             struct fault *fault);
  enum pool_result (*next)(void *pool,
                           uint64_t queue,
                           uint64_t *out_number,
                           uint64_t *out_lease,
                           struct fault *fault);

  /* The driver's name and the strategy's, for results; valid until close. */
  const char *(*driver)(const void *pool);
  const char *(*strategy)(const void *pool);
};

/* Weir, through weir.h alone. */
extern const struct pool_kind pool_weir;

#endif
