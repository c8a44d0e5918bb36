/* SPDX-License-Identifier: MIT */
/* fuzz_server_rpc.c - tdsd's decoder of RPC requests, behind ALL_HEADERS.  The
 * first byte chooses the version. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server_arena.h"
#include "server_const.h"
#include "server_rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads everything that a call points at. */
static void look(const struct tdsd_call *call) {
  volatile size_t sum = strlen(call->name) + strlen(call->whole);
  for (uint32_t i = 0; i < call->nparams; i++) {
    const struct tdsd_variable *param = &call->params[i];
    sum = sum + strlen(param->name);
    if (!param->value.is_null && tdsd_kind_is_text(param->value.type.kind)) {
      for (size_t k = 0; k < param->value.len; k++) {
        sum = sum + (unsigned char)param->value.bytes[k];
      }
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint32_t versions[] = {TDSD_V71, TDSD_V72, TDSD_V73A, TDSD_V73B,
                                      TDSD_V74};
  struct tdsd_arena arena = {0};
  struct tdsd_call *first = NULL;
  struct tdsd_fault fault;
  struct tdsd_problem problem = {""};
  if (size < 1 || size > 65536) {
    return 0;
  }
  memset(&fault, 0, sizeof fault);
  int rc = tdsd_rpc_parse(data + 1, size - 1, versions[data[0] % 5], &arena,
                          &first, &fault, &problem);
  if (rc < 0 && problem.text[0] == 0) {
    abort();
  }
  if (rc == 0 && fault.number == 0) {
    for (const struct tdsd_call *call = first; call != NULL;
         call = call->next) {
      look(call);
    }
  }
  tdsd_arena_fini(&arena);
  return 0;
}
