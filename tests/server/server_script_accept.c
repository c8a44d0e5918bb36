/* SPDX-License-Identifier: MIT */
/* Small questions of the compiler to the token at hand. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_script_parse.h"

bool tdsd_script_is_word(const struct tdsd_script_parser *parser,
                         const char *word) {
  return parser->token.lexeme == TDSD_SL_WORD &&
         strcmp(parser->token.text, word) == 0;
}

bool tdsd_script_is_sign(const struct tdsd_script_parser *parser, char sign) {
  return parser->token.lexeme == TDSD_SL_SIGN && parser->token.sign == sign;
}

bool tdsd_script_is_end(const struct tdsd_script_parser *parser) {
  return parser->token.lexeme == TDSD_SL_END ||
         parser->token.lexeme == TDSD_SL_LINE ||
         tdsd_script_is_sign(parser, '}');
}

bool tdsd_script_accept_word(struct tdsd_script_parser *parser,
                             const char *word) {
  return tdsd_script_is_word(parser, word) && tdsd_script_next(parser) == 0;
}

bool tdsd_script_accept_sign(struct tdsd_script_parser *parser, char sign) {
  return tdsd_script_is_sign(parser, sign) && tdsd_script_next(parser) == 0;
}

int tdsd_script_expect_sign(struct tdsd_script_parser *parser, char sign) {
  const char what[] = {'\'', sign, '\'', 0};
  if (!tdsd_script_is_sign(parser, sign)) {
    return tdsd_script_expected(parser, what);
  }
  return tdsd_script_next(parser);
}

bool tdsd_script_accept_option(struct tdsd_script_parser *parser,
                               const char *word) {
  if (!tdsd_script_is_word(parser, word)) {
    return false;
  }
  size_t at = parser->at;
  while (at < parser->len && strchr(" \t\r", parser->text[at]) != NULL) {
    at++;
  }
  if (at >= parser->len || parser->text[at] != '=') {
    return false;
  }
  if (tdsd_script_next(parser) < 0) {
    return false;
  }
  return tdsd_script_next(parser) == 0; /* behind the = */
}

static int number_error(struct tdsd_script_parser *parser,
                        int64_t least,
                        uint64_t most) {
  char what[80];
  (void)snprintf(what, sizeof what, "a number from %" PRId64 " to %" PRIu64,
                 least, most);
  return tdsd_script_expected(parser, what);
}

int tdsd_script_number(struct tdsd_script_parser *parser,
                       int64_t least,
                       uint64_t most,
                       uint64_t *out) {
  const struct tdsd_script_token *token = &parser->token;
  uint64_t value = 0;
  bool negative = false;
  if (token->lexeme == TDSD_SL_HEX && token->len <= 8 && token->len != 0) {
    for (size_t i = 0; i < token->len; i++) {
      value = value << 8 | (uint8_t)token->text[i];
    }
  } else if (token->lexeme == TDSD_SL_NUMBER) {
    char *end = NULL;
    negative = token->text[0] == '-';
    errno = 0;
    value = strtoull(token->text + (negative ? 1 : 0), &end, 10);
    if (*end != 0 || errno != 0) {
      return number_error(parser, least, most);
    }
  } else {
    return number_error(parser, least, most);
  }
  uint64_t lowest = least < 0 ? (uint64_t)0 - (uint64_t)least : 0;
  bool fits = negative
                  ? value <= lowest
                  : value <= most && (least <= 0 || value >= (uint64_t)least);
  if (!fits) {
    return number_error(parser, least, most);
  }
  *out = negative ? (uint64_t)0 - value : value;
  return tdsd_script_next(parser);
}

int tdsd_script_string(struct tdsd_script_parser *parser, const char **out) {
  if (parser->token.lexeme != TDSD_SL_STRING) {
    return tdsd_script_expected(parser, "a \"string\"");
  }
  *out = parser->token.text;
  return tdsd_script_next(parser);
}

int tdsd_script_bytes(struct tdsd_script_parser *parser,
                      const uint8_t **out,
                      size_t *out_len) {
  if (parser->token.lexeme != TDSD_SL_HEX &&
      parser->token.lexeme != TDSD_SL_STRING) {
    return tdsd_script_expected(parser, "0x.. or a \"string\"");
  }
  *out = (const uint8_t *)parser->token.text;
  *out_len = parser->token.len;
  return tdsd_script_next(parser);
}
