/* SPDX-License-Identifier: MIT */
/* demo_report.h - what weirctl demo prints at its end. */
#ifndef WEIRCTL_DEMO_REPORT_H
#define WEIRCTL_DEMO_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "demo.h"

struct demo_report {
  uint32_t threads;
  uint32_t rounds;
  uint32_t n_alone;
  bool knows_server;
  uint32_t login_delay_ms;   /* the server's, as far as it was told; 0: none */
  struct demo_serial *alone; /* n_alone of them, one connection each */
  struct demo_serial serial;
  struct demo_ramp *ramps; /* rounds of them */
};

/* The median time of one open. */
int64_t demo_report_one(const struct demo_report *report);

/* The time that the ramp should not exceed: 2.5 times one open and the
 * handshakes' processor time spread over two processors. */
int64_t demo_report_goal(int64_t one_ns, uint32_t n, int64_t cpu_ns);

/* Prints the report.  Returns EXIT_CODE_OK, or EXIT_CODE_CHECK when a pool had
 * or opened more sessions than it may, or handed one out twice. */
int demo_report_print(FILE *to, const struct demo_report *report);

#endif
