/* SPDX-License-Identifier: MIT */
/*
 * check_tokens.c - scenario 165 from end to end: every byte where a token is due,
 * and ENVCHANGE of every type, in the answer to a statement.  It costs at most the
 * connection that it came on: the next user has his own answer, and somebody in a
 * transaction on another connection notices nothing.
 *
 * Prints "N passed, N failed" last.
 */
#include <stdio.h>
#include <string.h>

#include "kit.h"

static const char *const places[] = {"start", "middle", "end"};

static struct kit k;

/* One statement whose answer has hex in it, and one of the next user. */
static void meet(const char *hex, const char *place) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell = {.n = 0};
  char what[64];
  (void)snprintf(what, sizeof what, "%s at the %s", hex, place);
  weir_h lease = kit_acquire(&k);
  kit_order(&k, "fault times=1 msg=batch insert hex=%s place=%s", hex, place);
  int64_t begun = kit_now_ms();
  int32_t rc = kit_run(lease, "SELECT 1", NULL, &cell, &err);
  int64_t took = kit_now_ms() - begun;
  kit_order(&k, "fault clear");
  kit_check(rc == WEIR_OK || rc == WEIR_E_FAIL, what, weir_status_name(rc));
  kit_check(rc != WEIR_OK || cell.number <= 1, what, "a wrong answer");
  kit_check(rc == WEIR_OK || err.message[0] != '\0', what, "no words");
  kit_check_number(took < KIT_SLACK_MS, what, took);
  (void)weir_release(lease);
  lease = kit_acquire(&k);
  rc = kit_run(lease, "SELECT 42", NULL, &cell, &err);
  kit_check(rc == WEIR_OK && cell.number == 42, what, err.message);
  (void)weir_release(lease);
}

int main(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell = {.n = 0};
  char before[32];
  char now[32];
  char hex[64];
  kit_open(&k, &options);
  (void)kit_pool(&k, NULL, "Encrypt=optional;Max Pool Size=2");
  weir_h other = kit_acquire(&k);
  kit_session(other, before, sizeof before);
  int32_t rc = weir_begin(other, WEIR_ISO_DEFAULT, &err);
  kit_check(rc == WEIR_OK, "begin", err.message);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    for (unsigned byte = 0; byte <= 0xFF; byte++) {
      (void)snprintf(hex, sizeof hex, "%02x", byte);
      meet(hex, places[i]);
      (void)snprintf(hex, sizeof hex, "e30600%02x0261006200", byte);
      meet(hex, places[i]);
    }
  }
  rc = kit_run(other, "SELECT @@TRANCOUNT", NULL, &cell, &err);
  kit_check(rc == WEIR_OK && cell.number == 1, "the other one", err.message);
  kit_session(other, now, sizeof now);
  kit_check(strcmp(now, before) == 0, "the other one's session", now);
  rc = weir_commit(other, &err);
  kit_check(rc == WEIR_OK, "the other one's commit", err.message);
  (void)weir_release(other);
  kit_close(&k, "scenario 165");
  return kit_end();
}
