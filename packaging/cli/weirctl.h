/* SPDX-License-Identifier: MIT */
/* weirctl.h - the verbs.
 *
 * A verb's run() gets its own name as argv[0] and the arguments after it, and
 * returns an exit code.  Standard output belongs to its result, standard error
 * to everything else; main() writes out and checks standard output. */
#ifndef WEIRCTL_H
#define WEIRCTL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

int cmd_query(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_drivers(int argc, char **argv);
int cmd_key(int argc, char **argv);

/* The help texts, each ending in a new line. */
extern const char cmd_query_help[];
extern const char cmd_demo_help[];
extern const char cmd_drivers_help[];
extern const char cmd_key_help[];

/* "weirctl help settings": prints what a connection string may hold, the settings of
 * the engine's table (settings_data.h) and those of drivers; with json the former
 * only, one object on a line.  False: no memory. */
bool weirctl_help_settings(bool json);

/* The default of a setting of the engine under that Pool Strategy; NULL: there is no
 * such setting. */
const char *weirctl_setting_default(const char *name,
                                    size_t name_len,
                                    const char *strategy,
                                    size_t strategy_len);

/* Runs the program; main() in all but name, so that tests can link the rest
 * with a library that is not libweir. */
int weirctl_run(int argc, char **argv);

/* The next option, as getopt_long() tells it, but with 0 for a wrong one, about
 * which it has then printed a line; -1 at the end. */
int weirctl_option(int argc,
                   char **argv,
                   const char *letters,
                   const struct option *names);

/* Opens an engine that looks for drivers in dirs too (may be NULL), and has
 * Ctrl-C end it.  Returns EXIT_CODE_OK, or prints and returns the code. */
int weirctl_engine(const char *dirs, weir_h *out_engine);

/* Shuts an engine down within a second. */
void weirctl_engine_end(weir_h engine);

/* Opens a pool for somebody who looks on: a server that is down is an error at
 * once (Pool Blocking Period=always) unless the string says otherwise.  As
 * weir_pool_open(). */
int32_t weirctl_pool(weir_h engine,
                     const char *conninfo,
                     uint64_t len,
                     weir_h *out_pool,
                     struct weir_error *err);

/* The key of a connection string without its secrets, NUL-terminated, or NULL
 * after a failure, with *err filled and *out_rc set.  Owns: the result until
 * free(). */
char *weirctl_key(weir_h engine,
                  const char *conninfo,
                  uint64_t len,
                  int32_t *out_rc,
                  struct weir_error *err);

#endif
