/* SPDX-License-Identifier: MIT */
/* What --strict-client refuses, and what every server lets pass. */
#include <criterion/criterion.h>

#include "server_const.h"
#include "server_manners.h"
#include "test_support.h"

#define HEADERS "16000000 12000000 0200 0000000000000000 01000000"

static void feed(struct fixture *fixture, const char *text) {
  struct tdsd_buf in = {0};
  tdsd_buf_clear(&fixture->session.out);
  hex(&in, text);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&in);
}

Test(manners, unwise_packets_pass_unless_strict, .timeout = 5) {
  static const struct {
    const char *bytes;
    const char *says;
  } cases[] = {
      {"01 01 0020 0033 01 00" HEADERS "2000", "session number"},
      {"01 01 0020 0000 02 00" HEADERS "2000", "count up from 1"},
      {"06 01 0008 0000 00 00", "count up from 1"},
      {"01 01 0020 0000 01 00 16000000 12000000 0200 0000000000000000 00000000"
       "2000",
       "outstanding requests is not 1"},
  };
  for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    bool strict = i % 2 != 0;
    fixture_login(&fixture, TDSD_V74);
    fixture.shared.manners.strict = strict;
    feed(&fixture, cases[i / 2].bytes);
    cr_expect_eq(fixture.session.phase == TDSD_PHASE_ENDED, strict, "%s",
                 cases[i / 2].says);
    cr_expect_eq(strstr(fixture.log, cases[i / 2].says) != NULL, strict, "%s",
                 fixture.log);
    fixture_fini(&fixture);
  }
}

Test(manners, packets_of_a_message_are_counted, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  fixture.shared.manners.strict = true;
  uint8_t body[4088] = {0};
  for (unsigned i = 22; i < sizeof body; i += 2) {
    body[i] = ' ';
  }
  hex(&in, HEADERS);
  memcpy(body, tdsd_buf_at(&in), 22);
  tdsd_buf_clear(&in);
  tdsd_packet_write(&in, TDSD_PKT_BATCH, 0, 0, 1, body, sizeof body);
  tdsd_packet_write(&in, TDSD_PKT_BATCH, TDSD_ST_EOM, 0, 2, body + 22, 8);
  (void)feed_all(&fixture.session, &in);
  cr_expect_eq(fixture.session.phase, TDSD_PHASE_READY, "%s", fixture.log);
  tdsd_buf_clear(&in);
  tdsd_packet_write(&in, TDSD_PKT_BATCH, 0, 0, 1, body, sizeof body);
  tdsd_packet_write(&in, TDSD_PKT_BATCH, TDSD_ST_EOM, 0, 1, body + 22, 8);
  (void)feed_all(&fixture.session, &in);
  cr_expect_eq(fixture.session.phase, TDSD_PHASE_ENDED);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(manners, login_needs_a_prelogin, .timeout = 5) {
  for (unsigned strict = 0; strict < 2; strict++) {
    struct fixture fixture;
    struct tdsd_buf in = {0};
    fixture_init(&fixture);
    fixture.shared.manners.strict = strict != 0;
    login_packet(&in, TDSD_V74, 4096);
    (void)feed_all(&fixture.session, &in);
    cr_expect_eq(fixture.session.phase,
                 strict ? TDSD_PHASE_ENDED : TDSD_PHASE_READY);
    tdsd_buf_fini(&in);
    fixture_fini(&fixture);
  }
}

Test(manners, requests_do_not_overlap, .timeout = 5) {
  for (unsigned strict = 0; strict < 2; strict++) {
    struct fixture fixture;
    struct tdsd_buf in = {0};
    fixture_login(&fixture, TDSD_V74);
    fixture.shared.manners.strict = strict != 0;
    fixture_batch(&fixture, "WAITFOR DELAY '00:00:01'");
    batch_packet(&in, TDSD_ST_EOM, 0, "SELECT 1");
    (void)feed_all(&fixture.session, &in);
    cr_expect_eq(fixture.session.phase,
                 strict ? TDSD_PHASE_ENDED : TDSD_PHASE_RUNNING);
    tdsd_buf_fini(&in);
    fixture_fini(&fixture);
  }
}

Test(manners, a_descriptor_of_the_past_is_stale, .timeout = 5) {
  for (unsigned strict = 0; strict < 2; strict++) {
    struct fixture fixture;
    struct tdsd_buf in = {0};
    fixture_login(&fixture, TDSD_V74);
    fixture.shared.manners.strict = strict != 0;
    fixture_batch(&fixture, "BEGIN TRAN");
    uint64_t past = fixture.session.state.descriptor;
    fixture_batch(&fixture, "COMMIT");
    tdsd_buf_clear(&fixture.session.out);
    batch_packet(&in, TDSD_ST_EOM, past, "SELECT 1");
    (void)feed_all(&fixture.session, &in);
    cr_expect_eq(contains_hex(&fixture.session.out, "950F0000 01 10"),
                 strict != 0);
    tdsd_buf_fini(&in);
    fixture_fini(&fixture);
  }
}

Test(manners, are_known_by_name, .timeout = 5) {
  struct tdsd_manners manners = {0};
  cr_assert(tdsd_manner_set(&manners, "handles-go-on", true));
  cr_assert(tdsd_manner_set(&manners, "isolation-resets", true));
  cr_assert(tdsd_manner_set(&manners, "strict-client", true));
  cr_assert(manners.handles_go_on);
  cr_assert(manners.isolation_resets);
  cr_assert(manners.strict);
  cr_assert(tdsd_manner_set(&manners, "strict-client", false));
  cr_assert_not(manners.strict);
  cr_assert_not(tdsd_manner_set(&manners, "nosuch", true));
}
