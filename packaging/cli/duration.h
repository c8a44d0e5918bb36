/* SPDX-License-Identifier: MIT */
/* duration.h - spans of time as people write and read them. */
#ifndef WEIRCTL_DURATION_H
#define WEIRCTL_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define DURATION_MAX (INT64_C(366) * 24 * 3600 * 1000000000)

/* Reads a number with an optional fraction and unit: ns, us, ms, s, min, h; no
 * unit means seconds.  Returns 0, or -1 when text is something else, negative,
 * or over DURATION_MAX (a year).  *out_ns gets whole nanoseconds. */
int duration_parse(const char *text, int64_t *out_ns);

/* Writes a span with three digits and a fitting unit, such as "61.2 ms", into
 * buf, which needs 32 bytes; returns buf. */
const char *duration_text(int64_t ns, char buf[32]);

/* Monotonic time in ns. */
int64_t duration_now(void);

#endif
