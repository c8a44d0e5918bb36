/* SPDX-License-Identifier: MIT */
/* CREATE, DROP, DBCC, KILL, EXECUTE AS and REVERT. */
#include <string.h>

#include "server_parse.h"

int tdsd_parse_columns(struct tdsd_parser *parser, const char **out_text) {
  size_t from = parser->lexer.at;
  unsigned open = 1;
  if (tdsd_parse_need_sign(parser, "(") < 0) {
    return -1;
  }
  size_t to = from;
  while (open > 0) {
    if (parser->token.lexeme == TDSD_LEX_END) {
      return tdsd_parse_bad(parser);
    }
    open += tdsd_lex_is_sign(&parser->token, "(") ? 1 : 0;
    open -= tdsd_lex_is_sign(&parser->token, ")") ? 1 : 0;
    to = parser->lexer.at - 1;
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  }
  *out_text =
      tdsd_arena_copy(parser->arena, parser->lexer.sql + from, to - from);
  return *out_text == NULL ? tdsd_parse_no_memory(parser) : 0;
}

/* Passes over a statement that cannot matter, up to a semicolon. */
static int skip_statement(struct tdsd_parser *parser) {
  while (parser->token.lexeme != TDSD_LEX_END &&
         !tdsd_lex_is_sign(&parser->token, ";")) {
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  }
  return 0;
}

int tdsd_parse_create(struct tdsd_parser *parser) {
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_CREATE);
  const char *last = NULL;
  if (op == NULL || tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (!tdsd_lex_is(&parser->token, "table")) {
    op->name = "";
    return skip_statement(parser);
  }
  return tdsd_parse_next(parser) < 0 ||
                 tdsd_parse_dotted(parser, &op->name, &last) < 0
             ? -1
             : tdsd_parse_columns(parser, &op->text);
}

/* One operation for each table. */
int tdsd_parse_drop(struct tdsd_parser *parser) {
  bool more = true;
  bool exists = false;
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (!tdsd_lex_is(&parser->token, "table")) {
    struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_UNKNOWN);
    const char *last = NULL;
    return op == NULL || tdsd_parse_next(parser) < 0 ||
                   tdsd_parse_dotted(parser, &op->name, &last) < 0
               ? -1
               : skip_statement(parser);
  }
  if (tdsd_parse_next(parser) < 0 ||
      tdsd_parse_eat(parser, "if", &exists) < 0 ||
      (exists && tdsd_parse_need(parser, "exists") < 0)) {
    return -1;
  }
  while (more) {
    struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_DROP);
    const char *last = NULL;
    if (op == NULL || tdsd_parse_dotted(parser, &op->name, &last) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
    op->with_log = exists;
  }
  return 0;
}

int tdsd_parse_dbcc(struct tdsd_parser *parser) {
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_USEROPTIONS);
  if (op == NULL || tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (!tdsd_lex_is(&parser->token, "useroptions")) {
    return tdsd_fault_set(parser->fault, 2526, 16,
                          "Incorrect DBCC statement: only DBCC USEROPTIONS is "
                          "known.");
  }
  return tdsd_parse_next(parser);
}

static int one_value(struct tdsd_parser *parser, struct tdsd_op *op) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  return tdsd_parse_value(parser, &expr) < 0 ||
                 tdsd_parse_append(parser, &list, expr) < 0
             ? -1
             : tdsd_parse_set_exprs(op, &list);
}

int tdsd_parse_kill(struct tdsd_parser *parser) {
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_KILL);
  return op == NULL || tdsd_parse_next(parser) < 0 ? -1 : one_value(parser, op);
}

int tdsd_parse_execute_as(struct tdsd_parser *parser, struct tdsd_op *op) {
  bool login = false;
  bool user = false;
  bool with = false;
  op->kind = TDSD_OP_EXECUTE_AS;
  if (tdsd_parse_next(parser) < 0 ||
      tdsd_parse_eat(parser, "login", &login) < 0 ||
      tdsd_parse_eat(parser, "user", &user) < 0 ||
      (!login && !user && tdsd_parse_bad(parser) < 0) ||
      tdsd_parse_need_sign(parser, "=") < 0 || one_value(parser, op) < 0 ||
      tdsd_parse_eat(parser, "with", &with) < 0) {
    return -1;
  }
  return with && (tdsd_parse_need(parser, "no") < 0 ||
                  tdsd_parse_need(parser, "revert") < 0)
             ? -1
             : 0;
}

int tdsd_parse_revert(struct tdsd_parser *parser) {
  return tdsd_parse_op(parser, TDSD_OP_REVERT) == NULL
             ? -1
             : tdsd_parse_next(parser);
}
