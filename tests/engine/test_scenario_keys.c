/* SPDX-License-Identifier: MIT */
/* Scenarios 121 to 123: which connection strings mean one pool. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"

static struct fixture f;

static weir_h open_text(const char *text) {
  weir_h pool = 0;
  cr_assert_eq(weir_pool_open(f.engine, text, strlen(text), &pool, &f.err),
               WEIR_OK, "%s: %s", text, f.err.message);
  return pool;
}

static uint64_t groups(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  return c.number_of_active_connection_pools;
}

/* -------------------------------------------------------------- scenario 121 */

#define SPELLINGS 200u

static uint32_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % below;
}

/* An option, its names, and its value in several ways to write it. */
struct spelled {
  const char *names[4];
  const char *values[4];
};

static const struct spelled parts[] = {
    {{"Driver"}, {"mock", "'mock'", "{mock}", "\"mock\""}},
    {{"Mock Server", "Server", "Data Source"},
     {"Db.Example,1", "'Db.Example,1'"}},
    {{"Database", "Initial Catalog"}, {"Sales", "\"Sales\"", "{Sales}"}},
    {{"User ID", "UID", "User"}, {"me", "'me'"}},
    {{"Password", "PWD"}, {"'Qz 7;x'", "\"Qz 7;x\"", "{Qz 7;x}"}},
    {{"Max Pool Size", "Maximum Pool Size"}, {"7", " 7 ", "'7'"}},
    {{"Connection Lifetime", "Load Balance Timeout"},
     {"60", "1 min", "60000ms", "60 s"}},
    {{"Mock Strict"}, {"true", "yes", "TRUE", "1"}},
    /* What travels with an acquire, or is as it is by default. */
    {{"Connect Timeout", "Timeout"}, {"3", "99"}},
    {{"Pooling"}, {"true", "yes"}},
    {{"Min Pool Size"}, {"0"}},
};
#define PARTS     (sizeof parts / sizeof parts[0])
#define SKIPPABLE 8u /* from here on a part may be left out */

static const char *pick(const char *const *from) {
  uint32_t n = 0;
  while (n < 4 && from[n] != NULL) {
    n++;
  }
  return from[draw(n)];
}

static size_t add(char *text, size_t at, size_t cap, const char *s, bool fold) {
  for (; *s != '\0' && at + 1 < cap; s++) {
    char c = *s;
    if (fold && c >= 'a' && c <= 'z' && draw(3) == 0) {
      c = (char)(c - 'a' + 'A');
    }
    text[at++] = c;
  }
  text[at] = '\0';
  return at;
}

static size_t add_part(char *text, size_t at, size_t cap, size_t which) {
  static const char *const blanks[] = {"", " ", "  ", "\t"};
  at = add(text, at, cap, blanks[draw(4)], false);
  at = add(text, at, cap, pick(parts[which].names), true);
  at = add(text, at, cap, blanks[draw(4)], false);
  at = add(text, at, cap, "=", false);
  at = add(text, at, cap, blanks[draw(4)], false);
  at = add(text, at, cap, pick(parts[which].values), false);
  at = add(text, at, cap, blanks[draw(4)], false);
  return add(text, at, cap, draw(5) == 0 ? ";;" : ";", false);
}

/* The parts in some order, some of them left out. */
static void spell(char *text, size_t cap) {
  size_t order[PARTS];
  size_t at = 0;
  for (size_t i = 0; i < PARTS; i++) {
    size_t j = draw((uint32_t)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  text[0] = '\0';
  for (size_t i = 0; i < PARTS; i++) {
    if (order[i] < SKIPPABLE || draw(2) == 0) {
      at = add_part(text, at, cap, order[i]);
    }
  }
}

#define PLAIN                                                              \
  "Driver=mock;Mock Strict=true;Server='Db.Example,1';Database=Sales;User" \
  " ID=me;Password='Qz 7;x';Max Pool Size=7;Connection Lifetime=60"

Test(scenario_keys,
     scenario_121_two_hundred_spellings_are_one_pool,
     .timeout = 10) {
  char text[1024];
  fixture_open(&f);
  weir_h pool = open_text(PLAIN);
  random_state = 20261130;
  for (unsigned i = 0; i < SPELLINGS; i++) {
    spell(text, sizeof text);
    cr_assert_eq(open_text(text), pool, "%s", text);
  }
  cr_assert_eq(groups(), 1);
  fixture_close(&f);
}

/* A value is kept to the letter. */
Test(scenario_keys, scenario_121_another_value_is_another_pool, .timeout = 10) {
  static const char *const other[] = {
      "Password='qz 7;x'", "Password='Qz 7;x '", "Database='Sales '",
      "Database=sales",    "Max Pool Size=8",    "Connection Lifetime=61",
      "User ID=Me",        "Server=other",
  };
  char text[1024];
  fixture_open(&f);
  weir_h pool = open_text(PLAIN);
  for (unsigned i = 0; i < sizeof other / sizeof other[0]; i++) {
    (void)snprintf(text, sizeof text, "%s;%s", PLAIN, other[i]);
    cr_assert_neq(open_text(text), pool, "%s", other[i]);
    cr_assert_eq(groups(), i + 2, "%s", other[i]);
  }
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 122 */

static weir_h open_credential(void) {
  weir_h h = 0;
  cr_assert_eq(weir_credential_open(f.engine, &h, &f.err), WEIR_OK);
  return h;
}

static weir_h open_with(weir_h credential) {
  return fixture_pool(
      &f, "Mock Bearer=true;Max Pool Size=4;Credential=%" PRIu64, credential);
}

/* One connect that asks, and is told a token. */
static weir_h acquire_with(weir_h pool, weir_h credential, const char *token) {
  struct acquirer a;
  struct weir_credential_request r = {.struct_size = sizeof r};
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_credential_next(credential, 5 * FIXTURE_S, &r, &f.err),
               WEIR_OK, "%s", f.err.message);
  cr_assert_eq(
      weir_credential_answer(r.request, token, strlen(token), 0, &f.err),
      WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_OK, "%s", a.err.message);
  return a.lease;
}

/* The pool's key names who is asked for the token, not the token.  (That a token
 * is renewed before its end comes later.) */
Test(scenario_keys, scenario_122_a_new_token_makes_no_new_pool, .timeout = 30) {
  fixture_open(&f);
  weir_h credential = open_credential();
  weir_h pool = open_with(credential);
  for (unsigned i = 0; i < 1000; i++) {
    char token[32];
    (void)snprintf(token, sizeof token, "token-%u", i);
    cr_assert_eq(open_with(credential), pool);
    weir_h lease = acquire_with(pool, credential, token);
    cr_assert_eq(weir_discard(lease), WEIR_OK); /* or it would not be asked */
  }
  cr_assert_eq(groups(), 1);
  cr_assert_leq(fixture_counts(&f).sessions_max, 4);
  fixture_close(&f);
}

/* A token in the string is a value like others, a digest of it in the key.  Who
 * opens such pools closes them; one that is closed and not in use is gone, with
 * its sessions.  (That forgotten ones are pruned comes later.) */
Test(scenario_keys,
     scenario_122_pools_of_old_tokens_go_with_their_owner,
     .timeout = 30) {
  char key[1024] = "";
  fixture_open(&f);
  for (unsigned i = 0; i < 200; i++) {
    weir_h pool = fixture_pool(&f, "Access Token=token-%u-x", i);
    cr_assert_eq(weir_pool_key(pool, key, sizeof key, NULL), WEIR_OK);
    cr_assert_null(strstr(key, "-x"), "%s", key);
    cr_assert_eq(groups(), 1);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, sessions_live, 0);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 200);
  /* The one that ended last is freed with the next. */
  AWAIT_COUNT(&f, calls[MOCK_CONFIG_DESTROY],
              fixture_counts(&f).calls[MOCK_CONFIG_CREATE] - 1);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 123 */

/* Nothing in the string says who it is but the credential's handle: what was
 * opened as one is never lent to the other.  (Identities of the operating system
 * are refused by name; they come later.) */
Test(scenario_keys,
     scenario_123_sessions_of_two_identities_never_cross,
     .timeout = 20) {
  weir_h who[2];
  weir_h pool[2];
  int64_t session[2];
  fixture_open(&f);
  for (unsigned i = 0; i < 2; i++) {
    who[i] = open_credential();
    pool[i] = open_with(who[i]);
    weir_h lease = acquire_with(pool[i], who[i], i == 0 ? "A" : "B");
    session[i] = fixture_number(&f, lease, "session", 0);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool[i], idle, 1);
  }
  cr_assert_neq(pool[0], pool[1]);
  cr_assert_neq(session[0], session[1]);
  for (unsigned i = 0; i < 100; i++) {
    unsigned one = (i / 3) % 2;
    weir_h lease = fixture_acquire(&f, open_with(who[one]));
    cr_assert_eq(fixture_number(&f, lease, "session", 0), session[one]);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool[one], idle, 1);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_close(&f);
}
