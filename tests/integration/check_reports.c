/* SPDX-License-Identifier: MIT */
/*
 * check_reports.c - what users of other drivers reported about pools, by the
 * number of the report, through libweir.so and tds.so against a strict tdsd: what
 * one user of a connection leaves to the next, and transactions and handles that
 * the server has ended.
 *
 * Prints "N passed, N failed" last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

static struct kit k;

static void open_strict(enum tdsd_tls_mode tls, const char *settings) {
  struct tdsd_options options = {.tls = tls, .strict_client = true};
  struct weir_error err = {.struct_size = sizeof err};
  kit_open(&k, &options);
  int32_t rc = kit_pool(&k, &err, "%sMax Pool Size=1", settings);
  kit_check(rc == WEIR_OK, "pool", err.message);
}

#define PLAIN "Encrypt=optional;"

static void must(weir_h lease, const char *sql, const char *what) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = kit_run(lease, sql, NULL, NULL, &err);
  kit_check(rc == WEIR_OK, what, err.message);
}

static int64_t number(weir_h lease, const char *sql, const char *what) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell = {.n = 0};
  int32_t rc = kit_run(lease, sql, NULL, &cell, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  return cell.number;
}

/* A number of the only session, as the server tells it. */
static int64_t of_session(const char *name) {
  char reply[1024];
  char key[40];
  (void)snprintf(key, sizeof key, "\"%s\":", name);
  tdsd_command(k.server, "sessions", reply, sizeof reply);
  const char *at = strstr(reply, key);
  return at == NULL ? -1 : strtol(at + strlen(key), NULL, 10);
}

static void hand_over(weir_h *lease) {
  (void)weir_release(*lease);
  *lease = kit_acquire(&k);
}

/* ------------------------------------------------------ left to the next user */

/* SqlClient#96: an isolation level. */
static void report_1_no_isolation_level_is_inherited(void) {
  struct weir_error err = {.struct_size = sizeof err};
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  for (unsigned i = 0; i < 2; i++) {
    if (i == 0) {
      int32_t rc = weir_begin(lease, WEIR_ISO_SERIALIZABLE, &err);
      kit_check(rc == WEIR_OK, "1: begin", err.message);
      rc = weir_commit(lease, &err);
      kit_check(rc == WEIR_OK, "1: commit", err.message);
    } else {
      must(lease, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "1: set");
    }
    kit_check_number(of_session("isolation") == 4, "1: serializable",
                     of_session("isolation"));
    hand_over(&lease);
    must(lease, "SELECT 1", "1: the next user");
    kit_check_number(of_session("isolation") == 2, "1: inherited",
                     of_session("isolation"));
  }
  kit_check_number(kit_stats(&k).connections_total == 1, "1: one session",
                   (int64_t)kit_stats(&k).connections_total);
  (void)weir_release(lease);
  kit_close(&k, "report 1");
}

/* SqlClient#2970, PR#4557: a reset drops the transaction it should keep, or keeps
 * the one it should drop.  A lease that ends with one open has it rolled back,
 * and no reset ever keeps one. */
static void reports_2_3_a_reset_ends_what_was_left_open(void) {
  struct weir_error err = {.struct_size = sizeof err};
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  for (unsigned i = 0; i < 2; i++) {
    if (i == 0) {
      int32_t rc = weir_begin(lease, WEIR_ISO_DEFAULT, &err);
      kit_check(rc == WEIR_OK, "2: begin", err.message);
      must(lease, "SELECT 1", "2: inside");
    } else {
      must(lease, "BEGIN TRANSACTION", "2: by text");
    }
    hand_over(&lease);
    kit_check_number(number(lease, "SELECT @@TRANCOUNT", "2") == 0, "2: open",
                     of_session("trancount"));
  }
  (void)weir_release(lease);
  kit_check_number(kit_stats(&k).resets_10 == 0, "3: kept",
                   (int64_t)kit_stats(&k).resets_10);
  kit_check_number(kit_stats(&k).resets_08 >= 2, "3: reset",
                   (int64_t)kit_stats(&k).resets_08);
  kit_close(&k, "reports 2 and 3");
}

/* node-mssql#1483: SESSION_CONTEXT, temporary tables, and what else a session
 * holds. */
static void report_18_a_session_is_clean_by_default(void) {
  static const char *const asks[] = {
      "SELECT 1 WHERE NOT SESSION_CONTEXT(N'who') IS NULL",
      "SELECT 1 WHERE NOT OBJECT_ID('tempdb..#t') IS NULL",
      "SELECT 1 WHERE NOT CONTEXT_INFO() IS NULL",
      "SELECT 1 WHERE DB_NAME() <> 'master'",
      "SELECT 1 WHERE @@LOCK_TIMEOUT <> -1",
  };
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  must(lease, "EXEC sp_set_session_context N'who', N'me'", "18: context");
  must(lease, "CREATE TABLE #t (a int)", "18: table");
  must(lease, "SET CONTEXT_INFO 0x01", "18: context info");
  must(lease, "SET LOCK_TIMEOUT 5", "18: option");
  must(lease, "USE tempdb", "18: database");
  for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
    kit_check_number(number(lease, asks[i], "18") == 1, asks[i], 0);
  }
  hand_over(&lease);
  for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
    kit_check_number(number(lease, asks[i], "18") == 0, asks[i], 1);
  }
  kit_check_number(kit_stats(&k).connections_total == 1, "18: one session",
                   (int64_t)kit_stats(&k).connections_total);
  (void)weir_release(lease);
  kit_close(&k, "report 18");
}

/* ------------------------------------------------ transactions, from outside */

/* SqlClient#237: ended by the server while a user holds it.  He is told, nothing
 * of his is committed one by one, and whoever is next begins anew. */
static void report_4_a_transaction_ended_from_outside(void) {
  struct weir_error err = {.struct_size = sizeof err};
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  (void)weir_begin(lease, WEIR_ISO_DEFAULT, &err);
  kit_order(&k, "fault times=1 msg=batch tran rollback");
  (void)kit_run(lease, "SELECT 1", NULL, NULL, NULL);
  uint64_t batches = kit_stats(&k).batches;
  int32_t rc = kit_run(lease, "SELECT 1", NULL, NULL, &err);
  kit_check(rc == WEIR_E_FAIL, "4: goes on", weir_status_name(rc));
  kit_check_number(err.txn == WEIR_TXN_DOOMED, "4: told", err.txn);
  kit_check_number(kit_stats(&k).batches == batches, "4: sent", 1);
  hand_over(&lease);
  rc = weir_begin(lease, WEIR_ISO_DEFAULT, &err);
  kit_check(rc == WEIR_OK, "4: the next one's", err.message);
  kit_check_number(number(lease, "SELECT @@TRANCOUNT", "4") == 1, "4: open", 0);
  rc = weir_commit(lease, &err);
  kit_check(rc == WEIR_OK, "4: its commit", err.message);
  (void)weir_release(lease);
  kit_close(&k, "report 4");
}

/* babelfish_extensions#2401: the server ends it without a word.  The dead
 * descriptor goes along, so that the server refuses what follows instead of
 * committing it, and the session is not used again. */
static void report_35_a_transaction_ended_without_a_word(void) {
  struct weir_error err = {.struct_size = sizeof err};
  char before[32];
  char now[32];
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  kit_session(lease, before, sizeof before);
  (void)weir_begin(lease, WEIR_ISO_DEFAULT, &err);
  kit_order(&k, "fault times=1 msg=batch tran silent");
  (void)kit_run(lease, "SELECT 1", NULL, NULL, NULL);
  int32_t rc = kit_run(lease, "SELECT 1", NULL, NULL, &err);
  kit_check(rc == WEIR_E_FAIL, "35: goes on", weir_status_name(rc));
  kit_check_number(err.native == 3989, "35: number", err.native);
  rc = weir_commit(lease, &err);
  kit_check(rc != WEIR_OK, "35: commits", weir_status_name(rc));
  hand_over(&lease);
  kit_session(lease, now, sizeof now);
  kit_check(strcmp(now, before) != 0, "35: the same session", now);
  kit_check_number(number(lease, "SELECT @@TRANCOUNT", "35") == 0, "35: open",
                   1);
  (void)weir_release(lease);
  k.violations = 1; /* the descriptor that the strict server refused */
  kit_close(&k, "report 35");
}

/* ------------------------------------------------------------------- handles */

static int64_t prepared(weir_h lease, const char *sql, const char *what) {
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .flags = WEIR_EXEC_PREPARED};
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell = {.n = 0};
  int32_t rc = kit_run(lease, sql, &opts, &cell, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  return cell.number;
}

/* jdbc#2356: handles die with a reset.  jdbc#1971: they begin anew with another
 * session, so that an old number is another's statement. */
static void reports_25_26_handles_end_with_their_session(void) {
  open_strict(TDSD_TLS_OFF, PLAIN);
  weir_h lease = kit_acquire(&k);
  for (unsigned i = 0; i < 4; i++) {
    for (unsigned n = 0; n < 3; n++) { /* the third time by its handle */
      int64_t got = prepared(lease, i % 2 == 0 ? "SELECT 31" : "SELECT 32",
                             "25: prepared");
      kit_check_number(got == 31 + i % 2, "25: another's", got);
    }
    if (i == 1) {
      kit_order(&k, "kill all");
      (void)kit_run(lease, "SELECT 1", NULL, NULL, NULL);
    }
    hand_over(&lease);
    int64_t got = prepared(lease, i % 2 == 0 ? "SELECT 32" : "SELECT 31",
                           "26: by the next user");
    kit_check_number(got == 32 - i % 2, "26: another's", got);
  }
  (void)weir_release(lease);
  kit_close(&k, "reports 25 and 26");
}

/* ----------------------------------------------------------------- the rest */

/* SqlClient#85: several results at once, out of step after a cancel. */
static void report_8_mars_is_refused_by_name(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct weir_error err = {.struct_size = sizeof err};
  kit_open(&k, &options);
  int32_t rc = kit_pool(&k, &err, PLAIN "MultipleActiveResultSets=true");
  kit_check(rc == WEIR_E_FAIL || rc == WEIR_E_ARG, "8", weir_status_name(rc));
  kit_check(strstr(err.message, "MultipleActiveResultSets") != NULL, "8",
            err.message);
  kit_close(&k, "report 8");
}

/* jdbc#1524: TLS 1.3 inside TDS 7 never ends its handshake; TDS 8 has it. */
static void report_29_tls_1_2_inside_tds_7(void) {
  char tls[64] = "";
  open_strict(TDSD_TLS_FULL, "Encrypt=mandatory;TrustServerCertificate=true;");
  weir_h lease = kit_acquire(&k);
  (void)weir_lease_info(lease, WEIR_INFO_TLS, tls, sizeof tls, NULL);
  kit_check(strncmp(tls, "TLSv1.2", 7) == 0, "29", tls);
  must(lease, "SELECT 1", "29");
  (void)weir_release(lease);
  kit_close(&k, "report 29");
}

int main(void) {
  report_1_no_isolation_level_is_inherited();
  reports_2_3_a_reset_ends_what_was_left_open();
  report_4_a_transaction_ended_from_outside();
  report_8_mars_is_refused_by_name();
  report_18_a_session_is_clean_by_default();
  reports_25_26_handles_end_with_their_session();
  report_29_tls_1_2_inside_tds_7();
  report_35_a_transaction_ended_without_a_word();
  return kit_end();
}
