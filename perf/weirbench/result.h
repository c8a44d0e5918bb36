/* SPDX-License-Identifier: MIT */
/* result.h - the figures of one row. */
#ifndef WEIRBENCH_RESULT_H
#define WEIRBENCH_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "param.h"

#define RESULT_NAME_BYTES 64u

/* Times in ns. */
struct result {
  const char *workload;
  struct params params;
  char strategy[RESULT_NAME_BYTES];
  char driver[RESULT_NAME_BYTES];

  /* Of the plain pass. */
  uint32_t iterations;
  uint64_t ops_per_iteration;
  double wall_mean; /* of an iteration */
  uint64_t wall_p50;
  uint64_t wall_p99;
  uint64_t wall_max;
  double cpu; /* of an iteration, on average */
  double ops_per_s;
  uint64_t connects;     /* in all iterations */
  uint64_t connects_min; /* in one iteration */
  uint64_t connects_max;
  uint64_t timeouts;
  /* What the pool says of itself in this pass: 0 waits if it does not. */
  uint64_t granted_waits;
  double granted_mean;
  uint64_t granted_p50;
  uint64_t granted_p99;
  uint64_t granted_max;
  uint64_t granted_overtakes;

  /* Of the observed pass. */
  double allocs_per_op;
  double frees_per_op;
  uint32_t waiters_max;
  uint64_t waits; /* acquires that slept, of observed_ops */
  uint64_t observed_ops;
  double wait_mean;
  uint64_t wait_p50;
  uint64_t wait_p99;
  uint64_t wait_max;
  double utilisation;
  uint64_t overtakes;

  /* Of the traced pass. */
  bool syscalls_known;
  double syscalls_per_op;
  char syscalls_why[128]; /* why they are not known */
};

/* Writes one JSON object and a line end. */
void result_json(FILE *to, const struct result *r);

/* Writes a table's head; a row of it. */
void result_table_head(FILE *to);
void result_table_row(FILE *to, const struct result *r);

/* Writes the parameters as "connections=10 max_pool=200"; returns buf. */
const char *result_params(const struct params *params, char *buf, size_t cap);

#endif
