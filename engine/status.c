/* SPDX-License-Identifier: MIT */
/* An error is built whole on the stack and then copied as far as the caller's
 * struct reaches, so that one place knows about sizes. */
#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* weir.h alone must do for an embedder, so the words of drivers have names there,
 * too. */
#define SAME(ours, drivers) \
  _Static_assert(WEIR_##ours == WEIR_DRV_##drivers, #ours)
SAME(SCOPE_NONE, SCOPE_NONE);
SAME(SCOPE_STATEMENT, SCOPE_STATEMENT);
SAME(SCOPE_TXN, SCOPE_TXN);
SAME(SCOPE_CONN, SCOPE_CONN);
SAME(SCOPE_ENDPOINT, SCOPE_ENDPOINT);
SAME(SCOPE_CONFIG, SCOPE_CONFIG);
SAME(SCOPE_DRIVER, SCOPE_DRIVER);
SAME(KIND_OTHER, K_OTHER);
SAME(KIND_NETWORK, K_NETWORK);
SAME(KIND_TIMEOUT, K_TIMEOUT);
SAME(KIND_CANCELLED, K_CANCELLED);
SAME(KIND_AUTH, K_AUTH);
SAME(KIND_AUTH_EXPIRED, K_AUTH_EXPIRED);
SAME(KIND_TLS, K_TLS);
SAME(KIND_NAME, K_NAME);
SAME(KIND_PROTOCOL, K_PROTOCOL);
SAME(KIND_THROTTLED, K_THROTTLED);
SAME(KIND_FAILOVER, K_FAILOVER);
SAME(KIND_DEADLOCK, K_DEADLOCK);
SAME(KIND_CONSTRAINT, K_CONSTRAINT);
SAME(KIND_SYNTAX, K_SYNTAX);
SAME(KIND_RESOURCE, K_RESOURCE);
SAME(KIND_CONFIG, K_CONFIG);
SAME(KIND_UNSUPPORTED, K_UNSUPPORTED);
SAME(KIND_INTERNAL, K_INTERNAL);
SAME(RETRY_NO, RETRY_NO);
SAME(RETRY_SAME, RETRY_SAME);
SAME(RETRY_OTHER, RETRY_OTHER);
SAME(RETRY_ELSE, RETRY_ELSE);
SAME(RETRY_CRED, RETRY_CRED);
SAME(TXN_NONE, TXN_NONE);
SAME(TXN_OPEN, TXN_OPEN);
SAME(TXN_DOOMED, TXN_DOOMED);
SAME(TXN_UNKNOWN, TXN_UNKNOWN);
SAME(FLAG_MAYBE_EXECUTED, EF_MAYBE_EXECUTED);
SAME(FLAG_TRUNCATED, EF_TRUNCATED);

#define MESSAGE_AT  offsetof(struct weir_error, message)
#define MESSAGE_END (MESSAGE_AT + sizeof((struct weir_error *)0)->message)
/* Longest text that is formatted. */
#define FORMAT_MAX  1280u

const char *weir_status_name(int32_t code) {
  static const char *const names[] = {
      "WEIR_OK",      "WEIR_E_FAIL",     "WEIR_E_ARG",     "WEIR_E_HANDLE",
      "WEIR_E_NOMEM", "WEIR_E_FORK",     "WEIR_E_CLOSED",  "WEIR_E_UNSUPPORTED",
      "WEIR_E_BUSY",  "WEIR_E_SPACE",    "WEIR_E_TIMEOUT", "WEIR_E_OVERLOADED",
      "WEIR_E_DOWN",  "WEIR_E_CANCELLED"};
  const int32_t n = (int32_t)(sizeof names / sizeof names[0]);
  if (code == WEIR_PENDING) {
    return "WEIR_PENDING";
  }
  return code > 0 || code <= -n ? "unknown" : names[-code];
}

size_t weir__text_sequence(const unsigned char *p, size_t n) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char lead = p[0];
  const size_t len = lead < 0x80             ? 1
                     : (lead & 0xE0) == 0xC0 ? 2
                     : (lead & 0xF0) == 0xE0 ? 3
                     : (lead & 0xF8) == 0xF0 ? 4
                                             : 0;
  if (len <= 1 || len > n) {
    return len == 1 ? 1 : 0;
  }
  uint32_t c = lead & (0x7Fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((p[i] & 0xC0) != 0x80) {
      return 0;
    }
    c = c << 6 | (p[i] & 0x3Fu);
  }
  const bool legal =
      c >= least[len] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
  return legal ? len : 0;
}

uint32_t weir__text_copy(char *to, size_t cap, const char *from, size_t n) {
  const unsigned char *p = (const unsigned char *)from;
  size_t at = 0;
  size_t out = 0;
  while (at < n) {
    const size_t len = weir__text_sequence(p + at, n - at);
    const size_t put = len == 0 ? 1 : len;
    if (out + put >= cap) {
      break;
    }
    if (len == 0 || p[at] == 0) {
      to[out] = '?';
    } else {
      memcpy(to + out, p + at, len);
    }
    at += put;
    out += put;
  }
  to[out] = '\0';
  return (uint32_t)out;
}

/* Gives *whole to the caller, who has room for err->struct_size bytes. */
static void give(struct weir_error *err, struct weir_error *whole) {
  size_t size = err->struct_size;
  if (size > sizeof *err) {
    size = sizeof *err;
  }
  if (size > MESSAGE_AT && size < MESSAGE_END) {
    char text[sizeof whole->message];
    memcpy(text, whole->message, sizeof text);
    const uint32_t had = whole->message_len;
    whole->message_len =
        weir__text_copy(whole->message, size - MESSAGE_AT, text, had);
  }
  whole->struct_size = err->struct_size;
  if (size > sizeof err->struct_size) {
    memcpy(err, whole, size);
  }
}

/* Both format functions.  The text is first made in a larger buffer, so that a
 * character cut in two by vsnprintf() is seen as cut and left out. */
__attribute__((format(printf, 3, 0))) static uint32_t format(char *to,
                                                             size_t cap,
                                                             const char *fmt,
                                                             va_list args) {
  char text[FORMAT_MAX + 4];
  /* Both callers have started args.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  const int n = vsnprintf(text, sizeof text, fmt, args);
  size_t len = n < 0 ? 0 : (size_t)n;
  if (len >= sizeof text) {
    len = sizeof text - 1;
  }
  return weir__text_copy(to, cap > FORMAT_MAX ? FORMAT_MAX : cap, text, len);
}

uint32_t weir__text_format(char *to, size_t cap, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const uint32_t len = format(to, cap, fmt, args);
  va_end(args);
  return len;
}

int weir__error_set(struct weir_error *err,
                    int32_t code,
                    int32_t phase,
                    const char *fmt,
                    ...) {
  if (err == NULL) {
    return code;
  }
  struct weir_error whole = {.code = code, .phase = phase};
  va_list args;
  va_start(args, fmt);
  whole.message_len = format(whole.message, sizeof whole.message, fmt, args);
  va_end(args);
  give(err, &whole);
  return code;
}

/* True if the caller's struct has all of the member that ends at end. */
static bool reaches(const struct weir_error *err, size_t end) {
  return err->struct_size >= end;
}

void weir__error_class(struct weir_error *err,
                       int32_t scope,
                       int32_t kind,
                       int32_t retry) {
  if (err != NULL && reaches(err, offsetof(struct weir_error, txn))) {
    err->scope = scope;
    err->kind = kind;
    err->retry = retry;
  }
}

void weir__error_txn(struct weir_error *err, int32_t txn) {
  if (err != NULL && reaches(err, offsetof(struct weir_error, flags))) {
    err->txn = txn;
  }
}

void weir__error_from_driver(struct weir_error *dst,
                             const struct weir_drv_error *src,
                             int32_t code,
                             int32_t phase) {
  if (dst == NULL) {
    return;
  }
  struct weir_error whole = {.code = code,
                             .phase = phase,
                             .scope = src->scope,
                             .kind = src->kind,
                             .retry = src->retry,
                             .txn = src->txn,
                             .flags = src->flags,
                             .native = src->native,
                             .native_severity = src->native_severity,
                             .retry_after_ms = src->retry_after_ms,
                             .native_state = src->native_state,
                             .line = src->line};
  /* A driver that forgot the NUL costs one character, not a read beyond. */
  memcpy(whole.sqlstate, src->sqlstate, sizeof whole.sqlstate - 1);
  size_t len = src->message_len;
  if (len > src->message_cap) {
    len = src->message_cap;
    whole.flags |= WEIR_DRV_EF_TRUNCATED;
  }
  if (src->message != NULL) {
    whole.message_len =
        weir__text_copy(whole.message, sizeof whole.message, src->message, len);
    whole.flags |= whole.message_len < len ? WEIR_DRV_EF_TRUNCATED : 0;
  }
  give(dst, &whole);
}

bool weir__errno_no_descriptor(int error) {
  return error == EMFILE || error == ENFILE;
}

/* EMFILE is the process's own limit, ENFILE the whole system's. */
const char *weir__errno_text(int error, char *buf, size_t cap) {
  if (!weir__errno_no_descriptor(error)) {
    /* The GNU one: returns the text, which may or may not be in buf. */
    return strerror_r(error, buf, cap);
  }
  (void)weir__text_format(buf, cap, "no descriptor left (%s); raise %s",
                          strerrordesc_np(error),
                          error == EMFILE ? "`ulimit -n`" : "fs.file-max");
  return buf;
}

void weir__error_clear(struct weir_error *err) {
  if (err != NULL) {
    struct weir_error whole = {.code = WEIR_OK};
    give(err, &whole);
  }
}
