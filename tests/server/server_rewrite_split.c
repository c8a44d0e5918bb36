/* SPDX-License-Identifier: MIT */
/* Where a statement, or the value in one, ends. */
#include "server_rewrite_impl.h"

struct splitter {
  struct tdsd_lexer lexer;
  struct tdsd_token token;
  struct tdsd_token last; /* the one before */
  unsigned parens;
  unsigned cases;
  bool started; /* the verb of WITH ... has come */
  bool insert;  /* an INSERT whose rows have not come yet */
  bool update;  /* an UPDATE whose SET has not come yet */
  bool alter;   /* an ALTER whose DROP has not come yet */
};

static bool one_of(const struct tdsd_token *token, const char *const *words) {
  for (; *words != NULL; words++) {
    if (tdsd_lex_is(token, *words)) {
      return true;
    }
  }
  return false;
}

/* Whether the word begins another statement here. */
static bool begins(struct splitter *split) {
  static const char *const always[] = {
      "create", "declare",  "drop",      "exec",     "execute", "goto",
      "print",  "return",   "throw",     "truncate", "use",     "while",
      "begin",  "rollback", "raiserror", "commit",   "save",    "waitfor",
      "insert", "alter",    "break",     "continue", NULL};
  static const char *const verbs[] = {"select", "insert", "update",
                                      "delete", "merge",  NULL};
  static const char *const joins[] = {"union", "all", "except", "intersect",
                                      NULL};
  const struct tdsd_token *token = &split->token;
  const struct tdsd_token *last = &split->last;
  if (!split->started) {
    split->started = one_of(token, verbs);
    split->insert = tdsd_lex_is(token, "insert");
    split->update = tdsd_lex_is(token, "update");
    return false;
  }
  if (tdsd_lex_is(token, "select")) {
    bool own = split->insert || one_of(last, joins);
    split->insert = false;
    return !own;
  }
  if (tdsd_lex_is(token, "set")) {
    bool own = split->update || tdsd_lex_is(last, "null") ||
               tdsd_lex_is(last, "update") || tdsd_lex_is(last, "delete");
    split->update = false;
    return !own;
  }
  if (tdsd_lex_is(token, "values") || tdsd_lex_is(token, "default")) {
    split->insert = false;
  }
  if (tdsd_lex_is(token, "update") || tdsd_lex_is(token, "delete")) {
    return !tdsd_lex_is(last, "on") && !tdsd_lex_is(last, "then");
  }
  if (tdsd_lex_is(token, "drop") && split->alter) {
    split->alter = false;
    return false;
  }
  if (tdsd_lex_is(token, "if")) { /* DROP TABLE IF EXISTS */
    return !tdsd_lex_is(last, "table") && !tdsd_lex_is(last, "index");
  }
  return one_of(token, always);
}

/* Whether the statement ends before the token. */
static bool ends(struct splitter *split) {
  const struct tdsd_token *token = &split->token;
  if (token->lexeme == TDSD_LEX_END) {
    return true;
  }
  if (tdsd_lex_is_sign(token, "(")) {
    split->parens++;
  } else if (tdsd_lex_is_sign(token, ")")) {
    split->parens -= split->parens != 0 ? 1 : 0;
  } else if (tdsd_lex_is(token, "case")) {
    split->cases++;
  } else if (split->parens == 0 && split->cases == 0) {
    return tdsd_lex_is_sign(token, ";") || tdsd_lex_is(token, "end") ||
           tdsd_lex_is(token, "else") || begins(split);
  } else if (tdsd_lex_is(token, "end") && split->cases != 0) {
    split->cases--;
  }
  return false;
}

/* FROM t and JOIN t, but FROM (VALUES ...) and FROM dbo.rows(n) are not tables;
 * words of queries that the subset has no notion of count as well. */
static bool is_for_tables(const struct splitter *split, bool *after_from) {
  static const char *const words[] = {
      "case",   "over",   "group",     "having",   "order",  "exists",
      "except", "join",   "intersect", "in",       "like",   "between",
      "with",   "create", "insert",    "update",   "delete", "truncate",
      "drop",   "alter",  "merge",     "distinct", NULL};
  const struct tdsd_token *token = &split->token;
  bool from = *after_from;
  *after_from = tdsd_lex_is(token, "from");
  if (from) {
    return !tdsd_lex_is_sign(token, "(") && !tdsd_lex_is(token, "dbo") &&
           !tdsd_lex_is(token, "rows");
  }
  if (split->parens != 0 && tdsd_lex_is(token, "select")) {
    return true;
  }
  return one_of(token, words);
}

int tdsd_rw_split(const char *sql,
                  size_t len,
                  struct tdsd_arena *arena,
                  size_t *out_end,
                  bool *out_tables,
                  struct tdsd_fault *fault) {
  struct splitter split = {
      .lexer = {.sql = sql, .len = len, .line = 1, .arena = arena}};
  bool after_from = false;
  bool dbo = false;
  bool first = true;
  *out_tables = false;
  for (;;) {
    size_t before = split.lexer.at;
    if (tdsd_lex_next(&split.lexer, &split.token, fault) < 0) {
      return -1;
    }
    if (first) {
      split.started = !tdsd_lex_is(&split.token, "with");
      split.insert = tdsd_lex_is(&split.token, "insert");
      split.update = tdsd_lex_is(&split.token, "update");
      split.alter = tdsd_lex_is(&split.token, "alter");
    }
    if (!first && ends(&split)) {
      *out_end = split.token.lexeme == TDSD_LEX_END ? len : before;
      return 0;
    }
    if (dbo && split.token.lexeme != TDSD_LEX_SIGN) {
      *out_tables = *out_tables || !tdsd_lex_is(&split.token, "rows");
      dbo = false;
    }
    dbo = dbo || (after_from && tdsd_lex_is(&split.token, "dbo"));
    bool tables = is_for_tables(&split, &after_from);
    *out_tables = *out_tables || tables;
    split.last = split.token;
    first = false;
  }
}

int tdsd_rw_split_value(const char *sql,
                        size_t len,
                        struct tdsd_arena *arena,
                        size_t *out_end,
                        bool *out_query,
                        struct tdsd_fault *fault) {
  static const char *const words[] = {"select", "exists",  "in",
                                      "like",   "between", NULL};
  struct splitter split = {
      .lexer = {.sql = sql, .len = len, .line = 1, .arena = arena},
      .started = true};
  *out_query = false;
  for (;;) {
    size_t before = split.lexer.at;
    if (tdsd_lex_next(&split.lexer, &split.token, fault) < 0) {
      return -1;
    }
    bool outside = split.parens == 0 && split.cases == 0;
    if (ends(&split) || (outside && tdsd_lex_is_sign(&split.token, ","))) {
      *out_end = split.token.lexeme == TDSD_LEX_END ? len : before;
      return 0;
    }
    *out_query = *out_query || one_of(&split.token, words);
    split.last = split.token;
  }
}
