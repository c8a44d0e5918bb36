/* SPDX-License-Identifier: MIT */
/* tds_request.c - when the packets of a request are sent; ping. */
#include <string.h>

#include "tds_conn.h"
#include "tds_fail.h"
#include "tds_txn.h"

static const char probe[] = "SELECT 1";

/* ------------------------------------------------------------------ packets */

/* ALL_HEADERS with the transaction descriptor (2.2.5.3.2). */
static void put_headers(struct weir_drv_conn *c) {
  uint8_t *p = c->request.head;
  tds_put32(p, sizeof c->request.head);
  tds_put32(p + 4, sizeof c->request.head - 4);
  tds_put16(p + 8, 2);
  tds_put64(p + 10, c->transaction);
  tds_put32(p + 18, 1);
  c->request.head_left = sizeof c->request.head;
}

size_t tds_request_put_head(struct weir_drv_conn *c,
                            uint8_t *body,
                            size_t cap) {
  struct tds_request *q = &c->request;
  size_t n = q->head_left < cap ? q->head_left : cap;
  memcpy(body, q->head + sizeof q->head - q->head_left, n);
  q->head_left = (uint8_t)(q->head_left - n);
  return n;
}

static weir_drv_status queue_packet(struct weir_drv_conn *c) {
  struct tds_request *q = &c->request;
  size_t cap = c->link.packet_size - TDS_PACKET_HEAD;
  uint8_t *body = tds_link_body(&c->link, cap);
  if (body == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  size_t n = q->source->fill(c, body, cap);
  uint8_t status = q->started ? 0 : q->reset;
  if (!q->started && q->reset != 0) {
    c->reset_sent = true;
    c->reset_wanted = 0;
  }
  q->started = true;
  q->complete = q->source->over(c);
  if (q->complete) {
    status |= TDS_ST_EOM;
  }
  c->spent += n;
  return tds_link_send(&c->link, q->source->packet, status, n);
}

/* The rest of a request is given up: its last packet says so (2.2.1.7). */
static weir_drv_status give_up(struct weir_drv_conn *c) {
  if (tds_link_body(&c->link, 0) == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  c->request.complete = true;
  c->request.given_up = true;
  tds_token_drop_rows(&c->decoder);
  c->reply.drain = true;
  return tds_link_send(&c->link, c->request.source->packet,
                       TDS_ST_EOM | TDS_ST_IGNORE, 0);
}

/* A refusal leaves the transaction as it is. */
static void note_txn(const struct weir_drv_conn *c, struct tds_turn *t) {
  if (t->err != NULL) {
    t->err->txn = tds_txn_state(c);
  }
}

weir_drv_status tds_request_cancelled(struct weir_drv_conn *c,
                                      struct tds_turn *t) {
  (void)tds_fail(t->err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_CANCELLED,
                 WEIR_DRV_RETRY_SAME, "cancelled before it was sent");
  note_txn(c, t);
  tds_exec_sent(c);
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

/* What has come before the request was sent is no answer to it. */
static weir_drv_status unasked(struct weir_drv_conn *c, struct tds_turn *t) {
  return tds_conn_fail(
      c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
      "the server sent something that nobody asked for, at byte "
      "%llu",
      (unsigned long long)c->link.reader.at);
}

/* A server that acknowledges an attention before it has ended what it was about
 * would have us take the rest for the answer to this request.  To look costs a
 * system call, so it is done only then. */
static bool out_of_step(struct weir_drv_conn *c) {
  bool look = c->suspect;
  c->suspect = false;
  return tds_link_unread(&c->link) ||
         (look && tds_link_health(&c->link) == WEIR_DRV_ALIVE_PENDING);
}

weir_drv_status tds_request_send(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_request *q = &c->request;
  for (;;) {
    weir_drv_status rc = tds_link_flush(&c->link);
    if (rc == WEIR_DRV_WAIT) {
      return tds_conn_wait(c, t, 0);
    }
    /* On a broken stream the server's last words may still be there. */
    if (rc < 0 || q->complete) {
      tds_exec_sent(c);
      return tds_conn_go(c, TDS_STEP_READ);
    }
    if (c->cancelled && !q->started) {
      return tds_request_cancelled(c, t);
    }
    if (!q->started && out_of_step(c)) {
      return unasked(c, t);
    }
    if (c->spent > TDS_STEP_BYTES) {
      return tds_conn_again(t);
    }
    rc = c->cancelled ? give_up(c) : queue_packet(c);
    if (rc < 0) {
      return tds_conn_broken(c, t, rc);
    }
  }
}

/* --------------------------------------------------------------- operations */

void tds_request_clear(struct weir_drv_conn *c) {
  memset(&c->request, 0, sizeof c->request);
}

weir_drv_status tds_request_begin(struct weir_drv_conn *c,
                                  enum tds_op op,
                                  const struct tds_source *source) {
  struct tds_request *q = &c->request;
  put_headers(c);
  q->source = source;
  q->reset = c->reset_wanted;
  q->mark = c->link.written;
  c->op = op;
  c->cancelled = false;
  c->missed = false;
  c->reset_sent = false;
  c->reset_done = false;
  tds_reply_begin(c, op == TDS_OP_EXEC && !c->no_rows ? &c->sink : NULL);
  c->decoder.no_results = false;
  return tds_conn_go(c, TDS_STEP_SEND);
}

weir_drv_status tds_request_start(struct weir_drv_conn *c,
                                  struct tds_turn *t,
                                  enum tds_op op,
                                  const struct tds_source *source) {
  if (op == TDS_OP_EXEC && tds_txn_lost(c)) {
    return tds_txn_refuse(c, t);
  }
  (void)tds_request_begin(c, op, source);
  return tds_conn_run(c, t);
}

static weir_drv_status start_batch(struct weir_drv_conn *c,
                                   struct tds_turn *t,
                                   enum tds_op op,
                                   const char *text,
                                   size_t n) {
  tds_batch_set(c, text, n);
  return tds_request_start(c, t, op, &tds_batch_source);
}

weir_drv_status tds_request_refuse(struct weir_drv_conn *c,
                                   struct tds_turn *t,
                                   int32_t kind,
                                   const char *why) {
  (void)tds_fail(t->err, WEIR_DRV_SCOPE_STATEMENT, kind, WEIR_DRV_RETRY_NO,
                 "%s", why);
  note_txn(c, t);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

weir_drv_status tds_request_ping(struct weir_drv_conn *c,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  if (c->step != TDS_STEP_IDLE) {
    return WEIR_DRV_E_INVALID;
  }
  return start_batch(c, &t, TDS_OP_PING, probe, sizeof probe - 1);
}
