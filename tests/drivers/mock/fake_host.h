/* SPDX-License-Identifier: MIT */
/* fake_host.h - a host for one driver under test: clock, memory, rows and
 * notices in plain sight, requests answered as the test says.
 *
 * The fields are for one thread; many may call the host's memory and clock
 * functions while no test changes what those do. */
#ifndef FAKE_HOST_H
#define FAKE_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir_driver.h"

#include "drivers/mock/mock_control.h"

#define FAKE_TEXT_MAX 8192u

struct fake_host {
  struct weir_drv_host table;
  const struct weir_driver *driver;
  weir_drv_drv *drv;
  const struct mock_control *mock;
  weir_drv_cfg *cfg;

  uint64_t now;
  _Atomic int64_t blocks;     /* allocations not yet released */
  uint64_t fail_alloc;        /* the nth from now fails; 0: none */
  int32_t locks;              /* what locks_held() says */
  _Atomic uint32_t forgotten; /* calls of fd_forget */

  /* The answers to requests. */
  const char *password; /* NULL: refused */
  bool resolves;

  struct weir_drv_error err;
  char message[512];
  struct weir_drv_wait wait;
};

/* What an operation gave, from start to end. */
struct fake_run {
  weir_drv_status status; /* the last one; WEIR_DRV_WAIT: it hangs */
  char
      text[FAKE_TEXT_MAX]; /* "c1,c2|1,a|2,null|#2|" and notices as "!n:s:t|" */
  uint32_t steps;
  uint32_t batches;
  uint64_t waited_ns;
};

/* Loads the driver, opens it, and makes a configuration of "Name=value;..."
 * options, in which values hold no ';' ('~' stands for it).  A host whose
 * configuration is refused has cfg NULL and the reason in err. */
struct fake_host *fake_open(const char *options);

/* Destroys the configuration, closes the driver; the memory it used must be
 * back.  Frees host. */
void fake_close(struct fake_host *host);

/* A connection, connected or not. */
weir_drv_conn *fake_conn(struct fake_host *host);
weir_drv_conn *fake_connected(struct fake_host *host);

/* Fresh wait and error, as the engine gives them. */
void fake_fresh(struct fake_host *host);

/* Starts an operation and steps it to its end, or until only a descriptor could
 * wake it.  fake_go_on continues such a one, the descriptor being ready. */
struct fake_run fake_connect(struct fake_host *host, weir_drv_conn *c);
struct fake_run fake_exec(struct fake_host *host,
                          weir_drv_conn *c,
                          const char *sql);
struct fake_run fake_exec_args(struct fake_host *host,
                               weir_drv_conn *c,
                               const struct weir_drv_exec_args *args);
struct fake_run fake_ping(struct fake_host *host, weir_drv_conn *c);
struct fake_run fake_reset(struct fake_host *host,
                           weir_drv_conn *c,
                           int32_t mode);
struct fake_run fake_txn(struct fake_host *host,
                         weir_drv_conn *c,
                         int32_t verb);
struct fake_run fake_logout(struct fake_host *host, weir_drv_conn *c);
struct fake_run fake_cancel(struct fake_host *host, weir_drv_conn *c);
struct fake_run fake_go_on(struct fake_host *host, weir_drv_conn *c);

struct mock_counts fake_counts(struct fake_host *host);

#endif
