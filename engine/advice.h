/* SPDX-License-Identifier: MIT */
/* advice.h - pools that could perhaps be one.
 *
 * A program that writes its user's name or its own process number into, say,
 * Application Name has a pool for each and wonders where its connections go.  The
 * engine says so, once for each part of the key: by name only, whatever its value. */
#ifndef WEIR_ADVICE_H
#define WEIR_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key.h"

struct weir__engine;
struct weir__pool;

/* So many pools of one server that differ in one part only are worth a word. */
#define WEIR_ADVICE_POOLS  8u
/* Pools opened last, with which a new one is compared: what an opening costs is
 * bounded, and pools that differ so tend to come in a row. */
#define WEIR_ADVICE_RECENT 64u
/* Parts of which the engine tells. */
#define WEIR_ADVICE_MAX    8u
/* Most bytes of all that weir__advice_text() writes. */
#define WEIR_ADVICE_BYTES  (WEIR_ADVICE_MAX * (4u * WEIR_NAME_MAX + 128u) + 1u)

struct weir__advice_item {
  struct weir__key_part part;
  uint32_t pools; /* the most that were seen at once */
};

/* Guarded by the registry's mutex. */
struct weir__advice {
  /* A ring; NULL: closed since. */
  struct weir__pool *recent[WEIR_ADVICE_RECENT];
  uint32_t next;
  uint32_t n;
  struct weir__advice_item items[WEIR_ADVICE_MAX];
};

/* A pool has been opened.  True: *out_item is to be told with weir__advice_log(),
 * when no lock is held. */
bool weir__advice_opened(struct weir__advice *advice,
                         struct weir__pool *pool,
                         struct weir__advice_item *out_item);

/* A pool is being closed. */
void weir__advice_closed(struct weir__advice *advice,
                         const struct weir__pool *pool);

/* Writes an item to the log, level warn. */
void weir__advice_log(const struct weir__engine *engine,
                      const struct weir__advice_item *item);

/* Writes all items, a line each with '\n' behind, and a NUL into buf as far as cap
 * allows.  Returns the bytes of all, without the NUL. */
size_t weir__advice_text(const struct weir__advice *advice,
                         char *buf,
                         size_t cap);

#endif
