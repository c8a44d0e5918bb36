/* SPDX-License-Identifier: MIT */
/* log.h - the default log sink: standard error, when WEIR_LOG asks for it. */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <stdint.h>

struct weir__engine;

/* Reads WEIR_LOG (error, warn, info, debug; "" or none: off), unless the engine
 * was told to ignore the environment.  Returns WEIR_DRV_LOG_* or 0. */
int32_t weir__log_level(const struct weir__engine *engine);

/* 1 if messages of that level are written. */
int32_t weir__log_on(const struct weir__engine *engine, int32_t level);

/* Writes one line; bytes that are no text are shown as '?'. */
void weir__log(const struct weir__engine *engine,
               int32_t level,
               const char *text,
               uint64_t n);

#endif
