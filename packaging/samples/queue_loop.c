/* SPDX-License-Identifier: MIT */
/* queue_loop.c - the usual engine, which has a thread: the program's loop polls
 * the descriptor of a queue, and that is all.
 *
 *   sample_queue_loop CONNINFO SQL [JOBS] */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#define JOBS_MAX 64u

int main(int argc, char **argv) {
  static struct job job[JOBS_MAX];
  struct weir_error err = {.struct_size = sizeof err};
  struct jobs jobs = {.sql = argc > 2 ? argv[2] : ""};
  unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4;
  weir_h engine = 0;
  int64_t fd = -1;
  if (argc < 3 || n > JOBS_MAX) {
    (void)fprintf(stderr, "usage: %s CONNINFO SQL [JOBS]\n", argv[0]);
    return 2;
  }
  int ok = weir_engine_open(NULL, &engine, &err) == WEIR_OK &&
           weir_pool_open(engine, argv[1], strlen(argv[1]), &jobs.pool, &err) ==
               WEIR_OK &&
           weir_queue_open(engine, JOBS_MAX, &jobs.queue, &err) == WEIR_OK &&
           weir_queue_fd(jobs.queue, &fd) == WEIR_OK;
  for (unsigned i = 0; ok && i < n; i++) {
    job_start(&job[i], &jobs, i + 1);
  }
  while (ok && jobs.left != 0) {
    struct pollfd p = {.fd = (int)fd, .events = POLLIN};
    (void)poll(&p, 1, -1);
    jobs_take(&jobs);
  }
  if (!ok) {
    (void)fprintf(stderr, "%s\n", err.message);
  }
  (void)weir_engine_shutdown(engine, 1000000000, NULL);
  return ok && jobs.failed == 0 ? 0 : 1;
}
