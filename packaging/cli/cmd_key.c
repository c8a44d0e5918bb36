/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "exit_code.h"
#include "input.h"
#include "key_parts.h"
#include "weirctl.h"

const char cmd_key_help[] =
    "Usage: weirctl key [--driver-dir=DIRS] CONNINFO [CONNINFO2]\n"
    "\n"
    "Prints the key of a connection string: what makes connections of two\n"
    "strings interchangeable, in canonical form and without secrets.  With "
    "two\n"
    "strings it prints both, then \"same\" if they would share a pool, or\n"
    "\"differ\" and in which parts.  No connection is opened.\n"
    "\n"
    "CONNINFO may be @FILE, or - for WEIR_CONNINFO.\n"
    "\n"
    "      --driver-dir=DIRS  look for drivers here first\n"
    "\n"
    "Examples:\n"
    "  weirctl key @prod.conn\n"
    "  weirctl key \"Driver=tds;Server=db;User ID=sa\" "
    "\"driver=TDS;uid=sa;data source=db\"\n";

enum {
  OPT_DRIVER_DIR = 256
};

struct side {
  struct text_buf conninfo;
  char *key;
};

/* Reads the string and makes its key. */
static int fill_side(weir_h engine, char *arg, struct side *side) {
  char *from = strcmp(arg, "-") == 0 ? NULL : arg;
  int code = input_conninfo("key", from, false, &side->conninfo);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  struct weir_error err = WEIR_ERROR_INIT;
  int32_t rc;
  side->key =
      weirctl_key(engine, side->conninfo.p, side->conninfo.len, &rc, &err);
  return side->key != NULL ? EXIT_CODE_OK : diag_error(stderr, rc, &err, NULL);
}

/* Opens the string's pool without letting it connect: of a setting that comes
 * twice the last counts. */
static int open_pool(weir_h engine, struct side *side, weir_h *out_pool) {
  static const char quiet[] = ";Min Pool Size=0";
  struct weir_error err = WEIR_ERROR_INIT;
  struct text_buf text = {0};
  text_buf_add_fill(&text, '\0', side->conninfo.len + sizeof quiet);
  text.len = 0;
  text_buf_add(&text, side->conninfo.p, side->conninfo.len);
  text_buf_add_str(&text, quiet);
  int32_t rc = text.failed
                   ? WEIR_E_NOMEM
                   : weir_pool_open(engine, text.p, text.len, out_pool, &err);
  text_buf_wipe(&text);
  return rc == WEIR_OK ? EXIT_CODE_OK : diag_error(stderr, rc, &err, NULL);
}

/* The keys' texts hold neither secrets nor, when exact, the wording, so only the
 * engine can tell whether those are equal: for equal keys it answers with the same pool. */
static int compare_secrets(weir_h engine, struct side *sides, bool *out_same) {
  weir_h pools[2] = {0, 0};
  int code = open_pool(engine, &sides[0], &pools[0]);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  code = open_pool(engine, &sides[1], &pools[1]);
  if (code == EXIT_CODE_OK) {
    *out_same = pools[0] == pools[1];
    (void)weir_pool_close(pools[1]);
  }
  (void)weir_pool_close(pools[0]);
  return code;
}

static int compare(weir_h engine, struct side *sides) {
  (void)printf("1  %s\n2  %s\n", sides[0].key, sides[1].key);
  if (strcmp(sides[0].key, sides[1].key) != 0) {
    (void)puts("differ");
    (void)key_parts_diff(stdout, sides[0].key, sides[1].key);
    return EXIT_CODE_OK;
  }
  bool same = false;
  int code = compare_secrets(engine, sides, &same);
  if (code == EXIT_CODE_OK) {
    (void)puts(same ? "same"
                    : "differ\n  in what a key does not show: a secret, or "
                      "with Pool Key=exact the wording");
  }
  return code;
}

static int show(weir_h engine, int n, char **args) {
  struct side sides[2] = {{.key = NULL}, {.key = NULL}};
  int code = EXIT_CODE_OK;
  for (int i = 0; i < n && code == EXIT_CODE_OK; i++) {
    code = fill_side(engine, args[i], &sides[i]);
  }
  if (code == EXIT_CODE_OK && n == 2) {
    code = compare(engine, sides);
  } else if (code == EXIT_CODE_OK) {
    (void)puts(sides[0].key);
  }
  for (int i = 0; i < n; i++) {
    text_buf_wipe(&sides[i].conninfo);
    free(sides[i].key);
  }
  return code;
}

int cmd_key(int argc, char **argv) {
  static const struct option names[] = {
      {"driver-dir", required_argument, NULL, OPT_DRIVER_DIR},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  const char *dirs = NULL;
  int c;
  while ((c = weirctl_option(argc, argv, ":h", names)) != -1) {
    if (c == 0) {
      return EXIT_CODE_USAGE;
    }
    if (c == 'h') {
      (void)fputs(cmd_key_help, stdout);
      return EXIT_CODE_OK;
    }
    dirs = optarg;
  }
  int n = argc - optind;
  if (n < 1 || n > 2) {
    return diag_usage("key",
                      "one or two connection strings are taken, %d "
                      "were given",
                      n);
  }
  weir_h engine;
  int code = weirctl_engine(dirs, &engine);
  if (code == EXIT_CODE_OK) {
    code = show(engine, n, argv + optind);
    weirctl_engine_end(engine);
  }
  return code;
}
