/* SPDX-License-Identifier: MIT */
#include "server_calls.h"

#include <string.h>

#include "server_option.h"

/* Between two calls of one message others get their turn. */
#define REPLY_FULL 32768u

void tdsd_calls_init(struct tdsd_calls *calls,
                     struct tdsd_state *state,
                     struct tdsd_answer_session *session,
                     const struct tdsd_writer *writer) {
  memset(calls, 0, sizeof *calls);
  calls->state = state;
  calls->session = session;
  calls->stream.writer = *writer;
  calls->stream.nocount = tdsd_option_on(state, "nocount");
}

static void begin_answer(struct tdsd_calls *calls,
                         const char *sql,
                         size_t len,
                         struct tdsd_variable *params,
                         uint32_t nparams) {
  calls->answer = (struct tdsd_answer){.sql = sql,
                                       .len = len,
                                       .params = params,
                                       .nparams = nparams,
                                       .state = calls->state,
                                       .stream = &calls->stream,
                                       .session = calls->session};
  tdsd_answer_begin(&calls->answer);
}

int tdsd_calls_batch(struct tdsd_calls *calls, const char *sql, size_t len) {
  const char *copy = tdsd_arena_copy(&calls->arena, sql, len);
  if (copy == NULL) {
    return -1;
  }
  begin_answer(calls, copy, len, NULL, 0);
  return 0;
}

void tdsd_calls_rpc(struct tdsd_calls *calls, struct tdsd_call *first) {
  calls->rpc = true;
  calls->call = first;
}

static void refuse(struct tdsd_calls *calls, struct tdsd_fault *fault) {
  fault->line = 1;
  calls->state->error = fault->number;
  tdsd_stream_message(&calls->stream, fault);
  tdsd_stream_fail(&calls->stream);
  calls->call = calls->call->next;
}

static void end_call(struct tdsd_calls *calls) {
  struct tdsd_call *call = calls->call;
  tdsd_stream_leave(&calls->stream, calls->invoke.status, call->params,
                    call->nparams, 0);
  calls->call = call->next;
}

static void begin_call(struct tdsd_calls *calls) {
  struct tdsd_fault fault = {0};
  struct tdsd_call *call = calls->call;
  calls->invoke = (struct tdsd_invoke){.name = call->name,
                                       .args = call->params,
                                       .nargs = call->nparams,
                                       .arena = &calls->arena,
                                       .state = calls->state,
                                       .stream = &calls->stream};
  tdsd_stream_enter(&calls->stream);
  if (call->skipped) {
    tdsd_stream_leave(&calls->stream, 0, NULL, 0, 0);
    calls->call = call->next;
  } else if (tdsd_invoke_begin(&calls->invoke, &fault) < 0) {
    refuse(calls, &fault);
  } else if (calls->invoke.sql != NULL) {
    begin_answer(calls, calls->invoke.sql, calls->invoke.len,
                 calls->invoke.params, calls->invoke.nparams);
  } else {
    end_call(calls);
  }
}

/* The text at hand has been answered. */
static void end_answer(struct tdsd_calls *calls,
                       enum tdsd_answer_result result) {
  calls->killed = result == TDSD_ANSWER_KILL;
  if (calls->rpc) {
    tdsd_invoke_end(&calls->invoke);
    /* What a text returns is its last error, unless it says so itself. */
    calls->invoke.status =
        calls->answer.status != 0 ? calls->answer.status : calls->state->error;
    end_call(calls);
  }
  tdsd_answer_end(&calls->answer);
}

enum tdsd_answer_result tdsd_calls_step(struct tdsd_calls *calls,
                                        uint64_t now_ns) {
  for (;;) {
    if (calls->answer.by != NULL) {
      enum tdsd_answer_result result = tdsd_answer_step(&calls->answer, now_ns);
      if (result == TDSD_ANSWER_WAIT || result == TDSD_ANSWER_FULL) {
        return result;
      }
      end_answer(calls, result);
    }
    if (calls->killed || calls->call == NULL) {
      tdsd_stream_end(&calls->stream);
      return calls->killed ? TDSD_ANSWER_KILL : TDSD_ANSWER_DONE;
    }
    if (tdsd_buf_len(calls->stream.writer.reply) > REPLY_FULL) {
      return TDSD_ANSWER_FULL;
    }
    begin_call(calls);
  }
}

void tdsd_calls_fini(struct tdsd_calls *calls) {
  tdsd_answer_cancel(&calls->answer);
  tdsd_answer_end(&calls->answer);
  tdsd_arena_fini(&calls->arena);
  memset(calls, 0, sizeof *calls);
}
