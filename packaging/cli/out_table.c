/* SPDX-License-Identifier: MIT */
/* out_table.c - an aligned table.
 *
 *    id | name
 *   ----+--------
 *     1 | zażółć
 *     2 | NULL
 *   (2 rows)
 *
 * Widths come from the rows that are held back until the set ends, or until
 * HOLD_ROWS, HOLD_CELLS or HOLD_BYTES are reached; what follows is written at
 * once with those widths, so that a long result needs little memory.
 * A value longer than its column is written whole and only its line is out of
 * line: nothing is cut unless max_width says so, and then it ends in an
 * ellipsis.
 *
 * Characters that would move the cursor or reorder the line are written as
 * escapes, so that a table is one line per row and data cannot talk to the
 * terminal.  NULL is the bare word; a text that reads NULL is in quotes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "out.h"
#include "text_width.h"
#include "utf8.h"

#define HOLD_ROWS  4096
#define HOLD_CELLS ((size_t)256 << 10)
#define HOLD_BYTES ((size_t)8 << 20)
/* Nothing is padded to more columns than this: one long value would push all
 * other columns out of sight. */
#define PAD_MAX    80

/* A cell that is held back: bytes of table.held. */
struct piece {
  size_t at;
  size_t len;
  size_t width;
};

struct table {
  struct text_buf raw;  /* one value as text, before escapes */
  struct text_buf held; /* the text of all pieces */
  struct piece *pieces; /* row-major */
  size_t n_pieces;
  size_t cap_pieces;
  size_t *widths; /* one per column */
  bool started;   /* the header is written; widths are fixed */
};

static bool reorders_line(uint32_t c) {
  return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029 ||
         c == 0x061C;
}

static void add_visible(struct text_buf *to, uint32_t c) {
  if (c == '\n') {
    text_buf_add_str(to, "\\n");
  } else if (c == '\r') {
    text_buf_add_str(to, "\\r");
  } else if (c == '\t') {
    text_buf_add_str(to, "\\t");
  } else if (c < 0x20 || (c >= 0x7F && c < 0xA0)) {
    text_buf_addf(to, "\\x%02" PRIx32, c);
  } else if (reorders_line(c)) {
    text_buf_addf(to, "\\u%04" PRIx32, c);
  } else {
    text_buf_add_char(to, c);
  }
}

static void add_all_visible(struct text_buf *to, const char *s, size_t len) {
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    at += utf8_next(s + at, len - at, &c);
    add_visible(to, c);
  }
}

/* Cuts held from at on to limit columns, the last being an ellipsis. */
static void cut(struct text_buf *held, size_t at, size_t limit) {
  if (limit == 0 || text_width(held->p + at, held->len - at) <= limit) {
    return;
  }
  held->len = at + text_fit(held->p + at, held->len - at, limit - 1);
  text_buf_add_str(held, "\xE2\x80\xA6");
}

static int push_piece(struct table *table, size_t at) {
  if (table->n_pieces == table->cap_pieces) {
    size_t cap = table->cap_pieces == 0 ? 64 : table->cap_pieces * 2;
    void *p = realloc(table->pieces, cap * sizeof *table->pieces);
    if (p == NULL) {
      return -ENOMEM;
    }
    table->pieces = p;
    table->cap_pieces = cap;
  }
  if (table->held.failed) {
    return -ENOMEM;
  }
  size_t len = table->held.len - at;
  size_t width = len == 0 ? 0 : text_width(table->held.p + at, len);
  table->pieces[table->n_pieces++] = (struct piece){at, len, width};
  return 0;
}

static int hold_text(struct out *out, const char *s, size_t len) {
  struct table *table = out->own;
  size_t at = table->held.len;
  add_all_visible(&table->held, s, len);
  if (!table->held.failed) {
    cut(&table->held, at, out->max_width);
  }
  return push_piece(table, at);
}

static int hold_cell(struct out *out,
                     int32_t type,
                     const struct weir_cell *cell) {
  struct table *table = out->own;
  if (cell_is_null(cell)) {
    return hold_text(out, "NULL", 4);
  }
  text_buf_clear(&table->raw);
  int rc = cell_add_text(&table->raw, type, cell);
  if (rc < 0 || table->raw.failed) {
    return rc < 0 ? rc : -ENOMEM;
  }
  if (table->raw.len == 4 && memcmp(table->raw.p, "NULL", 4) == 0) {
    return hold_text(out, "\"NULL\"", 6);
  }
  return hold_text(out, table->raw.p, table->raw.len);
}

static void put_fill(FILE *to, char c, size_t n) {
  while (n-- > 0) {
    (void)fputc(c, to);
  }
}

/* Writes one piece, padded at the left for numbers.  The last column is not
 * padded at its right: lines do not end in spaces. */
static void put_piece(struct out *out, const struct piece *piece, uint32_t i) {
  struct table *table = out->own;
  size_t width = table->widths[i];
  size_t pad = piece->width < width ? width - piece->width : 0;
  bool right = cell_type_is_number(out->columns[i].type);
  bool last = i + 1 == out->n_columns;
  if (last && piece->len == 0) {
    return;
  }
  put_fill(out->to, ' ', right ? pad + 1 : 1);
  if (piece->len > 0) {
    (void)fwrite(table->held.p + piece->at, 1, piece->len, out->to);
  }
  put_fill(out->to, ' ', right || last ? 0 : pad);
}

static void put_line(struct out *out, const struct piece *pieces) {
  for (uint32_t i = 0; i < out->n_columns; i++) {
    (void)fputs(i == 0 ? "" : " |", out->to);
    put_piece(out, &pieces[i], i);
  }
  (void)fputc('\n', out->to);
}

static void put_rule(struct out *out) {
  struct table *table = out->own;
  for (uint32_t i = 0; i < out->n_columns; i++) {
    (void)fputs(i == 0 ? "" : "+", out->to);
    put_fill(out->to, '-', table->widths[i] + 2);
  }
  (void)fputc('\n', out->to);
}

static void fix_widths(struct out *out) {
  struct table *table = out->own;
  for (size_t i = 0; i < table->n_pieces; i++) {
    size_t width = table->pieces[i].width;
    size_t *widest = &table->widths[i % out->n_columns];
    width = width < PAD_MAX ? width : PAD_MAX;
    *widest = width > *widest ? width : *widest;
  }
}

/* Writes what is held; the first time that is the header and its rule too. */
static int flush_held(struct out *out) {
  struct table *table = out->own;
  size_t stride = out->n_columns;
  if (stride > 0) {
    if (!table->started) {
      fix_widths(out);
    }
    for (size_t i = 0; i < table->n_pieces; i += stride) {
      put_line(out, &table->pieces[i]);
      if (!table->started) {
        put_rule(out);
        table->started = true;
      }
    }
  }
  table->n_pieces = 0;
  text_buf_clear(&table->held);
  return out_check(out);
}

static int begin(struct out *out) {
  if (out->own == NULL) {
    out->own = calloc(1, sizeof(struct table));
    if (out->own == NULL) {
      return -ENOMEM;
    }
  }
  struct table *table = out->own;
  free(table->widths);
  table->widths = calloc(out->n_columns + (size_t)1, sizeof *table->widths);
  if (table->widths == NULL) {
    return -ENOMEM;
  }
  table->started = false;
  table->n_pieces = 0;
  text_buf_clear(&table->held);
  if (out->n_sets > 1) {
    (void)fputc('\n', out->to);
  }
  for (uint32_t i = 0; i < out->n_columns; i++) {
    const struct out_column *column = &out->columns[i];
    bool named = column->name_len > 0;
    int rc = hold_text(out, named ? column->name : "(no name)",
                       named ? column->name_len : 9);
    if (rc < 0) {
      return rc;
    }
  }
  return 0;
}

static int row(struct out *out, const struct weir_cell *cells) {
  struct table *table = out->own;
  for (uint32_t i = 0; i < out->n_columns; i++) {
    int rc = hold_cell(out, out->columns[i].type, &cells[i]);
    if (rc < 0) {
      return rc;
    }
  }
  bool full = table->held.len >= HOLD_BYTES || out->n_rows + 1 >= HOLD_ROWS ||
              table->n_pieces >= HOLD_CELLS;
  return table->started || full ? flush_held(out) : 0;
}

static int end(struct out *out, bool whole) {
  int rc = flush_held(out);
  if (rc == 0 && whole) {
    (void)fprintf(out->to, "(%" PRIu64 " row%s)\n", out->n_rows,
                  out->n_rows == 1 ? "" : "s");
    rc = out_check(out);
  }
  return rc;
}

static void fini(struct out *out) {
  struct table *table = out->own;
  if (table != NULL) {
    text_buf_free(&table->raw);
    text_buf_free(&table->held);
    free(table->pieces);
    free(table->widths);
    free(table);
  }
}

const struct out_format out_table = {begin, row, end, fini};
