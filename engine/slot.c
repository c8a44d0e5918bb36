/* SPDX-License-Identifier: MIT */
#include "slot.h"

#include "handle.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/mutex.h"

#define BIT(s) (1u << WEIR_SLOT_##s)

/* may[from]: the states one may go to. */
static const uint32_t may[WEIR_SLOT_STATES] = {
    [WEIR_SLOT_EMPTY] = BIT(CONNECTING),
    [WEIR_SLOT_CONNECTING] =
        BIT(CONNECTING) | BIT(LEASED) | BIT(IDLE) | BIT(CLOSING),
    [WEIR_SLOT_IDLE] = BIT(IDLE) | BIT(LEASED) | BIT(RESERVED) | BIT(CLOSING),
    [WEIR_SLOT_LEASED] = BIT(LEASED) | BIT(IDLE) | BIT(RESERVED) | BIT(CLOSING),
    [WEIR_SLOT_RESERVED] =
        BIT(RESERVED) | BIT(IDLE) | BIT(LEASED) | BIT(CLOSING),
    [WEIR_SLOT_PARKED] = 0,
    [WEIR_SLOT_STASIS] = 0,
    [WEIR_SLOT_CLOSING] = BIT(EMPTY),
};

static const char *const names[WEIR_SLOT_STATES] = {
    "empty",    "connecting", "idle",   "leased",
    "reserved", "parked",     "stasis", "closing",
};

static struct weir__slot_chunk
    *_Atomic chunks[WEIR_HANDLE_MAX / WEIR_SLOT_CHUNK];
static struct weir__mutex lock = {PTHREAD_MUTEX_INITIALIZER, WEIR_RANK_LEAF};
static uint32_t made;                       /* chunks; guarded by lock */
static struct weir__slot_chunk *given_back; /* guarded by lock */

bool weir__slot_may_move(uint32_t from, uint32_t to) {
  return from < WEIR_SLOT_STATES && to < WEIR_SLOT_STATES &&
         (may[from] >> to & 1u) != 0;
}

const char *weir__slot_state_name(uint32_t state) {
  return state < WEIR_SLOT_STATES ? names[state] : "unknown";
}

bool weir__slot_move(struct weir__slot *slot, uint64_t *expected, uint64_t to) {
  WEIR_ASSERT(
      weir__slot_may_move(weir__slot_state(*expected), weir__slot_state(to)));
  /* Leases only grow (until they wrap). */
  WEIR_ASSERT(weir__slot_lease(to) - weir__slot_lease(*expected) <= 1u);
  return weir__cas_seq_u64(&slot->word, expected, to);
}

uint64_t weir__slot_claim(struct weir__slot *slot, uint32_t generation) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint32_t suspect = weir__slot_flags(word) & WEIR_SLOT_SUSPECT;
  if (!weir__slot_claimable(word, generation)) {
    return 0;
  }
  uint64_t leased = weir__slot_word(WEIR_SLOT_LEASED, suspect, generation,
                                    weir__slot_lease(word) + 1);
  return weir__slot_move(slot, &word, leased) ? leased : 0;
}

/* Plain sums in atomics of their own: only the owner writes. */
void weir__slot_start_lease(struct weir__slot *slot) {
  weir__store_relaxed_u32(&slot->served,
                          weir__load_relaxed_u32(&slot->served) + 1);
  weir__store_relaxed_u64(&slot->uses, weir__load_relaxed_u64(&slot->uses) + 1);
}

void weir__slot_end_lease(struct weir__slot *slot) {
  weir__store_relaxed_u32(&slot->ran, 0);
  weir__store_relaxed_u32(&slot->active, 0);
}

static void fill_chunk(struct weir__slot_chunk *chunk, uint32_t number) {
  for (uint32_t i = 0; i < WEIR_SLOT_CHUNK; i++) {
    chunk->slots[i].number = number * WEIR_SLOT_CHUNK + i;
  }
}

static struct weir__slot_chunk *make_chunk_locked(void) {
  if (made == WEIR_HANDLE_MAX / WEIR_SLOT_CHUNK) {
    return NULL;
  }
  struct weir__slot_chunk *chunk = weir__mem_new(sizeof *chunk);
  if (chunk != NULL) {
    fill_chunk(chunk, made);
    /* Release: publishes the numbers to weir__slot_find(). */
    atomic_store_explicit(&chunks[made], chunk, memory_order_release);
    made++;
  }
  return chunk;
}

struct weir__slot_chunk *weir__slot_chunk_new(struct weir__pool *pool,
                                              uint32_t first_index) {
  weir__mutex_lock(&lock);
  struct weir__slot_chunk *chunk = given_back;
  if (chunk != NULL) {
    given_back = chunk->next_free;
  } else {
    chunk = make_chunk_locked();
  }
  weir__mutex_unlock(&lock);
  if (chunk != NULL) {
    for (uint32_t i = 0; i < WEIR_SLOT_CHUNK; i++) {
      atomic_store_explicit(&chunk->slots[i].pool, pool, memory_order_relaxed);
      chunk->slots[i].index = first_index + i;
      weir__store_relaxed_u64(&chunk->slots[i].uses, 0);
      weir__store_relaxed_u32(&chunk->slots[i].hold_us, 0);
      chunk->slots[i].mark = 0;
    }
  }
  return chunk;
}

bool weir__slot_all_made(void) {
  weir__mutex_lock(&lock);
  bool all = made == WEIR_HANDLE_MAX / WEIR_SLOT_CHUNK && given_back == NULL;
  weir__mutex_unlock(&lock);
  return all;
}

void weir__slot_chunk_free(struct weir__slot_chunk *chunk) {
  for (uint32_t i = 0; i < WEIR_SLOT_CHUNK; i++) {
    WEIR_ASSERT(weir__slot_state(weir__load_relaxed_u64(
                    &chunk->slots[i].word)) == WEIR_SLOT_EMPTY);
  }
  weir__mutex_lock(&lock);
  chunk->next_free = given_back;
  given_back = chunk;
  weir__mutex_unlock(&lock);
}

struct weir__slot *weir__slot_find(uint32_t number) {
  struct weir__slot_chunk *chunk = atomic_load_explicit(
      &chunks[number / WEIR_SLOT_CHUNK], memory_order_acquire);
  return chunk == NULL ? NULL : &chunk->slots[number % WEIR_SLOT_CHUNK];
}

/* As weir__handle_forget_all(): no lock, one thread. */
void weir__slot_forget_all(void) {
  (void)pthread_mutex_init(&lock.m, NULL);
  given_back = NULL;
  for (uint32_t n = 0; n < made * WEIR_SLOT_CHUNK; n++) {
    struct weir__slot *slot = weir__slot_find(n);
    uint64_t word = weir__load_relaxed_u64(&slot->word);
    /* Not a move: the slot leaves the process's life, not the pool's. */
    weir__store_relaxed_u64(
        &slot->word,
        weir__slot_word(WEIR_SLOT_EMPTY, 0, 0, weir__slot_lease(word) + 1));
  }
}
