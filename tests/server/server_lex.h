/* SPDX-License-Identifier: MIT */
/* Cuts T-SQL text into tokens.  Pure; the text is UTF-8. */
#ifndef TDSD_SERVER_LEX_H
#define TDSD_SERVER_LEX_H

#include "server_value.h"

enum tdsd_lexeme {
  TDSD_LEX_END,
  TDSD_LEX_WORD,     /* a bare name or keyword */
  TDSD_LEX_QUOTED,   /* [name] or "name" */
  TDSD_LEX_VARIABLE, /* @name or @@name, the signs included */
  TDSD_LEX_STRING,   /* '...' */
  TDSD_LEX_WIDE,     /* N'...' */
  TDSD_LEX_BINARY,   /* 0x... */
  TDSD_LEX_NUMBER,   /* 1, 1.5 */
  TDSD_LEX_FLOAT,    /* 1e0 */
  TDSD_LEX_MONEY,    /* $1.5 */
  TDSD_LEX_SIGN,     /* operators and punctuation; two characters at most */
};

struct tdsd_token {
  enum tdsd_lexeme lexeme;
  uint32_t line;
  const char *text; /* names without brackets, strings without quotes and with
                        doubled quotes made single, numbers as written */
  size_t len;
};

struct tdsd_lexer {
  const char *sql;
  size_t len;
  size_t at;
  uint32_t line;
  struct tdsd_arena *arena; /* strings that need unquoting are copied here */
};

/* Reads the next token.
 * Returns 0, or -1 with the fault (open string or comment, bad character). */
int tdsd_lex_next(struct tdsd_lexer *lexer,
                  struct tdsd_token *out_token,
                  struct tdsd_fault *fault);

/* Whether a bare word is reserved and so cannot be an alias. */
bool tdsd_lex_is_reserved(const char *text, size_t len);

/* Compares a bare word with a keyword, ignoring case. */
bool tdsd_lex_is(const struct tdsd_token *token, const char *word);

/* Compares a sign. */
bool tdsd_lex_is_sign(const struct tdsd_token *token, const char *sign);

#endif
