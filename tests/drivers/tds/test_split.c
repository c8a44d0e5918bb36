/* SPDX-License-Identifier: MIT */
/* test_split.c - every response, cut at every byte and at every packet border:
 * the result is always that of the whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "responses.h"
#include "sink.h"
#include "tds_limits.h"
#include "tds_packet.h"

/* What a decoder made of a message. */
struct outcome {
  int rc; /* of the decoder, or of the end of the message */
  char *log;
  char why[240];
};

static void keep(struct outcome *o, struct sink *s, struct tds_decoder *d) {
  if (o->rc == TDS_MORE) {
    o->rc = tds_token_end(d) == TDS_OK ? TDS_MORE : TDS_E_PROTO;
  }
  fake_add(&s->log, "", 0);
  o->log = strdup(s->log.p == NULL ? "" : (const char *)s->log.p);
  (void)snprintf(o->why, sizeof o->why, "%s", d->why);
  sink_fini(s, d);
}

/* A body in two pieces. */
static struct outcome in_two(const uint8_t *p, size_t n, size_t cut) {
  struct outcome o;
  struct tds_decoder d;
  struct sink s;
  sink_init(&s, &d);
  o.rc = sink_feed(&s, &d, p, cut, 0, 0);
  if (o.rc == TDS_MORE) {
    o.rc = sink_feed(&s, &d, p + cut, n - cut, 0, 0);
  }
  keep(&o, &s, &d);
  return o;
}

/* Puts a body into packets with so many bytes of it each. */
static uint8_t *packets(const uint8_t *p, size_t n, size_t most, size_t *out) {
  uint8_t *wire = malloc(n + (n / most + 1) * TDS_PACKET_HEAD);
  size_t o = 0;
  cr_assert_not_null(wire);
  for (size_t at = 0; at < n; at += most) {
    size_t k = n - at < most ? n - at : most;
    tds_packet_head(wire + o, TDS_PKT_REPLY, at + k == n ? TDS_ST_EOM : 0, k,
                    (uint8_t)(at / most + 1));
    memcpy(wire + o + TDS_PACKET_HEAD, p + at, k);
    o += TDS_PACKET_HEAD + k;
  }
  *out = o;
  return wire;
}

/* A stream of packets, read in pieces of `piece` bytes (0: whole). */
static struct outcome in_packets(const uint8_t *wire, size_t n, size_t piece) {
  struct outcome o = {.rc = TDS_MORE};
  struct tds_packet_reader reader = {0};
  struct tds_decoder d;
  struct sink s;
  bool ended = false;
  sink_init(&s, &d);
  for (size_t at = 0; at < n && o.rc == TDS_MORE;) {
    size_t k = piece == 0 || piece > n - at ? n - at : piece;
    struct tds_span in = {wire + at, k};
    struct tds_span body = {NULL, 0};
    int rc = 0;
    at += k;
    while (o.rc == TDS_MORE &&
           (rc = tds_packet_next(&reader, &in, &body)) > TDS_MORE) {
      ended = rc == TDS_PACKET_END;
      o.rc = ended ? TDS_MORE : sink_feed(&s, &d, body.p, body.n, 0, 0);
    }
    cr_assert(rc >= 0 || o.rc < 0, "%s", reader.why);
  }
  cr_assert(ended || o.rc < 0);
  keep(&o, &s, &d);
  return o;
}

static void expect_same(const struct response *r,
                        const struct outcome *whole,
                        struct outcome cut,
                        size_t where) {
  cr_assert_eq(cut.rc, whole->rc, "%s, %zu: %s", r->name, where, cut.why);
  cr_assert_str_eq(cut.log, whole->log, "%s, %zu", r->name, where);
  cr_assert_str_eq(cut.why, whole->why, "%s, %zu", r->name, where);
  free(cut.log);
}

Test(split, responses_are_what_they_are_meant_to_be, .timeout = 5) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    struct outcome whole = in_two(p, n, n);
    cr_expect(whole.rc == TDS_MORE || whole.rc == TDS_E_UNSUPPORTED, "%s: %s",
              responses[i].name, whole.why);
    free(whole.log);
    free(p);
  }
}

Test(split, scenario_164_in_two_at_every_byte, .timeout = 60) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    struct outcome whole = in_two(p, n, n);
    for (size_t cut = 0; cut < n; cut++) {
      expect_same(&responses[i], &whole, in_two(p, n, cut), cut);
    }
    free(whole.log);
    free(p);
  }
}

/* Packets of one byte up to one packet for all; each stream once whole and once
 * byte by byte, so that every header is cut at each of its bytes too.  Reports 6
 * (SqlClient#145: a length cut by a packet's end) and 7 (SqlClient#3529: rows
 * over many packets). */
Test(split,
     scenario_164_reports_6_and_7_in_packets_of_every_size,
     .timeout = 110) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    struct outcome whole = in_two(p, n, n);
    for (size_t most = 1; most <= n; most++) {
      size_t wire_n = 0;
      uint8_t *wire = packets(p, n, most, &wire_n);
      expect_same(&responses[i], &whole, in_packets(wire, wire_n, 0), most);
      expect_same(&responses[i], &whole, in_packets(wire, wire_n, 1), most);
      free(wire);
    }
    free(whole.log);
    free(p);
  }
}

/* Two packets in one read, and a header cut at each of its eight bytes. */
Test(split, scenario_164_reads_that_are_no_packets, .timeout = 60) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    size_t wire_n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    uint8_t *wire = packets(p, n, 13, &wire_n);
    struct outcome whole = in_two(p, n, n);
    for (size_t piece = 2; piece <= (size_t)2 * (13 + TDS_PACKET_HEAD);
         piece++) {
      expect_same(&responses[i], &whole, in_packets(wire, wire_n, piece),
                  piece);
    }
    free(whole.log);
    free(wire);
    free(p);
  }
}
