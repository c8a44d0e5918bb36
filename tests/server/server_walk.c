/* SPDX-License-Identifier: MIT */
#include "server_walk.h"

#include <string.h>

#include "server_buf.h"
#include "server_const.h"

#define COLUMNS_MAX 4096u

/* How values of a column stand in a row. */
enum shape {
  SHAPE_FIXED,
  SHAPE_LEN1,
  SHAPE_LEN2,
  SHAPE_LEN4, /* sql_variant */
  SHAPE_PLP,
  SHAPE_BLOB,
};

struct column {
  uint8_t shape;
  uint8_t width; /* of SHAPE_FIXED */
};

struct walk {
  const uint8_t *bytes;
  size_t len;
  size_t at;
  bool over; /* something was needed that is not there, or not known */
  bool old;  /* TDS 7.1 */
  uint8_t token;
  void (*see)(void *user, const struct tdsd_place *place);
  void *user;
  uint32_t ncolumns;
  struct column columns[COLUMNS_MAX];
};

static void note(struct walk *walk, enum tdsd_field field, uint8_t width) {
  const struct tdsd_place place = {field, walk->token, width, walk->at};
  if (walk->at + width <= walk->len) {
    walk->see(walk->user, &place);
  }
}

static void skip(struct walk *walk, uint64_t n) {
  if (walk->over || n > walk->len - walk->at) {
    walk->over = true;
    return;
  }
  walk->at += (size_t)n;
}

/* Reads a little-endian number of at most 8 bytes. */
static uint64_t number(struct walk *walk, uint8_t width) {
  uint64_t value = 0;
  if (walk->over || width > walk->len - walk->at) {
    walk->over = true;
    return 0;
  }
  for (unsigned i = 0; i < width; i++) {
    value |= (uint64_t)walk->bytes[walk->at + i] << (8 * i);
  }
  walk->at += width;
  return value;
}

static uint64_t noted(struct walk *walk, enum tdsd_field field, uint8_t width) {
  note(walk, field, width);
  return number(walk, width);
}

static void b_varchar(struct walk *walk) {
  skip(walk, 2 * noted(walk, TDSD_FIELD_NAME_LENGTH, 1));
}

static void us_varchar(struct walk *walk, enum tdsd_field field) {
  skip(walk, 2 * noted(walk, field, 2));
}

static uint8_t fixed_width(uint8_t type) {
  switch (type) {
  case 0x30:
  case 0x32:
    return 1;
  case 0x34:
    return 2;
  case 0x38:
  case 0x3B:
  case 0x7A:
  case 0x3A:
    return 4;
  case 0x7F:
  case 0x3E:
  case 0x3C:
  case 0x3D:
    return 8;
  default:
    return 0;
  }
}

/* The table name of text, ntext and image. */
static void table_name(struct walk *walk) {
  uint64_t parts = walk->old ? 1 : number(walk, 1);
  while (parts-- != 0 && !walk->over) {
    us_varchar(walk, TDSD_FIELD_NAME_LENGTH);
  }
}

static void xml_schema(struct walk *walk) {
  if (number(walk, 1) != 0) {
    b_varchar(walk);
    b_varchar(walk);
    us_varchar(walk, TDSD_FIELD_NAME_LENGTH);
  }
}

static void udt_names(struct walk *walk) {
  (void)number(walk, 2);
  b_varchar(walk);
  b_varchar(walk);
  b_varchar(walk);
  us_varchar(walk, TDSD_FIELD_NAME_LENGTH);
}

static void long_type(struct walk *walk, uint8_t type, struct column *out) {
  uint64_t most = noted(walk, TDSD_FIELD_TYPE_LENGTH, 2);
  out->shape = most == 0xFFFF ? SHAPE_PLP : SHAPE_LEN2;
  if (type != 0xA5 && type != 0xAD) {
    skip(walk, 5);
  }
}

static void blob_type(struct walk *walk, uint8_t type, struct column *out) {
  out->shape = SHAPE_BLOB;
  (void)noted(walk, TDSD_FIELD_TYPE_LENGTH, 4);
  skip(walk, type == 0x22 ? 0 : 5);
}

/* Types without a length of their own, and what is unknown, which ends the
 * walk. */
static void fixed_type(struct walk *walk, uint8_t type, struct column *out) {
  out->shape = SHAPE_FIXED;
  out->width = fixed_width(type);
  walk->over = walk->over || (out->width == 0 && type != 0x1F);
}

/* TYPE_INFO of xml, UDT, JSON and vector. */
static void newer_type(struct walk *walk, uint8_t type, struct column *out) {
  out->shape = type == 0xF5 ? SHAPE_LEN2 : SHAPE_PLP;
  if (type == 0xF1) {
    xml_schema(walk);
  } else if (type == 0xF0) {
    udt_names(walk);
  } else if (type == 0xF5) {
    skip(walk, 3);
  }
}

/* TYPE_INFO. */
static uint8_t type_info(struct walk *walk, struct column *out) {
  uint8_t type = (uint8_t)noted(walk, TDSD_FIELD_TYPE, 1);
  *out = (struct column){SHAPE_LEN1, 0};
  switch (type) {
  case 0x24:
  case 0x26:
  case 0x68:
  case 0x6D:
  case 0x6E:
  case 0x6F:
  case 0x25:
  case 0x27:
  case 0x2D:
  case 0x2F:
    (void)noted(walk, TDSD_FIELD_TYPE_LENGTH, 1);
    break;
  case 0x6A:
  case 0x6C:
  case 0x37:
  case 0x3F:
    (void)noted(walk, TDSD_FIELD_TYPE_LENGTH, 1);
    skip(walk, 2);
    break;
  case 0x28:
    break;
  case 0x29:
  case 0x2A:
  case 0x2B:
    skip(walk, 1);
    break;
  case 0xA7:
  case 0xAF:
  case 0xE7:
  case 0xEF:
  case 0xA5:
  case 0xAD:
    long_type(walk, type, out);
    break;
  case 0x22:
  case 0x23:
  case 0x63:
    blob_type(walk, type, out);
    break;
  case 0x62:
    out->shape = SHAPE_LEN4;
    (void)noted(walk, TDSD_FIELD_TYPE_LENGTH, 4);
    break;
  case 0xF0:
  case 0xF1:
  case 0xF4:
  case 0xF5:
    newer_type(walk, type, out);
    break;
  default:
    fixed_type(walk, type, out);
    break;
  }
  return type;
}

static void plp(struct walk *walk) {
  uint64_t chunk = 0;
  if (noted(walk, TDSD_FIELD_PLP_TOTAL, 8) == UINT64_MAX) {
    return;
  }
  do {
    chunk = noted(walk, TDSD_FIELD_PLP_CHUNK, 4);
    skip(walk, chunk);
  } while (chunk != 0 && !walk->over);
}

static void value(struct walk *walk, const struct column *column) {
  uint64_t n = 0;
  switch ((enum shape)column->shape) {
  case SHAPE_FIXED:
    skip(walk, column->width);
    break;
  case SHAPE_LEN1:
    skip(walk, noted(walk, TDSD_FIELD_VALUE_LENGTH, 1));
    break;
  case SHAPE_LEN2:
    n = noted(walk, TDSD_FIELD_VALUE_LENGTH, 2);
    skip(walk, n == 0xFFFF ? 0 : n);
    break;
  case SHAPE_LEN4:
    skip(walk, noted(walk, TDSD_FIELD_VALUE_LENGTH, 4));
    break;
  case SHAPE_PLP:
    plp(walk);
    break;
  case SHAPE_BLOB:
  default:
    n = number(walk, 1);
    if (n != 0) {
      skip(walk, n + 8);
      skip(walk, noted(walk, TDSD_FIELD_VALUE_LENGTH, 4));
    }
    break;
  }
}

static void user_type_and_flags(struct walk *walk) {
  skip(walk, walk->old ? 4 : 6);
}

static void columns(struct walk *walk) {
  uint64_t n = noted(walk, TDSD_FIELD_COLUMN_COUNT, 2);
  walk->ncolumns = n == 0xFFFF ? 0 : (uint32_t)n;
  if (walk->ncolumns > COLUMNS_MAX) {
    walk->over = true;
    return;
  }
  for (uint32_t i = 0; i < walk->ncolumns && !walk->over; i++) {
    user_type_and_flags(walk);
    uint8_t type = type_info(walk, &walk->columns[i]);
    if (type == 0x22 || type == 0x23 || type == 0x63) {
      table_name(walk);
    }
    b_varchar(walk);
  }
}

static void row(struct walk *walk, bool bitmap) {
  size_t bits = walk->at;
  if (bitmap) {
    skip(walk, (walk->ncolumns + 7) / 8);
  }
  for (uint32_t i = 0; i < walk->ncolumns && !walk->over; i++) {
    bool null = bitmap && (walk->bytes[bits + i / 8] & 1u << i % 8) != 0;
    if (!null) {
      value(walk, &walk->columns[i]);
    }
  }
}

static void return_value(struct walk *walk) {
  struct column column;
  skip(walk, 2);
  b_varchar(walk);
  skip(walk, 1);
  user_type_and_flags(walk);
  (void)type_info(walk, &column);
  value(walk, &column);
}

static void message(struct walk *walk) {
  uint64_t n = noted(walk, TDSD_FIELD_TOKEN_LENGTH, 2);
  size_t end = walk->at + (size_t)n;
  skip(walk, 6);
  us_varchar(walk, TDSD_FIELD_TEXT_LENGTH);
  b_varchar(walk);
  b_varchar(walk);
  skip(walk, end > walk->at ? end - walk->at : 0);
}

static void env(struct walk *walk) {
  uint64_t n = noted(walk, TDSD_FIELD_TOKEN_LENGTH, 2);
  if (n != 0) {
    note(walk, TDSD_FIELD_ENV_TYPE, 1);
    walk->at++;
    if (n > 1) {
      note(walk, TDSD_FIELD_ENV_LENGTH, 1);
    }
    walk->at--;
  }
  skip(walk, n);
}

static void features(struct walk *walk) {
  while (!walk->over) {
    note(walk, TDSD_FIELD_FEATURE_ID, 1);
    if (number(walk, 1) == TDSD_FEAT_END) {
      return;
    }
    skip(walk, noted(walk, TDSD_FIELD_FEATURE_LENGTH, 4));
  }
}

static void done(struct walk *walk) {
  note(walk, TDSD_FIELD_DONE_STATUS, 2);
  skip(walk, 4);
  (void)noted(walk, TDSD_FIELD_DONE_ROWS, walk->old ? 4 : 8);
}

/* One token behind its first byte. */
static void body(struct walk *walk) {
  switch (walk->token) {
  case TDSD_TOK_COLMETADATA:
    columns(walk);
    break;
  case TDSD_TOK_ROW:
  case TDSD_TOK_NBCROW:
    row(walk, walk->token == TDSD_TOK_NBCROW);
    break;
  case 0xAC:
    return_value(walk);
    break;
  case TDSD_TOK_RETURNSTATUS:
    skip(walk, 4);
    break;
  case TDSD_TOK_ERROR:
  case TDSD_TOK_INFO:
    message(walk);
    break;
  case TDSD_TOK_ENVCHANGE:
    env(walk);
    break;
  case TDSD_TOK_FEATUREEXTACK:
    features(walk);
    break;
  case TDSD_TOK_DONE:
  case 0xFE:
  case 0xFF:
    done(walk);
    break;
  case 0xA4: /* TABNAME */
  case 0xA5: /* COLINFO */
  case 0xA9: /* ORDER */
  case TDSD_TOK_LOGINACK:
  case 0xED: /* SSPI */
    skip(walk, noted(walk, TDSD_FIELD_TOKEN_LENGTH, 2));
    break;
  case 0xE4: /* SESSIONSTATE */
  case 0xEE: /* FEDAUTHINFO */
    skip(walk, noted(walk, TDSD_FIELD_TOKEN_LENGTH, 4));
    break;
  default:
    walk->over = true;
    break;
  }
}

size_t tdsd_walk(const uint8_t *tokens,
                 size_t len,
                 uint32_t version,
                 void (*see)(void *user, const struct tdsd_place *place),
                 void *user) {
  struct walk walk = {.bytes = tokens,
                      .len = len,
                      .old = version == TDSD_V71,
                      .see = see,
                      .user = user};
  size_t known = 0;
  while (walk.at < len && !walk.over) {
    walk.token = tokens[walk.at];
    note(&walk, TDSD_FIELD_TOKEN, 1);
    walk.at++;
    body(&walk);
    known = walk.over ? known : walk.at;
  }
  return known;
}

static const char *const names[TDSD_FIELDS] = {
    "token",       "token-length",   "column-count", "type",
    "type-length", "name-length",    "text-length",  "value-length",
    "plp-total",   "plp-chunk",      "env-type",     "env-length",
    "feature-id",  "feature-length", "done-status",  "done-rows",
};

const char *tdsd_field_name(enum tdsd_field field) {
  return names[field];
}

enum tdsd_field tdsd_field_find(const char *name) {
  unsigned i = 0;
  while (i < TDSD_FIELDS && strcmp(names[i], name) != 0) {
    i++;
  }
  return (enum tdsd_field)i;
}
