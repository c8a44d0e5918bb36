/* SPDX-License-Identifier: MIT */
/* From T-SQL text to a batch.  server_parse.c holds the tools and small
 * statements, server_parse_set.c, _flow.c, _exec.c and _object.c those they are named
 * for, server_parse_select.c queries, server_parse_expr.c, _call.c, _literal.c and
 * _type.c what they are made of. */
#ifndef TDSD_SERVER_PARSE_H
#define TDSD_SERVER_PARSE_H

#include "server_ast.h"
#include "server_lex.h"

/* A WHILE that is being read. */
struct tdsd_loop {
  uint32_t start;
  uint32_t last_break; /* a chain through the targets; TDSD_NO_SLOT ends it */
};

struct tdsd_parser {
  struct tdsd_lexer lexer;
  struct tdsd_token token; /* the one looked at */
  struct tdsd_arena *arena;
  struct tdsd_fault *fault;
  struct tdsd_batch *batch;
  struct tdsd_loop *loop; /* the innermost; NULL = none */
  unsigned depth;         /* of nested expressions and blocks */
  uint32_t catches;       /* CATCH blocks around */
};

/* Parses sql into *batch, whose variables may hold parameters already.
 * Returns 0, or -1 with the fault: then nothing of the batch may run. */
int tdsd_parse(const char *sql,
               size_t len,
               struct tdsd_arena *arena,
               struct tdsd_batch *batch,
               struct tdsd_fault *fault);

/* For the parser's own files.  Each returns 0 or -1 with the parser's fault. */

int tdsd_parse_next(struct tdsd_parser *parser);
/* "Incorrect syntax near" the token looked at. */
int tdsd_parse_bad(struct tdsd_parser *parser);
int tdsd_parse_no_memory(struct tdsd_parser *parser);
/* If the token is this word (sign), moves on and stores true. */
int tdsd_parse_eat(struct tdsd_parser *parser, const char *word, bool *out);
int tdsd_parse_eat_sign(struct tdsd_parser *parser,
                        const char *sign,
                        bool *out);
/* The token must be this word (sign). */
int tdsd_parse_need(struct tdsd_parser *parser, const char *word);
int tdsd_parse_need_sign(struct tdsd_parser *parser, const char *sign);
/* A name, bare or quoted; keywords are refused. */
int tdsd_parse_name(struct tdsd_parser *parser, const char **out_name);
/* A name of up to four parts: the whole with dots, and the last part. */
int tdsd_parse_dotted(struct tdsd_parser *parser,
                      const char **out_whole,
                      const char **out_last);
int tdsd_parse_enter(struct tdsd_parser *parser);
void tdsd_parse_leave(struct tdsd_parser *parser);

int tdsd_parse_value(struct tdsd_parser *parser, struct tdsd_expr **out_expr);
int tdsd_parse_literal(struct tdsd_parser *parser, struct tdsd_expr **out_expr);
/* What starts with a name: CAST, CONVERT, a call, a column. */
int tdsd_parse_named(struct tdsd_parser *parser, struct tdsd_expr **out_expr);
/* An expression at the token at hand, with room for nargs others.
 * Returns NULL without memory. */
struct tdsd_expr *tdsd_parse_new(struct tdsd_parser *parser,
                                 enum tdsd_expr_kind kind,
                                 uint32_t nargs);
int tdsd_parse_condition(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr);
int tdsd_parse_type(struct tdsd_parser *parser,
                    uint32_t default_size,
                    struct tdsd_type *out_type);
int tdsd_parse_select(struct tdsd_parser *parser,
                      struct tdsd_select **out_select);

/* Appends an operation.  It stays where it is until the next is appended.
 * Returns NULL without memory. */
struct tdsd_op *tdsd_parse_op(struct tdsd_parser *parser,
                              enum tdsd_op_kind kind);
/* The text of the token looked at, which is passed over. */
int tdsd_parse_token_text(struct tdsd_parser *parser, const char **out_text);
/* The slot of the variable looked at, which is not passed over. */
int tdsd_parse_slot(struct tdsd_parser *parser, uint32_t *out_slot);
/* Passes over semicolons.  Stores whether a statement follows. */
int tdsd_parse_more(struct tdsd_parser *parser, bool *out_more);
/* Whether the token looked at cannot go on with a statement's arguments: the
 * end, a semicolon or a keyword. */
bool tdsd_parse_ends(const struct tdsd_parser *parser);

/* One statement, by its first word. */
int tdsd_parse_statement(struct tdsd_parser *parser);
int tdsd_parse_set(struct tdsd_parser *parser);
/* Takes the statement if it is one on tables (server_parse_tables.c). */
int tdsd_parse_tables(struct tdsd_parser *parser, bool *out_taken);
/* Takes the condition behind the word looked at if it has a query in it:
 * *out_condition is then a test of what the query gave, else untouched. */
int tdsd_parse_tables_guard(struct tdsd_parser *parser,
                            struct tdsd_expr **out_condition);
/* Takes the value behind the sign looked at if it has a query in it; it goes to
 * the variable. */
int tdsd_parse_tables_value(struct tdsd_parser *parser,
                            uint32_t slot,
                            bool *out_taken);
/* Adds a variable; the name must be new. */
int tdsd_parse_add_variable(struct tdsd_parser *parser,
                            const struct tdsd_variable *variable);
int tdsd_parse_declare(struct tdsd_parser *parser);
int tdsd_parse_begin(struct tdsd_parser *parser);
int tdsd_parse_commit(struct tdsd_parser *parser);
int tdsd_parse_rollback(struct tdsd_parser *parser);
int tdsd_parse_save(struct tdsd_parser *parser);
int tdsd_parse_if(struct tdsd_parser *parser);
int tdsd_parse_while(struct tdsd_parser *parser);
int tdsd_parse_break(struct tdsd_parser *parser);
int tdsd_parse_continue(struct tdsd_parser *parser);
int tdsd_parse_return(struct tdsd_parser *parser);
int tdsd_parse_exec(struct tdsd_parser *parser);
/* A procedure's name and its arguments. */
int tdsd_parse_call(struct tdsd_parser *parser);
int tdsd_parse_create(struct tdsd_parser *parser);
int tdsd_parse_drop(struct tdsd_parser *parser);
int tdsd_parse_dbcc(struct tdsd_parser *parser);
int tdsd_parse_kill(struct tdsd_parser *parser);
int tdsd_parse_revert(struct tdsd_parser *parser);
/* EXECUTE AS, behind AS. */
int tdsd_parse_execute_as(struct tdsd_parser *parser, struct tdsd_op *op);
/* The columns in parentheses behind CREATE TABLE, as their text. */
int tdsd_parse_columns(struct tdsd_parser *parser, const char **out_text);

/* Appends an expression to a growing list in the arena. */
struct tdsd_expr_list {
  struct tdsd_expr **exprs;
  uint32_t n;
  uint32_t room;
};
int tdsd_parse_append(struct tdsd_parser *parser,
                      struct tdsd_expr_list *list,
                      struct tdsd_expr *expr);

/* Values separated by commas. */
int tdsd_parse_list(struct tdsd_parser *parser, struct tdsd_expr_list *list);
/* Gives an operation its expressions.  Returns 0. */
int tdsd_parse_set_exprs(struct tdsd_op *op, const struct tdsd_expr_list *list);

/* The slot of a variable, -1 if it was not declared. */
int32_t tdsd_batch_find(const struct tdsd_batch *batch,
                        const char *name,
                        size_t len);

#endif
