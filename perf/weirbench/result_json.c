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

static void waits(FILE *to, const struct result *r) {
  (void)fprintf(to,
                "\"waiters_max\":%" PRIu32 ",\"waits\":%" PRIu64
                ",\"observed_ops\":%" PRIu64 ",\"wait_ns\":{\"p50\":%" PRIu64
                ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64
                "},\"utilisation\":%.4f,\"overtakes\":%" PRIu64 "}\n",
                r->waiters_max, r->waits, r->observed_ops, r->wait_p50,
                r->wait_p99, r->wait_max, r->utilisation, r->overtakes);
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
