/* SPDX-License-Identifier: MIT */
#include "key_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* One name=value within a key. */
struct part {
  const char *name;
  size_t name_len;
  const char *value;
  size_t value_len;
};

/* The length of a part's text: up to a semicolon outside of quotes.  A value is
 * quoted if its first character is a quote; a doubled one inside closes and
 * opens again, which needs no care. */
static size_t part_length(const char *s) {
  size_t i = strcspn(s, "=;");
  if (s[i] != '=') {
    return i;
  }
  char first = s[i + 1];
  bool quoted = first == '"' || first == '\'';
  bool inside = false;
  for (i++; s[i] != '\0' && (inside || s[i] != ';'); i++) {
    inside = quoted && s[i] == first ? !inside : inside;
  }
  return i;
}

/* Takes the next part off *at.  Returns false at the end. */
static bool next_part(const char **at, struct part *out) {
  *at += strspn(*at, "; \n");
  size_t len = part_length(*at);
  if (len == 0) {
    return false;
  }
  const char *equals = memchr(*at, '=', len);
  out->name = *at;
  out->name_len = equals == NULL ? len : (size_t)(equals - *at);
  out->value = equals == NULL ? *at + len : equals + 1;
  out->value_len = (size_t)(*at + len - out->value);
  *at += len;
  return true;
}

static bool find_part(const char *key,
                      const struct part *like,
                      struct part *out) {
  struct part part;
  while (next_part(&key, &part)) {
    if (part.name_len == like->name_len &&
        strncasecmp(part.name, like->name, like->name_len) == 0) {
      *out = part;
      return true;
    }
  }
  return false;
}

static bool same_value(const struct part *a, const struct part *b) {
  return a->value_len == b->value_len &&
         memcmp(a->value, b->value, a->value_len) == 0;
}

static void put_side(FILE *to, const char *label, const struct part *part) {
  if (part == NULL) {
    (void)fprintf(to, "    %s  (not in it: the default)\n", label);
  } else {
    (void)fprintf(to, "    %s  %.*s\n", label, (int)part->value_len,
                  part->value);
  }
}

static void put_difference(FILE *to,
                           const struct part *a,
                           const struct part *b) {
  const struct part *any = a != NULL ? a : b;
  (void)fprintf(to, "  %.*s\n", (int)any->name_len, any->name);
  put_side(to, "1", a);
  put_side(to, "2", b);
}

unsigned key_parts_diff(FILE *to, const char *a, const char *b) {
  unsigned n = 0;
  struct part mine;
  struct part other;
  for (const char *at = a; next_part(&at, &mine);) {
    bool found = find_part(b, &mine, &other);
    if (!found || !same_value(&mine, &other)) {
      put_difference(to, &mine, found ? &other : NULL);
      n++;
    }
  }
  for (const char *at = b; next_part(&at, &mine);) {
    if (!find_part(a, &mine, &other)) {
      put_difference(to, NULL, &mine);
      n++;
    }
  }
  return n;
}
