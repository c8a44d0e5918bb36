/* SPDX-License-Identifier: MIT */
/* test_credential.c - federated authentication, from options to a session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"

#define READY "Server=db.test;Access Token=;"
#define ASKED "Server=db.test;User ID=app;Authentication=ActiveDirectory"

#define NONCE                        \
  "000102030405060708090a0b0c0d0e0f" \
  "101112131415161718191a1b1c1d1e1f"

/* PRELOGIN: ENCRYPTION, FEDAUTHREQUIRED; then also NONCE. */
#define REPLY(e, f) "00 0010 0006 01 0016 0001 06 0017 0001 ff 100000000000" e f
#define REPLY_NONCE                                                     \
  "00 0015 0006 01 001b 0001 06 001c 0001 07 001d 0020 ff 100000000000" \
  "01 01" NONCE

#define HANDSHAKE "12 01 000d 0000 00 00 5345525652"

#define ACK      "ad 0a00 01 74000004 00 10 00 0ff5"
#define DONE     "fd 0000 0000 0000000000000000"
#define FED_OK   "ae 02 00000000 0a 01000000 01 ff"
#define FED_NO   "ae 0a 01000000 01 ff"
#define ACCEPTED ACK FED_OK DONE

/* "https://h/t", "spn". */
#define INFO                                                       \
  "ee 32000000 02000000 01 16000000 16000000 02 06000000 2c000000" \
  "6800 7400 7400 7000 7300 3a00 2f00 2f00 6800 2f00 7400"         \
  "7300 7000 6e00"

static void open_with(struct fake *f, const char *options, const char *reply) {
  fake_open(f, options);
  f->token = "t0k\xC3\xA9n";
  f->token_n = 6;
  fake_reply_hex(f, reply);
  fake_hex(f, HANDSHAKE);
}

/* Bytes from PRELOGIN and hello on, in clear. */
static uint8_t *sent_after_hello(const struct fake *f, size_t *out_n) {
  size_t prelogin = (size_t)(f->sent.p[2] << 8 | f->sent.p[3]);
  size_t at = prelogin + 8 + strlen(FAKE_HELLO);
  uint8_t *p = malloc(f->sent.n - at + 1);
  cr_assert_not_null(p);
  *out_n = f->sent.n - at;
  for (size_t i = 0; i < *out_n; i++) {
    p[i] = f->sent.p[at + i] ^ FAKE_KEY;
  }
  return p;
}

static bool sent_has(const struct fake *f, const void *what, size_t n) {
  size_t len = 0;
  uint8_t *p = sent_after_hello(f, &len);
  bool found = memmem(p, len, what, n) != NULL;
  free(p);
  return found;
}

/* ------------------------------------------------------- a token at hand */

Test(credential, sends_a_token_with_the_login, .timeout = 5) {
  struct fake f;
  open_with(&f, READY, REPLY("01", "01"));
  fake_reply_hex(&f, ACCEPTED);
  fake_encrypt(&f, 2);
  f.expires = 1893456000;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.asked_kind, WEIR_DRV_CRED_BEARER);
  cr_expect_str_eq(f.asked_for, "Access Token||||0");
  cr_expect_eq(f.wait.auth_expires_unix, 1893456000);
  /* PRELOGIN says that a token is there. */
  cr_expect_eq(f.sent.p[(size_t)(f.sent.p[2] << 8 | f.sent.p[3]) - 1], 1);
  /* Feature 02, 15 bytes, library 1 with the echo bit, 10 bytes of token. */
  cr_expect(sent_has(&f,
                     "\2\17\0\0\0\3\12\0\0\0t\0"
                     "0\0k\0\xE9\0n\0",
                     20));
  fake_encrypt(&f, 0);
  f.log.n = 0;
  fake_reply_hex(&f, DONE);
  fake_encrypt(&f, f.n_answers - 1);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.auth_expires_unix, 1893456000);
  cr_expect_eq(fake_close(&f), 0);
}

Test(credential, echoes_what_the_server_requires, .timeout = 5) {
  static const struct {
    const char *reply;
    const char *options;
  } cases[] = {
      {REPLY("01", "00"), "\2\17\0\0\0\2"},
      {REPLY("01", "01"), "\2\17\0\0\0\3"},
      {"00 000b 0006 01 0011 0001 ff 100000000000 01", "\2\17\0\0\0\2"}};
  for (size_t i = 0; i < 3; i++) {
    struct fake f;
    open_with(&f, READY, cases[i].reply);
    fake_reply_hex(&f, ACCEPTED);
    fake_encrypt(&f, 2);
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    cr_expect(sent_has(&f, cases[i].options, 6), "%zu", i);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(credential, sends_the_nonce_back, .timeout = 5) {
  static const char *const acks[] = {"ae 02 00000000 ff",
                                     "ae 02 20000000" NONCE "ff"};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    char body[400];
    (void)snprintf(body, sizeof body, "%s%s%s", ACK, acks[i], DONE);
    open_with(&f, READY, REPLY_NONCE);
    fake_reply_hex(&f, body);
    fake_encrypt(&f, 2);
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    cr_expect(sent_has(&f, "n\0\0\1\2\3\4\5\6\7", 10));
    cr_expect_str_eq(f.asked_for, "Access Token||||32");
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(credential, sends_no_name_beside_a_token, .timeout = 5) {
  struct fake f;
  size_t n = 0;
  open_with(&f, READY, REPLY("01", "01"));
  fake_reply_hex(&f, ACCEPTED);
  fake_encrypt(&f, 2);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE);
  uint8_t *p = sent_after_hello(&f, &n);
  cr_expect_eq(p[8 + 42] | p[8 + 43] << 8, 0); /* user */
  cr_expect_eq(p[8 + 46] | p[8 + 47] << 8, 0); /* password */
  cr_expect_eq(p[8 + 25] & 0x80, 0);           /* integrated */
  free(p);
  (void)fake_close(&f);
}

/* Tokens of 1 KiB to 60 KiB: packets of 4096 but for the last. */
Test(credential, sends_a_long_token_in_full_packets, .timeout = 10) {
  static char token[60001];
  static const size_t sizes[] = {1000, 1900, 2000, 20000, 60000};
  memset(token, 'a', sizeof token);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    struct fake f;
    size_t n = 0;
    open_with(&f, READY, REPLY("01", "01"));
    f.token = token;
    f.token_n = sizes[i];
    f.write_most = 700;
    fake_reply_hex(&f, ACCEPTED);
    fake_encrypt(&f, 2);
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    uint8_t *p = sent_after_hello(&f, &n);
    size_t at = 0;
    size_t body = 0;
    while (at < n) {
      size_t length = (size_t)(p[at + 2] << 8 | p[at + 3]);
      bool last = (p[at + 1] & 1) != 0;
      cr_assert_eq(p[at], 0x10);
      cr_assert(last ? at + length == n : length == 4096, "%zu", at);
      body += length - 8;
      at += length;
    }
    cr_expect_eq(body, (size_t)(p[8] | p[9] << 8 | p[10] << 16));
    cr_expect_gt(body, 2 * sizes[i]);
    free(p);
    cr_expect_eq(fake_close(&f), 0);
  }
}

static const struct {
  const char *token;
  size_t n;
  const char *text;
} useless[] = {
    {"", 0, "the access token is empty"},
    {"\xFF\xFE", 2, "not valid UTF-8"},
    {NULL, 66000, "longer than a login may be"},
    {NULL, 1000000, "longer than a login may be"},
};

Test(credential, refuses_a_token_that_cannot_be_sent, .timeout = 5) {
  static char big[1000000];
  memset(big, 'x', sizeof big);
  for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
    struct fake f;
    open_with(&f, READY, REPLY("01", "01"));
    f.token = useless[i].token == NULL ? big : useless[i].token;
    f.token_n = useless[i].n;
    cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL);
    cr_expect_not_null(strstr(f.message, useless[i].text), "%s", f.message);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(credential, says_whose_token_was_refused_and_not_which, .timeout = 5) {
  struct fake f;
  open_with(&f, READY, REPLY("01", "01"));
  fake_reply_hex(&f, "aa 1400 18480000 01 0e 0200 4e00 6f00 01 5300 00 01000000"
                     "fd 0200 0000 0000000000000000");
  fake_encrypt(&f, 2);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_AUTH);
  cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_CRED);
  cr_expect_eq(f.err.native_state, 1);
  cr_expect_eq(f.err.line, 1);
  cr_expect_str_eq(f.message,
                   "login: with an access token to db.test,1433: No");
  (void)fake_close(&f);
}

Test(credential, fails_when_nobody_has_a_token, .timeout = 5) {
  struct fake f;
  open_with(&f, "Server=db.test;Authentication=AccessToken", REPLY("01", "01"));
  f.no_password = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "no access token could be had"));
  cr_expect_eq(f.err.kind, WEIR_DRV_K_AUTH);
  (void)fake_close(&f);
}

/* ------------------------------------------------ where a token may travel */

static const struct {
  const char *encrypt;
  const char *reply;
  const char *text;
} links[] = {
    {"optional", REPLY("00", "01"), "would encrypt nothing but the login"},
    {"optional", REPLY("02", "01"), "the server does not encrypt"},
    {"mandatory", REPLY("02", "01"), "does not support encryption"},
};

Test(credential, never_leaves_full_encryption, .timeout = 5) {
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    for (size_t k = 0; k < 2; k++) {
      struct fake f;
      char options[200];
      (void)snprintf(options, sizeof options, "%s;Encrypt=%s",
                     k == 0 ? READY : ASKED "Default", links[i].encrypt);
      open_with(&f, options, links[i].reply);
      cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL);
      cr_expect_not_null(strstr(f.message, links[i].text), "%s", f.message);
      cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
      cr_expect_eq(f.asked_kind, 0, "the token was not even asked for");
      cr_expect_eq(fake_close(&f), 0);
    }
  }
}

Test(credential, checks_the_certificate_even_with_optional, .timeout = 5) {
  static const struct {
    const char *options;
    uint32_t flags;
  } cases[] = {
      {READY "Encrypt=optional", WEIR_DRV_TLS_MAX_1_2},
      {READY "Encrypt=optional;TrustServerCertificate=true",
       WEIR_DRV_TLS_MAX_1_2 | WEIR_DRV_TLS_NO_VERIFY},
      {"Server=h;User ID=sa;Password=;Encrypt=optional",
       WEIR_DRV_TLS_MAX_1_2 | WEIR_DRV_TLS_NO_VERIFY},
  };
  for (size_t i = 0; i < 3; i++) {
    struct fake f;
    open_with(&f, cases[i].options, REPLY("03", "01"));
    fake_reply_hex(&f, i < 2 ? ACCEPTED : ACK DONE);
    fake_encrypt(&f, 2);
    cr_expect_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_eq(f.tls_flags, cases[i].flags, "%zu", i);
    (void)fake_close(&f);
  }
}

/* ------------------------------------------- a token for what is asked */

static void open_asked(struct fake *f, const char *options, const char *reply) {
  open_with(f, options, reply);
  fake_reply_hex(f, INFO);
  fake_reply_hex(f, ACCEPTED);
  fake_encrypt(f, 2);
}

Test(credential, gets_the_token_that_the_server_asks_for, .timeout = 5) {
  struct fake f;
  open_asked(&f, ASKED "Interactive", REPLY("01", "01"));
  f.expires = 77;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.asked_kind, WEIR_DRV_CRED_BEARER);
  cr_expect_str_eq(f.asked_for, "Access Token|spn|https://h/t|app|0");
  cr_expect_eq(f.wait.auth_expires_unix, 77);
  cr_expect(sent_has(&f, "\2\2\0\0\0\5\3", 7));
  cr_expect(sent_has(&f, "\x08\1\0\x1A\0\0\1\0\x0E\0\0\0\x0A\0\0\0t\0", 18));
  cr_expect_eq(f.messages, 4);
  cr_expect_eq(fake_close(&f), 0);
}

Test(credential, does_the_same_at_every_cut, .timeout = 20) {
  for (uint32_t seed = 1; seed < 40; seed++) {
    struct fake f;
    open_asked(&f, ASKED "Default", REPLY_NONCE);
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%u: %s", seed, f.message);
    cr_assert_str_eq(f.asked_for, "Access Token|spn|https://h/t|app|32");
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(credential, tells_the_server_how_the_token_is_got, .timeout = 5) {
  static const struct {
    const char *word;
    uint8_t workflow;
  } words[] = {{"Password", 1},        {"Integrated", 2},
               {"Interactive", 3},     {"ServicePrincipal", 1},
               {"ManagedIdentity", 3}, {"MSI", 3},
               {"Default", 3},         {"WorkloadIdentity", 3}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    struct fake f;
    char options[200];
    uint8_t want[] = {2, 2, 0, 0, 0, 5, words[i].workflow};
    (void)snprintf(options, sizeof options, "%s%s", ASKED, words[i].word);
    open_asked(&f, options, REPLY("01", "01"));
    cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
    cr_expect(sent_has(&f, want, sizeof want), "%s", words[i].word);
    (void)fake_close(&f);
  }
}

Test(credential, shows_that_it_waits_for_a_token, .timeout = 5) {
  struct fake f;
  open_asked(&f, ASKED "Default", REPLY("01", "01"));
  f.no_password = true;
  cr_assert_eq(fake_connect(&f), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "login: no access token could be had"));
  (void)fake_close(&f);
}

/* The server's part, gone wrong. */
static const struct {
  const char *options;
  const char *first;
  const char *second;
  const char *text;
} strange[] = {
    {READY, ACK FED_NO DONE, "", "does not acknowledge federated"},
    {READY, ACK DONE, "", "does not acknowledge federated"},
    {READY, ACK "ae 02 01000000 00 ff" DONE, "", "FEDAUTH has 1 bytes"},
    {READY, ACK "ae 02 00000000 02 00000000 ff" DONE, "", "FEDAUTH twice"},
    {READY, INFO, "", "FEDAUTHINFO that nobody waits for"},
    {"Server=h;User ID=sa;Password=", INFO, "", "that nobody waits for"},
    {"Server=h;User ID=sa;Password=", ACK FED_OK DONE, "",
     "feature 0x02, which was not asked for"},
    {ASKED "Default", ACK DONE, "", "does not acknowledge federated"},
    {ASKED "Default", "ee 01400000", "", "FEDAUTHINFO has 16385 bytes"},
    {ASKED "Default", "ee ffffffff", "", "FEDAUTHINFO has 4294967295 bytes"},
    {ASKED "Default", "ee 05000000 0000000000", "", "does not say for what"},
    {ASKED "Default",
     "ee 1a000000 02000000 01 02000000 16000000 02 02000000 18000000 0000 7300",
     "", "with a zero in it"},
    {ASKED "Default", INFO INFO, "", "FEDAUTHINFO that nobody waits for"},
    {ASKED "Default", INFO, INFO, "FEDAUTHINFO that nobody waits for"},
    {ASKED "Default", INFO, ACK DONE, "does not acknowledge federated"},
    {ASKED "Default", INFO, DONE, "neither accepts nor refuses"},
};

Test(credential, is_dead_after_strange_answers, .timeout = 5) {
  for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
    struct fake f;
    open_with(&f, strange[i].options, REPLY("01", "01"));
    fake_reply_hex(&f, strange[i].first);
    fake_reply_hex(&f, strange[i].second);
    fake_encrypt(&f, 2);
    cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, strange[i].text), "%zu: %s", i,
                       f.message);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* Routing to "w,1433", as ENVCHANGE 20. */
#define ROUTE "e3 0c00 14 0700 00 9905 0100 7700 0000"

static const struct {
  const char *options;
  const char *first;
  const char *second;
} routed[] = {
    {READY, ACK FED_OK ROUTE DONE, ""},
    {READY, ROUTE DONE, ""},
    {ASKED "Default", INFO, ACK FED_OK ROUTE DONE},
    {ASKED "Default", INFO, ROUTE DONE},
    {ASKED "Default", ROUTE DONE, ""},
    {"Server=db.test;User ID=sa;Password=", ACK ROUTE DONE, ""},
    {"Server=db.test;User ID=sa;Password=", ROUTE DONE, ""},
};

/* Routing is not built yet: every way to log in, with LOGINACK and without, is
 * told where it was sent.  Nothing is opened there, so nobody's certificate is
 * checked against a name that is not its own. */
Test(credential, scenarios_179_and_181_are_not_routed_in_any_way) {
  for (size_t i = 0; i < sizeof routed / sizeof routed[0]; i++) {
    struct fake f;
    open_with(&f, routed[i].options, REPLY("01", "01"));
    fake_reply_hex(&f, routed[i].first);
    fake_reply_hex(&f, routed[i].second);
    fake_encrypt(&f, 2);
    cr_expect_eq(fake_connect(&f), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, "the server routes to w,1433"),
                       "%zu: %s", i, f.message);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_UNSUPPORTED);
    cr_expect_eq(f.opened, 1);
    cr_expect_str_eq(f.tls_name, "db.test");
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(credential, survives_each_failed_allocation, .timeout = 20) {
  static const char *const options[] = {READY, ASKED "Default"};
  for (size_t k = 0; k < 2; k++) {
    bool whole = false;
    for (size_t n = 1; !whole; n++) {
      struct fake f;
      cr_assert_lt(n, 200);
      if (k == 0) {
        open_with(&f, options[k], REPLY_NONCE);
        fake_reply_hex(&f, ACCEPTED);
        fake_encrypt(&f, 2);
      } else {
        open_asked(&f, options[k], REPLY_NONCE);
      }
      f.fail_alloc = n;
      weir_drv_status rc = fake_connect(&f);
      whole = f.fail_alloc != 0;
      cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL, "%zu", n);
      cr_assert_eq(fake_close(&f), 0);
    }
  }
}
