/* SPDX-License-Identifier: MIT */
#include "key_parts.h"

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

bool key_parts_find(const char *key,
                    const char *name,
                    size_t name_len,
                    const char **out_value,
                    size_t *out_len) {
  struct part part;
  while (next_part(&key, &part)) {
    if (part.name_len == name_len &&
        strncasecmp(part.name, name, name_len) == 0) {
      *out_value = part.value;
      *out_len = part.value_len;
      return true;
    }
  }
  return false;
}
