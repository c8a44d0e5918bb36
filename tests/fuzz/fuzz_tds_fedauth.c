/* SPDX-License-Identifier: MIT */
/* fuzz_tds_fedauth.c - federated authentication against a hostile server.
 *
 * Input: a byte of flags (bit 0: the input is FEDAUTHINFO alone, for the parser;
 * 1: a token at hand, else one that is asked for; 2 cut reads; 3 stray wake-ups;
 * 4 hang up at the end), then FEDAUTHINFO, or the server's answers behind the
 * TLS handshake, each with a 2-byte length before it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tds/fake_host.h"
#include "tds_fedauth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const struct tds_span *s, const uint8_t *p, size_t n) {
  if (s->p < p || s->p + s->n > p + n || s->n == 0 || s->n % 2 != 0) {
    abort();
  }
}

static void parse(const uint8_t *data, size_t size) {
  struct tds_fedauth info;
  const char *why = NULL;
  uint8_t *p = malloc(size + 1); /* so that a byte too far is seen */
  if (p == NULL) {
    abort();
  }
  memcpy(p, data, size);
  if (tds_fedauth_read(p, size, &info, &why) == TDS_OK) {
    check_inside(&info.sts, p, size);
    check_inside(&info.spn, p, size);
  } else if (why == NULL) {
    abort();
  }
  free(p);
}

static void queue(struct fake *f, const uint8_t *data, size_t size) {
  static const char handshake[] = "12 01 000d 0000 00 00 5345525652";
  fake_reply_hex(f, "00 0010 0006 01 0016 0001 06 0017 0001 ff "
                    "100000000000 01 01");
  fake_hex(f, handshake);
  while (size >= 2 && f->n_answers < 16) {
    size_t n = (size_t)(data[0] | data[1] << 8);
    data += 2;
    size -= 2;
    n = n < size ? n : size;
    fake_reply(f, data, n < 60000 ? n : 60000);
    data += n;
    size -= n;
  }
  fake_encrypt(f, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fake f;
  if (size < 1 || size > 65536) {
    return 0;
  }
  if ((data[0] & 1) != 0) {
    parse(data + 1, size - 1);
    return 0;
  }
  fake_open(&f, (data[0] & 2) != 0
                    ? "Server=h;Access Token="
                    : "Server=h;Authentication=ActiveDirectoryDefault");
  f.token = "token";
  f.token_n = 5;
  f.read_most = (data[0] & 4) != 0 ? 1 : 0;
  f.stray = (data[0] & 8) != 0;
  f.hang_up = (data[0] & 16) != 0;
  queue(&f, data + 1, size - 1);
  weir_drv_status rc = fake_connect(&f);
  if (rc == WEIR_DRV_FAIL && f.wait.usable) {
    abort();
  }
  if (fake_close(&f) != 0) {
    abort();
  }
  return 0;
}
