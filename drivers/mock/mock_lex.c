/* SPDX-License-Identifier: MIT */
#include "mock_lex.h"

#include <string.h>

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '+' || c == '-';
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void skip_blanks(struct mock_lex *x) {
  while (x->p < x->end && (*x->p == ' ' || *x->p == '\t' || *x->p == '\r')) {
    x->p++;
  }
  if (x->p < x->end && *x->p == '#') {
    while (x->p < x->end && *x->p != '\n') {
      x->p++;
    }
  }
}

static void bad(struct mock_lex *x, const char *why) {
  x->now.kind = MOCK_T_BAD;
  x->now.why = why;
}

/* From behind the opening quote.  Decoding only shrinks, so the result fits
 * where the text stood. */
static void read_string(struct mock_lex *x) {
  char *out = x->p;
  x->now.kind = MOCK_T_STRING;
  x->now.p = out;
  while (x->p < x->end && *x->p != '\n') {
    if (*x->p == '\'' && (x->p + 1 == x->end || x->p[1] != '\'')) {
      x->now.n = (uint64_t)(out - x->now.p);
      x->p++;
      return;
    }
    x->p += *x->p == '\'' ? 1 : 0;
    *out++ = *x->p++;
  }
  bad(x, "a string without its closing quote");
}

static void read_hex(struct mock_lex *x) {
  char *out = x->p;
  x->now.kind = MOCK_T_HEX;
  x->now.p = out;
  while (x->p < x->end && *x->p != '\'') {
    int high = digit_of(x->p[0]);
    int low = x->p + 1 < x->end ? digit_of(x->p[1]) : -1;
    if (high < 0 || low < 0) {
      bad(x, "bytes that are not pairs of hexadecimal digits");
      return;
    }
    *out++ = (char)(unsigned char)(high * 16 + low);
    x->p += 2;
  }
  if (x->p == x->end) {
    bad(x, "bytes without their closing quote");
    return;
  }
  x->now.n = (uint64_t)(out - x->now.p);
  x->p++;
}

static void read_word(struct mock_lex *x) {
  x->now.kind = MOCK_T_WORD;
  while (x->p < x->end && is_word(*x->p)) {
    x->p++;
  }
  x->now.n = (uint64_t)(x->p - x->now.p);
}

static void read_mark(struct mock_lex *x) {
  switch (*x->p) {
  case '\n':
  case ';':
    x->now.kind = MOCK_T_RULE;
    break;
  case ':':
    x->now.kind = MOCK_T_COLON;
    break;
  case ',':
    x->now.kind = MOCK_T_COMMA;
    break;
  default:
    bad(x, "a character that means nothing here");
    return;
  }
  x->now.n = 1;
  x->p++;
  if (x->now.p[0] == '\n') {
    x->line++;
    x->line_start = x->p;
  }
}

void mock_lex_next(struct mock_lex *x) {
  if (x->now.kind == MOCK_T_BAD) {
    return;
  }
  skip_blanks(x);
  x->now = (struct mock_token){.kind = MOCK_T_END,
                               .line = x->line,
                               .column = (uint32_t)(x->p - x->line_start) + 1,
                               .p = x->p};
  if (x->p == x->end) {
    return;
  }
  if (*x->p == '\'') {
    x->p++;
    read_string(x);
  } else if (*x->p == 'x' && x->p + 1 < x->end && x->p[1] == '\'') {
    x->p += 2;
    read_hex(x);
  } else if (is_word(*x->p)) {
    read_word(x);
  } else {
    read_mark(x);
  }
}

void mock_lex_start(struct mock_lex *x, char *p, uint64_t n) {
  memset(x, 0, sizeof *x);
  x->p = p;
  x->end = p + n;
  x->line_start = p;
  x->line = 1;
  mock_lex_next(x);
}
