/* SPDX-License-Identifier: MIT */
/* spike_handoff.c - who gets a connection that comes back: 50 threads, a pool of
 * 10, each rule of handoff_pool.h and the engine itself, with six ways of using
 * a connection.
 *
 * Usage: spike_handoff [--quick]
 *
 * Rounds visit the rules forwards and backwards; each figure is the median of
 * the rounds' own figures.  A wait runs from entering the line to the grant, as
 * the granter stamps it; one that found a connection waited 0.  The engine's
 * waits are its callers' and end when the thread runs again: they carry the
 * wake-up, and are only to be compared with each other.  "used" is the share of
 * the time in which the ten connections were held. */
#include <stddef.h>

#include "weir.h"

#include "handoff_pool.h"
#include "spike.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum use {
  USE_NOTHING,
  USE_SLEEP,
  USE_BUSY
};

static const struct {
  const char *name;
  enum use use;
  uint64_t ns;
  uint64_t pause_ns; /* between two uses */
} holds[] = {
    {"hold: sleep of 100 us", USE_SLEEP, 100 * US, 0},
    {"... and 300 us between", USE_SLEEP, 100 * US, 300 * US},
    {"hold: none", USE_NOTHING, 0, 0},
    {"hold: 0.1 us of work", USE_BUSY, 100, 0},
    {"hold: 10 us of work", USE_BUSY, 10 * US, 0},
    {"hold: sleep of 1 ms", USE_SLEEP, 1 * MS, 0},
};

static const struct {
  const char *name;
  enum handoff_rule rule;
  uint64_t bound_ns;
  uint64_t fair_parts;
} rules[] = {
    {"strict", HANDOFF_STRICT, 0, 0},
    {"barging", HANDOFF_BARGING, 0, 0},
    {"bounded 0.3 ms", HANDOFF_BOUNDED, 300 * US, 0},
    {"bounded 0.8 ms", HANDOFF_BOUNDED, 800 * US, 0},
    {"bounded 1.5 ms", HANDOFF_BOUNDED, 1500 * US, 0},
    {"bounded 2 ms", HANDOFF_BOUNDED, 2000 * US, 0},
    {"bounded 1.75 ms", HANDOFF_BOUNDED, 1750 * US, 0},
    {"bounded 2.5 ms", HANDOFF_BOUNDED, 2500 * US, 0},
    {"bounded 10 ms", HANDOFF_BOUNDED, 10000 * US, 0},
    {"2 fair waits", HANDOFF_BOUNDED, 0, 2},
    {"2 fair or 2 ms", HANDOFF_BOUNDED, 2000 * US, 2},
    {"2 ms by alarm", HANDOFF_ALARM, 2000 * US, 0},
    {"engine (direct)", HANDOFF_STRICT, 0, 0}, /* the last */
};

#define RULES (sizeof rules / sizeof rules[0])
#define HOLDS (sizeof holds / sizeof holds[0])

enum figure {
  RATE,
  USED,
  P50,
  P99,
  P999,
  MAX,
  FAIR,
  OVERTAKEN,
  WAITED,
  CPU,
  FIGURES
};

static double figures[HOLDS][RULES][FIGURES][SPIKE_ROUNDS_MAX];

/* One thread's counts, on lines of its own. */
struct tally {
  struct handoff_user user;
  struct spike_hist waits;
  uint64_t ops;
  uint64_t held_ns;
  uint64_t waits_n;
};

struct run {
  struct handoff_pool pool;
  weir_h engine_pool; /* 0: not the engine */
  enum use use;
  uint64_t hold_ns;
  uint64_t pause_ns;
  _Atomic uint32_t stop;
  struct tally tallies[HANDOFF_THREADS];
};

static void hold(const struct run *r, struct tally *t) {
  if (r->use == USE_NOTHING) {
    return;
  }
  uint64_t begun = spike_now();
  uint64_t now = begun;
  if (r->use == USE_SLEEP) {
    spike_sleep(r->hold_ns);
    now = spike_now();
  }
  while (now - begun < r->hold_ns) {
    now = spike_now();
  }
  t->user.hold_ns = now - begun;
  t->held_ns += now - begun;
}

static void use_engine(struct run *r, struct tally *t) {
  weir_h lease;
  /* Stamped only where the hold is long enough to bear it. */
  uint64_t begun = r->use == USE_NOTHING ? 0 : spike_now();
  if (weir_acquire(r->engine_pool, WEIR_TIMEOUT_NEVER, &lease, NULL) !=
      WEIR_OK) {
    spike_die("an acquire failed");
  }
  t->user.waited = begun == 0 ? 0 : spike_now() - begun;
  hold(r, t);
  if (weir_release(lease) != WEIR_OK) {
    spike_die("a release failed");
  }
}

static void use_model(struct run *r, struct tally *t) {
  uint64_t word;
  struct weir__slot *slot = handoff_take(&r->pool, &t->user, &word);
  hold(r, t);
  handoff_put(&r->pool, &t->user, slot, word);
}

static void work(void *arg, unsigned which) {
  struct run *r = arg;
  struct tally *t = &r->tallies[which];
  while (atomic_load_explicit(&r->stop, memory_order_relaxed) == 0) {
    if (r->engine_pool != 0) {
      use_engine(r, t);
    } else {
      use_model(r, t);
    }
    spike_note(&t->waits, t->user.waited);
    t->waits_n += t->user.waited != 0;
    t->ops++;
    if (r->pause_ns != 0) {
      spike_sleep(r->pause_ns);
    }
  }
}

static void measure(struct run *r, uint64_t ns, double f[FIGURES]) {
  struct spike_hist *all = calloc(1, sizeof *all);
  if (all == NULL) {
    spike_die("no memory");
  }
  uint64_t cpu = spike_cpu_ns();
  uint64_t wall = spike_run(HANDOFF_THREADS, work, r, &r->stop, ns);
  cpu = spike_cpu_ns() - cpu;
  uint64_t held = 0;
  uint64_t overtook = 0;
  uint64_t waited = 0;
  for (unsigned i = 0; i < HANDOFF_THREADS; i++) {
    spike_merge(all, &r->tallies[i].waits);
    held += r->tallies[i].held_ns;
    overtook += r->tallies[i].user.overtook;
    waited += r->tallies[i].waits_n;
  }
  double ops = (double)all->n;
  f[RATE] = ops / (double)wall * 1e6; /* thousands a second */
  f[USED] = (double)held / (double)wall / HANDOFF_SLOTS;
  f[P50] = spike_quantile(all, 0.5) / 1e3;
  f[P99] = spike_quantile(all, 0.99) / 1e3;
  f[P999] = spike_quantile(all, 0.999) / 1e3;
  f[MAX] = (double)all->max / 1e3;
  /* What a perfect line would have everyone wait, in that hold. */
  double fair = (double)held / ops * (HANDOFF_THREADS - HANDOFF_SLOTS) /
                HANDOFF_SLOTS / 1e3;
  f[FAIR] = fair == 0 ? 0 : f[P99] / fair;
  f[OVERTAKEN] = waited == 0 ? 0 : (double)overtook / (double)waited;
  f[WAITED] = (double)waited / ops * 100;
  f[CPU] = (double)cpu / ops / 1e3;
  free(all);
}

static void run_one(unsigned h,
                    unsigned k,
                    weir_h pool,
                    uint64_t ns,
                    unsigned round) {
  struct run *r = aligned_alloc(128, (sizeof *r + 127) / 128 * 128);
  double f[FIGURES];
  if (r == NULL) {
    spike_die("no memory");
  }
  memset(r, 0, sizeof *r);
  handoff_init(&r->pool, rules[k].rule, rules[k].bound_ns, rules[k].fair_parts);
  r->use = holds[h].use;
  r->hold_ns = holds[h].ns;
  r->pause_ns = holds[h].pause_ns;
  r->engine_pool = k == RULES - 1 ? pool : 0;
  measure(r, ns, f);
  if (weir__load_seq_u64(&r->pool.q) != 0) {
    spike_die("somebody was left in line"); /* or a try was never ended */
  }
  for (unsigned i = 0; i < FIGURES; i++) {
    figures[h][k][i][round] = f[i];
  }
  handoff_fini(&r->pool);
  free(r);
}

static void print(unsigned rounds) {
  for (unsigned h = 0; h < HOLDS; h++) {
    double base = spike_median(figures[h][0][RATE], rounds);
    (void)printf("\n%-22s     k/s  x strict  used  p50 us   p99 us  p99.9 us"
                 "    max us  p99/fair  overtaken  waited  cpu us/op\n",
                 holds[h].name);
    for (unsigned k = 0; k < RULES; k++) {
      double m[FIGURES];
      for (unsigned i = 0; i < FIGURES; i++) {
        m[i] = spike_median(figures[h][k][i], rounds);
      }
      (void)printf("  %-18s %9.1f %9.2f %5.2f %7.0f %8.0f %9.0f %9.0f %9.1f "
                   "%10.1f %6.1f%% %10.2f\n",
                   rules[k].name, m[RATE], m[RATE] / base, m[USED], m[P50],
                   m[P99], m[P999], m[MAX], m[FAIR], m[OVERTAKEN], m[WAITED],
                   m[CPU]);
    }
  }
}

/* An engine with a pool of ten connections that are open. */
static weir_h open_pool(weir_h *out_engine) {
  static const char text[] = "Driver=mock;Max Pool Size=10";
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h leases[HANDOFF_SLOTS];
  weir_h pool;
  opts.driver_dirs = SPIKE_DRIVER_DIR;
  opts.driver_dirs_len = strlen(opts.driver_dirs);
  if (weir_engine_open(&opts, out_engine, &err) != WEIR_OK ||
      weir_pool_open(*out_engine, text, strlen(text), &pool, &err) != WEIR_OK) {
    spike_die(err.message);
  }
  for (unsigned i = 0; i < HANDOFF_SLOTS; i++) {
    if (weir_acquire(pool, WEIR_TIMEOUT_POOL, &leases[i], &err) != WEIR_OK) {
      spike_die(err.message);
    }
  }
  for (unsigned i = 0; i < HANDOFF_SLOTS; i++) {
    (void)weir_release(leases[i]);
  }
  return pool;
}

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 5;
  uint64_t ns = quick ? 40 * MS : 120 * MS;
  weir_h engine;
  weir_h pool = open_pool(&engine);
  (void)printf("50 threads, 10 connections, %u rounds of %u ms\n", rounds,
               (unsigned)(ns / MS));
  for (unsigned r = 0; r < rounds; r++) {
    for (unsigned h = 0; h < HOLDS; h++) {
      for (unsigned i = 0; i < RULES; i++) {
        run_one(h, spike_turn(r, i, RULES), pool, ns, r);
      }
    }
  }
  print(rounds);
  return weir_engine_shutdown(engine, 0, NULL) == WEIR_OK ? 0 : 1;
}
