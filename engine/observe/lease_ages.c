/* SPDX-License-Identifier: MIT */
#include "observe/lease_ages.h"

#include "sys/clock.h"

static uint64_t age_of(const struct weir__slot *slot, uint64_t now) {
  uint64_t began = weir__load_relaxed_u64(&slot->idle_since);
  return began < now ? now - began : 0;
}

struct weir__lease_ages weir__lease_ages(const struct weir__pool *pool) {
  struct weir__lease_ages ages = {.n = 0};
  uint64_t now = weir__clock_coarse();
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(pool, i);
    if (weir__slot_state(weir__load_seq_u64(&slot->word)) != WEIR_SLOT_LEASED) {
      continue;
    }
    uint64_t age = age_of(slot, now);
    if (ages.n == 0 || age < ages.youngest_ns) {
      ages.youngest_ns = age;
    }
    ages.oldest_ns = age > ages.oldest_ns ? age : ages.oldest_ns;
    ages.n++;
  }
  return ages;
}
