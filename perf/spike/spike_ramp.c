/* SPDX-License-Identifier: MIT */
/* spike_ramp.c - who gets a connection that comes back while callers open their
 * own: N callers come to an empty pool at once, each uses a connection once.
 *
 * Usage: spike_ramp [--quick]
 *
 * This is the engine itself over the mock driver, whose connect takes 5 ms.  The
 * rules differ in the one function that names the heir of a connection that came
 * back:
 *   now       the oldest that sleeps, else the oldest that opens, whose connect
 *             goes on on the reactor
 *   never     the oldest that sleeps; who opens is left alone
 *   one class the oldest of all
 * "All connects on one thread" is not in the engine: spike_ramp_model.c. */
#include <stddef.h>

#include "weir.h"

#include "handle.h"
#include "policy.h"
#include "pool.h"
#include "spike.h"

#define CALLERS_MAX 100u
#define MS          UINT64_C(1000000)

static struct weir__waiter *in_time(const struct weir__waiters *list,
                                    uint64_t now) {
  struct weir__waiter *w = list->first;
  while (w != NULL && w->deadline <= now) {
    w = w->next;
  }
  return w;
}

static struct weir__waiter *never(struct weir__pool *pool, uint64_t now) {
  return in_time(&pool->waiting, now);
}

static struct weir__waiter *one_class(struct weir__pool *pool, uint64_t now) {
  struct weir__waiter *asleep = in_time(&pool->waiting, now);
  struct weir__waiter *driver = in_time(&pool->driving, now);
  if (asleep == NULL || driver == NULL) {
    return asleep == NULL ? driver : asleep;
  }
  return asleep->since <= driver->since ? asleep : driver;
}

static const struct {
  const char *name;
  struct weir__waiter *(*heir)(struct weir__pool *pool, uint64_t now);
} rules[] = {{"now", NULL}, {"never", never}, {"one class", one_class}};

static const struct {
  const char *name;
  const char *script;
  unsigned callers_per_place;
  uint64_t apart_ns;
} kinds[] = {
    {"all alike", "", 1, 0},
    {"1 in 10 takes 50 ms", "connect every 10: delay 45ms", 1, 0},
    {"2 callers a place", "", 2, 0},
    {"2 a place, 1 in 10", "connect every 10: delay 45ms", 2, 0},
    {"200 us apart", "", 1, 200000},
};

static const unsigned callers[] = {10, 50, 100};
static const uint64_t holds[] = {0, 20 * MS};

#define RULES (sizeof rules / sizeof rules[0])
#define KINDS (sizeof kinds / sizeof kinds[0])
#define SIZES (sizeof callers / sizeof callers[0])
#define HOLDS (sizeof holds / sizeof holds[0])
#define CELLS (KINDS * HOLDS * SIZES)

enum figure {
  SERVED,
  P50,
  WORST,
  OPENED,
  HANDED,
  CPU,
  FIGURES
};

static double figures[CELLS][RULES][FIGURES][SPIKE_ROUNDS_MAX];

struct ramp {
  weir_h pool;
  uint64_t hold_ns;
  uint64_t apart_ns;
  uint64_t begun;
  double wait_ms[CALLERS_MAX];
  double served_ms[CALLERS_MAX];
};

static void work(void *arg, unsigned which) {
  struct ramp *r = arg;
  weir_h lease;
  struct weir_error err = {.struct_size = sizeof err};
  if (r->apart_ns != 0) {
    spike_sleep(which * r->apart_ns);
  }
  uint64_t came = spike_now();
  if (weir_acquire(r->pool, WEIR_TIMEOUT_NEVER, &lease, &err) != WEIR_OK) {
    spike_die(err.message);
  }
  uint64_t now = spike_now();
  r->wait_ms[which] = (double)(now - came) / MS;
  r->served_ms[which] = (double)(now - r->begun) / MS;
  if (r->hold_ns != 0) {
    spike_sleep(r->hold_ns);
  }
  if (weir_release(lease) != WEIR_OK) {
    spike_die("a release failed");
  }
}

static weir_h open_pool(weir_h engine, unsigned kind, unsigned max) {
  static unsigned number;
  char text[256];
  struct weir_error err = {.struct_size = sizeof err};
  weir_h pool;
  /* A database of its own each time: a pool of its own. */
  int n = snprintf(text, sizeof text,
                   "Driver=mock;Mock Connect Delay=5ms;Max Pool Size=%u;"
                   "Database=ramp%u;Mock Script Text=\"%s\"",
                   max, number++, kinds[kind].script);
  if (weir_pool_open(engine, text, (uint64_t)n, &pool, &err) != WEIR_OK) {
    spike_die(err.message);
  }
  return pool;
}

/* The policy of handing over, but for the heir.  Nobody uses the pool yet. */
static void set_rule(weir_h handle, unsigned rule) {
  static struct weir__handoff_policy changed[RULES];
  struct weir__pool *pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  if (rules[rule].heir != NULL) {
    changed[rule] = *pool->policies.handoff;
    changed[rule].heir = rules[rule].heir;
    pool->policies.handoff = &changed[rule];
  }
}

static void run_one(weir_h engine,
                    unsigned cell,
                    unsigned rule,
                    unsigned round) {
  unsigned kind = cell / (HOLDS * SIZES);
  unsigned n = callers[cell % SIZES];
  struct ramp r = {.hold_ns = holds[cell / SIZES % HOLDS],
                   .apart_ns = kinds[kind].apart_ns};
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  double(*f)[SPIKE_ROUNDS_MAX] = figures[cell][rule];
  r.pool = open_pool(engine, kind, n / kinds[kind].callers_per_place);
  set_rule(r.pool, rule);
  uint64_t cpu = spike_cpu_ns();
  r.begun = spike_now();
  (void)spike_run(n, work, &r, NULL, 0);
  f[CPU][round] = (double)(spike_cpu_ns() - cpu) / n / 1e3;
  if (weir_pool_stats(r.pool, &stats) != WEIR_OK) {
    spike_die("no statistics");
  }
  double last = 0;
  for (unsigned i = 0; i < n; i++) {
    last = r.served_ms[i] > last ? r.served_ms[i] : last;
  }
  f[SERVED][round] = last;
  f[P50][round] = spike_median(r.wait_ms, n);
  f[WORST][round] = r.wait_ms[n - 1]; /* sorted by now */
  f[OPENED][round] = (double)stats.connects_begun;
  f[HANDED][round] = (double)stats.handovers;
  (void)weir_pool_close(r.pool);
}

static void print(unsigned rounds) {
  (void)printf("%-20s %5s %4s  %-9s %9s %6s %9s %9s %7s %7s %10s\n", "connects",
               "hold", "N", "rule", "served ms", "x now", "p50 ms", "worst ms",
               "opened", "handed", "cpu us/N");
  for (unsigned c = 0; c < CELLS; c++) {
    double base = 0;
    for (unsigned k = 0; k < RULES; k++) {
      double m[FIGURES];
      for (unsigned i = 0; i < FIGURES; i++) {
        m[i] = spike_median(figures[c][k][i], rounds);
      }
      base = k == 0 ? m[SERVED] : base;
      (void)printf("%-20s %2u ms %4u  %-9s %9.1f %6.2f %9.1f %9.1f %7.0f %7.0f "
                   "%10.0f\n",
                   kinds[c / (HOLDS * SIZES)].name,
                   (unsigned)(holds[c / SIZES % HOLDS] / MS),
                   callers[c % SIZES], rules[k].name, m[SERVED],
                   m[SERVED] / base, m[P50], m[WORST], m[OPENED], m[HANDED],
                   m[CPU]);
    }
  }
}

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 5;
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h engine;
  opts.driver_dirs = SPIKE_DRIVER_DIR;
  opts.driver_dirs_len = strlen(opts.driver_dirs);
  if (weir_engine_open(&opts, &engine, &err) != WEIR_OK) {
    spike_die(err.message);
  }
  for (unsigned r = 0; r < rounds; r++) {
    for (unsigned c = 0; c < CELLS; c++) {
      for (unsigned i = 0; i < RULES; i++) {
        run_one(engine, c, spike_turn(r, i, RULES), r);
      }
    }
  }
  print(rounds);
  return weir_engine_shutdown(engine, 0, NULL) == WEIR_OK ? 0 : 1;
}
