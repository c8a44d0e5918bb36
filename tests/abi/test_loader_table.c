/* SPDX-License-Identifier: MIT */
/* Scenario 157: tables of other sizes and versions, each pointer missing in
 * turn. */
#include <stddef.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "loader_table.h"

static struct weir__driver taken;
static struct weir_error err;
static char filler[8];

/* A table whose function slots all hold something.  It is never called. */
static struct weir_driver full_table(void) {
  struct weir_driver t = {0};
  const void *p = filler;
  const size_t first = offsetof(struct weir_driver, open);
  for (size_t at = first; at < sizeof t; at += sizeof p) {
    memcpy((char *)&t + at, &p, sizeof p);
  }
  t.struct_size = sizeof t;
  t.magic = WEIR_DRV_MAGIC;
  t.abi_hash = WEIR_DRV_ABI_HASH;
  t.thread_model = WEIR_DRV_THREAD_PER_CONN;
  t.name = "good";
  t.version = "1";
  return t;
}

/* Takes a table, with and without an error to fill. */
static int take(const struct weir_driver *t) {
  err.struct_size = sizeof err;
  const int rc = weir__driver_table_take(&taken, t, "/d/x.so", NULL, &err);
  cr_expect_eq(weir__driver_table_take(&taken, t, "/d/x.so", NULL, NULL), rc);
  return rc;
}

static void expect_refused(const struct weir_driver *t,
                           const char *found,
                           const char *wanted) {
  cr_expect_eq(take(t), WEIR_E_FAIL);
  cr_expect_not_null(strstr(err.message, "driver /d/x.so: found "));
  cr_expect_not_null(strstr(err.message, found), "%s", err.message);
  cr_expect_not_null(strstr(err.message, wanted), "%s", err.message);
}

static void set_null(struct weir_driver *t, size_t at) {
  const void *nothing = NULL;
  memcpy((char *)t + at, &nothing, sizeof nothing);
}

struct slot {
  const char *name;
  size_t at;
  uint64_t caps;
};

#define SLOT(s) \
  { #s, offsetof(struct weir_driver, s), 0 }

Test(loader_table, takes_a_table_of_our_own_size) {
  const struct weir_driver t = full_table();
  cr_assert_eq(take(&t), WEIR_OK, "%s", err.message);
  cr_expect_str_eq(taken.name, "good");
  cr_expect_eq(taken.table.struct_size, sizeof t);
  cr_expect_eq(taken.has, 0x1FFu);
}

Test(loader_table, names_each_mandatory_slot_that_is_null) {
  static const struct slot slots[] = {
      SLOT(open),          SLOT(close),          SLOT(options),
      SLOT(config_create), SLOT(config_destroy), SLOT(config_key),
      SLOT(conn_create),   SLOT(conn_destroy),   SLOT(abort_conn),
      SLOT(get),           SLOT(health),         SLOT(connect),
      SLOT(exec),          SLOT(step),           SLOT(columns)};
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    struct weir_driver t = full_table();
    char found[64];
    set_null(&t, slots[i].at);
    (void)snprintf(found, sizeof found, "the slot %s of its table is NULL",
                   slots[i].name);
    expect_refused(&t, found, "the slot is mandatory");
  }
}

Test(loader_table, names_the_slot_that_a_capability_promises) {
  static const struct slot slots[] = {
      {"cancel", offsetof(struct weir_driver, cancel), WEIR_DRV_CAP_CANCEL},
      {"reset", offsetof(struct weir_driver, reset), WEIR_DRV_CAP_RESET_LAZY},
      {"reset", offsetof(struct weir_driver, reset), WEIR_DRV_CAP_RESET_EAGER},
      {"txn", offsetof(struct weir_driver, txn), WEIR_DRV_CAP_TXN},
      {"txn", offsetof(struct weir_driver, txn), WEIR_DRV_CAP_2PC},
      {"idle", offsetof(struct weir_driver, idle), WEIR_DRV_CAP_IDLE_WATCH}};
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    struct weir_driver t = full_table();
    char found[64];
    t.caps = slots[i].caps;
    set_null(&t, slots[i].at);
    (void)snprintf(found, sizeof found, "the slot %s of its table is NULL",
                   slots[i].name);
    expect_refused(&t, found, "its capabilities promise one");
  }
}

Test(loader_table, reads_nothing_of_a_table_of_size_zero) {
  /* No more than the size is there, so a read beyond it is seen by ASan. */
  struct weir_driver *t = (void *)calloc(1, 4);
  expect_refused(t, "a table of 0 bytes", "at least 248");
  free(t);
}

Test(loader_table, refuses_a_table_shorter_than_the_first) {
  struct weir_driver t = full_table();
  t.struct_size = WEIR_DRV_DRIVER_SIZE_V0 - 8;
  expect_refused(&t, "a table of 240 bytes", "at least 248");
}

Test(loader_table, takes_what_it_knows_of_a_longer_table) {
  struct weir_driver t = full_table();
  t.struct_size = UINT32_MAX;
  cr_assert_eq(take(&t), WEIR_OK);
  cr_expect_eq(taken.table.struct_size, sizeof t);
}

Test(loader_table, refuses_what_is_no_table) {
  struct weir_driver t = full_table();
  t.magic = 0x12345678;
  expect_refused(&t, "magic 12345678", "52494557");
}

Test(loader_table, refuses_another_hash) {
  struct weir_driver t = full_table();
  t.abi_hash = UINT64_C(0x1122334455667788);
  expect_refused(&t, "hash 1122334455667788", "rebuild the driver");
}

Test(loader_table, refuses_a_driver_that_needs_a_newer_engine) {
  struct weir_driver t = full_table();
  t.min_host_minor = WEIR_DRV_ABI_MINOR + 1;
  expect_refused(&t, "needs driver ABI 0.1", "update the engine");
}

Test(loader_table, refuses_a_blocking_driver) {
  struct weir_driver t = full_table();
  t.caps = WEIR_DRV_CAP_BLOCKING;
  expect_refused(&t, "a blocking driver", "does not run blocking drivers yet");
}

Test(loader_table, refuses_thread_models_it_would_have_to_help) {
  static const int32_t models[] = {0, WEIR_DRV_THREAD_PER_DRIVER,
                                   WEIR_DRV_THREAD_PINNED, 4, -1};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    struct weir_driver t = full_table();
    t.thread_model = models[i];
    expect_refused(&t, "thread model", "WEIR_DRV_THREAD_PER_CONN");
  }
}

Test(loader_table, refuses_names_that_are_not_names) {
  static const char *const names[] = {
      NULL, "", "Tds", "a b", "a-b", "abcdefghijabcdefghijabcdefghijkl"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct weir_driver t = full_table();
    t.name = names[i];
    expect_refused(&t, "without a proper name", "a-z, 0-9 and _");
  }
}

Test(loader_table, lives_without_a_version) {
  struct weir_driver t = full_table();
  t.version = NULL;
  cr_assert_eq(take(&t), WEIR_OK);
  cr_expect_str_eq(taken.version, "");
}

Test(loader_table, cuts_a_long_version_at_a_character) {
  struct weir_driver t = full_table();
  t.version = "123456789012345678901234567890\xC3\xA9 and more";
  cr_assert_eq(take(&t), WEIR_OK);
  cr_expect_str_eq(taken.version, "123456789012345678901234567890");
}

/* Leaves every optional slot out and gives the result. */
static const struct weir_driver *take_bare(void) {
  static const size_t optional[] = {offsetof(struct weir_driver, extension),
                                    offsetof(struct weir_driver, config_info),
                                    offsetof(struct weir_driver, interrupt),
                                    offsetof(struct weir_driver, idle),
                                    offsetof(struct weir_driver, ping),
                                    offsetof(struct weir_driver, reset),
                                    offsetof(struct weir_driver, txn),
                                    offsetof(struct weir_driver, logout),
                                    offsetof(struct weir_driver, cancel)};
  struct weir_driver t = full_table();
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
    set_null(&t, optional[i]);
  }
  cr_assert_eq(take(&t), WEIR_OK, "%s", err.message);
  cr_assert_eq(taken.has, 0);
  return &taken.table;
}

Test(loader_table, answers_for_slots_that_are_missing) {
  const struct weir_driver *t = take_bare();
  char message[64];
  struct weir_drv_error e = {.struct_size = sizeof e,
                             .message = message,
                             .message_cap = sizeof message};
  cr_expect_eq(t->ping(NULL, NULL, &e), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_str_eq(message, "the driver does not offer ping()");
  cr_expect_eq(e.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_expect_eq(e.kind, WEIR_DRV_K_UNSUPPORTED);
  cr_expect_eq(t->reset(NULL, NULL, NULL, &e), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_str_eq(message, "the driver does not offer reset()");
  cr_expect_eq(t->txn(NULL, NULL, NULL, &e), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_str_eq(message, "the driver does not offer txn()");
  cr_expect_eq(t->logout(NULL, NULL, &e), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_str_eq(message, "the driver does not offer logout()");
  cr_expect_eq(t->cancel(NULL, NULL, &e), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_str_eq(message, "the driver does not offer cancel()");
  cr_expect_eq(t->idle(NULL, NULL), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_eq(t->config_info(NULL, NULL, NULL), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_null(t->extension(NULL, "weir.stmt", 1));
  t->interrupt(NULL);
}

Test(loader_table, answers_for_missing_slots_without_an_error_to_fill) {
  const struct weir_driver *t = take_bare();
  struct weir_drv_error no_text = {.struct_size = sizeof no_text};
  cr_expect_eq(t->ping(NULL, NULL, NULL), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_eq(t->ping(NULL, NULL, &no_text), WEIR_DRV_E_UNSUPPORTED);
}
