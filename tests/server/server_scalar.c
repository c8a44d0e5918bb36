/* SPDX-License-Identifier: MIT */
/* Scalar functions that only statements on tables use: which there are, and the types
 * of what they give. */
#include <string.h>
#include <strings.h>

#include "server_scalar_impl.h"

int scalar_no_memory(const struct scalar_call *call) {
  return tdsd_fault_set(call->context->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

int scalar_set_text(const struct scalar_call *call,
                    const char *text,
                    size_t len) {
  char *copy = tdsd_arena_copy(call->context->arena, text, len);
  if (copy == NULL) {
    return scalar_no_memory(call);
  }
  call->out->bytes = copy;
  call->out->len = len;
  return 0;
}

int scalar_as(const struct scalar_call *call,
              uint32_t i,
              enum tdsd_kind kind,
              struct tdsd_value *out) {
  struct tdsd_type type = {.kind = kind, .size = TDSD_SIZE_MAX, .scale = 7};
  return tdsd_convert(&call->args[i], &type, 0, call->context->arena, out,
                      call->context->fault);
}

int scalar_text_arg(const struct scalar_call *call,
                    uint32_t i,
                    struct tdsd_value *out) {
  return scalar_as(call, i, TDSD_NVARCHAR, out);
}

int scalar_int_arg(const struct scalar_call *call, uint32_t i, int64_t *out) {
  struct tdsd_value value;
  if (scalar_as(call, i, TDSD_BIGINT, &value) < 0) {
    return -1;
  }
  *out = value.integer;
  return 0;
}

static bool any_null(const struct scalar_call *call) {
  for (uint32_t i = 0; i < call->nargs; i++) {
    if (call->args[i].is_null) {
      return true;
    }
  }
  return false;
}

/* How a result's type comes about. */
enum rule {
  RULE_FIXED, /* kind, size */
  RULE_TEXT,  /* the text type of argument 0, as long */
  RULE_LONG,  /* the same, as long as can be */
  RULE_EXACT, /* argument 0's number type; small integers become int */
  RULE_ROUND, /* as RULE_EXACT, and decimals keep their scale */
  RULE_WHOLE, /* as RULE_EXACT, and decimals lose their scale */
  RULE_DATE,  /* argument 2's date type; text becomes datetime */
  RULE_MEET,  /* the type in which arguments 1 and on meet */
};

static const struct function {
  const char *name;
  uint8_t least, most;
  enum rule rule;
  enum tdsd_kind kind;
  uint32_t size;
  bool nulls; /* it wants to see NULLs */
  int (*eval)(const struct scalar_call *call);
} functions[] = {
    {"abs", 1, 1, RULE_EXACT, TDSD_INT, 0, false, scalar_abs},
    {"ascii", 1, 1, RULE_FIXED, TDSD_INT, 0, false, scalar_ascii},
    {"ceiling", 1, 1, RULE_WHOLE, TDSD_INT, 0, false, scalar_ceiling},
    {"charindex", 2, 3, RULE_FIXED, TDSD_INT, 0, false, scalar_charindex},
    {"choose", 2, 16, RULE_MEET, TDSD_INT, 0, true, scalar_choose},
    {"concat", 2, 16, RULE_FIXED, TDSD_NVARCHAR, 4000, true, scalar_concat},
    {"concat_ws", 3, 16, RULE_FIXED, TDSD_NVARCHAR, 4000, true,
     scalar_concat_ws},
    {"dateadd", 3, 3, RULE_DATE, TDSD_DATETIME, 0, false, scalar_dateadd},
    {"datediff", 3, 3, RULE_FIXED, TDSD_INT, 0, false, scalar_datediff},
    {"datediff_big", 3, 3, RULE_FIXED, TDSD_BIGINT, 0, false, scalar_datediff},
    {"datefromparts", 3, 3, RULE_FIXED, TDSD_DATE, 0, false,
     scalar_datefromparts},
    {"datename", 2, 2, RULE_FIXED, TDSD_NVARCHAR, 30, false, scalar_datename},
    {"datepart", 2, 2, RULE_FIXED, TDSD_INT, 0, false, scalar_datepart},
    {"day", 1, 1, RULE_FIXED, TDSD_INT, 0, false, scalar_day},
    {"eomonth", 1, 2, RULE_FIXED, TDSD_DATE, 0, false, scalar_eomonth},
    {"exp", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_exp},
    {"floor", 1, 1, RULE_WHOLE, TDSD_INT, 0, false, scalar_floor},
    {"isnumeric", 1, 1, RULE_FIXED, TDSD_INT, 0, true, scalar_isnumeric},
    {"left", 2, 2, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_left},
    {"log", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_log},
    {"log10", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_log10},
    {"ltrim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_ltrim},
    {"month", 1, 1, RULE_FIXED, TDSD_INT, 0, false, scalar_month},
    {"newid", 0, 0, RULE_FIXED, TDSD_GUID, 0, false, scalar_newid},
    {"pi", 0, 0, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_pi},
    {"power", 2, 2, RULE_ROUND, TDSD_FLOAT, 0, false, scalar_power},
    {"quotename", 1, 1, RULE_FIXED, TDSD_NVARCHAR, 258, false,
     scalar_quotename},
    {"replace", 3, 3, RULE_LONG, TDSD_NVARCHAR, 0, false, scalar_replace},
    {"reverse", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_reverse},
    {"right", 2, 2, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_right},
    {"round", 2, 3, RULE_ROUND, TDSD_INT, 0, false, scalar_round},
    {"rtrim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_rtrim},
    {"sign", 1, 1, RULE_ROUND, TDSD_INT, 0, false, scalar_sign},
    {"space", 1, 1, RULE_FIXED, TDSD_VARCHAR, 8000, false, scalar_space},
    {"sqrt", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_sqrt},
    {"square", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, scalar_square},
    {"stuff", 4, 4, RULE_LONG, TDSD_NVARCHAR, 0, false, scalar_stuff},
    {"substring", 3, 3, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_substring},
    {"trim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, scalar_trim},
    {"unicode", 1, 1, RULE_FIXED, TDSD_INT, 0, false, scalar_unicode},
    {"year", 1, 1, RULE_FIXED, TDSD_INT, 0, false, scalar_year},
};

static const struct function *find(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (strcasecmp(functions[i].name, name) == 0) {
      return &functions[i];
    }
  }
  return NULL;
}

static int bad_type(const struct function *function,
                    const struct tdsd_type *type,
                    unsigned argument,
                    struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 8116, 16,
                        "Argument data type %s is invalid for argument %u of "
                        "%s function.",
                        tdsd_kind_name(type->kind), argument, function->name);
}

static int text_type(const struct function *function,
                     const struct tdsd_type *arg,
                     struct tdsd_type *out,
                     struct tdsd_fault *fault) {
  if (tdsd_kind_is_binary(arg->kind) && !arg->untyped) {
    return bad_type(function, arg, 1, fault);
  }
  bool text = tdsd_kind_is_text(arg->kind) && !arg->untyped;
  bool wide = text && tdsd_kind_is_wide(arg->kind);
  out->kind = wide ? TDSD_NVARCHAR : TDSD_VARCHAR;
  out->size = text && function->rule == RULE_TEXT ? arg->size
              : wide                              ? 4000
                                                  : 8000;
  out->size = text && arg->size == TDSD_SIZE_MAX ? TDSD_SIZE_MAX : out->size;
  return 0;
}

static int number_type(const struct function *function,
                       const struct tdsd_type *arg,
                       struct tdsd_type *out,
                       struct tdsd_fault *fault) {
  if (arg->untyped || tdsd_kind_is_text(arg->kind) || arg->kind == TDSD_REAL) {
    out->kind = TDSD_FLOAT;
    return 0;
  }
  if (!tdsd_kind_is_number(arg->kind) || arg->kind == TDSD_BIT) {
    return bad_type(function, arg, 1, fault);
  }
  *out = *arg;
  if (arg->kind <= TDSD_INT) {
    out->kind = TDSD_INT;
  } else if (arg->kind == TDSD_SMALLMONEY) {
    out->kind = TDSD_MONEY;
  } else if (arg->kind == TDSD_DECIMAL) {
    if (function->rule == RULE_WHOLE) {
      /* One digit more: 9.9 becomes 10. */
      out->precision = arg->precision;
      out->scale = 0;
    }
  }
  return 0;
}

static int meet_type(const struct tdsd_type *args,
                     uint32_t nargs,
                     struct tdsd_type *out) {
  *out = args[1];
  for (uint32_t i = 2; i < nargs; i++) {
    *out = tdsd_type_meet(*out, args[i]);
  }
  return 0;
}

static int date_type(const struct function *function,
                     const struct tdsd_type *arg,
                     struct tdsd_type *out,
                     struct tdsd_fault *fault) {
  if (tdsd_kind_is_date(arg->kind) && !arg->untyped) {
    *out = *arg;
    return 0;
  }
  out->kind = TDSD_DATETIME;
  return arg->untyped || tdsd_kind_is_text(arg->kind) ||
                 tdsd_kind_is_integer(arg->kind)
             ? 0
             : bad_type(function, arg, 3, fault);
}

int tdsd_scalar_type(const char *name,
                     const struct tdsd_type *args,
                     uint32_t nargs,
                     struct tdsd_type *out_type,
                     struct tdsd_fault *fault) {
  const struct function *function = find(name);
  if (function == NULL) {
    return tdsd_fault_set(
        fault, 195, 15, "'%.128s' is not a recognized built-in function name.",
        name);
  }
  if (nargs < function->least || nargs > function->most) {
    return tdsd_fault_set(fault, 174, 15,
                          "The %s function requires %u argument(s).",
                          function->name, (unsigned)function->least);
  }
  struct tdsd_type type = {.kind = function->kind, .size = function->size};
  int rc = 0;
  switch (function->rule) {
  case RULE_TEXT:
  case RULE_LONG:
    rc = text_type(function, &args[0], &type, fault);
    break;
  case RULE_EXACT:
  case RULE_ROUND:
  case RULE_WHOLE:
    rc = number_type(function, &args[0], &type, fault);
    break;
  case RULE_DATE:
    rc = date_type(function, &args[2], &type, fault);
    break;
  case RULE_MEET:
    rc = meet_type(args, nargs, &type);
    break;
  case RULE_FIXED:
  default:
    break;
  }
  type.nullable = true;
  type.untyped = false;
  *out_type = type;
  return rc;
}

int tdsd_scalar_eval(const char *name,
                     const struct tdsd_value *args,
                     uint32_t nargs,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  const struct function *function = find(name);
  struct tdsd_type types[SCALAR_ARGS_MAX];
  struct tdsd_type type;
  for (uint32_t i = 0; i < nargs && i < SCALAR_ARGS_MAX; i++) {
    types[i] = args[i].type;
  }
  if (tdsd_scalar_type(name, types, nargs, &type, context->fault) < 0) {
    return -1;
  }
  struct scalar_call call = {args, nargs, context, out};
  *out = (struct tdsd_value){.type = type, .bytes = ""};
  if (!function->nulls && any_null(&call)) {
    out->is_null = true;
    return 0;
  }
  int rc = function->eval(&call);
  out->type = type;
  return rc;
}
