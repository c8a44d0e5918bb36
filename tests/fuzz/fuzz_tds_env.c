/* SPDX-License-Identifier: MIT */
/* fuzz_tds_env.c - environment changes, in the answer to a login and to a
 * statement.
 *
 * Input: a byte of flags (bit 0: cut reads), then changes: type, length, bytes.
 * Each becomes an ENVCHANGE token of true length, so that what is tried is their
 * meaning: packet size, transaction, reset, routing.  The driver must neither
 * crash nor leak nor call a dead connection usable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tds/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t prelogin[] = {4,    1,  0, 26, 0,   0, 1,  0, 0,
                                   0,    11, 0, 6,  1,   0, 17, 0, 1,
                                   0xFF, 16, 0, 15, 160, 0, 0,  2};
static const uint8_t ack[] = {0xAD, 10, 0, 1, 0x74, 0, 0, 4, 0, 16, 0, 15, 160};
static const uint8_t done[] = {0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

/* Takes one change off the input. */
static void add_change(struct fake_bytes *out,
                       const uint8_t **data,
                       size_t *size) {
  size_t n = (*data)[1];
  n = n < *size - 2 ? n : *size - 2;
  const uint8_t head[4] = {0xE3, (uint8_t)(n + 1), (uint8_t)((n + 1) >> 8),
                           (*data)[0]};
  fake_add(out, head, sizeof head);
  fake_add(out, *data + 2, n);
  *data += 2 + n;
  *size -= 2 + n;
}

static bool goes_on(struct fake *f, weir_drv_status rc) {
  if (rc == WEIR_DRV_FAIL && f->err.scope >= WEIR_DRV_SCOPE_CONN &&
      f->wait.usable) {
    abort();
  }
  return rc != WEIR_DRV_WAIT && f->wait.usable == 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fake f;
  if (size < 3 || size > 4096) {
    return 0;
  }
  fake_open(&f, "Server=h;User ID=sa;Password=;Encrypt=optional");
  f.read_most = (data[0] & 1) != 0 ? 1 : 0;
  fake_raw(&f, prelogin, sizeof prelogin);
  data++;
  size--;
  for (unsigned answer = 0; answer < 4; answer++) {
    struct fake_bytes body = {0};
    if (answer == 0) {
      fake_add(&body, ack, sizeof ack);
    }
    for (unsigned i = 0; i < 4 && size >= 2; i++) {
      add_change(&body, &data, &size);
    }
    fake_add(&body, done, sizeof done);
    fake_reply(&f, body.p, body.n);
    free(body.p);
  }
  if (goes_on(&f, fake_connect(&f)) && goes_on(&f, fake_exec(&f, "select 1")) &&
      goes_on(&f, fake_reset(&f, WEIR_DRV_RESET_LAZY)) &&
      goes_on(&f, fake_exec(&f, "select 2"))) {
    (void)goes_on(&f, fake_ping(&f));
  }
  if (fake_close(&f) != 0) {
    abort();
  }
  return 0;
}
