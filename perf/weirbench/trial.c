/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "pass.h"
#include "trace.h"

/* Acquires that are traced at most. */
#define TRACED_MAX UINT64_C(20000)

/* --------------------------------------------------------------- the stage */

static int open_stage(const struct trial *trial, struct stage *stage) {
  struct pool_config config = trial->config;
  config.max_pool = trial->params.v[PARAM_MAX_POOL];
  memset(stage, 0, sizeof *stage);
  stage->workload = trial->workload;
  stage->kind = trial->kind;
  stage->params = trial->params;
  stage->n_workers = trial->workload->workers(&trial->params);
  stage->workers = calloc(stage->n_workers, sizeof *stage->workers);
  if (stage->workers == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  if (stage->workload->submits && stage->kind->submit == NULL) {
    fault_set(&stage->fault, "%s: %s has no submitted acquire",
              stage->workload->name, stage->kind->name);
    return -1;
  }
  if (stage->kind->open(&config, &stage->pool, &stage->fault) != 0) {
    return -1;
  }
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    struct worker *w = &stage->workers[i];
    w->kind = stage->kind;
    w->pool = stage->pool;
    w->stage = stage;
    w->index = i;
    w->order = &stage->order;
  }
  return stage->workload->prepare(stage);
}

static void close_stage(struct stage *stage) {
  if (stage->pool != NULL) {
    stage->workload->finish(stage);
    stage->kind->close(stage->pool);
  }
  free(stage->workers);
}

void pass_deal(struct stage *stage,
               enum pass pass,
               uint64_t ops,
               struct stamp *stamps) {
  uint64_t each = ops / stage->n_workers;
  uint64_t rest = ops % stage->n_workers;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    struct worker *w = &stage->workers[i];
    w->pass = pass;
    w->quota = each + (i < rest ? 1 : 0);
    w->stamps = stamps;
    stamps = stamps == NULL ? NULL : stamps + w->quota;
  }
}

int pass_verdict(struct stage *stage) {
  uint32_t failed = 0;
  const struct worker *first = NULL;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    if (stage->workers[i].fault.set) {
      first = first == NULL ? &stage->workers[i] : first;
      failed++;
    }
  }
  if (first != NULL) {
    stage->fault.set = false;
    fault_set(&stage->fault, "%s: %u of %u callers failed; one of them: %s",
              stage->workload->name, failed, stage->n_workers,
              first->fault.text);
  } else if (pass_sums(stage).done == 0) {
    fault_set(&stage->fault, "%s: every acquire of an iteration timed out",
              stage->workload->name);
  }
  return stage->fault.set ? -1 : 0;
}

struct sums pass_sums(const struct stage *stage) {
  struct sums sums = {0, 0, 0};
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    sums.done += stage->workers[i].done;
    sums.timeouts += stage->workers[i].timeouts;
    sums.held_ns += stage->workers[i].held_ns;
  }
  return sums;
}

int pass_prepare(struct stage *stage) {
  if (stage->workload->before(stage) != 0) {
    return -1;
  }
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    worker_reset(&stage->workers[i]);
  }
  return 0;
}

int pass_warm_up(struct stage *stage) {
  if (pass_prepare(stage) != 0) {
    return -1;
  }
  (void)stage->workload->body(stage);
  return pass_verdict(stage);
}

uint32_t pass_turn(uint32_t iteration, uint32_t k, uint32_t n) {
  return iteration % 2 == 0 ? k : n - 1 - k;
}

void pass_tell(const struct trial *trial, uint32_t done) {
  if (trial->progress != NULL) {
    trial->progress(trial->progress_arg, done,
                    trial->iterations + trial->observed);
  }
}

/* ------------------------------------------------------------- traced pass */

static int traced_work(void *arg) {
  const struct trial *trial = arg;
  struct stage stage;
  uint64_t ops = trial->workload->ops(&trial->params);
  alloc_quiet(true);
  int rc = open_stage(trial, &stage);
  if (rc == 0) {
    pass_deal(&stage, PASS_TRACED, ops < TRACED_MAX ? ops : TRACED_MAX, NULL);
    rc = pass_warm_up(&stage);
    rc = rc == 0 ? pass_prepare(&stage) : rc;
  }
  if (rc == 0) {
    trace_begin();
    (void)trial->workload->body(&stage);
    trace_end(pass_sums(&stage).done);
    rc = pass_verdict(&stage);
  }
  close_stage(&stage);
  return rc;
}

void trial_trace(const struct trial *trial, struct result *out) {
  struct trace_result traced;
  struct trial copy = *trial;
  out->syscalls_known = false;
  if (trace_count(traced_work, &copy, &traced, out->syscalls_why,
                  sizeof out->syscalls_why) == 0 &&
      traced.ops > 0) {
    out->syscalls_known = true;
    out->syscalls_per_op = (double)traced.calls / (double)traced.ops;
  }
}

/* ------------------------------------------------------------------ the row */

static void begin_result(const struct trial *trial,
                         const struct stage *stage,
                         struct result *out) {
  out->workload = trial->workload->name;
  out->params = trial->params;
  (void)snprintf(out->driver, sizeof out->driver, "%s",
                 stage->kind->driver(stage->pool));
  (void)snprintf(out->strategy, sizeof out->strategy, "%s",
                 stage->kind->strategy(stage->pool));
}

/* One of them has failed, unless it is memory for the pass that is out. */
static void take_fault(const struct stage *stages,
                       uint32_t n,
                       struct fault *fault) {
  for (uint32_t i = 0; i < n && !fault->set; i++) {
    if (stages[i].fault.set) {
      *fault = stages[i].fault;
    }
  }
}

int trial_run_together(const struct trial *trials,
                       uint32_t n,
                       struct result *out,
                       struct fault *fault) {
  struct stage stages[TRIALS_TOGETHER];
  uint32_t opened = 0;
  int rc = 0;
  alloc_quiet(true);
  while (opened < n && rc == 0) {
    rc = open_stage(&trials[opened], &stages[opened]);
    if (rc == 0) {
      begin_result(&trials[opened], &stages[opened], &out[opened]);
    }
    opened++;
  }
  rc = rc == 0 ? pass_plain(trials, stages, n, out) : rc;
  rc = rc == 0 ? pass_observed(trials, stages, n, out) : rc;
  if (rc != 0) {
    take_fault(stages, opened, fault);
  }
  for (uint32_t i = 0; i < opened; i++) {
    close_stage(&stages[i]);
  }
  return rc;
}

int trial_run(const struct trial *trial,
              struct result *out,
              struct fault *fault) {
  return trial_run_together(trial, 1, out, fault);
}

static void *park(void *arg) {
  for (;;) {
    (void)pause();
  }
  return arg;
}

void trial_park_thread(void) {
  pthread_t thread;
  if (bench_thread(&thread, park, NULL) == 0) {
    (void)pthread_detach(thread);
  }
}
