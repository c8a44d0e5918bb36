/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "drivers_dir.h"
#include "fixture.h"

static struct fixture f;

/* Runs check(pool, lease) in a forked child; what it returns, or -1. */
static int in_child(int (*check)(weir_h pool, weir_h lease),
                    weir_h pool,
                    weir_h lease) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    (void)alarm(10);
    _exit(check(pool, lease));
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status)
             ? WEXITSTATUS(status)
             : -1;
}

static unsigned descriptors(void) {
  unsigned n = 0;
  DIR *dir = opendir("/proc/self/fd");
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

/* The number of the first call that does not answer WEIR_E_FORK. */
static int try_every_call(weir_h pool, weir_h lease) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_credential_request request = {.struct_size = sizeof request};
  char buf[64];
  uint64_t need = sizeof buf;
  uint32_t n = 0;
  weir_h out = 0;
  const int results[] = {
      weir_engine_open(NULL, &out, &err),
      weir_engine_shutdown(f.engine, 0, &err),
      weir_driver_load(f.engine, "mock", 4, &err),
      weir_driver_list(f.engine, NULL, 0, &n, &err),
      weir_pool_open(f.engine, "Driver=mock", 11, &out, &err),
      weir_pool_close(pool),
      weir_pool_clear(pool),
      weir_pool_stats(pool, &stats),
      weir_pool_key(pool, buf, sizeof buf, &need),
      weir_conninfo_key(f.engine, "Driver=mock", 11, buf, sizeof buf, &need,
                        &err),
      weir_conninfo_diff(f.engine, "Driver=mock", 11, "Driver=mock", 11, buf,
                         &need, &err),
      weir_engine_advice(f.engine, buf, sizeof buf, &need),
      weir_acquire(pool, 0, &out, &err),
      weir_release(lease),
      weir_discard(lease),
      weir_lease_info(lease, WEIR_INFO_DATABASE, buf, sizeof buf, &need),
      weir_exec(lease, "x", 1, NULL, &err),
      weir_next(lease, &item, &err),
      weir_cancel(lease),
      weir_begin(lease, 0, &err),
      weir_commit(lease, &err),
      weir_rollback(lease, &err),
      weir_save(lease, "a", 1, &err),
      weir_rollback_to(lease, "a", 1, &err),
      weir_credential_open(f.engine, &out, &err),
      weir_credential_next(1, 0, &request, &err),
      weir_credential_answer(1, "x", 1, 0, &err),
      weir_credential_refuse(1, "x", 1, &err),
      weir_credential_close(1),
      weir_rows_free(lease),
  };
  for (int i = 0; i < (int)(sizeof results / sizeof results[0]); i++) {
    if (results[i] != WEIR_E_FORK) {
      return i + 1;
    }
  }
  return 0;
}

Test(engine, answers_every_call_in_a_forked_child, .timeout = 20) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(in_child(try_every_call, pool, lease), 0);
  /* The parent has not noticed. */
  cr_assert_eq(weir_forget_after_fork(), WEIR_E_ARG);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

static unsigned fds_without_engine;

static int forget_and_open(weir_h pool, weir_h lease) {
  struct fixture own;
  if (weir_forget_after_fork() != WEIR_OK ||
      weir_forget_after_fork() != WEIR_OK) {
    return 1;
  }
  if (descriptors() > fds_without_engine) {
    return 2;
  }
  if (weir_release(lease) != WEIR_E_HANDLE ||
      weir_pool_clear(pool) != WEIR_E_HANDLE) {
    return 3;
  }
  fixture_open(&own);
  weir_h other = fixture_pool(&own, "Max Pool Size=2");
  weir_h l = fixture_acquire(&own, other);
  if (fixture_run(&own, l, "rows 2") != WEIR_OK ||
      weir_release(lease) != WEIR_E_HANDLE || weir_release(l) != WEIR_OK) {
    return 4;
  }
  fixture_close(&own);
  return 0;
}

/* A connection each: idle, leased, in the middle of a statement, being opened,
 * and with descriptors of its own. */
Test(engine, is_forgotten_in_a_child_that_opens_its_own, .timeout = 20) {
  fixture_open(&f);
  fixture_close(&f); /* libuv keeps some for the process */
  fds_without_engine = descriptors();
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=4;Mock Script Text=\"connect 4: hang\"");
  struct runner r;
  struct acquirer w;
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  weir_h c = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(c), WEIR_OK);
  c = fixture_acquire(&f, pool);
  runner_start(&r, &f, b, "hang");
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 2);
  cr_assert_eq(in_child(forget_and_open, pool, a), 0);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 2);
  cr_assert_eq(runner_join(&r), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_run(&f, a, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).forgets, 0);
  fixture_close(&f);
}

static int no_engine_here(weir_h pool, weir_h lease) {
  (void)pool;
  (void)lease;
  return weir_forget_after_fork() == WEIR_OK ? 0 : 1;
}

Test(engine, has_nothing_to_forget_before_the_first, .timeout = 10) {
  weir_h out = 0;
  cr_assert_eq(weir_forget_after_fork(), WEIR_OK);
  cr_assert_eq(weir_release(1), WEIR_E_HANDLE);
  cr_assert_eq(weir_acquire(1, 0, &out, NULL), WEIR_E_HANDLE);
  cr_assert_eq(in_child(no_engine_here, 0, 0), 0);
}

/* ---------------------------------------------------------------- opening */

/* Takes all descriptors away, or gives them back. */
static void allow_descriptors(bool some) {
  static struct rlimit usual;
  if (!some) {
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
  }
  const struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
  cr_assert_eq(setrlimit(RLIMIT_NOFILE, some ? &usual : &none), 0);
}

static void check_no_descriptor(int rc) {
  cr_expect_eq(rc, WEIR_E_FAIL);
  cr_expect_not_null(strstr(f.err.message, "no descriptor left"), "%s",
                     f.err.message);
  cr_expect_not_null(strstr(f.err.message, "raise `ulimit -n`"));
}

Test(engine, says_that_no_descriptor_is_left_for_it, .timeout = 10) {
  fixture_open(&f);
  weir_h other = 77;
  allow_descriptors(false);
  int rc = weir_engine_open(NULL, &other, &f.err);
  allow_descriptors(true);
  check_no_descriptor(rc);
  cr_assert_eq(other, 77);
  fixture_close(&f);
}

Test(engine, says_that_no_descriptor_is_left_for_a_caller, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = 77;
  allow_descriptors(false);
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  allow_descriptors(true);
  check_no_descriptor(rc);
  cr_expect_eq(f.err.kind, WEIR_KIND_RESOURCE);
  cr_assert_eq(lease, 77);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(engine, refuses_bad_options, .timeout = 10) {
  struct weir_error err = {.struct_size = sizeof err};
  weir_h engine = 0;
  struct weir_engine_opts o = {.struct_size = sizeof o};
  cr_assert_eq(weir_engine_open(&o, NULL, &err), WEIR_E_ARG);
  o.flags = 0x80;
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_ARG);
  cr_assert_not_null(strstr(err.message, "0x80"));
  o.flags = 0;
  o.threads = 2;
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_UNSUPPORTED);
  o.threads = 0;
  o.offload_threads = 257;
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_ARG);
  o.offload_threads = 0;
  o.driver_dirs_len = 4;
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_ARG);
  o.driver_dirs = "here";
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_ARG);
  o.struct_size = 0;
  cr_assert_eq(weir_engine_open(&o, &engine, &err), WEIR_E_ARG);
  cr_assert_eq(engine, 0);
}

/* Built against a newer header: what it does not use may be longer. */
Test(engine, takes_longer_options_if_the_rest_is_zero, .timeout = 10) {
  struct {
    struct weir_engine_opts o;
    uint64_t more;
  } big = {.o = {.struct_size = sizeof big, .flags = WEIR_ENGINE_NO_ENV}};
  weir_h engine = 0;
  cr_assert_eq(weir_engine_open(&big.o, &engine, NULL), WEIR_OK);
  cr_assert_eq(weir_engine_shutdown(engine, 0, NULL), WEIR_OK);
  big.more = 1;
  cr_assert_eq(weir_engine_open(&big.o, &engine, NULL), WEIR_E_UNSUPPORTED);
}

Test(engine, lives_beside_others, .timeout = 20) {
  struct fixture all[5];
  weir_h pools[5];
  for (int i = 0; i < 5; i++) {
    fixture_open(&all[i]);
    pools[i] = fixture_pool(&all[i], "Max Pool Size=1");
  }
  for (int i = 4; i >= 0; i--) {
    weir_h lease = fixture_acquire(&all[i], pools[i]);
    cr_assert_eq(fixture_run(&all[i], lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_counts(&all[i]).calls[MOCK_CONNECT], 1);
    fixture_close(&all[i]);
  }
}

Test(engine, lists_its_drivers, .timeout = 10) {
  struct weir_driver_info info[4];
  uint32_t n = 0;
  for (int i = 0; i < 4; i++) {
    info[i].struct_size = sizeof info[i];
  }
  fixture_open(&f);
  cr_assert_eq(weir_driver_list(f.engine, info, 4, &n, &f.err), WEIR_OK);
  cr_assert_geq(n, 1);
  bool found = false;
  for (uint32_t i = 0; i < n && i < 4; i++) {
    found = found || strcmp(info[i].name, "mock") == 0;
  }
  cr_assert(found);
  cr_assert_eq(weir_driver_load(f.engine, "mock", 4, &f.err), WEIR_OK);
  cr_assert_eq(weir_driver_load(f.engine, "nope", 4, &f.err), WEIR_E_FAIL);
  fixture_close(&f);
}
