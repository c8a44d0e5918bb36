/* SPDX-License-Identifier: MIT */
/* out.h - writing result sets: a table for people, JSON and CSV for programs.
 *
 * Calls come as (begin, rows*, end)* for one writer.  Each answers 0, or -errno
 * when the output cannot be written (-EPIPE: nobody reads it any more),
 * -ENOMEM, or -EPROTO for a cell that is not what its column says; after an
 * error only out_free() may be called. */
#ifndef WEIRCTL_OUT_H
#define WEIRCTL_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weir.h"

/* A column as a writer keeps it. */
struct out_column {
  int32_t type; /* WEIR_T_* */
  char *name;   /* UTF-8; may be empty */
  size_t name_len;
};

struct out;

/* One format.  begin has the columns set; end may be called with no row. */
struct out_format {
  int (*begin)(struct out *out);
  int (*row)(struct out *out, const struct weir_cell *row);
  int (*end)(struct out *out, bool whole);
  void (*fini)(struct out *out);
};

extern const struct out_format out_table;
extern const struct out_format out_json;
extern const struct out_format out_csv;

struct out {
  const struct out_format *format;
  FILE *to;
  size_t max_width; /* table: columns of a cell; 0 = no limit */
  struct out_column *columns;
  uint32_t n_columns;
  uint64_t n_rows; /* of this set so far */
  uint64_t n_sets; /* begun so far */
  void *own;       /* the format's */
};

/* Prepares a writer in the caller's memory. */
void out_init(struct out *out, const struct out_format *format, FILE *to);

/* Frees what the writer holds.  Writes nothing. */
void out_fini(struct out *out);

/* Begins a result set.  Columns stand stride bytes apart and are copied. */
int out_begin(struct out *out,
              const struct weir_column *columns,
              uint32_t n_columns,
              uint32_t stride);

/* Writes n_rows rows of the columns' number of cells.  What the format does not
 * hold back has left this process when it returns. */
int out_rows(struct out *out, const struct weir_cell *cells, uint64_t n_rows);

/* Ends a result set.  A table writes the rows it held back and, if the set came
 * whole, their number. */
int out_end(struct out *out, bool whole);

/* 0, or -errno if writing to the stream has failed. */
int out_check(const struct out *out);

#endif
