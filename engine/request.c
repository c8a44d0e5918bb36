/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "credential.h"
#include "engine.h"
#include "key.h"
#include "net/drv_error.h"
#include "options.h"
#include "pool.h"
#include "remote.h"
#include "secret.h"
#include "sys/assert.h"
#include "sys/mem.h"

static struct weir_drv_hconn *of_lookup(struct weir__lookup *lookup) {
  return weir_container_of(lookup, struct weir_drv_hconn, lookup);
}

static struct weir_drv_hconn *of_job(struct weir__job *job) {
  return weir_container_of(job, struct weir_drv_hconn, job);
}

static void fail_reply(struct weir_drv_hconn *s,
                       int32_t kind,
                       const char *text) {
  memset(&s->reply_error, 0, sizeof s->reply_error);
  s->reply_error.struct_size = sizeof s->reply_error;
  s->reply_error.message = s->reply_text;
  s->reply_error.message_cap = sizeof s->reply_text;
  s->reply_status = weir__drv_error_set(&s->reply_error, WEIR_DRV_SCOPE_CONN,
                                        kind, WEIR_DRV_RETRY_OTHER, "%s", text);
}

/* The answer is complete: tell whoever drives (session.h).  `by` is read first:
 * the session may be gone once the bit is set. */
static void answered(struct weir_drv_hconn *s) {
  struct weir__caller *by = atomic_load_explicit(&s->by, memory_order_acquire);
  uint32_t owner = weir__or_seq_u32(&s->op, WEIR_OP_REPLIED) & WEIR_OP_OWNER;
  if (owner == WEIR_OP_PARKED || owner == WEIR_OP_REACTOR) {
    weir__reactor_post(s->engine->reactor, &s->reply_task);
  } else if (by != NULL) {
    weir__caller_kick(by);
  }
}

static void resolved(struct weir__lookup *lookup) {
  struct weir_drv_hconn *s = of_lookup(lookup);
  if (lookup->status == WEIR_DRV_DONE) {
    s->reply_status = WEIR_DRV_DONE;
    s->rep_resolve = (struct weir_drv_rep_resolve){
        .struct_size = sizeof s->rep_resolve,
        .n = lookup->n,
        .addr = lookup->addr,
    };
  } else {
    fail_reply(s, WEIR_DRV_K_NAME, lookup->reason);
  }
  answered(s);
}

static void offloaded(struct weir__job *job) {
  struct weir_drv_hconn *s = of_job(job);
  s->offload->fn(s->offload->arg);
  s->reply_status = WEIR_DRV_DONE;
  answered(s);
}

/* The offload threads stop before it could run. */
static void dropped(struct weir__job *job) {
  struct weir_drv_hconn *s = of_job(job);
  fail_reply(s, WEIR_DRV_K_CANCELLED, "the engine is shutting down");
  answered(s);
}

static void begin_resolve(struct weir_drv_hconn *s,
                          const struct weir_drv_req_resolve *arg) {
  s->lookup = (struct weir__lookup){.done = resolved};
  int rc = weir__resolver_begin(s->engine->resolver, &s->lookup, arg->host.p,
                                arg->host.n, (uint16_t)arg->port, arg->family);
  if (rc != 0) {
    fail_reply(s, WEIR_DRV_K_RESOURCE, "no thread or memory to resolve names");
    s->replied = true;
  }
}

void weir__request_given(struct weir_drv_hconn *session,
                         int32_t kind,
                         struct weir__secret *secret,
                         uint64_t expires_unix_s) {
  session->secret = secret;
  session->secret_expires = expires_unix_s;
  session->reply_status = WEIR_DRV_DONE;
  session->rep_cred = (struct weir_drv_rep_cred){
      .struct_size = sizeof session->rep_cred,
      .kind = kind,
      .secret = {weir__secret_bytes(secret), weir__secret_len(secret)},
      .expires_unix_s = expires_unix_s,
  };
  answered(session);
}

void weir__request_denied(struct weir_drv_hconn *session, const char *why) {
  fail_reply(session, WEIR_DRV_K_AUTH, why);
  answered(session);
}

/* The secret that the connection string gave for the option the driver names.
 * It is answered on the spot and valid for one step. */
static void show_option(struct weir_drv_hconn *s,
                        const struct weir_drv_req_cred *arg,
                        const struct weir__secret *secret) {
  s->reply_status = WEIR_DRV_DONE;
  s->rep_cred = (struct weir_drv_rep_cred){
      .struct_size = sizeof s->rep_cred,
      .kind = arg->kind,
      .principal = arg->principal,
      .secret = {weir__secret_bytes(secret), weir__secret_len(secret)},
  };
  s->replied = true;
}

static void refuse_credential(struct weir_drv_hconn *s, const char *why) {
  fail_reply(s, WEIR_DRV_K_AUTH, why);
  s->replied = true;
}

/* The option comes first: what a string says is what its user wants. */
static void begin_credential(struct weir_drv_hconn *s,
                             const struct weir_drv_req_cred *from) {
  struct weir_drv_req_cred arg = {0};
  /* A driver built with a shorter struct leaves the rest zero [G4]. */
  memcpy(&arg, from,
         from->struct_size < sizeof arg ? from->struct_size : sizeof arg);
  const struct weir__secret *secret = weir__options_secret(
      weir__pool_options(s->pool), arg.option.p, arg.option.n);
  const char *why = NULL;
  if (secret != NULL) {
    show_option(s, &arg, secret);
  } else if (s->pool->credential == NULL) {
    refuse_credential(s, "the connection string gives no credential of that "
                         "kind, and no Credential to ask");
  } else if (!weir__credential_ask(s->pool->credential, s, &arg, &why)) {
    refuse_credential(s, why);
  }
}

static void begin_offload(struct weir_drv_hconn *s,
                          const struct weir_drv_req_offload *arg) {
  s->offload = arg;
  s->job = (struct weir__job){.run = offloaded, .drop = dropped};
  s->job.fair_key = weir__pool_fair_key(s->pool);
  if (weir__offload_submit(s->engine->offload, &s->job) != 0) {
    fail_reply(s, WEIR_DRV_K_RESOURCE, "no thread for a blocking call");
    s->replied = true;
  }
}

bool weir__request_begin(struct weir_drv_hconn *session, const void *arg) {
  session->replied = false;
  switch (session->request) {
  case WEIR_DRV_REQ_RESOLVE:
    begin_resolve(session, arg);
    return true;
  case WEIR_DRV_REQ_CREDENTIAL:
    begin_credential(session, arg);
    return true;
  case WEIR_DRV_REQ_OFFLOAD:
    begin_offload(session, arg);
    return true;
  default:
    session->request = WEIR_DRV_REQ_NONE;
    return false;
  }
}

void weir__request_reply(struct weir_drv_hconn *session,
                         struct weir_drv_wake *wake) {
  wake->reply_status = session->reply_status;
  if (session->reply_status != WEIR_DRV_DONE) {
    wake->reply_error = &session->reply_error;
  } else if (session->request == WEIR_DRV_REQ_RESOLVE) {
    wake->reply = &session->rep_resolve;
  } else if (session->request == WEIR_DRV_REQ_CREDENTIAL) {
    wake->reply = &session->rep_cred;
  }
}

/* On the reactor the answer counts once reply_task has set `replied`; a thread
 * that drives, or took over from one that did, may go by the bit. */
bool weir__request_answered(struct weir_drv_hconn *session) {
  if (session->request == WEIR_DRV_REQ_NONE) {
    return false;
  }
  uint32_t word = weir__load_seq_u32(&session->op);
  if ((word & WEIR_OP_REPLIED) != 0 &&
      (word & WEIR_OP_OWNER) == WEIR_OP_DRIVING) {
    (void)weir__and_seq_u32(&session->op, ~WEIR_OP_REPLIED);
    session->replied = true;
  }
  return session->replied;
}

bool weir__request_offloaded(struct weir_drv_hconn *session) {
  return session->request == WEIR_DRV_REQ_OFFLOAD &&
         !weir__request_answered(session);
}

void weir__request_end(struct weir_drv_hconn *session) {
  weir__lookup_fini(&session->lookup);
  session->rep_cred = (struct weir_drv_rep_cred){0};
  weir__secret_free(session->secret);
  session->secret = NULL;
  session->request = WEIR_DRV_REQ_NONE;
  session->replied = false;
}

bool weir__request_abandon(struct weir_drv_hconn *session) {
  bool over = session->request == WEIR_DRV_REQ_NONE || session->replied;
  if (!over && session->request == WEIR_DRV_REQ_RESOLVE) {
    over = weir__resolver_forget(session->engine->resolver, &session->lookup);
  } else if (!over && session->request == WEIR_DRV_REQ_CREDENTIAL) {
    over = weir__credential_withdraw(session);
  } else if (!over && session->request == WEIR_DRV_REQ_OFFLOAD) {
    over = weir__offload_withdraw(session->engine->offload, &session->job);
  }
  session->reply_pending = !over;
  if (over) {
    weir__request_end(session);
  }
  return over;
}
