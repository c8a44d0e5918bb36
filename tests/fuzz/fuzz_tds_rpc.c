/* SPDX-License-Identifier: MIT */
/* fuzz_tds_rpc.c - a hostile server against statements with parameters, output
 * values and handles.
 *
 * Input: a byte of flags (bits 0-1 what is cancelled, 2 cut reads, 3 stray
 * wake-ups, 4 hang up at the end), then the server's answers, each with a 2-byte
 * length before it.  The driver must neither crash nor leak, nor claim that a
 * dead connection is usable. */
#include <stdint.h>
#include <stdlib.h>

#include "drivers/tds/fake_host.h"
#include "drivers/tds/param_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char options[] =
    "Server=h;User ID=sa;Password=;Encrypt=optional;Prepared Statements=1";

static void queue(struct fake *f, const uint8_t *data, size_t size) {
  while (size >= 2 && f->n_answers < 20) {
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

/* One statement, cancelled behind its first result if cancel says so. */
static bool run(struct fake *f, const char *sql, bool prepare, bool cancel) {
  f->prepare = prepare;
  if (!cancel) {
    return goes_on(f, fake_exec(f, sql));
  }
  weir_drv_status rc = fake_start(f, sql);
  if (rc > WEIR_DRV_DONE) {
    rc = fake_cancel(f);
  }
  return goes_on(f, rc);
}

static void use(struct fake *f, uint8_t cancel) {
  if (!run(f, "q", true, cancel == 1) || !run(f, "q", true, cancel == 2) ||
      !run(f, "r", true, false) || !run(f, "q", false, cancel == 3) ||
      !goes_on(f, fake_reset(f, WEIR_DRV_RESET_LAZY)) ||
      !run(f, "r", true, false)) {
    return;
  }
  (void)run(f, "r", true, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fake f;
  struct weir_drv_param params[3] = {
      kit_int("@a", "int", 1), kit_text("@b", "nvarchar(max)", "\xC3\xB3"),
      kit_null("@c", "decimal(9,2)")};
  params[1].flags = WEIR_DRV_PARAM_OUT;
  params[2].flags = WEIR_DRV_PARAM_OUT;
  if (size < 1 || size > 65536) {
    return 0;
  }
  fake_open(&f, options);
  fake_login(&f);
  if (fake_connect(&f) != WEIR_DRV_DONE) {
    abort();
  }
  f.params = params;
  f.n_params = 3;
  f.read_most = (data[0] & 4) != 0 ? 1 : 0;
  f.stray = (data[0] & 8) != 0;
  f.hang_up = (data[0] & 16) != 0;
  queue(&f, data + 1, size - 1);
  use(&f, data[0] & 3);
  (void)f.driver->health(f.conn);
  if (fake_close(&f) != 0) {
    abort();
  }
  return 0;
}
