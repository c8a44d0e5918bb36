/* SPDX-License-Identifier: MIT */
/* stress_credential.c - twelve threads open connections that ask for a token;
 * four others answer, refuse, answer twice, answer late or forget; meanwhile
 * connects time out and, from round to round, credentials, pools and engines are
 * closed under them.  Each request ends exactly once, and nothing is left.
 *
 * WEIR_STRESS_SECONDS (3), WEIR_STRESS_SEED. */
#include <inttypes.h>
#include <pthread.h>

#include "stress.h"

#define USERS     12
#define ANSWERERS 4
#define ROUND_NS  (400 * STRESS_MS)

static weir_h engine;
static weir_h pool;
static weir_h credential;
static long seed;
static _Atomic int stop;
static _Atomic uint64_t answered;
static _Atomic uint64_t too_late;
static _Atomic uint64_t given_up;
static _Atomic uint64_t leases;

static void *use(void *arg) {
  struct stress_random r = stress_seed(seed, *(int *)arg);
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int64_t patience = (1 + stress_below(&r, 30)) * STRESS_MS;
    int rc = weir_acquire(pool, patience, &lease, NULL);
    STRESS_ALLOW("acquire", rc, WEIR_E_FAIL, WEIR_E_TIMEOUT, WEIR_E_CLOSED,
                 WEIR_E_HANDLE);
    if (rc == WEIR_OK) {
      atomic_fetch_add(&leases, 1);
      rc = stress_below(&r, 4) == 0 ? weir_release(lease) : weir_discard(lease);
      STRESS_ALLOW("release", rc, WEIR_E_HANDLE);
    } else if (rc == WEIR_E_TIMEOUT) {
      atomic_fetch_add(&given_up, 1);
    }
  }
  return NULL;
}

static void note(int rc) {
  STRESS_ALLOW("answer", rc, WEIR_E_HANDLE);
  atomic_fetch_add(rc == WEIR_OK ? &answered : &too_late, 1);
}

static void reply(struct stress_random *r, weir_h request) {
  switch (stress_below(r, 10)) {
  case 0:
    note(weir_credential_refuse(request, "no", 2, NULL));
    break;
  case 1:
    return; /* forgotten */
  case 2:
    stress_pause((1 + stress_below(r, 40)) * STRESS_MS);
    note(weir_credential_answer(request, "good", 4, 0, NULL));
    break;
  case 3:
    note(weir_credential_answer(request, "bad", 3, 0, NULL));
    break;
  default:
    note(weir_credential_answer(request, "good", 4, 77, NULL));
    break;
  }
  if (weir_credential_answer(request, "good", 4, 0, NULL) != WEIR_E_HANDLE) {
    stress_broken("a request was answered twice", WEIR_OK);
  }
}

static void *answer(void *arg) {
  struct stress_random r = stress_seed(seed, *(int *)arg);
  for (;;) {
    struct weir_credential_request request = {.struct_size = sizeof request};
    int64_t patience = stress_below(&r, 3) * STRESS_MS;
    int rc = weir_credential_next(credential, patience, &request, NULL);
    if (rc == WEIR_OK) {
      reply(&r, request.request);
      continue;
    }
    STRESS_ALLOW("next", rc, WEIR_E_TIMEOUT, WEIR_E_CLOSED, WEIR_E_HANDLE);
    if (rc != WEIR_E_TIMEOUT) {
      return NULL;
    }
  }
}

/* ------------------------------------------------------------------ rounds */

static void open_all(void) {
  char text[256];
  engine = stress_open_engine();
  STRESS_ALLOW("credential_open",
               weir_credential_open(engine, &credential, NULL), WEIR_OK);
  int n = snprintf(text, sizeof text,
                   "Driver=mock;Mock Strict=true;Mock Bearer=true;"
                   "Max Pool Size=6;Connect Timeout=25ms;Close Timeout=0;"
                   "Min Pool Size=1;Pool Blocking Period=never;" /* a crowd */
                   "Credential=%" PRIu64
                   ";Mock Script Text=\"connect: token 'good'\"",
                   credential);
  STRESS_ALLOW("pool_open",
               weir_pool_open(engine, text, (uint64_t)n, &pool, NULL), WEIR_OK);
}

/* What is closed first changes from round to round. */
static void close_all(uint32_t which) {
  struct weir_error err = {.struct_size = sizeof err};
  if (which % 3 == 0) {
    STRESS_ALLOW("credential_close", weir_credential_close(credential),
                 WEIR_OK);
  } else if (which % 3 == 1) {
    STRESS_ALLOW("pool_close", weir_pool_close(pool), WEIR_OK);
  }
  if (weir_engine_shutdown(engine, 0, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
}

static void one_round(uint32_t which) {
  pthread_t threads[USERS + ANSWERERS];
  int numbers[USERS + ANSWERERS];
  open_all();
  atomic_store(&stop, 0);
  for (int i = 0; i < USERS + ANSWERERS; i++) {
    numbers[i] = (int)which * 100 + i;
    if (pthread_create(&threads[i], NULL, i < USERS ? use : answer,
                       &numbers[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(ROUND_NS);
  close_all(which);
  atomic_store(&stop, 1);
  for (int i = 0; i < USERS + ANSWERERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

static unsigned long count(_Atomic uint64_t *counter) {
  return (unsigned long)atomic_load(counter);
}

int main(void) {
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  int64_t until = stress_now() + seconds * STRESS_S;
  for (uint32_t n = 0; n < 3 || stress_now() < until; n++) {
    one_round(n);
  }
  (void)printf("seed %ld: %lu answers, %lu too late, %lu acquires given up, "
               "%lu leases\n1 passed, 0 failed\n",
               seed, count(&answered), count(&too_late), count(&given_up),
               count(&leases));
  return count(&answered) == 0 || count(&too_late) == 0 ||
         count(&given_up) == 0 || count(&leases) == 0;
}
