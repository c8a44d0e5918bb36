/* SPDX-License-Identifier: MIT */
/* input.h - what the command line names: connection strings and SQL.
 *
 * Each function returns EXIT_CODE_OK, or says on standard error what is wrong
 * and returns the exit code. */
#ifndef WEIRCTL_INPUT_H
#define WEIRCTL_INPUT_H

#include <stdbool.h>

#include "text_buf.h"

#define INPUT_CONNINFO_MAX ((size_t)64 << 10)
#define INPUT_SQL_MAX      ((size_t)64 << 20)

/* The environment variable read when there is no -c. */
#define INPUT_CONNINFO_ENV "WEIR_CONNINFO"

/* Takes a connection string from the argument arg: the string itself, or @FILE
 * for the text of a file without the line ends at its end and without lines that
 * begin with #.  NULL takes the environment variable; may_give: the verb has a -c
 * that could have been given instead.  The argument is overwritten in place, so that ps stops
 * showing a password; @FILE never shows it.  Warns when others can read FILE.
 * Owns: *out_conninfo until text_buf_wipe(). */
int input_conninfo(const char *verb,
                   char *arg,
                   bool may_give,
                   struct text_buf *out_conninfo);

/* Takes SQL from an argument ("-" is standard input) or from a file ("-"
 * likewise); exactly one of them must not be NULL.  It must be UTF-8; a byte
 * order mark at its start is dropped.  Owns: *out_sql until text_buf_free(). */
int input_sql(const char *verb,
              const char *arg,
              const char *file,
              struct text_buf *out_sql);

#endif
