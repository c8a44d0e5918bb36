/* SPDX-License-Identifier: MIT */
/* stress_drain.c - twenty threads on five connections that release, discard, or
 * lose their lease in the middle of results and transactions, while one thread
 * cancels and another clears the pool.  Whoever gets a connection asks it first
 * what an earlier user has left in it: nothing may.
 *
 * WEIR_STRESS_SECONDS (3), WEIR_STRESS_SEED. */
#include <pthread.h>

#include "engine.h"
#include "handle.h"
#include "loader.h"
#include "strategies.h"
#include "stress.h"

#define THREADS   20
#define MAX_SLOTS 5
#define KEPT      4 /* batches that a thread holds beyond their lease */

/* A cancellation is answered at once, late, after rows that nobody wants, never,
 * or not before the request has ended by itself; now and then it is the session's
 * death. */
static const char conninfo[] =
    "Driver=mock;Mock Strict=true;Max Pool Size=5;Close Timeout=0;"
    "Command Timeout=300ms;"
    "Mock Script Text=\"cancel every 97: hang;"
    "cancel every 53: fail conn protocol 'garbage';"
    "cancel every 13: delay 1ms;"
    "cancel every 7: rows 3000x2, count 1;"
    "cancel every 5: again 20, succeed;"
    "reset every 101: fail statement other 'no';"
    "reset every 31: fail conn network 'gone'\"";

static const char *const statements[] = {"rows 1000000000",
                                         "rows 3; notice 1 1 a; rows 100000 3",
                                         "set x; rows 5000",
                                         "begin; rows 5000",
                                         "count 1; rows 1",
                                         "sleep 200us; rows 9",
                                         "sleep 2ms",
                                         "notice 5 10 left; count 2",
                                         "rows 3; fail 50000 no"};
#define STATEMENTS (sizeof statements / sizeof statements[0])

static weir_h engine;
static weir_h pool;
static long seed;
static weir_drv_drv *driver;
static const struct mock_control *mock;
static _Atomic uint64_t lent[THREADS]; /* for the canceller */
static _Atomic int stop;
static _Atomic uint64_t leases;
static _Atomic uint64_t unread;

static void find_mock(void) {
  struct weir__engine *e = weir__handle_find(engine, WEIR_TYPE_ENGINE);
  const struct weir__driver *found = NULL;
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

/* ------------------------------------------------------------------- a user */

struct user {
  struct stress_random random;
  int number;
  weir_h kept[KEPT];
  int64_t first[KEPT]; /* what the first cell of each was */
  const struct weir_cell *cells[KEPT];
};

#define ENDS \
  WEIR_E_FAIL, WEIR_E_TIMEOUT, WEIR_E_CANCELLED, WEIR_E_BUSY, WEIR_E_ARG

/* A batch is as it was, whatever has become of its lease. */
static void drop(struct user *u, unsigned i) {
  if (u->kept[i] == 0) {
    return;
  }
  int64_t now = 0;
  memcpy(&now, u->cells[i][0].p, sizeof now);
  if (now != u->first[i]) {
    stress_broken("a batch has changed", WEIR_E_FAIL);
  }
  STRESS_ALLOW("rows_free", weir_rows_free(u->kept[i]), WEIR_OK);
  u->kept[i] = 0;
}

static void keep(struct user *u, const struct weir_item *item) {
  unsigned i = stress_below(&u->random, KEPT);
  drop(u, i);
  if (item->n_rows == 0) {
    STRESS_ALLOW("rows_free", weir_rows_free(item->rows), WEIR_OK);
    return;
  }
  u->kept[i] = item->rows;
  u->cells[i] = item->cells;
  memcpy(&u->first[i], item->cells[0].p, sizeof u->first[i]);
}

/* Up to n items; true if the request has ended. */
static int read_items(struct user *u, weir_h lease, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    struct weir_item item = {.struct_size = sizeof item};
    int rc = weir_next(lease, &item, NULL);
    STRESS_ALLOW("next", rc, ENDS);
    if (rc != WEIR_OK || item.type == WEIR_ITEM_DONE) {
      return 1;
    }
    if (item.type == WEIR_ITEM_ROWS) {
      keep(u, &item);
    }
  }
  return 0;
}

/* "show": state, isolation, transaction. */
static void check_clean(weir_h lease) {
  struct weir_item item = {.struct_size = sizeof item};
  if (weir_next(lease, &item, NULL) != WEIR_E_ARG) {
    stress_broken("something of the last user is left to be read", WEIR_OK);
  }
  int rc = weir_exec(lease, "show", 4, NULL, NULL);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, NULL);
    if (rc != WEIR_OK || item.type != WEIR_ITEM_ROWS) {
      continue;
    }
    int64_t isolation = 0;
    int64_t txn = 0;
    if (item.n_columns != 4) { /* cancelled, and the server sends its own */
      STRESS_ALLOW("rows_free", weir_rows_free(item.rows), WEIR_OK);
      continue;
    }
    memcpy(&isolation, item.cells[1].p, sizeof isolation);
    memcpy(&txn, item.cells[2].p, sizeof txn);
    if (item.cells[0].p != NULL || isolation != 0 || txn != 0) {
      (void)fprintf(stderr, "state %s, isolation %d, transaction %d\n",
                    item.cells[0].p == NULL ? "clean" : "left", (int)isolation,
                    (int)txn);
      stress_broken("the last user has left a dirty session", WEIR_E_FAIL);
    }
    STRESS_ALLOW("rows_free", weir_rows_free(item.rows), WEIR_OK);
  }
  STRESS_ALLOW("show", rc, WEIR_E_FAIL, WEIR_E_CANCELLED, WEIR_E_TIMEOUT);
}

static void use(struct user *u, weir_h lease) {
  struct stress_random *r = &u->random;
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .batch_rows = 1 + stress_below(r, 100)};
  const char *sql = statements[stress_below(r, STATEMENTS)];
  if (stress_below(r, 4) == 0) {
    STRESS_ALLOW("begin", weir_begin(lease, (int32_t)stress_below(r, 6), NULL),
                 ENDS);
  }
  STRESS_ALLOW("exec", weir_exec(lease, sql, strlen(sql), &opts, NULL), ENDS);
  int ended = read_items(u, lease, stress_below(r, 8));
  if (ended == 0) {
    atomic_fetch_add(&unread, 1);
  } else if (stress_below(r, 4) == 0) {
    STRESS_ALLOW("commit", weir_commit(lease, NULL), ENDS);
  }
}

static void one_lease(struct user *u) {
  weir_h lease = 0;
  int64_t patience =
      stress_below(&u->random, 4) == 0 ? 2 * STRESS_MS : STRESS_PATIENCE_NS;
  int rc = weir_acquire(pool, patience, &lease, NULL);
  if (rc == WEIR_E_TIMEOUT && patience < STRESS_PATIENCE_NS) {
    return;
  }
  STRESS_ALLOW("acquire", rc, WEIR_OK);
  atomic_store(&lent[u->number], lease);
  check_clean(lease);
  use(u, lease);
  rc = stress_below(&u->random, 16) == 0 ? weir_discard(lease)
                                         : weir_release(lease);
  STRESS_ALLOW("release", rc, WEIR_OK);
  STRESS_ALLOW("again", weir_release(lease), WEIR_E_HANDLE);
  atomic_fetch_add(&leases, 1);
}

static void *work(void *arg) {
  struct user u = {.number = *(int *)arg};
  u.random = stress_seed(seed, u.number + 1);
  while (atomic_load(&stop) == 0) {
    one_lease(&u);
  }
  for (unsigned i = 0; i < KEPT; i++) {
    drop(&u, i);
  }
  return NULL;
}

/* ------------------------------------------------------------------ others */

static void *cancel(void *arg) {
  struct stress_random r = stress_seed(seed, 100);
  while (atomic_load(&stop) == 0) {
    weir_h lease = atomic_load(&lent[stress_below(&r, THREADS)]);
    STRESS_ALLOW("cancel", weir_cancel(lease), WEIR_E_HANDLE);
    stress_pause(stress_below(&r, 300) * STRESS_US);
  }
  return arg;
}

static void *clear(void *arg) {
  struct stress_random r = stress_seed(seed, 200);
  while (atomic_load(&stop) == 0) {
    STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
    stress_pause((5 + stress_below(&r, 40)) * STRESS_MS);
  }
  return arg;
}

/* ------------------------------------------------------------------ rounds */

/* All come back, by reset or by being closed, and all five places can be had. */
static void check_end(void) {
  weir_h all[MAX_SLOTS];
  for (int i = 0; i < MAX_SLOTS; i++) {
    STRESS_ALLOW("all places",
                 weir_acquire(pool, STRESS_PATIENCE_NS, &all[i], NULL),
                 WEIR_OK);
  }
  for (int i = 0; i < MAX_SLOTS; i++) {
    STRESS_ALLOW("release", weir_release(all[i]), WEIR_OK);
  }
  struct weir_pool_stats s = {.struct_size = sizeof s};
  STRESS_ALLOW("stats", weir_pool_stats(pool, &s), WEIR_OK);
  if (s.leased != 0 || s.waiters != 0 || s.acquired != s.released) {
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
}

static void run(long seconds) {
  pthread_t threads[THREADS + 2];
  int numbers[THREADS];
  for (int i = 0; i < THREADS + 2; i++) {
    int rc;
    if (i < THREADS) {
      numbers[i] = i;
      rc = pthread_create(&threads[i], NULL, work, &numbers[i]);
    } else {
      rc = pthread_create(&threads[i], NULL, i == THREADS ? cancel : clear,
                          NULL);
    }
    if (rc != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(seconds * STRESS_S);
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS + 2; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

int main(void) {
  struct weir_error err = {.struct_size = sizeof err};
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  engine = stress_open_engine();
  find_mock();
  const char *strategy = stress_strategy((unsigned long)stress_setting(
      "WEIR_STRESS_STRATEGY", (long)(stress_now() & 0xFFFFF)));
  (void)printf("%s seed %ld\n", strategy, seed);
  if (stress_open_pool(engine, strategy, conninfo, &pool, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  run(seconds);
  check_end();
  struct mock_counts c = mock_counts();
  if (c.overlaps != 0 || c.misuses != 0 || c.sessions_max > MAX_SLOTS) {
    stress_broken("the driver's contract, or Max Pool Size", WEIR_E_FAIL);
  }
  if (weir_engine_shutdown(engine, STRESS_S, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  (void)printf("seed %ld: %lu leases, %lu ended in the middle of a result, %lu "
               "cancellations, %lu connects\n1 passed, 0 failed\n",
               seed, (unsigned long)atomic_load(&leases),
               (unsigned long)atomic_load(&unread), (unsigned long)c.cancelled,
               (unsigned long)c.calls[MOCK_CONNECT]);
  return atomic_load(&unread) == 0 || c.cancelled == 0;
}
