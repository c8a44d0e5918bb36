/* SPDX-License-Identifier: MIT */
/* tds_race.h - several addresses of a name at once: the first that connects is
 * the one (MultiSubnetFailover). */
#ifndef TDS_RACE_H
#define TDS_RACE_H

#include "tds_conn.h"

/* A host's error, whose text we put a phase before. */
struct tds_inner {
  struct weir_drv_error err;
  char text[320];
};

/* Streams on their way to addresses[address] and those behind it. */
struct tds_race {
  uint32_t n; /* started; a stream that failed is NULL */
  weir_drv_stream *stream[WEIR_DRV_WANT_MAX];
  struct tds_inner inner; /* of the last that failed */
};

/* Makes it empty.  Returns the error for the host to fill. */
struct weir_drv_error *tds_inner_init(struct tds_inner *i);

/* Passes it on, with the phase before it.  Returns WEIR_DRV_FAIL. */
weir_drv_status tds_inner_fail(struct weir_drv_conn *c,
                               struct tds_turn *t,
                               const struct tds_inner *i,
                               int32_t kind);

/* Until when an address is waited for, or as many as are tried together: the
 * time that is left is shared out.  WEIR_DRV_NEVER for the last ones, which are
 * the engine's to watch. */
weir_drv_time tds_connect_share(const struct weir_drv_conn *c,
                                uint32_t together);

/* The stream is connected.  Goes on with TLS or PRELOGIN. */
weir_drv_status tds_connect_open(struct weir_drv_conn *c);

/* Closes what runs and frees the race; there may be none. */
void tds_race_close(struct weir_drv_conn *c);

#endif
