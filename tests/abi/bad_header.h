/* SPDX-License-Identifier: MIT */
/* bad_header.h - compiles, and breaks each rule that check_header.sh knows. */
#ifndef WEIR_BAD_HEADER_H
#define WEIR_BAD_HEADER_H

#include <inttypes.h>

struct weir_bad_pair {
  uint32_t wide   : 4;
  uint32_t narrow : 28;
};

enum weir_bad_colour {
  WEIR_BAD_RED
};

int weir_bad_print(const char *format, ...);
void weir_bad_value(struct weir_bad_pair pair);

#endif
