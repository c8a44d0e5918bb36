/* SPDX-License-Identifier: MIT */
/* tds_link.c - MS-TDS 2.2.3 and 3.2.5: one packet is one TLS write, because
 * servers break on packets that are spread over records. */
#include "tds_link.h"

#include <string.h>

#include "tds_fail.h"
#include "tds_limits.h"

/* TLS output is taken in pieces of this size. */
#define DRAIN_BYTES 8192u

void tds_link_init(struct tds_link *l,
                   const struct weir_drv_host *host,
                   weir_drv_hconn *hc,
                   const struct tds_mem *mem) {
  memset(l, 0, sizeof *l);
  l->host = host;
  l->hc = hc;
  l->frame.mem = mem;
  l->out.mem = mem;
  l->room.mem = mem;
  l->packet_size = TDS_PACKET_LOGIN;
}

static void close_tls(struct tds_link *l) {
  if (l->tls != NULL) {
    l->tls_api->close(l->tls);
  }
  l->tls = NULL;
  l->tls_in = false;
  l->tls_out = false;
}

void tds_link_close(struct tds_link *l) {
  close_tls(l);
  if (l->stream != NULL) {
    l->host->stream_close(l->stream);
  }
  l->stream = NULL;
  tds_buf_fini(&l->frame);
  tds_buf_fini(&l->out);
  tds_buf_fini(&l->room);
  l->out_at = 0;
  l->in.n = 0;
  l->shaken = false;
  l->handshake_bytes = 0;
  memset(&l->reader, 0, sizeof l->reader);
}

/* ------------------------------------------------------------------ sending */

uint8_t *tds_link_body(struct tds_link *l, size_t n) {
  l->frame.n = 0;
  if (tds_buf_room(&l->frame, n + TDS_PACKET_HEAD) != TDS_OK) {
    return NULL;
  }
  return l->frame.p + TDS_PACKET_HEAD;
}

/* Moves what TLS has for the wire into buf. */
static weir_drv_status drain(struct tds_link *l, struct tds_buf *buf) {
  for (;;) {
    if (tds_buf_room(buf, DRAIN_BYTES) != TDS_OK) {
      return WEIR_DRV_E_NOMEM;
    }
    int64_t n = l->tls_api->drain(l->tls, buf->p + buf->n, buf->cap - buf->n);
    if (n <= 0) {
      return n < 0 && n != WEIR_DRV_E_AGAIN ? WEIR_DRV_FAIL : WEIR_DRV_DONE;
    }
    buf->n += (size_t)n;
  }
}

static weir_drv_status encrypt_packet(struct tds_link *l,
                                      const uint8_t *p,
                                      size_t n) {
  while (n > 0) {
    int64_t w = l->tls_api->write(l->tls, p, n);
    if (w > 0) {
      p += w;
      n -= (size_t)w;
      continue;
    }
    size_t before = l->out.n;
    weir_drv_status rc =
        w == WEIR_DRV_E_AGAIN ? drain(l, &l->out) : WEIR_DRV_FAIL;
    if (rc != WEIR_DRV_DONE || l->out.n == before) {
      return rc == WEIR_DRV_E_NOMEM ? rc : WEIR_DRV_FAIL;
    }
  }
  return drain(l, &l->out);
}

weir_drv_status tds_link_send(struct tds_link *l,
                              uint8_t type,
                              uint8_t status,
                              size_t n) {
  l->packet_id++;
  tds_packet_head(l->frame.p, type, status, n, l->packet_id);
  n += TDS_PACKET_HEAD;
  if ((status & TDS_ST_EOM) != 0) {
    l->packet_id = 0;
  }
  if (l->tls_out) {
    return encrypt_packet(l, l->frame.p, n);
  }
  return tds_buf_add(&l->out, l->frame.p, n) == TDS_OK ? WEIR_DRV_DONE
                                                       : WEIR_DRV_E_NOMEM;
}

void tds_link_secret(struct tds_link *l, bool on) {
  uint32_t flags = on ? WEIR_DRV_V_SECRET : 0;
  tds_buf_fini(&l->frame);
  tds_buf_fini(&l->out);
  l->out_at = 0;
  l->frame.flags = flags;
  l->out.flags = flags;
}

weir_drv_status tds_link_flush(struct tds_link *l) {
  while (l->out_at < l->out.n) {
    int64_t n = l->host->stream_write(l->stream, l->out.p + l->out_at,
                                      l->out.n - l->out_at);
    if (n == WEIR_DRV_E_AGAIN) {
      return WEIR_DRV_WAIT;
    }
    if (n <= 0) {
      return WEIR_DRV_FAIL;
    }
    l->out_at += (size_t)n;
    l->written += (uint64_t)n;
  }
  l->out.n = 0;
  l->out_at = 0;
  return WEIR_DRV_DONE;
}

/* ---------------------------------------------------------------- receiving */

/* Reads ciphertext once and feeds it.  Returns as stream_read. */
static int64_t feed_once(struct tds_link *l) {
  uint8_t raw[TDS_READ_BYTES];
  int64_t n = l->host->stream_read(l->stream, raw, sizeof raw);
  if (n > 0 && l->tls_api->feed(l->tls, raw, (uint64_t)n) < 0) {
    return WEIR_DRV_FAIL;
  }
  return n == 0 ? WEIR_DRV_E_CLOSED : n;
}

/* TLS may take records that hold nothing for us, but not for ever: whoever sends
 * that much of them never lets the caller look at its clock. */
static int64_t fill_tls(struct tds_link *l, uint8_t *to) {
  for (uint64_t taken = 0; taken <= TDS_STEP_BYTES;) {
    int64_t n = l->tls_api->read(l->tls, to, TDS_READ_BYTES);
    /* Answers of TLS itself, such as to a key update. */
    weir_drv_status rc = drain(l, &l->out);
    if (rc != WEIR_DRV_DONE) {
      return rc;
    }
    if (n != WEIR_DRV_E_AGAIN) {
      return n;
    }
    n = feed_once(l);
    if (n <= 0) {
      return n;
    }
    taken += (uint64_t)n;
  }
  return WEIR_DRV_FAIL;
}

static int64_t fill_at(struct tds_link *l, uint8_t *to) {
  int64_t n = l->tls_in ? fill_tls(l, to)
                        : l->host->stream_read(l->stream, to, TDS_READ_BYTES);
  return n == 0 ? WEIR_DRV_E_CLOSED : n;
}

int64_t tds_link_fill(struct tds_link *l) {
  if (l->room.cap < TDS_READ_BYTES &&
      tds_buf_room(&l->room, TDS_READ_BYTES) != TDS_OK) {
    return WEIR_DRV_E_NOMEM;
  }
  int64_t n = fill_at(l, l->room.p);
  if (n > 0) {
    l->in.p = l->room.p;
    l->in.n = (size_t)n;
  }
  return n;
}

int64_t tds_link_fill_more(struct tds_link *l, struct tds_span *body) {
  struct tds_buf *room = &l->room;
  if (body->n == 0 && l->in.n == 0) {
    return tds_link_fill(l);
  }
  /* What is in use lies in one piece: body, then in. */
  const uint8_t *start = body->n > 0 ? body->p : l->in.p;
  const uint8_t *end = l->in.n > 0 ? l->in.p + l->in.n : body->p + body->n;
  size_t skip = (size_t)(start - room->p);
  room->n = (size_t)(end - room->p);
  int rc = tds_buf_room(room, TDS_READ_BYTES);
  size_t used = room->n;
  room->n = 0;
  if (rc != TDS_OK) {
    return WEIR_DRV_E_NOMEM;
  }
  body->p = room->p + skip;
  l->in.p = room->p + used - l->in.n;
  int64_t n = fill_at(l, room->p + used);
  if (n > 0) {
    l->in.n += (size_t)n;
  }
  return n;
}

void tds_link_trim(struct tds_link *l) {
  if (l->in.n == 0 && l->room.cap > TDS_READ_BYTES) {
    tds_buf_fini(&l->room);
  }
}

/* ---------------------------------------------------------------- handshake */

static weir_drv_status broken(struct weir_drv_error *err, int64_t n) {
  if (n == WEIR_DRV_E_NOMEM) {
    return tds_fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_NO, "out of memory");
  }
  return tds_fail(err, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK,
                  WEIR_DRV_RETRY_OTHER, "%s",
                  n == WEIR_DRV_E_CLOSED ? "the server closed the connection"
                                         : "the connection broke");
}

static weir_drv_status malformed(struct weir_drv_error *err, const char *why) {
  return tds_fail(err, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                  WEIR_DRV_RETRY_NO, "%s", why);
}

/* Queues one flight: bare, or in packets of which the last ends the message. */
static weir_drv_status queue_flight(struct tds_link *l, bool wrapped) {
  if (!wrapped) {
    return drain(l, &l->out);
  }
  struct tds_buf flight = {.mem = l->out.mem};
  const size_t most = TDS_PACKET_LOGIN - TDS_PACKET_HEAD;
  weir_drv_status rc = drain(l, &flight);
  for (size_t at = 0; rc == WEIR_DRV_DONE && at < flight.n; at += most) {
    size_t n = flight.n - at < most ? flight.n - at : most;
    uint8_t *body = tds_link_body(l, n);
    if (body == NULL) {
      rc = WEIR_DRV_E_NOMEM;
      break;
    }
    memcpy(body, flight.p + at, n);
    rc = tds_link_send(l, TDS_PKT_PRELOGIN, at + n == flight.n ? TDS_ST_EOM : 0,
                       n);
  }
  tds_buf_fini(&flight);
  return rc;
}

/* Feeds TLS with the next piece of the server's flight.  Headers count as bytes
 * of the handshake: packets that hold nothing must not go on for ever.
 * Returns 1, or as tds_link_fill; TDS_E_PROTO is reported as WEIR_DRV_FAIL with
 * l->reader.why filled. */
static int64_t feed_wrapped(struct tds_link *l) {
  for (;;) {
    struct tds_span body = {NULL, 0};
    int rc = tds_packet_next(&l->reader, &l->in, &body);
    if (rc == TDS_PACKET_DATA) {
      return l->tls_api->feed(l->tls, body.p, body.n) < 0 ? WEIR_DRV_FAIL : 1;
    }
    if (rc < 0) {
      return WEIR_DRV_FAIL;
    }
    if (rc == TDS_MORE) {
      int64_t n = tds_link_fill(l);
      if (n <= 0) {
        return n;
      }
      l->handshake_bytes += (uint32_t)n;
    }
    if (l->handshake_bytes > TDS_HANDSHAKE_MAX) {
      return 1; /* the caller says so */
    }
  }
}

/* The handshake is over: the rest of in, if any, is ciphertext already. */
static weir_drv_status switch_on(struct tds_link *l,
                                 bool wrapped,
                                 struct weir_drv_error *err) {
  l->reader.ending = 0;
  if (wrapped && (l->reader.have != 0 || l->reader.left != 0)) {
    return malformed(err, "bytes follow the handshake inside its packet");
  }
  if (l->in.n > 0 && l->tls_api->feed(l->tls, l->in.p, l->in.n) < 0) {
    return malformed(err, "TLS refuses what follows the handshake");
  }
  l->in.n = 0;
  l->reader.handshake = 0;
  l->tls_in = true;
  l->tls_out = true;
  return WEIR_DRV_DONE;
}

/* One call of TLS, its output queued and written.
 * Returns WEIR_DRV_DONE: feed more or be done, see l->shaken; WAIT; FAIL. */
static weir_drv_status advance(struct tds_link *l,
                               bool wrapped,
                               struct weir_drv_error *err) {
  if (!l->shaken) {
    weir_drv_status rc = l->tls_api->handshake(l->tls, err);
    weir_drv_status queued = queue_flight(l, wrapped);
    if (rc == WEIR_DRV_FAIL || rc < 0) {
      (void)tds_link_flush(l); /* the alert; nobody waits for it */
      return WEIR_DRV_FAIL;
    }
    if (queued != WEIR_DRV_DONE) {
      return broken(err, queued);
    }
    l->shaken = rc == WEIR_DRV_DONE;
  }
  weir_drv_status rc = tds_link_flush(l);
  return rc == WEIR_DRV_FAIL ? broken(err, rc) : rc;
}

weir_drv_status tds_link_handshake(struct tds_link *l,
                                   bool wrapped,
                                   struct weir_drv_error *err) {
  for (;;) {
    weir_drv_status rc = advance(l, wrapped, err);
    if (rc != WEIR_DRV_DONE) {
      return rc;
    }
    if (l->shaken) {
      return switch_on(l, wrapped, err);
    }
    int64_t n = wrapped ? feed_wrapped(l) : feed_once(l);
    if (n == WEIR_DRV_E_AGAIN) {
      return WEIR_DRV_WAIT;
    }
    if (n <= 0) {
      return l->reader.why[0] != '\0' ? malformed(err, l->reader.why)
                                      : broken(err, n);
    }
    l->handshake_bytes += wrapped ? 0 : (uint32_t)n;
    if (l->handshake_bytes > TDS_HANDSHAKE_MAX) {
      return malformed(err, "the server's handshake does not end");
    }
  }
}

void tds_link_drop_tls(struct tds_link *l) {
  close_tls(l);
}

/* --------------------------------------------------------------------- idle */

void tds_link_want(const struct tds_link *l,
                   uint32_t events,
                   struct weir_drv_wait *wait) {
  wait->n_want = 1;
  wait->want[0].stream = l->stream;
  wait->want[0].fd = -1;
  wait->want[0].events =
      events | (l->out_at < l->out.n ? WEIR_DRV_EV_WRITE : 0);
}

/* A record that came together with the answer's last one is still in TLS. */
bool tds_link_unread(struct tds_link *l) {
  uint8_t byte;
  return l->in.n > 0 || !tds_packet_idle(&l->reader) ||
         (l->tls_in && l->tls_api->read(l->tls, &byte, 1) > 0);
}

/* With TLS the bytes that wait may be a ticket or a key update: TLS takes them
 * and says whether anything is left for us. */
int32_t tds_link_health(struct tds_link *l) {
  uint8_t byte;
  if (l->stream == NULL) {
    return WEIR_DRV_ALIVE_NO;
  }
  if (l->in.n > 0) {
    return WEIR_DRV_ALIVE_PENDING;
  }
  int64_t n =
      l->tls_in ? tds_link_fill(l) : l->host->stream_peek(l->stream, &byte, 1);
  (void)tds_link_flush(l); /* what TLS answered, if anything */
  if (n == WEIR_DRV_E_AGAIN) {
    return WEIR_DRV_ALIVE_YES;
  }
  return n > 0 ? WEIR_DRV_ALIVE_PENDING : WEIR_DRV_ALIVE_NO;
}
