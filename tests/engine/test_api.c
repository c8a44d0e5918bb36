/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"

static struct fixture f;

/* Scenario 158: every failing path without an error struct and without the
 * outputs that are optional. */
Test(api, fails_without_an_error_struct, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  weir_h out = 77;
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_credential_request request = {.struct_size = sizeof request};
  struct weir_exec_opts odd = {.struct_size = sizeof odd, .flags = 2};
  struct weir_exec_opts late = {.struct_size = sizeof late, .timeout_ns = -2};
  char buf[8];
  uint32_t n = 77;
  const struct {
    int got;
    int wanted;
  } calls[] = {
      {weir_engine_open(NULL, NULL, NULL), WEIR_E_ARG},
      {weir_engine_shutdown(f.engine, -1, NULL), WEIR_E_ARG},
      {weir_engine_shutdown(0, 0, NULL), WEIR_E_HANDLE},
      {weir_driver_load(f.engine, NULL, 0, NULL), WEIR_E_ARG},
      {weir_driver_load(f.engine, "", 0, NULL), WEIR_E_ARG},
      {weir_driver_load(f.engine, "nope", 4, NULL), WEIR_E_FAIL},
      {weir_driver_load(pool, "mock", 4, NULL), WEIR_E_HANDLE},
      {weir_driver_list(f.engine, NULL, 0, NULL, NULL), WEIR_E_ARG},
      {weir_driver_list(f.engine, NULL, 1, &n, NULL), WEIR_E_ARG},
      {weir_driver_list(0, NULL, 0, &n, NULL), WEIR_E_HANDLE},
      {weir_pool_open(f.engine, NULL, 1, &out, NULL), WEIR_E_ARG},
      {weir_pool_open(f.engine, "Driver=mock", 11, NULL, NULL), WEIR_E_ARG},
      {weir_pool_open(f.engine, NULL, 0, &out, NULL), WEIR_E_ARG},
      {weir_pool_open(f.engine, "Driver=nope", 11, &out, NULL), WEIR_E_FAIL},
      {weir_pool_open(f.engine, "Bad", 3, &out, NULL), WEIR_E_ARG},
      {weir_pool_open(pool, "Driver=mock", 11, &out, NULL), WEIR_E_HANDLE},
      {weir_pool_close(0), WEIR_E_HANDLE},
      {weir_pool_close(lease), WEIR_E_HANDLE},
      {weir_pool_clear(0), WEIR_E_HANDLE},
      {weir_pool_stats(pool, NULL), WEIR_E_ARG},
      {weir_pool_stats(0, NULL), WEIR_E_HANDLE},
      {weir_pool_key(pool, NULL, 1, NULL), WEIR_E_ARG},
      {weir_pool_key(pool, buf, 1, NULL), WEIR_E_SPACE},
      {weir_conninfo_key(f.engine, "Driver=mock", 11, NULL, 1, NULL, NULL),
       WEIR_E_ARG},
      {weir_conninfo_key(f.engine, NULL, 3, buf, 8, NULL, NULL), WEIR_E_ARG},
      {weir_conninfo_key(f.engine, "Driver=mock", 11, buf, 1, NULL, NULL),
       WEIR_E_SPACE},
      {weir_conninfo_key(0, "Driver=mock", 11, buf, 8, NULL, NULL),
       WEIR_E_HANDLE},
      {weir_engine_advice(pool, buf, 1, NULL), WEIR_E_HANDLE},
      {weir_engine_advice(f.engine, NULL, 1, NULL), WEIR_E_ARG},
      {weir_acquire(pool, 0, NULL, NULL), WEIR_E_ARG},
      {weir_acquire(pool, -2, &out, NULL), WEIR_E_ARG},
      {weir_acquire(pool, INT64_MIN, &out, NULL), WEIR_E_ARG},
      {weir_acquire(pool, 0, &out, NULL), WEIR_E_TIMEOUT},
      {weir_acquire(pool, 1, &out, NULL), WEIR_E_TIMEOUT},
      {weir_acquire(0, 0, &out, NULL), WEIR_E_HANDLE},
      {weir_release(0), WEIR_E_HANDLE},
      {weir_discard(pool), WEIR_E_HANDLE},
      {weir_lease_info(lease, 4, NULL, 1, NULL), WEIR_E_ARG},
      {weir_lease_info(lease, 2, buf, 1, NULL), WEIR_E_SPACE},
      {weir_exec(lease, NULL, 1, NULL, NULL), WEIR_E_ARG},
      {weir_exec(lease, "x", (UINT64_C(64) << 20) + 1, NULL, NULL), WEIR_E_ARG},
      {weir_exec(lease, "x", 1, &odd, NULL), WEIR_E_ARG},
      {weir_exec(lease, "x", 1, &late, NULL), WEIR_E_ARG},
      {weir_exec(0, "x", 1, NULL, NULL), WEIR_E_HANDLE},
      {weir_exec(lease, "fail 1 x", 8, NULL, NULL), WEIR_E_FAIL},
      {weir_next(lease, NULL, NULL), WEIR_E_ARG},
      {weir_next(lease, &item, NULL), WEIR_E_ARG},
      {weir_next(0, &item, NULL), WEIR_E_HANDLE},
      {weir_exec(lease, "rows 1;fail 1 x", 15, NULL, NULL), WEIR_OK},
      {weir_exec(lease, "x", 1, NULL, NULL), WEIR_E_BUSY},
      {weir_begin(lease, 0, NULL), WEIR_E_BUSY},
      {weir_begin(lease, -1, NULL), WEIR_E_ARG},
      {weir_begin(lease, 6, NULL), WEIR_E_ARG},
      {weir_begin(pool, 0, NULL), WEIR_E_HANDLE},
      {weir_commit(lease, NULL), WEIR_E_BUSY},
      {weir_commit(0, NULL), WEIR_E_HANDLE},
      {weir_rollback(lease, NULL), WEIR_E_BUSY},
      {weir_rollback(0, NULL), WEIR_E_HANDLE},
      {weir_save(lease, "a", 1, NULL), WEIR_E_BUSY},
      {weir_save(lease, NULL, 0, NULL), WEIR_E_ARG},
      {weir_save(lease, NULL, 1, NULL), WEIR_E_ARG},
      {weir_save(lease, "", 0, NULL), WEIR_E_ARG},
      {weir_save(0, "a", 1, NULL), WEIR_E_HANDLE},
      {weir_rollback_to(lease, "a", 1, NULL), WEIR_E_BUSY},
      {weir_rollback_to(lease, "\xff", 1, NULL), WEIR_E_ARG},
      {weir_rollback_to(0, "a", 1, NULL), WEIR_E_HANDLE},
      {weir_credential_open(f.engine, NULL, NULL), WEIR_E_ARG},
      {weir_credential_open(pool, &out, NULL), WEIR_E_HANDLE},
      {weir_credential_next(0, 0, NULL, NULL), WEIR_E_ARG},
      {weir_credential_next(0, 0, &request, NULL), WEIR_E_HANDLE},
      {weir_credential_next(0, -1, &request, NULL), WEIR_E_ARG},
      {weir_credential_answer(0, "x", 1, 0, NULL), WEIR_E_HANDLE},
      {weir_credential_answer(0, NULL, 1, 0, NULL), WEIR_E_ARG},
      {weir_credential_refuse(0, "x", 1, NULL), WEIR_E_HANDLE},
      {weir_credential_refuse(0, NULL, 1, NULL), WEIR_E_ARG},
      {weir_credential_close(0), WEIR_E_HANDLE},
      {weir_cancel(0), WEIR_E_HANDLE},
      {weir_rows_free(0), WEIR_E_HANDLE},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    cr_assert_eq(calls[i].got, calls[i].wanted, "call %zu answered %d", i,
                 calls[i].got);
  }
  cr_assert_eq(out, 77);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_E_FAIL);
  fixture_close(&f);
}

Test(api, tells_a_handle_of_another_type, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  weir_h out = 77;
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_error *err = &f.err;
#define REFUSES(call, text)                                        \
  do {                                                             \
    cr_assert_eq(call, WEIR_E_HANDLE);                             \
    cr_assert_eq(err->code, WEIR_E_HANDLE);                        \
    cr_assert_not_null(strstr(err->message, text), "%s: %s", text, \
                       err->message);                              \
  } while (0)
  REFUSES(weir_acquire(f.engine, 0, &out, err),
          "this is an engine's handle; wanted a pool's");
  REFUSES(weir_acquire(lease, 0, &out, err),
          "this is a lease's handle; wanted a pool's");
  REFUSES(weir_pool_open(pool, "Driver=mock", 11, &out, err),
          "this is a pool's handle; wanted an engine's");
  REFUSES(weir_driver_load(lease, "mock", 4, err),
          "this is a lease's handle; wanted an engine's");
  REFUSES(weir_engine_shutdown(pool, 0, err),
          "this is a pool's handle; wanted an engine's");
  REFUSES(weir_exec(pool, "x", 1, NULL, err),
          "this is a pool's handle; wanted a lease's");
  REFUSES(weir_next(f.engine, &item, err),
          "this is an engine's handle; wanted a lease's");
  REFUSES(weir_acquire(pool + 1, 0, &out, err), "stale, foreign");
  REFUSES(weir_acquire(UINT64_MAX, 0, &out, err), "stale, foreign");
  REFUSES(weir_acquire(0, 0, &out, err), "stale, foreign");
#undef REFUSES
  cr_assert_eq(out, 77);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* The error says the same as the result, in as many bytes as the caller has. */
Test(api, fills_no_more_than_the_callers_struct, .timeout = 10) {
  unsigned char raw[sizeof(struct weir_error)];
  struct weir_error *err = (struct weir_error *)(void *)raw;
  weir_h out = 0;
  fixture_open(&f);
  for (uint32_t size = 0; size <= sizeof raw; size += 4) {
    memset(raw, 0xA5, sizeof raw);
    memcpy(raw, &size, sizeof size);
    cr_assert_eq(weir_pool_open(f.engine, "Driver=nope", 11, &out, err),
                 WEIR_E_FAIL);
    for (size_t i = size < 4 ? 4 : size; i < sizeof raw; i++) {
      cr_assert_eq(raw[i], 0xA5, "byte %zu of %u written", i, size);
    }
  }
  cr_assert_eq(err->code, WEIR_E_FAIL);
  fixture_close(&f);
}

Test(api, checks_the_size_of_structs, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  struct weir_item item = {.struct_size = sizeof item - 1};
  struct weir_exec_opts opts = {.struct_size = 4};
  struct weir_pool_stats stats = {.struct_size = 0};
  cr_assert_eq(weir_exec(lease, "x", 1, &opts, &f.err), WEIR_E_ARG);
  cr_assert_not_null(strstr(f.err.message, "struct_size"));
  opts.struct_size = UINT32_MAX;
  cr_assert_eq(weir_exec(lease, "x", 1, &opts, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_pool_stats(pool, &stats), WEIR_E_ARG);
  stats.struct_size = 4;
  cr_assert_eq(weir_pool_stats(pool, &stats), WEIR_E_ARG);
  fixture_close(&f);
}

/* An older caller's statistics end sooner. */
Test(api, fills_shorter_statistics, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=9;Min Pool Size=0");
  struct weir_pool_stats stats;
  memset(&stats, 0xA5, sizeof stats);
  stats.struct_size = 8;
  cr_assert_eq(weir_pool_stats(pool, &stats), WEIR_OK);
  cr_assert_eq(stats.max_size, 9);
  cr_assert_eq(stats.min_size, 0xA5A5A5A5u);
  fixture_close(&f);
}

Test(api, takes_shorter_options, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  struct weir_exec_opts opts = {.struct_size = 8, .timeout_ns = -5};
  cr_assert_eq(weir_exec(lease, "rows 1", 6, &opts, &f.err), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(weir_exec(lease, "", 0, NULL, &f.err), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(weir_exec(lease, NULL, 0, NULL, &f.err), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

Test(api, tells_its_version_and_features, .timeout = 5) {
  cr_assert_eq(weir_version() >> 16, WEIR_VERSION_MAJOR);
  cr_assert_eq(weir_feature("blocking", 8), 1);
  cr_assert_eq(weir_feature("blocking", 7), 0);
  cr_assert_eq(weir_feature("teleport", 8), 0);
  cr_assert_eq(weir_feature("", 0), 0);
  cr_assert_eq(weir_feature(NULL, 0), 0);
}
