/* SPDX-License-Identifier: MIT */
/* The inbox is a stack that posting threads push onto with a compare-and-swap;
 * the reactor takes all of it with one exchange and turns it round.  Only the
 * push onto an empty stack wakes the loop.  A push publishes the task (acq_rel)
 * to the exchange that takes it (acq_rel).  Nothing is ever popped singly, so a
 * task that is posted again while it is on its way cannot confuse the stack.
 *
 * A task may run, and make another thread stop the reactor, before the
 * uv_async_send() of its own post has returned.  So posters count themselves in
 * `posting`, and the loop ends only when there is none: see weir__reactor_post()
 * and wait_for_posters(). */
#include "reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <uv.h>

#include "weir_driver.h"

#include "sys/assert.h"
#include "sys/atomic.h"
#include "sys/mem.h"
#include "sys/park.h"
#include "sys/thread.h"

#define BATCH_MAX 64

/* Bits of `posting`: a count of posters in steps of 2, and whether the loop is
 * waiting for them. */
#define POSTING_ONE   UINT32_C(2)
#define POSTING_AWAIT UINT32_C(1)

struct weir__reactor {
  uv_loop_t loop;
  uv_async_t wake;
  uv_poll_t poll; /* of epoll */
  uv_timer_t timer;
  int epoll;
  uint64_t thread;

  _Atomic uint64_t inbox; /* struct weir__task *, newest first */
  _Atomic uint32_t posting;
  _Atomic uint64_t wakes;

  /* The rest belongs to the reactor thread. */
  struct weir__task stop;
  bool stopping;
  struct weir__heap deadlines;
  uint64_t armed;  /* what the uv_timer is set to, or WEIR_NEVER */
  uint64_t firing; /* the time of the turn whose timers are firing, or 0 */
  struct epoll_event batch[BATCH_MAX];
  int batch_n;
  int batch_i; /* the event being delivered */
};

static _Thread_local const struct weir__reactor *here;

bool weir__reactor_here(const struct weir__reactor *reactor) {
  return here == reactor;
}

uint64_t weir__reactor_wakes(const struct weir__reactor *reactor) {
  return weir__load_relaxed_u64(&reactor->wakes);
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
    /* Fails only for handles that are not asyncs. */
    (void)uv_async_send(&reactor->wake);
  }
  leave(reactor);
}

static void kick(void *arg) {
  struct weir__reactor *r = arg;
  enter(r);
  (void)uv_async_send(&r->wake);
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

static void run_tasks(struct weir__reactor *r) {
  struct weir__task *task = take_all(r);
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
static void fire_due(struct weir__reactor *r) {
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

static void on_timer(uv_timer_t *handle);

static uint64_t earliest(const struct weir__reactor *r) {
  const struct weir__heap_node *first = weir__heap_first(&r->deadlines);
  return first == NULL ? WEIR_NEVER : first->key;
}

/* Whole milliseconds from the one that now is in, which is where libuv counts
 * from, to the first one in which at has passed: never early, and one wake-up. */
static uint64_t ms_until(uint64_t at) {
  uint64_t now = weir__clock_now();
  uint64_t begun = now % WEIR_NS_PER_MS;
  return at <= now ? 0 : (at - now - 1 + begun) / WEIR_NS_PER_MS + 1;
}

static bool time_is_virtual(void) {
#if WEIR_SEAMS
  return weir__seams.virtual_time != 0;
#else
  return false;
#endif
}

/* Sets the uv_timer to the earliest deadline if that has changed. */
static void arm(struct weir__reactor *r) {
  uint64_t at = earliest(r);
  if (time_is_virtual()) {
    if (at <= weir__clock_now()) {
      (void)uv_async_send(&r->wake);
    }
    return;
  }
  if (at == r->armed) {
    return;
  }
  r->armed = at;
  if (at == WEIR_NEVER) {
    (void)uv_timer_stop(&r->timer);
    return;
  }
  uv_update_time(&r->loop);
  (void)uv_timer_start(&r->timer, on_timer, ms_until(at), 0);
}

/* --------------------------------------------------------------------- loop */

/* Each callback of the loop ends with this. */
static void end_turn(struct weir__reactor *r) {
  if (!r->stopping) {
    fire_due(r);
    arm(r);
  }
}

static void count_wake(struct weir__reactor *r) {
  /* The only writer: a plain increment that readers may see late. */
  weir__store_relaxed_u64(&r->wakes, weir__load_relaxed_u64(&r->wakes) + 1);
}

static void on_wake(uv_async_t *handle) {
  struct weir__reactor *r = handle->data;
  count_wake(r);
  run_tasks(r);
  end_turn(r);
}

static void on_timer(uv_timer_t *handle) {
  struct weir__reactor *r = handle->data;
  count_wake(r);
  r->armed = WEIR_NEVER; /* it has fired: no longer set */
  end_turn(r);
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

static void on_epoll(uv_poll_t *handle, int status, int events) {
  (void)status; /* an epoll set cannot be in error */
  (void)events;
  struct weir__reactor *r = handle->data;
  count_wake(r);
  int n = epoll_wait(r->epoll, r->batch, BATCH_MAX, 0);
  r->batch_n = n < 0 ? 0 : n; /* EINTR: it is level-triggered, so again */
  for (r->batch_i = 0; r->batch_i < r->batch_n; r->batch_i++) {
    deliver(&r->batch[r->batch_i]);
  }
  r->batch_n = 0;
  r->batch_i = 0;
  end_turn(r);
}

/* ------------------------------------------------------------- start, stop */

/* The loop's handles live in the reactor and close with it. */
static void close_handles(struct weir__reactor *r) {
  uv_close((uv_handle_t *)&r->wake, NULL);
  uv_close((uv_handle_t *)&r->poll, NULL);
  uv_close((uv_handle_t *)&r->timer, NULL);
}

/* Runs what is posted until no poster is left inside weir__reactor_post(). */
static void wait_for_posters(struct weir__reactor *r) {
  (void)weir__or_seq_u32(&r->posting, POSTING_AWAIT);
  for (;;) {
    run_tasks(r);
    uint32_t posting = weir__load_acquire_u32(&r->posting);
    if (posting != POSTING_AWAIT) {
      (void)weir__park(&r->posting, posting, WEIR_NEVER);
    } else if (weir__load_acquire_u64(&r->inbox) == 0) {
      return;
    }
  }
}

static void on_stop(struct weir__task *task) {
  struct weir__reactor *r =
      (struct weir__reactor *)(void *)((char *)task -
                                       offsetof(struct weir__reactor, stop));
  r->stopping = true;
  uv_stop(&r->loop);
}

static void *run_loop(void *arg) {
  struct weir__reactor *r = arg;
  here = r;
  while (!r->stopping) {
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
  }
  wait_for_posters(r);
  close_handles(r);
  (void)uv_run(&r->loop, UV_RUN_DEFAULT); /* until all handles have closed */
  here = NULL;
  return NULL;
}

static int open_epoll(struct weir__reactor *r) {
  r->epoll = epoll_create1(EPOLL_CLOEXEC);
  return r->epoll < 0 ? -errno : 0;
}

/* Errors of libuv are negative errno values.  On failure the handles that exist
 * are closed, as uv_loop_close() demands. */
static int open_handles(struct weir__reactor *r) {
  int rc = uv_async_init(&r->loop, &r->wake, on_wake);
  if (rc != 0) {
    return rc;
  }
  rc = uv_poll_init(&r->loop, &r->poll, r->epoll);
  if (rc != 0) {
    uv_close((uv_handle_t *)&r->wake, NULL);
    return rc;
  }
  (void)uv_timer_init(&r->loop, &r->timer);
  r->wake.data = r;
  r->poll.data = r;
  r->timer.data = r;
  rc = uv_poll_start(&r->poll, UV_READABLE, on_epoll);
  if (rc != 0) {
    close_handles(r);
  }
  return rc;
}

static void close_loop(struct weir__reactor *r) {
  (void)uv_run(&r->loop, UV_RUN_DEFAULT);
  int rc = uv_loop_close(&r->loop);
  WEIR_ASSERT(rc == 0);
  (void)rc;
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

static int start_thread(struct weir__reactor *r) {
  watch_clock(r);
  int rc = weir__thread_start("weir-reactor", run_loop, r, &r->thread);
  if (rc != 0) {
    unwatch_clock(r);
    close_handles(r);
  }
  return rc;
}

int weir__reactor_start(struct weir__reactor **out) {
  struct weir__reactor *r = weir__mem_new(sizeof *r);
  if (r == NULL) {
    return -ENOMEM;
  }
  r->armed = WEIR_NEVER;
  r->stop.run = on_stop;
  int rc = open_epoll(r);
  if (rc != 0) {
    goto free_reactor;
  }
  rc = uv_loop_init(&r->loop);
  if (rc != 0) {
    goto close_epoll;
  }
  rc = open_handles(r);
  if (rc == 0) {
    rc = start_thread(r);
  }
  if (rc != 0) {
    goto close_uv;
  }
  *out = r;
  return 0;

close_uv:
  close_loop(r);
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
  weir__reactor_post(reactor, &reactor->stop);
  weir__thread_join(reactor->thread);
  close_loop(reactor);
  (void)close(reactor->epoll);
  weir__mem_free(reactor);
}

/* Of libuv only numbers are read here; each descriptor is one that it opened for
 * this loop alone. */
void weir__reactor_forget(struct weir__reactor *reactor) {
  const int fds[] = {reactor->epoll, reactor->loop.backend_fd,
                     reactor->loop.async_io_watcher.fd,
                     reactor->loop.signal_pipefd[0],
                     reactor->loop.signal_pipefd[1]};
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
    if (fds[i] >= 0) {
      (void)close(fds[i]);
    }
  }
}
