/* SPDX-License-Identifier: MIT */
#include "sys/mutex.h"

#include <time.h>

#include "sys/assert.h"

#if !defined(NDEBUG)
/* Bit r is set while this thread holds a lock of rank r. */
static _Thread_local uint32_t held;

static void note_lock(const struct weir__mutex *mu) {
  WEIR_ASSERT(held >> mu->rank == 0); /* ranks only rise */
  held |= UINT32_C(1) << mu->rank;
}

static void note_unlock(const struct weir__mutex *mu) {
  WEIR_ASSERT((held >> mu->rank & 1u) != 0);
  held &= ~(UINT32_C(1) << mu->rank);
}

bool weir__mutex_none_held(void) {
  return held == 0;
}
#else
static void note_lock(const struct weir__mutex *mu) {
  (void)mu;
}

static void note_unlock(const struct weir__mutex *mu) {
  (void)mu;
}

bool weir__mutex_none_held(void) {
  return true;
}
#endif

void weir__mutex_init(struct weir__mutex *mu, enum weir__rank rank) {
  mu->rank = (uint32_t)rank;
  /* With default attributes glibc's cannot fail. */
  (void)pthread_mutex_init(&mu->m, NULL);
}

void weir__mutex_fini(struct weir__mutex *mu) {
  (void)pthread_mutex_destroy(&mu->m);
}

void weir__mutex_lock(struct weir__mutex *mu) WEIR_UNCHECKED {
  (void)pthread_mutex_lock(&mu->m);
  note_lock(mu);
}

void weir__mutex_unlock(struct weir__mutex *mu) WEIR_UNCHECKED {
  note_unlock(mu);
  (void)pthread_mutex_unlock(&mu->m);
}

void weir__cond_init(struct weir__cond *cond) {
  pthread_condattr_t attr;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&cond->c, &attr);
  (void)pthread_condattr_destroy(&attr);
}

void weir__cond_fini(struct weir__cond *cond) {
  (void)pthread_cond_destroy(&cond->c);
}

void weir__cond_wait(struct weir__cond *cond,
                     struct weir__mutex *mu) WEIR_UNCHECKED {
  note_unlock(mu);
  (void)pthread_cond_wait(&cond->c, &mu->m);
  note_lock(mu);
}

void weir__cond_signal(struct weir__cond *cond) {
  (void)pthread_cond_signal(&cond->c);
}

void weir__cond_broadcast(struct weir__cond *cond) {
  (void)pthread_cond_broadcast(&cond->c);
}
