/* SPDX-License-Identifier: MIT */
/* credential.c - requests in line, and those who fetch them.
 *
 * Everything is guarded by one mutex of the process: it is held for a few lines
 * at a time, and connects are rare.  Under it a request is taken out of its list
 * and its handle made stale; what follows, the answer itself, needs no lock,
 * because the session waits until it has come. */
#include "credential.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "digest.h"
#include "engine.h"
#include "handle.h"
#include "pool.h"
#include "request.h"
#include "secret.h"
#include "session.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/point.h"

/* One request.  The texts are copies: the driver's may go with its connection
 * while somebody reads them. */
struct weir__ask {
  struct weir__ask *next;
  struct weir__ask **at; /* the pointer to it */
  struct weir__ask_list *list;
  struct weir_drv_hconn *session;
  uint64_t handle;
  struct weir_credential_request told;
};

struct weir__ask_list {
  struct weir__ask *first;
  struct weir__ask **end;
};

/* What was given for whom, as keyed digests. */
struct given {
  bool known;
  uint8_t whom[WEIR_DIGEST_BYTES];
  uint8_t secret[WEIR_DIGEST_BYTES];
};

/* One who waits for a request, on its stack. */
struct fetcher {
  struct fetcher *next;
  struct weir__engine *engine; /* of the call that waits */
  _Atomic uint32_t word;       /* grows when there may be something to fetch */
};

struct weir__credential {
  struct weir__engine *engine; /* while open */
  struct weir__credential *next;
  uint64_t handle;
  uint32_t refs;
  bool closed;
  struct weir__ask_list waiting; /* in line */
  struct weir__ask_list fetched; /* ... and being answered */
  struct fetcher *fetchers;      /* first come, first served */
  struct given last;             /* the last answer */
  _Atomic uint32_t secrets;      /* grows when one differs from that before */
};

static struct weir__mutex mu = {PTHREAD_MUTEX_INITIALIZER,
                                WEIR_RANK_CREDENTIAL};

/* ------------------------------------------------------------------- lists */

static void list_init(struct weir__ask_list *list) {
  list->first = NULL;
  list->end = &list->first;
}

static void list_push(struct weir__ask_list *list, struct weir__ask *ask) {
  ask->next = NULL;
  ask->at = list->end;
  ask->list = list;
  *list->end = ask;
  list->end = &ask->next;
}

static void list_remove(struct weir__ask *ask) {
  *ask->at = ask->next;
  if (ask->next != NULL) {
    ask->next->at = ask->at;
  } else {
    ask->list->end = ask->at;
  }
}

/* Ends the request: nobody else will.  The caller frees it. */
static void take_locked(struct weir__ask *ask) WEIR_REQUIRES(mu) {
  list_remove(ask);
  ask->session->ask = NULL;
  (void)weir__handle_take(ask->handle, WEIR_TYPE_REQUEST);
}

/* ---------------------------------------------------------------- fetchers */

static void push_fetcher_locked(struct weir__credential *c, struct fetcher *f)
    WEIR_REQUIRES(mu) {
  struct fetcher **at = &c->fetchers;
  while (*at != NULL) {
    at = &(*at)->next;
  }
  f->next = NULL;
  *at = f;
}

static void remove_fetcher_locked(struct weir__credential *c,
                                  const struct fetcher *f) WEIR_REQUIRES(mu) {
  struct fetcher **at = &c->fetchers;
  while (*at != NULL && *at != f) {
    at = &(*at)->next;
  }
  if (*at != NULL) {
    *at = f->next;
  }
}

/* The first one leaves the line and looks.  Under the lock its stack stays. */
static void wake_fetcher_locked(struct weir__credential *c) WEIR_REQUIRES(mu) {
  struct fetcher *f = c->fetchers;
  if (f != NULL) {
    c->fetchers = f->next;
    (void)weir__add_acq_rel_u32(&f->word, 1);
    weir__engine_unpark(f->engine, &f->word);
  }
}

/* ---------------------------------------------------------------- lifetime */

static bool drop_locked(struct weir__credential *c) WEIR_REQUIRES(mu) {
  WEIR_ASSERT(c->refs != 0);
  c->refs--;
  return c->refs == 0;
}

void weir__credential_unref(struct weir__credential *credential) {
  if (credential == NULL) {
    return;
  }
  weir__mutex_lock(&mu);
  bool last = drop_locked(credential);
  weir__mutex_unlock(&mu);
  if (last) {
    weir__mem_free(credential);
  }
}

/* The handle is made stale under the lock, so one that is good has its reference
 * still. */
static struct weir__credential *ref(uint64_t handle) {
  weir__mutex_lock(&mu);
  struct weir__credential *c = weir__handle_find(handle, WEIR_TYPE_CREDENTIAL);
  if (c != NULL) {
    c->refs++;
  }
  weir__mutex_unlock(&mu);
  return c;
}

struct weir__credential *weir__credential_ref(const struct weir__engine *engine,
                                              uint64_t handle) {
  struct weir__credential *c = ref(handle);
  weir__mutex_lock(&mu);
  bool good = c != NULL && !c->closed && c->engine == engine;
  weir__mutex_unlock(&mu);
  if (!good) {
    weir__credential_unref(c);
    return NULL;
  }
  return c;
}

int weir__credential_new(struct weir__engine *engine,
                         uint64_t *out_handle,
                         struct weir_error *err) {
  struct weir__credential *c = weir__mem_new(sizeof *c);
  if (c == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_NONE,
                           "no memory for a credential");
  }
  c->engine = engine;
  c->refs = 1;
  list_init(&c->waiting);
  list_init(&c->fetched);
  weir__mutex_lock(&mu);
  int rc = engine->credentials_closed
               ? WEIR_E_CLOSED
               : weir__handle_new(WEIR_TYPE_CREDENTIAL, c, &c->handle);
  if (rc == WEIR_OK) {
    c->next = engine->credentials;
    engine->credentials = c;
    *out_handle = c->handle;
  }
  weir__mutex_unlock(&mu);
  if (rc != WEIR_OK) {
    weir__mem_free(c);
    return weir__error_set(err, rc, WEIR_PHASE_NONE, "%s",
                           rc == WEIR_E_CLOSED
                               ? "the engine is shutting down"
                               : "no handle left for a credential");
  }
  return WEIR_OK;
}

/* What a close leaves to be done without the lock. */
static struct weir__ask *end_all_locked(struct weir__ask_list *list,
                                        struct weir__ask *rest)
    WEIR_REQUIRES(mu) {
  while (list->first != NULL) {
    struct weir__ask *ask = list->first;
    take_locked(ask);
    ask->next = rest;
    rest = ask;
  }
  return rest;
}

static struct weir__ask *close_locked(struct weir__credential *c)
    WEIR_REQUIRES(mu) {
  struct weir__credential **at = &c->engine->credentials;
  while (*at != c) {
    WEIR_ASSERT(*at != NULL);
    at = &(*at)->next;
  }
  *at = c->next;
  c->engine = NULL;
  c->closed = true;
  while (c->fetchers != NULL) {
    wake_fetcher_locked(c);
  }
  return end_all_locked(&c->waiting, end_all_locked(&c->fetched, NULL));
}

static void deny(struct weir__ask *asks, const char *why) {
  while (asks != NULL) {
    struct weir__ask *ask = asks;
    struct weir_drv_hconn *session = ask->session;
    asks = ask->next;
    weir__mem_free(ask);
    weir__request_denied(session, why);
  }
}

int weir__credential_close(uint64_t handle) {
  weir__mutex_lock(&mu);
  struct weir__credential *c = weir__handle_take(handle, WEIR_TYPE_CREDENTIAL);
  struct weir__ask *asks = c == NULL ? NULL : close_locked(c);
  weir__mutex_unlock(&mu);
  if (c == NULL) {
    return WEIR_E_HANDLE;
  }
  deny(asks, "the credential was closed");
  weir__credential_unref(c);
  return WEIR_OK;
}

/* One that is being closed by somebody else at this moment is in the list until
 * it is done, under the same lock. */
static uint64_t first_of(struct weir__engine *engine) {
  weir__mutex_lock(&mu);
  engine->credentials_closed = true;
  uint64_t handle =
      engine->credentials == NULL ? 0 : engine->credentials->handle;
  weir__mutex_unlock(&mu);
  return handle;
}

void weir__credential_close_all(struct weir__engine *engine) {
  uint64_t handle;
  while ((handle = first_of(engine)) != 0) {
    (void)weir__credential_close(handle);
  }
}

/* ---------------------------------------------------------------- requests */

static void put_text(char *to, size_t cap, const struct weir_drv_text *from) {
  (void)weir__text_copy(to, cap, from->p == NULL ? "" : from->p,
                        from->p == NULL ? 0 : from->n);
}

static void tell(struct weir_credential_request *told,
                 const struct weir_drv_req_cred *arg,
                 uint64_t handle) {
  told->struct_size = sizeof *told;
  told->kind = arg->kind;
  told->attempt = arg->attempt;
  told->request = handle;
  put_text(told->server, sizeof told->server, &arg->server);
  put_text(told->principal, sizeof told->principal, &arg->principal);
  put_text(told->resource, sizeof told->resource, &arg->resource);
  put_text(told->authority, sizeof told->authority, &arg->authority);
}

bool weir__credential_ask(struct weir__credential *credential,
                          struct weir_drv_hconn *session,
                          const struct weir_drv_req_cred *arg,
                          const char **out_why) {
  struct weir__ask *ask = weir__mem_new(sizeof *ask);
  if (ask == NULL) {
    *out_why = "no memory for a request of a credential";
    return false;
  }
  ask->session = session;
  weir__mutex_lock(&mu);
  bool closed = credential->closed;
  bool good = !closed &&
              weir__handle_new(WEIR_TYPE_REQUEST, ask, &ask->handle) == WEIR_OK;
  if (good) {
    tell(&ask->told, arg, ask->handle);
    session->ask = ask;
    list_push(&credential->waiting, ask);
    wake_fetcher_locked(credential);
  }
  weir__mutex_unlock(&mu);
  if (!good) {
    weir__mem_free(ask);
    *out_why = closed ? "the credential was closed"
                      : "no handle left for a request of a credential";
  }
  return good;
}

bool weir__credential_withdraw(struct weir_drv_hconn *session) {
  weir__mutex_lock(&mu);
  struct weir__ask *ask = session->ask;
  if (ask != NULL) {
    take_locked(ask);
  }
  weir__mutex_unlock(&mu);
  weir__mem_free(ask);
  return ask != NULL;
}

uint32_t weir__credential_secrets(const struct weir__credential *credential) {
  return credential == NULL ? 0 : weir__load_acquire_u32(&credential->secrets);
}

static struct weir__digest_piece text(const char *s) {
  return (struct weir__digest_piece){s, strlen(s) + 1};
}

/* With their NULs, so that no two lists of texts read the same. */
static void digest(const struct weir_credential_request *told,
                   const struct weir__secret *secret,
                   struct given *out) {
  struct weir__digest_piece whom[] = {
      {&told->kind, sizeof told->kind},
      text(told->principal),
      text(told->resource),
      text(told->authority),
  };
  struct weir__digest_piece what = {weir__secret_bytes(secret),
                                    weir__secret_len(secret)};
  out->known =
      weir__digest(whom, 4, out->whom) && weir__digest(&what, 1, out->secret);
}

/* Another secret for the same.  Who asks for others in turn, with one credential,
 * tells nothing. */
static void compare_locked(struct weir__credential *c,
                           const struct given *given) WEIR_REQUIRES(mu) {
  if (given->known && c->last.known &&
      memcmp(given->whom, c->last.whom, WEIR_DIGEST_BYTES) == 0 &&
      memcmp(given->secret, c->last.secret, WEIR_DIGEST_BYTES) != 0) {
    (void)weir__add_acq_rel_u32(&c->secrets, 1);
  }
  c->last = *given;
}

static struct weir__ask *take(uint64_t request) {
  weir__mutex_lock(&mu);
  struct weir__ask *ask = weir__handle_find(request, WEIR_TYPE_REQUEST);
  if (ask != NULL) {
    take_locked(ask);
  }
  weir__mutex_unlock(&mu);
  return ask;
}

/* The session, and with it its pool and the pool's reference, stays until it has
 * its answer. */
static void note_secret(const struct weir__ask *ask,
                        const struct weir__secret *secret) {
  struct given given = {.known = false};
  digest(&ask->told, secret, &given);
  weir__mutex_lock(&mu);
  compare_locked(ask->session->pool->credential, &given);
  weir__mutex_unlock(&mu);
}

int weir__credential_answer(uint64_t request,
                            struct weir__secret *secret,
                            uint64_t expires_unix_s) {
  struct weir__ask *ask = take(request);
  if (ask == NULL) {
    return WEIR_E_HANDLE;
  }
  struct weir_drv_hconn *session = ask->session;
  int32_t kind = ask->told.kind;
  note_secret(ask, secret);
  weir__mem_free(ask);
  WEIR_POINT("credential.answer", session);
  weir__request_given(session, kind, secret, expires_unix_s);
  return WEIR_OK;
}

int weir__credential_refuse(uint64_t request,
                            const char *message,
                            uint64_t message_len) {
  char why[256];
  struct weir__ask *ask = take(request);
  if (ask == NULL) {
    return WEIR_E_HANDLE;
  }
  struct weir_drv_hconn *session = ask->session;
  weir__mem_free(ask);
  uint32_t n = weir__text_copy(why, sizeof why, message, message_len);
  weir__request_denied(session, n == 0 ? "the program refused it" : why);
  return WEIR_OK;
}

/* ----------------------------------------------------------------- fetching */

/* WEIR_OK, WEIR_E_CLOSED, or WEIR_PENDING with f in line. */
static int fetch(struct weir__credential *c,
                 struct fetcher *f,
                 struct weir_credential_request *out) {
  int rc = WEIR_PENDING;
  weir__mutex_lock(&mu);
  struct weir__ask *ask = c->waiting.first;
  remove_fetcher_locked(c, f);
  if (c->closed) {
    rc = WEIR_E_CLOSED;
  } else if (ask != NULL) {
    list_remove(ask);
    list_push(&c->fetched, ask);
    *out = ask->told;
    rc = WEIR_OK;
  } else {
    push_fetcher_locked(c, f);
  }
  weir__mutex_unlock(&mu);
  return rc;
}

/* Leaves the line; what came for it meanwhile goes to the next one. */
static void leave(struct weir__credential *c, const struct fetcher *f) {
  weir__mutex_lock(&mu);
  remove_fetcher_locked(c, f);
  if (c->waiting.first != NULL) {
    wake_fetcher_locked(c);
  }
  weir__mutex_unlock(&mu);
}

static int wait_for(struct weir__credential *c,
                    struct weir__caller *self,
                    uint64_t deadline,
                    struct weir_credential_request *out) {
  struct fetcher f = {.engine = weir__engine_of(self)};
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(&f.word);
    int rc = fetch(c, &f, out);
    if (rc != WEIR_PENDING) {
      return rc;
    }
    if (weir__clock_now() >= deadline) {
      leave(c, &f);
      return WEIR_E_TIMEOUT;
    }
    (void)weir__engine_park(f.engine, self, &f.word, seen, deadline);
  }
}

int weir__credential_next(uint64_t handle,
                          struct weir__caller *self,
                          uint64_t deadline,
                          struct weir_credential_request *out) {
  struct weir__credential *c = ref(handle);
  if (c == NULL) {
    return WEIR_E_HANDLE;
  }
  weir__mutex_lock(&mu);
  /* Or it would be counted among the calls of every engine. */
  atomic_store_explicit(&self->engine, c->engine, memory_order_relaxed);
  weir__mutex_unlock(&mu);
  int rc = wait_for(c, self, deadline, out);
  weir__credential_unref(c);
  return rc;
}

void weir__credential_forget_all(void) {
  (void)pthread_mutex_init(&mu.m, NULL);
}
