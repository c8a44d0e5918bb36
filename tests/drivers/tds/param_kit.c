/* SPDX-License-Identifier: MIT */
/* param_kit.c - see param_kit.h.  Its UTF-16 is of its own making. */
#include "param_kit.h"

#include <stdlib.h>
#include <string.h>

struct weir_drv_param kit_value(const char *name,
                                const char *hint,
                                int32_t type,
                                const void *p,
                                size_t n) {
  struct weir_drv_param out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  out.name.p = name;
  out.name.n = strlen(name);
  out.type_hint.p = hint;
  out.type_hint.n = strlen(hint);
  out.value.type = type;
  out.value.p = p;
  out.value.n = n;
  return out;
}

struct weir_drv_param kit_null(const char *name, const char *hint) {
  return kit_value(name, hint, WEIR_DRV_T_NULL, NULL, 0);
}

struct weir_drv_param kit_bool(const char *name, const char *hint, int64_t v) {
  struct weir_drv_param p = kit_value(name, hint, WEIR_DRV_T_BOOL, NULL, 0);
  p.value.i = v;
  return p;
}

struct weir_drv_param kit_int(const char *name, const char *hint, int64_t v) {
  struct weir_drv_param p = kit_value(name, hint, WEIR_DRV_T_INT, NULL, 0);
  p.value.i = v;
  return p;
}

struct weir_drv_param kit_uint(const char *name, const char *hint, uint64_t v) {
  struct weir_drv_param p = kit_value(name, hint, WEIR_DRV_T_UINT, NULL, 0);
  p.value.u = v;
  return p;
}

struct weir_drv_param kit_float(const char *name, const char *hint, double v) {
  struct weir_drv_param p = kit_value(name, hint, WEIR_DRV_T_FLOAT, NULL, 0);
  p.value.f = v;
  return p;
}

struct weir_drv_param kit_typed(const char *name,
                                const char *hint,
                                int32_t type,
                                const char *text) {
  return kit_value(name, hint, type, text, strlen(text));
}

struct weir_drv_param kit_text(const char *name,
                               const char *hint,
                               const char *text) {
  return kit_typed(name, hint, WEIR_DRV_T_TEXT, text);
}

struct weir_drv_param kit_bytes(const char *name,
                                const char *hint,
                                const void *p,
                                size_t n) {
  return kit_value(name, hint, WEIR_DRV_T_BYTES, p, n);
}

void kit_hex(struct fake_bytes *b, const char *hex) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  fake_add(b, p, n);
  free(p);
}

static void add_unit(struct fake_bytes *b, uint32_t unit) {
  uint8_t two[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
  fake_add(b, two, sizeof two);
}

void kit_w16(struct fake_bytes *b, const char *text) {
  for (const uint8_t *p = (const uint8_t *)text; *p != 0;) {
    unsigned more = *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : *p >= 0xC0 ? 1 : 0;
    uint32_t code = more == 0 ? *p : *p & (0x3Fu >> more);
    for (p++; more > 0; more--) {
      code = code << 6 | (*p++ & 0x3Fu);
    }
    if (code >= 0x10000) {
      add_unit(b, 0xD7C0 + (code >> 10));
      code = 0xDC00 | (code & 0x3FF);
    }
    add_unit(b, code);
  }
}

void kit_text16(struct fake_bytes *b, const char *text) {
  struct fake_bytes w = {0};
  kit_w16(&w, text);
  add_unit(b, (uint32_t)w.n);
  kit_hex(b, "0904d00034");
  add_unit(b, (uint32_t)w.n);
  fake_add(b, w.p, w.n);
  free(w.p);
}

void kit_packets(struct fake_bytes *b,
                 const uint8_t *p,
                 size_t n,
                 size_t size) {
  for (size_t at = 0; at < n;) {
    size_t k = n - at < size - 8 ? n - at : size - 8;
    uint8_t head[8] = {4, at + k == n, (uint8_t)((k + 8) >> 8),
                       (uint8_t)(k + 8)};
    fake_add(b, head, sizeof head);
    fake_add(b, p + at, k);
    at += k;
  }
}
