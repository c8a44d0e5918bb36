/* SPDX-License-Identifier: MIT */
/* Drivers that break their contract: the error names the driver and what it did,
 * the connection is closed, and nothing hangs. */
#include <netdb.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "sys/seams.h"

static struct fixture f;
static sem_t slow;

/* A name server that answers when the test says so. */
static int resolve_slowly(const char *host,
                          const char *service,
                          const struct addrinfo *hints,
                          struct addrinfo **out) {
  (void)host;
  (void)service;
  (void)hints;
  (void)out;
  (void)sem_wait(&slow);
  (void)sem_post(&slow);
  return EAI_NONAME;
}

static void open_engine(void) {
  (void)sem_init(&slow, 0, 0);
  weir__seams.net_resolve = resolve_slowly;
  fixture_open(&f);
}

static void close_engine(void) {
  (void)sem_post(&slow);
  fixture_close(&f);
}

Test(op, refuses_what_a_connect_must_not_answer, .timeout = 20) {
  static const struct {
    const char *way;
    const char *says;
  } cases[] = {
      {"connect unknown status", "unknown status"},
      {"connect waits for nothing", "wait for nothing"},
      {"connect wants too much", "more than 8"},
      {"connect unknown request", "unknown request"},
      {"connect fails silently", "without a reason"},
      {"connect two requests", "second request"},
      {"connect tells columns", "outside of a statement"},
      {"connect tells rows", "outside of a statement"},
      {"connect tells outputs", "outside of a statement"},
      {"connect not usable", "not usable"},
      {"create silent", "without a reason"},
      {"create waits", "without a reason"},
  };
  open_engine();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    weir_h pool = fixture_rogue_pool(&f, "%s", cases[i].way);
    weir_h lease = 0;
    cr_assert_eq(weir_acquire(pool, 5 * FIXTURE_S, &lease, &f.err), WEIR_E_FAIL,
                 "%s: %s", cases[i].way, f.err.message);
    cr_assert_not_null(strstr(f.err.message, cases[i].says), "%s: %s",
                       cases[i].way, f.err.message);
    cr_assert_not_null(strstr(f.err.message, "rogue"), "%s: %s", cases[i].way,
                       f.err.message);
    AWAIT_STAT(pool, empty, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  close_engine();
}

Test(op, refuses_what_a_statement_must_not_answer, .timeout = 20) {
  static const struct {
    const char *way;
    const char *says;
  } cases[] = {
      {"exec unknown status", "unknown status"},
      {"exec waits for nothing", "wait for nothing"},
      {"exec wants too much", "more than 8"},
      {"exec unknown request", "unknown request"},
      {"exec fails silently", "without a reason"},
      {"exec two requests", "second request"},
      {"exec half a row", "half a row"},
      {"exec no batch", "half a row"},
      {"exec no columns", "META without columns"},
      {"exec odd columns", "META without columns"},
      {"exec rows at once", "half a row"},
      {"exec out no row", "OUT without its row"},
      {"exec out count", "OUT without its row"},
      {"exec out out", "OUT without its row"},
      {"exec out two rows", "not one row"},
      {"exec out half a row", "half a row"},
      {"exec out no columns", "OUT without columns"},
      {"exec stray cell", "a cell outside of its batch"},
      {"exec stray cell and fails", "a cell outside of its batch"},
      {"exec stray cell and waits", "a cell outside of its batch"},
      {"exec stray cell and ends", "a cell outside of its batch"},
  };
  open_engine();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    weir_h pool = fixture_rogue_pool(&f, "%s", cases[i].way);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "x"), WEIR_E_FAIL, "%s: %s",
                 cases[i].way, f.err.message);
    cr_assert_not_null(strstr(f.err.message, cases[i].says), "%s: %s",
                       cases[i].way, f.err.message);
    cr_assert_not_null(strstr(f.err.message, "driver rogue"), "%s",
                       f.err.message);
    cr_assert_eq(fixture_exec(&f, lease, "x"), WEIR_E_FAIL);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool, empty, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  close_engine();
}

Test(op, closes_a_session_whose_reset_is_a_breach, .timeout = 20) {
  static const char *const ways[] = {
      "reset unknown status", "reset waits for nothing", "reset two requests",
      "reset unknown request", "reset fails silently"};
  open_engine();
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    weir_h pool = fixture_rogue_pool(&f, "%s", ways[i]);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "x"), WEIR_OK, "%s", f.err.message);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool, empty, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  close_engine();
}

Test(op, takes_odd_facts_for_none, .timeout = 10) {
  char buf[16] = "old";
  uint64_t need = 0;
  open_engine();
  weir_h pool = fixture_rogue_pool(&f, "get odd");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_DATABASE, buf, 16, &need),
               WEIR_E_UNSUPPORTED);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  close_engine();
}

Test(op, gives_a_reason_where_a_driver_has_none, .timeout = 10) {
  char text[512];
  weir_h pool = 0;
  open_engine();
  (void)snprintf(text, sizeof text,
                 "Driver=%s/tests/engine/drivers/rogue.so;Rogue=config silent",
                 getenv("WEIR_BUILD_DIR"));
  cr_assert_eq(weir_pool_open(f.engine, text, strlen(text), &pool, &f.err),
               WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "driver rogue refused"));
  close_engine();
}
