/* SPDX-License-Identifier: MIT */
#include "retire.h"

#include "pool.h"
#include "slot.h"

#define TAKEN_BITS 20u
#define TAKEN_MASK ((UINT64_C(1) << TAKEN_BITS) - 1)

uint64_t weir__retire_tick(uint64_t span_ns) {
  uint64_t tick = span_ns / 60;
  if (tick > WEIR_RETIRE_TICK_MAX_NS) {
    return WEIR_RETIRE_TICK_MAX_NS;
  }
  return tick < WEIR_RETIRE_TICK_MIN_NS ? WEIR_RETIRE_TICK_MIN_NS : tick;
}

/* Relaxed: the permits are a number, and nothing else is read by them. */
bool weir__retire_take(struct weir__retire *retire,
                       uint64_t now,
                       uint64_t tick_ns,
                       uint32_t places) {
  uint64_t most = places / 10 == 0 ? 1 : places / 10;
  uint64_t tick = now / tick_ns;
  uint64_t word = weir__load_relaxed_u64(&retire->word);
  uint64_t to;
  do {
    uint64_t taken = word >> TAKEN_BITS == tick ? word & TAKEN_MASK : 0;
    if (taken >= most) {
      return false;
    }
    to = tick << TAKEN_BITS | (taken + 1);
  } while (!weir__cas_acq_rel_u64(&retire->word, &word, to));
  return true;
}

uint64_t weir__retire_next(uint64_t now, uint64_t tick_ns) {
  return weir__clock_add(now - now % tick_ns, tick_ns);
}

/* An expiry of 0 says that it was true before. */
bool weir__retire_aged(struct weir__pool *pool,
                       struct weir__slot *slot,
                       uint64_t now) {
  uint64_t expires = weir__load_relaxed_u64(&slot->expires);
  if (now < expires || expires == 0) {
    return expires == 0;
  }
  uint64_t tick = weir__retire_tick(weir__pool_settings(pool)->lifetime_ns);
  if (pool->policies.trim->rations &&
      !weir__retire_take(&pool->aged, now, tick,
                         weir__load_acquire_u32(&pool->n_slots))) {
    return false;
  }
  weir__store_relaxed_u64(&slot->expires, 0);
  return true;
}
