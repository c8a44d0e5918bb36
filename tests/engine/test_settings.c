/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "policy.h"
#include "settings.h"
#include "settings_value.h"
#include "strategy.h"
#include "sys/clock.h"

static int set(struct weir__settings *s,
               const char *name,
               const char *value,
               struct weir_error *err) {
  const struct weir__setting *setting = weir__settings_find(name, strlen(name));
  cr_assert_not_null(setting, "%s", name);
  return weir__settings_set(s, setting, value, strlen(value), 7, err);
}

static void check_refused(const char *name,
                          const char *value,
                          int code,
                          const char *message) {
  struct weir__settings s;
  struct weir_error err = {.struct_size = sizeof err};
  weir__settings_init(&s);
  cr_assert_eq(set(&s, name, value, &err), code, "%s=%s", name, value);
  cr_assert_str_eq(err.message, message, "%s=%s", name, value);
}

Test(settings, start_at_the_defaults_of_the_design, .timeout = 5) {
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_str_eq(s.driver, "");
  cr_assert_eq(s.pooling, 1);
  cr_assert_eq(s.strategy, WEIR_STRATEGY_DIRECT);
  cr_assert_eq(s.min_pool_size, 0);
  cr_assert_eq(s.max_pool_size, 100);
  cr_assert_eq(s.connect_timeout_ns, 15 * WEIR_NS_PER_S);
  cr_assert_eq(s.command_timeout_ns, 30 * WEIR_NS_PER_S);
  cr_assert_eq(s.lifetime_ns, WEIR_NEVER);
  cr_assert_eq(s.idle_timeout_ns, 300 * WEIR_NS_PER_S);
  cr_assert_eq(s.close_timeout_ns, WEIR_NS_PER_S);
  cr_assert_eq(s.probe_window_ns, 500 * WEIR_NS_PER_MS);
  cr_assert_eq(s.max_uses, UINT32_MAX);
  cr_assert_eq(s.max_waiters, UINT32_MAX);
  cr_assert_eq(s.max_connects, UINT32_MAX);
  cr_assert_eq(s.reset, WEIR_RESET_LAZY);
  cr_assert_eq(s.startup, WEIR_STARTUP_BACKGROUND);
  cr_assert_eq(s.key, WEIR_KEY_CANONICAL);
}

Test(settings, every_row_of_the_table_is_sound, .timeout = 5) {
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  cr_assert_geq(n, 40);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__settings s;
    struct weir_error err = {.struct_size = sizeof err};
    weir__settings_init(&s);
    cr_assert_eq(weir__settings_find(table[i].name, strlen(table[i].name)),
                 &table[i], "%s is named once", table[i].name);
    cr_assert(table[i].help[0] != '\0' &&
              table[i].help[strlen(table[i].help) - 1] == '.');
    if (table[i].type != WEIR_SETTING_TEXT) {
      cr_assert_eq(set(&s, table[i].name, table[i].fallback, &err), WEIR_OK,
                   "%s", err.message);
      char text[WEIR_SETTINGS_VALUE_MAX];
      cr_assert_not(weir__settings_text(&s, &table[i], text), "%s",
                    table[i].name);
    }
  }
}

Test(settings, names_and_aliases_lead_to_the_same_row, .timeout = 5) {
  static const char *const pairs[][2] = {
      {"Connect Timeout", "timeout"},
      {"Connect Timeout", "Connection Timeout"},
      {"Connect Timeout", "CONNECTTIMEOUT"},
      {"Connection Lifetime", "Load Balance Timeout"},
      {"Max Pool Size", "maxpoolsize"},
      {"Min Pool Size", "minimum pool size"},
      {"Pool Blocking Period", "PoolBlockingPeriod"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    const struct weir__setting *a =
        weir__settings_find(pairs[i][0], strlen(pairs[i][0]));
    cr_assert_not_null(a);
    cr_assert_eq(a, weir__settings_find(pairs[i][1], strlen(pairs[i][1])));
  }
  cr_assert_null(weir__settings_find("Server", 6));
}

Test(settings, times_are_read_in_every_unit, .timeout = 5) {
  static const struct {
    const char *text;
    uint64_t ns;
  } rows[] = {{"0", WEIR_NEVER},
              {"0 ms", WEIR_NEVER},
              {"1", WEIR_NS_PER_S},
              {"5s", 5 * WEIR_NS_PER_S},
              {"1500 ms", 1500 * WEIR_NS_PER_MS},
              {"1.5", 1500 * WEIR_NS_PER_MS},
              {".5", 500 * WEIR_NS_PER_MS},
              {"2.", 2 * WEIR_NS_PER_S},
              {"0.25 h", 900 * WEIR_NS_PER_S},
              {"10 MIN", 600 * WEIR_NS_PER_S},
              {"7 us", 7000},
              {"7ns", 7},
              {"0.000000001", 1},
              {"0.0000000010000", 1},
              {"1.000001 ms", 1000001},
              {"2147483647", UINT64_C(2147483647) * WEIR_NS_PER_S},
              {"0000000000000000000000000000000001", WEIR_NS_PER_S}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__settings s;
    struct weir_error err = {.struct_size = sizeof err};
    weir__settings_init(&s);
    cr_assert_eq(set(&s, "Connect Timeout", rows[i].text, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(s.connect_timeout_ns, rows[i].ns, "%s", rows[i].text);
  }
}

Test(settings, what_is_no_time_is_refused_with_the_range, .timeout = 5) {
  static const char *const rows[] = {"-1",
                                     "+1",
                                     "1e3",
                                     "x",
                                     "",
                                     ".",
                                     "ms",
                                     "1 m",
                                     "1 ms 2",
                                     "1,5",
                                     "1.2.3",
                                     "0x1",
                                     "1 day",
                                     "2147483648",
                                     "99999999999999999999",
                                     "596524 h",
                                     "\xd9\xa1",
                                     "99999999999999999999999999999999 ns",
                                     "1s;",
                                     "NaN",
                                     "inf",
                                     "18446744073709551616 ns"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_refused("Connect Timeout", rows[i], WEIR_E_ARG,
                  "connection string, byte 7: \"Connect Timeout\" must be a "
                  "time (ns, us, ms, s, min, h; s if none) from 0 to "
                  "2147483647 s");
  }
  check_refused("Close Timeout", "0.5 ns", WEIR_E_ARG,
                "connection string, byte 7: \"Close Timeout\" is finer than a "
                "nanosecond; it must be a time (ns, us, ms, s, min, h; s if "
                "none) from 0 to 3600 s");
}

Test(settings, counts_are_kept_in_their_range, .timeout = 5) {
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_eq(set(&s, "Max Pool Size", "131072", NULL), WEIR_OK);
  cr_assert_eq(s.max_pool_size, 131072);
  cr_assert_eq(set(&s, "Max Pool Size", "1", NULL), WEIR_OK);
  cr_assert_eq(s.max_pool_size, 1);
  static const char *const rows[] = {
      "0",   "131073", "-1",  "1.5", "",
      "1 0", "0x10",   "ten", "+5",  "18446744073709551617"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_refused("Max Pool Size", rows[i], WEIR_E_ARG,
                  "connection string, byte 7: \"Max Pool Size\" must be a "
                  "whole number from 1 to 131072");
  }
}

Test(settings, zero_switches_a_limit_off, .timeout = 5) {
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_eq(set(&s, "Max Waiters", "5", NULL), WEIR_OK);
  cr_assert_eq(s.max_waiters, 5);
  cr_assert_eq(set(&s, "Max Waiters", "0", NULL), WEIR_OK);
  cr_assert_eq(s.max_waiters, UINT32_MAX);
  cr_assert_eq(set(&s, "Close Timeout", "0", NULL), WEIR_OK);
  cr_assert_eq(s.close_timeout_ns, 0, "here 0 means at once");
}

/* Each ping is a round trip: no more than a thousand a second. */
Test(settings, a_keepalive_is_never_or_a_millisecond_at_least, .timeout = 5) {
  static const char *const rows[] = {"1 ns", "999 us", "0.0009", "2147483648"};
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_eq(set(&s, "Keepalive Interval", "1 ms", NULL), WEIR_OK);
  cr_assert_eq(s.keepalive_ns, WEIR_NS_PER_MS);
  cr_assert_eq(set(&s, "Keepalive Interval", "0", NULL), WEIR_OK);
  cr_assert_eq(s.keepalive_ns, WEIR_NEVER);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_refused("Keepalive Interval", rows[i], WEIR_E_ARG,
                  "connection string, byte 7: \"Keepalive Interval\" must be "
                  "a time (ns, us, ms, s, min, h; s if none) from 1 ms to "
                  "2147483647 s, or 0");
  }
}

/* SqlClient's, where the engine's own are others. */
Test(settings, presets_bring_sqlclients_times, .timeout = 5) {
  static const uint32_t kinds[] = {WEIR_STRATEGY_LEGACY, WEIR_STRATEGY_CHANNEL};
  static const uint32_t trims[] = {WEIR_TRIM_SWEEP, WEIR_TRIM_MEDIAN};
  for (size_t i = 0; i < 2; i++) {
    struct weir__settings s;
    weir__settings_init(&s);
    weir__settings_preset(&s, kinds[i]);
    cr_assert_eq(s.probe_window_ns, 5 * WEIR_NS_PER_MS);
    cr_assert_eq(s.idle_timeout_ns, 300 * WEIR_NS_PER_S);
    cr_assert_eq(s.idle_expiry, WEIR_EXPIRY_SQLCLIENT);
    cr_assert_eq(s.lifetime_ns, WEIR_NEVER);
    cr_assert_eq(s.lifetime_jitter, 0);
    cr_assert_eq(s.keepalive_ns, WEIR_NEVER);
    cr_assert_eq(s.trim, trims[i]);
  }
}

/* Nothing is asked of what has rested for less than this. */
Test(settings, trust_ends_with_the_first_question_there_is, .timeout = 5) {
  static const struct {
    const char *window;
    const char *idle;
    const char *expiry;
    uint64_t trust_ns;
  } rows[] = {
      {"500 ms", "300", "enforced", 500 * WEIR_NS_PER_MS},
      {"600", "300", "enforced", 300 * WEIR_NS_PER_S},
      {"600", "300", "sqlclient", 600 * WEIR_NS_PER_S},
      {"600", "0", "enforced", 600 * WEIR_NS_PER_S},
      {"0", "300", "enforced", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__settings s;
    weir__settings_init(&s);
    (void)set(&s, "Driver", "tds", NULL);
    (void)set(&s, "Probe Window", rows[i].window, NULL);
    (void)set(&s, "Connection Idle Timeout", rows[i].idle, NULL);
    (void)set(&s, "Idle Expiry", rows[i].expiry, NULL);
    cr_assert_eq(weir__settings_finish(&s, NULL), WEIR_OK);
    cr_assert_eq(s.trust_ns, rows[i].trust_ns, "row %zu", i);
  }
}

Test(settings, truth_has_the_words_of_sqlclient, .timeout = 5) {
  static const char *const yes[] = {"true", "TRUE", "yes", "1"};
  static const char *const no[] = {"false", "No", "0"};
  struct weir__settings s;
  weir__settings_init(&s);
  for (size_t i = 0; i < 4; i++) {
    cr_assert_eq(set(&s, "Pooling", yes[i], NULL), WEIR_OK);
    cr_assert_eq(s.pooling, 1);
  }
  for (size_t i = 0; i < 3; i++) {
    cr_assert_eq(set(&s, "Pooling", no[i], NULL), WEIR_OK);
    cr_assert_eq(s.pooling, 0);
  }
  check_refused("Pooling", "2", WEIR_E_ARG,
                "connection string, byte 7: \"Pooling\" must be true or false");
}

Test(settings, reset_takes_old_and_new_words, .timeout = 5) {
  static const struct {
    const char *text;
    uint32_t reset;
  } rows[] = {{"true", WEIR_RESET_LAZY}, {"Lazy", WEIR_RESET_LAZY},
              {"1", WEIR_RESET_LAZY},    {"verified", WEIR_RESET_VERIFIED},
              {"off", WEIR_RESET_OFF},   {"FALSE", WEIR_RESET_OFF},
              {"no", WEIR_RESET_OFF}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__settings s;
    weir__settings_init(&s);
    cr_assert_eq(set(&s, "Connection Reset", rows[i].text, NULL), WEIR_OK);
    cr_assert_eq(s.reset, rows[i].reset, "%s", rows[i].text);
  }
  check_refused("Connection Reset", "maybe", WEIR_E_ARG,
                "connection string, byte 7: \"Connection Reset\" must be one "
                "of lazy,verified,off");
}

Test(settings, what_is_not_built_is_taken_at_its_default_only, .timeout = 5) {
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_eq(set(&s, "Lease Timeout", "0", NULL), WEIR_OK);
  cr_assert_eq(set(&s, "Lifetime Jitter", "10%", NULL), WEIR_OK);
  cr_assert_eq(set(&s, "Transaction Binding", "implicitunbind", NULL), WEIR_OK);
  check_refused("Lease Timeout", "5", WEIR_E_UNSUPPORTED,
                "connection string, byte 7: \"Lease Timeout\" is not built "
                "yet; leave it at its default (0)");
  check_refused("Queue Policy", "lifo", WEIR_E_ARG,
                "connection string, byte 7: \"Queue Policy\" must be one of "
                "fifo,codel");
}

Test(settings, each_row_has_a_field_of_its_own, .timeout = 5) {
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_lt(table[i].offset, sizeof(struct weir__settings));
    for (uint32_t j = 0; j < i; j++) {
      cr_assert_neq(table[i].offset, table[j].offset, "%s and %s",
                    table[i].name, table[j].name);
    }
  }
}

Test(settings, what_is_not_built_is_at_its_default, .timeout = 5) {
  struct weir__settings s;
  weir__settings_init(&s);
  cr_assert_eq(s.handoff_bound_ns, 1500 * WEIR_NS_PER_US);
  cr_assert_eq(s.handoff, WEIR_HANDOFF_BOUNDED);
  cr_assert_eq(s.keepalive_ns, WEIR_NEVER);
  cr_assert_eq(s.lease_timeout_ns, WEIR_NEVER);
  cr_assert_eq(s.leak_report_ns, WEIR_NEVER);
  cr_assert_eq(s.connect_rate, UINT32_MAX);
  cr_assert_eq(s.connect_burst, 1);
  cr_assert_eq(s.endpoint_max, UINT32_MAX);
  cr_assert_eq(s.min_idle, 0);
  cr_assert_eq(s.enlist, 1);
  cr_assert_eq(s.clear_on_failover, 1);
  cr_assert_null(s.session_init);
}

Test(settings, a_driver_is_required_and_has_a_limit, .timeout = 5) {
  struct weir__settings s;
  struct weir_error err = {.struct_size = sizeof err};
  char path[WEIR_SETTINGS_DRIVER_MAX + 2];
  weir__settings_init(&s);
  cr_assert_eq(weir__settings_finish(&s, &err), WEIR_E_ARG);
  cr_assert_str_eq(err.message, "connection string: \"Driver\" is missing");
  memset(path, 'd', sizeof path);
  path[sizeof path - 1] = '\0';
  check_refused("Driver", path, WEIR_E_ARG,
                "connection string, byte 7: \"Driver\" must be a name of "
                "letters, digits and _, or an absolute path; at most 255 "
                "bytes");
  path[sizeof path - 2] = '\0';
  cr_assert_eq(set(&s, "Driver", path, NULL), WEIR_OK);
  cr_assert_str_eq(s.driver, path);
  cr_assert_eq(set(&s, "Driver", "tds", NULL), WEIR_OK);
  cr_assert_str_eq(s.driver, "tds");
  cr_assert_eq(weir__settings_finish(&s, &err), WEIR_OK);
}

Test(settings, a_driver_is_a_name_or_an_absolute_path, .timeout = 5) {
  static const char *const bad[] = {"",    "../x", "a/b", "a;b",
                                    "a b", "x.so", "\xc3"};
  struct weir__settings s;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    check_refused("Driver", bad[i], WEIR_E_ARG,
                  "connection string, byte 7: \"Driver\" must be a name of "
                  "letters, digits and _, or an absolute path; at most 255 "
                  "bytes");
  }
  weir__settings_init(&s);
  cr_assert_eq(set(&s, "Driver", "/opt/my drivers/x-1.so", NULL), WEIR_OK);
  cr_assert_eq(set(&s, "Driver", "TDS_2", NULL), WEIR_OK);
}

Test(settings, min_must_not_exceed_max, .timeout = 5) {
  struct weir__settings s;
  struct weir_error err = {.struct_size = sizeof err};
  weir__settings_init(&s);
  (void)set(&s, "Driver", "tds", NULL);
  (void)set(&s, "Min Pool Size", "101", NULL);
  cr_assert_eq(weir__settings_finish(&s, &err), WEIR_E_ARG);
  cr_assert_str_eq(err.message,
                   "connection string: \"Min Pool Size\" must not exceed "
                   "\"Max Pool Size\" (100 if not given)");
  (void)set(&s, "Max Pool Size", "101", NULL);
  cr_assert_eq(weir__settings_finish(&s, &err), WEIR_OK);
}

Test(settings, a_limit_of_connects_beyond_the_pool_is_none, .timeout = 5) {
  const struct weir__setting *row =
      weir__settings_find("Max Concurrent Connects", 23);
  struct weir__settings s;
  char text[WEIR_SETTINGS_VALUE_MAX];
  weir__settings_init(&s);
  (void)set(&s, "Driver", "tds", NULL);
  cr_assert_eq(weir__settings_finish(&s, NULL), WEIR_OK);
  cr_assert_eq(s.max_connects, UINT32_MAX);
  cr_assert_not(weir__settings_text(&s, row, text));
  (void)set(&s, "Max Concurrent Connects", "500", NULL);
  cr_assert_eq(weir__settings_finish(&s, NULL), WEIR_OK);
  cr_assert_eq(s.max_connects, 500);
  cr_assert_not(weir__settings_text(&s, row, text));
  (void)set(&s, "Max Concurrent Connects", "3", NULL);
  cr_assert_eq(weir__settings_finish(&s, NULL), WEIR_OK);
  cr_assert_eq(s.max_connects, 3);
  cr_assert(weir__settings_text(&s, row, text));
  cr_assert_str_eq(text, "3");
}

Test(settings, equal_values_have_one_spelling, .timeout = 5) {
  static const char *const rows[][3] = {
      {"Connection Lifetime", "90", "90 s"},
      {"Connection Lifetime", "1.5 min", "90 s"},
      {"Connection Lifetime", "90000ms", "90 s"},
      {"Connection Lifetime", "90.5", "90500 ms"},
      {"Probe Window", "0", "0 s"},
      {"Probe Window", "1 ns", "1 ns"},
      {"Pooling", "no", "false"},
      {"Max Uses", "007", "7"},
      {"Connection Reset", "false", "off"},
      {"Startup", "REQUIRE", "require"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__settings s;
    char text[WEIR_SETTINGS_TEXT_MAX] = "";
    weir__settings_init(&s);
    cr_assert_eq(set(&s, rows[i][0], rows[i][1], NULL), WEIR_OK);
    cr_assert(weir__settings_text(
        &s, weir__settings_find(rows[i][0], strlen(rows[i][0])), text));
    cr_assert_str_eq(text, rows[i][2]);
  }
}

/* Defaults that differ between strategies are written as a key would have them, since
 * `weirctl key` compares the two. */
Test(settings, defaults_of_strategies_are_written_as_values_are, .timeout = 5) {
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    bool differs = strcmp(weir__settings_default(&table[i], 0),
                          weir__settings_default(&table[i], 1)) != 0 ||
                   strcmp(weir__settings_default(&table[i], 0),
                          weir__settings_default(&table[i], 2)) != 0;
    for (uint32_t strategy = 0; differs && strategy < 3; strategy++) {
      const char *text = weir__settings_default(&table[i], strategy);
      char again[WEIR_SETTINGS_VALUE_MAX] = "";
      uint64_t v = 0;
      cr_assert_null(weir__setting_read(&table[i], text, strlen(text), &v));
      weir__setting_write(&table[i], v, again);
      cr_assert_str_eq(again, text, "%s", table[i].name);
    }
  }
}

/* ---------------------------------------------------- policies and strategies */

/* The name of choice i, which ends at a comma. */
static bool is_choice(const char *setting, uint32_t i, const char *name) {
  const char *at = weir__settings_find(setting, strlen(setting))->choices;
  while (i-- > 0) {
    at = strchr(at, ',') + 1;
  }
  return strlen(name) == strcspn(at, ",") &&
         strncmp(at, name, strlen(name)) == 0;
}

#define EACH_CHOICE(setting, field, policy, last)                         \
  for (uint32_t i = 0; i <= (last); i++) {                                \
    s.field = i;                                                          \
    cr_assert(is_choice(setting, i, weir__policies_of(&s).policy->name)); \
  }

Test(settings, each_choice_has_the_policy_of_its_name, .timeout = 5) {
  struct weir__settings s = {0};
  weir__settings_init(&s);
  EACH_CHOICE("Pool Idle Order", idle_order, idle, WEIR_IDLE_FIFO)
  EACH_CHOICE("Pool Growth", growth, growth, WEIR_GROWTH_PARALLEL)
  EACH_CHOICE("Pool Handoff", handoff, handoff, WEIR_HANDOFF_QUEUED)
  EACH_CHOICE("Pool Trim", trim, trim, WEIR_TRIM_MEDIAN)
  EACH_CHOICE("Pool Failure", failure, failure, WEIR_FAILURE_ONE)
  EACH_CHOICE("Pool Async", async, async, WEIR_ASYNC_DISPATCHER)
  weir__settings_fini(&s);
}

Test(settings, each_strategy_has_its_choice, .timeout = 5) {
  for (uint32_t i = 0; i <= WEIR_STRATEGY_CHANNEL; i++) {
    cr_assert(is_choice("Pool Strategy", i, weir__strategy_find(i)->name));
  }
}
