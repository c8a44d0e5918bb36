/* SPDX-License-Identifier: MIT */
/* exit_code.h - what weirctl's exit status says. */
#ifndef WEIRCTL_EXIT_CODE_H
#define WEIRCTL_EXIT_CODE_H

#include <stdint.h>
#include <stdio.h>

#include "weir.h"

enum {
  EXIT_CODE_OK = 0,
  EXIT_CODE_STATEMENT = 1,
  EXIT_CODE_USAGE = 2,
  EXIT_CODE_CONNINFO = 3,
  EXIT_CODE_DRIVER = 4,
  EXIT_CODE_NETWORK = 5,
  EXIT_CODE_TLS = 6,
  EXIT_CODE_LOGIN = 7,
  EXIT_CODE_TIMEOUT = 8,
  EXIT_CODE_OTHER = 9,
  EXIT_CODE_BUSY = 10,
  EXIT_CODE_CHECK = 11,
  EXIT_CODE_INTERRUPTED = 130,
  EXIT_CODE_PIPE = 141,
  EXIT_CODE_TERMINATED = 143,
};

/* The exit status for a failed call: rc is its result, err what it filled,
 * which may be all zero but for struct_size. */
int exit_code_of(int32_t rc, const struct weir_error *err);

/* Writes the list of codes, as "weirctl help exit-codes" shows it. */
void exit_code_help(FILE *to);

#endif
