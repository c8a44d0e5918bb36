/* SPDX-License-Identifier: MIT */
#include "server_flow.h"

#include "server_collation.h"
#include "server_text.h"
#include "server_types.h"

/* From this size on a value is written in pieces, and the size of a piece.  A
 * chunk has many, because clients have been seen (SqlClient) that copy all that
 * they have for each chunk of a value whose length is unknown. */
#define LARGE_BYTES 65536u
#define PIECE_BYTES 8192u
#define CHUNK_BYTES ((size_t)512 * 1024)

/* Up to here the length of a value is told beforehand, as servers do, and a
 * client that loses interest gets all of it; beyond, it is left open. */
#define TOLD_BYTES     ((uint64_t)32 * 1024 * 1024)
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

void tdsd_flow_fini(struct tdsd_flow *flow) {
  tdsd_buf_fini(&flow->chunk);
  *flow = (struct tdsd_flow){.columns = NULL};
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

/* Bytes on the wire of len bytes. */
static uint64_t encoded_len(const struct tdsd_type *type,
                            const char *bytes,
                            size_t len) {
  if (tdsd_kind_is_wide(type->kind)) {
    return 2 * (uint64_t)tdsd_text_units(bytes, len);
  }
  size_t size = len;
  if (tdsd_kind_is_text(type->kind)) {
    (void)tdsd_collation_cut(type->collation, bytes, len, SIZE_MAX, &size);
  }
  return size;
}

static bool is_told(const struct tdsd_type *type,
                    const struct tdsd_value *value) {
  bool narrow = tdsd_kind_is_text(type->kind) && !tdsd_kind_is_wide(type->kind);
  return tdsd_value_total(value) <= TOLD_BYTES &&
         (!narrow || tdsd_collation_is_plain(type->collation));
}

static uint64_t told_length(const struct tdsd_type *type,
                            const struct tdsd_value *value) {
  uint64_t total = tdsd_value_total(value);
  if (!is_told(type, value)) {
    return UNKNOWN_LENGTH;
  }
  return total / value->len * encoded_len(type, value->bytes, value->len) +
         encoded_len(type, value->bytes, (size_t)(total % value->len));
}

/* Encodes the next chunk beforehand, because its length stands in front. */
static void fill_chunk(struct tdsd_flow *flow,
                       const struct tdsd_writer *writer,
                       const struct tdsd_type *type) {
  const struct tdsd_value *value = &flow->values[flow->at];
  uint64_t total = tdsd_value_total(value);
  while (tdsd_buf_len(&flow->chunk) < CHUNK_BYTES && flow->done < total &&
         !flow->chunk.failed) {
    const char *bytes = NULL;
    size_t len =
        next_piece(value, tdsd_kind_is_text(type->kind), flow->done, &bytes);
    (void)tdsd_values_string(&flow->chunk, type, bytes, len);
    flow->done += len;
  }
  writer->reply->failed = writer->reply->failed || flow->chunk.failed;
  tdsd_buf_u32(writer->reply, (uint32_t)tdsd_buf_len(&flow->chunk));
}

static void write_piece(struct tdsd_flow *flow,
                        const struct tdsd_writer *writer,
                        size_t most) {
  size_t len = tdsd_buf_len(&flow->chunk);
  len = len < most ? len : most;
  tdsd_buf_bytes(writer->reply, tdsd_buf_at(&flow->chunk), len);
  tdsd_buf_consume(&flow->chunk, len);
}

static void close_value(struct tdsd_flow *flow,
                        const struct tdsd_writer *writer) {
  tdsd_buf_u32(writer->reply, 0);
  tdsd_buf_fini(&flow->chunk);
  flow->open = false;
  flow->done = 0;
  flow->at++;
}

static void step_large(struct tdsd_flow *flow,
                       const struct tdsd_writer *writer,
                       const struct tdsd_type *type) {
  const struct tdsd_value *value = &flow->values[flow->at];
  if (!flow->open) {
    tdsd_buf_u64(writer->reply, told_length(type, value));
    flow->open = true;
  }
  if (tdsd_buf_len(&flow->chunk) == 0) {
    fill_chunk(flow, writer, type);
  }
  write_piece(flow, writer, PIECE_BYTES);
  if (tdsd_buf_len(&flow->chunk) == 0 &&
      flow->done >= tdsd_value_total(value)) {
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
  tdsd_flow_fini(flow);
  return true;
}

void tdsd_flow_cut(struct tdsd_flow *flow, const struct tdsd_writer *writer) {
  while (flow->columns != NULL) {
    const struct tdsd_type *type =
        flow->at < flow->n ? &flow->columns[flow->at].type : NULL;
    const struct tdsd_value *value = &flow->values[flow->at];
    if (type == NULL || !is_large(writer, type, value)) {
      (void)tdsd_flow_step(flow, writer);
      continue;
    }
    struct tdsd_type to = tdsd_types_for(writer, type);
    if (is_told(&to, value)) {
      step_large(flow, writer, &to);
      continue;
    }
    if (!flow->open) {
      tdsd_buf_u64(writer->reply, UNKNOWN_LENGTH);
    }
    write_piece(flow, writer, SIZE_MAX); /* what the chunk has promised */
    close_value(flow, writer);
  }
}
