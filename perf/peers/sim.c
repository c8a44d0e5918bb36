/* SPDX-License-Identifier: MIT */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

struct sim_conn *sim_open(struct sim *sim) {
  struct sim_conn *conn = aligned_alloc(64, sizeof *conn);
  if (conn == NULL) {
    return NULL;
  }
  atomic_init(&conn->held, false);
  conn->number = (uint32_t)atomic_fetch_add_explicit(&sim->connects, 1,
                                                     memory_order_relaxed);
  if (sim->connect_delay_ns > 0) {
    clock_sleep(sim->connect_delay_ns);
  }
  return conn;
}

void sim_close(struct sim_conn *conn) {
  free(conn);
}

void sim_begin(struct sim_conn *conn) {
  /* A plain look and a plain store: no locked instruction is added to what is
   * measured. */
  if (atomic_load_explicit(&conn->held, memory_order_relaxed)) {
    (void)fprintf(stderr, "peers: connection %u was handed out twice\n",
                  conn->number);
    abort();
  }
  atomic_store_explicit(&conn->held, true, memory_order_relaxed);
}

void sim_end(struct sim_conn *conn) {
  atomic_store_explicit(&conn->held, false, memory_order_relaxed);
}
