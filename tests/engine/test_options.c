/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "options.h"
#include "sys/clock.h"
#include "sys/seams.h"

#define TEXT(s) \
  { s, sizeof(s) - 1 }
#define INFO(t, f, name, aliases, choices)                                 \
  {                                                                        \
    sizeof(struct weir_drv_option_info), WEIR_DRV_T_##t, f, 0, TEXT(name), \
        TEXT(aliases), TEXT(choices), TEXT(""), TEXT("")                   \
  }

static const struct weir_drv_option_info catalog[] = {
    INFO(TEXT,
         WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_REQUIRED,
         "Server",
         "Data Source,Address",
         ""),
    INFO(TEXT, WEIR_DRV_OPT_KEY, "Database", "Initial Catalog", ""),
    INFO(TEXT, WEIR_DRV_OPT_KEY, "User ID", "UID,User", ""),
    INFO(TEXT, WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_SECRET, "Password", "PWD", ""),
    INFO(TEXT, WEIR_DRV_OPT_SECRET, "Access Token", "", ""),
    INFO(TEXT,
         WEIR_DRV_OPT_KEY,
         "Encrypt",
         "",
         "optional,mandatory,strict,true,false"),
    INFO(BOOL, WEIR_DRV_OPT_KEY, "TrustServerCertificate", "", ""),
    INFO(INT, WEIR_DRV_OPT_KEY, "Packet Size", "", ""),
    INFO(UINT, 0, "Window", "", ""),
    INFO(FLOAT, 0, "Factor", "", ""),
    INFO(UUID, 0, "Odd", "", ""),
    INFO(INT, WEIR_DRV_OPT_ENGINE, "Shown Only", "", ""),
    INFO(INT, 0, "Level", "", "0,1,2"),
};

#define N_CATALOG (sizeof catalog / sizeof catalog[0])

static int split(const char *text,
                 struct weir__options *out,
                 struct weir_error *err) {
  struct weir__conninfo ci;
  cr_assert_eq(weir__conninfo_parse(text, strlen(text), &ci, err), WEIR_OK);
  int rc =
      weir__options_split(&ci, catalog, N_CATALOG, sizeof catalog[0], out, err);
  weir__conninfo_fini(&ci);
  return rc;
}

static void check_refused(const char *text, int code, const char *message) {
  struct weir__options o = {0};
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(split(text, &o, &err), code, "%s: %s", text, err.message);
  cr_assert_str_eq(err.message, message, "%s", text);
  cr_assert_null(o.memory);
}

static struct weir__options must_split(const char *text) {
  struct weir__options o = {0};
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(split(text, &o, &err), WEIR_OK, "%s", err.message);
  return o;
}

#define P "connection string, byte "

Test(options, each_goes_to_its_owner, .timeout = 5) {
  struct weir__options o = must_split("Max Pool Size=7;PWD=secret;Driver=tds;"
                                      "data source=h,1;packet size=-8");
  cr_assert_eq(o.settings.max_pool_size, 7);
  cr_assert_str_eq(o.settings.driver, "tds");
  cr_assert_eq(o.n_drv, 3);
  cr_assert_str_eq(o.drv[0].name.p, "Server");
  cr_assert_eq(o.drv[0].value.type, WEIR_DRV_T_TEXT);
  cr_assert_str_eq(o.drv[0].value.p, "h,1");
  cr_assert_eq(o.drv[0].value.n, 3);
  cr_assert_str_eq(o.drv[1].name.p, "Password");
  cr_assert_str_eq(o.drv[2].name.p, "Packet Size");
  cr_assert_eq(o.drv[2].value.i, -8);
  weir__options_fini(&o);
  weir__options_fini(&o);
}

Test(options, secrets_do_not_reach_the_driver, .timeout = 5) {
  struct weir__options o =
      must_split("Driver=x;Server=h;Password=\"se;cret\";Access Token=''");
  cr_assert_eq(o.n_drv, 3);
  for (uint32_t i = 1; i < 3; i++) {
    cr_assert_eq(o.drv[i].value.type, WEIR_DRV_T_NULL);
    cr_assert_eq(o.drv[i].value.flags, WEIR_DRV_V_SECRET);
    cr_assert_null(o.drv[i].value.p);
    cr_assert_eq(o.drv[i].value.n, 0);
  }
  const struct weir__secret *s = weir__options_secret(&o, "password", 8);
  cr_assert_not_null(s);
  cr_assert_str_eq(weir__secret_bytes(s), "se;cret");
  cr_assert(weir__secret_owns(weir__secret_bytes(s)));
  s = weir__options_secret(&o, "Access Token", 12);
  cr_assert_eq(weir__secret_len(s), 0, "given, and empty");
  cr_assert_null(weir__options_secret(&o, "User ID", 7));
  cr_assert_eq(o.secret_pairs[0], 0xcu, "which pairs hold them");
  weir__options_fini(&o);
}

Test(options, the_last_spelling_wins_across_aliases, .timeout = 5) {
  struct weir__options o =
      must_split("Driver=x;Server=a;pwd=1;Data Source=b;PASSWORD=2;"
                 "Timeout=1;Connect Timeout=2;Connection Timeout=3;"
                 "Max Pool Size=nonsense;Max Pool Size=4");
  cr_assert_str_eq(o.drv[0].value.p, "b");
  cr_assert_eq(o.n_drv, 2);
  cr_assert_str_eq(weir__secret_bytes(weir__options_secret(&o, "Password", 8)),
                   "2");
  cr_assert_eq(o.settings.connect_timeout_ns, 3 * WEIR_NS_PER_S);
  cr_assert_eq(o.settings.max_pool_size, 4);
  weir__options_fini(&o);
}

Test(options, empty_means_not_given, .timeout = 5) {
  struct weir__options o = must_split(
      "Driver=x;Server=a;Database=b;Database=;Packet Size=;Max Pool Size=9;"
      "Max Pool Size=;User ID=''");
  cr_assert_eq(o.n_drv, 2);
  cr_assert_str_eq(o.drv[1].name.p, "User ID");
  cr_assert_eq(o.drv[1].value.n, 0);
  cr_assert_not_null(o.drv[1].value.p);
  cr_assert_eq(o.settings.max_pool_size, 100);
  weir__options_fini(&o);
}

Test(options, choices_come_in_the_drivers_spelling, .timeout = 5) {
  struct weir__options o = must_split("Driver=x;Server=a;Encrypt=STRICT");
  cr_assert_str_eq(o.drv[1].value.p, "strict");
  weir__options_fini(&o);
  check_refused("Driver=x;Server=a;Encrypt=perhaps", WEIR_E_ARG,
                P "19: \"Encrypt\" must be one of "
                  "optional,mandatory,strict,true,false");
}

Test(options, numbers_may_have_choices, .timeout = 5) {
  struct weir__options o = must_split("Driver=x;Server=a;Level=2");
  cr_assert_eq(o.drv[1].value.i, 2);
  weir__options_fini(&o);
  check_refused("Driver=x;Server=a;Level=3", WEIR_E_ARG,
                P "19: \"Level\" must be one of 0,1,2");
}

Test(options, truth_is_read_as_sqlclient_does, .timeout = 5) {
  static const char *const words[] = {"True", "yes", "1", "FALSE", "no", "0"};
  for (int64_t i = 0; i < 6; i++) {
    char text[64];
    (void)snprintf(text, sizeof text,
                   "Driver=x;Server=a;Trust Server Certificate=%s", words[i]);
    struct weir__options o = must_split(text);
    cr_assert_eq(o.drv[1].value.type, WEIR_DRV_T_BOOL);
    cr_assert_eq(o.drv[1].value.i, i < 3);
    weir__options_fini(&o);
  }
  check_refused("Driver=x;Server=a;TrustServerCertificate=maybe", WEIR_E_ARG,
                P "19: \"TrustServerCertificate\" must be true or false (or "
                  "yes, no, 1, 0)");
}

Test(options, numbers_are_read_to_their_ends, .timeout = 5) {
  struct weir__options o =
      must_split("Driver=x;Server=a;Packet Size=-9223372036854775808;"
                 "Window=18446744073709551615;Factor=-1.5e2");
  cr_assert_eq(o.drv[1].value.i, INT64_MIN);
  cr_assert_eq(o.drv[2].value.u, UINT64_MAX);
  cr_assert_float_eq(o.drv[3].value.f, -150.0, 1e-9);
  weir__options_fini(&o);
}

Test(options, what_is_no_number_is_refused, .timeout = 5) {
  static const char *const bad[][2] = {
      {"Packet Size", "a whole number"},
      {"Window", "a whole number, not negative"},
      {"Factor", "a number"}};
  static const char *const values[] = {
      "x",   "1x",  "''", "--1", "' 1'", "99999999999999999999999999",
      "1 2", "0x10"};
  for (size_t i = 0; i < 3; i++) {
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
      char text[128];
      char message[128];
      if (i == 2 && k == 5) {
        continue; /* as a float that is one */
      }
      (void)snprintf(text, sizeof text, "Driver=x;Server=a;%s=%s", bad[i][0],
                     values[k]);
      (void)snprintf(message, sizeof message, P "19: \"%s\" must be %s",
                     bad[i][0], bad[i][1]);
      check_refused(text, WEIR_E_ARG, message);
    }
  }
  check_refused("Driver=x;Server=a;Packet Size=9223372036854775808", WEIR_E_ARG,
                P "19: \"Packet Size\" must be a whole number");
}

Test(options, unknown_names_get_the_nearest_known_one, .timeout = 5) {
  check_refused("Driver=x;Servr=a", WEIR_E_ARG,
                P "10: unknown option \"Servr\"; did you mean \"Server\"?");
  check_refused("Driver=x;Max Pol Size=a", WEIR_E_ARG,
                P "10: unknown option \"Max Pol Size\"; did you mean \"Max "
                  "Pool Size\"?");
  check_refused("Driver=x;Initial Cat=a", WEIR_E_ARG,
                P "10: unknown option \"Initial Cat\"; did you mean \"Initial "
                  "Catalog\"?");
  check_refused("Driver=x;Shown Only=a", WEIR_E_ARG,
                P "10: unknown option \"Shown Only\"; did you mean \"Shown "
                  "Only\"?");
}

Test(options, unknown_names_that_may_be_secrets_are_not_shown, .timeout = 5) {
  check_refused("Driver=x;Passwordhunter2=a", WEIR_E_ARG,
                P "10: unknown option of 15 bytes; did you mean \"Password\"?");
  check_refused("Driver=x;Server=a;Password=hun;ter2=x", WEIR_E_ARG,
                P "32: unknown option of 4 bytes, and no known name is like it "
                  "(a value with \";\" in it needs quotes)");
}

Test(options, names_with_line_ends_are_not_shown, .timeout = 5) {
  check_refused("Driver=x;Max Pool\nSize=a", WEIR_E_ARG,
                P "10: unknown option of 13 bytes; did you mean \"Max Pool "
                  "Size\"?");
}

Test(options, what_is_required_is_asked_for, .timeout = 5) {
  check_refused("Driver=tds;Database=x", WEIR_E_ARG,
                "connection string: \"Server\" is missing; the driver "
                "requires it");
  check_refused("Driver=tds;Server=", WEIR_E_ARG,
                "connection string: \"Server\" is missing; the driver "
                "requires it");
  check_refused("Server=x", WEIR_E_ARG,
                "connection string: \"Driver\" is missing");
  check_refused("Server=x;Driver=", WEIR_E_ARG,
                "connection string: \"Driver\" is missing");
}

Test(options, types_a_string_cannot_hold_are_refused, .timeout = 5) {
  check_refused("Driver=x;Server=a;Odd=1", WEIR_E_UNSUPPORTED,
                "option \"Odd\": the driver gives it a type (9) that a "
                "connection string cannot hold");
}

Test(options, settings_are_checked_with_their_position, .timeout = 5) {
  check_refused("Driver=x;Server=a;Max Pool Size=0", WEIR_E_ARG,
                P "19: \"Max Pool Size\" must be a whole number from 1 to "
                  "131072");
  check_refused("Driver=x;Server=a;Lease Timeout=5", WEIR_E_UNSUPPORTED,
                P "19: \"Lease Timeout\" is not built yet; leave it at its "
                  "default (0)");
}

/* A driver built with a longer, or a shorter, option_info than ours. */
Test(options, elements_of_any_size_are_read, .timeout = 5) {
  struct {
    struct weir_drv_option_info info;
    uint64_t newer[3];
  } wide[2] = {{.info = catalog[0], .newer = {1, 2, 3}},
               {.info = catalog[7], .newer = {4, 5, 6}}};
  wide[0].info.struct_size = sizeof wide[0];
  wide[1].info.struct_size = 32; /* type, flags, name; nothing else */
  struct weir__conninfo ci;
  struct weir__options o = {0};
  static const char text[] = "Driver=x;Server=a;Packet Size=5";
  cr_assert_eq(weir__conninfo_parse(text, sizeof text - 1, &ci, NULL), 0);
  cr_assert_eq(
      weir__options_split(&ci, &wide[0].info, 2, sizeof wide[0], &o, NULL),
      WEIR_OK);
  cr_assert_eq(o.drv[1].value.i, 5);
  weir__options_fini(&o);
  weir__conninfo_fini(&ci);
}

Test(options, a_driver_with_an_unusable_list_is_refused, .timeout = 5) {
  struct weir_drv_option_info bad = catalog[0];
  struct weir__conninfo ci;
  struct weir__options o = {0};
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(weir__conninfo_parse("Driver=x", 8, &ci, NULL), 0);
  bad.name.n = 0;
  cr_assert_eq(weir__options_split(&ci, &bad, 1, sizeof bad, &o, &err),
               WEIR_E_UNSUPPORTED);
  bad = catalog[0];
  bad.aliases.p = NULL;
  cr_assert_eq(weir__options_split(&ci, &bad, 1, sizeof bad, &o, &err),
               WEIR_E_UNSUPPORTED);
  cr_assert_eq(weir__options_split(&ci, NULL, 1, sizeof bad, &o, &err),
               WEIR_E_UNSUPPORTED);
  cr_assert_eq(weir__options_split(&ci, &bad, 1, 2, &o, &err),
               WEIR_E_UNSUPPORTED);
  cr_assert_eq(weir__options_split(&ci, &bad, 5000, sizeof bad, &o, &err),
               WEIR_E_UNSUPPORTED);
  weir__conninfo_fini(&ci);
}

static void *no_memory(size_t n) {
  (void)n;
  return NULL;
}

Test(options, running_out_of_memory_is_an_answer, .timeout = 5) {
  struct weir__options o = {0};
  struct weir_error err = {.struct_size = sizeof err};
  weir__seams.alloc = no_memory;
  cr_assert_eq(split("Driver=x;Server=a;Password=b", &o, &err), WEIR_E_NOMEM);
  cr_assert_null(o.memory);
}

/* Scenarios 128 and 129, with the names of a driver. */
Test(options, damaged_strings_never_show_the_password, .timeout = 5) {
  static const char *const secret_names[] = {"Password", "pwd", "PassWord",
                                             "AccessToken", "p w d"};
  static const char marker[] = "Qz7Kx9Vw3Jy5";
  static const char junk[] = "=;'\"{} Q\x01";
  uint32_t state = 11;
  for (int round = 0; round < 2000; round++) {
    char text[256];
    struct weir_error err = {.struct_size = sizeof err};
    struct weir__conninfo ci;
    struct weir__options o;
    int n = snprintf(text, sizeof text,
                     "Driver=tds;Server=h;%s='%s=;%s';Max Pool Size=5",
                     secret_names[round % 5], marker, marker);
    for (int k = 0; k < 1 + round % 3; k++) {
      state = state * 1664525u + 1013904223u;
      text[(state >> 8) % (unsigned)n] = junk[(state >> 4) % 9];
    }
    if (weir__conninfo_parse(text, (size_t)n, &ci, &err) == WEIR_OK) {
      if (weir__options_split(&ci, catalog, N_CATALOG, sizeof catalog[0], &o,
                              &err) == WEIR_OK) {
        weir__options_fini(&o);
      }
      weir__conninfo_fini(&ci);
    }
    for (size_t i = 0; i + 4 < sizeof marker; i++) {
      char part[5] = {0};
      memcpy(part, marker + i, 4);
      cr_assert_null(strstr(err.message, part), "%s -> %s", text, err.message);
    }
  }
}

/* --------------------------------------------------------------- strategies */

/* What each strategy says about the settings that differ between them. */
struct preset {
  const char *name;
  uint32_t strategy;
  uint32_t idle_order;
  uint32_t growth;
  uint32_t handoff;
  uint32_t trim;
  uint32_t failure;
  uint32_t async;
  uint32_t scope;
  uint32_t expiry;
  uint32_t jitter;
  uint64_t probe_ms;
};

static const struct preset strategies[] = {
    {"direct", WEIR_STRATEGY_DIRECT, WEIR_IDLE_AFFINITY, WEIR_GROWTH_ADAPTIVE,
     WEIR_HANDOFF_BOUNDED, WEIR_TRIM_PEAK, WEIR_FAILURE_BREAKER,
     WEIR_ASYNC_QUEUE, WEIR_SCOPE_OVERALL, WEIR_EXPIRY_ENFORCED, 10, 500},
    {"legacy", WEIR_STRATEGY_LEGACY, WEIR_IDLE_LIFO, WEIR_GROWTH_SERIAL,
     WEIR_HANDOFF_BARGING, WEIR_TRIM_SWEEP, WEIR_FAILURE_ALL,
     WEIR_ASYNC_DISPATCHER, WEIR_SCOPE_PER_PHASE, WEIR_EXPIRY_SQLCLIENT, 0, 5},
    {"channel", WEIR_STRATEGY_CHANNEL, WEIR_IDLE_FIFO, WEIR_GROWTH_PARALLEL,
     WEIR_HANDOFF_QUEUED, WEIR_TRIM_MEDIAN, WEIR_FAILURE_ONE, WEIR_ASYNC_QUEUE,
     WEIR_SCOPE_PER_PHASE, WEIR_EXPIRY_SQLCLIENT, 0, 5},
};

static void check_preset(const char *text, const struct preset *p) {
  struct weir__options o = must_split(text);
  const struct weir__settings *s = &o.settings;
  cr_assert_eq(s->strategy, p->strategy, "%s", text);
  cr_assert_eq(s->idle_order, p->idle_order, "%s", text);
  cr_assert_eq(s->growth, p->growth, "%s", text);
  cr_assert_eq(s->handoff, p->handoff, "%s", text);
  cr_assert_eq(s->trim, p->trim, "%s", text);
  cr_assert_eq(s->failure, p->failure, "%s", text);
  cr_assert_eq(s->async, p->async, "%s", text);
  cr_assert_eq(s->timeout_scope, p->scope, "%s", text);
  cr_assert_eq(s->idle_expiry, p->expiry, "%s", text);
  cr_assert_eq(s->lifetime_jitter, p->jitter, "%s", text);
  cr_assert_eq(s->probe_window_ns, p->probe_ms * WEIR_NS_PER_MS, "%s", text);
  cr_assert_eq(s->connect_timeout_ns, 15 * WEIR_NS_PER_S, "%s", text);
  cr_assert_eq(s->max_pool_size, 100, "%s", text);
  weir__options_fini(&o);
}

Test(options, a_strategy_brings_its_defaults, .timeout = 5) {
  check_preset("Driver=x;Server=h", &strategies[0]);
  for (size_t i = 0; i < 3; i++) {
    char text[128];
    (void)snprintf(text, sizeof text, "Driver=x;Server=h;Pool Strategy=%s",
                   strategies[i].name);
    check_preset(text, &strategies[i]);
    (void)snprintf(text, sizeof text, "Pool Strategy = '%s';Driver=x;Server=h",
                   strategies[i].name);
    check_preset(text, &strategies[i]);
  }
}

/* An empty value says that nothing is given, of the strategy as of all else. */
Test(options, the_last_strategy_counts, .timeout = 5) {
  check_preset("Driver=x;Server=h;Pool Strategy=legacy;Pool Strategy=channel",
               &strategies[2]);
  check_preset("Driver=x;Server=h;Pool Strategy=legacy;Pool Strategy=",
               &strategies[0]);
  check_preset("Driver=x;Server=h;Pool Strategy=legacy;Pool Idle Order=",
               &strategies[1]);
}

/* Each policy by itself, before its strategy and behind it. */
Test(options, a_policy_given_beside_a_strategy_wins, .timeout = 5) {
  const struct {
    const char *text;
    size_t at;
    uint32_t value;
  } rows[] = {
      {"Pool Idle Order=fifo", offsetof(struct weir__settings, idle_order),
       WEIR_IDLE_FIFO},
      {"Pool Growth=adaptive", offsetof(struct weir__settings, growth),
       WEIR_GROWTH_ADAPTIVE},
      {"Pool Handoff=direct", offsetof(struct weir__settings, handoff),
       WEIR_HANDOFF_DIRECT},
      {"Pool Trim=peak", offsetof(struct weir__settings, trim), WEIR_TRIM_PEAK},
      {"Pool Failure=one", offsetof(struct weir__settings, failure),
       WEIR_FAILURE_ONE},
      {"Pool Async=queue", offsetof(struct weir__settings, async),
       WEIR_ASYNC_QUEUE},
      {"Lifetime Jitter=20 %", offsetof(struct weir__settings, lifetime_jitter),
       20},
      {"Idle Expiry=enforced", offsetof(struct weir__settings, idle_expiry),
       WEIR_EXPIRY_ENFORCED},
  };
  struct weir__options plain =
      must_split("Driver=x;Server=h;Pool Strategy=legacy");
  for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
    char text[128];
    const char *strategy = "Pool Strategy=legacy";
    bool behind = i % 2 == 0;
    (void)snprintf(text, sizeof text, "Driver=x;Server=h;%s;%s",
                   behind ? strategy : rows[i / 2].text,
                   behind ? rows[i / 2].text : strategy);
    struct weir__options o = must_split(text);
    uint32_t got = 0;
    memcpy(&got, (const char *)&o.settings + rows[i / 2].at, sizeof got);
    cr_assert_eq(got, rows[i / 2].value, "%s", text);
    /* Everything else is legacy's. */
    memcpy((char *)&o.settings + rows[i / 2].at,
           (const char *)&plain.settings + rows[i / 2].at, sizeof got);
    cr_assert_eq(memcmp(&o.settings, &plain.settings, sizeof o.settings), 0,
                 "%s", text);
    weir__options_fini(&o);
  }
  weir__options_fini(&plain);
}

Test(options, unknown_policies_are_told_what_there_is, .timeout = 5) {
  check_refused("Driver=x;Server=h;Pool Strategy=hikari", WEIR_E_ARG,
                P "19: \"Pool Strategy\" must be one of "
                  "direct,legacy,channel");
  check_refused("Driver=x;Server=h;Pool Idle Order=random", WEIR_E_ARG,
                P "19: \"Pool Idle Order\" must be one of "
                  "affinity,lifo,fifo");
  check_refused("Driver=x;Server=h;Pool Growth=all", WEIR_E_ARG,
                P "19: \"Pool Growth\" must be one of "
                  "adaptive,serial,parallel");
  check_refused("Driver=x;Server=h;Pool Handoff=lifo", WEIR_E_ARG,
                P "19: \"Pool Handoff\" must be one of "
                  "bounded,direct,barging,queued");
  check_refused("Driver=x;Server=h;Pool Trim=1", WEIR_E_ARG,
                P "19: \"Pool Trim\" must be one of peak,sweep,median");
  check_refused("Driver=x;Server=h;Pool Failure=none", WEIR_E_ARG,
                P "19: \"Pool Failure\" must be one of breaker,all,one");
  check_refused("Driver=x;Server=h;Pool Async=thread", WEIR_E_ARG,
                P "19: \"Pool Async\" must be one of queue,dispatcher");
}
