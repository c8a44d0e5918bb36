/* SPDX-License-Identifier: MIT */
#include "server_reply.h"

#include <string.h>

#include "server_const.h"
#include "server_fedauth.h"

#define USER_TYPE_ROWVERSION 0x50u

const uint8_t tdsd_collation[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};

const char tdsd_version_text[] =
    "Microsoft SQL Server 2022 (RTM) - 16.0.1000.0 (X64), answered by tdsd, "
    "the test server of Weir";

/* Writes the length of what followed it, the two bytes at at excluded. */
static void close_length(struct tdsd_buf *reply, size_t at) {
  tdsd_buf_put_u16(reply, at, (uint32_t)(tdsd_buf_len(reply) - at - 2));
}

/* Leaves room for the length of a token.  Returns its place. */
static size_t open_token(struct tdsd_buf *reply, uint32_t token) {
  tdsd_buf_u8(reply, token);
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u16(reply, 0);
  return at;
}

void tdsd_write_env_text(const struct tdsd_writer *writer,
                         uint32_t type,
                         const char *now,
                         const char *before) {
  size_t at = open_token(writer->reply, TDSD_TOK_ENVCHANGE);
  tdsd_buf_u8(writer->reply, type);
  tdsd_buf_b_varchar(writer->reply, now);
  tdsd_buf_b_varchar(writer->reply, before);
  close_length(writer->reply, at);
}

void tdsd_write_env_bytes(const struct tdsd_writer *writer,
                          uint32_t type,
                          const void *now,
                          size_t now_len,
                          const void *before,
                          size_t before_len) {
  size_t at = open_token(writer->reply, TDSD_TOK_ENVCHANGE);
  tdsd_buf_u8(writer->reply, type);
  tdsd_buf_u8(writer->reply, (uint32_t)now_len);
  tdsd_buf_bytes(writer->reply, now, now_len);
  tdsd_buf_u8(writer->reply, (uint32_t)before_len);
  tdsd_buf_bytes(writer->reply, before, before_len);
  close_length(writer->reply, at);
}

void tdsd_write_message(const struct tdsd_writer *writer,
                        const struct tdsd_fault *fault) {
  struct tdsd_buf *reply = writer->reply;
  uint32_t token = fault->class > 10 ? TDSD_TOK_ERROR : TDSD_TOK_INFO;
  size_t at = open_token(reply, token);
  tdsd_buf_u32(reply, (uint32_t)fault->number);
  tdsd_buf_u8(reply, fault->state);
  tdsd_buf_u8(reply, fault->class);
  tdsd_buf_us_varchar(reply, fault->text);
  tdsd_buf_b_varchar(reply, TDSD_SERVER_NAME);
  tdsd_buf_b_varchar(reply, "");
  if (writer->version == TDSD_V71) {
    tdsd_buf_u16(reply, fault->line);
  } else {
    tdsd_buf_u32(reply, fault->line);
  }
  close_length(reply, at);
}

void tdsd_write_loginack(const struct tdsd_writer *writer) {
  struct tdsd_buf *reply = writer->reply;
  size_t at = open_token(reply, TDSD_TOK_LOGINACK);
  tdsd_buf_u8(reply, 1);
  tdsd_buf_u32be(reply, writer->version);
  tdsd_buf_b_varchar(reply, TDSD_PROGRAM);
  tdsd_buf_u8(reply, 16);
  tdsd_buf_u8(reply, 0);
  tdsd_buf_u16be(reply, 1000);
  close_length(reply, at);
}

void tdsd_write_features(const struct tdsd_writer *writer,
                         const struct tdsd_fedauth *fedauth,
                         bool utf8) {
  struct tdsd_buf *reply = writer->reply;
  if (fedauth == NULL && !utf8) {
    return;
  }
  tdsd_buf_u8(reply, TDSD_TOK_FEATUREEXTACK);
  if (fedauth != NULL) {
    size_t len = fedauth->nonce ? sizeof fedauth->nonce_bytes : 0;
    tdsd_buf_u8(reply, TDSD_FEAT_FEDAUTH);
    tdsd_buf_u32(reply, (uint32_t)len);
    tdsd_buf_bytes(reply, fedauth->nonce_bytes, len);
  }
  if (utf8) {
    tdsd_buf_u8(reply, TDSD_FEAT_UTF8);
    tdsd_buf_u32(reply, 1);
    tdsd_buf_u8(reply, 1);
  }
  tdsd_buf_u8(reply, TDSD_FEAT_END);
}

void tdsd_write_done(const struct tdsd_writer *writer,
                     uint32_t token,
                     uint32_t status,
                     uint32_t command,
                     uint64_t rows) {
  tdsd_buf_u8(writer->reply, token);
  tdsd_buf_u16(writer->reply, status);
  tdsd_buf_u16(writer->reply, command);
  if (writer->version == TDSD_V71) {
    tdsd_buf_u32(writer->reply, (uint32_t)rows);
  } else {
    tdsd_buf_u64(writer->reply, rows);
  }
}

void tdsd_write_return_status(const struct tdsd_writer *writer,
                              int32_t status) {
  tdsd_buf_u8(writer->reply, TDSD_TOK_RETURNSTATUS);
  tdsd_buf_u32(writer->reply, (uint32_t)status);
}

static void write_user_type(const struct tdsd_writer *writer, uint32_t type) {
  if (writer->version == TDSD_V71) {
    tdsd_buf_u16(writer->reply, type);
  } else {
    tdsd_buf_u32(writer->reply, type);
  }
}

/* Before 7.2 the ordinal and the name came the same way, the status, too. */
void tdsd_write_return_value(const struct tdsd_writer *writer,
                             uint32_t ordinal,
                             const struct tdsd_variable *param) {
  struct tdsd_buf *reply = writer->reply;
  struct tdsd_type type = tdsd_variable_type(param);
  type.nullable = true;
  tdsd_buf_u8(reply, TDSD_TOK_RETURNVALUE);
  tdsd_buf_u16(reply, ordinal);
  tdsd_buf_b_varchar(reply, param->name);
  tdsd_buf_u8(reply, 1); /* an output parameter, no function's result */
  write_user_type(writer, 0);
  tdsd_buf_u16(reply, 1); /* nullable */
  tdsd_write_type(writer, &type);
  tdsd_write_value(writer, &type, &param->value);
}

/* A table name that is empty, and since 7.2 has no parts. */
static void write_no_table(const struct tdsd_writer *writer) {
  if (writer->version == TDSD_V71) {
    tdsd_buf_u16(writer->reply, 0);
  } else {
    tdsd_buf_u8(writer->reply, 0);
  }
}

static void write_column(const struct tdsd_writer *writer,
                         const struct tdsd_column *column) {
  struct tdsd_buf *reply = writer->reply;
  bool rowversion = column->type.form == TDSD_FORM_ROWVERSION;
  write_user_type(writer, rowversion ? USER_TYPE_ROWVERSION : 0);
  /* Bit 5: computed, which every column here is. */
  tdsd_buf_u16(reply, 0x20u | (column->type.nullable ? 1u : 0u));
  tdsd_write_type(writer, &column->type);
  if (tdsd_type_is_old_blob(writer, &column->type)) {
    write_no_table(writer);
  }
  tdsd_buf_b_varchar(reply, column->name);
}

void tdsd_write_columns(const struct tdsd_writer *writer,
                        const struct tdsd_column *columns,
                        size_t n) {
  tdsd_buf_u8(writer->reply, TDSD_TOK_COLMETADATA);
  tdsd_buf_u16(writer->reply, (uint32_t)n);
  for (size_t i = 0; i < n; i++) {
    write_column(writer, &columns[i]);
  }
}

static bool has_null(const struct tdsd_value *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (values[i].is_null) {
      return true;
    }
  }
  return false;
}

static void write_null_bitmap(struct tdsd_buf *reply,
                              const struct tdsd_value *values,
                              size_t n) {
  for (size_t byte = 0; byte < (n + 7) / 8; byte++) {
    unsigned bits = 0;
    for (size_t i = 8 * byte; i < n && i < 8 * byte + 8; i++) {
      bits |= values[i].is_null ? 1u << i % 8 : 0u;
    }
    tdsd_buf_u8(reply, bits);
  }
}

static bool knows_nbcrow(uint32_t version) {
  return version == TDSD_V73B || version == TDSD_V74 || version == TDSD_V80;
}

bool tdsd_write_row_head(const struct tdsd_writer *writer,
                         const struct tdsd_value *values,
                         size_t n) {
  bool bitmap = knows_nbcrow(writer->version) && has_null(values, n);
  tdsd_buf_u8(writer->reply, bitmap ? TDSD_TOK_NBCROW : TDSD_TOK_ROW);
  if (bitmap) {
    write_null_bitmap(writer->reply, values, n);
  }
  return bitmap;
}

void tdsd_write_row(const struct tdsd_writer *writer,
                    const struct tdsd_column *columns,
                    const struct tdsd_value *values,
                    size_t n) {
  bool bitmap = tdsd_write_row_head(writer, values, n);
  for (size_t i = 0; i < n; i++) {
    if (!bitmap || !values[i].is_null) {
      tdsd_write_value(writer, &columns[i].type, &values[i]);
    }
  }
}
