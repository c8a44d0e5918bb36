/* SPDX-License-Identifier: MIT */
/* Metadata and rows of scripts: COLMETADATA, ROW, NBCROW, RETURNVALUE and the
 * tokens that go with them. */
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_script_parse.h"

#define TOK_TABNAME     0xA4u
#define TOK_COLINFO     0xA5u
#define TOK_ORDER       0xA9u
#define TOK_RETURNVALUE 0xACu

static void forget_columns(struct tdsd_script_parser *parser) {
  for (uint32_t i = 0; i < parser->ncolumns; i++) {
    tdsd_script_type_fini(&parser->columns[i].type);
  }
  parser->ncolumns = 0;
}

static int make_room(struct tdsd_script_parser *parser) {
  if (parser->ncolumns < parser->rooms) {
    return 0;
  }
  uint32_t rooms = parser->rooms == 0 ? 8 : 2 * parser->rooms;
  if (rooms > TDSD_CAP_COLUMNS) {
    return tdsd_script_error(parser, "expected at most %u columns",
                             TDSD_CAP_COLUMNS);
  }
  struct tdsd_script_column *columns =
      realloc(parser->columns, rooms * sizeof *columns);
  if (columns == NULL) {
    return tdsd_script_error(parser, "no memory for the columns");
  }
  parser->columns = columns;
  parser->rooms = rooms;
  return 0;
}

/* "a.b.c" as a count and US_VARCHARs (MS-TDS 2.2.7.4). */
static void write_table(const struct tdsd_script_parser *parser,
                        const char *name,
                        struct tdsd_buf *out) {
  char part[512];
  uint32_t parts = 1;
  if (parser->layout == TDSD_LAYOUT_71) {
    tdsd_buf_us_varchar(out, name);
    return;
  }
  for (const char *c = name; *c != 0; c++) {
    parts += *c == '.' ? 1 : 0;
  }
  tdsd_buf_u8(out, parts);
  for (uint32_t i = 0; i < parts; i++) {
    size_t len = strcspn(name, ".");
    size_t n = len < sizeof part - 1 ? len : sizeof part - 1;
    memcpy(part, name, n);
    part[n] = 0;
    tdsd_buf_us_varchar(out, part);
    name += name[len] == '.' ? len + 1 : len;
  }
}

/* User type, flags and TYPE_INFO. */
static void write_type(const struct tdsd_script_parser *parser,
                       const struct tdsd_script_column *column,
                       struct tdsd_buf *out) {
  const struct tdsd_buf *info = &column->type.info;
  if (parser->layout == TDSD_LAYOUT_71) {
    tdsd_buf_u16(out, column->usertype);
  } else {
    tdsd_buf_u32(out, column->usertype);
  }
  tdsd_buf_u16(out, column->flags);
  tdsd_buf_bytes(out, tdsd_buf_at(info), tdsd_buf_len(info));
}

static int read_columns(struct tdsd_script_parser *parser,
                        struct tdsd_buf *out) {
  forget_columns(parser);
  if (tdsd_script_accept_word(parser, "none")) {
    tdsd_buf_u8(out, TDSD_TOK_COLMETADATA);
    tdsd_buf_u16(out, 0xFFFF);
    return 0;
  }
  do {
    while (parser->token.lexeme == TDSD_SL_LINE) {
      (void)tdsd_script_next(parser); /* a comma joins lines */
    }
    if (make_room(parser) < 0 ||
        tdsd_script_column_read(parser, &parser->columns[parser->ncolumns]) <
            0) {
      return -1;
    }
    parser->ncolumns++;
  } while (tdsd_script_accept_sign(parser, ','));
  tdsd_buf_u8(out, TDSD_TOK_COLMETADATA);
  tdsd_buf_u16(out, parser->ncolumns);
  for (uint32_t i = 0; i < parser->ncolumns; i++) {
    const struct tdsd_script_column *column = &parser->columns[i];
    write_type(parser, column, out);
    if (column->type.shape == TDSD_SHAPE_BLOB) {
      write_table(parser, column->table, out);
    }
    tdsd_buf_b_varchar(out, column->name);
  }
  return 0;
}

/* One row while it is read. */
struct row {
  struct tdsd_buf cells; /* without the nulls, if they go to the bitmap */
  uint8_t bitmap[TDSD_CAP_COLUMNS / 8];
  bool nulls;
};

/* Reads all values; bitmap: nulls leave no bytes; forced: even those of types
 * that have no null. */
static int read_cells(struct tdsd_script_parser *parser,
                      bool bitmap,
                      bool forced,
                      struct row *row) {
  for (uint32_t i = 0; i < parser->ncolumns; i++) {
    bool is_null = false;
    if (i != 0 && tdsd_script_expect_sign(parser, ',') < 0) {
      return -1;
    }
    while (parser->token.lexeme == TDSD_SL_LINE && i != 0) {
      (void)tdsd_script_next(parser);
    }
    const struct tdsd_script_type *type = &parser->columns[i].type;
    bool plain = !forced && type->shape == TDSD_SHAPE_FIXED;
    if (tdsd_script_value_read(parser, type, bitmap && !plain, &row->cells,
                               &is_null) < 0) {
      return -1;
    }
    if (is_null) {
      row->nulls = true;
      row->bitmap[i / 8] = (uint8_t)(row->bitmap[i / 8] | 1u << i % 8);
    }
  }
  if (tdsd_script_is_sign(parser, ',')) {
    return tdsd_script_error(
        parser, "expected the end of the row behind %u values, found ','",
        (unsigned)parser->ncolumns);
  }
  return 0;
}

/* Which form a row takes is known when its values have been read. */
static int read_row(struct tdsd_script_parser *parser,
                    uint32_t token,
                    struct tdsd_buf *out) {
  struct row row = {.nulls = false};
  if (parser->ncolumns == 0) {
    return tdsd_script_error(parser, "expected columns before a row");
  }
  bool may = parser->layout == TDSD_LAYOUT_73B;
  bool forced = token == TDSD_TOK_NBCROW;
  bool bitmap = forced || (token == 0 && may);
  int rc = read_cells(parser, bitmap, forced, &row);
  if (rc == 0 && token == 0 && bitmap && !row.nulls) {
    bitmap = false;
  }
  if (rc == 0) {
    tdsd_buf_u8(out, bitmap ? TDSD_TOK_NBCROW : TDSD_TOK_ROW);
    if (bitmap) {
      tdsd_buf_bytes(out, row.bitmap, (parser->ncolumns + 7) / 8);
    }
    tdsd_buf_bytes(out, tdsd_buf_at(&row.cells), tdsd_buf_len(&row.cells));
  }
  tdsd_buf_fini(&row.cells);
  return rc;
}

/* returnvalue TYPE [options] "name" = VALUE. */
static int read_return_value(struct tdsd_script_parser *parser,
                             struct tdsd_buf *out) {
  struct tdsd_script_column column;
  bool is_null = false;
  if (tdsd_script_column_read(parser, &column) < 0) {
    return -1;
  }
  tdsd_buf_u8(out, TOK_RETURNVALUE);
  tdsd_buf_u16(out, column.ordinal);
  tdsd_buf_b_varchar(out, column.name);
  tdsd_buf_u8(out, column.status);
  write_type(parser, &column, out);
  int rc = tdsd_script_expect_sign(parser, '=');
  if (rc == 0) {
    rc = tdsd_script_value_read(parser, &column.type, false, out, &is_null);
  }
  tdsd_script_type_fini(&column.type);
  return rc;
}

/* order N, N. */
static int read_order(struct tdsd_script_parser *parser, struct tdsd_buf *out) {
  uint64_t column = 0;
  tdsd_buf_u8(out, TOK_ORDER);
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u16(out, 0);
  do {
    if (tdsd_script_number(parser, 0, 0xFFFF, &column) < 0) {
      return -1;
    }
    tdsd_buf_u16(out, (uint32_t)column);
  } while (tdsd_script_accept_sign(parser, ','));
  tdsd_buf_put_u16(out, at, (uint32_t)(tdsd_buf_len(out) - at - 2));
  return 0;
}

/* tabname "a.b", "c". */
static int read_tabname(struct tdsd_script_parser *parser,
                        struct tdsd_buf *out) {
  const char *name = NULL;
  tdsd_buf_u8(out, TOK_TABNAME);
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u16(out, 0);
  do {
    if (tdsd_script_string(parser, &name) < 0) {
      return -1;
    }
    write_table(parser, name, out);
  } while (tdsd_script_accept_sign(parser, ','));
  tdsd_buf_put_u16(out, at, (uint32_t)(tdsd_buf_len(out) - at - 2));
  return 0;
}

/* colinfo COLUMN TABLE STATUS ["name"], .. */
static int read_colinfo(struct tdsd_script_parser *parser,
                        struct tdsd_buf *out) {
  tdsd_buf_u8(out, TOK_COLINFO);
  size_t at = tdsd_buf_len(out);
  tdsd_buf_u16(out, 0);
  do {
    const char *name = NULL;
    for (int i = 0; i < 3; i++) {
      uint64_t value = 0;
      if (tdsd_script_number(parser, 0, 0xFF, &value) < 0) {
        return -1;
      }
      tdsd_buf_u8(out, (uint32_t)value);
    }
    if (parser->token.lexeme == TDSD_SL_STRING) {
      if (tdsd_script_string(parser, &name) < 0) {
        return -1;
      }
      tdsd_buf_b_varchar(out, name);
    }
  } while (tdsd_script_accept_sign(parser, ','));
  tdsd_buf_put_u16(out, at, (uint32_t)(tdsd_buf_len(out) - at - 2));
  return 0;
}

static int read_as(struct tdsd_script_parser *parser,
                   int which,
                   struct tdsd_buf *out) {
  switch (which) {
  case 0:
    return read_columns(parser, out);
  case 1:
    return read_row(parser, 0, out);
  case 2:
    return read_row(parser, TDSD_TOK_ROW, out);
  case 3:
    return read_row(parser, TDSD_TOK_NBCROW, out);
  case 4:
    return read_return_value(parser, out);
  case 5:
    return read_order(parser, out);
  case 6:
    return read_tabname(parser, out);
  default:
    return read_colinfo(parser, out);
  }
}

int tdsd_script_row_read(struct tdsd_script_parser *parser,
                         struct tdsd_buf *out) {
  static const char *const words[] = {"columns", "row",         "plainrow",
                                      "nbcrow",  "returnvalue", "order",
                                      "tabname", "colinfo"};
  for (int i = 0; i < 8; i++) {
    if (tdsd_script_accept_word(parser, words[i])) {
      return read_as(parser, i, out) < 0 ? -1 : 1;
    }
  }
  return parser->failed ? -1 : 0;
}
