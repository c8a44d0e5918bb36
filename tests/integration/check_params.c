/* SPDX-License-Identifier: MIT */
/*
 * check_params.c - parameters of every type, output values and prepared
 * statements through libweir.so and tds.so against tdsd, which shares no codec
 * with the driver and counts what clients do wrong.
 *
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

#include "kit.h"
#include "server.h"

static struct tdsd *server;
static weir_h lease;

/* -------------------------------------------------------------------- results */

struct seen {
  char types[200]; /* "int decimal", of the last META or OUTPUT */
  char cells[400]; /* "1|NULL", of the last row */
  uint64_t bytes;  /* of the last cell */
  bool sound;      /* that cell is 'x' from end to end */
  bool output;     /* an OUTPUT came */
  struct weir_error err;
};

static size_t put(char *to, size_t cap, size_t at, const char *text) {
  size_t n = strlen(text);
  if (at + n + 1 < cap) {
    memcpy(to + at, text, n + 1);
    return at + n;
  }
  return at;
}

static void put_some(char *to, size_t cap, const void *p, uint64_t n) {
  size_t k = n < cap - 1 ? (size_t)n : cap - 1;
  memcpy(to, p, k);
  to[k] = '\0';
}

static void cell_text(int32_t type,
                      const struct weir_cell *c,
                      char *out,
                      size_t cap) {
  int64_t i = 0;
  double d = 0;
  if (c->p == NULL) {
    (void)snprintf(out, cap, "NULL");
    return;
  }
  switch (type) {
  case WEIR_T_BOOL:
    (void)snprintf(out, cap, "%u", *(const unsigned char *)c->p);
    break;
  case WEIR_T_INT:
    memcpy(&i, c->p, sizeof i);
    (void)snprintf(out, cap, "%" PRId64, i);
    break;
  case WEIR_T_FLOAT:
    memcpy(&d, c->p, sizeof d);
    (void)snprintf(out, cap, "%.17g", d);
    break;
  case WEIR_T_BYTES:
  case WEIR_T_UUID:
    out[0] = '\0';
    for (uint64_t k = 0; k < c->n && 2 * k + 3 < cap; k++) {
      (void)snprintf(out + 2 * k, 3, "%02x", ((const unsigned char *)c->p)[k]);
    }
    break;
  default:
    put_some(out, cap, c->p, c->n);
    break;
  }
}

static int32_t types[16];

static void see_columns(const struct weir_item *item, struct seen *s) {
  size_t at = 0;
  s->types[0] = '\0';
  for (uint32_t i = 0; i < item->n_columns && i < 16; i++) {
    const struct weir_column *c =
        (const void *)((const char *)item->columns +
                       (size_t)i * item->columns_stride);
    types[i] = c->type;
    at = put(s->types, sizeof s->types, at, i > 0 ? " " : "");
    at = put(s->types, sizeof s->types, at, c->native_type);
  }
}

static void see_row(const struct weir_item *item, struct seen *s) {
  size_t at = 0;
  s->cells[0] = '\0';
  for (uint32_t i = 0; i < item->n_columns && i < 16; i++) {
    char text[320];
    const struct weir_cell *c = &item->cells[i];
    cell_text(types[i], c, text, sizeof text);
    at = put(s->cells, sizeof s->cells, at, i > 0 ? "|" : "");
    at = put(s->cells, sizeof s->cells, at, text);
    s->bytes = c->p == NULL ? 0 : c->n;
    s->sound = true;
    for (uint64_t k = 0; c->p != NULL && k < c->n; k++) {
      s->sound = s->sound && ((const char *)c->p)[k] == 'x';
    }
  }
  (void)weir_rows_free(item->rows);
}

static int32_t run(const char *sql,
                   struct weir_param *params,
                   uint32_t n,
                   bool prepared,
                   struct seen *s) {
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .flags = prepared ? WEIR_EXEC_PREPARED : 0,
                                .params = params,
                                .n_params = n};
  struct weir_item item = {.struct_size = sizeof item};
  memset(s, 0, sizeof *s);
  s->err.struct_size = sizeof s->err;
  int32_t rc = weir_exec(lease, sql, strlen(sql), &opts, &s->err);
  while (rc == WEIR_OK) {
    rc = weir_next(lease, &item, &s->err);
    if (rc != WEIR_OK || item.type == WEIR_ITEM_DONE) {
      break;
    }
    if (item.type == WEIR_ITEM_META || item.type == WEIR_ITEM_OUTPUT) {
      see_columns(&item, s);
    }
    if (item.type == WEIR_ITEM_ROWS || item.type == WEIR_ITEM_OUTPUT) {
      see_row(&item, s);
    }
    s->output = s->output || item.type == WEIR_ITEM_OUTPUT;
  }
  return rc;
}

static struct weir_param param(const char *name,
                               const char *hint,
                               int32_t type,
                               const char *text) {
  struct weir_param p = {.struct_size = sizeof p, .type = type};
  p.name = name;
  p.name_len = strlen(name);
  p.native_type = hint;
  p.native_type_len = strlen(hint);
  p.p = text;
  p.n = text == NULL ? 0 : strlen(text);
  return p;
}

/* -------------------------------------------------------------------- checks */

static const struct {
  const char *hint;
  const char *text; /* NULL: SQL NULL */
  const char *type;
  const char *cell;
} echoes[] = {
    {"bit", "1", "bit", "1"},
    {"tinyint", "255", "tinyint", "255"},
    {"smallint", "-32768", "smallint", "-32768"},
    {"int", "2147483647", "int", "2147483647"},
    {"bigint", "-9223372036854775808", "bigint", "-9223372036854775808"},
    {"real", "1.5", "real", "1.5"},
    {"float", "-2.25e-3", "float", "-0.0022499999999999998"},
    {"decimal(5,2)", "-123.45", "decimal", "-123.45"},
    {"decimal(18,4)", "12345678901234.5678", "decimal", "12345678901234.5678"},
    {"decimal(28,10)", "123456789012345678.0123456789", "decimal",
     "123456789012345678.0123456789"},
    {"numeric(38,0)", "99999999999999999999999999999999999999", "numeric",
     "99999999999999999999999999999999999999"},
    {"money", "-922337203685477.5808", "money", "-922337203685477.5808"},
    {"smallmoney", "214748.3647", "smallmoney", "214748.3647"},
    {"date", "0001-01-01", "date", "0001-01-01"},
    {"time(3)", "23:59:59.999", "time", "23:59:59.999"},
    {"datetime", "2026-11-30T12:34:56.997", "datetime",
     "2026-11-30T12:34:56.997"},
    {"smalldatetime", "2026-11-30T12:34", "smalldatetime",
     "2026-11-30T12:34:00"},
    {"datetime2(7)", "9999-12-31T23:59:59.9999999", "datetime2",
     "9999-12-31T23:59:59.9999999"},
    {"datetimeoffset(2)", "2026-11-30T00:30:00.25+14:00", "datetimeoffset",
     "2026-11-30T00:30:00.25+14:00"},
    {"uniqueidentifier", "00112233-4455-6677-8899-aabbccddeeff",
     "uniqueidentifier", "00112233445566778899aabbccddeeff"},
    {"varchar(20)", "na\xC3\xAFve \xE2\x82\xAC", "varchar",
     "na\xC3\xAFve \xE2\x82\xAC"},
    {"varchar(max)", "x", "varchar", "x"},
    {"char(3)", "ab", "char", "ab "},
    {"nvarchar(20)", "\xF0\x9F\x98\x80 \xE4\xB8\xAD", "nvarchar",
     "\xF0\x9F\x98\x80 \xE4\xB8\xAD"},
    {"nvarchar(max)", "", "nvarchar", ""},
    {"nchar(3)", "ab", "nchar", "ab "},
    {"json", "{\"a\":1}", "nvarchar", "{\"a\":1}"},
    {"sysname", "t", "nvarchar", "t"},
    {"text", "na\xC3\xAFve", "text", "na\xC3\xAFve"},
    {"text", "", "text", ""},
    {"ntext", "\xF0\x9F\x98\x80", "ntext", "\xF0\x9F\x98\x80"},
    {"xml", "<a>\xC3\xBC</a>", "xml", "<a>\xC3\xBC</a>"},
    {"int", NULL, "int", "NULL"},
    {"text", NULL, "text", "NULL"},
    {"ntext", NULL, "ntext", "NULL"},
    {"image", NULL, "image", "NULL"},
    {"xml", NULL, "xml", "NULL"},
    {"varbinary(max)", NULL, "varbinary", "NULL"},
    {"decimal(9,1)", NULL, "decimal", "NULL"},
    {"datetime2(3)", NULL, "datetime2", "NULL"},
    {"nvarchar(max)", NULL, "nvarchar", "NULL"},
    {"varchar(5)", NULL, "varchar", "NULL"},
    {"uniqueidentifier", NULL, "uniqueidentifier", "NULL"},
};

static void check_echoes(bool prepared) {
  for (size_t i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
    struct seen s;
    int32_t type = echoes[i].text == NULL ? WEIR_T_NULL : WEIR_T_TEXT;
    struct weir_param p = param("@a", echoes[i].hint, type, echoes[i].text);
    int32_t rc = run("select @a as v", &p, 1, prepared, &s);
    kit_check(rc == WEIR_OK, echoes[i].hint, s.err.message);
    kit_check(strcmp(s.types, echoes[i].type) == 0, echoes[i].hint, s.types);
    kit_check(strcmp(s.cells, echoes[i].cell) == 0, echoes[i].hint, s.cells);
    /* No variable of T-SQL is of these, so none comes back. */
    if (strstr("text ntext image", echoes[i].hint) == NULL) {
      p.flags = WEIR_PARAM_OUT;
      rc = run("set @a = @a", &p, 1, prepared, &s);
      kit_check(rc == WEIR_OK && s.output, echoes[i].hint, s.err.message);
      kit_check(strcmp(s.types, echoes[i].type) == 0, echoes[i].hint, s.types);
      kit_check(strcmp(s.cells, echoes[i].cell) == 0, echoes[i].hint, s.cells);
    }
  }
}

static void check_bytes(void) {
  struct seen s;
  struct weir_param p[2] = {param("@a", "binary(3)", WEIR_T_BYTES, "\1\2"),
                            param("@b", "", WEIR_T_BYTES, "\xFF")};
  kit_check(run("select @a, @b", p, 2, false, &s) == WEIR_OK, "bytes",
            s.err.message);
  kit_check(strcmp(s.cells, "010200|ff") == 0, "bytes", s.cells);
  static const char *const hints[] = {"image", "varbinary(max)", "varbinary(2)",
                                      "varbinary"};
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
    p[0] = param("@a", hints[i], WEIR_T_BYTES, "\1\xFF");
    kit_check(run("select @a", p, 1, false, &s) == WEIR_OK, hints[i],
              s.err.message);
    kit_check(strcmp(s.cells, "01ff") == 0, hints[i], s.cells);
    kit_check(strncmp(hints[i], s.types, strlen(s.types)) == 0, hints[i],
              s.types);
  }
}

static void check_values(void) {
  struct seen s;
  struct weir_param p[4] = {
      param("@a", "", WEIR_T_INT, NULL), param("@b", "", WEIR_T_FLOAT, NULL),
      param("", "", WEIR_T_BOOL, NULL), param("@d", "", WEIR_T_DEC, "-1.50")};
  p[0].i = -7;
  p[1].f = 0.5;
  p[2].i = 1;
  int32_t rc = run("select @a, @b, @P3, @d", p, 4, false, &s);
  kit_check(rc == WEIR_OK, "values", s.err.message);
  kit_check(strcmp(s.cells, "-7|0.5|1|-1.50") == 0, "values", s.cells);
  kit_check(strcmp(s.types, "bigint float bit decimal") == 0, "values",
            s.types);
}

static void check_output(bool prepared) {
  struct seen s;
  struct weir_param p[3] = {param("@a", "int", WEIR_T_INT, NULL),
                            param("@b", "nvarchar(max)", WEIR_T_TEXT, "in"),
                            param("@c", "decimal(9,2)", WEIR_T_NULL, NULL)};
  for (int64_t i = 1; i <= 3; i++) {
    p[0].i = i;
    p[1].flags = WEIR_PARAM_OUT;
    p[2].flags = WEIR_PARAM_OUT;
    int32_t rc = run("set @b = @b + N'-out'; set @c = @a * 1.5; select 9 as n",
                     p, 3, prepared, &s);
    char want[40];
    (void)snprintf(want, sizeof want, "in-out|%" PRId64 ".%s", i * 3 / 2,
                   i % 2 == 1 ? "50" : "00");
    kit_check(rc == WEIR_OK, "output", s.err.message);
    kit_check(s.output, "output", "no OUTPUT");
    kit_check(strcmp(s.cells, want) == 0, "output", s.cells);
    kit_check(strcmp(s.types, "nvarchar decimal") == 0, "output", s.types);
  }
}

static void check_large(size_t bytes) {
  struct seen s;
  char *text = malloc(bytes + 1);
  if (text == NULL) {
    return;
  }
  memset(text, 'x', bytes);
  text[bytes] = '\0';
  struct weir_param p = param("@a", "", WEIR_T_TEXT, text);
  int32_t rc = run("select @a", &p, 1, false, &s);
  kit_check(rc == WEIR_OK, "large", s.err.message);
  kit_check(s.bytes == bytes && s.sound, "large", s.cells);
  p.flags = WEIR_PARAM_OUT;
  rc = run("set @a = @a + N'x'", &p, 1, false, &s);
  kit_check(rc == WEIR_OK, "large output", s.err.message);
  kit_check(s.bytes == bytes + 1 && s.sound, "large output", s.cells);
  free(text);
}

static void check_failures(void) {
  struct seen s;
  struct weir_param p = param("@a", "tinyint", WEIR_T_TEXT, "300");
  kit_check(run("select @a", &p, 1, false, &s) == WEIR_E_FAIL, "range",
            "passed");
  kit_check(strcmp(s.err.message, "parameter @a (tinyint): out of range") == 0,
            "range", s.err.message);
  p = param("@a", "int", WEIR_T_INT, NULL);
  kit_check(run("select 1/@a", &p, 1, true, &s) == WEIR_E_FAIL, "division",
            "passed");
  kit_check(s.err.native == 8134, "division", s.err.message);
  p.i = 1;
  kit_check(run("select 1/@a", &p, 1, true, &s) == WEIR_OK, "after a failure",
            s.err.message);
}

/* Many statements on one small cache: all kinds of calls in one message. */
static void check_churn(void) {
  for (int i = 0; i < 300; i++) {
    struct seen s;
    char sql[60];
    char want[20];
    int which = i * 7 % 11;
    struct weir_param p = param("@a", "int", WEIR_T_INT, NULL);
    p.i = i;
    (void)snprintf(sql, sizeof sql, "select @a + %d", which);
    (void)snprintf(want, sizeof want, "%d", i + which);
    kit_check(run(sql, &p, 1, true, &s) == WEIR_OK, "churn", s.err.message);
    kit_check(strcmp(s.cells, want) == 0, "churn", s.cells);
  }
}

/* ------------------------------------------------------------- random values */

static uint64_t state = 20261130;

static unsigned draw(unsigned n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(state >> 33) % n;
}

static size_t draw_digits(char *to, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    to[i] = (char)('0' + (i == 0 && n > 1 ? 1 + draw(9) : draw(10)));
  }
  to[n] = '\0';
  return n;
}

static void draw_decimal(char *hint, char *text) {
  unsigned precision = 2 + draw(37);
  unsigned scale = draw(precision);
  unsigned whole = 1 + draw(precision - scale);
  size_t n = 0;
  if (draw(2) == 1) {
    text[n++] = '-';
  }
  n += draw_digits(text + n, whole);
  if (scale > 0) {
    text[n++] = '.';
    for (unsigned i = 0; i < scale; i++) {
      text[n++] = (char)('1' + draw(9));
    }
    text[n] = '\0';
  } else if (strcmp(text, "-0") == 0) {
    (void)strcpy(text, "0");
  }
  (void)snprintf(hint, 40, "%s(%u,%u)", draw(2) == 1 ? "decimal" : "numeric",
                 precision, scale);
}

/* datetime2, datetimeoffset, time and date, in each scale. */
static void draw_moment(char *hint, char *text) {
  static const char *const kinds[] = {"datetime2", "datetimeoffset", "time"};
  unsigned kind = draw(3);
  unsigned scale = draw(8);
  size_t n = 0;
  if (kind < 2) {
    n = (size_t)snprintf(text, 50, "%04u-%02u-%02uT", 2 + draw(9997),
                         1 + draw(12), 1 + draw(28));
  }
  n += (size_t)snprintf(text + n, 50, "%02u:%02u:%02u", draw(24), draw(60),
                        draw(60));
  if (scale > 0) {
    text[n++] = '.';
    for (unsigned i = 0; i < scale; i++) {
      text[n++] = (char)('0' + draw(10));
    }
    text[n] = '\0';
  }
  if (kind == 1) {
    unsigned minutes = draw(841);
    (void)snprintf(text + n, 30, "%c%02u:%02u",
                   minutes > 0 && draw(2) == 1 ? '-' : '+', minutes / 60,
                   minutes % 60);
  }
  (void)snprintf(hint, 40, "%s(%u)", kinds[kind], scale);
}

static void draw_text(char *hint, char *text) {
  static const char *const parts[] = {
      "a", " ", "\xC3\xB3", "\xE2\x82\xAC", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"};
  bool wide = draw(2) == 1;
  unsigned most = draw(12);
  text[0] = '\0';
  for (unsigned i = 0; i < most; i++) {
    (void)strcat(text, parts[draw(wide ? 6 : 4)]);
  }
  (void)snprintf(hint, 40, "%s%s", wide ? "nvarchar" : "varchar",
                 draw(2) == 1 ? "(max)" : "(40)");
}

static void draw_int(char *hint, char *text) {
  static const char *const kinds[] = {"smallint", "int", "bigint"};
  static const unsigned digits[] = {4, 9, 18};
  unsigned kind = draw(3);
  size_t n = 0;
  if (draw(2) == 1) {
    text[n++] = '-';
  }
  text[n] = (char)('1' + draw(9));
  (void)draw_digits(text + n + 1, draw(digits[kind]));
  (void)strcpy(hint, kinds[kind]);
}

/* Ten values of any types in one call, back as they were. */
static void check_random(bool prepared) {
  enum {
    N = 10
  };
  void (*const kinds[])(char *, char *) = {draw_decimal, draw_moment, draw_text,
                                           draw_int};
  for (int i = 0; i < 150; i++) {
    struct seen s;
    char hints[N][40];
    char texts[N][120];
    struct weir_param p[N];
    char want[400];
    size_t at = 0;
    want[0] = '\0';
    for (int k = 0; k < N; k++) {
      kinds[draw(4)](hints[k], texts[k]);
      p[k] = param("", hints[k], WEIR_T_TEXT, texts[k]);
      at = put(want, sizeof want, at, k > 0 ? "|" : "");
      at = put(want, sizeof want, at, texts[k]);
    }
    kit_check(run("select @P1, @P2, @P3, @P4, @P5, @P6, @P7, @P8, @P9, @P10", p,
                  N, prepared, &s) == WEIR_OK,
              "random", s.err.message);
    kit_check(strcmp(s.cells, want) == 0, want, s.cells);
  }
}

/* ------------------------------------------------------------ lives of handles */

/* Each lease begins with a reset, which ends the handles of the one before. */
static void check_leases(weir_h pool) {
  for (int i = 0; i < 20; i++) {
    struct seen s;
    struct weir_error err = {.struct_size = sizeof err};
    struct weir_param p = param("@a", "int", WEIR_T_INT, NULL);
    (void)weir_release(lease);
    kit_check(weir_acquire(pool, INT64_C(10000000000), &lease, &err) == WEIR_OK,
              "lease", err.message);
    for (int64_t k = 0; k < 3; k++) {
      char want[30];
      p.i = i * 10 + k;
      (void)snprintf(want, sizeof want, "%" PRId64, p.i);
      kit_check(run("select @a", &p, 1, true, &s) == WEIR_OK, "lease",
                s.err.message);
      kit_check(strcmp(s.cells, want) == 0, "lease", s.cells);
    }
  }
}

/* Somebody else gave the handles back: 8179, and nobody sees it. */
static void check_lost(void) {
  struct seen s;
  struct weir_param p = param("@a", "int", WEIR_T_INT, NULL);
  p.i = 5;
  kit_check(run("select @a + 1000", &p, 1, true, &s) == WEIR_OK, "lost",
            s.err.message);
  for (int i = 1; i < 2000; i++) {
    char sql[60];
    (void)snprintf(sql, sizeof sql, "exec sp_unprepare %d", i);
    (void)run(sql, NULL, 0, false, &s);
  }
  kit_check(run("select @a + 1000", &p, 1, true, &s) == WEIR_OK, "lost",
            s.err.message);
  kit_check(strcmp(s.cells, "1005") == 0, "lost", s.cells);
}

static bool open_lease(weir_h engine, const char *more, weir_h *pool) {
  char conninfo[300];
  struct weir_error err = {.struct_size = sizeof err};
  (void)snprintf(conninfo, sizeof conninfo,
                 "Driver=tds;Server=127.0.0.1,%u;User ID=sa;Password=x;"
                 "Encrypt=optional;Max Pool Size=1;Min Pool Size=0;%s",
                 tdsd_port(server), more);
  int32_t rc = weir_pool_open(engine, conninfo, strlen(conninfo), pool, &err);
  if (rc == WEIR_OK) {
    rc = weir_acquire(*pool, INT64_C(10000000000), &lease, &err);
  }
  kit_check(rc == WEIR_OK, more, err.message);
  return rc == WEIR_OK;
}

static void run_all(weir_h engine) {
  static const char small[] = "Packet Size=512;Prepared Statements=3";
  const char *settings[] = {"Packet Size=4096", small, "Packet Size=32767"};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    weir_h pool = 0;
    if (!open_lease(engine, settings[i], &pool)) {
      return;
    }
    check_echoes(false);
    check_echoes(true);
    check_echoes(true);
    check_bytes();
    check_values();
    check_output(false);
    check_output(true);
    check_failures();
    check_churn();
    check_random(false);
    check_random(true);
    check_leases(pool);
    check_lost();
    check_large(i == 1 ? 100000 : 4000000);
    (void)weir_release(lease);
    (void)weir_pool_close(pool);
  }
}

int main(void) {
  struct tdsd_options options = {
      .tls = TDSD_TLS_OFF, .strict_client = true, .log = kit_log};
  struct tdsd_stats stats;
  char why[256];
  weir_h engine = 0;
  struct weir_error err = {.struct_size = sizeof err};
  if (tdsd_open(&options, &server, why, sizeof why) != 0 ||
      tdsd_start(server) != 0 ||
      weir_engine_open(NULL, &engine, &err) != WEIR_OK) {
    printf("no server or no engine\n0 passed, 1 failed\n");
    return 1;
  }
  run_all(engine);
  (void)weir_engine_shutdown(engine, INT64_C(5000000000), NULL);
  tdsd_stats(server, &stats);
  (void)snprintf(why, sizeof why, "%" PRIu64, stats.violations);
  kit_check(stats.violations == 0, "violations", why);
  (void)snprintf(why, sizeof why, "%" PRIu64, stats.rpcs);
  kit_check(stats.rpcs > 1000, "calls", why);
  tdsd_close(server);
  return kit_end();
}
