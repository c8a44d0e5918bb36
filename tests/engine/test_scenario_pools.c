/* SPDX-License-Identifier: MIT */
/* Scenario 126: a service with a database for each of its tenants.  What a pool
 * has used it gives back, and what is closed is gone: memory, handles, sessions;
 * and no pool has a thread.  (What an empty pool costs is in test_many_pools.c.) */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "virtual_clock.h"

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
/* Ten thousand in two waves, for time; a process has 131,072 places, eight for each pool
 * that has been used, so 16,384 such pools at one moment. */
#define TENANTS (MEASURED ? 5000u : 500u)
#define ROUNDS  (MEASURED ? 10000u : 1000u)
#define EACH    8192u /* bytes for a pool that has been used: a chunk of slots */

static struct fixture f;
static weir_h pools[5000];

static unsigned threads(void) {
  char line[256];
  unsigned n = 0;
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL) {
    return 0;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Threads:", 8) == 0) {
      n = (unsigned)strtoul(line + 8, NULL, 10);
    }
  }
  (void)fclose(file);
  return n;
}

static unsigned long long in_use(void) {
  struct mallinfo2 m = mallinfo2();
  return (unsigned long long)m.uordblks + m.hblkhd;
}

static uint64_t open_pools(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  CHECK(weir_engine_counters(f.engine, &c) == WEIR_OK);
  return c.number_of_active_connection_pools +
         c.number_of_inactive_connection_pools;
}

/* At most one is kept until the next one ends. */
static void await_gone(uint64_t created) {
  AWAIT_COUNT(&f, calls[MOCK_CONFIG_DESTROY], created - 1);
}

static void use(weir_h pool) {
  CHECK(weir_release(fixture_acquire(&f, pool)) == WEIR_OK);
}

static void one_use_each(const char *tenant) {
  for (unsigned i = 0; i < TENANTS; i++) {
    pools[i] = fixture_pool(&f,
                            "Database=%s-%05u;Max Pool Size=100;"
                            "Connection Idle Timeout=60",
                            tenant, i);
    use(pools[i]);
  }
}

static void close_all(void) {
  for (unsigned i = 0; i < TENANTS; i++) {
    CHECK(weir_pool_close(pools[i]) == WEIR_OK);
  }
  await_gone(fixture_counts(&f).calls[MOCK_CONFIG_CREATE] - 1);
  CHECK(open_pools() == 1);
}

/* One use each, and twice the time after which idle ones end. */
static void wave(const char *tenant, unsigned at_first) {
  unsigned long long before = in_use();
  one_use_each(tenant);
  CHECK(threads() == at_first);
  CHECK(fixture_counts(&f).sessions_live == TENANTS);
  fixture_sync(&f);
  fixture_advance(&f, 120 * (uint64_t)FIXTURE_S);
  AWAIT_COUNT(&f, sessions_live, 0);
  fixture_sync(&f);
  unsigned long long each = (in_use() - before) / TENANTS;
  if (MEASURED) {
    (void)printf("%u pools that were used: %llu bytes each\n", TENANTS, each);
    CHECK(each < EACH);
  }
  close_all();
  CHECK(threads() == at_first);
}

static void scenario_126_tenants_come_and_go(void) {
  fixture_open_virtual(&f);
  use(fixture_pool(&f, "Database=first"));
  fixture_advance(&f, 600 * (uint64_t)FIXTURE_S);
  fixture_sync(&f);
  unsigned at_first = threads();
  wave("a", at_first);
  unsigned long long before = in_use();
  wave("b", at_first);
  if (MEASURED) {
    (void)printf("%llu bytes after one wave, %llu after two\n", before,
                 in_use());
    CHECK(in_use() < before + before / 10);
  }
  fixture_close(&f);
}

static void once(unsigned i) {
  weir_h pool = fixture_pool(&f, "Password=secret-%u", i);
  if (i % 4 == 0) {
    use(pool);
  }
  CHECK(weir_pool_close(pool) == WEIR_OK);
}

/* As many as there are passwords, one after the other. */
static void scenario_126_pools_one_after_the_other(void) {
  fixture_open(&f);
  unsigned long long before = 0;
  for (unsigned i = 0; i < ROUNDS; i++) {
    once(i);
    if (i % 100 == 99) {
      AWAIT_COUNT(&f, sessions_live, 0);
      await_gone(fixture_counts(&f).calls[MOCK_CONFIG_CREATE]);
    }
    if (i == ROUNDS / 10) {
      before = in_use();
    }
  }
  CHECK(open_pools() <= 1);
  if (MEASURED) {
    (void)printf("%llu bytes after %u pools, %llu after %u\n", before,
                 ROUNDS / 10, in_use(), ROUNDS);
    CHECK(in_use() < before + before / 10);
  }
  fixture_close(&f);
}

int main(void) {
  scenario_126_tenants_come_and_go();
  scenario_126_pools_one_after_the_other();
  return check_summary();
}
