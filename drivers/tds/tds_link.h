/* SPDX-License-Identifier: MIT */
/* tds_link.h - moves bytes between packets, TLS and the host's stream.
 *
 *   packet -> frame -> [TLS] -> out -> stream
 *   stream -> [TLS] -> in -> packet reader
 *
 * TLS is in one of three places: nowhere; inside PRELOGIN packets while it
 * shakes hands (tds_link_handshake); below the packets afterwards. */
#ifndef TDS_LINK_H
#define TDS_LINK_H

#include "weir_driver.h"

#include "tds_buf.h"
#include "tds_packet.h"

struct tds_link {
  const struct weir_drv_host *host;
  weir_drv_hconn *hc;
  weir_drv_stream *stream;
  const struct weir_drv_tls_api *tls_api;
  weir_drv_tls *tls;
  bool tls_in;  /* what arrives is ciphertext */
  bool tls_out; /* what we send is to be encrypted */
  bool shaken;  /* the handshake is over; its last bytes may be in out */
  uint32_t handshake_bytes; /* received so far, see TDS_HANDSHAKE_MAX */
  struct tds_buf frame;     /* one packet being built */
  struct tds_buf out;       /* wire bytes not yet written, from out_at on */
  size_t out_at;
  struct tds_buf room; /* memory behind in */
  struct tds_span in;  /* bytes read and not yet taken */
  struct tds_packet_reader reader;
  uint32_t packet_size; /* of what we send */
  uint8_t packet_id;
  uint64_t written; /* bytes the stream has taken since the link was opened */
};

void tds_link_init(struct tds_link *l,
                   const struct weir_drv_host *host,
                   weir_drv_hconn *hc,
                   const struct tds_mem *mem);

/* Closes stream and TLS and gives back all memory. */
void tds_link_close(struct tds_link *l);

/* Room for the body of the next packet: n bytes, at most the packet size less
 * 8.  NULL: no memory. */
uint8_t *tds_link_body(struct tds_link *l, size_t n);

/* Frames the body and queues it.
 * Returns WEIR_DRV_DONE, WEIR_DRV_E_NOMEM, or WEIR_DRV_FAIL if TLS fails. */
weir_drv_status tds_link_send(struct tds_link *l,
                              uint8_t type,
                              uint8_t status,
                              size_t n);

/* From here on (on) what is queued lives in memory that is wiped; both ways
 * only while nothing is queued. */
void tds_link_secret(struct tds_link *l, bool on);

/* Writes what is queued.  Returns WEIR_DRV_DONE, WEIR_DRV_WAIT (the stream is
 * full) or WEIR_DRV_FAIL (it is broken). */
weir_drv_status tds_link_flush(struct tds_link *l);

/* Reads bytes into l->in, which must be empty.
 * Returns their number, WEIR_DRV_E_AGAIN, WEIR_DRV_E_CLOSED (orderly end),
 * WEIR_DRV_E_NOMEM or WEIR_DRV_FAIL. */
int64_t tds_link_fill(struct tds_link *l);

/* Reads bytes behind those of l->in.  body: a part of what was taken off in
 * before that is still in use; it moves along.  Returns as tds_link_fill. */
int64_t tds_link_fill_more(struct tds_link *l, struct tds_span *body);

/* Gives back what only reading ahead needed, if nothing is unread. */
void tds_link_trim(struct tds_link *l);

/* Carries the handshake on.  wrapped: in PRELOGIN packets, else bare.
 * Returns WEIR_DRV_DONE when TLS is on both ways and nothing is queued;
 * WEIR_DRV_WAIT; or WEIR_DRV_FAIL with err filled: TLS's reason, or kind
 * WEIR_DRV_K_NETWORK or _PROTOCOL. */
weir_drv_status tds_link_handshake(struct tds_link *l,
                                   bool wrapped,
                                   struct weir_drv_error *err);

/* Ends encryption after a login-only handshake. */
void tds_link_drop_tls(struct tds_link *l);

/* Fills a wait: read, and write if something is queued. */
void tds_link_want(const struct tds_link *l,
                   uint32_t events,
                   struct weir_drv_wait *wait);

/* Whether bytes have been read that no request has asked for: part of a message
 * behind the last answer.  Does no I/O; what TLS holds is lost by asking. */
bool tds_link_unread(struct tds_link *l);

/* WEIR_DRV_ALIVE_* of an idle link. */
int32_t tds_link_health(struct tds_link *l);

#endif
