/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "api.h"
#include "change.h"
#include "control.h"
#include "ready.h"
#include "status.h"
#include "sys/clock.h"

static int refuse_timeout(const char *name, struct weir_error *err) {
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                         "%s is negative; 0 or more, or WEIR_TIMEOUT_NEVER",
                         name);
}

static uint64_t span_of(int64_t timeout_ns) {
  return timeout_ns == WEIR_TIMEOUT_NEVER ? WEIR_NEVER : (uint64_t)timeout_ns;
}

int32_t weir_pool_pause(weir_h handle) {
  struct weir__caller *self;
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  weir__control_pause(pool);
  weir__caller_leave(self);
  return WEIR_OK;
}

int32_t weir_pool_resume(weir_h handle) {
  struct weir__caller *self;
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return rc;
  }
  weir__control_resume(pool, self);
  weir__caller_leave(self);
  return WEIR_OK;
}

int32_t weir_pool_drain(weir_h handle,
                        int64_t grace_ns,
                        struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (grace_ns < 0) {
    return refuse_timeout("grace_ns", err);
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  rc = weir__control_drain(pool, self, span_of(grace_ns), err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_pool_wait_ready(weir_h handle,
                             int64_t timeout_ns,
                             struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (timeout_ns < 0) {
    return refuse_timeout("timeout_ns", err);
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  rc = weir__ready_wait(pool, self, timeout_ns, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_pool_resize(weir_h handle,
                         uint32_t min_size,
                         uint32_t max_size,
                         struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  rc = weir__change_size(pool, self, min_size, max_size, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_pool_reconfigure(weir_h handle,
                              const char *changes,
                              uint64_t changes_len,
                              struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (changes == NULL && changes_len != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "changes is NULL but has a length");
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  rc = weir__change_settings(pool, self, changes, changes_len, err);
  weir__caller_leave(self);
  return rc;
}
