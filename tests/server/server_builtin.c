/* SPDX-License-Identifier: MIT */
/* Functions of their arguments alone: texts, lengths, dates. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

#include "server_const.h"
#include "server_function.h"
#include "server_text.h"

/* What REPLICATE writes out at most, unless one text is longer. */
#define BLOCK_BYTES 16384u

static int no_memory(const struct tdsd_context *context) {
  return tdsd_fault_set(context->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

/* Text results are copied, because the state may change before they are sent. */
int tdsd_set_text(const struct tdsd_context *context,
                  const char *text,
                  size_t len,
                  struct tdsd_value *out) {
  out->bytes = tdsd_arena_copy(context->arena, text, len);
  out->len = len;
  return out->bytes == NULL ? no_memory(context) : 0;
}

int tdsd_as_text(const struct tdsd_value *in,
                 const struct tdsd_context *context,
                 struct tdsd_value *out) {
  struct tdsd_type max = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  return tdsd_convert(in, &max, 0, context->arena, out, context->fault);
}

static void set_now(struct tdsd_value *out) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  out->days = tdsd_days_from_civil(1970, 1, 1) + (int32_t)(now.tv_sec / 86400);
  out->ticks = (now.tv_sec % 86400) * INT64_C(10000000) + now.tv_nsec / 100;
}

static int replicate(const struct tdsd_value *args,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_convert(&args[0], &out->type, 0, context->arena, &text,
                   context->fault) < 0) {
    return -1;
  }
  out->is_null = text.is_null || args[1].is_null || args[1].integer < 0;
  if (out->is_null || text.len == 0) {
    return 0;
  }
  size_t units = tdsd_text_units(text.bytes, text.len);
  uint64_t most = out->type.size == TDSD_SIZE_MAX ? TDSD_CAP_VALUE / text.len
                                                  : out->type.size / units;
  uint64_t times = (uint64_t)args[1].integer;
  times = times < most ? times : most;
  /* Only a block is written; a long value repeats it. */
  uint64_t block = text.len >= BLOCK_BYTES ? 1 : BLOCK_BYTES / text.len + 1;
  block = block < times ? block : times;
  char *bytes = tdsd_arena_take(context->arena, block * text.len + 1);
  if (bytes == NULL) {
    return no_memory(context);
  }
  for (uint64_t i = 0; i < block; i++) {
    memcpy(bytes + i * text.len, text.bytes, text.len);
  }
  out->bytes = bytes;
  out->len = block * text.len;
  out->total = block < times ? times * text.len : 0;
  return 0;
}

static int change_case(const struct tdsd_value *args,
                       bool upper,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_convert(&args[0], &out->type, 0, context->arena, &text,
                   context->fault) < 0) {
    return -1;
  }
  out->is_null = text.is_null;
  char *copy = tdsd_arena_copy(context->arena, text.bytes, text.len);
  if (copy == NULL) {
    return no_memory(context);
  }
  for (size_t i = 0; i < text.len; i++) {
    copy[i] = (char)(upper ? toupper((unsigned char)copy[i])
                           : tolower((unsigned char)copy[i]));
  }
  out->bytes = copy;
  out->len = text.len;
  return 0;
}

static int length_of(const struct tdsd_value *args,
                     bool bytes,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_kind_is_binary(args[0].type.kind)) {
    out->is_null = args[0].is_null;
    out->integer = (int64_t)args[0].len;
    return 0;
  }
  if (tdsd_as_text(&args[0], context, &text) < 0) {
    return -1;
  }
  out->is_null = text.is_null;
  size_t len = text.len;
  while (!bytes && len > 0 && text.bytes[len - 1] == ' ') {
    len--; /* LEN does not count blanks at the end */
  }
  size_t width = bytes && tdsd_kind_is_wide(args[0].type.kind) ? 2 : 1;
  out->integer = (int64_t)(width * tdsd_text_units(text.bytes, len));
  return 0;
}

static int character(const struct tdsd_value *arg,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  bool wide = tdsd_kind_is_wide(out->type.kind);
  char text[4];
  uint8_t unit[2] = {(uint8_t)arg->integer, (uint8_t)(arg->integer >> 8)};
  out->is_null =
      arg->is_null || arg->integer < 0 || arg->integer > (wide ? 65535 : 255);
  size_t len = wide ? tdsd_text_from_w16(unit, 1, text)
                    : tdsd_text_from_1252(unit, 1, text);
  return tdsd_set_text(context, text, len, out);
}

static int first_not_null(const struct tdsd_expr *expr,
                          const struct tdsd_value *args,
                          const struct tdsd_context *context,
                          struct tdsd_value *out) {
  uint32_t i = 0;
  while (i + 1 < expr->nargs && args[i].is_null) {
    i++;
  }
  return tdsd_convert(&args[i], &expr->type, 0, context->arena, out,
                      context->fault);
}

static int null_if(const struct tdsd_expr *expr,
                   const struct tdsd_value *args,
                   const struct tdsd_context *context,
                   struct tdsd_value *out) {
  struct tdsd_type type =
      tdsd_type_meet(expr->args[0]->type, expr->args[1]->type);
  struct tdsd_value a;
  struct tdsd_value b;
  if (tdsd_convert(&args[0], &type, 0, context->arena, &a, context->fault) <
          0 ||
      tdsd_convert(&args[1], &type, 0, context->arena, &b, context->fault) <
          0) {
    return -1;
  }
  bool same = !a.is_null && !b.is_null && tdsd_value_compare(&a, &b) == 0;
  *out = args[0];
  out->is_null = out->is_null || same;
  return 0;
}

static int new_id(const struct tdsd_context *context, struct tdsd_value *out) {
  if (RAND_bytes(out->guid, sizeof out->guid) != 1) {
    return no_memory(context);
  }
  out->guid[7] = (uint8_t)((out->guid[7] & 0x0F) | 0x40); /* version 4 */
  out->guid[8] = (uint8_t)((out->guid[8] & 0x3F) | 0x80);
  return 0;
}

int tdsd_function_plain(uint32_t which,
                        const struct tdsd_expr *expr,
                        const struct tdsd_value *args,
                        const struct tdsd_context *context,
                        struct tdsd_value *out) {
  switch ((int)which) {
  case TDSD_FN_CHAR:
  case TDSD_FN_NCHAR:
    return character(&args[0], context, out);
  case TDSD_FN_COALESCE:
  case TDSD_FN_ISNULL:
    return first_not_null(expr, args, context, out);
  case TDSD_FN_NULLIF:
    return null_if(expr, args, context, out);
  case TDSD_FN_LEN:
    return length_of(args, false, context, out);
  case TDSD_FN_DATALENGTH:
    return length_of(args, true, context, out);
  case TDSD_FN_LOWER:
    return change_case(args, false, context, out);
  case TDSD_FN_UPPER:
    return change_case(args, true, context, out);
  case TDSD_FN_REPLICATE:
    return replicate(args, context, out);
  case TDSD_FN_NEWID:
    return new_id(context, out);
  default:
    set_now(out);
    return 0;
  }
}
