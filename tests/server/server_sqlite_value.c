/* SPDX-License-Identifier: MIT */
/* Values between SQLite and the server.  Exact numbers, dates and GUIDs are kept
 * as text, so that nothing is lost. */
#include <string.h>

#include "server_rewrite.h"
#include "server_sqlite_fn.h"

/* What SQLite says a value is, when nobody declared it. */
static void natural(sqlite3_value *value, struct tdsd_value *out) {
  *out = (struct tdsd_value){.bytes = "", .type = {.nullable = true}};
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    out->type.kind = TDSD_BIGINT;
    out->integer = sqlite3_value_int64(value);
    break;
  case SQLITE_FLOAT:
    out->type.kind = TDSD_FLOAT;
    out->real = sqlite3_value_double(value);
    break;
  case SQLITE_BLOB:
    out->type.kind = TDSD_VARBINARY;
    out->type.size = TDSD_SIZE_MAX;
    out->len = (size_t)sqlite3_value_bytes(value);
    out->bytes = out->len == 0 ? "" : sqlite3_value_blob(value);
    break;
  case SQLITE_TEXT:
    out->type.kind = TDSD_NVARCHAR;
    out->type.size = TDSD_SIZE_MAX;
    out->bytes = (const char *)sqlite3_value_text(value);
    out->len = (size_t)sqlite3_value_bytes(value);
    out->bytes = out->bytes == NULL ? "" : out->bytes;
    break;
  default:
    out->type.kind = TDSD_NVARCHAR;
    out->type.size = 4000;
    out->is_null = true;
    break;
  }
}

/* Whether the natural value is one of the type as it stands. */
static bool stands(const struct tdsd_value *value,
                   const struct tdsd_type *type) {
  switch ((int)value->type.kind) {
  case TDSD_BIGINT:
    return tdsd_kind_is_integer(type->kind);
  case TDSD_FLOAT:
    return type->kind == TDSD_FLOAT || type->kind == TDSD_REAL;
  case TDSD_VARBINARY:
    return type->kind == TDSD_VARBINARY;
  default:
    return type->kind == TDSD_VARCHAR || type->kind == TDSD_NVARCHAR;
  }
}

int tdsd_lite_get(sqlite3_value *value,
                  const struct tdsd_type *type,
                  bool known,
                  struct tdsd_arena *arena,
                  struct tdsd_value *out,
                  struct tdsd_fault *fault) {
  struct tdsd_value in;
  natural(value, &in);
  if (in.is_null) {
    *out = in;
    out->type = known ? *type : in.type;
    return 0;
  }
  if (!known || stands(&in, type)) {
    *out = in;
    out->type = known ? *type : in.type;
    return 0;
  }
  return tdsd_convert(&in, type, 0, arena, out, fault);
}

int tdsd_lite_bind(sqlite3_stmt *stmt,
                   int index,
                   const struct tdsd_value *value) {
  char text[128];
  enum tdsd_kind kind = value->type.kind;
  if (value->is_null) {
    return sqlite3_bind_null(stmt, index);
  }
  if (tdsd_kind_is_integer(kind)) {
    return sqlite3_bind_int64(stmt, index, value->integer);
  }
  if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    return sqlite3_bind_double(stmt, index, value->real);
  }
  if (tdsd_kind_is_text(kind)) {
    return sqlite3_bind_text64(stmt, index, value->bytes, value->len,
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  if (tdsd_kind_is_binary(kind)) {
    return sqlite3_bind_blob64(stmt, index, value->len == 0 ? "" : value->bytes,
                               value->len, SQLITE_TRANSIENT);
  }
  size_t len = tdsd_rw_value_print(value, text, sizeof text);
  return sqlite3_bind_text64(stmt, index, text, len, SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}
