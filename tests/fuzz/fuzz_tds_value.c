/* SPDX-License-Identifier: MIT */
/* fuzz_tds_value.c - values of each type, the type as the input says.
 *
 * Input: piece size, type code, TYPE_INFO (padded with zeros), values.  The
 * column gets a name, each value a ROW token, an odd piece size NBCROW tokens.
 * Whole and in pieces the rows must be the same, and valid UTF-8. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tds/sink.h"
#include "tds_text.h"
#include "tds_variant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(const struct fake_bytes *in,
               size_t piece,
               struct fake_bytes *out) {
  struct tds_decoder d;
  struct sink s;
  sink_init(&s, &d);
  int rc = sink_feed(&s, &d, in->p, in->n, piece, 0);
  fake_add(out, s.log.p, s.log.n);
  if (rc == TDS_MORE) {
    rc = tds_token_end(&d);
  }
  sink_fini(&s, &d);
  return rc;
}

/* COLMETADATA of one column, and a row token before what is left. */
static void build(struct fake_bytes *out,
                  const struct tds_type_rule *rule,
                  const uint8_t *data,
                  size_t size) {
  static const uint8_t head[] = {0x81, 1, 0, 0, 0, 0, 0, 9, 0};
  static const uint8_t zeros[16] = {0};
  size_t info = size < rule->info ? size : rule->info;
  fake_add(out, head, sizeof head);
  fake_add(out, &rule->code, 1);
  fake_add(out, data, info);
  fake_add(out, zeros, rule->info - info);
  if (rule->extra == TDS_EXTRA_XML) {
    fake_add(out, zeros, 1);
  } else if (rule->extra == TDS_EXTRA_UDT) {
    fake_add(out, zeros, 5);
  }
  if (rule->shape == TDS_SHAPE_POINTER) {
    fake_add(out, zeros, 1); /* no table */
  }
  fake_add(out, "\x01n\0\xD1", 4);
  fake_add(out, data + info, size - info);
}

/* The functions themselves, with the size exact. */
static void try_whole(const uint8_t *data, size_t size) {
  struct tds_variant v;
  uint8_t code = 0;
  size_t n = 0;
  uint8_t *out = malloc(tds_vector_bound(size));
  if (out != NULL && tds_vector_text(data, size, out, &n) == TDS_OK &&
      n > tds_vector_bound(size)) {
    abort();
  }
  free(out);
  if (tds_variant_read(&v, data, size, &code) != TDS_OK) {
    return;
  }
  out = malloc(tds_variant_bound(&v));
  if (out != NULL && tds_variant_text(&v, out, &n) == TDS_OK &&
      (n > tds_variant_bound(&v) || tds_text_valid(out, n) != n)) {
    abort();
  }
  free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fake_bytes in = {0};
  struct fake_bytes whole = {0};
  struct fake_bytes cut = {0};
  if (size < 3 || size > 16384) {
    return 0;
  }
  const struct tds_type_rule *rule = tds_type_find(data[1]);
  try_whole(data + 2, size - 2);
  if (rule == NULL) {
    return 0;
  }
  build(&in, rule, data + 2, size - 2);
  int a = run(&in, 0, &whole);
  int b = run(&in, data[0] % 61u + 1u, &cut);
  if (a != b || whole.n != cut.n || memcmp(whole.p, cut.p, cut.n) != 0 ||
      tds_text_valid(whole.p, whole.n) != whole.n) {
    abort();
  }
  free(in.p);
  free(whole.p);
  free(cut.p);
  return 0;
}
