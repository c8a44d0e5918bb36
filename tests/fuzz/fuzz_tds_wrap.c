/* SPDX-License-Identifier: MIT */
/* fuzz_tds_wrap.c - a TLS handshake in PRELOGIN packets, taken out of them.
 *
 * Input: a byte of flags (bits 0-1 Encrypt, 2 cut reads, 3 stray wake-ups, 4
 * hang up), then what the server sends behind its PRELOGIN reply, in answers
 * with a 2-byte length before each: packets of type 12 with pieces of the
 * handshake, then what is encrypted (the pretended TLS XORs with FAKE_KEY, so
 * that a fuzzer gets through it).  With Encrypt=strict there is no PRELOGIN
 * before, and no packet either. */
#include <stdint.h>
#include <stdlib.h>

#include "drivers/tds/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const options[] = {
    "Server=h;User ID=sa;Password=;Encrypt=optional",
    "Server=h;User ID=sa;Password=;Encrypt=mandatory",
    "Server=h;User ID=sa;Password=;Encrypt=strict",
    "Server=h;User ID=sa;Password=;Encrypt=mandatory;Packet Size=512",
};

/* ENCRYPTION: off for the first, which means login-only; on for the others. */
static void answer_prelogin(struct fake *f, unsigned mode) {
  uint8_t reply[] = {4, 1, 0,  26, 0, 0,    1,  0, 0,  0,   11, 0, 6,
                     1, 0, 17, 0,  1, 0xFF, 16, 0, 15, 160, 0,  0, 1};
  reply[25] = mode == 0 ? 0 : 1;
  if (mode != 2) {
    fake_raw(f, reply, sizeof reply);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fake f;
  if (size < 1 || size > 32768) {
    return 0;
  }
  unsigned mode = data[0] & 3u;
  fake_open(&f, options[mode]);
  f.read_most = (data[0] & 4) != 0 ? 1 : 0;
  f.stray = (data[0] & 8) != 0;
  f.hang_up = (data[0] & 16) != 0;
  answer_prelogin(&f, mode);
  data++;
  size--;
  while (size >= 2 && f.n_answers < 8) {
    size_t n = (size_t)(data[0] | data[1] << 8);
    n = n < size - 2 ? n : size - 2;
    fake_raw(&f, data + 2, n);
    data += 2 + n;
    size -= 2 + n;
  }
  weir_drv_status rc = fake_connect(&f);
  if (rc == WEIR_DRV_DONE) {
    rc = fake_exec(&f, "select 1");
  }
  if (rc == WEIR_DRV_FAIL && f.err.scope >= WEIR_DRV_SCOPE_CONN &&
      f.wait.usable) {
    abort();
  }
  if (fake_close(&f) != 0) {
    abort();
  }
  return 0;
}
