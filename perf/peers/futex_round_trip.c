/* SPDX-License-Identifier: MIT */
/* futex_round_trip: two threads on two processors hand a word back and forth, each
 * asleep until it is its turn.  Half of one round is what a hand-over to a waiter
 * costs at least.  Uses no pool. */
#include "futex_round_trip.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Alignas(64) _Atomic uint32_t turn;

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_MAX_POOL, 1, {1}};
  axes[1] = (struct axis){PARAM_OPS, 1, {1000}};
  return 2;
}

static uint32_t workers(const struct params *params) {
  (void)params;
  return 2;
}

static uint64_t ops(const struct params *params) {
  return (uint64_t)params->v[PARAM_OPS] * 2;
}

static void move_to(uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  /* On one processor both stay where they are. */
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void wait_for(uint32_t wanted) {
  uint32_t seen = atomic_load_explicit(&turn, memory_order_acquire);
  while (seen != wanted) {
    (void)syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    seen = atomic_load_explicit(&turn, memory_order_acquire);
  }
}

static void pass(uint32_t next) {
  atomic_store_explicit(&turn, next, memory_order_release);
  (void)syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void bounce(struct worker *w) {
  move_to(w->index);
  for (uint64_t i = 0; i < w->quota; i++) {
    wait_for(w->index);
    pass(1 - w->index);
    w->done++;
  }
}

static int prepare(struct stage *stage) {
  return crew_start(&stage->crew, stage->workers, 2, &stage->fault);
}

static int before(struct stage *stage) {
  (void)stage;
  atomic_store_explicit(&turn, 0, memory_order_relaxed);
  return 0;
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew, bounce);
  return stage_span(stage);
}

static void finish(struct stage *stage) {
  crew_stop(&stage->crew);
}

const struct workload workload_futex_round_trip = {
    .name = "futex_round_trip",
    .what = "two threads wake each other, ops times each",
    .axes = axes,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = finish,
    .body = body,
    .iterations = 10,
    .iterations_quick = 3,
};
