/* SPDX-License-Identifier: MIT */
/* test_packet.c - splitting a stream into bodies. */
#include <string.h>

#include <criterion/criterion.h>

#include "tds_limits.h"
#include "tds_packet.h"

/* Two packets of one message, then one of another. */
static const uint8_t stream[] = {4,   0, 0, 11, 0, 51, 1,  0, 'a', 'b',
                                 'c', 4, 1, 0,  9, 0,  51, 2, 0,   'd',
                                 4,   1, 0, 9,  0, 51, 1,  0, 'e'};

/* Feeds the stream in pieces and writes "abcd.e." to out. */
static void split(size_t piece, char *out) {
  struct tds_packet_reader r;
  memset(&r, 0, sizeof r);
  for (size_t at = 0; at < sizeof stream; at += piece) {
    size_t left = sizeof stream - at;
    struct tds_span in = {stream + at, left < piece ? left : piece};
    struct tds_span body = {NULL, 0};
    int rc = 0;
    while ((rc = tds_packet_next(&r, &in, &body)) != TDS_MORE) {
      cr_assert_gt(rc, 0);
      if (rc == TDS_PACKET_END) {
        *out++ = '.';
      } else {
        memcpy(out, body.p, body.n);
        out += body.n;
      }
    }
  }
  cr_assert(tds_packet_idle(&r));
  cr_assert_eq(r.spid, 51);
  *out = '\0';
}

Test(packet, joins_a_message_in_every_piece_size, .timeout = 5) {
  for (size_t piece = 1; piece <= sizeof stream; piece++) {
    char text[16] = "";
    split(piece, text);
    cr_assert_str_eq(text, "abcd.e.");
  }
}

Test(packet, ends_a_message_whose_last_packet_is_empty, .timeout = 5) {
  static const uint8_t bytes[] = {4, 1, 0, 8, 0, 0, 0, 0};
  struct tds_packet_reader r;
  struct tds_span in = {bytes, sizeof bytes};
  struct tds_span body = {NULL, 0};
  memset(&r, 0, sizeof r);
  cr_expect_eq(tds_packet_next(&r, &in, &body), TDS_PACKET_END);
  cr_expect_eq(tds_packet_next(&r, &in, &body), TDS_MORE);
}

static int first(const uint8_t head[8], uint32_t limit, uint8_t handshake) {
  struct tds_packet_reader r;
  struct tds_span in = {head, 8};
  struct tds_span body = {NULL, 0};
  memset(&r, 0, sizeof r);
  r.limit = limit;
  r.handshake = handshake;
  return tds_packet_next(&r, &in, &body);
}

Test(packet, refuses_impossible_lengths, .timeout = 5) {
  for (unsigned n = 0; n <= 0xFFFF; n++) {
    uint8_t head[8] = {4, 0, (uint8_t)(n >> 8), (uint8_t)n};
    bool legal = n >= 8 && n <= 4096;
    cr_assert_eq(first(head, 4096, 0), legal ? TDS_MORE : TDS_E_PROTO, "%u", n);
  }
}

Test(packet, refuses_types_that_no_server_sends, .timeout = 5) {
  for (unsigned type = 0; type <= 0xFF; type++) {
    uint8_t head[8] = {(uint8_t)type, 0, 0, 8};
    cr_assert_eq(first(head, 0, 0), type == 4 ? TDS_MORE : TDS_E_PROTO);
    cr_assert_eq(first(head, 0, 1),
                 type == 4 || type == 0x12 ? TDS_MORE : TDS_E_PROTO);
  }
}

Test(packet, says_what_is_wrong_and_where, .timeout = 5) {
  static const uint8_t bytes[] = {4, 0, 0, 9, 0, 0, 0, 0, 'x',
                                  4, 0, 0, 4, 0, 0, 0, 0};
  struct tds_packet_reader r;
  struct tds_span in = {bytes, sizeof bytes};
  struct tds_span body = {NULL, 0};
  memset(&r, 0, sizeof r);
  cr_assert_eq(tds_packet_next(&r, &in, &body), TDS_PACKET_DATA);
  cr_assert_eq(tds_packet_next(&r, &in, &body), TDS_E_PROTO);
  cr_expect_str_eq(r.why, "impossible length 4 in the packet header at byte 9");
}

Test(packet, writes_a_header, .timeout = 5) {
  static const uint8_t want[8] = {1, 9, 1, 8, 0, 0, 7, 0};
  uint8_t head[8];
  tds_packet_head(head, 1, 9, 256, 7);
  cr_expect_arr_eq(head, want, 8);
}
