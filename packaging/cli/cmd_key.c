/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "exit_code.h"
#include "input.h"
#include "key_report.h"
#include "weirctl.h"

const char cmd_key_help[] =
    "Usage: weirctl key [OPTION]... CONNINFO [CONNINFO2]\n"
    "\n"
    "Prints the key of a connection string: what makes connections of two\n"
    "strings interchangeable, in canonical form and without secrets.  With\n"
    "two strings it prints both keys, then \"same\" if they would share a "
    "pool,\n"
    "or \"differ\" and each part in which they do: settings of the pool, what\n"
    "the driver goes by, secrets (by name only), and with Pool Key=exact how\n"
    "the string is written.  No connection is opened.\n"
    "\n"
    "CONNINFO may be @FILE, or - for WEIR_CONNINFO.\n"
    "\n"
    "      --json             one object: key; or keys, same, differences "
    "(kind,\n"
    "                         name, and values: null is the driver's default,\n"
    "                         or another driver's affair)\n"
    "      --same             exit code 11 unless the two would share a pool\n"
    "      --driver-dir=DIRS  look for drivers here first\n"
    "\n"
    "Exit codes: 0 the keys were printed, 2 wrong use, 3 a connection string "
    "is\n"
    "wrong, 4 its driver is, 11 they differ and --same was given.\n"
    "\n"
    "Examples:\n"
    "  weirctl key @prod.conn\n"
    "  weirctl key \"Driver=tds;Server=db;User ID=sa\" "
    "\"driver=TDS;uid=sa;data source=db\"\n"
    "  weirctl key --same @old.conn @new.conn && echo one pool\n";

enum {
  OPT_DRIVER_DIR = 256,
  OPT_JSON,
  OPT_SAME
};

struct how {
  bool json;
  bool same; /* that they are is what is asked */
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

/* What weir_conninfo_diff() says; NULL after a failure, about which a line has
 * been printed and *out_code says which. */
static char *differences(weir_h engine,
                         const struct side *sides,
                         int *out_code) {
  struct weir_error err = WEIR_ERROR_INIT;
  int32_t rc = WEIR_E_NOMEM;
  uint64_t cap = 1024;
  char *text = NULL;
  for (int i = 0; i < 2; i++) {
    char *bigger = realloc(text, cap);
    if (bigger == NULL) {
      rc = WEIR_E_NOMEM;
      break;
    }
    text = bigger;
    rc = weir_conninfo_diff(engine, sides[0].conninfo.p, sides[0].conninfo.len,
                            sides[1].conninfo.p, sides[1].conninfo.len, text,
                            &cap, &err);
    if (rc != WEIR_E_SPACE) {
      break;
    }
  }
  if (rc == WEIR_OK) {
    return text;
  }
  *out_code = diag_error(stderr, rc, &err, NULL);
  free(text);
  return NULL;
}

static int no_memory(void) {
  diag_line("no memory");
  return EXIT_CODE_OTHER;
}

static int compare(weir_h engine,
                   const struct side *sides,
                   const struct how *how) {
  const char *const keys[2] = {sides[0].key, sides[1].key};
  int code = EXIT_CODE_OK;
  char *text = differences(engine, sides, &code);
  if (text == NULL) {
    return code;
  }
  if (!key_report_two(keys, text, how->json)) {
    code = no_memory();
  } else if (how->same && *text != '\0') {
    code = EXIT_CODE_CHECK;
  }
  free(text);
  return code;
}

static int show(weir_h engine, int n, char **args, const struct how *how) {
  struct side sides[2] = {{.key = NULL}, {.key = NULL}};
  int code = EXIT_CODE_OK;
  for (int i = 0; i < n && code == EXIT_CODE_OK; i++) {
    code = fill_side(engine, args[i], &sides[i]);
  }
  if (code == EXIT_CODE_OK && n == 2) {
    code = compare(engine, sides, how);
  } else if (code == EXIT_CODE_OK && !key_report_one(sides[0].key, how->json)) {
    code = no_memory();
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
      {"json", no_argument, NULL, OPT_JSON},
      {"same", no_argument, NULL, OPT_SAME},
      {NULL, 0, NULL, 0},
  };
  const char *dirs = NULL;
  struct how how = {false, false};
  int c;
  while ((c = weirctl_option(argc, argv, ":h", names)) != -1) {
    if (c == 0) {
      return EXIT_CODE_USAGE;
    }
    if (c == 'h') {
      (void)fputs(cmd_key_help, stdout);
      return EXIT_CODE_OK;
    }
    if (c == OPT_DRIVER_DIR) {
      dirs = optarg;
    }
    how.json = how.json || c == OPT_JSON;
    how.same = how.same || c == OPT_SAME;
  }
  int n = argc - optind;
  if (n < 1 || n > 2) {
    return diag_usage("key",
                      "one or two connection strings are taken, %d "
                      "were given",
                      n);
  }
  if (how.same && n != 2) {
    return diag_usage("key", "--same takes two connection strings");
  }
  weir_h engine;
  int code = weirctl_engine(dirs, &engine);
  if (code == EXIT_CODE_OK) {
    code = show(engine, n, argv + optind, &how);
    weirctl_engine_end(engine);
  }
  return code;
}
