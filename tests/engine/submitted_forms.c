/* SPDX-License-Identifier: MIT */
#include "submitted_forms.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "handle.h"
#include "pool.h"
#include "slot.h"

/* A queue of the lease's engine; 0: there is none, and the answer is about the
 * lease. */
static weir_h open_queue(weir_h lease) {
  uint32_t number;
  uint32_t count;
  weir_h queue = 0;
  if (!weir__handle_split(lease, WEIR_TYPE_LEASE, &number, &count)) {
    return 0;
  }
  struct weir__slot *slot = weir__slot_find(number);
  if (slot == NULL ||
      weir__slot_lease(weir__load_seq_u64(&slot->word)) != count) {
    return 0;
  }
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  (void)weir_queue_open(pool->engine->handle, 1, &queue, NULL);
  return queue;
}

/* What a call that answered rc has come to. */
static int32_t finish(weir_h queue,
                      weir_h lease,
                      int32_t type,
                      int32_t rc,
                      struct weir_error *err) {
  struct weir_completion c = {.struct_size = sizeof c};
  if (rc == WEIR_PENDING) {
    rc = weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, err);
    if (rc == WEIR_OK) {
      rc = c.status;
      if (c.type != type || c.user != lease || c.lease != lease) {
        (void)fprintf(stderr, "a completion of another operation\n");
        abort();
      }
    }
  }
  return rc;
}

int32_t submitted_exec(weir_h lease,
                       const char *sql,
                       uint64_t sql_len,
                       const struct weir_exec_opts *opts,
                       struct weir_error *err) {
  weir_h queue = open_queue(lease);
  if (queue == 0) {
    return weir_exec(lease, sql, sql_len, opts, err);
  }
  int32_t rc =
      weir_submit_exec(lease, sql, sql_len, opts, queue, lease, NULL, err);
  rc = finish(queue, lease, WEIR_OP_EXEC, rc, err);
  (void)weir_queue_close(queue);
  return rc;
}

int32_t submitted_next(weir_h lease,
                       struct weir_item *out,
                       struct weir_error *err) {
  weir_h queue = open_queue(lease);
  if (queue == 0) {
    return weir_next(lease, out, err);
  }
  int32_t rc = weir_submit_next(lease, out, queue, lease, NULL, err);
  if (rc == WEIR_PENDING) {
    rc = finish(queue, lease, WEIR_OP_NEXT, rc, err);
    if (rc == WEIR_OK) {
      rc = weir_submit_next(lease, out, queue, lease, NULL, err);
    }
    if (rc == WEIR_PENDING) {
      (void)fprintf(stderr, "nothing at once after a completion of next\n");
      abort();
    }
  }
  (void)weir_queue_close(queue);
  return rc;
}

static int32_t run(weir_h lease,
                   int32_t what,
                   const struct weir_txn_opts *opts,
                   struct weir_error *err) {
  weir_h queue = open_queue(lease);
  if (queue == 0) {
    return weir_commit(lease, err);
  }
  int32_t rc = weir_submit_txn(lease, what, opts, queue, lease, NULL, err);
  rc = finish(queue, lease, what, rc, err);
  (void)weir_queue_close(queue);
  return rc;
}

int32_t submitted_begin(weir_h lease,
                        int32_t isolation,
                        struct weir_error *err) {
  struct weir_txn_opts opts = {.struct_size = sizeof opts,
                               .isolation = isolation};
  return run(lease, WEIR_OP_BEGIN, &opts, err);
}

int32_t submitted_commit(weir_h lease, struct weir_error *err) {
  return run(lease, WEIR_OP_COMMIT, NULL, err);
}

int32_t submitted_rollback(weir_h lease, struct weir_error *err) {
  return run(lease, WEIR_OP_ROLLBACK, NULL, err);
}

static int32_t savepoint(weir_h lease,
                         int32_t what,
                         const char *name,
                         uint64_t name_len,
                         struct weir_error *err) {
  struct weir_txn_opts opts = {
      .struct_size = sizeof opts, .name = name, .name_len = name_len};
  return run(lease, what, &opts, err);
}

int32_t submitted_save(weir_h lease,
                       const char *name,
                       uint64_t name_len,
                       struct weir_error *err) {
  return savepoint(lease, WEIR_OP_SAVE, name, name_len, err);
}

int32_t submitted_rollback_to(weir_h lease,
                              const char *name,
                              uint64_t name_len,
                              struct weir_error *err) {
  return savepoint(lease, WEIR_OP_ROLLBACK_TO, name, name_len, err);
}
