/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "acquire.h"
#include "api.h"
#include "key.h"
#include "registry.h"
#include "status.h"

static int check_text(const char *conninfo,
                      uint64_t len,
                      const void *out,
                      struct weir_error *err) {
  if (conninfo == NULL && len != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "conninfo is NULL but has a length");
  }
  if (out == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "the output pointer is NULL");
  }
  return WEIR_OK;
}

int32_t weir_pool_open(weir_h handle,
                       const char *conninfo,
                       uint64_t conninfo_len,
                       weir_h *out_pool,
                       struct weir_error *err) {
  struct weir__caller *self;
  int rc = check_text(conninfo, conninfo_len, out_pool, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__registry_open(engine, self, conninfo, conninfo_len, out_pool, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_pool_close(weir_h handle) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__registry_close(handle);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_engine_advice(weir_h handle,
                           char *buf,
                           uint64_t cap,
                           uint64_t *out_need) {
  struct weir__caller *self;
  int rc;
  if (buf == NULL && cap != 0) {
    return WEIR_E_ARG;
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return rc;
  }
  rc = weir__registry_advice(engine->registry, buf, cap, out_need);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_pool_clear(weir_h handle) {
  struct weir__caller *self;
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  weir__pool_clear(pool);
  weir__caller_leave(self);
  return WEIR_OK;
}

int32_t weir_pool_stats(weir_h handle, struct weir_pool_stats *out) {
  struct weir__caller *self;
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  weir__pool_stats(pool, &stats);
  weir__caller_leave(self);
  return weir__api_result(out, &stats, sizeof stats) ? WEIR_OK : WEIR_E_ARG;
}

int32_t weir_pool_key(weir_h handle,
                      char *buf,
                      uint64_t cap,
                      uint64_t *out_need) {
  struct weir__caller *self;
  size_t len = 0;
  int rc;
  if (buf == NULL && cap != 0) {
    return WEIR_E_ARG;
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  const char *text = weir__key_text(pool->key, &len);
  rc = weir__copy_out(text, len, buf, cap, out_need);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_conninfo_key(weir_h handle,
                          const char *conninfo,
                          uint64_t conninfo_len,
                          char *buf,
                          uint64_t cap,
                          uint64_t *out_need,
                          struct weir_error *err) {
  struct weir__caller *self;
  int rc = check_text(conninfo, conninfo_len, cap != 0 ? buf : "", err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__registry_key(engine, conninfo, conninfo_len, buf, cap, out_need,
                          err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_conninfo_diff(weir_h handle,
                           const char *a,
                           uint64_t a_len,
                           const char *b,
                           uint64_t b_len,
                           char *buf,
                           uint64_t *inout_len,
                           struct weir_error *err) {
  struct weir__caller *self;
  int rc = check_text(a, a_len, inout_len, err);
  if (rc == WEIR_OK) {
    rc = check_text(b, b_len, *inout_len != 0 ? buf : "", err);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__registry_diff(engine, (struct weir__text){a, a_len},
                           (struct weir__text){b, b_len}, buf, inout_len, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_acquire(weir_h handle,
                     int64_t timeout_ns,
                     weir_h *out_lease,
                     struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (out_lease == NULL || !weir__api_timeout_ok(timeout_ns)) {
    return weir__error_set(
        err, WEIR_E_ARG, WEIR_PHASE_NONE, "%s",
        out_lease == NULL ? "out_lease is NULL"
                          : "timeout_ns is negative and not WEIR_TIMEOUT_POOL");
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  rc = weir__acquire(pool, self, timeout_ns, out_lease, err);
  weir__caller_leave(self);
  return rc;
}
