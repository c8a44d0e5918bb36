/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "api.h"
#include "observe/counters.h"

static int tell(struct weir_counters *out, struct weir_counters *own) {
  own->struct_size = sizeof *own;
  own->reserved0 = 0;
  return weir__api_result(out, own, sizeof *own) ? WEIR_OK : WEIR_E_ARG;
}

int32_t weir_pool_counters(weir_h handle, struct weir_counters *out) {
  struct weir__caller *self;
  struct weir_counters own = {.struct_size = sizeof own};
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  weir__counters_add(pool, &own);
  weir__caller_leave(self);
  return tell(out, &own);
}

int32_t weir_engine_counters(weir_h handle, struct weir_counters *out) {
  struct weir__caller *self;
  struct weir_counters own = {.struct_size = sizeof own};
  int rc;
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return rc;
  }
  weir__counters_engine(engine, &own);
  weir__caller_leave(self);
  return tell(out, &own);
}
