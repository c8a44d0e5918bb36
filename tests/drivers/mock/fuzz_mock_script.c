/* SPDX-License-Identifier: MIT */
/* Scripts and statements of the mock driver, from the same bytes. */
#include <stdlib.h>

#include "drivers/mock/mock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *plain_alloc(void *ctx, uint64_t size, uint32_t flags) {
  (void)ctx;
  (void)flags;
  return calloc(1, size);
}

static void plain_release(void *ctx, void *p) {
  (void)ctx;
  free(p);
}

/* A refusal must say why, in one line. */
static void check_refusal(weir_drv_status rc,
                          const struct weir_drv_error *err,
                          int32_t scope) {
  if (rc != WEIR_DRV_DONE && (err->scope != scope || err->message_len == 0)) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct weir_drv_host host = {.struct_size = (uint32_t)sizeof host,
                               .alloc = plain_alloc,
                               .release = plain_release};
  char message[256];
  struct weir_drv_error err = {.struct_size = (uint32_t)sizeof err,
                               .message = message,
                               .message_cap = (uint32_t)sizeof message};
  struct weir_drv_text text = {.p = (const char *)data, .n = size};
  struct mock_script *script = NULL;
  weir_drv_status rc = mock_script_parse(&host, &text, &script, &err);
  check_refusal(rc, &err, WEIR_DRV_SCOPE_CONFIG);
  for (int32_t kind = 0; script != NULL && kind < MOCK_KINDS; kind++) {
    (void)mock_script_match(script, (enum mock_kind)kind, 1);
  }
  mock_script_free(&host, script);
  struct mock_action actions[MOCK_STATEMENTS_MAX];
  uint32_t n = 0;
  rc = mock_statement_compile(&text, actions, &n, &err);
  check_refusal(rc, &err, WEIR_DRV_SCOPE_STATEMENT);
  return 0;
}
