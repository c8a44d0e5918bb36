/* SPDX-License-Identifier: MIT */
#include "param.h"

#include <stdlib.h>
#include <string.h>

/* Names and the values each may take.  The upper ends keep a slip of the
 * finger from starting a million threads. */
static const struct {
  const char *name;
  uint32_t min;
  uint32_t max;
} table[PARAM_COUNT] = {
    [PARAM_CONNECTIONS] = {"connections", 1, 4096},
    [PARAM_THREADS] = {"threads", 1, 4096},
    [PARAM_MAX_POOL] = {"max_pool", 1, 131072},
    [PARAM_DEPTH] = {"depth", 1, 4096},
    [PARAM_OPS] = {"ops", 1, 100000000},
    [PARAM_HOLD_US] = {"hold_us", 0, 60000000},
    [PARAM_HOLD_US_MAX] = {"hold_us_max", 0, 60000000},
    [PARAM_WAVES] = {"waves", 1, 10000},
    [PARAM_MIN_WORKERS] = {"min_workers", 1, 4096},
};

const char *param_name(enum param p) {
  return table[p].name;
}

static void refuse_name(struct fault *fault, const char *name, size_t len) {
  char names[256] = "";
  for (unsigned i = 0; i < PARAM_COUNT; i++) {
    (void)strncat(names, i == 0 ? "" : ", ", sizeof names - strlen(names) - 1);
    (void)strncat(names, table[i].name, sizeof names - strlen(names) - 1);
  }
  fault_usage(fault, "--set: there is no parameter \"%.*s\"; there are %s",
              (int)(len < 64 ? len : 64), name, names);
}

/* Reads a whole decimal number of at most 9 digits. */
static int read_number(const char *text, uint32_t *out) {
  size_t len = strlen(text);
  if (len == 0 || len > 9 || strspn(text, "0123456789") != len) {
    return -1;
  }
  *out = (uint32_t)strtoul(text, NULL, 10);
  return 0;
}

int param_set(struct param_sets *sets, const char *text, struct fault *fault) {
  size_t len = strcspn(text, "=");
  if (text[len] != '=') {
    fault_usage(fault, "--set wants name=value, not \"%.64s\"", text);
    return -1;
  }
  for (unsigned i = 0; i < PARAM_COUNT; i++) {
    if (strlen(table[i].name) != len ||
        strncmp(table[i].name, text, len) != 0) {
      continue;
    }
    uint32_t value;
    if (read_number(text + len + 1, &value) != 0 || value < table[i].min ||
        value > table[i].max) {
      fault_usage(fault, "--set %s: \"%.32s\" is not a number from %u to %u",
                  table[i].name, text + len + 1, table[i].min, table[i].max);
      return -1;
    }
    sets->set[i] = true;
    sets->v[i] = value;
    return 0;
  }
  refuse_name(fault, text, len);
  return -1;
}
