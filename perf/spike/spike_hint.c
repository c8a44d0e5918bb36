/* SPDX-License-Identifier: MIT */
/* spike_hint.c - how a thread finds the slot to try first: by the number of its
 * processor (glibc, or rseq's memory read directly), by a number that the thread
 * keeps, or by a true restartable sequence that takes the slot without any atomic
 * instruction.  x86-64 only.
 *
 * Usage: spike_hint [--quick]
 *
 * A cycle follows the hint, claims the slot, gives it back and looks whether the
 * hint is still right, as engine/idle.c does.  Processor time of the thread. */
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>

#include "cycles.h"
#include "slot.h"
#include "sys/atomic.h"

#define CPUS 64u

static struct weir__slot slots[CPUS] __attribute__((aligned(128)));

/* A line for each processor: the hint, or the slot itself. */
static struct cell {
  _Atomic uint32_t index_plus_1;
  uint32_t unused;
  uint64_t slot;
  char pad[48];
} cells[CPUS] __attribute__((aligned(128)));

static struct rseq *rseq_here(void) {
  char *self;
  __asm__("movq %%fs:0, %0" : "=r"(self));
  return (struct rseq *)(void *)(self + __rseq_offset);
}

static inline void cycle(struct cell *c) {
  uint32_t hint = weir__load_acquire_u32(&c->index_plus_1);
  struct weir__slot *slot = &slots[hint - 1];
  uint64_t word = weir__slot_claim(slot, 0);
  if (word == 0) {
    return; /* another thread was moved here and has it */
  }
  (void)weir__slot_move(
      slot, &word,
      weir__slot_word(WEIR_SLOT_IDLE, 0, 0, weir__slot_lease(word)));
  if (weir__load_relaxed_u32(&c->index_plus_1) != slot->index + 1) {
    weir__store_release_u32(&c->index_plus_1, slot->index + 1);
  }
}

/* Twice in a cycle, as the engine asks. */
static void by_glibc(unsigned which, uint64_t n) {
  (void)which;
  while (n-- != 0) {
    struct cell *take = &cells[(uint32_t)sched_getcpu() % CPUS];
    struct cell *give = &cells[(uint32_t)sched_getcpu() % CPUS];
    cycle(take);
    (void)weir__load_relaxed_u32(&give->index_plus_1);
  }
}

static void by_rseq_memory(unsigned which, uint64_t n) {
  (void)which;
  while (n-- != 0) {
    volatile struct rseq *rs = rseq_here();
    struct cell *take = &cells[rs->cpu_id % CPUS];
    struct cell *give = &cells[rs->cpu_id % CPUS];
    cycle(take);
    (void)weir__load_relaxed_u32(&give->index_plus_1);
  }
}

/* Asked every 64 cycles only: a thread that was moved follows the old one's hint
 * for a while. */
static void by_kept_number(unsigned which, uint64_t n) {
  static _Thread_local uint32_t cpu;
  static _Thread_local uint32_t age;
  (void)which;
  while (n-- != 0) {
    if (age++ % 64 == 0) {
      cpu = (uint32_t)sched_getcpu() % CPUS;
    }
    cycle(&cells[cpu]);
    (void)weir__load_relaxed_u32(&cells[cpu].index_plus_1);
  }
}

/* Takes what the processor's cell holds; 0: nothing.  The last store commits; a
 * thread that is moved or interrupted before it begins again at 5. */
static uint64_t rseq_take(struct rseq *rs) {
  uint64_t got;
  __asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t"
                   ".balign 32\n\t"
                   "3: .long 0, 0\n\t"
                   ".quad 1f, 2f - 1f, 4f\n\t"
                   ".popsection\n\t"
                   "5: leaq 3b(%%rip), %%rax\n\t"
                   "movq %%rax, 8(%[rs])\n\t"
                   "1: movl 4(%[rs]), %%ecx\n\t"
                   "shlq $6, %%rcx\n\t"
                   "addq %[cells], %%rcx\n\t"
                   "movq 8(%%rcx), %%rax\n\t"
                   "movq $0, 8(%%rcx)\n\t"
                   "2:\n\t"
                   ".pushsection .text.unlikely, \"ax\"\n\t"
                   ".byte 0x0f, 0xb9, 0x3d\n\t"
                   ".long 0x53053053\n\t"
                   "4: jmp 5b\n\t"
                   ".popsection\n\t"
                   : "=&a"(got)
                   : [rs] "r"(rs), [cells] "r"(cells)
                   : "rcx", "memory", "cc");
  return got;
}

/* Puts it into the processor's cell.  False: that holds one already. */
static bool rseq_put(struct rseq *rs, uint64_t slot) {
  uint64_t old;
  __asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t"
                   ".balign 32\n\t"
                   "3: .long 0, 0\n\t"
                   ".quad 1f, 2f - 1f, 4f\n\t"
                   ".popsection\n\t"
                   "5: leaq 3b(%%rip), %%rax\n\t"
                   "movq %%rax, 8(%[rs])\n\t"
                   "1: movl 4(%[rs]), %%ecx\n\t"
                   "shlq $6, %%rcx\n\t"
                   "addq %[cells], %%rcx\n\t"
                   "movq 8(%%rcx), %%rax\n\t"
                   "testq %%rax, %%rax\n\t"
                   "jnz 2f\n\t"
                   "movq %[slot], 8(%%rcx)\n\t"
                   "2:\n\t"
                   ".pushsection .text.unlikely, \"ax\"\n\t"
                   ".byte 0x0f, 0xb9, 0x3d\n\t"
                   ".long 0x53053053\n\t"
                   "4: jmp 5b\n\t"
                   ".popsection\n\t"
                   : "=&a"(old)
                   : [rs] "r"(rs), [cells] "r"(cells), [slot] "r"(slot)
                   : "rcx", "memory", "cc");
  return old == 0;
}

/* No atomic instruction at all.  What it leaves out: a second release is not
 * noticed, and nobody else can take the slot or mark it without membarrier's
 * rseq command. */
static void by_rseq_section(unsigned which, uint64_t n) {
  struct rseq *rs = rseq_here();
  uint64_t mine = (uint64_t)(uintptr_t)&slots[which];
  while (n-- != 0) {
    uint64_t got = rseq_take(rs);
    uint64_t have = got != 0 ? got : mine;
    mine = got != 0 ? mine : 0;
    /* A cell holds an address.  NOLINTNEXTLINE(performance-no-int-to-ptr) */
    struct weir__slot *slot = (struct weir__slot *)(uintptr_t)have;
    if (slot != NULL) {
      weir__store_relaxed_u64(&slot->uses,
                              weir__load_relaxed_u64(&slot->uses) + 1);
      mine = rseq_put(rs, have) ? mine : have;
    }
  }
  (void)rseq_take(rs); /* nothing stays behind for the next run */
}

static const struct cycles_way ways[] = {
    {"sched_getcpu() (as built)", by_glibc},
    {"rseq's memory read in place", by_rseq_memory},
    {"number kept by the thread, 64 cycles", by_kept_number},
    {"restartable sequence, no compare-and-swap", by_rseq_section},
};

static volatile uint32_t sink;

static void ask_glibc(unsigned which, uint64_t n) {
  (void)which;
  while (n-- != 0) {
    sink = (uint32_t)sched_getcpu();
  }
}

static void ask_rseq(unsigned which, uint64_t n) {
  (void)which;
  while (n-- != 0) {
    sink = ((volatile struct rseq *)rseq_here())->cpu_id;
  }
}

static const struct cycles_way asks[] = {
    {"sched_getcpu()", ask_glibc},
    {"rseq's memory read in place", ask_rseq},
};

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 9;
  uint64_t n = quick ? 200000 : 2000000;
  if (__rseq_size == 0) {
    spike_die("glibc has not registered rseq");
  }
  for (uint32_t i = 0; i < CPUS; i++) {
    slots[i].index = i;
    weir__store_relaxed_u64(&slots[i].word, WEIR_SLOT_IDLE);
    weir__store_relaxed_u32(&cells[i].index_plus_1, i + 1);
  }
  cycles_table("acquire and release by the hint", ways,
               sizeof ways / sizeof ways[0], n, rounds);
  cycles_table("which processor, alone", asks, sizeof asks / sizeof asks[0], n,
               rounds);
  return 0;
}
