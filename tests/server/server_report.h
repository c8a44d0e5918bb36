/* SPDX-License-Identifier: MIT */
/* What the server tells about its sessions: the columns and rows of
 * sys.dm_exec_sessions. */
#ifndef TDSD_SERVER_REPORT_H
#define TDSD_SERVER_REPORT_H

#include "server_value.h"

struct tdsd_state;

/* How many columns there are; the name and type of one. */
uint32_t tdsd_report_columns(void);
const char *tdsd_report_column(uint32_t i, struct tdsd_type *out_type);

/* How many sessions are logged in; a session alone counts itself. */
uint64_t tdsd_report_sessions(const struct tdsd_state *state);

/* The nth session's row; texts are copied into the arena.
 * Returns 1; 0 if there is none (any more); -1 without memory. */
int tdsd_report_row(const struct tdsd_state *state,
                    uint64_t n,
                    struct tdsd_arena *arena,
                    struct tdsd_value *out_row);

#endif
