/* SPDX-License-Identifier: MIT */
#include "notice.h"

#include <string.h>

#include "sys/mem.h"

void weir__notices_add(struct weir__notices *notices,
                       const struct weir_drv_diag *diag) {
  uint64_t n = diag->message.p == NULL ? 0 : diag->message.n;
  if (n > WEIR_NOTICE_BYTES_MAX) {
    n = WEIR_NOTICE_BYTES_MAX;
  }
  struct weir__notice *notice = NULL;
  if (notices->n < WEIR_NOTICES_MAX) {
    notice = weir__mem_new(sizeof *notice + n + 1);
  }
  if (notice == NULL) {
    notices->dropped++;
    return;
  }
  notice->native = diag->native;
  notice->severity = diag->severity;
  notice->line = diag->line;
  notice->message_len = (uint32_t)n;
  if (n != 0) {
    memcpy(notice->message, diag->message.p, n);
  }
  if (notices->last == NULL) {
    notices->first = notice;
  } else {
    notices->last->next = notice;
  }
  notices->last = notice;
  notices->n++;
}

struct weir__notice *weir__notices_take(struct weir__notices *notices) {
  struct weir__notice *notice = notices->first;
  if (notice != NULL) {
    notices->first = notice->next;
    notices->n--;
    if (notices->first == NULL) {
      notices->last = NULL;
    }
  }
  return notice;
}

void weir__notices_clear(struct weir__notices *notices) {
  struct weir__notice *notice;
  while ((notice = weir__notices_take(notices)) != NULL) {
    weir__mem_free(notice);
  }
  notices->dropped = 0;
}
