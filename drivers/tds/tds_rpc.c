/* SPDX-License-Identifier: MIT */
/* tds_rpc.c - calls as pieces, and pieces as bytes of packets. */
#include "tds_rpc.h"

#include <string.h>

#include "tds_limits.h"
#include "tds_text.h"

/* Between two calls of one message (2.2.6.6). */
#define BATCH_FLAG 0xFFu

/* Marks a procedure number where a name's length would be. */
#define BY_NUMBER 0xFFFFu

struct piece {
  const uint8_t *p; /* NULL: in bytes, at */
  size_t at;
  size_t n;
  uint8_t charset;
};

static struct piece *piece_of(const struct tds_rpc *r, size_t i) {
  void *all = r->pieces.p; /* aligned for any type: from the allocator */
  return (struct piece *)all + i;
}

static size_t count(const struct tds_rpc *r) {
  return r->pieces.n / sizeof(struct piece);
}

void tds_rpc_init(struct tds_rpc *r, const struct tds_mem *mem) {
  memset(r, 0, sizeof *r);
  r->bytes.mem = mem;
  r->pieces.mem = mem;
}

void tds_rpc_fini(struct tds_rpc *r) {
  tds_buf_fini(&r->bytes);
  tds_buf_fini(&r->pieces);
}

static void empty(struct tds_buf *b) {
  b->n = 0;
  if (b->cap > TDS_KEEP_BYTES) {
    tds_buf_fini(b);
  }
}

void tds_rpc_clear(struct tds_rpc *r) {
  empty(&r->bytes);
  empty(&r->pieces);
  r->piece = 0;
  r->done = 0;
  r->back = NULL;
  memset(&r->text, 0, sizeof r->text);
}

void tds_rpc_secret(struct tds_rpc *r, bool on) {
  uint32_t flags = on ? WEIR_DRV_V_SECRET : 0;
  if (r->bytes.flags != flags) {
    tds_buf_fini(&r->bytes);
    r->bytes.flags = flags;
  }
}

/* ------------------------------------------------------------------- pieces */

static int add_piece(struct tds_rpc *r, const struct piece *piece) {
  return tds_buf_add(&r->pieces, piece, sizeof *piece);
}

int tds_rpc_refer(struct tds_rpc *r,
                  const uint8_t *p,
                  size_t n,
                  uint8_t charset) {
  struct piece piece = {p, 0, n, charset};
  return n == 0 ? TDS_OK : add_piece(r, &piece);
}

/* Neighbours that are both copied are one piece. */
int tds_rpc_add(struct tds_rpc *r, const void *p, size_t n) {
  size_t at = r->bytes.n;
  size_t have = count(r);
  int rc = tds_buf_add(&r->bytes, p, n);
  if (rc != TDS_OK) {
    return rc;
  }
  if (have > 0 && piece_of(r, have - 1)->p == NULL) {
    piece_of(r, have - 1)->n += n;
    return TDS_OK;
  }
  struct piece piece = {NULL, at, n, TDS_CHARSET_NONE};
  return add_piece(r, &piece);
}

/* --------------------------------------------------------------------- calls */

int tds_rpc_call(struct tds_rpc *r, uint16_t proc) {
  uint8_t head[7] = {BATCH_FLAG};
  tds_put16(head + 1, BY_NUMBER);
  tds_put16(head + 3, proc);
  tds_put16(head + 5, 0);
  bool first = r->bytes.n == 0;
  return tds_rpc_add(r, head + first, sizeof head - first);
}

int tds_rpc_head(struct tds_rpc *r,
                 struct tds_span name,
                 uint8_t status,
                 const struct tds_hint *type,
                 const uint8_t collation[5]) {
  const size_t most = (size_t)TDS_LOGIN_UNITS * 2;
  uint8_t out[1 + TDS_LOGIN_UNITS * 2 + 1 + TDS_HINT_INFO_MAX];
  size_t n = 0;
  /* Names were measured: they fit. */
  (void)tds_text_to16(name.p, name.n, out + 1, most, &n);
  out[0] = (uint8_t)(n / 2);
  n++;
  out[n++] = status;
  n += tds_hint_info(type, collation, out + n);
  return tds_rpc_add(r, out, n);
}

/* xml begins with a byte order mark, as the server itself sends it: without one
 * the server has to guess from the first character. */
static bool needs_mark(const struct tds_hint *type, struct tds_span s) {
  static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF};
  bool has = s.n >= sizeof mark && memcmp(s.p, mark, sizeof mark) == 0;
  return type->kind == TDS_KIND_XML && s.n > 0 && !has;
}

int tds_rpc_long(struct tds_rpc *r,
                 const struct tds_hint *type,
                 struct tds_span s,
                 uint64_t bytes,
                 uint8_t charset) {
  uint8_t out[12 + 2];
  bool null = s.p == NULL;
  bool mark = !null && needs_mark(type, s);
  size_t n = tds_param_lead(type, null, bytes + (mark ? 2 : 0), out);
  if (mark) {
    tds_put16(out + n, 0xFEFF);
    n += 2;
  }
  int rc = tds_rpc_add(r, out, n);
  if (rc == TDS_OK && !null) {
    rc = tds_rpc_refer(r, s.p, s.n, charset);
  }
  n = tds_param_tail(type, null, out);
  return rc == TDS_OK && n > 0 ? tds_rpc_add(r, out, n) : rc;
}

int tds_rpc_text(struct tds_rpc *r,
                 struct tds_span s,
                 uint64_t bytes,
                 const uint8_t collation[5]) {
  static const struct tds_span no_name = {NULL, 0};
  struct tds_hint type = tds_hint_of(TDS_HINT_NVARCHAR);
  if (bytes > TDS_SHORT_BYTES) {
    tds_hint_set_max(&type);
  } else {
    tds_hint_set_length(&type, bytes < 2 ? 1 : (uint32_t)bytes / 2);
  }
  int rc = tds_rpc_head(r, no_name, 0, &type, collation);
  return rc == TDS_OK ? tds_rpc_long(r, &type, s, bytes, TDS_CHARSET_UTF16)
                      : rc;
}

int tds_rpc_int(struct tds_rpc *r, bool null, int32_t v) {
  uint8_t out[9] = {0, null ? TDS_PARAM_RETURNS : 0, 0x26, 4, null ? 0 : 4};
  tds_put32(out + 5, (uint32_t)v);
  return tds_rpc_add(r, out, null ? 5 : 9);
}

/* ------------------------------------------------------------------- writing */

/* Puts of one piece what fits; goes on to the next when it is over. */
static size_t put_piece(struct tds_rpc *r, uint8_t *body, size_t cap) {
  const struct piece *piece = piece_of(r, r->piece);
  bool plain =
      piece->charset == TDS_CHARSET_NONE || piece->charset == TDS_CHARSET_UTF8;
  size_t n = piece->n - r->done;
  if (plain) {
    const uint8_t *from = piece->p == NULL ? r->bytes.p + piece->at : piece->p;
    n = n < cap ? n : cap;
    memcpy(body, from + r->done, n);
    r->done += n;
  } else {
    if (r->done == 0) {
      r->text.text.p = piece->p;
      r->text.text.n = piece->n;
      r->text.charset = piece->charset;
      r->text.back = r->back;
      r->done = piece->n; /* from here on text knows what is left */
    }
    n = tds_text_out_put(&r->text, body, cap);
  }
  if (r->done == piece->n && (plain || tds_text_out_over(&r->text))) {
    r->piece++;
    r->done = 0;
  }
  return n;
}

size_t tds_rpc_put(struct tds_rpc *r, uint8_t *body, size_t cap) {
  size_t n = 0;
  while (n < cap && !tds_rpc_over(r)) {
    n += put_piece(r, body + n, cap - n);
  }
  return n;
}

bool tds_rpc_over(const struct tds_rpc *r) {
  return r->piece == count(r);
}
