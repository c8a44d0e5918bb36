/* SPDX-License-Identifier: MIT */
/* tds_exec.c - exec: a batch of text, or a call of sp_executesql with parameters
 * (MS-TDS 2.2.6.6).
 *
 * Everything is checked before the first byte is sent, so a bad value costs
 * nothing.  Long texts are measured a slice at a time and converted while they
 * are sent; they are never copied. */
#include "tds_exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tds_codepage.h"
#include "tds_conn.h"
#include "tds_fail.h"
#include "tds_stmt.h"
#include "tds_text.h"
#include "tds_txn.h"

/* Bytes of a hint that a message shows. */
#define HINT_SHOWN 60

/* Bytes of the longest name: 128 units of up to three bytes. */
#define NAME_SHOWN 384

struct tds_arg *tds_exec_args(const struct weir_drv_conn *c, uint32_t *out_n) {
  void *all = c->exec.args.p; /* aligned for any type: from the allocator */
  *out_n = (uint32_t)(c->exec.args.n / sizeof(struct tds_arg));
  return all;
}

/* ------------------------------------------------------------------ refusals */

/* Nothing was sent, and the session is as it was. */
static weir_drv_status refuse(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              int32_t kind,
                              const char *why) {
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  tds_exec_end(c);
  return tds_request_refuse(c, t, kind, why);
}

__attribute__((format(printf, 4, 5))) static weir_drv_status refuse_arg(
    struct weir_drv_conn *c,
    struct tds_turn *t,
    const struct tds_arg *a,
    const char *format,
    ...) {
  char why[256];
  char name[NAME_SHOWN + 1];
  char text[NAME_SHOWN + sizeof why + 16];
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(why, sizeof why, format, args);
  va_end(args);
  tds_fail_trim(why, sizeof why);
  size_t n = a->name.n < NAME_SHOWN ? a->name.n : NAME_SHOWN;
  memcpy(name, a->name.p, n);
  name[n] = '\0';
  (void)snprintf(text, sizeof text, "parameter %s%s", name, why);
  return refuse(c, t, WEIR_DRV_K_OTHER, text);
}

/* "parameter @a (decimal(10,2)): out of range". */
static weir_drv_status refuse_value(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    const struct tds_arg *a,
                                    const char *why) {
  char type[TDS_HINT_TEXT_MAX];
  (void)tds_hint_print(&a->type, type);
  return refuse_arg(c, t, a, " (%s): %s", type, why);
}

static weir_drv_status no_memory(struct weir_drv_conn *c, struct tds_turn *t) {
  return refuse(c, t, WEIR_DRV_K_RESOURCE, "out of memory");
}

/* ----------------------------------------------------------------- arguments */

/* What T-SQL takes for the end of a name must not be in one: the names become
 * part of a declaration. */
static bool is_in_name(uint32_t code) {
  bool letter = (code | 0x20) >= 'a' && (code | 0x20) <= 'z' && code < 0x80;
  bool digit = code >= '0' && code <= '9';
  bool blank = code <= 0xA0 || (code >= 0x2000 && code <= 0x206F) ||
               code == 0x1680 || code == 0x3000 || code == 0xFEFF;
  return letter || digit || code == '_' || code == '@' || code == '#' ||
         code == '$' || (code >= 0x80 && !blank);
}

/* "@" and more, at most 128 UTF-16 units. */
static bool is_name(struct tds_span s) {
  const size_t most = TDS_LOGIN_UNITS;
  struct tds_measure m = {s, TDS_CHARSET_UTF16, NULL, 0, 0};
  if (s.n < 2 || s.p[0] != '@' || s.n > most * 3 ||
      tds_measure_more(&m, s.n) != TDS_OK || m.bytes > most * 2) {
    return false;
  }
  while (s.n > 0) {
    if (!is_in_name(tds_text_next(&s))) {
      return false;
    }
  }
  return true;
}

/* What a caller of a newer version may have put behind what we know. */
static bool has_unknown(const struct weir_drv_param *p) {
  const uint8_t *bytes = (const uint8_t *)p;
  if ((p->flags & ~WEIR_DRV_PARAM_OUT) != 0) {
    return true;
  }
  for (size_t i = sizeof *p; i < p->struct_size; i++) {
    if (bytes[i] != 0) {
      return true;
    }
  }
  return false;
}

static weir_drv_status set_name(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                const struct weir_drv_param *p,
                                uint32_t i,
                                struct tds_arg *a) {
  int n = snprintf(a->given, sizeof a->given, "@P%u", i + 1);
  a->name.p = (const uint8_t *)a->given;
  a->name.n = (size_t)n;
  if (p->name.n == 0) {
    return TDS_NEXT;
  }
  struct tds_span name = {(const uint8_t *)p->name.p, (size_t)p->name.n};
  if (!is_name(name)) {
    char why[160];
    (void)snprintf(why, sizeof why,
                   "the name of parameter %u is none: '@' and up to 127 "
                   "letters, digits, _ @ # $",
                   i + 1);
    return refuse(c, t, WEIR_DRV_K_SYNTAX, why);
  }
  a->name = name;
  return TDS_NEXT;
}

static weir_drv_status set_type(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                const struct weir_drv_param *p,
                                struct tds_arg *a) {
  const char *why = NULL;
  struct tds_reason reason;
  size_t n = (size_t)p->type_hint.n;
  if (n == 0) {
    return tds_param_guess(&a->value, a->returns, &a->type, &reason) == TDS_OK
               ? TDS_NEXT
               : refuse_arg(c, t, a, ": %s", reason.text);
  }
  if (tds_hint_parse(p->type_hint.p, n, &a->type, &why) == TDS_OK) {
    tds_param_close(&a->type, &a->value, a->returns);
    return TDS_NEXT;
  }
  bool shown = tds_text_valid(p->type_hint.p, n) == n;
  return refuse_arg(c, t, a, ": type '%.*s': %s",
                    shown ? (int)(n < HINT_SHOWN ? n : HINT_SHOWN) : 1,
                    shown ? p->type_hint.p : "?", why);
}

/* A value with a length and no bytes would be read where nothing is. */
static bool is_empty_lie(const struct weir_drv_value *v) {
  bool pointed = v->type >= WEIR_DRV_T_TEXT && v->type <= WEIR_DRV_T_UUID;
  return pointed && v->p == NULL && v->n > 0;
}

static weir_drv_status set_arg(struct weir_drv_conn *c,
                               struct tds_turn *t,
                               const struct weir_drv_param *p,
                               uint32_t i,
                               struct tds_arg *a) {
  struct tds_reason why;
  weir_drv_status rc = set_name(c, t, p, i, a);
  a->value = p->value;
  a->returns = (p->flags & WEIR_DRV_PARAM_OUT) != 0;
  if ((a->value.flags & WEIR_DRV_V_SECRET) != 0) {
    c->exec.secret = true;
  }
  if (rc == TDS_NEXT && is_empty_lie(&a->value)) {
    return refuse_arg(c, t, a, ": the value has a length and no bytes");
  }
  rc = rc == TDS_NEXT ? set_type(c, t, p, a) : rc;
  if (rc == TDS_NEXT && a->type.frame != TDS_LONG_NONE &&
      tds_param_check(&a->type, &a->value, &why) != TDS_OK) {
    return refuse_value(c, t, a, why.text);
  }
  return rc;
}

static const struct weir_drv_param *param_at(const struct weir_drv_exec_args *a,
                                             uint32_t i) {
  const void *p = (const uint8_t *)a->params + (size_t)i * a->params_stride;
  return p;
}

static weir_drv_status take_args(struct weir_drv_conn *c,
                                 struct tds_turn *t,
                                 const struct weir_drv_exec_args *a) {
  struct tds_buf *b = &c->exec.args;
  if (a->n_params > TDS_PARAMS_MAX) {
    return refuse(c, t, WEIR_DRV_K_RESOURCE,
                  "more parameters than the server takes (2097)");
  }
  b->n = 0;
  if (a->n_params == 0) {
    return TDS_NEXT;
  }
  if (tds_buf_room(b, a->n_params * sizeof(struct tds_arg)) != TDS_OK) {
    return no_memory(c, t);
  }
  memset(b->p, 0, a->n_params * sizeof(struct tds_arg));
  b->n = a->n_params * sizeof(struct tds_arg);
  for (uint32_t i = 0; i < a->n_params; i++) {
    const struct weir_drv_param *p = param_at(a, i);
    uint32_t n = 0;
    if (p->struct_size < WEIR_DRV_PARAM_SIZE_V0) {
      return refuse(c, t, WEIR_DRV_K_INTERNAL, "a parameter is too short");
    }
    if (has_unknown(p)) {
      return refuse(c, t, WEIR_DRV_K_UNSUPPORTED,
                    "a parameter asks for what this driver does not know");
    }
    weir_drv_status rc = set_arg(c, t, p, i, &tds_exec_args(c, &n)[i]);
    if (rc != TDS_NEXT) {
      return rc;
    }
  }
  return TDS_NEXT;
}

/* --------------------------------------------------------------- the measure */

const uint8_t *tds_exec_collation(const struct weir_drv_conn *c) {
  /* What a server has that does not tell: Latin1_General, code page 1252. */
  static const uint8_t latin1[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};
  return c->now.collation_n == sizeof latin1 ? c->now.collation : latin1;
}

/* The charset of a value on the wire. */
static uint8_t charset_of(const struct weir_drv_conn *c,
                          const struct tds_hint *type) {
  if (type->kind == TDS_KIND_BYTES) {
    return TDS_CHARSET_NONE;
  }
  return type->wide ? TDS_CHARSET_UTF16
                    : tds_text_charset(tds_exec_collation(c));
}

/* The way back into a two-byte page, for as long as the statement takes.
 * Returns TDS_OK or TDS_E_NOMEM. */
static int need_back(struct weir_drv_conn *c, uint8_t charset) {
  const struct tds_mem *mem = &c->drv->mem;
  struct tds_exec *e = &c->exec;
  if (charset < TDS_CHARSET_PAGE + TDS_CP932 || e->back != NULL) {
    return TDS_OK;
  }
  e->back = mem->alloc(mem->ctx, TDS_CODEPAGE_BACK * sizeof *e->back, 0);
  if (e->back == NULL) {
    return TDS_E_NOMEM;
  }
  tds_codepage_back((uint8_t)(charset - TDS_CHARSET_PAGE), e->back);
  return TDS_OK;
}

/* What is looked at next: the statement, then long values.
 * Returns TDS_OK or TDS_E_NOMEM. */
static int aim(struct weir_drv_conn *c) {
  struct tds_exec *e = &c->exec;
  uint32_t n = 0;
  const struct tds_arg *args = tds_exec_args(c, &n);
  memset(&e->measure, 0, sizeof e->measure);
  if (e->at == 0) {
    e->measure.left = e->sql;
    e->measure.charset = TDS_CHARSET_UTF16;
    return TDS_OK;
  }
  while (e->at <= n && (args[e->at - 1].type.frame == TDS_LONG_NONE ||
                        args[e->at - 1].value.type == WEIR_DRV_T_NULL)) {
    e->at++;
  }
  if (e->at > n) {
    return TDS_OK;
  }
  const struct tds_arg *a = &args[e->at - 1];
  e->measure.left.p = a->value.p;
  e->measure.left.n = (size_t)a->value.n;
  e->measure.charset = charset_of(c, &a->type);
  int rc = need_back(c, e->measure.charset);
  e->measure.back = e->back;
  return rc;
}

/* Whether text speaks of an isolation level, in whatever way: it is then taken
 * for changed. */
static bool speaks_of_isolation(const uint8_t *p, size_t n) {
  static const char word[] = "isolation";
  const size_t len = sizeof word - 1;
  for (size_t i = 0; i + len <= n; i++) {
    if ((p[i] | 0x20) == 'i' &&
        strncasecmp((const char *)p + i, word, len) == 0) {
      return true;
    }
  }
  return false;
}

/* The slice of the statement that was measured, and enough before it for a word
 * that two slices share. */
static void look_for_isolation(struct weir_drv_conn *c, size_t before) {
  const struct tds_exec *e = &c->exec;
  const size_t word = 9;
  size_t from = e->sql.n - before;
  size_t to = e->sql.n - e->measure.left.n;
  from = from > word ? from - word : 0;
  if (to > from && speaks_of_isolation(e->sql.p + from, to - from)) {
    c->isolation = true;
  }
}

static weir_drv_status refuse_text(struct weir_drv_conn *c,
                                   struct tds_turn *t,
                                   int verdict) {
  const struct tds_exec *e = &c->exec;
  uint32_t n = 0;
  if (e->at == 0) {
    return refuse(c, t, WEIR_DRV_K_SYNTAX, "the statement is not valid UTF-8");
  }
  const struct tds_arg *a = &tds_exec_args(c, &n)[e->at - 1];
  char why[100] = "not valid UTF-8";
  if (verdict == TDS_E_UNSUPPORTED &&
      (a->value.flags & WEIR_DRV_V_SECRET) == 0) {
    (void)snprintf(why, sizeof why,
                   "the database's code page has no character U+%04X",
                   e->measure.lacking);
  } else if (verdict == TDS_E_UNSUPPORTED) {
    (void)snprintf(why, sizeof why,
                   "the database's code page lacks a character of it");
  }
  return refuse_value(c, t, a, why);
}

/* The measure of one is over: it is kept, and judged. */
static weir_drv_status keep_measure(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  struct tds_exec *e = &c->exec;
  struct tds_reason why;
  uint32_t n = 0;
  uint64_t bytes = e->measure.bytes;
  if (e->at == 0) {
    e->sql_bytes = bytes;
  } else {
    struct tds_arg *a = &tds_exec_args(c, &n)[e->at - 1];
    a->bytes = bytes;
    if (tds_param_fits(&a->type, bytes, &why) != TDS_OK) {
      return refuse_value(c, t, a, why.text);
    }
  }
  e->at++;
  return aim(c) == TDS_OK ? TDS_NEXT : no_memory(c, t);
}

/* ------------------------------------------------------------------- the call */

/* "@a int,@b nvarchar(4000) OUTPUT".  Names hold no character that would need
 * more than their UTF-8. */
static int declare(struct weir_drv_conn *c) {
  struct tds_buf *b = &c->exec.types;
  uint32_t n = 0;
  const struct tds_arg *args = tds_exec_args(c, &n);
  b->n = 0;
  for (uint32_t i = 0; i < n; i++) {
    char type[TDS_HINT_TEXT_MAX + 10];
    size_t k = tds_hint_print(&args[i].type, type + 1);
    type[0] = ' ';
    k++;
    if (args[i].returns) {
      memcpy(type + k, " OUTPUT", 7);
      k += 7;
    }
    if ((i > 0 && tds_buf_add(b, ",", 1) != TDS_OK) ||
        tds_buf_add(b, args[i].name.p, args[i].name.n) != TDS_OK ||
        tds_buf_add(b, type, k) != TDS_OK) {
      return TDS_E_NOMEM;
    }
  }
  struct tds_measure m = {{b->p, b->n}, TDS_CHARSET_UTF16, NULL, 0, 0};
  (void)tds_measure_more(&m, b->n);
  c->exec.types_bytes = m.bytes;
  return TDS_OK;
}

static struct tds_span value_span(const struct weir_drv_value *v) {
  static const uint8_t nothing;
  struct tds_span s = {v->p == NULL ? &nothing : v->p, (size_t)v->n};
  if (v->type == WEIR_DRV_T_NULL) {
    s.p = NULL;
    s.n = 0;
  }
  return s;
}

/* The values.  Returns TDS_NEXT, or as a step does. */
static weir_drv_status put_args(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_rpc *r = &c->exec.rpc;
  uint32_t n = 0;
  const struct tds_arg *args = tds_exec_args(c, &n);
  for (uint32_t i = 0; i < n; i++) {
    const struct tds_arg *a = &args[i];
    struct tds_reason why;
    uint8_t scalar[TDS_SCALAR_MAX];
    size_t k = 0;
    int rc = tds_rpc_head(r, a->name, a->returns ? TDS_PARAM_RETURNS : 0,
                          &a->type, tds_exec_collation(c));
    if (rc == TDS_OK && a->type.frame != TDS_LONG_NONE) {
      rc = tds_rpc_long(r, &a->type, value_span(&a->value), a->bytes,
                        charset_of(c, &a->type));
    } else if (rc == TDS_OK) {
      if (tds_param_scalar(&a->type, &a->value, scalar, &k, &why) != TDS_OK) {
        return refuse_value(c, t, a, why.text);
      }
      rc = tds_rpc_add(r, scalar, k);
    }
    if (rc != TDS_OK) {
      return no_memory(c, t);
    }
  }
  return TDS_NEXT;
}

struct tds_span tds_exec_types(const struct weir_drv_conn *c) {
  struct tds_span s = {c->exec.types.p, c->exec.types.n};
  if (s.n == 0) {
    s.p = NULL;
  }
  return s;
}

/* sp_executesql: statement, declarations.  *out_lead: parameters in front. */
static int put_executesql(struct weir_drv_conn *c, uint32_t *out_lead) {
  struct tds_exec *e = &c->exec;
  int rc = tds_rpc_call(&e->rpc, TDS_PROC_EXECUTESQL);
  rc = rc == TDS_OK
           ? tds_rpc_text(&e->rpc, e->sql, e->sql_bytes, tds_exec_collation(c))
           : rc;
  *out_lead = 2;
  return rc == TDS_OK ? tds_rpc_text(&e->rpc, tds_exec_types(c), e->types_bytes,
                                     tds_exec_collation(c))
                      : rc;
}

static size_t fill(struct weir_drv_conn *c, uint8_t *body, size_t cap) {
  size_t n = tds_request_put_head(c, body, cap);
  return n + tds_rpc_put(&c->exec.rpc, body + n, cap - n);
}

static bool over(const struct weir_drv_conn *c) {
  return tds_rpc_over(&c->exec.rpc);
}

static const struct tds_source rpc_source = {TDS_PKT_RPC, fill, over};

static weir_drv_status start_batch(struct weir_drv_conn *c) {
  tds_batch_set(c, (const char *)c->exec.sql.p, c->exec.sql.n);
  return tds_request_begin(c, TDS_OP_EXEC, &tds_batch_source);
}

/* The calls in front, and the head of the one that matters. */
static int put_heads(struct weir_drv_conn *c,
                     uint32_t *out_front,
                     uint32_t *out_lead) {
  /* The reset that goes with this request ends all handles. */
  if (c->reset_wanted != 0) {
    tds_stmt_forget(c);
  }
  int rc = tds_stmt_put_unprepare(c, out_front);
  if (rc == TDS_OK && c->exec.prepare) {
    rc = tds_stmt_put(c, out_lead);
  }
  return rc == TDS_OK && *out_lead == 0 ? put_executesql(c, out_lead) : rc;
}

weir_drv_status tds_exec_call(struct weir_drv_conn *c, struct tds_turn *t) {
  uint32_t front = 0;
  uint32_t lead = 0;
  tds_request_clear(c);
  tds_rpc_clear(&c->exec.rpc);
  tds_rpc_secret(&c->exec.rpc, c->exec.secret);
  c->exec.rpc.back = c->exec.back;
  if (put_heads(c, &front, &lead) != TDS_OK) {
    return no_memory(c, t);
  }
  weir_drv_status rc = put_args(c, t);
  if (rc != TDS_NEXT) {
    return rc;
  }
  if (tds_out_expect(c, lead, front) != TDS_OK) {
    return no_memory(c, t);
  }
  if (c->exec.secret) {
    tds_link_secret(&c->link, true);
  }
  return tds_request_begin(c, TDS_OP_EXEC, &rpc_source);
}

void tds_exec_sent(struct weir_drv_conn *c) {
  if (c->exec.secret) {
    tds_link_secret(&c->link, false);
    tds_rpc_clear(&c->exec.rpc);
    tds_rpc_secret(&c->exec.rpc, false);
  }
}

weir_drv_status tds_exec_again(struct weir_drv_conn *c, struct tds_turn *t) {
  if (tds_txn_lost(c)) {
    (void)tds_conn_go(c, TDS_STEP_IDLE);
    return tds_txn_refuse(c, t);
  }
  return tds_exec_call(c, t);
}

/* ------------------------------------------------------------------ the step */

weir_drv_status tds_exec_check(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_exec *e = &c->exec;
  uint32_t n = 0;
  (void)tds_exec_args(c, &n);
  while (e->at <= n) {
    if (c->cancelled) {
      (void)tds_conn_go(c, TDS_STEP_IDLE);
      tds_exec_end(c);
      return tds_request_cancelled(c, t);
    }
    if (c->spent > TDS_STEP_BYTES) {
      return tds_conn_again(t);
    }
    size_t before = e->measure.left.n;
    int rc = tds_measure_more(&e->measure, TDS_STEP_BYTES);
    c->spent += before - e->measure.left.n;
    if (rc < 0) {
      return refuse_text(c, t, rc);
    }
    if (e->at == 0) {
      look_for_isolation(c, before);
    }
    weir_drv_status status = rc == TDS_OK ? keep_measure(c, t) : TDS_NEXT;
    if (status != TDS_NEXT) {
      return status;
    }
  }
  if (n == 0 && !e->prepare) {
    return start_batch(c);
  }
  return declare(c) == TDS_OK ? tds_exec_call(c, t) : no_memory(c, t);
}

weir_drv_status tds_exec_start(struct weir_drv_conn *c,
                               const struct weir_drv_exec_args *a,
                               bool prepare,
                               struct tds_turn *t) {
  struct tds_exec *e = &c->exec;
  uint64_t most = (uint64_t)TDS_BATCH_PACKETS * c->link.packet_size / 2;
  if (c->step != TDS_STEP_IDLE) {
    return WEIR_DRV_E_INVALID;
  }
  if (tds_txn_lost(c)) {
    return tds_txn_refuse(c, t);
  }
  tds_request_clear(c);
  e->prepare = prepare;
  e->sql.p = (const uint8_t *)(a->sql.n == 0 ? "" : a->sql.p);
  e->sql.n = (size_t)a->sql.n;
  if (a->sql.n > most) {
    return refuse(c, t, WEIR_DRV_K_RESOURCE,
                  "the statement is longer than the server takes");
  }
  weir_drv_status rc = take_args(c, t, a);
  if (rc != TDS_NEXT) {
    return rc;
  }
  c->batch_rows = a->batch_rows == 0 ? TDS_ROWS_DEFAULT : a->batch_rows;
  c->batch_bytes = a->batch_bytes == 0 ? TDS_BYTES_DEFAULT : a->batch_bytes;
  c->no_rows = (a->flags & WEIR_DRV_XF_NO_ROWS) != 0;
  c->op = TDS_OP_EXEC;
  c->cancelled = false;
  e->at = 0;
  (void)aim(c); /* at the statement, which needs no memory */
  (void)tds_conn_go(c, TDS_STEP_CHECK);
  return tds_conn_run(c, t);
}

weir_drv_status tds_request_exec(struct weir_drv_conn *c,
                                 const struct weir_drv_exec_args *a,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  return tds_exec_start(c, a, false, &t);
}

void tds_exec_end(struct weir_drv_conn *c) {
  struct tds_exec *e = &c->exec;
  struct tds_buf *kept[] = {&e->args, &e->types};
  tds_out_clear(c);
  tds_rpc_clear(&e->rpc);
  tds_rpc_secret(&e->rpc, false);
  e->sql.n = 0;
  e->secret = false;
  if (e->back != NULL) {
    c->drv->mem.release(c->drv->mem.ctx, e->back);
    e->back = NULL;
  }
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    kept[i]->n = 0;
    if (kept[i]->cap > TDS_KEEP_BYTES) {
      tds_buf_fini(kept[i]);
    }
  }
}
