/* SPDX-License-Identifier: MIT */
/* PRINT, RAISERROR and THROW. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_sql.h"

int tdsd_exec_print(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  if (tdsd_exec_eval_text(exec, op->exprs[0], &text) < 0) {
    return -1;
  }
  tdsd_stream_info(exec->stream, 0, 0, op->line,
                   text.is_null ? "" : text.bytes);
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
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
    if (tdsd_exec_eval_text(exec, arg, &text) < 0) {
      return -1;
    }
    if (text.is_null) {
      text.bytes = "(null)";
      text.len = 6;
    }
  } else {
    if (tdsd_exec_eval_int(exec, arg, &integer) < 0) {
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

/* The severity decides what the error does; beyond 18 it needs WITH LOG. */
static int raise(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  int64_t severity = 0;
  int64_t state = 0;
  char message[sizeof exec->fault.text];
  if (tdsd_exec_eval_text(exec, op->exprs[0], &text) < 0 ||
      tdsd_exec_eval_int(exec, op->exprs[1], &severity) < 0 ||
      tdsd_exec_eval_int(exec, op->exprs[2], &state) < 0 ||
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

int tdsd_exec_raiserror(struct tdsd_exec *exec, const struct tdsd_op *op) {
  if (raise(exec, op) < 0) {
    return -1;
  }
  tdsd_stream_message(exec->stream, &exec->fault);
  tdsd_stream_done(exec->stream, 0, TDSD_CMD_SET, 0);
  return 0;
}

/* THROW alone raises again what the CATCH around it has caught. */
static int rethrow(struct tdsd_exec *exec, const struct tdsd_op *op) {
  const struct tdsd_fault *caught = exec->caught[op->catches - 1];
  if (caught != NULL) {
    exec->fault = *caught;
  }
  exec->thrown = true;
  return -1;
}

int tdsd_exec_throw(struct tdsd_exec *exec, const struct tdsd_op *op) {
  struct tdsd_value text;
  int64_t number = 0;
  int64_t state = 0;
  if (op->nexprs == 0) {
    return rethrow(exec, op);
  }
  if (tdsd_exec_eval_int(exec, op->exprs[0], &number) < 0 ||
      tdsd_exec_eval_text(exec, op->exprs[1], &text) < 0 ||
      tdsd_exec_eval_int(exec, op->exprs[2], &state) < 0) {
    return -1;
  }
  if (number < 50000 || number > INT32_MAX) {
    return tdsd_fault_set(&exec->fault, 35100, 16,
                          "Error number %" PRId64 " in the THROW statement is "
                          "outside the valid range.",
                          number);
  }
  (void)tdsd_fault_set(&exec->fault, (int32_t)number, 16, "%.*s", 900,
                       text.bytes);
  exec->fault.state = (uint8_t)(state < 0 ? 1 : state > 255 ? 255 : state);
  exec->thrown = true;
  return -1;
}
