/* SPDX-License-Identifier: MIT */
/* completions.h - queues and submitted acquires, for tests. */
#ifndef WEIR_TEST_COMPLETIONS_H
#define WEIR_TEST_COMPLETIONS_H

#include <poll.h>
#include <stdbool.h>

#include <criterion/criterion.h>

#include "fixture.h"

static inline weir_h queue_of(struct fixture *f, uint32_t capacity) {
  weir_h queue = 0;
  cr_assert_eq(weir_queue_open(f->engine, capacity, &queue, &f->err), WEIR_OK,
               "%s", f->err.message);
  return queue;
}

/* A submission that has to wait; its operation. */
static inline weir_h submit_waiting(struct fixture *f,
                                    weir_h pool,
                                    int64_t timeout_ns,
                                    weir_h queue,
                                    uint64_t user) {
  weir_h lease = 0;
  weir_h op = 0;
  int rc =
      weir_submit_acquire(pool, timeout_ns, queue, user, &lease, &op, &f->err);
  cr_assert_eq(rc, WEIR_PENDING, "%s", weir_status_name(rc));
  cr_assert_eq(lease, 0);
  cr_assert_neq(op, 0);
  return op;
}

/* The next completion, which must come, with its user and status as expected. */
static inline struct weir_completion take_one(struct fixture *f,
                                              weir_h queue,
                                              uint64_t user,
                                              int status) {
  struct weir_completion c = {.struct_size = sizeof c};
  int rc = weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f->err);
  cr_assert_eq(rc, WEIR_OK, "%s", weir_status_name(rc));
  cr_assert_eq(c.status, status, "%s", weir_status_name(c.status));
  cr_assert_eq(c.user, user);
  cr_assert_eq(c.type, WEIR_OP_ACQUIRE);
  cr_assert_eq(c.lease != 0, status == WEIR_OK);
  return c;
}

/* What a take that does not wait answers; a completion is counted as a fault. */
static inline int take_none(weir_h queue) {
  struct weir_completion c = {.struct_size = sizeof c};
  return weir_queue_take(queue, 0, &c, NULL);
}

static inline int fd_of(weir_h queue) {
  int64_t fd = -1;
  cr_assert_eq(weir_queue_fd(queue, &fd), WEIR_OK);
  return (int)fd;
}

static inline bool readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1;
}

/* A thread that takes one completion. */
struct taker {
  pthread_t thread;
  weir_h queue;
  int64_t timeout_ns;
  int rc;
  struct weir_completion completion;
  struct weir_error err;
};

static inline void *taker_run(void *arg) {
  struct taker *t = arg;
  t->rc = weir_queue_take(t->queue, t->timeout_ns, &t->completion, &t->err);
  return NULL;
}

static inline void taker_start(struct taker *t,
                               weir_h queue,
                               int64_t timeout_ns) {
  *t = (struct taker){.queue = queue, .timeout_ns = timeout_ns};
  t->completion.struct_size = sizeof t->completion;
  t->err.struct_size = sizeof t->err;
  cr_assert_eq(pthread_create(&t->thread, NULL, taker_run, t), 0);
}

static inline int taker_join(struct taker *t) {
  cr_assert_eq(pthread_join(t->thread, NULL), 0);
  return t->rc;
}

/* A call in a thread of its own. */
struct doing {
  pthread_t thread;
  int (*what)(weir_h handle);
  weir_h handle;
  int rc;
};

static inline void *doing_run(void *arg) {
  struct doing *d = arg;
  d->rc = d->what(d->handle);
  return NULL;
}

static inline void doing_start(struct doing *d,
                               int (*what)(weir_h handle),
                               weir_h handle) {
  *d = (struct doing){.what = what, .handle = handle};
  cr_assert_eq(pthread_create(&d->thread, NULL, doing_run, d), 0);
}

static inline int doing_join(struct doing *d) {
  cr_assert_eq(pthread_join(d->thread, NULL), 0);
  return d->rc;
}

#endif
