/* SPDX-License-Identifier: MIT */
/* out_csv.c - RFC 4180: a header line, CRLF after each line, quotes where they
 * are needed.  NULL is an empty field, the empty text is "".  A result set
 * that is not the first is preceded by an empty line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "out.h"

static void put_quoted(FILE *to, const char *s, size_t len) {
  (void)fputc('"', to);
  for (size_t i = 0; i < len; i++) {
    if (s[i] == '"') {
      (void)fputc('"', to);
    }
    (void)fputc(s[i], to);
  }
  (void)fputc('"', to);
}

static void put_field(FILE *to, const char *s, size_t len) {
  bool quote = len == 0 || s[0] == ' ' || s[len - 1] == ' ';
  for (size_t i = 0; i < len && !quote; i++) {
    quote = s[i] == '\0' || strchr("\",\r\n", s[i]) != NULL;
  }
  if (quote) {
    put_quoted(to, s, len);
  } else {
    (void)fwrite(s, 1, len, to);
  }
}

static int end_line(struct out *out) {
  (void)fputs("\r\n", out->to);
  return out_check(out);
}

static int begin(struct out *out) {
  if (out->own == NULL) {
    out->own = calloc(1, sizeof(struct text_buf));
    if (out->own == NULL) {
      return -ENOMEM;
    }
  }
  if (out->n_sets > 1) {
    (void)fputs("\r\n", out->to);
  }
  for (uint32_t i = 0; i < out->n_columns; i++) {
    if (i > 0) {
      (void)fputc(',', out->to);
    }
    put_field(out->to, out->columns[i].name, out->columns[i].name_len);
  }
  return end_line(out);
}

static int row(struct out *out, const struct weir_cell *cells) {
  struct text_buf *text = out->own;
  for (uint32_t i = 0; i < out->n_columns; i++) {
    if (i > 0) {
      (void)fputc(',', out->to);
    }
    if (cell_is_null(&cells[i])) {
      continue;
    }
    text_buf_clear(text);
    int rc = cell_add_text(text, out->columns[i].type, &cells[i]);
    if (rc < 0 || text->failed) {
      return rc < 0 ? rc : -ENOMEM;
    }
    put_field(out->to, text->p, text->len);
  }
  return end_line(out);
}

static int end(struct out *out, bool whole) {
  (void)whole;
  return out_check(out);
}

static void fini(struct out *out) {
  text_buf_free(out->own);
  free(out->own);
}

const struct out_format out_csv = {begin, row, end, fini};
