/* SPDX-License-Identifier: MIT */
/* fuzz_tds_prelogin.c - the option table that answers a PRELOGIN. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tds_options.h"
#include "tds_prelogin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int wishes[] = {TDS_ENCRYPT_OPTIONAL, TDS_ENCRYPT_MANDATORY};
  struct tds_prelogin reply;
  const char *why = NULL;
  memset(&reply, 0, sizeof reply);
  int rc = tds_prelogin_read(data, size, &reply, &why);
  if (rc != TDS_OK) {
    if (why == NULL || why[0] == '\0') {
      abort(); /* refused without a word */
    }
    return 0;
  }
  for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
    int channel = tds_prelogin_channel(wishes[i], reply.encryption);
    bool clear =
        channel == TDS_CHANNEL_PLAIN || channel == TDS_CHANNEL_LOGIN_ONLY;
    if (wishes[i] == TDS_ENCRYPT_MANDATORY && clear) {
      abort(); /* fell back to clear text */
    }
  }
  return 0;
}
