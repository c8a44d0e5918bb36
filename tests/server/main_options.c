/* SPDX-License-Identifier: MIT */
/* The command line of tdsd. */
#include "main_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#define LINE_BYTES 1024u

static const char usage[] =
    "usage: tdsd --port N [options]\n"
    "  --port N             listen on this port; 0 = any free one\n"
    "  --print-port         print the port of each listener, then the\n"
    "                       browser's, one a line\n"
    "  --listen ADDR[,..]   IPv4 or IPv6 address [127.0.0.1]; may be "
    "repeated,\n"
    "                       with port=N, instance=NAME, role=ROLE behind it\n"
    "  --browser PORT       answer SSRP on this UDP port; 0 = any free one\n"
    "  --fault SPEC         a fault from the start; may be repeated\n"
    "  --tls MODE           off, login-only, self-signed or strict [off]\n"
    "  --cert FILE          PEM certificate instead of a fresh self-signed "
    "one\n"
    "  --key FILE           PEM key of --cert\n"
    "  --print-cert FILE    write the certificate as PEM\n"
    "  --login USER:PASS    an account; may be repeated [sa:x]\n"
    "  --login @FILE        accounts from a file, one USER:PASS a line\n"
    "  --any-login          take every user and password\n"
    "  --token TEXT         a federated token that is right; may be repeated\n"
    "  --fedauth MODE       what PRELOGIN says about tokens: echo1 or echo0 "
    "[echo1]\n"
    "  --strict-client      refuse what is only unwise, too (see README.md)\n"
    "  --login-delay-ms N   wait before a LOGIN7 is answered\n"
    "  --silent             accept connections and never say a word\n"
    "  --sqlite FILE        tables in this SQLite file; :memory: for a "
    "temporary one\n"
    "  --control PATH       unix socket for commands (see README.md)\n"
    "  --script FILE        answers by a script (see README.md)\n"
    "  --tap FILE           pcap of the decrypted TDS packets\n"
    "  --quiet              do not log what clients do wrong\n"
    "  --help               this text\n";

int arguments_complain(const char *what, const char *text) {
  (void)fprintf(stderr, "tdsd: %s: %s\n", what, text);
  return -1;
}

static int parse_number(const char *option,
                        const char *text,
                        unsigned long most,
                        unsigned long *out) {
  char *end = NULL;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 ||
      value > most) {
    (void)fprintf(stderr, "tdsd: --%s %s: a number from 0 to %lu is needed\n",
                  option, text, most);
    return -1;
  }
  *out = value;
  return 0;
}

static int parse_port(const char *option, const char *text, uint16_t *out) {
  unsigned long number = 0;
  if (parse_number(option, text, 65535, &number) < 0) {
    return -1;
  }
  *out = (uint16_t)number;
  return 0;
}

static int parse_tls(const char *text, enum tdsd_tls_mode *out) {
  static const char *const names[] = {"off", "login-only", "self-signed",
                                      "strict"};
  for (unsigned i = 0; i < 4; i++) {
    if (strcmp(names[i], text) == 0) {
      *out = (enum tdsd_tls_mode)i;
      return 0;
    }
  }
  return arguments_complain("--tls",
                            "off, login-only, self-signed or strict is needed");
}

/* Takes USER:PASSWORD apart and wipes it where it stood, because ps shows the
 * command line to everybody. */
static int add_login(struct arguments *arguments, char *text) {
  size_t n = arguments->options.naccounts;
  char *colon = strchr(text, ':');
  if (colon == NULL || colon == text || n == ACCOUNTS_MAX) {
    return arguments_complain(
        "--login", n == ACCOUNTS_MAX ? "more than 64 accounts"
                                     : "USER:PASSWORD or @FILE is needed");
  }
  char *user = strndup(text, (size_t)(colon - text));
  char *password = strdup(colon + 1);
  OPENSSL_cleanse(text, strlen(text));
  if (user == NULL || password == NULL) {
    free(user);
    free(password);
    return arguments_complain("--login", "no memory");
  }
  arguments->accounts[n].user = user;
  arguments->accounts[n].password = password;
  arguments->options.naccounts = n + 1;
  return 0;
}

/* As secret as a password. */
static int add_token(struct arguments *arguments, char *text) {
  size_t n = arguments->options.ntokens;
  if (text[0] == 0 || n == TOKENS_MAX) {
    return arguments_complain("--token", n == TOKENS_MAX ? "more than 16 tokens"
                                                         : "a token is needed");
  }
  char *token = strdup(text);
  OPENSSL_cleanse(text, strlen(text));
  if (token == NULL) {
    return arguments_complain("--token", "no memory");
  }
  arguments->tokens[n] = token;
  arguments->options.ntokens = n + 1;
  return 0;
}

static int parse_fedauth(const char *text, struct tdsd_options *options) {
  options->fedauth_echo_0 = strcmp(text, "echo0") == 0;
  return options->fedauth_echo_0 || strcmp(text, "echo1") == 0
             ? 0
             : arguments_complain("--fedauth", "echo1 or echo0 is needed");
}

static int add_login_file(struct arguments *arguments, const char *path) {
  char line[LINE_BYTES];
  FILE *file = fopen(path, "re");
  if (file == NULL) {
    return arguments_complain(path, strerrordesc_np(errno));
  }
  int rc = 0;
  while (rc == 0 && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = 0;
    if (line[0] != 0 && line[0] != '#') {
      rc = add_login(arguments, line);
    }
  }
  OPENSSL_cleanse(line, sizeof line);
  (void)fclose(file);
  return rc;
}

/* One key=value behind an address. */
static int listener_part(struct tdsd_listen *listener, char *part) {
  char why[256];
  if (strncmp(part, "port=", 5) == 0) {
    return parse_port("listen port", part + 5, &listener->port);
  }
  if (strncmp(part, "instance=", 9) == 0) {
    listener->instance = part + 9;
    return strlen(part + 9) < 32
               ? 0
               : arguments_complain("--listen",
                                    "an instance has at most 31 bytes");
  }
  if (strncmp(part, "role=", 5) == 0) {
    return tdsd_role_parse(part + 5, '=', &listener->role, why, sizeof why) == 0
               ? 0
               : arguments_complain("--listen", why);
  }
  return arguments_complain("--listen",
                            "port=, instance= or role= is needed behind a "
                            "comma");
}

/* ADDR[,port=N][,instance=NAME][,role=ROLE]. */
static int add_listener(struct arguments *arguments, char *text) {
  size_t n = arguments->options.nlisteners;
  char *rest = NULL;
  if (n == TDSD_LISTENERS_MAX) {
    return arguments_complain("--listen", "more than 16 listeners");
  }
  struct tdsd_listen *listener = &arguments->listeners[n];
  listener->address = strtok_r(text, ",", &rest);
  if (listener->address == NULL) {
    return arguments_complain("--listen", "an address is needed");
  }
  for (char *part = strtok_r(NULL, ",", &rest); part != NULL;
       part = strtok_r(NULL, ",", &rest)) {
    if (listener_part(listener, part) < 0) {
      return -1;
    }
  }
  arguments->options.listeners = arguments->listeners;
  arguments->options.nlisteners = n + 1;
  return 0;
}

void arguments_free_logins(struct arguments *arguments) {
  for (size_t i = 0; i < arguments->options.naccounts; i++) {
    char *password = (char *)(uintptr_t)arguments->accounts[i].password;
    OPENSSL_cleanse(password, strlen(password));
    free(password);
    free((char *)(uintptr_t)arguments->accounts[i].user);
  }
  arguments->options.naccounts = 0;
  for (size_t i = 0; i < arguments->options.ntokens; i++) {
    OPENSSL_cleanse(arguments->tokens[i], strlen(arguments->tokens[i]));
    free(arguments->tokens[i]);
  }
  arguments->options.ntokens = 0;
}

enum option_id {
  OPT_PORT = 256,
  OPT_PRINT_PORT,
  OPT_LISTEN,
  OPT_BROWSER,
  OPT_FAULT,
  OPT_TLS,
  OPT_CERT,
  OPT_KEY,
  OPT_PRINT_CERT,
  OPT_LOGIN,
  OPT_ANY_LOGIN,
  OPT_TOKEN,
  OPT_FEDAUTH,
  OPT_STRICT_CLIENT,
  OPT_LOGIN_DELAY,
  OPT_SILENT,
  OPT_CONTROL,
  OPT_TAP,
  OPT_QUIET,
  OPT_SCRIPT,
  OPT_SQLITE,
  OPT_HELP,
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPT_PORT},
    {"print-port", no_argument, NULL, OPT_PRINT_PORT},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"browser", required_argument, NULL, OPT_BROWSER},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"tls", required_argument, NULL, OPT_TLS},
    {"cert", required_argument, NULL, OPT_CERT},
    {"key", required_argument, NULL, OPT_KEY},
    {"print-cert", required_argument, NULL, OPT_PRINT_CERT},
    {"login", required_argument, NULL, OPT_LOGIN},
    {"any-login", no_argument, NULL, OPT_ANY_LOGIN},
    {"token", required_argument, NULL, OPT_TOKEN},
    {"fedauth", required_argument, NULL, OPT_FEDAUTH},
    {"strict-client", no_argument, NULL, OPT_STRICT_CLIENT},
    {"login-delay-ms", required_argument, NULL, OPT_LOGIN_DELAY},
    {"silent", no_argument, NULL, OPT_SILENT},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"tap", required_argument, NULL, OPT_TAP},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"script", required_argument, NULL, OPT_SCRIPT},
    {"sqlite", required_argument, NULL, OPT_SQLITE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* Where an option's text goes, NULL if it is not kept as it is. */
static const char **text_of(struct arguments *arguments, int option) {
  struct tdsd_options *options = &arguments->options;
  switch (option) {
  case OPT_CERT:
    return &options->cert_file;
  case OPT_KEY:
    return &options->key_file;
  case OPT_PRINT_CERT:
    return &arguments->print_cert;
  case OPT_CONTROL:
    return &options->control;
  case OPT_TAP:
    return &options->tap;
  case OPT_SCRIPT:
    return &options->script;
  case OPT_SQLITE:
    return &options->sqlite;
  default:
    return NULL;
  }
}

/* What an option without a value turns on, NULL if it is none. */
static bool *flag_of(struct arguments *arguments, int option) {
  struct tdsd_options *options = &arguments->options;
  switch (option) {
  case OPT_PRINT_PORT:
    return &arguments->print_port;
  case OPT_ANY_LOGIN:
    return &options->any_login;
  case OPT_STRICT_CLIENT:
    return &options->strict_client;
  case OPT_SILENT:
    return &options->silent;
  case OPT_QUIET:
    return &arguments->quiet;
  default:
    return NULL;
  }
}

static int add_fault(struct arguments *arguments, const char *spec) {
  struct tdsd_options *options = &arguments->options;
  if (options->nfaults == FAULTS_MAX) {
    return arguments_complain("--fault", "more than 64 faults");
  }
  arguments->faults[options->nfaults++] = spec;
  return 0;
}

static int parse_delay(const char *text, uint32_t *out) {
  unsigned long number = 0;
  if (parse_number("login-delay-ms", text, 3600000, &number) < 0) {
    return -1;
  }
  *out = (uint32_t)number;
  return 0;
}

/* Takes one option that is neither a flag nor a text. */
static int take_other(struct arguments *arguments, int option, char *value) {
  struct tdsd_options *options = &arguments->options;
  switch (option) {
  case OPT_PORT:
    return parse_port("port", value, &options->port);
  case OPT_LISTEN:
    return add_listener(arguments, value);
  case OPT_BROWSER:
    options->browser = true;
    return parse_port("browser", value, &options->browser_port);
  case OPT_FAULT:
    return add_fault(arguments, value);
  case OPT_TLS:
    return parse_tls(value, &options->tls);
  case OPT_LOGIN:
    return value[0] == '@' ? add_login_file(arguments, value + 1)
                           : add_login(arguments, value);
  case OPT_TOKEN:
    return add_token(arguments, value);
  case OPT_FEDAUTH:
    return parse_fedauth(value, options);
  case OPT_LOGIN_DELAY:
    return parse_delay(value, &options->login_delay_ms);
  default:
    (void)fputs(usage, stderr);
    return -1;
  }
}

/* Takes one option.  Returns 0, or -1 after a complaint. */
static int take(struct arguments *arguments, int option, char *value) {
  const char **text = text_of(arguments, option);
  bool *flag = flag_of(arguments, option);
  if (text != NULL) {
    *text = value;
    return 0;
  }
  if (flag != NULL) {
    *flag = true;
    return 0;
  }
  return take_other(arguments, option, value);
}

int arguments_parse(struct arguments *arguments, int argc, char **argv) {
  bool port = false;
  int option = 0;
  /* One thread only.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (option == OPT_HELP) {
      (void)fputs(usage, stdout);
      return 1;
    }
    port = port || option == OPT_PORT;
    if (take(arguments, option, optarg) < 0) {
      return -1;
    }
  }
  if (optind < argc) {
    return arguments_complain(argv[optind], "not an option");
  }
  if (!port) {
    return arguments_complain("--port", "is needed; 0 takes any free port");
  }
  if ((arguments->options.cert_file == NULL) !=
      (arguments->options.key_file == NULL)) {
    return arguments_complain("--cert, --key", "are needed together");
  }
  return 0;
}
