/* SPDX-License-Identifier: MIT */
/* rendezvous.h - many threads wait until all of them are there, or until it has
 * taken too long. */
#ifndef WEIRBENCH_RENDEZVOUS_H
#define WEIRBENCH_RENDEZVOUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct rendezvous {
  pthread_mutex_t mutex;
  pthread_cond_t all;
  uint32_t missing;
};

/* A condition variable whose time-outs count by the monotonic clock. */
void monotonic_cond_init(pthread_cond_t *cond);

void rendezvous_init(struct rendezvous *r, uint32_t expected);
void rendezvous_fini(struct rendezvous *r);

/* Says that n more are there, or will not come. */
void rendezvous_arrive(struct rendezvous *r, uint32_t n);

/* Waits until all are there.  Returns false when limit_ns has passed before. */
bool rendezvous_wait(struct rendezvous *r, int64_t limit_ns);

#endif
