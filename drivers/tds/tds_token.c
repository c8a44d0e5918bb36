/* SPDX-License-Identifier: MIT */
/* tds_token.c - the loop of the decoder, and the tokens that are small.
 *
 * A state waits for a number of bytes.  Bytes that arrive in one piece are used
 * where they lie; only when a piece ends inside is anything copied, so the same
 * code serves one-byte reads and 32 KiB ones. */
#include "tds_token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tds_decode.h"
#include "tds_limits.h"

/* Tokens, MS-TDS 2.2.7. */
#define TOK_OFFSET     0x78u
#define TOK_STATUS     0x79u
#define TOK_COLUMNS    0x81u
#define TOK_ALTMETA    0x88u
#define TOK_CLASSIFY   0xA3u
#define TOK_TABNAME    0xA4u
#define TOK_COLINFO    0xA5u
#define TOK_ORDER      0xA9u
#define TOK_ERROR      0xAAu
#define TOK_INFO       0xABu
#define TOK_VALUE      0xACu
#define TOK_LOGINACK   0xADu
#define TOK_FEATURES   0xAEu
#define TOK_ROW        0xD1u
#define TOK_NBCROW     0xD2u
#define TOK_ALTROW     0xD3u
#define TOK_ENVCHANGE  0xE3u
#define TOK_STATE      0xE4u
#define TOK_SSPI       0xEDu
#define TOK_FEDAUTH    0xEEu
#define TOK_DONE       0xFDu
#define TOK_DONEPROC   0xFEu
#define TOK_DONEINPROC 0xFFu

#define FEATURES_END 0xFFu

/* ----------------------------------------------------------------- helpers */

int tds_decode_go(struct tds_decoder *d, enum tds_state state, size_t want) {
  d->state = (uint8_t)state;
  d->want = want;
  return TDS_OK;
}

int tds_decode_skip(struct tds_decoder *d,
                    uint64_t n,
                    enum tds_state state,
                    size_t want) {
  d->skip = n;
  return tds_decode_go(d, state, want);
}

int tds_decode_bad(struct tds_decoder *d,
                   int verdict,
                   const char *format,
                   ...) {
  char text[150];
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  (void)snprintf(d->why, sizeof d->why,
                 "%s (token 0x%02X, byte %llu of the "
                 "reply)",
                 text, d->token, (unsigned long long)d->at);
  return verdict;
}

static int cut(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_PROTO, "a field runs past its token's length");
}

static int no_memory(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_NOMEM, "out of memory");
}

int tds_decode_event(struct tds_decoder *d, int event) {
  (void)tds_decode_go(d, TDS_S_TOKEN, 1);
  return event;
}

int tds_decode_text(struct tds_buf *buf,
                    const uint8_t *p,
                    size_t n,
                    size_t *out_at,
                    size_t *out_n) {
  struct tds_text t = {.charset = TDS_CHARSET_UTF16};
  int rc = tds_buf_room(buf, TDS_TEXT_BOUND(n) + TDS_TEXT_BOUND(0));
  if (rc != TDS_OK) {
    return rc;
  }
  size_t used = tds_text_push(&t, p, n, buf->p + buf->n);
  used += tds_text_finish(&t, buf->p + buf->n + used);
  *out_at = buf->n;
  *out_n = used;
  buf->n += used;
  return TDS_OK;
}

/* A counted UTF-16 text of a gathered token, put into d->text.  wide: the count
 * has two bytes. */
static int take_text(struct tds_decoder *d,
                     struct tds_span *s,
                     bool wide,
                     size_t *out_at,
                     size_t *out_n) {
  const uint8_t *count = tds_take(s, wide ? 2 : 1);
  if (count == NULL) {
    return cut(d);
  }
  size_t n = (size_t)(wide ? tds_u16(count) : *count) * 2;
  const uint8_t *p = tds_take(s, n);
  if (p == NULL) {
    return cut(d);
  }
  int rc = tds_decode_text(&d->text, p, n, out_at, out_n);
  return rc == TDS_OK ? rc : no_memory(d);
}

/* The text buffer may have moved while it grew; texts are pointed at last. */
static const char *text_at(const struct tds_decoder *d, size_t at) {
  return (const char *)d->text.p + at;
}

/* ------------------------------------------------------------ small tokens */

static int read_message(struct tds_decoder *d, struct tds_span s) {
  struct tds_message *m = &d->message;
  size_t text = 0;
  size_t server = 0;
  size_t procedure = 0;
  memset(m, 0, sizeof *m);
  const uint8_t *p = tds_take(&s, 6);
  if (p == NULL) {
    return cut(d);
  }
  m->number = (int32_t)tds_u32(p);
  m->state = p[4];
  m->severity = p[5];
  int rc = take_text(d, &s, true, &text, &m->text_n);
  if (rc == TDS_OK) {
    rc = take_text(d, &s, false, &server, &m->server_n);
  }
  if (rc == TDS_OK) {
    rc = take_text(d, &s, false, &procedure, &m->procedure_n);
  }
  if (rc != TDS_OK) {
    return rc;
  }
  p = tds_take(&s, d->old_layout ? 2 : 4);
  if (p == NULL) {
    return cut(d);
  }
  m->line = d->old_layout ? tds_u16(p) : tds_u32(p);
  m->text = text_at(d, text);
  m->server = text_at(d, server);
  m->procedure = text_at(d, procedure);
  return tds_decode_event(d,
                          d->token == TOK_ERROR ? TDS_EV_ERROR : TDS_EV_INFO);
}

static int read_ack(struct tds_decoder *d, struct tds_span s) {
  size_t at = 0;
  const uint8_t *p = tds_take(&s, 5);
  if (p == NULL) {
    return cut(d);
  }
  d->ack.version = tds_u32be(p + 1);
  int rc = take_text(d, &s, false, &at, &d->ack.program_n);
  if (rc != TDS_OK) {
    return rc;
  }
  p = tds_take(&s, 4);
  if (p == NULL) {
    return cut(d);
  }
  memcpy(d->ack.server, p, 4);
  d->ack.program = text_at(d, at);
  return tds_decode_event(d, TDS_EV_LOGIN);
}

/* The new value: text or counted bytes, by type.  What follows (the old value)
 * is of no interest. */
static int read_env(struct tds_decoder *d, struct tds_span s) {
  size_t at = 0;
  struct tds_env *e = &d->env;
  const uint8_t *p = NULL;
  int rc = TDS_OK;
  e->text = NULL;
  e->text_n = 0;
  e->bytes.p = NULL;
  e->bytes.n = 0;
  switch (e->type) {
  case TDS_ENV_DATABASE:
  case TDS_ENV_LANGUAGE:
  case TDS_ENV_PACKET:
  case TDS_ENV_PARTNER:
    rc = take_text(d, &s, false, &at, &e->text_n);
    e->text = rc == TDS_OK ? text_at(d, at) : NULL;
    break;
  case TDS_ENV_COLLATION:
  case TDS_ENV_BEGIN:
  case TDS_ENV_COMMIT:
  case TDS_ENV_ROLLBACK:
  case TDS_ENV_ENLIST:
  case TDS_ENV_DEFECT:
  case TDS_ENV_ENDED:
    p = tds_take(&s, 1);
    e->bytes.n = p == NULL ? 0 : *p;
    e->bytes.p = p == NULL ? NULL : tds_take(&s, e->bytes.n);
    rc = e->bytes.p == NULL ? cut(d) : TDS_OK;
    break;
  case TDS_ENV_ROUTING:
  case TDS_ENV_ROUTING2:
    p = tds_take(&s, 5); /* length, protocol, port */
    rc = p == NULL ? cut(d) : take_text(d, &s, true, &at, &e->text_n);
    e->text = rc == TDS_OK ? text_at(d, at) : NULL;
    e->bytes.p = p;
    e->bytes.n = 5;
    break;
  default:
    e->bytes = s;
    break;
  }
  return rc == TDS_OK ? tds_decode_event(d, TDS_EV_ENV) : rc;
}

/* ENVCHANGE 15 says length 1; a 4-byte length, bytes and a zero follow. */
static int on_env(struct tds_decoder *d, const uint8_t *p) {
  uint32_t length = tds_u16(p);
  d->env.type = p[2];
  if (length == 0) {
    return tds_decode_bad(d, TDS_E_PROTO, "ENVCHANGE has no type");
  }
  if (d->env.type == TDS_ENV_PROMOTE) {
    return tds_decode_go(d, TDS_S_PROMOTE, 4);
  }
  return tds_decode_go(d, TDS_S_BODY, length - 1);
}

static int on_promote(struct tds_decoder *d, const uint8_t *p) {
  return tds_decode_skip(d, (uint64_t)tds_u32(p) + 1, TDS_S_PASSED, 0);
}

static int on_short(struct tds_decoder *d, const uint8_t *p) {
  return tds_decode_go(d, TDS_S_BODY, tds_u16(p));
}

static int on_long(struct tds_decoder *d, const uint8_t *p) {
  return tds_decode_skip(d, tds_u32(p), TDS_S_PASSED, 0);
}

static int on_passed(struct tds_decoder *d, const uint8_t *p) {
  (void)p;
  return tds_decode_event(d, TDS_EV_OTHER);
}

static int on_body(struct tds_decoder *d, const uint8_t *p) {
  struct tds_span s = {p, d->want};
  d->text.n = 0;
  switch (d->token) {
  case TOK_ERROR:
  case TOK_INFO:
    return read_message(d, s);
  case TOK_LOGINACK:
    return read_ack(d, s);
  case TOK_ENVCHANGE:
    return read_env(d, s);
  default:
    return tds_decode_event(d, TDS_EV_OTHER);
  }
}

static int on_done(struct tds_decoder *d, const uint8_t *p) {
  d->done.token = d->token;
  d->done.status = tds_u16(p);
  d->done.command = tds_u16(p + 2);
  d->done.rows = d->old_layout ? tds_u32(p + 4) : tds_u64(p + 4);
  return tds_decode_event(d, TDS_EV_DONE);
}

static int on_status(struct tds_decoder *d, const uint8_t *p) {
  d->return_status = (int32_t)tds_u32(p);
  return tds_decode_event(d, TDS_EV_STATUS);
}

/* FEATUREEXTACK has no length of its own: entries until FF, one event each. */
static int on_feature(struct tds_decoder *d, const uint8_t *p) {
  d->feature.id = *p;
  if (*p == FEATURES_END) {
    return tds_decode_event(d, TDS_EV_OTHER);
  }
  return tds_decode_go(d, TDS_S_FEATLEN, 4);
}

static int on_feature_length(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u32(p);
  if (n > TDS_FEATURE_MAX) {
    return tds_decode_bad(d, TDS_E_PROTO,
                          "the answer to feature 0x%02X has %u bytes",
                          d->feature.id, n);
  }
  return tds_decode_go(d, TDS_S_FEATDATA, n);
}

static int on_feature_data(struct tds_decoder *d, const uint8_t *p) {
  d->feature.data.p = p;
  d->feature.data.n = d->want;
  (void)tds_decode_go(d, TDS_S_FEATURE, 1);
  return TDS_EV_FEATURE;
}

static int on_fedauth_length(struct tds_decoder *d, const uint8_t *p) {
  uint32_t n = tds_u32(p);
  if (n > TDS_FEDAUTH_MAX) {
    return tds_decode_bad(d, TDS_E_PROTO, "FEDAUTHINFO has %u bytes", n);
  }
  return tds_decode_go(d, TDS_S_FEDINFO, n);
}

static int on_fedauth(struct tds_decoder *d, const uint8_t *p) {
  d->fedauth.p = p;
  d->fedauth.n = d->want;
  return tds_decode_event(d, TDS_EV_FEDAUTH);
}

/* ---------------------------------------------------------- the token byte */

static int unknown(struct tds_decoder *d) {
  return tds_decode_bad(d, TDS_E_PROTO, "unknown token");
}

static int start_result(struct tds_decoder *d) {
  if (d->no_results) {
    return tds_decode_bad(d, TDS_E_PROTO, "a result during login");
  }
  switch (d->token) {
  case TOK_COLUMNS:
    return tds_meta_start(d);
  case TOK_VALUE:
    return tds_meta_start_return(d);
  default:
    return tds_row_start(d, d->token == TOK_NBCROW);
  }
}

/* One row for each token: MS-TDS has no rule for lengths that would cover all,
 * whatever the high bits of a token suggest. */
static int on_token(struct tds_decoder *d, const uint8_t *p) {
  d->token = *p;
  switch (d->token) {
  case TOK_ROW:
  case TOK_NBCROW:
  case TOK_COLUMNS:
  case TOK_VALUE:
    return start_result(d);
  case TOK_DONE:
  case TOK_DONEPROC:
  case TOK_DONEINPROC:
    return tds_decode_go(d, TDS_S_DONE, d->old_layout ? 8 : 12);
  case TOK_ERROR:
  case TOK_INFO:
  case TOK_LOGINACK:
  case TOK_ORDER:
  case TOK_TABNAME:
  case TOK_COLINFO:
    return tds_decode_go(d, TDS_S_SHORT, 2);
  case TOK_ENVCHANGE:
    return tds_decode_go(d, TDS_S_ENV, 3);
  case TOK_STATUS:
    return tds_decode_go(d, TDS_S_STATUS, 4);
  case TOK_FEATURES:
    return tds_decode_go(d, TDS_S_FEATURE, 1);
  case TOK_STATE:
    return tds_decode_go(d, TDS_S_LONG, 4);
  case TOK_OFFSET:
    return tds_decode_skip(d, 4, TDS_S_PASSED, 0);
  case TOK_ALTMETA:
  case TOK_ALTROW:
    return tds_decode_bad(d, TDS_E_UNSUPPORTED, "COMPUTE is not supported");
  case TOK_FEDAUTH:
    return tds_decode_go(d, TDS_S_FEDLEN, 4);
  case TOK_SSPI:
    return tds_decode_bad(d, TDS_E_UNSUPPORTED,
                          "the server asks for integrated authentication, "
                          "which is not supported yet");
  case TOK_CLASSIFY:
  default:
    return unknown(d);
  }
}

/* --------------------------------------------------------------- the loop */

static tds_state_fn *const states[TDS_S_COUNT_OF] = {
    [TDS_S_TOKEN] = on_token,
    [TDS_S_SHORT] = on_short,
    [TDS_S_BODY] = on_body,
    [TDS_S_LONG] = on_long,
    [TDS_S_PASSED] = on_passed,
    [TDS_S_DONE] = on_done,
    [TDS_S_STATUS] = on_status,
    [TDS_S_ENV] = on_env,
    [TDS_S_PROMOTE] = on_promote,
    [TDS_S_FEATURE] = on_feature,
    [TDS_S_FEATLEN] = on_feature_length,
    [TDS_S_FEATDATA] = on_feature_data,
    [TDS_S_FEDLEN] = on_fedauth_length,
    [TDS_S_FEDINFO] = on_fedauth,
    [TDS_S_COUNT] = tds_meta_count,
    [TDS_S_COLUMN] = tds_meta_column,
    [TDS_S_INFO] = tds_meta_info,
    [TDS_S_XML] = tds_meta_xml,
    [TDS_S_PART] = tds_meta_part,
    [TDS_S_LASTPART] = tds_meta_last_part,
    [TDS_S_TABLES] = tds_meta_tables,
    [TDS_S_TABLE] = tds_meta_table,
    [TDS_S_NAMELEN] = tds_meta_name_length,
    [TDS_S_NAME] = tds_meta_name,
    [TDS_S_ORDINAL] = tds_meta_ordinal,
    [TDS_S_VALNAME] = tds_meta_value_name,
    [TDS_S_VALHEAD] = tds_meta_value_head,
    [TDS_S_BITMAP] = tds_row_bitmap,
    [TDS_S_VALUE] = tds_row_value,
    [TDS_S_FIXED] = tds_row_fixed,
    [TDS_S_LEN1] = tds_row_len1,
    [TDS_S_LEN2] = tds_row_len2,
    [TDS_S_PLP] = tds_row_plp,
    [TDS_S_CHUNK] = tds_row_chunk,
    [TDS_S_POINTER] = tds_row_pointer,
    [TDS_S_LEN4] = tds_row_len4,
    [TDS_S_VARLEN] = tds_row_varlen,
    [TDS_S_WHOLE] = tds_row_whole,
};

/* The bytes the state wants: where they lie, or gathered.
 * Returns TDS_OK and *out_p, TDS_MORE, or TDS_E_NOMEM. */
static int gather(struct tds_decoder *d,
                  struct tds_span *in,
                  const uint8_t **out_p) {
  size_t have = d->acc.n;
  if (have == 0 && in->n >= d->want) {
    *out_p = tds_take(in, d->want);
    d->at += d->want;
    return TDS_OK;
  }
  size_t n = d->want - have < in->n ? d->want - have : in->n;
  int rc = tds_buf_room(&d->acc, d->want - have);
  if (rc != TDS_OK) {
    return no_memory(d);
  }
  (void)tds_buf_add(&d->acc, tds_take(in, n), n);
  d->at += n;
  if (d->acc.n < d->want) {
    return TDS_MORE;
  }
  *out_p = d->acc.p;
  d->acc.n = 0;
  return TDS_OK;
}

static void pass_over(struct tds_decoder *d, struct tds_span *in) {
  size_t n = in->n < d->skip ? in->n : (size_t)d->skip;
  (void)tds_take(in, n);
  d->at += n;
  d->skip -= n;
}

int tds_token_next(struct tds_decoder *d, struct tds_span *in) {
  for (;;) {
    const uint8_t *p = NULL;
    int rc = TDS_OK;
    if (d->skip > 0) {
      pass_over(d, in);
      if (d->skip > 0) {
        return TDS_MORE;
      }
    }
    if (d->state == TDS_S_STREAM) {
      rc = tds_row_stream(d, in);
    } else {
      rc = gather(d, in, &p);
      if (rc == TDS_OK) {
        rc = states[d->state](d, p);
      }
    }
    if (rc != TDS_OK) {
      return rc;
    }
  }
}

int tds_token_end(struct tds_decoder *d) {
  if (d->state == TDS_S_TOKEN && d->acc.n == 0 && d->skip == 0) {
    return TDS_OK;
  }
  return tds_decode_bad(d, TDS_E_PROTO, "the reply ends inside a token");
}

void tds_token_init(struct tds_decoder *d, const struct tds_mem *mem) {
  memset(d, 0, sizeof *d);
  d->mem = mem;
  d->acc.mem = mem;
  d->text.mem = mem;
  d->names.mem = mem;
  (void)tds_decode_go(d, TDS_S_TOKEN, 1);
}

void tds_token_fini(struct tds_decoder *d) {
  tds_buf_fini(&d->acc);
  tds_buf_fini(&d->text);
  tds_buf_fini(&d->names);
  if (d->columns != NULL) {
    d->mem->release(d->mem->ctx, d->columns);
  }
  d->columns = NULL;
  d->n_columns = 0;
  d->columns_cap = 0;
}

static void trim(struct tds_buf *b) {
  if (b->cap > TDS_KEEP_BYTES) {
    tds_buf_fini(b);
  }
}

void tds_token_trim(struct tds_decoder *d) {
  trim(&d->acc);
  trim(&d->text);
  trim(&d->names);
}

void tds_token_begin(struct tds_decoder *d, const struct tds_sink *sink) {
  d->sink = sink;
  d->value_sink = NULL;
  d->acc.n = 0;
  d->names.n = 0;
  d->n_columns = 0;
  d->returning = false;
  d->skip = 0;
  d->at = 0;
  d->cell = NULL;
  d->cell_n = 0;
  d->cell_cap = 0;
  d->why[0] = '\0';
  (void)tds_decode_go(d, TDS_S_TOKEN, 1);
}

void tds_token_drop_rows(struct tds_decoder *d) {
  d->sink = NULL;
  d->value_sink = NULL;
  d->cell = NULL;
  d->cell_n = 0;
  d->cell_cap = 0;
}
