/* SPDX-License-Identifier: MIT */
#include "net/drv_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "sys/assert.h"

/* Shortens n bytes of text so that no character is cut in two. */
static uint32_t whole_characters(const char *text, uint32_t n) {
  while (n > 0 && ((unsigned char)text[n] & 0xC0u) == 0x80u) {
    n--;
  }
  return n;
}

__attribute__((format(printf, 2, 0))) static void set_message(
    struct weir_drv_error *err,
    const char *fmt,
    va_list args) {
  /* One more than fits, so that the byte at the cut is known. */
  char text[1024];
  int full = vsnprintf(text, sizeof text, fmt, args);
  WEIR_ASSERT(full >= 0);
  uint32_t n = full < 0 ? 0u : (uint32_t)full;
  err->message_len = n;
  err->flags &= ~WEIR_DRV_EF_TRUNCATED;
  uint32_t fits = err->message_cap == 0 ? 0u : err->message_cap - 1;
  if (fits > sizeof text - 2) {
    fits = (uint32_t)sizeof text - 2;
  }
  if (n > fits) {
    n = whole_characters(text, fits);
    err->flags |= WEIR_DRV_EF_TRUNCATED;
  }
  if (err->message != NULL && err->message_cap != 0) {
    for (uint32_t i = 0; i < n; i++) {
      err->message[i] = text[i];
    }
    err->message[n] = '\0';
  }
}

weir_drv_status weir__drv_error_set(struct weir_drv_error *err,
                                    int32_t scope,
                                    int32_t kind,
                                    int32_t retry,
                                    const char *fmt,
                                    ...) {
  if (err == NULL) {
    return WEIR_DRV_FAIL;
  }
  err->scope = scope;
  err->kind = kind;
  err->retry = retry;
  va_list args;
  va_start(args, fmt);
  set_message(err, fmt, args);
  va_end(args);
  return WEIR_DRV_FAIL;
}
