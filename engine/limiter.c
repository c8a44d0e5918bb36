/* SPDX-License-Identifier: MIT */
#include "limiter.h"

#define NS_PER_S UINT64_C(1000000000)

/* Rounded up: never more than the rate. */
static uint64_t interval(uint32_t per_second) {
  return (NS_PER_S + per_second - 1) / per_second;
}

uint64_t weir__limiter_next(const struct weir__limiter *l,
                            uint32_t per_second,
                            uint32_t burst,
                            uint64_t now) {
  if (per_second == UINT32_MAX) {
    return now;
  }
  uint64_t slack = interval(per_second) * (burst - 1);
  uint64_t at = l->full_at > slack ? l->full_at - slack : 0;
  return at > now ? at : now;
}

void weir__limiter_take(struct weir__limiter *l,
                        uint32_t per_second,
                        uint64_t now) {
  if (per_second != UINT32_MAX) {
    uint64_t from = l->full_at > now ? l->full_at : now;
    l->full_at = from + interval(per_second);
  }
}

void weir__limiter_give(struct weir__limiter *l, uint32_t per_second) {
  if (per_second != UINT32_MAX) {
    uint64_t step = interval(per_second);
    l->full_at = l->full_at > step ? l->full_at - step : 0;
  }
}
