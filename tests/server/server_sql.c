/* SPDX-License-Identifier: MIT */
#include "server_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_parse.h"
#include "server_text.h"

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
  return tdsd_buf_len(exec->writer.reply) > REPLY_FULL ||
         now() - exec->step_ns > STEP_NS;
}

void tdsd_exec_begin(struct tdsd_exec *exec,
                     struct tdsd_state *state,
                     const struct tdsd_writer *writer,
                     const char *sql,
                     size_t len) {
  exec->state = state;
  exec->writer = *writer;
  const char *copy = tdsd_arena_copy(&exec->arena, sql, len);
  int rc = -1;
  if (copy == NULL) {
    (void)tdsd_fault_set(&exec->fault, 701, 17,
                         "There is insufficient memory for this query.");
  } else {
    rc = tdsd_parse(copy, len, &exec->arena, &exec->batch, &exec->fault);
  }
  if (rc < 0) {
    exec->batch.nops = 0;
    tdsd_exec_fail(exec, 0);
    exec->stop = true;
  }
}

void tdsd_exec_fini(struct tdsd_exec *exec) {
  tdsd_arena_fini(&exec->arena);
  tdsd_arena_fini(&exec->scratch);
}

static void write_pending(struct tdsd_exec *exec, bool more) {
  if (!exec->pending) {
    return;
  }
  exec->pending = false;
  tdsd_write_done(&exec->writer,
                  exec->procedure ? TDSD_TOK_DONEINPROC : TDSD_TOK_DONE,
                  exec->pending_status | (more ? TDSD_DONE_MORE : 0u),
                  exec->pending_command, exec->pending_rows);
}

void tdsd_exec_flush(struct tdsd_exec *exec) {
  write_pending(exec, true);
}

void tdsd_exec_done(struct tdsd_exec *exec,
                    uint32_t status,
                    uint32_t command,
                    uint64_t rows) {
  tdsd_exec_flush(exec);
  exec->pending = true;
  exec->pending_status = status;
  exec->pending_command = command;
  exec->pending_rows = rows;
}

static void write_rollback(struct tdsd_exec *exec) {
  uint64_t descriptor = tdsd_state_end(exec->state);
  uint8_t bytes[8];
  for (unsigned i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(descriptor >> (8 * i));
  }
  tdsd_exec_flush(exec);
  tdsd_write_env_bytes(&exec->writer, TDSD_ENV_ROLLBACK, "", 0, bytes, 8);
}

/* Failed conversions and unknown tables end the batch; a division by zero or an
 * overflow ends its statement. */
static bool ends_batch(int32_t number) {
  return number == 208 || number == 241 || number == 242 || number == 245 ||
         number == 8114 || number == 8169 || number == 2812;
}

void tdsd_exec_fail(struct tdsd_exec *exec, uint32_t command) {
  bool abort = exec->state->xact_abort && exec->fault.number != 50000;
  if (abort && exec->state->tran_count != 0) {
    write_rollback(exec);
  }
  tdsd_exec_flush(exec);
  tdsd_write_message(&exec->writer, &exec->fault);
  exec->state->error = exec->fault.number;
  exec->state->rowcount = 0;
  tdsd_exec_done(exec, TDSD_DONE_ERROR, command, 0);
  exec->stop = exec->stop || abort || ends_batch(exec->fault.number);
  exec->kill = exec->kill || exec->fault.class >= 20;
}

/* A context over the scratch arena, which is emptied before each operation. */
static struct tdsd_context context_of(struct tdsd_exec *exec) {
  return (struct tdsd_context){.arena = &exec->scratch,
                               .batch = &exec->batch,
                               .state = exec->state,
                               .fault = &exec->fault};
}

static int eval(struct tdsd_exec *exec,
                struct tdsd_expr *expr,
                struct tdsd_value *out) {
  struct tdsd_context context = context_of(exec);
  return tdsd_bind(expr, NULL, &exec->batch, &exec->fault) < 0
             ? -1
             : tdsd_eval(expr, &context, out);
}

/* Evaluates to text; NULL becomes an empty string. */
static int eval_text(struct tdsd_exec *exec,
                     struct tdsd_expr *expr,
                     struct tdsd_value *out) {
  struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  struct tdsd_value value;
  return eval(exec, expr, &value) < 0
             ? -1
             : tdsd_convert(&value, &text, 0, &exec->scratch, out,
                            &exec->fault);
}

static int eval_int(struct tdsd_exec *exec,
                    struct tdsd_expr *expr,
                    int64_t *out) {
  struct tdsd_type type = {.kind = TDSD_INT};
  struct tdsd_value value;
  if (eval(exec, expr, &value) < 0 ||
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
  struct tdsd_value *to = &exec->batch.variables[slot].value;
  struct tdsd_type type = to->type;
  return tdsd_convert(value, &type, 0, &exec->arena, to, &exec->fault);
}

static int run_assign(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value value;
  return eval(exec, op->exprs[0], &value) < 0
             ? -1
             : tdsd_exec_assign(exec, op->slot, &value);
}

static void write_info(struct tdsd_exec *exec,
                       int32_t number,
                       uint8_t class,
                       uint32_t line,
                       const char *text) {
  struct tdsd_fault info = {
      .number = number, .class = class, .state = 1, .line = line};
  (void)snprintf(info.text, sizeof info.text, "%s", text);
  tdsd_exec_flush(exec);
  tdsd_write_message(&exec->writer, &info);
}

static int run_print(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  if (eval_text(exec, op->exprs[0], &text) < 0) {
    return -1;
  }
  write_info(exec, 0, 0, op->line, text.is_null ? "" : text.bytes);
  tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  return 0;
}

/* Appends one argument of RAISERROR in the way its directive asks, as far as it
 * fits. */
static int format_one(struct tdsd_exec *exec,
                      char directive,
                      struct tdsd_expr *arg,
                      char *out,
                      size_t cap,
                      size_t *len) {
  char number[24];
  struct tdsd_value text = {.bytes = number};
  int64_t integer = 0;
  if (directive == 's') {
    if (eval_text(exec, arg, &text) < 0) {
      return -1;
    }
    if (text.is_null) {
      text.bytes = "(null)";
      text.len = 6;
    }
  } else {
    if (eval_int(exec, arg, &integer) < 0) {
      return -1;
    }
    int n = directive == 'x'
                ? snprintf(number, sizeof number, "%" PRIx32, (uint32_t)integer)
                : snprintf(number, sizeof number, "%" PRId64, integer);
    text.len = n < 0 ? 0 : (size_t)n;
  }
  size_t most = cap - 1 - *len;
  size_t keep = text.len < most ? text.len : most;
  memcpy(out + *len, text.bytes, keep);
  *len += keep;
  return 0;
}

/* %s, %d, %i, %u, %x and %% of RAISERROR's text, with the arguments behind the
 * third. */
static int format_message(struct tdsd_exec *exec,
                          const struct tdsd_op *op,
                          const char *format,
                          char *out,
                          size_t cap) {
  size_t len = 0;
  uint32_t arg = 3;
  for (; *format != 0 && len + 1 < cap; format++) {
    if (*format != '%' || format[1] == 0) {
      out[len++] = *format;
      continue;
    }
    format++;
    if (strchr("sdiux", *format) == NULL || arg >= op->nexprs) {
      out[len++] = *format;
      continue;
    }
    if (format_one(exec, *format, op->exprs[arg++], out, cap, &len) < 0) {
      return -1;
    }
  }
  out[len] = 0;
  return 0;
}

static int raise(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  int64_t severity = 0;
  int64_t state = 0;
  char message[sizeof exec->fault.text];
  if (eval_text(exec, op->exprs[0], &text) < 0 ||
      eval_int(exec, op->exprs[1], &severity) < 0 ||
      eval_int(exec, op->exprs[2], &state) < 0 ||
      format_message(exec, op, text.bytes, message, sizeof message) < 0) {
    return -1;
  }
  severity = severity < 0 ? 0 : severity > 25 ? 25 : severity;
  if (severity >= 19 && !op->with_log) {
    return tdsd_fault_set(&exec->fault, 2754, 16,
                          "Error severity levels greater than 18 can only be "
                          "specified by members of the sysadmin role, using "
                          "the WITH LOG option.");
  }
  (void)tdsd_fault_set(&exec->fault, 50000, (uint8_t)severity, "%s", message);
  exec->fault.state = (uint8_t)(state < 0 ? 1 : state > 255 ? 255 : state);
  exec->fault.line = op->line;
  return severity > 10 ? -1 : 0;
}

static int run_raiserror(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (raise(exec, op) < 0) {
    return -1;
  }
  tdsd_exec_flush(exec);
  tdsd_write_message(&exec->writer, &exec->fault);
  tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_throw(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  int64_t number = 0;
  int64_t state = 0;
  if (eval_int(exec, op->exprs[0], &number) < 0 ||
      eval_text(exec, op->exprs[1], &text) < 0 ||
      eval_int(exec, op->exprs[2], &state) < 0) {
    return -1;
  }
  if (number < 50000) {
    return tdsd_fault_set(&exec->fault, 35100, 16,
                          "Error number %" PRId64 " in the THROW statement is "
                          "outside the valid range.",
                          number);
  }
  (void)tdsd_fault_set(&exec->fault, (int32_t)number, 16, "%.*s", 900,
                       text.bytes);
  exec->fault.state = (uint8_t)state;
  exec->stop = true;
  return -1;
}

static void change_language(struct tdsd_exec *exec, const char *language) {
  char text[128];
  tdsd_exec_flush(exec);
  tdsd_write_env_text(&exec->writer, TDSD_ENV_LANGUAGE, language,
                      exec->state->language);
  (void)snprintf(exec->state->language, sizeof exec->state->language, "%.64s",
                 language);
  (void)snprintf(text, sizeof text, "Changed language setting to %.64s.",
                 language);
  write_info(exec, 5703, 10, 1, text);
}

static int run_set_option(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (tdsd_text_same(op->name, "isolation")) {
    exec->state->isolation = (uint8_t)(op->text[0] - '0');
  } else if (tdsd_text_same(op->name, "language")) {
    change_language(exec, op->text);
  } else if (!tdsd_state_set(exec->state, op->name, op->text)) {
    return tdsd_fault_set(&exec->fault, 195, 15,
                          "'%.64s' is not a recognized SET option.", op->name);
  }
  if (tdsd_text_same(op->name, "xact_abort")) {
    exec->state->xact_abort = tdsd_text_same(op->text, "on");
  }
  tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_use(struct tdsd_exec *exec, const struct tdsd_op *op) {
  char text[192];
  if (!tdsd_state_has_database(op->name)) {
    return tdsd_fault_set(&exec->fault, 911, 16,
                          "Database '%.128s' does not exist. Make sure that "
                          "the name is entered correctly.",
                          op->name);
  }
  tdsd_exec_flush(exec);
  tdsd_write_env_text(&exec->writer, TDSD_ENV_DATABASE, op->name,
                      exec->state->database);
  (void)snprintf(exec->state->database, sizeof exec->state->database, "%.128s",
                 op->name);
  (void)snprintf(text, sizeof text, "Changed database context to '%.128s'.",
                 op->name);
  write_info(exec, 5701, 10, op->line, text);
  tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  return 0;
}

static void write_descriptor(struct tdsd_exec *exec,
                             uint32_t type,
                             uint64_t now,
                             uint64_t before) {
  uint8_t bytes[8];
  uint64_t descriptor = now != 0 ? now : before;
  for (unsigned i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(descriptor >> (8 * i));
  }
  tdsd_exec_flush(exec);
  tdsd_write_env_bytes(&exec->writer, type, bytes, now != 0 ? 8 : 0, bytes,
                       before != 0 ? 8 : 0);
}

static int run_begin(struct tdsd_exec *exec) {
  if (tdsd_state_begin(exec->state)) {
    write_descriptor(exec, TDSD_ENV_BEGIN, exec->state->descriptor, 0);
  }
  tdsd_exec_done(exec, 0, TDSD_CMD_BEGIN, 0);
  return 0;
}

static int run_commit(struct tdsd_exec *exec) {
  if (exec->state->tran_count == 0) {
    return tdsd_fault_set(&exec->fault, 3902, 16,
                          "The COMMIT TRANSACTION request has no corresponding "
                          "BEGIN TRANSACTION.");
  }
  if (--exec->state->tran_count == 0) {
    write_descriptor(exec, TDSD_ENV_COMMIT, 0, tdsd_state_end(exec->state));
  }
  tdsd_exec_done(exec, 0, TDSD_CMD_COMMIT, 0);
  return 0;
}

/* Names of transactions are not kept: a name that is no savepoint rolls the
 * whole transaction back only if it is the outermost's, which we cannot tell, so
 * it is an error as in SQL Server for unknown names. */
static int run_rollback(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (exec->state->tran_count == 0) {
    return tdsd_fault_set(&exec->fault, 3903, 16,
                          "The ROLLBACK TRANSACTION request has no "
                          "corresponding BEGIN TRANSACTION.");
  }
  if (op->name == NULL) {
    write_rollback(exec);
  } else if (!tdsd_state_rollback_to(exec->state, op->name)) {
    return tdsd_fault_set(&exec->fault, 6401, 16,
                          "Cannot roll back %.128s. No transaction or "
                          "savepoint of that name was found.",
                          op->name);
  }
  tdsd_exec_done(exec, 0, TDSD_CMD_ROLLBACK, 0);
  return 0;
}

static int run_save(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (exec->state->tran_count == 0 || !tdsd_state_save(exec->state, op->name)) {
    return tdsd_fault_set(&exec->fault, 628, 16,
                          "Cannot issue SAVE TRANSACTION when there is no "
                          "active transaction.");
  }
  tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int begin_wait(struct tdsd_exec *exec,
                      const struct tdsd_op *op,
                      uint64_t now_ns) {
  struct tdsd_value text;
  struct tdsd_value delay;
  if (eval_text(exec, op->exprs[0], &text) < 0) {
    return -1;
  }
  if (text.is_null || memchr(text.bytes, ':', text.len) == NULL ||
      tdsd_date_parse(text.bytes, text.len, &delay) < 0) {
    return tdsd_fault_set(&exec->fault, 148, 15,
                          "Incorrect time syntax in time string '%.64s' used "
                          "with WAITFOR.",
                          text.bytes);
  }
  exec->waiting = true;
  exec->wake_ns = now_ns + (uint64_t)delay.ticks * 100;
  return 0;
}

static int unknown_procedure(struct tdsd_exec *exec, const struct tdsd_op *op) {
  return tdsd_fault_set(&exec->fault, 2812, 16,
                        "Could not find stored procedure '%.128s'.", op->name);
}

static int unknown_table(struct tdsd_exec *exec, const struct tdsd_op *op) {
  return tdsd_fault_set(&exec->fault, 208, 16, "Invalid object name '%.128s'.",
                        op->name);
}

static int run_guard(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_context context = context_of(exec);
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

/* Runs one operation but SELECT.  Returns 0, or -1 with the fault. */
static int run(struct tdsd_exec *exec,
               const struct tdsd_op *op,
               uint64_t now_ns) {
  switch (op->kind) {
  case TDSD_OP_PRINT:
    return run_print(exec, op);
  case TDSD_OP_RAISERROR:
    return run_raiserror(exec, op);
  case TDSD_OP_THROW:
    return run_throw(exec, op);
  case TDSD_OP_SET_OPTION:
    return run_set_option(exec, op);
  case TDSD_OP_ASSIGN:
    return run_assign(exec, op);
  case TDSD_OP_USE:
    return run_use(exec, op);
  case TDSD_OP_BEGIN:
    return run_begin(exec);
  case TDSD_OP_COMMIT:
    return run_commit(exec);
  case TDSD_OP_ROLLBACK:
    return run_rollback(exec, op);
  case TDSD_OP_SAVE:
    return run_save(exec, op);
  case TDSD_OP_WAITFOR:
    return begin_wait(exec, op, now_ns);
  case TDSD_OP_EXEC:
    return unknown_procedure(exec, op);
  case TDSD_OP_UNKNOWN:
    return unknown_table(exec, op);
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
  default:
    tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
    return 0;
  }
}

static void run_next(struct tdsd_exec *exec, uint64_t now_ns) {
  const struct tdsd_op *op = &exec->batch.ops[exec->pc++];
  tdsd_arena_fini(&exec->scratch);
  exec->fault.line = op->line;
  if (op->kind == TDSD_OP_SELECT) {
    tdsd_select_begin(exec, op->select);
    return;
  }
  int rc = run(exec, op, now_ns);
  if (rc < 0) {
    exec->fault.line = op->line;
    tdsd_exec_fail(exec, 0);
  } else if (op->kind != TDSD_OP_JUMP && op->kind != TDSD_OP_JUMP_FALSE) {
    exec->state->error = 0;
  }
}

static enum tdsd_exec_result finish(struct tdsd_exec *exec) {
  if (exec->procedure) {
    tdsd_exec_flush(exec);
    tdsd_write_return_status(&exec->writer, exec->stop ? 1 : 0);
    tdsd_write_done(&exec->writer, TDSD_TOK_DONEPROC, 0, 0, 0);
  } else if (exec->pending) {
    write_pending(exec, false);
  } else {
    tdsd_write_done(&exec->writer, TDSD_TOK_DONE, 0, TDSD_CMD_SET, 0);
  }
  return exec->kill ? TDSD_EXEC_KILL : TDSD_EXEC_DONE;
}

enum tdsd_exec_result tdsd_exec_step(struct tdsd_exec *exec, uint64_t now_ns) {
  if (exec->waiting) {
    if (now_ns < exec->wake_ns) {
      return TDSD_EXEC_WAIT;
    }
    exec->waiting = false;
    tdsd_exec_done(exec, 0, TDSD_CMD_SET, 0);
  }
  exec->step_ns = now();
  for (unsigned n = 0; n < OPS_A_STEP; n++) {
    if (exec->part != NULL) {
      tdsd_select_step(exec);
    } else if (exec->stop || exec->kill || exec->pc >= exec->batch.nops) {
      return finish(exec);
    } else {
      run_next(exec, now_ns);
    }
    if (exec->waiting) {
      return TDSD_EXEC_WAIT;
    }
    if (tdsd_exec_used_up(exec)) {
      return TDSD_EXEC_FULL;
    }
  }
  return TDSD_EXEC_FULL;
}
