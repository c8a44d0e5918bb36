/* SPDX-License-Identifier: MIT */
/* tds_errors.h - what an error of the server means to a pool: a table. */
#ifndef TDS_ERRORS_H
#define TDS_ERRORS_H

#include "tds_wire.h"

/* From this severity on the session is dead (MS-TDS 2.2.7.10). */
#define TDS_SEVERITY_FATAL 20u

/* When a rule holds. */
#define TDS_WHEN_ANY   0
#define TDS_WHEN_LOGIN 1 /* in the answer to LOGIN7 */
#define TDS_WHEN_RUN   2 /* in the answer to a request */

/* Rule flags. */
/* An open transaction is gone or can only be rolled back.  Most servers say with
 * ENVCHANGE 10 that it is gone; with those that do not, a rollback asks. */
#define TDS_EF_DOOMED      1u
#define TDS_EF_NOT_STARTED 2u /* nothing of the request was executed */

struct tds_error_rule {
  int32_t number;
  uint8_t state; /* 0 = any */
  uint8_t when;
  uint8_t flags;
  uint16_t retry_after_s; /* 0 = no advice */
  int32_t scope;          /* WEIR_DRV_SCOPE_* */
  int32_t kind;           /* WEIR_DRV_K_* */
  int32_t retry;          /* WEIR_DRV_RETRY_* */
};

/* The rule for a message.  Always fills *out_rule: numbers that are not in the
 * table are judged by severity (>= 20: the connection is dead) and by whether
 * the message answers a login. */
void tds_errors_find(int32_t number,
                     uint8_t state,
                     uint8_t severity,
                     bool login,
                     struct tds_error_rule *out_rule);

/* The table, for tests. */
const struct tds_error_rule *tds_errors_table(size_t *out_n);

#endif
