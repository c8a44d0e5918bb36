/* SPDX-License-Identifier: MIT */
/* RPC requests (MS-TDS 2.2.6.6): sp_executesql with its parameters.  Pure. */
#ifndef TDSD_SERVER_RPC_H
#define TDSD_SERVER_RPC_H

#include "server_ast.h"
#include "server_wire.h"

struct tdsd_rpc {
  const char *sql; /* in the arena */
  size_t sql_len;
  struct tdsd_fault fault; /* number 0 unless the call cannot be served */
};

/* Reads a call behind ALL_HEADERS; its parameters become variables of batch.
 * Returns 0, with out_rpc->fault set if the procedure is not one we have; -1
 * with the problem if the bytes are malformed. */
int tdsd_rpc_parse(const uint8_t *body,
                   size_t len,
                   struct tdsd_arena *arena,
                   struct tdsd_batch *batch,
                   struct tdsd_rpc *out_rpc,
                   struct tdsd_problem *problem);

#endif
