/* SPDX-License-Identifier: MIT */
/* queue_entry.c - the life of one operation; see queue.h.
 *
 * Several may look at an entry at once: who cancels it, who grants it, its timer.
 * Each pins it, so that it cannot become another operation under their eyes, and
 * then asks the pool, under the pool's mutex, whether there is still something to
 * decide.  A pin also keeps the pool: an entry that is not FREE is counted there. */
#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "engine.h"
#include "handle.h"
#include "pool.h"
#include "queue_internal.h"
#include "status.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/mem.h"

static void unpinned_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu) {
  if (e->pool != NULL) {
    /* Release: whoever frees the pool comes after all that was done with it. */
    (void)weir__sub_acq_rel_u32(&e->pool->entries, 1);
    e->pool = NULL;
  }
  e->next = q->free;
  q->free = e;
  q->refs--;
}

void weir__entry_finish_locked(struct weir__queue *q, struct weir__entry *e) {
  e->state = WEIR_ENTRY_FREE;
  e->handle = 0;
  q->in_use--;
  if (e->pins == 0) {
    unpinned_locked(q, e);
  }
}

static void unpin_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu) {
  e->pins--;
  if (e->pins == 0 && e->state == WEIR_ENTRY_FREE) {
    unpinned_locked(q, e);
  }
}

struct weir__entry *weir__queue_reserve(struct weir__queue *queue,
                                        int32_t type,
                                        uint64_t user,
                                        struct weir__pool *pool) {
  weir__mutex_lock(&queue->mu);
  bool full = queue->in_use == queue->capacity;
  struct weir__entry *e = queue->closed || full ? NULL : queue->free;
  if (e != NULL) {
    queue->in_use++;
    queue->free = e->next;
    queue->refs++;
    e->state = WEIR_ENTRY_TAKEN;
    e->handle = weir__handle_arm(WEIR_TYPE_OP, e->index, e);
    e->user = user;
    e->type = type;
    e->lease = 0;
    e->of_lease = 0;
    e->status = WEIR_OK;
    e->error = NULL;
    e->pool = pool;
    if (pool != NULL) {
      (void)weir__add_acq_rel_u32(&pool->entries, 1);
    }
  }
  weir__mutex_unlock(&queue->mu);
  return e;
}

void weir__entry_bind(struct weir__entry *entry,
                      uint64_t lease,
                      uint32_t request) {
  weir__mutex_lock(&entry->queue->mu);
  entry->of_lease = lease;
  entry->of_request = request;
  weir__mutex_unlock(&entry->queue->mu);
}

int weir__queue_refuse(struct weir__queue *queue, struct weir_error *err) {
  if (weir__queue_closed(queue)) {
    return weir__error_set(err, WEIR_E_HANDLE, WEIR_PHASE_NONE,
                           "the queue has been closed");
  }
  return weir__error_set(err, WEIR_E_BUSY, WEIR_PHASE_NONE,
                         "the queue's %u operations are all in use; take "
                         "completions first, or open a larger one",
                         queue->capacity);
}

void weir__queue_give_back(struct weir__entry *entry) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  WEIR_ASSERT(entry->state == WEIR_ENTRY_TAKEN);
  weir__handle_disarm(WEIR_TYPE_OP, entry->index);
  weir__entry_finish_locked(q, entry);
  weir__queue_leave_locked(q);
}

/* ------------------------------------------------------------------ posting */

static struct weir_error *copy_of(const struct weir_error *err) {
  struct weir_error *copy = err == NULL ? NULL : weir__mem_new(sizeof *copy);
  if (copy != NULL) {
    *copy = *err;
  }
  return copy;
}

static void line_up_locked(struct weir__queue *q, struct weir__entry *e)
    WEIR_REQUIRES(q->mu) {
  e->state = WEIR_ENTRY_POSTED;
  e->next = NULL;
  if (q->first == NULL) {
    q->first = e;
  } else {
    q->last->next = e;
  }
  q->last = e;
  weir__queue_show_locked(q);
}

void weir__entry_drop_locked(struct weir__queue *q, struct weir__entry *e) {
  weir__mem_free(e->error);
  e->error = NULL;
  if (e->type == WEIR_OP_ACQUIRE && e->lease != 0) {
    e->state = WEIR_ENTRY_DROPPED;
    weir__entry_task_locked(q, e);
  } else {
    weir__entry_finish_locked(q, e);
  }
}

void weir__queue_post(struct weir__entry *entry,
                      int32_t status,
                      uint64_t lease,
                      const struct weir_error *err) {
  struct weir__queue *q = entry->queue;
  struct weir__engine *engine = q->engine;
  struct weir_error *copy = copy_of(err);
  bool wake = false;
  weir__mutex_lock(&q->mu);
  WEIR_ASSERT(entry->state == WEIR_ENTRY_TAKEN);
  weir__handle_disarm(WEIR_TYPE_OP, entry->index);
  entry->status = status;
  entry->lease = lease;
  entry->error = copy;
  if (q->closed) {
    weir__entry_drop_locked(q, entry);
  } else {
    line_up_locked(q, entry);
    wake = weir__queue_rouse_locked(q);
  }
  weir__queue_leave_locked(q);
  if (wake) {
    weir__engine_unpark(engine, &q->signal); /* by its address: see park.h */
  }
}

/* ------------------------------------------------------------------ looking */

struct weir__entry *weir__entry_pin_if(struct weir__entry *entry,
                                       uint64_t handle) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  bool good = entry->state == WEIR_ENTRY_TAKEN &&
              (handle == 0 || entry->handle == handle);
  entry->pins += good;
  weir__mutex_unlock(&q->mu);
  return good ? entry : NULL;
}

struct weir__entry *weir__entry_pin(uint64_t handle) {
  struct weir__entry *e = weir__handle_find(handle, WEIR_TYPE_OP);
  return e == NULL ? NULL : weir__entry_pin_if(e, handle);
}

void weir__entry_unpin(struct weir__entry *entry) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  unpin_locked(q, entry);
  weir__queue_leave_locked(q);
}

static void release_dropped(struct weir__queue *q, struct weir__entry *e) {
  weir__submit_drop_lease(e->lease);
  weir__mutex_lock(&q->mu);
  weir__entry_finish_locked(q, e);
  weir__mutex_unlock(&q->mu);
}

static void look(struct weir__entry *e, bool check) {
  if (e->type == WEIR_OP_ACQUIRE) {
    weir__submit_look(e, check);
  }
}

/* A timer is never set later or cleared: it finds out, when it fires, whether
 * there is an operation now and how long that has.  So one that is served before
 * its time costs the reactor nothing.  `armed` is the time that the timer is set
 * to, or is about to be by a task that is on its way. */
static void on_time(struct weir__timer *timer) {
  struct weir__entry *e = weir_container_of(timer, struct weir__entry, timer);
  struct weir__queue *q = e->queue;
  weir__mutex_lock(&q->mu);
  bool taken = e->state == WEIR_ENTRY_TAKEN;
  e->armed = WEIR_NEVER;
  e->pins += taken;
  weir__mutex_unlock(&q->mu);
  if (taken) {
    look(e, false);
    weir__entry_unpin(e);
  }
}

/* As armed says; if that becomes sooner meanwhile, another task is coming. */
static void set_timer(struct weir__entry *e) {
  struct weir__queue *q = e->queue;
  weir__mutex_lock(&q->mu);
  uint64_t at = e->armed;
  weir__mutex_unlock(&q->mu);
  if (at != WEIR_NEVER) {
    e->timer.fire = on_time;
    weir__reactor_timer(q->engine->reactor, &e->timer, at);
  }
}

void weir__entry_timer(struct weir__entry *entry, uint64_t at) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  bool sooner = at < entry->armed;
  if (sooner) {
    entry->armed = at;
  }
  weir__mutex_unlock(&q->mu);
  if (sooner) {
    set_timer(entry);
  }
}

static void run_look(struct weir__task *task) {
  struct weir__entry *e = weir_container_of(task, struct weir__entry, task);
  struct weir__queue *q = e->queue;
  weir__mutex_lock(&q->mu);
  uint32_t state = e->state;
  bool check = e->check;
  bool pin = state == WEIR_ENTRY_TAKEN || state == WEIR_ENTRY_DROPPED;
  e->task_posted = false;
  e->check = false;
  e->pins += pin;
  weir__mutex_unlock(&q->mu);
  set_timer(e);
  if (state == WEIR_ENTRY_DROPPED) {
    release_dropped(q, e);
  } else if (state == WEIR_ENTRY_TAKEN) {
    look(e, check);
  }
  weir__mutex_lock(&q->mu);
  if (pin) {
    unpin_locked(q, e);
  }
  q->refs--; /* the task's */
  weir__queue_leave_locked(q);
}

void weir__entry_task_locked(struct weir__queue *q, struct weir__entry *e) {
  if (!e->task_posted) {
    e->task_posted = true;
    q->refs++;
    e->task.run = run_look;
    weir__reactor_post(q->engine->reactor, &e->task);
  }
}

void weir__entry_look(struct weir__entry *entry, bool check) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  entry->check = entry->check || check;
  weir__entry_task_locked(q, entry);
  weir__mutex_unlock(&q->mu);
}

void weir__entry_arm(struct weir__entry *entry, uint64_t at) {
  struct weir__queue *q = entry->queue;
  weir__mutex_lock(&q->mu);
  if (at < entry->armed) {
    entry->armed = at; /* now: the next operation need not ask again */
    weir__entry_task_locked(q, entry);
  }
  weir__mutex_unlock(&q->mu);
}
