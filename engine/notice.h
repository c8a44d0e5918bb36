/* SPDX-License-Identifier: MIT */
/* notice.h - messages a server sent, waiting to be read. */
#ifndef WEIR_NOTICE_H
#define WEIR_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir_driver.h"

/* Most messages kept unread, and most bytes of one: a server that prints in a
 * loop must not fill our memory.  What is over is counted. */
#define WEIR_NOTICES_MAX      1000u
#define WEIR_NOTICE_BYTES_MAX 65536u
/* Most bytes of the names of server and procedure: SQL Server's have 128
 * characters. */
#define WEIR_NOTICE_NAME_MAX  512u

struct weir__notice {
  struct weir__notice *next;
  int32_t native;
  uint32_t severity;
  uint32_t line;
  uint32_t state;
  uint32_t message_len;
  uint32_t server_len;
  uint32_t procedure_len;
  const char *message; /* in text, as the others are; each with a NUL */
  const char *server;
  const char *procedure;
  char text[];
};

struct weir__notices {
  struct weir__notice *first;
  struct weir__notice *last;
  uint32_t n;
  uint32_t dropped; /* over the cap, or no memory */
};

/* Keeps a copy of *diag. */
void weir__notices_add(struct weir__notices *notices,
                       const struct weir_drv_diag *diag);

/* The oldest, now the caller's to free with weir__mem_free(); NULL if none. */
struct weir__notice *weir__notices_take(struct weir__notices *notices);

void weir__notices_clear(struct weir__notices *notices);

#endif
