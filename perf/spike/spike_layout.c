/* SPDX-License-Identifier: MIT */
/* spike_layout.c - how slots and hints lie in memory.
 *
 * Usage: spike_layout [--quick]
 *
 * Neighbours: thread 0 uses slot 0 and thread 1 slot 1, 16 to 256 bytes apart.
 * Hints: each thread writes its own, side by side or a line each.  Look-up: slots
 * in a scattered order, through chunks of 8 or in one array, 100 and 100,000 of
 * them.  Processor time of the thread. */
#include <stddef.h>

#include "cycles.h"
#include "slot.h"
#include "sys/atomic.h"

#define FEW     100u
#define MANY    100000u
#define SAME    ~UINT64_C(15)
#define STRIDES 256u

static char memory[STRIDES * 4] __attribute__((aligned(256)));

static inline void use(_Atomic uint64_t *word) {
  uint64_t w = weir__load_seq_u64(word);
  (void)weir__cas_seq_u64(word, &w,
                          (w & SAME) + (UINT64_C(1) << 32) + WEIR_SLOT_LEASED);
  w = weir__load_seq_u64(word);
  (void)weir__cas_seq_u64(word, &w, (w & SAME) + WEIR_SLOT_IDLE);
}

static inline void neighbours(unsigned which, uint64_t n, size_t apart) {
  _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)&memory[which * apart];
  while (n-- != 0) {
    use(word);
  }
}

static void apart_128(unsigned which, uint64_t n) {
  neighbours(which, n, 128);
}
static void apart_64(unsigned which, uint64_t n) {
  neighbours(which, n, 64);
}
static void apart_16(unsigned which, uint64_t n) {
  neighbours(which, n, 16);
}
static void apart_256(unsigned which, uint64_t n) {
  neighbours(which, n, 256);
}

static const struct cycles_way slots_apart[] = {
    {"128 bytes (as built)", apart_128},
    {"64 bytes", apart_64},
    {"256 bytes", apart_256},
    {"16 bytes: one line", apart_16},
};

/* The hint changes at each release, as it does when a processor's threads take
 * turns with several slots. */
static inline void hints(unsigned which, uint64_t n, size_t apart) {
  _Atomic uint32_t *hint = (_Atomic uint32_t *)(void *)&memory[which * apart];
  _Atomic uint64_t *word =
      (_Atomic uint64_t *)(void *)&memory[512 + which * (size_t)128];
  while (n-- != 0) {
    uint32_t seen = weir__load_acquire_u32(hint);
    use(word);
    weir__store_release_u32(hint, seen + 1);
  }
}

static void hint_line(unsigned which, uint64_t n) {
  hints(which, n, 64);
}
static void hint_packed(unsigned which, uint64_t n) {
  hints(which, n, 4);
}

static const struct cycles_way hints_apart[] = {
    {"a line for each processor (as built)", hint_line},
    {"side by side", hint_packed},
};

static struct weir__slot *flat;
static struct weir__slot_chunk **chunks;
/* Scattered orders that visit all of 0 to n - 1. */
static uint32_t order_few[FEW];
static uint32_t order_many[MANY];

static void scatter(uint32_t *order, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    order[i] = (uint32_t)((uint64_t)i * 7919u % n);
  }
}

static inline void walk(unsigned which, uint64_t n, uint32_t of, bool flatly) {
  const uint32_t *order = of == FEW ? order_few : order_many;
  uint32_t at = which * of / 2;
  while (n-- != 0) {
    uint32_t i = order[at];
    use(flatly ? &flat[i].word
               : &chunks[i / WEIR_SLOT_CHUNK]->slots[i % WEIR_SLOT_CHUNK].word);
    at = at + 1 == of ? 0 : at + 1;
  }
}

static void chunks_100(unsigned which, uint64_t n) {
  walk(which, n, FEW, false);
}
static void flat_100(unsigned which, uint64_t n) {
  walk(which, n, FEW, true);
}
static void chunks_many(unsigned which, uint64_t n) {
  walk(which, n, MANY, false);
}
static void flat_many(unsigned which, uint64_t n) {
  walk(which, n, MANY, true);
}

static const struct cycles_way few[] = {
    {"chunks of 8 (as built)", chunks_100},
    {"one array", flat_100},
};
static const struct cycles_way many[] = {
    {"chunks of 8 (as built)", chunks_many},
    {"one array", flat_many},
};

static void *lines(size_t n) {
  size_t size = (n + 127) / 128 * 128;
  void *p = aligned_alloc(128, size);
  if (p == NULL) {
    spike_die("no memory");
  }
  memset(p, 0, size);
  return p;
}

static void make_slots(void) {
  uint32_t n = MANY / WEIR_SLOT_CHUNK;
  scatter(order_few, FEW);
  scatter(order_many, MANY);
  flat = lines(MANY * sizeof *flat);
  chunks = lines(n * sizeof(void *));
  for (uint32_t i = 0; i < n; i++) {
    chunks[i] = lines(sizeof *chunks[i]);
  }
}

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 9;
  uint64_t n = quick ? 200000 : 2000000;
  make_slots();
  cycles_table("two threads' slots apart", slots_apart,
               sizeof slots_apart / sizeof slots_apart[0], n, rounds);
  cycles_table("hints", hints_apart, sizeof hints_apart / sizeof hints_apart[0],
               n, rounds);
  cycles_table("look-up among 100", few, sizeof few / sizeof few[0], n / 2,
               rounds);
  cycles_table("look-up among 100,000", many, sizeof many / sizeof many[0],
               n / 2, rounds);
  (void)printf("\nbytes for slots with Max Pool Size=100 and one connection: "
               "chunks %zu, one array %zu\n",
               sizeof **chunks + sizeof(void *) * (FEW / WEIR_SLOT_CHUNK + 1),
               sizeof *flat * FEW);
  return 0;
}
