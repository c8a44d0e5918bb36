/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "weir_driver.h"

#include "api.h"
#include "api_exec.h"
#include "lease.h"
#include "status.h"
#include "submit_exec.h"

/* A call on a lease whose completion goes to a queue. */
struct submission {
  struct weir__caller *self;
  struct weir__lease lease;
  struct weir__submit_how how;
};

/* WEIR_OK, and leave() must follow; or why not. */
static int enter(weir_h lease,
                 weir_h queue,
                 struct submission *out,
                 struct weir_error *err) {
  int rc = weir__api_lease(lease, &out->self, &out->lease);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, lease, WEIR_TYPE_LEASE, err);
  }
  out->how.queue = weir__handle_find(queue, WEIR_TYPE_QUEUE);
  if (out->how.queue == NULL) {
    rc = weir__api_refuse_handle(WEIR_E_HANDLE, queue, WEIR_TYPE_QUEUE, err);
  } else if (out->how.queue->engine != out->lease.pool->engine) {
    rc = weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                         "the queue is of another engine than the lease");
  }
  if (rc != WEIR_OK) {
    weir__api_lease_leave(out->self, &out->lease);
  }
  return rc;
}

/* The call on the lease goes on after WEIR_PENDING. */
static int leave(struct submission *s, int rc) {
  if (rc == WEIR_PENDING) {
    weir__caller_leave(s->self);
  } else {
    weir__api_lease_leave(s->self, &s->lease);
  }
  return rc;
}

int32_t weir_submit_exec(weir_h lease,
                         const char *sql,
                         uint64_t sql_len,
                         const struct weir_exec_opts *opts,
                         weir_h queue,
                         uint64_t user,
                         weir_h *out_op,
                         struct weir_error *err) {
  struct submission s = {.how = {.user = user, .out_op = out_op}};
  struct weir_exec_opts own;
  int rc = weir__api_exec_opts(sql, sql_len, opts, &own, err);
  if (rc == WEIR_OK) {
    rc = enter(lease, queue, &s, err);
  }
  return rc != WEIR_OK ? rc
                       : leave(&s, weir__submit_exec(&s.lease, s.self, &s.how,
                                                     sql, sql_len, &own, err));
}

int32_t weir_submit_next(weir_h lease,
                         struct weir_item *out,
                         weir_h queue,
                         uint64_t user,
                         weir_h *out_op,
                         struct weir_error *err) {
  struct submission s = {.how = {.user = user, .out_op = out_op}};
  struct weir_item item;
  int rc = weir__api_item(out, &item, err);
  if (rc == WEIR_OK) {
    rc = enter(lease, queue, &s, err);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = leave(&s, weir__submit_next(&s.lease, s.self, &s.how, &item, err));
  if (rc == WEIR_OK) {
    (void)weir__api_result(out, &item, sizeof item);
  }
  return rc;
}

static const int32_t verbs[] = {
    [WEIR_OP_BEGIN] = WEIR_DRV_TX_BEGIN,
    [WEIR_OP_COMMIT] = WEIR_DRV_TX_COMMIT,
    [WEIR_OP_ROLLBACK] = WEIR_DRV_TX_ROLLBACK,
    [WEIR_OP_SAVE] = WEIR_DRV_TX_SAVE,
    [WEIR_OP_ROLLBACK_TO] = WEIR_DRV_TX_ROLLBACK_TO,
};

/* What opts say that the verb needs; the rest is not looked at. */
static int read_opts(int32_t what,
                     const struct weir_txn_opts *opts,
                     struct weir__txn *out,
                     struct weir_error *err) {
  struct weir_txn_opts own;
  if (what < WEIR_OP_BEGIN || what > WEIR_OP_ROLLBACK_TO) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "what is %d, none of WEIR_OP_BEGIN to "
                           "WEIR_OP_ROLLBACK_TO",
                           what);
  }
  int rc = weir__api_opts(opts, &own, sizeof own, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  *out = (struct weir__txn){.verb = verbs[what]};
  if (what == WEIR_OP_BEGIN) {
    out->isolation = own.isolation;
    rc = weir__api_isolation(own.isolation, err);
  } else if (what == WEIR_OP_SAVE || what == WEIR_OP_ROLLBACK_TO) {
    out->name = own.name;
    out->name_len = own.name_len;
    rc = weir__api_savepoint(own.name, own.name_len, err);
  }
  return rc;
}

int32_t weir_submit_txn(weir_h lease,
                        int32_t what,
                        const struct weir_txn_opts *opts,
                        weir_h queue,
                        uint64_t user,
                        weir_h *out_op,
                        struct weir_error *err) {
  struct submission s = {.how = {.user = user, .out_op = out_op}};
  struct weir__txn txn;
  int rc = read_opts(what, opts, &txn, err);
  if (rc == WEIR_OK) {
    rc = enter(lease, queue, &s, err);
  }
  return rc != WEIR_OK ? rc
                       : leave(&s, weir__submit_txn(&s.lease, s.self, &s.how,
                                                    what, &txn, err));
}
