/* SPDX-License-Identifier: MIT */
/* fuzz_tds_packet.c - packet headers and the PRELOGIN reply.
 *
 * The input is a stream of the server.  Split whole and byte by byte it must
 * give the same bodies; each message is tried as an option table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tds/fake_host.h"
#include "tds_packet.h"
#include "tds_prelogin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_prelogin(const struct fake_bytes *body) {
  struct tds_prelogin reply;
  const char *why = NULL;
  uint8_t *copy = malloc(body->n + 1);
  if (copy == NULL) {
    return;
  }
  memcpy(copy, body->p, body->n);
  (void)tds_prelogin_read(copy, body->n, &reply, &why);
  free(copy);
}

/* All bodies in a row, a '.' after each message.  Returns the last verdict. */
static int split(const uint8_t *data,
                 size_t size,
                 size_t piece,
                 struct fake_bytes *out) {
  struct tds_packet_reader r;
  int rc = TDS_MORE;
  memset(&r, 0, sizeof r);
  fake_add(out, "", 0);
  for (size_t at = 0; at < size && rc == TDS_MORE; at += piece) {
    struct tds_span in = {data + at, size - at < piece ? size - at : piece};
    struct tds_span body = {NULL, 0};
    while ((rc = tds_packet_next(&r, &in, &body)) > TDS_MORE) {
      if (rc == TDS_PACKET_END) {
        try_prelogin(out);
        fake_add(out, ".", 1);
      } else {
        fake_add(out, body.p, body.n);
      }
    }
  }
  return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fake_bytes whole = {0};
  struct fake_bytes cut = {0};
  if (size > 4096) {
    return 0;
  }
  int a = split(data, size, size + 1, &whole);
  int b = split(data, size, 1, &cut);
  if (a != b || whole.n != cut.n || memcmp(whole.p, cut.p, cut.n) != 0) {
    abort();
  }
  free(whole.p);
  free(cut.p);
  return 0;
}
