/* SPDX-License-Identifier: MIT */
/* fuzz_tds_login.c - a hostile server against the whole driver.
 *
 * Input: a byte of flags (bits 0-1 Encrypt, 2 cut reads, 3 stray wake-ups, 4
 * hang up at the end, 5 small row batches), then the server's answers, each
 * with a 2-byte length before it.  The driver logs in, runs a statement,
 * resets, pings and cancels; it must neither crash nor leak nor claim that a
 * dead connection is usable. */
#include <stdint.h>
#include <stdlib.h>

#include "drivers/tds/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const options[] = {
    "Server=h;User ID=sa;Password=;Encrypt=optional",
    "Server=h;User ID=sa;Password=;Encrypt=mandatory",
    "Server=h;User ID=sa;Password=;Encrypt=strict",
    "Server=h;User ID=sa;Password=;Encrypt=optional;Database=d",
};

static void queue(struct fake *f, const uint8_t *data, size_t size) {
  while (size >= 2 && f->n_answers < 16) {
    size_t n = (size_t)(data[0] | data[1] << 8);
    data += 2;
    size -= 2;
    n = n < size ? n : size;
    fake_raw(f, data, n);
    data += n;
    size -= n;
  }
}

/* Whether the connection may be used further. */
static bool goes_on(struct fake *f, weir_drv_status rc) {
  if (rc == WEIR_DRV_FAIL && f->err.scope >= WEIR_DRV_SCOPE_CONN &&
      f->wait.usable) {
    abort();
  }
  return rc != WEIR_DRV_WAIT && f->wait.usable == 1;
}

static void use(struct fake *f) {
  if (!goes_on(f, fake_connect(f)) || !goes_on(f, fake_exec(f, "select 1")) ||
      !goes_on(f, fake_reset(f, WEIR_DRV_RESET_LAZY)) ||
      !goes_on(f, fake_ping(f)) ||
      !goes_on(f, fake_reset(f, WEIR_DRV_RESET_EAGER))) {
    return;
  }
  weir_drv_status rc = fake_start(f, "select 2");
  if (rc >= 0 && rc != WEIR_DRV_DONE) {
    (void)goes_on(f, fake_cancel(f));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fake f;
  if (size < 1 || size > 65536) {
    return 0;
  }
  fake_open(&f, options[data[0] & 3]);
  f.read_most = (data[0] & 4) != 0 ? 1 : 0;
  f.stray = (data[0] & 8) != 0;
  f.hang_up = (data[0] & 16) != 0;
  f.batch_rows = (data[0] & 32) != 0 ? 1 : 0;
  queue(&f, data + 1, size - 1);
  use(&f);
  (void)f.driver->health(f.conn);
  if (fake_close(&f) != 0) {
    abort();
  }
  return 0;
}
