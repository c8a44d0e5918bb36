/* SPDX-License-Identifier: MIT */
/* Telling two keys apart: which name is to blame. */
#include <string.h>

#include "key.h"
#include "key_escape.h"
#include "names.h"
#include "sys/assert.h"

/* One part, read back from the encoding that key.c describes. */
struct part {
  char kind;
  const char *name;
  size_t name_len;
  const uint8_t *value;
  size_t value_len;
};

struct parts {
  const uint8_t *p;
  size_t n;
};

static struct parts parts_of(const struct weir__key *key) {
  struct parts parts = {NULL, 0};
  parts.p = weir__key_parts(key, &parts.n);
  return parts;
}

static bool next_part(const struct parts *parts, size_t *at, struct part *out) {
  if (*at == parts->n) {
    return false;
  }
  const uint8_t *p = parts->p + *at;
  uint32_t name_len = 0;
  uint32_t value_len = 0;
  memcpy(&name_len, p + 2, sizeof name_len);
  memcpy(&value_len, p + 6, sizeof value_len);
  *out = (struct part){.kind = (char)p[0],
                       .name = (const char *)p + 10,
                       .name_len = name_len,
                       .value = p + 10 + name_len,
                       .value_len = value_len};
  *at += 10 + (size_t)name_len + value_len;
  return true;
}

static bool same_name(const struct part *a, const struct part *b) {
  return a->kind == b->kind &&
         weir__names_equal(a->name, a->name_len, b->name, b->name_len);
}

/* The next part from *at on that is filed like `like`. */
static bool next_like(const struct parts *parts,
                      const struct part *like,
                      size_t *at,
                      struct part *out) {
  while (next_part(parts, at, out)) {
    if (same_name(out, like)) {
      return true;
    }
  }
  return false;
}

/* True if both keys file the same values, in the same order, under this name. */
static bool agree(const struct parts *a,
                  const struct parts *b,
                  const struct part *like) {
  size_t at_a = 0;
  size_t at_b = 0;
  struct part x;
  struct part y;
  for (;;) {
    bool more_a = next_like(a, like, &at_a, &x);
    bool more_b = next_like(b, like, &at_b, &y);
    if (!more_a || !more_b) {
      return more_a == more_b;
    }
    if (x.value_len != y.value_len ||
        memcmp(x.value, y.value, x.value_len) != 0) {
      return false;
    }
  }
}

/* True if nothing before `end` is filed like `like`. */
static bool is_first(const struct parts *parts,
                     size_t end,
                     const struct part *like) {
  struct parts before = {parts->p, end};
  size_t at = 0;
  struct part part;
  return !next_like(&before, like, &at, &part);
}

struct report {
  char *buf;
  size_t cap;
  size_t n;
  uint32_t count;
};

/* The name is a driver's, or out of a connection string: any bytes.  put_part()
 * and part_is_sound() in key.c see to it that it is no longer than a name. */
static void blame(struct report *r, const char *name, size_t len) {
  char text[4 * WEIR_NAME_MAX];
  size_t comma = r->n != 0 ? 2 : 0;
  r->count++;
  WEIR_ASSERT(len <= WEIR_NAME_MAX);
  size_t n =
      weir__key_escape(name, len < WEIR_NAME_MAX ? len : WEIR_NAME_MAX, text);
  if (n + comma >= r->cap - r->n) {
    return;
  }
  memcpy(r->buf + r->n, ", ", comma);
  memcpy(r->buf + r->n + comma, text, n);
  r->n += comma + n;
  r->buf[r->n] = '\0';
}

/* Blames the names of a on which the two differ; with only_new, just those that
 * b does not have at all.  Returns false if they are keys of two kinds, which
 * have nothing else to compare. */
static bool compare(struct report *r,
                    const struct parts *a,
                    const struct parts *b,
                    bool only_new) {
  size_t at = 0;
  size_t start = 0;
  struct part part;
  for (; next_part(a, &at, &part); start = at) {
    if (!is_first(a, start, &part) || (only_new && !is_first(b, b->n, &part)) ||
        agree(a, b, &part)) {
      continue;
    }
    blame(r, part.name, part.name_len);
    if (part.kind == 'm') {
      return false;
    }
  }
  return true;
}

uint32_t weir__key_diff(const struct weir__key *a,
                        const struct weir__key *b,
                        char *buf,
                        size_t cap) {
  static const char order[] = "order of parts";
  struct report r = {buf, cap, 0, 0};
  struct parts pa = parts_of(a);
  struct parts pb = parts_of(b);
  if (cap != 0) {
    buf[0] = '\0';
  }
  if (weir__key_equal(a, b)) {
    return 0;
  }
  if (compare(&r, &pa, &pb, false)) {
    (void)compare(&r, &pb, &pa, true);
  }
  if (r.count == 0) {
    blame(&r, order, sizeof order - 1);
  }
  return r.count;
}
