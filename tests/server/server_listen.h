/* SPDX-License-Identifier: MIT */
/* The addresses a server listens on, each with its part in a cluster. */
#ifndef TDSD_SERVER_LISTEN_H
#define TDSD_SERVER_LISTEN_H

#include "server_conn.h"

struct tdsd;

struct tdsd_listener {
  struct tdsd_watch watch; /* fd -1 while it refuses */
  uint32_t number;         /* from 1 */
  char address[64];
  uint16_t port;
  char instance[32];
};

/* Opens all listeners of the options.  Returns 0, or -1 with why. */
int tdsd_listeners_open(struct tdsd *server, char *why, size_t cap);
void tdsd_listeners_close(struct tdsd *server);

/* Closes a listener's socket, so that clients are refused, or opens it again on
 * its port.  Returns 0, or -1 if the port is gone. */
int tdsd_listener_refuse(struct tdsd *server,
                         struct tdsd_listener *listener,
                         bool on);

#endif
