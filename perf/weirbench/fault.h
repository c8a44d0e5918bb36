/* SPDX-License-Identifier: MIT */
/* fault.h - what went wrong first, in words. */
#ifndef WEIRBENCH_FAULT_H
#define WEIRBENCH_FAULT_H

#include <stdbool.h>

/* All zero: nothing went wrong. */
struct fault {
  bool set;
  bool usage; /* what the user asked for is wrong: exit status 2 */
  char text[1200];
};

/* Notes a failure; the first one stays. */
void fault_set(struct fault *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a wrong request. */
void fault_usage(struct fault *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints "weirbench: " and the text on standard error; returns the exit
 * status: 2 for a wrong request, else 1. */
int fault_tell(const struct fault *f);

#endif
