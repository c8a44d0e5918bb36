/* SPDX-License-Identifier: MIT */
/* Statements that change the session or wait. */
#include <stdio.h>
#include <string.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_option.h"
#include "server_sql.h"
#include "server_text.h"
#include "server_tran.h"

static void change_language(struct tdsd_exec *exec, const char *language) {
  char text[128];
  tdsd_stream_flush(exec->stream);
  tdsd_write_env_text(&exec->stream->writer, TDSD_ENV_LANGUAGE, language,
                      exec->state->language);
  (void)snprintf(exec->state->language, sizeof exec->state->language, "%.64s",
                 language);
  (void)snprintf(text, sizeof text, "Changed language setting to %.64s.",
                 language);
  tdsd_stream_info(exec->stream, 5703, 10, 1, text);
}

static int run_set_option(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (tdsd_text_same(op->name, "isolation")) {
    exec->state->isolation = (uint8_t)(op->text[0] - '0');
  } else if (tdsd_text_same(op->name, "language")) {
    change_language(exec, op->text);
  } else if (!tdsd_option_set(exec->state, op->name, op->text)) {
    return tdsd_fault_set(&exec->fault, 195, 15,
                          "'%.64s' is not a recognized SET option.", op->name);
  }
  bool on = tdsd_text_same(op->text, "on");
  if (tdsd_text_same(op->name, "xact_abort")) {
    exec->state->xact_abort = on;
  } else if (tdsd_text_same(op->name, "nocount")) {
    exec->stream->nocount = on;
  }
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
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
  tdsd_stream_flush(exec->stream);
  tdsd_write_env_text(&exec->stream->writer, TDSD_ENV_DATABASE, op->name,
                      exec->state->database);
  (void)snprintf(exec->state->database, sizeof exec->state->database, "%.128s",
                 op->name);
  (void)snprintf(text, sizeof text, "Changed database context to '%.128s'.",
                 op->name);
  tdsd_stream_info(exec->stream, 5701, 10, op->line, text);
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

/* A name may be a variable's, whose value it then is. */
static int tran_name(struct tdsd_exec *exec,
                     const struct tdsd_op *op,
                     const char **out_name) {
  struct tdsd_type type = {.kind = TDSD_NVARCHAR, .size = 32};
  struct tdsd_value value;
  *out_name = op->name;
  if (op->slot == TDSD_NO_SLOT) {
    return 0;
  }
  if (tdsd_convert(&exec->batch.variables[op->slot].value, &type, 0,
                   &exec->scratch, &value, &exec->fault) < 0) {
    return -1;
  }
  *out_name = value.bytes;
  return 0;
}

static int run_tran(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_tran tran = {exec->state, exec->answer->session, exec->stream};
  const char *name = NULL;
  uint32_t command = TDSD_CMD_SET;
  int rc = tran_name(exec, op, &name);
  if (rc == 0 && op->kind == TDSD_OP_BEGIN) {
    command = TDSD_CMD_BEGIN;
    rc = tdsd_tran_begin(&tran, name, &exec->fault);
  } else if (rc == 0 && op->kind == TDSD_OP_COMMIT) {
    command = TDSD_CMD_COMMIT;
    rc = tdsd_tran_commit(&tran, &exec->fault);
  } else if (rc == 0 && op->kind == TDSD_OP_ROLLBACK) {
    command = TDSD_CMD_ROLLBACK;
    rc = tdsd_tran_rollback(&tran, name, &exec->fault);
  } else if (rc == 0) {
    rc = tdsd_tran_save(&tran, name, &exec->fault);
  }
  if (rc == 0) {
    tdsd_stream_done(exec->stream, 0, command, 0);
  }
  return rc;
}

static int begin_wait(struct tdsd_exec *exec,
                      const struct tdsd_op *op,
                      uint64_t now_ns) {
  struct tdsd_value text;
  struct tdsd_value delay;
  if (tdsd_exec_eval_text(exec, op->exprs[0], &text) < 0) {
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

int tdsd_exec_statement(struct tdsd_exec *exec,
                        const struct tdsd_op *op,
                        uint64_t now_ns) {
  switch ((int)op->kind) {
  case TDSD_OP_SET_OPTION:
    return run_set_option(exec, op);
  case TDSD_OP_USE:
    return run_use(exec, op);
  case TDSD_OP_BEGIN:
  case TDSD_OP_COMMIT:
  case TDSD_OP_ROLLBACK:
  case TDSD_OP_SAVE:
    return run_tran(exec, op);
  case TDSD_OP_WAITFOR:
    return begin_wait(exec, op, now_ns);
  default:
    tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
    return 0;
  }
}
