/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "api.h"
#include "queue.h"
#include "status.h"
#include "sys/clock.h"

static int refuse_arg(struct weir_error *err, const char *what) {
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE, "%s", what);
}

struct weir__queue *weir__api_queue(weir_h handle,
                                    struct weir__caller **out_self,
                                    int *out_code) {
  *out_code = weir__caller_enter(out_self);
  if (*out_code != WEIR_OK) {
    return NULL;
  }
  struct weir__queue *queue = weir__handle_find(handle, WEIR_TYPE_QUEUE);
  if (queue == NULL) {
    weir__caller_leave(*out_self);
    *out_code = WEIR_E_HANDLE;
    return NULL;
  }
  atomic_store_explicit(&(*out_self)->engine, queue->engine,
                        memory_order_relaxed);
  return queue;
}

int32_t weir_queue_open(weir_h handle,
                        uint32_t capacity,
                        weir_h *out_queue,
                        struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (out_queue == NULL) {
    return refuse_arg(err, "out_queue is NULL");
  }
  if (capacity == 0 || capacity > WEIR_QUEUE_CAPACITY_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "capacity is %u: 1 to %u", capacity,
                           WEIR_QUEUE_CAPACITY_MAX);
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__queue_open(engine, capacity, out_queue, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_queue_close(weir_h handle) {
  struct weir__caller *self;
  int rc;
  /* A call on its engine until the queue has ended. */
  if (weir__api_queue(handle, &self, &rc) == NULL) {
    return rc;
  }
  rc = weir__queue_close(handle);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_queue_fd(weir_h handle, int64_t *out_fd) {
  struct weir__caller *self;
  int rc;
  if (out_fd == NULL) {
    return WEIR_E_ARG;
  }
  struct weir__queue *queue = weir__api_queue(handle, &self, &rc);
  if (queue == NULL) {
    return rc;
  }
  int64_t fd = weir__queue_fd(queue);
  weir__caller_leave(self);
  if (fd < 0) {
    return WEIR_E_HANDLE; /* it ends just now */
  }
  *out_fd = fd;
  return WEIR_OK;
}

int32_t weir_queue_wake(weir_h handle) {
  struct weir__caller *self;
  int rc;
  struct weir__queue *queue = weir__api_queue(handle, &self, &rc);
  if (queue == NULL) {
    return rc;
  }
  weir__queue_wake(queue);
  weir__caller_leave(self);
  return WEIR_OK;
}

/* The clock is asked only if there is something to wait for. */
static uint64_t deadline_of(int64_t timeout_ns) {
  return timeout_ns == 0 ? 0
         : timeout_ns == WEIR_TIMEOUT_NEVER
             ? WEIR_NEVER
             : weir__clock_add(weir__clock_now(), (uint64_t)timeout_ns);
}

int32_t weir_queue_take(weir_h handle,
                        int64_t timeout_ns,
                        struct weir_completion *out,
                        struct weir_error *err) {
  struct weir__caller *self;
  struct weir_completion completion = {.struct_size = sizeof completion};
  int rc;
  if (out == NULL || out->struct_size < sizeof completion) {
    return refuse_arg(err, "out is NULL or its struct_size too small");
  }
  if (timeout_ns < 0) {
    return refuse_arg(err, "timeout_ns is negative");
  }
  struct weir__queue *queue = weir__api_queue(handle, &self, &rc);
  if (queue == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_QUEUE, err);
  }
  rc =
      weir__queue_take(queue, &self, deadline_of(timeout_ns), &completion, err);
  if (self != NULL) {
    weir__caller_leave(self);
  }
  if (rc == WEIR_OK) {
    (void)weir__api_result(out, &completion, sizeof completion);
  }
  return rc;
}
