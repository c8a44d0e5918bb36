/* SPDX-License-Identifier: MIT */
/* CAST and CONVERT: any value to any type of the subset, with the errors that
 * SQL Server gives. */
#include <string.h>

#include "server_convert_impl.h"

int tdsd_convert_not_allowed(const struct tdsd_convert *job) {
  return tdsd_fault_set(
      job->fault, 529, 16,
      "Explicit conversion from data type %s to %s is not allowed.",
      tdsd_type_name(&job->in->type), tdsd_type_name(job->to));
}

int tdsd_convert_overflow(const struct tdsd_convert *job) {
  return tdsd_fault_set(job->fault, 8115, 16,
                        "Arithmetic overflow error converting %s to data type "
                        "%s.",
                        tdsd_kind_name(job->in->type.kind),
                        tdsd_kind_name(job->to->kind));
}

int tdsd_convert_failed(const struct tdsd_convert *job, int32_t number) {
  const char *from = tdsd_kind_name(job->in->type.kind);
  const char *to = tdsd_kind_name(job->to->kind);
  switch (number) {
  case 245:
    return tdsd_fault_set(job->fault, 245, 16,
                          "Conversion failed when converting the %s value "
                          "'%.*s' to data type %s.",
                          from, (int)(job->in->len < 200 ? job->in->len : 200),
                          job->in->bytes, to);
  case 241:
    return tdsd_fault_set(job->fault, 241, 16,
                          "Conversion failed when converting date and/or time "
                          "from character string.");
  case 8169:
    return tdsd_fault_set(job->fault, 8169, 16,
                          "Conversion failed when converting from a character "
                          "string to uniqueidentifier.");
  default:
    return tdsd_fault_set(job->fault, 8114, 16,
                          "Error converting data type %s to %s.", from, to);
  }
}

int tdsd_convert_no_memory(const struct tdsd_convert *job) {
  return tdsd_fault_set(job->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

const char *tdsd_convert_trim(const struct tdsd_value *in, size_t *out_len) {
  const char *text = in->bytes;
  size_t n = in->len;
  while (n > 0 && text[0] == ' ') {
    text++;
    n--;
  }
  while (n > 0 && text[n - 1] == ' ') {
    n--;
  }
  *out_len = n;
  return text;
}

/* Rounds the time of day to what the type can hold; may reach the next day. */
static void round_ticks(struct tdsd_value *out) {
  const int64_t day = INT64_C(864000000000);
  int64_t unit = 1;
  if (out->type.kind == TDSD_SMALLDATETIME) {
    unit = INT64_C(600000000);
  } else if (out->type.kind == TDSD_DATETIME) {
    int64_t thirds = (out->ticks * 3 + 50000) / 100000; /* 1/300 s */
    out->ticks = (thirds * 100000 + 1) / 3;
  } else {
    for (unsigned i = out->type.scale; i < 7; i++) {
      unit *= 10;
    }
  }
  out->ticks = (out->ticks + unit / 2) / unit * unit;
  if (out->ticks >= day) {
    out->ticks -= day;
    out->days += out->type.kind == TDSD_TIME ? 0 : 1;
  }
}

static int set_date(const struct tdsd_convert *job,
                    const struct tdsd_value *from) {
  struct tdsd_value *out = job->out;
  out->days = from->days;
  out->ticks = job->to->kind == TDSD_DATE ? 0 : from->ticks;
  out->offset_min = from->offset_min;
  if (job->to->kind != TDSD_DATE) {
    round_ticks(out);
  }
  int32_t least = 0;
  int32_t most = tdsd_days_from_civil(9999, 12, 31);
  if (job->to->kind == TDSD_DATETIME) {
    least = tdsd_days_from_civil(1753, 1, 1);
  } else if (job->to->kind == TDSD_SMALLDATETIME) {
    least = tdsd_days_from_civil(1900, 1, 1);
    most = least + 65535;
  }
  if (out->days < least || out->days > most) {
    return tdsd_fault_set(job->fault, 242, 16,
                          "The conversion of a %s data type to a %s data type "
                          "resulted in an out-of-range value.",
                          tdsd_kind_name(job->in->type.kind),
                          tdsd_kind_name(job->to->kind));
  }
  return 0;
}

static int to_date(const struct tdsd_convert *job) {
  enum tdsd_kind from = job->in->type.kind;
  struct tdsd_value value;
  if (tdsd_kind_is_date(from)) {
    value = *job->in;
    if (from == TDSD_TIME) {
      value.days = tdsd_days_from_civil(1900, 1, 1);
    }
    return set_date(job, &value);
  }
  if (tdsd_kind_is_text(from)) {
    if (tdsd_date_parse(job->in->bytes, job->in->len, &value) < 0) {
      return tdsd_convert_failed(job, 241);
    }
    return set_date(job, &value);
  }
  bool old =
      job->to->kind == TDSD_DATETIME || job->to->kind == TDSD_SMALLDATETIME;
  if (old && tdsd_kind_is_integer(from)) {
    int64_t days = job->in->integer + tdsd_days_from_civil(1900, 1, 1);
    value = (struct tdsd_value){.days = days < INT32_MIN   ? INT32_MIN
                                        : days > INT32_MAX ? INT32_MAX
                                                           : (int32_t)days};
    return set_date(job, &value);
  }
  return tdsd_convert_not_allowed(job);
}

/* The dashes and, if any, the braces stand at fixed places. */
static int text_guid(const struct tdsd_convert *job) {
  static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                    8, 9, 10, 11, 12, 13, 14, 15};
  size_t len = 0;
  const char *text = tdsd_convert_trim(job->in, &len);
  if (len == 38 && text[0] == '{' && text[37] == '}') {
    text++;
    len -= 2;
  }
  if (len != 36) {
    return tdsd_convert_failed(job, 8169);
  }
  size_t at = 0;
  for (unsigned i = 0; i < 16; i++) {
    bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    if (dash && text[at++] != '-') {
      return tdsd_convert_failed(job, 8169);
    }
    int high = tdsd_convert_digit(text[at]);
    int low = tdsd_convert_digit(text[at + 1]);
    if (high < 0 || low < 0) {
      return tdsd_convert_failed(job, 8169);
    }
    job->out->guid[order[i]] = (uint8_t)(high << 4 | low);
    at += 2;
  }
  return 0;
}

static int to_guid(const struct tdsd_convert *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (from == TDSD_GUID) {
    memcpy(job->out->guid, job->in->guid, 16);
    return 0;
  }
  if (tdsd_kind_is_text(from)) {
    return text_guid(job);
  }
  if (tdsd_kind_is_binary(from)) {
    size_t n = job->in->len < 16 ? job->in->len : 16;
    memcpy(job->out->guid, job->in->bytes, n);
    return 0;
  }
  return tdsd_convert_not_allowed(job);
}

/* What sql_variant holds keeps its type; large values it cannot hold. */
static int to_variant(const struct tdsd_convert *job) {
  const struct tdsd_type *from = &job->in->type;
  if (from->size == TDSD_SIZE_MAX || from->form != TDSD_FORM_PLAIN) {
    return tdsd_fault_set(job->fault, 206, 16,
                          "Operand type clash: %s%s is incompatible with "
                          "sql_variant",
                          tdsd_type_name(from),
                          from->form == TDSD_FORM_PLAIN ? "(max)" : "");
  }
  *job->out = *job->in;
  job->out->type.nullable = true;
  if (from->kind <= TDSD_NVARCHAR) {
    const char *copy =
        tdsd_arena_copy(job->arena, job->in->bytes, job->in->len);
    if (copy == NULL) {
      return tdsd_convert_no_memory(job);
    }
    job->out->bytes = copy;
  }
  return 0;
}

/* xml meets only text and itself; text, ntext and image only their kind. */
static bool may_convert(const struct tdsd_type *from,
                        const struct tdsd_type *to) {
  if (from->form == TDSD_FORM_XML || to->form == TDSD_FORM_XML) {
    return from->kind <= TDSD_NVARCHAR && to->kind <= TDSD_NVARCHAR &&
           from->form != TDSD_FORM_OLD && to->form != TDSD_FORM_OLD;
  }
  if (from->form == TDSD_FORM_OLD || to->form == TDSD_FORM_OLD) {
    return (tdsd_kind_is_text(from->kind) && tdsd_kind_is_text(to->kind)) ||
           (tdsd_kind_is_binary(from->kind) && tdsd_kind_is_binary(to->kind));
  }
  return true;
}

static int dispatch(const struct tdsd_convert *job) {
  enum tdsd_kind to = job->to->kind;
  if (!may_convert(&job->in->type, job->to)) {
    return tdsd_convert_not_allowed(job);
  }
  if (to == TDSD_VARIANT) {
    return to_variant(job);
  }
  if (tdsd_kind_is_text(to)) {
    return tdsd_convert_text(job);
  }
  if (tdsd_kind_is_binary(to)) {
    return tdsd_convert_binary(job);
  }
  if (tdsd_kind_is_integer(to)) {
    return tdsd_convert_integer(job);
  }
  if (to == TDSD_DECIMAL) {
    return tdsd_convert_decimal(job);
  }
  if (to == TDSD_MONEY || to == TDSD_SMALLMONEY) {
    return tdsd_convert_money(job);
  }
  if (to == TDSD_REAL || to == TDSD_FLOAT) {
    return tdsd_convert_real(job);
  }
  return to == TDSD_GUID ? to_guid(job) : to_date(job);
}

static int convert_one(const struct tdsd_value *in,
                       const struct tdsd_type *to,
                       int style,
                       struct tdsd_arena *arena,
                       struct tdsd_value *out,
                       struct tdsd_fault *fault) {
  struct tdsd_value value = {.type = *to, .is_null = in->is_null};
  value.bytes = "";
  struct tdsd_convert job = {in, to, style, arena, &value, fault};
  if (!in->is_null && dispatch(&job) < 0) {
    return -1;
  }
  *out = value;
  return 0;
}

/* A value that repeats goes on repeating in a type without limit: its block is
 * converted, and so is the end that is no whole block. */
static int convert_block(const struct tdsd_value *in,
                         const struct tdsd_type *to,
                         struct tdsd_arena *arena,
                         struct tdsd_value *out,
                         struct tdsd_fault *fault) {
  struct tdsd_value block = *in;
  struct tdsd_value rest = *in;
  uint64_t times = in->total / in->len;
  block.total = 0;
  rest.total = 0;
  rest.len = (size_t)(in->total % in->len);
  if (convert_one(&block, to, 0, arena, &block, fault) < 0 ||
      convert_one(&rest, to, 0, arena, &rest, fault) < 0) {
    return -1;
  }
  block.total = times * block.len + rest.len;
  *out = block;
  return 0;
}

int tdsd_convert(const struct tdsd_value *in,
                 const struct tdsd_type *to,
                 int style,
                 struct tdsd_arena *arena,
                 struct tdsd_value *out,
                 struct tdsd_fault *fault) {
  struct tdsd_value flat = *in;
  bool same =
      (tdsd_kind_is_text(in->type.kind) && tdsd_kind_is_text(to->kind)) ||
      (tdsd_kind_is_binary(in->type.kind) && tdsd_kind_is_binary(to->kind));
  if (in->total == 0) {
    return convert_one(in, to, style, arena, out, fault);
  }
  if (same && to->size == TDSD_SIZE_MAX) {
    return convert_block(in, to, arena, out, fault);
  }
  return tdsd_value_flatten(&flat, arena, fault) < 0
             ? -1
             : convert_one(&flat, to, style, arena, out, fault);
}
