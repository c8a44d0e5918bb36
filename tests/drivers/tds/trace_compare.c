/* SPDX-License-Identifier: MIT */
/* trace_compare.c - what each client wrote down against what we decoded.
 *
 * tedious recorded everything: rows, names, counts and messages must be equal.
 * pymssql and pyodbc hide results of their own queries, so their rows must be
 * found in ours in order.  tsql and bsqldb printed text.  The raw client only
 * noted sizes. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "weir_driver.h"

#include "fake_host.h"
#include "trace.h"

static int fail(struct trace *t,
                const char *what,
                const char *a,
                const char *b) {
  (void)snprintf(t->why, sizeof t->why, "%s: recorded %.100s, decoded %.100s",
                 what, a, b);
  return -1;
}

static char *dump(const json_t *j) {
  char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT);
  return text == NULL ? strdup("?") : text;
}

static int fail_json(struct trace *t,
                     const char *what,
                     const json_t *want,
                     const json_t *got) {
  char *a = dump(want);
  char *b = got == NULL ? strdup("nothing") : dump(got);
  (void)fail(t, what, a, b);
  free(a);
  free(b);
  return -1;
}

/* -------------------------------------------------------------------- values */

static const char *text_of(const json_t *cell) {
  return json_string_value(json_object_get(cell, "text"));
}

static size_t length_of(const json_t *cell) {
  return json_string_length(json_object_get(cell, "text"));
}

static bool is_null(const json_t *cell) {
  return json_is_null(json_object_get(cell, "text"));
}

/* Two or four digits as a number. */
static int64_t digits(const char *s, size_t n) {
  int64_t v = 0;
  for (size_t i = 0; i < n && isdigit((unsigned char)s[i]); i++) {
    v = v * 10 + (s[i] - '0');
  }
  return v;
}

/* Days from 1970-01-01, by the usual shift of the year to March. */
static int64_t days(const char *s) {
  int64_t month = digits(s + 5, 2);
  int64_t year = digits(s, 4) - (month <= 2 ? 1 : 0);
  return year * 365 + year / 4 - year / 100 + year / 400 +
         (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + digits(s + 8, 2) - 1 -
         719468;
}

/* A date, time or both in units of 100 ns since 1970.  An offset is taken off,
 * so that both sides are UTC. */
static int64_t ticks(const char *s) {
  int64_t seconds = 0;
  int64_t fraction = 0;
  size_t n = strlen(s);
  if (n >= 10 && s[4] == '-') {
    seconds = days(s) * 86400;
    s += n > 10 ? 11 : 10;
  }
  if (strlen(s) >= 8) {
    seconds += digits(s, 2) * 3600 + digits(s + 3, 2) * 60 + digits(s + 6, 2);
    s += 8;
  }
  if (*s == '.') {
    int64_t unit = 1000000;
    for (s++; isdigit((unsigned char)*s); s++, unit /= 10) {
      fraction += (*s - '0') * unit;
    }
  }
  if (strlen(s) == 6 && (*s == '+' || *s == '-')) {
    int64_t offset = digits(s + 1, 2) * 3600 + digits(s + 4, 2) * 60;
    seconds -= *s == '-' ? -offset : offset;
  }
  return seconds * 10000000 + fraction;
}

static bool same_date(const json_t *want, const char *text) {
  static const char *const keys[] = {"date", "datetime", "time"};
  for (size_t i = 0; i < 3; i++) {
    const char *s = json_string_value(json_object_get(want, keys[i]));
    if (s != NULL) {
      double delta =
          json_number_value(json_object_get(want, "nanosecondsDelta"));
      return ticks(s) + llround(delta * 1e7) == ticks(text);
    }
  }
  return false;
}

static bool same_digest(const char *want, const void *p, size_t n) {
  uint8_t digest[EVP_MAX_MD_SIZE];
  char text[2 * EVP_MAX_MD_SIZE + 1];
  unsigned size = 0;
  if (EVP_Digest(p, n, digest, &size, EVP_sha256(), NULL) != 1) {
    return false;
  }
  for (unsigned i = 0; i < size; i++) {
    (void)sprintf(text + 2 * (size_t)i, "%02x", digest[i]);
  }
  return strcmp(text, want) == 0;
}

static bool same_long(const json_t *want, const json_t *cell) {
  const char *text = json_string_value(json_object_get(want, "sha256_utf8"));
  const char *bytes = json_string_value(json_object_get(want, "sha256"));
  if (text != NULL) {
    return same_digest(text, text_of(cell), length_of(cell));
  }
  if (bytes == NULL) {
    return false;
  }
  size_t n = 0;
  uint8_t *p = fake_unhex(text_of(cell), &n);
  bool same = same_digest(bytes, p, n);
  free(p);
  return same;
}

/* Equal but for case and dashes. */
static bool same_uuid(const char *a, const char *b) {
  while (*a != '\0' || *b != '\0') {
    a += *a == '-';
    b += *b == '-';
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
      return false;
    }
    a += *a != '\0';
    b += *b != '\0';
  }
  return true;
}

static bool same_number(double want, const char *text) {
  char *end = NULL;
  double got = strtod(text, &end);
  double distance = fabs(want - got);
  return end != text && *end == '\0' && distance <= fabs(want) * 1e-14;
}

static bool is_variant(const json_t *cell) {
  return json_is_true(json_object_get(cell, "variant"));
}

/* Set for clients that show the bytes of a sql_variant as they lie in memory. */
static bool shows_memory;

/* Those of types that FreeTDS cannot print it garbles. */
static bool same_memory(const char *hex, const char *text) {
  size_t n = 0;
  char *end = NULL;
  uint8_t *p = fake_unhex(hex, &n);
  long number = strtol(text, &end, 10);
  bool same = false;
  if (*end == '\0' && n <= sizeof number) {
    same = memcmp(p, &number, n) == 0; /* small and positive, little-endian */
  } else if (strchr(text, '.') != NULL || strchr(text, ':') != NULL ||
             strchr(text, '-') != NULL || strncmp(text, "0x", 2) == 0) {
    same = n > 0;
  } else {
    same = n == strlen(text) && memcmp(p, text, n) == 0;
  }
  free(p);
  return same;
}

static bool same_object(const json_t *want, const json_t *cell) {
  const char *text = text_of(cell);
  const char *hex = json_string_value(json_object_get(want, "hex"));
  const char *uuid = json_string_value(json_object_get(want, "uuid"));
  const char *decimal = json_string_value(json_object_get(want, "decimal"));
  if (hex != NULL && is_variant(cell)) {
    bool binary = strncmp(text, "0x", 2) == 0 && strcmp(hex, text + 2) == 0;
    return binary || (shows_memory && same_memory(hex, text));
  }
  if (hex != NULL) {
    return strcmp(hex, text) == 0;
  }
  if (uuid != NULL) {
    return same_uuid(uuid, text);
  }
  if (decimal != NULL) {
    return same_number(strtod(decimal, NULL), text);
  }
  return same_date(want, text) || same_long(want, cell);
}

static bool same_cell(const json_t *want, const json_t *cell) {
  if (json_is_null(want) || is_null(cell)) {
    return json_is_null(want) && is_null(cell);
  }
  const char *text = text_of(cell);
  if (json_is_boolean(want)) {
    return strcmp(text, json_is_true(want) ? "1" : "0") == 0;
  }
  if (json_is_number(want)) {
    return same_number(json_number_value(want), text);
  }
  if (json_is_string(want)) {
    const char *s = json_string_value(want);
    return strcmp(s, text) == 0 || same_uuid(s, text);
  }
  return same_object(want, cell);
}

static bool same_row(const json_t *want, const json_t *row) {
  size_t n = json_array_size(want);
  if (n != json_array_size(row)) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (!same_cell(json_array_get(want, i), json_array_get(row, i))) {
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------------------- tedious */

struct cursor {
  size_t row;
  size_t columns;
  size_t count;
  size_t message;
  size_t value;
  bool loose; /* cancelled: rows may be missing in the record */
};

/* Numbers of a file with large ones are all loaded as reals. */
static bool same_count(const json_t *a, const json_t *b) {
  return json_is_number(a) && json_is_number(b) &&
         llround(json_number_value(a)) == llround(json_number_value(b));
}

static int want_message(struct trace *t,
                        const json_t *seen,
                        const json_t *ev,
                        size_t *at) {
  static const char *const keys[] = {"number", "class", "state"};
  json_t *all = json_object_get(seen, "messages");
  for (size_t i = *at; i < json_array_size(all); i++) {
    json_t *m = json_array_get(all, i);
    bool same = json_equal(json_object_get(ev, "message"),
                           json_object_get(m, "message"));
    same = same && same_count(json_object_get(ev, "lineNumber"),
                              json_object_get(m, "line"));
    for (size_t k = 0; k < 3; k++) {
      same = same && same_count(json_object_get(ev, keys[k]),
                                json_object_get(m, keys[k]));
    }
    if (same) {
      *at = i + 1;
      return 0;
    }
  }
  return fail_json(t, "message", ev, NULL);
}

static int want_row(struct trace *t,
                    const json_t *seen,
                    const json_t *ev,
                    struct cursor *c) {
  json_t *values = json_object_get(ev, "values");
  json_t *rows = json_object_get(seen, "rows");
  size_t at = c->row;
  do {
    json_t *row = json_array_get(rows, at++);
    if (row == NULL) {
      break;
    }
    if (same_row(values, row)) {
      c->row = at;
      return 0;
    }
  } while (c->loose);
  return fail_json(t, "row", values, json_array_get(rows, c->row));
}

static bool same_names(const json_t *want, const json_t *names) {
  size_t n = json_array_size(want);
  for (size_t i = 0; i < n; i++) {
    json_t *name = json_object_get(json_array_get(want, i), "name");
    if (!json_equal(name, json_array_get(names, i))) {
      return false;
    }
  }
  return n == json_array_size(names);
}

static int want_columns(struct trace *t,
                        const json_t *seen,
                        const json_t *ev,
                        struct cursor *c) {
  json_t *all = json_object_get(seen, "columns");
  json_t *names = json_array_get(all, c->columns++);
  json_t *want = json_object_get(ev, "columns");
  while (c->loose && names != NULL && !same_names(want, names)) {
    names = json_array_get(all, c->columns++);
  }
  return same_names(want, names) ? 0 : fail_json(t, "columns", want, names);
}

static int want_count(struct trace *t,
                      const json_t *seen,
                      const json_t *ev,
                      struct cursor *c) {
  json_t *count = json_object_get(ev, "rowCount");
  json_t *counts = json_object_get(seen, "counts");
  while (count != NULL && !json_is_null(count)) {
    json_t *got = json_array_get(counts, c->count++);
    if (same_count(count, got)) {
      return 0;
    }
    if (got == NULL || !c->loose) {
      return fail_json(t, "count", count, got);
    }
  }
  return 0;
}

/* tedious takes the @ off the names. */
static int want_value(struct trace *t,
                      const json_t *seen,
                      const json_t *ev,
                      struct cursor *c) {
  json_t *got = json_array_get(json_object_get(seen, "values"), c->value++);
  const char *name = json_string_value(json_object_get(got, "name"));
  const char *want = json_string_value(json_object_get(ev, "name"));
  json_t *row = json_pack("[O]", json_object_get(ev, "value"));
  bool same = name != NULL && want != NULL &&
              strcmp(name + (name[0] == '@'), want) == 0 &&
              same_row(row, json_object_get(got, "cells"));
  json_decref(row);
  return same ? 0 : fail_json(t, "value", ev, got);
}

static int want_event(struct trace *t,
                      const json_t *seen,
                      const json_t *ev,
                      struct cursor *c) {
  const char *name = json_string_value(json_object_get(ev, "ev"));
  if (name == NULL) {
    return 0;
  }
  if (strcmp(name, "row") == 0) {
    return want_row(t, seen, ev, c);
  }
  if (strcmp(name, "more rows") == 0) {
    c->row += (size_t)json_number_value(json_object_get(ev, "count"));
    return 0;
  }
  if (strcmp(name, "returnValue") == 0) {
    return want_value(t, seen, ev, c);
  }
  if (strcmp(name, "columns") == 0) {
    return want_columns(t, seen, ev, c);
  }
  if (strncmp(name, "done", 4) == 0) {
    return want_count(t, seen, ev, c);
  }
  if (strcmp(name, "errorMessage") == 0 || strcmp(name, "infoMessage") == 0) {
    return want_message(t, seen, ev, &c->message);
  }
  return 0;
}

static bool cancels(const struct trace *t) {
  return strncmp(t->id, "attention", 9) == 0 || strstr(t->id, "wait") != NULL;
}

static int compare_tedious(struct trace *t, const json_t *seen) {
  struct cursor c = {.loose = cancels(t)};
  json_t *expect = json_object_get(t->root, "expect");
  json_t *step = NULL;
  json_t *ev = NULL;
  size_t i = 0;
  size_t k = 0;
  json_array_foreach(json_object_get(expect, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "events"), k, ev) {
      if (want_event(t, seen, ev, &c) != 0) {
        return -1;
      }
    }
  }
  struct cursor login = {0};
  json_array_foreach(json_object_get(expect, "connection"), i, ev) {
    if (want_event(t, seen, ev, &login) != 0) {
      return -1;
    }
  }
  size_t rows = json_array_size(json_object_get(seen, "rows"));
  if (!c.loose && c.row != rows) {
    return fail(t, "rows", "fewer", "more");
  }
  return 0;
}

/* ------------------------------------------------------------------- the rest */

/* Finds a row at or behind *at. */
static int find_row(struct trace *t,
                    const json_t *seen,
                    const json_t *want,
                    size_t *at) {
  json_t *rows = json_object_get(seen, "rows");
  for (size_t i = *at; i < json_array_size(rows); i++) {
    if (same_row(want, json_array_get(rows, i))) {
      *at = i + 1;
      return 0;
    }
  }
  return fail_json(t, "row", want, json_array_get(rows, *at));
}

static int compare_python(struct trace *t, const json_t *seen) {
  shows_memory = true;
  size_t at = 0;
  size_t i = 0;
  size_t k = 0;
  size_t r = 0;
  json_t *step = NULL;
  json_t *result = NULL;
  json_t *row = NULL;
  json_t *steps = json_object_get(json_object_get(t->root, "expect"), "steps");
  json_array_foreach(steps, i, step) {
    json_array_foreach(json_object_get(step, "result"), k, result) {
      json_array_foreach(json_object_get(result, "rows"), r, row) {
        if (json_is_array(row) && find_row(t, seen, row, &at) != 0) {
          return -1;
        }
      }
    }
  }
  return 0;
}

/* Whether a printed cell can be ours.  Dates, floats and binaries are printed
 * in many ways and are only looked for. */
static bool printed(const json_t *cell, const char *p, size_t n) {
  json_int_t type = json_integer_value(json_object_get(cell, "type"));
  if (is_null(cell)) {
    return n == 4 && memcmp(p, "NULL", 4) == 0;
  }
  if (is_variant(cell) && same_memory("00", text_of(cell))) {
    return n > 0; /* a type whose variants FreeTDS cannot print */
  }
  if (type == WEIR_DRV_T_TIME || type == WEIR_DRV_T_FLOAT ||
      type == WEIR_DRV_T_BYTES || type == WEIR_DRV_T_UUID ||
      type == WEIR_DRV_T_DEC) {
    return n > 0 || length_of(cell) == 0;
  }
  return n == length_of(cell) && memcmp(p, text_of(cell), n) == 0;
}

/* Long output was cut when it was recorded: "beginning...(n characters, ...". */
static const char elision[] = "\xE2\x80\xA6(";

static bool printed_row(const json_t *row, const char *line, size_t n) {
  const char *end = line + n;
  for (size_t i = 0; i < json_array_size(row); i++) {
    const json_t *cell = json_array_get(row, i);
    const char *cut = memmem(line, (size_t)(end - line), elision, 4);
    const char *tab = memchr(line, '\t', (size_t)(end - line));
    const char *stop = tab == NULL ? end : tab;
    size_t whole = is_null(cell) ? 0 : length_of(cell);
    if (cut != NULL && cut < stop && whole > (size_t)(cut - line)) {
      return memcmp(text_of(cell), line, (size_t)(cut - line)) == 0;
    }
    if (whole > (size_t)(stop - line) && whole <= (size_t)(end - line) &&
        memcmp(text_of(cell), line, whole) == 0) {
      stop = line + whole; /* a tab inside the value */
      tab = stop == end ? NULL : stop;
    }
    if (!printed(cell, line, (size_t)(stop - line))) {
      return false;
    }
    if (tab == NULL && i + 1 < json_array_size(row)) {
      return false;
    }
    line = tab == NULL ? end : tab + 1;
  }
  return true;
}

/* tsql lost its connection and printed no more. */
static bool broke_off(const json_t *expect) {
  const char *text = json_string_value(json_object_get(expect, "stderr"));
  return text != NULL && strstr(text, "Write to the server failed") != NULL;
}

/* Each row of ours must stand in the output, in order. */
static int compare_printed(struct trace *t, const json_t *seen) {
  json_t *expect = json_object_get(t->root, "expect");
  const char *p = json_string_value(json_object_get(expect, "stdout"));
  size_t i = 0;
  json_t *row = NULL;
  bool prints = strstr(t->client, "sql") != NULL;
  if (p == NULL || !prints || broke_off(expect)) {
    return 0;
  }
  json_array_foreach(json_object_get(seen, "rows"), i, row) {
    for (;; p = strchr(p, '\n') + 1) {
      const char *end = strchr(p, '\n');
      if (end == NULL) {
        return fail_json(t, "printed row", expect, row);
      }
      if (printed_row(row, p, (size_t)(end - p))) {
        p = end + 1;
        break;
      }
    }
  }
  return 0;
}

/* "bytes" anywhere in the record, in order, among the sizes of messages. */
static int find_sizes(struct trace *t,
                      const json_t *want,
                      const json_t *sizes,
                      size_t *at) {
  json_t *bytes = json_object_get(want, "bytes");
  const char *key = NULL;
  json_t *value = NULL;
  size_t i = 0;
  const char *type = json_string_value(json_object_get(want, "type"));
  while (json_is_integer(bytes) && type != NULL && strcmp(type, "04") == 0) {
    json_t *got = json_array_get(sizes, (*at)++);
    if (got == NULL) {
      return fail_json(t, "reply", want, got);
    }
    if (json_equal(got, bytes)) {
      break;
    }
  }
  if (json_is_array(want)) {
    json_array_foreach(want, i, value) {
      if (find_sizes(t, value, sizes, at) != 0) {
        return -1;
      }
    }
    return 0;
  }
  json_object_foreach((json_t *)(uintptr_t)want, key, value) {
    if (find_sizes(t, value, sizes, at) != 0) {
      return -1;
    }
  }
  return 0;
}

int trace_compare(struct trace *t, json_t *seen) {
  size_t at = 0;
  shows_memory = false;
  if (strncmp(t->client, "tedious", 7) == 0) {
    return compare_tedious(t, seen);
  }
  if (strncmp(t->client, "py", 2) == 0) {
    return compare_python(t, seen);
  }
  if (strncmp(t->client, "raw", 3) == 0) {
    return find_sizes(t, json_object_get(t->root, "expect"),
                      json_object_get(seen, "sizes"), &at);
  }
  return compare_printed(t, seen);
}
