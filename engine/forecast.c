/* SPDX-License-Identifier: MIT */
#include "forecast.h"

void weir__average_feed(struct weir__average *a, uint64_t sample_ns) {
  if (!a->known) {
    a->known = true;
    a->ns = sample_ns;
  } else if (sample_ns >= a->ns) {
    a->ns += (sample_ns - a->ns) / 8;
  } else {
    a->ns -= (a->ns - sample_ns + 7) / 8; /* so that it can reach 0 */
  }
}

static uint64_t patience(const struct weir__forecast *f) {
  uint64_t c = f->connect.ns;
  return c < WEIR_FORECAST_PATIENCE_NS ? c : WEIR_FORECAST_PATIENCE_NS;
}

static uint64_t later(uint64_t now, uint64_t span) {
  return span > UINT64_MAX - now ? UINT64_MAX : now + span;
}

/* k x H / B >= C, without a division and without overflow. */
static bool too_long(const struct weir__forecast *f,
                     uint32_t k,
                     uint32_t leased) {
  __extension__ typedef unsigned __int128 wide;
  return (wide)k * f->hold.ns >= (wide)leased * f->connect.ns;
}

enum weir__verdict weir__forecast_ask(const struct weir__forecast *f,
                                      const struct weir__outlook *o) {
  if (o->waiting <= o->unclaimed) {
    return WEIR_FORECAST_ENOUGH; /* each has a connect coming */
  }
  uint32_t k = o->waiting - o->unclaimed;
  if (!f->hold.known || !f->connect.known || o->leased == 0) {
    return WEIR_FORECAST_HEAD; /* nothing will come back, as far as we know */
  }
  if (f->standing || o->now > later(o->head_since, patience(f))) {
    return WEIR_FORECAST_HEAD;
  }
  return too_long(f, k, o->leased) ? WEIR_FORECAST_TAIL : WEIR_FORECAST_ENOUGH;
}

uint64_t weir__forecast_next(const struct weir__forecast *f,
                             const struct weir__outlook *o) {
  if (o->waiting <= o->unclaimed || !f->connect.known) {
    return UINT64_MAX;
  }
  uint64_t at = later(o->head_since, patience(f));
  return at == UINT64_MAX ? at : at + 1;
}

static void begin_window(struct weir__forecast *f, uint64_t now) {
  f->window_end = later(now, WEIR_FORECAST_WINDOW_NS);
  f->window_min = UINT64_MAX;
}

void weir__forecast_waited(struct weir__forecast *f,
                           uint64_t now,
                           uint64_t wait_ns) {
  if (f->window_end == 0) {
    begin_window(f, now);
  } else if (now >= f->window_end) {
    uint64_t limit = f->connect.ns > WEIR_FORECAST_STANDING_NS
                         ? f->connect.ns
                         : WEIR_FORECAST_STANDING_NS;
    f->standing = f->window_min != UINT64_MAX && f->window_min > limit;
    begin_window(f, now);
  }
  f->window_min = wait_ns < f->window_min ? wait_ns : f->window_min;
  if (wait_ns == 0) {
    f->standing = false;
  }
}

void weir__forecast_acted(struct weir__forecast *f) {
  f->standing = false;
}
