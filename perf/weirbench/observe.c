/* SPDX-License-Identifier: MIT */
#include "observe.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int by_got(const void *a, const void *b) {
  const struct stamp *x = a;
  const struct stamp *y = b;
  return (x->got > y->got) - (x->got < y->got);
}

static int by_asked_ns(const void *a, const void *b) {
  const struct stamp *x = a;
  const struct stamp *y = b;
  return (x->asked_ns > y->asked_ns) - (x->asked_ns < y->asked_ns);
}

/* From the last grant to the first: an acquire has overtaken someone when one
 * of those granted later, which slept, had asked earlier. */
static uint64_t count_overtakes(struct stamp *stamps, uint64_t n) {
  uint64_t earliest = UINT64_MAX;
  uint64_t overtakes = 0;
  qsort(stamps, (size_t)n, sizeof *stamps, by_got);
  for (uint64_t i = n; i-- > 0;) {
    const struct stamp *s = &stamps[i];
    overtakes += earliest < s->asked ? 1 : 0;
    if (s->slept && s->asked < earliest) {
      earliest = s->asked;
    }
  }
  return overtakes;
}

static int by_time(const void *a, const void *b) {
  const int64_t *x = a;
  const int64_t *y = b;
  return (*x > *y) - (*x < *y);
}

/* Goes through the beginnings and the ends of the waits, each in order of
 * time. */
static uint32_t most_at_once(struct stamp *stamps, uint64_t n) {
  int64_t *ends = calloc((size_t)n + 1, sizeof *ends);
  if (ends == NULL) {
    return 0;
  }
  qsort(stamps, (size_t)n, sizeof *stamps, by_asked_ns);
  size_t n_ends = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (stamps[i].slept) {
      ends[n_ends++] = stamps[i].got_ns;
    }
  }
  qsort(ends, n_ends, sizeof *ends, by_time);
  uint32_t now = 0;
  uint32_t most = 0;
  size_t ended = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (!stamps[i].slept) {
      continue;
    }
    while (ended < n_ends && ends[ended] <= stamps[i].asked_ns) {
      ended++;
      now--;
    }
    now++;
    most = now > most ? now : most;
  }
  free(ends);
  return most;
}

void observe(struct stamp *stamps, uint64_t n, struct observation *out) {
  memset(out, 0, sizeof *out);
  for (uint64_t i = 0; i < n; i++) {
    if (stamps[i].slept) {
      histogram_add(&out->wait, stamps[i].got_ns - stamps[i].asked_ns);
    }
  }
  out->overtakes = count_overtakes(stamps, n);
  out->waiters_max = most_at_once(stamps, n);
}
