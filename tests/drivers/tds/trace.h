/* SPDX-License-Identifier: MIT */
/* trace.h - recorded conversations: load one, run its replies through the
 * decoder, compare with what the client of that day saw. */
#ifndef TDS_TEST_TRACE_H
#define TDS_TEST_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message of the server, packet headers removed, or why there is none. */
struct trace_message {
  uint8_t *p;
  size_t n;
  bool prelogin; /* answers a PRELOGIN: an option table, not tokens */
};

struct trace {
  json_t *root;
  const char *id;
  const char *client;
  bool old_layout; /* the client asked for TDS 7.1 */
  struct trace_message *messages;
  size_t n_messages;
  char why[300]; /* why it could not be loaded or replayed */
};

/* Loads a file; its packets are read in pieces of `piece` bytes (0: whole).
 * Returns 0, or -1 with why filled. */
int trace_load(struct trace *t, const char *path, size_t piece);
void trace_free(struct trace *t);

/* Decodes all messages, in pieces of `piece` bytes (0: whole) or drawn from
 * seed (not 0).  Returns 0 and an object with the arrays "rows" (of arrays of
 * cells {type, text or null}), "columns" (of arrays of names), "messages"
 * {number, class, state, line, message}, "counts", "sizes" (of messages) and
 * "values" (returned ones: {name, cells}); a verdict of the decoder with why
 * filled. */
int trace_decode(struct trace *t, size_t piece, uint32_t seed, json_t **out);

/* Whether two traces have the same messages. */
bool trace_same(const struct trace *a, const struct trace *b);

/* Compares with what the client recorded.  Returns 0, or -1 with why filled. */
int trace_compare(struct trace *t, json_t *seen);

#endif
