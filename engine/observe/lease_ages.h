/* SPDX-License-Identifier: MIT */
/* lease_ages.h - for how long connections have been lent out. */
#ifndef WEIR_LEASE_AGES_H
#define WEIR_LEASE_AGES_H

#include <stdint.h>

#include "pool.h"

struct weir__lease_ages {
  uint32_t n; /* leases seen; without any the ages are 0 */
  uint64_t oldest_ns;
  uint64_t youngest_ns;
};

/* Looks at every slot, without a lock: leases may come and go meanwhile.  As exact
 * as the coarse clock, by which they are stamped; one that has only just been given
 * from the idle ones, and whose user has not looked at it yet, counts from its last
 * release. */
struct weir__lease_ages weir__lease_ages(const struct weir__pool *pool);

#endif
