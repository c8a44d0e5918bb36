/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "drivers_dir.h"
#include "engine.h"
#include "handle.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define PATIENCE_NS (UINT64_C(5) * WEIR_NS_PER_S)

static _Atomic unsigned came_back;

_Noreturn static void fail(const char *what, const struct weir_error *err) {
  (void)fprintf(stderr, "fixture: %s%s%s\n", what, err == NULL ? "" : ": ",
                err == NULL ? "" : err->message);
  abort();
}

static struct weir__engine *engine_of(const struct fixture *f) {
  return weir__handle_find(f->engine, WEIR_TYPE_ENGINE);
}

/* The fixture whose loop nobody else runs; tests have one at a time. */
static const struct fixture *turned;

void fixture_turn(const struct fixture *f) {
  if (f != NULL && f->foreign != 0 && f->pumped == 0 &&
      weir_engine_turn(f->engine, NULL, NULL) != WEIR_OK) {
    fail("no turn", NULL);
  }
}

static int to_ms(int64_t ns) {
  int64_t ms = ns / FIXTURE_MS + (ns % FIXTURE_MS != 0);
  return ns == WEIR_TIMEOUT_NEVER ? -1 : ms > 1000 ? 1000 : (int)ms;
}

/* A program's own loop, in real time whatever the engine's is: a move of virtual
 * time makes the descriptor readable. */
static void *pump(void *arg) {
  const struct fixture *f = arg;
  weir_h engine = f->engine;
  int64_t fd = f->loop_fd;
  int64_t due = 0;
  while (weir_engine_turn(engine, &due, NULL) == WEIR_OK) {
    struct pollfd fds[2] = {{.fd = (int)fd, .events = POLLIN},
                            {.fd = f->stop_fd, .events = POLLIN}};
    (void)poll(fds, 2, f->virtual_time != 0 && due != 0 ? -1 : to_ms(due));
  }
  return NULL;
}

static void start_pump(struct fixture *f) {
  f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  f->pumped = 1;
  if (f->stop_fd < 0 ||
      weir_engine_fd(f->engine, &f->loop_fd, NULL) != WEIR_OK ||
      pthread_create(&f->pump, NULL, pump, f) != 0) {
    fail("no pump", NULL);
  }
}

/* After the engine has ended: its handle is stale. */
static void stop_pump(struct fixture *f) {
  (void)eventfd_write(f->stop_fd, 1);
  (void)pthread_join(f->pump, NULL);
  (void)close(f->stop_fd);
}

static void open_engine(struct fixture *f) {
  char dirs[512];
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  const char *loop = getenv("WEIR_FIXTURE_LOOP");
  bool pumped = f->foreign == 0 && loop != NULL && strcmp(loop, "foreign") == 0;
  if (f->foreign != 0 || pumped) {
    opts.flags |= WEIR_ENGINE_FOREIGN_LOOP;
  }
  const struct weir__driver *driver = NULL;
  f->err.struct_size = sizeof f->err;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  if (weir_engine_open(&opts, &f->engine, &f->err) != WEIR_OK ||
      weir__loader_load(engine_of(f)->loader, "mock", 4, &driver, &f->err) !=
          WEIR_OK) {
    fail("no engine", &f->err);
  }
  f->drv = driver->instance;
  f->mock = driver->table.extension(driver->instance, MOCK_CONTROL_NAME,
                                    MOCK_CONTROL_VERSION);
  if (f->mock == NULL) {
    fail("the mock has no control table", NULL);
  }
  turned = f->foreign != 0 ? f : NULL;
  if (pumped) {
    f->foreign = 1;
    start_pump(f);
  }
}

static struct weir__driver *mock_of(const struct fixture *f) {
  const struct weir__driver *driver = NULL;
  if (weir__loader_load(engine_of(f)->loader, "mock", 4, &driver, NULL) !=
      WEIR_OK) {
    fail("no mock", NULL);
  }
  return (struct weir__driver *)(uintptr_t)driver; /* the engine's own copy */
}

void fixture_take_caps(struct fixture *f, uint64_t caps) {
  mock_of(f)->table.caps &= ~caps;
}

void fixture_take_stmt(struct fixture *f) {
  memset(&mock_of(f)->stmt, 0, sizeof mock_of(f)->stmt);
}

void fixture_take_ping(struct fixture *f) {
  mock_of(f)->has &= ~WEIR_DRIVER_HAS_PING;
}

void fixture_open(struct fixture *f) {
  memset(f, 0, sizeof *f);
  open_engine(f);
}

void fixture_open_virtual(struct fixture *f) {
  memset(f, 0, sizeof *f);
  f->virtual_time = 1;
  virtual_clock_install();
  open_engine(f);
}

void fixture_open_foreign(struct fixture *f) {
  memset(f, 0, sizeof *f);
  f->foreign = 1;
  open_engine(f);
}

void fixture_open_foreign_virtual(struct fixture *f) {
  memset(f, 0, sizeof *f);
  f->foreign = 1;
  f->virtual_time = 1;
  virtual_clock_install();
  open_engine(f);
}

void fixture_check_mock(const struct fixture *f) {
  struct mock_counts c = fixture_counts(f);
  if (c.overlaps != 0 || c.misuses != 0 || c.leaked != 0) {
    (void)fprintf(stderr, "overlaps %llu, misuses %llu, leaked %llu\n",
                  (unsigned long long)c.overlaps, (unsigned long long)c.misuses,
                  (unsigned long long)c.leaked);
    fail("the engine broke the driver's contract", NULL);
  }
}

void fixture_close(struct fixture *f) {
  fixture_check_mock(f);
  if (weir_engine_shutdown(f->engine, 0, &f->err) != WEIR_OK) {
    fail("shutdown", &f->err);
  }
  if (f->pumped != 0) {
    stop_pump(f);
  }
  turned = NULL;
  if (f->virtual_time != 0) {
    virtual_clock_restore();
  }
}

__attribute__((format(printf, 3, 0))) static weir_h open_pool(
    struct fixture *f,
    const char *driver,
    const char *fmt,
    va_list args) {
  char text[4096];
  int n = snprintf(text, sizeof text, "%s", driver);
  size_t used = n < 0 ? 0 : (size_t)n;
  weir_h pool = 0;
  (void)vsnprintf(text + used, sizeof text - used, fmt, args);
  if (weir_pool_open(f->engine, text, strlen(text), &pool, &f->err) !=
      WEIR_OK) {
    fail("no pool", &f->err);
  }
  return pool;
}

weir_h fixture_pool(struct fixture *f, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  weir_h pool = open_pool(f, "Driver=mock;Mock Strict=true;", fmt, args);
  va_end(args);
  return pool;
}

weir_h fixture_rogue_pool(struct fixture *f, const char *fmt, ...) {
  char driver[512];
  va_list args;
  (void)snprintf(driver, sizeof driver,
                 "Driver=%s/tests/engine/drivers/rogue.so;Max Pool Size=1;"
                 "Close Timeout=4;Rogue=",
                 getenv("WEIR_BUILD_DIR"));
  va_start(args, fmt);
  weir_h pool = open_pool(f, driver, fmt, args);
  va_end(args);
  return pool;
}

weir_h fixture_acquire(struct fixture *f, weir_h pool) {
  weir_h lease = 0;
  if (weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f->err) != WEIR_OK) {
    fail("no lease", &f->err);
  }
  return lease;
}

weir_h fixture_single(struct fixture *f,
                      const char *settings,
                      weir_h *out_pool) {
  *out_pool = fixture_pool(f, "Max Pool Size=1;%s", settings);
  return fixture_acquire(f, *out_pool);
}

int fixture_exec(struct fixture *f, weir_h lease, const char *sql) {
  return weir_exec(lease, sql, strlen(sql), NULL, &f->err);
}

int fixture_drain(struct fixture *f, weir_h lease) {
  struct weir_item item = {.struct_size = sizeof item};
  int rc;
  do {
    rc = weir_next(lease, &item, &f->err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      (void)weir_rows_free(item.rows);
    }
  } while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE);
  return rc;
}

int fixture_run(struct fixture *f, weir_h lease, const char *sql) {
  int rc = fixture_exec(f, lease, sql);
  return rc == WEIR_OK ? fixture_drain(f, lease) : rc;
}

int64_t fixture_number(struct fixture *f,
                       weir_h lease,
                       const char *sql,
                       unsigned column) {
  struct weir_item item = {.struct_size = sizeof item};
  int64_t found = INT64_MIN;
  int rc = fixture_exec(f, lease, sql);
  while (rc == WEIR_OK && (rc = weir_next(lease, &item, &f->err)) == WEIR_OK &&
         item.type != WEIR_ITEM_DONE) {
    if (item.type == WEIR_ITEM_ROWS) {
      if (column < item.n_columns && item.cells[column].n == sizeof found) {
        memcpy(&found, item.cells[column].p, sizeof found);
      }
      (void)weir_rows_free(item.rows);
    }
  }
  if (rc != WEIR_OK) {
    fail("a statement failed", &f->err);
  }
  return found;
}

struct weir_pool_stats fixture_stats(weir_h pool) {
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  if (weir_pool_stats(pool, &stats) != WEIR_OK) {
    fail("no statistics", NULL);
  }
  return stats;
}

struct mock_counts fixture_counts(const struct fixture *f) {
  struct mock_counts counts = {.struct_size = sizeof counts};
  f->mock->counts(f->drv, &counts);
  return counts;
}

static uint64_t real_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * WEIR_NS_PER_S + (uint64_t)t.tv_nsec;
}

void fixture_await_stat(weir_h pool, size_t offset, uint32_t n) {
  uint64_t end = real_now() + PATIENCE_NS;
  uint32_t found;
  do {
    struct weir_pool_stats stats = fixture_stats(pool);
    memcpy(&found, (const char *)&stats + offset, sizeof found);
    if (found == n) {
      return;
    }
    fixture_turn(turned);
    (void)sched_yield();
  } while (real_now() < end);
  struct weir_pool_stats s = fixture_stats(pool);
  (void)fprintf(stderr,
                "fixture: statistic at %zu is %u, never %u (%u empty, %u "
                "connecting, %u idle, %u leased, %u reserved, %u closing, %u "
                "waiters)\n",
                offset, found, n, s.empty, s.connecting, s.idle, s.leased,
                s.reserved, s.closing, s.waiters);
  abort();
}

void fixture_await_count(const struct fixture *f, size_t offset, uint64_t n) {
  uint64_t end = real_now() + PATIENCE_NS;
  uint64_t found;
  do {
    struct mock_counts counts = fixture_counts(f);
    memcpy(&found, (const char *)&counts + offset, sizeof found);
    if (found == n) {
      return;
    }
    fixture_turn(turned);
    (void)sched_yield();
  } while (real_now() < end);
  (void)fprintf(stderr, "fixture: mock count at %zu is %llu, never %llu\n",
                offset, (unsigned long long)found, (unsigned long long)n);
  abort();
}

void fixture_await_offload(const struct fixture *f, uint32_t busy) {
  uint64_t end = real_now() + PATIENCE_NS;
  struct weir__offload_stats stats;
  do {
    weir__offload_stats(engine_of(f)->offload, &stats);
    if (stats.busy == busy) {
      return;
    }
    fixture_turn(turned);
    (void)sched_yield();
  } while (real_now() < end);
  fail("the offload threads are not as busy as expected", NULL);
}

struct sync_task {
  struct weir__task task;
  sem_t done;
};

static void on_sync(struct weir__task *task) {
  (void)sem_post(&((struct sync_task *)(void *)task)->done);
}

void fixture_sync(const struct fixture *f) {
  /* Four rounds: what a task posts runs in a later one. */
  for (int i = 0; i < 4; i++) {
    struct sync_task s = {.task = {.run = on_sync}};
    (void)sem_init(&s.done, 0, 0);
    weir__reactor_post(engine_of(f)->reactor, &s.task);
    while (f->foreign != 0 && f->pumped == 0 && sem_trywait(&s.done) != 0) {
      fixture_turn(f);
    }
    if (f->foreign == 0 || f->pumped != 0) {
      (void)sem_wait(&s.done);
    }
    (void)sem_destroy(&s.done);
  }
}

void fixture_end_connect(const struct fixture *f) {
  AWAIT_COUNT(f, hung, 1);
  if (f->mock->release_hung(f->drv, 0) != 1) {
    fail("not one connect hangs", NULL);
  }
}

void fixture_advance(const struct fixture *f, uint64_t ns) {
  virtual_clock_advance(ns);
  fixture_sync(f);
}

static void *acquire(void *arg) {
  struct acquirer *a = arg;
  a->rc = weir_acquire(a->pool, a->timeout_ns, &a->lease, &a->err);
  a->ended = weir__clock_now();
  a->order = atomic_fetch_add(&came_back, 1);
  atomic_store(&a->back, 1);
  return NULL;
}

void acquirer_start(struct acquirer *a, weir_h pool, int64_t timeout_ns) {
  memset(a, 0, sizeof *a);
  a->pool = pool;
  a->timeout_ns = timeout_ns;
  a->err.struct_size = sizeof a->err;
  if (pthread_create(&a->thread, NULL, acquire, a) != 0) {
    fail("no thread", NULL);
  }
}

void acquirers_line_up(struct acquirer *many,
                       unsigned from,
                       unsigned to,
                       weir_h pool,
                       int64_t timeout_ns) {
  for (unsigned i = from; i < to; i++) {
    acquirer_start(&many[i], pool, timeout_ns);
    AWAIT_STAT(pool, waiters, i + 1);
  }
}

void acquirer_settle(struct acquirer *a, uint32_t n) {
  while (atomic_load(&a->back) == 0 && fixture_stats(a->pool).waiters < n) {
    (void)sched_yield();
  }
}

int acquirer_join(struct acquirer *a) {
  (void)pthread_join(a->thread, NULL);
  return a->rc;
}

static void *run(void *arg) {
  struct runner *r = arg;
  struct fixture own = {.err = {.struct_size = sizeof own.err}};
  r->rc = fixture_run(&own, r->lease, r->sql);
  r->err = own.err;
  r->ended = weir__clock_now();
  return NULL;
}

void runner_start(struct runner *r,
                  struct fixture *f,
                  weir_h lease,
                  const char *sql) {
  memset(r, 0, sizeof *r);
  r->f = f;
  r->lease = lease;
  r->sql = sql;
  if (pthread_create(&r->thread, NULL, run, r) != 0) {
    fail("no thread", NULL);
  }
}

int runner_join(struct runner *r) {
  (void)pthread_join(r->thread, NULL);
  return r->rc;
}
