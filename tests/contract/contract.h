/* SPDX-License-Identifier: MIT */
/* contract.h - what every pool owes its users, whatever its strategy.
 *
 * A clause is a function that opens a pool of the strategy it is given, and aborts
 * the program, saying why, if the pool breaks it.  It runs in two ways: alone in
 * virtual time, in a process and an engine of its own; or in real time beside the
 * same clause for other strategies, in one engine.  So it asks the pool, never the
 * driver, whose counts are those of all, and waits for what must come instead of
 * for time, unless it is marked as one for virtual time only. */
#ifndef WEIR_TEST_CONTRACT_H
#define WEIR_TEST_CONTRACT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#define CONTRACT_MS   INT64_C(1000000)
#define CONTRACT_S    INT64_C(1000000000)
/* No acquire that is to be served waits that long. */
#define CONTRACT_LONG (60 * CONTRACT_S)

struct fixture;

struct contract {
  weir_h engine;
  const char *settings;  /* the strategy, as part of a connection string */
  const char *clause;    /* its name, for failures */
  struct fixture *alone; /* NULL: in real time, beside others */
  unsigned pools;        /* opened so far: each has a database of its own */
  unsigned number;       /* of the strategy */
  struct weir_error err;
};

struct contract_clause {
  const char *name; /* a sentence about a pool */
  void (*hold)(struct contract *c);
  bool virtual_only;
};

/* The clauses of a file; *out_n is their number. */
const struct contract_clause *contract_serving(size_t *out_n);
const struct contract_clause *contract_ending(size_t *out_n);
const struct contract_clause *contract_changing(size_t *out_n);
const struct contract_clause *contract_keeping(size_t *out_n);
const struct contract_clause *contract_sharing(size_t *out_n);
const struct contract_clause *contract_timing(size_t *out_n);

/* All of them, one after the other; NULL: there are no more. */
const struct contract_clause *contract_at(size_t i);

_Noreturn void contract_broken(const struct contract *c, const char *what);
#define CONTRACT(c, expression) \
  ((expression) ? (void)0 : contract_broken((c), #expression))

/* A pool of the strategy with these settings. */
weir_h contract_pool(struct contract *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* An acquire that must succeed. */
weir_h contract_acquire(struct contract *c, weir_h pool);
void contract_release(struct contract *c, weir_h lease);

/* Runs a statement to its end; its result. */
int contract_run(struct contract *c, weir_h lease, const char *sql);

/* The number of the lease's session, which no other has. */
int64_t contract_session(struct contract *c, weir_h lease);

struct weir_pool_stats contract_stats(struct contract *c, weir_h pool);

/* Waits until a member of the statistics is n. */
void contract_await(struct contract *c, weir_h pool, size_t offset, uint32_t n);
#define CONTRACT_AWAIT(c, pool, member, n) \
  contract_await((c), (pool), offsetof(struct weir_pool_stats, member), (n))

/* Lets time pass: virtual time moves on; real time does so by itself. */
void contract_pass(struct contract *c, int64_t ns);

/* Closes the pool and waits until nothing of it is left. */
void contract_close(struct contract *c, weir_h pool);

/* A thread that acquires. */
struct contract_caller {
  pthread_t thread;
  weir_h pool;
  int64_t timeout_ns;
  int rc;
  weir_h lease;
  struct weir_error err;
  uint64_t ended; /* the engine's time when it timed out; else 0 */
  _Atomic uint32_t back;
};

/* Returns when it stands in line, as the n-th, or has come back. */
void contract_call(struct contract *c,
                   struct contract_caller *caller,
                   weir_h pool,
                   int64_t timeout_ns,
                   uint32_t n);

/* Waits until it has come back; its result. */
int contract_join(struct contract_caller *caller);

/* A submitted acquire that has to wait; its operation. */
weir_h contract_submit(struct contract *c,
                       weir_h pool,
                       weir_h queue,
                       int64_t timeout_ns,
                       uint64_t user);

/* The next completion, which must come. */
struct weir_completion contract_take(struct contract *c, weir_h queue);

weir_h contract_queue(struct contract *c);

#endif
