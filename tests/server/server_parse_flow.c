/* SPDX-License-Identifier: MIT */
/* Blocks, branches, loops, TRY and CATCH, transactions. */
#include "server_parse.h"
#include "server_sql.h"

int tdsd_parse_more(struct tdsd_parser *parser, bool *out_more) {
  bool semicolon = true;
  while (semicolon) {
    if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0) {
      return -1;
    }
  }
  *out_more = parser->token.lexeme != TDSD_LEX_END;
  return 0;
}

/* The name of a transaction may be left out, bare, quoted or a variable. */
static int parse_transaction_name(struct tdsd_parser *parser,
                                  struct tdsd_op *op) {
  const struct tdsd_token *token = &parser->token;
  bool named = token->lexeme == TDSD_LEX_QUOTED ||
               (token->lexeme == TDSD_LEX_WORD &&
                !tdsd_lex_is_reserved(token->text, token->len));
  if (token->lexeme == TDSD_LEX_VARIABLE) {
    return tdsd_parse_slot(parser, &op->slot) < 0
               ? -1
               : tdsd_parse_token_text(parser, &op->name);
  }
  return named ? tdsd_parse_token_text(parser, &op->name) : 0;
}

static int parse_transaction(struct tdsd_parser *parser,
                             enum tdsd_op_kind kind) {
  struct tdsd_op *op = tdsd_parse_op(parser, kind);
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
  if (parse_transaction_name(parser, op) < 0) {
    return -1;
  }
  return kind == TDSD_OP_SAVE && op->name == NULL ? tdsd_parse_bad(parser) : 0;
}

int tdsd_parse_commit(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0
             ? -1
             : parse_transaction(parser, TDSD_OP_COMMIT);
}

int tdsd_parse_rollback(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0
             ? -1
             : parse_transaction(parser, TDSD_OP_ROLLBACK);
}

int tdsd_parse_save(struct tdsd_parser *parser) {
  return tdsd_parse_next(parser) < 0 ? -1
                                     : parse_transaction(parser, TDSD_OP_SAVE);
}

/* Statements up to END; how many are told, because a block may not be empty. */
static int parse_until_end(struct tdsd_parser *parser, unsigned *out_n) {
  bool more = true;
  for (unsigned n = 0;; n++) {
    if (tdsd_parse_more(parser, &more) < 0) {
      return -1;
    }
    if (!more) {
      return tdsd_parse_bad(parser);
    }
    if (tdsd_lex_is(&parser->token, "end")) {
      *out_n = n;
      return 0;
    }
    if (tdsd_parse_statement(parser) < 0) {
      return -1;
    }
  }
}

static int parse_block(struct tdsd_parser *parser) {
  unsigned n = 0;
  if (parse_until_end(parser, &n) < 0) {
    return -1;
  }
  return n == 0 ? tdsd_parse_bad(parser) : tdsd_parse_next(parser);
}

/* Statements up to END TRY or END CATCH; there may be none. */
static int parse_body(struct tdsd_parser *parser, const char *word) {
  unsigned n = 0;
  bool semicolon = false;
  if (parse_until_end(parser, &n) < 0 || tdsd_parse_next(parser) < 0 ||
      tdsd_parse_need(parser, word) < 0) {
    return -1;
  }
  return tdsd_parse_eat_sign(parser, ";", &semicolon);
}

/* BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH, behind BEGIN TRY.  Each
 * operation between knows where its CATCH begins, so that nothing has to be kept
 * while it runs; those of a TRY within have been told already. */
static int parse_try(struct tdsd_parser *parser) {
  struct tdsd_batch *batch = parser->batch;
  uint32_t first = batch->nops;
  if (tdsd_parse_next(parser) < 0 || parse_body(parser, "try") < 0) {
    return -1;
  }
  uint32_t jump = batch->nops;
  if (tdsd_parse_op(parser, TDSD_OP_JUMP) == NULL ||
      tdsd_parse_need(parser, "begin") < 0 ||
      tdsd_parse_need(parser, "catch") < 0) {
    return -1;
  }
  for (uint32_t i = first; i < jump; i++) {
    if (batch->ops[i].handler == TDSD_NO_SLOT) {
      batch->ops[i].handler = jump + 1;
    }
  }
  if (++parser->catches > TDSD_CATCHES_MAX) {
    return tdsd_fault_set(parser->fault, 191, 15,
                          "CATCH blocks are nested too deeply.");
  }
  /* An empty CATCH needs a place to go to, too. */
  if (tdsd_parse_op(parser, TDSD_OP_JUMP) == NULL) {
    return -1;
  }
  batch->ops[jump + 1].target = jump + 2;
  if (parse_body(parser, "catch") < 0) {
    return -1;
  }
  parser->catches--;
  batch->ops[jump].target = batch->nops;
  return 0;
}

int tdsd_parse_begin(struct tdsd_parser *parser) {
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (tdsd_lex_is(&parser->token, "tran") ||
      tdsd_lex_is(&parser->token, "transaction")) {
    return parse_transaction(parser, TDSD_OP_BEGIN);
  }
  return tdsd_lex_is(&parser->token, "try") ? parse_try(parser)
                                            : parse_block(parser);
}

/* Adds a jump unless the condition holds.  Returns its place or -1. */
static int32_t add_guard(struct tdsd_parser *parser) {
  struct tdsd_expr_list list = {0};
  struct tdsd_expr *condition = NULL;
  if (parser->batch->tables &&
      tdsd_parse_tables_guard(parser, &condition) < 0) {
    return -1;
  }
  uint32_t at = parser->batch->nops;
  if (tdsd_parse_op(parser, TDSD_OP_JUMP_FALSE) == NULL ||
      (condition == NULL && (tdsd_parse_next(parser) < 0 ||
                             tdsd_parse_condition(parser, &condition) < 0)) ||
      tdsd_parse_append(parser, &list, condition) < 0) {
    return -1;
  }
  (void)tdsd_parse_set_exprs(&parser->batch->ops[at], &list);
  return (int32_t)at;
}

int tdsd_parse_if(struct tdsd_parser *parser) {
  bool other = false;
  int32_t guard = add_guard(parser);
  if (guard < 0 || tdsd_parse_statement(parser) < 0) {
    return -1;
  }
  bool semicolon = false;
  if (tdsd_parse_eat_sign(parser, ";", &semicolon) < 0 ||
      tdsd_parse_eat(parser, "else", &other) < 0) {
    return -1;
  }
  if (other) {
    uint32_t jump = parser->batch->nops;
    if (tdsd_parse_op(parser, TDSD_OP_JUMP) == NULL) {
      return -1;
    }
    parser->batch->ops[guard].target = parser->batch->nops;
    if (tdsd_parse_statement(parser) < 0) {
      return -1;
    }
    parser->batch->ops[jump].target = parser->batch->nops;
  } else {
    parser->batch->ops[guard].target = parser->batch->nops;
  }
  return 0;
}

/* BREAK and CONTINUE jump to places that are known when the loop has been read:
 * until then a BREAK's target is the one before it. */
static int parse_loop_jump(struct tdsd_parser *parser, bool leave) {
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_JUMP);
  if (op == NULL) {
    return -1;
  }
  if (parser->loop == NULL) {
    return tdsd_fault_set(parser->fault, leave ? 135 : 136, 15,
                          "Cannot use a %s statement outside the scope of a "
                          "WHILE statement.",
                          leave ? "BREAK" : "CONTINUE");
  }
  if (leave) {
    op->target = parser->loop->last_break;
    parser->loop->last_break = parser->batch->nops - 1;
  } else {
    op->target = parser->loop->start;
  }
  return tdsd_parse_next(parser);
}

int tdsd_parse_break(struct tdsd_parser *parser) {
  return parse_loop_jump(parser, true);
}

int tdsd_parse_continue(struct tdsd_parser *parser) {
  return parse_loop_jump(parser, false);
}

int tdsd_parse_while(struct tdsd_parser *parser) {
  struct tdsd_loop *outer = parser->loop;
  uint32_t start = parser->batch->nops;
  int32_t guard = add_guard(parser);
  if (guard < 0) {
    return -1;
  }
  struct tdsd_loop loop = {start, TDSD_NO_SLOT};
  parser->loop = &loop;
  int rc = tdsd_parse_statement(parser);
  parser->loop = outer;
  struct tdsd_op *back = rc < 0 ? NULL : tdsd_parse_op(parser, TDSD_OP_JUMP);
  if (back == NULL) {
    return -1;
  }
  struct tdsd_op *ops = parser->batch->ops;
  back->target = start;
  ops[guard].target = parser->batch->nops;
  while (loop.last_break != TDSD_NO_SLOT) {
    uint32_t before = ops[loop.last_break].target;
    ops[loop.last_break].target = parser->batch->nops;
    loop.last_break = before;
  }
  return 0;
}

/* RETURN alone: texts have no value to return. */
int tdsd_parse_return(struct tdsd_parser *parser) {
  if (tdsd_parse_op(parser, TDSD_OP_RETURN) == NULL ||
      tdsd_parse_next(parser) < 0) {
    return -1;
  }
  bool value = parser->token.lexeme == TDSD_LEX_NUMBER ||
               parser->token.lexeme == TDSD_LEX_VARIABLE ||
               tdsd_lex_is_sign(&parser->token, "(") ||
               tdsd_lex_is_sign(&parser->token, "-");
  return value ? tdsd_fault_set(parser->fault, 178, 15,
                                "A RETURN statement with a return value cannot "
                                "be used in this context.")
               : 0;
}
