/* SPDX-License-Identifier: MIT */
/* park.h - sleeping until a word changes, and polling descriptors. */
#ifndef WEIR_SYS_PARK_H
#define WEIR_SYS_PARK_H

#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>

#include "sys/seams.h"

int weir__park_futex(_Atomic uint32_t *word,
                     uint32_t expected,
                     uint64_t deadline);
void weir__unpark_futex(_Atomic uint32_t *word);
int weir__poll_ppoll(struct pollfd *fds, nfds_t n, uint64_t deadline);

/* Sleeps while *word == expected, at most until deadline (clock.h; WEIR_NEVER).
 * Returns 0 or -ETIMEDOUT; 0 may be spurious, so the caller looks again.
 * Threads: any.  Blocks: yes. */
static inline int weir__park(_Atomic uint32_t *word,
                             uint32_t expected,
                             uint64_t deadline) {
#if WEIR_SEAMS
  return weir__seams.park(word, expected, deadline);
#else
  return weir__park_futex(word, expected, deadline);
#endif
}

/* Wakes one thread asleep on word.  The word need not exist any more: whoever
 * sleeps on a word at that address looks again. */
static inline void weir__unpark(_Atomic uint32_t *word) {
#if WEIR_SEAMS
  weir__seams.unpark(word);
#else
  weir__unpark_futex(word);
#endif
}

/* poll(2) with an absolute deadline.  Returns the number of ready descriptors,
 * 0 at the deadline or on a spurious wake, or -errno (never -EINTR). */
static inline int weir__poll(struct pollfd *fds, nfds_t n, uint64_t deadline) {
#if WEIR_SEAMS
  return weir__seams.poll(fds, n, deadline);
#else
  return weir__poll_ppoll(fds, n, deadline);
#endif
}

#endif
