/* SPDX-License-Identifier: MIT */
/* acquire.h - one acquire, from the warm path to the end of the line. */
#ifndef WEIR_ACQUIRE_H
#define WEIR_ACQUIRE_H

#include <stdint.h>

#include "caller.h"
#include "pool.h"

/* weir_acquire() on a pool that the caller has resolved. */
int weir__acquire(struct weir__pool *pool,
                  struct weir__caller *self,
                  int64_t timeout_ns,
                  uint64_t *out_lease,
                  struct weir_error *err);

#endif
