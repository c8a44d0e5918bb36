/* SPDX-License-Identifier: MIT */
/* The options of SET: which exist, what they are after a login, and how they are
 * told in @@OPTIONS, SESSIONPROPERTY and DBCC USEROPTIONS. */
#ifndef TDSD_SERVER_OPTION_H
#define TDSD_SERVER_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tdsd_state;

/* The value of an option: as SET, else as after the login; "" for a name that
 * does not exist. */
const char *tdsd_option_get(const struct tdsd_state *state, const char *name);
bool tdsd_option_on(const struct tdsd_state *state, const char *name);
int64_t tdsd_option_number(const struct tdsd_state *state, const char *name);

/* Records SET name value.  Returns false if there is no such option. */
bool tdsd_option_set(struct tdsd_state *state,
                     const char *name,
                     const char *value);

/* @@OPTIONS. */
int64_t tdsd_option_bits(const struct tdsd_state *state);

/* The isolation level in the words of SET. */
const char *tdsd_isolation_name(uint8_t isolation);

/* Line n of DBCC USEROPTIONS.  Returns false behind the last. */
bool tdsd_option_line(const struct tdsd_state *state,
                      size_t n,
                      const char **out_name,
                      const char **out_value);

#endif
