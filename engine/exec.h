/* SPDX-License-Identifier: MIT */
/* exec.h - statements on a lease: by a blocking caller, and the parts of which
 * submit_exec.c makes the form that does not wait. */
#ifndef WEIR_EXEC_H
#define WEIR_EXEC_H

#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "command.h"
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

/* All that can be refused before the driver is asked, and copies of what it is
 * given, which live as long as the request.  After WEIR_OK comes one of the two
 * below. */
int weir__exec_prepare(struct weir_drv_hconn *session,
                       const char *sql,
                       uint64_t sql_len,
                       const struct weir_exec_opts *opts,
                       struct weir_error *err);
void weir__exec_drop(struct weir_drv_hconn *session);
void weir__exec_send(struct weir_drv_hconn *session,
                     uint64_t sql_len,
                     const struct weir_exec_opts *opts);

/* What becomes of a statement that was sent, and of one that was resumed. */
extern const struct weir__command weir__exec_command;
extern const struct weir__command weir__next_command;

/* Tells what is there to be told.  WEIR_PENDING: nothing, and the request goes on;
 * WEIR_E_ARG: nothing, and there is none. */
int weir__exec_tell(struct weir_drv_hconn *session,
                    struct weir_item *item,
                    struct weir_error *err);

/* Drops what has not been told of the last request, which is at its end: the
 * lease ends and nothing of it is the next user's. */
void weir__exec_forget(struct weir_drv_hconn *session);

/* The request that was read is at its end. */
void weir__exec_ended(struct weir_drv_hconn *session);

/* Longest statement: 64 MiB, twice what SQL Server takes. */
#define WEIR_SQL_MAX (UINT64_C(64) << 20)

#endif
