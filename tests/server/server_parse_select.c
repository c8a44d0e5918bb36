/* SPDX-License-Identifier: MIT */
/* SELECT: items, UNION ALL, and the sources a server without tables has. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_parse.h"
#include "server_report.h"
#include "server_temp.h"

static bool is_alias(const struct tdsd_token *token) {
  return token->lexeme == TDSD_LEX_QUOTED || token->lexeme == TDSD_LEX_STRING ||
         token->lexeme == TDSD_LEX_WIDE ||
         (token->lexeme == TDSD_LEX_WORD &&
          !tdsd_lex_is_reserved(token->text, token->len));
}

static int take_text(struct tdsd_parser *parser, const char **out_text) {
  *out_text =
      tdsd_arena_copy(parser->arena, parser->token.text, parser->token.len);
  return *out_text == NULL ? tdsd_parse_no_memory(parser)
                           : tdsd_parse_next(parser);
}

static int parse_alias(struct tdsd_parser *parser, const char **out_name) {
  bool as = false;
  if (tdsd_parse_eat(parser, "as", &as) < 0) {
    return -1;
  }
  if (is_alias(&parser->token)) {
    return take_text(parser, out_name);
  }
  return as ? tdsd_parse_bad(parser) : 0;
}

/* Looks one token ahead for "name =" and "@x =", the alias in front. */
static bool assigns(const struct tdsd_parser *parser) {
  struct tdsd_lexer ahead = parser->lexer;
  struct tdsd_token token;
  struct tdsd_fault fault;
  if (parser->token.lexeme != TDSD_LEX_VARIABLE && !is_alias(&parser->token)) {
    return false;
  }
  return tdsd_lex_next(&ahead, &token, &fault) == 0 &&
         tdsd_lex_is_sign(&token, "=");
}

static int parse_assignment(struct tdsd_parser *parser,
                            struct tdsd_item *item) {
  struct tdsd_token target = parser->token;
  if (target.lexeme == TDSD_LEX_VARIABLE) {
    item->variable = tdsd_batch_find(parser->batch, target.text, target.len);
    if (item->variable < 0) {
      return tdsd_fault_set(
          parser->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
          (int)(target.len < 128 ? target.len : 128), target.text);
    }
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  } else if (take_text(parser, &item->name) < 0) {
    return -1;
  }
  return tdsd_parse_need_sign(parser, "=") < 0
             ? -1
             : tdsd_parse_value(parser, &item->expr);
}

static int parse_item(struct tdsd_parser *parser, struct tdsd_item *item) {
  *item = (struct tdsd_item){.name = "", .variable = -1};
  if (tdsd_lex_is_sign(&parser->token, "*")) {
    return tdsd_parse_next(parser);
  }
  if (assigns(parser)) {
    return parse_assignment(parser, item);
  }
  if (tdsd_parse_value(parser, &item->expr) < 0) {
    return -1;
  }
  if (item->expr->kind == TDSD_EXPR_COLUMN) {
    item->name = item->expr->name;
  }
  return parse_alias(parser, &item->name);
}

static int grow_items(struct tdsd_parser *parser,
                      struct tdsd_select *select,
                      uint32_t *room) {
  if (select->nitems < *room) {
    return 0;
  }
  uint32_t more = *room == 0 ? 8 : 2 * *room;
  struct tdsd_item *items =
      tdsd_arena_take(parser->arena, more * sizeof *items);
  if (items == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  if (select->nitems != 0) {
    memcpy(items, select->items, select->nitems * sizeof *items);
  }
  select->items = items;
  *room = more;
  return 0;
}

static int parse_items(struct tdsd_parser *parser, struct tdsd_select *select) {
  uint32_t room = 0;
  bool more = true;
  while (more) {
    if (select->nitems == TDSD_CAP_COLUMNS) {
      return tdsd_fault_set(parser->fault, 1056, 15,
                            "The number of elements in the select list exceeds "
                            "the maximum allowed number of 4096 elements.");
    }
    if (grow_items(parser, select, &room) < 0 ||
        parse_item(parser, &select->items[select->nitems]) < 0) {
      return -1;
    }
    select->nitems++;
    if (tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  return 0;
}

/* One row of VALUES; all rows have as many values as the first. */
static int parse_values_row(struct tdsd_parser *parser,
                            struct tdsd_source *source,
                            struct tdsd_expr_list *list) {
  uint32_t n = 0;
  bool more = true;
  if (tdsd_parse_need_sign(parser, "(") < 0) {
    return -1;
  }
  while (more) {
    struct tdsd_expr *expr = NULL;
    if (tdsd_parse_value(parser, &expr) < 0 ||
        tdsd_parse_append(parser, list, expr) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
    n++;
  }
  if (source->nrows != 0 && n != source->ncolumns) {
    return tdsd_fault_set(parser->fault, 10709, 16,
                          "The number of columns for each row in a table value "
                          "constructor must be the same.");
  }
  source->ncolumns = n;
  source->nrows++;
  return tdsd_parse_need_sign(parser, ")");
}

static int parse_column_names(struct tdsd_parser *parser,
                              struct tdsd_source *source) {
  if (tdsd_parse_need_sign(parser, "(") < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < source->ncolumns; i++) {
    if ((i != 0 && tdsd_parse_need_sign(parser, ",") < 0) ||
        tdsd_parse_name(parser, &source->names[i]) < 0) {
      return -1;
    }
  }
  return tdsd_parse_need_sign(parser, ")");
}

static int take_columns(struct tdsd_parser *parser,
                        struct tdsd_source *source) {
  source->names =
      tdsd_arena_take(parser->arena, source->ncolumns * sizeof(const char *));
  source->types =
      tdsd_arena_take(parser->arena, source->ncolumns * sizeof *source->types);
  return source->names == NULL || source->types == NULL
             ? tdsd_parse_no_memory(parser)
             : 0;
}

/* (VALUES (..), (..)) [AS] t (a, b), behind the first parenthesis. */
static int parse_values(struct tdsd_parser *parser,
                        struct tdsd_source *source) {
  struct tdsd_expr_list list = {0};
  bool more = true;
  bool as = false;
  const char *name = NULL;
  source->kind = TDSD_FROM_VALUES;
  if (tdsd_parse_need(parser, "values") < 0) {
    return -1;
  }
  while (more) {
    if (parse_values_row(parser, source, &list) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  source->values = list.exprs;
  return tdsd_parse_need_sign(parser, ")") < 0 ||
                 tdsd_parse_eat(parser, "as", &as) < 0 ||
                 tdsd_parse_name(parser, &name) < 0 ||
                 take_columns(parser, source) < 0
             ? -1
             : parse_column_names(parser, source);
}

/* A generator of any number of rows: dbo.rows(n) has a column n of 1 to n. */
static int parse_rows(struct tdsd_parser *parser, struct tdsd_source *source) {
  source->kind = TDSD_FROM_ROWS;
  source->ncolumns = 1;
  const char *alias = NULL;
  if (tdsd_parse_value(parser, &source->count) < 0 ||
      tdsd_parse_need_sign(parser, ")") < 0 ||
      take_columns(parser, source) < 0 || parse_alias(parser, &alias) < 0) {
    return -1;
  }
  source->names[0] = "n";
  return 0;
}

static int parse_sessions(struct tdsd_parser *parser,
                          struct tdsd_source *source) {
  const char *alias = NULL;
  source->kind = TDSD_FROM_SESSIONS;
  source->ncolumns = tdsd_report_columns();
  if (take_columns(parser, source) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < source->ncolumns; i++) {
    source->names[i] = tdsd_report_column(i, &source->types[i]);
  }
  return parse_alias(parser, &alias);
}

/* What follows an unknown table cannot matter, so it is not looked at, but for
 * its balance of parentheses. */
static int skip_rest(struct tdsd_parser *parser) {
  unsigned open = 0;
  while (parser->token.lexeme != TDSD_LEX_END) {
    if (tdsd_lex_is_sign(&parser->token, "(")) {
      open++;
    } else if (tdsd_lex_is_sign(&parser->token, ")")) {
      if (open == 0) {
        return tdsd_parse_bad(parser);
      }
      open--;
    } else if (open == 0 && tdsd_lex_is_sign(&parser->token, ";")) {
      return 0;
    }
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  }
  return open == 0 ? 0 : tdsd_parse_bad(parser);
}

static int parse_source(struct tdsd_parser *parser,
                        struct tdsd_source *source) {
  if (tdsd_lex_is_sign(&parser->token, "(")) {
    return tdsd_parse_next(parser) < 0 ? -1 : parse_values(parser, source);
  }
  const char *last = NULL;
  bool open = false;
  if (tdsd_parse_dotted(parser, &source->name, &last) < 0 ||
      tdsd_parse_eat_sign(parser, "(", &open) < 0) {
    return -1;
  }
  if (open && strcasecmp(source->name, "dbo.rows") == 0) {
    return parse_rows(parser, source);
  }
  if (!open && strcasecmp(source->name, "sys.dm_exec_sessions") == 0) {
    return parse_sessions(parser, source);
  }
  source->kind = TDSD_FROM_TABLE;
  if (!open && tdsd_temp_is_name(last)) {
    const char *alias = NULL;
    return parse_alias(parser, &alias);
  }
  if (open) {
    unsigned depth = 1;
    while (depth > 0 && parser->token.lexeme != TDSD_LEX_END) {
      depth += tdsd_lex_is_sign(&parser->token, "(") ? 1 : 0;
      depth -= tdsd_lex_is_sign(&parser->token, ")") ? 1 : 0;
      if (tdsd_parse_next(parser) < 0) {
        return -1;
      }
    }
  }
  return skip_rest(parser);
}

static int parse_top(struct tdsd_parser *parser, struct tdsd_select *select) {
  bool all = false;
  bool top = false;
  if (tdsd_parse_eat(parser, "all", &all) < 0 ||
      tdsd_parse_eat(parser, "top", &top) < 0) {
    return -1;
  }
  if (!top) {
    return 0;
  }
  bool open = false;
  if (tdsd_parse_eat_sign(parser, "(", &open) < 0) {
    return -1;
  }
  if (open) {
    return tdsd_parse_value(parser, &select->top) < 0
               ? -1
               : tdsd_parse_need_sign(parser, ")");
  }
  if (parser->token.lexeme != TDSD_LEX_NUMBER) {
    return tdsd_parse_bad(parser);
  }
  /* Only the number: "TOP 1 * FROM" is no product. */
  struct tdsd_expr *expr = tdsd_arena_take(parser->arena, sizeof *expr);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  if (tdsd_decimal_parse(parser->token.text, parser->token.len,
                         &expr->literal) < 0) {
    return tdsd_parse_bad(parser);
  }
  expr->kind = TDSD_EXPR_LITERAL;
  select->top = expr;
  return tdsd_parse_next(parser);
}

static int parse_into(struct tdsd_parser *parser, struct tdsd_select *select) {
  bool into = false;
  const char *last = NULL;
  if (tdsd_parse_eat(parser, "into", &into) < 0) {
    return -1;
  }
  return into ? tdsd_parse_dotted(parser, &select->into, &last) : 0;
}

static int parse_one(struct tdsd_parser *parser,
                     struct tdsd_select **out_select) {
  struct tdsd_select *select = tdsd_arena_take(parser->arena, sizeof *select);
  bool from = false;
  bool where = false;
  if (select == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  if (tdsd_parse_need(parser, "select") < 0 || parse_top(parser, select) < 0 ||
      parse_items(parser, select) < 0 || parse_into(parser, select) < 0 ||
      tdsd_parse_eat(parser, "from", &from) < 0 ||
      (from && parse_source(parser, &select->source) < 0) ||
      tdsd_parse_eat(parser, "where", &where) < 0 ||
      (where && tdsd_parse_condition(parser, &select->where) < 0)) {
    return -1;
  }
  *out_select = select;
  return 0;
}

int tdsd_parse_select(struct tdsd_parser *parser,
                      struct tdsd_select **out_select) {
  struct tdsd_select **at = out_select;
  bool more = true;
  while (more) {
    if (parse_one(parser, at) < 0 ||
        tdsd_parse_eat(parser, "union", &more) < 0 ||
        (more && tdsd_parse_need(parser, "all") < 0)) {
      return -1;
    }
    at = &(*at)->next;
  }
  return 0;
}
