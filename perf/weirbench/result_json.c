/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "result.h"

/* Names come from a connection string: anything may be in them. */
static void text(FILE *to, const char *s) {
  (void)fputc('"', to);
  for (; *s != '\0'; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') {
      (void)fprintf(to, "\\%c", c);
    } else if (c < 0x20) {
      (void)fprintf(to, "\\u%04x", (unsigned)c);
    } else {
      (void)fputc(c, to);
    }
  }
  (void)fputc('"', to);
}

static void params(FILE *to, const struct params *p) {
  const char *between = "";
  (void)fputs("\"params\":{", to);
  for (unsigned i = 0; i < PARAM_COUNT; i++) {
    if (p->used[i]) {
      (void)fprintf(to, "%s\"%s\":%" PRIu32, between, param_name((enum param)i),
                    p->v[i]);
      between = ",";
    }
  }
  (void)fputs("},", to);
}

static void plain(FILE *to, const struct result *r) {
  (void)fprintf(to,
                "\"iterations\":%" PRIu32 ",\"ops_per_iteration\":%" PRIu64
                ",\"wall_ns\":{\"mean\":%.0f,\"p50\":%" PRIu64
                ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "},\"cpu_ns\":%.0f,",
                r->iterations, r->ops_per_iteration, r->wall_mean, r->wall_p50,
                r->wall_p99, r->wall_max, r->cpu);
}

static void calls(FILE *to, const struct result *r) {
  (void)fprintf(to, "\"allocs_per_op\":%.4f,\"frees_per_op\":%.4f,",
                r->allocs_per_op, r->frees_per_op);
  if (r->syscalls_known) {
    (void)fprintf(to, "\"syscalls_per_op\":%.4f,", r->syscalls_per_op);
  } else {
    (void)fputs("\"syscalls_per_op\":null,\"syscalls_why\":", to);
    text(to, r->syscalls_why);
    (void)fputc(',', to);
  }
}

static void counts(FILE *to, const struct result *r) {
  (void)fprintf(to,
                "\"ops_per_s\":%.1f,\"connects\":%" PRIu64
                ",\"connects_per_iteration\":{\"min\":%" PRIu64
                ",\"max\":%" PRIu64 "},\"timeouts\":%" PRIu64 ",",
                r->ops_per_s, r->connects, r->connects_min, r->connects_max,
                r->timeouts);
}

static void wait_times(FILE *to,
                       const char *name,
                       double mean,
                       uint64_t p50,
                       uint64_t p99,
                       uint64_t max) {
  (void)fprintf(to,
                "\"%s\":{\"mean\":%.0f,\"p50\":%" PRIu64 ",\"p99\":%" PRIu64
                ",\"max\":%" PRIu64 "},",
                name, mean, p50, p99, max);
}

/* As the granter stamped them where it tells, else as the callers did. */
static void waits(FILE *to, const struct result *r) {
  bool granted = r->granted_waits > 0;
  (void)fprintf(to,
                "\"waiters_max\":%" PRIu32 ",\"waits\":%" PRIu64
                ",\"observed_ops\":%" PRIu64 ",",
                r->waiters_max, r->waits, r->observed_ops);
  if (granted) {
    wait_times(to, "wait_ns", r->granted_mean, r->granted_p50, r->granted_p99,
               r->granted_max);
  } else {
    wait_times(to, "wait_ns", r->wait_mean, r->wait_p50, r->wait_p99,
               r->wait_max);
  }
  wait_times(to, "caller_wait_ns", r->wait_mean, r->wait_p50, r->wait_p99,
             r->wait_max);
  (void)fprintf(to,
                "\"wait_by\":\"%s\",\"utilisation\":%.4f,\"overtakes\":%" PRIu64
                ",\"caller_overtakes\":%" PRIu64 "}\n",
                granted ? "granter" : "caller", r->utilisation,
                granted ? r->granted_overtakes : r->overtakes, r->overtakes);
}

void result_json(FILE *to, const struct result *r) {
  (void)fputs("{\"workload\":", to);
  text(to, r->workload);
  (void)fputc(',', to);
  params(to, &r->params);
  (void)fputs("\"strategy\":", to);
  text(to, r->strategy);
  (void)fputs(",\"driver\":", to);
  text(to, r->driver);
  (void)fputc(',', to);
  plain(to, r);
  calls(to, r);
  counts(to, r);
  waits(to, r);
}
