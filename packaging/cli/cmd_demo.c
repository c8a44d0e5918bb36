/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "demo.h"
#include "demo_report.h"
#include "diag.h"
#include "duration.h"
#include "exit_code.h"
#include "input.h"
#include "interrupt.h"
#include "weirctl.h"

const char cmd_demo_help[] =
    "Usage: weirctl demo [-c CONNINFO] [OPTION]...\n"
    "\n"
    "Lets many threads ask one cold pool for a connection at the same moment,\n"
    "measures it against one open and against opening one after another, runs "
    "a\n"
    "statement on each connection, and reports.\n"
    "\n"
    "  -c, --conninfo=CONNINFO  connection string; @FILE reads it from a "
    "file;\n"
    "                           without -c it is taken from WEIR_CONNINFO;\n"
    "                           pool sizes in it are replaced\n"
    "      --threads=N          threads and connections, 1 to 4000 [100]\n"
    "      --rounds=N           rounds, 1 to 100, of which the median counts "
    "[5]\n"
    "      --sql=SQL            the statement [SELECT 1 AS one]\n"
    "      --server-pid=PID     add the processor time of a server on this\n"
    "                           machine to the goal\n"
    "      --login-delay-ms=N   say in the report that the server waits so "
    "long\n"
    "                           before it answers a login, up to 3600000\n"
    "      --driver-dir=DIRS    look for drivers here first\n"
    "\n"
    "Every measurement has an engine and a pool of its own, so that no TLS\n"
    "ticket is carried over.  The goal printed is\n"
    "\n"
    "  2.5 x one open + N x (client + server processor time of one open) / 2\n"
    "\n"
    "Other load on the machine counts.  Whether the goal is met does not "
    "change\n"
    "the exit code, which is 0 unless something failed, or 11 when the pool "
    "had\n"
    "more than N sessions.\n"
    "\n"
    "Example:\n"
    "  weirctl demo -c @prod.conn --threads 50\n";

enum {
  OPT_THREADS = 256,
  OPT_ROUNDS,
  OPT_SQL,
  OPT_SERVER_PID,
  OPT_LOGIN_DELAY,
  OPT_DRIVER_DIR
};

/* Opens alone, of which the median counts. */
#define ALONE_TIMES     9
/* Opening one after another is done whole if that is expected to take no
 * longer, else for as many as fit. */
#define SERIAL_LIMIT_NS INT64_C(10000000000)
/* Descriptors beside one per connection. */
#define SPARE_FILES     100

struct args {
  char *conninfo;
  uint32_t threads;
  uint32_t rounds;
  pid_t server;
  uint32_t login_delay_ms;
  const char *sql;
  const char *driver_dirs;
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

/* Each connection is a descriptor, and the usual limit is 1024. */
static void allow_files(uint32_t n) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < (rlim_t)n + SPARE_FILES) {
    limit.rlim_cur = limit.rlim_max;
    /* Where that is not enough, the connects will say so. */
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/* The connection string for pools of n.  It is checked first as it was given,
 * so that a complaint is about what the user wrote.  Of a setting that comes
 * twice the last counts. */
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
  text_buf_add_fill(out, '\0', given->len + 128);
  out->len = 0;
  text_buf_add(out, given->p, given->len);
  text_buf_addf(out, ";Pooling=true;Min Pool Size=0;Max Pool Size=%u",
                args->threads);
  return EXIT_CODE_OK;
}

/* Says on a terminal what is going on; wipes it when text is NULL. */
static void progress(const char *text, uint32_t i, uint32_t n) {
  if (isatty(STDERR_FILENO) == 0) {
    return;
  }
  (void)fputs("\r\033[K", stderr);
  if (text != NULL) {
    (void)fprintf(stderr, "%s %u of %u ...", text, i, n);
  }
  (void)fflush(stderr);
}

static bool goes_on(int code) {
  return code == EXIT_CODE_OK && interrupt_code() == 0;
}

static int measure_alone(const struct demo_target *target,
                         struct demo_serial *alone) {
  int code = EXIT_CODE_OK;
  for (uint32_t i = 0; i < ALONE_TIMES && goes_on(code); i++) {
    progress("one open alone,", i + 1, ALONE_TIMES);
    code = demo_serial_run(target, 1, &alone[i]);
  }
  return code;
}

static uint32_t serial_size(uint32_t threads, int64_t one_ns) {
  int64_t fit = SERIAL_LIMIT_NS / (one_ns > 0 ? one_ns : 1);
  fit = fit < 5 ? 5 : fit;
  return fit < threads ? (uint32_t)fit : threads;
}

static int measure_ramps(const struct demo_target *target,
                         const struct args *args,
                         struct demo_ramp *ramps,
                         uint32_t *round) {
  int code = EXIT_CODE_OK;
  while (*round < args->rounds && goes_on(code)) {
    progress("cold ramp, round", *round + 1, args->rounds);
    code = demo_ramp_run(target, args->threads, &ramps[(*round)++]);
  }
  return code;
}

static int tell_interrupt(uint32_t round) {
  if (round == 0) {
    diag_line("interrupted before the first round");
  } else {
    diag_line("interrupted in round %u", round);
  }
  return interrupt_code();
}

static int measure(const struct demo_target *target,
                   const struct args *args,
                   struct demo_report *report) {
  uint32_t round = 0;
  int code = measure_alone(target, report->alone);
  if (goes_on(code)) {
    uint32_t n = serial_size(args->threads, demo_report_one(report));
    progress("one after another, run", 1, 1);
    code = demo_serial_run(target, n, &report->serial);
  }
  if (goes_on(code)) {
    code = measure_ramps(target, args, report->ramps, &round);
  }
  progress(NULL, 0, 0);
  return interrupt_code() != 0 ? tell_interrupt(round) : code;
}

static int run(const struct args *args, const struct text_buf *given) {
  struct text_buf conninfo = {0};
  struct demo_serial alone[ALONE_TIMES];
  struct demo_report report = {
      .threads = args->threads,
      .rounds = args->rounds,
      .n_alone = ALONE_TIMES,
      .knows_server = args->server != 0,
      .login_delay_ms = args->login_delay_ms,
      .alone = alone,
  };
  report.ramps = calloc(args->rounds, sizeof *report.ramps);
  int code = pool_string(given, args, &conninfo);
  if (code == EXIT_CODE_OK && (report.ramps == NULL || conninfo.failed)) {
    code = EXIT_CODE_OTHER;
    diag_line("no memory");
  }
  if (code == EXIT_CODE_OK) {
    struct demo_target target = {
        .conninfo = &conninfo,
        .driver_dirs = args->driver_dirs,
        .sql = args->sql,
        .server = args->server,
    };
    allow_files(args->threads);
    code = measure(&target, args, &report);
  }
  if (code == EXIT_CODE_OK) {
    code = demo_report_print(stdout, &report);
  }
  free(report.ramps);
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
