/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <string.h>

#include <criterion/criterion.h>

#include "failing_alloc.h"
#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

static struct fixture f;

static int open_text(const char *text, weir_h *out) {
  return weir_pool_open(f.engine, text, strlen(text), out, &f.err);
}

Test(registry, has_one_pool_for_equal_keys, .timeout = 10) {
  fixture_open(&f);
  weir_h a = fixture_pool(&f, "Max Pool Size=3;User ID=me");
  weir_h b = fixture_pool(&f, "uid=me;MAXIMUM POOL SIZE=3;Min Pool Size=0");
  weir_h c = fixture_pool(&f, "User ID=you;Max Pool Size=3");
  cr_assert_eq(a, b);
  cr_assert_neq(a, c);
  fixture_close(&f);
}

Test(registry, closes_with_the_last_reference, .timeout = 10) {
  fixture_open(&f);
  weir_h a = fixture_pool(&f, "Max Pool Size=3");
  weir_h lease = 0;
  (void)fixture_pool(&f, "Max Pool Size=3");
  cr_assert_eq(weir_pool_close(a), WEIR_OK);
  lease = fixture_acquire(&f, a);
  cr_assert_eq(weir_pool_close(a), WEIR_OK);
  cr_assert_eq(weir_pool_close(a), WEIR_E_HANDLE);
  cr_assert_eq(weir_acquire(a, 0, &lease, &f.err), WEIR_E_HANDLE);
  cr_assert_eq(weir_pool_clear(a), WEIR_E_HANDLE);
  struct weir_pool_stats s = {.struct_size = sizeof s};
  cr_assert_eq(weir_pool_stats(a, &s), WEIR_E_HANDLE);
  cr_assert_eq(weir_pool_key(a, NULL, 0, NULL), WEIR_E_HANDLE);
  weir_h again = fixture_pool(&f, "Max Pool Size=3");
  cr_assert_neq(again, a);
  fixture_close(&f);
}

Test(registry, tells_a_key_without_opening_anything, .timeout = 10) {
  fixture_open(&f);
  static const char text[] = "Driver=mock;Password=hush;User ID=me";
  char key[512] = "";
  char own[512] = "";
  uint64_t need = 0;
  cr_assert_eq(
      weir_conninfo_key(f.engine, text, strlen(text), key, 512, &need, &f.err),
      WEIR_OK);
  cr_assert_eq(need, strlen(key) + 1);
  cr_assert_null(strstr(key, "hush"));
  weir_h pool = 0;
  cr_assert_eq(open_text(text, &pool), WEIR_OK);
  cr_assert_eq(weir_pool_key(pool, own, 512, NULL), WEIR_OK);
  cr_assert_str_eq(own, key);
  cr_assert_eq(weir_pool_key(pool, own, 3, &need), WEIR_E_SPACE);
  cr_assert_eq(
      weir_conninfo_key(f.engine, text, strlen(text), NULL, 0, &need, &f.err),
      WEIR_E_SPACE);
  cr_assert_eq(need, strlen(key) + 1);
  fixture_close(&f);
}

/* Scenario 57 and others: refused with the setting's name. */
Test(registry, refuses_what_it_does_not_understand, .timeout = 10) {
  static const struct {
    const char *text;
    int rc;
    const char *says;
  } cases[] = {
      {"", WEIR_E_ARG, "Driver="},
      {"Max Pool Size=1", WEIR_E_ARG, "Driver="},
      {"Driver=mock;Min Pool Size=5;Max Pool Size=2", WEIR_E_ARG,
       "Min Pool Size"},
      {"Driver=mock;Max Pool Size=0", WEIR_E_ARG, "Max Pool Size"},
      {"Driver=mock;Max Pool Size=-1", WEIR_E_ARG, "Max Pool Size"},
      {"Driver=mock;Max Pool Size=2147483648", WEIR_E_ARG, "Max Pool Size"},
      {"Driver=mock;Max Pool Size=many", WEIR_E_ARG, "Max Pool Size"},
      {"Driver=mock;Mx Pool Size=1", WEIR_E_ARG, "Max Pool Size"},
      {"Driver=nowhere", WEIR_E_FAIL, "nowhere"},
      {"Driver=mock;Mock Connect Delay=soon", WEIR_E_FAIL,
       "Mock Connect Delay"},
      {"Driver=mock;Mock Script Text=\"connect: fly\"", WEIR_E_FAIL,
       "mock script"},
  };
  fixture_open(&f);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    weir_h pool = 77;
    cr_assert_eq(open_text(cases[i].text, &pool), cases[i].rc, "%s: %s",
                 cases[i].text, f.err.message);
    cr_assert_eq(f.err.code, cases[i].rc);
    cr_assert_not_null(strstr(f.err.message, cases[i].says), "%s",
                       f.err.message);
    cr_assert_eq(pool, 77);
  }
  fixture_close(&f);
}

Test(registry, opens_a_required_pool_only_if_it_connects, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(open_text("Driver=mock;Startup=require;Mock Script Text="
                         "\"connect 1: fail config auth 'no such user'\"",
                         &pool),
               WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "no such user"));
  pool = fixture_pool(&f, "Startup=require");
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

static unsigned open_descriptors(void) {
  unsigned n = 0;
  DIR *dir = opendir("/proc/self/fd");
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

/* Scenario 150: a thousand failed openings leave nothing behind. */
Test(registry, undoes_an_opening_that_failed, .timeout = 30) {
  static const char text[] =
      "Driver=mock;Startup=require;Min Pool Size=2;Pool Blocking Period=never;"
      "Mock Script Text=\"connect: fail endpoint network 'down'\"";
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(open_text(text, &pool), WEIR_E_FAIL);
  AWAIT_COUNT(&f, conns_live, 0);
  unsigned before = open_descriptors();
  for (unsigned i = 0; i < 1000; i++) {
    cr_assert_eq(open_text(text, &pool), WEIR_E_FAIL);
  }
  AWAIT_COUNT(&f, conns_live, 0);
  cr_assert_leq(open_descriptors(), before);
  /* All but the last are freed; it goes with the next or with the engine. */
  fixture_sync(&f);
  struct mock_counts c = fixture_counts(&f);
  cr_assert_geq(c.calls[MOCK_CONFIG_DESTROY], 990);
  fixture_close(&f);
}

struct opener {
  pthread_t thread;
  weir_h pool;
  int rc;
};

static void *open_later(void *arg) {
  struct opener *o = arg;
  static const char text[] = "Driver=mock;Startup=require";
  o->rc = weir_pool_open(f.engine, text, strlen(text), &o->pool, NULL);
  return NULL;
}

/* A pool that is being opened while the engine shuts down is refused, whether it
 * would be a new one or is there already. */
Test(registry, refuses_to_open_during_shutdown, .timeout = 10) {
  fixture_open(&f);
  gates_install();
  struct opener o = {.rc = 0};
  weir_h pool = 0;
  gate_hold("waiter.queued");
  cr_assert_eq(pthread_create(&o.thread, NULL, open_later, &o), 0);
  cr_assert_eq(gate_wait_reached("waiter.queued", 1), 0);
  weir_h engine = f.engine;
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(weir_engine_shutdown(engine, 0, &err), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(err.message, "1 calls"), "%s", err.message);
  cr_assert_eq(open_text("Driver=mock", &pool), WEIR_E_HANDLE);
  gate_open("waiter.queued");
  (void)pthread_join(o.thread, NULL);
  cr_assert_eq(o.rc, WEIR_E_CLOSED);
  gates_restore();
}
