/* SPDX-License-Identifier: MIT */
/* From T-SQL text to a batch.  server_parse.c holds statements,
 * server_parse_select.c queries, server_parse_expr.c expressions and types. */
#ifndef TDSD_SERVER_PARSE_H
#define TDSD_SERVER_PARSE_H

#include "server_ast.h"
#include "server_lex.h"

struct tdsd_parser {
  struct tdsd_lexer lexer;
  struct tdsd_token token; /* the one looked at */
  struct tdsd_arena *arena;
  struct tdsd_fault *fault;
  struct tdsd_batch *batch;
  unsigned depth; /* of nested expressions and blocks */
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
int tdsd_parse_condition(struct tdsd_parser *parser,
                         struct tdsd_expr **out_expr);
int tdsd_parse_type(struct tdsd_parser *parser,
                    uint32_t default_size,
                    struct tdsd_type *out_type);
int tdsd_parse_select(struct tdsd_parser *parser,
                      struct tdsd_select **out_select);

/* Appends an expression to a growing list in the arena. */
struct tdsd_expr_list {
  struct tdsd_expr **exprs;
  uint32_t n;
  uint32_t room;
};
int tdsd_parse_append(struct tdsd_parser *parser,
                      struct tdsd_expr_list *list,
                      struct tdsd_expr *expr);

/* The slot of a variable, -1 if it was not declared. */
int32_t tdsd_batch_find(const struct tdsd_batch *batch,
                        const char *name,
                        size_t len);

#endif
