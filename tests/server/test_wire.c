/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

/* Adds the packets in text to a joiner; returns what the last one gave. */
static enum tdsd_joined join(struct tdsd_joiner *joiner,
                             const char *text,
                             struct tdsd_problem *problem) {
  struct tdsd_buf in = {0};
  enum tdsd_joined result = TDSD_JOIN_BAD;
  hex(&in, text);
  struct tdsd_packet packet;
  while (tdsd_packet_parse(tdsd_buf_at(&in), tdsd_buf_len(&in), &packet,
                           problem) == 1) {
    result = tdsd_joiner_add(joiner, &packet, problem);
    tdsd_buf_consume(&in, packet.length);
    if (tdsd_buf_len(&in) == 0) {
      break;
    }
  }
  tdsd_buf_fini(&in);
  return result;
}

Test(wire, a_header_is_read_field_by_field, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_packet packet;
  struct tdsd_problem problem;
  hex(&in, "01 09 000A 0033 07 00 AABB");
  cr_assert_eq(tdsd_packet_parse(tdsd_buf_at(&in), 10, &packet, &problem), 1);
  cr_assert_eq(packet.type, TDSD_PKT_BATCH);
  cr_assert_eq(packet.status, TDSD_ST_EOM | TDSD_ST_RESET);
  cr_assert_eq(packet.length, 10);
  cr_assert_eq(packet.spid, 0x33);
  cr_assert_eq(packet.id, 7);
  cr_assert_eq(packet.body[1], 0xBB);
  tdsd_buf_fini(&in);
}

Test(wire, a_packet_is_awaited_byte_by_byte, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_packet packet;
  struct tdsd_problem problem;
  hex(&in, "01 01 000A 0000 01 00 AABB");
  for (size_t n = 0; n < 10; n++) {
    cr_assert_eq(tdsd_packet_parse(tdsd_buf_at(&in), n, &packet, &problem), 0);
  }
  tdsd_buf_fini(&in);
}

Test(wire, every_broken_header_is_named, .timeout = 5) {
  static const struct {
    const char *bytes;
    const char *says;
  } cases[] = {
      {"04 01 0008 0000 01 00", "packet type 0x04"},
      {"02 01 0008 0000 01 00", "packet type 0x02"},
      {"01 01 0007 0000 01 00", "length 7"},
      {"01 01 8000 0000 01 00", "length 32768"},
      {"01 01 0008 0000 01 05", "window is 5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_buf in = {0};
    struct tdsd_packet packet;
    struct tdsd_problem problem = {""};
    hex(&in, cases[i].bytes);
    cr_assert_eq(tdsd_packet_parse(tdsd_buf_at(&in), 8, &packet, &problem), -1);
    cr_assert_not_null(strstr(problem.text, cases[i].says), "%s", problem.text);
    tdsd_buf_fini(&in);
  }
}

Test(wire, packets_join_to_a_message, .timeout = 5) {
  struct tdsd_joiner joiner = {0};
  struct tdsd_problem problem;
  enum tdsd_joined got = join(&joiner,
                              "01 08 000A 0000 01 00 AABB"
                              "01 01 0009 0000 02 00 CC",
                              &problem);
  cr_assert_eq(got, TDSD_JOIN_MESSAGE);
  cr_assert(holds_hex(&joiner.message, "AABBCC"));
  cr_assert_eq(joiner.reset, TDSD_ST_RESET);
  tdsd_joiner_fini(&joiner);
}

Test(wire, a_packet_may_say_that_more_follows, .timeout = 5) {
  struct tdsd_joiner joiner = {0};
  struct tdsd_problem problem;
  enum tdsd_joined got = join(&joiner,
                              "01 04 000A 0000 01 00 AABB"
                              "01 01 0009 0000 02 00 CC",
                              &problem);
  cr_assert_eq(got, TDSD_JOIN_MESSAGE);
  cr_assert(holds_hex(&joiner.message, "AABBCC"));
  tdsd_joiner_fini(&joiner);
}

Test(wire, every_broken_rule_of_messages_is_named, .timeout = 5) {
  static const struct {
    uint32_t size;
    const char *packets;
    const char *says;
  } cases[] = {
      {0, "01 21 0008 0000 01 00", "unknown bits"},
      {0, "01 05 0008 0000 01 00", "unknown bits"},
      {0, "01 02 0008 0000 01 00", "IGNORE on a packet without EOM"},
      {0, "01 19 0008 0000 01 00", "both reset bits"},
      {0, "10 09 0008 0000 01 00", "a reset bit on a LOGIN7"},
      {0, "01 00 0008 0000 01 00 01 09 0008 0000 01 00", "not the first"},
      {0, "01 00 0008 0000 01 00 03 01 0008 0000 01 00", "inside a SQL batch"},
      {512, "01 00 0008 0000 01 00", "must have 512"},
      {0, "06 01 0009 0000 01 00 00", "attention of 9 bytes"},
      {0, "06 00 0008 0000 01 00", "attention of 8 bytes with status 0x00"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_joiner joiner = {.packet_size = cases[i].size};
    struct tdsd_problem problem = {""};
    cr_assert_eq(join(&joiner, cases[i].packets, &problem), TDSD_JOIN_BAD);
    cr_assert_not_null(strstr(problem.text, cases[i].says), "%s", problem.text);
    tdsd_joiner_fini(&joiner);
  }
}

Test(wire, a_message_over_its_cap_is_refused, .timeout = 5) {
  struct tdsd_joiner joiner = {0};
  struct tdsd_problem problem = {""};
  uint8_t body[4088] = {0};
  struct tdsd_packet packet = {
      .type = TDSD_PKT_PRELOGIN, .length = 4096, .body = body};
  cr_assert_eq(tdsd_joiner_add(&joiner, &packet, &problem), TDSD_JOIN_MORE);
  cr_assert_eq(tdsd_joiner_add(&joiner, &packet, &problem), TDSD_JOIN_BAD);
  cr_assert_not_null(strstr(problem.text, "more than 4096 bytes"));
  tdsd_joiner_fini(&joiner);
}

Test(wire, an_attention_drops_the_message_it_cuts, .timeout = 5) {
  struct tdsd_joiner joiner = {0};
  struct tdsd_problem problem;
  cr_assert_eq(join(&joiner, "01 00 000A 0000 01 00 AABB", &problem),
               TDSD_JOIN_MORE);
  cr_assert_eq(join(&joiner, "06 01 0008 0000 01 00", &problem),
               TDSD_JOIN_ATTENTION);
  cr_assert_not(joiner.open);
  tdsd_joiner_fini(&joiner);
}

Test(wire, a_reply_is_cut_at_the_packet_size, .timeout = 5) {
  struct tdsd_buf reply = {0};
  struct tdsd_buf out = {0};
  uint8_t id = 0;
  hex(&reply, "0102030405");
  tdsd_packets_write(&out, &reply, 10, 0x33, &id, false);
  cr_assert(holds_hex(&out, "04 00 000A 0033 01 00 0102"
                            "04 00 000A 0033 02 00 0304"));
  tdsd_packets_write(&out, &reply, 10, 0x33, &id, true);
  cr_assert(holds_hex(&out, "04 00 000A 0033 01 00 0102"
                            "04 00 000A 0033 02 00 0304"
                            "04 01 0009 0033 03 00 05"));
  cr_assert_eq(id, 0);
  tdsd_buf_fini(&reply);
  tdsd_buf_fini(&out);
}

Test(wire, a_full_last_packet_carries_the_end, .timeout = 5) {
  struct tdsd_buf reply = {0};
  struct tdsd_buf out = {0};
  uint8_t id = 0;
  hex(&reply, "0102");
  tdsd_packets_write(&out, &reply, 10, 0, &id, false);
  cr_assert_eq(tdsd_buf_len(&out), 0);
  tdsd_packets_write(&out, &reply, 10, 0, &id, true);
  cr_assert(holds_hex(&out, "04 01 000A 0000 01 00 0102"));
  tdsd_buf_fini(&reply);
  tdsd_buf_fini(&out);
}
