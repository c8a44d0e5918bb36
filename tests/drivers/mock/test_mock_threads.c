/* SPDX-License-Identifier: MIT */
/* Control functions beside driver calls of many threads.  A plain program, so
 * that it runs under ThreadSanitizer. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fake_host.h"

#define THREADS 4u
#define ROUNDS  300u

static struct fake_host *host;
static _Atomic uint32_t done;
static _Atomic uint32_t wrong;

static void note_wrong(const char *what) {
  (void)fprintf(stderr, "%s\n", what);
  (void)atomic_fetch_add(&wrong, 1);
}

/* Steps one operation to its end, with memory of this thread's own. */
static weir_drv_status finish(weir_drv_conn *c,
                              weir_drv_status status,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  while (status == WEIR_DRV_WAIT) {
    struct weir_drv_wake wake = {.struct_size = (uint32_t)sizeof wake,
                                 .why = WEIR_DRV_WHY_IO};
    struct pollfd p = {.fd = (int)wait->want[0].fd, .events = POLLIN};
    if (wait->n_want != 1 || poll(&p, 1, 10000) != 1) {
      note_wrong("an operation waits and nobody wakes it");
      return WEIR_DRV_E_INVALID;
    }
    memset(wait, 0, sizeof *wait);
    wait->timer = WEIR_DRV_NEVER;
    status = host->driver->step(c, &wake, wait, err);
  }
  return status;
}

static void one_session(void) {
  struct weir_drv_connect_args a = {.struct_size = (uint32_t)sizeof a};
  struct weir_drv_exec_args e = {.struct_size = (uint32_t)sizeof e,
                                 .sql = {.p = "hang", .n = 4}};
  struct weir_drv_error err = {.struct_size = (uint32_t)sizeof err};
  struct weir_drv_wait wait;
  weir_drv_conn *c = NULL;
  memset(&wait, 0, sizeof wait);
  if (host->driver->conn_create(host->drv, host->cfg, NULL, &c, &err) !=
          WEIR_DRV_DONE ||
      host->driver->connect(c, &a, &wait, &err) < WEIR_DRV_FAIL) {
    note_wrong("no connection");
    return;
  }
  /* A kill may come at any time, also before the statement: that is a failure
   * of scope CONN or the call's refusal, and nothing else. */
  memset(&wait, 0, sizeof wait);
  weir_drv_status rc = host->driver->exec(c, &e, &wait, &err);
  rc = finish(c, rc, &wait, &err);
  if (rc == WEIR_DRV_FAIL && err.scope < WEIR_DRV_SCOPE_CONN) {
    note_wrong("a failure of the wrong scope");
  }
  host->driver->conn_destroy(c);
}

static void *work(void *arg) {
  (void)arg;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    one_session();
  }
  (void)atomic_fetch_add(&done, 1);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  uint64_t id = 0;
  host = fake_open("");
  for (uint32_t i = 0; i < THREADS; i++) {
    (void)pthread_create(&threads[i], NULL, work, NULL);
  }
  while (atomic_load(&done) < THREADS) {
    id++;
    (void)host->mock->release_hung(host->drv, (uint32_t)(id % 3));
    (void)host->mock->kill_session(host->drv, 3 * id);
    (void)host->mock->kill_idle(host->drv, 1);
    (void)fake_counts(host);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  struct mock_counts n = fake_counts(host);
  bool right = n.calls[MOCK_CONN_CREATE] == THREADS * ROUNDS &&
               n.sessions_live == 0 && n.conns_live == 0 && n.hung == 0 &&
               n.running == 0 && n.overlaps == 0 && atomic_load(&wrong) == 0;
  fake_close(host);
  (void)printf("%d passed, %d failed\n", right ? 1 : 0, right ? 0 : 1);
  return right ? 0 : 1;
}
