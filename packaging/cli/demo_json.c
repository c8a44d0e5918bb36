/* SPDX-License-Identifier: MIT */
/* demo_json.c - weirctl demo's report as one JSON object in a line.  Its texts are
 * names of ours, so that nothing needs escaping. */
#include <inttypes.h>

#include "demo_report.h"

static const char *const workloads[DEMO_WORKLOADS] = {
    "cold_ramp", "rapid_one_thread", "rapid_more_threads_than_connections"};

static void put_ramp(FILE *to,
                     const struct demo_report *report,
                     const struct demo_figures *f) {
  (void)fprintf(to,
                "\"threads\":%u,\"rounds\":%u,\"connections_opened\":%" PRIu64
                ",\"sessions_max\":%u,\"sessions_distinct\":%u,"
                "\"statements\":%" PRIu64 ",\"rows\":%" PRIu64,
                report->threads, report->rounds, f->connects, f->sessions_max,
                f->sessions_distinct, f->statements, f->rows);
  (void)fprintf(to,
                ",\"one_open_ns\":%" PRId64 ",\"one_after_another_ns\":%" PRId64
                ",\"one_after_another_measured\":%u"
                ",\"all_at_once_ns\":{\"median\":%" PRId64 ",\"min\":%" PRId64
                ",\"max\":%" PRId64 "}",
                f->one_ns, f->serial_ns, report->serial.opened, f->wall_ns,
                f->wall_min_ns, f->wall_max_ns);
  (void)fprintf(to, ",\"cpu_of_one_open_ns\":{\"client\":%" PRId64,
                f->cpu.client);
  if (report->knows_server) {
    (void)fprintf(to, ",\"server\":%" PRId64, f->cpu.server);
  }
  (void)fprintf(to, "},\"goal_ns\":%" PRId64 ",\"goal_met\":%s", f->goal_ns,
                f->wall_ns <= f->goal_ns ? "true" : "false");
}

static void put_strategy(FILE *to, const struct demo_figure *figure) {
  (void)fprintf(to,
                "\"median_ns\":%.1f,\"min_ns\":%.1f,\"max_ns\":%.1f,"
                "\"ratio_to_direct\":%.4f,\"wait_below_ns\":%" PRId64 "}",
                figure->median_ns, figure->min_ns, figure->max_ns,
                figure->ratio, figure->wait_below_ns);
}

static void put_workload(FILE *to,
                         const struct demo_report *report,
                         const struct demo_figures *f,
                         uint32_t w) {
  struct demo_shape shape = {report->compared, report->compared};
  if (w != DEMO_RAMP) {
    shape = report->shapes[w - DEMO_RAPID];
  }
  (void)fprintf(to,
                "{\"workload\":\"%s\",\"threads\":%u,\"connections\":%u,"
                "\"time\":\"%s\",\"strategies\":[",
                workloads[w], shape.threads, shape.connections,
                w != DEMO_RAMP && shape.threads == 1 ? "processor" : "wall");
  for (uint32_t s = 0; s < DEMO_STRATEGIES; s++) {
    (void)fprintf(to, "%s{\"strategy\":\"%s\",", s == 0 ? "" : ",",
                  demo_strategy_name((enum demo_strategy)s));
    put_strategy(to, &f->of[w][s]);
  }
  (void)fputs("]}", to);
}

void demo_report_json(FILE *to,
                      const struct demo_report *report,
                      const struct demo_figures *figures,
                      bool passed) {
  (void)fputc('{', to);
  put_ramp(to, report, figures);
  (void)fputs(",\"comparison\":[", to);
  for (uint32_t w = 0; w < DEMO_WORKLOADS; w++) {
    (void)fputs(w == 0 ? "" : ",", to);
    put_workload(to, report, figures, w);
  }
  (void)fprintf(to, "],\"lead_judged\":%s,\"passed\":%s}\n",
                figures->judged ? "true" : "false", passed ? "true" : "false");
}
