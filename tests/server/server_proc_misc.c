/* SPDX-License-Identifier: MIT */
/* Procedures that clients call around their work.  There are no tables, so the
 * catalogue has the right columns and no rows. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_proc.h"

#define COLUMNS_MAX 24u

void tdsd_invoke_empty_result(const struct tdsd_invoke *invoke,
                              const char *const *columns,
                              size_t n) {
  struct tdsd_column written[COLUMNS_MAX];
  n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
  for (size_t i = 0; i < n; i++) {
    struct tdsd_type type = {.kind = TDSD_INT, .nullable = true};
    switch (columns[i][0]) {
    case 'n':
      type.kind = TDSD_NVARCHAR;
      type.size = 128;
      break;
    case 'v':
      type.kind = TDSD_VARCHAR;
      type.size = 254;
      break;
    case 's':
      type.kind = TDSD_SMALLINT;
      break;
    default:
      break;
    }
    written[i] = (struct tdsd_column){.name = columns[i] + 2, .type = type};
  }
  tdsd_stream_flush(invoke->stream);
  tdsd_write_columns(&invoke->stream->writer, written, n);
  tdsd_stream_done(invoke->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT, 0);
}

static int run_datatype_info(struct tdsd_invoke *invoke,
                             struct tdsd_fault *fault) {
  static const char *const columns[] = {"n TYPE_NAME",
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
  (void)fault;
  tdsd_invoke_empty_result(invoke, columns, sizeof columns / sizeof columns[0]);
  return 0;
}

static int run_tables(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  static const char *const columns[] = {"n TABLE_QUALIFIER", "n TABLE_OWNER",
                                        "n TABLE_NAME", "v TABLE_TYPE",
                                        "v REMARKS"};
  (void)fault;
  tdsd_invoke_empty_result(invoke, columns, sizeof columns / sizeof columns[0]);
  return 0;
}

static int run_columns(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  static const char *const columns[] = {"n TABLE_QUALIFIER",
                                        "n TABLE_OWNER",
                                        "n TABLE_NAME",
                                        "n COLUMN_NAME",
                                        "s DATA_TYPE",
                                        "n TYPE_NAME",
                                        "i PRECISION",
                                        "i LENGTH",
                                        "s SCALE",
                                        "s RADIX",
                                        "s NULLABLE",
                                        "v REMARKS",
                                        "n COLUMN_DEF",
                                        "s SQL_DATA_TYPE",
                                        "s SQL_DATETIME_SUB",
                                        "i CHAR_OCTET_LENGTH",
                                        "i ORDINAL_POSITION",
                                        "v IS_NULLABLE",
                                        "s SS_DATA_TYPE"};
  (void)fault;
  tdsd_invoke_empty_result(invoke, columns, sizeof columns / sizeof columns[0]);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct tdsd_invoke *invoke, struct tdsd_fault *fault);
} procedures[] = {
    {"sp_datatype_info", run_datatype_info},
    {"sp_datatype_info_90", run_datatype_info},
    {"sp_datatype_info_100", run_datatype_info},
    {"sp_tables", run_tables},
    {"sp_columns", run_columns},
    {"sp_columns_90", run_columns},
    {"sp_columns_100", run_columns},
};

int tdsd_invoke_misc(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  for (size_t i = 0; i < sizeof procedures / sizeof procedures[0]; i++) {
    if (strcasecmp(procedures[i].name, invoke->name) == 0) {
      return procedures[i].run(invoke, fault);
    }
  }
  return 1;
}
