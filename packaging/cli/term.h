/* SPDX-License-Identifier: MIT */
/* term.h - what an output can show. */
#ifndef WEIRCTL_TERM_H
#define WEIRCTL_TERM_H

#include <stdbool.h>
#include <stdint.h>

struct term {
  uint32_t width; /* in columns, TERM_WIDTH_MIN to TERM_WIDTH_MAX */
  bool utf8;      /* by the locale of the environment */
  bool colour;    /* a terminal, and neither NO_COLOR nor TERM=dumb */
};

#define TERM_WIDTH_PIPE 80u
#define TERM_WIDTH_MIN  40u
#define TERM_WIDTH_MAX  132u

/* Looks at a descriptor and the environment.  ascii: utf8 will be false.
 * Threads: while no other changes the environment. */
struct term term_read(int fd, bool ascii);

/* Whether the terminal can wipe no line: TERM is dumb or missing.
 * Threads: as above. */
bool term_is_dumb(void);

#endif
