/* SPDX-License-Identifier: MIT */
/* fuzz_tds_hint.c - type hints, and texts as values of what they name.
 *
 * Up to the first zero byte a hint, behind it a text.  A type that is read must
 * read the same again from what is printed of it, and a value that is taken must
 * be one to the decoder of rows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tds_param.h"
#include "tds_text.h"
#include "tds_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good) {
  if (!good) {
    abort();
  }
}

/* What is printed is a type, and the same one. */
static void print_again(const struct tds_hint *h) {
  struct tds_hint again;
  const char *why = NULL;
  char text[TDS_HINT_TEXT_MAX];
  char twice[TDS_HINT_TEXT_MAX];
  size_t n = tds_hint_print(h, text);
  must(n > 0 && n < sizeof text);
  must(tds_hint_parse(text, n, &again, &why) == TDS_OK);
  must(tds_hint_print(&again, twice) == n && memcmp(text, twice, n) == 0);
}

static void scalar(const struct tds_hint *h, const struct weir_drv_value *v) {
  static const uint8_t collation[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};
  struct tds_reason why;
  struct tds_type type;
  uint8_t info[TDS_HINT_INFO_MAX];
  uint8_t wire[TDS_SCALAR_MAX];
  uint8_t cell[TDS_CELL_MAX];
  size_t n = 0;
  if (tds_param_scalar(h, v, wire, &n, &why) != TDS_OK) {
    must(memchr(why.text, 0, sizeof why.text) != NULL && why.text[0] != 0);
    return;
  }
  must(n == wire[0] + (size_t)1 && n > 1);
  (void)tds_hint_info(h, collation, info);
  must(tds_type_set(&type, tds_type_find(info[0]), info + 1) == TDS_OK);
  must(tds_value_cell(&type, wire + 1, n - 1, cell, &n) == TDS_OK);
}

/* Measured and written bytes agree. */
static void text(const struct tds_hint *h, const struct weir_drv_value *v) {
  uint8_t charset = h->kind == TDS_KIND_BYTES ? TDS_CHARSET_NONE
                    : h->wide                 ? TDS_CHARSET_UTF16
                                              : TDS_CHARSET_PAGE;
  struct tds_measure m = {{v->p, (size_t)v->n}, charset, NULL, 0, 0};
  struct tds_text_out o = {.text = {v->p, (size_t)v->n}, .charset = charset};
  uint8_t out[7];
  uint64_t bytes = 0;
  int rc = TDS_MORE;
  while (rc == TDS_MORE) {
    rc = tds_measure_more(&m, 5);
  }
  if (rc != TDS_OK || charset == TDS_CHARSET_NONE) {
    return;
  }
  for (size_t n = 1; n > 0;) {
    n = tds_text_out_put(&o, out, 1 + bytes % sizeof out);
    bytes += n;
  }
  must(tds_text_out_over(&o) && bytes == m.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tds_hint h;
  const char *why = NULL;
  const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
  size_t n = zero == NULL ? size : (size_t)(zero - data);
  struct weir_drv_value v = {.type = WEIR_DRV_T_TEXT};
  if (tds_hint_parse((const char *)data, n, &h, &why) != TDS_OK) {
    must(why != NULL);
    return 0;
  }
  print_again(&h);
  v.p = zero == NULL ? data : zero + 1;
  v.n = zero == NULL ? 0 : size - n - 1;
  tds_param_close(&h, &v, false);
  if (h.frame == TDS_LONG_NONE) {
    scalar(&h, &v);
  } else {
    text(&h, &v);
  }
  return 0;
}
