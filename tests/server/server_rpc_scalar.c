/* SPDX-License-Identifier: MIT */
/* Numbers, dates and times of RPC parameters. */
#include <string.h>

#include "server_rpc_job.h"

#define DAYS_1900     693595
#define DAYS_1753     (-53690) /* from 1900 */
#define DAYS_9999     2958463
#define MINUTES_A_DAY 1440u
#define TICKS_A_DAY   25920000u

static void set_integer(struct tdsd_value *out, size_t len, uint64_t raw) {
  static const enum tdsd_kind kinds[] = {[1] = TDSD_TINYINT,
                                         [2] = TDSD_SMALLINT,
                                         [4] = TDSD_INT,
                                         [8] = TDSD_BIGINT};
  if (out->type.kind != TDSD_BIT) {
    out->type.kind = kinds[len];
  }
  out->integer = len == 1   ? (int64_t)raw
                 : len == 2 ? (int16_t)(uint16_t)raw
                 : len == 4 ? (int32_t)(uint32_t)raw
                            : (int64_t)raw;
}

static void set_real(struct tdsd_value *out, size_t len, uint64_t raw) {
  if (len == 4) {
    uint32_t bits = (uint32_t)raw;
    float single = 0;
    memcpy(&single, &bits, sizeof single);
    out->real = (double)single;
    out->type.kind = TDSD_REAL;
  } else {
    memcpy(&out->real, &raw, sizeof out->real);
  }
}

static void set_money(struct tdsd_value *out, size_t len, uint64_t raw) {
  if (len == 4) {
    out->type.kind = TDSD_SMALLMONEY;
    out->integer = (int32_t)(uint32_t)raw;
  } else { /* the high half comes first */
    out->integer = (int64_t)(raw << 32 | raw >> 32);
  }
}

/* From 1753 to 9999, in days since 1900 and three hundredths of a second. */
static int set_datetime(const struct tdsd_rpc_job *job,
                        size_t len,
                        uint64_t raw) {
  struct tdsd_value *out = job->out;
  if (len == 4) {
    out->type.kind = TDSD_SMALLDATETIME;
    out->days = DAYS_1900 + (int32_t)(raw & 0xFFFF);
    out->ticks = (int64_t)(raw >> 16) * INT64_C(600000000);
    return (raw >> 16) < MINUTES_A_DAY
               ? 0
               : tdsd_rpc_does_not_fit(job, "a time of day",
                                       (size_t)(raw >> 16));
  }
  int32_t days = (int32_t)(uint32_t)raw;
  if (days < DAYS_1753 || days > DAYS_9999 || (raw >> 32) >= TICKS_A_DAY) {
    return tdsd_rpc_does_not_fit(job, "a date out of range, a length", len);
  }
  out->days = DAYS_1900 + days;
  out->ticks = ((int64_t)(raw >> 32) * 100000 + 1) / 3;
  return 0;
}

int tdsd_rpc_take_simple(const struct tdsd_rpc_job *job, size_t len) {
  struct tdsd_value *out = job->out;
  enum tdsd_kind kind = out->type.kind;
  bool wide_enough = kind == TDSD_BIT             ? len == 1
                     : tdsd_kind_is_integer(kind) ? len <= 4 || len == 8
                                                  : len == 4 || len == 8;
  if (!wide_enough || len == 3) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  uint64_t raw = tdsd_read_le(job->reader, len);
  if (tdsd_kind_is_integer(kind)) {
    set_integer(out, len, raw);
  } else if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    set_real(out, len, raw);
  } else if (kind == TDSD_MONEY || kind == TDSD_SMALLMONEY) {
    set_money(out, len, raw);
  } else {
    return set_datetime(job, len, raw);
  }
  return 0;
}

void tdsd_rpc_narrow(struct tdsd_value *out, size_t size) {
  if (tdsd_kind_is_integer(out->type.kind)) {
    if (size == 1 || size == 2 || size == 4) {
      set_integer(out, size, 0);
    }
  } else if (size == 4) {
    out->type.kind = out->type.kind == TDSD_FLOAT      ? TDSD_REAL
                     : out->type.kind == TDSD_MONEY    ? TDSD_SMALLMONEY
                     : out->type.kind == TDSD_DATETIME ? TDSD_SMALLDATETIME
                                                       : out->type.kind;
  }
}

/* len bytes of a decimal: sign, magnitude. */
int tdsd_rpc_take_decimal(const struct tdsd_rpc_job *job, size_t len) {
  struct tdsd_value *out = job->out;
  if (out->type.precision < 1 || out->type.precision > 38 ||
      out->type.scale > out->type.precision) {
    return tdsd_rpc_does_not_fit(job, "a precision", out->type.precision);
  }
  out->is_null = len == 0;
  const uint8_t *bytes = tdsd_read_bytes(job->reader, len);
  if (bytes == NULL || len > 17 || len == 1) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  for (size_t i = len; i > 1; i--) {
    out->magnitude = out->magnitude << 8 | bytes[i - 1];
  }
  if (tdsd_digits(out->magnitude) > 38) {
    return tdsd_rpc_does_not_fit(job, "more digits than 38, a length", len);
  }
  out->negative = len != 0 && bytes[0] == 0 && out->magnitude != 0;
  return 0;
}

static size_t time_bytes(unsigned scale) {
  return scale <= 2 ? 3 : scale <= 4 ? 4 : 5;
}

/* datetimeoffset arrives in UTC; it is kept local. */
static void shift_to_local(struct tdsd_value *out) {
  const int64_t day = INT64_C(864000000000);
  out->ticks += (int64_t)out->offset_min * INT64_C(600000000);
  if (out->ticks < 0) {
    out->ticks += day;
    out->days -= 1;
  } else if (out->ticks >= day) {
    out->ticks -= day;
    out->days += 1;
  }
}

/* len bytes of a date, a time or both, by the kind. */
int tdsd_rpc_take_date(const struct tdsd_rpc_job *job, size_t len) {
  struct tdsd_value *out = job->out;
  enum tdsd_kind kind = out->type.kind;
  size_t want = (kind == TDSD_DATE ? 0 : time_bytes(out->type.scale)) +
                (kind == TDSD_TIME ? 0u : 3u) +
                (kind == TDSD_DATETIMEOFFSET ? 2u : 0u);
  out->is_null = len == 0;
  if (out->is_null) {
    return 0;
  }
  if (out->type.scale > 7 || len != want) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  if (kind != TDSD_DATE) {
    out->ticks =
        (int64_t)tdsd_read_le(job->reader, time_bytes(out->type.scale));
    for (unsigned i = out->type.scale; i < 7; i++) {
      out->ticks *= 10;
    }
  }
  if (kind != TDSD_TIME) {
    out->days = (int32_t)tdsd_read_le(job->reader, 3);
  }
  if (kind == TDSD_DATETIMEOFFSET) {
    out->offset_min = (int16_t)(uint16_t)tdsd_read_u16(job->reader);
    shift_to_local(out);
  }
  return out->days > tdsd_days_from_civil(9999, 12, 31) ||
                 out->ticks >= INT64_C(864000000000)
             ? tdsd_rpc_does_not_fit(job, "a value behind 9999-12-31, a length",
                                     len)
             : 0;
}
