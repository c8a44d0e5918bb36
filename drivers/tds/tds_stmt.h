/* SPDX-License-Identifier: MIT */
/* tds_stmt.h - prepared statements: the extension "weir.stmt".
 *
 *            miss: sp_prepexec            handle came, no error
 *   (none) ----------------------> PREPARE -------------------> cached
 *                                                                 | hit: sp_execute
 *   cached -> evicted -> unwanted -> sp_unprepare, in front of the next call
 *   cached -> gone: a reset, error 8179 or 586 (prepared again at once), the end
 *             of the connection
 */
#ifndef TDS_STMT_H
#define TDS_STMT_H

#include "weir_driver.h"

#include "tds_buf.h"

struct weir_drv_conn;

/* What the running statement does with a handle. */
#define TDS_STMT_PLAIN   0 /* none is involved */
#define TDS_STMT_PREPARE 1 /* one will come */
#define TDS_STMT_RUN     2 /* one is used */

/* What is prepared on a connection. */
struct tds_stmts {
  struct tds_buf cached;   /* struct prepared of tds_stmt.c */
  struct tds_buf unwanted; /* int32_t: handles to be given back */
  struct tds_buf key;      /* of the running statement */
  uint8_t mode;            /* TDS_STMT_* of the running statement */
  bool told;               /* a result of it was given */
  bool again;              /* it was prepared anew once */
  bool came;               /* its handle, with PREPARE */
  int32_t handle;
  uint64_t clock; /* of uses */
  uint64_t prepared;
  uint64_t reused;
};

/* The table that extension() gives. */
extern const struct weir_drv_stmt_api tds_stmt_api;

void tds_stmt_init(struct weir_drv_conn *c);
void tds_stmt_fini(struct weir_drv_conn *c);

/* All handles are gone at the server: a reset, or the end. */
void tds_stmt_forget(struct weir_drv_conn *c);

/* Puts into the call what gives unwanted handles back.  *out_n: so many calls.
 * Returns TDS_OK or TDS_E_NOMEM. */
int tds_stmt_put_unprepare(struct weir_drv_conn *c, uint32_t *out_n);

/* Puts the head of the call for the statement that was checked.  *out_lead: the
 * parameters in front of its own; 0: it is to run without a handle, and nothing
 * was put.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_stmt_put(struct weir_drv_conn *c, uint32_t *out_lead);

/* One of the calls that give a handle back has ended. */
void tds_stmt_unprepared(struct weir_drv_conn *c);

/* Looks at the RETURNVALUE that was read.  Returns whether it was a handle. */
bool tds_stmt_take(struct weir_drv_conn *c);

/* Whether an error, of n bytes of text, says that the handle in use is not
 * known. */
bool tds_stmt_is_stale(const struct weir_drv_conn *c,
                       int32_t number,
                       const char *text,
                       size_t n);

/* Whether the statement is to be prepared again: it failed because of that, so
 * nothing of it was executed, and nothing of it was told.  Forgets the handle. */
bool tds_stmt_again(struct weir_drv_conn *c);

/* The operation is over: well, or cancelled, or with an error. */
void tds_stmt_end(struct weir_drv_conn *c, bool well, bool cancelled);

#endif
