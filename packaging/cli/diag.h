/* SPDX-License-Identifier: MIT */
/* diag.h - what weirctl says on standard error. */
#ifndef WEIRCTL_DIAG_H
#define WEIRCTL_DIAG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "weir.h"

/* A fresh error for a call into the library. */
#define WEIR_ERROR_INIT \
  ((struct weir_error){.struct_size = sizeof(struct weir_error)})

/* What was being tried when a call failed; any text may be NULL. */
struct diag_try {
  const char *doing;  /* "running the statement" */
  const char *target; /* the connection's key, which holds no secret */
  int64_t took_ns;    /* how long it took to fail; negative: do not say */
  bool told;          /* diag_notice() has printed this very error */
};

/* Prints "weirctl: " and a line. */
void diag_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints how a verb is used wrongly and where help is; returns
 * EXIT_CODE_USAGE.  verb may be NULL. */
int diag_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints a failed call: what happened, in which phase, what was tried, what to
 * do.  rc and err are as the library gave them.  Returns the exit code. */
int diag_error(FILE *to,
               int32_t rc,
               const struct weir_error *err,
               const struct diag_try *tried);

/* Prints the note that a statement may have run although it failed. */
void diag_maybe_executed(FILE *to);

/* Prints a server's message with its number, severity, state, line and procedure. */
void diag_notice(FILE *to, const struct weir_item *item);

/* Prints that the output cannot be written or memory is out; error is a
 * negative errno.  A broken pipe is not worth a word.  Returns the exit code. */
int diag_output(int error);

#endif
