/* SPDX-License-Identifier: MIT */
/* tds_exec.c - exec: a batch of text, or a call of sp_executesql with parameters
 * (MS-TDS 2.2.6.6). */
#include "tds_exec.h"

#include <string.h>

#include "tds_conn.h"
#include "tds_stmt.h"
#include "tds_txn.h"

/* ------------------------------------------------------------------- the call */

/* sp_executesql: statement, declarations.  *out_lead: parameters in front. */
static int put_executesql(struct weir_drv_conn *c, uint32_t *out_lead) {
  struct tds_exec *e = &c->exec;
  int rc = tds_rpc_call(&e->rpc, TDS_PROC_EXECUTESQL);
  rc = rc == TDS_OK
           ? tds_rpc_text(&e->rpc, e->sql, e->sql_bytes, tds_args_collation(c))
           : rc;
  *out_lead = 2;
  return rc == TDS_OK ? tds_rpc_text(&e->rpc, tds_args_types(c), e->types_bytes,
                                     tds_args_collation(c))
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

static weir_drv_status put_call(struct weir_drv_conn *c, struct tds_turn *t) {
  uint32_t front = 0;
  uint32_t lead = 0;
  tds_request_clear(c);
  tds_rpc_clear(&c->exec.rpc);
  tds_rpc_secret(&c->exec.rpc, c->exec.secret);
  c->exec.rpc.back = c->exec.back;
  if (put_heads(c, &front, &lead) != TDS_OK) {
    return tds_exec_no_memory(c, t);
  }
  weir_drv_status rc = tds_args_put(c, t);
  if (rc != TDS_NEXT) {
    return rc;
  }
  if (tds_out_expect(c, lead, front) != TDS_OK) {
    return tds_exec_no_memory(c, t);
  }
  if (c->exec.secret) {
    tds_link_secret(&c->link, true);
  }
  return tds_request_begin(c, TDS_OP_EXEC, &rpc_source);
}

weir_drv_status tds_exec_checked(struct weir_drv_conn *c, struct tds_turn *t) {
  if (c->exec.args.n == 0 && !c->exec.prepare) {
    return start_batch(c);
  }
  return tds_args_declare(c) == TDS_OK ? put_call(c, t)
                                       : tds_exec_no_memory(c, t);
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
  return put_call(c, t);
}

/* ----------------------------------------------------------------- operation */

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
    return tds_exec_refuse(c, t, WEIR_DRV_K_RESOURCE,
                           "the statement is longer than the server takes");
  }
  weir_drv_status rc = tds_args_take(c, t, a);
  if (rc != TDS_NEXT) {
    return rc;
  }
  c->batch_rows = a->batch_rows == 0 ? TDS_ROWS_DEFAULT : a->batch_rows;
  c->batch_bytes = a->batch_bytes == 0 ? TDS_BYTES_DEFAULT : a->batch_bytes;
  c->no_rows = (a->flags & WEIR_DRV_XF_NO_ROWS) != 0;
  c->op = TDS_OP_EXEC;
  c->cancelled = false;
  tds_check_begin(c);
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
  const struct weir_drv_host *host = &c->drv->host;
  if (e->secret && e->args.n > 0) {
    host->wipe(host->ctx, e->args.p, e->args.n);
  }
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

void tds_exec_init(struct weir_drv_conn *c) {
  const struct tds_mem *mem = &c->drv->mem;
  tds_rpc_init(&c->exec.rpc, mem);
  c->exec.args.mem = mem;
  c->exec.types.mem = mem;
  tds_out_init(c);
}

void tds_exec_fini(struct weir_drv_conn *c) {
  tds_exec_end(c);
  tds_out_fini(c);
  tds_buf_fini(&c->exec.args);
  tds_buf_fini(&c->exec.types);
  tds_rpc_fini(&c->exec.rpc);
}
