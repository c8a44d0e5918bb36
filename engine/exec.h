/* SPDX-License-Identifier: MIT */
/* exec.h - statements on a lease, by a blocking caller. */
#ifndef WEIR_EXEC_H
#define WEIR_EXEC_H

#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "lease.h"

struct weir_drv_hconn;

/* weir_exec() and weir_next(), within a call on the lease.  opts has been checked
 * (params.h). */
int weir__exec(struct weir__lease *lease,
               struct weir__caller *self,
               const char *sql,
               uint64_t sql_len,
               const struct weir_exec_opts *opts,
               struct weir_error *err);
int weir__exec_next(struct weir__lease *lease,
                    struct weir__caller *self,
                    struct weir_item *out,
                    struct weir_error *err);

/* Drops what has not been told of the last request, which is at its end: the
 * lease ends and nothing of it is the next user's. */
void weir__exec_forget(struct weir_drv_hconn *session);

/* The request that was read is at its end. */
void weir__exec_ended(struct weir_drv_hconn *session);

/* Longest statement: 64 MiB, twice what SQL Server takes. */
#define WEIR_SQL_MAX (UINT64_C(64) << 20)

#endif
