/* SPDX-License-Identifier: MIT */
/* Between the files that read parameters (server_rpc_value.c, _variant.c). */
#ifndef TDSD_SERVER_RPC_JOB_H
#define TDSD_SERVER_RPC_JOB_H

#include "server_rpc_value.h"

/* One parameter's value under way. */
struct tdsd_rpc_job {
  struct tdsd_reader *reader;
  struct tdsd_arena *arena;
  struct tdsd_value *out;
  struct tdsd_problem *problem;
};

/* Each reads or takes a value of the kind that out->type has, and returns 0, or
 * -1 with the problem. */

/* Bytes of a string in the wire's encoding. */
int tdsd_rpc_take_string(const struct tdsd_rpc_job *job,
                         const uint8_t *bytes,
                         size_t len);
/* A value of 1, 2, 4 or 8 bytes. */
int tdsd_rpc_take_simple(const struct tdsd_rpc_job *job, size_t len);
int tdsd_rpc_take_decimal(const struct tdsd_rpc_job *job, size_t len);
int tdsd_rpc_take_date(const struct tdsd_rpc_job *job, size_t len);
/* Gives a null the type that the size of its TYPE_INFO tells. */
void tdsd_rpc_narrow(struct tdsd_value *out, size_t size);
/* A sql_variant behind its type number. */
int tdsd_rpc_read_variant(const struct tdsd_rpc_job *job);

/* "a KIND parameter with WHAT of N". */
int tdsd_rpc_does_not_fit(const struct tdsd_rpc_job *job,
                          const char *what,
                          size_t n);

#endif
