/* SPDX-License-Identifier: MIT */
/* Names and kinds come from the engine, which compares everything; values come
 * from the keys' texts, which have no secret in them. */
#include "key_report.h"

#include <stdio.h>
#include <string.h>

#include "cell.h"
#include "key_parts.h"
#include "text_buf.h"
#include "weirctl.h"

/* One difference, a line "KIND NAME". */
struct difference {
  const char *kind;
  size_t kind_len;
  const char *name;
  size_t name_len;
};

static bool next_difference(const char **at, struct difference *out) {
  const char *line = *at;
  if (*line == '\0') {
    return false;
  }
  size_t len = strcspn(line, "\n");
  size_t kind = strcspn(line, " \n");
  size_t blank = kind < len ? 1 : 0;
  *out = (struct difference){.kind = line,
                             .kind_len = kind,
                             .name = line + kind + blank,
                             .name_len = len - kind - blank};
  *at = line + len + (line[len] == '\n');
  return true;
}

static bool is_kind(const struct difference *d, const char *kind) {
  return d->kind_len == strlen(kind) && memcmp(d->kind, kind, d->kind_len) == 0;
}

/* Whether the keys' texts tell the values. */
static bool has_values(const struct difference *d) {
  return is_kind(d, "driver") || is_kind(d, "setting");
}

/* What a key says of a name, or leaves out because it is the default. */
struct said {
  const char *p; /* NULL: it does not say, and only the driver knows, if any */
  size_t n;
  bool is_default;
};

static struct said said_of(const char *key, const struct difference *d) {
  static const char direct[] = "direct";
  struct said said = {NULL, 0, false};
  const char *strategy = direct;
  size_t n = sizeof direct - 1;
  if (key_parts_find(key, d->name, d->name_len, &said.p, &said.n) ||
      !is_kind(d, "setting")) {
    return said;
  }
  (void)key_parts_find(key, "Pool Strategy", 13, &strategy, &n);
  said.p = weirctl_setting_default(d->name, d->name_len, strategy, n);
  said.n = said.p == NULL ? 0 : strlen(said.p);
  said.is_default = said.p != NULL;
  return said;
}

/* Two strategies have two defaults, so that a key may have to say what the other one
 * need not: then it is the strategies that differ, and not this. */
static bool is_same(const char *const keys[2], const struct difference *d) {
  struct said a = said_of(keys[0], d);
  struct said b = said_of(keys[1], d);
  return is_kind(d, "setting") && a.p != NULL && b.p != NULL && a.n == b.n &&
         memcmp(a.p, b.p, a.n) == 0;
}

/* Those that are to be told. */
static bool next_told(const char *const keys[2],
                      const char **at,
                      struct difference *out) {
  while (next_difference(at, out)) {
    if (!is_same(keys, out)) {
      return true;
    }
  }
  return false;
}

static bool both_exact(const char *const keys[2]) {
  const char *p = NULL; /* a canonical key does not say so */
  size_t n = 0;
  return key_parts_find(keys[0], "Pool Key", 8, &p, &n) &&
         key_parts_find(keys[1], "Pool Key", 8, &p, &n);
}

static bool two_drivers(const char *const keys[2]) {
  const char *a = NULL;
  const char *b = NULL;
  size_t a_len = 0;
  size_t b_len = 0;
  return key_parts_find(keys[0], "Driver", 6, &a, &a_len) &&
         key_parts_find(keys[1], "Driver", 6, &b, &b_len) &&
         (a_len != b_len || memcmp(a, b, a_len) != 0);
}

/* What another driver leaves out need not have a default: it may not know it. */
static void put_value(const char *label,
                      const char *const keys[2],
                      const char *key,
                      const struct difference *d) {
  struct said said = said_of(key, d);
  if (said.p == NULL) {
    (void)printf("    %s  (not in it%s)\n", label,
                 two_drivers(keys) ? "" : ": the default");
  } else {
    (void)printf("    %s  %.*s%s\n", label, (int)said.n, said.p,
                 said.is_default ? " (the default)" : "");
  }
}

static void put_difference(const char *const keys[2],
                           const struct difference *d) {
  const char *secret = both_exact(keys)
                           ? " (a secret, not shown: it, or how it is written)"
                           : " (a secret, not shown)";
  const char *why = is_kind(d, "secret") ? secret
                    : is_kind(d, "text") ? " (Pool Key=exact: as it is written)"
                                         : "";
  (void)printf("  %.*s%s\n", (int)d->name_len, d->name, why);
  if (has_values(d)) {
    put_value("1", keys, keys[0], d);
    put_value("2", keys, keys[1], d);
  }
}

static void add_value(struct text_buf *to,
                      const char *key,
                      const struct difference *d) {
  struct said said = said_of(key, d);
  if (said.p == NULL) {
    text_buf_add_str(to, "null");
  } else {
    cell_add_json_string(to, said.p, said.n);
  }
}

static void add_difference(struct text_buf *to,
                           const char *const keys[2],
                           const struct difference *d) {
  text_buf_add_str(to, "{\"kind\":");
  cell_add_json_string(to, d->kind, d->kind_len);
  text_buf_add_str(to, ",\"name\":");
  cell_add_json_string(to, d->name, d->name_len);
  if (has_values(d)) {
    text_buf_add_str(to, ",\"values\":[");
    add_value(to, keys[0], d);
    text_buf_add(to, ",", 1);
    add_value(to, keys[1], d);
    text_buf_add(to, "]", 1);
  }
  text_buf_add(to, "}", 1);
}

/* Prints a line of JSON and frees it. */
static bool print_json(struct text_buf *line) {
  bool good = !line->failed;
  text_buf_add(line, "\n", 1);
  if (good && !line->failed) {
    (void)fwrite(line->p, 1, line->len, stdout);
  }
  good = good && !line->failed;
  text_buf_free(line);
  return good;
}

bool key_report_one(const char *key, bool json) {
  struct text_buf line = {0};
  if (!json) {
    (void)puts(key);
    return true;
  }
  text_buf_add_str(&line, "{\"key\":");
  cell_add_json_string(&line, key, strlen(key));
  text_buf_add(&line, "}", 1);
  return print_json(&line);
}

static bool report_json(const char *const keys[2], const char *differences) {
  struct text_buf line = {0};
  struct difference d;
  text_buf_add_str(&line, "{\"keys\":[");
  cell_add_json_string(&line, keys[0], strlen(keys[0]));
  text_buf_add(&line, ",", 1);
  cell_add_json_string(&line, keys[1], strlen(keys[1]));
  text_buf_addf(&line, "],\"same\":%s,\"differences\":[",
                *differences == '\0' ? "true" : "false");
  const char *comma = "";
  for (const char *at = differences; next_told(keys, &at, &d); comma = ",") {
    text_buf_add_str(&line, comma);
    add_difference(&line, keys, &d);
  }
  text_buf_add_str(&line, "]}");
  return print_json(&line);
}

bool key_report_two(const char *const keys[2],
                    const char *differences,
                    bool json) {
  struct difference d;
  if (json) {
    return report_json(keys, differences);
  }
  (void)printf("1  %s\n2  %s\n%s\n", keys[0], keys[1],
               *differences == '\0' ? "same" : "differ");
  for (const char *at = differences; next_told(keys, &at, &d);) {
    put_difference(keys, &d);
  }
  return true;
}
