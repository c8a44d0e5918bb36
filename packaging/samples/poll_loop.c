/* SPDX-License-Identifier: MIT */
/* poll_loop.c - several statements at once on one thread, with nothing but
 * poll(2): the engine has no thread of its own, its loop is turned from here.
 *
 *   sample_poll_loop CONNINFO SQL [JOBS] */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#define JOBS_MAX  64u
#define NS_PER_MS INT64_C(1000000)

/* What poll() wants: whole milliseconds, never early, -1 for ever. */
static int to_ms(int64_t ns) {
  if (ns == WEIR_TIMEOUT_NEVER) {
    return -1;
  }
  int64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
  return ms > 60000 ? 60000 : (int)ms;
}

/* Until every job is done. */
static int32_t run_loop(weir_h engine,
                        struct jobs *jobs,
                        struct weir_error *err) {
  int64_t loop_fd = -1;
  int64_t queue_fd = -1;
  int64_t due = 0;
  int32_t rc = weir_engine_fd(engine, &loop_fd, err);
  if (rc == WEIR_OK) {
    rc = weir_queue_fd(jobs->queue, &queue_fd);
  }
  while (rc == WEIR_OK && jobs->left != 0) {
    struct pollfd fds[2] = {{.fd = (int)loop_fd, .events = POLLIN},
                            {.fd = (int)queue_fd, .events = POLLIN}};
    (void)poll(fds, 2, to_ms(due)); /* and whatever else the program polls */
    rc = weir_engine_turn(engine, &due, err);
    jobs_take(jobs);
  }
  return rc;
}

int main(int argc, char **argv) {
  static struct job job[JOBS_MAX];
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_FOREIGN_LOOP};
  struct weir_error err = {.struct_size = sizeof err};
  struct jobs jobs = {.sql = argc > 2 ? argv[2] : ""};
  unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4;
  weir_h engine = 0;
  if (argc < 3 || n > JOBS_MAX) {
    (void)fprintf(stderr, "usage: %s CONNINFO SQL [JOBS]\n", argv[0]);
    return 2;
  }
  int ok = weir_engine_open(&opts, &engine, &err) == WEIR_OK &&
           weir_pool_open(engine, argv[1], strlen(argv[1]), &jobs.pool, &err) ==
               WEIR_OK &&
           weir_queue_open(engine, JOBS_MAX, &jobs.queue, &err) == WEIR_OK;
  for (unsigned i = 0; ok && i < n; i++) {
    job_start(&job[i], &jobs, i + 1);
  }
  if (!ok || run_loop(engine, &jobs, &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    jobs.failed++;
  }
  /* It runs the loop to its end. */
  (void)weir_engine_shutdown(engine, 1000 * NS_PER_MS, NULL);
  return jobs.failed == 0 ? 0 : 1;
}
