/* SPDX-License-Identifier: MIT */
/* What all connections of one server share.  Only the serving thread writes it;
 * counters may be read from any thread. */
#ifndef TDSD_SERVER_SHARED_H
#define TDSD_SERVER_SHARED_H

#include <stdatomic.h>

#include "server.h"
#include "server_answer.h"

/* The formatter never settles on where these backslashes go. */
/* clang-format off */
#define TDSD_COUNTERS(X) \
  X(connections_open) \
  X(connections_total) \
  X(sessions_open) \
  X(sessions_max) \
  X(logins_ok) \
  X(logins_failed) \
  X(batches) \
  X(rpcs) \
  X(transactions) \
  X(resets) \
  X(attentions) \
  X(ignored) \
  X(violations) \
  X(tls_handshakes) \
  X(tls_resumed) \
  X(bytes_in) \
  X(bytes_out)
/* clang-format on */

struct tdsd_counters {
#define TDSD_COUNTER(name) _Atomic uint64_t name;
  TDSD_COUNTERS(TDSD_COUNTER)
#undef TDSD_COUNTER
};

/* Faults that the control socket switches on, for all connections. */
struct tdsd_faults {
  bool hang_prelogin;        /* PRELOGIN is read and never answered */
  bool hang_login;           /* LOGIN7 is read and never answered */
  bool hang_batch;           /* requests are read and never answered */
  bool ignore_attention;     /* attentions are read and never answered */
  bool omit_reset_ack;       /* resets happen, ENVCHANGE 18 is not sent */
  int32_t login_error;       /* every login fails with this number; 0 = off */
  uint32_t fragment;         /* bytes a write may have; 0 = as many as fit */
  uint64_t drop_after_bytes; /* each connection dies after so many; 0 = off */
};

struct tdsd_tap;
struct tdsd_tls_context;
struct tdsd_script;

struct tdsd_shared {
  struct tdsd_options options;
  struct tdsd_account *accounts; /* owned copies of options.accounts */
  char **tokens;                 /* and of options.tokens */
  struct tdsd_counters counters;
  struct tdsd_faults faults;
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
