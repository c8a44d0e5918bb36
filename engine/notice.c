/* SPDX-License-Identifier: MIT */
#include "notice.h"

#include <string.h>

#include "sys/mem.h"

static uint32_t length(const struct weir_drv_text *text, uint32_t most) {
  uint64_t n = text->p == NULL ? 0 : text->n;
  return n > most ? most : (uint32_t)n;
}

/* The block is zeroed: the NUL is there. */
static const char *put(char **where,
                       const struct weir_drv_text *text,
                       uint32_t n) {
  char *start = *where;
  if (n != 0) {
    memcpy(start, text->p, n);
  }
  *where += n + 1;
  return start;
}

static struct weir__notice *new_notice(const struct weir_drv_diag *d) {
  uint32_t message = length(&d->message, WEIR_NOTICE_BYTES_MAX);
  uint32_t server = length(&d->server, WEIR_NOTICE_NAME_MAX);
  uint32_t procedure = length(&d->procedure, WEIR_NOTICE_NAME_MAX);
  struct weir__notice *n =
      weir__mem_new(sizeof *n + (size_t)message + server + procedure + 3);
  if (n == NULL) {
    return NULL;
  }
  char *where = n->text;
  n->native = d->native;
  n->severity = d->severity;
  n->line = d->line;
  n->state = d->state;
  n->message_len = message;
  n->message = put(&where, &d->message, message);
  n->server_len = server;
  n->server = put(&where, &d->server, server);
  n->procedure_len = procedure;
  n->procedure = put(&where, &d->procedure, procedure);
  return n;
}

void weir__notices_add(struct weir__notices *notices,
                       const struct weir_drv_diag *diag) {
  struct weir_drv_diag whole = {0};
  /* A driver built with a shorter struct leaves the rest zero [G4]. */
  memcpy(&whole, diag,
         diag->struct_size < sizeof whole ? diag->struct_size : sizeof whole);
  struct weir__notice *notice =
      notices->n < WEIR_NOTICES_MAX ? new_notice(&whole) : NULL;
  if (notice == NULL) {
    notices->dropped++;
    return;
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
