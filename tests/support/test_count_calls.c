/* SPDX-License-Identifier: MIT */
/* A plain program: under Criterion the counting child would be a grandchild. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "count_calls.h"

/* ThreadSanitizer of clang 14 does not report aligned allocations. */
#if defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define ALIGNED_SEEN 0
#  endif
#endif
#ifndef ALIGNED_SEEN
#  define ALIGNED_SEEN 1
#endif

/* Through volatile, so that the compiler keeps the allocations. */
static void *volatile kept;

static void allocate_three(void *arg) {
  (void)arg;
  kept = malloc(10);
  kept = realloc(kept, 20);
  free(kept);
  kept = calloc(2, 5);
  free(kept);
}

static void allocate_aligned(void *arg) {
  void *p = NULL;
  (void)arg;
  CHECK(posix_memalign(&p, 64, 64) == 0);
  kept = p;
  free(kept);
}

static void nothing(void *arg) {
  (void)arg;
}

static void *allocate_thread(void *arg) {
  allocate_three(arg);
  return NULL;
}

static void allocate_elsewhere(void *arg) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, allocate_thread, arg) == 0);
  (void)pthread_join(thread, NULL);
}

static void allocations_are_counted(void) {
  CHECK(count_allocations(nothing, NULL) == 0);
  CHECK(count_allocations(allocate_three, NULL) == 3);
  CHECK(count_allocations(allocate_aligned, NULL) == (ALIGNED_SEEN ? 1 : 0));
  CHECK(count_allocations_all_threads(allocate_elsewhere, NULL) >= 3);
  CHECK(count_allocations(allocate_elsewhere, NULL) <
        count_allocations_all_threads(allocate_elsewhere, NULL));
}

static void call_three(void *arg) {
  (void)arg;
  (void)syscall(SYS_getuid);
  (void)syscall(SYS_getppid, 0);
  (void)syscall(SYS_getgid);
}

static void compute(void *arg) {
  unsigned *n = arg;
  for (unsigned i = 0; i < 1000; i++) {
    *n = *n * 31 + i;
  }
}

static int prepare(void *arg) {
  *(unsigned *)arg = (unsigned)getpid();
  return 0;
}

static int give_up(void *arg) {
  (void)arg;
  return 1;
}

static void leave(void *arg) {
  (void)arg;
  _exit(0);
}

static void crash(void *arg) {
  (void)arg;
  abort();
}

static void *call_thread(void *arg) {
  call_three(arg);
  return NULL;
}

/* Starting a thread costs the caller some system calls; those of the thread
 * itself, here three thousand, are not the caller's. */
static void *call_often(void *arg) {
  for (int i = 0; i < 1000; i++) {
    (void)call_thread(arg);
  }
  return NULL;
}

static void call_elsewhere(void *arg) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_often, arg) == 0) {
    (void)pthread_join(thread, NULL);
  }
}

static void system_calls_are_counted(void) {
  unsigned state = 0;
  struct count_calls_result r = {.calls = 99};
  struct count_calls what = {
      .prepare = prepare, .run = compute, .finish = call_three, .arg = &state};
  CHECK(count_system_calls(&what, &r) == 0);
  CHECK(r.calls == 0);
  what.run = call_three;
  CHECK(count_system_calls(&what, &r) == 0);
  CHECK(r.calls == 3);
  CHECK(r.shown[0] == SYS_getuid);
  CHECK(r.shown[1] == SYS_getppid);
  CHECK(r.shown[2] == SYS_getgid);
  what.run = call_elsewhere;
  CHECK(count_system_calls(&what, &r) == 0);
  CHECK(r.calls > 0 && r.calls < 1000);
}

static void failures_of_the_child_are_reported(void) {
  unsigned state = 0;
  struct count_calls_result r = {.calls = 99};
  struct count_calls what = {.prepare = give_up, .run = compute, .arg = &state};
  CHECK(count_system_calls(&what, &r) == -ECHILD);
  what.prepare = NULL;
  what.run = leave;
  CHECK(count_system_calls(&what, &r) == -ECHILD);
  what.run = crash;
  CHECK(count_system_calls(&what, &r) == -ECHILD);
  CHECK(r.calls == 99);
}

int main(void) {
  allocations_are_counted();
  system_calls_are_counted();
  failures_of_the_child_are_reported();
  return check_summary();
}
