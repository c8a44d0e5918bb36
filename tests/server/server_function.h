/* SPDX-License-Identifier: MIT */
/* The functions of the subset: server_function.c knows them by name,
 * server_builtin.c computes those of their arguments alone, server_property.c
 * those that tell about session and server. */
#ifndef TDSD_SERVER_FUNCTION_H
#define TDSD_SERVER_FUNCTION_H

#include "server_eval.h"

enum tdsd_function_name {
  TDSD_FN_APP_NAME,
  TDSD_FN_CHAR,
  TDSD_FN_COALESCE,
  TDSD_FN_CONNECTIONPROPERTY,
  TDSD_FN_CONTEXT_INFO,
  TDSD_FN_CURRENT_USER,
  TDSD_FN_DATALENGTH,
  TDSD_FN_DB_ID,
  TDSD_FN_DB_NAME,
  TDSD_FN_ERROR_LINE,
  TDSD_FN_ERROR_MESSAGE,
  TDSD_FN_ERROR_NUMBER,
  TDSD_FN_ERROR_PROCEDURE,
  TDSD_FN_ERROR_SEVERITY,
  TDSD_FN_ERROR_STATE,
  TDSD_FN_GETDATE,
  TDSD_FN_GETUTCDATE,
  TDSD_FN_HOST_NAME,
  TDSD_FN_ISNULL,
  TDSD_FN_LEN,
  TDSD_FN_LOWER,
  TDSD_FN_NCHAR,
  TDSD_FN_NEWID,
  TDSD_FN_NULLIF,
  TDSD_FN_OBJECT_ID,
  TDSD_FN_ORIGINAL_LOGIN,
  TDSD_FN_REPLICATE,
  TDSD_FN_SCHEMA_NAME,
  TDSD_FN_SCOPE_IDENTITY,
  TDSD_FN_SERVERPROPERTY,
  TDSD_FN_SESSION_CONTEXT,
  TDSD_FN_SESSION_USER,
  TDSD_FN_SESSIONPROPERTY,
  TDSD_FN_SUSER_NAME,
  TDSD_FN_SUSER_SNAME,
  TDSD_FN_SYSDATETIME,
  TDSD_FN_SYSUTCDATETIME,
  TDSD_FN_SYSTEM_USER,
  TDSD_FN_UPPER,
  TDSD_FN_USER_NAME,
  TDSD_FN_XACT_STATE,
};

typedef int tdsd_function_fn(uint32_t which,
                             const struct tdsd_expr *expr,
                             const struct tdsd_value *args,
                             const struct tdsd_context *context,
                             struct tdsd_value *out);
tdsd_function_fn tdsd_function_plain;
tdsd_function_fn tdsd_function_property;

/* A result that is text. */
int tdsd_set_text(const struct tdsd_context *context,
                  const char *text,
                  size_t len,
                  struct tdsd_value *out);

/* Any value as text. */
int tdsd_as_text(const struct tdsd_value *in,
                 const struct tdsd_context *context,
                 struct tdsd_value *out);

#endif
