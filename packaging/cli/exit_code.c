/* SPDX-License-Identifier: MIT */
#include "exit_code.h"

#include <stdbool.h>
#include <stddef.h>

#include "weir_driver.h"

static const struct {
  int code;
  const char *text;
} codes[] = {
    {EXIT_CODE_OK, "everything asked for was done"},
    {EXIT_CODE_STATEMENT, "the server refused or failed a statement"},
    {EXIT_CODE_USAGE, "wrong use: option, argument, or not built yet"},
    {EXIT_CODE_CONNINFO, "the connection string is missing or wrong"},
    {EXIT_CODE_DRIVER, "a driver was not found or cannot be used"},
    {EXIT_CODE_NETWORK, "name look-up, connecting, or the network failed"},
    {EXIT_CODE_TLS, "the TLS handshake or the certificate failed"},
    {EXIT_CODE_LOGIN, "the server refused the login"},
    {EXIT_CODE_TIMEOUT, "a time-out passed, in whatever phase"},
    {EXIT_CODE_OTHER, "anything else, such as no memory or a full disk"},
    {EXIT_CODE_BUSY, "the pool or the server is overloaded or down"},
    {EXIT_CODE_CHECK, "a check did not hold (demo: too many sessions; key "
                      "--same)"},
    {EXIT_CODE_INTERRUPTED, "interrupted by Ctrl-C; the request was cancelled"},
    {EXIT_CODE_PIPE, "nobody reads the output any more"},
    {EXIT_CODE_TERMINATED, "ended by SIGTERM"},
};

void exit_code_help(FILE *to) {
  (void)fputs("Exit codes of weirctl:\n\n", to);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    (void)fprintf(to, "  %3d  %s\n", codes[i].code, codes[i].text);
  }
  (void)fputs("\nThe first failure decides.  Details are on standard error: "
              "what happened, in which\nphase, what was tried, what to do.\n",
              to);
}

/* What the result alone decides, -1 if it takes a look at the error. */
static int by_result(int32_t rc) {
  switch (rc) {
  case WEIR_OK:
    return EXIT_CODE_OK;
  case WEIR_E_TIMEOUT:
    return EXIT_CODE_TIMEOUT;
  case WEIR_E_OVERLOADED:
  case WEIR_E_DOWN:
    return EXIT_CODE_BUSY;
  case WEIR_E_FAIL:
  case WEIR_E_ARG:
  case WEIR_E_UNSUPPORTED:
    return -1;
  default:
    return EXIT_CODE_OTHER;
  }
}

/* What the kind decides in any phase: a network that breaks while a statement
 * runs is no fault of the statement. */
static int by_kind(int32_t kind) {
  switch (kind) {
  case WEIR_DRV_K_TIMEOUT:
    return EXIT_CODE_TIMEOUT;
  case WEIR_DRV_K_NETWORK:
  case WEIR_DRV_K_NAME:
    return EXIT_CODE_NETWORK;
  case WEIR_DRV_K_TLS:
    return EXIT_CODE_TLS;
  case WEIR_DRV_K_AUTH:
  case WEIR_DRV_K_AUTH_EXPIRED:
    return EXIT_CODE_LOGIN;
  case WEIR_DRV_K_THROTTLED:
    return EXIT_CODE_BUSY;
  case WEIR_DRV_K_CONFIG:
    return EXIT_CODE_CONNINFO;
  case WEIR_DRV_K_INTERNAL:
    return EXIT_CODE_DRIVER;
  default:
    return -1;
  }
}

static int by_phase(int32_t phase) {
  switch (phase) {
  case WEIR_PHASE_PARSE:
    return EXIT_CODE_CONNINFO;
  case WEIR_PHASE_LOAD:
    return EXIT_CODE_DRIVER;
  case WEIR_PHASE_RESOLVE:
  case WEIR_PHASE_CONNECT:
    return EXIT_CODE_NETWORK;
  case WEIR_PHASE_TLS:
    return EXIT_CODE_TLS;
  case WEIR_PHASE_LOGIN:
    return EXIT_CODE_LOGIN;
  case WEIR_PHASE_EXEC:
    return EXIT_CODE_STATEMENT;
  default:
    return EXIT_CODE_OTHER;
  }
}

/* The server's word in a login is a refused login, even when the setting that it
 * does not like (a database that is not there) is to blame. */
static bool is_refused_login(const struct weir_error *err) {
  return err->phase == WEIR_PHASE_LOGIN && err->kind == WEIR_DRV_K_CONFIG &&
         err->native != 0;
}

int exit_code_of(int32_t rc, const struct weir_error *err) {
  int code = by_result(rc);
  if (code < 0 && is_refused_login(err)) {
    return EXIT_CODE_LOGIN;
  }
  /* A driver that does not load may blame its file's configuration; that is
   * still the driver, as a refused statement is the statement. */
  if (code < 0 && err->phase != WEIR_PHASE_LOAD) {
    code = by_kind(err->kind);
  }
  return code < 0 ? by_phase(err->phase) : code;
}
