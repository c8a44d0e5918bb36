/* SPDX-License-Identifier: MIT */
#include "codel.h"

#define TARGETS_IN_SPAN   20u
#define INTERVALS_IN_SPAN 2u
#define LIMITS_IN_SPAN    10u

#define FIRST_OCTAVE 10u /* of 1,024 ns; shorter waits are in band 0 */

static uint32_t band_of(uint64_t ns) {
  if (ns >> FIRST_OCTAVE == 0) {
    return 0;
  }
  uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns);
  uint32_t quarter = (uint32_t)(ns >> (octave - 2u)) & 3u;
  uint32_t band = (octave - FIRST_OCTAVE) * 4u + quarter;
  return band < WEIR_CODEL_BANDS ? band : WEIR_CODEL_BANDS - 1;
}

static uint64_t later(uint64_t at, uint64_t span) {
  return span > UINT64_MAX - at ? UINT64_MAX : at + span;
}

static uint64_t latest(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

void weir__codel_served(struct weir__codel *c, uint64_t now, uint64_t wait_ns) {
  for (uint32_t i = band_of(wait_ns); i < WEIR_CODEL_BANDS; i++) {
    c->served[i] = now;
  }
}

uint64_t weir__codel_limit(uint64_t span_ns) {
  return span_ns / LIMITS_IN_SPAN;
}

uint64_t weir__codel_refuse_at(const struct weir__codel *c,
                               uint64_t since,
                               uint64_t span_ns) {
  if (span_ns == UINT64_MAX) {
    return UINT64_MAX;
  }
  uint64_t served = c->served[band_of(span_ns / TARGETS_IN_SPAN)];
  return latest(later(served, span_ns / INTERVALS_IN_SPAN),
                later(since, weir__codel_limit(span_ns)));
}

uint64_t weir__codel_stuck_at(const struct weir__codel *c,
                              uint64_t since,
                              uint64_t span_ns) {
  uint64_t served = c->served[WEIR_CODEL_BANDS - 1];
  return latest(weir__codel_refuse_at(c, since, span_ns),
                later(served, weir__codel_limit(span_ns)));
}
