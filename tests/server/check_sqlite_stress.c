/* SPDX-License-Identifier: MIT */
/* The hand-over between the serving thread and the workers, at random: sessions
 * ask, are cancelled, are reset and go away while workers are at work.  For
 * ThreadSanitizer; it prints "N passed, N failed" last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "test_sqlite_support.h"

#define CLIENTS 12u
#define ROUNDS  1500u

static unsigned passed;
static unsigned failed;

static void check(bool holds, const char *what) {
  passed += holds ? 1 : 0;
  failed += holds ? 0 : 1;
  if (!holds) {
    (void)printf("FAILED: %s\n", what);
  }
}

/* xorshift: the same sequence every time. */
static uint32_t random_state = 2463534242u;

static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state % n;
}

static const char *const statements[] = {
    "INSERT s (v) VALUES (1)",
    "SELECT COUNT(*) FROM s",
    "SELECT a.id FROM s AS a JOIN s AS b ON a.id <= b.id",
    "UPDATE s SET v = v + 1 WHERE id % 3 = 0",
    "BEGIN TRAN; INSERT s (v) VALUES (2); COMMIT",
    "BEGIN TRAN; INSERT s (v) VALUES (3); ROLLBACK",
    "BEGIN TRAN; SELECT id FROM s; UPDATE s SET v = 0 WHERE id = 1; COMMIT",
    "CREATE TABLE #x (a int); INSERT #x VALUES (1); DROP TABLE #x",
    "WITH c (n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT MAX(n) FROM c",
    "SELECT nosuch FROM s",
    "IF @@TRANCOUNT > 0 ROLLBACK",
    "SELECT n, N'some text' AS t FROM dbo.rows(5000) AS r JOIN s ON s.id = 1",
};

#define STATEMENTS (sizeof statements / sizeof statements[0])

static bool busy(const struct lite_client *client) {
  return client->fixture.session.phase == TDSD_PHASE_RUNNING;
}

static void act(struct lite_client *client, struct tdsd_lite *lite) {
  uint32_t dice = random_below(100);
  if (busy(client)) {
    if (dice < 30) {
      lite_attention(client);
    } else if (dice < 35) {
      lite_logout(client);
      lite_login(client, lite);
    }
    return;
  }
  const char *sql = statements[random_below(STATEMENTS)];
  lite_send_reset(client, dice < 10 ? TDSD_ST_RESET : 0, sql);
}

static void settle(struct lite_client *const *clients) {
  for (unsigned n = 0; n < 3000; n++) {
    bool any = false;
    for (unsigned i = 0; i < CLIENTS; i++) {
      any = any || busy(clients[i]);
    }
    if (!any) {
      return;
    }
    if (n % 50 == 49) {
      for (unsigned i = 0; i < CLIENTS; i++) {
        if (busy(clients[i])) {
          lite_attention(clients[i]);
        }
      }
    }
    lite_turn(clients, CLIENTS);
  }
  check(false, "all sessions come to rest");
}

int main(void) {
  static struct lite_client store[CLIENTS];
  struct lite_client *clients[CLIENTS];
  char why[256] = "";
  struct tdsd_lite *lite = tdsd_lite_open(":memory:", why, sizeof why);
  check(lite != NULL, why);
  if (lite == NULL) {
    return EXIT_FAILURE;
  }
  for (unsigned i = 0; i < CLIENTS; i++) {
    clients[i] = &store[i];
    lite_login(clients[i], lite);
  }
  check(lite_batch(clients[0], "CREATE TABLE s (id int IDENTITY PRIMARY KEY, v "
                               "int); INSERT s (v) VALUES (1), (2), (3)"),
        "the table is made");
  for (unsigned round = 0; round < ROUNDS; round++) {
    act(clients[random_below(CLIENTS)], lite);
    if (random_below(3) == 0) {
      lite_turn(clients, CLIENTS);
    }
  }
  settle(clients);
  for (unsigned i = 0; i < CLIENTS; i++) {
    (void)lite_batch(clients[i], "IF @@TRANCOUNT > 0 ROLLBACK");
    check(lite_batch(clients[i], "SELECT id FROM s WHERE id = 2"),
          "a session answers");
    check(lite_has_rows(clients[i], 1), "a session answers right");
  }
  check(lite_batch(clients[0], "INSERT s (v) VALUES (9)"), "nothing is locked");
  check(lite_has_rows(clients[0], 1), "a row can be added");
  for (unsigned i = 0; i < CLIENTS; i++) {
    lite_logout(clients[i]);
  }
  tdsd_lite_close(lite);
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
