/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

const char options_help[] =
    "usage: weirbench list\n"
    "       weirbench run WORKLOAD [OPTION]... --conn CONNINFO\n"
    "\n"
    "  --conn CONNINFO   connection string: the driver, the server, settings;\n"
    "                    against the mock driver a connect takes 5 ms unless\n"
    "                    Mock Connect Delay says otherwise\n"
    "  --set NAME=VALUE  leaves one value of a parameter, and may be repeated\n"
    "  --strategy NAME   Pool Strategy; may be repeated, at most 8 times, and\n"
    "                    \"all\" is each there is: a row runs with each in "
    "turn,\n"
    "                    iteration by iteration\n"
    "  --quick           fewer iterations\n"
    "  --json            one JSON object a row instead of a table\n"
    "  --help, --version\n"
    "\n"
    "A workload runs once for each combination of its parameters.  Exit "
    "status:\n"
    "0; 1 if a run failed; 2 if the request is wrong: no such workload,\n"
    "parameter or driver.\n"
    "\n"
    "Example:\n"
    "  weirbench run cold_start_ramp --set connections=100 --json \\\n"
    "    --conn \"Driver=mock\"\n";

enum {
  OPT_CONN = 256,
  OPT_SET,
  OPT_STRATEGY,
  OPT_QUICK,
  OPT_JSON,
  OPT_HELP,
  OPT_VERSION
};

static const struct option names[] = {
    {"conn", required_argument, NULL, OPT_CONN},
    {"set", required_argument, NULL, OPT_SET},
    {"strategy", required_argument, NULL, OPT_STRATEGY},
    {"quick", no_argument, NULL, OPT_QUICK},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char *const strategies[] = {"legacy", "channel", "direct"};

const char *const *options_strategies(uint32_t *out_n) {
  *out_n = sizeof strategies / sizeof strategies[0];
  return strategies;
}

static int add_strategy(const char *name,
                        struct options *out,
                        struct fault *fault) {
  if (out->n_strategies == STRATEGIES_MAX) {
    fault_usage(fault, "--strategy: at most %u of them", STRATEGIES_MAX);
    return -1;
  }
  out->strategies[out->n_strategies++] = name;
  return 0;
}

/* It goes into a connection string, which knows the names. */
static int read_strategy(const char *text,
                         struct options *out,
                         struct fault *fault) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-0123456789";
  size_t len = strlen(text);
  if (len == 0 || len > 32 || strspn(text, letters) != len) {
    fault_usage(fault, "--strategy: that is no strategy's name");
    return -1;
  }
  if (strcmp(text, "all") != 0) {
    return add_strategy(text, out, fault);
  }
  int rc = 0;
  for (size_t i = 0; i < sizeof strategies / sizeof strategies[0] && rc == 0;
       i++) {
    rc = add_strategy(strategies[i], out, fault);
  }
  return rc;
}

static int take_option(int c, struct options *out, struct fault *fault) {
  switch (c) {
  case OPT_CONN:
    out->conninfo = optarg;
    return 0;
  case OPT_SET:
    return param_set(&out->sets, optarg, fault);
  case OPT_STRATEGY:
    return read_strategy(optarg, out, fault);
  case OPT_QUICK:
    out->quick = true;
    return 0;
  case OPT_JSON:
    out->json = true;
    return 0;
  case OPT_HELP:
    out->verb = VERB_HELP;
    return 0;
  default:
    out->verb = VERB_VERSION;
    return 0;
  }
}

/* What follows = may be a secret. */
static void refuse_option(const char *text, int c, struct fault *fault) {
  fault_usage(fault, "%.*s %s; try weirbench --help", (int)strcspn(text, "="),
              text, c == ':' ? "needs a value" : "is not an option");
}

static int read_options(int argc,
                        char **argv,
                        struct options *out,
                        struct fault *fault) {
  opterr = 0;
  optind = 1;
  for (;;) {
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): only the main thread is here. */
    int c = getopt_long(argc, argv, ":", names, NULL);
    if (c == -1) {
      return 0;
    }
    if (c == '?' || c == ':') {
      refuse_option(argv[optind - 1], c, fault);
      return -1;
    }
    if (take_option(c, out, fault) != 0) {
      return -1;
    }
  }
}

static void refuse_workload(const char *name, struct fault *fault) {
  uint32_t n;
  const struct workload *const *list = workload_list(&n);
  char all[512] = "";
  for (uint32_t i = 0; i < n; i++) {
    (void)strncat(all, i == 0 ? "" : ", ", sizeof all - strlen(all) - 1);
    (void)strncat(all, list[i]->name, sizeof all - strlen(all) - 1);
  }
  fault_usage(fault, "there is no workload \"%.64s\"; there are %s", name, all);
}

static int read_run(int argc,
                    char **argv,
                    struct options *out,
                    struct fault *fault) {
  if (argc != 1) {
    fault_usage(fault, argc == 0 ? "run: which workload? weirbench list "
                                   "tells them"
                                 : "run: one workload at a time");
    return -1;
  }
  out->workload = workload_find(argv[0]);
  if (out->workload == NULL) {
    refuse_workload(argv[0], fault);
    return -1;
  }
  if (out->conninfo == NULL) {
    fault_usage(fault, "run: --conn CONNINFO is needed, such as --conn "
                       "\"Driver=mock\"");
    return -1;
  }
  return 0;
}

int options_read(int argc,
                 char **argv,
                 struct options *out,
                 struct fault *fault) {
  memset(out, 0, sizeof *out);
  out->verb = VERB_RUN;
  if (read_options(argc, argv, out, fault) != 0) {
    return -1;
  }
  if (out->verb != VERB_RUN) {
    return 0;
  }
  const char *verb = optind < argc ? argv[optind] : "";
  if (strcmp(verb, "list") == 0 && optind + 1 == argc) {
    out->verb = VERB_LIST;
    return 0;
  }
  if (strcmp(verb, "help") == 0) {
    out->verb = VERB_HELP;
    return 0;
  }
  if (strcmp(verb, "run") != 0) {
    fault_usage(fault, "usage: weirbench list, or weirbench run WORKLOAD; try "
                       "weirbench --help");
    return -1;
  }
  return read_run(argc - optind - 1, argv + optind + 1, out, fault);
}
