/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include "futex_round_trip.h"
#include "peers.h"

const struct plan_pool plan_pools[POOLS] = {
    [POOL_WEIR] = {"weir", &pool_weir},
    [POOL_WEIR_AGAIN] = {"weir again", &pool_weir},
#ifdef PEERS_HAVE_APR
    [POOL_APR] = {"apr-reslist", &peer_apr},
#else
    [POOL_APR] = {"apr-reslist", NULL},
#endif
    [POOL_SLOT] = {"tls-slot", &peer_slot},
    [POOL_CONDVAR] = {"mutex-condvar", &peer_condvar},
    [POOL_HANDOVER] = {"futex-handover", &peer_handover},
    [POOL_NONE] = {"no-pool", &peer_none},
};

static double per_op(const struct result *r) {
  return (double)r->wall_p50 / (double)r->ops_per_iteration;
}

static double wall(const struct result *r) {
  return (double)r->wall_p50;
}

static double cpu_per_op(const struct result *r) {
  return r->cpu / (double)r->ops_per_iteration;
}

static double wait_p99(const struct result *r) {
  return (double)r->wait_p99;
}

static double wait_max(const struct result *r) {
  return (double)r->wait_max;
}

static double utilisation(const struct result *r) {
  return r->utilisation;
}

static const struct figure figure_per_op = {"ns per acquire+release", per_op};
static const struct figure figure_round = {"ns per wake", per_op};
static const struct figure figure_wall = {"wall ns", wall};
static const struct figure figure_cpu = {"cpu ns per acquire", cpu_per_op};
static const struct figure figure_wait_p99 = {"wait p99 ns", wait_p99};
static const struct figure figure_wait_max = {"wait max ns", wait_max};
static const struct figure figure_used = {"utilisation", utilisation};

#define BIT(pool) (1u << (pool))
#define WEIR      (BIT(POOL_WEIR) | BIT(POOL_WEIR_AGAIN))
#define SHARED                                                 \
  (WEIR | BIT(POOL_APR) | BIT(POOL_SLOT) | BIT(POOL_CONDVAR) | \
   BIT(POOL_HANDOVER))

static const struct plan_part parts[] = {
    {&workload_single_thread,
     {"ops=100000"},
     SHARED,
     {&figure_per_op, &figure_cpu}},
    {&workload_rapid_fire,
     {"threads=2", "max_pool=10", "ops=200000"},
     SHARED,
     {&figure_per_op, &figure_cpu}},
    {&workload_rapid_fire,
     {"threads=10", "max_pool=10", "ops=200000"},
     SHARED,
     {&figure_per_op, &figure_cpu}},
    {&workload_rapid_fire,
     {"threads=50", "max_pool=100", "ops=200000"},
     SHARED,
     {&figure_per_op, &figure_cpu}},
    {&workload_rapid_fire,
     {"threads=50", "max_pool=10", "ops=100000"},
     SHARED,
     {&figure_per_op, &figure_cpu, &figure_wait_max}},
    {&workload_saturated_sync,
     {"threads=50", "max_pool=10", "min_workers=50", "hold_us=100", "ops=40"},
     SHARED,
     {&figure_used, &figure_wait_p99, &figure_wait_max, &figure_cpu}},
    {&workload_cold_start_ramp,
     {NULL},
     WEIR | BIT(POOL_APR) | BIT(POOL_SLOT) | BIT(POOL_NONE),
     {&figure_wall, &figure_cpu}},
    {&workload_single_thread_async,
     {"depth=10", "ops=100000"},
     WEIR,
     {&figure_per_op, &figure_cpu}},
    {&workload_cold_start_ramp_async,
     {NULL},
     WEIR,
     {&figure_wall, &figure_cpu}},
    {&workload_futex_round_trip, {NULL}, BIT(POOL_NONE), {&figure_round}},
};

const struct plan_part *plan_parts(uint32_t *out_n) {
  *out_n = sizeof parts / sizeof parts[0];
  return parts;
}
