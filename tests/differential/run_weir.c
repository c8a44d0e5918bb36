/* SPDX-License-Identifier: MIT */
/* Runs the statements of a JSON file through libweir and the TDS driver and prints
 * one canonical JSON line for each (README.md says what is in it).
 *
 * usage: run_weir PORT STATEMENTS.json DRIVER_DIR */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

static int die(const char *what, const struct weir_error *err) {
  (void)fprintf(stderr, "run_weir: %s: %s\n", what,
                err == NULL ? "" : err->message);
  return EXIT_FAILURE;
}

static bool is_any(const char *name, size_t len, const char *const *names) {
  for (; *names != NULL; names++) {
    if (strlen(*names) == len && memcmp(*names, name, len) == 0) {
      return true;
    }
  }
  return false;
}

/* A column's type as T-SQL writes it, with "null" behind it. */
static json_t *type_of(const struct weir_column *column) {
  static const char *const texts[] = {
      "char", "varchar", "binary", "varbinary", "nchar", "nvarchar", NULL};
  static const char *const exact[] = {"decimal", "numeric", NULL};
  static const char *const scaled[] = {"time", "datetime2", "datetimeoffset",
                                       NULL};
  const char *name = column->native_type;
  size_t len = column->native_type_len;
  char size[48] = "";
  if (is_any(name, len, texts)) {
    uint64_t n = column->max_bytes / (name[0] == 'n' ? 2 : 1);
    bool max = column->max_bytes == 0 || column->max_bytes >= 65535;
    (void)snprintf(size, sizeof size, max ? "(max)" : "(%" PRIu64 ")", n);
  } else if (is_any(name, len, exact)) {
    (void)snprintf(size, sizeof size, "(%d,%d)", (int)column->precision,
                   (int)column->scale);
  } else if (is_any(name, len, scaled)) {
    (void)snprintf(size, sizeof size, "(%d)", (int)column->scale);
  }
  return json_sprintf("%.*s%s%s", (int)len, name, size,
                      column->nullable == 1 ? " null" : "");
}

static json_t *hex_of(const uint8_t *bytes, uint64_t n) {
  char *text = malloc(2 * n + 3);
  if (text == NULL) {
    return NULL;
  }
  (void)memcpy(text, "0x", 3);
  for (uint64_t i = 0; i < n; i++) {
    (void)snprintf(text + 2 + 2 * i, 3, "%02X", bytes[i]);
  }
  json_t *json = json_string(text);
  free(text);
  return json;
}

static json_t *uuid_of(const uint8_t *b) {
  return json_sprintf("%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-"
                      "%02X%02X%02X%02X%02X%02X",
                      b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
                      b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* ISO 8601 with blanks where T-SQL has them. */
static json_t *time_of(const struct weir_cell *cell) {
  char text[64];
  size_t n = 0;
  const char *from = cell->p;
  for (uint64_t i = 0; i < cell->n && n + 2 < sizeof text; i++) {
    bool zone = i > 10 && (from[i] == '+' || from[i] == '-');
    if (zone) {
      text[n++] = ' ';
    }
    text[n++] = from[i] == 'T' ? ' ' : from[i];
  }
  return json_stringn(text, n);
}

static json_t *value_of(const struct weir_column *column,
                        const struct weir_cell *cell) {
  int64_t integer = 0;
  double real = 0;
  if (cell->p == NULL) {
    return json_null();
  }
  switch (column->type) {
  case WEIR_T_BOOL:
    return json_string(*(const uint8_t *)cell->p != 0 ? "1" : "0");
  case WEIR_T_INT:
    memcpy(&integer, cell->p, sizeof integer);
    return json_sprintf("%" PRId64, integer);
  case WEIR_T_UINT:
    memcpy(&integer, cell->p, sizeof integer);
    return json_sprintf("%" PRIu64, (uint64_t)integer);
  case WEIR_T_FLOAT:
    memcpy(&real, cell->p, sizeof real);
    return json_sprintf("%.17g", real);
  case WEIR_T_BYTES:
    return hex_of(cell->p, cell->n);
  case WEIR_T_UUID:
    return uuid_of(cell->p);
  case WEIR_T_TIME:
    return time_of(cell);
  default:
    return json_stringn(cell->p, cell->n);
  }
}

/* What a statement gave. */
struct gathered {
  json_t *results;
  json_t *counts;
  json_t *messages;
  json_t *rows; /* of the result under way; borrowed */
  const struct weir_column *columns;
  uint32_t stride;
};

static const struct weir_column *column_at(const struct weir_item *item,
                                           uint32_t i) {
  return (const void *)((const char *)item->columns +
                        (size_t)i * item->columns_stride);
}

static void take_meta(struct gathered *to, const struct weir_item *item) {
  json_t *columns = json_array();
  json_t *rows = json_array();
  for (uint32_t i = 0; i < item->n_columns; i++) {
    const struct weir_column *column = column_at(item, i);
    (void)json_array_append_new(
        columns, json_pack("{s:s%,s:o}", "name", column->name,
                           (size_t)column->name_len, "type", type_of(column)));
  }
  (void)json_array_append_new(
      to->results, json_pack("{s:o,s:o}", "columns", columns, "rows", rows));
  to->rows = rows;
  to->columns = item->columns;
  to->stride = item->columns_stride;
}

static void take_rows(struct gathered *to, const struct weir_item *item) {
  for (uint64_t r = 0; r < item->n_rows; r++) {
    json_t *row = json_array();
    for (uint32_t c = 0; c < item->n_columns; c++) {
      const struct weir_column *column =
          (const void *)((const char *)to->columns + (size_t)c * to->stride);
      (void)json_array_append_new(
          row, value_of(column, &item->cells[r * item->n_columns + c]));
    }
    (void)json_array_append_new(to->rows, row);
  }
  (void)weir_rows_free(item->rows);
}

static void take_notice(struct gathered *to, const struct weir_item *item) {
  (void)json_array_append_new(
      to->messages,
      json_pack("{s:i,s:i,s:i,s:s%}", "number", (int)item->native, "class",
                (int)item->severity, "state", (int)item->state, "text",
                item->message, (size_t)item->message_len));
}

/* Most errors were told as messages already; the request's failure repeats one. */
static bool has_message(const json_t *messages, int32_t number) {
  size_t i = 0;
  json_t *message = NULL;
  json_array_foreach(messages, i, message) {
    if (json_integer_value(json_object_get(message, "number")) == number) {
      return true;
    }
  }
  return false;
}

static void take_error(struct gathered *to, const struct weir_error *err) {
  if (err->native != 0 && has_message(to->messages, err->native)) {
    return;
  }
  (void)json_array_append_new(
      to->messages, json_pack("{s:i,s:i,s:i,s:s}", "number", (int)err->native,
                              "class", (int)err->native_severity, "state",
                              (int)err->native_state, "text", err->message));
}

static void read_all(weir_h lease, struct gathered *to) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  for (;;) {
    int32_t rc = weir_next(lease, &item, &err);
    if (rc == WEIR_E_ARG) {
      return; /* behind a failure there are messages only, then this */
    }
    if (rc != WEIR_OK) {
      take_error(to, &err);
      return;
    }
    switch (item.type) {
    case WEIR_ITEM_META:
      take_meta(to, &item);
      break;
    case WEIR_ITEM_ROWS:
      take_rows(to, &item);
      break;
    case WEIR_ITEM_COUNT:
      if (item.row_count != UINT64_MAX) {
        (void)json_array_append_new(to->counts,
                                    json_integer((json_int_t)item.row_count));
      }
      break;
    case WEIR_ITEM_NOTICE:
      take_notice(to, &item);
      break;
    case WEIR_ITEM_DONE:
      return;
    default:
      break;
    }
  }
}

static void run(weir_h lease, const char *id, const char *sql) {
  struct weir_error err = {.struct_size = sizeof err};
  struct gathered to = {.results = json_array(),
                        .counts = json_array(),
                        .messages = json_array()};
  int32_t rc = weir_exec(lease, sql, strlen(sql), NULL, &err);
  if (rc == WEIR_OK) {
    read_all(lease, &to);
  } else {
    struct gathered before = to;
    read_all(lease, &before); /* messages from before the failure */
    take_error(&to, &err);
  }
  json_t *line = json_pack("{s:s,s:o,s:o,s:o}", "id", id, "results", to.results,
                           "counts", to.counts, "messages", to.messages);
  (void)json_dumpf(line, stdout, JSON_COMPACT);
  (void)putchar('\n');
  json_decref(line);
}

static int run_file(weir_h lease, const char *path) {
  json_error_t problem;
  json_t *statements = json_load_file(path, 0, &problem);
  size_t i = 0;
  json_t *statement = NULL;
  if (statements == NULL) {
    (void)fprintf(stderr, "run_weir: %s: %s\n", path, problem.text);
    return EXIT_FAILURE;
  }
  json_array_foreach(statements, i, statement) {
    run(lease, json_string_value(json_object_get(statement, "id")),
        json_string_value(json_object_get(statement, "sql")));
  }
  json_decref(statements);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {.struct_size = sizeof opts};
  char conninfo[256];
  weir_h engine = 0;
  weir_h pool = 0;
  weir_h lease = 0;
  if (argc != 4) {
    (void)fputs("usage: run_weir PORT STATEMENTS.json DRIVER_DIR\n", stderr);
    return 2;
  }
  opts.driver_dirs = argv[3];
  opts.driver_dirs_len = strlen(argv[3]);
  (void)snprintf(conninfo, sizeof conninfo,
                 "Driver=tds;Server=127.0.0.1,%s;User ID=sa;Password=x;"
                 "Encrypt=Optional",
                 argv[1]);
  if (weir_engine_open(&opts, &engine, &err) != WEIR_OK) {
    return die("engine", &err);
  }
  if (weir_pool_open(engine, conninfo, strlen(conninfo), &pool, &err) !=
          WEIR_OK ||
      weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &err) != WEIR_OK) {
    (void)weir_engine_shutdown(engine, 0, NULL);
    return die("connect", &err);
  }
  int status = run_file(lease, argv[2]);
  (void)weir_release(lease);
  (void)weir_engine_shutdown(engine, INT64_C(1000000000), NULL);
  return status;
}
