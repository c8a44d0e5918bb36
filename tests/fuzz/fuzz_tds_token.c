/* SPDX-License-Identifier: MIT */
/* fuzz_tds_token.c - the token decoder.
 *
 * The first byte chooses layout and piece size, the rest is one message.  Whole
 * and in pieces it must give the same events, rows and verdict. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tds/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(uint8_t mode,
               const uint8_t *data,
               size_t size,
               size_t piece,
               struct fake_bytes *out) {
  struct tds_decoder d;
  struct sink s;
  sink_init(&s, &d);
  sink_values(&s, &d);
  d.old_layout = (mode & 0x80) != 0;
  d.no_results = (mode & 0x40) != 0;
  int rc = sink_feed(&s, &d, data, size, piece, 0);
  fake_add(out, s.log.p, s.log.n);
  if (rc == TDS_MORE) {
    rc = tds_token_end(&d);
  }
  sink_fini(&s, &d);
  return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fake_bytes whole = {0};
  struct fake_bytes cut = {0};
  if (size < 2 || size > 65536) {
    return 0;
  }
  size_t piece = (data[0] & 0x3Fu) + 1u;
  int a = run(data[0], data + 1, size - 1, 0, &whole);
  int b = run(data[0], data + 1, size - 1, piece, &cut);
  if (a != b || whole.n != cut.n || memcmp(whole.p, cut.p, cut.n) != 0) {
    abort();
  }
  free(whole.p);
  free(cut.p);
  return 0;
}
