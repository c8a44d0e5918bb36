/* SPDX-License-Identifier: MIT */
#include "sys/park.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/clock.h"

static struct timespec to_timespec(uint64_t ns) {
  struct timespec t = {.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
                       .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
  return t;
}

/* FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, so a wait that is
 * interrupted and begun again does not grow. */
int weir__park_futex(_Atomic uint32_t *word,
                     uint32_t expected,
                     uint64_t deadline) {
  struct timespec at = to_timespec(deadline);
  bool forever = deadline / WEIR_NS_PER_S > (uint64_t)INT32_MAX * 1000u;
  long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                    forever ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);
  return rc == -1 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void weir__unpark_futex(_Atomic uint32_t *word) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int weir__poll_ppoll(struct pollfd *fds, nfds_t n, uint64_t deadline) {
  for (;;) {
    struct timespec left = {0, 0};
    bool forever = deadline / WEIR_NS_PER_S > (uint64_t)INT32_MAX * 1000u;
    uint64_t now = forever ? 0 : weir__clock_read(CLOCK_MONOTONIC);
    if (!forever && deadline > now) {
      left = to_timespec(deadline - now);
    }
    int rc = ppoll(fds, n, forever ? NULL : &left, NULL);
    if (rc >= 0) {
      return rc;
    }
    if (errno != EINTR) {
      return -errno;
    }
  }
}
