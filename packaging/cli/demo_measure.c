/* SPDX-License-Identifier: MIT */
/* demo_measure.c - the order in which weirctl demo measures.
 *
 * A round has every workload under every strategy, one after another, and the next
 * round has the strategies the other way round, so that a machine that gets slower or
 * faster meanwhile does so for all of them. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "demo_report.h"
#include "diag.h"
#include "exit_code.h"
#include "interrupt.h"
#include "term.h"

/* Opens alone, of which the median counts. */
#define ALONE_TIMES      9u
/* Opening one after another is done whole if that is expected to take no
 * longer, else for as many as fit. */
#define SERIAL_LIMIT_NS  INT64_C(10000000000)
/* Likewise the ramps that are compared: legacy's is one after another. */
#define COMPARE_LIMIT_NS INT64_C(2000000000)
/* Descriptors beside one per connection. */
#define SPARE_FILES      100u

/* Each connection is a descriptor, and the usual limit is 1024. */
static void allow_files(uint32_t n) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < (rlim_t)n + SPARE_FILES) {
    limit.rlim_cur = limit.rlim_max;
    /* Where that is not enough, the connects will say so. */
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/* Says on a terminal what is going on; wipes it when text is NULL. */
static void progress(const char *text, uint32_t i, uint32_t n, const char *of) {
  if (isatty(STDERR_FILENO) == 0 || term_is_dumb()) {
    return;
  }
  (void)fputs("\r\033[K", stderr);
  if (text != NULL) {
    (void)fprintf(stderr, "%s %u of %u%s%s ...", text, i, n,
                  of == NULL ? "" : ", ", of == NULL ? "" : of);
  }
  (void)fflush(stderr);
}

static bool goes_on(int code) {
  return code == EXIT_CODE_OK && interrupt_code() == 0;
}

static int measure_alone(const struct demo_target *target,
                         struct demo_report *report) {
  int code = EXIT_CODE_OK;
  for (uint32_t i = 0; i < ALONE_TIMES && goes_on(code); i++) {
    progress("one open alone,", i + 1, ALONE_TIMES, NULL);
    code = demo_serial_run(target, 1, &report->alone[i]);
  }
  return code;
}

/* As many as are opened one after another in the time; five at least. */
static uint32_t fitting(uint32_t threads, int64_t one_ns, int64_t limit_ns) {
  int64_t fit = limit_ns / (one_ns > 0 ? one_ns : 1);
  fit = fit < 5 ? 5 : fit;
  return fit < threads ? (uint32_t)fit : threads;
}

static int measure_serial(const struct demo_target *target,
                          struct demo_report *report) {
  int64_t one = demo_report_one(report);
  progress("one after another, run", 1, 1, NULL);
  report->compared = fitting(report->threads, one, COMPARE_LIMIT_NS);
  return demo_serial_run(target, fitting(report->threads, one, SERIAL_LIMIT_NS),
                         &report->serial);
}

/* The first and the last strategy change places each round. */
static enum demo_strategy turn(uint32_t round, uint32_t i) {
  return (enum demo_strategy)(round % 2 == 0 ? i : DEMO_STRATEGIES - 1 - i);
}

static int measure_ramps(const struct demo_target *target,
                         const struct demo_report *report,
                         uint32_t at) {
  struct demo_round *round = &report->round[at];
  bool all = report->compared == report->threads;
  int code = EXIT_CODE_OK;
  for (uint32_t i = 0; i < DEMO_STRATEGIES && goes_on(code); i++) {
    enum demo_strategy s = turn(at, i);
    progress("cold ramp, round", at + 1, report->rounds, demo_strategy_name(s));
    code = demo_ramp_run(target, s, report->compared, &round->compared[s]);
  }
  round->ramp = round->compared[DEMO_DIRECT];
  if (!all && goes_on(code)) {
    progress("cold ramp, round", at + 1, report->rounds, "all threads");
    code = demo_ramp_run(target, DEMO_DIRECT, report->threads, &round->ramp);
  }
  return code;
}

static int measure_rapid(const struct demo_target *target,
                         const struct demo_report *report,
                         uint32_t at) {
  int code = EXIT_CODE_OK;
  for (uint32_t k = 0; k < DEMO_SHAPES; k++) {
    for (uint32_t i = 0; i < DEMO_STRATEGIES && goes_on(code); i++) {
      enum demo_strategy s = turn(at, i);
      progress("rapid open and close, round", at + 1, report->rounds,
               demo_strategy_name(s));
      code = demo_rapid_run(target, s, &report->shapes[k],
                            &report->round[at].rapid[k][s]);
    }
  }
  return code;
}

static int tell_interrupt(uint32_t round) {
  if (round == 0) {
    diag_line("interrupted before the first round");
  } else {
    diag_line("interrupted in round %u", round);
  }
  return interrupt_code();
}

static uint32_t processors(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 2;
  return n < 1 ? 1 : (uint32_t)n;
}

/* So few connections that the processors at work need more of them. */
static void choose_shapes(struct demo_shape *shapes) {
  uint32_t few = processors() / 2;
  few = few < 1 ? 1 : few;
  few = few > 8 ? 8 : few;
  shapes[0] = (struct demo_shape){.threads = 1, .connections = 4};
  shapes[1] = (struct demo_shape){.threads = few * 4 < 8 ? 8 : few * 4,
                                  .connections = few};
}

static int make_room(struct demo_report *report) {
  report->n_alone = ALONE_TIMES;
  report->alone = calloc(ALONE_TIMES, sizeof *report->alone);
  report->round = calloc(report->rounds, sizeof *report->round);
  return report->alone == NULL || report->round == NULL ? diag_output(-ENOMEM)
                                                        : EXIT_CODE_OK;
}

int demo_measure(const struct demo_target *target, struct demo_report *report) {
  uint32_t round = 0;
  int code = make_room(report);
  allow_files(report->threads);
  choose_shapes(report->shapes);
  code = goes_on(code) ? measure_alone(target, report) : code;
  code = goes_on(code) ? measure_serial(target, report) : code;
  while (round < report->rounds && goes_on(code)) {
    code = measure_ramps(target, report, round);
    code = goes_on(code) ? measure_rapid(target, report, round) : code;
    round++;
  }
  progress(NULL, 0, 0, NULL);
  return interrupt_code() != 0 ? tell_interrupt(round) : code;
}

void demo_report_free(struct demo_report *report) {
  free(report->alone);
  free(report->round);
  report->alone = NULL;
  report->round = NULL;
}
