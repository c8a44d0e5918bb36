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

/* In the order in which they are shown; what they are compared with is last. */
enum demo_strategy {
  DEMO_LEGACY,
  DEMO_CHANNEL,
  DEMO_DIRECT,
  DEMO_STRATEGIES
};

/* The value of Pool Strategy. */
const char *demo_strategy_name(enum demo_strategy strategy);

/* One sentence that says why it is as fast as it is. */
const char *demo_strategy_why(enum demo_strategy strategy);

/* What is measured against. */
struct demo_target {
  /* As the user gave it, with room for DEMO_TAIL_MAX bytes behind it; strategy
   * and pool sizes are set there for each measurement. */
  struct text_buf *conninfo;
  size_t given_len;
  const char *driver_dirs;
  const char *sql;
  pid_t server; /* 0: not known */
};

#define DEMO_TAIL_MAX 160u

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

/* Threads that open and close, with nothing in between, on a warm pool. */
struct demo_shape {
  uint32_t threads;
  uint32_t connections; /* Max Pool Size; all are open */
};

struct demo_rapid {
  uint64_t ops; /* acquire and release, of all threads */
  int64_t wall_ns;
  int64_t cpu_ns; /* of these threads */
  /* All who waited in line waited for less, to a power of two, as the pool counts
   * it from enqueue to grant; 0: nobody waited. */
  int64_t wait_below_ns;
};

/* Opens n connections one after another in one pool, holding each. */
int demo_serial_run(const struct demo_target *target,
                    uint32_t n,
                    struct demo_serial *out);

/* Runs the ramp: n threads start behind a barrier, take a connection each and
 * hold it until all have one; then each runs the statement and gives its
 * connection back; then each takes and gives back an open one many times. */
int demo_ramp_run(const struct demo_target *target,
                  enum demo_strategy strategy,
                  uint32_t n,
                  struct demo_ramp *out);

/* Opens the pool to its maximum, then has the threads take connections and give
 * them back at once for a tenth of a second. */
int demo_rapid_run(const struct demo_target *target,
                   enum demo_strategy strategy,
                   const struct demo_shape *shape,
                   struct demo_rapid *out);

/* Reads the clocks.  Returns 0, or -errno when the server's cannot be read. */
int demo_cpu_read(pid_t server, struct demo_cpu *out);

#endif
