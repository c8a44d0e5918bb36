/* SPDX-License-Identifier: MIT */
/* Statements on what a session has beside its options: #temporary tables, its
 * context, who it acts as; and on other sessions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server_const.h"
#include "server_option.h"
#include "server_parse.h"
#include "server_sql.h"
#include "server_text.h"

/* Reads "a int NOT NULL, b nvarchar(10), PRIMARY KEY (a)" into names and types;
 * what stands behind a type is passed over, and so are constraints. */
static int read_column(struct tdsd_parser *parser, struct tdsd_source *source) {
  static const char *const constraints[] = {"primary", "unique",  "constraint",
                                            "check",   "foreign", "index"};
  bool column = true;
  for (size_t i = 0; i < sizeof constraints / sizeof constraints[0]; i++) {
    column = column && !tdsd_lex_is(&parser->token, constraints[i]);
  }
  if (column) {
    uint32_t at = source->ncolumns++;
    if (tdsd_parse_name(parser, &source->names[at]) < 0 ||
        tdsd_parse_type(parser, 1, &source->types[at]) < 0) {
      return -1;
    }
  }
  for (unsigned open = 0;;) {
    bool comma = tdsd_lex_is_sign(&parser->token, ",");
    if (parser->token.lexeme == TDSD_LEX_END || (comma && open == 0)) {
      return 0;
    }
    open += tdsd_lex_is_sign(&parser->token, "(") ? 1 : 0;
    open -= open > 0 && tdsd_lex_is_sign(&parser->token, ")") ? 1 : 0;
    if (tdsd_parse_next(parser) < 0) {
      return -1;
    }
  }
}

int tdsd_exec_read_columns(struct tdsd_exec *exec,
                           const char *text,
                           struct tdsd_source *source) {
  struct tdsd_batch batch = {0};
  struct tdsd_parser parser = {.lexer = {.sql = text,
                                         .len = strlen(text),
                                         .line = 1,
                                         .arena = &exec->arena},
                               .arena = &exec->arena,
                               .fault = &exec->fault,
                               .batch = &batch};
  size_t room = 1;
  for (const char *at = text; *at != 0; at++) {
    room += *at == ',' ? 1 : 0;
  }
  source->names = tdsd_arena_take(&exec->arena, room * sizeof(const char *));
  source->types = tdsd_arena_take(&exec->arena, room * sizeof *source->types);
  if (source->names == NULL || source->types == NULL ||
      room > TDSD_CAP_COLUMNS) {
    return tdsd_fault_set(&exec->fault, 701, 17,
                          "There is insufficient memory for this query.");
  }
  bool more = true;
  if (tdsd_parse_next(&parser) < 0) {
    return -1;
  }
  while (more) {
    if (read_column(&parser, source) < 0 ||
        tdsd_parse_eat_sign(&parser, ",", &more) < 0) {
      return -1;
    }
  }
  return 0;
}

int tdsd_exec_create(struct tdsd_exec *exec,
                     const char *name,
                     const char *columns) {
  struct tdsd_source source = {0};
  if (!tdsd_temp_is_name(name)) {
    return tdsd_fault_set(&exec->fault, 262, 14,
                          "CREATE permission denied in database '%.128s': only "
                          "#temporary tables can be made here.",
                          exec->state->database);
  }
  if (tdsd_temp_find(&exec->state->temps, name) != NULL) {
    return tdsd_fault_set(&exec->fault, 2714, 16,
                          "There is already an object named '%.128s' in the "
                          "database.",
                          name);
  }
  if (tdsd_exec_read_columns(exec, columns, &source) < 0) {
    return -1;
  }
  return tdsd_temp_add(&exec->state->temps, name, columns) < 0
             ? tdsd_fault_set(&exec->fault, 701, 17,
                              "A session has at most %u temporary tables here.",
                              TDSD_CAP_TEMPS)
             : 0;
}

static int run_create(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (tdsd_exec_create(exec, op->name, op->text == NULL ? "" : op->text) < 0) {
    return -1;
  }
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_CREATE, 0);
  return 0;
}

static int run_drop(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (!tdsd_temp_drop(&exec->state->temps, op->name) && !op->with_log) {
    return tdsd_fault_set(&exec->fault, 3701, 11,
                          "Cannot drop the table '%.128s', because it does not "
                          "exist or you do not have permission.",
                          op->name);
  }
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_DROP, 0);
  return 0;
}

static int run_user_options(struct tdsd_exec *exec) {
  struct tdsd_column columns[2] = {
      {"Set Option", {.kind = TDSD_NVARCHAR, .size = 128, .nullable = true}},
      {"Value", {.kind = TDSD_NVARCHAR, .size = 128, .nullable = true}}};
  struct tdsd_value row[2] = {{.type = columns[0].type},
                              {.type = columns[1].type}};
  size_t n = 0;
  tdsd_stream_flush(exec->stream);
  tdsd_write_columns(&exec->stream->writer, columns, 2);
  while (tdsd_option_line(exec->state, n, &row[0].bytes, &row[1].bytes)) {
    row[0].len = strlen(row[0].bytes);
    row[1].len = strlen(row[1].bytes);
    tdsd_write_row(&exec->stream->writer, columns, row, 2);
    n++;
  }
  tdsd_stream_done(exec->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT, n);
  tdsd_stream_info(exec->stream, 2528, 10, exec->op->line,
                   "DBCC execution completed. If DBCC printed error messages, "
                   "contact your system administrator.");
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_context_info(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_state *state = exec->state;
  struct tdsd_type type = {.kind = TDSD_VARBINARY, .size = 128};
  struct tdsd_value value;
  if (tdsd_exec_eval(exec, op->exprs[0], &value) < 0 ||
      tdsd_convert(&value, &type, 0, &exec->scratch, &value, &exec->fault) <
          0) {
    return -1;
  }
  memset(state->context_info, 0, sizeof state->context_info);
  if (value.len != 0) {
    memcpy(state->context_info, value.bytes, value.len);
  }
  state->has_context_info = !value.is_null;
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_kill(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_world *world = exec->state->world;
  int64_t spid = 0;
  if (tdsd_exec_eval_int(exec, op->exprs[0], &spid) < 0) {
    return -1;
  }
  if (spid == exec->state->spid) {
    return tdsd_fault_set(&exec->fault, 6104, 16,
                          "Cannot use KILL to kill your own process.");
  }
  if (spid < 1 || spid > INT16_MAX || world == NULL || world->kill == NULL ||
      !world->kill(world->user, (uint16_t)spid)) {
    return tdsd_fault_set(&exec->fault, 6106, 16,
                          "Process ID %" PRId64 " is not an active process ID.",
                          spid);
  }
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_execute_as(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_state *state = exec->state;
  struct tdsd_value name;
  if (tdsd_exec_eval_text(exec, op->exprs[0], &name) < 0) {
    return -1;
  }
  if (name.is_null || name.len == 0) {
    return tdsd_fault_set(&exec->fault, 15517, 16,
                          "Cannot execute as the database principal because "
                          "the principal \"\" does not exist.");
  }
  if (state->nimpersonated == TDSD_IMPERSONATIONS_MAX) {
    return tdsd_fault_set(&exec->fault, 217, 16,
                          "EXECUTE AS is nested too deeply (limit %u).",
                          TDSD_IMPERSONATIONS_MAX);
  }
  (void)snprintf(state->impersonated[state->nimpersonated++], TDSD_OPTION_BYTES,
                 "%.63s", name.bytes);
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

static int run_revert(struct tdsd_exec *exec) {
  exec->state->nimpersonated -= exec->state->nimpersonated != 0 ? 1 : 0;
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

/* A table that exists is one without rows; nothing can change that. */
static int run_on_table(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (tdsd_temp_find(&exec->state->temps, op->name) == NULL) {
    return tdsd_fault_set(&exec->fault, 208, 16,
                          "Invalid object name '%.128s'.", op->name);
  }
  return tdsd_fault_set(&exec->fault, 40000, 16,
                        "The table '%.128s' only exists: the T-SQL subset "
                        "keeps no rows (tdsd --sqlite does).",
                        op->name);
}

int tdsd_exec_object(struct tdsd_exec *exec, const struct tdsd_op *op) {
  switch ((int)op->kind) {
  case TDSD_OP_CREATE:
    return run_create(exec, op);
  case TDSD_OP_DROP:
    return run_drop(exec, op);
  case TDSD_OP_USEROPTIONS:
    return run_user_options(exec);
  case TDSD_OP_CONTEXT_INFO:
    return run_context_info(exec, op);
  case TDSD_OP_KILL:
    return run_kill(exec, op);
  case TDSD_OP_EXECUTE_AS:
    return run_execute_as(exec, op);
  case TDSD_OP_REVERT:
    return run_revert(exec);
  default:
    return run_on_table(exec, op);
  }
}
