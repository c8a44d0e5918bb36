/* SPDX-License-Identifier: MIT */
#include "query_args.h"

#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "duration.h"
#include "exit_code.h"
#include "weirctl.h"

enum {
  OPT_TABLE = 256,
  OPT_JSON,
  OPT_CSV,
  OPT_MAX_WIDTH,
  OPT_DRIVER_DIR,
  OPT_PARAM,
  OPT_OUT,
  OPT_PREPARED
};

static int take_max_width(struct query_args *args, const char *text) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > 1000000) {
    return diag_usage("query",
                      "--max-width: \"%s\" is not a number from 0 to "
                      "1000000",
                      text);
  }
  args->max_width = n;
  return EXIT_CODE_OK;
}

static int take_timeout(struct query_args *args, const char *text) {
  if (duration_parse(text, &args->timeout_ns) == 0) {
    return EXIT_CODE_OK;
  }
  return diag_usage("query",
                    "--timeout: \"%s\" is not a time such as 2, 500ms "
                    "or 1min",
                    text);
}

static int take_param(struct query_args *args, const char *text, bool out) {
  const char *wanted = params_add(&args->params, text, out);
  if (wanted == NULL) {
    return EXIT_CODE_OK;
  }
  /* The value is not shown: it may be a secret. */
  return diag_usage("query", "%s: \"%.*s\": %s", out ? "--out" : "--param",
                    (int)strcspn(text, "="), text, wanted);
}

static int take_option(struct query_args *args, int c) {
  switch (c) {
  case 'c':
    args->conninfo = optarg;
    break;
  case 'f':
    args->file = optarg;
    break;
  case 't':
    return take_timeout(args, optarg);
  case 'v':
    args->verbose = true;
    break;
  case 'q':
    args->quiet = true;
    break;
  case 'h':
    args->help = true;
    break;
  case OPT_TABLE:
    args->format = &out_table;
    break;
  case OPT_JSON:
    args->format = &out_json;
    break;
  case OPT_CSV:
    args->format = &out_csv;
    break;
  case OPT_MAX_WIDTH:
    return take_max_width(args, optarg);
  case OPT_DRIVER_DIR:
    args->driver_dirs = optarg;
    break;
  case OPT_PREPARED:
    args->prepared = true;
    break;
  case OPT_PARAM:
  case OPT_OUT:
    return take_param(args, optarg, c == OPT_OUT);
  default: /* weirctl_option() has spoken. */
    return EXIT_CODE_USAGE;
  }
  return EXIT_CODE_OK;
}

static int check_args(struct query_args *args, int n_left, char **left) {
  args->sql = n_left > 0 ? left[0] : NULL;
  if (n_left > 1) {
    return diag_usage("query",
                      "one SQL argument is taken, %d were given; is "
                      "it in quotes?",
                      n_left);
  }
  if (args->sql == NULL && args->file == NULL) {
    return diag_usage("query", "no SQL");
  }
  if (args->sql != NULL && args->file != NULL) {
    return diag_usage("query", "SQL is given twice: as argument and with -f");
  }
  return EXIT_CODE_OK;
}

int query_args_parse(struct query_args *args, int argc, char **argv) {
  static const struct option names[] = {
      {"conninfo", required_argument, NULL, 'c'},
      {"file", required_argument, NULL, 'f'},
      {"timeout", required_argument, NULL, 't'},
      {"table", no_argument, NULL, OPT_TABLE},
      {"json", no_argument, NULL, OPT_JSON},
      {"csv", no_argument, NULL, OPT_CSV},
      {"max-width", required_argument, NULL, OPT_MAX_WIDTH},
      {"verbose", no_argument, NULL, 'v'},
      {"quiet", no_argument, NULL, 'q'},
      {"driver-dir", required_argument, NULL, OPT_DRIVER_DIR},
      {"param", required_argument, NULL, OPT_PARAM},
      {"out", required_argument, NULL, OPT_OUT},
      {"prepared", no_argument, NULL, OPT_PREPARED},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  int code = EXIT_CODE_OK;
  int c;
  while (code == EXIT_CODE_OK &&
         (c = weirctl_option(argc, argv, ":c:f:t:vqh", names)) != -1) {
    code = take_option(args, c);
  }
  if (code != EXIT_CODE_OK || args->help) {
    return code;
  }
  return check_args(args, argc - optind, argv + optind);
}
