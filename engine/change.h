/* SPDX-License-Identifier: MIT */
/* change.h - new settings for a running pool.
 *
 * The settings in force are one block that is never written after it has been
 * published: a change makes another and swaps the pointer, so readers need no lock
 * and never see half a change.  The old one is freed on the reactor once every
 * call that may have read it has returned. */
#ifndef WEIR_CHANGE_H
#define WEIR_CHANGE_H

#include <stdint.h>

#include "caller.h"
#include "pool.h"

/* weir_pool_resize() and weir_pool_reconfigure(). */
int weir__change_size(struct weir__pool *pool,
                      const struct weir__caller *self,
                      uint32_t min_size,
                      uint32_t max_size,
                      struct weir_error *err);
int weir__change_settings(struct weir__pool *pool,
                          const struct weir__caller *self,
                          const char *changes,
                          uint64_t len,
                          struct weir_error *err);

/* On the reactor, between tasks: frees blocks that nobody reads any more. */
void weir__change_reap(struct weir__pool *pool);

#endif
