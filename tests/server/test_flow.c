/* SPDX-License-Identifier: MIT */
/* Large values: pieces, turns, and their end in the middle. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

/* Sends a batch and lets it have its first turn only. */
static void start(struct fixture *fixture, const char *sql) {
  struct tdsd_buf in = {0};
  tdsd_buf_clear(&fixture->session.out);
  batch_packet(&in, TDSD_ST_EOM, fixture->session.state.descriptor, sql);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&in);
}

/* The bodies of all packets in out. */
static void join(struct tdsd_buf *out, struct tdsd_buf *tokens) {
  while (tdsd_buf_len(out) >= TDSD_HEADER_BYTES) {
    size_t len = tdsd_get_u16be(tdsd_buf_at(out) + 2);
    tdsd_buf_bytes(tokens, tdsd_buf_at(out) + TDSD_HEADER_BYTES,
                   len - TDSD_HEADER_BYTES);
    tdsd_buf_consume(out, len);
  }
}

/* Joins the chunks of a value at at, whose length must be the one told, if one
 * was.  Returns where it ends. */
static size_t unchunk(const struct tdsd_buf *tokens,
                      size_t at,
                      struct tdsd_buf *value,
                      size_t *most) {
  const uint8_t *bytes = tdsd_buf_at(tokens);
  uint64_t told = tdsd_get_u64(bytes + at);
  at += 8;
  for (;;) {
    size_t len = tdsd_get_u32(bytes + at);
    at += 4;
    if (len == 0) {
      cr_assert(told == UINT64_MAX - 1 || told == tdsd_buf_len(value));
      return at;
    }
    *most = len > *most ? len : *most;
    tdsd_buf_bytes(value, bytes + at, len);
    at += len;
  }
}

/* Where the first row begins behind COLMETADATA of one column named c. */
static size_t row_at(const struct tdsd_buf *tokens) {
  const uint8_t wanted[] = {1, 'c', 0, TDSD_TOK_ROW};
  const uint8_t *found =
      memmem(tdsd_buf_at(tokens), tdsd_buf_len(tokens), wanted, sizeof wanted);
  cr_assert_not_null(found);
  return (size_t)(found - tdsd_buf_at(tokens)) + sizeof wanted;
}

Test(flow, a_large_value_comes_in_chunks_of_characters, .timeout = 10) {
  static const struct {
    const char *sql;
    size_t len;
    uint8_t first[4];
  } cases[] = {
      {"SELECT REPLICATE(CAST('abc' AS varchar(max)), 50000) AS c",
       150000,
       {'a', 'b', 'c', 'a'}},
      {"SELECT REPLICATE(CAST(N'ż日' AS nvarchar(max)), 50000) AS c",
       200000,
       {0x7C, 0x01, 0xE5, 0x65}},
      {"SELECT CAST(REPLICATE(CAST(N'ż日' AS nvarchar(max)), 50000) AS "
       "varchar(max)) AS c",
       100000,
       {'?', '?', '?', '?'}},
      {"DECLARE @m varchar(max) = REPLICATE(CAST('ab' AS varchar(max)), 40000) "
       "SELECT @m + @m AS c",
       160000,
       {'a', 'b', 'a', 'b'}},
      {"SELECT CAST(REPLICATE(CAST(N'żab' AS nvarchar(max)), 40000) COLLATE "
       "Polish_CI_AS AS varchar(max)) AS c",
       120000,
       {0xBF, 'a', 'b', 0xBF}},
      {"SELECT CAST(REPLICATE(CAST('ab' AS varchar(max)), 40000) AS xml) AS c",
       160000,
       {'a', 0, 'b', 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    struct tdsd_buf tokens = {0};
    struct tdsd_buf value = {0};
    size_t most = 0;
    fixture_login(&fixture, TDSD_V74);
    fixture_batch(&fixture, cases[i].sql);
    join(&fixture.session.out, &tokens);
    size_t end = unchunk(&tokens, row_at(&tokens), &value, &most);
    cr_expect_eq(tdsd_buf_len(&value), cases[i].len, "%s: %zu", cases[i].sql,
                 tdsd_buf_len(&value));
    cr_expect_arr_eq(tdsd_buf_at(&value), cases[i].first, 4, "%s",
                     cases[i].sql);
    for (size_t at = 12; at < tdsd_buf_len(&value); at++) {
      cr_assert_eq(tdsd_buf_at(&value)[at], tdsd_buf_at(&value)[at - 12]);
    }
    cr_expect_leq(most, 512 * 1024 + 16384);
    cr_expect_eq(tdsd_buf_at(&tokens)[end], TDSD_TOK_DONE);
    tdsd_buf_fini(&value);
    tdsd_buf_fini(&tokens);
    fixture_fini(&fixture);
  }
}

Test(flow, a_turn_is_short_however_large_the_value, .timeout = 10) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  start(&fixture,
        "SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 30000000) AS c");
  cr_assert(fixture.session.full);
  for (unsigned turn = 0; turn < 100; turn++) {
    cr_assert_lt(tdsd_buf_len(&fixture.session.out), 100000);
    tdsd_buf_clear(&fixture.session.out);
    tdsd_session_wake(&fixture.session, 1000);
    cr_assert(fixture.session.full);
  }
  fixture_fini(&fixture);
}

Test(flow, an_attention_ends_the_row_in_the_middle, .timeout = 10) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  struct tdsd_buf tokens = {0};
  struct tdsd_buf value = {0};
  size_t most = 0;
  fixture_login(&fixture, TDSD_V74);
  start(&fixture, "SELECT REPLICATE(CAST('x' AS varchar(max)), 60000000) AS c");
  hex(&in, "06 01 0008 0000 01 00");
  (void)feed_all(&fixture.session, &in);
  join(&fixture.session.out, &tokens);
  size_t end = unchunk(&tokens, row_at(&tokens), &value, &most);
  cr_expect_lt(tdsd_buf_len(&value), 600000);
  tdsd_buf_consume(&tokens, end);
  cr_expect(holds_hex(&tokens, "FD 0200 0000 0000000000000000"
                               "FD 2000 FD00 0000000000000000"));
  tdsd_buf_fini(&value);
  tdsd_buf_fini(&tokens);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(flow, what_is_behind_a_large_value_comes_too, .timeout = 10) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "SELECT NULL AS a, REPLICATE(CAST('x' AS varchar(max)), 70000) "
                "AS b, NULL AS d, 7 AS c");
  cr_assert(contains_hex(&fixture.session.out, "7878 00000000 07000000 FD"));
  cr_assert(contains_hex(&fixture.session.out, "D2 05 7011010000000000"));
  fixture_fini(&fixture);
}

Test(flow, lengths_are_counted_without_the_wire, .timeout = 10) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "SELECT LEN(REPLICATE(CAST('ab' AS varchar(max)), 1000000)), "
                "DATALENGTH(REPLICATE(CAST(N'ab' AS nvarchar(max)), 20000))");
  cr_assert(contains_hex(&fixture.session.out, "D1 04 80841E00 04 80380100"));
  fixture_batch(&fixture, "SELECT CAST(REPLICATE(CAST('ab' AS varchar(max)), "
                          "20000) AS text)");
  cr_assert(contains_hex(&fixture.session.out, "409C0000 6162"));
  fixture_fini(&fixture);
}
