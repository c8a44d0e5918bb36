/* SPDX-License-Identifier: MIT */
/* Statements on tables are taken as text, for whoever has the tables; only their
 * syntax is looked at, because a batch with an error in it does not begin. */
#include "server_parse.h"
#include "server_rewrite.h"

static bool may_be_for_tables(const struct tdsd_token *token) {
  static const char *const words[] = {"select", "with",     "insert", "update",
                                      "delete", "truncate", "create", "drop",
                                      "alter",  "merge"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (tdsd_lex_is(token, words[i])) {
      return true;
    }
  }
  return false;
}

/* Moves the lexer to an offset of its text. */
static int go_to(struct tdsd_parser *parser, size_t at) {
  struct tdsd_lexer *lexer = &parser->lexer;
  for (; lexer->at < at; lexer->at++) {
    lexer->line += lexer->sql[lexer->at] == '\n' ? 1 : 0;
  }
  return tdsd_parse_next(parser);
}

int tdsd_parse_tables(struct tdsd_parser *parser, bool *out_taken) {
  *out_taken = false;
  if (!may_be_for_tables(&parser->token)) {
    return 0;
  }
  struct tdsd_rewrite ignored;
  size_t start = (size_t)(parser->token.text - parser->lexer.sql);
  size_t len = 0;
  struct tdsd_rw_input input = {.sql = parser->token.text,
                                .line = parser->token.line,
                                .batch = parser->batch};
  if (tdsd_rw_split(input.sql, parser->lexer.len - start, parser->arena, &len,
                    out_taken, parser->fault) < 0) {
    return -1;
  }
  if (!*out_taken) {
    return 0;
  }
  input.len = len;
  struct tdsd_op *op = tdsd_parse_op(parser, TDSD_OP_TABLES);
  if (op == NULL ||
      tdsd_rewrite(&input, parser->arena, &ignored, parser->fault) < 0) {
    return -1;
  }
  op->line = input.line;
  op->text = tdsd_arena_copy(parser->arena, input.sql, len);
  return op->text == NULL ? tdsd_parse_no_memory(parser)
                          : go_to(parser, start + len);
}
