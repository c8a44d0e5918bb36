/* SPDX-License-Identifier: MIT */
/*
 * check_token.c - federated authentication with a token that the program supplies
 * when a connect asks for it: libweir.so and tds.so against tdsd, over TLS.
 *
 * Prints "N passed, N failed" last.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir.h"

#include "kit.h"
#include "server.h"

#define S INT64_C(1000000000)

static struct tdsd *server;
static weir_h engine;
static weir_h credential;

/* What is to be answered, and what was asked. */
struct reply {
  pthread_t thread;
  const char *token; /* NULL: refuse */
  int32_t rc;
  struct weir_credential_request request;
};

static void *answer(void *arg) {
  struct reply *r = arg;
  r->request.struct_size = sizeof r->request;
  r->rc = weir_credential_next(credential, 10 * S, &r->request, NULL);
  if (r->rc == WEIR_OK) {
    r->rc =
        r->token == NULL
            ? weir_credential_refuse(r->request.request, "not today", 9, NULL)
            : weir_credential_answer(r->request.request, r->token,
                                     strlen(r->token), 0, NULL);
  }
  return NULL;
}

static int32_t number(weir_h lease, struct weir_error *err) {
  struct weir_item item = {.struct_size = sizeof item};
  int32_t rc = weir_exec(lease, "SELECT 7", 8, NULL, err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, err);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      (void)weir_rows_free(item.rows);
    }
  }
  return rc;
}

/* One connect of a pool of its own.  Returns what the acquire answered. */
static int32_t connect_with(const char *settings,
                            struct reply *r,
                            struct weir_error *err) {
  char text[512];
  weir_h pool = 0;
  weir_h lease = 0;
  (void)snprintf(text, sizeof text,
                 "Driver=tds;Server=127.0.0.1,%u;Encrypt=true;"
                 "TrustServerCertificate=true;Pooling=false;"
                 "Credential=%" PRIu64 ";%s",
                 tdsd_port(server), credential, settings);
  int32_t rc = weir_pool_open(engine, text, strlen(text), &pool, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  if (pthread_create(&r->thread, NULL, answer, r) != 0) {
    return WEIR_E_FAIL;
  }
  rc = weir_acquire(pool, 10 * S, &lease, err);
  (void)pthread_join(r->thread, NULL);
  if (rc == WEIR_OK) {
    rc = number(lease, err);
    (void)weir_release(lease);
  }
  (void)weir_pool_close(pool);
  return rc;
}

static void check_good(const char *settings) {
  struct weir_error err = {.struct_size = sizeof err};
  struct reply r = {.token = "right"};
  int32_t rc = connect_with(settings, &r, &err);
  kit_check(rc == WEIR_OK, settings, err.message);
  kit_check(r.rc == WEIR_OK && r.request.kind == WEIR_CRED_BEARER, settings,
            "no request");
}

static void check_bad(const char *settings,
                      const char *token,
                      const char *says) {
  struct weir_error err = {.struct_size = sizeof err};
  struct reply r = {.token = token};
  int32_t rc = connect_with(settings, &r, &err);
  kit_check(rc == WEIR_E_FAIL, settings, weir_status_name(rc));
  kit_check(err.kind == WEIR_KIND_AUTH, settings, err.message);
  kit_check(strstr(err.message, says) != NULL, settings, err.message);
  kit_check(token == NULL || strstr(err.message, token) == NULL, settings,
            "the token is in the error");
}

/* Nobody answers: that is not the server's fault. */
static void check_unanswered(const char *settings) {
  struct weir_error err = {.struct_size = sizeof err};
  char text[512];
  weir_h pool = 0;
  weir_h lease = 0;
  (void)snprintf(text, sizeof text,
                 "Driver=tds;Server=127.0.0.1,%u;TrustServerCertificate=true;"
                 "Connect Timeout=1;Credential=%" PRIu64 ";%s",
                 tdsd_port(server), credential, settings);
  kit_check(weir_pool_open(engine, text, strlen(text), &pool, &err) == WEIR_OK,
            settings, err.message);
  int32_t rc = weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &err);
  kit_check(rc == WEIR_E_TIMEOUT, settings, weir_status_name(rc));
  kit_check(err.phase == WEIR_PHASE_LOGIN, settings, err.message);
  kit_check(strstr(err.message, "weir_credential_next()") != NULL, settings,
            err.message);
  (void)weir_pool_close(pool);
}

static void run_all(void) {
  static const char asked[] = "Authentication=ActiveDirectoryDefault";
  static const char given[] = "Authentication=AccessToken";
  struct weir_error err = {.struct_size = sizeof err};
  kit_check(weir_credential_open(engine, &credential, &err) == WEIR_OK,
            "credential", err.message);
  check_good(given);
  check_good(asked);
  check_bad(given, "wrong-token", "");
  check_bad(asked, "wrong-token", "");
  check_bad(given, NULL, "not today");
  check_bad(asked, NULL, "not today");
  check_unanswered(given);
  kit_check(weir_credential_close(credential) == WEIR_OK, "close", "");
}

int main(void) {
  static const char *const tokens[] = {"right"};
  struct tdsd_options options = {
      .tls = TDSD_TLS_FULL, .log = kit_log, .tokens = tokens, .ntokens = 1};
  struct tdsd_stats stats;
  char text[256];
  if (tdsd_open(&options, &server, text, sizeof text) != 0 ||
      tdsd_start(server) != 0 ||
      weir_engine_open(NULL, &engine, NULL) != WEIR_OK) {
    printf("no server or no engine\n0 passed, 1 failed\n");
    return 1;
  }
  run_all();
  (void)weir_engine_shutdown(engine, 5 * S, NULL);
  tdsd_stats(server, &stats);
  (void)snprintf(text, sizeof text, "%" PRIu64, stats.violations);
  kit_check(stats.violations == 0, "violations", text);
  tdsd_close(server);
  return kit_end();
}
