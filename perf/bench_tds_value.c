/* SPDX-License-Identifier: MIT */
/* bench_tds_value.c - what the TDS decoder costs for long values, in ns a MiB of
 * the wire, at 1, 10 and 100 MiB: a cost that grows with the length shows at
 * once.  Wall time, and processor time of the thread beside it.
 *
 * Usage: bench_tds_value [--quick]     (1 MiB only, one pass)
 *
 * One thread; bytes come in reads of 16 KiB and chunks of 32,000 bytes; the
 * median of five passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tds_limits.h"
#include "tds_token.h"

#define MIB    UINT64_C(1048576)
#define CHUNK  32000u
#define PASSES 5u

struct state {
  struct tds_sink sink;
  struct tds_mem mem;
  struct tds_decoder decoder;
  uint8_t chunk[4 + CHUNK];
  void *block;
  uint64_t n;
};

static void die(const char *why) {
  (void)fprintf(stderr, "bench_tds_value: %s\n", why);
  exit(1); /* One thread.  NOLINT(concurrency-mt-unsafe) */
}

static void *take(void *ctx, uint64_t size, uint32_t flags) {
  (void)ctx;
  (void)flags;
  return calloc(1, (size_t)size);
}

static void give_back(void *ctx, void *p) {
  (void)ctx;
  free(p);
}

static void *space(void *ctx, size_t n) {
  struct state *s = ctx;
  free(s->block);
  s->block = malloc(n);
  return s->block;
}

static void *grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct state *s = ctx;
  (void)n;
  s->block = realloc(block, bigger);
  return s->block;
}

static int cell(void *ctx, const void *p, size_t n) {
  struct state *s = ctx;
  (void)p;
  s->n = n;
  return 0;
}

static const struct {
  const char *name;
  uint8_t column[20]; /* COLMETADATA of one column */
  uint8_t column_n;
  char pattern[4];
} kinds[] = {
    {"varbinary",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xA5, 0xFF, 0xFF, 0},
     13,
     {1, 2, 3, 4}},
    {"varchar 1252, ASCII",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xA7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34, 0},
     18,
     {'a', 'b', 'c', 'd'}},
    {"varchar UTF-8",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xA7, 0xFF, 0xFF, 9, 4, 0xD0, 4, 0, 0},
     18,
     {'\xE2', '\x82', '\xAC', '!'}},
    {"varchar 932",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xA7, 0xFF, 0xFF, 0x11, 4, 0xD0, 0, 0, 0},
     18,
     {'\x93', '\xFA', '\x96', '\x7B'}},
    {"nvarchar, ASCII",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34, 0},
     18,
     {'a', 0, 'b', 0}},
    {"nvarchar, surrogates",
     {0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34, 0},
     18,
     {'\x3D', '\xD8', '\x00', '\xDE'}},
};

static void feed(struct state *s, const void *bytes, size_t n) {
  const uint8_t *p = bytes;
  for (size_t at = 0; at < n; at += TDS_READ_BYTES) {
    size_t k = n - at < TDS_READ_BYTES ? n - at : TDS_READ_BYTES;
    struct tds_span in = {p + at, k};
    int rc = 0;
    while ((rc = tds_token_next(&s->decoder, &in)) > TDS_MORE) {
    }
    if (rc < 0) {
      die(s->decoder.why);
    }
  }
}

static uint64_t now_ns(clockid_t clock) {
  struct timespec t;
  (void)clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct cost {
  uint64_t wall_ns;
  uint64_t cpu_ns;
};

/* Decodes one value of n bytes. */
static struct cost run(struct state *s, size_t kind, uint64_t n) {
  static const uint8_t row[9] = {0xD1, 0xFE, 0xFF, 0xFF, 0xFF,
                                 0xFF, 0xFF, 0xFF, 0xFF};
  for (size_t i = 0; i < CHUNK; i++) {
    s->chunk[4 + i] = (uint8_t)kinds[kind].pattern[i % 4];
  }
  tds_token_begin(&s->decoder, &s->sink);
  feed(s, kinds[kind].column, kinds[kind].column_n);
  struct cost cost = {now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_THREAD_CPUTIME_ID)};
  feed(s, row, sizeof row);
  for (uint64_t left = n; left > 0;) {
    uint32_t k = left < CHUNK ? (uint32_t)left : CHUNK;
    tds_put32(s->chunk, k);
    feed(s, s->chunk, 4 + k);
    left -= k;
  }
  s->n = 0;
  feed(s, "\0\0\0", 4);
  cost.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cost.cpu_ns;
  cost.wall_ns = now_ns(CLOCK_MONOTONIC) - cost.wall_ns;
  if (s->n < n / 2) {
    die("a value came out short");
  }
  return cost;
}

static int by_size(const void *a, const void *b) {
  const struct cost *x = a;
  const struct cost *y = b;
  return x->wall_ns < y->wall_ns ? -1 : x->wall_ns > y->wall_ns;
}

/* The pass in the middle. */
static struct cost median(struct state *s,
                          size_t kind,
                          uint64_t n,
                          unsigned runs) {
  struct cost took[PASSES];
  for (unsigned i = 0; i < runs; i++) {
    took[i] = run(s, kind, n);
  }
  qsort(took, runs, sizeof took[0], by_size);
  return took[runs / 2];
}

int main(int argc, char **argv) {
  bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  uint64_t most = quick ? 1 : 100;
  struct state *s = calloc(1, sizeof *s);
  if (s == NULL) {
    die("no memory");
  }
  s->sink = (struct tds_sink){s, space, grow, cell};
  s->mem = (struct tds_mem){s, take, give_back};
  tds_token_init(&s->decoder, &s->mem);
  (void)printf("%-22s %8s %14s %14s\n", "value", "MiB", "wall ns/MiB",
               "cpu ns/MiB");
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    for (uint64_t mib = 1; mib <= most; mib *= 10) {
      struct cost took = median(s, kind, mib * MIB, quick ? 1 : PASSES);
      (void)printf("%-22s %8llu %14llu %14llu\n", kinds[kind].name,
                   (unsigned long long)mib,
                   (unsigned long long)(took.wall_ns / mib),
                   (unsigned long long)(took.cpu_ns / mib));
    }
  }
  tds_token_fini(&s->decoder);
  free(s->block);
  free(s);
  return 0;
}
