/* SPDX-License-Identifier: MIT */
/* stress_wait.c - fifty threads wait for one to three connections that come up
 * slowly, fail or hang, one at a time (Max Concurrent Connects=1).
 *
 * Most wait 20 us to 5 ms and give up; some never do and hang for good if a wake
 * is lost: a watchdog ends the program when a call takes much longer than its
 * time-out, or than it can take to be served (P3).  From outside, the pool is
 * cleared, statements are cancelled and hung connects let go.  Rounds end with
 * everybody but the patient gone, so that nobody's coming by wakes whom no one
 * else woke; then everything must add up and an acquire succeed.
 *
 * WEIR_STRESS_SECONDS (3), WEIR_STRESS_SEED. */
#include <pthread.h>

#include "engine.h"
#include "handle.h"
#include "loader.h"
#include "strategies.h"
#include "stress.h"

#define THREADS     50
#define PATIENT     6 /* the first of them */
#define CONFIGS     6u
#define MAX_SLOTS   3u
#define ROUND_NS    (300 * STRESS_MS)
#define SLOTS_EVER  131072u
#define CONNECT_TRY 20

/* A physical connect has 60 ms; so whatever hangs ends. */
static const char *const conninfo[CONFIGS] = {
    "Driver=mock;Max Pool Size=1;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=5ms;Mock Connect Delay=100us",
    "Driver=mock;Max Pool Size=3;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=5ms;Probe Window=0;Mock Script Text='"
    "connect every 2: fail conn network; connect every 7: hang; "
    "connect: delay 300us; health every 9: dead'",
    "Driver=mock;Max Pool Size=2;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=0;Min Pool Size=2;Connection Reset=verified;Mock Script "
    "Text='"
    "connect every 5: offload; connect every 3: hang; reset every 4: hang; "
    "reset every 3: fail conn network; logout every 3: hang'",
    "Driver=mock;Max Pool Size=3;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=20ms;Pooling=false;Max Waiters=60;Mock Script Text='"
    "connect every 4: fail endpoint network; connect every 6: delay 8ms'",
    "Driver=mock;Max Pool Size=2;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=5ms;Pool Handoff=direct;Mock Connect Delay=100us",
    "Driver=mock;Max Pool Size=3;Max Concurrent Connects=1;Connect "
    "Timeout=60ms;"
    "Close Timeout=5ms;Handoff Bound=100us;Mock Script Text='"
    "connect every 7: hang; health every 9: dead'",
};

struct watch {
  _Atomic int64_t until; /* when the call must have returned; 0: in no call */
};

static struct watch watches[THREADS];
static pthread_t threads[THREADS];
static weir_h engine;
static weir_h pool;
static weir_drv_drv *driver;
static const struct mock_control *mock;
static _Atomic int stop;    /* no new acquires by the impatient */
static _Atomic int patient; /* ... by the patient */
static _Atomic int over;    /* the outsiders and the watchdog go */
static _Atomic int in_use[SLOTS_EVER];
static _Atomic uint64_t last_lease;
static _Atomic uint64_t leases;
static _Atomic uint64_t timeouts;
static _Atomic uint64_t failures;
static long seed;

static void find_mock(void) {
  const struct weir__driver *found = NULL;
  struct weir__engine *e = weir__handle_find(engine, WEIR_TYPE_ENGINE);
  if (weir__loader_load(e->loader, "mock", 4, &found, NULL) != WEIR_OK) {
    stress_broken("no mock", WEIR_E_FAIL);
  }
  driver = found->instance;
  mock =
      found->table.extension(driver, MOCK_CONTROL_NAME, MOCK_CONTROL_VERSION);
}

static struct mock_counts mock_counts(void) {
  struct mock_counts c = {.struct_size = sizeof c};
  mock->counts(driver, &c);
  return c;
}

static struct weir_pool_stats stats(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  int rc = weir_pool_stats(pool, &s);
  if (rc != WEIR_OK) {
    stress_broken("stats", rc);
  }
  return s;
}

/* The index of the slot is what a lease's handle has in bits 32 to 48. */
static _Atomic int *mark_of(weir_h lease) {
  return &in_use[lease >> 32 & (SLOTS_EVER - 1)];
}

/* ---------------------------------------------------------------- workers */

static int64_t pick_timeout(struct stress_random *r, bool never) {
  return never ? WEIR_TIMEOUT_NEVER
               : (20 + (int64_t)stress_below(r, 5000)) * STRESS_US;
}

/* One that waits for ever may have to wait for everybody before it. */
static int acquire(struct watch *watch, int64_t timeout, weir_h *out) {
  int64_t span = timeout == WEIR_TIMEOUT_NEVER ? 2 * STRESS_PATIENCE_NS
                                               : timeout + STRESS_PATIENCE_NS;
  atomic_store(&watch->until, stress_now() + span);
  int rc = weir_acquire(pool, timeout, out, NULL);
  atomic_store(&watch->until, 0);
  STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_FAIL, WEIR_E_OVERLOADED);
  atomic_fetch_add(&timeouts, rc == WEIR_E_TIMEOUT);
  atomic_fetch_add(&failures, rc == WEIR_E_FAIL);
  return rc;
}

static void use(weir_h lease, struct stress_random *r) {
  static const char *const sql[] = {"SELECT 1", "sleep 200us", "kill", "begin"};
  if (atomic_exchange(mark_of(lease), 1) != 0) {
    stress_broken("a connection is in two hands", WEIR_OK);
  }
  atomic_store(&last_lease, lease);
  if (stress_below(r, 2) == 0) {
    const char *text = sql[stress_below(r, 4)];
    int rc = weir_exec(lease, text, strlen(text), NULL, NULL);
    if (rc == WEIR_OK) {
      rc = stress_read_all(lease);
    }
    STRESS_ALLOW("statement", rc, WEIR_E_FAIL, WEIR_E_CANCELLED);
  }
  atomic_store(mark_of(lease), 0);
  int rc = stress_below(r, 8) == 0 ? weir_discard(lease) : weir_release(lease);
  STRESS_ALLOW("release", rc, WEIR_OK);
  atomic_fetch_add(&leases, 1);
}

static void *work(void *arg) {
  struct watch *watch = arg;
  long which = watch - watches;
  bool never = which < PATIENT;
  _Atomic int *end = never ? &patient : &stop;
  struct stress_random r = stress_seed(seed, which + 1);
  while (atomic_load(end) == 0) {
    weir_h lease = 0;
    if (acquire(watch, pick_timeout(&r, never), &lease) == WEIR_OK) {
      use(lease, &r);
    }
    if (stress_below(&r, 4) == 0) {
      stress_pause(stress_below(&r, 3) * STRESS_MS);
    }
  }
  return NULL;
}

/* -------------------------------------------------------------- outsiders */

static void *disturb(void *arg) {
  struct stress_random r = stress_seed(seed, THREADS + 1);
  (void)arg;
  while (atomic_load(&over) == 0) {
    switch (stress_below(&r, 8)) {
    case 0:
      STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
      break;
    case 1:
      (void)mock->release_hung(driver, stress_below(&r, 3));
      break;
    case 2:
      (void)mock->kill_idle(driver, 1);
      break;
    default:
      STRESS_ALLOW("cancel", weir_cancel(atomic_load(&last_lease)),
                   WEIR_E_HANDLE);
      break;
    }
    stress_pause((int64_t)stress_below(&r, 1500) * STRESS_US);
  }
  return NULL;
}

static void tell(void) {
  struct weir_pool_stats s = stats();
  struct mock_counts c = mock_counts();
  (void)fprintf(stderr,
                "max %u: %u empty, %u connecting, %u idle, %u leased, %u "
                "reserved, %u closing; %u waiters; mock: %llu sessions, %llu "
                "hung; %llu leases\n",
                s.max_size, s.empty, s.connecting, s.idle, s.leased, s.reserved,
                s.closing, s.waiters, (unsigned long long)c.sessions_live,
                (unsigned long long)c.hung,
                (unsigned long long)atomic_load(&leases));
}

static void *guard(void *arg) {
  (void)arg;
  while (atomic_load(&over) == 0) {
    int64_t now = stress_now();
    for (int i = 0; i < THREADS; i++) {
      int64_t until = atomic_load(&watches[i].until);
      if (until != 0 && now > until) {
        (void)fprintf(stderr, "seed %ld, thread %d of %d\n", seed, i, PATIENT);
        tell();
        stress_broken("an acquire was forgotten", WEIR_E_TIMEOUT);
      }
    }
    stress_pause(5 * STRESS_MS);
  }
  return NULL;
}

/* ------------------------------------------------------------------ rounds */

static void start(pthread_t *thread, void *(*run)(void *), void *arg) {
  if (pthread_create(thread, NULL, run, arg) != 0) {
    stress_broken("thread", WEIR_E_NOMEM);
  }
}

static void join(int from, int to) {
  for (int i = from; i < to; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* Alone in the pool: only a connect of its own can fail it. */
static void check_alone(void) {
  int rc = WEIR_E_FAIL;
  for (int i = 0; i < CONNECT_TRY && rc != WEIR_OK; i++) {
    weir_h lease = 0;
    rc = acquire(&watches[0], 200 * STRESS_MS, &lease);
    if (rc == WEIR_OK) {
      STRESS_ALLOW("release", weir_release(lease), WEIR_OK);
    } else {
      /* Which ends a blocking period. */
      STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
    }
  }
  if (rc != WEIR_OK) {
    tell();
    stress_broken("nobody else, and no connection", rc);
  }
}

static void check_sum(void) {
  struct weir_pool_stats s = stats();
  if (s.leased != 0 || s.waiters != 0 || s.acquired != s.released ||
      s.empty + s.connecting + s.idle + s.reserved + s.closing != s.max_size) {
    tell();
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
}

/* The pool is closed: no session stays. */
static void check_gone(void) {
  int64_t until = stress_now() + STRESS_PATIENCE_NS;
  while (mock_counts().conns_live != 0) {
    (void)mock->release_hung(driver, 0);
    if (stress_now() > until) {
      stress_broken("sessions of a closed pool live on", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  }
}

static void check_mock(void) {
  struct mock_counts c = mock_counts();
  if (c.overlaps != 0 || c.misuses != 0 || c.leaked != 0 ||
      c.sessions_max > MAX_SLOTS) {
    (void)fprintf(stderr, "overlaps %llu, misuses %llu, sessions %llu\n",
                  (unsigned long long)c.overlaps, (unsigned long long)c.misuses,
                  (unsigned long long)c.sessions_max);
    stress_broken("the driver's contract, or Max Pool Size", WEIR_E_FAIL);
  }
}

static void one_round(uint32_t which) {
  static unsigned long turn;
  pthread_t outsider;
  pthread_t watchdog;
  int rc = stress_open_pool(engine, stress_policy((unsigned long)seed + turn++),
                            conninfo[which], &pool, NULL);
  STRESS_ALLOW("pool_open", rc, WEIR_OK);
  atomic_store(&stop, 0);
  atomic_store(&patient, 0);
  atomic_store(&over, 0);
  for (int i = 0; i < THREADS; i++) {
    start(&threads[i], work, &watches[i]);
  }
  start(&outsider, disturb, NULL);
  start(&watchdog, guard, NULL);
  stress_pause(ROUND_NS);
  atomic_store(&stop, 1);
  join(PATIENT, THREADS);
  atomic_store(&patient, 1);
  join(0, PATIENT);
  check_sum();
  check_alone();
  atomic_store(&over, 1);
  (void)pthread_join(outsider, NULL);
  (void)pthread_join(watchdog, NULL);
  STRESS_ALLOW("pool_close", weir_pool_close(pool), WEIR_OK);
  check_gone();
  check_mock();
}

static unsigned long count(_Atomic uint64_t *counter) {
  return (unsigned long)atomic_load(counter);
}

int main(void) {
  struct weir_error err = {.struct_size = sizeof err};
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  engine = stress_open_engine();
  find_mock();
  int64_t until = stress_now() + seconds * STRESS_S;
  for (uint32_t n = 0; n < CONFIGS || stress_now() < until; n++) {
    one_round(n % CONFIGS);
  }
  if (weir_engine_shutdown(engine, STRESS_S, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  (void)printf("seed %ld: %lu leases, %lu time-outs, %lu failed connects\n"
               "1 passed, 0 failed\n",
               seed, count(&leases), count(&timeouts), count(&failures));
  return count(&leases) == 0 || count(&timeouts) == 0 || count(&failures) == 0;
}
