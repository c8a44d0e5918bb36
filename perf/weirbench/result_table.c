/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "result.h"

/* The longest double in full and a unit. */
#define CELL_BYTES 352

const char *result_params(const struct params *params, char *buf, size_t cap) {
  buf[0] = '\0';
  for (unsigned i = 0; i < PARAM_COUNT; i++) {
    char part[64];
    if (params->used[i]) {
      (void)snprintf(part, sizeof part, " %s=%" PRIu32,
                     param_name((enum param)i), params->v[i]);
      (void)strncat(buf, buf[0] == '\0' ? part + 1 : part,
                    cap - strlen(buf) - 1);
    }
  }
  return buf;
}

/* A time with three digits and a unit. */
static const char *span(double ns, char buf[CELL_BYTES]) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  unsigned u = 0;
  while (u < 3 && ns >= 999.5) {
    ns /= 1000;
    u++;
  }
  if (u > 0 && ns < 9.995) {
    (void)snprintf(buf, CELL_BYTES, "%.2f %s", ns, units[u]);
  } else if (ns < 99.95) {
    (void)snprintf(buf, CELL_BYTES, "%.1f %s", ns, units[u]);
  } else {
    (void)snprintf(buf, CELL_BYTES, "%.0f %s", ns, units[u]);
  }
  return buf;
}

void result_table_head(FILE *to) {
  (void)fprintf(to, "%-24s %9s %9s %9s %9s %8s %8s %8s %9s %9s %6s\n", "",
                "wall", "p99", "cpu", "per op", "allocs", "syscalls",
                "connects", "wait p50", "wait p99", "used");
}

void result_table_row(FILE *to, const struct result *r) {
  char a[CELL_BYTES];
  char b[CELL_BYTES];
  char c[CELL_BYTES];
  char d[CELL_BYTES];
  char e[CELL_BYTES];
  char f[CELL_BYTES];
  char params[256];
  char calls[CELL_BYTES] = "unknown";
  double ops = r->ops_per_iteration == 0 ? 1 : (double)r->ops_per_iteration;
  if (r->syscalls_known) {
    (void)snprintf(calls, sizeof calls, "%.2f", r->syscalls_per_op);
  }
  (void)fprintf(to, "%s %s, %s, %s\n", r->workload, r->strategy, r->driver,
                result_params(&r->params, params, sizeof params));
  (void)fprintf(
      to,
      "  %-22" PRIu32 " %9s %9s %9s %9s %8.2f %8s %8" PRIu64 " %9s %9s %6.3f\n",
      r->iterations, span((double)r->wall_p50, a), span((double)r->wall_p99, b),
      span(r->cpu, c), span(r->wall_mean / ops, d), r->allocs_per_op, calls,
      r->connects, span((double)r->wait_p50, e), span((double)r->wait_p99, f),
      r->utilisation);
  if (!r->syscalls_known) {
    (void)fprintf(to, "  system calls were not counted: %s\n", r->syscalls_why);
  }
}
