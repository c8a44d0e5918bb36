/* SPDX-License-Identifier: MIT */
/* The serving thread's side: it asks, and takes what comes back. */
#include "server_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_sqlite_impl.h"
#include "server_text.h"
#include "server_tran.h"

/* Between two tries to get a lock that another session has. */
#define RETRY_NS UINT64_C(3000000)

void lite_lock(struct lite_session *session) {
  (void)pthread_mutex_lock(&session->lite->mu);
}

void lite_unlock(struct lite_session *session) {
  (void)pthread_mutex_unlock(&session->lite->mu);
}

static void open_session(void *context,
                         struct tdsd_state *state,
                         void **out_own) {
  *out_own = lite_session_new(context, state);
}

/* Takes the session out of those that are ready; lite->mu is held. */
static void forget_ready(struct lite_session *session) {
  struct lite_session **at = &session->lite->done;
  while (session->ready && *at != NULL) {
    if (*at == session) {
      *at = session->next_ready;
      session->ready = false;
      return;
    }
    at = &(*at)->next_ready;
  }
}

/* Makes a worker stop what it does for the session; lite->mu is held. */
static void interrupt(struct lite_session *session) {
  session->asked = false;
  session->wanted = false;
  /* Relaxed: only whether it is set matters. */
  atomic_store_explicit(&session->cancel, true, memory_order_relaxed);
  if (session->working && session->db != NULL) {
    sqlite3_interrupt(session->db);
  }
}

static void close_session(void *own) {
  struct lite_session *session = own;
  if (session == NULL) {
    return;
  }
  lite_lock(session);
  interrupt(session);
  forget_ready(session);
  session->wait_idle = false;
  session->closed = true;
  lite_queue(session);
  lite_unlock(session);
}

/* Everything of the session goes with its handle, unless the transaction is to
 * stay. */
static void reset_session(void *own) {
  struct lite_session *session = own;
  if (session == NULL) {
    return;
  }
  lite_lock(session);
  if (session->state->tran_count != 0) {
    session->drop_temps = true;
    lite_queue(session);
    lite_unlock(session);
    return;
  }
  free(session->pending);
  session->pending = NULL;
  if (session->db != NULL || session->busy) {
    session->reopen = true;
    lite_queue(session);
  }
  lite_unlock(session);
  session->touched = false;
  session->committing = false;
}

int lite_no_memory(struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 701, 17,
                        "There is insufficient memory for this query.");
}

void lite_ask(struct lite_session *session, enum lite_ask what) {
  lite_lock(session);
  session->task.ask = what;
  session->asked = true;
  session->wanted = true;
  lite_queue(session);
  lite_unlock(session);
}

bool lite_is_back(struct lite_session *session) {
  lite_lock(session);
  bool back = !session->wanted;
  lite_unlock(session);
  return back;
}

bool lite_is_idle(struct lite_session *session) {
  lite_lock(session);
  bool idle = !session->busy;
  session->wait_idle = !idle;
  lite_unlock(session);
  return idle;
}

/* Whether a statement's text names a variable; too often is no harm. */
static bool names(const char *sql, size_t len, const char *variable) {
  size_t n = strlen(variable);
  for (size_t i = 0; i + n <= len; i++) {
    if (sql[i] == '@' && strncasecmp(sql + i, variable, n) == 0) {
      return true;
    }
  }
  return false;
}

/* Copies the variables, because the batch may be gone before the worker is. */
static int copy_variables(struct lite_task *task,
                          const struct tdsd_batch *batch) {
  uint32_t n = batch->nvariables;
  task->batch = (struct tdsd_batch){.nvariables = n, .variables_room = n};
  task->batch.variables =
      tdsd_arena_take(&task->arena, (n + 1) * sizeof *task->batch.variables);
  if (task->batch.variables == NULL) {
    return -1;
  }
  for (uint32_t i = 0; i < n; i++) {
    struct tdsd_variable *to = &task->batch.variables[i];
    const struct tdsd_variable *from = &batch->variables[i];
    *to = *from;
    to->name = tdsd_arena_copy(&task->arena, from->name, strlen(from->name));
    to->value.bytes = "";
    if (to->name != NULL && names(task->sql, task->len, to->name) &&
        from->value.len != 0) {
      to->value.bytes =
          tdsd_arena_copy(&task->arena, from->value.bytes, from->value.len);
    }
    if (to->name == NULL || to->value.bytes == NULL) {
      return -1;
    }
  }
  return 0;
}

static int fill_task(struct lite_session *session,
                     const struct tdsd_answer *answer) {
  struct lite_task *task = &session->task;
  tdsd_arena_fini(&task->arena);
  tdsd_buf_clear(&task->tokens);
  task->sql = tdsd_arena_copy(&task->arena, answer->sql, answer->len);
  task->len = answer->len;
  task->line = answer->line;
  task->slot = answer->slot == TDSD_NO_SLOT ? -1 : (int32_t)answer->slot;
  task->version = answer->stream->writer.version;
  session->env.state = *answer->state;
  /* What the copy points at is not for the worker. */
  session->env.state.world = NULL;
  session->env.state.next = NULL;
  memset(&session->env.state.temps, 0, sizeof session->env.state.temps);
  memset(&session->env.state.context, 0, sizeof session->env.state.context);
  session->env.state.caught = NULL;
  session->env.state.manners = NULL;
  memset(&session->env.state.handles, 0, sizeof session->env.state.handles);
  /* Relaxed: the queue's mutex orders it before the worker. */
  atomic_store_explicit(&session->cancel, false, memory_order_relaxed);
  return task->sql == NULL || copy_variables(task, answer->batch) < 0 ? -1 : 0;
}

static int begin_tables(void *context, struct tdsd_answer *answer) {
  (void)context;
  struct lite_session *session = tdsd_answer_own(answer, &tdsd_sqlite);
  answer->own = session;
  if (session != NULL) {
    session->phase = LITE_START;
    session->waits_from = 0;
  }
  return 1;
}

static int begin(void *context, struct tdsd_answer *answer) {
  (void)context;
  (void)answer;
  return 0; /* whole texts are the subset's */
}

static enum tdsd_answer_result wait_for(struct tdsd_answer *answer,
                                        uint64_t wake_ns) {
  answer->wake_ns = wake_ns;
  return TDSD_ANSWER_WAIT;
}

static enum tdsd_answer_result start(struct lite_session *session,
                                     struct tdsd_answer *answer) {
  if (!lite_is_idle(session)) {
    return wait_for(answer, 0);
  }
  if (fill_task(session, answer) < 0) {
    (void)lite_no_memory(&answer->fault);
    answer->fault.line = answer->line;
    return TDSD_ANSWER_RAISED;
  }
  session->touched = true;
  session->phase = LITE_ASKED;
  lite_ask(session, LITE_RUN);
  return wait_for(answer, 0);
}

static void take_tokens(struct lite_session *session,
                        struct tdsd_answer *answer) {
  struct tdsd_buf *tokens = &session->task.tokens;
  if (tdsd_buf_len(tokens) != 0) {
    tdsd_stream_flush(answer->stream);
    tdsd_buf_bytes(answer->stream->writer.reply, tdsd_buf_at(tokens),
                   tdsd_buf_len(tokens));
    tdsd_buf_clear(tokens);
  }
}

static enum tdsd_answer_result over(struct lite_session *session,
                                    struct tdsd_answer *answer) {
  struct lite_task *task = &session->task;
  struct tdsd_state *state = answer->state;
  bool counts = task->rewritten.kind != TDSD_RW_SCHEMA;
  session->phase = LITE_START;
  if (task->slot < 0) {
    state->rowcount = (int64_t)task->rows;
  }
  state->error = 0;
  if (task->identity_taken) {
    state->identity = task->identity;
    state->has_identity = true;
  }
  if (task->rewritten.targets != NULL && task->rows != 0) {
    answer->targets = task->rewritten.targets;
    answer->values = task->values;
    answer->ntargets = task->rewritten.ncolumns;
  }
  if (task->slot >= 0) {
    return TDSD_ANSWER_DONE; /* IF and SET say nothing */
  }
  tdsd_stream_done(answer->stream, counts ? TDSD_DONE_COUNT : 0u,
                   counts ? task->rewritten.command : TDSD_CMD_SET, task->rows);
  return TDSD_ANSWER_DONE;
}

static enum tdsd_answer_result failed(struct lite_session *session,
                                      struct tdsd_answer *answer) {
  struct lite_task *task = &session->task;
  session->phase = LITE_START;
  answer->fault = task->fault;
  answer->terminated = task->terminated;
  if (task->rolled_back) {
    struct tdsd_tran tran = {answer->state, answer->session, answer->stream};
    tdsd_tran_abort(&tran);
    answer->aborted = true;
  }
  return TDSD_ANSWER_RAISED;
}

/* SET LOCK_TIMEOUT says how long; without it one waits as long as it takes. */
static enum tdsd_answer_result locked(struct lite_session *session,
                                      struct tdsd_answer *answer,
                                      uint64_t now_ns) {
  long limit_ms =
      strtol(tdsd_state_get(answer->state, "lock_timeout", "-1"), NULL, 10);
  session->waits_from = session->waits_from == 0 ? now_ns : session->waits_from;
  if (limit_ms >= 0 &&
      now_ns - session->waits_from >= (uint64_t)limit_ms * 1000000u) {
    session->phase = LITE_START;
    (void)tdsd_fault_set(&answer->fault, 1222, 16,
                         "Lock request time out period exceeded.");
    answer->fault.state = 51;
    answer->fault.line = answer->line;
    return TDSD_ANSWER_RAISED;
  }
  session->phase = LITE_RETRY;
  return wait_for(answer, now_ns + RETRY_NS);
}

static enum tdsd_answer_result come_back(struct lite_session *session,
                                         struct tdsd_answer *answer,
                                         uint64_t now_ns) {
  if (!lite_is_back(session)) {
    return wait_for(answer, 0);
  }
  take_tokens(session, answer);
  switch (session->task.outcome) {
  case LITE_OVER:
    return over(session, answer);
  case LITE_CHUNK:
    session->phase = LITE_PAUSE;
    return TDSD_ANSWER_FULL;
  case LITE_BUSY:
    return locked(session, answer, now_ns);
  case LITE_FAILED:
  default:
    return failed(session, answer);
  }
}

static enum tdsd_answer_result step(struct tdsd_answer *answer,
                                    uint64_t now_ns) {
  struct lite_session *session = answer->own;
  if (session == NULL) {
    (void)lite_no_memory(&answer->fault);
    return TDSD_ANSWER_RAISED;
  }
  switch (session->phase) {
  case LITE_START:
    return start(session, answer);
  case LITE_ASKED:
    return come_back(session, answer, now_ns);
  case LITE_PAUSE:
    session->phase = LITE_ASKED;
    lite_ask(session, LITE_MORE);
    return wait_for(answer, 0);
  case LITE_RETRY:
  default:
    if (now_ns < answer->wake_ns) {
      return TDSD_ANSWER_WAIT;
    }
    session->phase = LITE_ASKED;
    lite_ask(session, LITE_RUN);
    return wait_for(answer, 0);
  }
}

/* Comes after a complete answer as well as after one that nobody wants. */
static void end(struct tdsd_answer *answer) {
  struct lite_session *session = answer->own;
  if (session == NULL || session->phase == LITE_START) {
    return;
  }
  lite_lock(session);
  interrupt(session);
  session->wait_idle = false;
  session->finish = true;
  lite_queue(session);
  lite_unlock(session);
  session->phase = LITE_START;
}

const struct tdsd_answerer tdsd_sqlite = {.name = "sqlite",
                                          .begin = begin,
                                          .tables = begin_tables,
                                          .step = step,
                                          .end = end,
                                          .open = open_session,
                                          .reset = reset_session,
                                          .close = close_session,
                                          .committing = lite_committing,
                                          .transact = lite_transact};
