/* SPDX-License-Identifier: MIT */
#include "weirctl.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "exit_code.h"
#include "interrupt.h"
#include "text_buf.h"

#define END_GRACE_NS INT64_C(1000000000)

struct verb {
  const char *name;
  const char *summary;
  const char *help;
  int (*run)(int argc, char **argv); /* NULL: not built yet */
};

static const struct verb verbs[] = {
    {"query", "run SQL and print the rows", cmd_query_help, cmd_query},
    {"demo", "open many connections at once and measure it", cmd_demo_help,
     cmd_demo},
    {"drivers", "list the drivers found", cmd_drivers_help, cmd_drivers},
    {"key", "show what makes two connection strings share a pool", cmd_key_help,
     cmd_key},
    {"top", "watch the pools of a running process", NULL, NULL},
    {"check", "check a driver file", NULL, NULL},
    {"budget", "count connections against a server's limit", NULL, NULL},
};

static const struct verb *find_verb(const char *name) {
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    if (strcmp(name, verbs[i].name) == 0) {
      return &verbs[i];
    }
  }
  return NULL;
}

static void print_help(FILE *to) {
  (void)fputs("Usage: weirctl VERB [OPTION]... [ARGUMENT]...\n"
              "       weirctl VERB --help\n\nVerbs:\n",
              to);
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    (void)fprintf(to, "  %-9s %s%s\n", verbs[i].name, verbs[i].summary,
                  verbs[i].run == NULL ? " (not built yet)" : "");
  }
  (void)fputs(
      "  help      this text; help VERB, help settings [--json] (what a "
      "connection\n"
      "            string may hold), help exit-codes\n\n"
      "  --version  versions of weirctl and of the library\n\n"
      "Example:\n"
      "  weirctl query -c \"Driver=tds;Server=127.0.0.1,1433;User ID=sa;"
      "Password=x;TrustServerCertificate=true\" \"SELECT 1 AS one\"\n",
      to);
}

static int print_version(void) {
  uint32_t v = weir_version();
  (void)printf("weirctl %d.%d.%d, libweir %u.%u.%u\n", WEIR_VERSION_MAJOR,
               WEIR_VERSION_MINOR, WEIR_VERSION_PATCH, v >> 16, v >> 8 & 255U,
               v & 255U);
  return EXIT_CODE_OK;
}

static int refuse_verb(const char *name) {
  const struct verb *verb = find_verb(name);
  if (verb != NULL) {
    diag_line("%s: not built yet", name);
    return EXIT_CODE_USAGE;
  }
  return diag_usage(NULL, "there is no verb \"%s\"", name);
}

static int help_settings(int argc, char **argv) {
  bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
  if (argc > 2 && !json) {
    return diag_usage(NULL, "help settings takes --json and nothing else");
  }
  if (!weirctl_help_settings(json)) {
    diag_line("no memory");
    return EXIT_CODE_OTHER;
  }
  return EXIT_CODE_OK;
}

static int help(int argc, char **argv) {
  if (argc < 2) {
    print_help(stdout);
    return EXIT_CODE_OK;
  }
  if (strcmp(argv[1], "exit-codes") == 0) {
    exit_code_help(stdout);
    return EXIT_CODE_OK;
  }
  if (strcmp(argv[1], "settings") == 0) {
    return help_settings(argc, argv);
  }
  const struct verb *verb = find_verb(argv[1]);
  if (verb == NULL || verb->help == NULL) {
    return refuse_verb(argv[1]);
  }
  (void)fputs(verb->help, stdout);
  return EXIT_CODE_OK;
}

static bool is_one_of(const char *s, const char *a, const char *b) {
  return strcmp(s, a) == 0 || strcmp(s, b) == 0;
}

static bool asks_for_help(int argc, char **argv) {
  return argc == 2 && is_one_of(argv[1], "--help", "-h");
}

/* Runs a verb with signals watched. */
static int run_verb(const struct verb *verb, int argc, char **argv) {
  if (asks_for_help(argc, argv)) {
    (void)fputs(verb->help, stdout);
    return EXIT_CODE_OK;
  }
  int rc = interrupt_start();
  if (rc < 0) {
    diag_line("cannot watch for Ctrl-C: %s", strerrordesc_np(-rc));
    return EXIT_CODE_OTHER;
  }
  int code = verb->run(argc, argv);
  interrupt_stop();
  /* What a signal broke is not the failure to report. */
  return interrupt_code() != 0 ? interrupt_code() : code;
}

static int dispatch(int argc, char **argv) {
  if (argc < 1) {
    return diag_usage(NULL, "no verb");
  }
  if (is_one_of(argv[0], "help", "--help") || strcmp(argv[0], "-h") == 0) {
    return help(argc, argv);
  }
  if (is_one_of(argv[0], "--version", "-V")) {
    return print_version();
  }
  const struct verb *verb = find_verb(argv[0]);
  if (verb == NULL || verb->run == NULL) {
    return refuse_verb(argv[0]);
  }
  return run_verb(verb, argc, argv);
}

/* Output that got lost is a failure even if all else went well. */
static int end_output(int code) {
  bool failed = ferror(stdout) != 0;
  int error = EIO;
  if (fflush(stdout) != 0) {
    failed = true;
    error = errno;
  }
  if (failed && code == EXIT_CODE_OK) {
    return diag_output(-error);
  }
  return code;
}

int weirctl_run(int argc, char **argv) {
  /* A closed pipe shows as EPIPE at the write that meets it. */
  (void)signal(SIGPIPE, SIG_IGN);
  return end_output(dispatch(argc - 1, argv + 1));
}

/* The argument that getopt_long() refused.  It goes on to the next one before it
 * tells of a long option or of the last letter of short ones. */
static const char *refused_argument(int argc, char **argv) {
  const char *last = argv[optind - 1];
  const char *next = optind < argc ? argv[optind] : NULL;
  bool in_next = optopt > 0 && optopt < 256 && next != NULL && next[0] == '-' &&
                 next[1] != '-' && strchr(next, optopt) != NULL &&
                 !(last[0] == '-' && last[strlen(last) - 1] == optopt);
  return in_next ? next : last;
}

/* A word that options are made of: what else begins with -- may be a piece of a
 * connection string, a password say. */
static bool is_word(const char *s, int len) {
  for (int i = 0; i < len; i++) {
    if (s[i] != '-' && (s[i] < 'a' || s[i] > 'z')) {
      return false;
    }
  }
  return len <= 24;
}

static void refuse_option(int argc, char **argv, const char *letters, int c) {
  const char *text = refused_argument(argc, argv);
  bool known = optopt > 0 && optopt < 256 && strchr(letters, optopt) != NULL;
  bool is_long = strncmp(text, "--", 2) == 0 &&
                 (c == ':' || optopt == 0 || optopt > 255 || known);
  /* The text may go on with =SECRET: only the name is shown. */
  int len = (int)strcspn(text, "=");
  const char *what = c == ':' ? "needs a value" : "is not an option of it";
  if (c == '?' && strcmp(argv[0], "query") == 0 &&
      strpbrk(text, " \t\r\n") != NULL) {
    (void)diag_usage(argv[0], "%s: put -- before SQL that begins with -",
                     argv[0]);
  } else if (is_long && !is_word(text, len)) {
    (void)diag_usage(argv[0], "%s: an argument of %zu bytes begins with --",
                     argv[0], strlen(text));
  } else if (is_long) {
    (void)diag_usage(argv[0], "%s: %.*s %s", argv[0], len, text, what);
  } else {
    (void)diag_usage(argv[0], "%s: -%c %s", argv[0], optopt, what);
  }
}

int weirctl_option(int argc,
                   char **argv,
                   const char *letters,
                   const struct option *names) {
  opterr = 0;
  /* NOLINTNEXTLINE(concurrency-mt-unsafe): only the main thread is here. */
  int c = getopt_long(argc, argv, letters, names, NULL);
  if (c != '?' && c != ':') {
    return c;
  }
  refuse_option(argc, argv, letters, c);
  return 0;
}

int weirctl_engine(const char *dirs, weir_h *out_engine) {
  struct weir_error err = WEIR_ERROR_INIT;
  struct weir_engine_opts opts = {
      .struct_size = sizeof opts,
      .driver_dirs = dirs,
      .driver_dirs_len = dirs == NULL ? 0 : strlen(dirs),
  };
  weir_h engine;
  int32_t rc = weir_engine_open(&opts, &engine, &err);
  if (rc != WEIR_OK) {
    struct diag_try tried = {.doing = "opening an engine", .took_ns = -1};
    return diag_error(stderr, rc, &err, &tried);
  }
  interrupt_set_engine(engine);
  *out_engine = engine;
  return EXIT_CODE_OK;
}

void weirctl_engine_end(weir_h engine) {
  interrupt_set_engine(0);
  /* What does not end in time ends with the process. */
  (void)weir_engine_shutdown(engine, END_GRACE_NS, NULL);
}

/* Of a setting that comes twice the last counts, so ours goes first. */
int32_t weirctl_pool(weir_h engine,
                     const char *conninfo,
                     uint64_t len,
                     weir_h *out_pool,
                     struct weir_error *err) {
  static const char hasty[] = "Pool Blocking Period=always;";
  struct text_buf text = {0};
  text_buf_add_fill(&text, '\0', len + sizeof hasty);
  text.len = 0;
  text_buf_add_str(&text, hasty);
  text_buf_add(&text, conninfo, len);
  int32_t rc = text.failed
                   ? WEIR_E_NOMEM
                   : weir_pool_open(engine, text.p, text.len, out_pool, err);
  text_buf_wipe(&text);
  return rc;
}

char *weirctl_key(weir_h engine,
                  const char *conninfo,
                  uint64_t len,
                  int32_t *out_rc,
                  struct weir_error *err) {
  char *key = NULL;
  uint64_t cap = 1024;
  for (int i = 0; i < 2; i++) {
    char *p = realloc(key, cap);
    if (p == NULL) {
      break;
    }
    key = p;
    uint64_t need = 0;
    *out_rc = weir_conninfo_key(engine, conninfo, len, key, cap, &need, err);
    if (*out_rc == WEIR_OK) {
      return key;
    }
    if (*out_rc != WEIR_E_SPACE || need <= cap) {
      free(key);
      return NULL;
    }
    cap = need;
  }
  free(key);
  *out_rc = WEIR_E_NOMEM;
  return NULL;
}
