/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "api.h"
#include "api_exec.h"
#include "exec.h"
#include "handle.h"
#include "lease.h"
#include "params.h"
#include "registry.h"
#include "rows.h"
#include "session.h"
#include "status.h"

static int32_t end_lease(weir_h lease, bool discard) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc == WEIR_OK) {
    rc = weir__lease_release(lease, self, discard);
    weir__caller_leave(self);
  }
  return rc;
}

int32_t weir_release(weir_h lease) {
  return end_lease(lease, false);
}

int32_t weir_discard(weir_h lease) {
  return end_lease(lease, true);
}

int weir__api_lease(weir_h handle,
                    struct weir__caller **out_self,
                    struct weir__lease *out) {
  int rc = weir__caller_enter(out_self);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__lease_begin(handle, *out_self, out);
  if (rc != WEIR_OK) {
    weir__caller_leave(*out_self);
  }
  return rc;
}

void weir__api_lease_leave(struct weir__caller *self,
                           struct weir__lease *lease) {
  weir__lease_end(lease);
  weir__caller_leave(self);
}

int32_t weir_lease_info(weir_h handle,
                        int32_t what,
                        char *buf,
                        uint64_t cap,
                        uint64_t *out_need) {
  struct weir__caller *self;
  struct weir__lease lease;
  uint64_t len = 0;
  if ((buf == NULL && cap != 0) || what < WEIR_INFO_SERVER_NAME ||
      what > WEIR_INFO_PACKET_SIZE) {
    return WEIR_E_ARG;
  }
  int rc = weir__api_lease(handle, &self, &lease);
  if (rc != WEIR_OK) {
    return rc;
  }
  bool known = weir__session_fact(lease.session, what, buf, cap, &len);
  weir__api_lease_leave(self, &lease);
  if (!known) {
    return WEIR_E_UNSUPPORTED;
  }
  if (out_need != NULL) {
    *out_need = len + 1;
  }
  return cap < len + 1 ? WEIR_E_SPACE : WEIR_OK;
}

static int check_exec(const char *sql,
                      uint64_t sql_len,
                      const struct weir_exec_opts *opts,
                      struct weir_error *err) {
  if (sql == NULL && sql_len != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "sql is NULL but has a length");
  }
  if (sql_len > WEIR_SQL_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "the statement is longer than 64 MiB");
  }
  if ((opts->flags & ~WEIR_EXEC_PREPARED) != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "exec flags 0x%x are not known", opts->flags);
  }
  if (!weir__api_timeout_ok(opts->timeout_ns)) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "timeout_ns is negative and not WEIR_TIMEOUT_POOL");
  }
  return weir__params_check(opts, err);
}

int weir__api_exec_opts(const char *sql,
                        uint64_t sql_len,
                        const struct weir_exec_opts *opts,
                        struct weir_exec_opts *out_own,
                        struct weir_error *err) {
  int rc = weir__api_opts(opts, out_own, sizeof *out_own, err);
  return rc == WEIR_OK ? check_exec(sql, sql_len, out_own, err) : rc;
}

int32_t weir_exec(weir_h handle,
                  const char *sql,
                  uint64_t sql_len,
                  const struct weir_exec_opts *opts,
                  struct weir_error *err) {
  struct weir__caller *self;
  struct weir__lease lease;
  struct weir_exec_opts own;
  int rc = weir__api_exec_opts(sql, sql_len, opts, &own, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__api_lease(handle, &self, &lease);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_LEASE, err);
  }
  rc = weir__exec(&lease, self, sql, sql_len, &own, err);
  weir__api_lease_leave(self, &lease);
  return rc;
}

/* A struct weir_item before notices told more than their line. */
#define ITEM_SIZE_FIRST offsetof(struct weir_item, state)

int weir__api_item(const struct weir_item *item,
                   struct weir_item *out_own,
                   struct weir_error *err) {
  if (item == NULL || item->struct_size < ITEM_SIZE_FIRST) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "out is NULL or its struct_size too small");
  }
  *out_own = (struct weir_item){.struct_size = sizeof *out_own,
                                .row_count = UINT64_MAX};
  return WEIR_OK;
}

int32_t weir_next(weir_h handle,
                  struct weir_item *out,
                  struct weir_error *err) {
  struct weir__caller *self;
  struct weir__lease lease;
  struct weir_item item;
  int rc = weir__api_item(out, &item, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__api_lease(handle, &self, &lease);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_LEASE, err);
  }
  rc = weir__exec_next(&lease, self, &item, err);
  weir__api_lease_leave(self, &lease);
  if (rc == WEIR_OK) {
    (void)weir__api_result(out, &item, sizeof item);
  }
  return rc;
}

int32_t weir_cancel(weir_h handle) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc == WEIR_OK) {
    rc = weir__lease_cancel(handle);
    weir__caller_leave(self);
  }
  return rc;
}

int32_t weir_rows_free(weir_h handle) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return rc;
  }
  weir_drv_batch *batch = weir__handle_take(handle, WEIR_TYPE_ROWS);
  weir__batch_free(batch);
  weir__caller_leave(self);
  return batch == NULL ? WEIR_E_HANDLE : WEIR_OK;
}
