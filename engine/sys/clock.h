/* SPDX-License-Identifier: MIT */
/* clock.h - the only reader of the clock.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC in 64 bits, which last 584 years:
 * a jump of the wall clock changes nothing. */
#ifndef WEIR_SYS_CLOCK_H
#define WEIR_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "sys/seams.h"

#define WEIR_NS_PER_US UINT64_C(1000)
#define WEIR_NS_PER_MS UINT64_C(1000000)
#define WEIR_NS_PER_S  UINT64_C(1000000000)
#define WEIR_NEVER     UINT64_MAX

uint64_t weir__clock_read(clockid_t id);

/* Now, exact.  About 22 ns. */
static inline uint64_t weir__clock_now(void) {
#if WEIR_SEAMS
  return weir__seams.now();
#else
  return weir__clock_read(CLOCK_MONOTONIC);
#endif
}

/* Now, 1 to 4 ms late at most.  About 5 ns: for stamps on the warm path. */
static inline uint64_t weir__clock_coarse(void) {
#if WEIR_SEAMS
  return weir__seams.coarse();
#else
  return weir__clock_read(CLOCK_MONOTONIC_COARSE);
#endif
}

/* Milliseconds of the wall clock since 1970: for certificates and tokens only. */
static inline uint64_t weir__clock_unix_ms(void) {
#if WEIR_SEAMS
  return weir__seams.unix_ms();
#else
  return weir__clock_read(CLOCK_REALTIME) / WEIR_NS_PER_MS;
#endif
}

/* now + span without overflow; WEIR_NEVER stays WEIR_NEVER. */
static inline uint64_t weir__clock_add(uint64_t now, uint64_t span) {
  return span > WEIR_NEVER - now ? WEIR_NEVER : now + span;
}

#endif
