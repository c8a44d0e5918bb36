/* SPDX-License-Identifier: MIT */
/* Expressions.  Conditions and values share one grammar; which
 * of the two came out is checked where it matters, as "1 = 1" is no value. */
#include <string.h>
#include <strings.h>

#include "server_collation.h"
#include "server_const.h"
#include "server_eval.h"
#include "server_parse.h"
#include "server_text.h"

struct tdsd_expr *tdsd_parse_new(struct tdsd_parser *parser,
                                 enum tdsd_expr_kind kind,
                                 uint32_t nargs) {
  struct tdsd_expr *expr = tdsd_arena_take(parser->arena, sizeof *expr);
  if (expr == NULL) {
    return NULL;
  }
  expr->kind = kind;
  expr->line = parser->token.line;
  expr->nargs = nargs;
  if (nargs != 0) {
    expr->args = tdsd_arena_take(parser->arena, nargs * sizeof *expr->args);
  }
  return nargs != 0 && expr->args == NULL ? NULL : expr;
}

int tdsd_parse_append(struct tdsd_parser *parser,
                      struct tdsd_expr_list *list,
                      struct tdsd_expr *expr) {
  if (list->n == list->room) {
    uint32_t room = list->room == 0 ? 4 : 2 * list->room;
    struct tdsd_expr **exprs =
        tdsd_arena_take(parser->arena, room * sizeof(struct tdsd_expr *));
    if (exprs == NULL) {
      return tdsd_parse_no_memory(parser);
    }
    if (list->n != 0) {
      memcpy(exprs, list->exprs, list->n * sizeof(struct tdsd_expr *));
    }
    list->exprs = exprs;
    list->room = room;
  }
  list->exprs[list->n++] = expr;
  return 0;
}

static bool is_condition(const struct tdsd_expr *expr) {
  /* Whoever answered 0 gave an expression.
   * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
  return expr->kind >= TDSD_EXPR_COMPARE;
}

static int parse_null(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_LITERAL, 0);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->literal.type =
      (struct tdsd_type){.kind = TDSD_INT, .nullable = true, .untyped = true};
  expr->literal.bytes = "";
  expr->literal.is_null = true;
  *out_expr = expr;
  return tdsd_parse_next(parser);
}

static int parse_variable(struct tdsd_parser *parser,
                          struct tdsd_expr **out_expr) {
  const struct tdsd_token *token = &parser->token;
  bool global = token->len > 2 && token->text[1] == '@';
  struct tdsd_expr *expr =
      tdsd_parse_new(parser, global ? TDSD_EXPR_GLOBAL : TDSD_EXPR_VARIABLE, 0);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  int32_t slot = global
                     ? tdsd_global_find(token->text, token->len)
                     : tdsd_batch_find(parser->batch, token->text, token->len);
  if (slot < 0) {
    return tdsd_fault_set(
        parser->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
        (int)(token->len < 128 ? token->len : 128), token->text);
  }
  expr->slot = (uint32_t)slot;
  *out_expr = expr;
  return tdsd_parse_next(parser);
}

static int parse_or(struct tdsd_parser *parser, struct tdsd_expr **out_expr);

static int parse_primary(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr) {
  const struct tdsd_token *token = &parser->token;
  if (tdsd_lex_is_sign(token, "(")) {
    return tdsd_parse_next(parser) < 0 || parse_or(parser, out_expr) < 0
               ? -1
               : tdsd_parse_need_sign(parser, ")");
  }
  if (token->lexeme == TDSD_LEX_VARIABLE) {
    return parse_variable(parser, out_expr);
  }
  if (tdsd_lex_is(token, "null")) {
    return parse_null(parser, out_expr);
  }
  if (token->lexeme == TDSD_LEX_WORD || token->lexeme == TDSD_LEX_QUOTED) {
    return tdsd_parse_named(parser, out_expr);
  }
  return tdsd_parse_literal(parser, out_expr);
}

static int wrap(struct tdsd_parser *parser,
                enum tdsd_expr_kind kind,
                struct tdsd_expr **expr) {
  struct tdsd_expr *outer = tdsd_parse_new(parser, kind, 1);
  if (outer == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  outer->args[0] = *expr;
  *expr = outer;
  return 0;
}

/* value COLLATE name */
static int parse_collate(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr) {
  const char *name = NULL;
  bool collate = false;
  if (parse_primary(parser, out_expr) < 0 ||
      tdsd_parse_eat(parser, "collate", &collate) < 0) {
    return -1;
  }
  if (!collate) {
    return 0;
  }
  if (is_condition(*out_expr)) {
    return tdsd_parse_bad(parser);
  }
  if (tdsd_parse_name(parser, &name) < 0 ||
      wrap(parser, TDSD_EXPR_COLLATE, out_expr) < 0) {
    return -1;
  }
  int32_t found = tdsd_collation_find(name);
  (*out_expr)->slot = (uint32_t)found;
  return found < 0 ? tdsd_fault_set(parser->fault, 448, 16,
                                    "Invalid collation '%.128s'.", name)
                   : 0;
}

/* A minus before a number makes a negative literal, so that it stays one. */
static bool fold_negative(struct tdsd_expr *expr) {
  struct tdsd_value *value = &expr->literal;
  if (expr->kind != TDSD_EXPR_LITERAL || value->is_null ||
      !tdsd_kind_is_number(value->type.kind)) {
    return false;
  }
  value->integer = -value->integer;
  value->real = -value->real;
  value->negative = !value->negative && value->magnitude != 0;
  return true;
}

static int parse_unary(struct tdsd_parser *parser,
                       struct tdsd_expr **out_expr) {
  bool minus = false;
  bool plus = false;
  if (tdsd_parse_eat_sign(parser, "-", &minus) < 0 ||
      (!minus && tdsd_parse_eat_sign(parser, "+", &plus) < 0)) {
    return -1;
  }
  if (!minus && !plus) {
    return parse_collate(parser, out_expr);
  }
  struct tdsd_expr *inner = NULL;
  if (tdsd_parse_enter(parser) < 0 || parse_unary(parser, &inner) < 0) {
    return -1;
  }
  tdsd_parse_leave(parser);
  if (is_condition(inner)) {
    return tdsd_parse_bad(parser);
  }
  if (plus || fold_negative(inner)) {
    *out_expr = inner;
    return 0;
  }
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_NEGATE, 1);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->args[0] = inner;
  *out_expr = expr;
  return 0;
}

typedef int parse_fn(struct tdsd_parser *parser, struct tdsd_expr **out_expr);

static int make_binary(struct tdsd_parser *parser,
                       enum tdsd_expr_kind kind,
                       char op,
                       struct tdsd_expr *left,
                       struct tdsd_expr *right,
                       struct tdsd_expr **out_expr) {
  bool over_conditions = kind == TDSD_EXPR_AND || kind == TDSD_EXPR_OR;
  if (is_condition(left) != over_conditions ||
      is_condition(right) != over_conditions) {
    return tdsd_parse_bad(parser);
  }
  struct tdsd_expr *expr = tdsd_parse_new(parser, kind, 2);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->op = op;
  expr->args[0] = left;
  expr->args[1] = right;
  *out_expr = expr;
  return 0;
}

/* A chain of operators of one rank, grouped from the left.  A long chain makes a
 * deep tree, so its length counts against the depth. */
static int parse_chain(struct tdsd_parser *parser,
                       const char *signs,
                       parse_fn *operand,
                       struct tdsd_expr **out_expr) {
  struct tdsd_expr *left = NULL;
  if (operand(parser, &left) < 0) {
    return -1;
  }
  unsigned depth = parser->depth;
  while (parser->token.lexeme == TDSD_LEX_SIGN && parser->token.len == 1 &&
         strchr(signs, parser->token.text[0]) != NULL) {
    char op = parser->token.text[0];
    struct tdsd_expr *right = NULL;
    if (tdsd_parse_enter(parser) < 0 || tdsd_parse_next(parser) < 0 ||
        operand(parser, &right) < 0 ||
        make_binary(parser, TDSD_EXPR_BINARY, op, left, right, &left) < 0) {
      return -1;
    }
  }
  parser->depth = depth;
  *out_expr = left;
  return 0;
}

static int parse_product(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr) {
  return parse_chain(parser, "*/%", parse_unary, out_expr);
}

static int parse_sum(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  return parse_chain(parser, "+-", parse_product, out_expr);
}

static char comparison(const struct tdsd_token *token) {
  static const struct {
    const char *sign;
    char op;
  } signs[] = {{"=", '='},  {"<>", '!'}, {"!=", '!'}, {"<", '<'}, {">", '>'},
               {"<=", 'l'}, {">=", 'g'}, {"!>", 'l'}, {"!<", 'g'}};
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    if (tdsd_lex_is_sign(token, signs[i].sign)) {
      return signs[i].op;
    }
  }
  return 0;
}

static int parse_is_null(struct tdsd_parser *parser, struct tdsd_expr **expr) {
  bool inverse = false;
  if (tdsd_parse_next(parser) < 0 ||
      tdsd_parse_eat(parser, "not", &inverse) < 0 ||
      tdsd_parse_need(parser, "null") < 0 ||
      wrap(parser, TDSD_EXPR_IS_NULL, expr) < 0) {
    return -1;
  }
  return inverse ? wrap(parser, TDSD_EXPR_NOT, expr) : 0;
}

static int parse_comparison(struct tdsd_parser *parser,
                            struct tdsd_expr **out_expr) {
  struct tdsd_expr *left = NULL;
  if (parse_sum(parser, &left) < 0) {
    return -1;
  }
  if (!is_condition(left) && tdsd_lex_is(&parser->token, "is")) {
    *out_expr = left;
    return parse_is_null(parser, out_expr);
  }
  char op = comparison(&parser->token);
  if (op == 0) {
    *out_expr = left;
    return 0;
  }
  struct tdsd_expr *right = NULL;
  return tdsd_parse_next(parser) < 0 || parse_sum(parser, &right) < 0
             ? -1
             : make_binary(parser, TDSD_EXPR_COMPARE, op, left, right,
                           out_expr);
}

static int parse_not(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  bool inverse = false;
  if (tdsd_parse_eat(parser, "not", &inverse) < 0) {
    return -1;
  }
  if (!inverse) {
    return parse_comparison(parser, out_expr);
  }
  if (tdsd_parse_enter(parser) < 0 || parse_not(parser, out_expr) < 0) {
    return -1;
  }
  tdsd_parse_leave(parser);
  return is_condition(*out_expr) ? wrap(parser, TDSD_EXPR_NOT, out_expr)
                                 : tdsd_parse_bad(parser);
}

static int parse_words(struct tdsd_parser *parser,
                       const char *word,
                       enum tdsd_expr_kind kind,
                       parse_fn *operand,
                       struct tdsd_expr **out_expr) {
  struct tdsd_expr *left = NULL;
  bool more = false;
  if (operand(parser, &left) < 0 || tdsd_parse_eat(parser, word, &more) < 0) {
    return -1;
  }
  unsigned depth = parser->depth;
  while (more) {
    struct tdsd_expr *right = NULL;
    if (tdsd_parse_enter(parser) < 0 || operand(parser, &right) < 0 ||
        make_binary(parser, kind, 0, left, right, &left) < 0 ||
        tdsd_parse_eat(parser, word, &more) < 0) {
      return -1;
    }
  }
  parser->depth = depth;
  *out_expr = left;
  return 0;
}

static int parse_and(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  return parse_words(parser, "and", TDSD_EXPR_AND, parse_not, out_expr);
}

static int parse_or(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  if (tdsd_parse_enter(parser) < 0 ||
      parse_words(parser, "or", TDSD_EXPR_OR, parse_and, out_expr) < 0) {
    return -1;
  }
  tdsd_parse_leave(parser);
  return 0;
}

int tdsd_parse_value(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  if (tdsd_parse_enter(parser) < 0 || parse_sum(parser, out_expr) < 0) {
    return -1;
  }
  tdsd_parse_leave(parser);
  return is_condition(*out_expr) ? tdsd_parse_bad(parser) : 0;
}

int tdsd_parse_condition(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr) {
  return parse_or(parser, out_expr) < 0 ? -1
         : is_condition(*out_expr)      ? 0
                                        : tdsd_parse_bad(parser);
}
