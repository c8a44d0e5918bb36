/* SPDX-License-Identifier: MIT */
/* tds_check.c - looks at a statement and its long values before they are sent: is
 * it UTF-8, does it fit, how long will it be?
 *
 * A slice a step, so that a text of many MiB holds nobody up. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tds_codepage.h"
#include "tds_conn.h"
#include "tds_exec.h"
#include "tds_text.h"

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
  const struct tds_arg *args = tds_args_all(c, &n);
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
  e->measure.charset = tds_args_charset(c, &a->type);
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
    return tds_exec_refuse(c, t, WEIR_DRV_K_SYNTAX,
                           "the statement is not valid UTF-8");
  }
  const struct tds_arg *a = &tds_args_all(c, &n)[e->at - 1];
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
  return tds_exec_refuse_value(c, t, a, why);
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
    struct tds_arg *a = &tds_args_all(c, &n)[e->at - 1];
    a->bytes = bytes;
    if (tds_param_fits(&a->type, bytes, &why) != TDS_OK) {
      return tds_exec_refuse_value(c, t, a, why.text);
    }
  }
  e->at++;
  return aim(c) == TDS_OK ? TDS_NEXT : tds_exec_no_memory(c, t);
}

/* ------------------------------------------------------------------ the step */

void tds_check_begin(struct weir_drv_conn *c) {
  c->exec.at = 0;
  (void)aim(c); /* at the statement, which needs no memory */
  (void)tds_conn_go(c, TDS_STEP_CHECK);
}

weir_drv_status tds_exec_check(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_exec *e = &c->exec;
  uint32_t n = 0;
  (void)tds_args_all(c, &n);
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
  return tds_exec_checked(c, t);
}
