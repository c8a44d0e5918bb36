/* SPDX-License-Identifier: MIT */
/* spike_barrier.c - what the ordering between "my slot is idle" and "does anybody
 * wait?" costs: a compare-and-swap in acquire and release as now, or a plain store
 * with a compiler fence, for which whoever lines up pays with membarrier(2).
 *
 * Usage: spike_barrier [--quick]
 *
 * Each thread has a slot of its own; nobody waits.  The engine's whole acquire
 * and release stands beside them, for scale.  Figures are processor time of the
 * thread; only the calls of membarrier are wall time. */
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weir.h"

#include "cycles.h"
#include "slot.h"
#include "sys/atomic.h"

static struct weir__slot slots[CYCLES_THREADS * 8]
    __attribute__((aligned(128)));
static struct {
  _Atomic uint64_t q;
  char pad[120];
} pool __attribute__((aligned(128)));
static weir_h engine_pool;

#define IDLE   ((uint64_t)WEIR_SLOT_IDLE)
#define LEASED ((uint64_t)WEIR_SLOT_LEASED)
#define ONE    (UINT64_C(1) << 32)

static void waited_for(void) {
  spike_die("somebody waits");
}

/* As the engine: two compare-and-swaps, all sequentially consistent. */
static void cas_cas(unsigned which, uint64_t n) {
  _Atomic uint64_t *word = &slots[which * (size_t)8].word;
  while (n-- != 0) {
    if (weir__load_seq_u64(&pool.q) != 0) {
      waited_for();
    }
    uint64_t w = weir__load_seq_u64(word);
    (void)weir__cas_seq_u64(word, &w, (w & ~UINT64_C(15)) + ONE + LEASED);
    w = weir__load_seq_u64(word);
    (void)weir__cas_seq_u64(word, &w, (w & ~UINT64_C(15)) + IDLE);
    if (weir__load_seq_u64(&pool.q) != 0) {
      waited_for();
    }
  }
}

/* The claim as now; the release a plain store.  It no longer notices a second
 * release or a DOOMED that came between its read and its store. */
static void cas_store(unsigned which, uint64_t n) {
  _Atomic uint64_t *word = &slots[which * (size_t)8].word;
  while (n-- != 0) {
    if (weir__load_relaxed_u64(&pool.q) != 0) {
      waited_for();
    }
    uint64_t w = weir__load_relaxed_u64(word);
    (void)weir__cas_acq_rel_u64(word, &w, (w & ~UINT64_C(15)) + ONE + LEASED);
    w = weir__load_relaxed_u64(word);
    weir__store_release_u64(word, (w & ~UINT64_C(15)) + IDLE);
    weir__fence_compiler();
    if (weir__load_relaxed_u64(&pool.q) != 0) {
      waited_for();
    }
  }
}

/* Neither: right only if nobody else may claim this slot without membarrier. */
static void store_store(unsigned which, uint64_t n) {
  _Atomic uint64_t *word = &slots[which * (size_t)8].word;
  while (n-- != 0) {
    if (weir__load_relaxed_u64(&pool.q) != 0) {
      waited_for();
    }
    uint64_t w = weir__load_relaxed_u64(word);
    weir__store_release_u64(word, (w & ~UINT64_C(15)) + ONE + LEASED);
    weir__fence_compiler();
    w = weir__load_relaxed_u64(word);
    weir__store_release_u64(word, (w & ~UINT64_C(15)) + IDLE);
    weir__fence_compiler();
    if (weir__load_relaxed_u64(&pool.q) != 0) {
      waited_for();
    }
  }
}

static void engine(unsigned which, uint64_t n) {
  (void)which;
  while (n-- != 0) {
    weir_h lease;
    if (weir_acquire(engine_pool, WEIR_TIMEOUT_NEVER, &lease, NULL) !=
            WEIR_OK ||
        weir_release(lease) != WEIR_OK) {
      spike_die("the engine failed");
    }
  }
}

static const struct cycles_way ways[] = {
    {"compare-and-swap twice (as built)", cas_cas},
    {"compare-and-swap, store", cas_store},
    {"store, store", store_store},
    {"the engine's whole acquire and release", engine},
};

/* ----------------------------------------------------- the side that lines up */

struct slow {
  void (*busy)(unsigned which, uint64_t n); /* what thread 1 does meanwhile */
  bool barrier;
  uint64_t n;
  double ns;
  _Atomic uint32_t done;
};

static void slow_work(void *arg, unsigned which) {
  struct slow *s = arg;
  cycles_pin(which);
  if (which == 1) {
    while (atomic_load_explicit(&s->done, memory_order_relaxed) == 0) {
      s->busy(1, 1000);
    }
    return;
  }
  uint64_t begun = spike_now();
  for (uint64_t i = 0; i < s->n; i++) {
    /* Bit 60 is nobody's flag: q's value does not matter to slot 0's readers. */
    if (s->barrier) {
      (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    } else {
      (void)weir__add_seq_u64(&slots[4].word, 0);
    }
  }
  s->ns = (double)(spike_now() - begun) / (double)s->n;
  atomic_store_explicit(&s->done, 1, memory_order_relaxed);
}

static double slow_once(bool barrier, unsigned threads, uint64_t n) {
  struct slow s = {.busy = store_store, .barrier = barrier, .n = n};
  (void)spike_run(threads, slow_work, &s, NULL, 0);
  return s.ns;
}

static void slow_table(uint64_t n, unsigned rounds) {
  static double ns[4][SPIKE_ROUNDS_MAX];
  for (unsigned r = 0; r < rounds; r++) {
    for (unsigned k = 0; k < 4; k++) {
      ns[k][r] = slow_once(k >= 2, k % 2 + 1, n);
    }
  }
  (void)printf("\nwho lines up, ns                          alone    beside a "
               "running thread\n");
  (void)printf("  locked instruction (as built)      %10.0f %12.0f\n",
               spike_median(ns[0], rounds), spike_median(ns[1], rounds));
  (void)printf("  membarrier                         %10.0f %12.0f\n",
               spike_median(ns[2], rounds), spike_median(ns[3], rounds));
}

static weir_h open_pool(weir_h *out_engine) {
  static const char text[] = "Driver=mock;Max Pool Size=10;Min Pool Size=10";
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h handle;
  opts.driver_dirs = SPIKE_DRIVER_DIR;
  opts.driver_dirs_len = strlen(opts.driver_dirs);
  if (weir_engine_open(&opts, out_engine, &err) != WEIR_OK ||
      weir_pool_open(*out_engine, text, strlen(text), &handle, &err) !=
          WEIR_OK) {
    spike_die(err.message);
  }
  return handle;
}

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 9;
  uint64_t n = quick ? 200000 : 2000000;
  weir_h opened;
  engine_pool = open_pool(&opened);
  for (unsigned i = 0; i < CYCLES_THREADS * 8; i++) {
    weir__store_relaxed_u64(&slots[i].word, IDLE);
  }
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
              0) != 0) {
    spike_die("no membarrier");
  }
  cycles_table("acquire and release", ways, sizeof ways / sizeof ways[0], n,
               rounds);
  slow_table(n / 100, rounds);
  return weir_engine_shutdown(opened, 0, NULL) == WEIR_OK ? 0 : 1;
}
