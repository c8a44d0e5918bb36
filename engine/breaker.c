/* SPDX-License-Identifier: MIT */
#include "breaker.h"

static void enter(struct weir__breaker *b, uint32_t state, uint64_t until) {
  b->state = state;
  b->epoch++;
  b->under_way = 0;
  b->limit = 1;
  b->good = 0;
  b->until = until;
}

static uint64_t later(uint64_t now, uint64_t span) {
  return span > UINT64_MAX - now ? UINT64_MAX : now + span;
}

bool weir__breaker_allows(const struct weir__breaker *b, uint64_t now) {
  switch (b->state) {
  case WEIR_BREAKER_CLOSED:
    return true;
  case WEIR_BREAKER_OPEN:
    return now >= b->until;
  case WEIR_BREAKER_RAMP:
    return now >= b->until || b->under_way < b->limit;
  default: /* HALF_OPEN: the probe is under way */
    return false;
  }
}

bool weir__breaker_begin(struct weir__breaker *b,
                         uint64_t now,
                         uint32_t *out_ticket) {
  if (!weir__breaker_allows(b, now)) {
    return false;
  }
  if (b->state == WEIR_BREAKER_OPEN) {
    enter(b, WEIR_BREAKER_HALF_OPEN, UINT64_MAX);
  } else if (b->state == WEIR_BREAKER_RAMP && now >= b->until) {
    enter(b, WEIR_BREAKER_CLOSED, UINT64_MAX);
  }
  b->under_way++;
  *out_ticket = b->epoch;
  return true;
}

uint64_t weir__breaker_next(const struct weir__breaker *b) {
  bool timed = b->state == WEIR_BREAKER_OPEN || b->state == WEIR_BREAKER_RAMP;
  return timed ? b->until : UINT64_MAX;
}

/* Twice as many as before once as many as before have come through: one that is
 * good proves that one is, not that a hundred are. */
static void widen(struct weir__breaker *b) {
  b->good++;
  if (b->good < b->limit) {
    return;
  }
  if (b->limit >= WEIR_BREAKER_RAMP_MAX) {
    enter(b, WEIR_BREAKER_CLOSED, UINT64_MAX);
  } else {
    b->limit *= 2;
    b->good = 0;
  }
}

bool weir__breaker_good(struct weir__breaker *b,
                        uint32_t ticket,
                        uint64_t now) {
  if (ticket != b->epoch) {
    return false;
  }
  b->under_way--;
  if (b->state == WEIR_BREAKER_HALF_OPEN) {
    b->delay_ns = 0;
    enter(b, WEIR_BREAKER_RAMP, later(now, WEIR_BREAKER_RAMP_NS));
    return true;
  }
  if (b->state == WEIR_BREAKER_RAMP) {
    widen(b);
    return true;
  }
  return false;
}

/* Between the shortest pause and three times the last one: pools that failed
 * together drift apart, and none of them waits longer than the cap. */
uint64_t weir__breaker_delay(uint64_t last, uint64_t random) {
  uint64_t min = WEIR_BREAKER_DELAY_MIN_NS;
  uint64_t high = 3 * (last < min ? min : last);
  uint64_t drawn = min + random % (high - min + 1);
  return drawn > WEIR_BREAKER_DELAY_MAX_NS ? WEIR_BREAKER_DELAY_MAX_NS : drawn;
}

bool weir__breaker_bad(struct weir__breaker *b,
                       uint32_t ticket,
                       uint64_t now,
                       uint64_t random) {
  if (ticket != b->epoch) {
    return false;
  }
  b->delay_ns = weir__breaker_delay(b->delay_ns, random);
  enter(b, WEIR_BREAKER_OPEN, later(now, b->delay_ns));
  return true;
}

bool weir__breaker_drop(struct weir__breaker *b,
                        uint32_t ticket,
                        uint64_t now) {
  if (ticket != b->epoch) {
    return false;
  }
  b->under_way--;
  if (b->state == WEIR_BREAKER_HALF_OPEN) {
    enter(b, WEIR_BREAKER_OPEN, now); /* somebody else may probe at once */
    return true;
  }
  return b->state == WEIR_BREAKER_RAMP;
}

bool weir__breaker_suspect(struct weir__breaker *b, uint64_t now) {
  if (b->state != WEIR_BREAKER_CLOSED) {
    return false;
  }
  enter(b, WEIR_BREAKER_RAMP, later(now, WEIR_BREAKER_RAMP_NS));
  return true;
}

void weir__breaker_reset(struct weir__breaker *b) {
  b->delay_ns = 0;
  if (b->state != WEIR_BREAKER_CLOSED) {
    enter(b, WEIR_BREAKER_CLOSED, UINT64_MAX);
  }
}
