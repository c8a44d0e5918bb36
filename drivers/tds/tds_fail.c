/* SPDX-License-Identifier: MIT */
/* tds_fail.c - one place that writes errors, so that none forgets a field. */
#include "tds_fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tds_text.h"

weir_drv_status tds_fail(struct weir_drv_error *err,
                         int32_t scope,
                         int32_t kind,
                         int32_t retry,
                         const char *format,
                         ...) {
  va_list args;
  if (err == NULL) {
    return WEIR_DRV_FAIL;
  }
  err->scope = scope;
  err->kind = kind;
  err->retry = retry;
  err->txn = WEIR_DRV_TXN_NONE;
  err->flags = 0;
  err->native = 0;
  err->native_severity = 0;
  err->retry_after_ms = 0;
  memset(err->sqlstate, 0, sizeof err->sqlstate);
  tds_fail_detail(err, 0, 0);
  const uint32_t cap = err->message == NULL ? 0 : err->message_cap;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  int n = vsnprintf(err->message, cap, format, args);
  va_end(args);
  err->message_len = n < 0 ? 0 : (uint32_t)n;
  if (err->message_len >= cap) {
    err->flags |= WEIR_DRV_EF_TRUNCATED;
    tds_fail_trim(err->message, cap);
  }
  return WEIR_DRV_FAIL;
}

/* Whether a member that was added later is there [G4]. */
#define REACHES(err, member) \
  ((err)->struct_size >=     \
   offsetof(struct weir_drv_error, member) + sizeof((err)->member))

void tds_fail_detail(struct weir_drv_error *err,
                     uint32_t state,
                     uint32_t line) {
  if (REACHES(err, native_state)) {
    err->native_state = state;
  }
  if (REACHES(err, line)) {
    err->line = line;
  }
}

void tds_fail_trim(char *text, size_t cap) {
  if (cap == 0) {
    return;
  }
  size_t n = strnlen(text, cap - 1);
  text[tds_text_valid(text, n)] = '\0';
}
