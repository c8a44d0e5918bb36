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

struct tdsd_op *tdsd_parse_op(struct tdsd_parser *parser,
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
  *op = (struct tdsd_op){.kind = kind,
                         .line = parser->token.line,
                         .slot = TDSD_NO_SLOT,
                         .handler = TDSD_NO_SLOT,
                         .catches = parser->catches};
  return op;
}

int tdsd_parse_set_exprs(struct tdsd_op *op,
                         const struct tdsd_expr_list *list) {
  op->exprs = list->exprs;
  op->nexprs = list->n;
  return 0;
}

int tdsd_parse_list(struct tdsd_parser *parser, struct tdsd_expr_list *list) {
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
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_SELECT);
  if (op == NULL || tdsd_parse_select(parser, &select) < 0) {
    return -1;
  }
  op->select = select;
  return 0;
}

static int parse_print(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_PRINT);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  return tdsd_parse_set_exprs(op, &list);
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
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_RAISERROR);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need_sign(parser, "(") < 0 ||
      tdsd_parse_list(parser, &list) < 0) {
    return -1;
  }
  if (list.n < 3 || list.n > 23) {
    return tdsd_parse_bad(parser);
  }
  (void)tdsd_parse_set_exprs(op, &list);
  return tdsd_parse_need_sign(parser, ")") < 0
             ? -1
             : parse_raiserror_with(parser, op);
}

static int parse_throw(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_THROW);
  if (op == NULL || tdsd_parse_next(parser) < 0) {
    return -1;
  }
  bool alone = tdsd_parse_ends(parser);
  if (alone && parser->catches != 0) {
    return 0;
  }
  if (alone) {
    return tdsd_fault_set(parser->fault, 10704, 15,
                          "To rethrow an error, a THROW statement must be used "
                          "inside a CATCH block. Insert the THROW statement "
                          "inside a CATCH block, or add error parameters to "
                          "the THROW statement.");
  }
  if (tdsd_parse_list(parser, &list) < 0) {
    return -1;
  }
  return list.n != 3 ? tdsd_parse_bad(parser) : tdsd_parse_set_exprs(op, &list);
}

int tdsd_parse_token_text(struct tdsd_parser *parser, const char **out_text) {
  *out_text =
      tdsd_arena_copy(parser->arena, parser->token.text, parser->token.len);
  return *out_text == NULL ? tdsd_parse_no_memory(parser)
                           : tdsd_parse_next(parser);
}

bool tdsd_parse_ends(const struct tdsd_parser *parser) {
  const struct tdsd_token *token = &parser->token;
  return token->lexeme == TDSD_LEX_END || tdsd_lex_is_sign(token, ";") ||
         (token->lexeme == TDSD_LEX_WORD && !tdsd_lex_is(token, "null") &&
          !tdsd_lex_is(token, "default") &&
          tdsd_lex_is_reserved(token->text, token->len));
}

int tdsd_parse_slot(struct tdsd_parser *parser, uint32_t *out_slot) {
  const struct tdsd_token *token = &parser->token;
  int32_t slot = tdsd_batch_find(parser->batch, token->text, token->len);
  if (slot < 0) {
    return tdsd_fault_set(
        parser->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
        (int)(token->len < 128 ? token->len : 128), token->text);
  }
  *out_slot = (uint32_t)slot;
  return 0;
}

static int parse_use(struct tdsd_parser *parser) {
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_USE);
  return op == NULL || tdsd_parse_next(parser) < 0
             ? -1
             : tdsd_parse_name(parser, &op->name);
}

static int parse_waitfor(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *expr = NULL;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_WAITFOR);
  if (op == NULL || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need(parser, "delay") < 0 ||
      tdsd_parse_value(parser, &expr) < 0 ||
      tdsd_parse_append(parser, &list, expr) < 0) {
    return -1;
  }
  return tdsd_parse_set_exprs(op, &list);
}

/* INSERT, UPDATE, DELETE ... on tables: none has rows, so only the name
 * matters.  The rest of the statement is passed over up to a semicolon. */
static int parse_table_statement(struct tdsd_parser *parser) {
  static const char *const fillers[] = {"insert", "into",  "update",
                                        "delete", "from",  "truncate",
                                        "table",  "alter", "merge"};
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_UNKNOWN);
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

static const struct {
  const char *word;
  int (*parse)(struct tdsd_parser *parser);
} statements[] = {
    {"select", parse_select_op},
    {"print", parse_print},
    {"raiserror", parse_raiserror},
    {"throw", parse_throw},
    {"set", tdsd_parse_set},
    {"declare", tdsd_parse_declare},
    {"use", parse_use},
    {"begin", tdsd_parse_begin},
    {"commit", tdsd_parse_commit},
    {"rollback", tdsd_parse_rollback},
    {"save", tdsd_parse_save},
    {"if", tdsd_parse_if},
    {"while", tdsd_parse_while},
    {"break", tdsd_parse_break},
    {"continue", tdsd_parse_continue},
    {"waitfor", parse_waitfor},
    {"exec", tdsd_parse_exec},
    {"execute", tdsd_parse_exec},
    {"return", tdsd_parse_return},
    {"insert", parse_table_statement},
    {"update", parse_table_statement},
    {"delete", parse_table_statement},
    {"truncate", parse_table_statement},
    {"create", tdsd_parse_create},
    {"drop", tdsd_parse_drop},
    {"dbcc", tdsd_parse_dbcc},
    {"kill", tdsd_parse_kill},
    {"revert", tdsd_parse_revert},
    {"alter", parse_table_statement},
    {"merge", parse_table_statement},
};

int tdsd_parse_statement(struct tdsd_parser *parser) {
  bool semicolon = true;
  while (semicolon) {
    if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0) {
      return -1;
    }
  }
  bool tables = false;
  if (parser->batch->tables && tdsd_parse_tables(parser, &tables) < 0) {
    return -1;
  }
  if (tables) {
    return 0;
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

/* The first statement of a batch may call a procedure without saying EXEC. */
static bool is_bare_call(const struct tdsd_parser *parser) {
  const struct tdsd_token *token = &parser->token;
  if (token->lexeme != TDSD_LEX_WORD) {
    return token->lexeme == TDSD_LEX_QUOTED;
  }
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    if (tdsd_lex_is(token, statements[i].word)) {
      return false;
    }
  }
  return !tdsd_lex_is_reserved(token->text, token->len);
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
  if (tdsd_parse_next(&parser) < 0 ||
      (is_bare_call(&parser) && tdsd_parse_call(&parser) < 0)) {
    return -1;
  }
  while (more) {
    if (tdsd_parse_more(&parser, &more) < 0 ||
        (more && tdsd_parse_statement(&parser) < 0)) {
      fault->line = parser.token.line;
      return -1;
    }
    /* A statement that fell short leaves nothing deeper open. */
    parser.depth = 0;
  }
  return 0;
}
