/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mock.h"

/* Copies what fits, cut at a character of UTF-8, and says how long it was. */
static void put_message(struct weir_drv_error *err, const char *p, uint64_t n) {
  uint64_t room = err->message_cap == 0 ? 0 : err->message_cap - 1;
  uint64_t take = n < room ? n : room;
  err->message_len = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
  if (err->message == NULL || err->message_cap == 0) {
    return;
  }
  while (take < n && take > 0 && ((unsigned char)p[take] & 0xC0u) == 0x80u) {
    take--;
  }
  if (take > 0) {
    memcpy(err->message, p, take);
  }
  err->message[take] = '\0';
  err->flags |= take < n ? WEIR_DRV_EF_TRUNCATED : 0;
}

weir_drv_status mock_fail(struct weir_drv_error *err,
                          int32_t scope,
                          int32_t kind,
                          const char *format,
                          ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  n = n < 0 ? 0 : n;
  struct weir_drv_text message = {
      .p = text, .n = (size_t)n < sizeof text ? (uint64_t)n : sizeof text - 1};
  struct mock_failure failure = {.scope = scope, .kind = kind, .txn = 0};
  return mock_fail_as(err, &failure, &message);
}

weir_drv_status mock_fail_as(struct weir_drv_error *err,
                             const struct mock_failure *failure,
                             const struct weir_drv_text *message) {
  if (err == NULL || err->struct_size < WEIR_DRV_ERROR_SIZE_V0) {
    return WEIR_DRV_FAIL;
  }
  err->scope = failure->scope;
  err->kind = failure->kind;
  err->retry = failure->retry;
  err->txn = failure->txn < 0 ? WEIR_DRV_TXN_NONE : failure->txn;
  err->flags = failure->flags;
  err->native = failure->native;
  err->native_severity = failure->severity;
  err->retry_after_ms = failure->retry_after_ms;
  err->native_state = failure->state;
  err->line = failure->line;
  memcpy(err->sqlstate, failure->sqlstate, sizeof err->sqlstate);
  put_message(err, message->p == NULL ? "" : message->p, message->n);
  return WEIR_DRV_FAIL;
}
