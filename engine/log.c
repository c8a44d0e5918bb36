/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

/* A longer message is cut: one write(2) keeps lines of threads apart. */
#define LINE_MAX_BYTES 1024u

static const char *const names[] = {"off", "error", "warn", "info", "debug"};

int32_t weir__log_level(const struct weir__engine *engine) {
  const char *value = (engine->flags & WEIR_ENGINE_NO_ENV) != 0
                          ? NULL
                          : secure_getenv("WEIR_LOG");
  for (int32_t i = 1; value != NULL && i <= WEIR_DRV_LOG_DEBUG; i++) {
    if (strcmp(value, names[i]) == 0) {
      return i;
    }
  }
  return 0;
}

int32_t weir__log_on(const struct weir__engine *engine, int32_t level) {
  return level >= WEIR_DRV_LOG_ERROR && level <= engine->log_level;
}

void weir__log(const struct weir__engine *engine,
               int32_t level,
               const char *text,
               uint64_t n) {
  char line[LINE_MAX_BYTES];
  if (!weir__log_on(engine, level) || text == NULL) {
    return;
  }
  int used = snprintf(line, sizeof line, "weir: %s: ", names[level]);
  size_t at = used < 0 ? 0 : (size_t)used;
  for (uint64_t i = 0; i < n && at < sizeof line - 1; i++) {
    unsigned char c = (unsigned char)text[i];
    line[at++] = (char)(c < 0x20 || c == 0x7F ? '?' : c);
  }
  line[at++] = '\n';
  /* A log that cannot be written has nobody to tell. */
  ssize_t rc = write(STDERR_FILENO, line, at);
  (void)rc;
}
