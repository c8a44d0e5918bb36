/* SPDX-License-Identifier: MIT */
#include "exec.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "handle.h"
#include "loader.h"
#include "op.h"
#include "params.h"
#include "rows.h"
#include "session.h"
#include "status.h"
#include "sys/mem.h"

/* session->pending when the request has ended, or has given its output values:
 * no status of a driver. */
#define PENDING_DONE   100
#define PENDING_FAIL   101
#define PENDING_OUTPUT 102

static int fail(struct weir_drv_hconn *s, struct weir_error *err) {
  s->pending = 0;
  return weir__command_fail(s, err);
}

void weir__exec_drop(struct weir_drv_hconn *session) {
  struct weir_drv_hconn *s = session;
  weir__mem_free(s->sql);
  s->sql = NULL;
  weir__params_free(s->params);
  s->params = NULL;
}

void weir__exec_ended(struct weir_drv_hconn *s) {
  s->reading = false;
  weir__lease_set_active(s->slot, false);
  weir__exec_drop(s);
}

/* The request has paused, ended or failed.  What is to be told of it is
 * pending. */
static void settle(struct weir_drv_hconn *s) {
  weir__command_pause(s);
  if (s->status == WEIR_DRV_ROWS && s->outputs) {
    s->outputs = false;
    s->pending = PENDING_OUTPUT;
  } else if (s->status > 0) {
    s->pending = s->status;
  } else {
    weir__exec_ended(s);
    s->pending = s->status < 0 ? PENDING_FAIL : PENDING_DONE;
  }
}

/* To the next thing to be told.  That output values follow is none: they are
 * told with their columns. */
static bool advance(struct weir_drv_hconn *s) {
  while (s->status == WEIR_DRV_OUT) {
    weir__command_resume(s);
  }
  if (s->status == WEIR_DRV_WAIT) {
    return false;
  }
  settle(s);
  return true;
}

static int exec_outcome(struct weir_drv_hconn *s, struct weir_error *err) {
  return s->pending == PENDING_FAIL ? fail(s, err) : WEIR_OK;
}

/* Messages come before the failure that they precede. */
static int next_outcome(struct weir_drv_hconn *s, struct weir_error *err) {
  bool silent = s->notices.first == NULL && s->notices.dropped == 0;
  return s->pending == PENDING_FAIL && silent ? fail(s, err) : WEIR_OK;
}

const struct weir__command weir__exec_command = {advance, exec_outcome};
const struct weir__command weir__next_command = {advance, next_outcome};

void weir__exec_forget(struct weir_drv_hconn *s) {
  s->pending = 0;
  weir__notices_clear(&s->notices);
  weir__mem_free(s->notice);
  s->notice = NULL;
  weir__mem_free(s->columns);
  s->columns = NULL;
  s->n_columns = 0;
  weir__batch_free(s->batch);
  s->batch = NULL;
}

/* What the driver is given lives as long as the request. */
static int keep(struct weir_drv_hconn *s,
                const char *sql,
                uint64_t sql_len,
                const struct weir_exec_opts *opts,
                struct weir_error *err) {
  s->sql = weir__mem_text(sql, sql_len);
  if (s->sql != NULL && opts->n_params != 0) {
    s->params = weir__params_copy(opts);
  }
  if (s->sql == NULL || (opts->n_params != 0 && s->params == NULL)) {
    weir__exec_drop(s);
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_EXEC,
                           "no memory for the statement");
  }
  return WEIR_OK;
}

static int check(const struct weir_drv_hconn *s,
                 const struct weir_exec_opts *opts,
                 struct weir_error *err) {
  int rc = weir__command_check(s, err);
  if (rc == WEIR_OK && opts->n_params != 0 &&
      (s->driver->table.caps & WEIR_DRV_CAP_PARAMS) == 0) {
    rc = weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_EXEC,
                         "driver %s takes no parameters", s->driver->name);
  }
  return rc;
}

void weir__exec_send(struct weir_drv_hconn *session,
                     uint64_t sql_len,
                     const struct weir_exec_opts *opts) {
  weir__command_start(session, opts->timeout_ns);
  struct weir__exec_args args = {
      .sql = session->sql,
      .sql_len = sql_len,
      .deadline = session->deadline,
      .params = session->params,
      .batch_rows = opts->batch_rows,
      .batch_bytes = opts->batch_bytes,
      .prepared = (opts->flags & WEIR_EXEC_PREPARED) != 0,
  };
  session->outputs = false;
  (void)weir__op_exec(session, &args);
}

int weir__exec_prepare(struct weir_drv_hconn *session,
                       const char *sql,
                       uint64_t sql_len,
                       const struct weir_exec_opts *opts,
                       struct weir_error *err) {
  int rc = check(session, opts, err);
  if (rc == WEIR_OK) {
    weir__exec_forget(session);
    rc = keep(session, sql, sql_len, opts, err);
  }
  if (rc != WEIR_OK) {
    weir__error_txn(err, session->txn); /* a refusal leaves it as it is */
  }
  return rc;
}

int weir__exec(struct weir__lease *lease,
               struct weir__caller *self,
               const char *sql,
               uint64_t sql_len,
               const struct weir_exec_opts *opts,
               struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = weir__exec_prepare(s, sql, sql_len, opts, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__command_begin(lease, self, err);
  if (rc != WEIR_OK) {
    weir__exec_drop(s);
    weir__error_txn(err, s->txn);
    return rc;
  }
  weir__exec_send(s, sql_len, opts);
  return weir__command_wait(&weir__exec_command, s, self, err);
}

static bool tell_notice(struct weir_drv_hconn *s, struct weir_item *item) {
  weir__mem_free(s->notice);
  s->notice = weir__notices_take(&s->notices);
  if (s->notice == NULL) {
    return false;
  }
  item->type = WEIR_ITEM_NOTICE;
  item->message = s->notice->message;
  item->message_len = s->notice->message_len;
  item->native = s->notice->native;
  item->severity = s->notice->severity;
  item->line = s->notice->line;
  item->state = s->notice->state;
  item->server = s->notice->server;
  item->server_len = s->notice->server_len;
  item->procedure = s->notice->procedure;
  item->procedure_len = s->notice->procedure_len;
  return true;
}

static bool tell_dropped(struct weir_drv_hconn *s, struct weir_item *item) {
  if (s->notices.dropped == 0) {
    return false;
  }
  int n = snprintf(s->reply_text, sizeof s->reply_text,
                   "%u more messages of the server were dropped",
                   s->notices.dropped);
  s->notices.dropped = 0;
  item->type = WEIR_ITEM_NOTICE;
  item->message = s->reply_text;
  item->message_len = n < 0 ? 0 : (uint64_t)n;
  return true;
}

static void tell_columns(const struct weir_drv_hconn *s,
                         struct weir_item *item) {
  item->columns = s->columns;
  item->n_columns = s->n_columns;
  item->columns_stride = sizeof *s->columns;
}

/* Rows, or the one of the output values. */
static int tell_rows(struct weir_drv_hconn *s,
                     int32_t type,
                     struct weir_item *item,
                     struct weir_error *err) {
  int rc = weir__handle_new(WEIR_TYPE_ROWS, s->batch, &item->rows);
  if (rc != 0) {
    return weir__error_set(err, rc, WEIR_PHASE_EXEC,
                           "no handle left for rows; free batches sooner");
  }
  item->type = type;
  item->cells = weir__batch_cells(s->batch, &item->n_rows);
  item->n_columns = s->n_columns;
  s->batch = NULL;
  return WEIR_OK;
}

/* Tells what is pending.  WEIR_PENDING: nothing is. */
static int tell(struct weir_drv_hconn *s,
                struct weir_item *item,
                struct weir_error *err) {
  int rc = WEIR_OK;
  if (tell_notice(s, item)) {
    return WEIR_OK;
  }
  switch (s->pending) {
  case WEIR_DRV_META:
    item->type = WEIR_ITEM_META;
    tell_columns(s, item);
    break;
  case WEIR_DRV_ROWS:
    rc = tell_rows(s, WEIR_ITEM_ROWS, item, err);
    break;
  case PENDING_OUTPUT:
    tell_columns(s, item);
    rc = tell_rows(s, WEIR_ITEM_OUTPUT, item, err);
    break;
  case WEIR_DRV_COUNT:
    item->type = WEIR_ITEM_COUNT;
    item->row_count = s->wait.row_count;
    break;
  case PENDING_DONE:
    if (tell_dropped(s, item)) {
      return WEIR_OK;
    }
    item->type = WEIR_ITEM_DONE;
    break;
  case PENDING_FAIL:
    return tell_dropped(s, item) ? WEIR_OK : fail(s, err);
  default:
    /* A request that failed at once leaves its messages to be read. */
    return !s->reading && tell_dropped(s, item) ? WEIR_OK : WEIR_PENDING;
  }
  if (rc == WEIR_OK) {
    s->pending = 0;
  }
  return rc;
}

int weir__exec_tell(struct weir_drv_hconn *session,
                    struct weir_item *item,
                    struct weir_error *err) {
  int rc = tell(session, item, err);
  if (rc == WEIR_PENDING && !session->reading) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                           "no statement is running on this lease");
  }
  return rc;
}

int weir__exec_next(struct weir__lease *lease,
                    struct weir__caller *self,
                    struct weir_item *out,
                    struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = weir__exec_tell(s, out, err);
  if (rc != WEIR_PENDING) {
    return rc;
  }
  rc = weir__command_begin(lease, self, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  weir__command_resume(s);
  rc = weir__command_wait(&weir__next_command, s, self, err);
  return rc == WEIR_OK ? weir__exec_tell(s, out, err) : rc;
}
