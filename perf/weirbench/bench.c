/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir.h"

#include "options.h"
#include "trial.h"

#define ROWS_MAX       64u
#define TRIALS_MAX     (ROWS_MAX * TRIALS_TOGETHER)
#define OBSERVED       5u
#define OBSERVED_QUICK 2u

/* The rows of one run; of each row a trial with each strategy, side by side. */
struct run {
  const struct options *options;
  struct trial trials[TRIALS_MAX];
  struct result results[TRIALS_MAX];
  uint32_t n;
  uint32_t together;
  uint32_t at; /* the trial being run, or the first of those being run */
  bool terminal;
};

static int list(void) {
  uint32_t n;
  const struct workload *const *all = workload_list(&n);
  for (uint32_t i = 0; i < n; i++) {
    (void)printf("%-22s %s\n", all[i]->name, all[i]->what);
  }
  return 0;
}

static int version(void) {
  uint32_t v = weir_version();
  (void)printf("weirbench %d.%d.%d, libweir %u.%u.%u\n", WEIR_VERSION_MAJOR,
               WEIR_VERSION_MINOR, WEIR_VERSION_PATCH, v >> 16, v >> 8 & 255U,
               v & 255U);
  return 0;
}

/* On a terminal, one line that is overwritten. */
static void show(const struct run *run, const char *doing) {
  char params[256];
  if (run->terminal) {
    const struct trial *t = &run->trials[run->at];
    (void)fprintf(stderr, "\r\033[K%s %s: %s", t->workload->name,
                  result_params(&t->params, params, sizeof params), doing);
  }
}

static void progress(void *arg, uint32_t done, uint32_t all) {
  char text[64];
  (void)snprintf(text, sizeof text, "%u of %u", done + 1, all);
  show(arg, text);
}

static void wipe(const struct run *run) {
  if (run->terminal) {
    (void)fputs("\r\033[K", stderr);
  }
}

static struct trial trial_of(struct run *run,
                             const struct params *row,
                             const char *strategy) {
  const struct options *o = run->options;
  return (struct trial){
      .kind = &pool_weir,
      .config = {.conninfo = o->conninfo, .strategy = strategy},
      .workload = o->workload,
      .params = *row,
      .iterations =
          o->quick ? o->workload->iterations_quick : o->workload->iterations,
      .observed = o->quick ? OBSERVED_QUICK : OBSERVED,
      .progress = progress,
      .progress_arg = run,
  };
}

static int plan(struct run *run, struct fault *fault) {
  const struct options *o = run->options;
  struct params rows[ROWS_MAX];
  uint32_t n = workload_rows(o->workload, &o->sets, rows, ROWS_MAX, fault);
  run->together = o->n_strategies == 0 ? 1 : o->n_strategies;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < run->together; k++) {
      run->trials[run->n++] = trial_of(run, &rows[i], o->strategies[k]);
    }
  }
  return n == 0 ? -1 : 0;
}

/* The children that are traced are forked while there is no other thread. */
static void trace_all(struct run *run) {
  for (run->at = 0; run->at < run->n; run->at++) {
    show(run, "counting system calls");
    trial_trace(&run->trials[run->at], &run->results[run->at]);
  }
}

static void print(const struct run *run, uint32_t i) {
  if (run->options->json) {
    result_json(stdout, &run->results[i]);
    return;
  }
  if (i == 0) {
    result_table_head(stdout);
  }
  result_table_row(stdout, &run->results[i]);
}

static int run_all(struct run *run, struct fault *fault) {
  for (run->at = 0; run->at < run->n; run->at += run->together) {
    if (trial_run_together(&run->trials[run->at], run->together,
                           &run->results[run->at], fault) != 0) {
      return -1;
    }
    wipe(run);
    for (uint32_t k = 0; k < run->together; k++) {
      print(run, run->at + k);
    }
    (void)fflush(stdout);
  }
  return 0;
}

/* One acquire: what is wrong with the request, or with the server, shows before
 * anything is run. */
static int try_out(const struct trial *trial, struct fault *fault) {
  struct pool_config config = trial->config;
  void *pool;
  uint64_t lease;
  config.max_pool = 1;
  if (pool_weir.open(&config, &pool, fault) != 0) {
    return -1;
  }
  int rc = pool_weir.take(pool, &lease, fault) == POOL_OK
               ? pool_weir.give(pool, lease, fault)
               : -1;
  pool_weir.close(pool);
  return rc;
}

/* Each strategy, by the first row. */
static int try_all(const struct run *run, struct fault *fault) {
  int rc = 0;
  for (uint32_t i = 0; i < run->together && rc == 0; i++) {
    rc = try_out(&run->trials[i], fault);
  }
  return rc;
}

static int run_workload(const struct options *options, struct fault *fault) {
  struct run *run = calloc(1, sizeof *run);
  if (run == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  run->options = options;
  run->terminal = isatty(STDERR_FILENO) == 1;
  int rc = plan(run, fault);
  rc = rc == 0 ? try_all(run, fault) : rc;
  if (rc == 0) {
    trace_all(run);
    trial_park_thread();
  }
  rc = rc == 0 ? run_all(run, fault) : rc;
  wipe(run);
  free(run);
  return rc;
}

static int dispatch(const struct options *options, struct fault *fault) {
  switch (options->verb) {
  case VERB_HELP:
    return fputs(options_help, stdout) < 0 ? -1 : 0;
  case VERB_VERSION:
    return version();
  case VERB_LIST:
    return list();
  case VERB_RUN:
  default:
    return run_workload(options, fault);
  }
}

int bench_main(int argc, char **argv) {
  struct options options;
  struct fault fault = {.set = false};
  if (options_read(argc, argv, &options, &fault) != 0 ||
      dispatch(&options, &fault) != 0) {
    return fault_tell(&fault);
  }
  if (fflush(stdout) != 0 || ferror(stdout) != 0) {
    (void)fputs("weirbench: the output could not be written\n", stderr);
    return 1;
  }
  return 0;
}
