/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MAX         64u
#define OBSERVED         2u
#define CONNECT_DELAY_NS INT64_C(5000000)

bool compare_takes_part(const struct compare_row *row, uint32_t pool) {
  return (row->part->pools & 1u << pool) != 0 && plan_pools[pool].kind != NULL;
}

/* The rows that a part of the plan leaves open. */
static uint32_t open_rows(const struct plan_part *part,
                          struct params *rows,
                          struct fault *fault) {
  struct param_sets sets;
  memset(&sets, 0, sizeof sets);
  for (uint32_t i = 0; i < PLAN_SETS && part->sets[i] != NULL; i++) {
    if (param_set(&sets, part->sets[i], fault) != 0) {
      return 0;
    }
  }
  return workload_rows(part->workload, &sets, rows, ROWS_MAX, fault);
}

static int add_row(struct compare *c,
                   const struct plan_part *part,
                   const struct params *params) {
  struct compare_row *row = &c->rows[c->n_rows];
  row->part = part;
  row->params = *params;
  row->results = calloc((size_t)POOLS * c->rounds, sizeof *row->results);
  c->n_rows += row->results != NULL ? 1 : 0;
  return row->results != NULL ? 0 : -1;
}

int compare_init(struct compare *c, struct fault *fault) {
  uint32_t n;
  const struct plan_part *parts = plan_parts(&n);
  c->n_rows = 0;
  c->rows = calloc(ROWS_MAX, sizeof *c->rows);
  for (uint32_t i = 0; i < n && c->rows != NULL; i++) {
    struct params rows[ROWS_MAX];
    uint32_t more = open_rows(&parts[i], rows, fault);
    for (uint32_t k = 0; k < more && c->n_rows < ROWS_MAX; k++) {
      if (add_row(c, &parts[i], &rows[k]) != 0) {
        fault_set(fault, "no memory");
      }
    }
  }
  if (c->rows == NULL) {
    fault_set(fault, "no memory");
  }
  return fault->set ? -1 : 0;
}

void compare_fini(struct compare *c) {
  for (uint32_t i = 0; i < c->n_rows; i++) {
    free(c->rows[i].results);
  }
  free(c->rows);
}

static struct trial trial_of(const struct compare *c,
                             const struct compare_row *row,
                             uint32_t pool) {
  return (struct trial){
      .kind = plan_pools[pool].kind,
      .config = {.conninfo = c->conninfo, .connect_delay_ns = CONNECT_DELAY_NS},
      .workload = row->part->workload,
      .params = row->params,
      .iterations = row->part->workload->iterations_quick,
      .observed = OBSERVED,
  };
}

static void show(const char *doing, const struct compare_row *row) {
  char params[256];
  if (isatty(STDERR_FILENO) == 1) {
    (void)fprintf(stderr, "\r\033[K%s: %s %s", doing, row->part->workload->name,
                  result_params(&row->params, params, sizeof params));
  }
}

static void trace_row(const struct compare *c, struct compare_row *row) {
  show("counting system calls", row);
  for (uint32_t p = 0; p < POOLS; p++) {
    struct trial trial = trial_of(c, row, p);
    struct result *first = &row->results[p * c->rounds];
    if (!compare_takes_part(row, p)) {
      continue;
    }
    trial_trace(&trial, first);
    for (uint32_t r = 1; r < c->rounds; r++) {
      first[r] = *first;
    }
  }
}

static int run_row(const struct compare *c,
                   struct compare_row *row,
                   uint32_t round,
                   struct fault *fault) {
  char doing[32];
  (void)snprintf(doing, sizeof doing, "round %u of %u", round + 1, c->rounds);
  show(doing, row);
  for (uint32_t i = 0; i < POOLS; i++) {
    uint32_t p = round % 2 == 0 ? i : POOLS - 1 - i;
    struct trial trial = trial_of(c, row, p);
    if (compare_takes_part(row, p) &&
        trial_run(&trial, &row->results[p * c->rounds + round], fault) != 0) {
      return -1;
    }
  }
  return 0;
}

int compare_run(struct compare *c, struct fault *fault) {
  for (uint32_t i = 0; i < c->n_rows; i++) {
    trace_row(c, &c->rows[i]);
  }
  trial_park_thread();
  for (uint32_t round = 0; round < c->rounds; round++) {
    for (uint32_t i = 0; i < c->n_rows; i++) {
      if (run_row(c, &c->rows[i], round, fault) != 0) {
        return -1;
      }
    }
  }
  if (isatty(STDERR_FILENO) == 1) {
    (void)fputs("\r\033[K", stderr);
  }
  return 0;
}

/* ---------------------------------------------------------------- figures */

static int by_value(const void *a, const void *b) {
  const double *x = a;
  const double *y = b;
  return (*x > *y) - (*x < *y);
}

static struct spread spread_of(double *values, uint32_t n) {
  qsort(values, n, sizeof *values, by_value);
  return (struct spread){
      .median =
          n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
      .min = values[0],
      .max = values[n - 1],
  };
}

static double value(const struct compare *c,
                    const struct compare_row *row,
                    uint32_t pool,
                    uint32_t round,
                    const struct figure *figure) {
  return figure->of(&row->results[pool * c->rounds + round]);
}

#define ROUNDS_MAX 64u

struct spread compare_figure(const struct compare *c,
                             const struct compare_row *row,
                             uint32_t pool,
                             const struct figure *figure) {
  double values[ROUNDS_MAX];
  for (uint32_t r = 0; r < c->rounds; r++) {
    values[r] = value(c, row, pool, r, figure);
  }
  return spread_of(values, c->rounds);
}

struct spread compare_ratio(const struct compare *c,
                            const struct compare_row *row,
                            uint32_t pool,
                            uint32_t other,
                            const struct figure *figure) {
  double values[ROUNDS_MAX];
  for (uint32_t r = 0; r < c->rounds; r++) {
    double base = value(c, row, other, r, figure);
    values[r] = base > 0 ? value(c, row, pool, r, figure) / base : 0;
  }
  return spread_of(values, c->rounds);
}
