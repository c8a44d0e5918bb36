/* SPDX-License-Identifier: MIT */
#include "server_rpc.h"

int tdsd_rpc_parse(const uint8_t *body,
                   size_t len,
                   uint32_t version,
                   struct tdsd_arena *arena,
                   struct tdsd_batch *batch,
                   struct tdsd_rpc *out_rpc,
                   struct tdsd_problem *problem) {
  (void)body;
  (void)len;
  (void)version;
  (void)arena;
  (void)batch;
  (void)problem;
  *out_rpc = (struct tdsd_rpc){.sql = ""};
  (void)tdsd_fault_set(&out_rpc->fault, 2812, 16, "RPC is not built yet.");
  return 0;
}
