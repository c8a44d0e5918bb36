/* SPDX-License-Identifier: MIT */
/* Tokens, text and statements of the rewriter. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

const struct tdsd_token *rw_token(const struct rw *rw) {
  return &rw->tokens[rw->at];
}

const struct tdsd_token *rw_ahead(const struct rw *rw, uint32_t n) {
  uint32_t at = rw->at + n;
  return &rw->tokens[at < rw->ntokens ? at : rw->ntokens - 1];
}

bool rw_is(const struct rw *rw, const char *word) {
  return tdsd_lex_is(rw_token(rw), word);
}

bool rw_is_sign(const struct rw *rw, const char *sign) {
  return tdsd_lex_is_sign(rw_token(rw), sign);
}

bool rw_eat(struct rw *rw, const char *word) {
  bool there = rw_is(rw, word);
  rw->at += there ? 1 : 0;
  return there;
}

bool rw_eat_sign(struct rw *rw, const char *sign) {
  bool there = rw_is_sign(rw, sign);
  rw->at += there ? 1 : 0;
  return there;
}

int rw_need(struct rw *rw, const char *word) {
  return rw_eat(rw, word) ? 0 : rw_bad(rw);
}

int rw_need_sign(struct rw *rw, const char *sign) {
  return rw_eat_sign(rw, sign) ? 0 : rw_bad(rw);
}

int rw_bad(struct rw *rw) {
  const struct tdsd_token *token = rw_token(rw);
  int len = (int)(token->len < 128 ? token->len : 128);
  rw->fault->line = token->line;
  if (token->lexeme == TDSD_LEX_END) {
    const struct tdsd_token *last = rw->at == 0 ? token : token - 1;
    len = (int)(last->len < 128 ? last->len : 128);
    return tdsd_fault_set(rw->fault, 102, 15, "Incorrect syntax near '%.*s'.",
                          len, last->text);
  }
  if (token->lexeme == TDSD_LEX_WORD &&
      tdsd_lex_is_reserved(token->text, token->len)) {
    return tdsd_fault_set(rw->fault, 156, 15,
                          "Incorrect syntax near the keyword '%.*s'.", len,
                          token->text);
  }
  return tdsd_fault_set(rw->fault, 102, 15, "Incorrect syntax near '%.*s'.",
                        len, token->text);
}

int rw_no_memory(struct rw *rw) {
  return tdsd_fault_set(rw->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

int rw_refuse(struct rw *rw, const char *construct) {
  rw->fault->line = rw_token(rw)->line;
  return tdsd_fault_set(rw->fault, 40517, 16,
                        "Keyword or statement option '%s' is not supported in "
                        "this version of SQL Server.",
                        construct);
}

bool rw_ok(const struct rw *rw) {
  return rw->fault->number == 0;
}

bool rw_at_name(const struct rw *rw) {
  const struct tdsd_token *token = rw_token(rw);
  return token->lexeme == TDSD_LEX_QUOTED ||
         (token->lexeme == TDSD_LEX_WORD &&
          !tdsd_lex_is_reserved(token->text, token->len));
}

int rw_name(struct rw *rw, const char **out_name) {
  const struct tdsd_token *token = rw_token(rw);
  if (!rw_at_name(rw) || token->len == 0) {
    return rw_bad(rw);
  }
  if (token->len > 128) {
    return tdsd_fault_set(rw->fault, 103, 15,
                          "The identifier that starts with '%.100s' is too "
                          "long. Maximum length is 128.",
                          token->text);
  }
  *out_name = tdsd_arena_copy(rw->arena, token->text, token->len);
  rw->at++;
  return *out_name == NULL ? rw_no_memory(rw) : 0;
}

uint32_t rw_behind(const struct rw *rw, uint32_t at) {
  uint32_t depth = 0;
  for (; at < rw->ntokens; at++) {
    depth += tdsd_lex_is_sign(&rw->tokens[at], "(") ? 1 : 0;
    if (tdsd_lex_is_sign(&rw->tokens[at], ")") && --depth == 0) {
      return at + 1;
    }
  }
  return rw->ntokens - 1;
}

int rw_enter(struct rw *rw) {
  if (++rw->depth > TDSD_CAP_DEPTH) {
    return tdsd_fault_set(rw->fault, 191, 15,
                          "Some part of your SQL statement is nested too "
                          "deeply. Rewrite the query or break it up into "
                          "smaller queries.");
  }
  return 0;
}

void rw_leave(struct rw *rw) {
  rw->depth--;
}

const char *rw_format(struct rw *rw, const char *format, ...) {
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = n < 0 ? NULL : tdsd_arena_take(rw->arena, (size_t)n + 1);
  if (text != NULL) {
    (void)vsnprintf(text, (size_t)n + 1, format, again);
  } else {
    (void)rw_no_memory(rw);
  }
  va_end(again);
  return text == NULL ? "" : text;
}

const char *rw_quote(struct rw *rw, const char *name) {
  size_t len = strlen(name);
  char *quoted = tdsd_arena_take(rw->arena, 2 * len + 3);
  if (quoted == NULL) {
    (void)rw_no_memory(rw);
    return "";
  }
  char *at = quoted;
  *at++ = '"';
  for (const char *c = name; *c != 0; c++) {
    *at++ = *c;
    if (*c == '"') {
      *at++ = '"';
    }
  }
  *at = '"';
  return quoted;
}

void rw_add(struct rw *rw, struct rw_text *text, const char *more) {
  size_t len = strlen(more);
  if (text->len + len + 1 > text->room) {
    size_t room = 2 * (text->len + len) + 64;
    char *bytes = tdsd_arena_take(rw->arena, room);
    if (bytes == NULL) {
      (void)rw_no_memory(rw);
      return;
    }
    if (text->len != 0) {
      memcpy(bytes, text->bytes, text->len);
    }
    text->bytes = bytes;
    text->room = room;
  }
  memcpy(text->bytes + text->len, more, len + 1);
  text->len += len;
}

const char *rw_type(struct rw *rw, const struct tdsd_type *type) {
  char name[64];
  (void)tdsd_rw_type_print(type, name, sizeof name);
  return rw_format(rw, "'%s'", name);
}

static const char *text_literal(struct rw *rw, const char *text, size_t len) {
  char *quoted = tdsd_arena_take(rw->arena, 2 * len + 3);
  if (quoted == NULL) {
    (void)rw_no_memory(rw);
    return "";
  }
  char *at = quoted;
  *at++ = '\'';
  for (size_t i = 0; i < len; i++) {
    *at++ = text[i];
    if (text[i] == '\'') {
      *at++ = '\'';
    }
  }
  *at = '\'';
  return quoted;
}

static const char *hex_literal(struct rw *rw, const char *bytes, size_t len) {
  static const char digits[] = "0123456789ABCDEF";
  char *hex = tdsd_arena_take(rw->arena, 2 * len + 4);
  if (hex == NULL) {
    (void)rw_no_memory(rw);
    return "";
  }
  hex[0] = 'x';
  hex[1] = '\'';
  for (size_t i = 0; i < len; i++) {
    hex[2 + 2 * i] = digits[(unsigned char)bytes[i] >> 4];
    hex[3 + 2 * i] = digits[(unsigned char)bytes[i] & 15];
  }
  hex[2 + 2 * len] = '\'';
  return hex;
}

const char *rw_literal(struct rw *rw, const struct tdsd_value *value) {
  char text[128];
  enum tdsd_kind kind = value->type.kind;
  if (value->is_null) {
    return "NULL";
  }
  if (tdsd_kind_is_integer(kind)) {
    return value->integer == INT64_MIN
               ? "(-9223372036854775807 - 1)"
               : rw_format(rw, "%lld", (long long)value->integer);
  }
  if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    return rw_format(rw, "%.17e", value->real);
  }
  if (tdsd_kind_is_binary(kind)) {
    return hex_literal(rw, value->bytes, value->len);
  }
  if (tdsd_kind_is_text(kind)) {
    /* A zero would end the text of the statement. */
    return memchr(value->bytes, 0, value->len) == NULL
               ? text_literal(rw, value->bytes, value->len)
               : rw_format(rw, "CAST(%s AS TEXT)",
                           hex_literal(rw, value->bytes, value->len));
  }
  size_t len = tdsd_rw_value_print(value, text, sizeof text);
  return text_literal(rw, text, len);
}

int rw_append(struct rw *rw,
              struct rw_exprs *list,
              const struct rw_expr *expr) {
  if (list->n == list->room) {
    uint32_t room = list->room == 0 ? 8 : 2 * list->room;
    struct rw_expr *at = tdsd_arena_take(rw->arena, room * sizeof *at);
    if (at == NULL) {
      return rw_no_memory(rw);
    }
    if (list->n != 0) {
      memcpy(at, list->at, list->n * sizeof *at);
    }
    list->at = at;
    list->room = room;
  }
  list->at[list->n++] = *expr;
  return 0;
}

int rw_param(struct rw *rw, bool global, uint32_t slot, const char **out_sql) {
  struct tdsd_rewrite *out = rw->out;
  uint32_t i = 0;
  while (i < out->nparams &&
         (out->params[i].global != global || out->params[i].slot != slot)) {
    i++;
  }
  if (i == rw->params_room) {
    uint32_t room = i == 0 ? 8 : 2 * i;
    struct tdsd_rw_param *params =
        tdsd_arena_take(rw->arena, room * sizeof *params);
    if (params == NULL) {
      return rw_no_memory(rw);
    }
    if (i != 0) {
      memcpy(params, out->params, i * sizeof *params);
    }
    out->params = params;
    rw->params_room = room;
  }
  if (i == out->nparams) {
    out->params[i] = (struct tdsd_rw_param){.global = global, .slot = slot};
    out->nparams++;
  }
  *out_sql = rw_format(rw, "?%u", i + 1);
  return rw_ok(rw) ? 0 : -1;
}

/* All tokens of the statement, so that one can look ahead and go back. */
static int lex_all(struct rw *rw, const struct tdsd_rw_input *input) {
  struct tdsd_lexer lexer = {.sql = input->sql,
                             .len = input->len,
                             .line = input->line,
                             .arena = rw->arena};
  uint32_t room = 0;
  struct tdsd_token *tokens = NULL;
  do {
    if (rw->ntokens == room) {
      room = room == 0 ? 64 : 2 * room;
      struct tdsd_token *more = tdsd_arena_take(rw->arena, room * sizeof *more);
      if (more == NULL) {
        return rw_no_memory(rw);
      }
      if (rw->ntokens != 0) {
        memcpy(more, tokens, rw->ntokens * sizeof *more);
      }
      tokens = more;
      rw->tokens = tokens;
    }
    if (tdsd_lex_next(&lexer, &tokens[rw->ntokens], rw->fault) < 0) {
      return -1;
    }
  } while (tokens[rw->ntokens++].lexeme != TDSD_LEX_END);
  return 0;
}

static int select_statement(struct rw *rw, const char *with) {
  struct rw_query query = {0};
  if (rw_query(rw, NULL, NULL, &query) < 0) {
    return -1;
  }
  rw->out->kind = TDSD_RW_ROWS;
  rw->out->command = TDSD_CMD_SELECT;
  rw->out->verb = "SELECT";
  rw->out->sql = rw_format(rw, "%s%s", with, query.sql);
  rw->out->columns = query.columns;
  rw->out->ncolumns = query.ncolumns;
  rw->out->targets = query.targets;
  return 0;
}

/* SELECT ... FOR XML, OPTION (...): hints are passed over, the rest refused. */
static int options(struct rw *rw) {
  if (rw_is(rw, "for")) {
    const struct tdsd_token *kind = rw_ahead(rw, 1);
    return rw_refuse(rw, tdsd_lex_is(kind, "xml")    ? "FOR XML"
                         : tdsd_lex_is(kind, "json") ? "FOR JSON"
                                                     : "FOR");
  }
  if (rw_eat(rw, "option")) {
    if (!rw_is_sign(rw, "(")) {
      return rw_bad(rw);
    }
    rw->at = rw_behind(rw, rw->at);
  }
  (void)rw_eat_sign(rw, ";");
  return rw_token(rw)->lexeme == TDSD_LEX_END ? 0 : rw_bad(rw);
}

static int statement(struct rw *rw) {
  const char *with = "";
  if (rw_with(rw, &with) < 0) {
    return -1;
  }
  if (rw_is(rw, "select") || rw_is_sign(rw, "(")) {
    return select_statement(rw, with);
  }
  if (rw_eat(rw, "insert")) {
    return rw_insert(rw, with);
  }
  if (rw_eat(rw, "update")) {
    return rw_update(rw, with);
  }
  if (rw_eat(rw, "delete")) {
    return rw_delete(rw, with);
  }
  if (with[0] != 0) {
    return rw_bad(rw);
  }
  if (rw_eat(rw, "truncate")) {
    return rw_truncate(rw);
  }
  if (rw_eat(rw, "create")) {
    return rw_create(rw);
  }
  if (rw_eat(rw, "drop")) {
    return rw_drop(rw);
  }
  if (rw_eat(rw, "alter")) {
    return rw_alter(rw);
  }
  return rw_is(rw, "merge") ? rw_refuse(rw, "MERGE") : rw_bad(rw);
}

int tdsd_rewrite(const struct tdsd_rw_input *input,
                 struct tdsd_arena *arena,
                 struct tdsd_rewrite *out,
                 struct tdsd_fault *fault) {
  struct rw rw = {.arena = arena,
                  .fault = fault,
                  .catalog = input->catalog,
                  .batch = input->batch,
                  .state = input->state,
                  .out = out};
  memset(out, 0, sizeof *out);
  fault->number = 0;
  fault->line = input->line;
  if (lex_all(&rw, input) < 0 || statement(&rw) < 0 || options(&rw) < 0) {
    return -1;
  }
  return rw_ok(&rw) ? 0 : -1;
}
