/* SPDX-License-Identifier: MIT */
/* A fault, as text up to the first new line, and a reply that it changes: whatever
 * both are, the fault is refused in words or the reply is changed within its
 * bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void change(const struct tdsd_fault_rule *rule,
                   const uint8_t *bytes,
                   size_t len,
                   uint32_t version) {
  struct tdsd_armed armed = {.n = 1};
  struct tdsd_buf reply = {0};
  armed.rules[0] = *rule;
  tdsd_buf_bytes(&reply, bytes, len);
  tdsd_fault_edit(&armed, version, 7, &reply);
  tdsd_fault_edit(&armed, version, 7, &reply);
  tdsd_buf_clear(&reply);
  tdsd_buf_bytes(&reply, bytes, len);
  tdsd_fault_edit_prelogin(&armed, &reply);
  tdsd_buf_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tdsd_fault_rule rule;
  char why[300];
  char spec[512];
  const uint8_t *line = size == 0 ? NULL : memchr(data, '\n', size);
  if (line == NULL || (size_t)(line - data) >= sizeof spec) {
    return 0;
  }
  size_t len = (size_t)(line - data);
  memcpy(spec, data, len);
  spec[len] = 0;
  if (tdsd_fault_parse(spec, &rule, why, sizeof why) == 0) {
    change(&rule, line + 1, size - len - 1, TDSD_V74);
    change(&rule, line + 1, size - len - 1, TDSD_V71);
  }
  return 0;
}
