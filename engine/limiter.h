/* SPDX-License-Identifier: MIT */
/* limiter.h - Connect Rate and Connect Burst: a token bucket without clock or
 * lock.
 *
 * Kept as the one moment at which the bucket would be full again if nothing more
 * were taken; so there is nothing to refill, and a rate that changes while it
 * runs takes effect with the next token. */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is a full bucket. */
struct weir__limiter {
  uint64_t full_at;
};

/* When the next token is there: `now` or later.  per_second: UINT32_MAX sets no
 * limit; else 1 or more.  burst: 1 or more. */
uint64_t weir__limiter_next(const struct weir__limiter *l,
                            uint32_t per_second,
                            uint32_t burst,
                            uint64_t now);

/* Takes a token that is there. */
void weir__limiter_take(struct weir__limiter *l,
                        uint32_t per_second,
                        uint64_t now);

/* Puts one back: what it was taken for was not begun. */
void weir__limiter_give(struct weir__limiter *l, uint32_t per_second);

#endif
