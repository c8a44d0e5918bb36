/* SPDX-License-Identifier: MIT */
/* The program tdsd: options in, server out. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "main_options.h"

#define EXIT_USAGE 2

static struct tdsd *running;

static void on_signal(int number) {
  (void)number;
  tdsd_quit(running);
}

static void log_line(void *user, const char *line) {
  (void)user;
  (void)fprintf(stderr, "%s\n", line);
}

static int write_cert(const struct tdsd *server, const char *path) {
  const char *pem = tdsd_cert_pem(server);
  if (pem == NULL) {
    return arguments_complain("--print-cert",
                              "there is no certificate with --tls off");
  }
  FILE *file = fopen(path, "we");
  if (file == NULL) {
    return arguments_complain(path, strerrordesc_np(errno));
  }
  bool written = fputs(pem, file) >= 0;
  written = fclose(file) == 0 && written;
  return written ? 0 : arguments_complain(path, "cannot write the certificate");
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGTERM, &action, NULL);
  (void)sigaction(SIGINT, &action, NULL);
  action.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &action, NULL);
}

/* A thousand clients need more descriptors than the usual soft limit. */
static void raise_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

static void print_ports(const struct tdsd_options *options) {
  uint32_t i = 1;
  do {
    (void)printf("%u\n", (unsigned)tdsd_listener_port(running, i));
    i++;
  } while (i <= options->nlisteners);
  if (options->browser) {
    (void)printf("%u\n", (unsigned)tdsd_browser_port(running));
  }
  (void)fflush(stdout);
}

static int serve(struct arguments *arguments) {
  char why[256];
  struct tdsd_options *options = &arguments->options;
  options->accounts = options->naccounts != 0 ? arguments->accounts : NULL;
  options->tokens = (const char *const *)arguments->tokens;
  options->faults = arguments->faults;
  options->log = arguments->quiet ? NULL : log_line;
  if (tdsd_open(options, &running, why, sizeof why) < 0) {
    (void)arguments_complain("cannot start", why);
    return EXIT_FAILURE;
  }
  arguments_free_logins(arguments);
  if (arguments->print_cert != NULL &&
      write_cert(running, arguments->print_cert) < 0) {
    tdsd_close(running);
    return EXIT_FAILURE;
  }
  catch_signals();
  if (arguments->print_port) {
    print_ports(options);
  }
  tdsd_run(running);
  tdsd_close(running);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  static struct arguments arguments;
  int rc = arguments_parse(&arguments, argc, argv);
  if (rc != 0) {
    arguments_free_logins(&arguments);
    return rc < 0 ? EXIT_USAGE : EXIT_SUCCESS;
  }
  raise_limit();
  rc = serve(&arguments);
  arguments_free_logins(&arguments);
  return rc;
}
