/* SPDX-License-Identifier: MIT */
/* The prepared statements of a session: handles count from 1, and from 1 again
 * after a reset, so that a client that keeps one is caught. */
#ifndef TDSD_SERVER_HANDLE_H
#define TDSD_SERVER_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tdsd_handle {
  int32_t number;
  const char *sql; /* UTF-8, as declared */
  size_t len;
  const char *declared; /* the declarations of the parameters */
  size_t declared_len;
  struct tdsd_handle *next;
};

/* Zeroed is empty. */
struct tdsd_handles {
  struct tdsd_handle *first;
  int32_t last_number;
  uint32_t n;
  size_t bytes;
};

/* Keeps a statement.
 * Returns its handle; 0 without memory or room (TDSD_CAP_HANDLES,
 * TDSD_CAP_HANDLE_BYTES). */
int32_t tdsd_handle_add(struct tdsd_handles *handles,
                        const char *sql,
                        size_t len,
                        const char *declared,
                        size_t declared_len);

/* Returns the statement, NULL if there is none of that number.  It lives until
 * it is dropped. */
const struct tdsd_handle *tdsd_handle_find(const struct tdsd_handles *handles,
                                           int32_t number);

/* Forgets one.  Returns false if there is none of that number. */
bool tdsd_handle_drop(struct tdsd_handles *handles, int32_t number);

/* Forgets all.  With restart the next handle is 1 again. */
void tdsd_handle_drop_all(struct tdsd_handles *handles, bool restart);

#endif
