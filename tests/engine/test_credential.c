/* SPDX-License-Identifier: MIT */
/* Credentials that a program supplies when a connect asks for them. */
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "pool.h"
#include "session.h"
#include "slot.h"
#include "virtual_clock.h"

static struct fixture f;
static weir_h credential;
static weir_h pool;

static weir_h open_credential(void) {
  weir_h h = 0;
  cr_assert_eq(weir_credential_open(f.engine, &h, &f.err), WEIR_OK, "%s",
               f.err.message);
  return h;
}

static weir_h open_pool(const char *settings) {
  return fixture_pool(&f,
                      "Mock Bearer=true;User ID=me;Credential=%" PRIu64 ";%s",
                      credential, settings);
}

static void open_real(const char *settings) {
  fixture_open(&f);
  credential = open_credential();
  pool = open_pool(settings);
}

static void open_virtual(const char *settings) {
  fixture_open_virtual(&f);
  credential = open_credential();
  pool = open_pool(settings);
}

static struct weir_credential_request next_request(void) {
  struct weir_credential_request r = {.struct_size = sizeof r};
  cr_assert_eq(weir_credential_next(credential, 5 * FIXTURE_S, &r, &f.err),
               WEIR_OK, "%s", f.err.message);
  return r;
}

static int answer(weir_h request, const char *secret) {
  return weir_credential_answer(request, secret, strlen(secret), 0, &f.err);
}

/* ------------------------------------------------------------- the ordinary */

Test(credential, is_asked_for_and_lets_a_connect_go_on, .timeout = 10) {
  struct acquirer a;
  open_real("Mock Server=alpha;Mock Script Text=\"connect: token 'hush'\"");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  struct weir_credential_request r = next_request();
  cr_assert_eq(r.kind, WEIR_CRED_BEARER);
  cr_assert_eq(r.attempt, 0);
  cr_assert_str_eq(r.server, "alpha");
  cr_assert_str_eq(r.principal, "me");
  cr_assert_str_eq(r.resource, "https://mock.test/");
  cr_assert_str_eq(r.authority, "https://login.mock.test/tenant");
  cr_assert_eq(answer(r.request, "hush"), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_OK, "%s", a.err.message);
  cr_assert_eq(answer(r.request, "hush"), WEIR_E_HANDLE);
  cr_assert_not_null(strstr(f.err.message, "answered before"));
  cr_assert_eq(weir_credential_refuse(r.request, "no", 2, &f.err),
               WEIR_E_HANDLE);
  fixture_close(&f);
}

Test(credential, fails_its_connect_when_it_is_wrong, .timeout = 10) {
  struct acquirer a;
  open_real("Mock Script Text=\"connect: token 'hush'\"");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  cr_assert_eq(answer(next_request().request, "other"), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_E_FAIL);
  cr_assert_eq(a.err.kind, WEIR_KIND_AUTH);
  cr_assert_null(strstr(a.err.message, "other"));
  fixture_close(&f);
}

Test(credential, fails_its_connect_when_it_is_refused, .timeout = 10) {
  struct acquirer a;
  static const struct {
    const char *message;
    const char *says;
  } cases[] = {{"come back later", "come back later"},
               {"", "the program refused it"}};
  open_real("");
  for (size_t i = 0; i < 2; i++) {
    acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
    cr_assert_eq(weir_credential_refuse(next_request().request,
                                        cases[i].message,
                                        strlen(cases[i].message), &f.err),
                 WEIR_OK);
    cr_assert_eq(acquirer_join(&a), WEIR_E_FAIL);
    cr_assert_eq(a.err.kind, WEIR_KIND_AUTH);
    cr_assert_not_null(strstr(a.err.message, cases[i].says), "%s",
                       a.err.message);
    /* Or the next one would hear the same without asking again. */
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  }
  fixture_close(&f);
}

Test(credential, may_be_as_long_as_a_mebibyte, .timeout = 10) {
  struct acquirer a;
  size_t n = (size_t)1 << 20;
  char *secret = malloc(n + 1);
  memset(secret, 'x', n + 1);
  open_real("");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  weir_h request = next_request().request;
  cr_assert_eq(weir_credential_answer(request, secret, n + 1, 0, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_credential_answer(request, secret, 0, 0, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_credential_answer(request, NULL, 5, 0, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_answer(request, secret, n, 0, &f.err), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  free(secret);
  fixture_close(&f);
}

/* What the string gives is what its user wants. */
Test(credential, is_not_asked_for_what_the_string_gives, .timeout = 10) {
  struct weir_credential_request r = {.struct_size = sizeof r};
  open_real("");
  pool = fixture_pool(&f, "Mock Bearer=true;Access Token=hush;"
                          "Mock Script Text=\"connect: token 'hush'\"");
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(weir_credential_next(credential, 0, &r, &f.err), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(credential, tells_the_session_when_it_ends, .timeout = 10) {
  struct acquirer a;
  open_real("");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  cr_assert_eq(weir_credential_answer(next_request().request, "t", 1,
                                      UINT64_C(2000000000), &f.err),
               WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  struct weir__slot *slot =
      weir__slot_find((uint32_t)(a.lease >> 32) & 0x1FFFFu);
  cr_assert_eq(weir__slot_session(slot)->auth_expires_unix,
               UINT64_C(2000000000));
  cr_assert_null(weir__slot_session(slot)->secret);
  fixture_close(&f);
}

Test(credential, is_asked_for_in_the_order_of_the_connects, .timeout = 10) {
  struct acquirer a[3];
  weir_h requests[3];
  open_real("Max Pool Size=3");
  for (int i = 0; i < 3; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_POOL);
    AWAIT_STAT(pool, connecting, (uint32_t)i + 1);
  }
  for (int i = 0; i < 3; i++) {
    requests[i] = next_request().request;
  }
  for (int i = 2; i >= 0; i--) {
    cr_assert_eq(answer(requests[i], "t"), WEIR_OK);
  }
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* Min Pool Size: nobody but the reactor drives. */
Test(credential, lets_a_connect_on_the_reactor_go_on, .timeout = 10) {
  open_real("Min Pool Size=2");
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(answer(next_request().request, "t"), WEIR_OK);
  }
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

/* ------------------------------------------------------ how requests end */

Test(credential, is_not_needed_once_the_connect_has_given_up, .timeout = 10) {
  struct acquirer a;
  struct weir_credential_request r = {.struct_size = sizeof r};
  open_virtual("Connect Timeout=3;Close Timeout=0");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  weir_h request = next_request().request;
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  AWAIT_STAT(pool, connecting, 0);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(answer(request, "t"), WEIR_E_HANDLE);
  cr_assert_not_null(strstr(f.err.message, "given up"));
  cr_assert_eq(weir_credential_next(credential, 0, &r, &f.err), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

/* Its caller leaves early: the connect goes on, and so does its request. */
Test(credential, still_serves_a_connect_whose_caller_has_left, .timeout = 10) {
  struct acquirer a;
  open_virtual("Connect Timeout=30");
  acquirer_start(&a, pool, FIXTURE_S);
  weir_h request = next_request().request;
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(answer(request, "t"), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(credential, ends_its_requests_when_it_is_closed, .timeout = 10) {
  struct acquirer a[2];
  open_real("Max Pool Size=2;Close Timeout=0");
  acquirer_start(&a[0], pool, WEIR_TIMEOUT_POOL);
  weir_h request = next_request().request;
  acquirer_start(&a[1], pool, WEIR_TIMEOUT_POOL);
  AWAIT_COUNT(&f, connects_running, 2);
  cr_assert_eq(weir_credential_close(credential), WEIR_OK);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(a[i].err.message, "credential was closed"), "%s",
                       a[i].err.message);
  }
  cr_assert_eq(answer(request, "t"), WEIR_E_HANDLE);
  cr_assert_eq(weir_credential_close(credential), WEIR_E_HANDLE);
  /* Later connects, too. */
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &request, &f.err), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "credential was closed"));
  fixture_close(&f);
}

Test(credential, ends_its_requests_with_their_pool, .timeout = 10) {
  struct acquirer a;
  open_real("Close Timeout=0");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  weir_h request = next_request().request;
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_E_CLOSED);
  AWAIT_COUNT(&f, conns_live, 0);
  cr_assert_eq(answer(request, "t"), WEIR_E_HANDLE);
  fixture_close(&f);
}

struct waiter {
  pthread_t thread;
  int rc;
  struct weir_credential_request request;
  struct weir_error err;
};

static void *wait_for_request(void *arg) {
  struct waiter *w = arg;
  w->rc = weir_credential_next(credential, WEIR_TIMEOUT_NEVER, &w->request,
                               &w->err);
  return NULL;
}

static void start_waiter(struct waiter *w) {
  memset(w, 0, sizeof *w);
  w->request.struct_size = sizeof w->request;
  w->err.struct_size = sizeof w->err;
  cr_assert_eq(pthread_create(&w->thread, NULL, wait_for_request, w), 0);
}

Test(credential, ends_its_requests_and_waits_with_its_engine, .timeout = 10) {
  struct acquirer a;
  struct waiter w[2];
  open_real("");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  weir_h request = next_request().request;
  start_waiter(&w[0]);
  start_waiter(&w[1]);
  fixture_close(&f);
  cr_assert_eq(acquirer_join(&a), WEIR_E_CLOSED);
  for (int i = 0; i < 2; i++) {
    (void)pthread_join(w[i].thread, NULL);
    /* Closed while it waited, or before it came. */
    cr_assert(w[i].rc == WEIR_E_CLOSED || w[i].rc == WEIR_E_HANDLE);
  }
  cr_assert_eq(answer(request, "t"), WEIR_E_HANDLE);
}

Test(credential, gives_each_request_to_one_of_many_threads, .timeout = 10) {
  struct waiter w[4];
  struct acquirer a[4];
  fixture_open_virtual(&f);
  credential = open_credential();
  pool = open_pool("Max Pool Size=4");
  for (int i = 0; i < 4; i++) {
    start_waiter(&w[i]);
  }
  cr_assert_eq(virtual_clock_wait_parked(4), 0);
  for (int i = 0; i < 4; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_POOL);
  }
  for (int i = 0; i < 4; i++) {
    (void)pthread_join(w[i].thread, NULL);
    cr_assert_eq(w[i].rc, WEIR_OK);
    cr_assert_eq(answer(w[i].request.request, "t"), WEIR_OK);
  }
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK);
  }
  fixture_close(&f);
}

static void *answer_late(void *arg) {
  struct waiter *w = arg;
  w->rc = weir_credential_answer(w->request.request, "t", 1, 0, NULL);
  return NULL;
}

/* The answer is under way while the connect is given up: whoever closes waits
 * for it. */
Test(credential, may_be_answered_while_its_connect_is_closed, .timeout = 10) {
  struct acquirer a;
  struct waiter late = {.rc = 0};
  open_real("Close Timeout=0;Max Pool Size=1");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  late.request = next_request();
  gates_install();
  gate_hold("credential.answer");
  cr_assert_eq(pthread_create(&late.thread, NULL, answer_late, &late), 0);
  cr_assert_eq(gate_wait_reached("credential.answer", 1), 0);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_E_CLOSED);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).conns_live, 1);
  gates_restore();
  (void)pthread_join(late.thread, NULL);
  cr_assert_eq(late.rc, WEIR_OK);
  AWAIT_COUNT(&f, conns_live, 0);
  fixture_close(&f);
}

/* ----------------------------------------------------------------- the key */

Test(credential, is_part_of_the_key_by_its_number_alone, .timeout = 10) {
  char key[512];
  char number[32];
  open_real("");
  (void)snprintf(number, sizeof number, "Credential=%" PRIu64, credential);
  weir_h first = pool;
  cr_assert_eq(open_pool(""), first);
  cr_assert_eq(weir_pool_key(pool, key, sizeof key, NULL), WEIR_OK);
  cr_assert_not_null(strstr(key, number), "%s", key);
  credential = open_credential();
  cr_assert_neq(open_pool(""), first);
  fixture_close(&f);
}

static void refuses(const char *value, const char *says) {
  char text[128];
  weir_h out = 0;
  (void)snprintf(text, sizeof text, "Driver=mock;Credential=%s", value);
  cr_assert_eq(weir_pool_open(f.engine, text, strlen(text), &out, &f.err),
               WEIR_E_ARG, "%s", value);
  cr_assert_not_null(strstr(f.err.message, says), "%s", f.err.message);
  cr_assert_not_null(strstr(f.err.message, "byte 13"), "%s", f.err.message);
}

Test(credential, is_looked_up_when_a_pool_is_opened, .timeout = 10) {
  char number[32];
  open_real("");
  refuses("1", "not the handle of an open credential");
  (void)snprintf(number, sizeof number, "%" PRIu64, pool);
  refuses(number, "not the handle of an open credential");
  refuses("x", "a handle of weir_credential_open()");
  refuses("9007199254740992", "a handle of weir_credential_open()");
  (void)snprintf(number, sizeof number, "%" PRIu64, credential);
  cr_assert_eq(weir_credential_close(credential), WEIR_OK);
  refuses(number, "not the handle of an open credential");
  fixture_close(&f);
}

/* As with SqlClient: one secret, from one place. */
Test(credential, is_refused_beside_what_it_would_supply, .timeout = 10) {
  static const char *const rivals[][2] = {
      {"Password=hush-7", "\"Password\""},
      {"pwd='hush-7'", "\"Password\""},
      {"Access Token=hush-7", "\"Access Token\""},
      {"Access Token=hush-7;Pool Key=exact", "\"Access Token\""},
  };
  char value[128];
  open_real("");
  for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
    (void)snprintf(value, sizeof value, "%" PRIu64 ";%s", credential,
                   rivals[i][0]);
    refuses(value, "cannot be used together");
    cr_assert_not_null(strstr(f.err.message, rivals[i][1]), "%s",
                       f.err.message);
    cr_assert_null(strstr(f.err.message, "hush-7"), "%s", f.err.message);
  }
  /* An empty value gives nothing, and 0 is no credential. */
  (void)fixture_pool(&f, "Password=;Credential=%" PRIu64, credential);
  (void)fixture_pool(&f, "Password=hush-7;Credential=0");
  fixture_close(&f);
}

/* A handle that comes again, after its first owner has gone, is another one: so
 * pools of an earlier credential are never found by its number. */
Test(credential, of_an_earlier_life_shares_no_pool, .timeout = 10) {
  open_real("");
  weir_h first = pool;
  weir_h old = credential;
  cr_assert_eq(weir_credential_close(credential), WEIR_OK);
  credential = open_credential();
  cr_assert_neq(credential, old);
  cr_assert_neq(open_pool(""), first);
  fixture_close(&f);
}

Test(credential, of_another_engine_is_refused, .timeout = 10) {
  struct fixture other;
  char number[32];
  open_real("");
  fixture_open(&other);
  weir_h theirs = 0;
  cr_assert_eq(weir_credential_open(other.engine, &theirs, &f.err), WEIR_OK);
  (void)snprintf(number, sizeof number, "%" PRIu64, theirs);
  refuses(number, "of this engine");
  fixture_close(&other);
  fixture_close(&f);
}

Test(credential, is_missed_clearly_where_there_is_none, .timeout = 10) {
  weir_h lease = 0;
  fixture_open(&f);
  pool = fixture_pool(&f, "Mock Bearer=true");
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(f.err.kind, WEIR_KIND_AUTH);
  cr_assert_not_null(strstr(f.err.message, "no Credential to ask"), "%s",
                     f.err.message);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- misuse */

Test(credential, refuses_wrong_arguments, .timeout = 10) {
  struct weir_credential_request r = {.struct_size = sizeof r};
  struct weir_credential_request small = {.struct_size = 64};
  open_real("");
  cr_assert_eq(weir_credential_open(f.engine, NULL, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_open(pool, &r.request, &f.err), WEIR_E_HANDLE);
  cr_assert_eq(weir_credential_close(pool), WEIR_E_HANDLE);
  cr_assert_eq(weir_credential_next(credential, 0, NULL, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_next(credential, 0, &small, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_next(credential, -1, &r, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_next(pool, 0, &r, &f.err), WEIR_E_HANDLE);
  cr_assert_not_null(strstr(f.err.message, "wanted a credential's"));
  cr_assert_eq(weir_credential_next(credential, 0, &r, &f.err), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_credential_answer(credential, "t", 1, 0, &f.err),
               WEIR_E_HANDLE);
  cr_assert_not_null(strstr(f.err.message, "wanted a credential's request"));
  cr_assert_eq(weir_credential_refuse(0, NULL, 1, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_credential_refuse(0, NULL, 0, &f.err), WEIR_E_HANDLE);
  fixture_close(&f);
}
