/* SPDX-License-Identifier: MIT */
#include "server_flow.h"

#include "server_const.h"
#include "server_types.h"

/* From this size on a value is written in pieces, and the size of a piece. */
#define LARGE_BYTES 65536u
#define PIECE_BYTES 8192u

#define UNKNOWN_LENGTH (UINT64_MAX - 1)

/* text, ntext and image tell their length beforehand; they go in one piece. */
static bool is_large(const struct tdsd_writer *writer,
                     const struct tdsd_type *type,
                     const struct tdsd_value *value) {
  struct tdsd_type to = tdsd_types_for(writer, type);
  return to.kind <= TDSD_NVARCHAR && to.size == TDSD_SIZE_MAX &&
         to.form != TDSD_FORM_OLD && !value->is_null &&
         tdsd_value_total(value) >= LARGE_BYTES;
}

bool tdsd_flow_suits(const struct tdsd_writer *writer,
                     const struct tdsd_column *columns,
                     const struct tdsd_value *values,
                     size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (is_large(writer, &columns[i].type, &values[i])) {
      return true;
    }
  }
  return false;
}

void tdsd_flow_begin(struct tdsd_flow *flow,
                     const struct tdsd_writer *writer,
                     const struct tdsd_column *columns,
                     const struct tdsd_value *values,
                     size_t n) {
  *flow = (struct tdsd_flow){.columns = columns, .values = values, .n = n};
  flow->bitmap = tdsd_write_row_head(writer, values, n);
}

/* The longest run of the value from done on that ends at a character, within the
 * block that repeats. */
static size_t next_piece(const struct tdsd_value *value,
                         bool text,
                         uint64_t done,
                         const char **out_bytes) {
  size_t at = (size_t)(done % value->len);
  uint64_t left = tdsd_value_total(value) - done;
  size_t most = value->len - at;
  most = most < PIECE_BYTES ? most : PIECE_BYTES;
  most = most < left ? most : (size_t)left;
  size_t len = most;
  while (text && len > 1 && at + len < value->len &&
         ((unsigned char)value->bytes[at + len] & 0xC0) == 0x80) {
    len--;
  }
  *out_bytes = value->bytes + at;
  return len;
}

static void write_piece(struct tdsd_flow *flow,
                        const struct tdsd_writer *writer,
                        const struct tdsd_type *type) {
  struct tdsd_buf *reply = writer->reply;
  const struct tdsd_value *value = &flow->values[flow->at];
  const char *bytes = NULL;
  size_t len =
      next_piece(value, tdsd_kind_is_text(type->kind), flow->done, &bytes);
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u32(reply, 0);
  size_t n = tdsd_values_string(reply, type, bytes, len);
  tdsd_buf_put_u32(reply, at, (uint32_t)n);
  flow->done += len;
}

static void close_value(struct tdsd_flow *flow,
                        const struct tdsd_writer *writer) {
  tdsd_buf_u32(writer->reply, 0);
  flow->open = false;
  flow->done = 0;
  flow->at++;
}

static void step_large(struct tdsd_flow *flow,
                       const struct tdsd_writer *writer,
                       const struct tdsd_type *type) {
  const struct tdsd_value *value = &flow->values[flow->at];
  if (!flow->open) {
    tdsd_buf_u64(writer->reply, UNKNOWN_LENGTH);
    flow->open = true;
  }
  write_piece(flow, writer, type);
  if (flow->done >= tdsd_value_total(value)) {
    close_value(flow, writer);
  }
}

bool tdsd_flow_step(struct tdsd_flow *flow, const struct tdsd_writer *writer) {
  while (flow->at < flow->n) {
    const struct tdsd_value *value = &flow->values[flow->at];
    const struct tdsd_type *type = &flow->columns[flow->at].type;
    if (is_large(writer, type, value)) {
      struct tdsd_type to = tdsd_types_for(writer, type);
      step_large(flow, writer, &to);
      return false;
    }
    if (!flow->bitmap || !value->is_null) {
      tdsd_write_value(writer, type, value);
    }
    flow->at++;
  }
  flow->columns = NULL;
  return true;
}

void tdsd_flow_cut(struct tdsd_flow *flow, const struct tdsd_writer *writer) {
  while (flow->columns != NULL) {
    const struct tdsd_value *value =
        flow->at < flow->n ? &flow->values[flow->at] : NULL;
    if (value == NULL ||
        !is_large(writer, &flow->columns[flow->at].type, value)) {
      (void)tdsd_flow_step(flow, writer);
      continue;
    }
    if (!flow->open) {
      tdsd_buf_u64(writer->reply, UNKNOWN_LENGTH);
    }
    close_value(flow, writer);
  }
}
