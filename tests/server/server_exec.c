/* SPDX-License-Identifier: MIT */
/* EXEC of a procedure and of a text.  What it runs is answered like a text of the
 * client's, one level deeper. */
#include <string.h>

#include "server_sql.h"

static int no_memory(struct tdsd_exec *exec) {
  return tdsd_fault_set(&exec->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

/* Evaluated into the text's arena, because the scratch does not live as long as
 * what is called. */
static int take_arguments(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_invoke *invoke = &exec->invoke;
  if (op->narguments == 0) {
    return 0;
  }
  invoke->args =
      tdsd_arena_take(&exec->arena, op->narguments * sizeof *invoke->args);
  if (invoke->args == NULL) {
    return no_memory(exec);
  }
  invoke->nargs = op->narguments;
  for (uint32_t i = 0; i < op->narguments; i++) {
    const struct tdsd_argument *argument = &op->arguments[i];
    struct tdsd_variable *arg = &invoke->args[i];
    struct tdsd_value value = {.is_null = true, .bytes = ""};
    arg->name = argument->name;
    arg->is_default = argument->expr == NULL;
    arg->output = argument->output != TDSD_NO_SLOT;
    if (argument->expr != NULL &&
        tdsd_exec_eval(exec, argument->expr, &value) < 0) {
      return -1;
    }
    if (tdsd_convert(&value, &value.type, 0, &exec->arena, &arg->value,
                     &exec->fault) < 0) {
      return -1;
    }
  }
  return 0;
}

static int begin_nested(struct tdsd_exec *exec,
                        const struct tdsd_op *op,
                        const char *sql,
                        size_t len) {
  const struct tdsd_answer *asking = exec->answer;
  if (asking->nesting + 1 >= TDSD_NESTING_MAX) {
    return tdsd_fault_set(&exec->fault, 217, 16,
                          "Maximum stored procedure, function, trigger, or "
                          "view nesting level exceeded (limit %u).",
                          TDSD_NESTING_MAX);
  }
  exec->nested = (struct tdsd_answer){.sql = sql,
                                      .len = len,
                                      .params = exec->invoke.params,
                                      .nparams = exec->invoke.nparams,
                                      .nesting = asking->nesting + 1,
                                      .catching = asking->catching ||
                                                  op->handler != TDSD_NO_SLOT,
                                      .state = exec->state,
                                      .stream = exec->stream,
                                      .session = asking->session};
  tdsd_answer_begin(&exec->nested);
  return 0;
}

static int call_text(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  exec->invoke = (struct tdsd_invoke){.name = NULL};
  if (tdsd_exec_eval_text(exec, op->exprs[0], &text) < 0) {
    return -1;
  }
  const char *copy = tdsd_arena_copy(&exec->arena, text.bytes, text.len);
  return copy == NULL ? no_memory(exec)
                      : begin_nested(exec, op, copy, text.len);
}

/* Output values and the return status go to the variables. */
static int take_results(struct tdsd_exec *exec) {
  const struct tdsd_op *op = exec->op;
  const struct tdsd_invoke *invoke = &exec->invoke;
  struct tdsd_value status = {.type = {.kind = TDSD_INT}, .bytes = ""};
  for (uint32_t i = 0; i < op->narguments; i++) {
    if (op->arguments[i].output != TDSD_NO_SLOT &&
        tdsd_exec_assign(exec, op->arguments[i].output,
                         &invoke->args[i].value) < 0) {
      return -1;
    }
  }
  status.integer = invoke->status;
  return op->slot == TDSD_NO_SLOT ? 0
                                  : tdsd_exec_assign(exec, op->slot, &status);
}

static int call_procedure(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_invoke *invoke = &exec->invoke;
  *invoke = (struct tdsd_invoke){.name = op->text,
                                 .arena = &exec->arena,
                                 .state = exec->state,
                                 .stream = exec->stream};
  if (take_arguments(exec, op) < 0) {
    return -1;
  }
  tdsd_stream_enter(exec->stream);
  int rc = tdsd_invoke_begin(invoke, &exec->fault);
  if (rc == 0 && invoke->sql != NULL) {
    rc = begin_nested(exec, op, invoke->sql, invoke->len);
    if (rc == 0) {
      return 0;
    }
  }
  if (rc < 0) {
    exec->stream->procedures--;
    return -1;
  }
  tdsd_stream_leave(exec->stream, invoke->status, NULL, 0, 0);
  return take_results(exec);
}

int tdsd_exec_call(struct tdsd_exec *exec, const struct tdsd_op *op) {
  return op->kind == TDSD_OP_EXEC_TEXT ? call_text(exec, op)
                                       : call_procedure(exec, op);
}

void tdsd_exec_tables(struct tdsd_exec *exec, const struct tdsd_op *op) {
  const struct tdsd_answer *asking = exec->answer;
  exec->invoke = (struct tdsd_invoke){.name = NULL};
  exec->nested = (struct tdsd_answer){.sql = op->text,
                                      .len = strlen(op->text),
                                      .nesting = asking->nesting + 1,
                                      .batch = &exec->batch,
                                      .line = op->line,
                                      .slot = op->slot,
                                      .catching = true,
                                      .state = exec->state,
                                      .stream = exec->stream,
                                      .session = asking->session};
  tdsd_answer_begin_tables(&exec->nested);
}

/* SELECT @x = col FROM t. */
static int take_values(struct tdsd_exec *exec) {
  const struct tdsd_answer *nested = &exec->nested;
  for (uint32_t i = 0; i < nested->ntargets; i++) {
    if (tdsd_exec_assign(exec, (uint32_t)nested->targets[i],
                         &nested->values[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

int tdsd_exec_return(struct tdsd_exec *exec, enum tdsd_answer_result result) {
  struct tdsd_answer *nested = &exec->nested;
  bool procedure = exec->invoke.name != NULL;
  int rc = 0;
  exec->kill = exec->kill || result == TDSD_ANSWER_KILL;
  exec->stop = exec->stop || nested->aborted;
  exec->answer->aborted = exec->answer->aborted || nested->aborted;
  if (result == TDSD_ANSWER_RAISED) {
    exec->fault = nested->fault;
    exec->terminated = nested->terminated;
    rc = -1;
  } else {
    rc = take_values(exec);
  }
  if (procedure && rc < 0) {
    exec->stream->procedures--;
  } else if (procedure) {
    exec->invoke.status =
        nested->status != 0 ? nested->status : exec->state->error;
    tdsd_stream_leave(exec->stream, exec->invoke.status, NULL, 0, 0);
    tdsd_invoke_end(&exec->invoke);
    rc = take_results(exec);
  }
  tdsd_answer_end(nested);
  return rc;
}
