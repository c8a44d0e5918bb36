/* SPDX-License-Identifier: MIT */
/* out_json.c - one JSON object per row and line, whatever set it belongs to.
 *
 * A JSON object should not have a name twice and readers differ on which value
 * they keep, so that names are made distinct: a column without a name becomes
 * column_N, N being its place from 1, and a name that is taken gets _2, _3 ...
 * until it is free, from left to right.  A name made up is never one that another
 * column has by itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "out.h"

struct json {
  struct text_buf line;
  struct text_buf *keys; /* "name": with quotes and colon, one per column */
  uint32_t n_keys;
};

static bool is_taken(const struct json *json, const struct text_buf *key) {
  for (uint32_t i = 0; i < json->n_keys; i++) {
    const struct text_buf *other = &json->keys[i];
    if (other->len == key->len && memcmp(other->p, key->p, key->len) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_real(const struct out *out, const struct text_buf *name) {
  for (uint32_t i = 0; i < out->n_columns; i++) {
    const struct out_column *column = &out->columns[i];
    if (column->name_len == name->len &&
        memcmp(column->name, name->p, name->len) == 0) {
      return true;
    }
  }
  return false;
}

/* Makes the name of a column; suffix 1 is none.  Returns whether it is the
 * column's own. */
static bool make_name(struct text_buf *name,
                      const struct out_column *column,
                      uint32_t place,
                      uint32_t suffix) {
  if (column->name_len == 0) {
    text_buf_addf(name, "column_%u", place);
  } else {
    text_buf_add(name, column->name, column->name_len);
  }
  if (suffix > 1) {
    text_buf_addf(name, "_%u", suffix);
  }
  return suffix == 1 && column->name_len > 0;
}

/* Writes the key for a column.  Returns false if it would be another column's
 * name. */
static bool write_key(struct text_buf *key,
                      const struct out *out,
                      uint32_t i,
                      uint32_t suffix) {
  struct text_buf name = {0};
  bool own = make_name(&name, &out->columns[i], i + 1, suffix);
  bool failed = name.failed;
  bool fine = own || failed || !is_real(out, &name);
  text_buf_clear(key);
  if (!failed) {
    cell_add_json_string(key, name.p, name.len);
    text_buf_add_str(key, ":");
  }
  key->failed = key->failed || failed;
  text_buf_free(&name);
  return fine;
}

static void free_keys(struct json *json) {
  for (uint32_t i = 0; i < json->n_keys; i++) {
    text_buf_free(&json->keys[i]);
  }
  free(json->keys);
  json->keys = NULL;
  json->n_keys = 0;
}

/* The suffix to try first: columns with the same name come with 1, 2, 3 ...,
 * so that thousands of them do not try every number each. */
static uint32_t first_suffix(const struct out *out, uint32_t column) {
  const struct out_column *me = &out->columns[column];
  uint32_t suffix = 1;
  for (uint32_t i = 0; i < column; i++) {
    const struct out_column *other = &out->columns[i];
    bool same = me->name_len > 0 && other->name_len == me->name_len &&
                memcmp(other->name, me->name, me->name_len) == 0;
    suffix += same ? 1 : 0;
  }
  return suffix;
}

static int make_keys(struct json *json, const struct out *out) {
  free_keys(json);
  json->keys = calloc(out->n_columns + (size_t)1, sizeof *json->keys);
  if (json->keys == NULL) {
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < out->n_columns; i++) {
    struct text_buf *key = &json->keys[i];
    uint32_t suffix = first_suffix(out, i);
    while (!key->failed &&
           (!write_key(key, out, i, suffix) || is_taken(json, key))) {
      suffix++;
    }
    json->n_keys = i + 1;
    if (key->failed) {
      return -ENOMEM;
    }
  }
  return 0;
}

static int begin(struct out *out) {
  if (out->own == NULL) {
    out->own = calloc(1, sizeof(struct json));
    if (out->own == NULL) {
      return -ENOMEM;
    }
  }
  return make_keys(out->own, out);
}

static int row(struct out *out, const struct weir_cell *cells) {
  struct json *json = out->own;
  struct text_buf *line = &json->line;
  text_buf_clear(line);
  text_buf_add_str(line, "{");
  for (uint32_t i = 0; i < out->n_columns; i++) {
    if (i > 0) {
      text_buf_add_str(line, ",");
    }
    text_buf_add(line, json->keys[i].p, json->keys[i].len);
    int rc = cell_add_json(line, out->columns[i].type, &cells[i]);
    if (rc < 0) {
      return rc;
    }
  }
  text_buf_add_str(line, "}\n");
  if (line->failed) {
    return -ENOMEM;
  }
  (void)fwrite(line->p, 1, line->len, out->to);
  return out_check(out);
}

static int end(struct out *out, bool whole) {
  (void)whole;
  return out_check(out);
}

static void fini(struct out *out) {
  struct json *json = out->own;
  if (json != NULL) {
    free_keys(json);
    text_buf_free(&json->line);
    free(json);
  }
}

const struct out_format out_json = {begin, row, end, fini};
