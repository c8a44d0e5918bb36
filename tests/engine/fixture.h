/* SPDX-License-Identifier: MIT */
/* fixture.h - an engine with the mock driver, for tests of the engine's core.
 *
 * Every pool is opened with Mock Strict, so that a breach of the driver's
 * contract aborts the test, and fixture_close() demands that the engine shuts
 * down clean and that the mock saw no misuse. */
#ifndef WEIR_TEST_FIXTURE_H
#define WEIR_TEST_FIXTURE_H

#include <pthread.h>
#include <stdint.h>

#include "weir.h"

#include "drivers/mock/mock_control.h"

struct fixture {
  weir_h engine;
  weir_drv_drv *drv;
  const struct mock_control *mock;
  struct weir_error err; /* of the last call through the fixture */
  int virtual_time;
  int foreign;     /* its loop is foreign */
  int pumped;      /* ... and the pump runs it */
  int stop_fd;     /* ends the pump */
  int64_t loop_fd; /* what it polls */
  pthread_t pump;
};

#define FIXTURE_MS INT64_C(1000000)
#define FIXTURE_S  INT64_C(1000000000)

/* An engine in real or in virtual time (virtual_clock.h). */
void fixture_open(struct fixture *f);
void fixture_open_virtual(struct fixture *f);

/* The same without a reactor thread (WEIR_ENGINE_FOREIGN_LOOP).  Nobody runs the
 * loop but blocking callers and fixture_turn(), which the AWAIT_ macros and
 * fixture_sync() use, too.
 *
 * With WEIR_FIXTURE_LOOP=foreign in the environment fixture_open() and
 * fixture_open_virtual() do that, too, and a thread polls the engine's descriptor
 * and takes the turns, as a program's own loop would: so whole test programs run
 * once more on a foreign loop. */
void fixture_open_foreign(struct fixture *f);
void fixture_open_foreign_virtual(struct fixture *f);
void fixture_turn(const struct fixture *f);

/* Has the engine believe that the mock lacks these WEIR_DRV_CAP_*, and
 * "weir.stmt" and ping, which have no capability.  Before the first pool is opened. */
void fixture_take_caps(struct fixture *f, uint64_t caps);
void fixture_take_stmt(struct fixture *f);
void fixture_take_ping(struct fixture *f);

/* Shuts down at once; aborts the test unless that answers WEIR_OK. */
void fixture_close(struct fixture *f);

/* Fails the test unless the mock has seen only legal calls. */
void fixture_check_mock(const struct fixture *f);

/* Opens a pool: "Driver=mock;Mock Strict=true;" and what fmt says. */
weir_h fixture_pool(struct fixture *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for the driver of rogue_driver.c, with what Rogue= shall say. */
weir_h fixture_rogue_pool(struct fixture *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* An acquire that must succeed. */
weir_h fixture_acquire(struct fixture *f, weir_h pool);

/* A pool of one connection, with these settings, and the lease of it. */
weir_h fixture_single(struct fixture *f,
                      const char *settings,
                      weir_h *out_pool);

/* weir_exec() of a text; its result. */
int fixture_exec(struct fixture *f, weir_h lease, const char *sql);

/* Reads to the end of the request; WEIR_OK or its failure. */
int fixture_drain(struct fixture *f, weir_h lease);

/* exec and drain. */
int fixture_run(struct fixture *f, weir_h lease, const char *sql);

/* Runs a statement and returns the number in its first cell of the column. */
int64_t fixture_number(struct fixture *f,
                       weir_h lease,
                       const char *sql,
                       unsigned column);

struct weir_pool_stats fixture_stats(weir_h pool);
struct mock_counts fixture_counts(const struct fixture *f);

/* Waits (5 s of real time at most) until what the statistics or the mock count
 * there is n; fails the test otherwise.  The former has no fixture to turn: on a
 * foreign loop it is for pumped ones. */
void fixture_await_stat(weir_h pool, size_t offset, uint32_t n);
void fixture_await_count(const struct fixture *f, size_t offset, uint64_t n);
#define AWAIT_STAT(pool, member, n) \
  fixture_await_stat((pool), offsetof(struct weir_pool_stats, member), (n))
#define AWAIT_COUNT(f, member, n) \
  fixture_await_count((f), offsetof(struct mock_counts, member), (n))

/* The same for the number of offload threads that are inside a function. */
void fixture_await_offload(const struct fixture *f, uint32_t busy);

/* Waits until the reactor has done what was posted to it and what that posted
 * once. */
void fixture_sync(const struct fixture *f);

/* Ends the one connect that hangs, as soon as it does. */
void fixture_end_connect(const struct fixture *f);

/* Moves virtual time and waits for the reactor to act on it. */
void fixture_advance(const struct fixture *f, uint64_t ns);

/* A thread that acquires. */
struct acquirer {
  pthread_t thread;
  weir_h pool;
  int64_t timeout_ns;
  int rc;
  weir_h lease;
  struct weir_error err;
  uint64_t ended;        /* weir__clock_now() when it came back */
  unsigned order;        /* how many acquirers came back before it */
  _Atomic uint32_t back; /* 1: it has come back */
};

void acquirer_start(struct acquirer *a, weir_h pool, int64_t timeout_ns);
/* many[from] to many[to - 1], each when the one before it stands in line, behind
 * as many as have lower numbers. */
void acquirers_line_up(struct acquirer *many,
                       unsigned from,
                       unsigned to,
                       weir_h pool,
                       int64_t timeout_ns);
/* Waits until it stands in line, the n-th, or has come back: time that moves on
 * before that would not count for it. */
void acquirer_settle(struct acquirer *a, uint32_t n);
int acquirer_join(struct acquirer *a);

/* A thread that runs a statement to its end. */
struct runner {
  pthread_t thread;
  struct fixture *f;
  weir_h lease;
  const char *sql;
  int64_t timeout_ns;
  int rc;
  struct weir_error err;
  uint64_t ended;
};

void runner_start(struct runner *r,
                  struct fixture *f,
                  weir_h lease,
                  const char *sql);
int runner_join(struct runner *r);

#endif
