/* SPDX-License-Identifier: MIT */
#include "rendezvous.h"

#include "clock.h"

void monotonic_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t attr;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(cond, &attr);
  (void)pthread_condattr_destroy(&attr);
}

void rendezvous_init(struct rendezvous *r, uint32_t expected) {
  (void)pthread_mutex_init(&r->mutex, NULL);
  monotonic_cond_init(&r->all);
  r->missing = expected;
}

void rendezvous_fini(struct rendezvous *r) {
  (void)pthread_cond_destroy(&r->all);
  (void)pthread_mutex_destroy(&r->mutex);
}

void rendezvous_arrive(struct rendezvous *r, uint32_t n) {
  (void)pthread_mutex_lock(&r->mutex);
  r->missing -= n < r->missing ? n : r->missing;
  if (r->missing == 0) {
    (void)pthread_cond_broadcast(&r->all);
  }
  (void)pthread_mutex_unlock(&r->mutex);
}

bool rendezvous_wait(struct rendezvous *r, int64_t limit_ns) {
  int64_t until = clock_now() + limit_ns;
  struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                        .tv_nsec = (long)(until % 1000000000)};
  int rc = 0;
  (void)pthread_mutex_lock(&r->mutex);
  while (r->missing > 0 && rc == 0) {
    rc = pthread_cond_timedwait(&r->all, &r->mutex, &at);
  }
  bool all = r->missing == 0;
  (void)pthread_mutex_unlock(&r->mutex);
  return all;
}
