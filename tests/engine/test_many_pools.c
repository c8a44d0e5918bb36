/* SPDX-License-Identifier: MIT */
/* P12: 10,000 pools cost no threads and, while empty, less than 4 KiB each, with
 * everything that an open pool has: its settings, key, configuration, handle, the
 * driver's part.  P13: an engine with nothing to do does not wake up. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "engine.h"
#include "fixture.h"
#include "handle.h"
#include "reactor.h"
#include "virtual_clock.h"

#define LIMIT   4096u
#define IDLE_US 300000u

/* Under a sanitizer memory is not what it is, and slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define MEASURED 0
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
      __has_feature(memory_sanitizer)
#    define MEASURED 0
#  endif
#endif
#ifndef MEASURED
#  define MEASURED 1
#endif
#define POOLS (MEASURED ? 10000u : 500u)

static struct fixture f;
static weir_h pools[10000];

static unsigned long long status_of(const char *name) {
  char line[256];
  unsigned long long n = 0;
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL) {
    return 0;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) {
      n = strtoull(line + strlen(name) + 1, NULL, 10);
    }
  }
  (void)fclose(file);
  return n;
}

static unsigned long long in_use(void) {
  struct mallinfo2 m = mallinfo2();
  return (unsigned long long)m.uordblks + m.hblkhd;
}

static uint64_t wakes(void) {
  const struct weir__engine *e = weir__handle_find(f.engine, WEIR_TYPE_ENGINE);
  return weir__reactor_wakes(e->reactor);
}

static void open_all(const char *settings) {
  for (unsigned i = 0; i < POOLS; i++) {
    pools[i] =
        fixture_pool(&f, "Mock Server=server-%05u.example;%s", i, settings);
  }
}

static void close_all(void) {
  unsigned bad = 0;
  for (unsigned i = 0; i < POOLS; i++) {
    bad += weir_pool_close(pools[i]) != WEIR_OK;
  }
  CHECK(bad == 0);
}

/* What the first pools cost once for all is not counted. */
static void costs_little(void) {
  fixture_open(&f);
  weir_h first = fixture_pool(&f, "Mock Server=first");
  unsigned long long threads = status_of("Threads:");
  unsigned long long before = in_use();
  unsigned long long resident = status_of("VmRSS:") * 1024;
  open_all("Max Pool Size=100");
  fixture_sync(&f);
  unsigned long long each = (in_use() - before) / POOLS;
  unsigned long long each_resident =
      (status_of("VmRSS:") * 1024 - resident) / POOLS;
  if (MEASURED) {
    (void)printf("%u empty pools: %llu bytes each, %llu resident\n", POOLS,
                 each, each_resident);
    CHECK(each < LIMIT);
    CHECK(each_resident < LIMIT);
  }
  CHECK(threads != 0);
  CHECK(status_of("Threads:") == threads);
  struct weir_pool_stats s = fixture_stats(pools[POOLS - 1]);
  CHECK(s.empty == 100 && s.connects_begun == 0);
  CHECK(weir_pool_close(first) == WEIR_OK);
}

static void sleeps_in_real_time(void) {
  fixture_sync(&f);
  uint64_t woke = wakes();
  (void)usleep(IDLE_US);
  CHECK(wakes() == woke);
  close_all();
  fixture_close(&f);
}

/* An hour, a day, sixty years. */
static void sleeps_in_virtual_time(void) {
  static const uint64_t spans_s[] = {3600, 86400, UINT64_C(1893456000)};
  fixture_open_virtual(&f);
  open_all(
      "Max Pool Size=10;Connection Lifetime=60;Connection Idle Timeout=30");
  fixture_sync(&f);
  CHECK(virtual_clock_next() == UINT64_MAX);
  uint64_t woke = wakes();
  for (unsigned i = 0; i < sizeof spans_s / sizeof spans_s[0]; i++) {
    virtual_clock_advance(spans_s[i] * (uint64_t)FIXTURE_S);
  }
  CHECK(wakes() == woke);
  close_all();
  fixture_close(&f);
}

/* Pools that were used are as quiet, once what they had open has ended. */
static void sleeps_after_work(void) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=10;Connection Idle Timeout=30");
  for (unsigned i = 0; i < 3; i++) {
    CHECK(weir_release(fixture_acquire(&f, pool)) == WEIR_OK);
  }
  fixture_advance(&f, 31 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, empty, 10);
  fixture_advance(&f, 31 * (uint64_t)FIXTURE_S);
  uint64_t woke = wakes();
  virtual_clock_advance(86400 * (uint64_t)FIXTURE_S);
  CHECK(wakes() == woke);
  fixture_close(&f);
}

int main(void) {
  costs_little();
  sleeps_in_real_time();
  sleeps_in_virtual_time();
  sleeps_after_work();
  return check_summary();
}
