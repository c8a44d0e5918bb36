/* SPDX-License-Identifier: MIT */
/* RPC requests (MS-TDS 2.2.6.6): the calls of one message with their arguments.
 * Pure. */
#ifndef TDSD_SERVER_RPC_H
#define TDSD_SERVER_RPC_H

#include "server_value.h"
#include "server_wire.h"

struct tdsd_call {
  const char *name; /* the last part, also of a call by number */
  const char *whole;
  uint32_t flags; /* 1 recompile, 2 no metadata, 4 metadata is known */
  bool skipped;   /* the client took it back (NoExec flag) */
  struct tdsd_variable *params;
  uint32_t nparams;
  struct tdsd_call *next;
};

/* Reads the calls behind ALL_HEADERS.
 * Returns 0, with *out_fault set (number not 0) if a parameter has a type that
 * this server cannot take, then nothing of the message can be served; -1 with
 * the problem if the bytes are malformed.
 * Owns: all memory is the arena's; texts are copied. */
int tdsd_rpc_parse(const uint8_t *body,
                   size_t len,
                   uint32_t version,
                   struct tdsd_arena *arena,
                   struct tdsd_call **out_first,
                   struct tdsd_fault *out_fault,
                   struct tdsd_problem *problem);

#endif
