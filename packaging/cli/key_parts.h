/* SPDX-License-Identifier: MIT */
/* key_parts.h - in what two pool keys differ. */
#ifndef WEIRCTL_KEY_PARTS_H
#define WEIRCTL_KEY_PARTS_H

#include <stdio.h>

/* Writes a line for each part of two key texts (name=value;name=value, values
 * in quotes where they need it) that one has and the other has not, or has
 * with another value.  Returns the number of lines. */
unsigned key_parts_diff(FILE *to, const char *a, const char *b);

#endif
