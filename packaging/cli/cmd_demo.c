/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"
#include "demo_report.h"
#include "diag.h"
#include "exit_code.h"
#include "input.h"
#include "weirctl.h"

const char cmd_demo_help[] =
    "Usage: weirctl demo [-c CONNINFO] [OPTION]...\n"
    "\n"
    "Lets many threads ask one cold pool for a connection at the same moment,\n"
    "measures it against one open and against opening one after another, and\n"
    "runs a statement on each connection.  Does the same, and a rapid\n"
    "open and close, on each Pool Strategy in turn, and compares them.\n"
    "\n"
    "  -c, --conninfo=CONNINFO  connection string; @FILE reads it from a\n"
    "                           file; without -c it is taken from\n"
    "                           WEIR_CONNINFO; pool sizes and strategy in it\n"
    "                           are replaced\n"
    "      --threads=N          threads and connections, 1 to 4000 [100]\n"
    "      --rounds=N           rounds, 1 to 100, of which the median counts\n"
    "                           [5]\n"
    "      --sql=SQL            the statement [SELECT 1 AS one]\n"
    "      --server-pid=PID     add the processor time of a server on this\n"
    "                           machine to the goal\n"
    "      --login-delay-ms=N   say in the report that the server waits so\n"
    "                           long before it answers a login, up to 3600000\n"
    "      --json               one JSON object, times in ns\n"
    "      --ascii              bars of # also where the locale is UTF-8\n"
    "      --driver-dir=DIRS    look for drivers here first\n"
    "\n"
    "Every measurement has an engine and a pool of its own, so that no TLS\n"
    "ticket is carried over.  The goal printed is\n"
    "\n"
    "  2.5 x one open + N x (client + server processor time of one open) / 2\n"
    "\n"
    "Whether it is met does not change the exit code, as other load on the\n"
    "machine counts.  That is 0 unless something failed, or 11 when a pool\n"
    "had more than N sessions, or when the fastest ramp of direct was not 1.5\n"
    "times as fast as the fastest of legacy and as one after another.  The\n"
    "latter is judged with --server-pid, where one after another takes 0.1 s\n"
    "and four times the goal: where opening is mostly waiting.\n"
    "\n"
    "Ramps are compared with all threads, or with as many as open one after\n"
    "another in 2 s.  Rapid open and close: threads acquire and release for\n"
    "0.1 s with nothing in between; one thread on 4 connections, and several\n"
    "on half as many connections as there are processors, 1 to 8.\n"
    "\n"
    "Example:\n"
    "  weirctl demo -c @prod.conn --threads 50\n";

enum {
  OPT_THREADS = 256,
  OPT_ROUNDS,
  OPT_SQL,
  OPT_SERVER_PID,
  OPT_LOGIN_DELAY,
  OPT_JSON,
  OPT_ASCII,
  OPT_DRIVER_DIR
};

struct args {
  char *conninfo;
  uint32_t threads;
  uint32_t rounds;
  pid_t server;
  uint32_t login_delay_ms;
  const char *sql;
  const char *driver_dirs;
  bool json;
  bool ascii;
  bool help;
};

static int take_number(const char *name,
                       const char *text,
                       uint32_t max,
                       uint32_t *out) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > max) {
    return diag_usage("demo", "--%s: \"%s\" is not a number from 1 to %u", name,
                      text, max);
  }
  *out = (uint32_t)n;
  return EXIT_CODE_OK;
}

static int take_server(struct args *args, const char *text) {
  uint32_t pid = 0;
  int code = take_number("server-pid", text, INT32_MAX, &pid);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  struct demo_cpu cpu;
  args->server = (pid_t)pid;
  int rc = demo_cpu_read(args->server, &cpu);
  if (rc < 0) {
    return diag_usage("demo",
                      "--server-pid: cannot read the processor time of "
                      "process %s: %s",
                      text, strerrordesc_np(-rc));
  }
  return EXIT_CODE_OK;
}

static int take_option(struct args *args, int c) {
  switch (c) {
  case 'c':
    args->conninfo = optarg;
    break;
  case 'h':
    args->help = true;
    break;
  case OPT_THREADS:
    return take_number("threads", optarg, 4000, &args->threads);
  case OPT_ROUNDS:
    return take_number("rounds", optarg, 100, &args->rounds);
  case OPT_SQL:
    args->sql = optarg;
    break;
  case OPT_SERVER_PID:
    return take_server(args, optarg);
  case OPT_LOGIN_DELAY:
    return take_number("login-delay-ms", optarg, 3600000,
                       &args->login_delay_ms);
  case OPT_JSON:
    args->json = true;
    break;
  case OPT_ASCII:
    args->ascii = true;
    break;
  case OPT_DRIVER_DIR:
    args->driver_dirs = optarg;
    break;
  default: /* weirctl_option() has spoken. */
    return EXIT_CODE_USAGE;
  }
  return EXIT_CODE_OK;
}

static int parse_args(struct args *args, int argc, char **argv) {
  static const struct option names[] = {
      {"conninfo", required_argument, NULL, 'c'},
      {"threads", required_argument, NULL, OPT_THREADS},
      {"rounds", required_argument, NULL, OPT_ROUNDS},
      {"sql", required_argument, NULL, OPT_SQL},
      {"server-pid", required_argument, NULL, OPT_SERVER_PID},
      {"login-delay-ms", required_argument, NULL, OPT_LOGIN_DELAY},
      {"json", no_argument, NULL, OPT_JSON},
      {"ascii", no_argument, NULL, OPT_ASCII},
      {"driver-dir", required_argument, NULL, OPT_DRIVER_DIR},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  int code = EXIT_CODE_OK;
  int c;
  while (code == EXIT_CODE_OK &&
         (c = weirctl_option(argc, argv, ":c:h", names)) != -1) {
    code = take_option(args, c);
  }
  if (code == EXIT_CODE_OK && optind < argc) {
    return diag_usage("demo", "demo takes no argument; is the connection "
                              "string given with -c?");
  }
  return code;
}

/* A copy of the connection string with room for the tail of each measurement.  It
 * is checked first as it was given, so that a complaint is about what the user
 * wrote. */
static int pool_string(const struct text_buf *given,
                       const struct args *args,
                       struct text_buf *out) {
  weir_h engine;
  int code = weirctl_engine(args->driver_dirs, &engine);
  if (code != EXIT_CODE_OK) {
    return code;
  }
  struct weir_error err = WEIR_ERROR_INIT;
  int32_t rc;
  char *key = weirctl_key(engine, given->p, given->len, &rc, &err);
  weirctl_engine_end(engine);
  if (key == NULL) {
    return diag_error(stderr, rc, &err, NULL);
  }
  free(key);
  text_buf_add_fill(out, '\0', given->len + DEMO_TAIL_MAX);
  if (out->failed) {
    diag_line("no memory");
    return EXIT_CODE_OTHER;
  }
  out->len = 0;
  text_buf_add(out, given->p, given->len);
  return EXIT_CODE_OK;
}

/* Prints what was measured and says whether it is as it must be. */
static int tell(const struct args *args, const struct demo_report *report) {
  struct demo_figures figures;
  demo_figures_take(report, &figures);
  if (!args->json) {
    struct term term = term_read(STDOUT_FILENO, args->ascii);
    demo_report_print(stdout, &term, report, &figures);
    (void)fflush(stdout); /* the verdict comes last; main() looks for errors */
  }
  int code = demo_figures_check(report, &figures);
  if (args->json) {
    demo_report_json(stdout, report, &figures, code == EXIT_CODE_OK);
  }
  return code;
}

static int run(const struct args *args, const struct text_buf *given) {
  struct text_buf conninfo = {0};
  struct demo_report report = {
      .threads = args->threads,
      .rounds = args->rounds,
      .knows_server = args->server != 0,
      .login_delay_ms = args->login_delay_ms,
  };
  int code = pool_string(given, args, &conninfo);
  if (code == EXIT_CODE_OK) {
    struct demo_target target = {
        .conninfo = &conninfo,
        .given_len = given->len,
        .driver_dirs = args->driver_dirs,
        .sql = args->sql,
        .server = args->server,
    };
    code = demo_measure(&target, &report);
  }
  if (code == EXIT_CODE_OK) {
    code = tell(args, &report);
  }
  demo_report_free(&report);
  text_buf_wipe(&conninfo);
  return code;
}

int cmd_demo(int argc, char **argv) {
  struct args args = {.threads = 100, .rounds = 5, .sql = "SELECT 1 AS one"};
  int code = parse_args(&args, argc, argv);
  if (code != EXIT_CODE_OK || args.help) {
    (void)fputs(code == EXIT_CODE_OK ? cmd_demo_help : "", stdout);
    return code;
  }
  struct text_buf given = {0};
  code = input_conninfo("demo", args.conninfo, true, &given);
  if (code == EXIT_CODE_OK) {
    code = run(&args, &given);
  }
  text_buf_wipe(&given);
  return code;
}
