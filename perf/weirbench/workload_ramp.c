/* SPDX-License-Identifier: MIT */
/* cold_start_ramp: many callers find an empty pool.  Each is a thread that is
 * started in the measured time, opens one connection, holds it until all have
 * arrived, also those that failed, and gives it back. */
#include "clock.h"
#include "workload.h"

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_CONNECTIONS, 4, {10, 25, 50, 100}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 1, {200}};
  return 2;
}

static uint32_t workers(const struct params *params) {
  return params->v[PARAM_CONNECTIONS];
}

static uint64_t ops(const struct params *params) {
  return params->v[PARAM_CONNECTIONS];
}

/* With fewer places than callers they would wait for each other for ever, so
 * nobody holds then. */
static bool holds(const struct stage *stage) {
  return stage->params.v[PARAM_MAX_POOL] >= stage->params.v[PARAM_CONNECTIONS];
}

static void call(struct worker *w) {
  uint64_t lease;
  bool got = worker_take(w, &lease);
  if (holds(w->stage)) {
    rendezvous_arrive(&w->stage->gate, 1);
    if (!rendezvous_wait(&w->stage->gate, RENDEZVOUS_NS)) {
      fault_set(&w->fault, "not all callers arrived within 2 minutes");
    }
  }
  if (got) {
    worker_give(w, lease);
  }
}

static int before(struct stage *stage) {
  return stage->kind->renew(stage->pool, &stage->fault);
}

static void skip_missing(struct stage *stage, uint32_t missing) {
  rendezvous_arrive(&stage->gate, missing);
  fault_set(&stage->fault, "%u of %u threads could not be started", missing,
            stage->n_workers);
}

static int64_t body(struct stage *stage) {
  rendezvous_init(&stage->gate, stage->n_workers);
  int64_t begun = clock_now();
  (void)crew_once(stage->workers, stage->n_workers, call, skip_missing);
  int64_t took = clock_now() - begun;
  rendezvous_fini(&stage->gate);
  return took;
}

static int prepare(struct stage *stage) {
  (void)stage;
  return 0;
}

static void finish(struct stage *stage) {
  (void)stage;
}

const struct workload workload_cold_start_ramp = {
    .name = "cold_start_ramp",
    .what = "callers, a thread each, open a connection each in an empty pool",
    .axes = axes,
    .thread_each = true,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = finish,
    .body = body,
    .iterations = 20,
    .iterations_quick = 5,
};
