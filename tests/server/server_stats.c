/* SPDX-License-Identifier: MIT */
/* Counters as a struct and as JSON, and the log line. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server_shared.h"

void tdsd_log(const struct tdsd_shared *shared,
              uint16_t spid,
              const char *format,
              ...) {
  char line[512];
  if (shared->options.log == NULL) {
    return;
  }
  int n = snprintf(line, sizeof line, "tdsd: spid %u: ", (unsigned)spid);
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line + n, sizeof line - (size_t)n, format, args);
  va_end(args);
  shared->options.log(shared->options.log_user, line);
}

void tdsd_counters_read(const struct tdsd_counters *counters,
                        struct tdsd_stats *out_stats) {
#define TDSD_COUNTER(name) \
  out_stats->name = atomic_load_explicit(&counters->name, memory_order_relaxed);
  TDSD_COUNTERS(TDSD_COUNTER)
#undef TDSD_COUNTER
}

/* Appends one member if it fits with the closing brace behind it. */
static void append(char *out,
                   size_t cap,
                   size_t *len,
                   const char *name,
                   uint64_t value) {
  char member[64];
  int n = snprintf(member, sizeof member, "%s\"%.30s\":%" PRIu64,
                   *len == 0 ? "{" : ",", name, value);
  if (n > 0 && *len + (size_t)n + 2 <= cap) {
    memcpy(out + *len, member, (size_t)n);
    *len += (size_t)n;
  }
}

size_t tdsd_counters_json(const struct tdsd_counters *counters,
                          char *out,
                          size_t cap) {
  struct tdsd_stats stats;
  size_t len = 0;
  if (cap < 4) {
    return 0;
  }
  tdsd_counters_read(counters, &stats);
#define TDSD_COUNTER(name) append(out, cap, &len, #name, stats.name);
  TDSD_COUNTERS(TDSD_COUNTER)
#undef TDSD_COUNTER
  out[len++] = '}';
  out[len] = 0;
  return len;
}
