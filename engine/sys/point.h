/* SPDX-License-Identifier: MIT */
/* point.h - named test points: places where a test can hold a thread.
 *
 * WEIR_POINT("waiter.queued", object) calls the seam of that name in builds with
 * WEIR_SEAMS and is nothing in others.  No lock is held at a point unless its
 * name ends in ".locked".  engine/README.md lists the points. */
#ifndef WEIR_SYS_POINT_H
#define WEIR_SYS_POINT_H

#include "sys/seams.h"

#if WEIR_SEAMS
#  define WEIR_POINT(name, object)           \
    do {                                     \
      if (weir__seams.point != NULL) {       \
        weir__seams.point((name), (object)); \
      }                                      \
    } while (0)
#else
#  define WEIR_POINT(name, object) ((void)0)
#endif

#endif
