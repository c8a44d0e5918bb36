/* SPDX-License-Identifier: MIT */
/* presets.h - pools of SqlClient's two kinds, for the tests of its behaviours. */
#ifndef WEIR_TEST_PRESETS_H
#define WEIR_TEST_PRESETS_H

#include <stdio.h>

#include <criterion/criterion.h>

#include "fixture.h"

/* The index of each in turn: channel (V2), legacy (V1). */
#define PRESETS        2u
#define EACH_PRESET(i) for (unsigned i = 0; (i) < PRESETS; (i)++)

static const char *const preset_names[PRESETS] = {"channel", "legacy"};

/* An engine on a virtual clock, and a pool of that preset with what `more` says. */
static inline weir_h preset_open(struct fixture *f,
                                 unsigned preset,
                                 const char *more) {
  fixture_open_virtual(f);
  return fixture_pool(f, "Pool Strategy=%s;%s", preset_names[preset], more);
}

/* Sessions there are, whatever they are used for. */
static inline uint32_t preset_count(weir_h pool) {
  struct weir_pool_stats s = fixture_stats(pool);
  return s.connecting + s.idle + s.leased + s.reserved + s.parked + s.stasis;
}

static inline void preset_acquire(struct fixture *f,
                                  weir_h pool,
                                  weir_h *leases,
                                  unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    leases[i] = fixture_acquire(f, pool);
  }
}

static inline void preset_release(const weir_h *leases, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
}

#define PRESET_RELEASE(lease) cr_assert_eq(weir_release(lease), WEIR_OK)

#endif
