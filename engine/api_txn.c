/* SPDX-License-Identifier: MIT */
#include "weir_driver.h"

#include "api.h"
#include "api_exec.h"
#include "lease.h"
#include "status.h"
#include "txn.h"

static int run(weir_h handle,
               const struct weir__txn *txn,
               struct weir_error *err) {
  struct weir__caller *self;
  struct weir__lease lease;
  int rc = weir__api_lease(handle, &self, &lease);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_LEASE, err);
  }
  rc = weir__txn(&lease, self, txn, err);
  weir__api_lease_leave(self, &lease);
  return rc;
}

int weir__api_isolation(int32_t isolation, struct weir_error *err) {
  if (isolation < WEIR_ISO_DEFAULT || isolation > WEIR_ISO_SNAPSHOT) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "isolation %d is none of WEIR_ISO_*", isolation);
  }
  return WEIR_OK;
}

int32_t weir_begin(weir_h lease, int32_t isolation, struct weir_error *err) {
  struct weir__txn txn = {.verb = WEIR_DRV_TX_BEGIN, .isolation = isolation};
  int rc = weir__api_isolation(isolation, err);
  return rc == WEIR_OK ? run(lease, &txn, err) : rc;
}

int32_t weir_commit(weir_h lease, struct weir_error *err) {
  struct weir__txn txn = {.verb = WEIR_DRV_TX_COMMIT};
  return run(lease, &txn, err);
}

int32_t weir_rollback(weir_h lease, struct weir_error *err) {
  struct weir__txn txn = {.verb = WEIR_DRV_TX_ROLLBACK};
  return run(lease, &txn, err);
}

/* Characters of a name that is UTF-8 without NUL, up to most + 1; 0 if it is
 * not. */
static uint32_t count(const char *name, uint64_t len, uint32_t most) {
  const unsigned char *p = (const unsigned char *)name;
  uint32_t n = 0;
  uint64_t at = 0;
  while (at < len && n <= most) {
    size_t step = weir__text_sequence(p + at, len - at);
    if (step == 0 || p[at] == 0) {
      return 0;
    }
    at += step;
    n++;
  }
  return n;
}

int weir__api_savepoint(const char *name,
                        uint64_t name_len,
                        struct weir_error *err) {
  uint32_t n = name == NULL ? 0 : count(name, name_len, WEIR_SAVEPOINT_MAX);
  if (n == 0 || n > WEIR_SAVEPOINT_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "the name of a savepoint is UTF-8 of 1 to %u "
                           "characters",
                           WEIR_SAVEPOINT_MAX);
  }
  return WEIR_OK;
}

static int savepoint(weir_h lease,
                     int32_t verb,
                     const char *name,
                     uint64_t name_len,
                     struct weir_error *err) {
  struct weir__txn txn = {.verb = verb, .name = name, .name_len = name_len};
  int rc = weir__api_savepoint(name, name_len, err);
  return rc == WEIR_OK ? run(lease, &txn, err) : rc;
}

int32_t weir_save(weir_h lease,
                  const char *name,
                  uint64_t name_len,
                  struct weir_error *err) {
  return savepoint(lease, WEIR_DRV_TX_SAVE, name, name_len, err);
}

int32_t weir_rollback_to(weir_h lease,
                         const char *name,
                         uint64_t name_len,
                         struct weir_error *err) {
  return savepoint(lease, WEIR_DRV_TX_ROLLBACK_TO, name, name_len, err);
}
