/* SPDX-License-Identifier: MIT */
/* demo.h - the measurements of weirctl demo.
 *
 * Each measurement opens an engine and a pool of its own, so that no idle
 * connection, TLS ticket or history of an earlier one helps it.  Each returns
 * EXIT_CODE_OK, or says on standard error what failed and returns the code;
 * after Ctrl-C it returns that code and says nothing. */
#ifndef WEIRCTL_DEMO_H
#define WEIRCTL_DEMO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "text_buf.h"

/* What is measured against. */
struct demo_target {
  const struct text_buf *conninfo; /* Max Pool Size is set in it */
  const char *driver_dirs;
  const char *sql;
  pid_t server; /* 0: not known */
};

/* Processor time used so far by this process and, if it is known, by the
 * server's; ns. */
struct demo_cpu {
  int64_t client;
  int64_t server;
};

/* Connections opened one after another by one thread. */
struct demo_serial {
  uint32_t opened;
  int64_t wall_ns;
  struct demo_cpu cpu;
};

/* Many threads that each take one connection at the same moment. */
struct demo_ramp {
  uint32_t threads;
  uint32_t sessions_max; /* most sessions the pool counted at one time */
  uint64_t connects_ok;  /* physical connects that gave a session */
  uint64_t connects_begun;
  uint32_t sessions_distinct; /* server's session ids; 0: it tells none */
  int64_t wall_ns;            /* from the first start to the last lease */
  struct demo_cpu cpu;        /* of that time */
  uint64_t statements;
  uint64_t rows;
  int64_t query_ns; /* all statements and releases */
  uint64_t soft;    /* acquire and release of an open connection */
  int64_t soft_ns;
};

/* Opens n connections one after another in one pool, holding each. */
int demo_serial_run(const struct demo_target *target,
                    uint32_t n,
                    struct demo_serial *out);

/* Runs the ramp: n threads start behind a barrier, take a connection each and
 * hold it until all have one; then each runs the statement and gives its
 * connection back; then each takes and gives back an open one many times. */
int demo_ramp_run(const struct demo_target *target,
                  uint32_t n,
                  struct demo_ramp *out);

/* Reads the clocks.  Returns 0, or -errno when the server's cannot be read. */
int demo_cpu_read(pid_t server, struct demo_cpu *out);

#endif
