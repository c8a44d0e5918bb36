/* SPDX-License-Identifier: MIT */
/* Names of types, with their lengths, precisions and scales. */
#include <stdlib.h>
#include <strings.h>

#include "server_parse.h"

/* Names of types and what they stand for; size 1 means a length may follow, 2
 * precision and scale, 3 a scale only. */
static const struct type_name {
  const char *name;
  enum tdsd_kind kind;
  uint8_t shape;
} type_names[] = {
    {"bit", TDSD_BIT, 0},
    {"tinyint", TDSD_TINYINT, 0},
    {"smallint", TDSD_SMALLINT, 0},
    {"int", TDSD_INT, 0},
    {"integer", TDSD_INT, 0},
    {"bigint", TDSD_BIGINT, 0},
    {"smallmoney", TDSD_SMALLMONEY, 0},
    {"money", TDSD_MONEY, 0},
    {"decimal", TDSD_DECIMAL, 2},
    {"dec", TDSD_DECIMAL, 2},
    {"numeric", TDSD_DECIMAL, 2},
    {"real", TDSD_REAL, 0},
    {"float", TDSD_FLOAT, 3},
    {"char", TDSD_CHAR, 1},
    {"character", TDSD_CHAR, 1},
    {"varchar", TDSD_VARCHAR, 1},
    {"nchar", TDSD_NCHAR, 1},
    {"nvarchar", TDSD_NVARCHAR, 1},
    {"binary", TDSD_BINARY, 1},
    {"varbinary", TDSD_VARBINARY, 1},
    {"date", TDSD_DATE, 0},
    {"time", TDSD_TIME, 3},
    {"smalldatetime", TDSD_SMALLDATETIME, 0},
    {"datetime", TDSD_DATETIME, 0},
    {"datetime2", TDSD_DATETIME2, 3},
    {"datetimeoffset", TDSD_DATETIMEOFFSET, 3},
    {"uniqueidentifier", TDSD_GUID, 0},
    {"sql_variant", TDSD_VARIANT, 0},
};

/* Types that are another with a form of their own. */
static const struct {
  const char *name;
  struct tdsd_type type;
} formed_types[] = {
    {"sysname", {.kind = TDSD_NVARCHAR, .size = 128}},
    {"text",
     {.kind = TDSD_VARCHAR, .size = TDSD_SIZE_MAX, .form = TDSD_FORM_OLD}},
    {"ntext",
     {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX, .form = TDSD_FORM_OLD}},
    {"image",
     {.kind = TDSD_VARBINARY, .size = TDSD_SIZE_MAX, .form = TDSD_FORM_OLD}},
    {"xml",
     {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX, .form = TDSD_FORM_XML}},
    {"rowversion",
     {.kind = TDSD_BINARY, .size = 8, .form = TDSD_FORM_ROWVERSION}},
    {"timestamp",
     {.kind = TDSD_BINARY, .size = 8, .form = TDSD_FORM_ROWVERSION}},
};

static int parse_size(struct tdsd_parser *parser, uint32_t *out_size) {
  if (parser->token.lexeme != TDSD_LEX_NUMBER || parser->token.len > 9) {
    return tdsd_parse_bad(parser);
  }
  *out_size = (uint32_t)strtoul(parser->token.text, NULL, 10);
  return tdsd_parse_next(parser);
}

static int check_length(struct tdsd_parser *parser,
                        const struct tdsd_type *type) {
  uint32_t most = tdsd_kind_is_wide(type->kind) ? 4000 : 8000;
  if (type->size == TDSD_SIZE_MAX || (type->size >= 1 && type->size <= most)) {
    return 0;
  }
  return tdsd_fault_set(parser->fault, 131, 15,
                        "The size (%u) given to the type '%s' exceeds the "
                        "maximum allowed for any data type (%u).",
                        type->size, tdsd_kind_name(type->kind), most);
}

static int parse_length(struct tdsd_parser *parser, struct tdsd_type *type) {
  bool max = false;
  bool may_max = type->kind == TDSD_VARCHAR || type->kind == TDSD_NVARCHAR ||
                 type->kind == TDSD_VARBINARY;
  if (may_max && tdsd_parse_eat(parser, "max", &max) < 0) {
    return -1;
  }
  if (max) {
    type->size = TDSD_SIZE_MAX;
    return 0;
  }
  return parse_size(parser, &type->size) < 0 ? -1 : check_length(parser, type);
}

static int parse_precision(struct tdsd_parser *parser, struct tdsd_type *type) {
  uint32_t precision = 0;
  uint32_t scale = 0;
  bool comma = false;
  if (parse_size(parser, &precision) < 0 ||
      tdsd_parse_eat_sign(parser, ",", &comma) < 0 ||
      (comma && parse_size(parser, &scale) < 0)) {
    return -1;
  }
  if (precision < 1 || precision > 38 || scale > precision) {
    return tdsd_fault_set(parser->fault, 1002, 15,
                          "Precision %u and scale %u are not allowed for "
                          "numeric.",
                          precision, scale);
  }
  type->precision = (uint8_t)precision;
  type->scale = (uint8_t)scale;
  return 0;
}

static int parse_scale(struct tdsd_parser *parser, struct tdsd_type *type) {
  uint32_t scale = 0;
  uint32_t most = type->kind == TDSD_FLOAT ? 53 : 7;
  if (parse_size(parser, &scale) < 0) {
    return -1;
  }
  if (scale > most) {
    return tdsd_fault_set(parser->fault, 1002, 15,
                          "Specified scale %u is invalid.", scale);
  }
  if (type->kind == TDSD_FLOAT) {
    type->kind = scale >= 1 && scale <= 24 ? TDSD_REAL : TDSD_FLOAT;
  } else {
    type->scale = (uint8_t)scale;
  }
  return 0;
}

static int parse_shape(struct tdsd_parser *parser,
                       uint8_t shape,
                       struct tdsd_type *type) {
  switch (shape) {
  case 1:
    return parse_length(parser, type);
  case 2:
    return parse_precision(parser, type);
  case 3:
    return parse_scale(parser, type);
  default:
    return tdsd_parse_bad(parser);
  }
}

static const struct type_name *find_type(const char *name) {
  for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
    if (strcasecmp(name, type_names[i].name) == 0) {
      return &type_names[i];
    }
  }
  return NULL;
}

int tdsd_parse_type(struct tdsd_parser *parser,
                    uint32_t default_size,
                    struct tdsd_type *out_type) {
  const char *whole = NULL;
  const char *name = NULL;
  if (tdsd_parse_dotted(parser, &whole, &name) < 0) {
    return -1;
  }
  struct tdsd_type type = {.nullable = true, .precision = 18};
  for (size_t i = 0; i < sizeof formed_types / sizeof formed_types[0]; i++) {
    if (strcasecmp(name, formed_types[i].name) == 0) {
      *out_type = formed_types[i].type;
      out_type->nullable = true;
      return 0;
    }
  }
  const struct type_name *found = find_type(name);
  if (found == NULL) {
    return tdsd_fault_set(parser->fault, 243, 16,
                          "Type %.128s is not a defined system type.", whole);
  }
  type.kind = found->kind;
  type.numeric = strcasecmp(name, "numeric") == 0;
  type.size = found->shape == 1 ? default_size : 0;
  type.scale = found->shape == 3 && found->kind != TDSD_FLOAT ? 7 : 0;
  bool open = false;
  if (tdsd_parse_eat_sign(parser, "(", &open) < 0) {
    return -1;
  }
  if (open && (parse_shape(parser, found->shape, &type) < 0 ||
               tdsd_parse_need_sign(parser, ")") < 0)) {
    return -1;
  }
  *out_type = type;
  return 0;
}
