/* SPDX-License-Identifier: MIT */
/* What a mock server does with the parameters of a statement. */
#include <stddef.h>
#include <string.h>

#include "mock.h"

_Static_assert(MOCK_SCRATCH_MAX == MOCK_PARAMS_MAX * MOCK_PARAM_FACTS,
               "all of \"params\" fits");

struct weir_drv_param mock_param_at(const weir_drv_conn *c, uint32_t i) {
  const struct weir_drv_exec_args *e = &c->op.exec;
  struct weir_drv_param p = {0};
  const char *at = (const char *)e->params + (size_t)i * e->params_stride;
  memcpy(&p, at, sizeof p); /* the stride is no less: take_exec_args() */
  return p;
}

struct mock_cell mock_param_cell(const struct weir_drv_value *v) {
  struct mock_cell cell = {.type = v->type, .i = v->i};
  if (v->type == WEIR_DRV_T_UINT) {
    cell.i = (int64_t)v->u;
  } else if (v->type == WEIR_DRV_T_FLOAT) {
    memcpy(&cell.i, &v->f, sizeof v->f);
  }
  cell.text = (struct weir_drv_text){.p = v->p, .n = v->n};
  return cell;
}

static weir_drv_status no_memory(struct weir_drv_error *err) {
  return mock_fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                   "no memory for rows");
}

weir_drv_status mock_param_echo(weir_drv_conn *c,
                                const struct weir_drv_text *text,
                                struct weir_drv_error *err) {
  if (!mock_scratch_open(c)) {
    return no_memory(err);
  }
  c->scratch[0] = (struct mock_cell){.type = WEIR_DRV_T_TEXT, .text = *text};
  for (uint32_t i = 0; i < c->op.exec.n_params; i++) {
    struct weir_drv_param p = mock_param_at(c, i);
    c->scratch[i + 1] = mock_param_cell(&p.value);
  }
  return mock_rows_begin_scratch(c, NULL, 1, c->op.exec.n_params + 1, err);
}

static struct mock_cell text_cell(struct weir_drv_text text) {
  return (struct mock_cell){
      .type = text.n == 0 ? WEIR_DRV_T_NULL : WEIR_DRV_T_TEXT, .text = text};
}

static struct mock_cell int_cell(int64_t i) {
  return (struct mock_cell){.type = WEIR_DRV_T_INT, .i = i};
}

weir_drv_status mock_param_list(weir_drv_conn *c, struct weir_drv_error *err) {
  static const char *const names[] = {"name", "type", "hint", "out"};
  if (!mock_scratch_open(c)) {
    return no_memory(err);
  }
  for (uint32_t i = 0; i < c->op.exec.n_params; i++) {
    struct weir_drv_param p = mock_param_at(c, i);
    struct mock_cell *row = &c->scratch[(size_t)i * MOCK_PARAM_FACTS];
    row[0] = text_cell(p.name);
    row[1] = int_cell(p.value.type);
    row[2] = text_cell(p.type_hint);
    row[3] = int_cell((p.flags & WEIR_DRV_PARAM_OUT) != 0);
  }
  return mock_rows_begin_scratch(c, names, c->op.exec.n_params,
                                 MOCK_PARAM_FACTS, err);
}

bool mock_param_take(weir_drv_conn *c) {
  const struct weir_drv_host *host = c->drv->host;
  struct mock_op *op = &c->op;
  op->n_outs = 0;
  for (uint32_t i = 0; i < op->exec.n_params; i++) {
    struct weir_drv_param p = mock_param_at(c, i);
    if ((p.flags & WEIR_DRV_PARAM_OUT) == 0) {
      continue;
    }
    if (c->outs == NULL) {
      c->outs = host->alloc(host->ctx, MOCK_PARAMS_MAX * sizeof *c->outs, 0);
    }
    if (c->outs == NULL) {
      return false;
    }
    c->outs[op->n_outs++] = mock_param_cell(&p.value);
  }
  return true;
}

weir_drv_status mock_param_out(weir_drv_conn *c,
                               const struct mock_action *a,
                               struct weir_drv_error *err) {
  if (a->n == 0 || a->n > c->op.n_outs) {
    return mock_fail(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_SYNTAX,
                     "there is no output parameter %llu",
                     (unsigned long long)a->n);
  }
  c->outs[a->n - 1] = text_cell(a->text);
  return WEIR_DRV_DONE;
}

weir_drv_status mock_param_need(const weir_drv_conn *c,
                                uint64_t n,
                                struct weir_drv_error *err) {
  return c->op.exec.n_params == n
             ? WEIR_DRV_DONE
             : mock_fail(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_SYNTAX,
                         "%llu parameters are needed, %u were given",
                         (unsigned long long)n, c->op.exec.n_params);
}
