/* SPDX-License-Identifier: MIT */
/* test_linear.c - long values cost in proportion to their length, and rows that
 * stream cost no memory.  What is counted is calls and bytes, never time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "tds_limits.h"
#include "tds_token.h"

#define MIB   UINT64_C(1048576)
#define CHUNK 32000u

/* A sink that keeps one value and counts what that costs. */
struct meter {
  struct tds_sink sink;
  struct tds_mem mem;
  uint64_t allocations; /* of the decoder */
  uint64_t blocks;      /* space and grow */
  uint64_t copied;      /* bytes that growing moved */
  uint64_t cap;
  uint64_t n; /* of the cell */
  uint8_t *block;
};

static void *meter_alloc(void *ctx, uint64_t size, uint32_t flags) {
  struct meter *m = ctx;
  (void)flags;
  m->allocations++;
  return calloc(1, (size_t)size);
}

static void meter_release(void *ctx, void *p) {
  (void)ctx;
  free(p);
}

static void *meter_space(void *ctx, size_t n) {
  struct meter *m = ctx;
  free(m->block);
  m->blocks++;
  m->cap = n;
  m->block = malloc(n);
  return m->block;
}

static void *meter_grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct meter *m = ctx;
  m->blocks++;
  m->copied += n;
  m->cap = bigger;
  m->block = realloc(block, bigger);
  return m->block;
}

static int meter_cell(void *ctx, const void *p, size_t n) {
  struct meter *m = ctx;
  m->n = p == NULL ? 0 : n;
  return 0;
}

static void meter_open(struct meter *m, struct tds_decoder *d) {
  memset(m, 0, sizeof *m);
  m->sink = (struct tds_sink){m, meter_space, meter_grow, meter_cell};
  m->mem = (struct tds_mem){m, meter_alloc, meter_release};
  tds_token_init(d, &m->mem);
  tds_token_begin(d, &m->sink);
}

static void meter_close(struct meter *m, struct tds_decoder *d) {
  tds_token_fini(d);
  free(m->block);
}

/* Feeds bytes in reads of `piece`.  Returns the events seen. */
static unsigned feed(struct tds_decoder *d,
                     const uint8_t *p,
                     size_t n,
                     size_t piece) {
  unsigned events = 0;
  for (size_t at = 0; at < n; at += piece) {
    struct tds_span in = {p + at, n - at < piece ? n - at : piece};
    int rc = 0;
    while ((rc = tds_token_next(d, &in)) > TDS_MORE) {
      events++;
    }
    cr_assert_eq(rc, TDS_MORE, "%s", d->why);
  }
  return events;
}

static unsigned feed_hex(struct tds_decoder *d, const char *hex) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  unsigned events = feed(d, p, n, n);
  free(p);
  return events;
}

/* Columns of one long value: its type, a pattern that fills a chunk, and how
 * many bytes a byte of it becomes, times two. */
static const struct {
  const char *column;
  const char *pattern;
  size_t pattern_n;
  unsigned twice;
} kinds[] = {
    {"a5 ffff 00", "\x00\x01\x02\x03", 4, 2},
    {"a7 ffff 0904d00034 00", "abcd", 4, 2},
    {"a7 ffff 0904d00034 00", "\x80\x80\x80\x80", 4, 6},
    {"e7 ffff 0904d00034 00", "a\0b\0", 4, 1},
    {"e7 ffff 0904d00034 00", "\x3D\xD8\x00\xDE", 4, 2},
    {"a7 ffff 1104d00000 00", "\x93\xFA\x96\x7B", 4, 3},
    {"a7 ffff 0904d00400 00", "\xE2\x82\xAC!", 4, 2},
};

/* A value of n bytes in chunks, read in pieces. */
static void decode(size_t kind, uint64_t n, size_t piece, struct meter *m) {
  struct tds_decoder d;
  static uint8_t chunk[4 + CHUNK];
  char head[64];
  for (size_t i = 0; i < CHUNK; i++) {
    chunk[4 + i] = (uint8_t)kinds[kind].pattern[i % kinds[kind].pattern_n];
  }
  (void)snprintf(head, sizeof head, "81 0100 00000000 0900 %s",
                 kinds[kind].column);
  meter_open(m, &d);
  (void)feed_hex(&d, head);
  (void)feed_hex(&d, "d1 feffffffffffffff");
  for (uint64_t left = n; left > 0;) {
    uint32_t k = left < CHUNK ? (uint32_t)left : CHUNK;
    tds_put32(chunk, k);
    cr_assert_eq(feed(&d, chunk, 4 + k, piece), 0);
    left -= k;
  }
  cr_assert_eq(feed_hex(&d, "00000000"), 1);
  cr_assert_eq(m->n, n * kinds[kind].twice / 2, "kind %zu: %llu", kind,
               (unsigned long long)m->n);
  meter_close(m, &d);
}

/* Blocks grow by doubling: as many as there are doublings, and all moves
 * together are less than the last block. */
static void expect_linear(size_t kind, uint64_t n, const struct meter *m) {
  uint64_t doublings = 3; /* the first may be of half the size */
  for (uint64_t cap = TDS_VALUE_FIRST; cap < m->n; cap *= 2) {
    doublings++;
  }
  cr_expect_leq(m->blocks, doublings, "kind %zu, %llu: %llu blocks", kind,
                (unsigned long long)n, (unsigned long long)m->blocks);
  cr_expect_leq(m->copied, m->cap, "kind %zu", kind);
  cr_expect_leq(m->cap, 2 * m->n + UINT64_C(4) * TDS_VALUE_FIRST, "kind %zu",
                kind);
}

Test(linear, values_of_1_10_and_100_mib, .timeout = 300) {
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    struct meter small;
    decode(kind, MIB, TDS_READ_BYTES, &small);
    expect_linear(kind, MIB, &small);
    /* One text stands for all where it gets slow under sanitizers. */
    uint64_t most = kind == 0 || kind == 3 ? 100 * MIB : 10 * MIB;
    for (uint64_t n = 10 * MIB; n <= most; n *= 10) {
      struct meter m;
      decode(kind, n, TDS_READ_BYTES, &m);
      expect_linear(kind, n, &m);
      cr_expect_eq(m.allocations, small.allocations, "kind %zu", kind);
    }
  }
}

/* Reads that cut every character cost no more memory. */
Test(linear, a_value_that_is_read_in_odd_pieces, .timeout = 300) {
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    for (size_t piece = 1; piece <= 1001; piece += 500) {
      struct meter m;
      decode(kind, MIB / 4, piece, &m);
      expect_linear(kind, MIB / 4, &m);
    }
  }
}

/* What the server announces is not taken before it comes. */
Test(linear, an_announced_gigabyte_takes_one_block, .timeout = 5) {
  struct tds_decoder d;
  struct meter m;
  meter_open(&m, &d);
  (void)feed_hex(&d, "81 0100 00000000 0900 a5 ffff 00");
  (void)feed_hex(&d, "d1 0000004000000000 00000040 0102");
  cr_expect_eq(m.blocks, 1);
  cr_expect_leq(m.cap, TDS_VALUE_FIRST + 2);
  meter_close(&m, &d);
}

/* Rows without number: the decoder allocates for the first ones only. */
Test(linear, rows_stream_in_flat_memory, .timeout = 300) {
  struct tds_decoder d;
  struct meter m;
  uint8_t rows[20 * 1000];
  static const uint8_t row[20] = {0xD1, 4,   1,   0,   0,   0,   12,
                                  0,    'a', 'b', 'c', 'd', 'e', 'f',
                                  'g',  'h', 'i', 'j', 'k', 'l'};
  for (size_t i = 0; i < 1000; i++) {
    memcpy(rows + 20 * i, row, 20);
  }
  meter_open(&m, &d);
  (void)feed_hex(&d, "81 0200 00000000 0900 26 04 01 6100 "
                     "00000000 0900 a7 1400 0904d00034 01 6200");
  cr_assert_eq(feed(&d, rows, sizeof rows, 977), 1000);
  uint64_t before = m.allocations;
  for (unsigned i = 0; i < 1000; i++) {
    cr_assert_eq(feed(&d, rows, sizeof rows, 977), 1000);
  }
  cr_expect_eq(m.allocations, before, "a million rows");
  meter_close(&m, &d);
}

/* Blocks that the whole driver takes for an answer of so many packets. */
static size_t count_allocations(unsigned packets) {
  enum {
    LOTS = 1000000
  };
  struct fake f;
  fake_open(&f, "Server=db.test;User ID=sa;Password=;Encrypt=optional");
  fake_login(&f);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  f.batch_rows = 100;
  struct fake_bytes wire = {0};
  struct fake_bytes body = {0};
  for (unsigned i = 0; i < 500; i++) {
    fake_add(&body, "\xD1\x04\x01\0\0\0", 6);
  }
  static const uint8_t columns[] = {4, 0, 0, 23, 0, 0,    1, 0, 0x81, 1, 0,   0,
                                    0, 0, 0, 9,  0, 0x26, 4, 1, 'a',  0, 0xA9};
  fake_add(&wire, columns, 22);
  ((uint8_t *)wire.p)[3] = 22;
  for (unsigned i = 0; i < packets; i++) {
    const uint8_t head[8] = {
        4, 0, (uint8_t)((body.n + 8) >> 8), (uint8_t)(body.n + 8), 0, 0, 1, 0};
    fake_add(&wire, head, 8);
    fake_add(&wire, body.p, body.n);
  }
  fake_add(&wire, "\x04\x01\0\x15\0\0\x01\0\xFD\0\0\0\0\0\0\0\0\0\0\0\0", 21);
  fake_raw(&f, wire.p, wire.n);
  f.fail_alloc = LOTS;
  f.log.n = 0;
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE, "%s", f.message);
  cr_assert_eq(f.rows, (size_t)500 * packets);
  size_t taken = LOTS - f.fail_alloc;
  f.fail_alloc = 0;
  cr_assert_eq(fake_close(&f), 0);
  free(wire.p);
  free(body.p);
  return taken;
}

Test(linear, the_driver_streams_in_flat_memory, .timeout = 300) {
  cr_expect_eq(count_allocations(4), count_allocations(80));
}
