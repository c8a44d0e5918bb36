/* SPDX-License-Identifier: MIT */
/* Which failure gives which exit code, and what is said about it. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir_driver.h"

#include "diag.h"
#include "exit_code.h"

Test(exit_code, tells_kinds_of_failure_apart, .timeout = 5) {
  static const struct {
    int32_t rc;
    int32_t phase;
    int32_t kind;
    int code;
  } rows[] = {
      {WEIR_OK, 0, 0, EXIT_CODE_OK},
      {WEIR_E_FAIL, WEIR_PHASE_EXEC, WEIR_DRV_K_SYNTAX, EXIT_CODE_STATEMENT},
      {WEIR_E_FAIL, WEIR_PHASE_EXEC, WEIR_DRV_K_DEADLOCK, EXIT_CODE_STATEMENT},
      {WEIR_E_FAIL, WEIR_PHASE_EXEC, WEIR_DRV_K_NETWORK, EXIT_CODE_NETWORK},
      {WEIR_E_ARG, WEIR_PHASE_PARSE, 0, EXIT_CODE_CONNINFO},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_CONFIG, EXIT_CODE_CONNINFO},
      {WEIR_E_FAIL, WEIR_PHASE_LOAD, WEIR_DRV_K_CONFIG, EXIT_CODE_DRIVER},
      {WEIR_E_FAIL, WEIR_PHASE_EXEC, WEIR_DRV_K_INTERNAL, EXIT_CODE_DRIVER},
      {WEIR_E_FAIL, WEIR_PHASE_RESOLVE, 0, EXIT_CODE_NETWORK},
      {WEIR_E_FAIL, WEIR_PHASE_CONNECT, 0, EXIT_CODE_NETWORK},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_NETWORK, EXIT_CODE_NETWORK},
      {WEIR_E_FAIL, WEIR_PHASE_TLS, 0, EXIT_CODE_TLS},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_TLS, EXIT_CODE_TLS},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_AUTH, EXIT_CODE_LOGIN},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, 0, EXIT_CODE_LOGIN},
      {WEIR_E_TIMEOUT, WEIR_PHASE_CONNECT, 0, EXIT_CODE_TIMEOUT},
      {WEIR_E_FAIL, WEIR_PHASE_LOGIN, WEIR_DRV_K_TIMEOUT, EXIT_CODE_TIMEOUT},
      {WEIR_E_OVERLOADED, WEIR_PHASE_QUEUE, 0, EXIT_CODE_BUSY},
      {WEIR_E_DOWN, WEIR_PHASE_CONNECT, 0, EXIT_CODE_BUSY},
      {WEIR_E_UNSUPPORTED, WEIR_PHASE_PARSE, 0, EXIT_CODE_CONNINFO},
      {WEIR_E_UNSUPPORTED, WEIR_PHASE_LOAD, 0, EXIT_CODE_DRIVER},
      {WEIR_E_UNSUPPORTED, 0, 0, EXIT_CODE_OTHER},
      {WEIR_E_NOMEM, 0, 0, EXIT_CODE_OTHER},
      {WEIR_E_FAIL, 0, 0, EXIT_CODE_OTHER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir_error err = {.phase = rows[i].phase, .kind = rows[i].kind};
    cr_assert_eq(exit_code_of(rows[i].rc, &err), rows[i].code, "row %zu: %d", i,
                 exit_code_of(rows[i].rc, &err));
  }
}

/* What diag_error() prints.  Owns: until free(). */
/* noinline: else gcc 12 takes the text for a pointer to the variable. */
__attribute__((noinline)) static char *print_error(
    int32_t rc,
    const struct weir_error *err,
    const struct diag_try *tried) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  (void)diag_error(to, rc, err, tried);
  (void)fclose(to);
  return text;
}

Test(diag, tells_what_phase_trial_and_remedy, .timeout = 5) {
  struct weir_error err = {.phase = WEIR_PHASE_LOGIN,
                           .kind = WEIR_DRV_K_AUTH,
                           .native = 18456,
                           .native_severity = 14,
                           .sqlstate = "28000",
                           .message = "Login failed for user 'sa'."};
  struct diag_try tried = {.doing = "connecting",
                           .target = "Driver=tds;Server=db",
                           .took_ns = 12300000};
  char *text = print_error(WEIR_E_FAIL, &err, &tried);
  cr_assert_str_eq(
      text, "weirctl: Login failed for user 'sa'.\n"
            "  phase:  login\n"
            "  server: error 18456, severity 14, SQLSTATE 28000\n"
            "  tried:  connecting, with Driver=tds;Server=db, for 12.3 ms\n"
            "  to do:  check User ID, Password and Database; repeated "
            "attempts may lock the account\n");
  free(text);
}

Test(exit_code, a_refused_database_is_a_refused_login, .timeout = 5) {
  struct weir_error err = {
      .phase = WEIR_PHASE_LOGIN, .kind = WEIR_DRV_K_CONFIG, .native = 4060};
  cr_assert_eq(exit_code_of(WEIR_E_FAIL, &err), EXIT_CODE_LOGIN);
}

Test(diag, advises_what_helps, .timeout = 5) {
  static const struct {
    int32_t phase;
    int32_t kind;
    int32_t native;
    int32_t rc;
    const char *message;
    const char *advice;
  } rows[] = {
      {WEIR_PHASE_TLS, WEIR_DRV_K_TLS, 0, WEIR_E_FAIL,
       "the server's certificate is refused: it is self-signed",
       "set ServerCertificate= or CA File=, or TrustServerCertificate=true"},
      {WEIR_PHASE_TLS, WEIR_DRV_K_TLS, 0, WEIR_E_FAIL,
       "the server does not support encryption", "or set Encrypt=optional"},
      {WEIR_PHASE_LOGIN, WEIR_DRV_K_CONFIG, 4060, WEIR_E_FAIL,
       "Cannot open database", "check Database="},
      {WEIR_PHASE_LOGIN, WEIR_DRV_K_AUTH, 18456, WEIR_E_FAIL, "Login failed",
       "check User ID, Password"},
      {WEIR_PHASE_LOGIN, WEIR_DRV_K_AUTH, 18456, WEIR_E_FAIL,
       "login with an access token to db,1433: Login failed", "Access Token"},
      {WEIR_PHASE_EXEC, WEIR_DRV_K_INTERNAL, 0, WEIR_E_FAIL,
       "driver x broke its contract: step", "report it to the driver's author"},
      {WEIR_PHASE_LOAD, 0, 0, WEIR_E_ARG, "directory of drivers 'rel'",
       "absolute paths"},
      {WEIR_PHASE_LOAD, WEIR_DRV_K_CONFIG, 0, WEIR_E_FAIL, "driver x: no file",
       "weirctl drivers"},
      {WEIR_PHASE_CONNECT, WEIR_DRV_K_RESOURCE, 0, WEIR_E_FAIL,
       "cannot connect to 127.0.0.1: Too many open files", "ulimit -n"},
      {WEIR_PHASE_CONNECT, WEIR_DRV_K_RESOURCE, 0, WEIR_E_FAIL,
       "cannot connect to 127.0.0.1: Too many open files in system",
       "check the host"},
      {WEIR_PHASE_PARSE, 0, 0, WEIR_E_ARG, "unknown option",
       "weirctl help settings"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir_error err = {.code = rows[i].rc,
                             .phase = rows[i].phase,
                             .kind = rows[i].kind,
                             .native = rows[i].native};
    (void)strcpy(err.message, rows[i].message);
    char *text = print_error(rows[i].rc, &err, NULL);
    const char *todo = strstr(text, "to do:");
    cr_assert(todo != NULL && strstr(todo, rows[i].advice) != NULL,
              "row %zu: %s", i, text);
    free(text);
  }
}

Test(diag, names_the_status_when_there_is_no_message, .timeout = 5) {
  struct weir_error err = {.phase = WEIR_PHASE_NONE};
  char *text = print_error(WEIR_E_NOMEM, &err, NULL);
  cr_assert_str_eq(text, "weirctl: failed with WEIR_E_NOMEM\n");
  free(text);
}

Test(diag, keeps_messages_on_one_line_and_from_the_terminal, .timeout = 5) {
  struct weir_error err = {.phase = 99,
                           .flags = WEIR_DRV_EF_MAYBE_EXECUTED,
                           .retry_after_ms = 500,
                           .message = "a\nb\x1b[2J\xff"};
  char *text = print_error(WEIR_E_FAIL, &err, NULL);
  cr_assert_str_eq(text, "weirctl: a b [2J\xef\xbf\xbd\n"
                         "  note:   the statement may have been executed\n"
                         "  note:   the server asks to wait 500 ms\n");
  free(text);
}
