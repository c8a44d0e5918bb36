/* SPDX-License-Identifier: MIT */
#include "exec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drive.h"
#include "handle.h"
#include "loader.h"
#include "op.h"
#include "request.h"
#include "rows.h"
#include "session.h"
#include "status.h"
#include "sys/clock.h"
#include "sys/mem.h"

/* How long a server may take to acknowledge a cancellation before its connection
 * is given up: well under any user's patience. */
#define CANCEL_GRACE_NS (UINT64_C(2) * WEIR_NS_PER_S)

/* session->pending when the request has ended: no status of a driver. */
#define PENDING_DONE 100
#define PENDING_FAIL 101

struct cancel_watch {
  const struct weir__slot *slot;
  uint32_t lease;
  const struct weir_drv_hconn *session;
};

static struct cancel_watch watch_of(const struct weir__lease *lease) {
  return (struct cancel_watch){lease->slot, weir__slot_lease(lease->word),
                               lease->session};
}

/* Shutdown has moved the lease on.  A clear only dooms: it cuts nobody off. */
static bool taken_away(const struct cancel_watch *c) {
  return weir__slot_lease(weir__load_seq_u64(&c->slot->word)) != c->lease;
}

static bool stop_asked(void *arg) {
  const struct cancel_watch *c = arg;
  return taken_away(c) ||
         (!c->session->cancelling &&
          weir__load_seq_u32(&c->slot->cancel_lease) == c->lease);
}

/* Gives the connection up in the middle of a request.  An offloaded call that
 * still runs keeps it until close.c has its answer. */
static void give_up(struct weir_drv_hconn *s, int32_t kind, const char *what) {
  if (!weir__request_offloaded(s)) {
    weir__session_abort(s);
  }
  weir__op_fail(s, kind, "%s; the connection is closed", what);
  s->error.flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
  s->status = WEIR_DRV_FAIL;
}

static bool can_cancel(const struct weir_drv_hconn *s) {
  return (s->driver->table.caps & WEIR_DRV_CAP_CANCEL) != 0 &&
         (s->driver->has & WEIR_DRIVER_HAS_CANCEL) != 0;
}

static void start_cancel(struct weir_drv_hconn *s, const char *what) {
  if (!can_cancel(s) || weir__request_offloaded(s) ||
      weir__op_cancel(s) == WEIR_DRV_E_UNSUPPORTED) {
    give_up(s, s->expired ? WEIR_DRV_K_TIMEOUT : WEIR_DRV_K_CANCELLED, what);
    return;
  }
  s->deadline = weir__clock_add(weir__clock_now(), CANCEL_GRACE_NS);
}

static void on_late(struct weir_drv_hconn *s) {
  if (s->cancelling) {
    give_up(s, s->expired ? WEIR_DRV_K_TIMEOUT : WEIR_DRV_K_CANCELLED,
            s->expired
                ? "the statement ran longer than its time-out, and the server "
                  "did not acknowledge its cancellation"
                : "the server did not acknowledge the cancellation");
    return;
  }
  s->expired = true;
  start_cancel(s, "the statement ran longer than its time-out");
}

static void on_stop(struct weir_drv_hconn *s, const struct cancel_watch *c) {
  if (taken_away(c)) {
    s->closed = true;
    give_up(s, WEIR_DRV_K_CANCELLED, "the engine was shut down");
  } else {
    start_cancel(s, "the statement was cancelled");
  }
}

/* Drives to the next pause or the end of the request. */
static void advance(struct weir__lease *lease, struct weir__caller *self) {
  struct weir_drv_hconn *s = lease->session;
  struct cancel_watch watch = watch_of(lease);
  while (s->status == WEIR_DRV_WAIT) {
    switch (weir__drive(s, self, s->deadline, stop_asked, &watch)) {
    case WEIR_DRIVE_STOPPED:
      on_stop(s, &watch);
      break;
    case WEIR_DRIVE_LATE:
      on_late(s);
      break;
    case WEIR_DRIVE_ENDED:
    default:
      break;
    }
  }
}

/* Goes on after a pause, or stops: a result that flows without a wait would
 * never look at the clock or at a cancellation. */
static void resume(struct weir__lease *lease) {
  struct weir_drv_hconn *s = lease->session;
  struct cancel_watch watch = watch_of(lease);
  if (stop_asked(&watch)) {
    on_stop(s, &watch);
  } else if (weir__clock_now() >= s->deadline) {
    on_late(s);
  } else {
    (void)weir__op_turn(s, WEIR_DRV_WHY_RESUME);
  }
}

static int fail(struct weir_drv_hconn *s, struct weir_error *err) {
  int code = s->closed                       ? WEIR_E_CLOSED
             : s->expired                    ? WEIR_E_TIMEOUT
             : s->cancelling                 ? WEIR_E_CANCELLED
             : s->status == WEIR_DRV_E_NOMEM ? WEIR_E_NOMEM
                                             : WEIR_E_FAIL;
  s->pending = 0;
  if (s->expired && s->error.kind == WEIR_DRV_K_CANCELLED) {
    uint32_t flags = s->error.flags;
    weir__op_fail_statement(
        s, WEIR_DRV_K_TIMEOUT,
        "the statement ran longer than its time-out and "
        "was cancelled; the connection is as good as before");
    s->error.flags = flags;
  }
  weir__error_from_driver(err, &s->error, code, WEIR_PHASE_EXEC);
  return code;
}

/* After advance(): the request has paused, ended or failed.  What is to be told
 * of it is pending. */
static void settle(struct weir_drv_hconn *s) {
  weir__drive_end(s);
  if (s->status > 0) {
    s->pending = s->status;
    return;
  }
  s->reading = false;
  weir__mem_free(s->sql);
  s->sql = NULL;
  s->pending = s->status < 0 ? PENDING_FAIL : PENDING_DONE;
}

static uint64_t span_of(const struct weir_drv_hconn *s,
                        const struct weir_exec_opts *opts) {
  int64_t span = opts == NULL ? 0 : opts->timeout_ns;
  if (span == WEIR_TIMEOUT_NEVER) {
    return WEIR_NEVER;
  }
  return span > 0 ? (uint64_t)span
                  : weir__pool_settings(s->pool)->command_timeout_ns;
}

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

static int begin_drive(struct weir_drv_hconn *s,
                       struct weir__caller *self,
                       struct weir_error *err) {
  char why[128];
  int rc = weir__drive_begin(s, self);
  if (rc == 0) {
    return WEIR_OK;
  }
  rc = weir__error_set(err, rc == -ENOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL,
                       WEIR_PHASE_EXEC, "cannot wait for the server: %s",
                       weir__errno_text(-rc, why, sizeof why));
  weir__error_class(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_SAME);
  return rc;
}

static int check(const struct weir_drv_hconn *s, struct weir_error *err) {
  if (s->reading || s->pending != 0) {
    return weir__error_set(
        err, WEIR_E_BUSY, WEIR_PHASE_EXEC,
        "the result of the last statement has not been read to its end; read "
        "on until WEIR_ITEM_DONE");
  }
  if (!s->usable) {
    return weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_EXEC,
                           "the connection is broken; release it and acquire "
                           "another");
  }
  return WEIR_OK;
}

int weir__exec(struct weir__lease *lease,
               struct weir__caller *self,
               const char *sql,
               uint64_t sql_len,
               const struct weir_exec_opts *opts,
               struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = check(s, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  weir__exec_forget(s);
  char *copy = weir__mem_text(sql, sql_len);
  if (copy == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_EXEC,
                           "no memory for the statement");
  }
  rc = begin_drive(s, self, err);
  if (rc != WEIR_OK) {
    weir__mem_free(copy);
    return rc;
  }
  s->sql = copy;
  s->closed = false;
  s->deadline = weir__clock_add(weir__clock_now(), span_of(s, opts));
  s->reading = true;
  weir__store_relaxed_u32(&lease->slot->ran, 1);
  /* A cancellation meant for an earlier request of this lease is over. */
  weir__store_seq_u32(&lease->slot->cancel_lease,
                      weir__slot_lease(lease->word) - 1);
  struct weir__exec_args args = {
      .sql = s->sql,
      .sql_len = sql_len,
      .deadline = s->deadline,
      .batch_rows = opts == NULL ? 0 : opts->batch_rows,
      .batch_bytes = opts == NULL ? 0 : opts->batch_bytes,
  };
  (void)weir__op_exec(s, &args);
  advance(lease, self);
  settle(s);
  return s->pending == PENDING_FAIL ? fail(s, err) : WEIR_OK;
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

static int tell_rows(struct weir_drv_hconn *s,
                     struct weir_item *item,
                     struct weir_error *err) {
  int rc = weir__handle_new(WEIR_TYPE_ROWS, s->batch, &item->rows);
  if (rc != 0) {
    return weir__error_set(err, rc, WEIR_PHASE_EXEC,
                           "no handle left for rows; free batches sooner");
  }
  item->type = WEIR_ITEM_ROWS;
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
    item->columns = s->columns;
    item->n_columns = s->n_columns;
    item->columns_stride = sizeof *s->columns;
    break;
  case WEIR_DRV_ROWS:
    rc = tell_rows(s, item, err);
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

int weir__exec_next(struct weir__lease *lease,
                    struct weir__caller *self,
                    struct weir_item *out,
                    struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  for (;;) {
    int rc = tell(s, out, err);
    if (rc != WEIR_PENDING) {
      return rc;
    }
    if (!s->reading) {
      return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_EXEC,
                             "no statement is running on this lease");
    }
    rc = begin_drive(s, self, err);
    if (rc != WEIR_OK) {
      return rc;
    }
    resume(lease);
    advance(lease, self);
    settle(s);
  }
}
