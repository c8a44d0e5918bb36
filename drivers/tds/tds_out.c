/* SPDX-License-Identifier: MIT */
/* tds_out.c - output values (RETURNVALUE, MS-TDS 2.2.7.19).
 *
 * A value is told by its name, and if it has none by its ordinal, which counts
 * the parameters of the call from 0; never by its place in the stream, because
 * servers send large values last. */
#include <string.h>
#include <strings.h>

#include "tds_conn.h"
#include "tds_exec.h"
#include "tds_stmt.h"

static struct tds_output *outputs(const struct weir_drv_conn *c,
                                  uint32_t *out_n) {
  void *all = c->outputs.list.p; /* aligned for any type */
  *out_n = (uint32_t)(c->outputs.list.n / sizeof(struct tds_output));
  return all;
}

void tds_out_clear(struct weir_drv_conn *c) {
  struct tds_outputs *o = &c->outputs;
  uint32_t n = 0;
  struct tds_output *all = outputs(c, &n);
  for (uint32_t i = 0; i < n; i++) {
    tds_buf_fini(&all[i].value);
  }
  tds_buf_fini(&o->value);
  o->list.n = 0;
  o->wanted = false;
  o->lead = 0;
  o->front = 0;
  o->told = 0;
  o->copied = 0;
  o->block = NULL;
  o->block_n = 0;
}

int tds_out_expect(struct weir_drv_conn *c, uint32_t lead, uint32_t front) {
  uint32_t n = 0;
  const struct tds_arg *args = tds_args_all(c, &n);
  tds_out_clear(c);
  c->outputs.lead = lead;
  for (uint32_t i = 0; i < n; i++) {
    struct tds_output one = {.arg = i, .value = {.mem = &c->drv->mem}};
    if (args[i].returns &&
        tds_buf_add(&c->outputs.list, &one, sizeof one) != TDS_OK) {
      return TDS_E_NOMEM;
    }
  }
  c->outputs.front = front;
  c->outputs.wanted =
      c->outputs.list.n > 0 || c->stmts.mode == TDS_STMT_PREPARE;
  return TDS_OK;
}

/* ------------------------------------------------------------------- reading */

/* The block is always the one value that is being read. */
static void *space(void *ctx, size_t n) {
  struct weir_drv_conn *c = ctx;
  c->outputs.value.n = 0;
  return tds_buf_room(&c->outputs.value, n == 0 ? 1 : n) == TDS_OK
             ? c->outputs.value.p
             : NULL;
}

static void *grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct weir_drv_conn *c = ctx;
  (void)block;
  c->outputs.value.n = n;
  return tds_buf_room(&c->outputs.value, bigger - n) == TDS_OK
             ? c->outputs.value.p
             : NULL;
}

static int cell(void *ctx, const void *p, size_t n) {
  struct weir_drv_conn *c = ctx;
  c->outputs.null = p == NULL;
  c->outputs.value.n = n;
  return 0;
}

void tds_out_init(struct weir_drv_conn *c) {
  struct tds_outputs *o = &c->outputs;
  o->list.mem = &c->drv->mem;
  o->value.mem = &c->drv->mem;
  o->sink.ctx = c;
  o->sink.space = space;
  o->sink.grow = grow;
  o->sink.cell = cell;
}

void tds_out_fini(struct weir_drv_conn *c) {
  tds_out_clear(c);
  tds_buf_fini(&c->outputs.list);
}

/* ------------------------------------------------------------------ matching */

/* Names of variables count without case; that is the server's rule for ASCII,
 * and what it sends back is what it was sent. */
static bool is_named(const struct tds_arg *a, const struct tds_decoder *d) {
  return d->value_name_n == a->name.n &&
         strncasecmp((const char *)a->name.p, (const char *)d->text.p,
                     a->name.n) == 0;
}

/* The output of that argument, if it is one.  Outputs are in the order of the
 * arguments. */
static struct tds_output *find_arg(const struct weir_drv_conn *c,
                                   uint32_t arg) {
  uint32_t n = 0;
  struct tds_output *all = outputs(c, &n);
  uint32_t low = 0;
  while (low < n) {
    uint32_t middle = low + (n - low) / 2;
    if (all[middle].arg == arg) {
      return &all[middle];
    }
    if (all[middle].arg < arg) {
      low = middle + 1;
    } else {
      n = middle;
    }
  }
  return NULL;
}

/* Name and ordinal nearly always agree, so the ordinal is looked at first. */
static struct tds_output *find(const struct weir_drv_conn *c) {
  const struct tds_decoder *d = &c->decoder;
  uint32_t n = 0;
  uint32_t n_args = 0;
  struct tds_output *all = outputs(c, &n);
  const struct tds_arg *args = tds_args_all(c, &n_args);
  struct tds_output *by_ordinal = d->column >= c->outputs.lead
                                      ? find_arg(c, d->column - c->outputs.lead)
                                      : NULL;
  if (d->value_name_n == 0 ||
      (by_ordinal != NULL && is_named(&args[by_ordinal->arg], d))) {
    return by_ordinal;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (is_named(&args[all[i].arg], d)) {
      return &all[i];
    }
  }
  return by_ordinal;
}

void tds_out_take(struct weir_drv_conn *c) {
  struct tds_outputs *o = &c->outputs;
  if (tds_stmt_take(c)) {
    return;
  }
  struct tds_output *to = find(c);
  if (to == NULL) {
    return; /* the result of a function, or of no interest */
  }
  struct tds_buf kept = to->value;
  to->seen = true;
  to->null = o->null;
  to->type = c->decoder.value.type;
  to->value = o->value;
  o->value = kept;
}

/* -------------------------------------------------------------------- giving */

static weir_drv_status missing(struct weir_drv_conn *c,
                               struct tds_turn *t,
                               const struct tds_arg *a) {
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                       "the server did not return the value of %.*s",
                       (int)a->name.n, (const char *)a->name.p);
}

/* The columns of the row: names of the parameters, types of the server. */
static weir_drv_status give_columns(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  uint32_t n = 0;
  uint32_t n_args = 0;
  const struct tds_output *all = outputs(c, &n);
  const struct tds_arg *args = tds_args_all(c, &n_args);
  for (uint32_t i = 0; i < n; i++) {
    if (!all[i].seen) {
      return missing(c, t, &args[all[i].arg]);
    }
  }
  if (tds_conn_room_for_columns(c, n) != TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  for (uint32_t i = 0; i < n; i++) {
    const struct tds_arg *a = &args[all[i].arg];
    tds_conn_fill_column(&c->columns[i], &all[i].type, a->name);
    c->columns[i].nullable = 1;
  }
  c->n_columns = n;
  return WEIR_DRV_OUT;
}

/* Copies a part of a value: a large one must not hold up the caller.
 * Returns TDS_NEXT when the cell is in the batch. */
static weir_drv_status give_cell(struct weir_drv_conn *c,
                                 struct tds_turn *t,
                                 struct tds_output *v) {
  struct tds_outputs *o = &c->outputs;
  const struct tds_sink *sink = &c->sink;
  if (v->null) {
    return sink->cell(sink->ctx, NULL, 0) == 0 ? TDS_NEXT
                                               : tds_conn_no_memory(c, t);
  }
  if (o->block == NULL) {
    o->block = sink->space(sink->ctx, v->value.n == 0 ? 1 : v->value.n);
    o->block_n = 0;
    if (o->block == NULL) {
      return tds_conn_no_memory(c, t);
    }
  }
  size_t n = v->value.n - (size_t)o->block_n;
  n = n < TDS_STEP_BYTES ? n : TDS_STEP_BYTES;
  if (n > 0) {
    memcpy(o->block + o->block_n, v->value.p + o->block_n, n);
  }
  o->block_n += n;
  c->spent += n;
  if (o->block_n < v->value.n) {
    return tds_conn_again(t);
  }
  uint8_t *block = o->block;
  o->block = NULL;
  if (sink->cell(sink->ctx, block, v->value.n) != 0) {
    return tds_conn_no_memory(c, t);
  }
  tds_buf_fini(&v->value);
  return TDS_NEXT;
}

static weir_drv_status give_row(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_outputs *o = &c->outputs;
  uint32_t n = 0;
  struct tds_output *all = outputs(c, &n);
  for (; o->copied < n; o->copied++) {
    if (c->spent > TDS_STEP_BYTES) {
      return tds_conn_again(t);
    }
    weir_drv_status rc = give_cell(c, t, &all[o->copied]);
    if (rc != TDS_NEXT) {
      return rc;
    }
  }
  return WEIR_DRV_ROWS;
}

weir_drv_status tds_out_give(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_outputs *o = &c->outputs;
  if (o->list.n == 0 || o->told == 2) {
    return TDS_NEXT;
  }
  weir_drv_status rc = o->told == 0 ? give_columns(c, t) : give_row(c, t);
  if (rc == WEIR_DRV_OUT || rc == WEIR_DRV_ROWS) {
    o->told++;
  }
  return rc;
}
