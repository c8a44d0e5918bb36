/* SPDX-License-Identifier: MIT */
/* tds_cancel.c - stops the running operation (MS-TDS 2.2.1.7, 2.2.6.1).
 *
 *   connect                    ends it: the session is not there yet
 *   nothing sent               ends it (tds_request.c)
 *   half sent                  the last packet says "ignore" (tds_request.c);
 *                              the answer is one DONE with the error bit
 *   sent                       an attention strictly behind the last byte, then
 *                              the answer up to the DONE that acknowledges it
 *   the whole answer is here   nothing: the operation ends by its own result,
 *                              unless it would have to be sent once more
 *
 * There is no timer: the engine gives a cancellation its grace and cuts the
 * connection when it is over, in whatever state. */
#include "tds_conn.h"

/* An attention goes strictly behind the last byte of the request. */
static weir_drv_status queue_attention(struct weir_drv_conn *c) {
  if (tds_link_body(&c->link, 0) == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  c->reply.attention = true;
  c->reply.drain = true;
  c->reply.held = 0;
  c->reply.rows = 0;
  c->reply.batch = NULL;
  tds_token_drop_rows(&c->decoder);
  return tds_link_send(&c->link, TDS_PKT_ATTENTION, TDS_ST_EOM, 0);
}

/* Whether the rest of the answer has arrived: in what was read, or with one
 * more read.  An attention now would only cost a round trip, and what the server
 * has done would be called cancelled. */
static bool arrived(struct weir_drv_conn *c) {
  struct tds_link *l = &c->link;
  if (c->step != TDS_STEP_READ) {
    return false;
  }
  if (c->outputs.told > 0) {
    return true; /* all of it was read */
  }
  return tds_packet_whole(&l->reader, l->in) ||
         (tds_link_fill_more(l, &c->reply.body) > 0 &&
          tds_packet_whole(&l->reader, l->in));
}

weir_drv_status tds_request_cancel(struct weir_drv_conn *c,
                                   struct weir_drv_wait *wait,
                                   struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  if (c->op == TDS_OP_NONE) {
    return WEIR_DRV_E_INVALID;
  }
  bool sent = c->op != TDS_OP_CONNECT && c->request.complete;
  if (!c->cancelled && sent) {
    if (arrived(c)) {
      c->missed = true;
      return tds_conn_again(&t);
    }
    c->phase = "cancel";
    weir_drv_status rc = queue_attention(c);
    if (rc < 0) {
      return tds_conn_broken(c, &t, rc);
    }
  }
  c->cancelled = true;
  return tds_conn_again(&t);
}
