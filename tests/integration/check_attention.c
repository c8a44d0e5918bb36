/* SPDX-License-Identifier: MIT */
/*
 * check_attention.c - statements that are cancelled, dropped or out of time, and
 * what their connections are afterwards: scenarios 170, 172, 174, 177 and 187, in
 * real time, through libweir.so and tds.so against tdsd.
 *
 * WEIR_SCENARIO_SECONDS (2) is how long each part of scenario 170 takes.
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kit.h"

#define PLAIN "Encrypt=optional;"
#define TLS   "Encrypt=mandatory;TrustServerCertificate=true;"

#define CANCEL_MS 2000 /* weir.h: weir_cancel() */

static struct kit k;

/* The session serves its next user, with that one's own answer. */
static void check_serves(const char *what) {
  struct kit_cell cell = {.n = 0};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h lease = kit_acquire(&k);
  int32_t rc = kit_run(lease, "SELECT 6 * 7", NULL, &cell, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  kit_check_number(cell.number == 42, what, cell.number);
  (void)weir_release(lease);
}

/* -------------------------------------------------------------- scenario 170 */

#define USERS 100

static int64_t until_ms;

/* What came of requests. */
struct tally {
  unsigned answers;
  unsigned timeouts;
  unsigned others;
  unsigned mismatches;
};

struct user {
  pthread_t thread;
  unsigned number;
  uint32_t random;
  struct tally seen;
};

static uint32_t draw(struct user *u, uint32_t below) {
  u->random ^= u->random << 13;
  u->random ^= u->random >> 17;
  u->random ^= u->random << 5;
  return u->random % below;
}

/* One in eight at once, the others 30 to 70 ms: about the limit. */
static unsigned draw_delay(struct user *u) {
  return draw(u, 8) == 0 ? 0 : 30 + draw(u, 41);
}

static void judge(struct user *u,
                  int32_t rc,
                  bool own,
                  const struct weir_error *err) {
  if (rc == WEIR_OK) {
    u->seen.answers++;
    u->seen.mismatches += !own;
  } else if (rc == WEIR_E_TIMEOUT) {
    u->seen.timeouts++;
  } else {
    u->seen.others++;
    printf("neither answer nor time-out: %s\n", err->message);
  }
}

/* A text of its own, as a row. */
static void ask_row(struct user *u, weir_h lease) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell;
  char id[64];
  char sql[160];
  (void)snprintf(id, sizeof id, "%08x-%04x-4%03x-8%03x-%04x%08x", u->number,
                 draw(u, 65536), draw(u, 4096), draw(u, 4096), draw(u, 65536),
                 draw(u, UINT32_MAX));
  (void)snprintf(sql, sizeof sql, "WAITFOR DELAY '00:00:00.%03u'; SELECT '%s'",
                 draw_delay(u), id);
  int32_t rc = kit_run(lease, sql, NULL, &cell, &err);
  judge(u, rc, strcmp(cell.text, id) == 0, &err);
}

/* A number of its own, as an output value. */
static void ask_output(struct user *u, weir_h lease) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell;
  char sql[160];
  struct weir_param p = {.struct_size = sizeof p,
                         .flags = WEIR_PARAM_OUT,
                         .type = WEIR_T_INT,
                         .name = "@a",
                         .name_len = 2};
  struct weir_exec_opts opts = {
      .struct_size = sizeof opts, .params = &p, .n_params = 1};
  int64_t own = (int64_t)u->number << 32 | draw(u, UINT32_MAX);
  (void)snprintf(sql, sizeof sql,
                 "WAITFOR DELAY '00:00:00.%03u'; SET @a = %" PRId64,
                 draw_delay(u), own);
  int32_t rc = kit_run(lease, sql, &opts, &cell, &err);
  judge(u, rc, cell.number == own, &err);
}

static void *use(void *arg) {
  struct user *u = arg;
  while (kit_now_ms() < until_ms) {
    weir_h lease = 0;
    if (weir_acquire(k.pool, 30 * KIT_S, &lease, NULL) != WEIR_OK) {
      u->seen.others++;
      continue;
    }
    if (draw(u, 2) == 0) {
      ask_row(u, lease);
    } else {
      ask_output(u, lease);
    }
    (void)weir_release(lease);
  }
  return NULL;
}

static void crowd(const char *what) {
  static struct user users[USERS];
  /* No other thread yet.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *text = getenv("WEIR_SCENARIO_SECONDS");
  int64_t seconds = text == NULL ? 2 : strtol(text, NULL, 10);
  struct tally all = {.answers = 0};
  until_ms = kit_now_ms() + seconds * 1000;
  for (unsigned i = 0; i < USERS; i++) {
    users[i] = (struct user){.number = i + 1, .random = 2463534242u + i * 7919};
    if (pthread_create(&users[i].thread, NULL, use, &users[i]) != 0) {
      abort();
    }
  }
  for (unsigned i = 0; i < USERS; i++) {
    (void)pthread_join(users[i].thread, NULL);
    all.answers += users[i].seen.answers;
    all.timeouts += users[i].seen.timeouts;
    all.others += users[i].seen.others;
    all.mismatches += users[i].seen.mismatches;
  }
  printf("%s: %u answers, %u time-outs\n", what, all.answers, all.timeouts);
  kit_check_number(all.mismatches == 0, what, all.mismatches);
  kit_check_number(all.others == 0, what, all.others);
  kit_check(all.answers > 0 && all.timeouts > 0, what, "one-sided");
}

static void scenario_170_late_answers_reach_nobody_else(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL,
                 PLAIN "Max Pool Size=10;Command Timeout=50ms;"
                       "Connect Timeout=30");
  crowd("echoes about the limit");
  kit_order(&k, "fault conn=1/3 ack late ms=30");
  kit_order(&k, "fault conn=2/3 ack same");
  crowd("echoes with late acknowledgements");
  kit_close(&k, "scenario 170");
}

/* -------------------------------------------------------------- scenario 172 */

struct canceller {
  pthread_t thread;
  weir_h lease;
  int64_t after_ms;
  bool stuck; /* waits until nothing more is taken */
  bool thaws; /* has the server go on, 50 ms later */
};

static void *cancel(void *arg) {
  struct canceller *c = arg;
  if (c->stuck) {
    kit_wait_stuck(&k);
  }
  kit_pause_ms(c->after_ms);
  (void)weir_cancel(c->lease);
  if (c->thaws) {
    kit_pause_ms(50);
    kit_order(&k, "thaw all");
  }
  return NULL;
}

static void cancel_later(struct canceller *c) {
  if (pthread_create(&c->thread, NULL, cancel, c) != 0) {
    abort();
  }
}

/* The first may take 1 s and is cancelled after half of it; the next begins soon
 * after and takes twice as long as what the first had left. */
static void scenario_172_a_timer_ends_only_its_own_request(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct weir_exec_opts brief = {.struct_size = sizeof brief,
                                 .timeout_ns = KIT_S};
  struct weir_exec_opts ample = {.struct_size = sizeof ample,
                                 .timeout_ns = 10 * KIT_S};
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, PLAIN "Max Pool Size=1");
  weir_h lease = kit_acquire(&k);
  struct canceller c = {.lease = lease, .after_ms = 500};
  cancel_later(&c);
  int32_t rc = kit_run(lease, "WAITFOR DELAY '00:00:10'", &brief, NULL, NULL);
  (void)pthread_join(c.thread, NULL);
  kit_check(rc == WEIR_E_CANCELLED, "172: the first", weir_status_name(rc));
  kit_check_number(kit_stats(&k).attentions == 1, "172: one attention",
                   (int64_t)kit_stats(&k).attentions);
  rc = kit_run(lease, "WAITFOR DELAY '00:00:01'; SELECT 1", &ample, NULL, NULL);
  kit_check(rc == WEIR_OK, "172: the next", weir_status_name(rc));
  kit_check_number(kit_stats(&k).attentions == 1, "172: no other",
                   (int64_t)kit_stats(&k).attentions);
  (void)weir_release(lease);
  kit_close(&k, "scenario 172");
}

/* ------------------------------------------------------- scenarios 174, 177 */

#define HUGE_BYTES (10u * 1024 * 1024)

/* "SELECT LEN('xxx...')", 10 MiB on the wire. */
static const char *huge(void) {
  static char sql[HUGE_BYTES / 2 + 1];
  static const char head[] = "SELECT LEN('";
  if (sql[0] == '\0') {
    memset(sql, 'x', sizeof sql - 1);
    memcpy(sql, head, sizeof head - 1);
    memcpy(sql + sizeof sql - 3, "')", 3);
  }
  return sql;
}

static void wait_for_no_socket(const char *what) {
  int64_t begun = kit_now_ms();
  while (kit_sockets(&k) != 0 && kit_now_ms() - begun < KIT_SLACK_MS) {
    kit_pause_ms(5);
  }
  kit_check_number(kit_sockets(&k) == 0, what, kit_sockets(&k));
}

/* The server stops reading in the middle of a request or behind it; the caller's
 * time runs out, or somebody cancels. */
static const struct {
  const char *what;
  const char *order; /* to the server, NULL: stop reading at once */
  bool behind;       /* a short request, which leaves as a whole */
  int64_t cancel_ms; /* 0: the time-out does it */
  int32_t rc;
} stuck[] = {
    {"174: stuck in the middle", NULL, false, 0, WEIR_E_TIMEOUT},
    {"174: stuck behind the request", "freeze all", true, 0, WEIR_E_TIMEOUT},
    {"174: cancelled in the middle", NULL, false, 200, WEIR_E_CANCELLED},
    {"174: deaf after some megabytes", "fault msg=batch byte=5000000 deaf",
     false, 0, WEIR_E_TIMEOUT},
};

static void be_stuck(size_t i) {
  const char *what = stuck[i].what;
  bool by_hand = stuck[i].cancel_ms != 0;
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = by_hand ? 20 * KIT_S : KIT_S};
  int64_t limit_ms = by_hand ? stuck[i].cancel_ms : 1000;
  struct weir_error err = {.struct_size = sizeof err};
  struct canceller c = {.after_ms = stuck[i].cancel_ms, .stuck = true};
  weir_h lease = kit_acquire(&k);
  kit_order(&k, "%s", stuck[i].order == NULL ? "freeze all" : stuck[i].order);
  if (by_hand) {
    c.lease = lease;
    cancel_later(&c);
  }
  int64_t begun = kit_now_ms();
  int32_t rc =
      kit_run(lease, stuck[i].behind ? "SELECT 1" : huge(), &opts, NULL, &err);
  int64_t took = kit_now_ms() - begun;
  if (by_hand) {
    (void)pthread_join(c.thread, NULL);
  }
  kit_check(rc == stuck[i].rc, what, weir_status_name(rc));
  kit_check(err.scope >= WEIR_SCOPE_CONN, what, err.message);
  kit_check_number(took >= limit_ms, what, took);
  kit_check_number(took < limit_ms + CANCEL_MS +
                              (by_hand ? 2 : 1) * (int64_t)KIT_SLACK_MS,
                   what, took);
  (void)weir_release(lease);
  wait_for_no_socket(what);
  kit_order(&k, "fault clear");
  kit_order(&k, "drop all"); /* it has not noticed its client's end */
  check_serves(what);
}

/* Dropped while the request is being sent; the server goes on reading soon after
 * and finds it taken back.  If the request was to reset the session, nobody knows
 * whether it did, and the session is not used again. */
static void drop_while_sending(unsigned round, bool with_reset) {
  const char *what = with_reset ? "177: dropped while a reset was sent"
                                : "177: dropped while it was sent";
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = 20 * KIT_S};
  struct weir_error err = {.struct_size = sizeof err};
  struct canceller c = {
      .after_ms = 7 * (int64_t)round, .stuck = true, .thaws = true};
  char before[32];
  char now[32];
  uint64_t ignored = kit_stats(&k).ignored;
  weir_h lease = kit_acquire(&k);
  kit_session(lease, before, sizeof before);
  if (!with_reset) { /* the first statement carries it */
    (void)kit_run(lease, "SELECT 1", NULL, NULL, NULL);
  }
  kit_order(&k, "freeze all");
  c.lease = lease;
  cancel_later(&c);
  int32_t rc = kit_run(lease, huge(), &opts, NULL, &err);
  (void)pthread_join(c.thread, NULL);
  kit_check(rc == WEIR_E_CANCELLED, what, err.message);
  kit_check((err.scope >= WEIR_SCOPE_CONN) == with_reset, what, err.message);
  kit_check_number(kit_stats(&k).ignored == ignored + 1, what,
                   (int64_t)kit_stats(&k).ignored);
  (void)weir_release(lease);
  check_serves(what);
  lease = kit_acquire(&k);
  kit_session(lease, now, sizeof now);
  kit_check((strcmp(now, before) != 0) == with_reset, what, now);
  (void)weir_release(lease);
}

/* Given back when so many packets of 512 bytes of the answer have come and the
 * rest has not. */
static void drop_while_reading(unsigned packets) {
  const char *what = "177: given back between packets";
  static const char sql[] = "SELECT n, REPLICATE('x', 90) FROM dbo.rows(40)";
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  weir_h lease = kit_acquire(&k);
  kit_order(&k, "fault times=1 msg=batch byte=%u pause 200", packets * 512u);
  int32_t rc = weir_exec(lease, sql, sizeof sql - 1, NULL, &err);
  for (unsigned i = 1; i < packets && rc == WEIR_OK; i++) {
    rc = weir_next(lease, &item, &err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      (void)weir_rows_free(item.rows);
    }
    if (item.type == WEIR_ITEM_ROWS) {
      break; /* what has come is read; the next call would wait */
    }
  }
  kit_check(rc == WEIR_OK, what, err.message);
  int64_t begun = kit_now_ms();
  (void)weir_release(lease);
  check_serves(what);
  kit_check_number(kit_now_ms() - begun < 1000 + KIT_SLACK_MS, what,
                   kit_now_ms() - begun);
}

static void with_stuck_servers(enum tdsd_tls_mode tls,
                               const char *settings,
                               size_t cases) {
  struct tdsd_options options = {.tls = tls};
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, "%sMax Pool Size=1;Packet Size=4096", settings);
  for (size_t i = 0; i < cases; i++) {
    be_stuck(i);
  }
  for (unsigned round = 0; round <= 5; round++) {
    drop_while_sending(round, false);
  }
  drop_while_sending(0, true);
  kit_close(&k, "scenarios 174 and 177");
}

static void scenario_174_177_a_stuck_server_frees_its_caller(void) {
  with_stuck_servers(TDSD_TLS_OFF, PLAIN, sizeof stuck / sizeof stuck[0]);
  with_stuck_servers(TDSD_TLS_FULL, TLS, 2);
}

static void scenario_177_the_next_user_reads_no_rest(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, PLAIN "Max Pool Size=1;Packet Size=512");
  for (unsigned packets = 1; packets <= 5; packets++) {
    drop_while_reading(packets);
  }
  kit_close(&k, "scenario 177");
}

/* -------------------------------------------------------------- scenario 187 */

static const char endless[] =
    "WHILE 1 = 1 SELECT 1 AS n, REPLICATE('x', 1000) AS t";

/* AddressSanitizer keeps what was freed for a while: 256 MiB of it. */
#if defined(__SANITIZE_ADDRESS__)
#  define FLAT_KIB 409600
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define FLAT_KIB 409600
#  endif
#endif
#ifndef FLAT_KIB
#  define FLAT_KIB 32768
#endif

static int64_t memory_kib(void) {
  struct rusage use_now;
  (void)getrusage(RUSAGE_SELF, &use_now);
  return use_now.ru_maxrss;
}

static void fetch_five(weir_h lease) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_item item = {.struct_size = sizeof item};
  unsigned rows = 0;
  int32_t rc = weir_exec(lease, endless, sizeof endless - 1, NULL, &err);
  while (rc == WEIR_OK && rows < 5) {
    rc = weir_next(lease, &item, &err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      rows += (unsigned)item.n_rows;
      (void)weir_rows_free(item.rows);
    }
  }
  kit_check(rc == WEIR_OK, "187: five rows", err.message);
}

/* What is not fetched stays at the server. */
static void check_backs_up(void) {
  uint64_t sent = kit_stats(&k).bytes_out;
  kit_pause_ms(300);
  sent = kit_stats(&k).bytes_out - sent;
  kit_check_number(sent < UINT64_C(16777216), "187: nobody reads on",
                   (int64_t)sent);
}

/* acked: the server confirms the cancellation. */
static void leave_endless(bool acked) {
  const char *what = acked ? "187: left" : "187: left unconfirmed";
  char before[32];
  char now[32];
  weir_h lease = kit_acquire(&k);
  kit_session(lease, before, sizeof before);
  if (!acked) {
    kit_order(&k, "fault times=1 ack none");
  }
  fetch_five(lease);
  check_backs_up();
  int64_t begun = kit_now_ms();
  (void)weir_release(lease);
  kit_check_number(kit_now_ms() - begun < 250, what, kit_now_ms() - begun);
  lease = kit_acquire(&k);
  int64_t took = kit_now_ms() - begun;
  kit_check_number(took < (acked ? 1000 : 1000 + KIT_SLACK_MS), what, took);
  kit_session(lease, now, sizeof now);
  kit_check((strcmp(now, before) == 0) == acked, what, now);
  (void)weir_release(lease);
  check_serves(what);
}

static void scenario_187_a_result_without_end_is_left(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, PLAIN "Max Pool Size=1");
  leave_endless(true);
  int64_t before = memory_kib();
  for (unsigned i = 0; i < 4; i++) {
    leave_endless(true);
  }
  leave_endless(false);
  int64_t grown = memory_kib() - before;
  kit_check_number(grown < FLAT_KIB, "187: memory", grown);
  kit_close(&k, "scenario 187");
}

int main(void) {
  scenario_187_a_result_without_end_is_left();
  scenario_170_late_answers_reach_nobody_else();
  scenario_172_a_timer_ends_only_its_own_request();
  scenario_177_the_next_user_reads_no_rest();
  scenario_174_177_a_stuck_server_frees_its_caller();
  return kit_end();
}
