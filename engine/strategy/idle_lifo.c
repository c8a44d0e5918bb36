/* SPDX-License-Identifier: MIT */
/* idle_lifo.c - what came back last goes out first, so that what is not needed lies
 * and ages (idle_list.h). */
#include <stddef.h>

#include "idle_list.h"
#include "policy.h"

static struct weir__slot *take(struct weir__pool *pool,
                               uint32_t generation,
                               uint64_t *out_word) {
  return weir__idle_list_find(pool, WEIR_IDLE_NEWEST, generation, out_word);
}

static bool any(struct weir__pool *pool, uint32_t generation) {
  return weir__idle_list_find(pool, WEIR_IDLE_NEWEST, generation, NULL) != NULL;
}

const struct weir__idle_policy weir__idle_lifo = {
    .name = "lifo",
    .listed = true,
    .take = take,
    .note = weir__idle_list_note,
    .any = any,
};
