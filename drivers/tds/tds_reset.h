/* SPDX-License-Identifier: MIT */
/* tds_reset.h - the end of an eager reset's request. */
#ifndef TDS_RESET_H
#define TDS_RESET_H

#include "tds_conn.h"

/* The answer to a request of an eager reset is complete, and the connection
 * good.  Returns TDS_NEXT with another request begun, or as a step. */
weir_drv_status tds_reset_end(struct weir_drv_conn *c, struct tds_turn *t);

#endif
