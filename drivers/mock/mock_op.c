/* SPDX-License-Identifier: MIT */
/* Operations: each builds a program of actions and runs it, now and in step().
 *
 *   connect   [credential] [token] [Connect Delay] rule... FINISH
 *   exec      lazy reset, [Exec Delay] rule... statements... outputs FINISH
 *   others    lazy reset, rule... FINISH
 *
 * where "lazy reset" is [Reset Delay] reset-rule... RESET_EFFECT if one is
 * pending, and a rule that says how things end leaves out the statements.  The
 * last action always ends the operation, so a program never runs off its end. */
#include <string.h>

#include "mock.h"

static const struct mock_action credential_action = {.what = MOCK_CREDENTIAL};
static const struct mock_action bearer_action = {.what = MOCK_BEARER};
static const struct mock_action outputs_action = {.what = MOCK_GIVE_OUTPUTS};
static const struct mock_action reset_action = {.what = MOCK_RESET_EFFECT};
static const struct mock_action finish_action = {.what = MOCK_FINISH};
static const struct mock_action cancelled_action = {.what = MOCK_CANCELLED};

/* ----------------------------------------------------------- state to tell */

static void tell_state(const weir_drv_conn *c, struct weir_drv_wait *wait) {
  wait->usable = c->broken || !c->connected ? 0
                 : c->usable_said >= 0      ? c->usable_said
                                            : 1;
  wait->txn = c->txn;
  wait->dirty = c->dirty;
  if (c->txn != WEIR_DRV_TXN_NONE) {
    wait->dirty |= WEIR_DRV_DIRTY_TXN;
  }
  wait->auth_expires_unix = c->expires_unix_s;
}

/* A pending reset makes the session as good as clean, but for the isolation level,
 * which only a reset with a round trip restores. */
static void tell_state_after_reset(const weir_drv_conn *c,
                                   struct weir_drv_wait *wait) {
  bool keep = c->pending_reset == WEIR_DRV_RESET_KEEP_TXN;
  wait->usable = 1;
  wait->txn = keep ? c->txn : WEIR_DRV_TXN_NONE;
  wait->dirty = keep && c->txn != WEIR_DRV_TXN_NONE ? WEIR_DRV_DIRTY_TXN : 0;
  if (c->isolation != WEIR_DRV_ISO_DEFAULT) {
    wait->dirty |= WEIR_DRV_DIRTY_SETTINGS;
  }
  wait->auth_expires_unix = c->expires_unix_s;
}

/* ----------------------------------------------------------- begin and end */

/* Whatever hung hangs no more, and no wake-up of it is left over. */
static void stop_hanging(weir_drv_conn *c) {
  if (!c->op.hangs) {
    return; /* the lock is the driver's, and most operations never hang */
  }
  (void)pthread_mutex_lock(&c->drv->mu);
  if (c->hang_order != 0) {
    c->hang_order = 0;
    (void)atomic_fetch_sub_explicit(&c->drv->counters[MOCK_N_HUNG], 1,
                                    memory_order_relaxed);
  }
  bool woken =
      atomic_exchange_explicit(&c->released, 0, memory_order_acq_rel) == 1;
  (void)pthread_mutex_unlock(&c->drv->mu);
  if (woken) {
    mock_event_drain(c);
  }
}

static void begin(weir_drv_conn *c, enum mock_kind kind) {
  struct mock_op *op = &c->op;
  op->kind = (int32_t)kind;
  op->n = op->at = op->sub = 0;
  op->left = 0;
  op->cancelled = op->asked = op->hangs = false;
  op->sent = c->pending_reset == 0;
  c->n_columns = 0;
  op->n_outs = 0;
  memset(&op->exec, 0, sizeof op->exec);
  atomic_store_explicit(&c->busy, 1, memory_order_release);
  mock_gauge_up(&c->drv->running);
  if (kind == MOCK_K_CONNECT) {
    atomic_store_explicit(&c->live, 1, memory_order_release);
    mock_gauge_up(&c->drv->sessions);
    mock_gauge_up(&c->drv->connects);
  }
}

void mock_op_drop(weir_drv_conn *c) {
  if (c->op.kind < 0) {
    return;
  }
  if (c->op.kind == MOCK_K_CONNECT) {
    mock_gauge_down(&c->drv->connects);
  }
  mock_gauge_down(&c->drv->running);
  stop_hanging(c);
  c->op.kind = -1;
  atomic_store_explicit(&c->busy, 0, memory_order_release);
}

static weir_drv_status end(weir_drv_conn *c,
                           weir_drv_status rc,
                           struct weir_drv_wait *wait,
                           const struct weir_drv_error *err) {
  int32_t kind = c->op.kind;
  bool failed = rc < 0;
  mock_op_drop(c);
  if (failed) {
    mock_count(c->drv, MOCK_N_FAILED);
  }
  bool lost = failed && (kind == MOCK_K_CONNECT || kind == MOCK_K_LOGOUT ||
                         err->scope >= WEIR_DRV_SCOPE_CONN);
  if (lost || kind == MOCK_K_LOGOUT) {
    c->broken = true;
    c->txn = WEIR_DRV_TXN_NONE;
    mock_session_end(c);
  } else if (kind == MOCK_K_CONNECT) {
    c->connected = true;
  }
  tell_state(c, wait);
  return rc;
}

static weir_drv_status go_on(weir_drv_conn *c,
                             const struct weir_drv_wake *wake,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err) {
  struct mock_op *op = &c->op;
  weir_drv_status rc = MOCK_MORE;
  if (atomic_load_explicit(&c->killed, memory_order_acquire) == 1) {
    return end(c, mock_verb_die(c, NULL, err), wait, err);
  }
  while (rc == MOCK_MORE) {
    rc = mock_verb_run(c, op->program[op->at], wake, wait, err);
    if (rc == MOCK_MORE) {
      op->at++;
      op->sub = 0;
      wake = NULL;
    }
  }
  return rc <= WEIR_DRV_DONE ? end(c, rc, wait, err) : rc;
}

/* ---------------------------------------------------------------- programs */

static void push(struct mock_op *op, const struct mock_action *a) {
  op->program[op->n++] = a;
}

/* Returns true if the rule says how things end. */
static bool push_rule(weir_drv_conn *c, enum mock_kind kind) {
  struct mock_script *s = c->cfg->script;
  const struct mock_rule *rule = mock_script_match(s, kind, c->number);
  if (rule == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < rule->n_actions; i++) {
    const struct mock_action *a = &s->actions[rule->first + i];
    if (a->what == MOCK_SUCCEED) {
      break;
    }
    push(&c->op, a);
  }
  return rule->replaces;
}

static void push_delay(weir_drv_conn *c, uint32_t which, uint64_t ns) {
  if (ns != 0) {
    c->op.delays[which] = (struct mock_action){.what = MOCK_DELAY, .n = ns};
    push(&c->op, &c->op.delays[which]);
  }
}

static void push_pending_reset(weir_drv_conn *c) {
  if (c->pending_reset != 0) {
    push_delay(c, 0, c->cfg->reset_delay_ns);
    (void)push_rule(c, MOCK_K_RESET);
    push(&c->op, &reset_action);
  }
}

/* ------------------------------------------------------------------ starts */

/* Rule G5: what lies behind the part that is known must be zero. */
static bool known_only(const void *args, uint32_t size, size_t known) {
  const unsigned char *p = args;
  for (size_t i = known; i < size; i++) {
    if (p[i] != 0) {
      return false;
    }
  }
  return true;
}

/* Whether an operation of this kind may start now. */
static weir_drv_status may_start(weir_drv_conn *c,
                                 enum mock_call call,
                                 const struct weir_drv_wait *wait,
                                 const struct weir_drv_error *err) {
  bool connects = call == MOCK_CONNECT;
  if (wait == NULL || err == NULL || c->op.kind >= 0 || c->broken ||
      c->connected == connects) {
    return mock_misuse(c, call);
  }
  return WEIR_DRV_DONE;
}

weir_drv_status mock_op_connect(weir_drv_conn *c,
                                const struct weir_drv_connect_args *a,
                                struct weir_drv_wait *wait,
                                struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_CONNECT)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_CONNECT, wait, err);
  if (rc == WEIR_DRV_DONE && !known_only(a, a->struct_size, sizeof *a)) {
    rc = WEIR_DRV_E_UNSUPPORTED;
  }
  if (rc == WEIR_DRV_DONE) {
    begin(c, MOCK_K_CONNECT);
    c->password_ok = !c->cfg->has_password;
    if (c->cfg->has_password) {
      push(&c->op, &credential_action);
    }
    c->token_ok = !c->cfg->bearer;
    if (c->cfg->bearer) {
      push(&c->op, &bearer_action);
    }
    push_delay(c, 1, c->cfg->connect_delay_ns);
    (void)push_rule(c, MOCK_K_CONNECT);
    push(&c->op, &finish_action);
    rc = go_on(c, NULL, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

weir_drv_status mock_op_ping(weir_drv_conn *c,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_PING)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_PING, wait, err);
  if (rc == WEIR_DRV_DONE) {
    begin(c, MOCK_K_PING);
    push_pending_reset(c);
    (void)push_rule(c, MOCK_K_PING);
    push(&c->op, &finish_action);
    rc = go_on(c, NULL, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

weir_drv_status mock_op_logout(weir_drv_conn *c,
                               struct weir_drv_wait *wait,
                               struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_LOGOUT)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_LOGOUT, wait, err);
  if (rc == WEIR_DRV_DONE) {
    begin(c, MOCK_K_LOGOUT);
    (void)push_rule(c, MOCK_K_LOGOUT);
    push(&c->op, &finish_action);
    rc = go_on(c, NULL, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

static weir_drv_status reset(weir_drv_conn *c,
                             int32_t mode,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err) {
  if (mode != WEIR_DRV_RESET_EAGER) {
    c->pending_reset = mode;
    tell_state_after_reset(c, wait);
    return WEIR_DRV_DONE;
  }
  c->pending_reset = 0;
  begin(c, MOCK_K_RESET);
  c->op.verb = mode;
  push_delay(c, 0, c->cfg->reset_delay_ns);
  (void)push_rule(c, MOCK_K_RESET);
  push(&c->op, &finish_action);
  return go_on(c, NULL, wait, err);
}

weir_drv_status mock_op_reset(weir_drv_conn *c,
                              const struct weir_drv_reset_args *a,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_RESET)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_RESET, wait, err);
  if (rc == WEIR_DRV_DONE &&
      (a->mode < WEIR_DRV_RESET_LAZY || a->mode > WEIR_DRV_RESET_KEEP_TXN ||
       !known_only(a, a->struct_size, sizeof *a))) {
    rc = WEIR_DRV_E_UNSUPPORTED;
  }
  if (rc == WEIR_DRV_DONE) {
    rc = reset(c, a->mode, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

weir_drv_status mock_op_txn(weir_drv_conn *c,
                            const struct weir_drv_txn_args *a,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_TXN)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_TXN, wait, err);
  if (rc == WEIR_DRV_DONE &&
      (a->verb < WEIR_DRV_TX_BEGIN || a->verb > WEIR_DRV_TX_ROLLBACK_TO ||
       !known_only(a, a->struct_size, sizeof *a))) {
    rc = WEIR_DRV_E_UNSUPPORTED;
  }
  if (rc == WEIR_DRV_DONE) {
    begin(c, MOCK_K_TXN);
    c->op.verb = a->verb;
    c->op.isolation = a->isolation;
    push_pending_reset(c);
    (void)push_rule(c, MOCK_K_TXN);
    push(&c->op, &finish_action);
    rc = go_on(c, NULL, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

/* -------------------------------------------------------------------- exec */

static weir_drv_status take_exec_args(struct mock_op *op,
                                      const struct weir_drv_exec_args *a) {
  size_t size = a->struct_size < sizeof *a ? a->struct_size : sizeof *a;
  if (!known_only(a, a->struct_size, sizeof *a)) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  memset(&op->exec, 0, sizeof op->exec);
  memcpy(&op->exec, a, size);
  bool fits = op->exec.n_params <= MOCK_PARAMS_MAX &&
              (op->exec.n_params == 0 ||
               (op->exec.params != NULL &&
                op->exec.params_stride >= sizeof(struct weir_drv_param)));
  return fits ? WEIR_DRV_DONE : WEIR_DRV_E_INVALID;
}

/* A transaction that can only be rolled back allows nothing else. */
static weir_drv_status push_statements(weir_drv_conn *c,
                                       struct weir_drv_error *err) {
  uint32_t n = 0;
  weir_drv_status rc =
      mock_statement_compile(&c->op.exec.sql, c->op.own, &n, err);
  if (rc != WEIR_DRV_DONE) {
    err->txn = c->txn;
    return rc;
  }
  bool doomed = c->txn == WEIR_DRV_TXN_DOOMED && c->pending_reset == 0;
  if (doomed && (n == 0 || c->op.own[0].what != MOCK_ROLLBACK)) {
    rc = mock_fail(err, WEIR_DRV_SCOPE_TXN, WEIR_DRV_K_OTHER,
                   "the transaction can only be rolled back");
    err->txn = WEIR_DRV_TXN_DOOMED;
    return rc;
  }
  for (uint32_t i = 0; i < n; i++) {
    push(&c->op, &c->op.own[i]);
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status exec(weir_drv_conn *c,
                            const struct weir_drv_exec_args *a,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  begin(c, MOCK_K_EXEC);
  weir_drv_status rc = take_exec_args(&c->op, a);
  if (rc != WEIR_DRV_DONE) {
    mock_op_drop(c);
    return rc;
  }
  if (!mock_param_take(c)) {
    rc = mock_fail(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_RESOURCE,
                   "no memory for parameters");
    return end(c, rc, wait, err);
  }
  push_pending_reset(c);
  push_delay(c, 1, c->cfg->exec_delay_ns);
  if (!push_rule(c, MOCK_K_EXEC)) {
    rc = push_statements(c, err);
    push(&c->op, &outputs_action);
  }
  if (rc != WEIR_DRV_DONE) {
    return end(c, rc, wait, err);
  }
  push(&c->op, &finish_action);
  return go_on(c, NULL, wait, err);
}

weir_drv_status mock_op_exec(weir_drv_conn *c,
                             const struct weir_drv_exec_args *a,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_EXEC)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_EXEC, wait, err);
  if (rc == WEIR_DRV_DONE) {
    rc = exec(c, a, wait, err);
  }
  mock_call_leave(c);
  return rc;
}

/* ---------------------------------------------------- prepared statements */

/* FNV-1a; never 0, which is an empty place. */
static uint64_t hash_of(const struct weir_drv_text *sql) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (uint64_t i = 0; i < sql->n; i++) {
    hash = (hash ^ (unsigned char)sql->p[i]) * UINT64_C(1099511628211);
  }
  return hash == 0 ? 1 : hash;
}

/* The oldest makes room.  A reset that is pending is one that empties. */
static void prepare(weir_drv_conn *c, const struct weir_drv_text *sql) {
  uint64_t hash = hash_of(sql);
  if (c->pending_reset != 0) {
    memset(c->prepared, 0, sizeof c->prepared);
  }
  for (uint32_t i = 0; i < MOCK_PREPARED_MAX; i++) {
    if (c->prepared[i] == hash) {
      c->n_reused++;
      mock_count(c->drv, MOCK_N_REUSED);
      return;
    }
  }
  c->prepared[c->next_prepared++ % MOCK_PREPARED_MAX] = hash;
  c->n_prepared++;
  mock_count(c->drv, MOCK_N_PREPARED);
}

static weir_drv_status stmt_exec(weir_drv_conn *c,
                                 const struct weir_drv_exec_args *a,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_EXEC)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = may_start(c, MOCK_EXEC, wait, err);
  if (rc == WEIR_DRV_DONE) {
    uint64_t before[MOCK_PREPARED_MAX];
    prepare(c, &a->sql);
    /* The pending reset that exec() runs must not forget it. */
    memcpy(before, c->prepared, sizeof before);
    rc = exec(c, a, wait, err);
    memcpy(c->prepared, before, sizeof before);
  }
  mock_call_leave(c);
  return rc;
}

static weir_drv_status stmt_stats(weir_drv_conn *c,
                                  struct weir_drv_stmt_stats *out) {
  struct weir_drv_stmt_stats now = {.struct_size = out->struct_size,
                                    .prepared = c->n_prepared,
                                    .reused = c->n_reused};
  for (uint32_t i = 0; i < MOCK_PREPARED_MAX; i++) {
    now.cached += c->prepared[i] != 0;
  }
  memcpy(out, &now,
         out->struct_size < sizeof now ? out->struct_size : sizeof now);
  return WEIR_DRV_DONE;
}

const struct weir_drv_stmt_api mock_stmt_table = {
    .struct_size = (uint32_t)sizeof mock_stmt_table,
    .version = 1,
    .exec = stmt_exec,
    .stats = stmt_stats,
};

/* --------------------------------------------------------- step and cancel */

static weir_drv_status step(weir_drv_conn *c,
                            const struct weir_drv_wake *wake,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  struct mock_script *s = c->cfg->script;
  const struct mock_rule *rule = mock_script_match(s, MOCK_K_STEP, c->number);
  if (rule != NULL) {
    const struct mock_action *a = &s->actions[rule->first];
    return end(c, mock_verb_run(c, a, wake, wait, err), wait, err);
  }
  return go_on(c, wake, wait, err);
}

weir_drv_status mock_op_step(weir_drv_conn *c,
                             const struct weir_drv_wake *wake,
                             struct weir_drv_wait *wait,
                             struct weir_drv_error *err) {
  if (!mock_call_enter(c, MOCK_STEP)) {
    return WEIR_DRV_E_INVALID;
  }
  bool legal = c->op.kind >= 0 && wake != NULL && wait != NULL && err != NULL;
  weir_drv_status rc =
      legal ? step(c, wake, wait, err) : mock_misuse(c, MOCK_STEP);
  mock_call_leave(c);
  return rc;
}

/* Nothing is left but the end: there is no need to trouble the server. */
static bool is_at_end(const struct mock_op *op) {
  uint32_t at = op->at;
  bool told =
      (op->program[at]->what == MOCK_AFFECT && op->sub == 1) || op->sub == 2;
  at += told ? 1 : 0;
  while (at < op->n && op->program[at] == &outputs_action && op->n_outs == 0) {
    at++;
  }
  return told && at + 1 == op->n && op->program[at] == &finish_action;
}

/* The program gives way to one that acknowledges: the cancel rule, then
 * CANCELLED, or FINISH where the rule says that the operation won. */
static weir_drv_status cancel(weir_drv_conn *c, struct weir_drv_wait *wait) {
  struct mock_op *op = &c->op;
  if (is_at_end(op)) {
    op->cancelled = true;
    wait->flags |= WEIR_DRV_WAIT_AGAIN;
    return WEIR_DRV_WAIT;
  }
  stop_hanging(c);
  op->cancelled = true;
  op->asked = false;
  op->n = op->at = op->sub = 0;
  bool won = push_rule(c, MOCK_K_CANCEL);
  push(op, won ? &finish_action : &cancelled_action);
  wait->flags |= WEIR_DRV_WAIT_AGAIN;
  return WEIR_DRV_WAIT;
}

weir_drv_status mock_op_cancel(weir_drv_conn *c,
                               struct weir_drv_wait *wait,
                               struct weir_drv_error *err) {
  (void)err;
  if (!mock_call_enter(c, MOCK_CANCEL)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = WEIR_DRV_E_UNSUPPORTED;
  if (c->op.kind < 0 || c->op.cancelled || wait == NULL) {
    rc = mock_misuse(c, MOCK_CANCEL);
  } else if (c->op.kind != MOCK_K_CONNECT && c->op.kind != MOCK_K_LOGOUT) {
    rc = cancel(c, wait);
  }
  mock_call_leave(c);
  return rc;
}
