/* SPDX-License-Identifier: MIT */
/* test_scenarios.c - troubles that other drivers had with the bytes of a server,
 * by number, against the whole driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "responses.h"

#define OPTIONS "Server=db.test;User ID=sa;Password=;Encrypt=optional"

#define PRELOGIN_REPLY \
  "04 01 001a 0000 01 00 00 000b 0006 01 0011 0001 ff 10000fa00000 02"

#define ACK     "ad 0a00 01 74000004 00 10000fa0 "
#define ENV     "e3 0500 01 01 6100 00 "
#define CHARSET "e3 0800 07 05 0904d00034 00 "
#define INFO    "ab 1000 45160000 01 00 0100 4900 00 00 01000000 "
#define IN_PROC "ff 0100 0000 0000000000000000 "
#define DONE    "fd 0000 0000 0000000000000000 "
#define MORE    "fd 0100 be00 0000000000000000 "
#define ERR     "aa 1200 66000000 01 0f 0200 42006100 00 00 07000000 "
#define FAILED  "fd 0300 0000 0000000000000000 "
#define COLUMNS "81 0100 00000000 0900 26 04 01 6100 "
#define ROW     "d1 04 01000000 "
#define ROWS(n) "fd 1100 c100 " n "00000000000000 "
#define LAST(n) "fd 1000 c100 " n "00000000000000 "

static void open_session(struct fake *f) {
  fake_open(f, OPTIONS);
  fake_login(f);
  cr_assert_eq(fake_connect(f), WEIR_DRV_DONE, "%s", f->message);
  f->log.n = 0;
}

/* Whatever came: the status is one of two, and a failure that reaches the
 * connection makes it unusable, never the reverse. */
static void expect_sane(struct fake *f, weir_drv_status rc, const char *what) {
  bool ended =
      rc == WEIR_DRV_DONE || rc == WEIR_DRV_FAIL || rc == WEIR_DRV_WAIT;
  cr_assert(ended, "%s: status %d", what, (int)rc);
  if (rc == WEIR_DRV_FAIL && f->err.scope >= WEIR_DRV_SCOPE_CONN) {
    cr_assert_eq(f->wait.usable, 0, "%s", what);
  }
  cr_assert(rc != WEIR_DRV_FAIL || f->message[0] != '\0' || f->err.native != 0,
            "%s", what);
}

/* Appends to a text of 1024 bytes. */
static void append(char *to, const char *what) {
  size_t n = strlen(to);
  size_t more = strlen(what);
  cr_assert_lt(n + more, 1024);
  memcpy(to + n, what, more + 1);
}

/* ------------------------------------------------------------- scenario 162 */

/* The five tokens in the order of one permutation. */
static void permute(unsigned number, char *out) {
  const char *left[] = {IN_PROC, INFO, ENV, CHARSET, ACK};
  size_t n = 5;
  out[0] = '\0';
  while (n > 0) {
    size_t k = number % n;
    number /= (unsigned)n;
    append(out, left[k]);
    memmove(left + k, left + k + 1, (n - k - 1) * sizeof left[0]);
    n--;
  }
}

Test(scenarios, scenario_162_login_tokens_in_every_order, .timeout = 20) {
  for (unsigned number = 0; number < 120; number++) {
    struct fake f;
    char answer[1024];
    permute(number, answer);
    append(answer, DONE);
    fake_open(&f, OPTIONS);
    fake_hex(&f, PRELOGIN_REPLY);
    fake_reply_hex(&f, answer);
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s: %s", answer, f.message);
    cr_assert_eq(f.wait.usable, 1);
    cr_assert_eq(fake_close(&f), 0);
  }
}

/* A procedure's tokens, mixed. */
static const char *const mixes[] = {
    "79 07000000 fe 0000 e000 0000000000000000",
    (COLUMNS "a9 0200 0100 " ROW "ff 1100 c100 0100000000000000 "
             "79 00000000 fe 0000 e000 0000000000000000"),
    ("79 00000000 ac 0000 02 40006100 01 00000000 0000 26 04 04 2a000000 "
     "fe 0000 e000 0000000000000000"),
    ("ac 0000 02 40006100 01 00000000 0000 26 04 00 79 00000000 "
     "ac 0100 00 01 00000000 0000 e7 0200 0904d00034 0200 6100 "
     "fe 0000 e000 0000000000000000"),
    (COLUMNS "a4 0500 01 0100 6100 a5 0300 010100 a9 0200 0100 " ROW
             "a9 0200 0100 " ROWS("01") INFO "79 00000000 fe 0000 e000 "
                                             "0000000000000000"),
};

Test(scenarios, scenario_162_procedure_tokens_in_every_mix, .timeout = 10) {
  for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
    struct fake f;
    open_session(&f);
    f.read_most = 1;
    fake_reply_hex(&f, mixes[i]);
    cr_expect_eq(fake_exec(&f, "exec p"), WEIR_DRV_DONE, "%zu: %s", i,
                 f.message);
    cr_expect_eq(f.wait.usable, 1, "%zu", i);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* A RETURNSTATUS or DONE out of step by the bytes of another version. */
Test(scenarios, scenario_162_a_stream_out_of_step_dooms_it, .timeout = 5) {
  static const char *const bad[] = {
      "79 0400 00000000 fe 0000 e000 0000000000000000", "fd 0000 0000 00000000",
      "fd 0000 0000 000000000000000000"};
  for (size_t i = 0; i < 3; i++) {
    struct fake f;
    open_session(&f);
    fake_reply_hex(&f, bad[i]);
    cr_expect_eq(fake_exec(&f, "exec p"), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* Report 33, mssql-extension#323 and #227: RETURNSTATUS is four bytes, and
 * FEATUREEXTACK runs to its FF; both were read as if a length came first. */
Test(scenarios, report_33_tokens_without_a_length, .timeout = 5) {
  static const char *const features[] = {"ae 0a 01000000 01 ff ",
                                         "ae 0a 01000000 00 ff ", "ae ff "};
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
    struct fake f;
    char answer[1024] = ACK;
    append(answer, features[i]);
    append(answer, ENV DONE);
    fake_open(&f, OPTIONS);
    fake_hex(&f, PRELOGIN_REPLY);
    fake_reply_hex(&f, answer);
    fake_reply_hex(&f, "79 04000000 fe 0000 e000 0000000000000000");
    cr_expect_eq(fake_connect(&f), WEIR_DRV_DONE, "%zu: %s", i, f.message);
    cr_expect_eq(fake_exec(&f, "exec p"), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* ------------------------------------------------------------- scenario 165 */

static void exec_bytes(const uint8_t *p, size_t n, const char *what) {
  struct fake f;
  open_session(&f);
  fake_reply(&f, p, n);
  expect_sane(&f, fake_exec(&f, "select 1"), what);
  cr_assert_eq(fake_close(&f), 0, "%s", what);
}

/* Alone, and in the middle of a result, before anything and behind the end. */
Test(scenarios, scenario_165_no_token_ends_the_process, .timeout = 60) {
  static const char *const before[] = {"", COLUMNS, (COLUMNS ROW), INFO, DONE};
  for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
    for (unsigned token = 0; token <= 0xFF; token++) {
      char what[160];
      size_t n = 0;
      (void)snprintf(what, sizeof what, "%s%02x 0000 " DONE, before[i], token);
      uint8_t *p = fake_unhex(what, &n);
      exec_bytes(p, n, what);
      free(p);
    }
  }
}

Test(scenarios, scenario_165_unknown_changes_are_skipped, .timeout = 60) {
  for (unsigned type = 0; type <= 0xFF; type++) {
    char text[160];
    struct fake f;
    bool known = (type >= 1 && type <= 4) || (type >= 7 && type <= 13) ||
                 type == 15 || type == 17 || type == 18 || type == 20 ||
                 type == 21;
    (void)snprintf(text, sizeof text, "e3 0600 %02x 02 61006200 " DONE, type);
    open_session(&f);
    fake_reply_hex(&f, text);
    weir_drv_status rc = fake_exec(&f, "select 1");
    expect_sane(&f, rc, text);
    if (!known) {
      cr_expect_eq(rc, WEIR_DRV_DONE, "type %u: %s", type, f.message);
      cr_expect_eq(f.wait.usable, 1);
    }
    cr_assert_eq(fake_close(&f), 0);
  }
}

/* Each response of the collection where an answer to a statement is due. */
Test(scenarios, scenario_165_any_response_to_a_statement, .timeout = 60) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    exec_bytes(p, n, responses[i].name);
    free(p);
  }
}

/* ------------------------------------------------------------- scenario 166 */

static const struct {
  const char *prelogin; /* NULL: a good one */
  const char *login;
  const char *says;
} malformed[] = {
    {"04 01 0009 0000 01 00 ff", "", "prelogin"},
    {"04 01 000d 0000 01 00 00 0006 0006", "", "prelogin"},
    {"04 01 0012 0000 01 00 00 0006 0006 ff 10000fa0", "", "prelogin"},
    {NULL, "ad 0100 01 " DONE, "runs past its token"},
    {NULL, "ad 0500 01 74000004 " DONE, "runs past its token"},
    {NULL, "ad 0900 01 74000004 00 10000f " DONE, "runs past its token"},
    {NULL, "ad 0a00 01 74000004 04 10000fa0 " DONE, "runs past its token"},
    {NULL, "ad ffff 01 74000004 00 10000fa0 " DONE, "ends inside a token"},
};

Test(scenarios, scenario_166_malformed_login_answers, .timeout = 5) {
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
    struct fake f;
    const char *first = malformed[i].prelogin;
    fake_open(&f, OPTIONS);
    fake_hex(&f, first == NULL ? PRELOGIN_REPLY : first);
    if (first == NULL) {
      fake_reply_hex(&f, malformed[i].login);
    }
    cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL, "%zu: %s", i, f.message);
    cr_expect_not_null(strstr(f.message, malformed[i].says), "%zu: %s", i,
                       f.message);
    cr_expect_eq(fake_close(&f), 0);
  }
}

static const char *const oversized[] = {
    (COLUMNS "d1 05 0100000000"),
    (COLUMNS "d1 ff"),
    "81 0100 00000000 0900 a7 0400 0904d00034 00 d1 0500 6162636465",
    "81 0100 00000000 0900 e7 0400 0904d00034 00 d1 feff",
    "81 0100 00000000 0900 a5 0000 00 d1 0100 00",
    ("81 0100 00000000 0900 23 04000000 0904d00034 00 00 d1 01 00 "
     "0000000000000000 05000000 6162636465"),
    "81 0100 00000000 0900 62 0a000000 00 d1 0b000000",
};

Test(scenarios, scenario_166_values_longer_than_their_column, .timeout = 5) {
  for (size_t i = 0; i < sizeof oversized / sizeof oversized[0]; i++) {
    struct fake f;
    open_session(&f);
    fake_reply_hex(&f, oversized[i]);
    cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL, "%zu", i);
    cr_expect_not_null(strstr(f.message, "column 1: a value of"), "%s",
                       f.message);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* ------------------------------------------------------------- scenario 169 */

Test(scenarios,
     scenario_169_results_behind_resultless_statements,
     .timeout = 5) {
  for (unsigned n = 0; n <= 5; n++) {
    char answer[1024] = "";
    struct fake f;
    for (unsigned i = 0; i < n; i++) {
      append(answer, MORE);
    }
    append(answer, INFO ENV COLUMNS ROW ROW LAST("02"));
    open_session(&f);
    fake_reply_hex(&f, answer);
    cr_expect_eq(fake_exec(&f, "set nocount on"), WEIR_DRV_DONE);
    cr_expect_eq(f.rows, 2, "%u: %zu rows", n, f.rows);
    cr_expect_eq(f.wait.usable, 1);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* Three results with errors between: all rows come, the error ends it, and the
 * connection is good for the next statement. */
Test(scenarios, scenario_169_errors_between_results, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, COLUMNS ROW ROWS("01") ERR FAILED COLUMNS ROW ROW ROWS(
                         "02") ERR FAILED COLUMNS ROW LAST("01"));
  fake_reply_hex(&f, COLUMNS ROW LAST("01"));
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 102);
  cr_expect_eq(f.rows, 4);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(fake_close(&f), 0);
}
