/* SPDX-License-Identifier: MIT */
/* sim.h - the connections of peers: opening one sleeps for the connect delay,
 * nothing else is behind it. */
#ifndef PEERS_SIM_H
#define PEERS_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/* A cache line each, as a connection is written by whoever holds it. */
struct sim_conn {
  _Alignas(64) _Atomic bool held;
  uint32_t number;
};

struct sim {
  int64_t connect_delay_ns;
  _Atomic uint64_t connects;
};

/* Opens a connection; NULL if there is no memory. */
struct sim_conn *sim_open(struct sim *sim);
void sim_close(struct sim_conn *conn);

/* What a user of a connection does first and last.  Two users at once end the
 * program: a pool that hands one connection out twice is no peer. */
void sim_begin(struct sim_conn *conn);
void sim_end(struct sim_conn *conn);

#endif
