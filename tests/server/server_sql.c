/* SPDX-License-Identifier: MIT */
#include "server_sql.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_parse.h"
#include "server_tran.h"

/* Operations between two looks at the clock, so that WHILE 1 = 1 stays fair. */
#define OPS_A_STEP 256u
/* Tokens that may gather before they are sent. */
#define REPLY_FULL 32768u
/* Others wait meanwhile, and one operation may be a value of 64 MiB. */
#define STEP_NS    UINT64_C(10000000)

static uint64_t now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

bool tdsd_exec_used_up(const struct tdsd_exec *exec) {
  return tdsd_buf_len(exec->stream->writer.reply) > REPLY_FULL ||
         now() - exec->step_ns > STEP_NS;
}

static int no_memory(struct tdsd_exec *exec) {
  return tdsd_fault_set(&exec->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

/* The parameters are the first variables. */
static int take_params(struct tdsd_exec *exec) {
  const struct tdsd_answer *answer = exec->answer;
  struct tdsd_batch *batch = &exec->batch;
  if (answer->nparams == 0) {
    return 0;
  }
  batch->variables =
      tdsd_arena_take(&exec->arena, answer->nparams * sizeof *batch->variables);
  if (batch->variables == NULL) {
    return no_memory(exec);
  }
  memcpy(batch->variables, answer->params,
         answer->nparams * sizeof *batch->variables);
  batch->nvariables = answer->nparams;
  batch->variables_room = answer->nparams;
  return 0;
}

/* Takes every text; what is wrong with it is told by the first step. */
static int begin(void *context, struct tdsd_answer *answer) {
  (void)context;
  struct tdsd_exec *exec = calloc(1, sizeof *exec);
  answer->own = exec;
  if (exec == NULL) {
    return 1;
  }
  exec->answer = answer;
  exec->state = answer->state;
  exec->stream = answer->stream;
  exec->caught_outside = answer->state->caught;
  exec->batch.tables = tdsd_answer_has_tables(answer->session);
  if (take_params(exec) < 0 ||
      tdsd_parse(answer->sql, answer->len, &exec->arena, &exec->batch,
                 &exec->fault) < 0) {
    exec->batch.nops = 0;
    tdsd_exec_fail(exec, 0);
    exec->stop = true;
  }
  return 1;
}

static void end(struct tdsd_answer *answer) {
  struct tdsd_exec *exec = answer->own;
  if (exec == NULL) {
    return;
  }
  exec->state->caught = exec->caught_outside;
  tdsd_answer_end(&exec->nested);
  tdsd_flow_fini(&exec->flow);
  tdsd_arena_fini(&exec->arena);
  tdsd_arena_fini(&exec->scratch);
  free(exec);
}

static void cancel(struct tdsd_answer *answer) {
  struct tdsd_exec *exec = answer->own;
  if (exec != NULL) {
    tdsd_answer_cancel(&exec->nested);
    tdsd_flow_cut(&exec->flow, &exec->stream->writer);
  }
}

static void abort_transaction(struct tdsd_exec *exec) {
  struct tdsd_tran tran = {exec->state, exec->answer->session, exec->stream};
  tdsd_tran_abort(&tran);
}

/* Failed conversions end the batch; so do unknown tables and procedures, for
 * this text only.  A division by zero or an overflow ends its statement. */
static bool is_conversion(int32_t number) {
  return number == 241 || number == 242 || number == 245 || number == 8114 ||
         number == 8169;
}

static bool ends_text(int32_t number) {
  return is_conversion(number) || number == 208 || number == 2812 ||
         number == 1205;
}

/* An error that a CATCH sees: of this text, or of one that asked for it. */
static bool catch_it(struct tdsd_exec *exec) {
  const struct tdsd_op *op = exec->op;
  bool here = op != NULL && op->handler != TDSD_NO_SLOT;
  if (exec->fault.class >= 20 || (!here && !exec->answer->catching)) {
    return false;
  }
  if (exec->state->tran_count != 0 &&
      (exec->state->xact_abort || is_conversion(exec->fault.number))) {
    exec->state->doomed = true;
  }
  if (!here) {
    exec->raised = true;
    exec->stop = true;
    return true;
  }
  struct tdsd_fault *copy = tdsd_arena_take(&exec->arena, sizeof *copy);
  if (copy == NULL) {
    return false;
  }
  *copy = exec->fault;
  exec->pc = op->handler;
  exec->caught[exec->batch.ops[op->handler].catches - 1] = copy;
  exec->stop = false;
  return true;
}

void tdsd_exec_fail(struct tdsd_exec *exec, uint32_t command) {
  struct tdsd_state *state = exec->state;
  bool raised = exec->fault.number == 50000 && !exec->thrown;
  state->error = exec->fault.number;
  state->rowcount = 0;
  if (catch_it(exec)) {
    exec->thrown = false;
    return;
  }
  bool abort = (state->xact_abort && !raised) || exec->fault.class >= 20;
  if (abort) {
    abort_transaction(exec);
  }
  tdsd_stream_message(exec->stream, &exec->fault);
  if (exec->terminated) {
    tdsd_stream_info(exec->stream, 3621, 0, exec->fault.line,
                     "The statement has been terminated.");
  }
  exec->terminated = false;
  tdsd_stream_done(exec->stream, TDSD_DONE_ERROR, command, 0);
  exec->answer->aborted = abort || is_conversion(exec->fault.number);
  exec->stop =
      exec->stop || exec->thrown || abort || ends_text(exec->fault.number);
  exec->kill = exec->kill || exec->fault.class >= 20;
  exec->thrown = false;
}

struct tdsd_context tdsd_exec_context(struct tdsd_exec *exec) {
  return (struct tdsd_context){.arena = &exec->scratch,
                               .batch = &exec->batch,
                               .state = exec->state,
                               .nesting = exec->answer->nesting,
                               .fault = &exec->fault};
}

int tdsd_exec_eval(struct tdsd_exec *exec,
                   struct tdsd_expr *expr,
                   struct tdsd_value *out) {
  struct tdsd_context context = tdsd_exec_context(exec);
  return tdsd_bind(expr, NULL, &exec->batch, &exec->fault) < 0 ||
                 tdsd_eval(expr, &context, out) < 0
             ? -1
             : tdsd_value_flatten(out, &exec->scratch, &exec->fault);
}

int tdsd_exec_eval_text(struct tdsd_exec *exec,
                        struct tdsd_expr *expr,
                        struct tdsd_value *out) {
  struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  struct tdsd_value value;
  return tdsd_exec_eval(exec, expr, &value) < 0
             ? -1
             : tdsd_convert(&value, &text, 0, &exec->scratch, out,
                            &exec->fault);
}

int tdsd_exec_eval_int(struct tdsd_exec *exec,
                       struct tdsd_expr *expr,
                       int64_t *out) {
  struct tdsd_type type = {.kind = TDSD_INT};
  struct tdsd_value value;
  if (tdsd_exec_eval(exec, expr, &value) < 0 ||
      tdsd_convert(&value, &type, 0, &exec->scratch, &value, &exec->fault) <
          0) {
    return -1;
  }
  *out = value.integer;
  return 0;
}

int tdsd_exec_assign(struct tdsd_exec *exec,
                     uint32_t slot,
                     const struct tdsd_value *value) {
  struct tdsd_variable *to = &exec->batch.variables[slot];
  struct tdsd_type type = tdsd_variable_type(to);
  return tdsd_convert(value, &type, 0, &exec->arena, &to->value, &exec->fault) <
                 0
             ? -1
             : tdsd_value_flatten(&to->value, &exec->arena, &exec->fault);
}

static int run_guard(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_context context = tdsd_exec_context(exec);
  int truth = 0;
  if (tdsd_bind(op->exprs[0], NULL, &exec->batch, &exec->fault) < 0 ||
      tdsd_eval_condition(op->exprs[0], &context, &truth) < 0) {
    return -1;
  }
  if (truth != 1) {
    exec->pc = op->target;
  }
  return 0;
}

static int run_assign(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value value;
  return tdsd_exec_eval(exec, op->exprs[0], &value) < 0
             ? -1
             : tdsd_exec_assign(exec, op->slot, &value);
}

/* Runs one operation but SELECT.  Returns 0; -1 with the fault; 1 to be tried
 * again later. */
static int run(struct tdsd_exec *exec,
               const struct tdsd_op *op,
               uint64_t now_ns) {
  switch (op->kind) {
  case TDSD_OP_PRINT:
    return tdsd_exec_print(exec, op);
  case TDSD_OP_RAISERROR:
    return tdsd_exec_raiserror(exec, op);
  case TDSD_OP_THROW:
    return tdsd_exec_throw(exec, op);
  case TDSD_OP_ASSIGN:
    return run_assign(exec, op);
  case TDSD_OP_EXEC:
  case TDSD_OP_EXEC_TEXT:
    return tdsd_exec_call(exec, op);
  case TDSD_OP_TABLES:
    tdsd_exec_tables(exec, op);
    return 0;
  case TDSD_OP_JUMP:
    exec->pc = op->target;
    return 0;
  case TDSD_OP_JUMP_FALSE:
    return run_guard(exec, op);
  case TDSD_OP_RETURN:
    exec->stop = true;
    return 0;
  case TDSD_OP_NOTHING:
  case TDSD_OP_SELECT:
  case TDSD_OP_SET_OPTION:
  case TDSD_OP_USE:
  case TDSD_OP_BEGIN:
  case TDSD_OP_COMMIT:
  case TDSD_OP_ROLLBACK:
  case TDSD_OP_SAVE:
  case TDSD_OP_WAITFOR:
    return tdsd_exec_statement(exec, op, now_ns);
  case TDSD_OP_UNKNOWN:
  case TDSD_OP_CREATE:
  case TDSD_OP_DROP:
  case TDSD_OP_USEROPTIONS:
  case TDSD_OP_CONTEXT_INFO:
  case TDSD_OP_KILL:
  case TDSD_OP_EXECUTE_AS:
  case TDSD_OP_REVERT:
  default:
    return tdsd_exec_object(exec, op);
  }
}

static void run_next(struct tdsd_exec *exec, uint64_t now_ns) {
  const struct tdsd_op *op = &exec->batch.ops[exec->pc++];
  tdsd_arena_fini(&exec->scratch);
  exec->op = op;
  exec->fault.line = op->line;
  exec->state->caught =
      op->catches == 0 ? exec->caught_outside : exec->caught[op->catches - 1];
  if (op->kind == TDSD_OP_SELECT) {
    tdsd_select_begin(exec, op->select);
    return;
  }
  int rc = run(exec, op, now_ns);
  if (rc > 0) {
    exec->pc--;
    exec->parked = true;
  } else if (rc < 0) {
    exec->fault.line = op->line;
    tdsd_exec_fail(exec, 0);
  } else if (op->kind != TDSD_OP_JUMP && op->kind != TDSD_OP_JUMP_FALSE) {
    exec->state->error = 0;
  }
}

/* A transaction that an error has doomed does not outlive the batch. */
static void end_doomed(struct tdsd_exec *exec) {
  if (exec->answer->nesting != 0 || !exec->state->doomed) {
    return;
  }
  (void)tdsd_fault_set(&exec->fault, 3998, 16,
                       "Uncommittable transaction is detected at the end of "
                       "the batch. The transaction is rolled back.");
  exec->fault.line = 1;
  abort_transaction(exec);
  tdsd_stream_message(exec->stream, &exec->fault);
  tdsd_stream_done(exec->stream, TDSD_DONE_ERROR, 0, 0);
  exec->state->error = exec->fault.number;
}

static enum tdsd_answer_result finish(struct tdsd_exec *exec) {
  struct tdsd_answer *answer = exec->answer;
  for (uint32_t i = 0; i < answer->nparams; i++) {
    answer->params[i].value = exec->batch.variables[i].value;
  }
  if (exec->raised) {
    answer->fault = exec->fault;
    return TDSD_ANSWER_RAISED;
  }
  end_doomed(exec);
  return exec->kill ? TDSD_ANSWER_KILL : TDSD_ANSWER_DONE;
}

/* Lets the text of an EXEC go on.  Returns whether this text can. */
static bool step_nested(struct tdsd_exec *exec,
                        uint64_t now_ns,
                        enum tdsd_answer_result *out_result) {
  *out_result = tdsd_answer_step(&exec->nested, now_ns);
  if (*out_result == TDSD_ANSWER_WAIT || *out_result == TDSD_ANSWER_FULL) {
    exec->answer->wake_ns = exec->nested.wake_ns;
    return false;
  }
  if (tdsd_exec_return(exec, *out_result) < 0) {
    exec->fault.line = exec->op->line;
    tdsd_exec_fail(exec, 0);
  }
  return true;
}

static enum tdsd_answer_result no_exec(struct tdsd_answer *answer) {
  struct tdsd_fault fault = {.line = 1};
  (void)tdsd_fault_set(&fault, 701, 17,
                       "There is insufficient memory for this query.");
  tdsd_stream_message(answer->stream, &fault);
  tdsd_stream_done(answer->stream, TDSD_DONE_ERROR, 0, 0);
  return TDSD_ANSWER_DONE;
}

static enum tdsd_answer_result step(struct tdsd_answer *answer,
                                    uint64_t now_ns) {
  struct tdsd_exec *exec = answer->own;
  enum tdsd_answer_result result = TDSD_ANSWER_FULL;
  if (exec == NULL) {
    return no_exec(answer);
  }
  if (exec->waiting) {
    if (now_ns < exec->wake_ns) {
      answer->wake_ns = exec->wake_ns;
      return TDSD_ANSWER_WAIT;
    }
    exec->waiting = false;
    tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  }
  exec->step_ns = now();
  for (unsigned n = 0; n < OPS_A_STEP; n++) {
    if (exec->nested.by != NULL) {
      if (!step_nested(exec, now_ns, &result)) {
        return result;
      }
    } else if (exec->part != NULL) {
      tdsd_select_step(exec);
    } else if (exec->stop || exec->kill || exec->pc >= exec->batch.nops) {
      return finish(exec);
    } else {
      run_next(exec, now_ns);
    }
    if (exec->waiting) {
      answer->wake_ns = exec->wake_ns;
      return TDSD_ANSWER_WAIT;
    }
    if (exec->parked) {
      exec->parked = false;
      answer->wake_ns = 0;
      return TDSD_ANSWER_WAIT;
    }
    if (tdsd_exec_used_up(exec)) {
      return TDSD_ANSWER_FULL;
    }
  }
  return TDSD_ANSWER_FULL;
}

const struct tdsd_answerer tdsd_subset = {.name = "subset",
                                          .begin = begin,
                                          .step = step,
                                          .cancel = cancel,
                                          .end = end};
