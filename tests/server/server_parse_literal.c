/* SPDX-License-Identifier: MIT */
/* Literals of every kind. */
#include <stdlib.h>
#include <string.h>

#include "server_eval.h"
#include "server_parse.h"
#include "server_text.h"

static int text_literal(struct tdsd_parser *parser, struct tdsd_value *value) {
  const struct tdsd_token *token = &parser->token;
  if (token->lexeme == TDSD_LEX_WIDE) {
    value->type.kind = TDSD_NVARCHAR;
    value->bytes = token->text;
    value->len = token->len;
  } else {
    char *narrow = tdsd_arena_take(parser->arena, token->len + 1);
    if (narrow == NULL) {
      return tdsd_parse_no_memory(parser);
    }
    value->type.kind = TDSD_VARCHAR;
    value->bytes = narrow;
    value->len = tdsd_text_narrow(token->text, token->len, narrow);
  }
  value->type.size = tdsd_value_units(value);
  return 0;
}

static int binary_literal(struct tdsd_parser *parser,
                          struct tdsd_value *value) {
  const char *text = parser->token.text + 2;
  size_t digits = parser->token.len - 2;
  size_t len = (digits + 1) / 2;
  char *bytes = tdsd_arena_take(parser->arena, len + 1);
  if (bytes == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  /* An odd number of digits has a zero in front. */
  size_t half = digits % 2;
  for (size_t i = 0; i < digits; i++) {
    int c = text[i] | 32;
    int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    size_t at = (i + half) / 2;
    bytes[at] = (char)((unsigned char)bytes[at] << 4 | digit);
  }
  value->type.kind = TDSD_VARBINARY;
  value->type.size = len == 0 ? 1 : len > 8000 ? TDSD_SIZE_MAX : (uint32_t)len;
  value->bytes = bytes;
  value->len = len;
  return 0;
}

static int number_literal(struct tdsd_parser *parser,
                          struct tdsd_value *value) {
  const struct tdsd_token *token = &parser->token;
  if (tdsd_decimal_parse(token->text, token->len, value) < 0) {
    return tdsd_fault_set(parser->fault, 1007, 15,
                          "The number '%.*s' is out of the range for numeric "
                          "representation (maximum precision 38).",
                          (int)(token->len < 128 ? token->len : 128),
                          token->text);
  }
  bool point = memchr(token->text, '.', token->len) != NULL;
  if (!point && value->magnitude <= (tdsd_u128)INT32_MAX) {
    value->type = (struct tdsd_type){.kind = TDSD_INT};
    value->integer = (int64_t)value->magnitude;
  }
  return 0;
}

static int money_literal(struct tdsd_parser *parser, struct tdsd_value *value) {
  struct tdsd_value text = {.type = {.kind = TDSD_VARCHAR, .size = 64}};
  struct tdsd_type money = {.kind = TDSD_MONEY};
  text.bytes = parser->token.text + 1;
  text.len = parser->token.len - 1;
  return tdsd_convert(&text, &money, 0, parser->arena, value, parser->fault);
}

int tdsd_parse_literal(struct tdsd_parser *parser,
                       struct tdsd_expr **out_expr) {
  struct tdsd_expr *expr = tdsd_arena_take(parser->arena, sizeof *expr);
  if (expr == NULL) {
    return tdsd_parse_no_memory(parser);
  }
  expr->kind = TDSD_EXPR_LITERAL;
  expr->line = parser->token.line;
  int rc = 0;
  switch (parser->token.lexeme) {
  case TDSD_LEX_STRING:
  case TDSD_LEX_WIDE:
    rc = text_literal(parser, &expr->literal);
    break;
  case TDSD_LEX_BINARY:
    rc = binary_literal(parser, &expr->literal);
    break;
  case TDSD_LEX_NUMBER:
    rc = number_literal(parser, &expr->literal);
    break;
  case TDSD_LEX_MONEY:
    rc = money_literal(parser, &expr->literal);
    break;
  case TDSD_LEX_FLOAT:
    expr->literal.type.kind = TDSD_FLOAT;
    expr->literal.real = strtod(
        tdsd_arena_copy(parser->arena, parser->token.text, parser->token.len),
        NULL);
    break;
  case TDSD_LEX_END:
  case TDSD_LEX_WORD:
  case TDSD_LEX_QUOTED:
  case TDSD_LEX_VARIABLE:
  case TDSD_LEX_SIGN:
  default:
    return tdsd_parse_bad(parser);
  }
  if (rc < 0 || tdsd_parse_next(parser) < 0) {
    return -1;
  }
  *out_expr = expr;
  return 0;
}
