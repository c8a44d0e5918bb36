/* SPDX-License-Identifier: MIT */
/* What the files of the scalar functions share.  Each function returns 0, or -1 with
 * the fault. */
#ifndef TDSD_SERVER_SCALAR_IMPL_H
#define TDSD_SERVER_SCALAR_IMPL_H

#include "server_rewrite.h"

#define SCALAR_ARGS_MAX 16u

struct scalar_call {
  const struct tdsd_value *args;
  uint32_t nargs;
  const struct tdsd_context *context;
  struct tdsd_value *out; /* its type is set */
};

/* An argument as another type; as nvarchar(max); as bigint. */
int scalar_as(const struct scalar_call *call,
              uint32_t i,
              enum tdsd_kind kind,
              struct tdsd_value *out);
int scalar_text_arg(const struct scalar_call *call,
                    uint32_t i,
                    struct tdsd_value *out);
int scalar_int_arg(const struct scalar_call *call, uint32_t i, int64_t *out);
int scalar_set_text(const struct scalar_call *call,
                    const char *text,
                    size_t len);
int scalar_no_memory(const struct scalar_call *call);

/* T-SQL's functions by their names. */
int scalar_abs(const struct scalar_call *call);
int scalar_ceiling(const struct scalar_call *call);
int scalar_floor(const struct scalar_call *call);
int scalar_round(const struct scalar_call *call);
int scalar_sign(const struct scalar_call *call);
int scalar_sqrt(const struct scalar_call *call);
int scalar_exp(const struct scalar_call *call);
int scalar_log(const struct scalar_call *call);
int scalar_log10(const struct scalar_call *call);
int scalar_square(const struct scalar_call *call);
int scalar_pi(const struct scalar_call *call);
int scalar_power(const struct scalar_call *call);
int scalar_left(const struct scalar_call *call);
int scalar_right(const struct scalar_call *call);
int scalar_substring(const struct scalar_call *call);
int scalar_charindex(const struct scalar_call *call);
int scalar_replace(const struct scalar_call *call);
int scalar_ltrim(const struct scalar_call *call);
int scalar_rtrim(const struct scalar_call *call);
int scalar_trim(const struct scalar_call *call);
int scalar_reverse(const struct scalar_call *call);
int scalar_space(const struct scalar_call *call);
int scalar_stuff(const struct scalar_call *call);
int scalar_unicode(const struct scalar_call *call);
int scalar_ascii(const struct scalar_call *call);
int scalar_concat(const struct scalar_call *call);
int scalar_concat_ws(const struct scalar_call *call);
int scalar_quotename(const struct scalar_call *call);
int scalar_isnumeric(const struct scalar_call *call);
int scalar_choose(const struct scalar_call *call);
int scalar_newid(const struct scalar_call *call);
int scalar_dateadd(const struct scalar_call *call);
int scalar_datediff(const struct scalar_call *call);
int scalar_datepart(const struct scalar_call *call);
int scalar_datename(const struct scalar_call *call);
int scalar_year(const struct scalar_call *call);
int scalar_month(const struct scalar_call *call);
int scalar_day(const struct scalar_call *call);
int scalar_eomonth(const struct scalar_call *call);
int scalar_datefromparts(const struct scalar_call *call);

#endif
