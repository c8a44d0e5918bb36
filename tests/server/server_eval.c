/* SPDX-License-Identifier: MIT */
#include "server_eval.h"

#include <string.h>
#include <strings.h>

#include "server_text.h"

#define ARGS_MAX 16u

uint32_t tdsd_value_units(const struct tdsd_value *value) {
  size_t units = value->len;
  size_t most = 8000;
  if (tdsd_kind_is_wide(value->type.kind)) {
    units = tdsd_text_units(value->bytes, value->len);
    most = 4000;
  } else if (tdsd_kind_is_text(value->type.kind)) {
    units = 0;
    for (size_t at = 0; at < value->len; units++) {
      (void)tdsd_text_next(value->bytes, value->len, &at);
    }
  }
  return units == 0 ? 1 : units > most ? TDSD_SIZE_MAX : (uint32_t)units;
}

static int bind_column(struct tdsd_expr *expr,
                       const struct tdsd_source *source,
                       struct tdsd_fault *fault) {
  for (uint32_t i = 0; source != NULL && i < source->ncolumns; i++) {
    if (strcasecmp(source->names[i], expr->name) == 0) {
      expr->slot = i;
      expr->type = source->types[i];
      return 0;
    }
  }
  fault->line = expr->line;
  return tdsd_fault_set(fault, 207, 16, "Invalid column name '%.128s'.",
                        expr->name);
}

static int bind_binary(struct tdsd_expr *expr, struct tdsd_fault *fault) {
  fault->line = expr->line;
  return tdsd_arith_type(expr->op, &expr->args[0]->type, &expr->args[1]->type,
                         &expr->type, fault);
}

static int bind_collate(struct tdsd_expr *expr, struct tdsd_fault *fault) {
  expr->type = expr->args[0]->type;
  expr->type.collation = (uint8_t)expr->slot;
  fault->line = expr->line;
  if (tdsd_kind_is_text(expr->type.kind) &&
      expr->type.form == TDSD_FORM_PLAIN) {
    return 0;
  }
  return tdsd_fault_set(fault, 447, 16,
                        "Expression type %s is invalid for COLLATE clause.",
                        tdsd_type_name(&expr->type));
}

int tdsd_bind(struct tdsd_expr *expr,
              const struct tdsd_source *source,
              const struct tdsd_batch *batch,
              struct tdsd_fault *fault) {
  for (uint32_t i = 0; i < expr->nargs; i++) {
    if (tdsd_bind(expr->args[i], source, batch, fault) < 0) {
      return -1;
    }
  }
  switch (expr->kind) {
  case TDSD_EXPR_LITERAL:
    expr->type = expr->literal.type;
    return 0;
  case TDSD_EXPR_VARIABLE:
    expr->type = tdsd_variable_type(&batch->variables[expr->slot]);
    return 0;
  case TDSD_EXPR_GLOBAL:
    expr->type = tdsd_global_type(expr->slot);
    return 0;
  case TDSD_EXPR_COLUMN:
    return bind_column(expr, source, fault);
  case TDSD_EXPR_COLLATE:
    return bind_collate(expr, fault);
  case TDSD_EXPR_CAST:
    /* The parser knew the type; text brings its collation along. */
    if (tdsd_kind_is_text(expr->type.kind)) {
      expr->type.collation = expr->args[0]->type.collation;
    }
    return 0;
  case TDSD_EXPR_CALL:
    expr->type = tdsd_function_type(expr);
    return 0;
  case TDSD_EXPR_NEGATE:
    expr->type = expr->args[0]->type;
    expr->type.nullable = true;
    return tdsd_kind_is_number(expr->type.kind)
               ? 0
               : tdsd_fault_set(fault, 8117, 16,
                                "Operand data type %s is invalid for minus "
                                "operator.",
                                tdsd_kind_name(expr->type.kind));
  case TDSD_EXPR_BINARY:
    return bind_binary(expr, fault);
  case TDSD_EXPR_COMPARE:
  case TDSD_EXPR_AND:
  case TDSD_EXPR_OR:
  case TDSD_EXPR_NOT:
  case TDSD_EXPR_IS_NULL:
  default:
    expr->type = (struct tdsd_type){.kind = TDSD_BIT};
    return 0;
  }
}

static int eval_cast(const struct tdsd_expr *expr,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value in;
  struct tdsd_value style = {0};
  if (tdsd_eval(expr->args[0], context, &in) < 0 ||
      (expr->nargs == 2 && tdsd_eval(expr->args[1], context, &style) < 0)) {
    return -1;
  }
  if (tdsd_convert(&in, &expr->type, (int)style.integer, context->arena, out,
                   context->fault) == 0) {
    return 0;
  }
  if (!expr->quiet) {
    return -1;
  }
  *out = (struct tdsd_value){.type = expr->type, .is_null = true, .bytes = ""};
  return 0;
}

/* What operators and functions look at is written out in full. */
static int eval_flat(const struct tdsd_expr *expr,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  return tdsd_eval(expr, context, out) < 0
             ? -1
             : tdsd_value_flatten(out, context->arena, context->fault);
}

static int eval_negate(const struct tdsd_expr *expr,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  if (tdsd_eval(expr->args[0], context, out) < 0) {
    return -1;
  }
  if (out->integer == INT64_MIN) {
    return tdsd_fault_set(context->fault, 8115, 16,
                          "Arithmetic overflow error converting expression to "
                          "data type bigint.");
  }
  out->integer = -out->integer;
  out->real = -out->real;
  out->negative = !out->negative && out->magnitude != 0;
  return 0;
}

static int eval_binary(const struct tdsd_expr *expr,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  struct tdsd_value a;
  struct tdsd_value b;
  if (eval_flat(expr->args[0], context, &a) < 0 ||
      eval_flat(expr->args[1], context, &b) < 0) {
    return -1;
  }
  return tdsd_arith(expr->op, &expr->type, &a, &b, context->arena, out,
                    context->fault);
}

static int eval_call(const struct tdsd_expr *expr,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value args[ARGS_MAX];
  uint32_t n = expr->nargs < ARGS_MAX ? expr->nargs : ARGS_MAX;
  for (uint32_t i = 0; i < n; i++) {
    if (eval_flat(expr->args[i], context, &args[i]) < 0) {
      return -1;
    }
  }
  return tdsd_function_eval(expr, args, context, out);
}

static int eval_truth(const struct tdsd_expr *expr,
                      const struct tdsd_context *context,
                      struct tdsd_value *out) {
  int truth = 0;
  if (tdsd_eval_condition(expr, context, &truth) < 0) {
    return -1;
  }
  *out = (struct tdsd_value){
      .type = expr->type, .is_null = truth == 2, .integer = truth == 1};
  return 0;
}

int tdsd_eval(const struct tdsd_expr *expr,
              const struct tdsd_context *context,
              struct tdsd_value *out) {
  context->fault->line = expr->line;
  switch (expr->kind) {
  case TDSD_EXPR_LITERAL:
    *out = expr->literal;
    return 0;
  case TDSD_EXPR_VARIABLE:
    *out = context->batch->variables[expr->slot].value;
    return 0;
  case TDSD_EXPR_GLOBAL:
    return tdsd_global_eval(expr->slot, context, out);
  case TDSD_EXPR_COLUMN:
    *out = context->row[expr->slot];
    return 0;
  case TDSD_EXPR_COLLATE:
    return tdsd_eval(expr->args[0], context, out) < 0
               ? -1
               : tdsd_convert(out, &expr->type, 0, context->arena, out,
                              context->fault);
  case TDSD_EXPR_CAST:
    return eval_cast(expr, context, out);
  case TDSD_EXPR_CALL:
    return eval_call(expr, context, out);
  case TDSD_EXPR_NEGATE:
    return eval_negate(expr, context, out);
  case TDSD_EXPR_BINARY:
    return eval_binary(expr, context, out);
  case TDSD_EXPR_COMPARE:
  case TDSD_EXPR_AND:
  case TDSD_EXPR_OR:
  case TDSD_EXPR_NOT:
  case TDSD_EXPR_IS_NULL:
  default:
    return eval_truth(expr, context, out);
  }
}

static int sign_of(double difference) {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

static int compare_integers(int64_t a, int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/* Case and trailing blanks do not count, as in the server's collation. */
static int compare_text(const struct tdsd_value *a,
                        const struct tdsd_value *b) {
  size_t a_len = a->len;
  size_t b_len = b->len;
  while (a_len > 0 && a->bytes[a_len - 1] == ' ') {
    a_len--;
  }
  while (b_len > 0 && b->bytes[b_len - 1] == ' ') {
    b_len--;
  }
  size_t n = a_len < b_len ? a_len : b_len;
  int order = strncasecmp(a->bytes, b->bytes, n);
  return order != 0 ? order : compare_integers((int64_t)a_len, (int64_t)b_len);
}

static int compare_bytes(const struct tdsd_value *a,
                         const struct tdsd_value *b) {
  size_t n = a->len < b->len ? a->len : b->len;
  int order = n == 0 ? 0 : memcmp(a->bytes, b->bytes, n);
  return order != 0 ? order
                    : compare_integers((int64_t)a->len, (int64_t)b->len);
}

static int compare_decimal(const struct tdsd_value *a,
                           const struct tdsd_value *b) {
  if (a->negative != b->negative) {
    return a->negative ? -1 : 1;
  }
  int order = a->magnitude < b->magnitude   ? -1
              : a->magnitude > b->magnitude ? 1
                                            : 0;
  return a->negative ? -order : order;
}

static int compare_dates(const struct tdsd_value *a,
                         const struct tdsd_value *b) {
  int order = compare_integers(a->days, b->days);
  if (a->type.kind == TDSD_TIME) {
    order = 0;
  }
  return order != 0 ? order : compare_integers(a->ticks, b->ticks);
}

int tdsd_value_compare(const struct tdsd_value *a, const struct tdsd_value *b) {
  enum tdsd_kind kind = a->type.kind;
  if (tdsd_kind_is_text(kind)) {
    return compare_text(a, b);
  }
  if (tdsd_kind_is_binary(kind)) {
    return compare_bytes(a, b);
  }
  if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    return sign_of(a->real - b->real);
  }
  if (kind == TDSD_DECIMAL) {
    return compare_decimal(a, b);
  }
  if (kind == TDSD_GUID) {
    return memcmp(a->guid, b->guid, sizeof a->guid);
  }
  return tdsd_kind_is_date(kind) ? compare_dates(a, b)
                                 : compare_integers(a->integer, b->integer);
}

static bool holds(char op, int order) {
  switch (op) {
  case '=':
    return order == 0;
  case '!':
    return order != 0;
  case '<':
    return order < 0;
  case '>':
    return order > 0;
  case 'l':
    return order <= 0;
  default:
    return order >= 0;
  }
}

static int eval_compare(const struct tdsd_expr *expr,
                        const struct tdsd_context *context,
                        int *out_truth) {
  struct tdsd_value a;
  struct tdsd_value b;
  struct tdsd_type type =
      tdsd_type_meet(expr->args[0]->type, expr->args[1]->type);
  if (eval_flat(expr->args[0], context, &a) < 0 ||
      eval_flat(expr->args[1], context, &b) < 0 ||
      tdsd_convert(&a, &type, 0, context->arena, &a, context->fault) < 0 ||
      tdsd_convert(&b, &type, 0, context->arena, &b, context->fault) < 0) {
    return -1;
  }
  /* Variants are compared by what the first holds. */
  if (type.kind == TDSD_VARIANT && !a.is_null && !b.is_null &&
      a.type.kind != b.type.kind &&
      tdsd_convert(&b, &a.type, 0, context->arena, &b, context->fault) < 0) {
    return -1;
  }
  *out_truth = a.is_null || b.is_null
                   ? 2
                   : (holds(expr->op, tdsd_value_compare(&a, &b)) ? 1 : 0);
  return 0;
}

/* Three-valued: the deciding value wins, else unknown if any is unknown. */
static int eval_pair(const struct tdsd_expr *expr,
                     const struct tdsd_context *context,
                     int deciding,
                     int *out_truth) {
  int a = 0;
  int b = 0;
  if (tdsd_eval_condition(expr->args[0], context, &a) < 0) {
    return -1;
  }
  if (a != deciding && tdsd_eval_condition(expr->args[1], context, &b) < 0) {
    return -1;
  }
  if (a == deciding || b == deciding) {
    *out_truth = deciding;
  } else {
    *out_truth = a == 2 || b == 2 ? 2 : 1 - deciding;
  }
  return 0;
}

int tdsd_eval_condition(const struct tdsd_expr *expr,
                        const struct tdsd_context *context,
                        int *out_truth) {
  struct tdsd_value value;
  int truth = 0;
  switch (expr->kind) {
  case TDSD_EXPR_COMPARE:
    return eval_compare(expr, context, out_truth);
  case TDSD_EXPR_AND:
    return eval_pair(expr, context, 0, out_truth);
  case TDSD_EXPR_OR:
    return eval_pair(expr, context, 1, out_truth);
  case TDSD_EXPR_NOT:
    if (tdsd_eval_condition(expr->args[0], context, &truth) < 0) {
      return -1;
    }
    *out_truth = truth == 2 ? 2 : 1 - truth;
    return 0;
  case TDSD_EXPR_IS_NULL:
    if (tdsd_eval(expr->args[0], context, &value) < 0) {
      return -1;
    }
    *out_truth = value.is_null ? 1 : 0;
    return 0;
  case TDSD_EXPR_LITERAL:
  case TDSD_EXPR_VARIABLE:
  case TDSD_EXPR_GLOBAL:
  case TDSD_EXPR_COLUMN:
  case TDSD_EXPR_COLLATE:
  case TDSD_EXPR_CAST:
  case TDSD_EXPR_CALL:
  case TDSD_EXPR_NEGATE:
  case TDSD_EXPR_BINARY:
  default:
    return tdsd_fault_set(context->fault, 4145, 15,
                          "A condition was expected here.");
  }
}
