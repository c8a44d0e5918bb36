/* SPDX-License-Identifier: MIT */
/* Telling two keys apart: which names are to blame. */
#include <string.h>

#include "key.h"
#include "key_escape.h"
#include "names.h"
#include "sys/assert.h"

/* One part, read back from the encoding that key.c describes. */
struct part {
  char kind;
  bool digest;
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
                       .digest = p[1] != 0,
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

static bool same_value(const struct part *a, const struct part *b) {
  return a->value_len == b->value_len &&
         memcmp(a->value, b->value, a->value_len) == 0;
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
    if (!same_value(&x, &y)) {
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

/* True if a digest is filed under this name in either. */
static bool is_secret(const struct parts *a,
                      const struct parts *b,
                      const struct part *like) {
  size_t at_a = 0;
  size_t at_b = 0;
  struct part part;
  while (next_like(a, like, &at_a, &part) || next_like(b, like, &at_b, &part)) {
    if (part.digest) {
      return true;
    }
  }
  return false;
}

static enum weir__key_part_kind kind_of(const struct part *part, bool secret) {
  switch (part->kind) {
  case 'm':
  case 'e':
    return secret ? WEIR_KEY_PART_SECRET : WEIR_KEY_PART_SETTING;
  case 'x':
    return secret ? WEIR_KEY_PART_SECRET : WEIR_KEY_PART_TEXT;
  case 's':
    return WEIR_KEY_PART_SECRET;
  case 'd':
  case 'p':
  default:
    return secret ? WEIR_KEY_PART_SECRET : WEIR_KEY_PART_DRIVER;
  }
}

/* The name is a driver's, or out of a connection string: any bytes.  put_part()
 * and part_is_sound() in key.c see to it that it is no longer than a name. */
static void name_part(const struct part *part,
                      bool secret,
                      struct weir__key_part *out) {
  size_t len = part->name_len;
  WEIR_ASSERT(len <= WEIR_NAME_MAX);
  out->kind = kind_of(part, secret);
  out->name_len = weir__key_escape(
      part->name, len < WEIR_NAME_MAX ? len : WEIR_NAME_MAX, out->name);
}

struct report {
  weir__key_part_fn fn;
  void *ctx;
  uint32_t count;
};

static void blame(struct report *r,
                  const struct parts *a,
                  const struct parts *b,
                  const struct part *part) {
  struct weir__key_part out;
  name_part(part, is_secret(a, b, part), &out);
  r->count++;
  r->fn(r->ctx, &out);
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
    blame(r, a, b, &part);
    if (part.kind == 'm') {
      return false;
    }
  }
  return true;
}

uint32_t weir__key_compare(const struct weir__key *a,
                           const struct weir__key *b,
                           weir__key_part_fn fn,
                           void *ctx) {
  static const char order[] = "order of parts";
  struct report r = {fn, ctx, 0};
  struct parts pa = parts_of(a);
  struct parts pb = parts_of(b);
  if (weir__key_equal(a, b)) {
    return 0;
  }
  if (compare(&r, &pa, &pb, false)) {
    (void)compare(&r, &pb, &pa, true);
  }
  if (r.count == 0) {
    const struct part part = {
        .kind = 'x', .name = order, .name_len = sizeof order - 1};
    blame(&r, &pa, &pb, &part);
  }
  return r.count;
}

/* Two lists that are walked side by side. */
struct walk {
  const struct parts *parts;
  size_t at; /* behind the current part */
  struct part part;
  bool more; /* there is a current part */
};

static void step(struct walk *w) {
  w->more = next_part(w->parts, &w->at, &w->part);
}

/* Of two current parts that are not filed alike, whether it is a that b lacks. */
static bool is_extra(const struct walk *a, const struct walk *b) {
  struct walk after = *a;
  step(&after);
  return !b->more || (after.more && same_name(&after.part, &b->part));
}

/* Notes that they differ in this part.  False: in another one, too. */
static bool differs_in(struct part *only, const struct part *part) {
  if (only->name == NULL) {
    *only = *part;
  }
  return same_name(only, part);
}

/* One step of both.  False: they differ in more than one name. */
static bool walk_on(struct walk *a, struct walk *b, struct part *only) {
  bool alike = a->more && b->more && same_name(&a->part, &b->part);
  if (alike) {
    bool same = same_value(&a->part, &b->part) ||
                (differs_in(only, &a->part) && differs_in(only, &b->part));
    step(a);
    step(b);
    return same;
  }
  struct walk *extra = a->more && is_extra(a, b) ? a : b->more ? b : a;
  bool fine = differs_in(only, &extra->part);
  step(extra);
  return fine;
}

/* Parts come in one order, so a walk finds what weir__key_compare() would, in the
 * time that one look at each takes. */
bool weir__key_only(const struct weir__key *a,
                    const struct weir__key *b,
                    struct weir__key_part *out) {
  struct parts pa = parts_of(a);
  struct parts pb = parts_of(b);
  struct walk x = {.parts = &pa};
  struct walk y = {.parts = &pb};
  struct part only = {.name = NULL};
  step(&x);
  step(&y);
  while (x.more || y.more) {
    if (!walk_on(&x, &y, &only)) {
      return false;
    }
  }
  if (only.name == NULL) {
    return false;
  }
  name_part(&only, is_secret(&pa, &pb, &only), out);
  return true;
}

struct list {
  char *buf;
  size_t cap;
  size_t n;
};

/* weir__key_part_fn. */
static void add_name(void *ctx, const struct weir__key_part *part) {
  struct list *l = ctx;
  size_t comma = l->n != 0 ? 2 : 0;
  if (part->name_len + comma >= l->cap - l->n) {
    return;
  }
  memcpy(l->buf + l->n, ", ", comma);
  memcpy(l->buf + l->n + comma, part->name, part->name_len);
  l->n += comma + part->name_len;
  l->buf[l->n] = '\0';
}

uint32_t weir__key_diff(const struct weir__key *a,
                        const struct weir__key *b,
                        char *buf,
                        size_t cap) {
  struct list l = {buf, cap, 0};
  if (cap != 0) {
    buf[0] = '\0';
  }
  return weir__key_compare(a, b, add_name, &l);
}
