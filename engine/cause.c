/* SPDX-License-Identifier: MIT */
#include "cause.h"

#include <stddef.h>

#include "explain.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"

struct weir__cause *weir__cause_new(const struct weir_error *error) {
  struct weir__cause *cause = weir__mem_new(sizeof *cause);
  if (cause != NULL) {
    weir__store_relaxed_u32(&cause->references, 1);
    cause->error = *error;
    cause->error.struct_size = sizeof cause->error;
  }
  return cause;
}

struct weir__cause *weir__cause_again(const struct weir__cause *cause,
                                      uint64_t wait_ns) {
  struct weir__cause *again = weir__cause_new(&cause->error);
  if (again != NULL) {
    struct weir_error *e = &again->error;
    char text[sizeof e->message + 128];
    size_t n = weir__text_format(
        text, sizeof text,
        "the server is asked again in %.1f s; the last connect failed: %s",
        (double)wait_ns / (double)WEIR_NS_PER_S, cause->error.message);
    e->message_len = weir__text_copy(e->message, sizeof e->message, text, n);
    if (e->message_len < n) {
      e->flags |= WEIR_FLAG_TRUNCATED;
    }
    e->retry_after_ms =
        (uint32_t)((wait_ns + WEIR_NS_PER_MS - 1) / WEIR_NS_PER_MS);
  }
  return again;
}

struct weir__cause *weir__cause_ref(struct weir__cause *cause) {
  if (cause != NULL) {
    (void)weir__add_relaxed_u32(&cause->references, 1);
  }
  return cause;
}

void weir__cause_unref(struct weir__cause *cause) {
  if (cause != NULL && weir__sub_acq_rel_u32(&cause->references, 1) == 1) {
    weir__mem_free(cause);
  }
}

int weir__cause_tell(struct weir__cause *cause, struct weir_error *err) {
  if (cause == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_CONNECT,
                           "no connection could be opened, and there is no "
                           "memory to say why");
  }
  int code = cause->error.code;
  WEIR_ASSERT(code < 0);
  weir__explain_copy(err, &cause->error);
  weir__cause_unref(cause);
  return code;
}
