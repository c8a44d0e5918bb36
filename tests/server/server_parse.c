/* SPDX-License-Identifier: MIT */
#include "server_parse.h"

#include <string.h>
#include <strings.h>

#include "server_const.h"

int tdsd_parse_next(struct tdsd_parser *parser) {
  return tdsd_lex_next(&parser->lexer, &parser->token, parser->fault);
}

int tdsd_parse_bad(struct tdsd_parser *parser) {
  const struct tdsd_token *token = &parser->token;
  int len = (int)(token->len < 128 ? token->len : 128);
  parser->fault->line = token->line;
  if (token->lexeme == TDSD_LEX_WORD &&
      tdsd_lex_is_reserved(token->text, token->len)) {
    return tdsd_fault_set(parser->fault, 156, 15,
                          "Incorrect syntax near the keyword '%.*s'.", len,
                          token->text);
  }
  if (token->lexeme == TDSD_LEX_END) {
    return tdsd_fault_set(parser->fault, 102, 15,
                          "Incorrect syntax near the end of the batch.");
  }
  return tdsd_fault_set(parser->fault, 102, 15, "Incorrect syntax near '%.*s'.",
                        len, token->text);
}

int tdsd_parse_no_memory(struct tdsd_parser *parser) {
  (void)tdsd_fault_set(parser->fault, 701, 17,
                       "There is insufficient memory for this query.");
  return -1;
}

int tdsd_parse_eat(struct tdsd_parser *parser, const char *word, bool *out) {
  *out = tdsd_lex_is(&parser->token, word);
  return *out ? tdsd_parse_next(parser) : 0;
}

int tdsd_parse_eat_sign(struct tdsd_parser *parser,
                        const char *sign,
                        bool *out) {
  *out = tdsd_lex_is_sign(&parser->token, sign);
  return *out ? tdsd_parse_next(parser) : 0;
}

int tdsd_parse_need(struct tdsd_parser *parser, const char *word) {
  return tdsd_lex_is(&parser->token, word) ? tdsd_parse_next(parser)
                                           : tdsd_parse_bad(parser);
}

int tdsd_parse_need_sign(struct tdsd_parser *parser, const char *sign) {
  return tdsd_lex_is_sign(&parser->token, sign) ? tdsd_parse_next(parser)
                                                : tdsd_parse_bad(parser);
}

int tdsd_parse_name(struct tdsd_parser *parser, const char **out_name) {
  const struct tdsd_token *token = &parser->token;
  bool bare = token->lexeme == TDSD_LEX_WORD &&
              !tdsd_lex_is_reserved(token->text, token->len);
  if (!bare && token->lexeme != TDSD_LEX_QUOTED) {
    return tdsd_parse_bad(parser);
  }
  *out_name = tdsd_arena_copy(parser->arena, token->text, token->len);
  return *out_name == NULL ? tdsd_parse_no_memory(parser)
                           : tdsd_parse_next(parser);
}

int tdsd_parse_dotted(struct tdsd_parser *parser,
                      const char **out_whole,
                      const char **out_last) {
  const char *part = "";
  bool more = false;
  if (tdsd_parse_name(parser, &part) < 0 ||
      tdsd_parse_eat_sign(parser, ".", &more) < 0) {
    return -1;
  }
  const char *whole = part;
  for (unsigned parts = 1; more; parts++) {
    /* An empty part, as in db..t, keeps its place. */
    if (tdsd_lex_is_sign(&parser->token, ".")) {
      part = "";
    } else if (parts == 4 || tdsd_parse_name(parser, &part) < 0) {
      return parts == 4 ? tdsd_parse_bad(parser) : -1;
    }
    size_t len = strlen(whole);
    size_t more_len = strlen(part);
    char *joined = tdsd_arena_take(parser->arena, len + more_len + 2);
    if (joined == NULL) {
      return tdsd_parse_no_memory(parser);
    }
    memcpy(joined, whole, len + 1);
    joined[len] = '.';
    memcpy(joined + len + 1, part, more_len + 1);
    whole = joined;
    if (tdsd_parse_eat_sign(parser, ".", &more) < 0) {
      return -1;
    }
  }
  *out_whole = whole;
  *out_last = part;
  return 0;
}

int tdsd_parse_enter(struct tdsd_parser *parser) {
  if (++parser->depth > TDSD_CAP_DEPTH) {
    return tdsd_fault_set(parser->fault, 191, 15,
                          "Some part of your SQL statement is nested too "
                          "deeply. Rewrite the query or break it up into "
                          "smaller queries.");
  }
  return 0;
}

void tdsd_parse_leave(struct tdsd_parser *parser) {
  parser->depth--;
}

int32_t tdsd_batch_find(const struct tdsd_batch *batch,
                        const char *name,
                        size_t len) {
  for (uint32_t i = 0; i < batch->nvariables; i++) {
    const char *known = batch->variables[i].name;
    if (strlen(known) == len && strncasecmp(known, name, len) == 0) {
      return (int32_t)i;
    }
  }
  return -1;
}

/* Appends an operation.  Returns NULL without memory. */
static struct tdsd_op *add_op(struct tdsd_parser *parser,
                              enum tdsd_op_kind kind) {
  struct tdsd_batch *batch = parser->batch;
  if (batch->nops == batch->room) {
    uint32_t room = batch->room == 0 ? 16 : 2 * batch->room;
    struct tdsd_op *ops = tdsd_arena_take(parser->arena, room * sizeof *ops);
    if (ops == NULL) {
      (void)tdsd_parse_no_memory(parser);
      return NULL;
    }
    if (batch->nops != 0) {
      memcpy(ops, batch->ops, batch->nops * sizeof *ops);
    }
    batch->ops = ops;
    batch->room = room;
  }
  struct tdsd_op *op = &batch->ops[batch->nops++];
  *op = (struct tdsd_op){.kind = kind, .line = parser->token.line};
  return op;
}

static int set_exprs(struct tdsd_op *op, const struct tdsd_expr_list *list) {
  op->exprs = list->exprs;
  op->nexprs = list->n;
  return 0;
}

/* Values separated by commas. */
static int parse_list(struct tdsd_parser *parser, struct tdsd_expr_list *list) {
  bool more = true;
  while (more) {
    struct tdsd_expr *expr = NULL;
    if (tdsd_parse_value(parser, &expr) < 0 ||
        tdsd_parse_append(parser, list, expr) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  return 0;
}

static int parse_select_op(struct tdsd_parser *parser) {
  struct tdsd_select *select = NULL;
  struct tdsd_op *op = add_op(parser, TDSD_OP_SELECT);
  if (op == NULL || tdsd_parse_select(parser, &select) < 0) {
    return -1;
  }
  op->select = select;
  return 0;
}

static int parse_print(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = add_op(parser, TDSD_OP_PRINT);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  return set_exprs(op, &list);
}

static int parse_raiserror_with(struct tdsd_parser *parser,
                                struct tdsd_op *op) {
  bool more = false;
  if (tdsd_parse_eat(parser, "with", &more) < 0) {
    return -1;
  }
  while (more) {
    if (tdsd_lex_is(&parser->token, "log")) {
      op->with_log = true;
    } else if (!tdsd_lex_is(&parser->token, "nowait") &&
               !tdsd_lex_is(&parser->token, "seterror")) {
      return tdsd_parse_bad(parser);
    }
    if (tdsd_parse_next(parser) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  return 0;
}

static int parse_raiserror(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_op *op = add_op(parser, TDSD_OP_RAISERROR);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need_sign(parser, "(") < 0 || parse_list(parser, &list) < 0) {
    return -1;
  }
  if (list.n < 3 || list.n > 23) {
    return tdsd_parse_bad(parser);
  }
  (void)set_exprs(op, &list);
  return tdsd_parse_need_sign(parser, ")") < 0
             ? -1
             : parse_raiserror_with(parser, op);
}

static int parse_throw(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_op *op = add_op(parser, TDSD_OP_THROW);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      parse_list(parser, &list) < 0) {
    return -1;
  }
  return list.n != 3 ? tdsd_parse_bad(parser) : set_exprs(op, &list);
}

static int parse_assign(struct tdsd_parser *parser, int32_t slot) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = add_op(parser, TDSD_OP_ASSIGN);
  if (op == NULL || tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  op->slot = (uint32_t)slot;
  return set_exprs(op, &list);
}

static int parse_set_variable(struct tdsd_parser *parser) {
  const struct tdsd_token *token = &parser->token;
  int32_t slot = tdsd_batch_find(parser->batch, token->text, token->len);
  if (slot < 0) {
    return tdsd_fault_set(
        parser->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
        (int)(token->len < 128 ? token->len : 128), token->text);
  }
  return tdsd_parse_next(parser) < 0 || tdsd_parse_need_sign(parser, "=") < 0
             ? -1
             : parse_assign(parser, slot);
}

static int token_text(struct tdsd_parser *parser, const char **out_text) {
  *out_text =
      tdsd_arena_copy(parser->arena, parser->token.text, parser->token.len);
  return *out_text == NULL ? tdsd_parse_no_memory(parser)
                           : tdsd_parse_next(parser);
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
  if (token_text(parser, out_value) < 0) {
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
  struct tdsd_op *op = add_op(parser, TDSD_OP_SET_OPTION);
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

/* SET a, b ON: one operation for each name. */
static int parse_set_options(struct tdsd_parser *parser) {
  uint32_t first = parser->batch->nops;
  bool more = true;
  const char *value = NULL;
  while (more) {
    struct tdsd_op *op = add_op(parser, TDSD_OP_SET_OPTION);
    if (op == NULL || parser->token.lexeme != TDSD_LEX_WORD) {
      return op == NULL ? -1 : tdsd_parse_bad(parser);
    }
    if (token_text(parser, &op->name) < 0 ||
        tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
    /* SET STATISTICS IO, IDENTITY_INSERT t and OFFSETS take one word more. */
    if (!more && strcasecmp(op->name, "statistics") == 0 &&
        token_text(parser, &op->name) < 0) {
      return -1;
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

static int parse_set(struct tdsd_parser *parser) {
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (parser->token.lexeme == TDSD_LEX_VARIABLE) {
    return parse_set_variable(parser);
  }
  if (tdsd_lex_is(&parser->token, "transaction") ||
      tdsd_lex_is(&parser->token, "tran")) {
    return parse_isolation(parser);
  }
  return parse_set_options(parser);
}

/* Adds a variable; a name is there only once. */
static int add_variable(struct tdsd_parser *parser,
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
  if (token_text(parser, &variable.name) < 0 ||
      tdsd_parse_eat(parser, "as", &as) < 0 ||
      tdsd_parse_type(parser, 1, &variable.value.type) < 0) {
    return -1;
  }
  int32_t slot = (int32_t)batch->nvariables;
  if (add_variable(parser, &variable) < 0) {
    return -1;
  }
  if (tdsd_parse_eat_sign(parser, "=", &assigned) < 0) {
    return -1;
  }
  return assigned ? parse_assign(parser, slot) : 0;
}

static int parse_declare(struct tdsd_parser *parser) {
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

static int parse_use(struct tdsd_parser *parser) {
  struct tdsd_op *op = add_op(parser, TDSD_OP_USE);
  return op == NULL || tdsd_parse_next(parser) < 0
             ? -1
             : tdsd_parse_name(parser, &op->name);
}

/* The name of a transaction may be left out, bare, quoted or a variable. */
static int parse_transaction_name(struct tdsd_parser *parser,
                                  const char **out_name) {
  bool named = parser->token.lexeme == TDSD_LEX_QUOTED ||
               parser->token.lexeme == TDSD_LEX_VARIABLE ||
               (parser->token.lexeme == TDSD_LEX_WORD &&
                !tdsd_lex_is_reserved(parser->token.text, parser->token.len));
  return named ? token_text(parser, out_name) : 0;
}

static int parse_transaction(struct tdsd_parser *parser,
                             enum tdsd_op_kind kind) {
  struct tdsd_op *op = add_op(parser, kind);
  bool word = false;
  if (op == NULL || tdsd_parse_eat(parser, "transaction", &word) < 0 ||
      (!word && tdsd_parse_eat(parser, "tran", &word) < 0)) {
    return -1;
  }
  if (!word) {
    bool work = false; /* COMMIT, COMMIT WORK */
    return kind == TDSD_OP_SAVE ? tdsd_parse_bad(parser)
                                : tdsd_parse_eat(parser, "work", &work);
  }
  if (parse_transaction_name(parser, &op->name) < 0) {
    return -1;
  }
  return kind == TDSD_OP_SAVE && op->name == NULL ? tdsd_parse_bad(parser) : 0;
}

/* Passes over semicolons.  Stores whether a statement follows. */
static int more_statements(struct tdsd_parser *parser, bool *out_more) {
  bool semicolon = true;
  while (semicolon) {
    if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0) {
      return -1;
    }
  }
  *out_more = parser->token.lexeme != TDSD_LEX_END;
  return 0;
}

static int parse_statement(struct tdsd_parser *parser);

static int parse_block(struct tdsd_parser *parser) {
  bool more = true;
  for (unsigned n = 0;; n++) {
    if (more_statements(parser, &more) < 0) {
      return -1;
    }
    if (!more || (n == 0 && tdsd_lex_is(&parser->token, "end"))) {
      return tdsd_parse_bad(parser);
    }
    if (tdsd_lex_is(&parser->token, "end")) {
      return tdsd_parse_next(parser);
    }
    if (parse_statement(parser) < 0) {
      return -1;
    }
  }
}

static int parse_begin(struct tdsd_parser *parser) {
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (tdsd_lex_is(&parser->token, "tran") ||
      tdsd_lex_is(&parser->token, "transaction")) {
    return parse_transaction(parser, TDSD_OP_BEGIN);
  }
  return parse_block(parser);
}

/* Adds a jump unless the condition holds.  Returns its place or -1. */
static int32_t add_guard(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *condition = NULL;
  uint32_t at = parser->batch->nops;
  if (add_op(parser, TDSD_OP_JUMP_FALSE) == NULL ||
      tdsd_parse_next(parser) < 0 ||
      tdsd_parse_condition(parser, &condition) < 0 ||
      tdsd_parse_append(parser, &list, condition) < 0) {
    return -1;
  }
  (void)set_exprs(&parser->batch->ops[at], &list);
  return (int32_t)at;
}

static int parse_if(struct tdsd_parser *parser) {
  bool other = false;
  int32_t guard = add_guard(parser);
  if (guard < 0 || parse_statement(parser) < 0) {
    return -1;
  }
  bool semicolon = false;
  if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0 ||
      tdsd_parse_eat(parser, "else", &other) < 0) {
    return -1;
  }
  if (other) {
    uint32_t jump = parser->batch->nops;
    if (add_op(parser, TDSD_OP_JUMP) == NULL) {
      return -1;
    }
    parser->batch->ops[guard].target = parser->batch->nops;
    if (parse_statement(parser) < 0) {
      return -1;
    }
    parser->batch->ops[jump].target = parser->batch->nops;
  } else {
    parser->batch->ops[guard].target = parser->batch->nops;
  }
  return 0;
}

static int parse_while(struct tdsd_parser *parser) {
  int32_t guard = add_guard(parser);
  if (guard < 0 || parse_statement(parser) < 0) {
    return -1;
  }
  struct tdsd_op *back = add_op(parser, TDSD_OP_JUMP);
  if (back == NULL) {
    return -1;
  }
  back->target = (uint32_t)guard;
  parser->batch->ops[guard].target = parser->batch->nops;
  return 0;
}

static int parse_waitfor(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = add_op(parser, TDSD_OP_WAITFOR);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need(parser, "delay") < 0 ||
      tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  return set_exprs(op, &list);
}

static int parse_exec(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_op *op = add_op(parser, TDSD_OP_EXEC);
  const char *last = NULL;
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_dotted(parser, &op->name, &last) < 0) {
    return -1;
  }
  op->text = last;
  bool arguments = parser->token.lexeme != TDSD_LEX_END &&
                   parser->token.lexeme != TDSD_LEX_WORD &&
                   !tdsd_lex_is_sign(&parser->token, ";");
  if (arguments && parse_list(parser, &list) < 0) {
    return -1;
  }
  return set_exprs(op, &list);
}

/* INSERT, UPDATE, DELETE, CREATE ... on tables: there are none, so only the name
 * matters.  The rest of the statement is passed over up to a semicolon. */
static int parse_table_statement(struct tdsd_parser *parser) {
  static const char *const fillers[] = {
      "insert",   "into",  "update", "delete", "from",
      "truncate", "table", "drop",   "alter",  "merge"};
  struct tdsd_op *op = add_op(parser, TDSD_OP_UNKNOWN);
  bool filler = true;
  if (op == NULL) {
    return -1;
  }
  while (filler) {
    filler = false;
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0] && !filler; i++) {
      if (tdsd_parse_eat(parser, fillers[i], &filler) < 0) {
        return -1;
      }
    }
  }
  const char *last = NULL;
  if (tdsd_parse_dotted(parser, &op->name, &last) < 0) {
    return -1;
  }
  while (parser->token.lexeme != TDSD_LEX_END &&
         !tdsd_lex_is_sign(&parser->token, ";")) {
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  }
  return 0;
}

static int parse_return(struct tdsd_parser *parser) {
  return add_op(parser, TDSD_OP_RETURN) == NULL ? -1 : tdsd_parse_next(parser);
}

static int parse_commit(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0
             ? -1
             : parse_transaction(parser, TDSD_OP_COMMIT);
}

static int parse_rollback(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0
             ? -1
             : parse_transaction(parser, TDSD_OP_ROLLBACK);
}

static int parse_save(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0 ? -1
                                     : parse_transaction(parser, TDSD_OP_SAVE);
}

static const struct {
  const char *word;
  int (*parse)(struct tdsd_parser *parser);
} statements[] = {
    {"select", parse_select_op},
    {"print", parse_print},
    {"raiserror", parse_raiserror},
    {"throw", parse_throw},
    {"set", parse_set},
    {"declare", parse_declare},
    {"use", parse_use},
    {"begin", parse_begin},
    {"commit", parse_commit},
    {"rollback", parse_rollback},
    {"save", parse_save},
    {"if", parse_if},
    {"while", parse_while},
    {"waitfor", parse_waitfor},
    {"exec", parse_exec},
    {"execute", parse_exec},
    {"return", parse_return},
    {"insert", parse_table_statement},
    {"update", parse_table_statement},
    {"delete", parse_table_statement},
    {"truncate", parse_table_statement},
    {"drop", parse_table_statement},
    {"alter", parse_table_statement},
    {"merge", parse_table_statement},
};

static int parse_statement(struct tdsd_parser *parser) {
  bool semicolon = true;
  while (semicolon) {
    if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0) {
      return -1;
    }
  }
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    if (tdsd_lex_is(&parser->token, statements[i].word)) {
      if (tdsd_parse_enter(parser) < 0 || statements[i].parse(parser) < 0) {
        return -1;
      }
      tdsd_parse_leave(parser);
      return 0;
    }
  }
  return tdsd_parse_bad(parser);
}

int tdsd_parse(const char *sql,
               size_t len,
               struct tdsd_arena *arena,
               struct tdsd_batch *batch,
               struct tdsd_fault *fault) {
  struct tdsd_parser parser = {
      .lexer = {.sql = sql, .len = len, .line = 1, .arena = arena},
      .arena = arena,
      .fault = fault,
      .batch = batch,
  };
  bool more = true;
  if (tdsd_parse_next(&parser) < 0) {
    return -1;
  }
  while (more) {
    if (more_statements(&parser, &more) < 0 ||
        (more && parse_statement(&parser) < 0)) {
      fault->line = parser.token.line;
      return -1;
    }
    /* A statement that fell short leaves nothing deeper open. */
    parser.depth = 0;
  }
  return 0;
}
