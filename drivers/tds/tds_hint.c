/* SPDX-License-Identifier: MIT */
/* tds_hint.c - the table of parameter types, and the parser of hints. */
#include "tds_hint.h"

#include <stdio.h>
#include <string.h>

/* What may stand in parentheses. */
enum args {
  NONE,
  LENGTH,
  DIGITS,
  SECONDS,
  BITS
};

struct rule {
  const char *name;
  uint8_t kind;
  uint8_t code;
  uint8_t size;
  uint8_t frame;
  uint8_t args;
  uint8_t wide;
  uint16_t most; /* LENGTH: the largest that is not (max); 0: no (max) */
  bool has_max;
};

#define SHORT TDS_LONG_SHORT
#define PLP   TDS_LONG_PLP
#define IMAGE TDS_LONG_IMAGE

static const struct rule rules[TDS_HINT_COUNT] = {
    [TDS_HINT_BIT] = {"bit", TDS_KIND_BIT, 0x68, 1, 0, NONE, 0, 0, 0},
    [TDS_HINT_TINYINT] = {"tinyint", TDS_KIND_INT, 0x26, 1, 0, NONE, 0, 0, 0},
    [TDS_HINT_SMALLINT] = {"smallint", TDS_KIND_INT, 0x26, 2, 0, NONE, 0, 0, 0},
    [TDS_HINT_INT] = {"int", TDS_KIND_INT, 0x26, 4, 0, NONE, 0, 0, 0},
    [TDS_HINT_BIGINT] = {"bigint", TDS_KIND_INT, 0x26, 8, 0, NONE, 0, 0, 0},
    [TDS_HINT_REAL] = {"real", TDS_KIND_FLOAT, 0x6D, 4, 0, NONE, 0, 0, 0},
    [TDS_HINT_FLOAT] = {"float", TDS_KIND_FLOAT, 0x6D, 8, 0, BITS, 0, 0, 0},
    [TDS_HINT_DECIMAL] = {"decimal", TDS_KIND_DECIMAL, 0x6A, 0, 0, DIGITS, 0, 0,
                          0},
    [TDS_HINT_NUMERIC] = {"numeric", TDS_KIND_DECIMAL, 0x6C, 0, 0, DIGITS, 0, 0,
                          0},
    [TDS_HINT_MONEY] = {"money", TDS_KIND_MONEY, 0x6E, 8, 0, NONE, 0, 0, 0},
    [TDS_HINT_SMALLMONEY] = {"smallmoney", TDS_KIND_MONEY, 0x6E, 4, 0, NONE, 0,
                             0, 0},
    [TDS_HINT_DATE] = {"date", TDS_KIND_DATE, 0x28, 3, 0, NONE, 0, 0, 0},
    [TDS_HINT_TIME] = {"time", TDS_KIND_TIME, 0x29, 0, 0, SECONDS, 0, 0, 0},
    [TDS_HINT_DATETIME] = {"datetime", TDS_KIND_DATETIME, 0x6F, 8, 0, NONE, 0,
                           0, 0},
    [TDS_HINT_SMALLDATETIME] = {"smalldatetime", TDS_KIND_DATETIME, 0x6F, 4, 0,
                                NONE, 0, 0, 0},
    [TDS_HINT_DATETIME2] = {"datetime2", TDS_KIND_DATETIME2, 0x2A, 0, 0,
                            SECONDS, 0, 0, 0},
    [TDS_HINT_OFFSET] = {"datetimeoffset", TDS_KIND_OFFSET, 0x2B, 0, 0, SECONDS,
                         0, 0, 0},
    [TDS_HINT_UUID] = {"uniqueidentifier", TDS_KIND_UUID, 0x24, 16, 0, NONE, 0,
                       0, 0},
    [TDS_HINT_CHAR] = {"char", TDS_KIND_TEXT, 0xAF, 0, SHORT, LENGTH, 0, 8000,
                       0},
    [TDS_HINT_VARCHAR] = {"varchar", TDS_KIND_TEXT, 0xA7, 0, SHORT, LENGTH, 0,
                          8000, 1},
    [TDS_HINT_NCHAR] = {"nchar", TDS_KIND_TEXT, 0xEF, 0, SHORT, LENGTH, 1, 4000,
                        0},
    [TDS_HINT_NVARCHAR] = {"nvarchar", TDS_KIND_TEXT, 0xE7, 0, SHORT, LENGTH, 1,
                           4000, 1},
    [TDS_HINT_BINARY] = {"binary", TDS_KIND_BYTES, 0xAD, 0, SHORT, LENGTH, 0,
                         8000, 0},
    [TDS_HINT_VARBINARY] = {"varbinary", TDS_KIND_BYTES, 0xA5, 0, SHORT, LENGTH,
                            0, 8000, 1},
    [TDS_HINT_TEXT] = {"text", TDS_KIND_TEXT, 0x23, 0, IMAGE, NONE, 0, 0, 0},
    [TDS_HINT_NTEXT] = {"ntext", TDS_KIND_TEXT, 0x63, 0, IMAGE, NONE, 1, 0, 0},
    [TDS_HINT_IMAGE] = {"image", TDS_KIND_BYTES, 0x22, 0, IMAGE, NONE, 0, 0, 0},
    [TDS_HINT_XML] = {"xml", TDS_KIND_XML, 0xF1, 0, PLP, NONE, 1, 0, 0},
};

/* Other names for what is in the table.  sysname has its length by itself. */
static const struct {
  const char *name;
  uint8_t as;
} aliases[] = {
    {"dec", TDS_HINT_DECIMAL},      {"integer", TDS_HINT_INT},
    {"character", TDS_HINT_CHAR},   {"sysname", TDS_HINT_NVARCHAR},
    {"json", TDS_HINT_NVARCHAR},    {"rowversion", TDS_HINT_BINARY},
    {"timestamp", TDS_HINT_BINARY},
};

#define SYSNAME_UNITS    128u
#define ROWVERSION_BYTES 8u

/* A decimal without digits is decimal(18, 0), a time without them has seven. */
#define DECIMAL_PRECISION 18u
#define SECONDS_SCALE     7u

struct tds_hint tds_hint_of(enum tds_hint_name name) {
  const struct rule *rule = &rules[name];
  struct tds_hint h = {.name = (uint8_t)name,
                       .kind = rule->kind,
                       .code = rule->code,
                       .size = rule->size,
                       .frame = rule->frame,
                       .wide = rule->wide != 0};
  if (rule->args == DIGITS) {
    h.precision = DECIMAL_PRECISION;
  } else if (rule->args == SECONDS) {
    h.scale = SECONDS_SCALE;
  } else if (rule->args == LENGTH) {
    h.length = rule->has_max ? rule->most : 1;
    h.open = rule->has_max;
  }
  return h;
}

void tds_hint_set_length(struct tds_hint *h, uint32_t length) {
  h->frame = TDS_LONG_SHORT;
  h->length = length;
  h->open = false;
}

void tds_hint_set_max(struct tds_hint *h) {
  h->frame = TDS_LONG_PLP;
  h->length = 0;
  h->open = false;
}

/* ------------------------------------------------------------------ parser */

struct scan {
  const char *p;
  size_t n;
};

static void skip_blanks(struct scan *s) {
  while (s->n > 0 && (*s->p == ' ' || *s->p == '\t')) {
    s->p++;
    s->n--;
  }
}

static bool take_char(struct scan *s, char c) {
  skip_blanks(s);
  if (s->n == 0 || *s->p != c) {
    return false;
  }
  s->p++;
  s->n--;
  return true;
}

static char lower(char c) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
  if (c >= 'A' && c <= 'Z') {
    return letters[c - 'A'];
  }
  return c;
}

static bool is_word(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* A word in lower case; longer ones than any type's are cut and match none. */
static void take_word(struct scan *s, char out[TDS_HINT_TEXT_MAX]) {
  size_t n = 0;
  skip_blanks(s);
  while (s->n > 0 && is_word(*s->p)) {
    if (n + 1 < TDS_HINT_TEXT_MAX) {
      out[n++] = lower(*s->p);
    }
    s->p++;
    s->n--;
  }
  out[n] = '\0';
}

/* Digits, at most 65535.  Returns false if there are none or more. */
static bool take_number(struct scan *s, uint32_t *out) {
  uint32_t v = 0;
  bool any = false;
  skip_blanks(s);
  while (s->n > 0 && *s->p >= '0' && *s->p <= '9') {
    v = v * 10 + (uint32_t)(*s->p - '0');
    if (v > 65535) {
      return false;
    }
    any = true;
    s->p++;
    s->n--;
  }
  *out = v;
  return any;
}

static int wrong(const char **out_why, const char *why) {
  *out_why = why;
  return TDS_E_PROTO;
}

/* "(n)" or "(max)"; the parenthesis is open. */
static int take_length(struct scan *s, struct tds_hint *h, const char **why) {
  const struct rule *rule = &rules[h->name];
  struct scan before = *s;
  uint32_t v = 0;
  char word[TDS_HINT_TEXT_MAX];
  if (take_number(s, &v)) {
    if (v < 1 || v > rule->most) {
      return wrong(why, rule->most == 4000 ? "its length must be 1 to 4000"
                                           : "its length must be 1 to 8000");
    }
    tds_hint_set_length(h, v);
    return TDS_OK;
  }
  *s = before;
  take_word(s, word);
  if (strcmp(word, "max") != 0) {
    return wrong(why, "its length must be a number or max");
  }
  if (!rule->has_max) {
    return wrong(why, "it has no (max)");
  }
  tds_hint_set_max(h);
  return TDS_OK;
}

static int take_digits(struct scan *s, struct tds_hint *h, const char **why) {
  uint32_t precision = 0;
  uint32_t scale = 0;
  if (!take_number(s, &precision) || precision < 1 || precision > 38) {
    return wrong(why, "its precision must be 1 to 38");
  }
  if (take_char(s, ',') && (!take_number(s, &scale) || scale > precision)) {
    return wrong(why, "its scale must be 0 to its precision");
  }
  h->precision = (uint8_t)precision;
  h->scale = (uint8_t)scale;
  return TDS_OK;
}

static int take_seconds(struct scan *s, struct tds_hint *h, const char **why) {
  uint32_t v = 0;
  if (!take_number(s, &v) || v > 7) {
    return wrong(why, "its scale must be 0 to 7");
  }
  h->scale = (uint8_t)v;
  return TDS_OK;
}

/* float(n): up to 24 bits it is a real. */
static int take_bits(struct scan *s, struct tds_hint *h, const char **why) {
  uint32_t v = 0;
  if (!take_number(s, &v) || v < 1 || v > 53) {
    return wrong(why, "its bits must be 1 to 53");
  }
  *h = tds_hint_of(v <= 24 ? TDS_HINT_REAL : TDS_HINT_FLOAT);
  return TDS_OK;
}

static int take_args(struct scan *s, struct tds_hint *h, const char **why) {
  switch (rules[h->name].args) {
  case LENGTH:
    return take_length(s, h, why);
  case DIGITS:
    return take_digits(s, h, why);
  case SECONDS:
    return take_seconds(s, h, why);
  case BITS:
    return take_bits(s, h, why);
  default:
    return wrong(why, "it takes nothing in parentheses");
  }
}

/* Returns whether the alias is a type of its own that takes no arguments. */
static bool set_alias(struct tds_hint *h, const char *word) {
  if (strcmp(word, "sysname") == 0) {
    tds_hint_set_length(h, SYSNAME_UNITS);
  } else if (strcmp(word, "json") == 0) {
    tds_hint_set_max(h);
  } else if (strcmp(word, "rowversion") == 0 ||
             strcmp(word, "timestamp") == 0) {
    tds_hint_set_length(h, ROWVERSION_BYTES);
  } else {
    return false;
  }
  return true;
}

static int find(const char *word) {
  for (int i = 0; i < TDS_HINT_COUNT; i++) {
    if (strcmp(word, rules[i].name) == 0) {
      return i;
    }
  }
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
    if (strcmp(word, aliases[i].name) == 0) {
      return aliases[i].as;
    }
  }
  return -1;
}

int tds_hint_parse(const char *p,
                   size_t n,
                   struct tds_hint *out,
                   const char **out_why) {
  struct scan s = {p, n};
  char word[TDS_HINT_TEXT_MAX];
  take_word(&s, word);
  int name = find(word);
  if (name < 0) {
    return wrong(out_why, "no such type");
  }
  struct tds_hint h = tds_hint_of((enum tds_hint_name)name);
  bool complete = set_alias(&h, word);
  if (take_char(&s, '(')) {
    if (complete) {
      return wrong(out_why, "it takes nothing in parentheses");
    }
    int rc = take_args(&s, &h, out_why);
    if (rc != TDS_OK) {
      return rc;
    }
    if (!take_char(&s, ')')) {
      return wrong(out_why, "a parenthesis is not closed");
    }
  }
  skip_blanks(&s);
  if (s.n > 0) {
    return wrong(out_why, "more follows the type");
  }
  *out = h;
  return TDS_OK;
}

/* ---------------------------------------------------------------- printing */

size_t tds_hint_print(const struct tds_hint *h, char out[TDS_HINT_TEXT_MAX]) {
  const struct rule *rule = &rules[h->name];
  const size_t cap = TDS_HINT_TEXT_MAX;
  int n = 0;
  switch (rule->args) {
  case LENGTH:
    n = h->frame == TDS_LONG_PLP
            ? snprintf(out, cap, "%s(max)", rule->name)
            : snprintf(out, cap, "%s(%u)", rule->name, h->length);
    break;
  case DIGITS:
    n = snprintf(out, cap, "%s(%u,%u)", rule->name, h->precision, h->scale);
    break;
  case SECONDS:
    n = snprintf(out, cap, "%s(%u)", rule->name, h->scale);
    break;
  default:
    n = snprintf(out, cap, "%s", rule->name);
    break;
  }
  return n < 0 ? 0 : (size_t)n;
}

/* Bytes of a decimal's value with its sign (MS-TDS 2.2.5.5.1.6). */
static uint8_t decimal_bytes(uint8_t precision) {
  return precision <= 9 ? 5 : precision <= 19 ? 9 : precision <= 28 ? 13 : 17;
}

static size_t put_collation(uint8_t *out, const uint8_t *collation) {
  memcpy(out, collation, 5);
  return 5;
}

static size_t info_short(const struct tds_hint *h,
                         const uint8_t collation[5],
                         uint8_t *out) {
  uint32_t bytes = h->wide ? h->length * 2 : h->length;
  tds_put16(out, h->frame == TDS_LONG_PLP ? 0xFFFF : bytes);
  return 2 + (h->kind == TDS_KIND_TEXT ? put_collation(out + 2, collation) : 0);
}

/* The server's largest value of text, ntext and image. */
#define IMAGE_MOST UINT32_C(0x7FFFFFFF)

static size_t info_image(const struct tds_hint *h,
                         const uint8_t collation[5],
                         uint8_t *out) {
  tds_put32(out, IMAGE_MOST);
  return 4 + (h->kind == TDS_KIND_TEXT ? put_collation(out + 4, collation) : 0);
}

size_t tds_hint_info(const struct tds_hint *h,
                     const uint8_t collation[5],
                     uint8_t out[TDS_HINT_INFO_MAX]) {
  out[0] = h->code;
  switch (h->kind) {
  case TDS_KIND_DECIMAL:
    out[1] = decimal_bytes(h->precision);
    out[2] = h->precision;
    out[3] = h->scale;
    return 4;
  case TDS_KIND_DATE:
    return 1;
  case TDS_KIND_TIME:
  case TDS_KIND_DATETIME2:
  case TDS_KIND_OFFSET:
    out[1] = h->scale;
    return 2;
  case TDS_KIND_TEXT:
  case TDS_KIND_BYTES:
    return 1 + (h->frame == TDS_LONG_IMAGE ? info_image(h, collation, out + 1)
                                           : info_short(h, collation, out + 1));
  case TDS_KIND_XML:
    out[1] = 0; /* no schema */
    return 2;
  default:
    out[1] = h->size;
    return 2;
  }
}
