/* SPDX-License-Identifier: MIT */
/* tds_variant.c - see tds_variant.h. */
#include "tds_variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir_driver.h"

#include "tds_text.h"
#include "tds_value.h"

/* Bytes of properties by shape, see the table of MS-TDS 2.2.5.5.4. */
#define PROPS_BINARY  2u /* maximal length */
#define PROPS_CHARS   7u /* collation, maximal length */
#define PROPS_DECIMAL 2u /* precision, scale */
#define PROPS_TIME    1u /* scale */

/* A decimal's size is that of its data; the type wants one it knows. */
#define DECIMAL_SIZE 17u

#define UUID_BYTES 16u

#define VECTOR_HEAD    8u
#define VECTOR_LAYOUT  0xA9u
#define VECTOR_VERSION 1u
#define VECTOR_FLOAT32 0u

/* -1.2345678901234567e-308 and a comma; what the compiler fears of %g. */
#define FLOAT_TEXT 32u
#define FLOAT_ROOM 320u

static bool is_time(uint8_t code) {
  return code >= 0x29 && code <= 0x2B;
}

/* The properties of a variant as the TYPE_INFO of a column.
 * Returns the bytes of properties that belong to the type. */
static size_t info_of(const struct tds_type_rule *rule,
                      const uint8_t *props,
                      size_t n,
                      uint8_t info[9]) {
  memset(info, 0, 9);
  if (rule->shape == TDS_SHAPE_SHORT && rule->cell == WEIR_DRV_T_TEXT) {
    if (n == PROPS_CHARS) {
      memcpy(info, props + 5, 2);
      memcpy(info + 2, props, 5);
    }
    return PROPS_CHARS;
  }
  if (rule->shape == TDS_SHAPE_SHORT) {
    memcpy(info, props, n < PROPS_BINARY ? n : PROPS_BINARY);
    return PROPS_BINARY;
  }
  if (rule->cell == WEIR_DRV_T_DEC && rule->shape == TDS_SHAPE_BYTELEN) {
    info[0] = DECIMAL_SIZE;
    memcpy(info + 1, props, n < PROPS_DECIMAL ? n : PROPS_DECIMAL);
    return PROPS_DECIMAL;
  }
  if (is_time(rule->code)) {
    info[0] = n > 0 ? props[0] : 0;
    return PROPS_TIME;
  }
  info[0] = rule->cell == WEIR_DRV_T_UUID ? UUID_BYTES : 0;
  return 0;
}

/* Variants hold the types of fixed size by their own codes, never by those of
 * their nullable forms, and no value without a bound. */
static bool may_hold(const struct tds_type_rule *rule) {
  if (rule == NULL || rule->code == 0x1F) {
    return false;
  }
  if (rule->shape == TDS_SHAPE_BYTELEN) {
    return rule->info != 1 || rule->cell == WEIR_DRV_T_UUID ||
           is_time(rule->code);
  }
  return rule->shape == TDS_SHAPE_FIXED || rule->shape == TDS_SHAPE_SHORT;
}

int tds_variant_read(struct tds_variant *v,
                     const uint8_t *p,
                     size_t n,
                     uint8_t *out_code) {
  struct tds_span s = {p, n};
  uint8_t info[9];
  const uint8_t *head = tds_take(&s, 2);
  const uint8_t *props = head == NULL ? NULL : tds_take(&s, head[1]);
  if (props == NULL) {
    return TDS_E_PROTO;
  }
  const struct tds_type_rule *rule = tds_type_find(head[0]);
  if (!may_hold(rule)) {
    *out_code = head[0];
    return TDS_E_UNSUPPORTED;
  }
  if (info_of(rule, props, head[1], info) != head[1] ||
      tds_type_set(&v->type, rule, info) != TDS_OK ||
      v->type.shape == TDS_SHAPE_PLP || s.n > v->type.max) {
    return TDS_E_PROTO;
  }
  v->data = s;
  return TDS_OK;
}

/* ----------------------------------------------------------------- numbers */

/* The fewest digits that read back as the same number.  A locale may write the
 * point in another way, in one byte or several: whatever is no part of a number
 * is the point. */
static size_t put_float(double d, bool is_real, uint8_t *out) {
  char text[FLOAT_ROOM];
  int first = is_real ? 6 : 15;
  int last = is_real ? 9 : 17;
  for (int digits = first; digits <= last; digits++) {
    (void)snprintf(text, sizeof text, "%.*g", digits, d);
    double back = strtod(text, NULL);
    if (is_real ? (float)back == (float)d : back == d) {
      break;
    }
  }
  size_t o = 0;
  for (const char *c = text; *c != '\0'; c++) {
    if (strchr("0123456789+-e", *c) != NULL) {
      out[o++] = (uint8_t)*c;
    } else if (o == 0 || out[o - 1] != '.') {
      out[o++] = '.';
    }
  }
  return o;
}

static size_t put_text(const char *text, uint8_t *out) {
  size_t n = 0;
  for (; text[n] != '\0'; n++) {
    out[n] = (uint8_t)text[n];
  }
  return n;
}

static size_t put_any_float(double d, bool is_real, uint8_t *out) {
  if (isnan(d)) {
    return put_text("NaN", out);
  }
  if (isinf(d)) {
    return put_text(d < 0 ? "-Infinity" : "Infinity", out);
  }
  return put_float(d, is_real, out);
}

static double double_of(uint64_t bits) {
  double d = 0;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static size_t put_hex(const uint8_t *p, size_t n, uint8_t *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = (uint8_t)digits[p[i] >> 4];
    out[2 * i + 1] = (uint8_t)digits[p[i] & 15];
  }
  return 2 * n;
}

static size_t put_uuid(const uint8_t *p, uint8_t *out) {
  static const size_t parts[] = {4, 2, 2, 2, 6};
  size_t o = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (i > 0) {
      out[o++] = '-';
    }
    o += put_hex(p, parts[i], out + o);
    p += parts[i];
  }
  return o;
}

/* A scalar: its cell first, then the cell as text. */
static int scalar_text(const struct tds_variant *v,
                       uint8_t *out,
                       size_t *out_n) {
  uint8_t cell[TDS_CELL_MAX];
  size_t n = 0;
  int rc = tds_value_cell(&v->type, v->data.p, v->data.n, cell, &n);
  if (rc != TDS_OK) {
    return rc;
  }
  switch (v->type.rule->cell) {
  case WEIR_DRV_T_INT:
    *out_n = (size_t)snprintf((char *)out, FLOAT_TEXT, "%lld",
                              (long long)tds_u64(cell));
    return TDS_OK;
  case WEIR_DRV_T_BOOL:
    *out_n = put_text(cell[0] != 0 ? "1" : "0", out);
    return TDS_OK;
  case WEIR_DRV_T_FLOAT:
    *out_n = put_any_float(double_of(tds_u64(cell)), v->data.n == 4, out);
    return TDS_OK;
  case WEIR_DRV_T_UUID:
    *out_n = put_uuid(cell, out);
    return TDS_OK;
  default:
    memcpy(out, cell, n);
    *out_n = n;
    return TDS_OK;
  }
}

size_t tds_variant_bound(const struct tds_variant *v) {
  if (v->type.shape != TDS_SHAPE_SHORT) {
    return TDS_CELL_MAX;
  }
  return v->type.rule->cell == WEIR_DRV_T_BYTES
             ? 2 + 2 * v->data.n
             : TDS_TEXT_BOUND(v->data.n) + TDS_TEXT_BOUND(0);
}

int tds_variant_text(const struct tds_variant *v, uint8_t *out, size_t *out_n) {
  struct tds_text t = {.charset = v->type.charset};
  if (v->type.shape != TDS_SHAPE_SHORT) {
    return scalar_text(v, out, out_n);
  }
  size_t n = 0;
  if (v->type.rule->cell == WEIR_DRV_T_BYTES) {
    n = put_text("0x", out);
    n += put_hex(v->data.p, v->data.n, out + n);
  } else {
    n = tds_text_push(&t, v->data.p, v->data.n, out);
    n += tds_text_finish(&t, out + n);
  }
  *out_n = n;
  return TDS_OK;
}

/* ------------------------------------------------------------------ vectors */

size_t tds_vector_bound(size_t n) {
  return n / 4 * FLOAT_TEXT + 2;
}

int tds_vector_text(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n) {
  size_t o = 0;
  if (n < VECTOR_HEAD || p[0] != VECTOR_LAYOUT || p[1] != VECTOR_VERSION) {
    return TDS_E_PROTO;
  }
  if (p[4] != VECTOR_FLOAT32) {
    return TDS_E_UNSUPPORTED;
  }
  size_t count = tds_u16(p + 2);
  if (n != VECTOR_HEAD + 4 * count) {
    return TDS_E_PROTO;
  }
  out[o++] = '[';
  for (size_t i = 0; i < count; i++) {
    uint32_t bits = tds_u32(p + VECTOR_HEAD + 4 * i);
    float f = 0;
    memcpy(&f, &bits, sizeof f);
    if (i > 0) {
      out[o++] = ',';
    }
    o += isfinite(f) ? put_float((double)f, true, out + o)
                     : put_text("null", out + o);
  }
  out[o++] = ']';
  *out_n = o;
  return TDS_OK;
}
