/* SPDX-License-Identifier: MIT */
/* A row that is written piece by piece, because a value in it is large: others
 * have their turn between two pieces, and memory stays flat. */
#ifndef TDSD_SERVER_FLOW_H
#define TDSD_SERVER_FLOW_H

#include "server_reply.h"

/* Zeroed is at rest.  Columns and values live until the row is over. */
struct tdsd_flow {
  const struct tdsd_column *columns; /* NULL = at rest */
  const struct tdsd_value *values;
  size_t n;
  bool bitmap;
  size_t at;             /* the value at hand */
  bool open;             /* its head is written */
  uint64_t done;         /* bytes of it, as UTF-8 or binary, that are encoded */
  struct tdsd_buf chunk; /* encoded and announced, not yet written */
};

/* Forgets the row. */
void tdsd_flow_fini(struct tdsd_flow *flow);

/* Whether a row has a value that is better written piece by piece. */
bool tdsd_flow_suits(const struct tdsd_writer *writer,
                     const struct tdsd_column *columns,
                     const struct tdsd_value *values,
                     size_t n);

/* Begins a row. */
void tdsd_flow_begin(struct tdsd_flow *flow,
                     const struct tdsd_writer *writer,
                     const struct tdsd_column *columns,
                     const struct tdsd_value *values,
                     size_t n);

/* Writes the next piece.  Returns true if the row is over. */
bool tdsd_flow_step(struct tdsd_flow *flow, const struct tdsd_writer *writer);

/* Ends the row in as few bytes as there can be: values whose lengths were not told
 * stop where they are, the others are written to their ends. */
void tdsd_flow_cut(struct tdsd_flow *flow, const struct tdsd_writer *writer);

#endif
