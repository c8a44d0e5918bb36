/* SPDX-License-Identifier: MIT */
/* Statements on tables are taken as text, for whoever has the tables; only their
 * syntax is looked at, because a batch with an error in it does not begin. */
#include <string.h>

#include "server_parse.h"
#include "server_rewrite.h"

static bool may_be_for_tables(const struct tdsd_token *token) {
  static const char *const words[] = {"select", "with",     "insert", "update",
                                      "delete", "truncate", "create", "drop",
                                      "alter",  "merge"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (tdsd_lex_is(token, words[i])) {
      return true;
    }
  }
  return false;
}

/* Moves the lexer to an offset of its text. */
static int go_to(struct tdsd_parser *parser, size_t at) {
  struct tdsd_lexer *lexer = &parser->lexer;
  for (; lexer->at < at; lexer->at++) {
    lexer->line += lexer->sql[lexer->at] == '\n' ? 1 : 0;
  }
  return tdsd_parse_next(parser);
}

int tdsd_parse_tables(struct tdsd_parser *parser, bool *out_taken) {
  *out_taken = false;
  if (!may_be_for_tables(&parser->token)) {
    return 0;
  }
  struct tdsd_rewrite ignored;
  size_t start = (size_t)(parser->token.text - parser->lexer.sql);
  size_t len = 0;
  struct tdsd_rw_input input = {.sql = parser->token.text,
                                .line = parser->token.line,
                                .batch = parser->batch};
  if (tdsd_rw_split(input.sql, parser->lexer.len - start, parser->arena, &len,
                    out_taken, parser->fault) < 0) {
    return -1;
  }
  if (!*out_taken) {
    return 0;
  }
  input.len = len;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_TABLES);
  if (op == NULL ||
      tdsd_rewrite(&input, parser->arena, &ignored, parser->fault) < 0) {
    return -1;
  }
  op->line = input.line;
  op->text = tdsd_arena_copy(parser->arena, input.sql, len);
  return op->text == NULL ? tdsd_parse_no_memory(parser)
                          : go_to(parser, start + len);
}

/* A condition or value that a query is in becomes SELECT before text behind, whose
 * one column goes to the variable. */
static int take_query(struct tdsd_parser *parser,
                      const char *before,
                      const char *behind,
                      uint32_t slot,
                      bool *out_taken) {
  struct tdsd_rewrite ignored;
  const struct tdsd_lexer *lexer = &parser->lexer;
  const char *text = lexer->sql + lexer->at;
  size_t start = lexer->at;
  size_t len = 0;
  if (tdsd_rw_split_value(text, lexer->len - start, parser->arena, &len,
                          out_taken, parser->fault) < 0) {
    return -1;
  }
  if (!*out_taken) {
    return 0;
  }
  size_t room = strlen(before) + len + strlen(behind) + 1;
  char *sql = tdsd_arena_take(parser->arena, room);
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_TABLES);
  if (sql == NULL || op == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  memcpy(sql, before, strlen(before) + 1);
  memcpy(sql + strlen(before), text, len);
  memcpy(sql + strlen(before) + len, behind, strlen(behind) + 1);
  op->slot = slot;
  op->text = sql;
  struct tdsd_rw_input input = {
      .sql = sql, .len = room - 1, .line = op->line, .batch = parser->batch};
  return tdsd_rewrite(&input, parser->arena, &ignored, parser->fault) < 0
             ? -1
             : go_to(parser, start + len);
}

int tdsd_parse_tables_value(struct tdsd_parser *parser,
                            uint32_t slot,
                            bool *out_taken) {
  return take_query(parser, "SELECT ", "", slot, out_taken);
}

/* The variable has no name, so that no text can mean it. */
int tdsd_parse_tables_guard(struct tdsd_parser *parser,
                            struct tdsd_expr **out_condition) {
  struct tdsd_variable hidden = {
      .name = "", .value = {.type = {.kind = TDSD_INT}, .bytes = ""}};
  uint32_t slot = parser->batch->nvariables;
  bool taken = false;
  if (tdsd_parse_add_variable(parser, &hidden) < 0 ||
      take_query(parser, "SELECT CASE WHEN (", ") THEN 1 ELSE 0 END", slot,
                 &taken) < 0) {
    return -1;
  }
  if (!taken) {
    parser->batch->nvariables--;
    return 0;
  }
  struct tdsd_expr *exprs = tdsd_arena_take(parser->arena, 3 * sizeof *exprs);
  struct tdsd_expr **args =
      tdsd_arena_take(parser->arena, 2 * sizeof(struct tdsd_expr *));
  if (exprs == NULL || args == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  args[0] = &exprs[1];
  args[1] = &exprs[2];
  exprs[0] = (struct tdsd_expr){
      .kind = TDSD_EXPR_COMPARE, .op = '=', .nargs = 2, .args = args};
  exprs[1] = (struct tdsd_expr){.kind = TDSD_EXPR_VARIABLE, .slot = slot};
  exprs[2] = (struct tdsd_expr){
      .kind = TDSD_EXPR_LITERAL,
      .literal = {.type = {.kind = TDSD_INT}, .integer = 1, .bytes = ""}};
  *out_condition = exprs;
  return 0;
}
