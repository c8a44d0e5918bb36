/* SPDX-License-Identifier: MIT */
/* kit.h - what checks need that have tdsd in their own process and go through
 * libweir.so and tds.so: a server, pools, statements, and the counting of what was
 * checked. */
#ifndef WEIR_TEST_KIT_H
#define WEIR_TEST_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#include "server.h"

#define KIT_MS INT64_C(1000000)
#define KIT_S  INT64_C(1000000000)

/* What everything may take on top of its limit: two cores serve many, and
 * sanitizers are slow. */
#define KIT_SLACK_MS 1500

struct kit {
  struct tdsd *server;
  weir_h engine;
  weir_h pool;         /* the one opened last */
  uint64_t violations; /* that the server shall have seen at the end */
};

/* The first cell of an answer. */
struct kit_cell {
  char text[80];  /* of a text, its beginning */
  int64_t number; /* of an integer */
  uint64_t n;     /* bytes */
  uint64_t hash;  /* of all of them */
};

/* Counts one check; a failure is told with what was seen instead.
 * Threads: any. */
void kit_check(bool good, const char *what, const char *seen);
void kit_check_number(bool good, const char *what, int64_t seen);

/* Prints a line of the server's log. */
void kit_log(void *user, const char *line);

/* Prints "N passed, N failed"; the status to exit with. */
int kit_end(void);

int64_t kit_now_ms(void);

/* Sleeps so long: where time itself is what is tested. */
void kit_pause_ms(int64_t ms);

/* FNV-1a, 64 bits. */
uint64_t kit_hash(const void *p, uint64_t n);

/* A server and an engine; ends the program if there are none. */
void kit_open(struct kit *k, const struct tdsd_options *options);

/* Opens a pool: where the server is, who we are, and what fmt says; *out_err, if
 * not NULL, has the reason of a failure.  Returns the result. */
int32_t kit_pool(struct kit *k,
                 struct weir_error *out_err,
                 const char *fmt,
                 ...) __attribute__((format(printf, 3, 4)));

/* The server's counters. */
struct tdsd_stats kit_stats(const struct kit *k);

/* A command of the control socket's language. */
void kit_order(const struct kit *k, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* An acquire that must succeed; 0 if it did not. */
weir_h kit_acquire(const struct kit *k);

/* The session's number, as text. */
void kit_session(weir_h lease, char *out, size_t cap);

/* Runs a statement to its end; opts and err may be NULL.  Returns the first
 * failure. */
int32_t kit_run(weir_h lease,
                const char *sql,
                const struct weir_exec_opts *opts,
                struct kit_cell *out,
                struct weir_error *err);

/* Sockets of this process whose other end is the server. */
unsigned kit_sockets(const struct kit *k);

/* Waits until the peer takes no more of what is being sent (5 s at most). */
void kit_wait_stuck(const struct kit *k);

/* Shuts the engine down and ends the server, which must have nothing else to
 * complain about. */
void kit_close(struct kit *k, const char *what);

#endif
