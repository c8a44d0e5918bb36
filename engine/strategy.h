/* SPDX-License-Identifier: MIT */
/* strategy.h - presets: what `Pool Strategy` says about all other settings.
 *
 * A strategy is a name and the defaults it brings: the six policies (policy.h) and
 * whatever else goes with them.  Each setting can still be given by itself. */
#ifndef WEIR_STRATEGY_H
#define WEIR_STRATEGY_H

#include <stdint.h>

/* A default that is not the one of the settings table. */
struct weir__preset {
  const char *setting; /* its canonical name */
  const char *value;   /* as one would write it */
};

struct weir__strategy {
  const char *name; /* the value of Pool Strategy */
  const struct weir__preset *presets;
  uint32_t n;
};

/* The strategy of that index in the setting's list of choices. */
const struct weir__strategy *weir__strategy_find(uint32_t kind);

/* What the setting of that canonical name is by default under that strategy; NULL:
 * what the settings table says. */
const char *weir__strategy_default(uint32_t kind, const char *setting);

extern const struct weir__strategy weir__strategy_direct;
extern const struct weir__strategy weir__strategy_legacy;
extern const struct weir__strategy weir__strategy_channel;

#endif
