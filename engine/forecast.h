/* SPDX-License-Identifier: MIT */
/* forecast.h - whether a connection comes back sooner than a new one would be
 * open: a policy without clock or lock.
 *
 * With B connections lent out for H on average, one comes back every H / B, so
 * the k-th of those who wait is served after k x H / B.  A connect takes C.  Only
 * who would wait as long as C or longer is worth one. */
#ifndef WEIR_FORECAST_H
#define WEIR_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

/* The head of the line need not believe a forecast for longer than this. */
#define WEIR_FORECAST_PATIENCE_NS UINT64_C(250000000)
/* A queue stands if nobody was served sooner than this in a whole window. */
#define WEIR_FORECAST_STANDING_NS UINT64_C(100000000)
#define WEIR_FORECAST_WINDOW_NS   UINT64_C(500000000)

/* An exponentially weighted mean: a new sample counts an eighth. */
struct weir__average {
  uint64_t ns;
  bool known;
};

void weir__average_feed(struct weir__average *a, uint64_t sample_ns);

/* All zero knows nothing. */
struct weir__forecast {
  struct weir__average hold;    /* H */
  struct weir__average connect; /* C */
  uint64_t window_end;          /* 0: no window has begun */
  uint64_t window_min;          /* smallest wait in it */
  bool standing;                /* what the last full window said */
};

/* What the pool looks like at `now`. */
struct weir__outlook {
  uint64_t now;
  uint64_t head_since; /* since when the head of the line waits */
  uint32_t waiting;    /* callers in line that open nothing themselves */
  uint32_t unclaimed;  /* connects under way for whoever comes first */
  uint32_t leased;     /* B */
};

enum weir__verdict {
  WEIR_FORECAST_ENOUGH, /* open nothing now */
  WEIR_FORECAST_HEAD,   /* open one more: the head should have it */
  WEIR_FORECAST_TAIL    /* ... the last in line: it alone would wait too long */
};

/* Whether to begin one more connect.  Ask again after each one begun. */
enum weir__verdict weir__forecast_ask(const struct weir__forecast *f,
                                      const struct weir__outlook *o);

/* After ENOUGH: when the passing of time alone may change that; UINT64_MAX:
 * never. */
uint64_t weir__forecast_next(const struct weir__forecast *f,
                             const struct weir__outlook *o);

/* Somebody was served after that wait; 0 also when nobody waits any more, and
 * `now` is then of no matter. */
void weir__forecast_waited(struct weir__forecast *f,
                           uint64_t now,
                           uint64_t wait_ns);

/* A connect was begun because the queue stands: the next window decides about
 * the next one. */
void weir__forecast_acted(struct weir__forecast *f);

#endif
