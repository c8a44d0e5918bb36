/* SPDX-License-Identifier: MIT */
#include "idle.h"

#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "idle_list.h"
#include "policy.h"
#include "pool.h"
#include "slot.h"
#include "sys/mem.h"
#include "tend.h"

static uint32_t hints_wanted(void) {
  long cpus = sysconf(_SC_NPROCESSORS_CONF);
  uint32_t n = 1;
  while (n < WEIR_IDLE_HINTS && (long)n < cpus) {
    n *= 2;
  }
  return n;
}

static struct weir__idle_hint *hints_of(const struct weir__idle *idle) {
  /* Acquire: pairs with the release in weir__idle_grow(). */
  return atomic_load_explicit(&idle->hints, memory_order_acquire);
}

bool weir__idle_init(struct weir__idle *idle,
                     const struct weir__idle_policy *policy) {
  idle->list = policy->listed ? weir__idle_list_new() : NULL;
  return idle->list != NULL || !policy->listed;
}

bool weir__idle_grow(struct weir__idle *idle, uint32_t max) {
  if (hints_of(idle) == NULL) {
    uint32_t n = hints_wanted();
    struct weir__idle_hint *hints = weir__mem_array(n, sizeof *hints);
    if (hints == NULL) {
      return false;
    }
    idle->hint_mask = n - 1;
    atomic_store_explicit(&idle->hints, hints, memory_order_release);
  }
  return idle->list != NULL ? weir__idle_list_grow(idle->list, max)
                            : weir__bits_grow(&idle->bits, max);
}

void weir__idle_fini(struct weir__idle *idle) {
  weir__bits_fini(&idle->bits);
  weir__idle_list_free(idle->list);
  idle->list = NULL;
  weir__mem_free(hints_of(idle));
  atomic_store_explicit(&idle->hints, NULL, memory_order_relaxed);
}

/* rseq makes this a read of the thread's own memory with glibc 2.35 and later;
 * a wrong answer costs a cache line, nothing else. */
struct weir__idle_hint *weir__idle_hint_here(struct weir__idle *idle) {
  struct weir__idle_hint *hints = hints_of(idle);
  return hints == NULL ? NULL
                       : &hints[(uint32_t)sched_getcpu() & idle->hint_mask];
}

uint32_t weir__idle_count(const struct weir__pool *pool, uint32_t limit) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  uint32_t idle = 0;
  for (uint32_t i = 0; i < n && idle < limit; i++) {
    idle +=
        weir__slot_state(weir__load_seq_u64(&weir__pool_slot(pool, i)->word)) ==
        WEIR_SLOT_IDLE;
  }
  return idle;
}

/* On the line of the CPU: under shortage every acquire may come by here. */
void weir__idle_overtook(struct weir__pool *pool) {
  struct weir__idle_hint *here = weir__idle_hint_here(&pool->idle);
  if (here != NULL) {
    (void)weir__add_relaxed_u64(&here->overtakes, 1);
  }
}

uint64_t weir__idle_overtakes(const struct weir__pool *pool) {
  const struct weir__idle_hint *hints = hints_of(&pool->idle);
  uint64_t sum = 0;
  for (uint32_t i = 0; hints != NULL && i <= pool->idle.hint_mask; i++) {
    sum += weir__load_relaxed_u64(&hints[i].overtakes);
  }
  return sum;
}

static bool has_room(struct weir__pool *pool) {
  return weir__bits_next(&pool->empties, 0) != WEIR_BITS_NONE ||
         weir__load_acquire_u32(&pool->n_slots) <
             weir__pool_settings(pool)->max_pool_size;
}

/* Each claim may leave fewer than Min Idle, which only a pool that can grow has
 * to know. */
static void check_min_idle(struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  if (has_room(pool) && weir__idle_count(pool, set->min_idle) < set->min_idle) {
    weir__tend(pool);
  }
}

struct weir__slot *weir__idle_take(struct weir__pool *pool,
                                   uint32_t generation,
                                   uint64_t *out_word) {
  struct weir__slot *slot =
      pool->policies.idle->take(pool, generation, out_word);
  if (slot != NULL && weir__pool_settings(pool)->min_idle != 0) {
    check_min_idle(pool);
  }
  return slot;
}

void weir__idle_note(struct weir__pool *pool, uint32_t index, bool again) {
  pool->policies.idle->note(pool, index, again);
}

bool weir__idle_any(struct weir__pool *pool, uint32_t generation) {
  return pool->policies.idle->any(pool, generation);
}

void weir__idle_suspect_all(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t word = weir__load_seq_u64(&slot->word);
    /* One that is taken just now is about to be used: its user finds out. */
    if (weir__slot_state(word) == WEIR_SLOT_IDLE &&
        weir__slot_flags(word) == 0) {
      any |= weir__slot_move(slot, &word,
                             weir__slot_word(WEIR_SLOT_IDLE, WEIR_SLOT_SUSPECT,
                                             weir__slot_generation(word),
                                             weir__slot_lease(word)));
    }
  }
  if (any) {
    weir__store_seq_u32(&pool->idle.suspects, 1);
    weir__tend(pool);
  }
}

/* Two that are lost at the same moment may both begin the second: then it takes
 * one more. */
void weir__idle_lost(struct weir__pool *pool) {
  struct weir__idle *idle = &pool->idle;
  uint64_t now = weir__clock_now();
  uint64_t since = weir__load_relaxed_u64(&idle->lost_since);
  if (since == 0 || now - since > WEIR_IDLE_LOST_NS) {
    weir__store_relaxed_u64(&idle->lost_since, now);
    weir__store_relaxed_u32(&idle->lost_n, 1);
    return;
  }
  if (weir__add_acq_rel_u32(&idle->lost_n, 1) + 1 == WEIR_IDLE_LOST_MAX) {
    weir__idle_suspect_all(pool);
    weir__endpoint_lost(pool); /* the next connect goes first and alone */
  }
}
