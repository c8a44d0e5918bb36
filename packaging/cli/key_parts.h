/* SPDX-License-Identifier: MIT */
/* key_parts.h - the parts of a pool key's text. */
#ifndef WEIRCTL_KEY_PARTS_H
#define WEIRCTL_KEY_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the value of a name, in whatever case, in a key's text (name=value;name=value,
 * values in quotes where they need it).  *out_value points into key and is as it is
 * written there, quotes included.  False: there is none. */
bool key_parts_find(const char *key,
                    const char *name,
                    size_t name_len,
                    const char **out_value,
                    size_t *out_len);

#endif
