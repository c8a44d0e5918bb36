/* SPDX-License-Identifier: MIT */
/* Result sets: columns, and cells into the engine's batches. */
#include <stdio.h>
#include <string.h>

#include "mock.h"

/* Bounds of one batch, so that filling it stays far below the millisecond that
 * rule B1 allows. */
#define BATCH_ROWS  1024u
#define BATCH_CELLS 4096u

static weir_drv_status no_memory(struct weir_drv_error *err) {
  (void)mock_fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                  "no memory for rows");
  return WEIR_DRV_FAIL;
}

static bool columns_open(weir_drv_conn *c, uint32_t n) {
  const struct weir_drv_host *host = c->drv->host;
  if (n > c->columns_cap) {
    void *fresh = host->alloc(host->ctx, n * sizeof *c->columns, 0);
    if (fresh == NULL) {
      return false;
    }
    if (c->columns != NULL) {
      host->release(host->ctx, c->columns);
    }
    c->columns = fresh;
    c->columns_cap = n;
  }
  c->n_columns = n;
  return true;
}

bool mock_scratch_open(weir_drv_conn *c) {
  const struct weir_drv_host *host = c->drv->host;
  if (c->scratch == NULL) {
    c->scratch =
        host->alloc(host->ctx, MOCK_SCRATCH_MAX * sizeof *c->scratch, 0);
  }
  return c->scratch != NULL;
}

static void describe(weir_drv_conn *c, uint32_t i, int32_t type) {
  struct mock_column *col = &c->columns[i];
  memset(&col->column, 0, sizeof col->column);
  col->column.struct_size = (uint32_t)sizeof col->column;
  col->column.type = type;
  col->column.nullable = -1;
  col->column.name =
      (struct weir_drv_text){.p = col->name, .n = strlen(col->name)};
}

/* The first value of a column that is not null gives its type. */
static int32_t type_of(const struct mock_result *r, uint32_t col) {
  uint64_t rows = r->varies ? r->n_rows : 1;
  if (r->cells == NULL) {
    return WEIR_DRV_T_INT;
  }
  for (uint64_t row = 0; row < rows; row++) {
    int32_t type = r->cells[row * r->n_cols + col].type;
    if (type != WEIR_DRV_T_NULL) {
      return type;
    }
  }
  return WEIR_DRV_T_TEXT;
}

weir_drv_status mock_rows_begin(weir_drv_conn *c,
                                const struct mock_action *a,
                                struct weir_drv_error *err) {
  c->result = (struct mock_result){.cells = a->cells,
                                   .n_rows = a->n,
                                   .n_cols = a->n_cols,
                                   .varies = a->n_cells > a->n_cols};
  if (!columns_open(c, a->n_cols)) {
    return no_memory(err);
  }
  for (uint32_t i = 0; i < a->n_cols; i++) {
    (void)snprintf(c->columns[i].name, sizeof c->columns[i].name, "c%u", i + 1);
    describe(c, i, type_of(&c->result, i));
  }
  return WEIR_DRV_DONE;
}

weir_drv_status mock_rows_begin_scratch(weir_drv_conn *c,
                                        const char *const *names,
                                        uint64_t n_rows,
                                        uint32_t n_cols,
                                        struct weir_drv_error *err) {
  c->result = (struct mock_result){.cells = c->scratch,
                                   .n_rows = n_rows,
                                   .n_cols = n_cols,
                                   .varies = n_rows > 1};
  if (!columns_open(c, n_cols)) {
    return no_memory(err);
  }
  for (uint32_t i = 0; i < n_cols; i++) {
    struct mock_column *col = &c->columns[i];
    if (names != NULL) {
      (void)snprintf(col->name, sizeof col->name, "%s", names[i]);
    } else {
      (void)snprintf(col->name, sizeof col->name, i == 0 ? "text" : "p%u", i);
    }
    describe(c, i, type_of(&c->result, i));
  }
  return WEIR_DRV_DONE;
}

/* The i-th parameter that is given back. */
static struct weir_drv_param out_param(const weir_drv_conn *c, uint32_t i) {
  struct weir_drv_param p = {0};
  for (uint32_t at = 0, seen = 0; seen <= i; at++) {
    p = mock_param_at(c, at);
    seen += (p.flags & WEIR_DRV_PARAM_OUT) != 0;
  }
  return p;
}

static void name_output(weir_drv_conn *c, uint32_t i, bool scripted) {
  struct mock_column *col = &c->columns[i];
  struct weir_drv_param p = {0};
  if (!scripted) {
    p = out_param(c, i);
  }
  if (p.name.n == 0 || p.name.n >= sizeof col->name) {
    (void)snprintf(col->name, sizeof col->name, "o%u", i + 1);
  } else {
    memcpy(col->name, p.name.p, p.name.n);
    col->name[p.name.n] = '\0';
  }
}

weir_drv_status mock_rows_begin_outputs(weir_drv_conn *c,
                                        const struct mock_action *a,
                                        struct weir_drv_error *err) {
  bool scripted = a->n_cells != 0;
  uint32_t n = scripted ? a->n_cells : c->op.n_outs;
  c->result = (struct mock_result){
      .cells = scripted ? a->cells : c->outs, .n_rows = 1, .n_cols = n};
  if (!columns_open(c, n)) {
    return no_memory(err);
  }
  for (uint32_t i = 0; i < n; i++) {
    name_output(c, i, scripted);
    describe(c, i, type_of(&c->result, i));
  }
  return WEIR_DRV_DONE;
}

/* ------------------------------------------------------------------- cells */

static void put_u64(uint8_t *out, uint64_t v) {
  for (uint32_t i = 0; i < 8; i++) {
    out[i] = (uint8_t)(v >> (8 * i));
  }
}

static uint64_t size_of(const struct mock_cell *cell) {
  switch (cell->type) {
  case WEIR_DRV_T_NULL:
    return 0;
  case WEIR_DRV_T_BOOL:
    return 1;
  case WEIR_DRV_T_INT:
  case WEIR_DRV_T_UINT:
  case WEIR_DRV_T_FLOAT:
    return 8;
  default:
    return cell->text.n;
  }
}

static bool put_cell(const struct weir_drv_host *host,
                     weir_drv_batch *batch,
                     const struct mock_cell *cell) {
  uint64_t n = size_of(cell);
  if (cell->type == WEIR_DRV_T_NULL) {
    return host->batch_cell(batch, NULL, UINT64_MAX) == WEIR_DRV_DONE;
  }
  /* An empty text still needs a block: its cell is not null. */
  uint8_t *block = host->batch_space(batch, n == 0 ? 1 : n);
  if (block == NULL) {
    return false;
  }
  if (cell->type == WEIR_DRV_T_BOOL) {
    block[0] = cell->i != 0;
  } else if (cell->type == WEIR_DRV_T_INT || cell->type == WEIR_DRV_T_UINT ||
             cell->type == WEIR_DRV_T_FLOAT) {
    put_u64(block, (uint64_t)cell->i);
  } else if (n != 0) {
    memcpy(block, cell->text.p, n);
  }
  return host->batch_cell(batch, block, n) == WEIR_DRV_DONE;
}

/* Puts the next row; adds its bytes to *bytes. */
static bool put_row(weir_drv_conn *c, weir_drv_batch *batch, uint64_t *bytes) {
  struct mock_result *r = &c->result;
  for (uint32_t col = 0; col < r->n_cols; col++) {
    struct mock_cell counted = {.type = WEIR_DRV_T_INT,
                                .i = (int64_t)(r->row * r->n_cols + col)};
    uint64_t at = (r->varies ? r->row * r->n_cols : 0) + col;
    const struct mock_cell *cell = r->cells == NULL ? &counted : &r->cells[at];
    if (!put_cell(c->drv->host, batch, cell)) {
      return false;
    }
    *bytes += size_of(cell);
  }
  r->row++;
  return true;
}

static uint64_t row_limit(const weir_drv_conn *c) {
  uint64_t limit = BATCH_CELLS / c->result.n_cols;
  limit = limit == 0 ? 1 : limit;
  limit = limit > BATCH_ROWS ? BATCH_ROWS : limit;
  uint32_t asked = c->op.exec.batch_rows;
  return asked != 0 && asked < limit ? asked : limit;
}

weir_drv_status mock_rows_fill(weir_drv_conn *c, struct weir_drv_error *err) {
  const struct weir_drv_host *host = c->drv->host;
  struct mock_result *r = &c->result;
  uint64_t bytes = 0;
  uint64_t limit = row_limit(c);
  uint64_t byte_limit = c->op.exec.batch_bytes;
  if (r->row == r->n_rows) {
    return MOCK_MORE;
  }
  weir_drv_batch *batch = host->batch(host->ctx, c->hconn);
  if (batch == NULL) {
    return no_memory(err);
  }
  for (uint64_t i = 0; i < limit && r->row < r->n_rows; i++) {
    if (!put_row(c, batch, &bytes)) {
      return no_memory(err);
    }
    mock_count(c->drv, MOCK_N_ROWS);
    /* The next row may be as long as the longest so far; an average is as good
     * a guess, and a bound on a batch is not a promise about one row. */
    if (byte_limit != 0 && bytes + bytes / (i + 1) > byte_limit) {
      break;
    }
  }
  return WEIR_DRV_ROWS;
}
