/* SPDX-License-Identifier: MIT */
/* chart.h - bars and paragraphs for people. */
#ifndef WEIRCTL_CHART_H
#define WEIRCTL_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "term.h"

struct chart_bar {
  const char *label;
  double ratio;     /* its length; not negative, and finite */
  const char *note; /* behind the ratio; NULL: none */
  bool base;        /* what the others are compared with: it stands out */
};

/* Draws a bar in each line, all on one scale that begins at 0, with the ratio and
 * the note behind it.  Notes that leave no room for bars are left out.  Labels and
 * notes: one column for each byte. */
void chart_bars(FILE *to,
                const struct term *term,
                const struct chart_bar *bars,
                uint32_t n);

/* Writes label and text, broken at blanks to the width, the text indented. */
void chart_paragraph(FILE *to,
                     const struct term *term,
                     const char *label,
                     uint32_t indent,
                     const char *text);

#endif
