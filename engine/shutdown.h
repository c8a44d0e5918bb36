/* SPDX-License-Identifier: MIT */
/* shutdown.h - the end of an engine. */
#ifndef WEIR_SHUTDOWN_H
#define WEIR_SHUTDOWN_H

#include <stdint.h>

#include "weir.h"

#include "caller.h"

struct weir__engine;

/* weir_engine_shutdown() once the handle is stale and the caller inside.  The
 * engine is gone afterwards, or will be when the last call has returned. */
int weir__engine_shutdown(struct weir__engine *engine,
                          struct weir__caller *self,
                          uint64_t deadline,
                          struct weir_error *err);

#endif
