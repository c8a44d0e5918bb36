/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "status.h"

/* A driver's error with a text in it. */
static struct weir_drv_error driver_error(char *text, uint32_t cap) {
  return (struct weir_drv_error){.struct_size = sizeof(struct weir_drv_error),
                                 .scope = WEIR_DRV_SCOPE_CONN,
                                 .kind = WEIR_DRV_K_NETWORK,
                                 .retry = WEIR_DRV_RETRY_OTHER,
                                 .txn = WEIR_DRV_TXN_UNKNOWN,
                                 .flags = WEIR_DRV_EF_MAYBE_EXECUTED,
                                 .native = 1205,
                                 .native_severity = 13,
                                 .native_state = 51,
                                 .line = 7,
                                 .retry_after_ms = 250,
                                 .sqlstate = "40001",
                                 .message = text,
                                 .message_cap = cap,
                                 .message_len = (uint32_t)strlen(text)};
}

Test(status, names_every_code) {
  cr_expect_str_eq(weir_status_name(WEIR_OK), "WEIR_OK");
  cr_expect_str_eq(weir_status_name(WEIR_PENDING), "WEIR_PENDING");
  cr_expect_str_eq(weir_status_name(WEIR_E_FAIL), "WEIR_E_FAIL");
  cr_expect_str_eq(weir_status_name(WEIR_E_ARG), "WEIR_E_ARG");
  cr_expect_str_eq(weir_status_name(WEIR_E_HANDLE), "WEIR_E_HANDLE");
  cr_expect_str_eq(weir_status_name(WEIR_E_NOMEM), "WEIR_E_NOMEM");
  cr_expect_str_eq(weir_status_name(WEIR_E_FORK), "WEIR_E_FORK");
  cr_expect_str_eq(weir_status_name(WEIR_E_CLOSED), "WEIR_E_CLOSED");
  cr_expect_str_eq(weir_status_name(WEIR_E_UNSUPPORTED), "WEIR_E_UNSUPPORTED");
  cr_expect_str_eq(weir_status_name(WEIR_E_BUSY), "WEIR_E_BUSY");
  cr_expect_str_eq(weir_status_name(WEIR_E_SPACE), "WEIR_E_SPACE");
  cr_expect_str_eq(weir_status_name(WEIR_E_TIMEOUT), "WEIR_E_TIMEOUT");
  cr_expect_str_eq(weir_status_name(WEIR_E_OVERLOADED), "WEIR_E_OVERLOADED");
  cr_expect_str_eq(weir_status_name(WEIR_E_DOWN), "WEIR_E_DOWN");
  cr_expect_str_eq(weir_status_name(WEIR_E_CANCELLED), "WEIR_E_CANCELLED");
}

Test(status, tells_what_to_do_when_descriptors_run_out) {
  char buf[128];
  cr_expect_str_eq(weir__errno_text(EMFILE, buf, sizeof buf),
                   "no descriptor left (Too many open files); raise "
                   "`ulimit -n`");
  cr_expect_str_eq(weir__errno_text(ENFILE, buf, sizeof buf),
                   "no descriptor left (Too many open files in system); raise "
                   "fs.file-max");
  cr_expect_str_eq(weir__errno_text(ECONNREFUSED, buf, sizeof buf),
                   "Connection refused");
  cr_expect_str_eq(weir__errno_text(EMFILE, buf, 14), "no descriptor");
}

Test(status, names_no_other_code) {
  cr_expect_str_eq(weir_status_name(2), "unknown");
  cr_expect_str_eq(weir_status_name(WEIR_E_CANCELLED - 1), "unknown");
  cr_expect_str_eq(weir_status_name(INT32_MIN), "unknown");
  cr_expect_str_eq(weir_status_name(INT32_MAX), "unknown");
}

Test(status, fills_an_error_and_returns_its_code) {
  struct weir_error e;
  memset(&e, 0x5A, sizeof e);
  e.struct_size = sizeof e;
  cr_expect_eq(weir__error_set(&e, WEIR_E_ARG, WEIR_PHASE_PARSE, "%s: %d",
                               "Port", 70000),
               WEIR_E_ARG);
  cr_expect_eq(e.code, WEIR_E_ARG);
  cr_expect_eq(e.phase, WEIR_PHASE_PARSE);
  cr_expect_eq(e.scope, 0);
  cr_expect_eq(e.native, 0);
  cr_expect_str_eq(e.sqlstate, "");
  cr_expect_str_eq(e.message, "Port: 70000");
  cr_expect_eq(e.message_len, 11);
  cr_expect_eq(e.struct_size, sizeof e);
}

Test(status, accepts_that_nobody_wants_the_error) {
  char text[] = "x";
  const struct weir_drv_error d = driver_error(text, sizeof text);
  cr_expect_eq(weir__error_set(NULL, WEIR_E_FAIL, 0, "%s", "x"), WEIR_E_FAIL);
  weir__error_class(NULL, 1, 2, 3);
  weir__error_from_driver(NULL, &d, WEIR_E_FAIL, 0);
  weir__error_clear(NULL);
}

Test(status, adds_a_class) {
  struct weir_error e = {.struct_size = sizeof e};
  (void)weir__error_set(&e, WEIR_E_FAIL, WEIR_PHASE_LOAD, "no");
  weir__error_class(&e, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_CONFIG,
                    WEIR_DRV_RETRY_ELSE);
  cr_expect_eq(e.scope, WEIR_DRV_SCOPE_DRIVER);
  cr_expect_eq(e.kind, WEIR_DRV_K_CONFIG);
  cr_expect_eq(e.retry, WEIR_DRV_RETRY_ELSE);
  cr_expect_str_eq(e.message, "no");
}

Test(status, cuts_a_message_at_a_character) {
  struct weir_error e = {.struct_size = sizeof e};
  char text[1100];
  memset(text, 'x', sizeof text);
  memcpy(text + 1022, "\xC3\xA9", 2); /* byte 1023 would be its second half */
  text[1099] = '\0';
  (void)weir__error_set(&e, WEIR_E_FAIL, 0, "%s", text);
  cr_expect_eq(e.message_len, 1022);
  cr_expect_eq(e.message[1021], 'x');
  cr_expect_eq(e.message[1022], '\0');
}

Test(status, survives_a_message_of_any_length) {
  struct weir_error e = {.struct_size = sizeof e};
  (void)weir__error_set(&e, WEIR_E_FAIL, 0, "%*s", 100000, "x");
  cr_expect_eq(e.message_len, 1023);
}

struct text {
  const char *in;
  size_t n;
  const char *out;
};

Test(status, replaces_what_is_not_utf8) {
  static const struct text texts[] = {
      {"z\xC3\xB3\xC5\x82\xC4\x87", 7, "z\xC3\xB3\xC5\x82\xC4\x87"},
      {"\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80"},
      {"a\xFF"
       "b",
       3, "a?b"},
      {"\xC3", 1, "?"},
      {"\xC3(", 2, "?("},
      {"\xC0\x80", 2, "??"},           /* overlong NUL */
      {"\xED\xA0\x80", 3, "???"},      /* a surrogate */
      {"\xF4\x90\x80\x80", 4, "????"}, /* beyond U+10FFFF */
      {"a\0b", 3, "a?b"},
      {"\x80", 1, "?"}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char to[32];
    (void)weir__text_copy(to, sizeof to, texts[i].in, texts[i].n);
    cr_expect_str_eq(to, texts[i].out, "text %zu: %s", i, to);
  }
}

Test(status, writes_no_more_than_the_caller_has) {
  union {
    struct weir_error e;
    unsigned char bytes[sizeof(struct weir_error)];
  } u;
  static const size_t sizes[] = {0, 3, 4, 8, 12, 48, 55, 56, 57, 60, 400};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    memset(&u, 0x5A, sizeof u);
    u.e.struct_size = (uint32_t)sizes[i];
    (void)weir__error_set(&u.e, WEIR_E_FAIL, 1, "%s", "a text of some length");
    weir__error_class(&u.e, 1, 2, 3);
    cr_expect_eq(u.e.struct_size, sizes[i]);
    const size_t from = sizes[i] < 4 ? 4 : sizes[i];
    for (size_t at = from; at < sizeof u; at++) {
      cr_assert_eq(u.bytes[at], 0x5A, "size %zu, byte %zu", sizes[i], at);
    }
  }
}

/* Its caller was built before errors told state and line. */
Test(status, serves_a_caller_that_knows_no_line) {
  char text[] = "victim";
  struct weir_drv_error from = driver_error(text, sizeof text);
  struct weir_error e = {
      .struct_size = offsetof(struct weir_error, native_state), .line = 99};
  weir__error_from_driver(&e, &from, WEIR_E_FAIL, WEIR_PHASE_EXEC);
  cr_expect_str_eq(e.message, "victim");
  cr_expect_eq(e.message_len, 6);
  cr_expect_eq(e.line, 99);
  e.struct_size = sizeof e;
  weir__error_from_driver(&e, &from, WEIR_E_FAIL, WEIR_PHASE_EXEC);
  cr_expect_eq(e.native_state, 51);
  cr_expect_eq(e.line, 7);
}

Test(status, adds_what_is_known_of_the_transaction) {
  struct weir_error e = {.struct_size = sizeof e};
  struct weir_error small = {.struct_size = offsetof(struct weir_error, txn)};
  weir__error_txn(&e, WEIR_TXN_OPEN);
  weir__error_txn(&small, WEIR_TXN_OPEN);
  weir__error_txn(NULL, WEIR_TXN_OPEN);
  cr_expect_eq(e.txn, WEIR_TXN_OPEN);
  cr_expect_eq(small.txn, 0);
}

Test(status, ends_a_short_message_in_a_nul) {
  struct weir_error e = {.struct_size =
                             offsetof(struct weir_error, message) + 5};
  (void)weir__error_set(&e, WEIR_E_FAIL, 0, "abc\xC3\xA9");
  cr_expect_str_eq(e.message, "abc");
  cr_expect_eq(e.message_len, 3);
}

Test(status, leaves_what_a_newer_caller_has_alone) {
  struct {
    struct weir_error e;
    uint32_t later;
  } wide = {.e = {.struct_size = sizeof wide}, .later = 77};
  (void)weir__error_set(&wide.e, WEIR_E_FAIL, 0, "x");
  cr_expect_eq(wide.later, 77);
  cr_expect_eq(wide.e.struct_size, sizeof wide);
}

Test(status, copies_all_that_a_driver_said) {
  struct weir_error e = {.struct_size = sizeof e};
  char text[] = "deadlock victim";
  const struct weir_drv_error d = driver_error(text, sizeof text);
  weir__error_from_driver(&e, &d, WEIR_E_FAIL, WEIR_PHASE_EXEC);
  memset(text, 'x', sizeof text - 1);
  cr_expect_eq(e.code, WEIR_E_FAIL);
  cr_expect_eq(e.phase, WEIR_PHASE_EXEC);
  cr_expect_eq(e.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(e.kind, WEIR_DRV_K_NETWORK);
  cr_expect_eq(e.retry, WEIR_DRV_RETRY_OTHER);
  cr_expect_eq(e.txn, WEIR_DRV_TXN_UNKNOWN);
  cr_expect_eq(e.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_expect_eq(e.native, 1205);
  cr_expect_eq(e.native_severity, 13);
  cr_expect_eq(e.retry_after_ms, 250);
  cr_expect_str_eq(e.sqlstate, "40001");
  cr_expect_str_eq(e.message, "deadlock victim");
}

Test(status, says_that_a_driver_had_more_to_say) {
  struct weir_error e = {.struct_size = sizeof e};
  char text[] = "0123456789";
  struct weir_drv_error d = driver_error(text, 4);
  weir__error_from_driver(&e, &d, WEIR_E_FAIL, 0);
  cr_expect_str_eq(e.message, "0123");
  cr_expect_neq(e.flags & WEIR_DRV_EF_TRUNCATED, 0);
}

Test(status, ends_a_sqlstate_without_nul) {
  struct weir_error e = {.struct_size = sizeof e};
  char text[] = "";
  struct weir_drv_error d = driver_error(text, 1);
  memcpy(d.sqlstate, "12345678", 8);
  d.message = NULL;
  weir__error_from_driver(&e, &d, WEIR_E_FAIL, 0);
  cr_expect_str_eq(e.sqlstate, "1234567");
  cr_expect_str_eq(e.message, "");
}

Test(status, clears_an_error) {
  struct weir_error e = {.struct_size = sizeof e};
  (void)weir__error_set(&e, WEIR_E_FAIL, 3, "x");
  weir__error_clear(&e);
  cr_expect_eq(e.code, WEIR_OK);
  cr_expect_eq(e.phase, 0);
  cr_expect_str_eq(e.message, "");
  cr_expect_eq(e.struct_size, sizeof e);
}
