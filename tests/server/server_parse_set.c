/* SPDX-License-Identifier: MIT */
/* SET and DECLARE. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_parse.h"

static int parse_assign(struct tdsd_parser *parser, uint32_t slot) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_ASSIGN);
  if (op == NULL || tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  op->slot = slot;
  return tdsd_parse_set_exprs(op, &list);
}

/* = value, if it is there; a value with a query in it is for the tables. */
static int parse_initial(struct tdsd_parser *parser,
                         uint32_t slot,
                         bool *out_there) {
  bool taken = false;
  *out_there = tdsd_lex_is_sign(&parser->token, "=");
  if (*out_there && parser->batch->tables &&
      tdsd_parse_tables_value(parser, slot, &taken) < 0) {
    return -1;
  }
  if (!*out_there || taken) {
    return 0;
  }
  return tdsd_parse_next(parser) < 0 ? -1 : parse_assign(parser, slot);
}

static int parse_set_variable(struct tdsd_parser *parser) {
  uint32_t slot = 0;
  bool there = false;
  if (tdsd_parse_slot(parser, &slot) < 0 || tdsd_parse_next(parser) < 0 ||
      parse_initial(parser, slot, &there) < 0) {
    return -1;
  }
  return there ? 0 : tdsd_parse_bad(parser);
}

/* The value of an option: a word, a string, a number, perhaps negative. */
static int parse_option_value(struct tdsd_parser *parser,
                              const char **out_value) {
  bool minus = false;
  if (tdsd_parse_eat_sign(parser, "-", &minus) < 0) {
    return -1;
  }
  if (parser->token.lexeme == TDSD_LEX_END ||
      parser->token.lexeme == TDSD_LEX_SIGN) {
    return tdsd_parse_bad(parser);
  }
  if (tdsd_parse_token_text(parser, out_value) < 0) {
    return -1;
  }
  if (minus) {
    size_t len = strlen(*out_value);
    char *negative = tdsd_arena_take(parser->arena, len + 2);
    if (negative == NULL) {
      return tdsd_parse_no_memory(parser);
    }
    negative[0] = '-';
    memcpy(negative + 1, *out_value, len);
    *out_value = negative;
  }
  return 0;
}

/* SET TRANSACTION ISOLATION LEVEL READ COMMITTED and its like. */
static int parse_isolation(struct tdsd_parser *parser) {
  static const char *const levels[][2] = {{"read", "uncommitted"},
                                          {"read", "committed"},
                                          {"repeatable", "read"},
                                          {"serializable", NULL},
                                          {"snapshot", NULL}};
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_SET_OPTION);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need(parser, "isolation") < 0 ||
      tdsd_parse_need(parser, "level") < 0) {
    return -1;
  }
  struct tdsd_token first = parser->token;
  if (first.lexeme != TDSD_LEX_WORD || tdsd_parse_next(parser) < 0) {
    return tdsd_parse_bad(parser);
  }
  op->name = "isolation";
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (!tdsd_lex_is(&first, levels[i][0])) {
      continue;
    }
    if (levels[i][1] == NULL || tdsd_lex_is(&parser->token, levels[i][1])) {
      static const char *const numbers[] = {"1", "2", "3", "4", "5"};
      op->text = numbers[i];
      return levels[i][1] == NULL ? 0 : tdsd_parse_next(parser);
    }
  }
  return tdsd_parse_bad(parser);
}

/* SET IDENTITY_INSERT t ON: the option's value is the table, which may be one at a
 * time. */
static int parse_identity_insert(struct tdsd_parser *parser,
                                 struct tdsd_op *op) {
  const char *whole = NULL;
  const char *table = NULL;
  bool on = false;
  if (tdsd_parse_dotted(parser, &whole, &table) < 0 ||
      tdsd_parse_eat(parser, "on", &on) < 0 ||
      (!on && tdsd_parse_need(parser, "off") < 0)) {
    return -1;
  }
  op->text = on ? table : "";
  return 0;
}

/* SET a, b ON: one operation for each name. */
static int parse_set_options(struct tdsd_parser *parser) {
  uint32_t first = parser->batch->nops;
  bool more = true;
  const char *value = NULL;
  while (more) {
    struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_SET_OPTION);
    if (op == NULL || parser->token.lexeme != TDSD_LEX_WORD) {
      return op == NULL ? -1 : tdsd_parse_bad(parser);
    }
    if (tdsd_parse_token_text(parser, &op->name) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
    /* SET STATISTICS IO, IDENTITY_INSERT t and OFFSETS take one word more. */
    if (!more && strcasecmp(op->name, "statistics") == 0 &&
        tdsd_parse_token_text(parser, &op->name) < 0) {
      return -1;
    }
    if (!more && strcasecmp(op->name, "identity_insert") == 0) {
      return parse_identity_insert(parser, op);
    }
  }
  if (parse_option_value(parser, &value) < 0) {
    return -1;
  }
  for (uint32_t i = first; i < parser->batch->nops; i++) {
    parser->batch->ops[i].text = value;
  }
  return 0;
}

static int parse_context_info(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_CONTEXT_INFO);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  return tdsd_parse_set_exprs(op, &list);
}

int tdsd_parse_set(struct tdsd_parser *parser) {
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (parser->token.lexeme == TDSD_LEX_VARIABLE) {
    return parse_set_variable(parser);
  }
  if (tdsd_lex_is(&parser->token, "context_info")) {
    return parse_context_info(parser);
  }
  if (tdsd_lex_is(&parser->token, "transaction") ||
      tdsd_lex_is(&parser->token, "tran")) {
    return parse_isolation(parser);
  }
  return parse_set_options(parser);
}

/* Adds a variable; a name is there only once. */
int tdsd_parse_add_variable(struct tdsd_parser *parser,
                            const struct tdsd_variable *variable) {
  struct tdsd_batch *batch = parser->batch;
  if (batch->nvariables == batch->variables_room) {
    uint32_t room = batch->nvariables < 8 ? 16 : 2 * batch->nvariables;
    struct tdsd_variable *variables =
        tdsd_arena_take(parser->arena, room * sizeof *variables);
    if (variables == NULL) {
      return tdsd_parse_no_memory(parser);
    }
    if (batch->nvariables != 0) {
      memcpy(variables, batch->variables,
             batch->nvariables * sizeof *variables);
    }
    batch->variables = variables;
    batch->variables_room = room;
  }
  batch->variables[batch->nvariables++] = *variable;
  return 0;
}

static int declare_one(struct tdsd_parser *parser) {
  struct tdsd_batch *batch = parser->batch;
  const struct tdsd_token *token = &parser->token;
  if (token->lexeme != TDSD_LEX_VARIABLE ||
      batch->nvariables == TDSD_CAP_VARIABLES) {
    return tdsd_parse_bad(parser);
  }
  if (tdsd_batch_find(batch, token->text, token->len) >= 0) {
    return tdsd_fault_set(parser->fault, 134, 15,
                          "The variable name '%.*s' has already been declared.",
                          (int)(token->len < 128 ? token->len : 128),
                          token->text);
  }
  struct tdsd_variable variable = {.value = {.is_null = true, .bytes = ""}};
  bool as = false;
  bool assigned = false;
  if (tdsd_parse_token_text(parser, &variable.name) < 0 ||
      tdsd_parse_eat(parser, "as", &as) < 0 ||
      tdsd_parse_type(parser, 1, &variable.value.type) < 0) {
    return -1;
  }
  variable.variant = variable.value.type.kind == TDSD_VARIANT;
  uint32_t slot = batch->nvariables;
  if (tdsd_parse_add_variable(parser, &variable) < 0) {
    return -1;
  }
  return parse_initial(parser, slot, &assigned);
}

int tdsd_parse_declare(struct tdsd_parser *parser) {
  bool more = true;
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  while (more) {
    if (declare_one(parser) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  return 0;
}
