/* SPDX-License-Identifier: MIT */
/* classify.h - what a failure asks of the pool.
 *
 * A driver says how much is broken (scope) and what went wrong (kind).  Five
 * classes follow from the two; breaker, budget and waiters know only these. */
#ifndef WEIR_CLASSIFY_H
#define WEIR_CLASSIFY_H

#include <stdint.h>

enum weir__class {
  WEIR_CLASS_NONE,        /* nothing beyond the statement is broken */
  WEIR_CLASS_PERMANENT,   /* trying again cannot help, and may lock accounts */
  WEIR_CLASS_UNREACHABLE, /* nobody answers there */
  WEIR_CLASS_OVERLOADED,  /* it is there and has too much to do */
  WEIR_CLASS_ROLE,        /* it is there and is not the one asked for */
  WEIR_CLASS_TRANSIENT    /* this one connection */
};

/* The class of a driver's error, from WEIR_DRV_SCOPE_* and WEIR_DRV_K_*.  Values
 * that a later header may add count as the scope NONE or the kind OTHER.
 * Threads: any.  Blocks: no. */
enum weir__class weir__classify(int32_t scope, int32_t kind);

/* The same for a connect that ended in that phase (WEIR_PHASE_*): a time-out says
 * "overloaded" only once the server has answered at all. */
enum weir__class weir__classify_connect(int32_t scope,
                                        int32_t kind,
                                        int32_t phase);

/* A word for messages and logs. */
const char *weir__class_name(enum weir__class class);

#endif
