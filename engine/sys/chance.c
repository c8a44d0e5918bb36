/* SPDX-License-Identifier: MIT */
#include "sys/chance.h"

#include <sys/random.h>
#include <time.h>

#include "sys/clock.h"

uint64_t weir__random_read(void) {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    bits = weir__clock_read(CLOCK_MONOTONIC) * UINT64_C(0x9E3779B97F4A7C15);
  }
  return bits;
}
