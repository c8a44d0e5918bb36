/* SPDX-License-Identifier: MIT */
/* uv_loop.c - the same under libuv: two descriptors and a timer in a loop that is
 * the program's.
 *
 *   sample_uv_loop CONNINFO SQL [JOBS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "job.h"

#define JOBS_MAX  64u
#define NS_PER_MS INT64_C(1000000)

struct program {
  uv_loop_t loop;
  uv_poll_t engine_poll; /* the engine has something to run */
  uv_timer_t due;        /* ... or will have */
  uv_poll_t queue_poll;  /* completions can be taken */
  weir_h engine;
  struct jobs jobs;
};

/* The loop ends when nothing of ours is in it any more. */
static void stop(struct program *p) {
  uv_close((uv_handle_t *)&p->engine_poll, NULL);
  uv_close((uv_handle_t *)&p->due, NULL);
  uv_close((uv_handle_t *)&p->queue_poll, NULL);
}

static void on_due(uv_timer_t *timer);

static void turn(struct program *p) {
  int64_t due = WEIR_TIMEOUT_NEVER;
  (void)weir_engine_turn(p->engine, &due, NULL);
  if (due == WEIR_TIMEOUT_NEVER) {
    (void)uv_timer_stop(&p->due);
  } else {
    uv_update_time(&p->loop);
    (void)uv_timer_start(&p->due, on_due,
                         (uint64_t)(due / NS_PER_MS + (due % NS_PER_MS != 0)),
                         0);
  }
}

static void on_due(uv_timer_t *timer) {
  turn(timer->data);
}

static void on_engine(uv_poll_t *handle, int status, int events) {
  (void)status;
  (void)events;
  turn(handle->data);
}

static void on_queue(uv_poll_t *handle, int status, int events) {
  struct program *p = handle->data;
  (void)status;
  (void)events;
  jobs_take(&p->jobs);
  if (p->jobs.left == 0) {
    stop(p);
  }
}

static int32_t open_all(struct program *p,
                        const char *conninfo,
                        struct weir_error *err) {
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_FOREIGN_LOOP};
  int32_t rc = weir_engine_open(&opts, &p->engine, err);
  if (rc == WEIR_OK) {
    rc = weir_pool_open(p->engine, conninfo, strlen(conninfo), &p->jobs.pool,
                        err);
  }
  if (rc == WEIR_OK) {
    rc = weir_queue_open(p->engine, JOBS_MAX, &p->jobs.queue, err);
  }
  return rc;
}

static void watch_all(struct program *p) {
  int64_t engine_fd = -1;
  int64_t queue_fd = -1;
  (void)weir_engine_fd(p->engine, &engine_fd, NULL);
  (void)weir_queue_fd(p->jobs.queue, &queue_fd);
  (void)uv_loop_init(&p->loop);
  (void)uv_poll_init(&p->loop, &p->engine_poll, (int)engine_fd);
  (void)uv_poll_init(&p->loop, &p->queue_poll, (int)queue_fd);
  (void)uv_timer_init(&p->loop, &p->due);
  p->engine_poll.data = p;
  p->queue_poll.data = p;
  p->due.data = p;
  (void)uv_poll_start(&p->engine_poll, UV_READABLE, on_engine);
  (void)uv_poll_start(&p->queue_poll, UV_READABLE, on_queue);
}

int main(int argc, char **argv) {
  static struct program p;
  static struct job job[JOBS_MAX];
  struct weir_error err = {.struct_size = sizeof err};
  unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4;
  if (argc < 3 || n > JOBS_MAX) {
    (void)fprintf(stderr, "usage: %s CONNINFO SQL [JOBS]\n", argv[0]);
    return 2;
  }
  p.jobs.sql = argv[2];
  if (open_all(&p, argv[1], &err) == WEIR_OK) {
    watch_all(&p);
    for (unsigned i = 0; i < n; i++) {
      job_start(&job[i], &p.jobs, i + 1);
    }
    if (p.jobs.left == 0) { /* none, or all have failed at once */
      stop(&p);
    }
    (void)uv_run(&p.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&p.loop);
  } else {
    (void)fprintf(stderr, "%s\n", err.message);
    p.jobs.failed++;
  }
  (void)weir_engine_shutdown(p.engine, 1000 * NS_PER_MS, NULL);
  return p.jobs.failed == 0 ? 0 : 1;
}
