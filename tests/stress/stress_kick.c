/* SPDX-License-Identifier: MIT */
/* stress_kick.c - threads kick a caller's descriptor while it is closed and made
 * again, as the last of several engines does whose foreign code comes late.  A
 * kick must never be written to a descriptor that has the number by then.
 *
 * WEIR_STRESS_SECONDS sets how long (default 1). */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "weir.h"

#include "caller.h"
#include "check.h"
#include "stress.h"

#define KICKERS 3

static struct weir__caller *target;
static _Atomic int stop;

static void *kick(void *arg) {
  while (atomic_load_explicit(&stop, memory_order_relaxed) == 0) {
    weir__caller_kick(target);
  }
  return arg;
}

/* A descriptor of somebody else's that takes the number just closed. */
static bool is_written_to(void) {
  int stranger = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  (void)sched_yield();
  struct pollfd p = {.fd = stranger, .events = POLLIN};
  bool written = poll(&p, 1, 0) != 0;
  (void)close(stranger);
  return written;
}

int main(void) {
  pthread_t threads[KICKERS];
  int64_t end =
      stress_now() + stress_setting("WEIR_STRESS_SECONDS", 1) * STRESS_S;
  uint64_t closed = 0;
  uint64_t strayed = 0;
  uint64_t made = 0;
  CHECK(weir__caller_setup() == 0);
  CHECK(weir__caller_enter(&target) == WEIR_OK);
  for (int i = 0; i < KICKERS; i++) {
    CHECK(pthread_create(&threads[i], NULL, kick, NULL) == 0);
  }
  while (stress_now() < end) {
    made += weir__caller_fd(target) >= 0;
    (void)sched_yield();
    weir__caller_close_fds();
    strayed += is_written_to();
    closed++;
  }
  atomic_store_explicit(&stop, 1, memory_order_relaxed);
  for (int i = 0; i < KICKERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  weir__caller_leave(target);
  CHECK(closed > 0 && made == closed);
  CHECK(strayed == 0);
  return check_summary();
}
