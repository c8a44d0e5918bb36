/* SPDX-License-Identifier: MIT */
/* test_golden.c - the clients' messages among the samples of MS-TDS section 4
 * (tests/drivers/tds/golden): read by the decoders of the server.  Kinds that
 * tdsd does not serve are framed only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

/* The packet of a sample, whose first line is a title. */
static struct tdsd_buf load(const char *name) {
  char path[1024];
  char text[32768] = "";
  struct tdsd_buf out = {0};
  /* One thread only.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *source = getenv("WEIR_SOURCE_DIR");
  (void)snprintf(path, sizeof path, "%s/tests/drivers/tds/golden/%s.hex",
                 source == NULL ? "." : source, name);
  FILE *f = fopen(path, "r");
  cr_assert_not_null(f, "%s", path);
  size_t n = fread(text, 1, sizeof text - 1, f);
  (void)fclose(f);
  cr_assert(n > 0 && text[0] == '#');
  hex(&out, strchr(text, '\n'));
  return out;
}

/* Every client sample: its type, and that it is one whole message. */
static const struct {
  const char *name;
  uint8_t type;
  uint16_t length;
} frames[] = {
    {"01-prelogin-request", TDSD_PKT_PRELOGIN, 47},
    {"02-login-request", TDSD_PKT_LOGIN7, 144},
    {"03-login-request-fedauth", TDSD_PKT_LOGIN7, 2064},
    {"06-sql-batch", TDSD_PKT_BATCH, 92},
    {"08-rpc-request", TDSD_PKT_RPC, 47},
    {"10-attention", TDSD_PKT_ATTENTION, 8},
    {"11-sspi", TDSD_PKT_SSPI, 94},
    {"12-bulk-load", TDSD_PKT_BULK, 38},
    {"13-transaction-manager", TDSD_PKT_TM, 32},
    {"14-tvp-insert", TDSD_PKT_RPC, 82},
    {"16-login-session-recovery", TDSD_PKT_LOGIN7, 269},
    {"20-login-azure", TDSD_PKT_LOGIN7, 455},
};

Test(golden, messages_of_clients_are_framed, .timeout = 5) {
  for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
    struct tdsd_buf in = load(frames[i].name);
    struct tdsd_packet packet;
    struct tdsd_joiner joiner = {0};
    struct tdsd_problem problem = {""};
    cr_assert_eq(tdsd_packet_parse(tdsd_buf_at(&in), tdsd_buf_len(&in), &packet,
                                   &problem),
                 1, "%s: %s", frames[i].name, problem.text);
    cr_expect_eq(packet.type, frames[i].type, "%s", frames[i].name);
    cr_expect_eq(packet.length, frames[i].length, "%s", frames[i].name);
    cr_expect_eq(packet.length, tdsd_buf_len(&in), "%s", frames[i].name);
    cr_expect_eq(packet.id, 1);
    cr_expect_eq(packet.status, TDSD_ST_EOM);
    enum tdsd_joined whole = frames[i].type == TDSD_PKT_ATTENTION
                                 ? TDSD_JOIN_ATTENTION
                                 : TDSD_JOIN_MESSAGE;
    cr_expect_eq(tdsd_joiner_add(&joiner, &packet, &problem), whole, "%s: %s",
                 frames[i].name, problem.text);
    tdsd_joiner_fini(&joiner);
    tdsd_buf_fini(&in);
  }
}

Test(golden, prelogin_request_of_4_1_has_its_options, .timeout = 5) {
  struct tdsd_buf in = load("01-prelogin-request");
  struct tdsd_prelogin got;
  struct tdsd_problem problem = {""};
  tdsd_buf_consume(&in, TDSD_HEADER_BYTES);
  cr_assert_eq(
      tdsd_prelogin_parse(tdsd_buf_at(&in), tdsd_buf_len(&in), &got, &problem),
      0, "%s", problem.text);
  cr_expect_eq(got.seen, 0x1Fu, "VERSION to MARS");
  cr_expect_arr_eq(got.version, ((const uint8_t[]){9, 0, 0, 0, 0, 0}), 6);
  cr_expect_eq(got.encryption, 1);
  cr_expect_eq(got.mars, 1);
  cr_expect_str_eq(got.instance, "");
  tdsd_buf_fini(&in);
}

/* What the login samples say. */
static const struct {
  const char *name;
  uint32_t version;
  uint32_t packet_size;
  const char *host;
  const char *user;
  const char *app;
  const char *server;
  const char *library;
  const char *database;
  bool fedauth;
} logins[] = {
    {"02-login-request", TDSD_V72, 4096, "skostov1", "sa", "OSQL-32", "",
     "ODBC", "", false},
    {"16-login-session-recovery", TDSD_V74, 4096, "", "sa", "OSQL-32", "",
     "ODBC", "tempdb", false},
    {"20-login-azure", TDSD_V74, 8000, "ZLIN6CLIENT2", "cloudsa",
     ".Net SqlClient Data Provider",
     "e2f8876ad658.local.onebox.control.zlinheka6dev4.onebox.xdb.mscds.com,"
     "37008",
     ".Net SqlClient Data Provider", "testdb", false},
    {"03-login-request-fedauth", TDSD_V74, 4096, "DANBENED3-XGZUO", "",
     "SQLCMD", "cloud.dev.mscds.com,1435", "ODBC", "", true},
};

Test(golden, login_requests_hold_what_they_say, .timeout = 5) {
  for (size_t i = 0; i < sizeof logins / sizeof logins[0]; i++) {
    struct tdsd_buf in = load(logins[i].name);
    struct tdsd_login got;
    struct tdsd_problem problem = {""};
    tdsd_buf_consume(&in, TDSD_HEADER_BYTES);
    cr_assert_eq(
        tdsd_login_parse(tdsd_buf_at(&in), tdsd_buf_len(&in), &got, &problem),
        0, "%s: %s", logins[i].name, problem.text);
    cr_expect_eq(got.version, logins[i].version);
    cr_expect_eq(got.packet_size, logins[i].packet_size);
    cr_expect_str_eq(got.host, logins[i].host);
    cr_expect_str_eq(got.user, logins[i].user);
    cr_expect_str_eq(got.app, logins[i].app);
    cr_expect_str_eq(got.server, logins[i].server, "%s", got.server);
    cr_expect_str_eq(got.library, logins[i].library);
    cr_expect_str_eq(got.database, logins[i].database);
    cr_expect_eq(got.fedauth.asked, logins[i].fedauth);
    tdsd_login_wipe(&got);
    tdsd_buf_fini(&in);
  }
}

/* The samples of 4.6 and 4.8 carry a descriptor of 01 in its last byte. */
static void feed_sample(struct fixture *fixture, const char *name) {
  struct tdsd_buf in = load(name);
  fixture_login(fixture, TDSD_V74);
  fixture->session.state.descriptor = UINT64_C(1) << 56;
  cr_expect_eq(feed_all(&fixture->session, &in), 0);
  cr_expect_eq(atomic_load(&fixture->shared.counters.violations), 0, "%s: %s",
               name, fixture->log);
  tdsd_buf_fini(&in);
}

Test(golden, batch_of_4_6_is_answered_like_4_7, .timeout = 5) {
  struct fixture fixture;
  feed_sample(&fixture, "06-sql-batch");
  /* A column bar, its row foo, one row counted: as in 4.7, but for the flags
   * and that the text of a literal has an older length. */
  cr_expect(contains_hex(&fixture.session.out, "03 \"bar\""));
  cr_expect(contains_hex(&fixture.session.out, "D1 0300 666F6F"));
  cr_expect(
      contains_hex(&fixture.session.out, "FD 1000 C100 0100000000000000"));
  fixture_fini(&fixture);
}

Test(golden, rpc_of_4_8_calls_foo3_which_is_not_here, .timeout = 5) {
  struct fixture fixture;
  feed_sample(&fixture, "08-rpc-request");
  cr_expect(contains_hex(&fixture.session.out, "FC0A0000 \"\""), "2812");
  cr_expect(contains_hex(&fixture.session.out, "\"foo3\""));
  fixture_fini(&fixture);
}

Test(golden, attention_of_4_10_is_acknowledged, .timeout = 5) {
  struct fixture fixture;
  feed_sample(&fixture, "10-attention");
  cr_expect(contains_hex(&fixture.session.out, "FD 2000"));
  fixture_fini(&fixture);
}
