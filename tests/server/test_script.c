/* SPDX-License-Identifier: MIT */
/* Scripts: what is read, how it is written on the wire, how it is played, and
 * what errors say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "server_script.h"
#include "test_support.h"

/* A session behind its login that plays a script. */
struct scripted {
  struct fixture fixture;
  struct tdsd_script *script;
};

static void play(struct scripted *scripted,
                 uint32_t version,
                 const char *text) {
  char why[300] = "";
  int rc = tdsd_script_parse("test", text, strlen(text), &scripted->script, why,
                             sizeof why);
  cr_assert_eq(rc, 0, "%s", why);
  fixture_login(&scripted->fixture, version);
  scripted->fixture.shared.script = scripted->script;
}

static void stop(struct scripted *scripted) {
  fixture_fini(&scripted->fixture);
  tdsd_script_drop(scripted->script);
}

/* Plays one rule for a batch and compares the reply's tokens. */
static void assert_reply(uint32_t version,
                         const char *actions,
                         const char *tokens) {
  struct scripted scripted;
  char text[4096];
  (void)snprintf(text, sizeof text, "when batch {\n%s\n}", actions);
  play(&scripted, version, text);
  fixture_batch(&scripted.fixture, "x");
  struct tdsd_buf *out = &scripted.fixture.session.out;
  tdsd_buf_consume(out, TDSD_HEADER_BYTES);
  cr_assert(holds_hex(out, tokens), "%s", actions);
  stop(&scripted);
}

static void assert_row(const char *type, const char *value, const char *bytes) {
  char actions[1024];
  char tokens[2048];
  struct scripted scripted;
  (void)snprintf(actions, sizeof actions,
                 "when batch \"x\" {\ncolumns %s\nplainrow %s\n}", type, value);
  (void)snprintf(tokens, sizeof tokens, "D1 %s", bytes);
  play(&scripted, TDSD_V74, actions);
  fixture_batch(&scripted.fixture, "x");
  struct tdsd_buf *out = &scripted.fixture.session.out;
  struct tdsd_buf expected = {0};
  hex(&expected, tokens);
  size_t len = tdsd_buf_len(&expected);
  cr_assert_geq(tdsd_buf_len(out), len, "%s %s", type, value);
  tdsd_buf_consume(out, tdsd_buf_len(out) - len);
  cr_assert(holds_hex(out, tokens), "%s %s", type, value);
  tdsd_buf_fini(&expected);
  stop(&scripted);
}

static void assert_type(const char *type, const char *bytes) {
  char actions[256];
  char tokens[1024];
  (void)snprintf(actions, sizeof actions, "columns %s", type);
  (void)snprintf(tokens, sizeof tokens, "81 01 00 00 00 00 00 %s 00", bytes);
  assert_reply(TDSD_V74, actions, tokens);
}

static void assert_error(const char *text, const char *expected) {
  struct tdsd_script *script = NULL;
  char why[300] = "";
  int rc =
      tdsd_script_parse("test", text, strlen(text), &script, why, sizeof why);
  cr_assert_eq(rc, -1, "%s", text);
  cr_assert_str_eq(why, expected);
}

Test(script, writes_the_type_info_of_every_type, .timeout = 10) {
  static const struct {
    const char *type;
    const char *bytes;
  } cases[] = {
      {"bit", "00 00 32"},
      {"tinyint", "00 00 30"},
      {"smallint", "00 00 34"},
      {"int", "00 00 38"},
      {"bigint", "00 00 7F"},
      {"real", "00 00 3B"},
      {"float", "00 00 3E"},
      {"money", "00 00 3C"},
      {"smallmoney", "00 00 7A"},
      {"datetime", "00 00 3D"},
      {"smalldatetime", "00 00 3A"},
      {"bit null", "01 00 68 01"},
      {"int null", "01 00 26 04"},
      {"intn(8)", "00 00 26 08"},
      {"float null", "01 00 6D 08"},
      {"moneyn(4)", "00 00 6E 04"},
      {"datetimn(4)", "00 00 6F 04"},
      {"guid", "00 00 24 10"},
      {"decimal(9,2)", "00 00 6A 05 09 02"},
      {"numeric(19,4)", "00 00 6C 09 13 04"},
      {"decimal(28)", "00 00 6A 0D 1C 00"},
      {"decimal(38,38)", "00 00 6A 11 26 26"},
      {"date", "00 00 28"},
      {"time(3)", "00 00 29 03"},
      {"datetime2", "00 00 2A 07"},
      {"datetimeoffset(0)", "00 00 2B 00"},
      {"varchar(20)", "00 00 A7 14 00 09 04 D0 00 34"},
      {"char(3) collation=0x1904000000", "00 00 AF 03 00 19 04 00 00 00"},
      {"nvarchar(20)", "00 00 E7 28 00 09 04 D0 00 34"},
      {"nchar(4)", "00 00 EF 08 00 09 04 D0 00 34"},
      {"varbinary(8)", "00 00 A5 08 00"},
      {"binary(2)", "00 00 AD 02 00"},
      {"varchar(max)", "00 00 A7 FF FF 09 04 D0 00 34"},
      {"nvarchar(max)", "00 00 E7 FF FF 09 04 D0 00 34"},
      {"varbinary(max)", "00 00 A5 FF FF"},
      {"sql_variant", "00 00 62 49 1F 00 00"},
      {"xml", "00 00 F1 00"},
      {"xml(\"d\", \"o\", \"c\")", "00 00 F1 01 01 64 00 01 6F 00 01 00 63 00"},
      {"udt(\"d\", \"o\", \"t\", \"a\")",
       "00 00 F0 FF FF 01 64 00 01 6F 00 01 74 00 01 00 61 00"},
      {"json", "00 00 F4"},
      {"vector(2)", "00 00 F5 10 00 00"},
      {"null", "00 00 1F"},
      {"oldvarchar(5)", "00 00 27 05"},
      {"oldchar(5)", "00 00 2F 05"},
      {"oldvarbinary(5)", "00 00 25 05"},
      {"oldbinary(5)", "00 00 2D 05"},
      {"olddecimal(5,1)", "00 00 37 05 05 01"},
      {"oldnumeric(5,1)", "00 00 3F 05 05 01"},
      {"raw(0x7B01)", "00 00 7B 01"},
      {"int flags=0x4010 usertype=0", "10 40 38"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char actions[256];
    char tokens[512];
    (void)snprintf(actions, sizeof actions, "columns %s", cases[i].type);
    (void)snprintf(tokens, sizeof tokens, "81 01 00 00 00 00 00 %s 00",
                   cases[i].bytes);
    assert_reply(TDSD_V74, actions, tokens);
  }
}

Test(script, writes_old_blobs_with_the_name_of_their_table, .timeout = 5) {
  assert_type("text table=\"a.b\"", "00 00 23 FF FF FF 7F 09 04 D0 00 34 "
                                    "02 01 00 61 00 01 00 62 00");
  assert_type("image table=\"t\"", "00 00 22 FF FF FF 7F 01 01 00 74 00");
}

Test(script, writes_values_of_every_type, .timeout = 10) {
  static const struct {
    const char *type;
    const char *value;
    const char *bytes;
  } cases[] = {
      {"bit", "1", "01"},
      {"tinyint", "255", "FF"},
      {"smallint", "-2", "FE FF"},
      {"int", "-2147483648", "00 00 00 80"},
      {"bigint", "1", "01 00 00 00 00 00 00 00"},
      {"real", "1.5", "00 00 C0 3F"},
      {"float", "-2", "00 00 00 00 00 00 00 C0"},
      {"float", "neginf", "00 00 00 00 00 00 F0 FF"},
      {"real", "nan", "00 00 C0 7F"},
      {"money", "1.0001", "00 00 00 00 11 27 00 00"},
      {"smallmoney", "-0.0001", "FF FF FF FF"},
      {"datetime", "\"1900-01-02 00:00:01\"", "01 00 00 00 2C 01 00 00"},
      {"smalldatetime", "\"1900-01-01 00:05\"", "00 00 05 00"},
      {"int null", "null", "00"},
      {"int null", "7", "04 07 00 00 00"},
      {"intn(1)", "7", "01 07"},
      {"guid", "\"00112233-4455-6677-8899-AABBCCDDEEFF\"",
       "10 33 22 11 00 55 44 77 66 88 99 AA BB CC DD EE FF"},
      {"decimal(5,2)", "-1.25", "05 00 7D 00 00 00"},
      {"date", "\"0001-01-02\"", "03 01 00 00"},
      {"time(0)", "\"00:01:00\"", "03 3C 00 00"},
      {"time(7)", "\"00:00:00.0000001\"", "05 01 00 00 00 00"},
      {"datetime2(0)", "\"0001-01-01 00:00:01\"", "06 01 00 00 00 00 00"},
      {"datetimeoffset(0)", "\"0001-01-02 01:00:00 +01:00\"",
       "08 00 00 00 01 00 00 3C 00"},
      {"varchar(5)", "\"ab\"", "02 00 61 62"},
      {"varchar(5)", "\"\\u20ac\"", "01 00 80"},
      {"varchar(5) collation=0x1904000000", "\"\\u042f\"", "01 00 DF"},
      {"varchar(5) collation=0x1104000000", "\"\\u3042\"", "02 00 82 A0"},
      {"varchar(5) collation=0x0904100400", "\"\\u20ac\"", "03 00 E2 82 AC"},
      {"varchar(5)", "null", "FF FF"},
      {"varchar(5)", "\"\"", "00 00"},
      {"nvarchar(5)", "\"a\\uD800\"", "04 00 61 00 00 D8"},
      {"varbinary(5)", "0x0102", "02 00 01 02"},
      {"varchar(max)", "null", "FF FF FF FF FF FF FF FF"},
      {"varchar(max)", "\"\"", "00 00 00 00 00 00 00 00 00 00 00 00"},
      {"varchar(max)", "\"ab\"",
       "02 00 00 00 00 00 00 00 02 00 00 00 61 62 00 00 00 00"},
      {"varchar(max)", "plp(\"abc\", unknown, chunk=2)",
       "FE FF FF FF FF FF FF FF 02 00 00 00 61 62 01 00 00 00 63 00 00 00 00"},
      {"varbinary(max)", "plp(0x01, total=5, noend)",
       "05 00 00 00 00 00 00 00 01 00 00 00 01"},
      {"varbinary(max)", "rep(0x0102, 2)",
       "04 00 00 00 00 00 00 00 04 00 00 00 01 02 01 02 00 00 00 00"},
      {"image", "null", "00"},
      {"sql_variant", "null", "00 00 00 00"},
      {"sql_variant", "variant(int, 5)", "06 00 00 00 38 00 05 00 00 00"},
      {"sql_variant", "variant(decimal(5,2), 1)",
       "15 00 00 00 6A 02 05 02 01 64 00 00 00 00 00 00 00 00 00 00 00 00 00 "
       "00 00"},
      {"sql_variant", "variant(decimal(5,2), 0x0164000000)",
       "09 00 00 00 6A 02 05 02 01 64 00 00 00"},
      {"sql_variant", "variant(nvarchar(4), \"a\")",
       "0B 00 00 00 E7 07 09 04 D0 00 34 08 00 61 00"},
      {"sql_variant", "variant(varbinary(4), 0x01)",
       "05 00 00 00 A5 02 04 00 01"},
      {"sql_variant", "variant(time(3), \"00:00:00.001\")",
       "07 00 00 00 29 01 03 01 00 00 00"},
      {"sql_variant", "variant(date, \"0001-01-02\")",
       "05 00 00 00 28 00 01 00 00"},
      {"xml", "\"a\"",
       "04 00 00 00 00 00 00 00 04 00 00 00 FF FE 61 00 00 00 00 00"},
      {"json", "\"{}\"",
       "02 00 00 00 00 00 00 00 02 00 00 00 7B 7D 00 00 00 00"},
      {"vector(1)", "[1]", "0C 00 A9 01 01 00 00 00 00 00 00 00 80 3F"},
      {"int", "raw(0x01)", "01"},
      {"rowversion", "0x0000000000000001", "08 00 00 00 00 00 00 00 00 01"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_row(cases[i].type, cases[i].value, cases[i].bytes);
  }
}

Test(script,
     chooses_a_bitmap_for_nulls_where_the_client_knows_it,
     .timeout = 5) {
  const char *actions = "columns int null, int null\nrow null, 1\nrow 2, 3";
  const char *head = "81 02 00 00 00 00 00 01 00 26 04 00 "
                     "00 00 00 00 01 00 26 04 00 ";
  char tokens[512];
  (void)snprintf(tokens, sizeof tokens, "%s %s", head,
                 "D2 01 04 01 00 00 00 D1 04 02 00 00 00 04 03 00 00 00");
  assert_reply(TDSD_V74, actions, tokens);
  (void)snprintf(tokens, sizeof tokens, "%s %s", head,
                 "D1 00 04 01 00 00 00 D1 04 02 00 00 00 04 03 00 00 00");
  assert_reply(TDSD_V73A, actions, tokens);
}

Test(script, forces_the_form_of_a_row, .timeout = 5) {
  assert_reply(TDSD_V74, "columns int null\nplainrow null\nnbcrow 1",
               "81 01 00 00 00 00 00 01 00 26 04 00 D1 00 "
               "D2 00 04 01 00 00 00");
}

Test(script, writes_tokens, .timeout = 10) {
  static const struct {
    const char *action;
    const char *bytes;
  } cases[] = {
      {"done", "FD 00 00 00 00 00 00 00 00 00 00 00 00"},
      {"done 0x10 2", "FD 10 00 00 00 02 00 00 00 00 00 00 00"},
      {"doneproc more error rows=1 cmd=select",
       "FE 13 00 C1 00 01 00 00 00 00 00 00 00"},
      {"doneinproc attn srverror", "FF 20 01 00 00 00 00 00 00 00 00 00 00"},
      {"returnstatus -1", "79 FF FF FF FF"},
      {"order 1, 2", "A9 04 00 01 00 02 00"},
      {"tabname \"a.b\"", "A4 09 00 02 01 00 61 00 01 00 62 00"},
      {"colinfo 1 1 8, 2 1 0x20 \"x\"", "A5 09 00 01 01 08 02 01 20 01 78 00"},
      {"info 1 class=2 state=3 line=4 server=\"s\" proc=\"p\" \"t\"",
       "AB 14 00 01 00 00 00 03 02 01 00 74 00 01 73 00 01 70 00 04 00 00 00"},
      {"error -1 server=\"\"",
       "AA 0E 00 FF FF FF FF 01 10 00 00 00 00 01 00 00 00"},
      {"env database \"a\" \"b\"", "E3 07 00 01 01 61 00 01 62 00"},
      {"env begin 5", "E3 0B 00 08 08 05 00 00 00 00 00 00 00 00"},
      {"env rollback 5", "E3 0B 00 0A 00 08 05 00 00 00 00 00 00 00"},
      {"env reset", "E3 03 00 12 00 00"},
      {"env collation 0x0904D00034", "E3 08 00 07 05 09 04 D0 00 34 00"},
      {"env routing \"h\" 1433",
       "E3 0C 00 14 07 00 00 99 05 01 00 68 00 00 00"},
      {"env promote 0xAB", "E3 01 00 0F 01 00 00 00 AB 00"},
      {"env 99 0x01 0x02", "E3 05 00 63 01 01 01 02"},
      {"featureack 10 0x01, 2", "AE 0A 01 00 00 00 01 02 00 00 00 00 FF"},
      {"sessionstate 1 1 9 0x0102",
       "E4 09 00 00 00 01 00 00 00 01 09 02 01 02"},
      {"sspi 0x0102", "ED 02 00 01 02"},
      {"fedauthinfo \"u\" \"s\"",
       "EE 1A 00 00 00 02 00 00 00 01 02 00 00 00 16 00 00 00 "
       "02 02 00 00 00 18 00 00 00 75 00 73 00"},
      {"loginack version=0x74000004 server=0x10000001 \"T\"",
       "AD 0C 00 01 74 00 00 04 01 54 00 10 00 00 01"},
      {"hex AB 'ab' \"c\"", "AB 61 62 63 00"},
      {"returnvalue int null ordinal=3 status=2 \"@a\" = 5",
       "AC 03 00 02 40 00 61 00 02 00 00 00 00 01 00 26 04 04 05 00 00 00"},
      {"columns none", "81 FF FF"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_reply(TDSD_V74, cases[i].action, cases[i].bytes);
  }
}

Test(script, writes_the_layout_of_7_1_for_its_clients, .timeout = 5) {
  assert_reply(TDSD_V71, "columns int \"a\"; row 1; done rows=1",
               "81 01 00 00 00 00 00 38 01 61 00 D1 01 00 00 00 "
               "FD 10 00 00 00 01 00 00 00");
  assert_reply(TDSD_V71, "info 1 server=\"\"",
               "AB 0C 00 01 00 00 00 01 00 00 00 00 00 01 00");
}

Test(script, repeats_in_repeats, .timeout = 5) {
  assert_reply(TDSD_V74, "repeat 2 { hex 01; repeat 3 { hex 02 } }",
               "01 02 02 02 01 02 02 02");
  assert_reply(TDSD_V74, "repeat 0 { hex 01 }\nhex 02", "02");
}

Test(script, cuts_packets_and_messages_where_it_is_told, .timeout = 5) {
  struct scripted scripted;
  play(&scripted, TDSD_V74,
       "when batch { hex 01; packet; hex 02; eom; hex 03 }");
  fixture_batch(&scripted.fixture, "x");
  cr_assert(holds_hex(&scripted.fixture.session.out,
                      "04 00 00 09 00 33 01 00 01 04 01 00 09 00 33 02 00 02 "
                      "04 01 00 09 00 33 01 00 03"));
  cr_assert_eq(scripted.fixture.session.phase, TDSD_PHASE_READY);
  stop(&scripted);
}

Test(script, waits_for_its_delay_and_goes_on, .timeout = 5) {
  struct scripted scripted;
  struct tdsd_session *session = &scripted.fixture.session;
  play(&scripted, TDSD_V74, "when batch { hex 01; packet; delay 5; hex 02 }");
  fixture_batch(&scripted.fixture, "x");
  cr_assert(holds_hex(&session->out, "04 00 00 09 00 33 01 00 01"));
  cr_assert_neq(session->wake_ns, 0);
  tdsd_buf_clear(&session->out);
  tdsd_session_wake(session, session->wake_ns);
  cr_assert(holds_hex(&session->out, "04 01 00 09 00 33 02 00 02"));
  stop(&scripted);
}

Test(script, closes_and_resets, .timeout = 5) {
  struct scripted scripted;
  play(&scripted, TDSD_V74, "when batch { hex 01; close }");
  fixture_batch(&scripted.fixture, "x");
  cr_assert(
      holds_hex(&scripted.fixture.session.out, "04 00 00 09 00 33 01 00 01"));
  cr_assert_eq(scripted.fixture.session.phase, TDSD_PHASE_ENDED);
  cr_assert(!scripted.fixture.session.abort);
  stop(&scripted);
  play(&scripted, TDSD_V74, "when batch { reset }");
  fixture_batch(&scripted.fixture, "x");
  cr_assert(scripted.fixture.session.abort);
  stop(&scripted);
}

Test(script, changes_the_state_of_the_session, .timeout = 5) {
  struct scripted scripted;
  struct tdsd_state *state = &scripted.fixture.session.state;
  play(&scripted, TDSD_V74,
       "when batch { state descriptor=9; state database=\"test\"\n"
       "state isolation=4; state language=\"Deutsch\" }");
  fixture_batch(&scripted.fixture, "x");
  cr_assert_eq(state->descriptor, 9);
  cr_assert_eq(state->tran_count, 1);
  cr_assert_eq(state->isolation, 4);
  cr_assert_str_eq(state->database, "test");
  cr_assert_str_eq(state->language, "Deutsch");
  stop(&scripted);
}

Test(script, passes_on_to_the_server_behind_what_it_said, .timeout = 5) {
  struct scripted scripted;
  play(&scripted, TDSD_V74, "when batch { info 1 \"first\"; pass }");
  fixture_batch(&scripted.fixture, "SELECT 7 AS a");
  struct tdsd_buf *out = &scripted.fixture.session.out;
  cr_assert(contains_hex(out, "\"first\""));
  cr_assert(contains_hex(out, "D1 07 00 00 00"));
  cr_assert_eq(scripted.fixture.session.phase, TDSD_PHASE_READY);
  stop(&scripted);
}

Test(script, answers_a_reset_first_unless_it_is_its_own_matter, .timeout = 5) {
  struct scripted scripted;
  struct tdsd_session *session = &scripted.fixture.session;
  struct tdsd_buf in = {0};
  play(&scripted, TDSD_V74,
       "when batch \"a\" { hex 01 }\n"
       "when batch reset=8 ownreset { hex 02 }");
  tdsd_buf_clear(&session->out);
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET, 0, "a");
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET, 0, "b");
  batch_packet(&in, TDSD_ST_EOM, 0, "SELECT 1");
  cr_assert_eq(feed_all(session, &in), 0);
  cr_assert(contains_hex(&session->out, "01 00 E3 03 00 12 00 00 01"));
  cr_assert(contains_hex(&session->out, "04 01 00 09 00 33 01 00 02"));
  tdsd_buf_fini(&in);
  stop(&scripted);
}

Test(script, matches_texts_exactly_by_prefix_and_by_pattern, .timeout = 5) {
  static const struct {
    const char *when;
    const char *text;
    bool fits;
  } cases[] = {
      {"\"SELECT 1\"", "SELECT 1", true},
      {"\"SELECT 1\"", "SELECT 1 \r\n", true},
      {"\"SELECT 1\"", "select 1", false},
      {"nocase \"SELECT 1\"", "select 1", true},
      {"\"SELECT 1\"", "SELECT 12", false},
      {"prefix \"SELECT\"", "SELECT 12", true},
      {"prefix \"SELECT\"", "SELEC", false},
      {"glob \"*FROM t?\"", "SELECT a FROM b, c FROM t1", true},
      {"glob \"*FROM t?\"", "SELECT a FROM t", false},
      {"glob \"a*b*c\"", "abbbxcxc", true},
      {"glob \"*\"", "", true},
      {"conn=1", "x", true},
      {"conn=2", "x", false},
      {"msg=1", "x", true},
      {"msg=2", "x", false},
      {"reset=8", "x", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct scripted scripted;
    char text[128];
    (void)snprintf(text, sizeof text, "when batch %s { hex 99 }",
                   cases[i].when);
    play(&scripted, TDSD_V74, text);
    scripted.fixture.session.number = 1;
    fixture_batch(&scripted.fixture, cases[i].text);
    bool taken = contains_hex(&scripted.fixture.session.out,
                              "04 01 00 09 00 33 01 00 99");
    cr_assert_eq(taken, cases[i].fits, "%s", cases[i].when);
    stop(&scripted);
  }
}

Test(script, applies_a_rule_only_as_often_as_it_says, .timeout = 5) {
  struct scripted scripted;
  struct tdsd_buf *out = &scripted.fixture.session.out;
  play(&scripted, TDSD_V74,
       "when batch first=2 { hex 01 }\nwhen batch { hex 02 }");
  static const char *const ends[] = {"01", "01", "02"};
  for (int i = 0; i < 3; i++) {
    fixture_batch(&scripted.fixture, "x");
    cr_assert(contains_hex(out, ends[i]));
    tdsd_buf_consume(out, TDSD_HEADER_BYTES);
    cr_assert(holds_hex(out, ends[i]), "turn %d", i);
  }
  stop(&scripted);
}

Test(script, matches_calls_by_name_and_by_number, .timeout = 5) {
  /* sp_executesql by number and by name, with its statement. */
  static const char *const calls[] = {
      "FF FF 0A 00 00 00 00 00 E7 04 00 09 04 D0 00 34 02 00 \"q\"",
      "0D 00 \"sp_executesql\" 00 00 00 00 E7 04 00 09 04 D0 00 34 02 00 \"q\"",
  };
  static const char *const rules[] = {"rpc sp_executesql", "rpc 10",
                                      "rpc \"q\"", "any"};
  for (size_t i = 0; i < 8; i++) {
    struct scripted scripted;
    struct tdsd_buf body = {0};
    struct tdsd_buf in = {0};
    char text[128];
    (void)snprintf(text, sizeof text, "when %s { hex 99 }", rules[i / 2]);
    play(&scripted, TDSD_V74, text);
    hex(&body, "16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 00 "
               "01 00 00 00");
    hex(&body, calls[i % 2]);
    tdsd_packet_write(&in, TDSD_PKT_RPC, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&body),
                      tdsd_buf_len(&body));
    tdsd_buf_clear(&scripted.fixture.session.out);
    cr_assert_eq(feed_all(&scripted.fixture.session, &in), 0);
    cr_assert(
        holds_hex(&scripted.fixture.session.out, "04 01 00 09 00 33 01 00 99"),
        "%s %zu", text, i);
    tdsd_buf_fini(&body);
    tdsd_buf_fini(&in);
    stop(&scripted);
  }
}

Test(script, answers_an_attention_instead_of_the_server, .timeout = 5) {
  struct scripted scripted;
  struct tdsd_session *session = &scripted.fixture.session;
  struct tdsd_buf in = {0};
  play(&scripted, TDSD_V74,
       "when batch { delay 1000; hex 01 }\nwhen attention { done attn }");
  fixture_batch(&scripted.fixture, "x");
  tdsd_packet_write(&in, TDSD_PKT_ATTENTION, TDSD_ST_EOM, 0, 1, NULL, 0);
  cr_assert_eq(feed_all(session, &in), 0);
  cr_assert(holds_hex(&session->out, "04 01 00 15 00 33 01 00 "
                                     "FD 20 00 00 00 00 00 00 00 00 00 00 00"));
  cr_assert_eq(session->phase, TDSD_PHASE_READY);
  cr_assert_eq(session->wake_ns, 0);
  tdsd_buf_fini(&in);
  stop(&scripted);
}

Test(script, says_what_it_expected_where, .timeout = 5) {
  assert_error("wen batch {}", "test:1:1: expected when, found 'wen'");
  assert_error("when badge {}",
               "test:1:6: expected any, prelogin, login, batch, rpc, tm, bulk, "
               "attention or ignored, found 'badge'");
  assert_error("when batch {\n  columns in \"a\"\n}",
               "test:2:11: expected a type such as int or nvarchar(20), found "
               "'in'");
  assert_error("when batch {\n\n  row 1 }",
               "test:3:7: expected columns before a row");
  assert_error("when batch { columns int; row null }",
               "test:1:31: expected a value, because int is not nullable in a "
               "plain row, found null");
  assert_error("when batch { columns int, int; row 1 }",
               "test:1:38: expected ',', found '}'");
  assert_error("when batch { columns int; row 1, 2 }",
               "test:1:32: expected the end of the row behind 1 values, found "
               "','");
  assert_error("when batch { done more or }",
               "test:1:24: expected a number from 0 to 65535, found 'or'");
  assert_error("when batch { hex 0G }",
               "test:1:18: expected two hexadecimal digits, \"text\" or "
               "'text', found '0G'");
  assert_error("when batch { info 1 \"open }",
               "test:1:21: expected \" at the end of the string");
  assert_error("when batch { info 1 \"\\q\" }",
               "test:1:21: expected \\n \\r \\t \\0 \\\\ \\\" \\xHH \\uHHHH or "
               "\\UHHHHHH in a string, found \\q");
  assert_error("when batch { repeat 2 { done }",
               "test:1:31: expected an action or }, found the end of the file");
  assert_error("when batch { columns decimal(39,0) }",
               "test:1:30: expected a number from 1 to 38, found '39'");
  assert_error("when batch { columns intn(3) }",
               "test:1:27: expected a width that the type has, found '3'");
  assert_error("when batch conn=0 {}",
               "test:1:17: expected a number from 1 to 4294967295, found '0'");
  assert_error("when batch { columns varchar(max); row rep(rep(\"a\", 2), 2) }",
               "test:1:44: expected a value of type varchar, 0x.., or null, "
               "found 'rep'");
  assert_error("when batch { ? }",
               "test:1:14: expected a word, a number, a string or a sign, "
               "found byte 0x3f");
  assert_error("when batch { columns sql_variant; row variant(xml, \"a\") }",
               "test:1:47: expected a type that sql_variant can hold, found "
               "'xml'");
}

Test(script, reads_the_examples, .timeout = 20) {
  static const char *const names[] = {"types", "tokens", "login", "control"};
  /* One thread only.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *source = getenv("WEIR_SOURCE_DIR");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct tdsd_script *script = NULL;
    char path[512];
    char why[300] = "";
    (void)snprintf(path, sizeof path, "%s/tests/server/scripts/%s.tds",
                   source != NULL ? source : ".", names[i]);
    cr_assert_eq(tdsd_script_load(path, &script, why, sizeof why), 0, "%s",
                 why);
    tdsd_script_drop(script);
  }
}

Test(script, names_a_file_that_cannot_be_read, .timeout = 5) {
  struct tdsd_script *script = NULL;
  char why[300] = "";
  cr_assert_eq(tdsd_script_load("/nowhere/x.tds", &script, why, sizeof why),
               -1);
  cr_assert_str_eq(why, "/nowhere/x.tds: No such file or directory");
}
