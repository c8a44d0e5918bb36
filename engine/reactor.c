/* SPDX-License-Identifier: MIT */
/* The inbox is a stack that posting threads push onto with a compare-and-swap;
 * the reactor takes all of it with one exchange and turns it round.  Only the
 * push onto an empty stack wakes the loop.  A push publishes the task (acq_rel)
 * to the exchange that takes it (acq_rel).  Nothing is ever popped singly, so a
 * task that is posted again while it is on its way cannot confuse the stack.
 *
 * A task may run, and make another thread stop the reactor, before the wake of
 * its own post has returned.  So posters count themselves in `posting`, and the
 * loop ends only when there is none: see weir__reactor_post() and
 * weir__reactor_run_posters(). */
#include "reactor.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "weir_driver.h"

#include "reactor_internal.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/park.h"

/* Bits of `posting`: a count of posters in steps of 2, and whether the loop is
 * waiting for them. */
#define POSTING_ONE   UINT32_C(2)
#define POSTING_AWAIT UINT32_C(1)

static _Thread_local const struct weir__reactor *here;

bool weir__reactor_here(const struct weir__reactor *reactor) {
  return here == reactor;
}

void weir__reactor_enter(struct weir__reactor *reactor) {
  WEIR_ASSERT(here == NULL);
  here = reactor;
}

void weir__reactor_exit(struct weir__reactor *reactor) {
  WEIR_ASSERT(here == reactor);
  (void)reactor;
  here = NULL;
}

bool weir__reactor_foreign(const struct weir__reactor *reactor) {
  return reactor->foreign;
}

uint64_t weir__reactor_wakes(const struct weir__reactor *reactor) {
  return weir__load_relaxed_u64(&reactor->wakes);
}

void weir__reactor_count_wake(struct weir__reactor *reactor) {
  /* One writer at a time: a plain increment that readers may see late. */
  weir__store_relaxed_u64(&reactor->wakes,
                          weir__load_relaxed_u64(&reactor->wakes) + 1);
}

/* ------------------------------------------------------------------ posting */

/* True if the inbox was empty, which makes it the pusher's duty to wake. */
static bool push(struct weir__reactor *r, struct weir__task *task) {
  uint64_t head = weir__load_relaxed_u64(&r->inbox);
  do {
    task->next = (struct weir__task *)(uintptr_t)head;
  } while (!weir__cas_acq_rel_u64(&r->inbox, &head, (uintptr_t)task));
  return head == 0;
}

/* Nothing of the reactor may be touched after the count has gone down, but the
 * address of the word, on which the loop may be asleep. */
static void leave(struct weir__reactor *r) {
  uint32_t before = weir__sub_acq_rel_u32(&r->posting, POSTING_ONE);
  if ((before & POSTING_AWAIT) != 0) {
    weir__unpark(&r->posting);
  }
}

static void enter(struct weir__reactor *r) {
  (void)weir__add_acq_rel_u32(&r->posting, POSTING_ONE);
}

void weir__reactor_post(struct weir__reactor *reactor,
                        struct weir__task *task) {
  enter(reactor);
  if (push(reactor, task)) {
    weir__reactor_wake(reactor);
  }
  leave(reactor);
}

static void kick(void *arg) {
  struct weir__reactor *r = arg;
  enter(r);
  weir__reactor_wake(r);
  leave(r);
}

/* The inbox, oldest first. */
static struct weir__task *take_all(struct weir__reactor *r) {
  uint64_t head = weir__exchange_acq_rel_u64(&r->inbox, 0);
  struct weir__task *newest = (struct weir__task *)(uintptr_t)head;
  struct weir__task *oldest = NULL;
  while (newest != NULL) {
    struct weir__task *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void weir__reactor_run_tasks(struct weir__reactor *reactor) {
  struct weir__task *task = take_all(reactor);
  while (task != NULL) {
    struct weir__task *next = task->next;
    task->run(task);
    task = next;
  }
}

/* ------------------------------------------------------------------- timers */

static struct weir__timer *timer_of(struct weir__heap_node *node) {
  return (struct weir__timer *)(void *)((char *)node -
                                        offsetof(struct weir__timer, node));
}

void weir__reactor_timer(struct weir__reactor *reactor,
                         struct weir__timer *timer,
                         uint64_t at) {
  WEIR_ASSERT(weir__reactor_here(reactor));
  weir__heap_remove(&reactor->deadlines, &timer->node);
  if (at < reactor->firing) {
    at = reactor->firing; /* behind those that are due already */
  }
  if (at != WEIR_NEVER) {
    weir__heap_insert(&reactor->deadlines, &timer->node, at);
  }
}

/* Fires what is due now.  Timers that a fire() sets, even to the past, line up
 * behind and wait for the next turn, so that neither the other timers nor the
 * descriptors starve. */
void weir__reactor_run_timers(struct weir__reactor *reactor) {
  struct weir__reactor *r = reactor;
  uint64_t now = weir__clock_now();
  uint64_t before = r->deadlines.inserted;
  r->firing = now;
  for (;;) {
    struct weir__heap_node *first = weir__heap_first(&r->deadlines);
    if (first == NULL || first->key > now || first->order >= before) {
      break;
    }
    weir__heap_remove(&r->deadlines, first);
    struct weir__timer *timer = timer_of(first);
    timer->fire(timer);
  }
  r->firing = 0;
}

uint64_t weir__reactor_earliest(const struct weir__reactor *reactor) {
  const struct weir__heap_node *first = weir__heap_first(&reactor->deadlines);
  return first == NULL ? WEIR_NEVER : first->key;
}

/* ------------------------------------------------------------------ watches */

static uint32_t to_epoll(uint32_t events) {
  uint32_t bits = 0;
  bits |= (events & WEIR_DRV_EV_READ) != 0 ? (uint32_t)EPOLLIN : 0u;
  bits |= (events & WEIR_DRV_EV_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0u;
  bits |= (events & WEIR_WATCH_HANGUP) != 0 ? (uint32_t)EPOLLRDHUP : 0u;
  bits |= events == WEIR_WATCH_HANGUP ? (uint32_t)EPOLLET : 0u;
  return bits;
}

static uint32_t from_epoll(uint32_t bits) {
  uint32_t gone = (uint32_t)(EPOLLHUP | EPOLLERR);
  uint32_t events = 0;
  if ((bits & ((uint32_t)(EPOLLIN | EPOLLRDHUP) | gone)) != 0) {
    events |= WEIR_DRV_EV_READ;
  }
  if ((bits & ((uint32_t)EPOLLOUT | gone)) != 0) {
    events |= WEIR_DRV_EV_WRITE;
  }
  if ((bits & ((uint32_t)EPOLLRDHUP | gone)) != 0) {
    events |= WEIR_WATCH_HANGUP;
  }
  return events;
}

/* Events that were fetched for a watch before it changed are void. */
static void forget_fetched(struct weir__reactor *r,
                           const struct weir__watch *watch) {
  for (int i = r->batch_i + 1; i < r->batch_n; i++) {
    if (r->batch[i].data.ptr == watch) {
      r->batch[i].data.ptr = NULL;
    }
  }
}

int weir__reactor_watch(struct weir__reactor *reactor,
                        struct weir__watch *watch,
                        uint32_t events) {
  WEIR_ASSERT(weir__reactor_here(reactor));
  if (events == watch->events) {
    return 0;
  }
  int op = watch->events == 0 ? EPOLL_CTL_ADD
           : events == 0      ? EPOLL_CTL_DEL
                              : EPOLL_CTL_MOD;
  struct epoll_event event = {.events = to_epoll(events),
                              .data = {.ptr = watch}};
  int rc = epoll_ctl(reactor->epoll, op, watch->fd, &event);
  if (rc != 0 && op != EPOLL_CTL_DEL) {
    return -errno;
  }
  watch->events = events;
  forget_fetched(reactor, watch);
  return 0;
}

static void deliver(const struct epoll_event *event) {
  struct weir__watch *watch = event->data.ptr;
  if (watch == NULL) {
    return;
  }
  uint32_t events = from_epoll(event->events) & watch->events;
  if (events != 0) {
    watch->ready(watch, events);
  }
}

void weir__reactor_run_watches(struct weir__reactor *reactor) {
  struct weir__reactor *r = reactor;
  int n = epoll_wait(r->epoll, r->batch, WEIR_REACTOR_BATCH, 0);
  r->batch_n = n < 0 ? 0 : n; /* EINTR: it is level-triggered, so again */
  for (r->batch_i = 0; r->batch_i < r->batch_n; r->batch_i++) {
    deliver(&r->batch[r->batch_i]);
  }
  r->batch_n = 0;
  r->batch_i = 0;
}

/* ------------------------------------------------------------- start, stop */

void weir__reactor_run_posters(struct weir__reactor *reactor) {
  (void)weir__or_seq_u32(&reactor->posting, POSTING_AWAIT);
  for (;;) {
    weir__reactor_run_tasks(reactor);
    uint32_t posting = weir__load_acquire_u32(&reactor->posting);
    if (posting != POSTING_AWAIT) {
      (void)weir__park(&reactor->posting, posting, WEIR_NEVER);
    } else if (weir__load_acquire_u64(&reactor->inbox) == 0) {
      return;
    }
  }
}

void weir__reactor_wake(struct weir__reactor *reactor) {
  if (reactor->foreign) {
    weir__reactor_turn_wake(reactor);
  } else {
    weir__reactor_thread_wake(reactor);
  }
}

static void watch_clock(struct weir__reactor *r) {
#if WEIR_SEAMS
  weir__seams.watch_clock(kick, r);
#else
  (void)r;
  (void)kick;
#endif
}

static void unwatch_clock(struct weir__reactor *r) {
#if WEIR_SEAMS
  weir__seams.unwatch_clock(kick, r);
#else
  (void)r;
#endif
}

static struct weir__reactor *make(bool foreign) {
  struct weir__reactor *r = weir__mem_new(sizeof *r);
  if (r != NULL) {
    r->foreign = foreign;
    r->told_due = WEIR_NEVER;
  }
  return r;
}

int weir__reactor_start(bool foreign, struct weir__reactor **out) {
  struct weir__reactor *r = make(foreign);
  if (r == NULL) {
    return -ENOMEM;
  }
  r->epoll = epoll_create1(EPOLL_CLOEXEC);
  int rc = r->epoll < 0 ? -errno : 0;
  if (rc != 0) {
    goto free_reactor;
  }
  rc = foreign ? weir__reactor_turn_start(r) : weir__reactor_thread_start(r);
  if (rc != 0) {
    goto close_epoll;
  }
  watch_clock(r); /* no timer can be set before */
  *out = r;
  return 0;

close_epoll:
  (void)close(r->epoll);
free_reactor:
  weir__mem_free(r);
  return rc;
}

void weir__reactor_stop(struct weir__reactor *reactor) {
  if (reactor == NULL) {
    return;
  }
  WEIR_ASSERT(!weir__reactor_here(reactor));
  unwatch_clock(reactor);
  if (reactor->foreign) {
    weir__reactor_turn_stop(reactor);
  } else {
    weir__reactor_thread_stop(reactor);
  }
  (void)close(reactor->epoll);
  weir__mem_free(reactor);
}

void weir__reactor_forget(struct weir__reactor *reactor) {
  (void)close(reactor->epoll);
  if (reactor->foreign) {
    weir__reactor_turn_forget(reactor);
  } else {
    weir__reactor_thread_forget(reactor);
  }
}
