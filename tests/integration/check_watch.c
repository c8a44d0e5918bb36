/* SPDX-License-Identifier: MIT */
/*
 * check_watch.c - what becomes of a connection between its users, through
 * libweir.so and tds.so against tdsd: sessions that the server ends while nobody
 * uses them, Session Init, and keepalive; with and without TLS.
 *
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

#define PLAIN "Encrypt=optional;"
#define TLS   "Encrypt=mandatory;TrustServerCertificate=true;"

static struct kit k;

static struct weir_pool_stats stats(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  (void)weir_pool_stats(k.pool, &s);
  return s;
}

/* Waits for so many idle ones; the number there is. */
static uint32_t await_idle(uint32_t n) {
  int64_t end = kit_now_ms() + KIT_SLACK_MS;
  while (stats().idle != n && kit_now_ms() < end) {
    kit_pause_ms(1);
  }
  return stats().idle;
}

static void open_idle(unsigned n) {
  weir_h leases[8];
  for (unsigned i = 0; i < n; i++) {
    leases[i] = kit_acquire(&k);
  }
  for (unsigned i = 0; i < n; i++) {
    (void)kit_run(leases[i], "SELECT 1", NULL, NULL, NULL);
    (void)weir_release(leases[i]);
  }
}

/* Nobody acquires and no probe is due, and still they go. */
static void check_ends(const char *mode) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = kit_pool(&k, &err, "%sMax Pool Size=8;Probe Window=1 h;", mode);
  kit_check(rc == WEIR_OK, "a pool", err.message);
  open_idle(4);
  kit_check_number(await_idle(4) == 4, "four idle sessions", stats().idle);
  /* Answers and what TLS sends on its own are no reason to look. */
  for (unsigned i = 0; i < 20; i++) {
    open_idle(1);
  }
  kit_check_number(stats().connects_begun == 4, "none of them was closed",
                   (int64_t)stats().connects_begun);
  kit_order(&k, "drop all");
  kit_check_number(await_idle(0) == 0, "all are gone without an acquire",
                   stats().idle);
  weir_h lease = kit_acquire(&k);
  rc = kit_run(lease, "SELECT 1", NULL, NULL, &err);
  kit_check(rc == WEIR_OK, "the next user gets a good one", err.message);
  kit_order(&k, "drop all");
  kit_pause_ms(50);
  (void)weir_release(lease);
  kit_check_number(await_idle(0) == 0, "one that died in use is not kept",
                   stats().idle);
  (void)weir_pool_close(k.pool);
}

static void check_option(const char *what, int64_t expected) {
  struct kit_cell cell = {.n = 0};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h lease = kit_acquire(&k);
  int32_t rc = kit_run(lease, "SELECT @@LOCK_TIMEOUT", NULL, &cell, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  kit_check_number(cell.number == expected, what, cell.number);
  (void)kit_run(lease, "SET LOCK_TIMEOUT 99", NULL, NULL, NULL);
  (void)weir_release(lease);
}

static void check_init(const char *mode, const char *reset) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = kit_pool(&k, &err,
                        "%sMax Pool Size=1;Connection Reset=%s;"
                        "Session Init='SET LOCK_TIMEOUT 1234';",
                        mode, reset);
  kit_check(rc == WEIR_OK, "a pool with Session Init", err.message);
  for (unsigned i = 0; i < 3; i++) {
    check_option("Session Init holds for each user", 1234);
  }
  kit_check_number(stats().connects_begun == 1, "on one connection",
                   (int64_t)stats().connects_begun);
  (void)weir_pool_close(k.pool);
}

static void check_refused_init(void) {
  struct weir_error err = {.struct_size = sizeof err};
  weir_h lease = 0;
  (void)kit_pool(&k, NULL, "%s", PLAIN "Session Init='hunter2 is no word';");
  int32_t rc = weir_acquire(k.pool, 5 * KIT_S, &lease, &err);
  kit_check(rc == WEIR_E_FAIL, "a refused Session Init", err.message);
  kit_check(strstr(err.message, "Session Init") != NULL, "names it",
            err.message);
  kit_check(strstr(err.message, "hunter2") == NULL, "and not its text",
            err.message);
  (void)weir_pool_close(k.pool);
}

static void check_keepalive(const char *mode) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = kit_pool(&k, &err,
                        "%sMax Pool Size=4;Keepalive Interval=100ms;"
                        "Session Init='SET LOCK_TIMEOUT 1234';",
                        mode);
  kit_check(rc == WEIR_OK, "a pool with keepalive", err.message);
  open_idle(3);
  kit_pause_ms(500);
  kit_check_number(await_idle(3) == 3, "pinged and still there", stats().idle);
  check_option("a ping leaves what Session Init has set", 1234);
  kit_check_number(stats().connects_begun == 3, "and closes nothing",
                   (int64_t)stats().connects_begun);
  (void)weir_pool_close(k.pool);
}

int main(void) {
  const struct tdsd_options options = {.tls = TDSD_TLS_FULL, .log = kit_log};
  kit_open(&k, &options);
  check_ends(PLAIN);
  check_ends(TLS);
  check_init(PLAIN, "lazy");
  check_init(TLS, "verified");
  check_refused_init();
  check_keepalive(PLAIN);
  check_keepalive(TLS);
  kit_close(&k, "the server has seen nothing wrong");
  return kit_end();
}
