/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "api.h"
#include "queue.h"
#include "status.h"
#include "submit.h"

static int check_acquire(int64_t timeout_ns,
                         const weir_h *out_lease,
                         struct weir_error *err) {
  if (out_lease == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "out_lease is NULL");
  }
  if (!weir__api_timeout_ok(timeout_ns)) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "timeout_ns is negative and not WEIR_TIMEOUT_POOL");
  }
  return WEIR_OK;
}

/* Within a call: the queue of a handle if it is of that engine; or NULL and why
 * not. */
static struct weir__queue *find_queue(weir_h handle,
                                      const struct weir__engine *engine,
                                      int *out_code,
                                      struct weir_error *err) {
  struct weir__queue *queue = weir__handle_find(handle, WEIR_TYPE_QUEUE);
  if (queue == NULL) {
    *out_code =
        weir__api_refuse_handle(WEIR_E_HANDLE, handle, WEIR_TYPE_QUEUE, err);
    return NULL;
  }
  if (queue->engine != engine) {
    *out_code = weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                                "the queue is of another engine");
    return NULL;
  }
  return queue;
}

/* NOLINTBEGIN(readability-non-const-parameter): it is written through a struct */
int32_t weir_submit_acquire(weir_h handle,
                            int64_t timeout_ns,
                            weir_h queue_handle,
                            uint64_t user,
                            weir_h *out_lease,
                            weir_h *out_op,
                            struct weir_error *err) {
  /* NOLINTEND(readability-non-const-parameter) */
  struct weir__caller *self;
  int rc = check_acquire(timeout_ns, out_lease, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__pool *pool = weir__api_pool(handle, &self, &rc);
  if (pool == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_POOL, err);
  }
  struct weir__queue *queue = find_queue(queue_handle, pool->engine, &rc, err);
  if (queue != NULL) {
    struct weir__submission how = {.timeout_ns = timeout_ns,
                                   .user = user,
                                   .out_lease = out_lease,
                                   .out_op = out_op};
    rc = weir__submit_acquire(pool, queue, self, &how, err);
  }
  weir__caller_leave(self);
  return rc;
}

int32_t weir_op_cancel(weir_h op) {
  struct weir__caller *self;
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__submit_cancel_op(op);
  weir__caller_leave(self);
  return rc;
}
