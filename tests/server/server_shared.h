/* SPDX-License-Identifier: MIT */
/* What all connections of one server share.  Only the serving thread writes it;
 * counters may be read from any thread. */
#ifndef TDSD_SERVER_SHARED_H
#define TDSD_SERVER_SHARED_H

#include <stdatomic.h>

#include "server.h"
#include "server_answer.h"
#include "server_fault.h"

/* The formatter never settles on where these backslashes go. */
/* clang-format off */
#define TDSD_COUNTERS(X) \
  X(connections_open) \
  X(connections_total) \
  X(connections_max) \
  X(sessions_open) \
  X(sessions_max) \
  X(logins_ok) \
  X(logins_failed) \
  X(batches) \
  X(rpcs) \
  X(transactions) \
  X(resets) \
  X(resets_08) \
  X(resets_10) \
  X(attentions) \
  X(ignored) \
  X(violations) \
  X(tls_handshakes) \
  X(tls_resumed) \
  X(packets_in) \
  X(packets_out) \
  X(browser_asked) \
  X(bytes_in) \
  X(bytes_out)
/* clang-format on */

struct tdsd_counters {
#define TDSD_COUNTER(name) _Atomic uint64_t name;
  TDSD_COUNTERS(TDSD_COUNTER)
#undef TDSD_COUNTER
};

struct tdsd_tap;
struct tdsd_tls_context;
struct tdsd_script;

struct tdsd_shared {
  struct tdsd_options options;
  struct tdsd_account *accounts; /* owned copies of options.accounts */
  char **tokens;                 /* and of options.tokens */
  struct tdsd_counters counters;
  struct tdsd_fault_list faults;
  struct tdsd_role roles[TDSD_LISTENERS_MAX]; /* of the listeners */
  struct tdsd_answerers answerers; /* scripts, SQLite; set up before serving */
  struct tdsd_manners manners;
  struct tdsd_world world;      /* the sessions that are logged in */
  struct tdsd_script *script;   /* NULL = none */
  struct tdsd_tap *tap;         /* NULL = no tap */
  struct tdsd_tls_context *tls; /* NULL = no TLS */
};

/* Counting.  Relaxed: counters order nothing. */
static inline void tdsd_count(_Atomic uint64_t *counter, uint64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* Counts one that is open now, and the most that ever were. */
static inline void tdsd_count_up(_Atomic uint64_t *open,
                                 _Atomic uint64_t *most) {
  uint64_t now = atomic_fetch_add_explicit(open, 1, memory_order_relaxed) + 1;
  if (now > atomic_load_explicit(most, memory_order_relaxed)) {
    atomic_store_explicit(most, now, memory_order_relaxed);
  }
}

static inline void tdsd_uncount(_Atomic uint64_t *counter) {
  atomic_fetch_sub_explicit(counter, 1, memory_order_relaxed);
}

/* Logs a line "tdsd: spid N: text" through the options' function. */
void tdsd_log(const struct tdsd_shared *shared,
              uint16_t spid,
              const char *format,
              ...) __attribute__((format(printf, 3, 4)));

/* Copies the counters. */
void tdsd_counters_read(const struct tdsd_counters *counters,
                        struct tdsd_stats *out_stats);

/* Writes the counters as one line of JSON.  Returns its length. */
size_t tdsd_counters_json(const struct tdsd_counters *counters,
                          char *out,
                          size_t cap);

#endif
