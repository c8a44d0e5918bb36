/* SPDX-License-Identifier: MIT */
/* test_lies.c - a server that lies: about every length, with every token, in
 * every state of the decoder.
 *
 * Where lengths lie is not listed but found: the decoder is fed byte by byte,
 * and the states that read a length say where theirs begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "responses.h"
#include "sink.h"
#include "tds_decode.h"
#include "tds_limits.h"
#include "tds_packet.h"
#include "tds_prelogin.h"

#define FIELDS_MAX 512

/* Nothing that a short message says makes the decoder ask for more at once: the
 * metadata of 4096 columns. */
#define LARGEST (TDS_COLUMNS_MAX * sizeof(struct tds_column))

/* A length in a message. */
struct field {
  size_t at;
  uint8_t bytes;
  uint8_t state;
};

/* Which states read a length, where in their bytes it lies, how wide it is; the
 * width in a TYPE_INFO follows from all that the state wants. */
static const struct {
  uint8_t state;
  uint8_t offset;
  uint8_t bytes;
  uint8_t want[2]; /* 0: any */
} lengths[] = {
    {TDS_S_SHORT, 0, 2, {0}},   {TDS_S_LONG, 0, 4, {0}},
    {TDS_S_ENV, 0, 2, {0}},     {TDS_S_PROMOTE, 0, 4, {0}},
    {TDS_S_FEATLEN, 0, 4, {0}}, {TDS_S_COUNT, 0, 2, {0}},
    {TDS_S_PART, 0, 1, {0}},    {TDS_S_LASTPART, 0, 2, {0}},
    {TDS_S_TABLES, 0, 1, {0}},  {TDS_S_TABLE, 0, 2, {0}},
    {TDS_S_NAMELEN, 0, 1, {0}}, {TDS_S_ORDINAL, 2, 1, {0}},
    {TDS_S_INFO, 0, 1, {1, 3}}, {TDS_S_INFO, 0, 2, {2, 7}},
    {TDS_S_INFO, 0, 4, {4, 9}}, {TDS_S_LEN1, 0, 1, {0}},
    {TDS_S_LEN2, 0, 2, {0}},    {TDS_S_PLP, 0, 8, {0}},
    {TDS_S_CHUNK, 0, 4, {0}},   {TDS_S_POINTER, 0, 1, {0}},
    {TDS_S_LEN4, 0, 4, {0}},    {TDS_S_VARLEN, 0, 4, {0}},
    {TDS_S_FEDLEN, 0, 4, {0}},
};

/* The one byte that times have is their scale. */
static bool has_length(struct tds_decoder *d) {
  if (d->state != TDS_S_INFO) {
    return true;
  }
  uint8_t code = tds_decode_column(d)->type.rule->code;
  return code < 0x29 || code > 0x2B;
}

static size_t add_fields(struct field *out, size_t n, struct tds_decoder *d) {
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    bool fits = lengths[i].want[0] == 0 || lengths[i].want[0] == d->want ||
                lengths[i].want[1] == d->want;
    if (lengths[i].state == d->state && fits && has_length(d)) {
      cr_assert_lt(n, FIELDS_MAX);
      out[n++] = (struct field){(size_t)d->at + lengths[i].offset,
                                lengths[i].bytes, d->state};
    }
  }
  return n;
}

/* Feeds byte by byte.  Returns the number of fields found. */
static size_t find_fields(const uint8_t *p, size_t n, struct field *out) {
  struct tds_decoder d;
  struct sink s;
  size_t found = 0;
  sink_init(&s, &d);
  for (size_t i = 0; i < n; i++) {
    if (d.skip == 0 && d.acc.n == 0 && d.at == i) {
      found = add_fields(out, found, &d);
    }
    if (sink_feed(&s, &d, p + i, 1, 0, 0) != TDS_MORE) {
      break;
    }
  }
  sink_fini(&s, &d);
  return found;
}

/* A message decoded.  ok: it has an end that a client would believe. */
struct outcome {
  int rc;
  bool ok;
  char *log;
  char why[240];
};

static struct outcome decode(const uint8_t *p, size_t n) {
  struct outcome o;
  struct tds_decoder d;
  struct sink s;
  sink_init(&s, &d);
  o.rc = sink_feed(&s, &d, p, n, 0, 0);
  bool final = d.done.token != 0 && (d.done.status & TDS_DONE_MORE) == 0;
  o.ok = o.rc == TDS_MORE && tds_token_end(&d) == TDS_OK && final;
  cr_assert(o.rc >= 0 || d.why[0] != '\0');
  (void)snprintf(o.why, sizeof o.why, "%s", d.why);
  cr_assert_leq(s.largest, LARGEST, "%zu bytes at once", s.largest);
  fake_add(&s.log, "", 0);
  o.log = strdup(s.log.p == NULL ? "" : (const char *)s.log.p);
  sink_fini(&s, &d);
  return o;
}

static uint64_t read_le(const uint8_t *p, unsigned bytes) {
  uint64_t v = 0;
  for (unsigned i = bytes; i > 0; i--) {
    v = v << 8 | p[i - 1];
  }
  return v;
}

static void write_le(uint8_t *p, unsigned bytes, uint64_t v) {
  for (unsigned i = 0; i < bytes; i++) {
    p[i] = (uint8_t)(v >> (8 * i));
  }
}

/* A lie about one of the texts of the metadata may move its end to another byte
 * that can be one: the message is legal and a column has another name. */
static bool is_name(uint8_t state) {
  return state == TDS_S_PART || state == TDS_S_LASTPART ||
         state == TDS_S_TABLE || state == TDS_S_NAMELEN;
}

/* Whether two logs are equal, names of columns left out if loose. */
static bool same_log(const char *a, const char *b, bool loose) {
  while (*a != '\0' && *b != '\0') {
    size_t n = strcspn(a, "\n");
    size_t m = strcspn(b, "\n");
    bool names = loose && strncmp(a, "META", 4) == 0;
    names = names && strncmp(b, "META", 4) == 0;
    if (!names && (n != m || memcmp(a, b, n) != 0)) {
      return false;
    }
    a += n + (a[n] != '\0');
    b += m + (b[m] != '\0');
  }
  return *a == *b;
}

/* Whether a lie may do no harm: a maximum that is not reached, a total that
 * becomes unknown or nothing, a name, the length of ENVCHANGE 15, which is always a lie. */
static bool is_harmless(const struct field *f, uint64_t lie, const uint8_t *p) {
  return f->state == TDS_S_INFO || is_name(f->state) ||
         (f->state == TDS_S_ENV && p[f->at + 2] == 15) ||
         (f->state == TDS_S_PLP && (lie == UINT64_MAX - 1 || lie == 0));
}

/* Nobody believes it, or it is harmless and the message is the same. */
static void judge(const struct response *r,
                  const struct field *f,
                  uint64_t lie,
                  const uint8_t *p,
                  size_t n,
                  const char *truth) {
  struct outcome o = decode(p, n);
  bool same =
      is_harmless(f, lie, p) && same_log(o.log, truth, is_name(f->state));
  cr_expect(!o.ok || same,
            "%s, byte %zu, state %u, %u bytes: a length of %llu gave\n%s",
            r->name, f->at, f->state, f->bytes, (unsigned long long)lie, o.log);
  free(o.log);
}

static void lie_about(const struct response *r,
                      const struct field *f,
                      uint8_t *p,
                      size_t n,
                      const char *truth) {
  uint64_t was = read_le(p + f->at, f->bytes);
  uint64_t top =
      f->bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * f->bytes)) - 1;
  const uint64_t values[] = {
      0,       1,          was - 1,           was + 1, was + 2,
      was * 2, top,        top - 1,           top / 2, top / 2 + 1,
      was / 2, was ^ 0x80, UINT64_C(1) << 63, 0xFFFF,  0x7FFFFFFF,
  };
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    uint64_t lie = values[i] & top;
    /* Null for empty, and no metadata for none, no one can find out. */
    bool null = (f->state == TDS_S_LEN2 || f->state == TDS_S_COUNT) &&
                was + lie == 0xFFFF && was * lie == 0;
    if (lie != was && !null) {
      write_le(p + f->at, f->bytes, lie);
      judge(r, f, lie, p, n, truth);
    }
  }
  write_le(p + f->at, f->bytes, was);
}

Test(lies, scenario_166_about_every_length, .timeout = 60) {
  bool seen[TDS_S_COUNT_OF] = {false};
  for (size_t i = 0; i < n_responses; i++) {
    struct field fields[FIELDS_MAX];
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    size_t found = find_fields(p, n, fields);
    struct outcome truth = decode(p, n);
    for (size_t k = 0; k < found; k++) {
      seen[fields[k].state] = true;
      lie_about(&responses[i], &fields[k], p, n, truth.log);
    }
    free(truth.log);
    free(p);
  }
  /* The generator has met each kind of length. */
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    cr_expect(seen[lengths[i].state], "no response has state %u",
              lengths[i].state);
  }
}

/* Each position as a number of each width, whatever it is: no verdict is asked
 * for but that there is one, and that memory is bounded. */
Test(lies, at_every_byte_are_survived, .timeout = 110) {
  static const uint64_t values[] = {0, 1, 0x7F, UINT64_MAX, UINT64_C(1) << 63};
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    for (size_t at = 0; at < n; at++) {
      for (unsigned bytes = 1; bytes <= 8 && at + bytes <= n; bytes *= 2) {
        uint64_t was = read_le(p + at, bytes);
        for (size_t k = 0; k < 5; k++) {
          write_le(p + at, bytes, values[k]);
          struct outcome o = decode(p, n);
          free(o.log);
        }
        write_le(p + at, bytes, was);
      }
    }
    free(p);
  }
}

/* ------------------------------------------------------ below the tokens */

#define BODY 40u

/* A body in packets of BODY bytes.  Returns the wire and its length. */
static uint8_t *packets(const uint8_t *p, size_t n, size_t *out) {
  uint8_t *wire = malloc(n + (n / BODY + 1) * TDS_PACKET_HEAD);
  size_t o = 0;
  cr_assert_not_null(wire);
  for (size_t at = 0; at < n; at += BODY) {
    size_t k = n - at < BODY ? n - at : BODY;
    tds_packet_head(wire + o, TDS_PKT_REPLY, at + k == n ? TDS_ST_EOM : 0, k,
                    1);
    memcpy(wire + o + TDS_PACKET_HEAD, p + at, k);
    o += TDS_PACKET_HEAD + k;
  }
  *out = o;
  return wire;
}

/* Whether a client would believe that a stream of packets holds one whole
 * answer and nothing else. */
static bool is_believed(const uint8_t *wire, size_t n) {
  struct tds_packet_reader reader = {.limit = 4096};
  struct tds_span in = {wire, n};
  struct tds_span body = {NULL, 0};
  struct fake_bytes message = {0};
  int rc = 0;
  while ((rc = tds_packet_next(&reader, &in, &body)) == TDS_PACKET_DATA) {
    fake_add(&message, body.p, body.n);
  }
  fake_add(&message, "", 0);
  bool believed = false;
  if (rc == TDS_PACKET_END && in.n == 0) {
    struct outcome o = decode(message.p, message.n);
    believed = o.ok;
    free(o.log);
  }
  free(message.p);
  return believed;
}

Test(lies, scenario_166_about_the_lengths_of_packets, .timeout = 30) {
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    size_t wire_n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    uint8_t *wire = packets(p, n, &wire_n);
    struct outcome truth = decode(p, n);
    cr_expect_eq(is_believed(wire, wire_n), truth.ok, "%s", responses[i].name);
    for (size_t at = 0; at < wire_n; at += BODY + TDS_PACKET_HEAD) {
      unsigned was = tds_u16be(wire + at + 2);
      const unsigned lies[] = {0,       1,       7,      8,      was - 1,
                               was + 1, was + 8, 0x1001, 0x7FFF, 0xFFFF};
      for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        if (lies[k] != was) {
          tds_put16be(wire + at + 2, lies[k]);
          cr_expect(!is_believed(wire, wire_n), "%s, packet at %zu: %u bytes",
                    responses[i].name, at, lies[k]);
        }
      }
      tds_put16be(wire + at + 2, was);
    }
    free(truth.log);
    free(wire);
    free(p);
  }
}

/* Every offset and length of a PRELOGIN reply.  A lie that stays inside the
 * message may point at other bytes, never outside. */
Test(lies, scenario_166_about_the_options_of_prelogin, .timeout = 5) {
  size_t n = 0;
  uint8_t *p = fake_unhex("00 001a 0006 01 0020 0001 02 0021 0001 03 0022 0000 "
                          "04 0022 0001 ff 10000fa00000 02 00 00",
                          &n);
  struct tds_prelogin truth;
  const char *why = NULL;
  cr_assert_eq(tds_prelogin_read(p, n, &truth, &why), TDS_OK, "%s", why);
  for (size_t at = 1; at < 25; at += at % 5 == 1 ? 2 : 3) {
    unsigned was = tds_u16be(p + at);
    for (unsigned lie = 0; lie <= 0xFFFF; lie += lie < 64 ? 1 : 499) {
      struct tds_prelogin reply = {0};
      bool outside = at % 5 == 1 ? lie > n : lie > n - tds_u16be(p + at - 2);
      tds_put16be(p + at, lie);
      int rc = tds_prelogin_read(p, n, &reply, &why);
      cr_expect(rc == TDS_OK || rc == TDS_E_PROTO);
      cr_expect(!outside || rc == TDS_E_PROTO, "byte %zu: %u", at, lie);
    }
    tds_put16be(p + at, was);
  }
  free(p);
}

/* ---------------------------------------------------------- inside a token */

/* Lengths inside tokens that are gathered whole: a text that claims more than
 * its token has. */
static const struct {
  const char *hex;
  size_t at;
  unsigned bytes;
} inner[] = {
    {"aa 1800 66000000 01 0f 0300 420061006400 01 5300 01 5000 07000000", 9, 2},
    {"aa 1800 66000000 01 0f 0300 420061006400 01 5300 01 5000 07000000", 17,
     1},
    {"aa 1800 66000000 01 0f 0300 420061006400 01 5300 01 5000 07000000", 20,
     1},
    {"ad 1000 01 74000004 03 530051004c00 10000fa0", 8, 1},
    {"e3 0500 01 01 6100 00", 4, 1},
    {"e3 0b00 08 08 1122334455667788 00", 4, 1},
    {"e3 1000 14 0b00 00 9905 0300 610062006300 0000", 9, 2},
};

Test(lies, about_texts_inside_a_token_are_refused, .timeout = 5) {
  for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(inner[i].hex, &n);
    struct outcome o = decode(p, n);
    uint64_t was = read_le(p + inner[i].at, inner[i].bytes);
    uint64_t top = inner[i].bytes == 1 ? 0xFF : 0xFFFF;
    cr_expect_eq(o.rc, TDS_MORE, "%zu: %s", i, o.why);
    free(o.log);
    for (uint64_t lie = was + 16; lie <= top; lie += lie < 300 ? 1 : 997) {
      write_le(p + inner[i].at, inner[i].bytes, lie);
      o = decode(p, n);
      cr_assert_eq(o.rc, TDS_E_PROTO, "%zu: a text of %u", i, (unsigned)lie);
      cr_assert_not_null(strstr(o.why, "runs past its token"), "%s", o.why);
      free(o.log);
    }
    free(p);
  }
}

/* Whether the decoder knows the token; results are legal here. */
static bool is_known(unsigned token) {
  static const uint8_t known[] = {0x78, 0x79, 0x81, 0xA4, 0xA5, 0xA9, 0xAA,
                                  0xAB, 0xAC, 0xAD, 0xAE, 0xD1, 0xD2, 0xE3,
                                  0xE4, 0xEE, 0xFD, 0xFE, 0xFF};
  return memchr(known, (int)token, sizeof known) != NULL;
}

/* A token byte of each value in each state that any response reaches, at the
 * first two places where it does: between tokens an unknown one is refused at
 * once and by its number; inside a token it is data. */
static void try_tokens(const uint8_t *p, size_t n, size_t at, bool between) {
  uint8_t *copy = malloc(n);
  cr_assert_not_null(copy);
  memcpy(copy, p, n);
  for (unsigned token = 0; token <= 0xFF; token++) {
    copy[at] = (uint8_t)token;
    struct outcome o = decode(copy, n);
    if (between && !is_known(token)) {
      char text[16];
      (void)snprintf(text, sizeof text, "0x%02X", token);
      cr_expect_lt(o.rc, 0, "token 0x%02X", token);
      cr_expect_not_null(strstr(o.why, text), "%s", o.why);
    }
    free(o.log);
  }
  free(copy);
}

Test(lies, scenario_165_every_token_in_every_state, .timeout = 110) {
  unsigned seen[TDS_S_COUNT_OF] = {0};
  for (size_t i = 0; i < n_responses; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(responses[i].hex, &n);
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    for (size_t at = 0; at < n; at++) {
      bool fresh = d.skip == 0 && d.acc.n == 0;
      if (fresh && (seen[d.state]++ < 2 || d.state == TDS_S_TOKEN)) {
        try_tokens(p, n, at, d.state == TDS_S_TOKEN);
      }
      if (sink_feed(&s, &d, p + at, 1, 0, 0) != TDS_MORE) {
        break;
      }
    }
    sink_fini(&s, &d);
    free(p);
  }
}

/* Types that nobody knows are passed over by their length; those we know must
 * be what they say. */
Test(lies, scenario_165_environment_changes_of_every_type, .timeout = 10) {
  for (unsigned type = 0; type <= 0xFF; type++) {
    for (size_t n = 0; n <= 24; n++) {
      static const uint8_t done[13] = {0xFD};
      uint8_t p[64] = {0xE3};
      p[1] = (uint8_t)(n + 1);
      p[3] = (uint8_t)type;
      memset(p + 4, (int)(n * 37), n);
      memcpy(p + 4 + n, done, sizeof done);
      struct outcome o = decode(p, 4 + n + 13);
      bool text = type == 1 || type == 2 || type == 4 || type == 13;
      bool bytes = type >= 7 && type <= 12;
      bool special = type == 15 || type == 20 || type == 21;
      if (!text && !bytes && !special && type != 17) {
        cr_expect(o.ok, "type %u of %zu bytes: %s", type, n, o.why);
      }
      free(o.log);
    }
  }
}
