/* SPDX-License-Identifier: MIT */
/*
 * check_connect.c - how connections begin: silence in each phase, refused logins,
 * packet sizes and long statements in every way to encrypt, what is left behind
 * for the next user, and clearing: scenarios 179, 183, 185, 186, 194 and 197, in
 * real time, through libweir.so and tds.so against tdsd.
 *
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define PLAIN  "Encrypt=optional;"
#define TLS    "Encrypt=mandatory;TrustServerCertificate=true;"
#define STRICT "Encrypt=strict;HostNameInCertificate=localhost;"

static char ca_file[64]; /* the certificate of the server that is open */

struct mode {
  const char *name;
  enum tdsd_tls_mode tls;
  const char *settings;
};

static const struct mode modes[] = {
    {"off", TDSD_TLS_OFF, PLAIN},
    {"login-only", TDSD_TLS_LOGIN_ONLY, PLAIN},
    {"full", TDSD_TLS_FULL, TLS},
    {"strict", TDSD_TLS_STRICT, STRICT},
};
#define MODES (sizeof modes / sizeof modes[0])

/* -------------------------------------------------------------- scenario 183 */

#define LIMIT_MS 2000

struct silence {
  const char *what;
  enum tdsd_tls_mode tls;
  const char *settings;
  const char *fault;
  int32_t phase;
  const char *says;
};

/* After accept, in and behind PRELOGIN, in the handshake, behind LOGIN7, behind
 * LOGINACK; and a byte a second in each. */
static const struct silence silences[] = {
    {"silent behind accept", TDSD_TLS_OFF, PLAIN, "silent", WEIR_PHASE_LOGIN,
     "phase prelogin"},
    {"silent in PRELOGIN", TDSD_TLS_OFF, PLAIN, "msg=prelogin byte=5 stall",
     WEIR_PHASE_LOGIN, "phase prelogin"},
    {"PRELOGIN in drops", TDSD_TLS_OFF, PLAIN, "msg=prelogin drip 1/s",
     WEIR_PHASE_LOGIN, "phase prelogin"},
    {"silent behind PRELOGIN", TDSD_TLS_FULL, TLS, "tls-stall 1",
     WEIR_PHASE_TLS, "phase tls"},
    {"silent in the handshake", TDSD_TLS_FULL, TLS, "tls-stall 2",
     WEIR_PHASE_TLS, "phase tls"},
    {"silent to TLS", TDSD_TLS_OFF, STRICT, "silent", WEIR_PHASE_TLS,
     "phase tls"},
    {"silent behind LOGIN7", TDSD_TLS_OFF, PLAIN, "msg=login stall",
     WEIR_PHASE_LOGIN, "phase login"},
    {"silent behind LOGIN7, TLS", TDSD_TLS_FULL, TLS, "msg=login stall",
     WEIR_PHASE_LOGIN, "phase login"},
    {"LOGINACK without DONE", TDSD_TLS_OFF, PLAIN, "msg=login byte=365 stall",
     WEIR_PHASE_LOGIN, "phase login"},
    {"the answer to LOGIN7 in drops", TDSD_TLS_OFF, PLAIN, "msg=login drip 1/s",
     WEIR_PHASE_LOGIN, "phase login"},
    {"the answer to LOGIN7 in drops, TLS", TDSD_TLS_FULL, TLS,
     "msg=login drip 1/s", WEIR_PHASE_LOGIN, "phase login"},
};
#define SILENCES (sizeof silences / sizeof silences[0])

struct meeting {
  pthread_t thread;
  const struct silence *silence;
};

static void *meet_silence(void *arg) {
  const struct silence *s = ((const struct meeting *)arg)->silence;
  struct tdsd_options options = {
      .tls = s->tls, .faults = &s->fault, .nfaults = 1};
  struct weir_error err = {.struct_size = sizeof err};
  struct kit own;
  weir_h lease = 0;
  kit_open(&own, &options);
  int32_t rc = kit_pool(&own, &err, "%sConnect Timeout=2", s->settings);
  kit_check(rc == WEIR_OK, s->what, err.message);
  int64_t begun = kit_now_ms();
  rc = weir_acquire(own.pool, WEIR_TIMEOUT_POOL, &lease, &err);
  int64_t took = kit_now_ms() - begun;
  kit_check(rc == WEIR_E_TIMEOUT, s->what, err.message);
  kit_check_number(took >= LIMIT_MS, s->what, took);
  kit_check_number(took < LIMIT_MS + KIT_SLACK_MS, s->what, took);
  kit_check(err.phase == s->phase, s->what, err.message);
  kit_check(strstr(err.message, s->says) != NULL, s->what, err.message);
  kit_close(&own, s->what);
  return NULL;
}

static void scenario_183_silence_ends_at_the_limit(void) {
  struct meeting all[SILENCES];
  for (size_t i = 0; i < SILENCES; i++) {
    all[i].silence = &silences[i];
    if (pthread_create(&all[i].thread, NULL, meet_silence, &all[i]) != 0) {
      abort();
    }
  }
  for (size_t i = 0; i < SILENCES; i++) {
    (void)pthread_join(all[i].thread, NULL);
  }
}

/* ------------------------------------------------------- scenarios 185, 186 */

static void open_mode(struct kit *k, const struct mode *mode) {
  struct tdsd_options options = {.tls = mode->tls};
  kit_open(k, &options);
  (void)snprintf(ca_file, sizeof ca_file, "/tmp/weir-check-connect-XXXXXX");
  int fd = mkstemp(ca_file);
  const char *pem = tdsd_cert_pem(k->server);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (f == NULL || fputs(pem == NULL ? "" : pem, f) < 0 || fclose(f) != 0) {
    abort();
  }
}

static void close_mode(struct kit *k, const char *what) {
  kit_close(k, what);
  (void)remove(ca_file);
}

/* A pool of one connection in that mode. */
static int32_t open_sized(struct kit *k,
                          const struct mode *mode,
                          const char *size,
                          struct weir_error *err) {
  bool strict = mode->tls == TDSD_TLS_STRICT;
  return kit_pool(k, err, "%s%s%s;Max Pool Size=1;Packet Size=%s",
                  mode->settings, strict ? "CA File=" : "",
                  strict ? ca_file : "", size);
}

/* A batch of so many bytes, headers included: "SELECT '...'" with a text drawn at
 * random, which must come back. */
static void echo(weir_h lease, size_t bytes, const char *what) {
  static const char head[] = "SELECT '";
  static uint32_t random = 88172645;
  size_t units = (bytes - 22) / 2;
  char *sql = malloc(units + 1);
  struct kit_cell cell = {.n = 0};
  struct weir_error err = {.struct_size = sizeof err};
  if (sql == NULL) {
    abort();
  }
  size_t n = units - (sizeof head - 1) - 1;
  char *text = sql + sizeof head - 1;
  memcpy(sql, head, sizeof head - 1);
  for (size_t i = 0; i < n; i++) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    text[i] = (char)('A' + random % 26);
  }
  text[n] = '\'';
  text[n + 1] = '\0';
  int32_t rc = kit_run(lease, sql, NULL, &cell, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  kit_check(cell.n == n && cell.hash == kit_hash(text, n), what,
            "the text has changed");
  free(sql);
}

static unsigned packet_size(weir_h lease) {
  char text[32] = "";
  (void)weir_lease_info(lease, WEIR_INFO_PACKET_SIZE, text, sizeof text, NULL);
  return (unsigned)strtoul(text, NULL, 10);
}

/* Around one packet, two and ten. */
static void echo_around(weir_h lease, size_t packet, const char *what) {
  static const size_t packets[] = {1, 2, 10};
  size_t room = packet - 8;
  for (size_t i = 0; i < 3; i++) {
    for (size_t d = 0; d <= 4; d += 2) {
      echo(lease, packets[i] * room + d - 2, what);
    }
  }
}

static const struct {
  const char *asked;
  unsigned plain;
  unsigned encrypted;
} sizes[] = {
    {"512", 512, 512},       {"4096", 4096, 4096},    {"16383", 16383, 16383},
    {"16384", 16384, 16383}, {"32767", 32767, 16383},
};

static void check_sizes(const struct mode *mode) {
  bool whole = mode->tls == TDSD_TLS_FULL || mode->tls == TDSD_TLS_STRICT;
  struct weir_error err = {.struct_size = sizeof err};
  struct kit k;
  char what[64];
  open_mode(&k, mode);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    (void)snprintf(what, sizeof what, "185: %s, packets of %s", mode->name,
                   sizes[i].asked);
    int32_t rc = open_sized(&k, mode, sizes[i].asked, &err);
    kit_check(rc == WEIR_OK, what, err.message);
    weir_h lease = kit_acquire(&k);
    unsigned size = packet_size(lease);
    kit_check_number(size == (whole ? sizes[i].encrypted : sizes[i].plain),
                     what, size);
    echo_around(lease, size, what);
    (void)weir_release(lease);
  }
  static const char *const bad[] = {"0", "100", "511", "32769"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int32_t rc = open_sized(&k, mode, bad[i], &err);
    kit_check(rc != WEIR_OK && strstr(err.message, "Packet Size") != NULL &&
                  strstr(err.message, "512 to 32768") != NULL,
              bad[i], err.message);
  }
  close_mode(&k, mode->name);
}

/* The server answers another size than the one asked for; it is obeyed, for a
 * request in packets of another size would be refused. */
static void check_answered(const struct mode *mode, unsigned answer) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit k;
  weir_h lease = 0;
  char what[64];
  (void)snprintf(what, sizeof what, "185: %s, the server says %u", mode->name,
                 answer);
  open_mode(&k, mode);
  kit_order(&k, "fault packet-size %u", answer);
  (void)open_sized(&k, mode, "8000", &err);
  int32_t rc = weir_acquire(k.pool, 5 * KIT_S, &lease, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  kit_check_number(packet_size(lease) == answer, what, packet_size(lease));
  echo_around(lease, answer, what);
  (void)weir_release(lease);
  close_mode(&k, what);
}

static void scenario_185_packets_fit_what_carries_them(void) {
  for (size_t i = 0; i < MODES; i++) {
    check_sizes(&modes[i]);
    check_answered(&modes[i], 512);
    check_answered(&modes[i], 16000);
    check_answered(&modes[i], 32767);
  }
}

static void scenario_186_long_statements_arrive_whole(void) {
  for (size_t i = 0; i < MODES; i++) {
    struct weir_error err = {.struct_size = sizeof err};
    struct kit k;
    open_mode(&k, &modes[i]);
    (void)open_sized(&k, &modes[i], "4096", &err);
    weir_h lease = kit_acquire(&k);
    kit_check_number(packet_size(lease) == 4096, "186: 4096",
                     packet_size(lease));
    echo_around(lease, 4096, modes[i].name);
    echo(lease, 1048576, modes[i].name);
    (void)weir_release(lease);
    close_mode(&k, modes[i].name);
  }
}

/* -------------------------------------------------------------- scenario 194 */

/* What one acquire after the other gets, with how many logins: one each, for the
 * pool never repeats a login by itself, whatever the error's number. */
static const struct {
  const char *what;
  const char *fault;
  unsigned acquires;
  unsigned good; /* of them, the last ones */
  int32_t kind;
  int32_t scope;
} logins[] = {
    {"18456 state 1 twice", "times=2 msg=login error 18456 state=1", 3, 1,
     WEIR_KIND_AUTH, WEIR_SCOPE_CONFIG},
    {"18456 state 8 always", "msg=login error 18456 state=8", 3, 0,
     WEIR_KIND_AUTH, WEIR_SCOPE_CONFIG},
    {"18456 state 13, paused", "times=1 msg=login error 18456 state=13", 2, 1,
     WEIR_KIND_FAILOVER, WEIR_SCOPE_ENDPOINT},
    {"18488, expired", "msg=login error 18488", 2, 0, WEIR_KIND_AUTH_EXPIRED,
     WEIR_SCOPE_CONFIG},
    {"40613", "times=2 msg=login error 40613", 3, 1, WEIR_KIND_FAILOVER,
     WEIR_SCOPE_ENDPOINT},
    {"10928", "times=2 msg=login error 10928", 3, 1, WEIR_KIND_THROTTLED,
     WEIR_SCOPE_ENDPOINT},
    {"4060", "msg=login error 4060 class=11", 2, 0, WEIR_KIND_CONFIG,
     WEIR_SCOPE_CONFIG},
    {"233, closed", "times=1 msg=login close", 2, 1, WEIR_KIND_NETWORK,
     WEIR_SCOPE_ENDPOINT},
    {"10054, reset", "times=1 msg=login rst", 2, 1, WEIR_KIND_NETWORK, -1},
};

static void check_login(size_t i) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  const char *what = logins[i].what;
  struct kit k;
  kit_open(&k, &options);
  kit_order(&k, "fault %s", logins[i].fault);
  (void)kit_pool(&k, NULL, PLAIN "Max Pool Size=4;Connect Timeout=2");
  for (unsigned n = 0; n < logins[i].acquires; n++) {
    struct weir_error err = {.struct_size = sizeof err};
    weir_h lease = 0;
    bool good = n >= logins[i].acquires - logins[i].good;
    int32_t rc = weir_acquire(k.pool, WEIR_TIMEOUT_POOL, &lease, &err);
    kit_check(rc == (good ? WEIR_OK : WEIR_E_FAIL), what, err.message);
    if (!good) {
      kit_check_number(err.kind == logins[i].kind, what, err.kind);
      kit_check_number(err.scope == logins[i].scope || logins[i].scope < 0,
                       what, err.scope);
    }
    uint64_t tried = kit_stats(&k).connections_total;
    kit_check_number(tried == n + 1, what, (int64_t)tried);
    (void)weir_release(lease);
    /* Or a wrong password is not tried again within a second. */
    (void)(good ? WEIR_OK : weir_pool_clear(k.pool));
  }
  kit_close(&k, what);
}

/* Min Pool Size must not hammer: two at once, then 1 s, 2 s, ... */
static void check_budget(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  const char *what = "194: logins for Min Pool Size";
  struct kit k;
  kit_open(&k, &options);
  kit_order(&k, "fault msg=login error 18456 state=8");
  (void)kit_pool(&k, NULL, PLAIN "Min Pool Size=8;Max Pool Size=8");
  kit_pause_ms(2500);
  uint64_t tried = kit_stats(&k).connections_total;
  kit_check_number(tried >= 1 && tried <= 6, what, (int64_t)tried);
  kit_close(&k, what);
}

static void scenario_194_logins_are_not_repeated(void) {
  for (size_t i = 0; i < sizeof logins / sizeof logins[0]; i++) {
    check_login(i);
  }
  check_budget();
}

/* -------------------------------------------------------------- scenario 179 */

static const char *const routes[] = {"route 127.0.0.1:1", "route self",
                                     "route host\\inst:1433",
                                     "route 127.0.0.1:1433 db=other"};

/* Routing is refused for now, with the target's name and at once: no hops, no
 * loop, nothing opened at the target, nothing changed for the next connect (report
 * 17). */
static void scenario_179_routing_is_refused(void) {
  for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
    struct tdsd_options options = {.tls = TDSD_TLS_FULL};
    struct weir_error err = {.struct_size = sizeof err};
    struct kit k;
    weir_h lease = 0;
    kit_open(&k, &options);
    if (strcmp(routes[i], "route self") == 0) {
      kit_order(&k, "fault route 127.0.0.1:%u", tdsd_port(k.server));
    } else {
      kit_order(&k, "fault %s", routes[i]);
    }
    (void)kit_pool(&k, NULL, TLS);
    int32_t rc = weir_acquire(k.pool, 5 * KIT_S, &lease, &err);
    kit_check(rc == WEIR_E_FAIL, routes[i], err.message);
    kit_check(strstr(err.message, "the server routes to ") != NULL, routes[i],
              err.message);
    kit_check_number(err.kind == WEIR_KIND_UNSUPPORTED, routes[i], err.kind);
    uint64_t tried = kit_stats(&k).connections_total;
    kit_check_number(tried == 1, routes[i], (int64_t)tried);
    kit_order(&k, "fault clear");
    /* What is refused for good is not tried again for a second, but for a
     * clear.  The pool's own target is as it was. */
    kit_check_number(weir_pool_clear(k.pool) == WEIR_OK, routes[i], 0);
    (void)weir_release(kit_acquire(&k));
    kit_close(&k, routes[i]);
  }
}

/* -------------------------------------------------------------- scenario 197 */

static struct weir_pool_stats pool_stats(const struct kit *k) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  (void)weir_pool_stats(k->pool, &s);
  return s;
}

static bool await_idle(const struct kit *k, uint32_t n) {
  int64_t begun = kit_now_ms();
  while (pool_stats(k).idle != n && kit_now_ms() - begun < 5000) {
    kit_pause_ms(2);
  }
  return pool_stats(k).idle == n;
}

static void scenario_197_a_cleared_pool_leaves_the_server(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct kit k;
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, PLAIN "Min Pool Size=5;Max Pool Size=5");
  kit_check(await_idle(&k, 5), "197: filled", "not five");
  int64_t begun = kit_now_ms();
  (void)weir_pool_clear(k.pool);
  kit_check_number(pool_stats(&k).idle == 0, "197: idle", pool_stats(&k).idle);
  while (pool_stats(&k).closing + pool_stats(&k).connecting != 0 &&
         kit_now_ms() - begun < 900) {
    kit_pause_ms(1);
  }
  uint64_t open = kit_stats(&k).sessions_open;
  kit_check_number(open == 0, "197: sessions", (int64_t)open);
  kit_pause_ms(900 - (kit_now_ms() - begun));
  uint64_t total = kit_stats(&k).connections_total;
  kit_check_number(total == 5 || kit_now_ms() - begun >= 1000,
                   "197: left alone", (int64_t)total);
  kit_check(await_idle(&k, 5), "197: filled again", "not five");
  kit_close(&k, "scenario 197");
}

int main(void) {
  scenario_183_silence_ends_at_the_limit();
  scenario_179_routing_is_refused();
  scenario_185_packets_fit_what_carries_them();
  scenario_186_long_statements_arrive_whole();
  scenario_194_logins_are_not_repeated();
  scenario_197_a_cleared_pool_leaves_the_server();
  return kit_end();
}
