/* SPDX-License-Identifier: MIT */
#include "blocking.h"

static uint64_t later(uint64_t now, uint64_t span) {
  return span > UINT64_MAX - now ? UINT64_MAX : now + span;
}

static uint64_t next_span(uint64_t last) {
  uint64_t twice = last == 0 ? WEIR_BLOCKING_MIN_NS : 2 * last;
  return twice < WEIR_BLOCKING_MAX_NS ? twice : WEIR_BLOCKING_MAX_NS;
}

bool weir__blocking_holds(const struct weir__blocking *b, uint64_t now) {
  return b->active && now < b->until;
}

uint64_t weir__blocking_left(const struct weir__blocking *b, uint64_t now) {
  return weir__blocking_holds(b, now) ? b->until - now : 0;
}

bool weir__blocking_allows(const struct weir__blocking *b,
                           uint64_t now,
                           uint64_t *out_at) {
  if (weir__blocking_holds(b, now)) {
    *out_at = b->until;
    return false;
  }
  if (b->active && b->probing) {
    *out_at = UINT64_MAX;
    return false;
  }
  return true;
}

/* No connect begins while the period holds, so one that began at or behind its end
 * is the probe. */
static bool is_probe(const struct weir__blocking *b, uint64_t begun) {
  return b->active && begun >= b->until;
}

void weir__blocking_begun(struct weir__blocking *b, uint64_t now) {
  b->probing = is_probe(b, now);
}

void weir__blocking_dropped(struct weir__blocking *b, uint64_t begun) {
  if (is_probe(b, begun)) {
    b->probing = false;
  }
}

bool weir__blocking_failed(struct weir__blocking *b,
                           uint64_t begun,
                           uint64_t now) {
  if (b->active && !is_probe(b, begun)) {
    return false;
  }
  b->active = true;
  b->probing = false;
  b->span_ns = next_span(b->span_ns);
  b->until = later(now, b->span_ns);
  return true;
}

void weir__blocking_reset(struct weir__blocking *b) {
  *b = (struct weir__blocking){.active = false};
}
