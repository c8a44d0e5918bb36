/* SPDX-License-Identifier: MIT */
/* Transactions on the serving thread: BEGIN and savepoints wait for the next
 * statement, COMMIT and ROLLBACK are asked of a worker. */
#include <stdio.h>
#include <stdlib.h>

#include "server_const.h"
#include "server_sqlite_impl.h"

/* Adds VERB "name"; to what runs before the next statement. */
static int add_pending(struct lite_session *session,
                       const char *verb,
                       const char *name,
                       struct tdsd_fault *fault) {
  char quoted[2 * TDSD_OPTION_BYTES + 3] = "";
  char *longer = NULL;
  size_t n = 0;
  if (name != NULL) {
    quoted[n++] = '"';
    for (const char *c = name; *c != 0 && n + 3 < sizeof quoted; c++) {
      quoted[n++] = *c;
      if (*c == '"') {
        quoted[n++] = '"';
      }
    }
    quoted[n++] = '"';
    quoted[n] = 0;
  }
  lite_lock(session);
  int rc =
      asprintf(&longer, "%s%s %s;",
               session->pending == NULL ? "" : session->pending, verb, quoted);
  if (rc >= 0) {
    free(session->pending);
    session->pending = longer;
  }
  lite_unlock(session);
  return rc < 0 ? lite_no_memory(fault) : 0;
}

static void drop_pending(struct lite_session *session) {
  lite_lock(session);
  free(session->pending);
  session->pending = NULL;
  lite_unlock(session);
}

/* The client is told of a COMMIT when it has come true. */
static int commit(struct lite_session *session, struct tdsd_fault *fault) {
  if (!session->touched && !session->committing) {
    drop_pending(session);
    return 0;
  }
  if (!session->committing) {
    if (!lite_is_idle(session)) {
      return 1;
    }
    session->committing = true;
    atomic_store_explicit(&session->cancel, false, memory_order_relaxed);
    lite_ask(session, LITE_COMMIT);
    return 1;
  }
  if (!lite_is_back(session)) {
    return 1;
  }
  session->committing = false;
  session->touched = false;
  if (session->task.outcome == LITE_OVER) {
    return 0;
  }
  *fault = session->task.fault;
  if (session->task.outcome == LITE_BUSY) {
    (void)tdsd_fault_set(fault, 1222, 16,
                         "Lock request time out period exceeded.");
  }
  return -1;
}

bool lite_committing(void *own) {
  const struct lite_session *session = own;
  return session != NULL && session->committing;
}

static void roll_back(struct lite_session *session) {
  lite_lock(session);
  free(session->pending);
  session->pending = NULL;
  if (session->touched) {
    session->rollback = true;
    lite_queue(session);
  }
  lite_unlock(session);
  session->touched = false;
}

int lite_transact(void *own,
                  enum tdsd_tran_verb verb,
                  const char *name,
                  struct tdsd_fault *fault) {
  struct lite_session *session = own;
  if (session == NULL) {
    return lite_no_memory(fault);
  }
  switch (verb) {
  case TDSD_TRAN_BEGIN:
    session->touched = false;
    return add_pending(session, "BEGIN", NULL, fault);
  case TDSD_TRAN_SAVE:
    return add_pending(session, "SAVEPOINT", name, fault);
  case TDSD_TRAN_ROLLBACK_TO:
    return add_pending(session, "ROLLBACK TO", name, fault);
  case TDSD_TRAN_COMMIT:
    return commit(session, fault);
  case TDSD_TRAN_ROLLBACK:
  default:
    roll_back(session);
    return 0;
  }
}
