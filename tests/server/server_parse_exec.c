/* SPDX-License-Identifier: MIT */
/* EXEC [@rc =] procedure [[@name =] value [OUTPUT], ...] and EXEC (text). */

#include "server_eval.h"
#include "server_parse.h"

#define ARGUMENTS_MAX 64u

static int word_argument(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr) {
  const struct tdsd_token *token = &parser->token;
  struct tdsd_expr *expr = tdsd_arena_take(parser->arena, sizeof *expr);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->kind = TDSD_EXPR_LITERAL;
  expr->line = token->line;
  expr->literal.type.kind = TDSD_NVARCHAR;
  expr->literal.len = token->len;
  expr->literal.bytes = tdsd_arena_copy(parser->arena, token->text, token->len);
  if (expr->literal.bytes == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->literal.type.size = tdsd_value_units(&expr->literal);
  *out_expr = expr;
  return tdsd_parse_next(parser);
}

/* Arguments are constants and variables, not expressions; a bare word is text. */
static int parse_argument_value(struct tdsd_parser *parser,
                                struct tdsd_argument *argument) {
  const struct tdsd_token *token = &parser->token;
  bool is_default = false;
  if (tdsd_parse_eat(parser, "default", &is_default) < 0 || is_default) {
    return is_default ? 0 : -1;
  }
  bool word = token->lexeme == TDSD_LEX_QUOTED ||
              (token->lexeme == TDSD_LEX_WORD &&
               !tdsd_lex_is_reserved(token->text, token->len));
  if (word) {
    return word_argument(parser, &argument->expr);
  }
  bool variable = token->lexeme == TDSD_LEX_VARIABLE &&
                  !(token->len > 2 && token->text[1] == '@');
  uint32_t slot = TDSD_NO_SLOT;
  if (variable && tdsd_parse_slot(parser, &slot) < 0) {
    return -1;
  }
  if (tdsd_parse_value(parser, &argument->expr) < 0) {
    return -1;
  }
  bool output = false;
  if (tdsd_parse_eat(parser, "output", &output) < 0 ||
      (!output && tdsd_parse_eat(parser, "out", &output) < 0)) {
    return -1;
  }
  if (output && argument->expr->kind != TDSD_EXPR_VARIABLE) {
    return tdsd_fault_set(
        parser->fault, 179, 15,
        "Cannot use the OUTPUT option when passing a constant "
        "to a stored procedure.");
  }
  argument->output = output ? slot : TDSD_NO_SLOT;
  return 0;
}

/* Looks one token ahead for "@name =". */
static bool is_named(const struct tdsd_parser *parser) {
  struct tdsd_lexer ahead = parser->lexer;
  struct tdsd_token token;
  struct tdsd_fault fault;
  return parser->token.lexeme == TDSD_LEX_VARIABLE &&
         tdsd_lex_next(&ahead, &token, &fault) == 0 &&
         tdsd_lex_is_sign(&token, "=");
}

static int parse_argument(struct tdsd_parser *parser,
                          struct tdsd_argument *argument) {
  *argument = (struct tdsd_argument){.name = "", .output = TDSD_NO_SLOT};
  if (is_named(parser) && (tdsd_parse_token_text(parser, &argument->name) < 0 ||
                           tdsd_parse_need_sign(parser, "=") < 0)) {
    return -1;
  }
  return parse_argument_value(parser, argument);
}

static int parse_arguments(struct tdsd_parser *parser, uint32_t at) {
  struct tdsd_argument *arguments =
      tdsd_arena_take(parser->arena, ARGUMENTS_MAX * sizeof *arguments);
  bool more = true;
  uint32_t n = 0;
  if (arguments == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  while (more) {
    if (n == ARGUMENTS_MAX) {
      return tdsd_fault_set(parser->fault, 180, 15,
                            "EXEC has at most %u arguments here.",
                            ARGUMENTS_MAX);
    }
    if (parse_argument(parser, &arguments[n++]) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  parser->batch->ops[at].arguments = arguments;
  parser->batch->ops[at].narguments = n;
  return 0;
}

static int parse_text(struct tdsd_parser *parser, struct tdsd_op *op) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  op->kind = TDSD_OP_EXEC_TEXT;
  if (tdsd_parse_next(parser) < 0 || tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0 ||
      tdsd_parse_need_sign(parser, ")") < 0) {
    return -1;
  }
  return tdsd_parse_set_exprs(op, &list);
}

static int parse_call(struct tdsd_parser *parser,
                      uint32_t at,
                      struct tdsd_op *op) {
  if (tdsd_parse_dotted(parser, &op->name, &op->text) < 0) {
    return -1;
  }
  return tdsd_parse_ends(parser) ? 0 : parse_arguments(parser, at);
}

int tdsd_parse_call(struct tdsd_parser *parser) {
  uint32_t at = parser->batch->nops;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_EXEC);
  return op == NULL ? -1 : parse_call(parser, at, op);
}

int tdsd_parse_exec(struct tdsd_parser *parser) {
  uint32_t at = parser->batch->nops;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_EXEC);
  if (op == NULL || tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (tdsd_lex_is_sign(&parser->token, "(")) {
    return parse_text(parser, op);
  }
  if (tdsd_lex_is(&parser->token, "as")) {
    return tdsd_parse_execute_as(parser, op);
  }
  if (parser->token.lexeme == TDSD_LEX_VARIABLE &&
      (tdsd_parse_slot(parser, &op->slot) < 0 || tdsd_parse_next(parser) < 0 ||
       tdsd_parse_need_sign(parser, "=") < 0)) {
    return -1;
  }
  return parse_call(parser, at, op);
}
