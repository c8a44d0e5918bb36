/* SPDX-License-Identifier: MIT */
#include "server_function.h"

#include <strings.h>

static const struct {
  const char *name;
  uint8_t least, most;
  enum tdsd_kind kind;
  uint8_t scale;
  uint32_t size;
  tdsd_function_fn *eval;
} functions[] = {
    [TDSD_FN_APP_NAME] = {"app_name", 0, 0, TDSD_NVARCHAR, 0, 128,
                          tdsd_function_property},
    [TDSD_FN_CHAR] = {"char", 1, 1, TDSD_VARCHAR, 0, 1, tdsd_function_plain},
    [TDSD_FN_COALESCE] = {"coalesce", 2, 16, TDSD_INT, 0, 0,
                          tdsd_function_plain},
    [TDSD_FN_CONNECTIONPROPERTY] = {"connectionproperty", 1, 1, TDSD_NVARCHAR,
                                    0, 128, tdsd_function_property},
    [TDSD_FN_CONTEXT_INFO] = {"context_info", 0, 0, TDSD_VARBINARY, 0, 128,
                              tdsd_function_property},
    [TDSD_FN_CURRENT_USER] = {"current_user", 0, 0, TDSD_NVARCHAR, 0, 128,
                              tdsd_function_property},
    [TDSD_FN_DATALENGTH] = {"datalength", 1, 1, TDSD_INT, 0, 0,
                            tdsd_function_plain},
    [TDSD_FN_DB_ID] = {"db_id", 0, 1, TDSD_SMALLINT, 0, 0,
                       tdsd_function_property},
    [TDSD_FN_DB_NAME] = {"db_name", 0, 1, TDSD_NVARCHAR, 0, 128,
                         tdsd_function_property},
    [TDSD_FN_ERROR_LINE] = {"error_line", 0, 0, TDSD_INT, 0, 0,
                            tdsd_function_property},
    [TDSD_FN_ERROR_MESSAGE] = {"error_message", 0, 0, TDSD_NVARCHAR, 0, 4000,
                               tdsd_function_property},
    [TDSD_FN_ERROR_NUMBER] = {"error_number", 0, 0, TDSD_INT, 0, 0,
                              tdsd_function_property},
    [TDSD_FN_ERROR_PROCEDURE] = {"error_procedure", 0, 0, TDSD_NVARCHAR, 0, 128,
                                 tdsd_function_property},
    [TDSD_FN_ERROR_SEVERITY] = {"error_severity", 0, 0, TDSD_INT, 0, 0,
                                tdsd_function_property},
    [TDSD_FN_ERROR_STATE] = {"error_state", 0, 0, TDSD_INT, 0, 0,
                             tdsd_function_property},
    [TDSD_FN_GETDATE] = {"getdate", 0, 0, TDSD_DATETIME, 0, 0,
                         tdsd_function_plain},
    [TDSD_FN_GETUTCDATE] = {"getutcdate", 0, 0, TDSD_DATETIME, 0, 0,
                            tdsd_function_plain},
    [TDSD_FN_HOST_NAME] = {"host_name", 0, 0, TDSD_NVARCHAR, 0, 128,
                           tdsd_function_property},
    [TDSD_FN_ISNULL] = {"isnull", 2, 2, TDSD_INT, 0, 0, tdsd_function_plain},
    [TDSD_FN_LEN] = {"len", 1, 1, TDSD_INT, 0, 0, tdsd_function_plain},
    [TDSD_FN_LOWER] = {"lower", 1, 1, TDSD_NVARCHAR, 0, 0, tdsd_function_plain},
    [TDSD_FN_NCHAR] = {"nchar", 1, 1, TDSD_NVARCHAR, 0, 2, tdsd_function_plain},
    [TDSD_FN_NEWID] = {"newid", 0, 0, TDSD_GUID, 0, 0, tdsd_function_plain},
    [TDSD_FN_NULLIF] = {"nullif", 2, 2, TDSD_INT, 0, 0, tdsd_function_plain},
    [TDSD_FN_OBJECT_ID] = {"object_id", 1, 2, TDSD_INT, 0, 0,
                           tdsd_function_property},
    [TDSD_FN_ORIGINAL_LOGIN] = {"original_login", 0, 0, TDSD_NVARCHAR, 0, 128,
                                tdsd_function_property},
    [TDSD_FN_REPLICATE] = {"replicate", 2, 2, TDSD_NVARCHAR, 0, 0,
                           tdsd_function_plain},
    [TDSD_FN_SCHEMA_NAME] = {"schema_name", 0, 0, TDSD_NVARCHAR, 0, 128,
                             tdsd_function_property},
    [TDSD_FN_SCOPE_IDENTITY] = {"scope_identity", 0, 0, TDSD_DECIMAL, 0, 0,
                                tdsd_function_property},
    [TDSD_FN_SERVERPROPERTY] = {"serverproperty", 1, 1, TDSD_NVARCHAR, 0, 128,
                                tdsd_function_property},
    [TDSD_FN_SESSION_CONTEXT] = {"session_context", 1, 1, TDSD_NVARCHAR, 0,
                                 4000, tdsd_function_property},
    [TDSD_FN_SESSION_USER] = {"session_user", 0, 0, TDSD_NVARCHAR, 0, 128,
                              tdsd_function_property},
    [TDSD_FN_SESSIONPROPERTY] = {"sessionproperty", 1, 1, TDSD_INT, 0, 0,
                                 tdsd_function_property},
    [TDSD_FN_SUSER_NAME] = {"suser_name", 0, 0, TDSD_NVARCHAR, 0, 128,
                            tdsd_function_property},
    [TDSD_FN_SUSER_SNAME] = {"suser_sname", 0, 0, TDSD_NVARCHAR, 0, 128,
                             tdsd_function_property},
    [TDSD_FN_SYSDATETIME] = {"sysdatetime", 0, 0, TDSD_DATETIME2, 7, 0,
                             tdsd_function_plain},
    [TDSD_FN_SYSUTCDATETIME] = {"sysutcdatetime", 0, 0, TDSD_DATETIME2, 7, 0,
                                tdsd_function_plain},
    [TDSD_FN_SYSTEM_USER] = {"system_user", 0, 0, TDSD_NVARCHAR, 0, 128,
                             tdsd_function_property},
    [TDSD_FN_UPPER] = {"upper", 1, 1, TDSD_NVARCHAR, 0, 0, tdsd_function_plain},
    [TDSD_FN_USER_NAME] = {"user_name", 0, 0, TDSD_NVARCHAR, 0, 128,
                           tdsd_function_property},
    [TDSD_FN_XACT_STATE] = {"xact_state", 0, 0, TDSD_SMALLINT, 0, 0,
                            tdsd_function_property},
};

int32_t tdsd_function_find(const char *name,
                           uint32_t nargs,
                           struct tdsd_fault *fault) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (strcasecmp(functions[i].name, name) != 0) {
      continue;
    }
    if (nargs < functions[i].least || nargs > functions[i].most) {
      return tdsd_fault_set(fault, 174, 15,
                            "The %s function requires %u argument(s).",
                            functions[i].name, (unsigned)functions[i].least);
    }
    return (int32_t)i;
  }
  return tdsd_fault_set(fault, 195, 15,
                        "'%.128s' is not a recognized built-in function name.",
                        name);
}

/* The string type a function over a string has. */
static struct tdsd_type same_text(const struct tdsd_type *in, bool longer) {
  struct tdsd_type type = {.kind = TDSD_VARCHAR, .nullable = true};
  bool wide = tdsd_kind_is_wide(in->kind);
  bool text = tdsd_kind_is_text(in->kind);
  type.kind = wide ? TDSD_NVARCHAR : TDSD_VARCHAR;
  type.collation = in->collation;
  type.size = text && !longer ? in->size : wide ? 4000 : 8000;
  if (text && in->size == TDSD_SIZE_MAX) {
    type.size = TDSD_SIZE_MAX;
  }
  return type;
}

struct tdsd_type tdsd_function_type(const struct tdsd_expr *expr) {
  struct tdsd_type type = {.kind = functions[expr->slot].kind,
                           .scale = functions[expr->slot].scale,
                           .size = functions[expr->slot].size,
                           .nullable = true};
  switch (expr->slot) {
  case TDSD_FN_NULLIF:
    type = expr->args[0]->type;
    type.nullable = true;
    break;
  case TDSD_FN_SCOPE_IDENTITY:
    type.precision = 38;
    break;
  case TDSD_FN_ISNULL:
    /* With a value that cannot be null the whole cannot be. */
    type = expr->args[expr->args[0]->type.untyped ? 1 : 0]->type;
    type.nullable = expr->args[1]->type.nullable;
    break;
  case TDSD_FN_COALESCE:
    type = expr->args[0]->type;
    for (uint32_t i = 1; i < expr->nargs; i++) {
      type = tdsd_type_meet(type, expr->args[i]->type);
    }
    type.nullable = true;
    break;
  case TDSD_FN_LOWER:
  case TDSD_FN_UPPER:
    type = same_text(&expr->args[0]->type, false);
    break;
  case TDSD_FN_REPLICATE:
    type = same_text(&expr->args[0]->type, true);
    break;
  default:
    break;
  }
  return type;
}

int tdsd_function_eval(const struct tdsd_expr *expr,
                       const struct tdsd_value *args,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  *out = (struct tdsd_value){.type = expr->type, .bytes = ""};
  return functions[expr->slot].eval(expr->slot, expr, args, context, out);
}
