/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "key.h"
#include "sys/seams.h"

/* A driver that keys by everything it is given, as a real one would. */

#define TEXT(s) \
  { s, sizeof(s) - 1 }
#define INFO(t, f, name, aliases)                                          \
  {                                                                        \
    sizeof(struct weir_drv_option_info), WEIR_DRV_T_##t, f, 0, TEXT(name), \
        TEXT(aliases), TEXT(""), TEXT(""), TEXT("")                        \
  }

static const struct weir_drv_option_info catalog[] = {
    INFO(TEXT, WEIR_DRV_OPT_KEY, "Server", "Data Source"),
    INFO(TEXT, WEIR_DRV_OPT_KEY, "Database", "Initial Catalog"),
    INFO(TEXT, WEIR_DRV_OPT_KEY, "User ID", "UID"),
    INFO(TEXT, WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_SECRET, "Password", "PWD"),
    INFO(TEXT, WEIR_DRV_OPT_SECRET, "Access Token", ""),
    INFO(BOOL, WEIR_DRV_OPT_KEY, "Trust", ""),
    INFO(INT, 0, "Colour", ""),
};

/* What the driver is to do, and the configuration it made: the options. */
struct behaviour {
  const struct weir__options *options;
  weir_drv_status answer;
  int32_t only; /* misbehave for this key only; 0: never */
  bool no_name;
  bool endless;
  bool secret_part;
  const char *raw; /* a part with these bytes, */
  size_t raw_n;    /* if there are any */
  bool bad_name;
};

static struct behaviour *behaviour_of(const weir_drv_cfg *cfg) {
  return (struct behaviour *)(uintptr_t)cfg;
}

static weir_drv_status push(const struct weir_drv_key_sink *sink,
                            uint32_t flags,
                            const char *name,
                            const void *p,
                            size_t n) {
  struct weir_drv_text text = {name, name != NULL ? strlen(name) : 0};
  struct weir_drv_bytes bytes = {p, n};
  return sink->part(sink->ctx, flags, &text, &bytes);
}

static bool belongs(int32_t which, const char *name) {
  return which == WEIR_DRV_KEY_ENDPOINT ? strcmp(name, "Server") == 0
                                        : strcmp(name, "Colour") != 0;
}

static weir_drv_status config_key(weir_drv_drv *d,
                                  const weir_drv_cfg *cfg,
                                  int32_t which,
                                  const struct weir_drv_key_sink *sink) {
  (void)d;
  struct behaviour *b = behaviour_of(cfg);
  for (uint32_t i = 0; i < b->options->n_drv; i++) {
    const struct weir_drv_option *o = &b->options->drv[i];
    const void *p = o->value.p != NULL ? o->value.p : &o->value.i;
    size_t n = o->value.p != NULL ? (size_t)o->value.n : sizeof o->value.i;
    if (o->value.type == WEIR_DRV_T_NULL || !belongs(which, o->name.p)) {
      continue;
    }
    if (which == WEIR_DRV_KEY_DISPLAY && o->value.p == NULL) {
      p = o->value.i != 0 ? "true" : "false";
      n = strlen(p);
    }
    (void)push(sink, 0, o->name.p, p, n);
  }
  if (b->secret_part) {
    (void)push(sink, WEIR_DRV_V_SECRET, "Token", "Qz7Kx9Vw3", 9);
  }
  if (b->bad_name) {
    (void)push(sink, 0, "a\007=\377", "1", 1);
  }
  if (b->raw_n != 0) {
    (void)push(sink, 0, "Raw", b->raw, b->raw_n);
  }
  if (b->only != which) {
    return WEIR_DRV_DONE;
  }
  if (b->no_name) {
    (void)push(sink, 0, NULL, "x", 1);
  }
  for (int i = 0; b->endless && i < 100000; i++) {
    (void)push(sink, 0, "x", "y", 1);
  }
  return b->answer;
}

static const struct weir_driver driver = {.struct_size = sizeof driver,
                                          .name = "fake",
                                          .config_key = config_key};

static int make(const char *text,
                struct behaviour *b,
                struct weir__key **out,
                struct weir_error *err) {
  struct weir__conninfo ci;
  struct weir__options o = {0};
  cr_assert_eq(weir__conninfo_parse(text, strlen(text), &ci, err), WEIR_OK,
               "%s", text);
  cr_assert_eq(weir__options_split(&ci, catalog,
                                   sizeof catalog / sizeof catalog[0],
                                   sizeof catalog[0], &o, err),
               WEIR_OK, "%s: %s", text, err->message);
  b->options = &o;
  struct weir__key_source source = {.table = &driver,
                                    .driver = (weir_drv_drv *)(uintptr_t)64,
                                    .cfg =
                                        (const weir_drv_cfg *)(const void *)b,
                                    .options = &o,
                                    .conninfo = &ci};
  int rc = weir__key_new(&source, out, err);
  weir__options_fini(&o);
  weir__conninfo_fini(&ci);
  return rc;
}

static struct weir__key *must_make(const char *text) {
  struct behaviour b = {0};
  struct weir__key *key = NULL;
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(make(text, &b, &key, &err), WEIR_OK, "%s", err.message);
  return key;
}

static bool same_key(const char *a, const char *b) {
  struct weir__key *x = must_make(a);
  struct weir__key *y = must_make(b);
  bool equal = weir__key_equal(x, y);
  cr_assert_eq(equal, weir__key_hash(x) == weir__key_hash(y));
  cr_assert_eq(equal, weir__key_equal(y, x));
  weir__key_free(x);
  weir__key_free(y);
  return equal;
}

#define BASE                                   \
  "Driver=fake;Server=h;Database=d;User ID=u;" \
  "Password=Qz7Kx9Vw3;Trust=true"
static const char base[] = BASE;

/* Scenario 121. */
Test(key, spellings_of_one_meaning_are_one_pool, .timeout = 5) {
  static const char *const rows[] = {
      "driver=fake;SERVER=h;database=d;user id=u;password=Qz7Kx9Vw3;trust=true",
      (" Driver = fake ;; Server=h ; Database=d;User ID='u';Password = "
       "\"Qz7Kx9Vw3\" ;Trust=yes;"),
      ("Trust=1;Password={Qz7Kx9Vw3};UID=u;Initial Catalog=d;Data Source=h;"
       "Driver=fake"),
      ("Driver=fake;Server=old;PWD=old;Server=h;Database=d;User ID=u;"
       "Password=Qz7Kx9Vw3;Trust=true"),
      (BASE ";Max Pool Size=100;Min Pool Size=0;Pooling=yes;"
            "Connection Reset=true;Connection Idle Timeout=5 min;"
            "Close Timeout=1000ms;Pool Key=canonical"),
      (BASE ";Max Concurrent Connects=100"),
      (BASE ";Connect Timeout=99;Command Timeout=0"),
      (BASE ";Colour=5")};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert(same_key(base, rows[i]), "%s", rows[i]);
  }
}

Test(key, every_change_of_meaning_is_another_pool, .timeout = 5) {
  static const char *const rows[] = {"Server=H",
                                     "Database=D",
                                     "Database='d '",
                                     "Database=",
                                     "User ID=U",
                                     "Password=qz7Kx9Vw3",
                                     "Password=Qz7Kx9Vw",
                                     "Password='Qz7Kx9Vw3 '",
                                     "Password=",
                                     "Access Token=t",
                                     "Trust=false",
                                     "Trust=",
                                     "Pooling=false",
                                     "Min Pool Size=1",
                                     "Max Pool Size=99",
                                     "Connection Lifetime=1",
                                     "Connection Idle Timeout=301",
                                     "Max Uses=5",
                                     "Connection Reset=verified",
                                     "Connection Reset=off",
                                     "Close Timeout=999ms",
                                     "Startup=lazy",
                                     "Startup=require",
                                     "Max Waiters=1",
                                     "Probe Window=0",
                                     "Max Concurrent Connects=1",
                                     "Pool Key=exact"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[256];
    (void)snprintf(text, sizeof text, "%s;%s", base, rows[i]);
    cr_assert_not(same_key(base, text), "%s", rows[i]);
  }
}

Test(key, parts_cannot_be_shifted_into_each_other, .timeout = 5) {
  cr_assert_not(same_key("Driver=fake;Server=ab;Database=c",
                         "Driver=fake;Server=a;Database=bc"));
  cr_assert_not(same_key("Driver=fake;Server='a;Database=b'",
                         "Driver=fake;Server=a;Database=b"));
  cr_assert_not(
      same_key("Driver=fake;Password=x", "Driver=fake;Access Token=x"));
}

Test(key, exact_compares_the_text, .timeout = 5) {
  static const char a[] = "Driver=fake;Server=h;Password=p;Pool Key=exact";
  cr_assert(same_key(a, a));
  static const char *const rows[] = {
      "Driver=fake;Server=h;Password=q;Pool Key=exact",
      "Driver=fake;Server=h;Password='p';Pool Key=exact",
      "Driver=fake;Server=h;PWD=p;Pool Key=exact",
      "Driver=fake; Server=h;Password=p;Pool Key=exact",
      "Driver=fake;server=h;Password=p;Pool Key=exact",
      "Driver=fake;Password=p;Server=h;Pool Key=exact",
      "Driver=fake;Server=h;Password=p;Pool Key=exact;",
      "\357\273\277Driver=fake;Server=h;Password=p;Pool Key=exact",
      "Driver=fake;Server=h;Password=p;Pool Key=exact;Connect Timeout=15"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert_not(same_key(a, rows[i]), "%s", rows[i]);
  }
}

/* ------------------------------------------------------------- discretion */

static bool holds(const void *p, size_t n, const char *what) {
  return memmem(p, n, what, strlen(what)) != NULL;
}

/* Everything a key gives out or keeps. */
static void check_silent(const struct weir__key *key, const char *secret) {
  char diff[512];
  size_t n = 0;
  const void *p = weir__key_parts(key, &n);
  cr_assert_gt(n, 0);
  cr_assert_not(holds(p, n, secret));
  p = weir__key_endpoint(key, &n);
  cr_assert_not(holds(p, n, secret));
  p = weir__key_text(key, &n);
  cr_assert_not(holds(p, n, secret));
  struct weir__key *other =
      must_make("Driver=fake;Server=other;Pool Key=exact");
  (void)weir__key_diff(key, other, diff, sizeof diff);
  cr_assert_null(strstr(diff, secret));
  weir__key_free(other);
}

Test(key, holds_no_secret_anywhere, .timeout = 5) {
  static const char *const rows[] = {
      "Driver=fake;Server=h;Password=Qz7Kx9Vw3",
      "Driver=fake;Server=h;PWD='Qz7Kx9Vw3';Access Token={Qz7Kx9Vw3}",
      "Driver=fake;Server=h;Password=Qz7Kx9Vw3;Pool Key=exact",
      ("Driver=fake;pwd=Qz7Kx9Vw3;Server=h;p w d='Qz7Kx9Vw3';Pool Key=exact;"
       "Password=short")};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__key *key = must_make(rows[i]);
    check_silent(key, "Qz7Kx9Vw3");
    weir__key_free(key);
  }
}

Test(key, secret_parts_of_the_driver_are_hashed_and_not_shown, .timeout = 5) {
  struct behaviour b = {.secret_part = true};
  struct weir__key *key = NULL;
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(make("Driver=fake;Server=h", &b, &key, &err), WEIR_OK);
  check_silent(key, "Qz7Kx9Vw3");
  cr_assert_str_eq(weir__key_text(key, NULL), "Driver=fake;Server=h");
  struct weir__key *without = must_make("Driver=fake;Server=h");
  cr_assert_not(weir__key_equal(key, without));
  weir__key_free(key);
  weir__key_free(without);
}

Test(key, its_text_reads_as_a_connection_string, .timeout = 5) {
  struct weir__key *key =
      must_make("Trust=1;Server='a;b';Max Pool Size=5;PWD=x;Driver=fake;"
                "Connect Timeout=3;Connection Lifetime=1.5");
  size_t n = 0;
  cr_assert_str_eq(weir__key_text(key, &n),
                   "Driver=fake;Server=\"a;b\";Trust=true;Max Pool Size=5;"
                   "Connection Lifetime=1500 ms");
  cr_assert_eq(n, strlen(weir__key_text(key, NULL)));
  weir__key_free(key);
}

/* The text of the key whose driver adds these bytes must end in "Raw=" shown. */
static void check_shown(const char *raw, size_t n, const char *shown) {
  struct behaviour b = {.raw = raw, .raw_n = n};
  struct weir__key *key = NULL;
  struct weir_error err = {.struct_size = sizeof err};
  char want[256];
  size_t len = 0;
  cr_assert_eq(make("Driver=fake;Server=h", &b, &key, &err), WEIR_OK);
  (void)snprintf(want, sizeof want, "Driver=fake;Server=h;Raw=%s", shown);
  cr_expect_str_eq(weir__key_text(key, &len), want);
  cr_expect_eq(len, strlen(want));
  weir__key_free(key);
}
#define CHECK_SHOWN(raw, shown) check_shown(raw, sizeof(raw) - 1, shown)

Test(key, its_text_shows_every_byte_as_text, .timeout = 5) {
  CHECK_SHOWN("\x1b_", "\\x1B_");
  CHECK_SHOWN("a\0b\0", "a\\x00b\\x00");
  CHECK_SHOWN("\n\t\x7f", "\\x0A\\x09\\x7F");
  CHECK_SHOWN("\xc2\x80\xc2\x9f\xc2\xa0", "\"\\xC2\\x80\\xC2\\x9F\xc2\xa0\"");
  CHECK_SHOWN("\xff\xc3", "\\xFF\\xC3");
  CHECK_SHOWN("\xed\xa0\x80", "\\xED\\xA0\\x80");
  CHECK_SHOWN("gr\xc3\xbc\xc3\x9f-\xf0\x9f\x8c\x8a",
              "\"gr\xc3\xbc\xc3\x9f-\xf0\x9f\x8c\x8a\"");
  CHECK_SHOWN("\x1b;", "\"\\x1B;\"");
}

/* Or two keys would look the same. */
Test(key, its_text_keeps_written_escapes_apart_from_bytes, .timeout = 5) {
  CHECK_SHOWN("\\x41", "\\x5Cx41");
  CHECK_SHOWN("\\xfF", "\\x5CxfF");
  CHECK_SHOWN("\\\\x41", "\\\\x5Cx41");
  CHECK_SHOWN("\\\x01", "\\\\x01");
  CHECK_SHOWN("db\\sql\\x", "db\\sql\\x");
  CHECK_SHOWN("\\x4", "\\x4");
  CHECK_SHOWN("\\xyz", "\\xyz");
}

Test(key, its_text_has_clean_names, .timeout = 5) {
  struct behaviour b = {.bad_name = true};
  struct weir__key *key = NULL;
  struct weir_error err = {.struct_size = sizeof err};
  cr_assert_eq(make("Driver=fake;Server=h", &b, &key, &err), WEIR_OK);
  cr_expect_str_eq(weir__key_text(key, NULL),
                   "Driver=fake;Server=h;a\\x07==\\xFF=1");
  weir__key_free(key);
}

/* --------------------------------------------------------------- endpoint */

Test(key, endpoints_are_the_drivers_business, .timeout = 5) {
  struct weir__key *a = must_make("Driver=fake;Server=h;Database=a");
  struct weir__key *b = must_make("Driver=fake;Server=h;Max Pool Size=2");
  struct weir__key *c = must_make("Driver=fake;Server=i;Database=a");
  size_t na = 0;
  size_t nb = 0;
  size_t nc = 0;
  const uint8_t *pa = weir__key_endpoint(a, &na);
  const uint8_t *pb = weir__key_endpoint(b, &nb);
  const uint8_t *pc = weir__key_endpoint(c, &nc);
  cr_assert(na == nb && memcmp(pa, pb, na) == 0);
  cr_assert_not(na == nc && memcmp(pa, pc, na) == 0);
  weir__key_free(a);
  weir__key_free(b);
  weir__key_free(c);
}

/* ---------------------------------------------------------------- presets */

/* What a preset brings is its default: written out or not, it is one pool. */
Test(key, a_default_of_the_preset_written_out_is_the_same_pool, .timeout = 5) {
  static const char *const presets[] = {"direct", "legacy", "channel"};
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t k = 0; k < 3; k++) {
    char plain[128];
    (void)snprintf(plain, sizeof plain, "Driver=fake;Pool Strategy=%s",
                   presets[k]);
    for (uint32_t i = 0; i < n; i++) {
      char text[256];
      const char *value = weir__settings_default(&table[i], k);
      if (value[0] == '\0' ||
          table[i].offset == offsetof(struct weir__settings, strategy)) {
        continue;
      }
      (void)snprintf(text, sizeof text, "%s;%s=%s", plain, table[i].name,
                     value);
      cr_assert(same_key(plain, text), "%s", text);
      (void)snprintf(text, sizeof text, "%s=%s;%s", table[i].name, value,
                     plain);
      cr_assert(same_key(plain, text), "%s", text);
    }
  }
}

/* The default of direct is none of legacy's. */
Test(key, a_default_of_another_preset_is_another_pool, .timeout = 5) {
  static const char *const rows[] = {
      "Pool Idle Order=affinity", "Pool Growth=adaptive",
      "Pool Handoff=bounded",     "Pool Trim=peak",
      "Pool Failure=breaker",     "Idle Expiry=enforced",
      "Probe Window=500 ms",      "Connect Timeout Scope=overall",
      "Lifetime Jitter=10 %"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[128];
    (void)snprintf(text, sizeof text, "Driver=fake;Pool Strategy=legacy;%s",
                   rows[i]);
    cr_assert_not(same_key("Driver=fake;Pool Strategy=legacy", text), "%s",
                  rows[i]);
    (void)snprintf(text, sizeof text, "Driver=fake;%s", rows[i]);
    cr_assert(same_key("Driver=fake", text), "%s", rows[i]);
  }
}

/* Policies written one by one are not the preset: its name is part of the key. */
Test(key, a_preset_spelled_out_is_not_the_preset, .timeout = 5) {
  cr_assert_not(
      same_key("Driver=fake;Pool Strategy=legacy",
               "Driver=fake;Pool Idle Order=lifo;Pool Growth=serial;Pool "
               "Handoff=barging;Pool Trim=sweep;Pool Failure=all;Pool "
               "Async=dispatcher;Connect Timeout Scope=per-phase;Idle "
               "Expiry=sqlclient;Probe Window=5 ms;Lifetime Jitter=0"));
}

Test(key, exact_compares_presets_as_they_are_written, .timeout = 5) {
  cr_assert_not(same_key(
      "Driver=fake;Pool Key=exact;Pool Strategy=legacy",
      "Driver=fake;Pool Key=exact;Pool Strategy=legacy;Pool Idle Order=lifo"));
}

/* ------------------------------------------------------------------- diff */

static void collect(void *ctx, const struct weir__key_part *part) {
  static const char kinds[] = "DSXT";
  char *to = ctx;
  size_t n = strlen(to);
  int more = snprintf(to + n, 256 - n, "%c:%.*s ", kinds[part->kind],
                      (int)part->name_len, part->name);
  cr_assert(more > 0 && (size_t)more < 256 - n);
}

/* Both ways: what differs, and what differs alone. */
static void check_compare(const char *a, const char *b, const char *want) {
  struct weir__key *x = must_make(a);
  struct weir__key *y = must_make(b);
  struct weir__key_part only;
  char got[256] = "";
  char alone[256] = "";
  uint32_t n = weir__key_compare(x, y, collect, got);
  cr_assert_str_eq(got, want);
  cr_assert_eq(weir__key_only(x, y, &only), n == 1, "%s | %s", a, b);
  if (n == 1) {
    collect(alone, &only);
    cr_assert_str_eq(alone, want);
    cr_assert(weir__key_only(y, x, &only));
  }
  weir__key_free(x);
  weir__key_free(y);
}

#define F "Driver=fake;"
Test(key, comparing_tells_whose_a_part_is, .timeout = 5) {
  check_compare(base, base, "");
  check_compare(F "Server=a", F "Server=b", "D:Server ");
  check_compare(F "Server=a", F "Server=a;Database=b", "D:Database ");
  check_compare(F "Server=a;Database=b", F "Database=b", "D:Server ");
  check_compare(F "Max Uses=1", F, "S:Max Uses ");
  check_compare(F, F "Max Uses=1", "S:Max Uses ");
  check_compare(F "Max Uses=1", F "Max Uses=2", "S:Max Uses ");
  check_compare(F "Max Uses=1", F "Min Idle=2", "S:Max Uses S:Min Idle ");
  check_compare(F "Min Idle=1", F "Max Uses=2", "S:Min Idle S:Max Uses ");
  check_compare(F "Password=a", F "Password=b", "X:Password ");
  check_compare(F "Password=a", F, "X:Password ");
  check_compare(F, F "Session Init=a", "X:Session Init ");
  check_compare(F "Credential=1", F "Credential=2", "S:Credential ");
  check_compare(F "Pool Strategy=legacy", F "Pool Strategy=channel",
                "S:Pool Strategy ");
  check_compare(F "Pool Key=exact;Server=a", F "Pool Key=exact;Server=b",
                "T:Server ");
  check_compare(F "Pool Key=exact;PWD=a", F "Pool Key=exact;PWD=b", "X:PWD ");
  check_compare(F "Pool Key=exact;PWD=a", F "Pool Key=exact;PWD= a", "X:PWD ");
  check_compare(F "Pool Key=exact", F "Pool Key=exact ", "T:end of text ");
}
#undef F

Test(key, keys_of_two_kinds_differ_in_their_kind, .timeout = 5) {
  struct weir__key *x = must_make("Driver=fake");
  struct weir__key *y = must_make("Driver=fake;Pool Key=exact");
  struct weir__key_part only;
  char got[256] = "";
  cr_assert_eq(weir__key_compare(x, y, collect, got), 1);
  cr_assert_str_eq(got, "S:Pool Key ");
  cr_assert_not(weir__key_only(x, y, &only));
  weir__key_free(x);
  weir__key_free(y);
}

static void check_diff(const char *a,
                       const char *b,
                       uint32_t count,
                       const char *names) {
  struct weir__key *x = must_make(a);
  struct weir__key *y = must_make(b);
  char buf[256];
  cr_assert_eq(weir__key_diff(x, y, buf, sizeof buf), count, "%s", buf);
  cr_assert_str_eq(buf, names);
  weir__key_free(x);
  weir__key_free(y);
}

Test(key, diff_names_what_differs, .timeout = 5) {
  check_diff(base, base, 0, "");
  check_diff("Driver=fake;Server=a", "Driver=fake;Server=b", 1, "Server");
  check_diff("Driver=fake;Password=a", "Driver=fake;Password=b", 1, "Password");
  check_diff("Driver=fake;Max Uses=1", "Driver=fake", 1, "Max Uses");
  check_diff("Driver=fake", "Driver=fake;Max Uses=1", 1, "Max Uses");
  check_diff("Driver=fake;Server=a;Max Uses=1;User ID=x",
             "Driver=fake;Server=b;Max Pool Size=3;User ID=x", 3,
             "Server, Max Uses, Max Pool Size");
  check_diff("Driver=fake;Server=a", "Driver=fake;Server=b;Pool Key=exact", 1,
             "Pool Key");
}

Test(key, diff_of_exact_keys_names_the_option, .timeout = 5) {
  check_diff("Driver=fake;Server=a;Pool Key=exact",
             "Driver=fake;Server=b;Pool Key=exact", 1, "Server");
  check_diff("Driver=fake;pwd=a;Pool Key=exact",
             "Driver=fake;pwd=b;Pool Key=exact", 1, "pwd");
  check_diff("Driver=fake;Server=a;Pool Key=exact",
             "Driver=fake;Server=a;Pool Key=exact ", 1, "end of text");
  check_diff("Driver=fake;Server=a;Pool Key=exact",
             "Server=a;Driver=fake;Pool Key=exact", 2, "Driver, Server");
}

/* A driver may call a part what it likes. */
Test(key, diff_writes_names_as_text, .timeout = 5) {
  struct behaviour b = {.bad_name = true};
  struct weir__key *x = must_make("Driver=fake;Server=h");
  struct weir__key *y = NULL;
  struct weir_error err = {.struct_size = sizeof err};
  char buf[64];
  cr_assert_eq(make("Driver=fake;Server=h", &b, &y, &err), WEIR_OK);
  cr_assert_eq(weir__key_diff(x, y, buf, sizeof buf), 1);
  cr_assert_str_eq(buf, "a\\x07=\\xFF");
  cr_assert_eq(weir__key_diff(x, y, buf, 10), 1);
  cr_assert_str_eq(buf, "");
  weir__key_free(x);
  weir__key_free(y);
}

Test(key, diff_leaves_out_what_does_not_fit, .timeout = 5) {
  struct weir__key *x = must_make("Driver=fake;Server=a;Database=a;User ID=a");
  struct weir__key *y = must_make("Driver=fake;Server=b;Database=b;User ID=b");
  char buf[16];
  cr_assert_eq(weir__key_diff(x, y, buf, sizeof buf), 3);
  cr_assert_str_eq(buf, "Server, User ID");
  cr_assert_eq(weir__key_diff(x, y, buf, 1), 3);
  cr_assert_str_eq(buf, "");
  cr_assert_eq(weir__key_diff(x, y, NULL, 0), 3);
  weir__key_free(x);
  weir__key_free(y);
}

/* --------------------------------------------------------------- failures */

static void check_fails(struct behaviour b, int code, const char *message) {
  static const int32_t keys[] = {WEIR_DRV_KEY_POOL, WEIR_DRV_KEY_ENDPOINT,
                                 WEIR_DRV_KEY_DISPLAY};
  for (size_t i = 0; i < 3; i++) {
    struct weir__key *key = NULL;
    struct weir_error err = {.struct_size = sizeof err};
    b.only = keys[i];
    cr_assert_eq(make("Driver=fake;Server=h", &b, &key, &err), code);
    cr_assert_str_eq(err.message, message);
    cr_assert_null(key);
  }
}

Test(key, a_driver_that_fails_makes_no_key, .timeout = 5) {
  check_fails((struct behaviour){.answer = WEIR_DRV_FAIL}, WEIR_E_FAIL,
              "driver \"fake\": cannot make the pool's key: the driver or "
              "OpenSSL failed");
  check_fails((struct behaviour){.answer = WEIR_DRV_E_NOMEM}, WEIR_E_NOMEM,
              "driver \"fake\": cannot make the pool's key: no memory");
}

Test(key, a_driver_that_breaks_the_contract_makes_no_key, .timeout = 5) {
  check_fails((struct behaviour){.no_name = true}, WEIR_E_FAIL,
              "driver \"fake\": cannot make the pool's key: the driver or "
              "OpenSSL failed");
  check_fails((struct behaviour){.endless = true}, WEIR_E_SPACE,
              "driver \"fake\": cannot make the pool's key: it is too long");
}

static int fail_after; /* allocations that still succeed */
static void *(*real_resize)(void *p, size_t n);
static void *(*real_alloc)(size_t n);

static void *failing_resize(void *p, size_t n) {
  return fail_after-- > 0 ? real_resize(p, n) : NULL;
}

static void *failing_alloc(size_t n) {
  return fail_after-- > 0 ? real_alloc(n) : NULL;
}

Test(key, survives_the_failure_of_any_allocation, .timeout = 5) {
  int rc = WEIR_E_NOMEM;
  int tries = 0;
  real_resize = weir__seams.resize;
  real_alloc = weir__seams.alloc;
  weir__seams.resize = failing_resize;
  weir__seams.alloc = failing_alloc;
  for (; rc != WEIR_OK && tries < 100; tries++) {
    struct behaviour b = {0};
    struct weir__key *key = NULL;
    struct weir_error err = {.struct_size = sizeof err};
    fail_after = tries + 1; /* the first is that of weir__options_split() */
    rc = make(base, &b, &key, &err);
    cr_assert(rc == WEIR_OK || rc == WEIR_E_NOMEM);
    cr_assert_eq(rc == WEIR_OK, key != NULL);
    weir__key_free(key);
  }
  cr_assert_gt(tries, 5);
  cr_assert_lt(tries, 100);
}
