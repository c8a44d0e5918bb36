/* SPDX-License-Identifier: MIT */
/* presets.h - a behaviour that both of SqlClient's pools have is tried with both. */
#ifndef WEIR_TEST_PRESETS_H
#define WEIR_TEST_PRESETS_H

#include "fixture.h"

static const char *const presets[] = {"legacy", "channel"};

/* The body opens fixture `f`, which is closed after it. */
#define EACH_PRESET(f, name)                               \
  for (const char *const *each_ = presets, *name = *each_; \
       each_ < presets + 2 && (name = *each_) != NULL;     \
       fixture_close(f), each_++)

#endif
