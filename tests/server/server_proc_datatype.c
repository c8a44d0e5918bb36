/* SPDX-License-Identifier: MIT */
/* sp_datatype_info: ODBC drivers ask it how long a type can be and how exact,
 * and cut what they send to that. */
#include <string.h>

#include "server_const.h"
#include "server_proc.h"

enum {
  NAME,
  DATA_TYPE,
  PRECISION,
  PREFIX,
  SUFFIX,
  NULLABLE = 6,
  CASE_SENSITIVE,
  SEARCHABLE,
  LOCAL_NAME = 12,
  MINIMUM_SCALE,
  MAXIMUM_SCALE,
  SQL_TYPE,
  DATETIME_SUB,
  COLUMNS = 20
};

static const char *const columns[COLUMNS] = {"n TYPE_NAME",
                                             "s DATA_TYPE",
                                             "i PRECISION",
                                             "v LITERAL_PREFIX",
                                             "v LITERAL_SUFFIX",
                                             "v CREATE_PARAMS",
                                             "s NULLABLE",
                                             "s CASE_SENSITIVE",
                                             "s SEARCHABLE",
                                             "s UNSIGNED_ATTRIBUTE",
                                             "s MONEY",
                                             "s AUTO_INCREMENT",
                                             "n LOCAL_TYPE_NAME",
                                             "s MINIMUM_SCALE",
                                             "s MAXIMUM_SCALE",
                                             "s SQL_DATA_TYPE",
                                             "s SQL_DATETIME_SUB",
                                             "i NUM_PREC_RADIX",
                                             "s INTERVAL_PRECISION",
                                             "s USERTYPE"};

/* By ODBC's number; among equals the one to use first. */
static const struct kind {
  const char *name;
  int16_t odbc;
  int32_t precision;
  int16_t scale; /* the most; -1 where there is none */
  const char *prefix;
} kinds[] = {
    {"datetimeoffset", -155, 34, 7, "'"},
    {"time", -154, 16, 7, "'"},
    {"uniqueidentifier", -11, 36, -1, "'"},
    {"ntext", -10, 1073741823, -1, "N'"},
    {"nvarchar", -9, 4000, -1, "N'"},
    {"nchar", -8, 4000, -1, "N'"},
    {"bit", -7, 1, 0, NULL},
    {"tinyint", -6, 3, 0, NULL},
    {"bigint", -5, 19, 0, NULL},
    {"image", -4, 2147483647, -1, "0x"},
    {"varbinary", -3, 8000, -1, "0x"},
    {"binary", -2, 8000, -1, "0x"},
    {"text", -1, 2147483647, -1, "'"},
    {"char", 1, 8000, -1, "'"},
    {"numeric", 2, 38, 38, NULL},
    {"decimal", 3, 38, 38, NULL},
    {"money", 3, 19, 4, "$"},
    {"smallmoney", 3, 10, 4, "$"},
    {"int", 4, 10, 0, NULL},
    {"smallint", 5, 5, 0, NULL},
    {"float", 6, 53, -1, NULL},
    {"real", 7, 24, -1, NULL},
    {"varchar", 12, 8000, -1, "'"},
    {"date", 91, 10, -1, "'"},
    {"datetime2", 93, 27, 7, "'"},
    {"datetime", 93, 23, 3, "'"},
    {"smalldatetime", 93, 16, 0, "'"},
};

static void set_text(struct tdsd_value *out, const char *text) {
  out->is_null = text == NULL;
  if (text != NULL) {
    out->bytes = text;
    out->len = strlen(text);
  }
}

static void set_number(struct tdsd_value *out, int32_t number) {
  out->is_null = false;
  out->integer = number;
}

/* The quote that ends a literal; nothing ends 0x and $. */
static const char *suffix_of(const char *prefix) {
  return prefix != NULL && strchr(prefix, '\'') != NULL ? "'" : NULL;
}

static void write_kind(const struct tdsd_writer *writer,
                       const struct tdsd_column *described,
                       const struct kind *kind) {
  struct tdsd_value values[COLUMNS];
  for (size_t i = 0; i < COLUMNS; i++) {
    values[i] = (struct tdsd_value){
        .type = described[i].type, .is_null = true, .bytes = ""};
  }
  bool is_moment = kind->odbc > 90;
  set_text(&values[NAME], kind->name);
  set_number(&values[DATA_TYPE], kind->odbc);
  set_number(&values[PRECISION], kind->precision);
  set_text(&values[PREFIX], kind->prefix);
  set_text(&values[SUFFIX], suffix_of(kind->prefix));
  set_number(&values[NULLABLE], 1);
  set_number(&values[CASE_SENSITIVE], 0);
  set_number(&values[SEARCHABLE], 3);
  set_text(&values[LOCAL_NAME], kind->name);
  set_number(&values[SQL_TYPE], is_moment ? 9 : kind->odbc);
  if (kind->scale >= 0) {
    set_number(&values[MINIMUM_SCALE], 0);
    set_number(&values[MAXIMUM_SCALE], kind->scale);
  }
  if (is_moment) {
    set_number(&values[DATETIME_SUB], kind->odbc - 90);
  }
  tdsd_write_row(writer, described, values, COLUMNS);
}

int tdsd_invoke_datatype_info(struct tdsd_invoke *invoke,
                              struct tdsd_fault *fault) {
  const struct tdsd_variable *asked = tdsd_invoke_arg(invoke, 0, "@data_type");
  int64_t type =
      asked == NULL || asked->value.is_null ? 0 : asked->value.integer;
  struct tdsd_column described[COLUMNS];
  uint64_t rows = 0;
  (void)fault;
  tdsd_invoke_columns(columns, COLUMNS, described);
  tdsd_stream_flush(invoke->stream);
  tdsd_write_columns(&invoke->stream->writer, described, COLUMNS);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (type == 0 || type == kinds[i].odbc) {
      write_kind(&invoke->stream->writer, described, &kinds[i]);
      rows++;
    }
  }
  tdsd_stream_done(invoke->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT, rows);
  return 0;
}
