/* SPDX-License-Identifier: MIT */
/* stress_submit_exec.c - statements that nobody waits for: several leases a
 * thread, submit and blocking forms mixed, cancellations of operations, of leases
 * and of queues, time-outs of 20 us, and a shutdown in the middle; with a reactor
 * thread and on a foreign loop.  Each operation completes exactly once, a lease is
 * busy until then, and what is not told of is told of by the end of its queue. */
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "strategies.h"
#include "stress.h"

#define THREADS  5
#define LEASES   4
#define CAPACITY 4
#define PATIENCE 120u /* seconds */

enum doing {
  IDLE,
  RUNNING,
  READING
};

struct held {
  weir_h lease;
  weir_h _Atomic op; /* for whoever cancels */
  enum doing doing;
  uint64_t serial; /* of the operation that is out */
};

struct world {
  weir_h engine;
  weir_h pool;
  _Atomic int over;
  struct worker *workers;
};

struct worker {
  struct world *world;
  struct stress_random random;
  weir_h queue;
  struct held held[LEASES];
  uint64_t serial;
  _Atomic uint64_t completed;
  int closed; /* the engine ends: stop */
};

static const char *const statements[] = {"rows 3",
                                         "sleep 100us; rows 2; count 1",
                                         "count 4",
                                         "sleep 5ms",
                                         "rows 60; sleep 50us; rows 5",
                                         "fail 208 no",
                                         "notice 1 1 hello",
                                         "begin",
                                         "set x"};

/* Everything a lease may answer here; the engine's end shows as CLOSED, and as
 * HANDLE when it is over. */
static void allow(struct worker *k, const char *what, int rc) {
  STRESS_ALLOW(what, rc, WEIR_PENDING, WEIR_E_FAIL, WEIR_E_TIMEOUT,
               WEIR_E_CANCELLED, WEIR_E_CLOSED, WEIR_E_HANDLE);
  if (rc == WEIR_E_CLOSED || rc == WEIR_E_HANDLE) {
    k->closed = 1;
  }
}

static void settle(struct held *h, int rc, enum doing then) {
  h->doing = rc == WEIR_PENDING ? RUNNING : rc == WEIR_OK ? then : IDLE;
}

static uint64_t user_of(struct worker *k, struct held *h) {
  h->serial = ++k->serial;
  return h->serial * LEASES + (uint64_t)(h - k->held);
}

/* op: as a submission wrote it, which may be over already. */
static void show_op(struct held *h, weir_h op) {
  atomic_store_explicit(&h->op, op, memory_order_release);
}

static void begin(struct worker *k, struct held *h) {
  const char *sql = statements[stress_below(&k->random, 9)];
  struct weir_exec_opts opts = {.struct_size = sizeof opts};
  weir_h op = 0;
  opts.timeout_ns = stress_below(&k->random, 4) == 0 ? 20 * STRESS_US : 0;
  int rc;
  if (stress_below(&k->random, 6) == 0) {
    rc = weir_submit_txn(h->lease, WEIR_OP_ROLLBACK, NULL, k->queue,
                         user_of(k, h), &op, NULL);
    settle(h, rc, IDLE);
  } else if (stress_below(&k->random, 5) == 0) {
    rc = weir_exec(h->lease, sql, strlen(sql), &opts, NULL);
    settle(h, rc, READING);
  } else {
    rc = weir_submit_exec(h->lease, sql, strlen(sql), &opts, k->queue,
                          user_of(k, h), &op, NULL);
    settle(h, rc, READING);
  }
  show_op(h, op);
  allow(k, "begin", rc);
}

static void read_on(struct worker *k, struct held *h) {
  struct weir_item item = {.struct_size = sizeof item};
  weir_h op = 0;
  int blocking = stress_below(&k->random, 4) == 0;
  int rc = blocking ? weir_next(h->lease, &item, NULL)
                    : weir_submit_next(h->lease, &item, k->queue, user_of(k, h),
                                       &op, NULL);
  settle(h, rc, item.type == WEIR_ITEM_DONE ? IDLE : READING);
  show_op(h, op);
  if (rc == WEIR_OK &&
      (item.type == WEIR_ITEM_ROWS || item.type == WEIR_ITEM_OUTPUT) &&
      weir_rows_free(item.rows) != WEIR_OK) {
    stress_broken("rows_free", WEIR_E_HANDLE);
  }
  allow(k, "next", rc);
}

static void give_back(struct worker *k, struct held *h) {
  int rc = stress_below(&k->random, 16) == 0 ? weir_discard(h->lease)
                                             : weir_release(h->lease);
  allow(k, "release", rc);
  h->lease = 0;
  h->doing = IDLE;
}

static void get(struct worker *k, struct held *h) {
  int rc = weir_acquire(k->world->pool, 5 * STRESS_MS, &h->lease, NULL);
  allow(k, "acquire", rc);
}

/* One lease a step further. */
static void push(struct worker *k, struct held *h) {
  if (h->lease == 0 && h->doing == RUNNING) {
    return; /* released; its completion is in line */
  }
  if (h->lease == 0) {
    get(k, h);
  } else if (h->doing == RUNNING) {
    int rc = weir_release(h->lease);
    if (rc != WEIR_E_BUSY && rc != WEIR_E_HANDLE) {
      /* The completion is in line already: then the lease was free. */
      STRESS_ALLOW("release while running", rc, WEIR_OK);
      h->lease = 0;
    }
  } else if (stress_below(&k->random, 12) == 0) {
    give_back(k, h);
  } else if (h->doing == READING) {
    read_on(k, h);
  } else {
    begin(k, h);
  }
}

static void check_completion(struct worker *k,
                             const struct weir_completion *c) {
  struct held *h = &k->held[c->user % LEASES];
  if (h->doing != RUNNING || h->serial != c->user / LEASES ||
      (h->lease != 0 && h->lease != c->lease)) {
    stress_broken("a completion nobody waits for", c->status);
  }
  (void)atomic_fetch_add(&k->completed, 1);
  /* Nothing is left to do with a lease that was released meanwhile. */
  bool more = c->status == WEIR_OK && c->type != WEIR_OP_ROLLBACK;
  h->doing = more && h->lease != 0 ? READING : IDLE;
  allow(k, "completion", c->status);
}

static void take(struct worker *k, int64_t timeout_ns) {
  struct weir_completion c = {.struct_size = sizeof c};
  int rc = weir_queue_take(k->queue, timeout_ns, &c, NULL);
  STRESS_ALLOW("take", rc, WEIR_E_TIMEOUT, WEIR_E_CLOSED, WEIR_E_HANDLE);
  if (rc == WEIR_OK) {
    check_completion(k, &c);
  } else if (rc != WEIR_E_TIMEOUT) {
    k->closed = 1;
  }
}

static unsigned out(const struct worker *k) {
  unsigned n = 0;
  for (unsigned i = 0; i < LEASES; i++) {
    n += k->held[i].doing == RUNNING;
  }
  return n;
}

/* Every operation that is out must still come in. */
static void collect(struct worker *k) {
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  while (k->closed == 0 && out(k) != 0) {
    if (stress_now() > end) {
      stress_broken("an operation that never completes", WEIR_E_TIMEOUT);
    }
    take(k, STRESS_S);
  }
}

static void *work(void *arg) {
  struct worker *k = arg;
  while (k->closed == 0 && atomic_load(&k->world->over) == 0) {
    push(k, &k->held[stress_below(&k->random, LEASES)]);
    take(k, stress_below(&k->random, 3) == 0 ? 50 * STRESS_US : 0);
    if (stress_below(&k->random, 400) == 0) {
      collect(k);
      (void)weir_queue_close(k->queue);
      int rc = weir_queue_open(k->world->engine, CAPACITY, &k->queue, NULL);
      allow(k, "queue", rc);
    }
  }
  collect(k);
  for (unsigned i = 0; i < LEASES; i++) {
    if (k->held[i].lease != 0) {
      (void)weir_release(k->held[i].lease);
    }
  }
  return NULL;
}

static void *cancel(void *arg) {
  struct world *w = arg;
  struct stress_random random = stress_seed(99, 1);
  while (atomic_load(&w->over) == 0) {
    const struct worker *k = &w->workers[stress_below(&random, THREADS)];
    weir_h op = atomic_load_explicit(&k->held[stress_below(&random, LEASES)].op,
                                     memory_order_acquire);
    if (op != 0) {
      STRESS_ALLOW("cancel", weir_op_cancel(op), WEIR_E_HANDLE);
    }
    stress_pause(150 * STRESS_US);
  }
  return NULL;
}

static weir_h open_engine(int foreign) {
  char dirs[512];
  weir_h engine = 0;
  struct weir_engine_opts opts = {
      .struct_size = sizeof opts,
      .flags =
          WEIR_ENGINE_NO_ENV | (foreign != 0 ? WEIR_ENGINE_FOREIGN_LOOP : 0u)};
  weir__seams.point = stress_hold_up;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  int rc = weir_engine_open(&opts, &engine, NULL);
  if (rc != WEIR_OK) {
    stress_broken("engine", rc);
  }
  return engine;
}

static void open_world(struct world *w, int foreign) {
  static unsigned turn;
  static const char text[] =
      "Driver=mock;Mock Strict=true;Max Pool Size=16;Close Timeout=1";
  atomic_store(&w->over, 0);
  w->engine = open_engine(foreign);
  int rc =
      stress_open_pool(w->engine, stress_policy(turn++), text, &w->pool, NULL);
  if (rc != WEIR_OK) {
    stress_broken("open", rc);
  }
}

static uint64_t sum(struct worker *k) {
  uint64_t completed = 0;
  for (unsigned i = 0; i < THREADS; i++) {
    completed += atomic_load(&k[i].completed);
  }
  return completed;
}

/* A busy machine may give nobody a turn for long; an engine must not. */
static void await_one(struct worker *k) {
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  while (sum(k) == 0) {
    if (stress_now() > end) {
      stress_broken("nothing completes", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  }
}

/* How a round ends: 0 when all is done, else in the middle. */
static uint64_t run_round(long seed, int foreign) {
  struct world w;
  struct worker k[THREADS];
  pthread_t thread[THREADS + 1];
  open_world(&w, foreign);
  w.workers = k;
  for (unsigned i = 0; i < THREADS; i++) {
    k[i] = (struct worker){.world = &w, .random = stress_seed(seed, (long)i)};
    if (weir_queue_open(w.engine, CAPACITY, &k[i].queue, NULL) != WEIR_OK) {
      stress_broken("queue", WEIR_E_FAIL);
    }
  }
  for (unsigned i = 0; i < THREADS; i++) {
    (void)pthread_create(&thread[i], NULL, work, &k[i]);
  }
  (void)pthread_create(&thread[THREADS], NULL, cancel, &w);
  stress_pause(150 * STRESS_MS);
  await_one(k);
  if (seed % 2 == 0) {
    atomic_store(&w.over, 1);
    for (unsigned i = 0; i < THREADS; i++) {
      (void)pthread_join(thread[i], NULL);
    }
  }
  int rc = weir_engine_shutdown(w.engine, seed % 3 * 5 * STRESS_MS, NULL);
  STRESS_ALLOW("shutdown", rc, WEIR_OK);
  atomic_store(&w.over, 1);
  for (unsigned i = 0; i <= THREADS; i++) {
    if (seed % 2 != 0 || i == THREADS) {
      (void)pthread_join(thread[i], NULL);
    }
  }
  return sum(k);
}

int main(void) {
  long factor = stress_setting("WEIR_STRESS_FACTOR", 1);
  long seed = stress_setting("WEIR_STRESS_SEED", 1);
  uint64_t completed = 0;
  long rounds = 8 * factor;
  for (long i = 0; i < rounds; i++) {
    (void)alarm(PATIENCE);
    completed += run_round(seed + i, (int)(i / 2 % 2));
  }
  (void)printf("%llu completions\n", (unsigned long long)completed);
  (void)printf("%ld passed, 0 failed\n", rounds);
  return 0;
}
