/* SPDX-License-Identifier: MIT */
/* tds_row.c - ROW, NBCROW and values (MS-TDS 2.2.7.17, 2.2.7.14, 2.2.5.2).
 *
 * Scalars are gathered and converted; long values flow into a block of the
 * sink, which grows by doubling and never by what the server announces. */
#include <string.h>

#include "weir_driver.h"

#include "tds_decode.h"
#include "tds_limits.h"
#include "tds_value.h"
#include "tds_variant.h"

#define SHORT_NULL 0xFFFFu
#define PLP_NULL   UINT64_MAX
#define PLP_UNSAID (UINT64_MAX - 1)

static const struct tds_sink *sink_of(const struct tds_decoder *d) {
  return d->returning ? d->value_sink : d->sink;
}

static int no_memory(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_NOMEM, "out of memory for a row");
}

static int too_long(struct tds_decoder *d, uint64_t n) {
  const struct tds_column *c = tds_decode_column(d);
  return tds_decode_bad(
      d, TDS_E_PROTO, "column %u: a value of %llu bytes in a %s of %u",
      d->column + 1, (unsigned long long)n, c->type.rule->name, c->type.max);
}

/* On to the next column, or the row is whole. */
static int end_value(struct tds_decoder *d) {
  if (d->returning) {
    d->returning = false;
    return tds_decode_event(d, TDS_EV_VALUE);
  }
  d->column++;
  if (d->column == d->n_columns) {
    return tds_decode_event(d, TDS_EV_ROW);
  }
  return tds_decode_go(d, TDS_S_VALUE, 0);
}

static int end_null(struct tds_decoder *d) {
  const struct tds_sink *sink = sink_of(d);
  if (sink != NULL && sink->cell(sink->ctx, NULL, 0) != 0) {
    return no_memory(d);
  }
  return end_value(d);
}

/* ------------------------------------------------------------------- rows */

int tds_row_start(struct tds_decoder *d, bool bitmap) {
  if (d->n_columns == 0) {
    return tds_decode_bad(d, TDS_E_PROTO, "a row without columns");
  }
  d->returning = false;
  d->column = 0;
  memset(d->bitmap, 0, (d->n_columns + 7) / 8);
  if (bitmap) {
    return tds_decode_go(d, TDS_S_BITMAP, (d->n_columns + 7) / 8);
  }
  return tds_decode_go(d, TDS_S_VALUE, 0);
}

int tds_row_start_return(struct tds_decoder *d) {
  return tds_decode_go(d, TDS_S_VALUE, 0);
}

int tds_row_bitmap(struct tds_decoder *d, const uint8_t *p) {
  memcpy(d->bitmap, p, d->want);
  return tds_decode_go(d, TDS_S_VALUE, 0);
}

static bool is_null_by_bitmap(const struct tds_decoder *d) {
  return !d->returning &&
         (d->bitmap[d->column / 8] >> (d->column % 8) & 1) != 0;
}

int tds_row_value(struct tds_decoder *d, const uint8_t *p) {
  const struct tds_column *c = tds_decode_column(d);
  (void)p;
  if (is_null_by_bitmap(d)) {
    return end_null(d);
  }
  switch (c->type.shape) {
  case TDS_SHAPE_FIXED:
    return c->type.max == 0 ? end_null(d)
                            : tds_decode_go(d, TDS_S_FIXED, c->type.max);
  case TDS_SHAPE_BYTELEN:
    return tds_decode_go(d, TDS_S_LEN1, 1);
  case TDS_SHAPE_SHORT:
    return tds_decode_go(d, TDS_S_LEN2, 2);
  case TDS_SHAPE_VECTOR:
    return tds_decode_go(d, TDS_S_LEN2, 2);
  case TDS_SHAPE_PLP:
    return tds_decode_go(d, TDS_S_PLP, 8);
  case TDS_SHAPE_VARIANT:
    return tds_decode_go(d, TDS_S_VARLEN, 4);
  default:
    return tds_decode_go(d, TDS_S_POINTER, 1);
  }
}

/* ---------------------------------------------------------------- scalars */

int tds_row_len1(struct tds_decoder *d, const uint8_t *p) {
  if (*p == 0) {
    return end_null(d);
  }
  if (*p > tds_decode_column(d)->type.max) {
    return too_long(d, *p);
  }
  return tds_decode_go(d, TDS_S_FIXED, *p);
}

int tds_row_fixed(struct tds_decoder *d, const uint8_t *p) {
  const struct tds_column *c = tds_decode_column(d);
  const struct tds_sink *sink = sink_of(d);
  uint8_t cell[TDS_CELL_MAX];
  size_t n = 0;
  if (tds_value_cell(&c->type, p, d->want, cell, &n) != TDS_OK) {
    return tds_decode_bad(d, TDS_E_PROTO, "column %u: not a value of %s",
                          d->column + 1, tds_value_type_name(&c->type));
  }
  if (sink == NULL) {
    return end_value(d);
  }
  uint8_t *block = sink->space(sink->ctx, n);
  if (block == NULL) {
    return no_memory(d);
  }
  memcpy(block, cell, n);
  if (sink->cell(sink->ctx, block, n) != 0) {
    return no_memory(d);
  }
  return end_value(d);
}

/* ------------------------------------------------------ values read whole */

int tds_row_varlen(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u32(p);
  if (n == 0) {
    return end_null(d);
  }
  if (n > tds_decode_column(d)->type.max) {
    return too_long(d, n);
  }
  return tds_decode_go(d, TDS_S_WHOLE, n);
}

static int no_value(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_PROTO, "column %u: not a value of %s",
                        d->column + 1,
                        tds_value_type_name(&tds_decode_column(d)->type));
}

/* Hands the cell over that was written into a block of the sink. */
static int end_whole(struct tds_decoder *d,
                     int rc,
                     const uint8_t *block,
                     size_t n) {
  const struct tds_sink *sink = sink_of(d);
  if (rc != TDS_OK) {
    return rc == TDS_E_UNSUPPORTED
               ? tds_decode_bad(d, rc,
                                "column %u: the elements of a vector are of a "
                                "kind that is not supported",
                                d->column + 1)
               : no_value(d);
  }
  return sink->cell(sink->ctx, block, n) != 0 ? no_memory(d) : end_value(d);
}

static int take_vector(struct tds_decoder *d, const uint8_t *p) {
  const struct tds_sink *sink = sink_of(d);
  size_t n = 0;
  if (sink == NULL) {
    return end_value(d);
  }
  uint8_t *block = sink->space(sink->ctx, tds_vector_bound(d->want));
  if (block == NULL) {
    return no_memory(d);
  }
  int rc = tds_vector_text(p, d->want, block, &n);
  return end_whole(d, rc, block, n);
}

static int take_variant(struct tds_decoder *d, const uint8_t *p) {
  const struct tds_sink *sink = sink_of(d);
  struct tds_variant v;
  uint8_t code = 0;
  size_t n = 0;
  int rc = tds_variant_read(&v, p, d->want, &code);
  if (rc == TDS_E_UNSUPPORTED) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "column %u: a sql_variant of type 0x%02X",
                          d->column + 1, code);
  }
  if (rc != TDS_OK) {
    return no_value(d);
  }
  if (sink == NULL) {
    return end_value(d);
  }
  uint8_t *block = sink->space(sink->ctx, tds_variant_bound(&v));
  if (block == NULL) {
    return no_memory(d);
  }
  rc = tds_variant_text(&v, block, &n);
  return end_whole(d, rc, block, n);
}

int tds_row_whole(struct tds_decoder *d, const uint8_t *p) {
  return tds_decode_column(d)->type.shape == TDS_SHAPE_VECTOR
             ? take_vector(d, p)
             : take_variant(d, p);
}

/* ------------------------------------------------------------- long values */

/* Makes room for extra bytes in the cell's block.  The first block has room for
 * what is still to come as well, as far as that is believed. */
static int room(struct tds_decoder *d, size_t extra) {
  const struct tds_sink *sink = sink_of(d);
  if (d->cell != NULL && d->cell_cap - d->cell_n >= extra) {
    return TDS_OK;
  }
  size_t more = d->left < TDS_VALUE_FIRST ? (size_t)d->left : TDS_VALUE_FIRST;
  size_t cap = d->cell == NULL ? extra + more : d->cell_cap * 2;
  if (cap < d->cell_n + extra) {
    cap = d->cell_n + extra;
  }
  if (d->cell_n + extra > TDS_VALUE_MAX) {
    return tds_decode_bad(d, TDS_E_UNSUPPORTED,
                          "column %u: a value of more than %u bytes",
                          d->column + 1, TDS_VALUE_MAX);
  }
  cap = cap == 0 ? 1 : cap;
  void *block = d->cell == NULL
                    ? sink->space(sink->ctx, cap)
                    : sink->grow(sink->ctx, d->cell, d->cell_cap, cap);
  if (block == NULL) {
    return no_memory(d);
  }
  d->cell = block;
  d->cell_cap = cap;
  return TDS_OK;
}

/* xml begins with a byte order mark, which means nothing once it is UTF-8. */
static void begin_cell(struct tds_decoder *d) {
  const struct tds_type *type = &tds_decode_column(d)->type;
  memset(&d->text_state, 0, sizeof d->text_state);
  d->text_state.charset = type->charset;
  d->text_state.mark = type->rule->extra == TDS_EXTRA_XML;
  d->cell = NULL;
  d->cell_n = 0;
  d->cell_cap = 0;
  d->left = 0;
}

static int end_cell(struct tds_decoder *d) {
  const struct tds_sink *sink = sink_of(d);
  if (sink == NULL) {
    return end_value(d);
  }
  uint8_t tail[TDS_TEXT_BOUND(0)];
  size_t n = tds_text_finish(&d->text_state, tail);
  int rc = room(d, n);
  if (rc != TDS_OK) {
    return rc;
  }
  memcpy(d->cell + d->cell_n, tail, n);
  if (sink->cell(sink->ctx, d->cell, d->cell_n + n) != 0) {
    return no_memory(d);
  }
  d->cell = NULL;
  return end_value(d);
}

static int add_bytes(struct tds_decoder *d, const uint8_t *p, size_t n) {
  if (sink_of(d) == NULL || n == 0) {
    return TDS_OK;
  }
  int rc = room(d, tds_text_size(&d->text_state, p, n));
  if (rc == TDS_OK) {
    d->cell_n += tds_text_push(&d->text_state, p, n, d->cell + d->cell_n);
  }
  return rc;
}

/* The value, or the chunk of one, has been read. */
static int end_stream(struct tds_decoder *d) {
  if (tds_decode_column(d)->type.shape == TDS_SHAPE_PLP) {
    return tds_decode_go(d, TDS_S_CHUNK, 4);
  }
  return end_cell(d);
}

int tds_row_stream(struct tds_decoder *d, struct tds_span *in) {
  size_t n = in->n < d->left ? in->n : (size_t)d->left;
  const uint8_t *p = tds_take(in, n);
  d->at += n;
  d->left -= n;
  int rc = add_bytes(d, p, n);
  if (rc != TDS_OK) {
    return rc;
  }
  return d->left > 0 ? TDS_MORE : end_stream(d);
}

static int start_stream(struct tds_decoder *d, uint64_t n) {
  begin_cell(d);
  d->left = n;
  return n == 0 ? end_cell(d) : tds_decode_go(d, TDS_S_STREAM, 0);
}

int tds_row_len2(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u16(p);
  if (n == SHORT_NULL) {
    return end_null(d);
  }
  if (n > tds_decode_column(d)->type.max) {
    return too_long(d, n);
  }
  if (tds_decode_column(d)->type.shape == TDS_SHAPE_VECTOR) {
    return tds_decode_go(d, TDS_S_WHOLE, n);
  }
  return start_stream(d, n);
}

int tds_row_plp(struct tds_decoder *d, const uint8_t *p) {
  uint64_t total = tds_u64(p);
  if (total == PLP_NULL) {
    return end_null(d);
  }
  if (total != PLP_UNSAID && total > TDS_VALUE_MAX) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "column %u: a value that announces %llu bytes",
                          d->column + 1, (unsigned long long)total);
  }
  d->total = total;
  d->seen = 0;
  begin_cell(d);
  return tds_decode_go(d, TDS_S_CHUNK, 4);
}

int tds_row_chunk(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u32(p);
  if (n == 0) {
    if (d->total != PLP_UNSAID && d->seen != d->total) {
      return tds_decode_bad(d, TDS_E_PROTO,
                            "column %u: %llu bytes came of %llu announced",
                            d->column + 1, (unsigned long long)d->seen,
                            (unsigned long long)d->total);
    }
    return end_cell(d);
  }
  d->seen += n;
  if (d->seen > (d->total == PLP_UNSAID ? TDS_VALUE_MAX : d->total)) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "column %u: chunks exceed the value's length",
                          d->column + 1);
  }
  d->left = n;
  return tds_decode_go(d, TDS_S_STREAM, 0);
}

/* text, ntext, image: a pointer and an 8-byte stamp come first. */
int tds_row_pointer(struct tds_decoder *d, const uint8_t *p) {
  if (*p == 0) {
    return end_null(d);
  }
  return tds_decode_skip(d, *p + UINT64_C(8), TDS_S_LEN4, 4);
}

int tds_row_len4(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u32(p);
  if (n > TDS_VALUE_MAX || n > tds_decode_column(d)->type.max) {
    return too_long(d, n);
  }
  return start_stream(d, n);
}
