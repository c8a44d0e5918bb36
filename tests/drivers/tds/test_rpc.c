/* SPDX-License-Identifier: MIT */
/* test_rpc.c - statements with parameters: every byte of the call, refusals that
 * send nothing, long values packet by packet, output values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "param_kit.h"

#define OPTIONS "Server=db.test;User ID=sa;Password=;Encrypt=optional"

#define HEADERS "16000000 12000000 0200 0000000000000000 01000000 "
#define CALL    "ffff 0a00 0000 "
#define NVAR(n) "e7 " n " 0904d00034 "
#define DONE    "fe 0000 0000 0000000000000000 "
#define STATUS  "79 00000000 "

static void open_session(struct fake *f) {
  fake_open(f, OPTIONS);
  fake_login(f);
  cr_assert_eq(fake_connect(f), WEIR_DRV_DONE, "%s", f->message);
  f->log.n = 0;
  f->sent.n = 0;
  f->parsed = 0;
}

/* Runs "q" with one parameter and looks at what was sent behind the two texts of
 * sp_executesql. */
static void check_sent(const struct weir_drv_param *p,
                       const char *declaration,
                       const char *hex) {
  struct fake f;
  size_t n = 0;
  uint8_t *want = fake_unhex(hex, &n);
  struct fake_bytes head = {0};
  open_session(&f);
  fake_reply_hex(&f, STATUS DONE);
  f.params = p;
  f.n_params = 1;
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s: %s", declaration,
               f.message);
  kit_hex(&head, HEADERS CALL "00 00 e7 0200 0904d00034 0200 7100 00 00 e7");
  kit_text16(&head, declaration);
  cr_assert_geq(f.sent.n, 8 + head.n + n);
  cr_expect_eq(f.sent.p[0], 3);
  cr_expect_eq(f.sent.n, 8 + head.n + n, "%s", declaration);
  cr_expect_arr_eq(f.sent.p + 8, head.p, head.n, "%s", declaration);
  cr_expect_arr_eq(f.sent.p + 8 + head.n, want, n, "%s", declaration);
  free(want);
  free(head.p);
  f.params = NULL;
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, calls_sp_executesql_with_every_byte_in_place, .timeout = 5) {
  static const uint8_t want[] = {
      /* packet */
      0x03, 0x01, 0x00, 0x67, 0, 0, 1, 0,
      /* ALL_HEADERS */
      0x16, 0, 0, 0, 0x12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
      /* procedure 10, no flags */
      0xFF, 0xFF, 0x0A, 0, 0, 0,
      /* the statement: nvarchar(9) */
      0, 0, 0xE7, 18, 0, 9, 4, 0xD0, 0, 0x34, 18, 0, 's', 0, 'e', 0, 'l', 0,
      'e', 0, 'c', 0, 't', 0, ' ', 0, '@', 0, 'a', 0,
      /* the declaration: nvarchar(6) */
      0, 0, 0xE7, 12, 0, 9, 4, 0xD0, 0, 0x34, 12, 0, '@', 0, 'a', 0, ' ', 0,
      'i', 0, 'n', 0, 't', 0,
      /* @a int = -2 */
      2, '@', 0, 'a', 0, 0, 0x26, 4, 4, 0xFE, 0xFF, 0xFF, 0xFF};
  struct fake f;
  struct weir_drv_param p = kit_int("@a", "int", -2);
  open_session(&f);
  fake_reply_hex(&f, STATUS DONE);
  f.params = &p;
  f.n_params = 1;
  cr_assert_eq(fake_exec(&f, "select @a"), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.sent.n, sizeof want);
  cr_expect_arr_eq(f.sent.p, want, sizeof want);
  cr_expect_str_eq(fake_log(&f), "DONE\n");
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, sends_each_kind_of_value_without_a_hint, .timeout = 10) {
  static const uint8_t bytes[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44,
                                    0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB,
                                    0xCC, 0xDD, 0xEE, 0xFF};
  const struct {
    struct weir_drv_param p;
    const char *declaration;
    const char *hex;
  } cases[] = {
      {kit_null("@a", ""), "@a nvarchar(4000)",
       "02 40006100 00" NVAR("401f") "ffff"},
      {kit_bool("@a", "", 1), "@a bit", "02 40006100 00 6801 01 01"},
      {kit_int("@a", "", -2), "@a bigint",
       "02 40006100 00 2608 08 feffffffffffffff"},
      {kit_uint("@a", "", 7), "@a bigint",
       "02 40006100 00 2608 08 0700000000000000"},
      {kit_uint("@a", "", UINT64_MAX), "@a decimal(20,0)",
       "02 40006100 00 6a0d1400 0d 01 ffffffffffffffff 00000000"},
      {kit_float("@a", "", 1.5), "@a float",
       "02 40006100 00 6d08 08 000000000000f83f"},
      {kit_text("@a", "", "x\xC3\xB3"), "@a nvarchar(4000)",
       "02 40006100 00" NVAR("401f") "0400 7800 f300"},
      {kit_text("@a", "", ""), "@a nvarchar(4000)",
       "02 40006100 00" NVAR("401f") "0000"},
      {kit_bytes("@a", "", "\1\2", 2), "@a varbinary(8000)",
       "02 40006100 00 a5401f 0200 0102"},
      {kit_typed("@a", "", WEIR_DRV_T_DEC, "-12.50"), "@a decimal(38,2)",
       "02 40006100 00 6a112602 11 00 e2040000 00000000 00000000 00000000"},
      {kit_typed("@a", "", WEIR_DRV_T_TIME, "2026-11-30"), "@a date",
       "02 40006100 00 28 03 6d4a0b"},
      {kit_typed("@a", "", WEIR_DRV_T_TIME, "00:00:01"), "@a time(7)",
       "02 40006100 00 2907 05 8096980000"},
      {kit_typed("@a", "", WEIR_DRV_T_TIME, "0001-01-02T00:00:01.5"),
       "@a datetime2(7)", "02 40006100 00 2a07 08 c0e1e40000 010000"},
      {kit_typed("@a", "", WEIR_DRV_T_TIME, "0001-01-02T02:00:00+01:00"),
       "@a datetimeoffset(7)", "02 40006100 00 2b07 0a 0068c46108 010000 3c00"},
      {kit_value("@a", "", WEIR_DRV_T_UUID, bytes, 16), "@a uniqueidentifier",
       "02 40006100 00 2410 10 00112233445566778899aabbccddeeff"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check_sent(&cases[i].p, cases[i].declaration, cases[i].hex);
  }
}

Test(rpc, sends_each_frame_of_long_values, .timeout = 10) {
  const struct {
    struct weir_drv_param p;
    const char *declaration;
    const char *hex;
  } cases[] = {
      {kit_text("@a", "nvarchar(max)", "ab"), "@a nvarchar(max)",
       "02 40006100 00" NVAR("ffff") "0400000000000000 04000000 61006200 "
                                     "00000000"},
      {kit_text("@a", "nvarchar(max)", ""), "@a nvarchar(max)",
       "02 40006100 00" NVAR("ffff") "0000000000000000 00000000"},
      {kit_null("@a", "nvarchar(max)"), "@a nvarchar(max)",
       "02 40006100 00" NVAR("ffff") "ffffffffffffffff"},
      {kit_text("@a", "VarChar ( 3 )", "x\xE2\x82\xAC"), "@a varchar(3)",
       "02 40006100 00 a7 0300 0904d00034 0200 7880"},
      {kit_text("@a", "char(2)", "x"), "@a char(2)",
       "02 40006100 00 af 0200 0904d00034 0100 78"},
      {kit_text("@a", "nchar(2)", "x"), "@a nchar(2)",
       "02 40006100 00 ef 0400 0904d00034 0200 7800"},
      {kit_bytes("@a", "binary(3)", "\1", 1), "@a binary(3)",
       "02 40006100 00 ad 0300 0100 01"},
      {kit_bytes("@a", "varbinary(max)", "\1", 1), "@a varbinary(max)",
       "02 40006100 00 a5 ffff 0100000000000000 01000000 01 00000000"},
      {kit_text("@a", "text", "x\xC3\xB3"), "@a text",
       "02 40006100 00 23 ffffff7f 0904d00034 02000000 78f3"},
      {kit_text("@a", "ntext", "x"), "@a ntext",
       "02 40006100 00 63 ffffff7f 0904d00034 02000000 7800"},
      {kit_null("@a", "ntext"), "@a ntext",
       "02 40006100 00 63 ffffff7f 0904d00034 ffffffff"},
      {kit_bytes("@a", "image", "\1", 1), "@a image",
       "02 40006100 00 22 ffffff7f 01000000 01"},
      {kit_text("@a", "xml", "<a/>"), "@a xml",
       "02 40006100 00 f1 00 0a00000000000000 0a000000 fffe 3c0061002f003e00 "
       "00000000"},
      {kit_text("@a", "xml", "\xEF\xBB\xBF<a/>"), "@a xml",
       "02 40006100 00 f1 00 0a00000000000000 0a000000 fffe 3c0061002f003e00 "
       "00000000"},
      {kit_text("@a", "xml", ""), "@a xml",
       "02 40006100 00 f1 00 0000000000000000 00000000"},
      {kit_text("@a", "json", "{}"), "@a nvarchar(max)",
       "02 40006100 00" NVAR("ffff") "0400000000000000 04000000 7b007d00 "
                                     "00000000"},
      {kit_text("@a", "sysname", "t"), "@a nvarchar(128)",
       "02 40006100 00" NVAR("0001") "0200 7400"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check_sent(&cases[i].p, cases[i].declaration, cases[i].hex);
  }
}

Test(rpc, names_parameters_that_have_no_name, .timeout = 5) {
  struct weir_drv_param p = kit_int("", "tinyint", 1);
  check_sent(&p, "@P1 tinyint", "03 400050003100 00 2601 01 01");
}

Test(rpc, quantises_text_at_four_thousand_units, .timeout = 5) {
  char text[4002];
  memset(text, 'x', sizeof text);
  text[4001] = '\0';
  const struct {
    size_t n;
    const char *declaration;
  } cases[] = {{4000, "nvarchar(4000)"}, {4001, "nvarchar(max)"}};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    struct fake_bytes want = {0};
    struct weir_drv_param p = kit_text("@a", "", text);
    p.value.n = cases[i].n;
    open_session(&f);
    fake_reply_hex(&f, DONE);
    f.params = &p;
    f.n_params = 1;
    cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE);
    kit_w16(&want, cases[i].declaration);
    cr_expect_not_null(memmem(f.sent.p, f.sent.n, want.p, want.n));
    free(want.p);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* The server's database is Japanese: varchar goes in its page. */
Test(rpc, sends_varchar_in_the_collation_of_the_database, .timeout = 5) {
  static const struct {
    const char *env;
    const char *text;
    const char *hex;
  } cases[] = {
      {"e3 0800 07 05 1104d00000 00", "a\xE3\x81\x82\xEF\xBD\xB1",
       "a7 0a00 1104d00000 0400 61 82a0 b1"},
      {"e3 0800 07 05 0904d00400 00", "a\xE3\x81\x82",
       "a7 0a00 0904d00400 0400 61 e38182"},
      {"e3 0800 07 05 1904d00000 00", "\xD0\x96", "a7 0a00 1904d00000 0100 c6"},
  };
  for (size_t i = 0; i < 3; i++) {
    struct fake f;
    struct fake_bytes want = {0};
    struct weir_drv_param p = kit_text("@a", "varchar(10)", cases[i].text);
    open_session(&f);
    struct fake_bytes env = {0};
    kit_hex(&env, cases[i].env);
    kit_hex(&env, "fd 0000 0000 0000000000000000");
    fake_reply(&f, env.p, env.n);
    cr_assert_eq(fake_exec(&f, "use x"), WEIR_DRV_DONE);
    fake_reply_hex(&f, STATUS DONE);
    f.params = &p;
    f.n_params = 1;
    cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
    kit_hex(&want, cases[i].hex);
    cr_expect_not_null(memmem(f.sent.p, f.sent.n, want.p, want.n), "%zu", i);
    free(want.p);
    free(env.p);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* A statement of more than 4000 units is nvarchar(max), here and prepared. */
Test(rpc, sends_a_long_statement_as_max, .timeout = 5) {
  static char sql[5001];
  static const char *const heads[] = {"0a00 0000 00 00",
                                      "0d00 0000 00 01 26 04 "
                                      "00 00 00 e7 0c00 0904d00034 0c00 4000"
                                      "6100200069006e007400 00 00"};
  memset(sql, 'x', sizeof sql - 1);
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    struct fake_bytes want = {0};
    struct weir_drv_param p = kit_int("@a", "int", 1);
    open_session(&f);
    f.prepare = i == 1;
    f.params = &p;
    f.n_params = 1;
    fake_reply_hex(&f, STATUS DONE);
    cr_assert_eq(fake_exec(&f, sql), WEIR_DRV_DONE);
    kit_hex(&want, heads[i]);
    kit_hex(&want, "e7 ffff 0904d00034 1027000000000000 10270000 78007800");
    cr_expect_not_null(memmem(f.sent.p, f.sent.n, want.p, want.n), "%zu", i);
    free(want.p);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* The level of isolation is watched in statements with parameters, too, wherever
 * a slice of them ends. */
Test(rpc, watches_for_isolation_in_every_slice, .timeout = 30) {
  enum {
    SLICE = 262144
  };
  char *sql = malloc(SLICE + 100);
  cr_assert_not_null(sql);
  for (size_t at = SLICE - 12; at < SLICE + 4; at++) {
    struct fake f;
    struct weir_drv_param p = kit_int("@a", "int", 1);
    memset(sql, ' ', SLICE + 99);
    sql[SLICE + 99] = '\0';
    memcpy(sql + at, "IsoLation", 9);
    open_session(&f);
    f.params = &p;
    f.n_params = 1;
    fake_reply_hex(&f, STATUS DONE);
    cr_assert_eq(fake_exec(&f, sql), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_neq(f.wait.dirty & WEIR_DRV_DIRTY_SETTINGS, 0, "%zu", at);
    cr_expect_eq(fake_close(&f), 0);
  }
  free(sql);
}

/* ------------------------------------------------------------------ refusals */

Test(rpc, refuses_bad_parameters_and_sends_nothing, .timeout = 10) {
  const struct {
    struct weir_drv_param p;
    const char *why;
  } cases[] = {
      {kit_int("@a", "integr", 1), "parameter @a: type 'integr': no such type"},
      {kit_int("@a", "decimal(50)", 1),
       "parameter @a: type 'decimal(50)': its precision must be 1 to 38"},
      {kit_int("@a", "tinyint", 256), "parameter @a (tinyint): out of range"},
      {kit_text("@a", "int", "12x"), "parameter @a (int): not a number"},
      {kit_text("@a", "date", "2026-02-30"),
       "parameter @a (date): not a date or time as ISO 8601 has them"},
      {kit_text("@a", "nvarchar(2)", "abc"),
       "parameter @a (nvarchar(2)): too long: 3 characters (UTF-16 units) in a "
       "type of 2"},
      {kit_text("@a", "varchar(2)", "abc"),
       "parameter @a (varchar(2)): too long: 3 bytes in a type of 2"},
      {kit_text("@a", "varchar(9)", "a\xE4\xB8\xAD"),
       "parameter @a (varchar(9)): the database's code page has no character "
       "U+4E2D"},
      {kit_text("@a", "", "a\xFF"),
       "parameter @a (nvarchar(4000)): not valid UTF-8"},
      {kit_int("@a", "nvarchar(9)", 1),
       "parameter @a (nvarchar(9)): the value is no text"},
      {kit_text("@a", "varbinary(9)", "x"),
       "parameter @a (varbinary(9)): the value is not binary"},
      {kit_bytes("", "int", "x", 1),
       "parameter @P1 (int): a binary value is no number"},
      {kit_int("a", "", 1), "the name of parameter 1 is none"},
      {kit_int("@", "", 1), "the name of parameter 1 is none"},
      {kit_int("@a int,@b", "", 1), "the name of parameter 1 is none"},
      {kit_value("@a", "", WEIR_DRV_T_TEXT, NULL, 3),
       "parameter @a: the value has a length and no bytes"},
      {kit_value("@a", "", 99, NULL, 0),
       "parameter @a: a value of the unknown type 99"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fake f;
    open_session(&f);
    f.params = &cases[i].p;
    f.n_params = 1;
    cr_expect_eq(fake_exec(&f, "q"), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, cases[i].why), "%s", f.message);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_STATEMENT);
    cr_expect_eq(f.sent.n, 0);
    cr_expect_eq(f.wait.usable, 1);
    f.n_params = 0;
    fake_reply_hex(&f, DONE);
    cr_expect_eq(fake_exec(&f, "next"), WEIR_DRV_DONE);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(rpc, refuses_what_a_newer_caller_asks_for, .timeout = 5) {
  struct {
    struct weir_drv_param p;
    uint64_t more;
  } longer = {kit_int("@a", "", 1), 1};
  longer.p.struct_size = sizeof longer;
  struct weir_drv_param flagged = kit_int("@a", "", 1);
  flagged.flags = 2;
  const struct weir_drv_param *all[] = {&longer.p, &flagged};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    open_session(&f);
    f.params = all[i];
    f.n_params = 1;
    cr_expect_eq(fake_exec(&f, "q"), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_UNSUPPORTED);
    cr_expect_eq(f.sent.n, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* What is copied of a secret value is in secret memory: the call, the packet and
 * what is queued.  The next statement has none. */
Test(rpc, keeps_secret_values_in_secret_memory, .timeout = 5) {
  struct fake f;
  struct weir_drv_param p[2] = {kit_text("@a", "", "hush"),
                                kit_int("@b", "", 4711)};
  p[0].value.flags = WEIR_DRV_V_SECRET;
  p[1].value.flags = WEIR_DRV_V_SECRET;
  open_session(&f);
  f.params = p;
  f.n_params = 2;
  fake_reply_hex(&f, STATUS DONE);
  size_t before = f.secrets;
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.secrets, before + 3);
  p[0].value.flags = 0;
  p[1].value.flags = 0;
  fake_reply_hex(&f, STATUS DONE);
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE);
  cr_expect_eq(f.secrets, before + 3);
  p[0].value.flags = WEIR_DRV_V_SECRET;
  p[0].type_hint.p = "varchar(9)";
  p[0].type_hint.n = 10;
  p[0].value.p = "\xE4\xB8\xAD";
  p[0].value.n = 3;
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_FAIL);
  cr_expect_null(strstr(f.message, "4E2D"), "%s", f.message);
  cr_expect_eq(fake_close(&f), 0);
}

/* -------------------------------------------------------------- long values */

/* The bodies of all packets, joined; every one but the last must be full. */
static void join(const struct fake *f, struct fake_bytes *out) {
  for (size_t at = 0; at < f->sent.n;) {
    size_t n = (size_t)(f->sent.p[at + 2] << 8 | f->sent.p[at + 3]);
    bool last = (f->sent.p[at + 1] & 1) != 0;
    cr_assert_eq(f->sent.p[at], 3);
    cr_assert(last ? at + n == f->sent.n : n == 4096);
    fake_add(out, f->sent.p + at + 8, n - 8);
    at += n;
  }
}

/* A text of n bytes with characters of one to four bytes. */
static char *mixed_text(size_t n) {
  static const char *const parts[] = {"a", "\xC3\xB3", "\xE2\x82\xAC",
                                      "\xF0\x9F\x98\x80"};
  char *p = malloc(n + 5);
  size_t at = 0;
  cr_assert_not_null(p);
  for (size_t i = 0; at < n; i++) {
    size_t k = strlen(parts[i * 7 / 3 % 4]);
    memcpy(p + at, parts[i * 7 / 3 % 4], k);
    at += k;
  }
  p[at] = '\0';
  return p;
}

static void check_long(const struct weir_drv_param *p,
                       const struct fake_bytes *w) {
  struct fake f;
  struct fake_bytes body = {0};
  open_session(&f);
  fake_reply_hex(&f, DONE);
  f.params = p;
  f.n_params = 1;
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  join(&f, &body);
  cr_assert_gt(body.n, w->n + 16);
  const uint8_t *value = body.p + body.n - w->n - 4;
  cr_expect_eq(memcmp(value, w->p, w->n), 0);
  cr_expect_eq(memcmp(value + w->n, "\0\0\0\0", 4), 0);
  uint64_t total = 0;
  uint32_t chunk = 0;
  memcpy(&total, value - 12, 8);
  memcpy(&chunk, value - 4, 4);
  cr_expect_eq(total, w->n);
  cr_expect_eq(chunk, w->n);
  free(body.p);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, streams_long_text_at_every_packet_boundary, .timeout = 30) {
  for (size_t n = 12100; n < 12120; n++) {
    char *text = mixed_text(n);
    struct weir_drv_param p = kit_text("@a", "", text);
    struct fake_bytes want = {0};
    kit_w16(&want, text);
    check_long(&p, &want);
    free(want.p);
    free(text);
  }
}

Test(rpc, streams_a_large_value_of_each_kind, .timeout = 60) {
  enum {
    N = 3000000
  };
  char *text = mixed_text(N);
  struct fake_bytes want = {0};
  kit_w16(&want, text);
  struct weir_drv_param p = kit_text("@a", "nvarchar(max)", text);
  check_long(&p, &want);
  struct fake_bytes same = {(uint8_t *)text, strlen(text), 0};
  p = kit_bytes("@a", "", text, strlen(text));
  check_long(&p, &same);
  memset(text, 'x', strlen(text));
  p = kit_text("@a", "varchar(max)", text);
  check_long(&p, &same);
  free(want.p);
  free(text);
}

Test(rpc, holds_none_of_a_large_value, .timeout = 60) {
  enum {
    N = 8000000
  };
  char *bytes = calloc(1, N);
  cr_assert_not_null(bytes);
  struct fake f;
  struct weir_drv_param p = kit_bytes("@a", "", bytes, N);
  open_session(&f);
  fake_reply_hex(&f, DONE);
  f.params = &p;
  f.n_params = 1;
  f.most_alloc = 0;
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_lt(f.most_alloc, 65536);
  cr_expect_gt(f.steps, N / 2000000, "it gives the CPU back");
  free(bytes);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, finds_a_bad_byte_late_and_still_sends_nothing, .timeout = 30) {
  enum {
    N = 1000000
  };
  char *text = mixed_text(N);
  struct fake f;
  struct weir_drv_param p = kit_text("@a", "", text);
  text[strlen(text) - 1] = '\xFF';
  open_session(&f);
  f.params = &p;
  f.n_params = 1;
  cr_expect_eq(fake_exec(&f, "q"), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "not valid UTF-8"));
  cr_expect_eq(f.sent.n, 0);
  free(text);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc,
     is_cancelled_before_and_in_the_middle_of_a_long_value,
     .timeout = 30) {
  enum {
    N = 4000000
  };
  char *text = mixed_text(N);
  struct weir_drv_param p = kit_text("@a", "", text);
  for (size_t steps = 1; steps < 14; steps++) {
    struct fake f;
    open_session(&f);
    f.params = &p;
    f.n_params = 1;
    f.stop_after = steps;
    cr_assert_eq(fake_start(&f, "q"), WEIR_DRV_WAIT);
    fake_reply_hex(&f, "fd 0200 0000 0000000000000000");
    cr_expect_eq(fake_cancel(&f), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%s", f.message);
    cr_expect_eq(f.wait.usable, 1);
    bool none = f.sent.n == 0;
    cr_expect(none || f.sent.p[f.sent.n - 7] == 3, "the ignore bit");
    cr_expect_eq(fake_close(&f), 0);
  }
  free(text);
}

/* ------------------------------------------------------------- output values */

#define VALUE_INT(ord, v) "ac " ord " 00 01 00000000 0000 26 04 04 " v " "
#define VALUE_TEXT(ord, bytes) \
  "ac " ord " 00 01 00000000 0000 e7 ffff 0904d00034 " bytes " "

static void run_out(struct fake *f, const char *answer) {
  static struct weir_drv_param p[3];
  p[0] = kit_int("@a", "int", 1);
  p[1] = kit_text("@b", "nvarchar(max)", "");
  p[2] = kit_int("@c", "int", 3);
  p[1].flags = WEIR_DRV_PARAM_OUT;
  p[2].flags = WEIR_DRV_PARAM_OUT;
  open_session(f);
  fake_reply_hex(f, answer);
  f->params = p;
  f->n_params = 3;
  (void)fake_exec(f, "q");
}

static const char out_log[] = "OUT @b:nvarchar @c:int\nROW hi|7\nDONE\n";

Test(rpc, gives_output_values_in_the_order_of_the_parameters, .timeout = 5) {
  static const char *const answers[] = {
      STATUS VALUE_INT("0400", "07000000")
          VALUE_TEXT("0300", "0400000000000000 04000000 68006900 00000000")
              DONE,
      VALUE_TEXT("0300", "feffffffffffffff 03000000 680069 01000000 00 "
                         "00000000") VALUE_INT("0400", "07000000") STATUS DONE,
      /* By name, with ordinals that mean nothing. */
      "ac 0000 02 40004300 01 00000000 0000 26 04 04 07000000 "
      "ac 0000 02 40006200 01 00000000 0000 e7 1400 0904d00034 0400 "
      "68006900 " DONE,
      /* The result of a function beside them. */
      "ac 0000 00 02 00000000 0000 26 04 04 09000000 " VALUE_INT("0400",
                                                                 "07000000")
          VALUE_TEXT("0300", "0400000000000000 04000000 68006900 00000000")
              DONE,
  };
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    struct fake f;
    run_out(&f, answers[i]);
    cr_expect_str_eq(fake_log(&f), out_log, "%zu: %s", i, fake_log(&f));
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(rpc, gives_output_values_behind_all_results, .timeout = 5) {
  struct fake f;
  run_out(&f,
          VALUE_INT(
              "0400",
              "07000000") "81 0100 00000000 0900 26 04 01 6100 d1 04 01000000 "
                          "ff 1100 c100 0100000000000000 " VALUE_TEXT(
                              "0300", "ffffffffffffffff") DONE);
  cr_expect_str_eq(fake_log(&f), "META a:int\nROW 1\nCOUNT 1\n"
                                 "OUT @b:nvarchar @c:int\nROW NULL|7\nDONE\n");
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, gives_them_without_rows_too, .timeout = 5) {
  struct fake f;
  struct weir_drv_param p = kit_int("@c", "int", 3);
  p.flags = WEIR_DRV_PARAM_OUT;
  open_session(&f);
  f.params = &p;
  f.n_params = 1;
  f.exec_flags = WEIR_DRV_XF_NO_ROWS;
  fake_reply_hex(
      &f, "81 0100 00000000 0900 26 04 01 6100 d1 04 01000000 "
          "ff 1100 c100 0100000000000000 " VALUE_INT("0200", "07000000") DONE);
  cr_expect_eq(fake_exec(&f, "q"), WEIR_DRV_DONE);
  cr_expect_str_eq(fake_log(&f), "COUNT 1\nOUT @c:int\nROW 7\nDONE\n");
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, needs_every_output_value, .timeout = 5) {
  struct fake f;
  run_out(&f, VALUE_INT("0400", "07000000") DONE);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_not_null(strstr(f.message, "did not return the value of @b"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, gives_no_output_of_a_statement_that_failed, .timeout = 5) {
  struct fake f;
  run_out(&f, "aa 1000 66000000 01 0f 0100 4200 00 00 07000000 "
              "fe 0200 0000 0000000000000000");
  cr_expect_str_eq(fake_log(&f), "FAIL 1/13 102: B\n");
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, gives_outputs_the_same_at_every_cut, .timeout = 20) {
  for (uint32_t seed = 1; seed < 60; seed++) {
    struct fake f;
    struct weir_drv_param p[2] = {kit_text("@b", "", "\xC3\xB3"),
                                  kit_int("@c", "int", 3)};
    p[0].flags = WEIR_DRV_PARAM_OUT;
    p[1].flags = WEIR_DRV_PARAM_OUT;
    open_session(&f);
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    f.params = p;
    f.n_params = 2;
    fake_reply_hex(&f, VALUE_INT("0300", "07000000") VALUE_TEXT(
                           "0200", "feffffffffffffff 03000000 680069 01000000 "
                                   "00 00000000") STATUS DONE);
    cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_str_eq(fake_log(&f), out_log);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(rpc, is_not_cancelled_once_all_is_over, .timeout = 5) {
  struct fake f;
  struct weir_drv_param p = kit_int("@c", "int", 3);
  p.flags = WEIR_DRV_PARAM_OUT;
  open_session(&f);
  fake_reply_hex(&f, VALUE_INT("0200", "07000000") DONE);
  f.params = &p;
  f.n_params = 1;
  cr_assert_eq(fake_start(&f, "q"), WEIR_DRV_OUT);
  size_t sent = f.sent.n;
  cr_expect_eq(fake_cancel(&f), WEIR_DRV_DONE);
  cr_expect_str_eq(fake_log(&f), "OUT @c:int\nROW 7\nDONE\n");
  cr_expect_eq(f.sent.n, sent, "no attention");
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, copies_a_large_output_a_slice_at_a_time, .timeout = 20) {
  enum {
    N = 60000,
    CHUNKS = 20
  };
  struct fake f;
  struct fake_bytes body = {0};
  struct weir_drv_param p = kit_null("@b", "varbinary(max)");
  uint8_t *chunk = calloc(1, N);
  cr_assert_not_null(chunk);
  p.flags = WEIR_DRV_PARAM_OUT;
  open_session(&f);
  struct fake_bytes message = {0};
  kit_hex(&message, "ac 0200 00 01 00000000 0000 a5 ffff feffffffffffffff");
  for (size_t i = 0; i < CHUNKS; i++) {
    kit_hex(&message, "60ea0000");
    fake_add(&message, chunk, N);
  }
  kit_hex(&message, "00000000 " DONE);
  kit_packets(&body, message.p, message.n, 4096);
  fake_raw(&f, body.p, body.n);
  f.params = &p;
  f.n_params = 1;
  cr_expect_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.log.n, strlen("OUT @b:varbinary\nROW 0x\nDONE\n") +
                            (size_t)2 * N * CHUNKS);
  free(body.p);
  free(message.p);
  free(chunk);
  cr_expect_eq(fake_close(&f), 0);
}

Test(rpc, survives_each_failed_allocation, .timeout = 20) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    struct weir_drv_param p[2] = {kit_text("@b", "", "\xC3\xB3"),
                                  kit_int("@c", "int", 3)};
    p[0].flags = WEIR_DRV_PARAM_OUT;
    cr_assert_lt(n, 100);
    open_session(&f);
    f.read_most = 3;
    f.params = p;
    f.n_params = 2;
    fake_reply_hex(&f, VALUE_TEXT("0200",
                                  "feffffffffffffff 03000000 680069 01000000 "
                                  "00 00000000") STATUS DONE);
    f.fail_alloc = n;
    weir_drv_status rc = fake_exec(&f, "q");
    whole = f.fail_alloc != 0;
    cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL, "%zu", n);
    cr_assert_eq(fake_close(&f), 0);
  }
}
