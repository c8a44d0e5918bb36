/* SPDX-License-Identifier: MIT */
/* Literals of the rewriter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server_rewrite_impl.h"
#include "server_text.h"

int rw_take_literal(struct rw *rw,
                    const struct tdsd_value *value,
                    struct rw_expr *out) {
  struct tdsd_value *copy = tdsd_arena_take(rw->arena, sizeof *copy);
  if (copy == NULL) {
    return rw_no_memory(rw);
  }
  *copy = *value;
  rw->at++;
  *out = (struct rw_expr){.sql = rw_literal(rw, copy),
                          .type = copy->type,
                          .known = true,
                          .literal = copy};
  return rw_ok(rw) ? 0 : -1;
}

int rw_text_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  struct tdsd_value value = {
      .type = {.kind = TDSD_NVARCHAR}, .bytes = token->text, .len = token->len};
  if (token->lexeme == TDSD_LEX_STRING) {
    char *narrow = tdsd_arena_take(rw->arena, token->len + 1);
    if (narrow == NULL) {
      return rw_no_memory(rw);
    }
    value.type.kind = TDSD_VARCHAR;
    value.bytes = narrow;
    value.len = tdsd_text_narrow(token->text, token->len, narrow);
  }
  value.type.size = tdsd_value_units(&value);
  return rw_take_literal(rw, &value, out);
}

static int hex_digit(int c) {
  return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

int rw_binary_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  size_t digits = token->len - 2;
  size_t half = digits % 2; /* an odd number has a zero in front */
  char *bytes = tdsd_arena_take(rw->arena, digits / 2 + 2);
  if (bytes == NULL) {
    return rw_no_memory(rw);
  }
  for (size_t i = 0; i < digits; i++) {
    size_t at = (i + half) / 2;
    bytes[at] =
        (char)((unsigned char)bytes[at] << 4 | hex_digit(token->text[2 + i]));
  }
  struct tdsd_value value = {.type = {.kind = TDSD_VARBINARY},
                             .bytes = bytes,
                             .len = (digits + 1) / 2};
  value.type.size = value.len == 0     ? 1
                    : value.len > 8000 ? TDSD_SIZE_MAX
                                       : (uint32_t)value.len;
  return rw_take_literal(rw, &value, out);
}

int rw_number_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  struct tdsd_value value = {0};
  if (token->lexeme == TDSD_LEX_FLOAT) {
    value = (struct tdsd_value){.type = {.kind = TDSD_FLOAT},
                                .real = strtod(token->text, NULL)};
    if (!isfinite(value.real)) {
      return tdsd_fault_set(rw->fault, 168, 15,
                            "The floating point value '%.64s' is out of the "
                            "range of computer representation.",
                            token->text);
    }
    return rw_take_literal(rw, &value, out);
  }
  bool money = token->lexeme == TDSD_LEX_MONEY;
  if (tdsd_decimal_parse(token->text + (money ? 1 : 0),
                         token->len - (money ? 1 : 0), &value) < 0) {
    return tdsd_fault_set(rw->fault, 1007, 15,
                          "The number '%.*s' is out of the range for numeric "
                          "representation (maximum precision 38).",
                          (int)(token->len < 128 ? token->len : 128),
                          token->text);
  }
  if (money) {
    struct tdsd_type type = {.kind = TDSD_MONEY};
    if (tdsd_convert(&value, &type, 0, rw->arena, &value, rw->fault) < 0) {
      return -1;
    }
  } else if (memchr(token->text, '.', token->len) == NULL &&
             value.magnitude <= INT32_MAX) {
    value = (struct tdsd_value){.type = {.kind = TDSD_INT},
                                .integer = (int64_t)value.magnitude};
  } else {
    value.type.numeric = true;
  }
  value.type.nullable = false;
  return rw_take_literal(rw, &value, out);
}
