/* SPDX-License-Identifier: MIT */
/* SESSION_CONTEXT: keys and values that a session keeps until its reset. */
#ifndef TDSD_SERVER_CONTEXT_H
#define TDSD_SERVER_CONTEXT_H

#include "server_value.h"

struct tdsd_context_entry {
  char *key;
  struct tdsd_value value; /* its bytes are the entry's own */
  bool read_only;
  struct tdsd_context_entry *next;
};

/* Zeroed is empty. */
struct tdsd_session_context {
  struct tdsd_context_entry *first;
  size_t bytes;
};

/* Sets a key; a null takes it away.
 * Returns 0; -1 with the fault: the key is read-only (15664), too much is kept
 * (15665, over TDSD_CAP_CONTEXT bytes), no memory. */
int tdsd_context_set(struct tdsd_session_context *context,
                     const char *key,
                     const struct tdsd_value *value,
                     bool read_only,
                     struct tdsd_fault *fault);

/* Returns the value of a key, NULL if there is none. */
const struct tdsd_value *tdsd_context_get(
    const struct tdsd_session_context *context,
    const char *key);

void tdsd_context_clear(struct tdsd_session_context *context);

#endif
