/* SPDX-License-Identifier: MIT */
/* Scalar functions of texts.  Lengths and places are counted in 16-bit units, as
 * nvarchar counts them. */
#include <string.h>
#include <strings.h>

#include <openssl/rand.h>

#include "server_const.h"
#include "server_scalar_impl.h"
#include "server_text.h"

static int invalid_length(const struct scalar_call *call, const char *name) {
  return tdsd_fault_set(call->context->fault, 537, 16,
                        "Invalid length parameter passed to the %s function.",
                        name);
}

int scalar_left(const struct scalar_call *call) {
  struct tdsd_value text;
  int64_t n = 0;
  if (scalar_text_arg(call, 0, &text) < 0 || scalar_int_arg(call, 1, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "left");
  }
  return scalar_set_text(call, text.bytes,
                         tdsd_text_cut(text.bytes, text.len, (size_t)n));
}

int scalar_right(const struct scalar_call *call) {
  struct tdsd_value text;
  int64_t n = 0;
  if (scalar_text_arg(call, 0, &text) < 0 || scalar_int_arg(call, 1, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "right");
  }
  size_t units = tdsd_text_units(text.bytes, text.len);
  size_t skip = (uint64_t)n < units
                    ? tdsd_text_cut(text.bytes, text.len, units - (size_t)n)
                    : 0;
  return scalar_set_text(call, text.bytes + skip, text.len - skip);
}

int scalar_substring(const struct scalar_call *call) {
  struct tdsd_value text;
  int64_t start = 0;
  int64_t n = 0;
  if (scalar_text_arg(call, 0, &text) < 0 ||
      scalar_int_arg(call, 1, &start) < 0 || scalar_int_arg(call, 2, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "substring");
  }
  int64_t units = (int64_t)tdsd_text_units(text.bytes, text.len);
  int64_t end = start > units ? start : n > units ? units + 1 : start + n;
  start = start < 1 ? 1 : start;
  if (start > units || end <= start) {
    return scalar_set_text(call, "", 0);
  }
  size_t from = tdsd_text_cut(text.bytes, text.len, (size_t)start - 1);
  size_t to = tdsd_text_cut(text.bytes, text.len, (size_t)end - 1);
  return scalar_set_text(call, text.bytes + from, to - from);
}

/* Compares one letter without regard to the case of ASCII. */
static bool same_at(const char *a, const char *b, size_t len) {
  return strncasecmp(a, b, len) == 0;
}

int scalar_charindex(const struct scalar_call *call) {
  struct tdsd_value what;
  struct tdsd_value text;
  int64_t start = 1;
  if (scalar_text_arg(call, 0, &what) < 0 ||
      scalar_text_arg(call, 1, &text) < 0 ||
      (call->nargs == 3 && scalar_int_arg(call, 2, &start) < 0)) {
    return -1;
  }
  size_t at =
      tdsd_text_cut(text.bytes, text.len, start < 1 ? 0 : (size_t)start - 1);
  call->out->integer = 0;
  for (; what.len != 0 && at + what.len <= text.len; at++) {
    if (same_at(text.bytes + at, what.bytes, what.len)) {
      call->out->integer = (int64_t)tdsd_text_units(text.bytes, at) + 1;
      return 0;
    }
  }
  return 0;
}

int scalar_replace(const struct scalar_call *call) {
  struct tdsd_value text;
  struct tdsd_value what;
  struct tdsd_value with;
  if (scalar_text_arg(call, 0, &text) < 0 ||
      scalar_text_arg(call, 1, &what) < 0 ||
      scalar_text_arg(call, 2, &with) < 0) {
    return -1;
  }
  if (what.len == 0) {
    return scalar_set_text(call, text.bytes, text.len);
  }
  size_t room = text.len / what.len * with.len + text.len;
  char *to = room > TDSD_CAP_VALUE
                 ? NULL
                 : tdsd_arena_take(call->context->arena, room + 1);
  if (to == NULL) {
    return scalar_no_memory(call);
  }
  size_t n = 0;
  for (size_t at = 0; at < text.len;) {
    if (at + what.len <= text.len &&
        same_at(text.bytes + at, what.bytes, what.len)) {
      memcpy(to + n, with.bytes, with.len);
      n += with.len;
      at += what.len;
    } else {
      to[n++] = text.bytes[at++];
    }
  }
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

static int trim(const struct scalar_call *call, bool left, bool right) {
  struct tdsd_value text;
  if (scalar_text_arg(call, 0, &text) < 0) {
    return -1;
  }
  size_t from = 0;
  size_t to = text.len;
  while (left && from < to && text.bytes[from] == ' ') {
    from++;
  }
  while (right && to > from && text.bytes[to - 1] == ' ') {
    to--;
  }
  return scalar_set_text(call, text.bytes + from, to - from);
}

int scalar_ltrim(const struct scalar_call *call) {
  return trim(call, true, false);
}

int scalar_rtrim(const struct scalar_call *call) {
  return trim(call, false, true);
}

int scalar_trim(const struct scalar_call *call) {
  return trim(call, true, true);
}

int scalar_reverse(const struct scalar_call *call) {
  struct tdsd_value text;
  if (scalar_text_arg(call, 0, &text) < 0) {
    return -1;
  }
  char *to = tdsd_arena_take(call->context->arena, text.len + 1);
  if (to == NULL) {
    return scalar_no_memory(call);
  }
  size_t end = text.len;
  for (size_t at = 0; at < text.len;) {
    size_t start = at;
    (void)tdsd_text_next(text.bytes, text.len, &at);
    end -= at - start;
    memcpy(to + end, text.bytes + start, at - start);
  }
  call->out->bytes = to;
  call->out->len = text.len;
  return 0;
}

int scalar_space(const struct scalar_call *call) {
  int64_t n = 0;
  if (scalar_int_arg(call, 0, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    call->out->is_null = true;
    return 0;
  }
  n = n > 8000 ? 8000 : n;
  char *to = tdsd_arena_take(call->context->arena, (size_t)n + 1);
  if (to == NULL) {
    return scalar_no_memory(call);
  }
  memset(to, ' ', (size_t)n);
  call->out->bytes = to;
  call->out->len = (size_t)n;
  return 0;
}

int scalar_stuff(const struct scalar_call *call) {
  struct tdsd_value text;
  struct tdsd_value with;
  int64_t start = 0;
  int64_t n = 0;
  if (scalar_text_arg(call, 0, &text) < 0 ||
      scalar_int_arg(call, 1, &start) < 0 || scalar_int_arg(call, 2, &n) < 0 ||
      scalar_text_arg(call, 3, &with) < 0) {
    return -1;
  }
  int64_t units = (int64_t)tdsd_text_units(text.bytes, text.len);
  if (start < 1 || start > units || n < 0) {
    call->out->is_null = true;
    return 0;
  }
  n = n > units ? units : n;
  size_t from = tdsd_text_cut(text.bytes, text.len, (size_t)start - 1);
  size_t to = tdsd_text_cut(text.bytes, text.len, (size_t)(start - 1 + n));
  char *joined = tdsd_arena_take(call->context->arena, text.len + with.len + 1);
  if (joined == NULL) {
    return scalar_no_memory(call);
  }
  memcpy(joined, text.bytes, from);
  memcpy(joined + from, with.bytes, with.len);
  memcpy(joined + from + with.len, text.bytes + to, text.len - to);
  call->out->bytes = joined;
  call->out->len = text.len - (to - from) + with.len;
  return 0;
}

int scalar_unicode(const struct scalar_call *call) {
  struct tdsd_value text;
  size_t at = 0;
  if (scalar_text_arg(call, 0, &text) < 0) {
    return -1;
  }
  call->out->is_null = text.len == 0;
  call->out->integer =
      text.len == 0 ? 0 : (int64_t)tdsd_text_next(text.bytes, text.len, &at);
  return 0;
}

int scalar_ascii(const struct scalar_call *call) {
  struct tdsd_value text;
  uint8_t byte = 0;
  if (scalar_text_arg(call, 0, &text) < 0) {
    return -1;
  }
  size_t one = 0;
  if (text.len != 0) {
    (void)tdsd_text_next(text.bytes, text.len, &one);
    (void)tdsd_text_to_1252(text.bytes, one, &byte);
  }
  call->out->is_null = text.len == 0;
  call->out->integer = byte;
  return 0;
}

static int concat(const struct scalar_call *call, uint32_t first) {
  struct tdsd_value parts[SCALAR_ARGS_MAX];
  size_t len = 0;
  for (uint32_t i = 0; i < call->nargs; i++) {
    if (scalar_text_arg(call, i, &parts[i]) < 0) {
      return -1;
    }
    len += parts[i].len + parts[0].len;
  }
  char *to = tdsd_arena_take(call->context->arena, len + 1);
  if (to == NULL) {
    return scalar_no_memory(call);
  }
  size_t n = 0;
  bool some = false;
  for (uint32_t i = first; i < call->nargs; i++) {
    if (parts[i].is_null) {
      continue; /* NULL counts as nothing here */
    }
    if (first == 1 && some) {
      memcpy(to + n, parts[0].bytes, parts[0].len);
      n += parts[0].len;
    }
    memcpy(to + n, parts[i].bytes, parts[i].len);
    n += parts[i].len;
    some = true;
  }
  call->out->is_null = false;
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

int scalar_concat(const struct scalar_call *call) {
  return concat(call, 0);
}

int scalar_concat_ws(const struct scalar_call *call) {
  return concat(call, 1);
}

int scalar_quotename(const struct scalar_call *call) {
  struct tdsd_value text;
  if (scalar_text_arg(call, 0, &text) < 0) {
    return -1;
  }
  char *to = tdsd_arena_take(call->context->arena, 2 * text.len + 3);
  if (to == NULL) {
    return scalar_no_memory(call);
  }
  size_t n = 0;
  to[n++] = '[';
  for (size_t i = 0; i < text.len; i++) {
    to[n++] = text.bytes[i];
    if (text.bytes[i] == ']') {
      to[n++] = ']';
    }
  }
  to[n++] = ']';
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

int scalar_isnumeric(const struct scalar_call *call) {
  struct tdsd_fault ignored = {0};
  struct tdsd_type type = {.kind = TDSD_FLOAT};
  struct tdsd_value value;
  call->out->is_null = false;
  call->out->integer =
      !call->args[0].is_null &&
      tdsd_convert(&call->args[0], &type, 0, call->context->arena, &value,
                   &ignored) == 0;
  return 0;
}

int scalar_choose(const struct scalar_call *call) {
  int64_t n = 0;
  if (scalar_int_arg(call, 0, &n) < 0) {
    return -1;
  }
  if (call->args[0].is_null || n < 1 || n >= (int64_t)call->nargs) {
    call->out->is_null = true;
    return 0;
  }
  struct tdsd_type type = call->out->type;
  return tdsd_convert(&call->args[n], &type, 0, call->context->arena, call->out,
                      call->context->fault);
}

int scalar_newid(const struct scalar_call *call) {
  if (RAND_bytes(call->out->guid, 16) != 1) {
    return scalar_no_memory(call);
  }
  /* Version 4 and its variant, at their places in the wire's order. */
  call->out->guid[7] = (uint8_t)((call->out->guid[7] & 0x0F) | 0x40);
  call->out->guid[8] = (uint8_t)((call->out->guid[8] & 0x3F) | 0x80);
  return 0;
}
