/* SPDX-License-Identifier: MIT */
/* chance.h - bits for jitter: not for secrets. */
#ifndef WEIR_SYS_CHANCE_H
#define WEIR_SYS_CHANCE_H

#include <stdint.h>

#include "sys/seams.h"

/* From the system; where it has none yet, from the clock.  Never blocks. */
uint64_t weir__random_read(void);

static inline uint64_t weir__random(void) {
#if WEIR_SEAMS
  return weir__seams.random();
#else
  return weir__random_read();
#endif
}

#endif
