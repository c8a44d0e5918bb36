/* SPDX-License-Identifier: MIT */
/* stress_submit.c - blocking and submitted acquires in one line, with 20 us
 * time-outs, cancellations, clears, pools that close and queues that close.
 *
 * Asserted: a connection is never in two hands; every operation that was accepted
 * completes exactly once, unless its queue is closed first; when all is over
 * nothing is leased and nobody waits.
 *
 * WEIR_STRESS_SECONDS sets how long (default 2), WEIR_STRESS_SEED the seed. */
#include <pthread.h>
#include <stdbool.h>

#include "strategies.h"
#include "stress.h"

#define BLOCKING 4
#define OWNERS   4 /* threads with a queue of their own, which they close */
#define SHARED   3 /* threads that submit to one queue, and as many that take */
#define DEPTH    16u
#define SLOTS    131072u
#define TICKETS  4096u

static weir_h engine;
static _Atomic uint64_t pool;
static weir_h shared;
static _Atomic int stop;
static _Atomic int stop_taking;
static _Atomic int in_use[SLOTS];
static _Atomic uint64_t leases;
static _Atomic uint64_t inlined;
static _Atomic uint64_t accepted;
static _Atomic uint64_t completed;
static _Atomic uint64_t abandoned; /* with their queue */
static _Atomic uint64_t ended[4];  /* OK, time-out, cancelled, closed */
/* Of the shared queue: 1 while the operation with that number is under way. */
static _Atomic int ticket[TICKETS];
static _Atomic uint64_t op_of[TICKETS];

static void use(weir_h lease, struct stress_random *r) {
  _Atomic int *mark = &in_use[lease >> 32 & (SLOTS - 1)];
  if (atomic_exchange(mark, 1) != 0) {
    stress_broken("a connection is in two hands", WEIR_E_FAIL);
  }
  if (stress_below(r, 8) == 0) {
    int rc = weir_exec(lease, "rows 3", 6, NULL, NULL);
    if (rc == WEIR_OK) {
      rc = stress_read_all(lease);
    }
    STRESS_ALLOW("statement", rc, WEIR_E_FAIL);
  }
  atomic_store(mark, 0);
  int rc = stress_below(r, 64) == 0 ? weir_discard(lease) : weir_release(lease);
  if (rc != WEIR_OK) {
    stress_broken("release", rc);
  }
  atomic_fetch_add(&leases, 1);
}

static int64_t pick_timeout(struct stress_random *r) {
  static const int64_t choices[] = {0,
                                    20 * STRESS_US,
                                    20 * STRESS_US,
                                    5 * STRESS_MS,
                                    60 * STRESS_S,
                                    WEIR_TIMEOUT_NEVER};
  return choices[stress_below(r, sizeof choices / sizeof *choices)];
}

static void *block(void *arg) {
  struct stress_random r = stress_seed((long)(uintptr_t)arg, 1);
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int rc = weir_acquire(atomic_load(&pool), pick_timeout(&r), &lease, NULL);
    STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_CLOSED, WEIR_E_HANDLE);
    if (rc == WEIR_OK) {
      use(lease, &r);
    }
  }
  return NULL;
}

static void count_end(int status) {
  static const int codes[] = {WEIR_OK, WEIR_E_TIMEOUT, WEIR_E_CANCELLED,
                              WEIR_E_CLOSED};
  for (unsigned i = 0; i < 4; i++) {
    if (status == codes[i]) {
      atomic_fetch_add(&ended[i], 1);
      atomic_fetch_add(&completed, 1);
      return;
    }
  }
  stress_broken("a completion's status", status);
}

/* True if it was accepted: its completion will come. */
static bool submit(weir_h queue,
                   uint64_t user,
                   weir_h *out_op,
                   struct stress_random *r) {
  weir_h lease = 0;
  int rc = weir_submit_acquire(atomic_load(&pool), pick_timeout(r), queue, user,
                               &lease, out_op, NULL);
  STRESS_ALLOW("submit", rc, WEIR_PENDING, WEIR_E_TIMEOUT, WEIR_E_CLOSED,
               WEIR_E_HANDLE, WEIR_E_BUSY);
  if (rc == WEIR_OK) {
    atomic_fetch_add(&inlined, 1);
    use(lease, r);
  }
  return rc == WEIR_PENDING;
}

static void cancel(weir_h op) {
  int rc = weir_op_cancel(op);
  STRESS_ALLOW("cancel", rc, WEIR_E_HANDLE);
}

/* ------------------------------------------------------- a queue of one's own */

struct owner {
  struct stress_random random;
  weir_h queue;
  weir_h ops[DEPTH]; /* 0: the number is free */
  unsigned n;        /* under way */
};

static void open_queue(struct owner *o) {
  struct weir_error err = {.struct_size = sizeof err};
  if (weir_queue_open(engine, DEPTH, &o->queue, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
}

static void fill(struct owner *o) {
  for (unsigned i = 0; i < DEPTH; i++) {
    if (o->ops[i] == 0 && stress_below(&o->random, 2) == 0 &&
        submit(o->queue, i, &o->ops[i], &o->random)) {
      atomic_fetch_add(&accepted, 1);
      o->n++;
    }
  }
}

static bool take_own(struct owner *o, int64_t timeout_ns) {
  struct weir_completion c = {.struct_size = sizeof c};
  int rc = weir_queue_take(o->queue, timeout_ns, &c, NULL);
  STRESS_ALLOW("take", rc, WEIR_E_TIMEOUT);
  if (rc != WEIR_OK) {
    return false;
  }
  if (c.user >= DEPTH || o->ops[c.user] != c.op) {
    stress_broken("an operation completes twice", c.status);
  }
  o->ops[c.user] = 0;
  o->n--;
  count_end(c.status);
  if (c.status == WEIR_OK) {
    use(c.lease, &o->random);
  }
  return true;
}

static void close_queue(struct owner *o) {
  if (weir_queue_close(o->queue) != WEIR_OK) {
    stress_broken("queue_close", WEIR_E_HANDLE);
  }
  atomic_fetch_add(&abandoned, o->n);
  o->n = 0;
  memset(o->ops, 0, sizeof o->ops);
}

static void *own(void *arg) {
  struct owner o = {.random = stress_seed((long)(uintptr_t)arg, 2)};
  open_queue(&o);
  while (atomic_load(&stop) == 0) {
    fill(&o);
    if (stress_below(&o.random, 2) == 0) {
      cancel(o.ops[stress_below(&o.random, DEPTH)]);
    }
    while (take_own(&o, (int64_t)stress_below(&o.random, 2) * 50 * STRESS_US)) {
    }
    if (stress_below(&o.random, 64) == 0) {
      close_queue(&o);
      open_queue(&o);
    }
  }
  for (unsigned i = 0; i < DEPTH; i++) {
    cancel(o.ops[i]);
  }
  while (o.n != 0) {
    if (!take_own(&o, STRESS_PATIENCE_NS)) {
      stress_broken("an operation never completes", WEIR_E_TIMEOUT);
    }
  }
  close_queue(&o);
  return NULL;
}

/* ------------------------------------------------------------ a shared queue */

static void submit_shared(struct stress_random *r) {
  uint32_t i = stress_below(r, TICKETS);
  int idle = 0;
  if (!atomic_compare_exchange_strong(&ticket[i], &idle, 1)) {
    cancel(atomic_load(&op_of[i]));
    return;
  }
  atomic_store(&op_of[i], 0);
  /* Its completion may be taken before this has returned. */
  atomic_fetch_add(&accepted, 1);
  weir_h op = 0;
  if (submit(shared, i, &op, r)) {
    atomic_store(&op_of[i], op);
  } else {
    atomic_fetch_sub(&accepted, 1);
    atomic_store(&ticket[i], 0);
  }
}

static void *give(void *arg) {
  struct stress_random r = stress_seed((long)(uintptr_t)arg, 3);
  while (atomic_load(&stop) == 0) {
    submit_shared(&r);
    if (stress_below(&r, 256) == 0 && weir_queue_wake(shared) != WEIR_OK) {
      stress_broken("wake", WEIR_E_HANDLE);
    }
  }
  return NULL;
}

static void *take(void *arg) {
  struct stress_random r = stress_seed((long)(uintptr_t)arg, 4);
  while (atomic_load(&stop_taking) == 0) {
    struct weir_completion c = {.struct_size = sizeof c};
    struct weir_error err = {.struct_size = sizeof err};
    int rc = weir_queue_take(shared, 10 * STRESS_MS, &c, &err);
    STRESS_ALLOW("take", rc, WEIR_E_TIMEOUT, WEIR_E_CANCELLED);
    if (rc != WEIR_OK) {
      continue;
    }
    if (c.user >= TICKETS || atomic_exchange(&ticket[c.user], 0) != 1) {
      stress_broken("an operation completes twice", c.status);
    }
    count_end(c.status);
    if (c.status == WEIR_OK) {
      use(c.lease, &r);
    } else if (err.code != c.status) {
      stress_broken("an error is of something else", err.code);
    }
  }
  return NULL;
}

/* -------------------------------------------------------------------- chaos */

/* Small ones have a line, large ones idle connections. */
static void open_pool(void) {
  static unsigned turn;
  char text[200];
  (void)snprintf(text, sizeof text,
                 "Driver=mock;Max Pool Size=%u;Mock Connect Delay=1ms;"
                 "Probe Window=1ms;Mock Script Text=\"health every 50: dead\"",
                 turn % 2 == 0 ? 5u : 60u);
  struct weir_error err = {.struct_size = sizeof err};
  weir_h opened = 0;
  if (stress_open_pool(engine, stress_policy(turn++), text, &opened, &err) !=
      WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  atomic_store(&pool, opened);
}

static void disturb(struct stress_random *r) {
  if (stress_below(r, 4) == 0) {
    if (weir_pool_close(atomic_load(&pool)) != WEIR_OK) {
      stress_broken("pool_close", WEIR_E_HANDLE);
    }
    open_pool();
  } else if (weir_pool_clear(atomic_load(&pool)) != WEIR_OK) {
    stress_broken("clear", WEIR_E_HANDLE);
  }
}

static void start(pthread_t *thread, void *(*run)(void *), long seed) {
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number for the thread */
  if (pthread_create(thread, NULL, run, (void *)(uintptr_t)seed) != 0) {
    stress_broken("thread", WEIR_E_NOMEM);
  }
}

static void join(const pthread_t *threads, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* Every operation that is left, of the shared queue: the line moves on until none
 * waits. */
static void await_completions(void) {
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  while (atomic_load(&accepted) !=
         atomic_load(&completed) + atomic_load(&abandoned)) {
    if (stress_now() > end) {
      stress_broken("an operation never completes", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  }
}

static void check_rest(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  do {
    if (weir_pool_stats(atomic_load(&pool), &s) != WEIR_OK ||
        stress_now() > end) {
      stress_broken("the pool never comes to rest", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  } while (s.connecting + s.reserved + s.closing + s.leased + s.waiters != 0);
  if (s.acquired != s.released || s.empty + s.idle != s.max_size) {
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
}

/* After all that an idle connection is still had without waiting. */
static void check_inline(void) {
  weir_h lease = 0;
  int rc = weir_acquire(atomic_load(&pool), STRESS_PATIENCE_NS, &lease, NULL);
  if (rc != WEIR_OK || weir_release(lease) != WEIR_OK) {
    stress_broken("the last acquire", rc);
  }
  rc =
      weir_submit_acquire(atomic_load(&pool), 0, shared, 0, &lease, NULL, NULL);
  if (rc != WEIR_OK || weir_release(lease) != WEIR_OK) {
    stress_broken("the last submission", rc);
  }
}

static unsigned long told(_Atomic uint64_t *counter) {
  return (unsigned long)atomic_load(counter);
}

int main(void) {
  pthread_t workers[BLOCKING + OWNERS + SHARED];
  pthread_t takers[SHARED];
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 2);
  long seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  struct stress_random r = stress_seed(seed, 0);
  struct weir_error err = {.struct_size = sizeof err};
  unsigned n = 0;
  engine = stress_open_engine();
  open_pool();
  if (weir_queue_open(engine, 64, &shared, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  for (long i = 0; i < BLOCKING + OWNERS + SHARED; i++) {
    start(&workers[n++],
          i < BLOCKING            ? block
          : i < BLOCKING + OWNERS ? own
                                  : give,
          seed + i * 101);
  }
  for (long i = 0; i < SHARED; i++) {
    start(&takers[i], take, seed + i * 103);
  }
  for (int64_t end = stress_now() + seconds * STRESS_S; stress_now() < end;) {
    stress_pause((int64_t)stress_below(&r, 20) * STRESS_MS);
    disturb(&r);
  }
  atomic_store(&stop, 1);
  join(workers, n);
  await_completions();
  atomic_store(&stop_taking, 1);
  join(takers, SHARED);
  check_rest();
  check_inline();
  int rc = weir_engine_shutdown(engine, 5 * STRESS_S, &err);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
  (void)printf(
      "seed %ld: %lu leases, %lu inline, %lu accepted: %lu served, %lu "
      "timed out, %lu cancelled, %lu closed, %lu left with their "
      "queue\n1 passed, 0 failed\n",
      seed, told(&leases), told(&inlined), told(&accepted), told(&ended[0]),
      told(&ended[1]), told(&ended[2]), told(&ended[3]), told(&abandoned));
  return told(&ended[0]) == 0 || told(&ended[1]) == 0 || told(&ended[2]) == 0 ||
         told(&ended[3]) == 0 || told(&abandoned) == 0;
}
