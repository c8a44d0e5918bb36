/* SPDX-License-Identifier: MIT */
/* The SQL Server Browser (MC-SQLR): says over UDP which instance listens where,
 * or what its faults say instead. */
#ifndef TDSD_SERVER_BROWSER_H
#define TDSD_SERVER_BROWSER_H

#include "server_conn.h"

struct tdsd;

struct tdsd_browser {
  struct tdsd_watch watch; /* first, as in everything watched */
  int other;               /* a socket on another address, for one fault */
  uint16_t port;
  uint32_t asked; /* questions so far */
};

/* Binds the port on the first listener's address; 0 = any free one.
 * Returns 0, or -1 with why. */
int tdsd_browser_open(struct tdsd *server,
                      uint16_t port,
                      char *why,
                      size_t cap);
void tdsd_browser_close(struct tdsd *server);

/* Answers the questions that wait. */
void tdsd_browser_event(struct tdsd *server);

#endif
