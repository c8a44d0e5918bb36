/* SPDX-License-Identifier: MIT */
/* What starts with a name in an expression: casts, calls and columns. */
#include <strings.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_parse.h"

/* CAST(value AS type) and TRY_CAST, behind their name. */
static int parse_cast(struct tdsd_parser *parser,
                      bool quiet,
                      struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_CAST, 1);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->quiet = quiet;
  if (tdsd_parse_need_sign(parser, "(") < 0 ||
      tdsd_parse_value(parser, &expr->args[0]) < 0 ||
      tdsd_parse_need(parser, "as") < 0 ||
      tdsd_parse_type(parser, 30, &expr->type) < 0) {
    return -1;
  }
  *out_expr = expr;
  return tdsd_parse_need_sign(parser, ")");
}

/* CONVERT(type, value [, style]) and TRY_CONVERT. */
static int parse_convert(struct tdsd_parser *parser,
                         bool quiet,
                         struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_CAST, 2);
  bool style = false;
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->quiet = quiet;
  if (tdsd_parse_need_sign(parser, "(") < 0 ||
      tdsd_parse_type(parser, 30, &expr->type) < 0 ||
      tdsd_parse_need_sign(parser, ",") < 0 ||
      tdsd_parse_value(parser, &expr->args[0]) < 0 ||
      tdsd_parse_eat_sign(parser, ",", &style) < 0 ||
      (style && tdsd_parse_value(parser, &expr->args[1]) < 0)) {
    return -1;
  }
  expr->nargs = style ? 2 : 1;
  *out_expr = expr;
  return tdsd_parse_need_sign(parser, ")");
}

/* The arguments of a function, behind its opening parenthesis. */
static int parse_arguments(struct tdsd_parser *parser,
                           struct tdsd_expr_list *list) {
  bool more = !tdsd_lex_is_sign(&parser->token, ")");
  while (more) {
    struct tdsd_expr *arg = NULL;
    if (tdsd_parse_value(parser, &arg) < 0 ||
        tdsd_parse_append(parser, list, arg) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
    if (list->n > TDSD_CAP_DEPTH) {
      return tdsd_parse_bad(parser);
    }
  }
  return tdsd_parse_need_sign(parser, ")");
}

static int finish_call(struct tdsd_parser *parser,
                       const char *name,
                       struct tdsd_expr **args,
                       uint32_t nargs,
                       struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_CALL, 0);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  int32_t slot = tdsd_function_find(name, nargs, parser->fault);
  if (slot < 0) {
    return -1;
  }
  expr->slot = (uint32_t)slot;
  expr->args = args;
  expr->nargs = nargs;
  *out_expr = expr;
  return 0;
}

static int parse_call(struct tdsd_parser *parser,
                      const char *name,
                      struct tdsd_expr **out_expr) {
  struct tdsd_expr_list list = {0};
  return parse_arguments(parser, &list) < 0
             ? -1
             : finish_call(parser, name, list.exprs, list.n, out_expr);
}

/* Functions that are called without parentheses. */
static const char *bare_function(const char *name) {
  static const char *const names[][2] = {{"current_timestamp", "getdate"},
                                         {"current_user", "current_user"},
                                         {"session_user", "session_user"},
                                         {"system_user", "system_user"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcasecmp(names[i][0], name) == 0) {
      return names[i][1];
    }
  }
  return NULL;
}

static int parse_column(struct tdsd_parser *parser,
                        const char *last,
                        struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_parse_new(parser, TDSD_EXPR_COLUMN, 0);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->name = last;
  *out_expr = expr;
  return 0;
}

/* Names of functions that are keywords too. */
static bool starts_call(const struct tdsd_token *token) {
  return tdsd_lex_is(token, "coalesce") || tdsd_lex_is(token, "nullif") ||
         tdsd_lex_is(token, "left") || tdsd_lex_is(token, "right");
}

int tdsd_parse_named(struct tdsd_parser *parser, struct tdsd_expr **out_expr) {
  struct tdsd_token first = parser->token;
  if (starts_call(&first)) {
    const char *name = tdsd_arena_copy(parser->arena, first.text, first.len);
    return name == NULL ? tdsd_parse_no_memory(parser)
           : tdsd_parse_next(parser) < 0 ||
                   tdsd_parse_need_sign(parser, "(") < 0
               ? -1
               : parse_call(parser, name, out_expr);
  }
  bool quiet =
      tdsd_lex_is(&first, "try_cast") || tdsd_lex_is(&first, "try_convert");
  if (tdsd_lex_is(&first, "cast") || tdsd_lex_is(&first, "try_cast")) {
    return tdsd_parse_next(parser) < 0 ? -1
                                       : parse_cast(parser, quiet, out_expr);
  }
  if (tdsd_lex_is(&first, "convert") || tdsd_lex_is(&first, "try_convert")) {
    return tdsd_parse_next(parser) < 0 ? -1
                                       : parse_convert(parser, quiet, out_expr);
  }
  const char *whole = NULL;
  const char *last = NULL;
  bool open = false;
  if (tdsd_parse_dotted(parser, &whole, &last) < 0 ||
      tdsd_parse_eat_sign(parser, "(", &open) < 0) {
    return -1;
  }
  if (open) {
    return parse_call(parser, whole, out_expr);
  }
  const char *function = bare_function(whole);
  return function == NULL ? parse_column(parser, last, out_expr)
                          : finish_call(parser, function, NULL, 0, out_expr);
}
