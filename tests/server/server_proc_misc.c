/* SPDX-License-Identifier: MIT */
/* Procedures that clients call around their work.  There are no tables, so the
 * catalogue of them has the right columns and no rows. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_proc.h"

#define COLUMNS_MAX 24u

void tdsd_invoke_columns(const char *const *columns,
                         size_t n,
                         struct tdsd_column *out) {
  for (size_t i = 0; i < n; i++) {
    struct tdsd_type type = {.kind = TDSD_INT, .nullable = true};
    switch (columns[i][0]) {
    case 'n':
      type.kind = TDSD_NVARCHAR;
      type.size = 128;
      break;
    case 'v':
      type.kind = TDSD_VARCHAR;
      type.size = 254;
      break;
    case 's':
      type.kind = TDSD_SMALLINT;
      break;
    default:
      break;
    }
    out[i] = (struct tdsd_column){.name = columns[i] + 2, .type = type};
  }
}

void tdsd_invoke_empty_result(const struct tdsd_invoke *invoke,
                              const char *const *columns,
                              size_t n) {
  struct tdsd_column written[COLUMNS_MAX];
  n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
  tdsd_invoke_columns(columns, n, written);
  tdsd_stream_flush(invoke->stream);
  tdsd_write_columns(&invoke->stream->writer, written, n);
  tdsd_stream_done(invoke->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT, 0);
}

static int run_tables(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  static const char *const columns[] = {"n TABLE_QUALIFIER", "n TABLE_OWNER",
                                        "n TABLE_NAME", "v TABLE_TYPE",
                                        "v REMARKS"};
  (void)fault;
  tdsd_invoke_empty_result(invoke, columns, sizeof columns / sizeof columns[0]);
  return 0;
}

static int run_columns(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  static const char *const columns[] = {"n TABLE_QUALIFIER",
                                        "n TABLE_OWNER",
                                        "n TABLE_NAME",
                                        "n COLUMN_NAME",
                                        "s DATA_TYPE",
                                        "n TYPE_NAME",
                                        "i PRECISION",
                                        "i LENGTH",
                                        "s SCALE",
                                        "s RADIX",
                                        "s NULLABLE",
                                        "v REMARKS",
                                        "n COLUMN_DEF",
                                        "s SQL_DATA_TYPE",
                                        "s SQL_DATETIME_SUB",
                                        "i CHAR_OCTET_LENGTH",
                                        "i ORDINAL_POSITION",
                                        "v IS_NULLABLE",
                                        "s SS_DATA_TYPE"};
  (void)fault;
  tdsd_invoke_empty_result(invoke, columns, sizeof columns / sizeof columns[0]);
  return 0;
}

static int missing(struct tdsd_invoke *invoke,
                   const char *parameter,
                   struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 201, 16,
                        "Procedure or function '%.128s' expects parameter "
                        "'%s', which was not supplied.",
                        invoke->name, parameter);
}

static bool is_true(const struct tdsd_variable *arg) {
  return arg != NULL && !arg->value.is_null && arg->value.integer != 0;
}

static int run_set_session_context(struct tdsd_invoke *invoke,
                                   struct tdsd_fault *fault) {
  const struct tdsd_variable *value = tdsd_invoke_arg(invoke, 1, "@value");
  const char *key = NULL;
  size_t len = 0;
  if (tdsd_invoke_text(invoke, 0, "@key", &key, &len, fault) < 0) {
    return -1;
  }
  if (key == NULL || len == 0 || value == NULL) {
    return missing(invoke, value == NULL && len != 0 ? "@value" : "@key",
                   fault);
  }
  if (value->value.len > 8000) {
    return tdsd_fault_set(fault, 15666, 16,
                          "The value for key '%.128s' has more than 8000 "
                          "bytes.",
                          key);
  }
  return tdsd_context_set(&invoke->state->context, key, &value->value,
                          is_true(tdsd_invoke_arg(invoke, 2, "@read_only")),
                          fault);
}

/* Any role and password will do: what matters is that the session has one. */
static int run_setapprole(struct tdsd_invoke *invoke,
                          struct tdsd_fault *fault) {
  static const char cookie[] = "tdsd's only cookie";
  struct tdsd_state *state = invoke->state;
  struct tdsd_variable *out = tdsd_invoke_arg(invoke, 4, "@cookie");
  const char *role = NULL;
  size_t len = 0;
  if (tdsd_invoke_text(invoke, 0, "@rolename", &role, &len, fault) < 0) {
    return -1;
  }
  if (role == NULL || len == 0) {
    return missing(invoke, "@rolename", fault);
  }
  if (state->app_role[0] != 0) {
    return tdsd_fault_set(fault, 2762, 16,
                          "sp_setapprole was not invoked correctly: an "
                          "application role is active already.");
  }
  (void)snprintf(state->app_role, sizeof state->app_role, "%.63s", role);
  if (out != NULL && is_true(tdsd_invoke_arg(invoke, 3, "@fCreateCookie"))) {
    out->value = (struct tdsd_value){
        .type = {.kind = TDSD_VARBINARY, .size = 8000, .nullable = true},
        .bytes = cookie,
        .len = sizeof cookie - 1};
  }
  return 0;
}

static int run_unsetapprole(struct tdsd_invoke *invoke,
                            struct tdsd_fault *fault) {
  if (invoke->state->app_role[0] == 0 ||
      tdsd_invoke_arg(invoke, 0, "@cookie") == NULL) {
    return tdsd_fault_set(fault, 15592, 16,
                          "Cannot unset application role because none was set "
                          "or the cookie is invalid.");
  }
  invoke->state->app_role[0] = 0;
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct tdsd_invoke *invoke, struct tdsd_fault *fault);
} procedures[] = {
    {"sp_datatype_info", tdsd_invoke_datatype_info},
    {"sp_datatype_info_90", tdsd_invoke_datatype_info},
    {"sp_datatype_info_100", tdsd_invoke_datatype_info},
    {"sp_set_session_context", run_set_session_context},
    {"sp_setapprole", run_setapprole},
    {"sp_unsetapprole", run_unsetapprole},
    {"sp_tables", run_tables},
    {"sp_columns", run_columns},
    {"sp_columns_90", run_columns},
    {"sp_columns_100", run_columns},
};

int tdsd_invoke_misc(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  for (size_t i = 0; i < sizeof procedures / sizeof procedures[0]; i++) {
    if (strcasecmp(procedures[i].name, invoke->name) == 0) {
      return procedures[i].run(invoke, fault);
    }
  }
  return 1;
}
