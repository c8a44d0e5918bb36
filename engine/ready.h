/* SPDX-License-Identifier: MIT */
/* ready.h - the start of a pool: Startup, and waiting until it can serve. */
#ifndef WEIR_READY_H
#define WEIR_READY_H

#include <stdint.h>

#include "caller.h"
#include "pool.h"

/* weir_pool_wait_ready(). */
int weir__ready_wait(struct weir__pool *pool,
                     struct weir__caller *self,
                     int64_t timeout_ns,
                     struct weir_error *err);

/* A pool that has just been opened, or found, starts as its Startup says.  fresh:
 * it is new.  Returns WEIR_OK; with Startup=require also WEIR_E_* of the first
 * connect that failed, or WEIR_E_TIMEOUT after Connect Timeout. */
int weir__ready_start(struct weir__pool *pool,
                      struct weir__caller *self,
                      bool fresh,
                      struct weir_error *err);

#endif
