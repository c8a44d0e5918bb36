/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>

#include "drive.h"
#include "loader.h"
#include "op.h"
#include "request.h"
#include "session.h"
#include "status.h"
#include "sys/clock.h"

/* How long a server may be waited for once an operation is cancelled, before its
 * connection is given up: well under any user's patience.  A result that was here
 * already goes on to its end, as slowly as its user reads. */
#define CANCEL_GRACE_NS (UINT64_C(2) * WEIR_NS_PER_S)

/* Shutdown has moved the lease on.  A clear only dooms: it cuts nobody off. */
static bool taken_away(const struct weir_drv_hconn *s) {
  return weir__slot_lease(weir__load_seq_u64(&s->slot->word)) != s->lease;
}

static bool stop_asked(void *arg) {
  const struct weir_drv_hconn *s = arg;
  return taken_away(s) ||
         (!s->cancelling && weir__lease_cancelled(s->slot, s->lease));
}

/* Gives the connection up in the middle of an operation.  An offloaded call that
 * still runs keeps it until close.c has its answer. */
static void give_up(struct weir_drv_hconn *s, int32_t kind, const char *what) {
  if (!weir__request_offloaded(s)) {
    weir__session_abort(s);
  }
  weir__op_fail(s, kind, "%s; the connection is closed", what);
  if (!s->replacing) { /* then it has not been sent yet */
    s->error.flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
  }
  s->replacing = false;
  /* The session's end rolls back, but a statement may have held a commit. */
  s->error.txn = s->pauses && s->txn != WEIR_DRV_TXN_NONE ? WEIR_DRV_TXN_UNKNOWN
                                                          : WEIR_DRV_TXN_NONE;
  s->txn = s->error.txn;
  s->status = WEIR_DRV_FAIL;
}

bool weir__command_can_cancel(const struct weir_drv_hconn *session) {
  return (session->driver->table.caps & WEIR_DRV_CAP_CANCEL) != 0 &&
         (session->driver->has & WEIR_DRIVER_HAS_CANCEL) != 0;
}

/* A connect in the middle of a statement (replace.h) cannot be cancelled, but the
 * statement, which was not sent, is. */
static void start_cancel(struct weir_drv_hconn *s, const char *what) {
  bool unsent = s->replacing;
  if (!weir__command_can_cancel(s) || weir__request_offloaded(s) || unsent ||
      weir__op_cancel(s) == WEIR_DRV_E_UNSUPPORTED) {
    give_up(s, s->expired ? WEIR_DRV_K_TIMEOUT : WEIR_DRV_K_CANCELLED, what);
    s->cancelling = s->cancelling || unsent;
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

static void on_stop(struct weir_drv_hconn *s) {
  if (taken_away(s)) {
    s->closed = true;
    give_up(s, WEIR_DRV_K_CANCELLED, "the engine was shut down");
  } else {
    start_cancel(s, "the statement was cancelled");
  }
}

bool weir__command_look(struct weir_drv_hconn *session) {
  if (stop_asked(session)) {
    on_stop(session);
  } else if (weir__clock_now() >= session->deadline) {
    on_late(session);
  } else {
    return false;
  }
  return true;
}

/* A result that flows without a wait would never look at the clock or at a
 * cancellation. */
void weir__command_resume(struct weir_drv_hconn *session) {
  if (!weir__command_look(session)) {
    (void)weir__op_turn(session, WEIR_DRV_WHY_RESUME);
  }
}

static void drive(struct weir_drv_hconn *s, struct weir__caller *self) {
  while (s->status == WEIR_DRV_WAIT) {
    if (weir__drive(s, self, s->deadline, stop_asked, s) != WEIR_DRIVE_ENDED) {
      (void)weir__command_look(s);
    }
  }
}

int weir__command_wait(const struct weir__command *command,
                       struct weir_drv_hconn *session,
                       struct weir__caller *self,
                       struct weir_error *err) {
  do {
    drive(session, self);
  } while (!command->advance(session));
  weir__drive_end(session);
  return command->outcome(session, err);
}

void weir__command_pause(struct weir_drv_hconn *session) {
  if (session->cancelling) {
    uint64_t now = weir__clock_now();
    session->grace_ns = session->deadline > now ? session->deadline - now : 0;
  }
}

int weir__command_check(const struct weir_drv_hconn *session,
                        struct weir_error *err) {
  if (session->reading || session->pending != 0) {
    return weir__error_set(
        err, WEIR_E_BUSY, WEIR_PHASE_EXEC,
        "the result of the last statement has not been read to its end; read "
        "on until WEIR_ITEM_DONE");
  }
  if (!session->usable) {
    return weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_EXEC,
                           "the connection is broken; release it and acquire "
                           "another");
  }
  return WEIR_OK;
}

void weir__command_take(const struct weir__lease *lease,
                        struct weir__caller *self) {
  struct weir_drv_hconn *s = lease->session;
  weir__drive_take(s, self);
  s->lease = weir__slot_lease(lease->word);
  if (s->reading && s->cancelling) {
    s->deadline = weir__clock_add(weir__clock_now(), s->grace_ns);
  }
}

int weir__command_begin(const struct weir__lease *lease,
                        struct weir__caller *self,
                        struct weir_error *err) {
  char why[128];
  int fd = weir__caller_fd(self);
  if (fd >= 0) {
    weir__command_take(lease, self);
    return WEIR_OK;
  }
  int rc = weir__error_set(err, fd == -ENOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL,
                           WEIR_PHASE_EXEC, "cannot wait for the server: %s",
                           weir__errno_text(-fd, why, sizeof why));
  weir__error_class(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_SAME);
  return rc;
}

static uint64_t limit_of(const struct weir_drv_hconn *s, int64_t span_ns) {
  uint64_t span = span_ns > 0
                      ? (uint64_t)span_ns
                      : weir__pool_settings(s->pool)->command_timeout_ns;
  return span_ns == WEIR_TIMEOUT_NEVER
             ? WEIR_NEVER
             : weir__clock_add(weir__clock_now(), span);
}

void weir__command_start(struct weir_drv_hconn *session, int64_t span_ns) {
  struct weir__slot *slot = session->slot;
  session->closed = false;
  session->deadline = limit_of(session, span_ns);
  session->reading = true;
  weir__store_relaxed_u32(&slot->ran, 1);
  weir__lease_set_active(slot, true);
}

static int code_of(const struct weir_drv_hconn *s) {
  return s->closed                             ? WEIR_E_CLOSED
         : s->expired                          ? WEIR_E_TIMEOUT
         : s->cancelling                       ? WEIR_E_CANCELLED
         : s->status == WEIR_DRV_E_NOMEM       ? WEIR_E_NOMEM
         : s->status == WEIR_DRV_E_UNSUPPORTED ? WEIR_E_UNSUPPORTED
                                               : WEIR_E_FAIL;
}

int weir__command_fail(struct weir_drv_hconn *session, struct weir_error *err) {
  struct weir_drv_error *e = &session->error;
  int code = code_of(session);
  if (session->expired && e->kind == WEIR_DRV_K_CANCELLED) {
    uint32_t flags = e->flags;
    int32_t txn = e->txn;
    weir__op_fail_statement(
        session, WEIR_DRV_K_TIMEOUT,
        "the statement ran longer than its time-out and "
        "was cancelled; the connection is as good as before");
    e->flags = flags;
    e->txn = txn;
  }
  weir__error_from_driver(err, e, code, WEIR_PHASE_EXEC);
  return code;
}
