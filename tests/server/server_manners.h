/* SPDX-License-Identifier: MIT */
/* Ways in which this server may differ from SQL Server by command; and what
 * --strict-client refuses beside what is always refused: things that servers
 * let pass, and that a good client does not do. */
#ifndef TDSD_SERVER_MANNERS_H
#define TDSD_SERVER_MANNERS_H

#include "server_session.h"

/* A packet of the client's, before it is joined to others.  Returns NULL, or
 * what is wrong. */
const char *tdsd_strict_packet(struct tdsd_session *session,
                               const struct tdsd_packet *packet);

/* A whole request: its header's count of outstanding requests.  Returns NULL, or
 * what is wrong. */
const char *tdsd_strict_request(const struct tdsd_session *session,
                                uint32_t outstanding);

/* Turns one on or off by its name: handles-go-on, isolation-resets,
 * strict-client.  Returns false if there is none of that name. */
bool tdsd_manner_set(struct tdsd_manners *manners, const char *name, bool on);

#endif
