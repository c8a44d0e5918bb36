/* SPDX-License-Identifier: MIT */
#include "param.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How a value of the server's type is written down.  A type that is not here is
 * read as text, which every server converts. */
static const struct {
  const char *name;
  int32_t type;
} types[] = {
    {"bigint", WEIR_T_INT},          {"int", WEIR_T_INT},
    {"integer", WEIR_T_INT},         {"smallint", WEIR_T_INT},
    {"tinyint", WEIR_T_INT},         {"bit", WEIR_T_BOOL},
    {"float", WEIR_T_FLOAT},         {"real", WEIR_T_FLOAT},
    {"decimal", WEIR_T_DEC},         {"dec", WEIR_T_DEC},
    {"numeric", WEIR_T_DEC},         {"money", WEIR_T_DEC},
    {"smallmoney", WEIR_T_DEC},      {"date", WEIR_T_TIME},
    {"time", WEIR_T_TIME},           {"datetime", WEIR_T_TIME},
    {"datetime2", WEIR_T_TIME},      {"smalldatetime", WEIR_T_TIME},
    {"datetimeoffset", WEIR_T_TIME}, {"uniqueidentifier", WEIR_T_UUID},
    {"binary", WEIR_T_BYTES},        {"varbinary", WEIR_T_BYTES},
    {"image", WEIR_T_BYTES},         {"rowversion", WEIR_T_BYTES},
    {"timestamp", WEIR_T_BYTES},
};

/* The name of the type ends where its length begins. */
static int32_t type_of(const char *text, size_t len) {
  size_t n = 0;
  while (n < len && text[n] != '(' && text[n] != ' ') {
    n++;
  }
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strlen(types[i].name) == n &&
        strncasecmp(types[i].name, text, n) == 0) {
      return types[i].type;
    }
  }
  return WEIR_T_TEXT;
}

static const char *read_int(struct weir_param *p, const char *value) {
  char *end = NULL;
  errno = 0;
  long long v = strtoll(value, &end, 10);
  if (value[0] == '\0' || strspn(value, "+-0123456789") != strlen(value) ||
      *end != '\0' || errno != 0) {
    return "the value is not a whole number";
  }
  p->i = v;
  return NULL;
}

static const char *read_float(struct weir_param *p, const char *value) {
  char *end = NULL;
  errno = 0;
  p->f = strtod(value, &end);
  bool plain = strspn(value, "+-0123456789.eE") == strlen(value);
  return value[0] != '\0' && plain && *end == '\0' && isfinite(p->f)
             ? NULL
             : "the value is not a number";
}

static const char *read_bool(struct weir_param *p, const char *value) {
  bool yes = strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0;
  bool no = strcmp(value, "0") == 0 || strcasecmp(value, "false") == 0;
  p->i = yes ? 1 : 0;
  return yes || no ? NULL : "the value is not 1 or 0";
}

/* -?digits[.digits] */
static const char *check_decimal(const char *value) {
  const char *digits = value[0] == '-' ? value + 1 : value;
  size_t whole = strspn(digits, "0123456789");
  const char *rest = digits + whole;
  size_t part = rest[0] == '.' ? strspn(rest + 1, "0123456789") : 0;
  bool good =
      whole != 0 && (rest[0] == '\0' || (part != 0 && rest[1 + part] == '\0'));
  return good ? NULL : "the value is not a decimal number such as -12.50";
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes pairs of digits, between which `skip` may stand.  The memory is the
 * parameter's. */
static const char *read_hex(struct weir_param *p,
                            const char *value,
                            char skip,
                            const char *wanted) {
  unsigned char *bytes = malloc(strlen(value) / 2 + 1);
  size_t n = 0;
  if (bytes == NULL) {
    return "there is no memory for it";
  }
  while (*value != '\0') {
    if (skip != '\0' && *value == skip) {
      value++;
      continue;
    }
    int high = digit_of(value[0]);
    int low = high < 0 ? -1 : digit_of(value[1]);
    if (low < 0) {
      free(bytes);
      return wanted;
    }
    bytes[n++] = (unsigned char)(high * 16 + low);
    value += 2;
  }
  p->p = bytes;
  p->n = n;
  return NULL;
}

/* Wipes and frees what read_hex() made. */
static void drop_bytes(struct weir_param *p) {
  void *bytes;
  memcpy(&bytes, &p->p, sizeof bytes); /* it is ours, and was not const */
  explicit_bzero(bytes, p->n);
  free(bytes);
}

static const char *read_bytes(struct weir_param *p, const char *value) {
  static const char wanted[] = "the value is not 0x and pairs of hexadecimal "
                               "digits";
  return value[0] == '0' && (value[1] == 'x' || value[1] == 'X')
             ? read_hex(p, value + 2, '\0', wanted)
             : wanted;
}

static const char *read_uuid(struct weir_param *p, const char *value) {
  static const char wanted[] = "the value is not a UUID such as "
                               "6f9619ff-8b86-d011-b42d-00c04fc964ff";
  bool shaped = strlen(value) == 36 && value[8] == '-' && value[13] == '-' &&
                value[18] == '-' && value[23] == '-';
  const char *wrong = shaped ? read_hex(p, value, '-', wanted) : wanted;
  if (wrong == NULL && p->n != 16) {
    drop_bytes(p);
    wrong = wanted;
  }
  return wrong;
}

static const char *read_value(struct weir_param *p, const char *value) {
  switch (p->type) {
  case WEIR_T_INT:
    return read_int(p, value);
  case WEIR_T_FLOAT:
    return read_float(p, value);
  case WEIR_T_BOOL:
    return read_bool(p, value);
  case WEIR_T_BYTES:
    return read_bytes(p, value);
  case WEIR_T_UUID:
    return read_uuid(p, value);
  default:
    p->p = value;
    p->n = strlen(value);
    return p->type == WEIR_T_DEC ? check_decimal(value) : NULL;
  }
}

static const char *read_one(struct weir_param *p, const char *text) {
  size_t name = strcspn(text, ":=");
  const char *type = text[name] == ':' ? text + name + 1 : NULL;
  size_t type_len = type == NULL ? 0 : strcspn(type, "=");
  const char *value = strchr(text, '=');
  if (name == 0) {
    return "a name is wanted, as in @id:int=5";
  }
  if (type != NULL && type_len == 0) {
    return "a type is wanted behind the colon, as in @id:int=5";
  }
  p->name = text;
  p->name_len = name;
  p->native_type = type;
  p->native_type_len = type_len;
  if (value == NULL) {
    p->type = WEIR_T_NULL;
    return NULL;
  }
  p->type = type == NULL ? WEIR_T_TEXT : type_of(type, type_len);
  return read_value(p, value + 1);
}

const char *params_add(struct params *params, const char *text, bool out) {
  struct weir_param p = {.struct_size = sizeof p,
                         .flags = out ? WEIR_PARAM_OUT : 0};
  if (params->n == PARAMS_MAX) {
    return "there are 1000 parameters already, and that is the most";
  }
  struct weir_param *at =
      realloc(params->at, (params->n + 1) * sizeof *params->at);
  if (at == NULL) {
    return "there is no memory for it";
  }
  params->at = at;
  const char *wrong = read_one(&p, text);
  if (wrong == NULL) {
    params->at[params->n++] = p;
  }
  return wrong;
}

static bool is_decoded(const struct weir_param *p) {
  return p->type == WEIR_T_BYTES || p->type == WEIR_T_UUID;
}

void params_free(struct params *params) {
  for (uint32_t i = 0; i < params->n; i++) {
    if (is_decoded(&params->at[i])) {
      drop_bytes(&params->at[i]);
    }
  }
  free(params->at);
  *params = (struct params){0};
}
