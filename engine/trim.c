/* SPDX-License-Identifier: MIT */
#include "trim.h"

#include "sys/clock.h"

#define STEP_MIN_NS WEIR_NS_PER_MS

void weir__trim_reset(struct weir__trim *trim) {
  *trim = (struct weir__trim){.n = 0};
}

void weir__trim_note(struct weir__trim *trim, uint32_t used, uint32_t needed) {
  trim->used[trim->at] = used;
  trim->needed[trim->at] = needed;
  trim->at = (trim->at + 1) % WEIR_TRIM_NOTES;
  trim->n += trim->n < WEIR_TRIM_NOTES;
}

static uint32_t largest(const struct weir__trim *trim, const uint32_t *notes) {
  uint32_t most = 0;
  if (trim->n < WEIR_TRIM_NOTES) {
    return UINT32_MAX;
  }
  for (uint32_t i = 0; i < WEIR_TRIM_NOTES; i++) {
    most = notes[i] > most ? notes[i] : most;
  }
  return most;
}

uint32_t weir__trim_peak(const struct weir__trim *trim) {
  return largest(trim, trim->used);
}

uint32_t weir__trim_packed(const struct weir__trim *trim) {
  return largest(trim, trim->needed);
}

uint32_t weir__trim_count(uint32_t open, uint32_t keep) {
  if (open <= keep) {
    return 0;
  }
  uint32_t n = (open - keep) / 5;
  n = n == 0 ? 1 : n;
  return n > WEIR_TRIM_MAX ? WEIR_TRIM_MAX : n;
}

uint64_t weir__trim_step(uint64_t idle_timeout_ns) {
  uint64_t step = idle_timeout_ns / WEIR_TRIM_NOTES;
  return step < STEP_MIN_NS ? STEP_MIN_NS : step;
}
