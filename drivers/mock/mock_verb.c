/* SPDX-License-Identifier: MIT */
/* What each action does: one small function for each. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "mock.h"

/* How a verb is called: see mock_verb_run. */
struct now {
  weir_drv_conn *c;
  const struct mock_action *a;
  const struct weir_drv_wake *wake;
  struct weir_drv_wait *wait;
  struct weir_drv_error *err;
};

typedef weir_drv_status (*verb_fn)(struct now *x);

/* ------------------------------------------------------------ ways to end */

static weir_drv_status succeed(struct now *x) {
  (void)x;
  return WEIR_DRV_DONE;
}

static weir_drv_status fail(struct now *x) {
  struct mock_failure f = x->a->failure;
  if (f.scope == WEIR_DRV_SCOPE_TXN && x->c->txn == WEIR_DRV_TXN_OPEN) {
    x->c->txn = WEIR_DRV_TXN_DOOMED;
  }
  f.txn = f.txn < 0 ? x->c->txn : f.txn;
  struct weir_drv_text message = x->a->text;
  if (message.n == 0) {
    message = (struct weir_drv_text){.p = "the mock was told to fail", .n = 25};
  }
  return mock_fail_as(x->err, &f, &message);
}

weir_drv_status mock_verb_die(weir_drv_conn *c,
                              const struct weir_drv_text *message,
                              struct weir_drv_error *err) {
  static const char plain[] = "the server closed the connection";
  bool commits = c->op.kind == MOCK_K_TXN && c->op.verb == WEIR_DRV_TX_COMMIT &&
                 c->op.sent;
  bool connecting = c->op.kind == MOCK_K_CONNECT;
  struct mock_failure f = {
      .scope = connecting ? WEIR_DRV_SCOPE_ENDPOINT : WEIR_DRV_SCOPE_CONN,
      .kind = WEIR_DRV_K_NETWORK,
      .retry = WEIR_DRV_RETRY_OTHER,
      .txn = commits ? WEIR_DRV_TXN_UNKNOWN : WEIR_DRV_TXN_NONE,
      .flags = c->op.sent && !connecting ? WEIR_DRV_EF_MAYBE_EXECUTED : 0};
  struct weir_drv_text text = {.p = plain, .n = sizeof plain - 1};
  if (atomic_exchange_explicit(&c->killed, 1, memory_order_acq_rel) == 0) {
    mock_count(c->drv, MOCK_N_DIED);
  }
  mock_session_end(c);
  return mock_fail_as(err, &f, message != NULL && message->n ? message : &text);
}

static weir_drv_status die(struct now *x) {
  return mock_verb_die(x->c, &x->a->text, x->err);
}

static weir_drv_status acknowledge_cancel(struct now *x) {
  mock_count(x->c->drv, MOCK_N_CANCELLED);
  struct mock_failure f = {.scope = WEIR_DRV_SCOPE_STATEMENT,
                           .kind = WEIR_DRV_K_CANCELLED,
                           .txn = x->c->txn};
  struct weir_drv_text message = {.p = "the operation was cancelled", .n = 27};
  return mock_fail_as(x->err, &f, &message);
}

/* ----------------------------------------------------------------- waiting */

static weir_drv_status delay(struct now *x) {
  const struct weir_drv_host *host = x->c->drv->host;
  uint64_t now = host->now(host->ctx);
  struct mock_op *op = &x->c->op;
  if (op->sub == 0) {
    op->sub = 1;
    op->left = x->a->n > UINT64_MAX - now ? UINT64_MAX : now + x->a->n;
  }
  if (now >= op->left) {
    return MOCK_MORE;
  }
  x->wait->timer = op->left;
  mock_event_want(x->c, x->wait);
  return WEIR_DRV_WAIT;
}

static weir_drv_status again(struct now *x) {
  struct mock_op *op = &x->c->op;
  if (op->sub == 0) {
    op->sub = 1;
    op->left = x->a->n;
  }
  if (op->left == 0) {
    return MOCK_MORE;
  }
  op->left--;
  x->wait->flags |= WEIR_DRV_WAIT_AGAIN;
  return WEIR_DRV_WAIT;
}

static weir_drv_status hang_begin(struct now *x) {
  weir_drv_conn *c = x->c;
  int rc = mock_event_open(c);
  if (rc != 0) {
    return mock_fail(x->err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                     "no descriptor to hang on: error %d", -rc);
  }
  (void)pthread_mutex_lock(&c->drv->mu);
  atomic_store_explicit(&c->released, 0, memory_order_release);
  c->hang_order = ++c->drv->hang_order;
  mock_count(c->drv, MOCK_N_HUNG);
  (void)pthread_mutex_unlock(&c->drv->mu);
  c->op.sub = 1;
  c->op.hangs = true;
  return WEIR_DRV_DONE;
}

static weir_drv_status hang(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0 && hang_begin(x) != WEIR_DRV_DONE) {
    return WEIR_DRV_FAIL;
  }
  if (atomic_exchange_explicit(&c->released, 0, memory_order_acq_rel) == 1) {
    mock_event_drain(c);
    return MOCK_MORE;
  }
  mock_event_want(c, x->wait);
  return WEIR_DRV_WAIT;
}

/* ---------------------------------------------------------------- requests */

static bool answered(const struct now *x) {
  return x->wake != NULL && (x->wake->why & WEIR_DRV_WHY_REPLY) != 0;
}

/* What went wrong with a request, with the engine's words if it has any. */
static weir_drv_status request_failed(struct now *x,
                                      int32_t scope,
                                      int32_t kind,
                                      const char *what) {
  const struct weir_drv_error *why = x->wake->reply_error;
  bool said = why != NULL && why->message != NULL && why->message_cap > 0;
  return mock_fail(x->err, scope, kind, "%s: %s", what,
                   said ? why->message : "the engine refused");
}

static weir_drv_status ask(struct now *x, int32_t request, const void *arg) {
  x->c->op.sub = 1;
  x->c->op.asked = true;
  x->wait->request = request;
  x->wait->request_arg = arg;
  return WEIR_DRV_WAIT;
}

static weir_drv_status resolve(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0) {
    c->req_resolve = (struct weir_drv_req_resolve){
        .struct_size = (uint32_t)sizeof c->req_resolve,
        .port = (uint32_t)x->a->n,
        .host = x->a->text};
    return ask(x, WEIR_DRV_REQ_RESOLVE, &c->req_resolve);
  }
  if (!answered(x)) {
    return WEIR_DRV_WAIT;
  }
  c->op.asked = false;
  const struct weir_drv_rep_resolve *reply = x->wake->reply;
  if (x->wake->reply_status != WEIR_DRV_DONE) {
    return request_failed(x, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NAME,
                          "the name did not resolve");
  }
  if (reply == NULL || reply->n == 0 || reply->addr == NULL) {
    return mock_fail(x->err, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NAME,
                     "the engine resolved a name to no address");
  }
  mock_count(c->drv, MOCK_N_RESOLVES);
  return MOCK_MORE;
}

/* Runs on a thread of the engine's, which may block: that is what it is for. */
static void offloaded(void *arg) {
  weir_drv_conn *c = arg;
  bool hangs = c->op.program[c->op.at]->what == MOCK_OFFLOAD_HANG;
  struct pollfd event = {.fd = c->event_fd, .events = POLLIN};
  while (hangs &&
         atomic_load_explicit(&c->released, memory_order_acquire) == 0 &&
         atomic_load_explicit(&c->killed, memory_order_acquire) == 0) {
    /* An interruption only means to look again. */
    (void)poll(&event, 1, -1);
  }
  mock_count(c->drv, MOCK_N_OFFLOADS);
}

static weir_drv_status offload(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0) {
    if (x->a->what == MOCK_OFFLOAD_HANG && hang_begin(x) != WEIR_DRV_DONE) {
      return WEIR_DRV_FAIL;
    }
    c->req_offload = (struct weir_drv_req_offload){
        .struct_size = (uint32_t)sizeof c->req_offload,
        .fn = offloaded,
        .arg = c};
    return ask(x, WEIR_DRV_REQ_OFFLOAD, &c->req_offload);
  }
  if (!answered(x)) {
    return WEIR_DRV_WAIT;
  }
  c->op.asked = false;
  if (atomic_exchange_explicit(&c->released, 0, memory_order_acq_rel) == 1) {
    mock_event_drain(c);
  }
  return x->wake->reply_status == WEIR_DRV_DONE
             ? MOCK_MORE
             : request_failed(x, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                              "the work could not be offloaded");
}

/* A secret is compared while it is here and never kept.  what: the action that
 * says which one is right. */
static bool is_right(const weir_drv_conn *c,
                     int32_t what,
                     const struct weir_drv_bytes *secret) {
  bool right = true;
  for (uint32_t i = 0; i < c->op.n; i++) {
    const struct mock_action *a = c->op.program[i];
    if (a->what == what) {
      right = secret->n == a->text.n &&
              (secret->n == 0 || memcmp(secret->p, a->text.p, secret->n) == 0);
    }
  }
  return right;
}

static weir_drv_status credential(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0) {
    c->req_cred =
        (struct weir_drv_req_cred){.struct_size = (uint32_t)sizeof c->req_cred,
                                   .kind = WEIR_DRV_CRED_PASSWORD,
                                   .server = c->cfg->server,
                                   .principal = c->cfg->user,
                                   .option = {.p = "Password", .n = 8}};
    return ask(x, WEIR_DRV_REQ_CREDENTIAL, &c->req_cred);
  }
  if (!answered(x)) {
    return WEIR_DRV_WAIT;
  }
  c->op.asked = false;
  const struct weir_drv_rep_cred *reply = x->wake->reply;
  if (x->wake->reply_status != WEIR_DRV_DONE || reply == NULL) {
    return request_failed(x, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH,
                          "no password");
  }
  mock_count(c->drv, MOCK_N_CREDENTIALS);
  c->password_ok = is_right(c, MOCK_PASSWORD, &reply->secret);
  return MOCK_MORE;
}

static void ask_for_token(weir_drv_conn *c) {
  static const char resource[] = "https://mock.test/";
  static const char authority[] = "https://login.mock.test/tenant";
  c->req_cred =
      (struct weir_drv_req_cred){.struct_size = (uint32_t)sizeof c->req_cred,
                                 .kind = WEIR_DRV_CRED_BEARER,
                                 .resource = {resource, sizeof resource - 1},
                                 .authority = {authority, sizeof authority - 1},
                                 .server = c->cfg->server,
                                 .principal = c->cfg->user,
                                 .option = {.p = "Access Token", .n = 12}};
}

static weir_drv_status bearer(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0) {
    ask_for_token(c);
    return ask(x, WEIR_DRV_REQ_CREDENTIAL, &c->req_cred);
  }
  if (!answered(x)) {
    return WEIR_DRV_WAIT;
  }
  c->op.asked = false;
  const struct weir_drv_rep_cred *reply = x->wake->reply;
  if (x->wake->reply_status != WEIR_DRV_DONE || reply == NULL) {
    return request_failed(x, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH,
                          "no access token");
  }
  mock_count(c->drv, MOCK_N_CREDENTIALS);
  c->token_ok = is_right(c, MOCK_TOKEN, &reply->secret);
  c->expires_unix_s = reply->expires_unix_s;
  return MOCK_MORE;
}

static weir_drv_status token(struct now *x) {
  return x->c->token_ok
             ? MOCK_MORE
             : mock_fail(x->err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH,
                         "login failed: wrong access token");
}

static weir_drv_status password(struct now *x) {
  if (x->c->password_ok) {
    return MOCK_MORE;
  }
  struct mock_failure f = {.scope = WEIR_DRV_SCOPE_CONFIG,
                           .kind = WEIR_DRV_K_AUTH,
                           .retry = WEIR_DRV_RETRY_CRED,
                           .native = 18456,
                           .severity = 14};
  struct weir_drv_text message = {.p = "login failed: wrong password", .n = 28};
  return mock_fail_as(x->err, &f, &message);
}

/* -------------------------------------------------------- what is said */

static weir_drv_status notice(struct now *x) {
  const struct weir_drv_host *host = x->c->drv->host;
  struct weir_drv_diag d = {.struct_size = (uint32_t)sizeof d,
                            .native = x->a->failure.native,
                            .severity = x->a->failure.severity,
                            .line = x->a->failure.line,
                            .message = x->a->text,
                            .server = x->c->cfg->server,
                            .procedure = x->a->procedure,
                            .state = x->a->failure.state};
  d.line = d.line == 0 ? 1 : d.line;
  host->diag(host->ctx, x->c->hconn, &d);
  return MOCK_MORE;
}

static weir_drv_status report(struct now *x) {
  weir_drv_conn *c = x->c;
  const struct mock_action *a = x->a;
  c->txn = a->txn < 0 ? c->txn : a->txn;
  c->dirty = a->dirty < 0 ? c->dirty : (uint32_t)a->dirty;
  c->usable_said = a->usable < 0 ? c->usable_said : a->usable;
  if (a->expires_unix_s >= 0) {
    c->expires_unix_s = (uint64_t)a->expires_unix_s;
  }
  return MOCK_MORE;
}

/* Sends a result set that has been begun: META, ROWS as often as needed, COUNT.
 * op->sub is 1 once the columns are out and 2 once the count is. */
static weir_drv_status send_result(struct now *x) {
  struct mock_op *op = &x->c->op;
  bool rows_wanted = (op->exec.flags & WEIR_DRV_XF_NO_ROWS) == 0;
  if (op->sub == 2) {
    return MOCK_MORE;
  }
  if (op->sub == 0) {
    op->sub = 1;
    if (rows_wanted) {
      return WEIR_DRV_META;
    }
  }
  if (rows_wanted) {
    weir_drv_status rc = mock_rows_fill(x->c, x->err);
    if (rc != MOCK_MORE) {
      return rc;
    }
  }
  op->sub = 2;
  x->wait->row_count = x->c->result.n_rows;
  return WEIR_DRV_COUNT;
}

static weir_drv_status rows(struct now *x) {
  if (x->c->op.sub == 0 &&
      mock_rows_begin(x->c, x->a, x->err) != WEIR_DRV_DONE) {
    return WEIR_DRV_FAIL;
  }
  return send_result(x);
}

static weir_drv_status affect(struct now *x) {
  if (x->c->op.sub == 1) {
    return MOCK_MORE;
  }
  x->c->op.sub = 1;
  x->wait->row_count = x->a->n;
  return WEIR_DRV_COUNT;
}

static struct mock_cell int_cell(uint64_t v) {
  return (struct mock_cell){.type = WEIR_DRV_T_INT, .i = (int64_t)v};
}

static weir_drv_status begin_scratch(struct now *x,
                                     const char *const *names,
                                     uint32_t n) {
  return mock_rows_begin_scratch(x->c, names, 1, n, x->err);
}

static weir_drv_status no_scratch(struct now *x) {
  return mock_fail(x->err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                   "no memory for rows");
}

/* What the user before may have left behind is what this shows. */
static weir_drv_status show(struct now *x) {
  static const char *const names[] = {"state", "isolation", "txn", "resets"};
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0) {
    if (!mock_scratch_open(c)) {
      return no_scratch(x);
    }
    c->scratch[0] = (struct mock_cell){
        .type = c->state_len == 0 ? WEIR_DRV_T_NULL : WEIR_DRV_T_TEXT,
        .text = {.p = c->state, .n = c->state_len}};
    c->scratch[1] = int_cell((uint64_t)c->isolation);
    c->scratch[2] = int_cell((uint64_t)c->txn);
    c->scratch[3] = int_cell(c->resets);
    if (begin_scratch(x, names, 4) != WEIR_DRV_DONE) {
      return WEIR_DRV_FAIL;
    }
  }
  return send_result(x);
}

static weir_drv_status session(struct now *x) {
  static const char *const names[] = {"session"};
  if (x->c->op.sub == 0) {
    if (!mock_scratch_open(x->c)) {
      return no_scratch(x);
    }
    x->c->scratch[0] = int_cell(x->c->id);
    if (begin_scratch(x, names, 1) != WEIR_DRV_DONE) {
      return WEIR_DRV_FAIL;
    }
  }
  return send_result(x);
}

static weir_drv_status echo(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.sub == 0 &&
      mock_param_echo(c, &x->a->text, x->err) != WEIR_DRV_DONE) {
    return WEIR_DRV_FAIL;
  }
  return send_result(x);
}

static weir_drv_status params(struct now *x) {
  if (x->c->op.sub == 0 && mock_param_list(x->c, x->err) != WEIR_DRV_DONE) {
    return WEIR_DRV_FAIL;
  }
  return send_result(x);
}

static weir_drv_status out(struct now *x) {
  weir_drv_status rc = mock_param_out(x->c, x->a, x->err);
  return rc == WEIR_DRV_DONE ? MOCK_MORE : rc;
}

static weir_drv_status need(struct now *x) {
  weir_drv_status rc = mock_param_need(x->c, x->a->n, x->err);
  return rc == WEIR_DRV_DONE ? MOCK_MORE : rc;
}

/* OUT, then ROWS with the one row. */
static weir_drv_status send_outputs(struct now *x) {
  struct mock_op *op = &x->c->op;
  if (op->sub == 0) {
    if (mock_rows_begin_outputs(x->c, x->a, x->err) != WEIR_DRV_DONE) {
      return WEIR_DRV_FAIL;
    }
    op->sub = 1;
    return WEIR_DRV_OUT;
  }
  return mock_rows_fill(x->c, x->err);
}

static weir_drv_status give_outputs(struct now *x) {
  return x->c->op.n_outs == 0 ? MOCK_MORE : send_outputs(x);
}

/* ------------------------------------------------------------ transactions */

static weir_drv_status txn_refused(struct now *x, const char *why) {
  int32_t scope = x->c->txn == WEIR_DRV_TXN_DOOMED ? WEIR_DRV_SCOPE_TXN
                                                   : WEIR_DRV_SCOPE_STATEMENT;
  struct mock_failure f = {
      .scope = scope, .kind = WEIR_DRV_K_OTHER, .txn = x->c->txn};
  struct weir_drv_text message = {.p = why, .n = strlen(why)};
  return mock_fail_as(x->err, &f, &message);
}

static weir_drv_status begin(struct now *x) {
  if (x->c->txn != WEIR_DRV_TXN_NONE) {
    return txn_refused(x, "a transaction is open already");
  }
  x->c->txn = WEIR_DRV_TXN_OPEN;
  mock_count(x->c->drv, MOCK_N_BEGINS);
  return MOCK_MORE;
}

static weir_drv_status commit(struct now *x) {
  if (x->c->txn != WEIR_DRV_TXN_OPEN) {
    return txn_refused(x, x->c->txn == WEIR_DRV_TXN_NONE
                              ? "no transaction is open"
                              : "the transaction can only be rolled back");
  }
  x->c->txn = WEIR_DRV_TXN_NONE;
  mock_count(x->c->drv, MOCK_N_COMMITS);
  return MOCK_MORE;
}

static weir_drv_status rollback(struct now *x) {
  if (x->c->txn == WEIR_DRV_TXN_NONE) {
    return txn_refused(x, "no transaction is open");
  }
  x->c->txn = WEIR_DRV_TXN_NONE;
  mock_count(x->c->drv, MOCK_N_ROLLBACKS);
  return MOCK_MORE;
}

static weir_drv_status set(struct now *x) {
  memcpy(x->c->state, x->a->text.p, x->a->text.n);
  x->c->state_len = (uint32_t)x->a->text.n;
  x->c->dirty |= WEIR_DRV_DIRTY_SETTINGS;
  return MOCK_MORE;
}

/* ----------------------------------------------------------------- effects */

static weir_drv_status reset_effect(struct now *x) {
  mock_session_reset(x->c, x->c->pending_reset);
  x->c->pending_reset = 0;
  /* Up to here nothing of the operation itself had been sent. */
  x->c->op.sent = true;
  return MOCK_MORE;
}

static weir_drv_status finish_txn(struct now *x) {
  weir_drv_conn *c = x->c;
  weir_drv_status rc = WEIR_DRV_E_UNSUPPORTED;
  switch (c->op.verb) {
  case WEIR_DRV_TX_BEGIN:
    rc = begin(x);
    if (rc == MOCK_MORE && c->op.isolation != WEIR_DRV_ISO_DEFAULT) {
      c->isolation = c->op.isolation;
    }
    break;
  case WEIR_DRV_TX_COMMIT:
    rc = commit(x);
    break;
  case WEIR_DRV_TX_ROLLBACK:
    rc = rollback(x);
    break;
  default: /* save, rollback to: there is no data, so nothing changes */
    rc = c->txn == WEIR_DRV_TXN_OPEN ? MOCK_MORE
                                     : txn_refused(x, "no transaction is open");
    if (rc == MOCK_MORE) {
      mock_count(c->drv, MOCK_N_SAVES);
    }
    break;
  }
  return rc == MOCK_MORE ? WEIR_DRV_DONE : rc;
}

static weir_drv_status finish(struct now *x) {
  weir_drv_conn *c = x->c;
  if (c->op.kind == MOCK_K_TXN) {
    return finish_txn(x);
  }
  if (c->op.kind == MOCK_K_RESET) {
    mock_session_reset(c, c->op.verb);
  }
  return WEIR_DRV_DONE;
}

static const verb_fn verbs[MOCK_WHATS] = {
    [MOCK_SUCCEED] = succeed,
    [MOCK_FAIL] = fail,
    [MOCK_DIE] = die,
    [MOCK_DELAY] = delay,
    [MOCK_AGAIN] = again,
    [MOCK_HANG] = hang,
    [MOCK_OFFLOAD] = offload,
    [MOCK_OFFLOAD_HANG] = offload,
    [MOCK_RESOLVE] = resolve,
    [MOCK_NOTICE] = notice,
    [MOCK_ROWS] = rows,
    [MOCK_AFFECT] = affect,
    [MOCK_REPORT] = report,
    [MOCK_PASSWORD] = password,
    [MOCK_TOKEN] = token,
    [MOCK_NEED] = need,
    [MOCK_OUTPUTS] = send_outputs,
    [MOCK_PARAMS] = params,
    [MOCK_OUT] = out,
    [MOCK_BEARER] = bearer,
    [MOCK_GIVE_OUTPUTS] = give_outputs,
    [MOCK_BEGIN] = begin,
    [MOCK_COMMIT] = commit,
    [MOCK_ROLLBACK] = rollback,
    [MOCK_SET] = set,
    [MOCK_SHOW] = show,
    [MOCK_ECHO] = echo,
    [MOCK_SESSION] = session,
    [MOCK_CREDENTIAL] = credential,
    [MOCK_RESET_EFFECT] = reset_effect,
    [MOCK_FINISH] = finish,
    [MOCK_CANCELLED] = acknowledge_cancel,
};

weir_drv_status mock_verb_run(weir_drv_conn *c,
                              const struct mock_action *a,
                              const struct weir_drv_wake *wake,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  struct now x = {.c = c, .a = a, .wake = wake, .wait = wait, .err = err};
  return verbs[a->what](&x);
}
