/* SPDX-License-Identifier: MIT */
/* first.c - a connection from a pool, a statement, its first column: of text. */
#include <stdio.h>
#include <string.h>

#include "weir.h"

/* The demonstration server: tdsd --port 1433 --tls self-signed */
static const char demo_server[] =
    "Driver=tds;Server=127.0.0.1;User ID=sa;Password=x;"
    "TrustServerCertificate=true";

static void print_rows(const struct weir_item *item) {
  for (uint64_t i = 0; i < item->n_rows; i++) {
    const struct weir_cell *cell = &item->cells[i * item->n_columns];
    (void)printf("%.*s\n", cell->p == NULL ? 4 : (int)cell->n,
                 cell->p == NULL ? "NULL" : (const char *)cell->p);
  }
  (void)weir_rows_free(item->rows);
}

int main(int argc, char **argv) {
  const char *conninfo = argc > 1 ? argv[1] : demo_server;
  const char *sql = argc > 2 ? argv[2] : "SELECT N'hello' AS greeting";
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  weir_h engine = 0;
  weir_h pool = 0;
  weir_h lease = 0;
  int ok =
      weir_engine_open(NULL, &engine, &err) == WEIR_OK &&
      weir_pool_open(engine, conninfo, strlen(conninfo), &pool, &err) == 0 &&
      weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &err) == WEIR_OK &&
      weir_exec(lease, sql, strlen(sql), NULL, &err) == WEIR_OK;
  while (ok && item.type != WEIR_ITEM_DONE) {
    ok = weir_next(lease, &item, &err) == WEIR_OK;
    if (ok && item.type == WEIR_ITEM_ROWS) {
      print_rows(&item);
    }
  }
  if (!ok) {
    (void)fprintf(stderr, "%s\n", err.message);
  }
  (void)weir_release(lease); /* 0 is no lease, and says so */
  (void)weir_engine_shutdown(engine, 1000000000, NULL);
  return ok ? 0 : 1;
}
