/* SPDX-License-Identifier: MIT */
/* The names of types, as they stand in SQLite's schema and in calls of the SQL
 * functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_rewrite.h"

static bool has_scale(enum tdsd_kind kind) {
  return kind == TDSD_TIME || kind == TDSD_DATETIME2 ||
         kind == TDSD_DATETIMEOFFSET;
}

size_t tdsd_rw_type_print(const struct tdsd_type *type, char *out, size_t cap) {
  const char *name = type->kind == TDSD_DECIMAL && !type->numeric
                         ? "decimal"
                         : tdsd_kind_name(type->kind);
  int n = 0;
  if (type->kind == TDSD_DECIMAL) {
    n = snprintf(out, cap, "%s(%u,%u)", name, (unsigned)type->precision,
                 (unsigned)type->scale);
  } else if (has_scale(type->kind)) {
    n = snprintf(out, cap, "%s(%u)", name, (unsigned)type->scale);
  } else if (type->kind > TDSD_NVARCHAR) {
    n = snprintf(out, cap, "%s", name);
  } else if (type->size == TDSD_SIZE_MAX) {
    n = snprintf(out, cap, "%s(max)", name);
  } else {
    n = snprintf(out, cap, "%s(%u)", name, type->size == 0 ? 1 : type->size);
  }
  return n < 0 ? 0 : (size_t)n;
}

/* Words of plain SQLite schemas. */
static const struct {
  const char *name;
  enum tdsd_kind kind;
} lite_names[] = {
    {"text", TDSD_NVARCHAR},       {"clob", TDSD_NVARCHAR},
    {"blob", TDSD_VARBINARY},      {"double", TDSD_FLOAT},
    {"boolean", TDSD_BIT},         {"integer", TDSD_BIGINT},
    {"timestamp", TDSD_DATETIME2},
};

static int find_kind(const char *name, size_t len, struct tdsd_type *type) {
  for (size_t i = 0; i < sizeof lite_names / sizeof lite_names[0]; i++) {
    if (strlen(lite_names[i].name) == len &&
        strncasecmp(lite_names[i].name, name, len) == 0) {
      type->kind = lite_names[i].kind;
      type->size = TDSD_SIZE_MAX;
      return 0;
    }
  }
  if (len == 7 && strncasecmp(name, "decimal", 7) == 0) {
    type->kind = TDSD_DECIMAL;
    return 0;
  }
  for (unsigned kind = TDSD_BINARY; kind <= TDSD_DATETIMEOFFSET; kind++) {
    const char *known = tdsd_kind_name((enum tdsd_kind)kind);
    if (strlen(known) == len && strncasecmp(known, name, len) == 0) {
      type->kind = (enum tdsd_kind)kind;
      type->numeric = kind == TDSD_DECIMAL;
      return 0;
    }
  }
  return -1;
}

static int scan_numbers(const char *text, struct tdsd_type *type) {
  char *end = NULL;
  unsigned long second = 0;
  if (strncasecmp(text, "max)", 4) == 0) {
    type->size = TDSD_SIZE_MAX;
    return 0;
  }
  unsigned long first = strtoul(text, &end, 10);
  if (end == text) {
    return -1;
  }
  if (*end == ',') {
    second = strtoul(end + 1, &end, 10);
  }
  if (type->kind == TDSD_DECIMAL) {
    if (first < 1 || first > 38 || second > first) {
      return -1;
    }
    type->precision = (uint8_t)first;
    type->scale = (uint8_t)second;
  } else if (has_scale(type->kind)) {
    type->scale = (uint8_t)(first > 7 ? 7 : first);
  } else if (type->kind <= TDSD_NVARCHAR) {
    type->size = first > 8000 ? TDSD_SIZE_MAX : (uint32_t)first;
  }
  return *end == ')' ? 0 : -1;
}

int tdsd_rw_type_scan(const char *text, struct tdsd_type *out_type) {
  struct tdsd_type type = {.nullable = true, .precision = 18};
  size_t len = strcspn(text, "( ");
  if (find_kind(text, len, &type) < 0) {
    return -1;
  }
  if (has_scale(type.kind)) {
    type.scale = 7;
  }
  if (type.kind <= TDSD_NVARCHAR && type.size == 0) {
    type.size = 1;
  }
  if (text[len] == '(' && scan_numbers(text + len + 1, &type) < 0) {
    return -1;
  }
  *out_type = type;
  return 0;
}

size_t tdsd_rw_value_print(const struct tdsd_value *value,
                           char *out,
                           size_t cap) {
  bool money =
      value->type.kind == TDSD_MONEY || value->type.kind == TDSD_SMALLMONEY;
  if (!money) {
    return tdsd_value_print(value, 121, out, cap);
  }
  /* T-SQL shows two digits of the four. */
  uint64_t all = value->integer < 0 ? 0 - (uint64_t)value->integer
                                    : (uint64_t)value->integer;
  int n = snprintf(out, cap, "%s%" PRIu64 ".%04" PRIu64,
                   value->integer < 0 ? "-" : "", all / 10000, all % 10000);
  return n < 0 ? 0 : (size_t)n;
}
