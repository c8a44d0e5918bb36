/* SPDX-License-Identifier: MIT */
/* reactor_thread.c - a thread that runs a libuv loop, which sees three handles:
 * one uv_poll on the epoll set in which every watch is, one uv_async for wake-ups
 * and one uv_timer for the earliest deadline.  Only this file knows libuv. */
#include <errno.h>
#include <unistd.h>

#include <uv.h>

#include "base/container.h"
#include "reactor_internal.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/thread.h"

struct weir__loop {
  uv_loop_t uv;
  uv_async_t wake;
  uv_poll_t poll; /* of the reactor's epoll */
  uv_timer_t timer;
  struct weir__reactor *reactor;
  struct weir__task stop;
  uint64_t thread;
  uint64_t armed; /* what the uv_timer is set to, or WEIR_NEVER */
};

void weir__reactor_thread_wake(struct weir__reactor *reactor) {
  /* Fails only for handles that are not asyncs. */
  (void)uv_async_send(&reactor->loop->wake);
}

static void on_timer(uv_timer_t *handle);

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

/* Sets the uv_timer to the earliest deadline if that has changed.  One that has
 * passed gets a wake-up instead: a uv_timer that its own callback sets to now fires
 * again before libuv looks at anything else, and tasks and descriptors starve if
 * that goes on. */
static void arm(struct weir__loop *l) {
  uint64_t at = weir__reactor_earliest(l->reactor);
  if (time_is_virtual()) {
    if (at <= weir__clock_now()) {
      (void)uv_async_send(&l->wake);
    }
    return;
  }
  if (at == l->armed) {
    return;
  }
  uint64_t ms = ms_until(at);
  l->armed = ms == 0 ? WEIR_NEVER : at;
  if (l->armed == WEIR_NEVER) {
    (void)uv_timer_stop(&l->timer);
  } else {
    uv_update_time(&l->uv);
    (void)uv_timer_start(&l->timer, on_timer, ms, 0);
  }
  if (ms == 0) {
    (void)uv_async_send(&l->wake);
  }
}

/* Each callback of the loop ends with this. */
static void end_turn(struct weir__loop *l) {
  if (!l->reactor->stopping) {
    weir__reactor_run_timers(l->reactor);
    arm(l);
  }
}

static void on_wake(uv_async_t *handle) {
  struct weir__loop *l = handle->data;
  weir__reactor_count_wake(l->reactor);
  weir__reactor_run_tasks(l->reactor);
  end_turn(l);
}

static void on_timer(uv_timer_t *handle) {
  struct weir__loop *l = handle->data;
  weir__reactor_count_wake(l->reactor);
  l->armed = WEIR_NEVER; /* it has fired: no longer set */
  end_turn(l);
}

static void on_epoll(uv_poll_t *handle, int status, int events) {
  (void)status; /* an epoll set cannot be in error */
  (void)events;
  struct weir__loop *l = handle->data;
  weir__reactor_count_wake(l->reactor);
  weir__reactor_run_watches(l->reactor);
  end_turn(l);
}

static void on_stop(struct weir__task *task) {
  struct weir__loop *l = weir_container_of(task, struct weir__loop, stop);
  l->reactor->stopping = true;
  uv_stop(&l->uv);
}

/* The loop's handles live in it and close with it. */
static void close_handles(struct weir__loop *l) {
  uv_close((uv_handle_t *)&l->wake, NULL);
  uv_close((uv_handle_t *)&l->poll, NULL);
  uv_close((uv_handle_t *)&l->timer, NULL);
}

static void *run_loop(void *arg) {
  struct weir__loop *l = arg;
  struct weir__reactor *r = l->reactor;
  weir__reactor_enter(r);
  while (!r->stopping) {
    (void)uv_run(&l->uv, UV_RUN_DEFAULT);
  }
  weir__reactor_run_posters(r);
  close_handles(l);
  (void)uv_run(&l->uv, UV_RUN_DEFAULT); /* until all handles have closed */
  weir__reactor_exit(r);
  return NULL;
}

/* Errors of libuv are negative errno values.  On failure the handles that exist
 * are closed, as uv_loop_close() demands. */
static int open_handles(struct weir__loop *l) {
  int rc = uv_async_init(&l->uv, &l->wake, on_wake);
  if (rc != 0) {
    return rc;
  }
  rc = uv_poll_init(&l->uv, &l->poll, l->reactor->epoll);
  if (rc != 0) {
    uv_close((uv_handle_t *)&l->wake, NULL);
    return rc;
  }
  (void)uv_timer_init(&l->uv, &l->timer);
  l->wake.data = l;
  l->poll.data = l;
  l->timer.data = l;
  rc = uv_poll_start(&l->poll, UV_READABLE, on_epoll);
  if (rc != 0) {
    close_handles(l);
  }
  return rc;
}

static void close_loop(struct weir__loop *l) {
  (void)uv_run(&l->uv, UV_RUN_DEFAULT);
  int rc = uv_loop_close(&l->uv);
  WEIR_ASSERT(rc == 0);
  (void)rc;
}

static int run(struct weir__loop *l) {
  int rc = open_handles(l);
  if (rc != 0) {
    return rc;
  }
  rc = weir__thread_start("weir-reactor", run_loop, l, &l->thread);
  if (rc != 0) {
    close_handles(l);
  }
  return rc;
}

int weir__reactor_thread_start(struct weir__reactor *reactor) {
  struct weir__loop *l = weir__mem_new(sizeof *l);
  if (l == NULL) {
    return -ENOMEM;
  }
  l->reactor = reactor;
  l->stop.run = on_stop;
  l->armed = WEIR_NEVER;
  int rc = uv_loop_init(&l->uv);
  if (rc != 0) {
    goto free_loop;
  }
  reactor->loop = l; /* before the thread, which is woken through it */
  rc = run(l);
  if (rc != 0) {
    goto close_uv;
  }
  return 0;

close_uv:
  close_loop(l);
free_loop:
  reactor->loop = NULL;
  weir__mem_free(l);
  return rc;
}

void weir__reactor_thread_stop(struct weir__reactor *reactor) {
  struct weir__loop *l = reactor->loop;
  weir__reactor_post(reactor, &l->stop);
  weir__thread_join(l->thread);
  close_loop(l);
  weir__mem_free(l);
}

/* Of libuv only numbers are read here; each descriptor is one that it opened for
 * this loop alone. */
void weir__reactor_thread_forget(const struct weir__reactor *reactor) {
  const uv_loop_t *uv = &reactor->loop->uv;
  const int fds[] = {uv->backend_fd, uv->async_io_watcher.fd,
                     uv->signal_pipefd[0], uv->signal_pipefd[1]};
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
    if (fds[i] >= 0) {
      (void)close(fds[i]);
    }
  }
}
