/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "caller.h"
#include "failing_alloc.h"
#include "sys/clock.h"
#include "virtual_clock.h"

struct visitor {
  pthread_t thread;
  struct weir__engine *engine;
  struct weir__caller *self;
  sem_t inside;
  sem_t leave;
};

static void *visit(void *arg) {
  struct visitor *v = arg;
  if (weir__caller_enter(&v->self) == WEIR_OK) {
    atomic_store(&v->self->engine, v->engine);
    (void)sem_post(&v->inside);
    (void)sem_wait(&v->leave);
    weir__caller_leave(v->self);
  }
  return NULL;
}

static void visitor_start(struct visitor *v, struct weir__engine *engine) {
  v->engine = engine;
  (void)sem_init(&v->inside, 0, 0);
  (void)sem_init(&v->leave, 0, 0);
  cr_assert_eq(pthread_create(&v->thread, NULL, visit, v), 0);
  (void)sem_wait(&v->inside);
}

static void visitor_end(struct visitor *v) {
  (void)sem_post(&v->leave);
  (void)pthread_join(v->thread, NULL);
}

/* Two that are not looked into. */
static char engines[2];
#define ENGINE(i) ((struct weir__engine *)(void *)&engines[i])

Test(caller, may_not_enter_before_the_first_engine, .timeout = 5) {
  struct weir__caller *self = NULL;
  cr_assert(weir__caller_forgettable());
  cr_assert_eq(weir__caller_enter(&self), WEIR_E_HANDLE);
}

Test(caller, is_one_record_for_each_thread, .timeout = 5) {
  struct weir__caller *a = NULL;
  struct weir__caller *b = NULL;
  struct visitor v;
  cr_assert_eq(weir__caller_setup(), 0);
  cr_assert_eq(weir__caller_setup(), 0);
  cr_assert_eq(weir__caller_enter(&a), WEIR_OK);
  weir__caller_leave(a);
  cr_assert_eq(weir__caller_enter(&b), WEIR_OK);
  weir__caller_leave(b);
  cr_assert_eq(a, b);
  visitor_start(&v, NULL);
  cr_assert_neq(v.self, a);
  visitor_end(&v);
  /* A thread that is gone leaves its record to the next one. */
  struct weir__caller *old = v.self;
  visitor_start(&v, NULL);
  cr_assert_eq(v.self, old);
  visitor_end(&v);
}

Test(caller, counts_until_it_leaves, .timeout = 5) {
  struct visitor v;
  cr_assert_eq(weir__caller_setup(), 0);
  visitor_start(&v, ENGINE(0));
  uint64_t epoch = weir__caller_retire();
  cr_assert_eq(weir__caller_count(epoch, NULL, NULL), 1);
  cr_assert_eq(weir__caller_count(epoch, ENGINE(0), NULL), 1);
  cr_assert_eq(weir__caller_count(epoch, ENGINE(1), NULL), 0);
  visitor_end(&v);
  cr_assert_eq(weir__caller_count(epoch, NULL, NULL), 0);
}

Test(caller, does_not_count_when_it_came_later, .timeout = 5) {
  struct visitor v;
  cr_assert_eq(weir__caller_setup(), 0);
  uint64_t epoch = weir__caller_retire();
  visitor_start(&v, ENGINE(0));
  cr_assert_eq(weir__caller_count(epoch, NULL, NULL), 0);
  visitor_end(&v);
}

/* One that has not resolved its handle yet may be inside any engine. */
Test(caller, counts_for_every_engine_before_it_has_one, .timeout = 5) {
  struct visitor v;
  cr_assert_eq(weir__caller_setup(), 0);
  visitor_start(&v, NULL);
  uint64_t epoch = weir__caller_retire();
  cr_assert_eq(weir__caller_count(epoch, ENGINE(1), NULL), 1);
  visitor_end(&v);
}

struct awaiter {
  pthread_t thread;
  uint64_t deadline;
  uint32_t left;
};

static void *await(void *arg) {
  struct awaiter *a = arg;
  a->left = weir__caller_await(weir__caller_retire(), NULL, NULL, a->deadline);
  return NULL;
}

Test(caller, is_awaited_until_it_leaves_or_time_is_over, .timeout = 10) {
  struct visitor v;
  struct awaiter a = {.deadline = WEIR_NEVER};
  struct awaiter b = {.deadline = VIRTUAL_CLOCK_START + WEIR_NS_PER_S};
  virtual_clock_install();
  cr_assert_eq(weir__caller_setup(), 0);
  visitor_start(&v, ENGINE(0));
  cr_assert_eq(pthread_create(&a.thread, NULL, await, &a), 0);
  cr_assert_eq(pthread_create(&b.thread, NULL, await, &b), 0);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  virtual_clock_advance(WEIR_NS_PER_S);
  (void)pthread_join(b.thread, NULL);
  cr_assert_eq(b.left, 1);
  visitor_end(&v);
  (void)pthread_join(a.thread, NULL);
  cr_assert_eq(a.left, 0);
  virtual_clock_restore();
}

Test(caller, is_woken_through_its_descriptor, .timeout = 5) {
  struct weir__caller *self = NULL;
  cr_assert_eq(weir__caller_setup(), 0);
  cr_assert_eq(weir__caller_enter(&self), WEIR_OK);
  weir__caller_kick(self); /* has none yet */
  int fd = weir__caller_fd(self);
  cr_assert_geq(fd, 0);
  cr_assert_eq(weir__caller_fd(self), fd);
  struct pollfd p = {.fd = fd, .events = POLLIN};
  cr_assert_eq(poll(&p, 1, 0), 0);
  weir__caller_kick(self);
  weir__caller_kick(self);
  cr_assert_eq(poll(&p, 1, 0), 1);
  weir__caller_drain(self);
  cr_assert_eq(poll(&p, 1, 0), 0);
  weir__caller_drain(self);
  weir__caller_leave(self);
  weir__caller_close_fds();
}

Test(caller, is_refused_without_memory, .timeout = 5) {
  struct weir__caller *self = NULL;
  cr_assert_eq(weir__caller_setup(), 0);
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_eq(weir__caller_enter(&self), WEIR_E_NOMEM);
  cr_assert_eq(weir__caller_enter(&self), WEIR_OK);
  weir__caller_leave(self);
  failing_alloc_restore();
}
