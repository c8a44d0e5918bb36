/* SPDX-License-Identifier: MIT */
#include "diag.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "weir_driver.h"

#include "duration.h"
#include "exit_code.h"
#include "text_buf.h"
#include "utf8.h"

void diag_line(const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fputs("weirctl: ", stderr);
  (void)vfprintf(stderr, format, args);
  (void)fputc('\n', stderr);
  va_end(args);
}

int diag_usage(const char *verb, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fputs("weirctl: ", stderr);
  (void)vfprintf(stderr, format, args);
  (void)fprintf(stderr, "\nTry: weirctl %s%s--help\n", verb == NULL ? "" : verb,
                verb == NULL ? "" : " ");
  va_end(args);
  return EXIT_CODE_USAGE;
}

static const char *const phases[] = {
    [WEIR_PHASE_NONE] = "",
    [WEIR_PHASE_PARSE] = "reading the connection string",
    [WEIR_PHASE_LOAD] = "loading the driver",
    [WEIR_PHASE_QUEUE] = "waiting for a connection of the pool",
    [WEIR_PHASE_RESOLVE] = "looking up the server's name",
    [WEIR_PHASE_CONNECT] = "connecting to the server",
    [WEIR_PHASE_TLS] = "TLS handshake",
    [WEIR_PHASE_LOGIN] = "login",
    [WEIR_PHASE_EXEC] = "running a statement",
    [WEIR_PHASE_RESET] = "cleaning a connection for its next user",
    [WEIR_PHASE_CLOSE] = "closing",
};

static const char *phase_name(int32_t phase) {
  size_t n = sizeof phases / sizeof phases[0];
  return phase >= 0 && (size_t)phase < n ? phases[phase] : "";
}

/* Texts of a server reach a terminal: controls become spaces, which also keeps
 * a message of many lines on one. */
static void put_text(FILE *to, const char *s, size_t len) {
  struct text_buf clean = {0};
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    at += utf8_next(s + at, len - at, &c);
    text_buf_add_char(&clean, c < 0x20 || (c >= 0x7F && c < 0xA0) ? ' ' : c);
  }
  if (clean.len > 0) {
    (void)fwrite(clean.p, 1, clean.len, to);
  }
  text_buf_free(&clean);
}

/* This process has no descriptor left; ENFILE, whose text goes on, would be the
 * whole machine's. */
static bool lacks_files(const struct weir_error *err) {
  const char *text = strerrordesc_np(EMFILE);
  return strstr(err->message, text) != NULL &&
         strstr(err->message, strerrordesc_np(ENFILE)) == NULL;
}

static const char *driver_advice(const struct weir_error *err) {
  if (err->kind == WEIR_DRV_K_INTERNAL) {
    return "report it to the driver's author";
  }
  if (err->code == WEIR_E_ARG) {
    return "name directories of drivers by absolute paths";
  }
  return "\"weirctl drivers\" lists the drivers found; --driver-dir or "
         "WEIR_DRIVER_PATH adds a directory";
}

static const char *tls_advice(const struct weir_error *err) {
  if (strstr(err->message, "certificate") != NULL) {
    return "set ServerCertificate= or CA File=, or "
           "TrustServerCertificate=true for a test";
  }
  return "have the server offer TLS, or set Encrypt=optional where the way to "
         "it is safe";
}

static const char *login_advice(const struct weir_error *err) {
  if (err->kind == WEIR_DRV_K_CONFIG) {
    return "check Database=: does it exist, and may this login open it?";
  }
  if (strstr(err->message, "access token") != NULL) {
    return "get a new Access Token: is it meant for this server and its "
           "tenant, "
           "is it still valid, and may its owner log in here?";
  }
  return "check User ID, Password and Database; repeated attempts may lock "
         "the account";
}

/* What a person can do about it. */
static const char *advice(int code, const struct weir_error *err) {
  if (lacks_files(err)) {
    return "allow this process more open files: raise ulimit -n";
  }
  switch (code) {
  case EXIT_CODE_STATEMENT:
    return err->kind == WEIR_DRV_K_DEADLOCK ? "run the statement again" : NULL;
  case EXIT_CODE_CONNINFO:
    return "correct the connection string; \"weirctl help settings\" names "
           "what "
           "it may hold";
  case EXIT_CODE_DRIVER:
    return driver_advice(err);
  case EXIT_CODE_NETWORK:
    return "check the host and port in Server=, that the server runs, and "
           "what is between (firewall, VPN)";
  case EXIT_CODE_TLS:
    return tls_advice(err);
  case EXIT_CODE_LOGIN:
    return login_advice(err);
  case EXIT_CODE_TIMEOUT:
    return err->phase == WEIR_PHASE_EXEC
               ? "allow more with --timeout or Command Timeout="
               : "see that the server answers; allow more with Connect "
                 "Timeout= or --timeout";
  case EXIT_CODE_BUSY:
    return "try again later, or from fewer clients";
  default:
    return NULL;
  }
}

static void put_headline(FILE *to, int32_t rc, const struct weir_error *err) {
  size_t len = strnlen(err->message, sizeof err->message);
  (void)fputs("weirctl: ", to);
  put_text(to, err->message, len);
  (void)fprintf(to, "%s%s\n", len == 0 ? "failed with " : "",
                len == 0 ? weir_status_name(rc) : "");
}

/* Where an error or a notice comes from; 0 is not known. */
static void put_place(FILE *to, uint32_t state, uint32_t line) {
  if (state != 0) {
    (void)fprintf(to, ", state %u", state);
  }
  if (line != 0) {
    (void)fprintf(to, ", line %u", line);
  }
}

static void put_server_part(FILE *to, const struct weir_error *err) {
  if (err->native == 0 && err->sqlstate[0] == '\0') {
    return;
  }
  (void)fputs("  server: ", to);
  if (err->native != 0) {
    (void)fprintf(to, "error %d, severity %u", err->native,
                  err->native_severity);
    put_place(to, err->native_state, err->line);
  }
  if (err->sqlstate[0] != '\0') {
    (void)fprintf(to, "%sSQLSTATE %.7s", err->native != 0 ? ", " : "",
                  err->sqlstate);
  }
  (void)fputc('\n', to);
}

static void put_tried_part(FILE *to, const struct diag_try *tried) {
  char took[32];
  if (tried == NULL || (tried->doing == NULL && tried->target == NULL)) {
    return;
  }
  (void)fprintf(to, "  tried:  %s", tried->doing != NULL ? tried->doing : "");
  if (tried->target != NULL) {
    (void)fputs(tried->doing != NULL ? ", with " : "", to);
    put_text(to, tried->target, strlen(tried->target));
  }
  if (tried->took_ns >= 0) {
    (void)fprintf(to, ", for %s", duration_text(tried->took_ns, took));
  }
  (void)fputc('\n', to);
}

void diag_maybe_executed(FILE *to) {
  (void)fputs("  note:   the statement may have been executed\n", to);
}

int diag_error(FILE *to,
               int32_t rc,
               const struct weir_error *err,
               const struct diag_try *tried) {
  int code = exit_code_of(rc, err);
  const char *phase = phase_name(err->phase);
  const char *todo = advice(code, err);
  bool told = tried != NULL && tried->told;
  if (told) {
    (void)fputs("weirctl: the error above ended the statement\n", to);
  } else {
    put_headline(to, rc, err);
  }
  if (phase[0] != '\0') {
    (void)fprintf(to, "  phase:  %s\n", phase);
  }
  if (!told) {
    put_server_part(to, err);
  }
  put_tried_part(to, tried);
  if ((err->flags & WEIR_DRV_EF_MAYBE_EXECUTED) != 0) {
    diag_maybe_executed(to);
  }
  if (err->retry_after_ms > 0) {
    (void)fprintf(to, "  note:   the server asks to wait %u ms\n",
                  err->retry_after_ms);
  }
  if (todo != NULL) {
    (void)fprintf(to, "  to do:  %s\n", todo);
  }
  return code;
}

void diag_notice(FILE *to, const struct weir_item *item) {
  /* SQL Server's classes: over 10 is an error, 0 to 10 is information. */
  (void)fputs(item->severity > 10 ? "error" : "notice", to);
  if (item->native != 0 || item->severity != 0) {
    (void)fprintf(to, " %d, severity %u", item->native, item->severity);
  }
  put_place(to, item->state, item->line);
  if (item->procedure_len != 0) {
    (void)fputs(" of ", to);
    put_text(to, item->procedure, (size_t)item->procedure_len);
  }
  (void)fputs(": ", to);
  if (item->message != NULL) {
    put_text(to, item->message, (size_t)item->message_len);
  }
  (void)fputc('\n', to);
}

int diag_output(int error) {
  if (error == -EPIPE) {
    return EXIT_CODE_PIPE;
  }
  const char *text = strerrordesc_np(-error);
  if (error == -EPROTO) {
    diag_line("the driver sent a cell that is not what its column says");
  } else if (error == -ENOMEM) {
    diag_line("no memory for the output");
  } else {
    diag_line("cannot write the output: %s", text != NULL ? text : "?");
  }
  return EXIT_CODE_OTHER;
}
