/* SPDX-License-Identifier: MIT */
/* machine.c - the same pairs on the machine at hand, through sys/atomic.h: two
 * threads run along rows of cells side by side, and the outcome that must not be is
 * counted.  Each pair has a control, the same with one order less, whose outcome
 * should be seen: else the rows prove nothing.  A control that stays unseen is said
 * and neither passes nor fails: a machine of one processor, or one so busy that the
 * two never ran at once, shows none. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/atomic.h"

#define CELLS     2048u
#define SECONDS   1.0
#define PATIENCE  30.0 /* for a control: machines that test are busy */
#define LINE_PAD  56
#define SPINS_MAX 300u

struct cell {
  _Atomic uint64_t a;
  char pad_a[LINE_PAD];
  _Atomic uint64_t b;
  char pad_b[LINE_PAD];
  uint64_t read[2]; /* what each side found */
  char pad_c[48];
};

struct pair {
  const char *name;
  uint64_t (*left)(struct cell *c);
  uint64_t (*right)(struct cell *c);
  bool forbidden; /* that both find 0; else it must be seen */
};

struct place {
  _Atomic uint32_t place;
  char pad[60];
};

static struct cell cells[CELLS];
static struct place place_of[2];
static const struct pair *now_run;
static _Atomic uint32_t turn; /* of rows; odd: the right side may run */
static _Atomic uint32_t ready;

/* ------------------------------------------------------------------- sides */

static uint64_t update_a(struct cell *c) {
  uint64_t none = 0;
  (void)weir__cas_seq_u64(&c->a, &none, 1);
  return weir__load_seq_u64(&c->b);
}

static uint64_t update_b(struct cell *c) {
  (void)weir__or_seq_u64(&c->b, 1);
  return weir__load_seq_u64(&c->a);
}

static uint64_t store_a(struct cell *c) {
  weir__store_seq_u64(&c->a, 1);
  return weir__load_seq_u64(&c->b);
}

static uint64_t release_a(struct cell *c) {
  weir__store_release_u64(&c->a, 1);
  return weir__load_acquire_u64(&c->b);
}

static uint64_t release_b(struct cell *c) {
  weir__store_release_u64(&c->b, 1);
  return weir__load_acquire_u64(&c->a);
}

static uint64_t mark_a(struct cell *c) {
  weir__store_relaxed_u64(&c->a, 1);
  weir__fence_compiler();
  return weir__load_acquire_u64(&c->b);
}

static uint64_t stale_b(struct cell *c) {
  weir__store_release_u64(&c->b, 1);
  (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  return weir__load_acquire_u64(&c->a);
}

static const struct pair pairs[] = {
    {"Q/slot, fd/kickers: updates", update_a, update_b, true},
    {"cancel/driver: store and update", store_a, update_b, true},
    {"control: release stores for both", release_a, release_b, false},
    {"mark/handle: membarrier", mark_a, stale_b, true},
    {"control: no membarrier", mark_a, release_b, false},
};

/* -------------------------------------------------------------------- rows */

static void clear_row(void) {
  for (uint32_t i = 0; i < CELLS; i++) {
    weir__store_relaxed_u64(&cells[i].a, 0);
    weir__store_relaxed_u64(&cells[i].b, 0);
  }
}

/* One has a head start that changes, so that all distances come about. */
static void stagger(uint32_t row, uint32_t side) {
  uint32_t n = row * UINT32_C(2654435761) >> 22;
  for (uint32_t i = side == (row & 1u) ? 0 : n; i > 0; i--) {
    weir__fence_compiler();
  }
}

/* Side by side at each cell, as long as the other is running at all. */
static void meet(uint32_t side, uint32_t place) {
  weir__store_relaxed_u32(&place_of[side].place, place);
  for (uint32_t spins = 0; spins < SPINS_MAX; spins++) {
    if ((int32_t)(weir__load_relaxed_u32(&place_of[1 - side].place) - place) >=
        0) {
      return;
    }
  }
}

static void run_row(uint32_t side, uint32_t row) {
  uint64_t (*run)(struct cell *) = side == 0 ? now_run->left : now_run->right;
  stagger(row, side);
  for (uint32_t i = 0; i < CELLS; i++) {
    meet(side, row * CELLS + i);
    cells[i].read[side] = run(&cells[i]);
  }
}

static void wait_for(_Atomic uint32_t *word, uint32_t value) {
  for (uint32_t spins = 0; weir__load_acquire_u32(word) != value; spins++) {
    if (spins % 1024 == 1023) {
      (void)sched_yield();
    }
  }
}

static void *right_side(void *arg) {
  (void)arg;
  for (uint32_t row = 1;; row++) {
    wait_for(&turn, row);
    if (now_run == NULL) {
      return NULL;
    }
    run_row(1, row);
    weir__store_release_u32(&ready, row);
  }
}

static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs a row and returns in how many of its cells both found 0. */
static uint32_t one_row(uint32_t row) {
  uint32_t both = 0;
  clear_row();
  weir__store_release_u32(&turn, row);
  run_row(0, row);
  wait_for(&ready, row);
  for (uint32_t i = 0; i < CELLS; i++) {
    both += cells[i].read[0] == 0 && cells[i].read[1] == 0;
  }
  return both;
}

/* Returns the first letter of what it prints. */
static char run_pair(const struct pair *pair, uint32_t *row) {
  double begun = seconds();
  double limit = pair->forbidden ? SECONDS : PATIENCE;
  uint32_t rows = 0;
  uint64_t both = 0;
  now_run = pair;
  while (seconds() - begun < limit && (both == 0 || pair->forbidden)) {
    both += one_row(++*row);
    rows++;
  }
  const char *word = pair->forbidden == (both == 0) ? "ok"
                     : pair->forbidden              ? "FAILED"
                                                    : "unseen";
  (void)printf("%-6s %-34s %8llu of %llu\n", word, pair->name,
               (unsigned long long)both, (unsigned long long)rows * CELLS);
  return word[0];
}

int main(void) {
  unsigned passed = 0;
  unsigned failed = 0;
  uint32_t row = 0;
  pthread_t thread;
  bool alone = sysconf(_SC_NPROCESSORS_ONLN) < 2;
  (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                0);
  if (pthread_create(&thread, NULL, right_side, NULL) != 0) {
    abort();
  }
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    if (alone && !pairs[i].forbidden) {
      continue;
    }
    char how = run_pair(&pairs[i], &row);
    passed += how == 'o';
    failed += how == 'F';
  }
  now_run = NULL;
  weir__store_release_u32(&turn, row + 1);
  (void)pthread_join(thread, NULL);
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed != 0 ? 0 : 1;
}
