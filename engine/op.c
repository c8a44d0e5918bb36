/* SPDX-License-Identifier: MIT */
/* op.c - one place that knows how a driver call ends.
 *
 * A driver that breaks its contract (an unknown status, rows outside an exec, a
 * wait for nothing) is treated as a failed connection and named in the error:
 * otherwise its bug would be a hang of ours. */
#include "op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "engine.h"
#include "loader.h"
#include "params.h"
#include "pool.h"
#include "replace.h"
#include "request.h"
#include "rows.h"
#include "session_init.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/point.h"
#include "watch.h"

/* Steps in a row without waiting before others get their turn, and whoever drives
 * looks at the clock.  A step may take a millisecond [B1], and a server that
 * floods its client has it take that each time. */
#define TURNS_MAX 4u

static const struct weir_driver *table(const struct weir_drv_hconn *s) {
  return &s->driver->table;
}

/* The memory a driver call fills. */
static void prepare(struct weir_drv_hconn *s) {
  WEIR_ASSERT(weir__mutex_none_held()); /* P6 */
  memset(&s->wait, 0, sizeof s->wait);
  s->wait.struct_size = sizeof s->wait;
  s->wait.timer = WEIR_DRV_NEVER;
  s->wait.row_count = WEIR_DRV_NO_COUNT;
  memset(&s->error, 0, sizeof s->error);
  s->error.struct_size = sizeof s->error;
  s->error.message = s->text;
  s->error.message_cap = sizeof s->text - 1;
}

static void fill_error(struct weir_drv_hconn *session,
                       int32_t scope,
                       int32_t kind,
                       int n) {
  memset(&session->error, 0, sizeof session->error);
  session->error.struct_size = sizeof session->error;
  session->error.scope = scope;
  session->error.kind = kind;
  session->error.retry = WEIR_DRV_RETRY_OTHER;
  session->error.message = session->text;
  session->error.message_cap = sizeof session->text - 1;
  session->error.message_len = n < 0 ? 0 : (uint32_t)n;
}

void weir__op_fail(struct weir_drv_hconn *session,
                   int32_t kind,
                   const char *fmt,
                   ...) {
  va_list args;
  va_start(args, fmt);
  /* It is started.  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  int n = vsnprintf(session->text, sizeof session->text, fmt, args);
  va_end(args);
  fill_error(session, WEIR_DRV_SCOPE_CONN, kind, n);
  session->usable = false;
}

void weir__op_fail_statement(struct weir_drv_hconn *session,
                             int32_t kind,
                             const char *text) {
  int n = snprintf(session->text, sizeof session->text, "%s", text);
  fill_error(session, WEIR_DRV_SCOPE_STATEMENT, kind, n);
}

static int32_t breach(struct weir_drv_hconn *s, const char *what) {
  weir__op_fail(s, WEIR_DRV_K_INTERNAL,
                "driver %s broke its contract: %s; report it to its author",
                s->driver->name, what);
  return WEIR_DRV_FAIL;
}

static void note_end(struct weir_drv_hconn *s, int32_t status) {
  /* An operation that ends with a request open leaves a session that nobody may
   * reuse; closing it takes the request back. */
  bool broken = (status < 0 && s->error.scope >= WEIR_DRV_SCOPE_CONN) ||
                s->request != WEIR_DRV_REQ_NONE;
  s->usable = s->wait.usable != 0 && !broken;
  s->txn = s->wait.txn;
  s->dirty = s->wait.dirty;
  /* What the driver does not say, the answer of a credential has said. */
  s->auth_expires_unix = s->wait.auth_expires_unix != 0
                             ? s->wait.auth_expires_unix
                             : s->secret_expires;
  s->n_wants = 0;
}

/* The columns that META or OUT announces. */
static int32_t take_columns(struct weir_drv_hconn *s, int32_t status) {
  const struct weir_drv_column *columns = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  int32_t rc = table(s)->columns(s->conn, &columns, &n, &stride);
  if (rc != WEIR_DRV_DONE || n > WEIR_COLUMNS_MAX ||
      (n != 0 && (columns == NULL || stride < sizeof(uint32_t)))) {
    return breach(s, status == WEIR_DRV_OUT ? "OUT without columns"
                                            : "META without columns");
  }
  struct weir_column *copy = weir__columns_copy(columns, n, stride);
  if (copy == NULL) {
    weir__op_fail(s, WEIR_DRV_K_RESOURCE, "no memory for %u columns", n);
    return WEIR_DRV_E_NOMEM;
  }
  weir__mem_free(s->columns);
  s->columns = copy;
  s->n_columns = n;
  weir__batch_free(s->batch);
  s->batch = NULL;
  return status;
}

static int32_t take_rows(struct weir_drv_hconn *s) {
  uint64_t n = 0;
  if (s->batch == NULL || !weir__batch_whole(s->batch)) {
    return breach(s, "ROWS with half a row");
  }
  (void)weir__batch_cells(s->batch, &n);
  if (s->outputs && n != 1) {
    return breach(s, "output values that are not one row");
  }
  return WEIR_DRV_ROWS;
}

/* Nobody reads it: on at once, with others having their turn. */
static int32_t throw_away(struct weir_drv_hconn *s) {
  weir__batch_free(s->batch);
  s->batch = NULL;
  s->wait.flags = WEIR_DRV_WAIT_AGAIN;
  s->wait.timer = WEIR_DRV_NEVER;
  return WEIR_DRV_WAIT;
}

static int32_t pause_exec(struct weir_drv_hconn *s, int32_t status) {
  if (!s->pauses) {
    return breach(s, "rows outside of a statement");
  }
  s->n_wants = 0;
  s->replaceable = false;
  if (s->draining) {
    return throw_away(s);
  }
  if (status == WEIR_DRV_ROWS) {
    return take_rows(s);
  }
  if (s->outputs) {
    return breach(s, "OUT without its row");
  }
  if (status == WEIR_DRV_OUT) {
    s->outputs = true;
  }
  return status == WEIR_DRV_COUNT ? status : take_columns(s, status);
}

/* Whatever the driver makes of the refusal: what it believes to have told is not
 * what the embedder would see. */
static bool has_strayed(const struct weir_drv_hconn *s) {
  return s->pauses && s->batch != NULL && weir__batch_strayed(s->batch);
}

static bool waits_for_nothing(const struct weir_drv_hconn *s) {
  return s->wait.n_want == 0 && s->wait.timer == WEIR_DRV_NEVER &&
         (s->wait.flags & WEIR_DRV_WAIT_AGAIN) == 0 &&
         s->request == WEIR_DRV_REQ_NONE;
}

static int32_t take_wait(struct weir_drv_hconn *s) {
  if (s->wait.n_want > WEIR_DRV_WANT_MAX) {
    return breach(s, "more than 8 things to wait for");
  }
  if (s->wait.request != WEIR_DRV_REQ_NONE && s->request != WEIR_DRV_REQ_NONE &&
      s->wait.request != s->request) {
    return breach(s, "a second request while one is open");
  }
  s->n_wants = s->wait.n_want;
  memcpy(s->wants, s->wait.want, s->n_wants * sizeof s->wants[0]);
  if (s->wait.request != WEIR_DRV_REQ_NONE && s->request == WEIR_DRV_REQ_NONE) {
    s->request = s->wait.request;
    if (!weir__request_begin(s, s->wait.request_arg)) {
      return breach(s, "an unknown request");
    }
  }
  if (s->request == WEIR_DRV_REQ_OFFLOAD) {
    /* Its return is all that counts: nothing else may wake the driver. */
    s->n_wants = 0;
    s->wait.timer = WEIR_DRV_NEVER;
  }
  return waits_for_nothing(s) ? breach(s, "a wait for nothing") : WEIR_DRV_WAIT;
}

static void begin(struct weir_drv_hconn *s, int32_t phase);
static int32_t after(struct weir_drv_hconn *s, int32_t status);

static int32_t started(struct weir_drv_hconn *s, int32_t status);
static int32_t start_connect(struct weir_drv_hconn *s);
static int32_t start_exec(struct weir_drv_hconn *s,
                          const struct weir__exec_args *args,
                          bool replaceable);

static int32_t start_init(struct weir_drv_hconn *s,
                          int32_t phase,
                          uint64_t deadline) {
  const char *sql = weir__session_init_sql(s);
  struct weir_drv_exec_args args = {.struct_size = sizeof args,
                                    .deadline = deadline,
                                    .sql = {sql, strlen(sql)}};
  begin(s, phase);
  s->pauses = true;
  s->draining = true;
  s->initing = true;
  s->usable = false; /* until it has ended */
  int32_t status = table(s)->exec(s->conn, &args, &s->wait, &s->error);
  return after(s, status);
}

/* A connection has been opened.  It is ready for its first user when Session Init
 * has run, which belongs to the connect. */
static int32_t connected(struct weir_drv_hconn *s) {
  if (!s->initing && weir__session_init_sql(s) != NULL) {
    return start_init(s, WEIR_PHASE_CONNECT, s->connect_by);
  }
  if (s->initing && s->txn != WEIR_DRV_TXN_NONE) {
    weir__op_fail(s, WEIR_DRV_K_CONFIG,
                  "Session Init failed: it leaves a transaction open");
    s->error.scope = WEIR_DRV_SCOPE_CONFIG;
    if (s->replacing) {
      weir__replace_ended(s, false);
    }
    return WEIR_DRV_FAIL;
  }
  weir__watch_join(s);
  if (s->replacing) {
    weir__replace_ended(s, true);
    return start_exec(s, &s->again, false);
  }
  return WEIR_DRV_DONE;
}

/* Closed before it is opened anew, so that the place is never taken twice. */
static int32_t replace(struct weir_drv_hconn *s) {
  weir__replace_renew(s);
  return start_connect(s);
}

/* What a driver call answered, made ours. */
static int32_t after(struct weir_drv_hconn *s, int32_t status) {
  WEIR_ASSERT(weir__mutex_none_held());
  if (has_strayed(s)) {
    status = breach(s, "a cell outside of its batch");
  } else if (status == WEIR_DRV_WAIT) {
    status = take_wait(s);
  } else if (status > WEIR_DRV_WAIT && status <= WEIR_DRV_OUT) {
    status = pause_exec(s, status);
  } else if (status > WEIR_DRV_OUT) {
    status = breach(s, "an unknown status");
  } else if (status == WEIR_DRV_DONE && s->outputs && !s->cancelling) {
    status = breach(s, "OUT without its row");
  }
  if (status < 0 && s->error.message_len == 0) {
    weir__op_fail(s, WEIR_DRV_K_INTERNAL, "driver %s failed without a reason",
                  s->driver->name);
  }
  if (status <= 0) {
    note_end(s, status);
  }
  if (status == WEIR_DRV_DONE && s->phase == WEIR_PHASE_CONNECT && !s->usable) {
    status = breach(s, "a new connection that is not usable");
  }
  if (status < 0 && s->initing) {
    weir__session_init_failed(s);
  }
  if (status < 0 && s->replacing) {
    weir__replace_ended(s, false);
  } else if (status < 0 && weir__replace_begin(s)) {
    return replace(s);
  }
  if (status == WEIR_DRV_DONE && s->phase == WEIR_PHASE_CONNECT) {
    status = connected(s);
  }
  s->status = status;
  return status;
}

/* What the call answered that was to start an operation.  One that the driver does
 * not know has not begun: the session is as it was. */
static int32_t started(struct weir_drv_hconn *s, int32_t status) {
  if (status != WEIR_DRV_E_UNSUPPORTED) {
    return after(s, status);
  }
  if (s->error.message_len == 0) {
    char text[96];
    (void)snprintf(text, sizeof text, "driver %s cannot do this",
                   s->driver->name);
    weir__op_fail_statement(s, WEIR_DRV_K_UNSUPPORTED, text);
  }
  s->error.scope = WEIR_DRV_SCOPE_STATEMENT;
  s->status = status;
  return status;
}

static int32_t step_once(struct weir_drv_hconn *s, uint32_t why) {
  struct weir_drv_want wants[WEIR_DRV_WANT_MAX];
  struct weir_drv_wake wake = {.struct_size = sizeof wake,
                               .why = why,
                               .now = weir__clock_now(),
                               .n_want = s->n_wants,
                               .want = wants};
  memcpy(wants, s->wants, s->n_wants * sizeof wants[0]);
  if (s->cancel_untold) {
    s->cancel_untold = false;
    wake.why |= WEIR_DRV_WHY_CANCEL;
  }
  if (weir__request_answered(s)) {
    wake.why |= WEIR_DRV_WHY_REPLY;
    weir__request_reply(s, &wake);
  }
  prepare(s);
  int32_t status = table(s)->step(s->conn, &wake, &s->wait, &s->error);
  if ((wake.why & WEIR_DRV_WHY_REPLY) != 0) {
    weir__request_end(s);
  }
  return after(s, status);
}

static bool may_go_on(struct weir_drv_hconn *s) {
  return weir__request_answered(s) ||
         ((s->wait.flags & WEIR_DRV_WAIT_AGAIN) != 0 &&
          !weir__request_offloaded(s));
}

/* Steps while the driver could go on at once. */
static int32_t go_on(struct weir_drv_hconn *s, int32_t status) {
  for (uint32_t i = 0; i < TURNS_MAX; i++) {
    if (status != WEIR_DRV_WAIT || !may_go_on(s)) {
      break;
    }
    status = step_once(s, (s->wait.flags & WEIR_DRV_WAIT_AGAIN) != 0
                              ? WEIR_DRV_WHY_RESUME
                              : 0);
  }
  return status;
}

int32_t weir__op_turn(struct weir_drv_hconn *session, uint32_t why) {
  if (weir__request_offloaded(session)) {
    return WEIR_DRV_WAIT;
  }
  if ((session->wait.flags & WEIR_DRV_WAIT_AGAIN) != 0) {
    why |= WEIR_DRV_WHY_RESUME;
  }
  return go_on(session, step_once(session, why));
}

uint64_t weir__op_wake_at(struct weir_drv_hconn *session) {
  return may_go_on(session) ? 0 : session->wait.timer;
}

static void begin(struct weir_drv_hconn *s, int32_t phase) {
  s->phase = phase;
  s->cancelling = false;
  s->cancel_untold = false;
  s->expired = false;
  s->pauses = false;
  s->outputs = false;
  s->draining = false;
  s->initing = false;
  s->after_lazy = false;
  s->replaceable = false;
  s->n_wants = 0;
  s->request = WEIR_DRV_REQ_NONE;
  prepare(s);
}

static int32_t start_connect(struct weir_drv_hconn *s) {
  struct weir_drv_connect_args args = {.struct_size = sizeof args,
                                       .deadline = s->connect_by};
  begin(s, WEIR_PHASE_CONNECT);
  int32_t status = table(s)->conn_create(
      s->driver->instance, weir__pool_config(s->pool), s, &s->conn, &s->error);
  if (status != WEIR_DRV_DONE) {
    s->conn = NULL;
    return after(s, status < 0 ? status : WEIR_DRV_FAIL);
  }
  prepare(s);
  status = table(s)->connect(s->conn, &args, &s->wait, &s->error);
  return after(s, status);
}

int32_t weir__op_connect(struct weir_drv_hconn *session, uint64_t deadline) {
  session->connect_by = deadline;
  return go_on(session, start_connect(session));
}

static int32_t start_exec(struct weir_drv_hconn *s,
                          const struct weir__exec_args *args,
                          bool replaceable) {
  struct weir_drv_exec_args drv = {.struct_size = sizeof drv,
                                   .deadline = args->deadline,
                                   .sql = {args->sql, args->sql_len},
                                   .batch_rows = args->batch_rows,
                                   .batch_bytes = args->batch_bytes};
  if (args->params != NULL) {
    drv.params = args->params->at;
    drv.n_params = args->params->n;
    drv.params_stride = sizeof args->params->at[0];
  }
  begin(s, WEIR_PHASE_EXEC);
  s->pauses = true;
  s->replaceable = replaceable;
  bool prepared = args->prepared && s->driver->stmt.exec != NULL;
  return started(s, (prepared ? s->driver->stmt.exec : table(s)->exec)(
                        s->conn, &drv, &s->wait, &s->error));
}

int32_t weir__op_exec(struct weir_drv_hconn *session,
                      const struct weir__exec_args *args) {
  session->again = *args;
  return go_on(session, start_exec(session, args, session->after_lazy));
}

int32_t weir__op_txn(struct weir_drv_hconn *session,
                     const struct weir__txn_args *args) {
  struct weir_drv_txn_args drv = {.struct_size = sizeof drv,
                                  .verb = args->verb,
                                  .isolation = args->isolation,
                                  .deadline = args->deadline,
                                  .name = {args->name, args->name_len}};
  begin(session, args->phase);
  int32_t status =
      table(session)->txn(session->conn, &drv, &session->wait, &session->error);
  return go_on(session, started(session, status));
}

int32_t weir__op_reset(struct weir_drv_hconn *session,
                       int32_t mode,
                       uint64_t deadline) {
  struct weir_drv_reset_args args = {
      .struct_size = sizeof args,
      .mode = mode,
      .deadline = deadline,
      .cfg = weir__pool_config(session->pool),
  };
  begin(session, WEIR_PHASE_RESET);
  int32_t status = table(session)->reset(session->conn, &args, &session->wait,
                                         &session->error);
  status = go_on(session, started(session, status));
  session->after_lazy = mode == WEIR_DRV_RESET_LAZY && status == WEIR_DRV_DONE;
  return status;
}

int32_t weir__op_init(struct weir_drv_hconn *session,
                      int32_t phase,
                      uint64_t deadline) {
  return go_on(session, start_init(session, phase, deadline));
}

int32_t weir__op_ping(struct weir_drv_hconn *session) {
  begin(session, WEIR_PHASE_RESET);
  int32_t status =
      table(session)->ping(session->conn, &session->wait, &session->error);
  return go_on(session, started(session, status));
}

int32_t weir__op_logout(struct weir_drv_hconn *session) {
  begin(session, WEIR_PHASE_CLOSE);
  int32_t status =
      table(session)->logout(session->conn, &session->wait, &session->error);
  return go_on(session, after(session, status));
}

int32_t weir__op_cancel(struct weir_drv_hconn *session) {
  session->cancelling = true;
  prepare(session);
  int32_t status =
      table(session)->cancel(session->conn, &session->wait, &session->error);
  if (status == WEIR_DRV_E_UNSUPPORTED) {
    return status;
  }
  session->cancel_untold = true; /* to the first step after cancel() */
  /* DONE from cancel() only says that the attention is on its way. */
  if (status == WEIR_DRV_DONE) {
    return weir__op_turn(session, 0);
  }
  return go_on(session, after(session, status));
}

int32_t weir__op_drain(struct weir_drv_hconn *session) {
  session->draining = true;
  session->expired =
      false; /* of its user's time-out; a limit of its own holds */
  /* Its user may have cancelled it already, and been given more of it since. */
  return session->cancelling ? weir__op_turn(session, WEIR_DRV_WHY_RESUME)
                             : weir__op_cancel(session);
}
