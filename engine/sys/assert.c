/* SPDX-License-Identifier: MIT */
#include "sys/assert.h"

#if !defined(NDEBUG)
#  include <stdio.h>
#  include <stdlib.h>

void weir__assert_fail(const char *cond, const char *file, int line) {
  (void)fprintf(stderr, "weir: %s:%d: broken: %s\n", file, line, cond);
  abort();
}
#else
/* A translation unit must declare something. */
typedef int weir__assert_unused;
#endif
