/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "settings.h"
#include "strategy.h"

static const struct weir__strategy *const table[] = {
    [WEIR_STRATEGY_DIRECT] = &weir__strategy_direct,
};

const struct weir__strategy *weir__strategy_find(uint32_t kind) {
  return kind < sizeof table / sizeof table[0] ? table[kind] : NULL;
}
