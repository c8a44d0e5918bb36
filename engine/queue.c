/* SPDX-License-Identifier: MIT */
/* queue.c - opening, taking, closing; the life of an entry is in queue_entry.c.
 *
 * The descriptor is written when the queue comes to have something to take and
 * read when it has nothing more, both under the mutex: so it is readable exactly
 * while there is something, and after the end nobody writes to its number.  As
 * long as nobody has asked for it, it is left alone: a taker sleeps on a word. */
#include "queue.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/container.h"
#include "engine.h"
#include "explain.h"
#include "handle.h"
#include "queue_internal.h"
#include "status.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/point.h"

/* ------------------------------------------------------------------ showing */

void weir__queue_show_locked(struct weir__queue *q) {
  eventfd_t value;
  bool something = q->first != NULL || q->wakes != 0;
  if (!q->watched || q->fd < 0 || something == q->readable) {
    return;
  }
  q->readable = something;
  if (something) {
    (void)eventfd_write(q->fd, 1);
  } else {
    (void)eventfd_read(q->fd, &value);
  }
}

bool weir__queue_rouse_locked(struct weir__queue *q) {
  if (q->sleepers == 0) {
    return false;
  }
  (void)weir__add_acq_rel_u32(&q->signal, 1);
  return true;
}

int64_t weir__queue_fd(struct weir__queue *queue) {
  weir__mutex_lock(&queue->mu);
  queue->watched = true;
  weir__queue_show_locked(queue);
  int64_t fd = queue->fd;
  weir__mutex_unlock(&queue->mu);
  return fd;
}

void weir__queue_wake(struct weir__queue *queue) {
  weir__mutex_lock(&queue->mu);
  queue->wakes += queue->wakes != UINT32_MAX;
  weir__queue_show_locked(queue);
  bool wake = weir__queue_rouse_locked(queue);
  weir__mutex_unlock(&queue->mu);
  if (wake) {
    weir__engine_unpark(queue->engine, &queue->signal);
  }
}

/* ------------------------------------------------------------------- taking */

struct taken {
  struct weir_completion completion;
  struct weir_error *error;
};

static void take_first_locked(struct weir__queue *q, struct taken *out)
    WEIR_REQUIRES(q->mu) {
  struct weir__entry *e = q->first;
  q->first = e->next;
  if (q->first == NULL) {
    q->last = NULL;
  }
  out->completion.type = e->type;
  out->completion.status = e->status;
  out->completion.user = e->user;
  out->completion.op = e->handle;
  out->completion.lease = e->lease;
  out->error = e->error;
  e->error = NULL;
  weir__entry_finish_locked(q, e);
  weir__queue_show_locked(q);
}

/* WEIR_PENDING: there is nothing. */
static int try_take_locked(struct weir__queue *q, struct taken *out)
    WEIR_REQUIRES(q->mu) {
  if (q->closed) {
    return WEIR_E_CLOSED;
  }
  if (q->first != NULL) {
    take_first_locked(q, out);
    return WEIR_OK;
  }
  if (q->wakes != 0) {
    q->wakes--;
    weir__queue_show_locked(q);
    return WEIR_E_CANCELLED;
  }
  return WEIR_PENDING;
}

/* A post that comes after the mutex is free changes the word, and the park then
 * returns at once.  self: the thread's record, in a call or not. */
static void sleep_unlocked(struct weir__queue *q,
                           uint32_t seen,
                           struct weir__caller *self,
                           struct weir__caller **inout_self,
                           uint64_t deadline) {
  if (*inout_self != NULL) {
    weir__caller_leave(*inout_self);
    *inout_self = NULL;
  }
  WEIR_POINT("queue.sleep", q);
  (void)weir__engine_park(q->engine, self, &q->signal, seen, deadline);
}

/* Holds a reference from the first sleep on: it has left its call. */
static int take_locked(struct weir__queue *q,
                       struct weir__caller **inout_self,
                       uint64_t deadline,
                       struct taken *out) WEIR_REQUIRES(q->mu) {
  struct weir__caller *self = *inout_self;
  bool holds = false;
  int rc;
  while ((rc = try_take_locked(q, out)) == WEIR_PENDING) {
    if (weir__clock_now() >= deadline) {
      rc = WEIR_E_TIMEOUT;
      break;
    }
    q->refs += !holds;
    holds = true;
    q->sleepers++;
    uint32_t seen = weir__load_relaxed_u32(&q->signal);
    weir__mutex_unlock(&q->mu);
    sleep_unlocked(q, seen, self, inout_self, deadline);
    weir__mutex_lock(&q->mu);
    q->sleepers--;
  }
  q->refs -= holds;
  return rc;
}

/* What a status that needs no more words says. */
static const char *words_of(int32_t status) {
  switch (status) {
  case WEIR_E_CANCELLED:
    return "the operation was cancelled";
  case WEIR_E_CLOSED:
    return "the pool is closed; open it again";
  case WEIR_E_NOMEM:
    return "no memory for a place in the pool";
  case WEIR_E_SPACE:
    return "the pools of this process have all the places there can be";
  case WEIR_E_OVERLOADED:
    return "refused because the pool is overloaded (no memory to tell more)";
  case WEIR_E_TIMEOUT:
    return "timed out waiting for a connection (no memory to tell more)";
  default:
    return "the operation failed (no memory to tell more)";
  }
}

static void tell(const struct taken *t, struct weir_error *err) {
  int32_t status = t->completion.status;
  if (status == WEIR_OK) {
    return;
  }
  if (t->error != NULL) {
    weir__explain_copy(err, t->error);
  } else {
    (void)weir__error_set(err, status, WEIR_PHASE_QUEUE, "%s",
                          words_of(status));
  }
}

static int tell_none(int rc, struct weir_error *err) {
  return weir__error_set(err, rc, WEIR_PHASE_NONE, "%s",
                         rc == WEIR_E_TIMEOUT ? "no completion came in time"
                         : rc == WEIR_E_CANCELLED
                             ? "weir_queue_wake() has been called"
                             : "the queue has been closed");
}

int weir__queue_take(struct weir__queue *queue,
                     struct weir__caller **inout_self,
                     uint64_t deadline,
                     struct weir_completion *out,
                     struct weir_error *err) {
  struct taken t;
  memset(&t, 0, sizeof t);
  t.completion.struct_size = sizeof t.completion;
  weir__mutex_lock(&queue->mu);
  int rc = take_locked(queue, inout_self, deadline, &t);
  weir__queue_leave_locked(queue);
  if (rc != WEIR_OK) {
    return tell_none(rc, err);
  }
  tell(&t, err);
  weir__mem_free(t.error);
  *out = t.completion;
  return WEIR_OK;
}

/* -------------------------------------------------------- opening and ending */

static void free_queue(struct weir__queue *q) {
  for (uint32_t i = 0; i < q->prepared; i++) {
    weir__handle_unreserve(WEIR_TYPE_OP, q->entries[i].index);
  }
  if (q->fd >= 0) {
    (void)close(q->fd);
  }
  weir__mutex_fini(&q->mu);
  weir__mem_free(q);
}

void weir__queue_clear_limbo(struct weir__engine *engine, bool all) {
  /* One who runs the loop for the program holds no queue. */
  const struct weir__caller *turner =
      !all && weir__reactor_here(engine->reactor) ? engine->turner : NULL;
  weir__mutex_lock(&engine->mu);
  struct weir__queue *q = engine->queue_limbo;
  engine->queue_limbo = NULL;
  weir__mutex_unlock(&engine->mu);
  while (q != NULL) {
    struct weir__queue *next = q->next;
    if (all || weir__caller_count(q->retired, NULL, turner) == 0) {
      free_queue(q);
    } else {
      weir__mutex_lock(&engine->mu);
      q->next = engine->queue_limbo;
      engine->queue_limbo = q;
      weir__mutex_unlock(&engine->mu);
    }
    q = next;
  }
}

static void delist(struct weir__queue *q) {
  struct weir__engine *engine = q->engine;
  weir__mutex_lock(&engine->mu);
  struct weir__queue **at = &engine->queues;
  while (*at != q) {
    WEIR_ASSERT(*at != NULL);
    at = &(*at)->next;
  }
  *at = q->next;
  q->next = engine->queue_limbo;
  engine->queue_limbo = q;
  weir__mutex_unlock(&engine->mu);
}

/* On the reactor.  Every handle is stale and nothing refers to the queue but calls
 * that have found it before. */
static void bury(struct weir__task *task) {
  struct weir__queue *q = weir_container_of(task, struct weir__queue, bury);
  struct weir__engine *engine = q->engine;
  for (uint32_t i = 0; i < q->capacity + WEIR_QUEUE_SPARES; i++) {
    weir__reactor_timer(engine->reactor, &q->entries[i].timer, WEIR_NEVER);
  }
  q->retired = weir__caller_retire();
  delist(q);
  weir__queue_clear_limbo(engine, false);
  weir__engine_note_end(engine);
}

void weir__queue_leave_locked(struct weir__queue *q) {
  bool over = q->refs == 0 && q->bury.run == NULL;
  if (over) {
    WEIR_ASSERT(q->closed);
    q->bury.run = bury;
  }
  weir__mutex_unlock(&q->mu);
  if (over) {
    weir__reactor_post(q->engine->reactor, &q->bury);
  }
}

bool weir__queue_closed(struct weir__queue *queue) {
  weir__mutex_lock(&queue->mu);
  bool closed = queue->closed;
  weir__mutex_unlock(&queue->mu);
  return closed;
}

static int prepare(struct weir__queue *q, struct weir_error *err) {
  char why[128];
  for (; q->prepared < q->capacity + WEIR_QUEUE_SPARES; q->prepared++) {
    struct weir__entry *e = &q->entries[q->prepared];
    int rc = weir__handle_reserve(WEIR_TYPE_OP, &e->index);
    if (rc != 0) {
      return weir__error_set(err, rc, WEIR_PHASE_NONE, "%s",
                             rc == WEIR_E_SPACE
                                 ? "the queues of this process hold all the "
                                   "operations there can be; close some"
                                 : "no memory for a queue");
    }
    e->queue = q;
    e->armed = WEIR_NEVER;
    weir__store_relaxed_u32(&e->waiter.state, WEIR_WAITER_FAILED);
    e->next = q->free;
    q->free = e;
  }
  q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (q->fd < 0) {
    return weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_NONE,
                           "the queue cannot have its descriptor: %s",
                           weir__errno_text(errno, why, sizeof why));
  }
  return WEIR_OK;
}

static int adopt(struct weir__queue *q, struct weir_error *err) {
  struct weir__engine *engine = q->engine;
  weir__mutex_lock(&engine->mu);
  bool open = !engine->closing;
  if (open) {
    q->next = engine->queues;
    engine->queues = q;
  }
  weir__mutex_unlock(&engine->mu);
  return open ? WEIR_OK
              : weir__error_set(err, WEIR_E_CLOSED, WEIR_PHASE_NONE,
                                "the engine is shutting down");
}

static struct weir__queue *make(struct weir__engine *engine,
                                uint32_t capacity) {
  struct weir__queue *q =
      weir__mem_new(sizeof *q + ((size_t)capacity + WEIR_QUEUE_SPARES) *
                                    sizeof q->entries[0]);
  if (q != NULL) {
    q->engine = engine;
    q->capacity = capacity;
    q->fd = -1;
    q->refs = 1;
    weir__mutex_init(&q->mu, WEIR_RANK_LEAF);
  }
  return q;
}

int weir__queue_open(struct weir__engine *engine,
                     uint32_t capacity,
                     uint64_t *out_handle,
                     struct weir_error *err) {
  weir__queue_clear_limbo(engine, false);
  struct weir__queue *q = make(engine, capacity);
  if (q == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_NONE,
                           "no memory for a queue of %u operations", capacity);
  }
  int rc = prepare(q, err);
  if (rc == WEIR_OK) {
    rc = weir__handle_new(WEIR_TYPE_QUEUE, q, &q->handle);
    if (rc != WEIR_OK) {
      (void)weir__error_set(err, rc, WEIR_PHASE_NONE,
                            "no handle left for a queue");
    }
  }
  uint64_t handle = q->handle;
  if (rc == WEIR_OK) {
    rc = adopt(q, err);
    if (rc != WEIR_OK) {
      (void)weir__handle_take(handle, WEIR_TYPE_QUEUE);
    }
  }
  if (rc != WEIR_OK) {
    free_queue(q); /* its handle was never told */
    return rc;
  }
  *out_handle = handle;
  return WEIR_OK;
}

/* Returns how many takers are to be woken. */
static uint32_t shut(struct weir__queue *q) {
  weir__mutex_lock(&q->mu);
  q->closed = true;
  if (q->fd >= 0) {
    (void)close(q->fd);
    q->fd = -1;
  }
  while (q->first != NULL) {
    struct weir__entry *e = q->first;
    q->first = e->next;
    weir__entry_drop_locked(q, e);
  }
  q->last = NULL;
  (void)weir__queue_rouse_locked(q);
  uint32_t asleep = q->sleepers;
  weir__mutex_unlock(&q->mu);
  return asleep;
}

/* An operation that begins while this runs finds the queue closed when it has
 * begun, and is given up by whoever began it. */
static void give_all_up(struct weir__queue *q) {
  for (uint32_t i = 0; i < q->capacity + WEIR_QUEUE_SPARES; i++) {
    struct weir__entry *e = weir__entry_pin_if(&q->entries[i], 0);
    if (e != NULL) {
      weir__submit_cancel(e);
      weir__entry_unpin(e);
    }
  }
}

/* The queue's own reference holds it until the last line. */
static void end(struct weir__queue *q) {
  for (uint32_t asleep = shut(q); asleep != 0; asleep--) {
    weir__engine_unpark(q->engine, &q->signal);
  }
  WEIR_POINT("queue.shut.locked", q);
  give_all_up(q);
  weir__mutex_lock(&q->mu);
  q->refs--;
  weir__queue_leave_locked(q);
}

int weir__queue_close(uint64_t handle) {
  struct weir__queue *q = weir__handle_take(handle, WEIR_TYPE_QUEUE);
  if (q == NULL) {
    return WEIR_E_HANDLE;
  }
  end(q);
  return WEIR_OK;
}

/* The engine's mutex keeps each from being buried meanwhile. */
void weir__queue_close_all(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  for (struct weir__queue *q = engine->queues; q != NULL; q = q->next) {
    (void)weir__queue_close(q->handle);
  }
  weir__mutex_unlock(&engine->mu);
}

void weir__queue_forget_all(struct weir__engine *engine) {
  for (const struct weir__queue *q = engine->queues; q != NULL; q = q->next) {
    if (q->fd >= 0) {
      (void)close(q->fd);
    }
  }
}
