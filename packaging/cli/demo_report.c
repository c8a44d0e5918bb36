/* SPDX-License-Identifier: MIT */
/* demo_report.c - weirctl demo's report for people. */
#include "demo_report.h"

#include <inttypes.h>
#include <string.h>

#include "chart.h"
#include "duration.h"

#define NOTE_BYTES 96u

static double ratio(int64_t a, int64_t b) {
  return (double)a / (double)(b > 0 ? b : 1);
}

static void print_counts(FILE *to,
                         const struct demo_report *report,
                         const struct demo_figures *f) {
  (void)fprintf(to,
                "Weir demo: %u threads ask a cold pool for a connection each, "
                "at once\n\n",
                report->threads);
  (void)fprintf(to,
                "  connections opened     %" PRIu64 " in %u round%s, each in a "
                "new engine\n",
                f->connects, report->rounds, report->rounds == 1 ? "" : "s");
  (void)fprintf(to, "  sessions               at most %u in a pool of %u",
                f->sessions_max, report->threads);
  if (f->sessions_distinct > 0) {
    (void)fprintf(to, ", %u distinct at the server", f->sessions_distinct);
  }
  (void)fprintf(to,
                "\n  query rows             %" PRIu64 " from %" PRIu64
                " statements\n\n",
                f->rows, f->statements);
}

static void print_opens(FILE *to,
                        const struct demo_report *report,
                        const struct demo_figures *f) {
  char a[32];
  (void)fprintf(to,
                "  one open               %-8s  median of %u, each in a "
                "new engine\n",
                duration_text(f->one_ns, a), report->n_alone);
  if (report->login_delay_ms > 0) {
    (void)fprintf(to, "%35sincl. the server's %u ms login delay\n", "",
                  report->login_delay_ms);
  }
  (void)fprintf(to, "  one after another      %-8s  ",
                duration_text(f->serial_ns, a));
  if (report->serial.opened == report->threads) {
    (void)fprintf(to, "all %u in one pool, measured whole\n", report->threads);
  } else {
    (void)fprintf(to, "%u in one pool, from the first %u\n", report->threads,
                  report->serial.opened);
  }
}

static void print_ramp(FILE *to,
                       const struct demo_report *report,
                       const struct demo_figures *f) {
  char a[32];
  char b[32];
  (void)fprintf(to, "  all at once            %-8s  ",
                duration_text(f->wall_ns, a));
  (void)fprintf(to, "wall time, median of %u (%s to %s)\n", report->rounds,
                duration_text(f->wall_min_ns, a),
                duration_text(f->wall_max_ns, b));
  (void)fprintf(to, "    to one after another %.1f times as fast\n",
                ratio(f->serial_ns, f->wall_ns));
  (void)fprintf(to, "    to one open          %.1f times as long\n",
                ratio(f->wall_ns, f->one_ns));
  (void)fprintf(to,
                "  all statements         %-8s  running and giving back, "
                "median of %u\n",
                duration_text(f->query_ns, a), report->rounds);
  if (f->soft > 0) {
    (void)fprintf(to,
                  "  soft connects          %-8s  on average, %" PRIu64
                  " by %u threads\n",
                  duration_text(f->soft_ns / (int64_t)f->soft, a), f->soft,
                  report->threads);
  }
}

static void print_goal(FILE *to,
                       const struct demo_report *report,
                       const struct demo_figures *f) {
  char a[32];
  (void)fprintf(to, "\n  processor time         client %s",
                duration_text(f->cpu.client, a));
  if (report->knows_server) {
    (void)fprintf(to, ", server %s", duration_text(f->cpu.server, a));
  }
  (void)fprintf(to, " per open%s\n",
                report->knows_server ? ""
                                     : " (--server-pid adds the server's)");
  (void)fprintf(
      to,
      "  goal                   %-8s  2.5 x one open + %u x processor "
      "time / 2\n",
      duration_text(f->goal_ns, a), report->threads);
  (void)fprintf(
      to, "    all at once took     %-8s  %s\n", duration_text(f->wall_ns, a),
      f->wall_ns <= f->goal_ns ? "met"
                               : "missed (other load on the machine counts)");
}

/* -------------------------------------------------------------- strategies */

/* What a bar is of, in words. */
static void title(const struct demo_report *report,
                  uint32_t workload,
                  char text[256]) {
  if (workload == DEMO_RAMP) {
    (void)snprintf(text, 256,
                   "Cold ramp: %u threads open %u connections, until the last "
                   "has its own",
                   report->compared, report->compared);
    return;
  }
  const struct demo_shape *shape = &report->shapes[workload - DEMO_RAPID];
  bool drained = shape->threads > shape->connections;
  (void)snprintf(text, 256,
                 "Rapid open and close: %u thread%s on %u open connection%s%s; "
                 "%s of one%s",
                 shape->threads, shape->threads == 1 ? "" : "s",
                 shape->connections, shape->connections == 1 ? "" : "s",
                 drained ? ", so that somebody always waits" : "",
                 shape->threads == 1 ? "processor time" : "time",
                 drained ? ", of all threads together" : "");
}

/* Three digits, also of a few nanoseconds. */
static const char *time_text(double ns, char text[32]) {
  if (ns < 99.95) {
    int tenths = (int)(ns * 10 + 0.5);
    (void)snprintf(text, 32, "%d.%d ns", tenths / 10, tenths % 10);
    return text;
  }
  return duration_text((int64_t)(ns + 0.5), text);
}

static void note(const struct demo_figure *figure, char text[NOTE_BYTES]) {
  char a[32];
  char b[32];
  if (figure->wait_below_ns == 0) {
    (void)snprintf(text, NOTE_BYTES, "%8s", time_text(figure->median_ns, a));
  } else {
    (void)snprintf(text, NOTE_BYTES, "%8s, waits below %s",
                   time_text(figure->median_ns, a),
                   duration_text(figure->wait_below_ns, b));
  }
}

static void print_chart(FILE *to,
                        const struct term *term,
                        const struct demo_report *report,
                        const struct demo_figures *f,
                        uint32_t workload) {
  struct chart_bar bars[DEMO_STRATEGIES];
  char notes[DEMO_STRATEGIES][NOTE_BYTES];
  char heading[256];
  title(report, workload, heading);
  (void)fputc('\n', to);
  chart_paragraph(to, term, "", 2, heading);
  for (uint32_t s = 0; s < DEMO_STRATEGIES; s++) {
    note(&f->of[workload][s], notes[s]);
    bars[s] = (struct chart_bar){
        .label = demo_strategy_name((enum demo_strategy)s),
        .ratio = f->of[workload][s].ratio,
        .note = notes[s],
        .base = s == DEMO_DIRECT,
    };
  }
  chart_bars(to, term, bars, DEMO_STRATEGIES);
}

static void print_why(FILE *to, const struct term *term) {
  (void)fputc('\n', to);
  for (uint32_t s = 0; s < DEMO_STRATEGIES; s++) {
    char label[32];
    (void)snprintf(label, sizeof label, "  %s",
                   demo_strategy_name((enum demo_strategy)s));
    chart_paragraph(to, term, label, 11,
                    demo_strategy_why((enum demo_strategy)s));
  }
}

static void print_strategies(FILE *to,
                             const struct term *term,
                             const struct demo_report *report,
                             const struct demo_figures *f) {
  char text[256];
  (void)snprintf(
      text, sizeof text,
      "The same on three strategies, in one process: only Pool "
      "Strategy= differs. Medians of %u interleaved round%s as ratios "
      "to direct's; shorter is better.",
      report->rounds, report->rounds == 1 ? "" : "s");
  (void)fputc('\n', to);
  chart_paragraph(to, term, "", 0, text);
  for (uint32_t w = 0; w < DEMO_WORKLOADS; w++) {
    print_chart(to, term, report, f, w);
  }
  print_why(to, term);
}

void demo_report_print(FILE *to,
                       const struct term *term,
                       const struct demo_report *report,
                       const struct demo_figures *figures) {
  print_counts(to, report, figures);
  print_opens(to, report, figures);
  print_ramp(to, report, figures);
  print_goal(to, report, figures);
  print_strategies(to, term, report, figures);
}
