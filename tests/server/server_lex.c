/* SPDX-License-Identifier: MIT */
#include "server_lex.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const reserved[] = {
    "add",       "all",       "alter",       "and",      "as",
    "asc",       "begin",     "between",     "break",    "by",
    "case",      "close",     "coalesce",    "collate",  "commit",
    "continue",  "convert",   "create",      "cross",    "cursor",
    "database",  "dbcc",      "deallocate",  "declare",  "default",
    "delete",    "desc",      "distinct",    "drop",     "else",
    "end",       "except",    "exec",        "execute",  "exists",
    "fetch",     "for",       "foreign",     "from",     "full",
    "function",  "goto",      "grant",       "group",    "having",
    "if",        "in",        "index",       "inner",    "insert",
    "intersect", "into",      "is",          "join",     "key",
    "kill",      "left",      "like",        "merge",    "not",
    "null",      "nullif",    "of",          "off",      "on",
    "open",      "option",    "or",          "order",    "outer",
    "over",      "percent",   "pivot",       "primary",  "print",
    "proc",      "procedure", "raiserror",   "read",     "return",
    "revert",    "revoke",    "right",       "rollback", "save",
    "select",    "set",       "shutdown",    "some",     "table",
    "then",      "to",        "top",         "tran",     "transaction",
    "trigger",   "truncate",  "try_convert", "union",    "unique",
    "update",    "use",       "user",        "values",   "view",
    "waitfor",   "when",      "where",       "while",    "with"};

bool tdsd_lex_is_reserved(const char *text, size_t len) {
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    if (strlen(reserved[i]) == len &&
        strncasecmp(reserved[i], text, len) == 0) {
      return true;
    }
  }
  return false;
}

bool tdsd_lex_is(const struct tdsd_token *token, const char *word) {
  return token->lexeme == TDSD_LEX_WORD && strlen(word) == token->len &&
         strncasecmp(word, token->text, token->len) == 0;
}

bool tdsd_lex_is_sign(const struct tdsd_token *token, const char *sign) {
  return token->lexeme == TDSD_LEX_SIGN && strlen(sign) == token->len &&
         memcmp(sign, token->text, token->len) == 0;
}

static int peek(const struct tdsd_lexer *lexer, size_t ahead) {
  return lexer->at + ahead < lexer->len
             ? (unsigned char)lexer->sql[lexer->at + ahead]
             : 0;
}

static void advance(struct tdsd_lexer *lexer) {
  if (lexer->sql[lexer->at] == '\n') {
    lexer->line++;
  }
  lexer->at++;
}

/* Comments with slash and star nest in T-SQL. */
static int skip_comment(struct tdsd_lexer *lexer, struct tdsd_fault *fault) {
  unsigned depth = 0;
  do {
    if (lexer->at >= lexer->len) {
      return tdsd_fault_set(fault, 113, 15, "Missing end comment mark '*/'.");
    }
    if (peek(lexer, 0) == '/' && peek(lexer, 1) == '*') {
      depth++;
      lexer->at += 2;
    } else if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
      depth--;
      lexer->at += 2;
    } else {
      advance(lexer);
    }
  } while (depth > 0);
  return 0;
}

static int skip_blanks(struct tdsd_lexer *lexer, struct tdsd_fault *fault) {
  while (lexer->at < lexer->len) {
    int c = peek(lexer, 0);
    if (isspace(c)) {
      advance(lexer);
    } else if (c == 0xC2 && peek(lexer, 1) == 0xA0) {
      lexer->at += 2; /* a no-break space counts as one */
    } else if (c == '-' && peek(lexer, 1) == '-') {
      while (lexer->at < lexer->len && peek(lexer, 0) != '\n') {
        lexer->at++;
      }
    } else if (c == '/' && peek(lexer, 1) == '*') {
      if (skip_comment(lexer, fault) < 0) {
        return -1;
      }
    } else {
      return 0;
    }
  }
  return 0;
}

static int unclosed(struct tdsd_fault *fault, const char *text, size_t len) {
  return tdsd_fault_set(fault, 105, 15,
                        "Unclosed quotation mark after the character string "
                        "'%.*s'.",
                        (int)(len < 128 ? len : 128), text);
}

/* Reads up to the closing mark; a doubled mark stands for itself. */
static int read_quoted(struct tdsd_lexer *lexer,
                       char close,
                       struct tdsd_token *token,
                       struct tdsd_fault *fault) {
  size_t start = ++lexer->at;
  size_t doubled = 0;
  for (;; advance(lexer)) {
    if (lexer->at >= lexer->len) {
      return unclosed(fault, lexer->sql + start, lexer->len - start);
    }
    if (lexer->sql[lexer->at] != close) {
      continue;
    }
    if (peek(lexer, 1) != (unsigned char)close) {
      break;
    }
    lexer->at++;
    doubled++;
  }
  size_t raw = lexer->at++ - start;
  token->text = lexer->sql + start;
  token->len = raw - doubled;
  if (doubled == 0) {
    return 0;
  }
  char *copy = tdsd_arena_take(lexer->arena, token->len + 1);
  if (copy == NULL) {
    return tdsd_fault_set(fault, 701, 17,
                          "There is insufficient memory for this query.");
  }
  size_t n = 0;
  for (size_t i = 0; i < raw; i++) {
    copy[n++] = lexer->sql[start + i];
    i += lexer->sql[start + i] == close ? 1 : 0;
  }
  token->text = copy;
  return 0;
}

static bool is_name(int c) {
  return isalnum(c) || c == '_' || c == '@' || c == '#' || c == '$' || c >= 128;
}

static void read_name(struct tdsd_lexer *lexer) {
  while (lexer->at < lexer->len && is_name(peek(lexer, 0))) {
    lexer->at++;
  }
}

static void read_digits(struct tdsd_lexer *lexer) {
  while (isdigit(peek(lexer, 0))) {
    lexer->at++;
  }
}

static void read_number(struct tdsd_lexer *lexer, struct tdsd_token *token) {
  token->lexeme = TDSD_LEX_NUMBER;
  if (peek(lexer, 0) == '0' && (peek(lexer, 1) | 32) == 'x') {
    token->lexeme = TDSD_LEX_BINARY;
    lexer->at += 2;
    while (isxdigit(peek(lexer, 0))) {
      lexer->at++;
    }
    return;
  }
  read_digits(lexer);
  if (peek(lexer, 0) == '.') {
    lexer->at++;
    read_digits(lexer);
  }
  if ((peek(lexer, 0) | 32) == 'e') {
    token->lexeme = TDSD_LEX_FLOAT;
    lexer->at++;
    if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-') {
      lexer->at++;
    }
    read_digits(lexer);
  }
}

static int read_sign(struct tdsd_lexer *lexer,
                     struct tdsd_token *token,
                     struct tdsd_fault *fault) {
  static const char pairs[][3] = {"<=", ">=", "<>", "!=", "!<", "!>"};
  int c = peek(lexer, 0);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    if (c == pairs[i][0] && peek(lexer, 1) == pairs[i][1]) {
      lexer->at += 2;
      return 0;
    }
  }
  if (c == 0 || strchr("+-*/%=<>(),.;:&|^~", c) == NULL) {
    return tdsd_fault_set(fault, 102, 15, "Incorrect syntax near '%c'.",
                          c < 32 ? '?' : c);
  }
  lexer->at++;
  token->lexeme = TDSD_LEX_SIGN;
  return 0;
}

static bool starts_number(const struct tdsd_lexer *lexer) {
  return isdigit(peek(lexer, 0)) ||
         (peek(lexer, 0) == '.' && isdigit(peek(lexer, 1)));
}

/* Tokens whose text is exactly what was read. */
static int read_plain(struct tdsd_lexer *lexer,
                      struct tdsd_token *token,
                      struct tdsd_fault *fault) {
  size_t start = lexer->at;
  int c = peek(lexer, 0);
  if (starts_number(lexer)) {
    read_number(lexer, token);
  } else if (c == '$' && (isdigit(peek(lexer, 1)) || peek(lexer, 1) == '.')) {
    lexer->at++;
    read_number(lexer, token);
    token->lexeme = TDSD_LEX_MONEY;
  } else if (is_name(c) && c != '$') {
    token->lexeme = c == '@' ? TDSD_LEX_VARIABLE : TDSD_LEX_WORD;
    read_name(lexer);
  } else {
    token->lexeme = TDSD_LEX_SIGN;
    if (read_sign(lexer, token, fault) < 0) {
      return -1;
    }
  }
  token->text = lexer->sql + start;
  token->len = lexer->at - start;
  return 0;
}

int tdsd_lex_next(struct tdsd_lexer *lexer,
                  struct tdsd_token *out_token,
                  struct tdsd_fault *fault) {
  struct tdsd_token token = {.lexeme = TDSD_LEX_END, .text = ""};
  int rc = skip_blanks(lexer, fault);
  token.line = lexer->line;
  fault->line = lexer->line;
  if (rc == 0 && lexer->at < lexer->len) {
    int c = peek(lexer, 0);
    if (c == '\'') {
      token.lexeme = TDSD_LEX_STRING;
      rc = read_quoted(lexer, '\'', &token, fault);
    } else if ((c | 32) == 'n' && peek(lexer, 1) == '\'') {
      token.lexeme = TDSD_LEX_WIDE;
      lexer->at++;
      rc = read_quoted(lexer, '\'', &token, fault);
    } else if (c == '[' || c == '"') {
      token.lexeme = TDSD_LEX_QUOTED;
      rc = read_quoted(lexer, c == '[' ? ']' : '"', &token, fault);
    } else {
      rc = read_plain(lexer, &token, fault);
    }
  }
  if (rc == 0) {
    *out_token = token;
  }
  return rc;
}
