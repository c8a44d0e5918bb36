/* SPDX-License-Identifier: MIT */
/* tend.h - a pool's upkeep on the reactor: places wanted now, Min Pool Size, old
 * idle connections, and its own end. */
#ifndef WEIR_TEND_H
#define WEIR_TEND_H

#include "pool.h"

/* Has the pool tended to soon.  Any thread; mu may be held. */
void weir__tend(struct weir__pool *pool);

#endif
