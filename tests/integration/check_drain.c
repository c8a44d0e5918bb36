/* SPDX-License-Identifier: MIT */
/*
 * check_drain.c - leases that end in the middle of results and transactions,
 * through libweir.so and tds.so against tdsd: the session stays, nothing of it is
 * left to the next user, and a server that sends without end is told to stop.
 *
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir.h"

#include "kit.h"
#include "server.h"

#define S INT64_C(1000000000)

static const char endless[] =
    "WHILE 1 = 1 SELECT 1 AS n, REPLICATE('x', 1000) AS t";

/* Enough that some of it leaves the server before it waits. */
static const char waiting[] =
    "DECLARE @i int; SET @i = 0; WHILE @i < 50 BEGIN SELECT REPLICATE('x', "
    "1000) "
    "AS t; SET @i = @i + 1 END; WAITFOR DELAY '00:00:20'";

static weir_h pool;
static weir_h lease;
static char session[32];

static int64_t now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * S + t.tv_nsec;
}

static bool acquire(void) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = weir_acquire(pool, 10 * S, &lease, &err);
  kit_check(rc == WEIR_OK, "acquire", err.message);
  return rc == WEIR_OK;
}

/* Begins a statement and reads n items of it. */
static void read_some(const char *sql, unsigned n) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  int32_t rc = weir_exec(lease, sql, strlen(sql), NULL, &err);
  for (unsigned i = 0; i < n && rc == WEIR_OK; i++) {
    rc = weir_next(lease, &item, &err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      (void)weir_rows_free(item.rows);
    }
  }
  kit_check(rc == WEIR_OK, "the beginning of a result", err.message);
}

/* The number in the first cell. */
static int64_t number(const char *sql) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  int64_t found = -1;
  int32_t rc = weir_exec(lease, sql, strlen(sql), NULL, &err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, &err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      if (item.cells[0].n == sizeof found) {
        memcpy(&found, item.cells[0].p, sizeof found);
      }
      (void)weir_rows_free(item.rows);
    }
  }
  kit_check(rc == WEIR_OK, sql, err.message);
  return found;
}

/* Lets go, and gets the same session again, soon, with nothing in it. */
static void hand_on(const char *what) {
  char now[32] = "";
  int64_t begun = now_ns();
  kit_check(weir_release(lease) == WEIR_OK, what, "not released");
  kit_check(now_ns() - begun < S / 4, what, "a release that waits");
  if (!acquire()) {
    return;
  }
  kit_check(now_ns() - begun < S, what, "the next user waits for a second");
  (void)weir_lease_info(lease, WEIR_INFO_SESSION_ID, now, sizeof now, NULL);
  kit_check(strcmp(now, session) == 0, what, "another session");
  kit_check(number("SELECT 7") == 7, what, "an answer of the last user's");
  kit_check(number("SELECT @@TRANCOUNT") == 0, what, "a transaction is open");
}

static void run_all(void) {
  struct weir_error err = {.struct_size = sizeof err};
  if (!acquire()) {
    return;
  }
  (void)weir_lease_info(lease, WEIR_INFO_SESSION_ID, session, sizeof session,
                        NULL);
  for (unsigned n = 0; n < 12; n++) {
    read_some(endless, n);
    hand_on("a result without end");
  }
  for (unsigned n = 1; n < 4; n++) {
    read_some("SELECT 1 AS n", n);
    hand_on("a result that has arrived");
  }
  read_some(waiting, 5);
  hand_on("a statement that still runs");
  kit_check(weir_begin(lease, WEIR_ISO_DEFAULT, &err) == WEIR_OK, "begin",
            err.message);
  hand_on("an open transaction");
  kit_check(weir_begin(lease, WEIR_ISO_SERIALIZABLE, &err) == WEIR_OK, "begin",
            err.message);
  read_some(endless, 5);
  hand_on("a result in a transaction");
  kit_check(weir_begin(lease, WEIR_ISO_SNAPSHOT, &err) == WEIR_OK, "begin",
            err.message);
  kit_check(weir_save(lease, "a", 1, &err) == WEIR_OK, "save", err.message);
  kit_check(weir_rollback_to(lease, "a", 1, &err) == WEIR_OK, "roll back to",
            err.message);
  kit_check(weir_commit(lease, &err) == WEIR_OK, "commit", err.message);
  hand_on("a level of isolation");
  (void)weir_release(lease);
}

int main(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF, .log = kit_log};
  struct tdsd *server = NULL;
  struct tdsd_stats stats;
  struct weir_error err = {.struct_size = sizeof err};
  char text[256];
  weir_h engine = 0;
  if (tdsd_open(&options, &server, text, sizeof text) != 0 ||
      tdsd_start(server) != 0 ||
      weir_engine_open(NULL, &engine, &err) != WEIR_OK) {
    printf("no server or no engine\n0 passed, 1 failed\n");
    return 1;
  }
  (void)snprintf(text, sizeof text,
                 "Driver=tds;Server=127.0.0.1,%u;User ID=sa;Password=x;"
                 "Encrypt=optional;Max Pool Size=1",
                 tdsd_port(server));
  kit_check(weir_pool_open(engine, text, strlen(text), &pool, &err) == WEIR_OK,
            "pool", err.message);
  run_all();
  (void)weir_engine_shutdown(engine, 5 * S, NULL);
  tdsd_stats(server, &stats);
  (void)snprintf(text, sizeof text, "%" PRIu64, stats.violations);
  kit_check(stats.violations == 0, "violations", text);
  (void)snprintf(text, sizeof text, "%" PRIu64, stats.connections_total);
  kit_check(stats.connections_total == 1, "connections", text);
  tdsd_close(server);
  return kit_end();
}
