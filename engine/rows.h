/* SPDX-License-Identifier: MIT */
/* rows.h - a batch of rows: engine memory that the driver fills and the
 * embedder reads, so rows outlive the lease, the connection and its driver.
 *
 * Cells are kept row-major beside an arena of chunks that hold their bytes; no
 * byte moves once it has been handed over. */
#ifndef WEIR_ROWS_H
#define WEIR_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

/* Most bytes one cell may have: twice SQL Server's largest value (2 GiB - 1 of
 * UTF-16 gives at most 3 GiB of UTF-8). */
#define WEIR_CELL_MAX (UINT64_C(4) << 30)

/* An empty batch for rows of n_cols cells, or NULL. */
weir_drv_batch *weir__batch_new(uint32_t n_cols);
void weir__batch_free(weir_drv_batch *batch);

/* The host functions of weir_driver.h by these names. */
void *weir__batch_space(weir_drv_batch *batch, uint64_t n);
void *weir__batch_grow(weir_drv_batch *batch,
                       void *block,
                       uint64_t n,
                       uint64_t bigger);
weir_drv_status weir__batch_cell(weir_drv_batch *batch,
                                 const void *p,
                                 uint64_t n);

/* True once weir__batch_cell() has refused a cell because its bytes are not the
 * batch's. */
bool weir__batch_strayed(const weir_drv_batch *batch);

/* True if the last row is whole. */
bool weir__batch_whole(const weir_drv_batch *batch);

/* Row-major cells; *out_n_rows may be 0. */
const struct weir_cell *weir__batch_cells(const weir_drv_batch *batch,
                                          uint64_t *out_n_rows);

#endif
