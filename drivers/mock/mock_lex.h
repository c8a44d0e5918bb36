/* SPDX-License-Identifier: MIT */
/* mock_lex.h - the words of a script. */
#ifndef MOCK_LEX_H
#define MOCK_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "weir_driver.h"

enum mock_token_kind {
  MOCK_T_END,    /* of the script */
  MOCK_T_RULE,   /* a line end or ';': a rule ends */
  MOCK_T_WORD,   /* letters, digits, _ . + - */
  MOCK_T_STRING, /* '...', decoded */
  MOCK_T_HEX,    /* x'...', decoded to bytes */
  MOCK_T_COLON,
  MOCK_T_COMMA,
  MOCK_T_BAD /* see why */
};

struct mock_token {
  int32_t kind;
  uint32_t line; /* of its first byte, from 1 */
  uint32_t column;
  char *p; /* in the lexer's text */
  uint64_t n;
  const char *why;
};

struct mock_lex {
  char *p; /* next byte */
  char *end;
  char *line_start;
  uint32_t line;
  struct mock_token now; /* the token to be looked at */
};

/* Starts on n bytes at p, which the lexer changes: strings are decoded where
 * they stand.  now is the first token. */
void mock_lex_start(struct mock_lex *x, char *p, uint64_t n);

/* Goes on to the next token.  Stays at MOCK_T_END and MOCK_T_BAD. */
void mock_lex_next(struct mock_lex *x);

#endif
