/* SPDX-License-Identifier: MIT */
/* test_login.c - from connect to a session, on scripted bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"

#define PLAIN    "Server=db.test;User ID=sa;Password=;Encrypt=optional"
#define DEMANDED "Server=DB.test,1500;User ID=sa;Password=;Encrypt=mandatory"
#define STRICT   "Server=db.test;User ID=sa;Password=;Encrypt=strict"

#define REPLY_OFF "00 000b 0006 01 0011 0001 ff 10000fa00000 00"
#define REPLY_ON  "00 000b 0006 01 0011 0001 ff 10000fa00000 01"
#define REPLY_NO  "00 000b 0006 01 0011 0001 ff 10000fa00000 02"

#define DONE_HEX "fd 0000 0000 0000000000000000"

/* ERROR 18456, state 1, class 14, "No", server "S"; DONE(error). */
#define REFUSED_HEX                        \
  "aa 1400 18480000 01 0e 0200 4e00 6f00 " \
  "01 5300 00 01000000 fd 0200 0000 0000000000000000"

/* The server's half of the pretended handshake, in a PRELOGIN packet. */
#define HANDSHAKE_HEX "12 01 000d 0000 00 00 5345525652"

static void queue_login_body(struct fake *f) {
  size_t n = 0;
  const uint8_t *p = fake_login_body(&n);
  fake_reply(f, p, n);
}

static void queue_tls_login(struct fake *f) {
  fake_reply_hex(f, REPLY_ON);
  fake_hex(f, HANDSHAKE_HEX);
  queue_login_body(f);
  fake_encrypt(f, 2);
}

static int64_t get_int(struct fake *f, int32_t prop) {
  struct weir_drv_value v;
  cr_assert_eq(f->driver->get(f->conn, prop, &v), WEIR_DRV_DONE);
  return v.i;
}

static const char *get_text(struct fake *f, int32_t prop) {
  static char text[200];
  struct weir_drv_value v;
  cr_assert_eq(f->driver->get(f->conn, prop, &v), WEIR_DRV_DONE);
  fake_copy(text, sizeof text, v.p, (size_t)v.n);
  return text;
}

static bool says(struct fake *f, const char *text) {
  bool found = strstr(f->message, text) != NULL;
  if (!found) {
    (void)fprintf(stderr, "message is: %s\n", f->message);
  }
  return found;
}

Test(login, works_in_clear_where_the_server_has_no_tls, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_assert_eq(f.wait.usable, 1);
  cr_assert_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  cr_assert_eq(f.wait.dirty, 0);
  cr_assert_eq(fake_close(&f), 0);
}

Test(login, tells_what_it_learned, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_DATABASE), "master");
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_SERVER_VERSION), "16.0.4085");
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_PEER), "127.0.0.1,1433");
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_TLS), "");
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_PHASE), "idle");
  cr_expect_eq(get_int(&f, WEIR_DRV_P_SESSION_ID), 51);
  cr_expect_eq(get_int(&f, WEIR_DRV_P_PACKET_SIZE), 4096);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_YES);
  (void)fake_close(&f);
}

Test(login, is_one_packet_with_the_password_in_disguise, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  /* "s" scrambled is 0x92, 0xa5. */
  cr_expect_not_null(memmem(f.sent.p, f.sent.n, "\x92\xa5\x96\xa5", 4));
  cr_expect_null(memmem(f.sent.p, f.sent.n, "s\0003\0c", 5));
  cr_expect_eq(f.messages, 2);
  (void)fake_close(&f);
}

Test(login, encrypts_everything_when_both_want_it, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED);
  queue_tls_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_TLS), "FakeTLS XOR");
  cr_expect_str_eq(f.tls_name, "db.test");
  cr_expect_eq(f.tls_flags, WEIR_DRV_TLS_MAX_1_2);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_YES);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, trusts_any_certificate_only_when_told_to, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED ";TrustServerCertificate=true");
  queue_tls_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  cr_expect_eq(f.tls_flags, WEIR_DRV_TLS_MAX_1_2 | WEIR_DRV_TLS_NO_VERIFY);
  (void)fake_close(&f);
}

Test(login, encrypts_only_login7_when_the_server_says_off, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_OFF);
  fake_hex(&f, HANDSHAKE_HEX);
  queue_login_body(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_TLS), "");
  /* PRELOGIN, hello in a packet, then the login packet encrypted. */
  cr_expect_not_null(memmem(f.sent.p, f.sent.n, "\xd3\xc2", 2));
  cr_expect_null(memmem(f.sent.p, f.sent.n, "\x92\xa5\x96\xa5", 4));
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, follows_a_server_that_forces_tls, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, "00 000b 0006 01 0011 0001 ff 10000fa00000 03");
  fake_hex(&f, HANDSHAKE_HEX);
  queue_login_body(&f);
  fake_encrypt(&f, 2);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_TLS), "FakeTLS XOR");
  (void)fake_close(&f);
}

Test(login, starts_with_tls_when_strict, .timeout = 5) {
  struct fake f;
  fake_open(&f, STRICT ";TrustServerCertificate=true");
  fake_raw(&f, FAKE_ANSWER, strlen(FAKE_ANSWER));
  fake_reply_hex(&f, REPLY_NO);
  queue_login_body(&f);
  fake_encrypt(&f, 1);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(f.tls_alpn, "tds/8.0");
  cr_expect_eq(f.tls_flags, 0);
  cr_expect_eq(memcmp(f.sent.p, FAKE_HELLO, 5), 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, refuses_to_fall_back_to_clear_text, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED);
  fake_reply_hex(&f, REPLY_NO);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_TLS);
  cr_expect(says(&f, "prelogin: the server does not support encryption"));
  cr_expect(says(&f, "(db.test,1500)"));
  cr_expect_eq(f.messages, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, gives_the_same_result_at_every_cut, .timeout = 20) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    struct fake f;
    fake_open(&f, DEMANDED);
    queue_tls_login(&f);
    f.read_most = 1;
    f.write_most = 1;
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    weir_drv_status rc = fake_connect(&f);
    cr_assert_eq(rc, WEIR_DRV_DONE, "seed %u: %d in %s: %s", seed, rc,
                 get_text(&f, WEIR_DRV_P_PHASE), f.message);
    cr_assert_str_eq(get_text(&f, WEIR_DRV_P_DATABASE), "master");
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(login, names_the_login_and_not_the_password, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN ";Database=shop");
  fake_reply_hex(&f, REPLY_NO);
  fake_reply_hex(&f, REFUSED_HEX);
  f.hang_up = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_AUTH);
  cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_CRED);
  cr_expect_eq(f.err.native, 18456);
  cr_expect_eq(f.err.native_severity, 14);
  cr_expect(says(&f, "login: as 'sa' to db.test,1433, database 'shop': No"));
  cr_expect_null(strstr(f.message, "s3cr"));
  cr_expect_str_eq(fake_diags(&f), "18456/14: No\n");
  cr_expect_eq(f.opened, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, reports_the_refusal_even_without_its_done, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  fake_hex(&f, "04 00 001f 0000 01 00"
               "aa 1400 18480000 01 0e 0200 4e00 6f00 01 5300 00 01000000");
  f.hang_up = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 18456);
  (void)fake_close(&f);
}

Test(login, fails_without_a_password, .timeout = 5) {
  struct fake f;
  fake_open(&f, "Server=db.test;User ID=sa;Encrypt=optional");
  fake_login(&f);
  f.no_password = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_expect(says(&f, "login: no password was given"));
  cr_expect_eq(f.messages, 1);
  (void)fake_close(&f);
}

Test(login, names_the_certificate_problem, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED);
  queue_tls_login(&f);
  f.bad_tls = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_TLS);
  cr_expect(says(&f, "TLS handshake: self-signed certificate"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, says_so_when_the_program_has_no_tls, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED);
  queue_tls_login(&f);
  f.no_tls = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect(says(&f, "TLS handshake: this program offers no TLS"));
  (void)fake_close(&f);
}

Test(login, tries_the_next_address, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  f.addresses = 3;
  f.refuse = 2;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 3);
  cr_expect_eq(fake_close(&f), 0);
}

#define S UINT64_C(1000000000)

/* Report tedious#1552: something between takes the connection, and nobody
 * answers PRELOGIN, or TLS. */
static void open_silent(struct fake *f, const char *options, size_t messages) {
  fake_open(f, options);
  for (size_t i = 0; i < messages; i++) {
    fake_raw(f, "", 0);
  }
}

Test(login, gives_each_address_but_the_last_a_share_of_the_time, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  f.addresses = 4;
  f.dead = 3;
  f.deadline = 12 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 4);
  cr_expect_eq(f.time / S, 9);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, tries_the_next_address_if_prelogin_is_not_answered, .timeout = 5) {
  struct fake f;
  open_silent(&f, PLAIN, 1);
  fake_login(&f);
  f.addresses = 2;
  f.deadline = 10 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 2);
  cr_expect_eq(f.time / S, 5);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, tries_the_next_address_if_tls_is_not_answered, .timeout = 5) {
  struct fake f;
  open_silent(&f, STRICT, 1);
  fake_hex(&f, "5345525652");
  fake_reply_hex(&f, REPLY_NO);
  queue_login_body(&f);
  fake_encrypt(&f, 2);
  f.addresses = 2;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 2);
  cr_expect_eq(f.time / S, 5);
  cr_expect_eq(fake_close(&f), 0);
}

/* MultiSubnetFailover. */
#define RACE PLAIN ";MultiSubnetFailover=true"

Test(login, races_all_addresses_when_told_to, .timeout = 5) {
  struct fake f;
  fake_open(&f, RACE);
  fake_login(&f);
  f.addresses = 4;
  f.dead = 3;
  f.deadline = 12 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 4);
  cr_expect_eq(f.streams, 1, "the others are closed");
  cr_expect_eq(f.time, 0, "no dead address is waited for");
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, races_the_next_eight_when_eight_are_dead, .timeout = 5) {
  struct fake f;
  fake_open(&f, RACE);
  fake_login(&f);
  f.addresses = 10;
  f.dead = 8;
  f.deadline = 12 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 10);
  cr_expect_eq(f.time / S, 6);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, reports_a_race_that_all_have_lost, .timeout = 5) {
  for (size_t n = 2; n <= 10; n++) {
    struct fake f;
    fake_open(&f, RACE);
    fake_login(&f);
    f.addresses = n;
    f.refuse = n;
    cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
    cr_expect_eq(f.opened, n);
    cr_expect_not_null(strstr(f.message, "connect: connection refused"), "%s",
                       f.message);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_NETWORK);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_ENDPOINT);
    cr_expect_eq(fake_close(&f), 0, "%zu", n);
  }
}

Test(login, races_on_when_the_winner_does_not_answer_prelogin, .timeout = 5) {
  struct fake f;
  open_silent(&f, RACE, 1);
  fake_login(&f);
  f.addresses = 3;
  f.refuse = 1;
  f.deadline = 12 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.opened, 4, "three, and the one left again");
  cr_expect_eq(f.streams, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, ends_a_race_that_is_cancelled_or_cut_off, .timeout = 5) {
  struct fake f;
  fake_open(&f, RACE);
  f.addresses = 5;
  f.dead = 5;
  cr_expect_eq(fake_connect(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.streams, 5);
  cr_expect_eq(f.wait.n_want, 5);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, stays_with_an_address_that_has_answered, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  f.addresses = 2;
  f.deadline = 10 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.wait.timer, WEIR_DRV_NEVER);
  cr_expect_eq(f.opened, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, leaves_the_last_address_to_the_engines_limit, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  f.addresses = 2;
  f.dead = 2;
  f.deadline = 10 * S;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.wait.timer, WEIR_DRV_NEVER);
  cr_expect_eq(f.opened, 2);
  cr_expect_eq(fake_close(&f), 0);
}

/* The fake resolves to IPv4, IPv6, IPv4, ... */
static const struct {
  const char *option;
  const char *peer;
} preferences[] = {
    {"", "127.0.0.1,1433"},
    {";IPAddressPreference=IPv4First", "127.0.0.1,1433"},
    {";IPAddressPreference=IPv6First", "::1,1433"},
    {";IPAddressPreference=UsePlatformDefault", "::1,1433"},
};

Test(login, tries_addresses_in_the_order_of_preference, .timeout = 5) {
  for (size_t i = 0; i < sizeof preferences / sizeof preferences[0]; i++) {
    struct fake f;
    char options[200];
    (void)snprintf(options, sizeof options, "%s%s", PLAIN,
                   preferences[i].option);
    fake_open(&f, options);
    fake_login(&f);
    f.addresses = 3;
    f.ipv6 = true;
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_str_eq(get_text(&f, WEIR_DRV_P_PEER), preferences[i].peer, "%zu",
                     i);
    (void)fake_close(&f);
  }
}

Test(login, reports_the_last_address, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  f.addresses = 2;
  f.refuse = 2;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_ENDPOINT);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_NETWORK);
  cr_expect(says(&f, "connect: connection refused (db.test,1433)"));
  cr_expect_eq(fake_close(&f), 0);
}

/* SqlClient#2192: with MultiSubnetFailover a connect hung when all addresses
 * failed in a certain order. */
Test(login, report_14_every_address_is_accounted_for, .timeout = 5) {
  for (size_t n = 1; n <= 8; n++) {
    for (size_t refused = 0; refused <= n; refused++) {
      struct fake f;
      fake_open(&f, PLAIN ";MultiSubnetFailover=true");
      fake_login(&f);
      f.addresses = n;
      f.refuse = refused;
      weir_drv_status rc = fake_connect(&f);
      cr_assert_eq(rc, refused < n ? WEIR_DRV_DONE : WEIR_DRV_FAIL, "%zu/%zu",
                   refused, n);
      cr_assert_eq(f.opened, n);
      cr_assert_leq(f.streams, 1);
      cr_assert_eq(fake_close(&f), 0);
    }
  }
}

Test(login, reports_a_name_that_does_not_resolve, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  f.no_name = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_NAME);
  cr_expect(says(&f, "resolve: the host name did not resolve"));
  (void)fake_close(&f);
}

/* The server answers k messages and then says nothing more. */
static void check_silence(size_t k, const char *phase) {
  struct fake f;
  fake_open(&f, DEMANDED);
  queue_tls_login(&f);
  f.n_answers = k;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_WAIT);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_PHASE), phase);
  f.driver->abort_conn(f.conn, WEIR_DRV_ABORT_CLOSE);
  cr_expect_str_eq(get_text(&f, WEIR_DRV_P_PHASE), phase);
  f.n_answers = 3;
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, shows_the_phase_it_waits_in, .timeout = 5) {
  check_silence(0, "prelogin");
  check_silence(1, "tls");
  check_silence(2, "login");
}

/* The same, but the server hangs up. */
static void check_hang_up(size_t k, const char *prefix) {
  struct fake f;
  fake_open(&f, DEMANDED);
  queue_tls_login(&f);
  f.n_answers = k;
  f.hang_up = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_NETWORK);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_ENDPOINT);
  cr_expect(says(&f, prefix));
  f.n_answers = 3;
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, names_the_phase_in_which_the_server_hung_up, .timeout = 5) {
  check_hang_up(0, "prelogin: the server closed the connection");
  check_hang_up(1, "TLS handshake: the server closed the connection");
  check_hang_up(2, "login: the server closed the connection");
}

/* Report 30, jdbc PR#1568: the target may be an instance. */
Test(login, report_30_names_the_instance_it_is_routed_to, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  fake_reply_hex(&f,
                 "ad 0a00 01 74000004 00 10 00 0ff5"
                 "e3 1000 14 0b00 00 9905 0300 6200 5c00 6900 0000" DONE_HEX);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect(says(&f, "the server routes to b\\i,1433; routing is not"));
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  (void)fake_close(&f);
}

Test(login, refuses_to_be_routed, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  fake_reply_hex(&f, "ad 0a00 01 74000004 00 10 00 0ff5"
                     "e3 0c00 14 0700 00 9905 0100 6200 0000" DONE_HEX);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_UNSUPPORTED);
  cr_expect(says(&f, "login: the server routes to b,1433; routing is not"));
  (void)fake_close(&f);
}

/* Packets of type that hold nothing and end no message, 512 KiB of them. */
static void queue_empty_packets(struct fake *f, uint8_t type) {
  static uint8_t flood[65536 * 8];
  const uint8_t head[8] = {type, 0, 0, 8};
  for (size_t i = 0; i < sizeof flood; i += sizeof head) {
    memcpy(flood + i, head, sizeof head);
  }
  fake_raw(f, flood, sizeof flood);
}

Test(login, refuses_a_prelogin_answer_of_nothing_without_end, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  queue_empty_packets(&f, 4);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect(says(&f, "prelogin: the reply does not end"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, refuses_a_handshake_of_nothing_without_end, .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED);
  fake_reply_hex(&f, REPLY_ON);
  queue_empty_packets(&f, 0x12);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect(says(&f, "TLS handshake: the server's handshake does not end"));
  cr_expect_eq(fake_close(&f), 0);
}

static const struct {
  const char *body;
  const char *text;
} strange[] = {
    {DONE_HEX, "neither accepts nor refuses"},
    {"ad 0a00 01 71000001 00 10 00 0ff5" DONE_HEX, "TDS version 0x71000001"},
    {"ad 0a00 01 08000000 00 10 00 0ff5" DONE_HEX, "TDS version 0x08000000"},
    {"ad 0a00 01 74000004 00 10 00 0ff5 ad 0a00 01 74000004 00 10 00 "
     "0ff5" DONE_HEX,
     "a LOGINACK that nobody waits for"},
    {"ad 0a00 01 74000004 00 10 00 0ff5", "without a final DONE"},
    {"ad 0400 01 74000004", "runs past its token's length"},
    {"ae 02 01000000 00 ff", "feature 0x02, which was not asked for"},
    {"ae 0a 02000000 0100 ff", "the answer to UTF8_SUPPORT has 2 bytes"},
    {"81 0100 00000000 0000 38 00", "a result during login"},
    {"e3 0700 04 02 3900 3900 00", "impossible packet size"},
    {"ed 0000", "integrated authentication"},
    {"ee 04000000 00000000", "FEDAUTHINFO that nobody waits for"},
    {"e3 0c00 14 0700 00 9905 0100 6200 0000"
     "e3 0c00 15 0700 00 9905 0100 6200 0000",
     "routes to two places at once"},
    {"e3 0c00 14 0700 00 9905 0100 6200 0000"
     "e3 0c00 14 0700 00 9905 0100 6200 0000",
     "routes to two places at once"},
    {"e3 0600 07 03 112233 00", "a collation that is not 5 bytes"},
    {"e3 0d00 04 05 3300 3200 3700 3600 3800 00", "impossible packet size"},
    {"e3 0900 04 03 3500 3100 3100 00", "impossible packet size"},
    {"42", "unknown token (token 0x42, byte 1 of the reply)"},
    {"aa 1400 1848", "inside a token"},
};

Test(login, refuses_strange_answers_by_name, .timeout = 5) {
  for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
    struct fake f;
    fake_open(&f, PLAIN);
    fake_reply_hex(&f, REPLY_NO);
    fake_reply_hex(&f, strange[i].body);
    cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL, "%zu", i);
    cr_expect(says(&f, strange[i].text), "%zu", i);
    /* The first has nothing wrong in it but what is missing. */
    cr_expect(i == 0 || says(&f, " of the reply) ("), "%zu", i);
    cr_expect_eq(strncmp(f.message, "login: ", 7), 0);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(login, refuses_what_comes_behind_the_answer, .timeout = 5) {
  struct fake f;
  size_t n = 0;
  const uint8_t *body = fake_login_body(&n);
  const uint8_t head[8] = {4, 1, (uint8_t)((n + 8) >> 8), (uint8_t)(n + 8)};
  struct fake_bytes both = {0};
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  for (int i = 0; i < 2; i++) {
    fake_add(&both, head, sizeof head);
    fake_add(&both, body, n);
  }
  fake_raw(&f, both.p, both.n);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
  cr_expect(says(&f, "login: the server says more than the login asked for"));
  free(both.p);
  cr_expect_eq(fake_close(&f), 0);
}

static void fail_each_allocation(const char *options, size_t addresses) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    cr_assert_lt(n, 200);
    fake_open(&f, options);
    queue_tls_login(&f);
    f.addresses = addresses;
    f.fail_alloc = n;
    weir_drv_status rc = fake_connect(&f);
    whole = f.fail_alloc != 0;
    cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL);
    if (!whole) {
      cr_assert(says(&f, "out of memory"), "allocation %zu", n);
    }
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(login, survives_each_failed_allocation, .timeout = 20) {
  fail_each_allocation(DEMANDED, 1);
}

Test(login, survives_each_failed_allocation_of_a_race, .timeout = 20) {
  fail_each_allocation(DEMANDED ";MultiSubnetFailover=true", 3);
}

Test(login, ends_when_it_is_cancelled, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_WAIT);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  cr_expect_eq(fake_close(&f), 0);
}

Test(login, forgets_after_a_fork_without_touching_the_stream, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  f.driver->abort_conn(f.conn, WEIR_DRV_ABORT_FORGET);
  cr_expect_eq(f.streams, 1);
  (void)fake_close(&f);
}

/* The packet size that LOGIN7 asks for; the login packet is the last sent. */
static uint32_t asked_size(const struct fake *f, size_t login_at, uint8_t key) {
  const uint8_t *p = f->sent.p + login_at + 8 + 8;
  return (uint32_t)((p[0] ^ key) | (p[1] ^ key) << 8);
}

Test(login, asks_for_the_packet_size_of_the_options, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN ";Packet Size=32767");
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  size_t prelogin = (size_t)(f.sent.p[2] << 8 | f.sent.p[3]);
  cr_expect_eq(asked_size(&f, prelogin, 0), 32767);
  cr_expect_eq(get_int(&f, WEIR_DRV_P_PACKET_SIZE), 4096);
  (void)fake_close(&f);
}

Test(login,
     report_11_scenario_185_asks_for_packets_that_fit_tls,
     .timeout = 5) {
  struct fake f;
  fake_open(&f, DEMANDED ";Packet Size=32767");
  queue_tls_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  size_t prelogin = (size_t)(f.sent.p[2] << 8 | f.sent.p[3]);
  size_t hello = 8 + strlen(FAKE_HELLO);
  cr_expect_eq(asked_size(&f, prelogin + hello, FAKE_KEY), 16383);
  (void)fake_close(&f);
}

Test(login, keeps_the_asked_size_if_the_server_names_none, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN ";Packet Size=1024");
  fake_reply_hex(&f, REPLY_NO);
  fake_reply_hex(&f, "ad 0a00 01 74000004 00 10 00 0ff5" DONE_HEX);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  cr_expect_eq(get_int(&f, WEIR_DRV_P_PACKET_SIZE), 1024);
  (void)fake_close(&f);
}

Test(login, takes_the_answer_to_the_utf8_feature, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  fake_reply_hex(&f, "ae 0a 01000000 01 ff "
                     "ad 0a00 01 74000004 00 10 00 0ff5" DONE_HEX);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  (void)fake_close(&f);
}

Test(login, cuts_a_long_message_between_characters, .timeout = 5) {
  struct fake f;
  fake_open(&f, PLAIN);
  fake_reply_hex(&f, REPLY_NO);
  struct fake_bytes body = {0};
  uint8_t head[] = {0xAA, 0, 0, 0x18, 0x48, 0, 0, 1, 14, 0x58, 0x02};
  size_t units = 600;
  size_t length = 6 + 2 + units * 2 + 2 + 4;
  head[1] = (uint8_t)length;
  head[2] = (uint8_t)(length >> 8);
  fake_add(&body, head, sizeof head);
  for (size_t i = 0; i < units; i++) {
    fake_add(&body, "\xAC\x20", 2); /* the euro sign: three bytes of UTF-8 */
  }
  fake_add(&body, "\0\0\0\0\0\0\xfd\2\0\0\0\0\0\0\0\0\0\0\0", 19);
  fake_reply(&f, body.p, body.n);
  free(body.p);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 18456);
  cr_expect_neq(f.err.flags & WEIR_DRV_EF_TRUNCATED, 0);
  cr_expect_gt(f.err.message_len, sizeof f.message);
  size_t n = strlen(f.message);
  cr_expect_eq(memcmp(f.message + n - 3, "\xE2\x82\xAC", 3), 0);
  (void)fake_close(&f);
}
