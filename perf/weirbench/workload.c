/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

static const struct workload *const list[] = {
    &workload_cold_start_ramp, &workload_cold_start_ramp_async,
    &workload_rapid_fire,      &workload_rapid_fire_async,
    &workload_single_thread,   &workload_single_thread_async,
    &workload_saturated_sync,
};

const struct workload *const *workload_list(uint32_t *out_n) {
  *out_n = sizeof list / sizeof list[0];
  return list;
}

const struct workload *workload_find(const char *name) {
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    if (strcmp(list[i]->name, name) == 0) {
      return list[i];
    }
  }
  return NULL;
}

static struct axis *find_axis(struct axis *axes, uint32_t n, enum param p) {
  for (uint32_t i = 0; i < n; i++) {
    if (axes[i].param == p) {
      return &axes[i];
    }
  }
  return NULL;
}

static void refuse(const struct workload *workload,
                   const struct axis *axes,
                   uint32_t n,
                   enum param p,
                   struct fault *fault) {
  char names[256] = "";
  for (uint32_t i = 0; i < n; i++) {
    (void)strncat(names, i == 0 ? "" : ", ", sizeof names - strlen(names) - 1);
    (void)strncat(names, param_name(axes[i].param),
                  sizeof names - strlen(names) - 1);
  }
  fault_usage(fault, "--set %s: %s does not have it; it has %s", param_name(p),
              workload->name, names);
}

/* What the user has set leaves one value of the axis. */
static int apply_sets(const struct workload *workload,
                      const struct param_sets *sets,
                      struct axis *axes,
                      uint32_t n,
                      struct fault *fault) {
  for (unsigned p = 0; p < PARAM_COUNT; p++) {
    if (!sets->set[p]) {
      continue;
    }
    bool same = workload->thread_each && p == PARAM_THREADS;
    struct axis *axis =
        find_axis(axes, n, same ? PARAM_CONNECTIONS : (enum param)p);
    if (axis != NULL && same && axis->n == 1 && axis->values[0] != sets->v[p]) {
      fault_usage(fault, "--set: connections and threads are one with %s",
                  workload->name);
      return -1;
    }
    if (axis == NULL) {
      refuse(workload, axes, n, (enum param)p, fault);
      return -1;
    }
    axis->n = 1;
    axis->values[0] = sets->v[p];
  }
  return 0;
}

/* Row number i, with the last axis changing fastest. */
static void fill_row(const struct axis *axes,
                     uint32_t n,
                     uint32_t i,
                     struct params *out) {
  memset(out, 0, sizeof *out);
  for (uint32_t a = n; a-- > 0;) {
    out->used[axes[a].param] = true;
    out->v[axes[a].param] = axes[a].values[i % axes[a].n];
    i /= axes[a].n;
  }
}

uint32_t workload_rows(const struct workload *workload,
                       const struct param_sets *sets,
                       struct params *out,
                       uint32_t cap,
                       struct fault *fault) {
  struct axis axes[WORKLOAD_AXES];
  memset(axes, 0, sizeof axes);
  uint32_t n = workload->axes(axes);
  if (apply_sets(workload, sets, axes, n, fault) != 0) {
    return 0;
  }
  uint32_t rows = 1;
  for (uint32_t a = 0; a < n; a++) {
    rows *= axes[a].n;
  }
  rows = rows < cap ? rows : cap;
  for (uint32_t i = 0; i < rows; i++) {
    fill_row(axes, n, i, &out[i]);
    if (workload->thread_each) {
      out[i].used[PARAM_THREADS] = true;
      out[i].v[PARAM_THREADS] = out[i].v[PARAM_CONNECTIONS];
    }
  }
  return rows;
}

int64_t stage_span(const struct stage *stage) {
  int64_t begun = INT64_MAX;
  int64_t ended = 0;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    const struct worker *w = &stage->workers[i];
    begun = w->begun_ns < begun ? w->begun_ns : begun;
    ended = w->ended_ns > ended ? w->ended_ns : ended;
  }
  return ended - begun;
}

/* Opening many one after another would take as many connect delays. */
static void warm_one(struct worker *w) {
  uint64_t lease;
  bool got = worker_take(w, &lease);
  rendezvous_arrive(&w->stage->gate, 1);
  (void)rendezvous_wait(&w->stage->gate, RENDEZVOUS_NS);
  if (got) {
    worker_give(w, lease);
  }
}

static void skip_missing(struct stage *stage, uint32_t missing) {
  rendezvous_arrive(&stage->gate, missing);
}

/* The first failure among workers that only warm. */
static int warm_verdict(struct stage *stage,
                        const struct worker *workers,
                        uint32_t n,
                        uint32_t started) {
  for (uint32_t i = 0; i < started; i++) {
    if (workers[i].fault.set) {
      stage->fault = workers[i].fault;
      return -1;
    }
    if (workers[i].done != 1) {
      fault_set(&stage->fault, "warming the pool to %u timed out", n);
      return -1;
    }
  }
  if (started < n) {
    fault_set(&stage->fault, "only %u of %u threads could be started", started,
              n);
    return -1;
  }
  return 0;
}

int stage_warm(struct stage *stage, uint32_t depth) {
  struct worker *workers = calloc(depth, sizeof *workers);
  if (workers == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  for (uint32_t i = 0; i < depth; i++) {
    workers[i].kind = stage->kind;
    workers[i].pool = stage->pool;
    workers[i].stage = stage;
  }
  rendezvous_init(&stage->gate, depth);
  uint32_t started = crew_once(workers, depth, warm_one, skip_missing);
  rendezvous_fini(&stage->gate);
  int rc = warm_verdict(stage, workers, depth, started);
  free(workers);
  return rc;
}
