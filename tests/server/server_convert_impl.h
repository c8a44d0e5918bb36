/* SPDX-License-Identifier: MIT */
/* What the files of CAST and CONVERT share.  Every function that returns int
 * returns 0, or -1 with the fault that SQL Server gives. */
#ifndef TDSD_SERVER_CONVERT_IMPL_H
#define TDSD_SERVER_CONVERT_IMPL_H

#include "server_value.h"

/* One conversion under way. */
struct tdsd_convert {
  const struct tdsd_value *in; /* not NULL in SQL */
  const struct tdsd_type *to;
  int style;
  struct tdsd_arena *arena;
  struct tdsd_value *out; /* its type is set */
  struct tdsd_fault *fault;
};

/* The faults: 529, 8115, 701, and what could not be read (241, 245, 8169 or
 * 8114).  Each returns -1. */
int tdsd_convert_not_allowed(const struct tdsd_convert *job);
int tdsd_convert_overflow(const struct tdsd_convert *job);
int tdsd_convert_no_memory(const struct tdsd_convert *job);
int tdsd_convert_failed(const struct tdsd_convert *job, int32_t number);

/* The text without blanks around it. */
const char *tdsd_convert_trim(const struct tdsd_value *in, size_t *out_len);

/* The value of a hexadecimal digit, -1 if it is none. */
int tdsd_convert_digit(char c);

int tdsd_convert_text(const struct tdsd_convert *job);
int tdsd_convert_binary(const struct tdsd_convert *job);
int tdsd_convert_integer(const struct tdsd_convert *job);
int tdsd_convert_real(const struct tdsd_convert *job);
int tdsd_convert_decimal(const struct tdsd_convert *job);
int tdsd_convert_money(const struct tdsd_convert *job);

#endif
