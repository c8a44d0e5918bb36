/* SPDX-License-Identifier: MIT */
#include "server_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int tdsd_fault_set(struct tdsd_fault *fault,
                   int32_t number,
                   uint8_t class,
                   const char *format,
                   ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(fault->text, sizeof fault->text, format, args);
  va_end(args);
  fault->number = number;
  fault->class = class;
  fault->state = 1;
  return -1;
}

const char *tdsd_kind_name(enum tdsd_kind kind) {
  static const char *const names[] = {"binary",
                                      "varbinary",
                                      "char",
                                      "varchar",
                                      "nchar",
                                      "nvarchar",
                                      "uniqueidentifier",
                                      "bit",
                                      "tinyint",
                                      "smallint",
                                      "int",
                                      "bigint",
                                      "smallmoney",
                                      "money",
                                      "numeric",
                                      "real",
                                      "float",
                                      "time",
                                      "date",
                                      "smalldatetime",
                                      "datetime",
                                      "datetime2",
                                      "datetimeoffset",
                                      "sql_variant"};
  return names[kind];
}

struct tdsd_type tdsd_variable_type(const struct tdsd_variable *variable) {
  struct tdsd_type variant = {.kind = TDSD_VARIANT, .nullable = true};
  return variable->variant ? variant : variable->value.type;
}

uint64_t tdsd_value_total(const struct tdsd_value *value) {
  return value->total != 0 ? value->total : value->len;
}

int tdsd_value_flatten(struct tdsd_value *value,
                       struct tdsd_arena *arena,
                       struct tdsd_fault *fault) {
  size_t total = (size_t)value->total;
  if (total == 0) {
    return 0;
  }
  char *bytes = tdsd_arena_take(arena, total + 1);
  if (bytes == NULL) {
    return tdsd_fault_set(fault, 701, 17,
                          "There is insufficient memory for this query.");
  }
  for (size_t at = 0; at < total; at += value->len) {
    size_t len = total - at < value->len ? total - at : value->len;
    memcpy(bytes + at, value->bytes, len);
  }
  value->bytes = bytes;
  value->len = total;
  value->total = 0;
  return 0;
}

const char *tdsd_type_name(const struct tdsd_type *type) {
  switch (type->form) {
  case TDSD_FORM_OLD:
    return tdsd_kind_is_wide(type->kind)   ? "ntext"
           : tdsd_kind_is_text(type->kind) ? "text"
                                           : "image";
  case TDSD_FORM_XML:
    return "xml";
  case TDSD_FORM_ROWVERSION:
    return "timestamp";
  case TDSD_FORM_PLAIN:
  default:
    return tdsd_kind_name(type->kind);
  }
}

void tdsd_type_print(const struct tdsd_type *type, char *out, size_t cap) {
  const char *name = tdsd_type_name(type);
  bool scaled = type->kind == TDSD_TIME || type->kind == TDSD_DATETIME2 ||
                type->kind == TDSD_DATETIMEOFFSET;
  if (type->form != TDSD_FORM_PLAIN) {
    (void)snprintf(out, cap, "%s", name);
  } else if (type->size == TDSD_SIZE_MAX) {
    (void)snprintf(out, cap, "%s(max)", name);
  } else if (type->kind <= TDSD_NVARCHAR) {
    (void)snprintf(out, cap, "%s(%u)", name, (unsigned)type->size);
  } else if (type->kind == TDSD_DECIMAL) {
    (void)snprintf(out, cap, "%s(%u,%u)", type->numeric ? "numeric" : "decimal",
                   (unsigned)type->precision, (unsigned)type->scale);
  } else if (scaled) {
    (void)snprintf(out, cap, "%s(%u)", name, (unsigned)type->scale);
  } else {
    (void)snprintf(out, cap, "%s", name);
  }
}

bool tdsd_kind_is_text(enum tdsd_kind kind) {
  return kind >= TDSD_CHAR && kind <= TDSD_NVARCHAR;
}

bool tdsd_kind_is_wide(enum tdsd_kind kind) {
  return kind == TDSD_NCHAR || kind == TDSD_NVARCHAR;
}

bool tdsd_kind_is_binary(enum tdsd_kind kind) {
  return kind <= TDSD_VARBINARY;
}

bool tdsd_kind_is_integer(enum tdsd_kind kind) {
  return kind >= TDSD_BIT && kind <= TDSD_BIGINT;
}

bool tdsd_kind_is_number(enum tdsd_kind kind) {
  return kind >= TDSD_BIT && kind <= TDSD_FLOAT;
}

bool tdsd_kind_is_date(enum tdsd_kind kind) {
  return kind >= TDSD_TIME && kind <= TDSD_DATETIMEOFFSET;
}

tdsd_u128 tdsd_pow10(unsigned n) {
  tdsd_u128 value = 1;
  while (n-- > 0) {
    value *= 10;
  }
  return value;
}

unsigned tdsd_digits(tdsd_u128 magnitude) {
  unsigned n = 1;
  while (magnitude >= 10) {
    magnitude /= 10;
    n++;
  }
  return n;
}

/* What an exact number type looks like as a decimal. */
static struct tdsd_type as_decimal(struct tdsd_type type) {
  static const uint8_t integer_digits[] = {1, 3, 5, 10, 19};
  if (type.kind == TDSD_DECIMAL) {
    return type;
  }
  struct tdsd_type decimal = {.kind = TDSD_DECIMAL, .nullable = type.nullable};
  if (tdsd_kind_is_integer(type.kind)) {
    decimal.precision = integer_digits[type.kind - TDSD_BIT];
  } else {
    decimal.precision = type.kind == TDSD_MONEY ? 19 : 10;
    decimal.scale = 4;
  }
  return decimal;
}

static struct tdsd_type meet_decimal(struct tdsd_type a, struct tdsd_type b) {
  a = as_decimal(a);
  b = as_decimal(b);
  unsigned whole_a = a.precision - (unsigned)a.scale;
  unsigned whole_b = b.precision - (unsigned)b.scale;
  unsigned whole = whole_a > whole_b ? whole_a : whole_b;
  unsigned scale = a.scale > b.scale ? a.scale : b.scale;
  if (whole + scale > 38) {
    scale = 38 - whole;
  }
  a.precision = (uint8_t)(whole + scale);
  a.scale = (uint8_t)scale;
  a.numeric = a.numeric || b.numeric;
  return a;
}

struct tdsd_type tdsd_type_meet(struct tdsd_type a, struct tdsd_type b) {
  bool nullable = a.nullable || b.nullable;
  if (a.untyped || b.untyped) {
    struct tdsd_type typed = a.untyped ? b : a;
    typed.nullable = true;
    return typed;
  }
  struct tdsd_type high = a.kind >= b.kind ? a : b;
  struct tdsd_type low = a.kind >= b.kind ? b : a;
  enum tdsd_form form = a.form == b.form ? a.form : TDSD_FORM_PLAIN;
  if (high.kind == TDSD_DECIMAL && tdsd_kind_is_number(low.kind)) {
    high = meet_decimal(high, low);
  } else if (high.kind <= TDSD_NVARCHAR) {
    high.size = high.size > low.size ? high.size : low.size;
    high.form = form;
    /* Whoever has a collation of its own keeps it. */
    high.collation = a.collation != 0 ? a.collation : b.collation;
    /* char and varchar meet as varchar, and so on. */
    if (low.kind != high.kind) {
      high.kind = tdsd_kind_is_wide(high.kind)   ? TDSD_NVARCHAR
                  : tdsd_kind_is_text(high.kind) ? TDSD_VARCHAR
                                                 : TDSD_VARBINARY;
    }
  } else if (tdsd_kind_is_date(low.kind) && low.scale > high.scale) {
    high.scale = low.scale;
  }
  high.nullable = nullable;
  return high;
}
