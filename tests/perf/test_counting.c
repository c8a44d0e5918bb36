/* SPDX-License-Identifier: MIT */
/* The counters count what they should and nothing else: a plain program, as it
 * forks and must run where Criterion does not. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc.h"
#include "check.h"
#include "trace.h"

static void call(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    (void)syscall(SYS_getppid);
  }
}

static void *foreign(void *arg) {
  call(7);
  return arg;
}

static void *own(void *arg) {
  trace_register();
  call(100);
  trace_enter();
  call(5);
  trace_leave();
  return arg;
}

static void run_thread(void *(*fn)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, fn, NULL) != 0) {
    abort();
  }
  (void)pthread_join(thread, NULL);
}

/* The leader's calls count inside only. */
static int lead(void *arg) {
  (void)arg;
  trace_enter();
  call(11);
  trace_leave();
  trace_begin();
  call(13);
  trace_enter();
  call(3);
  trace_leave();
  trace_end(4);
  call(17);
  return 0;
}

static int with_own_thread(void *arg) {
  (void)arg;
  trace_begin();
  run_thread(own);
  trace_end(1);
  return 0;
}

static int with_foreign_thread(void *arg) {
  (void)arg;
  trace_begin();
  run_thread(foreign);
  trace_end(1);
  return 0;
}

static int give_up(void *arg) {
  (void)arg;
  return -1;
}

static int die(void *arg) {
  (void)arg;
  (void)syscall(SYS_kill, getpid(), 9);
  return 0;
}

static void counts_system_calls(void) {
  struct trace_result r = {0, 0};
  char why[128] = "";
  CHECK(trace_count(lead, NULL, &r, why, sizeof why) == 0);
  CHECK(r.calls == 3);
  CHECK(r.ops == 4);
}

/* A thread that registers makes a few calls when it starts and ends. */
static void counts_calls_of_threads(void) {
  struct trace_result mine = {0, 0};
  struct trace_result other = {0, 0};
  char why[128] = "";
  CHECK(trace_count(with_own_thread, NULL, &mine, why, sizeof why) == 0);
  CHECK(mine.calls >= 5 && mine.calls < 100);
  CHECK(trace_count(with_foreign_thread, NULL, &other, why, sizeof why) == 0);
  CHECK(other.calls >= 7 && other.calls < 100);
}

static void says_why_it_did_not_count(void) {
  struct trace_result r = {99, 99};
  char why[128] = "";
  CHECK(trace_count(give_up, NULL, &r, why, sizeof why) == -1);
  CHECK(r.calls == 99);
  CHECK(why[0] != '\0');
  why[0] = '\0';
  CHECK(trace_count(die, NULL, &r, why, sizeof why) == -1);
  CHECK(why[0] != '\0');
}

static void allocate(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    void *volatile p = malloc(32);
    free(p);
  }
}

static void counts_allocations(void) {
  alloc_quiet(false);
  alloc_count(true);
  allocate(5);
  alloc_quiet(true);
  allocate(100);
  alloc_quiet(false);
  allocate(2);
  alloc_count(false);
  allocate(100);
  CHECK(alloc_read().allocs == 7);
  CHECK(alloc_read().frees == 7);
  alloc_count(true);
  alloc_count(false);
  CHECK(alloc_read().allocs == 0);
}

int main(void) {
  counts_system_calls();
  counts_calls_of_threads();
  says_why_it_did_not_count();
  counts_allocations();
  return check_summary();
}
