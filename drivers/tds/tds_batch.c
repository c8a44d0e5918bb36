/* SPDX-License-Identifier: MIT */
/* tds_batch.c - a batch of SQL text (MS-TDS 2.2.6.7): headers, then UTF-16. */
#include <string.h>

#include "tds_conn.h"

size_t tds_bytes_out_put(struct tds_bytes_out *o, uint8_t *body, size_t cap) {
  size_t left = (size_t)o->n - o->at;
  size_t n = left < cap ? left : cap;
  memcpy(body, o->bytes + o->at, n);
  o->at = (uint8_t)(o->at + n);
  return n;
}

static size_t fill(struct weir_drv_conn *c, uint8_t *body, size_t cap) {
  size_t n = tds_request_put_head(c, body, cap);
  return n + tds_text_out_put(&c->request.text, body + n, cap - n);
}

static bool over(const struct weir_drv_conn *c) {
  return tds_text_out_over(&c->request.text);
}

const struct tds_source tds_batch_source = {TDS_PKT_BATCH, fill, over};

void tds_batch_set(struct weir_drv_conn *c, const char *text, size_t n) {
  tds_request_clear(c);
  c->request.text.text.p = (const uint8_t *)text;
  c->request.text.text.n = n;
}
