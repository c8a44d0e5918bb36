/* SPDX-License-Identifier: MIT */
/* TYPE_INFO and values of RPC parameters, decoded.  Pure. */
#ifndef TDSD_SERVER_RPC_VALUE_H
#define TDSD_SERVER_RPC_VALUE_H

#include "server_value.h"
#include "server_wire.h"

/* A reading end over bytes that never passes their end. */
struct tdsd_reader {
  const uint8_t *at;
  size_t left;
  bool over; /* something was read that is not there; zeros came instead */
};

uint32_t tdsd_read_u8(struct tdsd_reader *reader);
uint32_t tdsd_read_u16(struct tdsd_reader *reader);
uint32_t tdsd_read_u32(struct tdsd_reader *reader);
uint64_t tdsd_read_u64(struct tdsd_reader *reader);
/* As many bytes, at most 8. */
uint64_t tdsd_read_le(struct tdsd_reader *reader, size_t n);
/* Returns n bytes, or NULL (and marks the reader) if they are not there. */
const uint8_t *tdsd_read_bytes(struct tdsd_reader *reader, size_t n);

/* Reads TYPE_INFO and the value behind it.
 * Returns 0, with the fault (number not 0) if it is of a type that a server may
 * refuse: then the reader stands nowhere; -1 with the problem: unknown type,
 * lengths that do not fit. */
int tdsd_rpc_value(struct tdsd_reader *reader,
                   struct tdsd_arena *arena,
                   struct tdsd_value *out,
                   struct tdsd_fault *fault,
                   struct tdsd_problem *problem);

#endif
