/* SPDX-License-Identifier: MIT */
/* Words, numbers, strings and signs of scripts, each with its place. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server_script_parse.h"

int tdsd_script_error(struct tdsd_script_parser *parser,
                      const char *format,
                      ...) {
  va_list args;
  if (parser->failed) {
    return -1;
  }
  parser->failed = true;
  int n =
      snprintf(parser->why, parser->cap, "%.200s:%u:%u: ", parser->name,
               (unsigned)parser->token.line, (unsigned)parser->token.column);
  if (n < 0 || (size_t)n >= parser->cap) {
    return -1;
  }
  va_start(args, format);
  /* It is started.  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(parser->why + n, parser->cap - (size_t)n, format, args);
  va_end(args);
  return -1;
}

int tdsd_script_expected(struct tdsd_script_parser *parser, const char *what) {
  const struct tdsd_script_token *token = &parser->token;
  switch (token->lexeme) {
  case TDSD_SL_END:
    return tdsd_script_error(parser, "expected %s, found the end of the file",
                             what);
  case TDSD_SL_LINE:
    return tdsd_script_error(parser, "expected %s, found the end of the line",
                             what);
  case TDSD_SL_SIGN:
    return tdsd_script_error(parser, "expected %s, found '%c'", what,
                             token->sign);
  case TDSD_SL_STRING:
    return tdsd_script_error(parser, "expected %s, found the string \"%.40s\"",
                             what, token->text);
  case TDSD_SL_HEX:
    return tdsd_script_error(parser, "expected %s, found 0x and %zu bytes",
                             what, token->len);
  case TDSD_SL_WORD:
  case TDSD_SL_NUMBER:
  default:
    return tdsd_script_error(parser, "expected %s, found '%.40s'", what,
                             token->text);
  }
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '@';
}

static int hex_digit(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char peek(const struct tdsd_script_parser *parser, size_t ahead) {
  return parser->at + ahead < parser->len ? parser->text[parser->at + ahead]
                                          : '\0';
}

static void skip_blanks(struct tdsd_script_parser *parser) {
  while (is_blank(peek(parser, 0))) {
    parser->at++;
  }
  if (peek(parser, 0) == '#') {
    while (parser->at < parser->len && peek(parser, 0) != '\n') {
      parser->at++;
    }
  }
}

static int no_memory(struct tdsd_script_parser *parser) {
  return tdsd_script_error(parser, "no memory for the script");
}

/* Takes the bytes up to at as the token's text. */
static int take_text(struct tdsd_script_parser *parser,
                     enum tdsd_script_lexeme lexeme) {
  struct tdsd_script_token *token = &parser->token;
  token->lexeme = lexeme;
  token->len = parser->at - token->from;
  token->text =
      tdsd_arena_copy(&parser->arena, parser->text + token->from, token->len);
  return token->text == NULL ? no_memory(parser) : 0;
}

static int take_word(struct tdsd_script_parser *parser) {
  while (is_letter(peek(parser, 0)) || is_digit(peek(parser, 0)) ||
         peek(parser, 0) == '-' || peek(parser, 0) == '.') {
    parser->at++;
  }
  return take_text(parser, TDSD_SL_WORD);
}

static int take_number(struct tdsd_script_parser *parser) {
  char before = 0;
  for (;;) {
    char c = peek(parser, 0);
    bool sign = (c == '-' || c == '+') &&
                (before == 0 || before == 'e' || before == 'E');
    bool exponent = (c == 'e' || c == 'E') && before != 0;
    if (!is_digit(c) && c != '.' && !sign && !exponent) {
      return take_text(parser, TDSD_SL_NUMBER);
    }
    before = c;
    parser->at++;
  }
}

static int take_hex(struct tdsd_script_parser *parser) {
  struct tdsd_script_token *token = &parser->token;
  size_t n = 0;
  parser->at += 2;
  while (hex_digit(peek(parser, n)) >= 0) {
    n++;
  }
  token->lexeme = TDSD_SL_HEX;
  /* 0x1 is the number 1: half a byte is completed at its front. */
  token->len = (n + 1) / 2;
  token->text = tdsd_arena_take(&parser->arena, token->len + 1);
  if (token->text == NULL) {
    return no_memory(parser);
  }
  for (size_t i = 0; i < n; i++) {
    size_t place = i + n % 2;
    unsigned digit = (unsigned)hex_digit(peek(parser, i));
    unsigned byte = (uint8_t)token->text[place / 2];
    token->text[place / 2] = (char)(uint8_t)(byte << 4 | digit);
  }
  parser->at += n;
  return 0;
}

/* Appends a code point as UTF-8; lone surrogates too, as nvarchar may have
 * them. */
static size_t put_utf8(char *out, uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3F));
  out[2] = (char)(0x80 | (c >> 6 & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

/* Reads digits of \x and \u.  Returns the number, or UINT32_MAX. */
static uint32_t escape_digits(struct tdsd_script_parser *parser, unsigned n) {
  uint32_t value = 0;
  for (unsigned i = 0; i < n; i++) {
    int digit = hex_digit(peek(parser, i));
    if (digit < 0) {
      return UINT32_MAX;
    }
    value = value << 4 | (uint32_t)digit;
  }
  parser->at += n;
  return value;
}

/* What follows a backslash.  Returns the bytes written, 0 after an error. */
static size_t take_escape(struct tdsd_script_parser *parser, char *out) {
  static const char from[] = "nrt0\\\"'";
  static const char to[] = "\n\r\t\0\\\"'";
  char c = peek(parser, 0);
  const char *known = c == 0 ? NULL : strchr(from, c);
  uint32_t code = 0;
  parser->at++;
  if (known != NULL) {
    out[0] = to[known - from];
    return 1;
  }
  if (c == 'x' || c == 'u' || c == 'U') {
    code = escape_digits(parser, c == 'x' ? 2 : c == 'u' ? 4 : 6);
    if (code <= 0x10FFFF) {
      return put_utf8(out, code);
    }
  }
  (void)tdsd_script_error(parser,
                          "expected \\n \\r \\t \\0 \\\\ \\\" \\xHH \\uHHHH or "
                          "\\UHHHHHH in a string, found \\%c",
                          c >= ' ' ? c : '?');
  return 0;
}

static int take_string(struct tdsd_script_parser *parser) {
  struct tdsd_script_token *token = &parser->token;
  size_t from = ++parser->at;
  size_t end = from;
  while (end < parser->len && parser->text[end] != '"' &&
         parser->text[end] != '\n') {
    end += parser->text[end] == '\\' ? 2 : 1;
  }
  if (end >= parser->len || parser->text[end] != '"') {
    return tdsd_script_error(parser, "expected \" at the end of the string");
  }
  token->lexeme = TDSD_SL_STRING;
  token->text = tdsd_arena_take(&parser->arena, end - from + 1);
  token->len = 0;
  if (token->text == NULL) {
    return no_memory(parser);
  }
  /* No escape becomes longer than it was written. */
  while (parser->at < end) {
    char c = parser->text[parser->at++];
    size_t n = 1;
    if (c == '\\') {
      n = take_escape(parser, token->text + token->len);
    } else {
      token->text[token->len] = c;
    }
    if (n == 0) {
      return -1;
    }
    token->len += n;
  }
  parser->at = end + 1;
  return 0;
}

static int take_sign(struct tdsd_script_parser *parser) {
  char c = peek(parser, 0);
  if (c == 0 || strchr("{}()[],=*", c) == NULL) {
    return tdsd_script_error(
        parser,
        "expected a word, a number, a string or a sign, found byte 0x%02x",
        (unsigned)(uint8_t)c);
  }
  parser->token.lexeme = TDSD_SL_SIGN;
  parser->token.sign = c;
  parser->at++;
  return 0;
}

static bool begins_number(const struct tdsd_script_parser *parser) {
  char c = peek(parser, 0);
  return is_digit(c) || ((c == '-' || c == '+') && is_digit(peek(parser, 1)));
}

static int next_line(struct tdsd_script_parser *parser) {
  if (peek(parser, 0) == '\n') {
    parser->line++;
    parser->line_from = parser->at + 1;
  }
  parser->at++;
  parser->token.lexeme = TDSD_SL_LINE;
  return 0;
}

int tdsd_script_next(struct tdsd_script_parser *parser) {
  if (parser->failed) {
    return -1;
  }
  skip_blanks(parser);
  parser->token = (struct tdsd_script_token){
      .line = parser->line,
      .column = (uint32_t)(parser->at - parser->line_from + 1),
      .from = parser->at};
  if (parser->at >= parser->len) {
    return 0;
  }
  char c = peek(parser, 0);
  if (c == '\n' || c == ';') {
    return next_line(parser);
  }
  if (c == '0' && (peek(parser, 1) == 'x' || peek(parser, 1) == 'X')) {
    return take_hex(parser);
  }
  if (begins_number(parser)) {
    return take_number(parser);
  }
  if (is_letter(c)) {
    return take_word(parser);
  }
  return c == '"' ? take_string(parser) : take_sign(parser);
}

/* 'text' in ASCII, within hex. */
static int hex_ascii(struct tdsd_script_parser *parser, struct tdsd_buf *out) {
  parser->at++;
  while (peek(parser, 0) != '\'') {
    char c = peek(parser, 0);
    if (c == 0 || c == '\n') {
      return tdsd_script_error(parser, "expected ' at the end of the text");
    }
    tdsd_buf_u8(out, (uint8_t)c);
    parser->at++;
  }
  parser->at++;
  return 0;
}

/* One pair of digits or one text. */
static int hex_piece(struct tdsd_script_parser *parser, struct tdsd_buf *out) {
  char c = peek(parser, 0);
  if (c == '"') {
    if (take_string(parser) < 0) {
      return -1;
    }
    (void)tdsd_buf_w16(out, parser->token.text, parser->token.len);
    return 0;
  }
  if (c == '\'') {
    return hex_ascii(parser, out);
  }
  int high = hex_digit(c);
  int low = high < 0 ? -1 : hex_digit(peek(parser, 1));
  if (low < 0) {
    return tdsd_script_error(parser,
                             "expected two hexadecimal digits, \"text\" or "
                             "'text', found '%.2s'",
                             parser->text + parser->at);
  }
  tdsd_buf_u8(out, (uint32_t)(high << 4 | low));
  parser->at += 2;
  return 0;
}

int tdsd_script_hex(struct tdsd_script_parser *parser, struct tdsd_buf *out) {
  for (;;) {
    skip_blanks(parser);
    char c = peek(parser, 0);
    if (parser->at >= parser->len || c == '\n' || c == ';' || c == '}') {
      return tdsd_script_next(parser);
    }
    parser->token.line = parser->line;
    parser->token.column = (uint32_t)(parser->at - parser->line_from + 1);
    if (hex_piece(parser, out) < 0) {
      return -1;
    }
  }
}
