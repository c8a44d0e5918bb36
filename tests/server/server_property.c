/* SPDX-License-Identifier: MIT */
/* Functions that tell about the session, its last error, and the server. */
#include <stdio.h>
#include <string.h>

#include "server_function.h"
#include "server_option.h"
#include "server_reply.h"
#include "server_text.h"

static int set_null(struct tdsd_value *out) {
  out->is_null = true;
  return 0;
}

static int set_string(const struct tdsd_context *context,
                      const char *text,
                      struct tdsd_value *out) {
  return text == NULL ? set_null(out)
                      : tdsd_set_text(context, text, strlen(text), out);
}

static int set_number(const struct tdsd_context *context,
                      uint64_t number,
                      struct tdsd_value *out) {
  char text[24];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
  return set_string(context, text, out);
}

/* What is true of every session and of the server; NULL for names that nobody
 * was seen to ask for. */
static int property(const struct tdsd_value *arg,
                    const struct tdsd_context *context,
                    struct tdsd_value *out) {
  static const char *const known[][2] = {
      {"EngineEdition", "3"},
      {"Edition", "Developer Edition (64-bit)"},
      {"ProductVersion", "16.0.1000.6"},
      {"ProductMajorVersion", "16"},
      {"ProductMinorVersion", "0"},
      {"ProductLevel", "RTM"},
      {"ServerName", TDSD_SERVER_NAME},
      {"MachineName", TDSD_SERVER_NAME},
      {"InstanceName", ""},
      {"Collation", "SQL_Latin1_General_CP1_CI_AS"},
      {"IsClustered", "0"},
      {"IsHadrEnabled", "0"},
      {"IsIntegratedSecurityOnly", "0"},
      {"IsSingleUser", "0"},
      {"net_transport", "TCP"},
      {"physical_net_transport", "TCP"},
      {"protocol_type", "TSQL"},
      {"auth_scheme", "SQL"}};
  struct tdsd_value name;
  if (tdsd_as_text(arg, context, &name) < 0) {
    return -1;
  }
  if (!name.is_null &&
      tdsd_text_same(name.bytes, "sp_reset_connection_count")) {
    return set_number(context, context->state->resets, out);
  }
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (!name.is_null && tdsd_text_same(known[i][0], name.bytes)) {
      return set_string(context, known[i][1], out);
    }
  }
  return set_null(out);
}

static int session_property(const struct tdsd_value *arg,
                            const struct tdsd_context *context,
                            struct tdsd_value *out) {
  static const char *const known[] = {"ansi_nulls",
                                      "ansi_padding",
                                      "ansi_warnings",
                                      "arithabort",
                                      "concat_null_yields_null",
                                      "numeric_roundabort",
                                      "quoted_identifier"};
  struct tdsd_value name;
  if (tdsd_as_text(arg, context, &name) < 0) {
    return -1;
  }
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (!name.is_null && tdsd_text_same(known[i], name.bytes)) {
      out->integer = tdsd_option_on(context->state, known[i]) ? 1 : 0;
      return 0;
    }
  }
  return set_null(out);
}

static int session_context(const struct tdsd_value *arg,
                           const struct tdsd_context *context,
                           struct tdsd_value *out) {
  struct tdsd_value name;
  if (tdsd_as_text(arg, context, &name) < 0) {
    return -1;
  }
  const struct tdsd_value *kept =
      name.is_null ? NULL
                   : tdsd_context_get(&context->state->context, name.bytes);
  return kept == NULL ? set_null(out)
                      : tdsd_convert(kept, &out->type, 0, context->arena, out,
                                     context->fault);
}

static int context_info(const struct tdsd_context *context,
                        struct tdsd_value *out) {
  const struct tdsd_state *state = context->state;
  return state->has_context_info
             ? tdsd_set_text(context, (const char *)state->context_info,
                             sizeof state->context_info, out)
             : set_null(out);
}

/* What the CATCH around has caught. */
static int caught(uint32_t which,
                  const struct tdsd_context *context,
                  struct tdsd_value *out) {
  const struct tdsd_fault *fault = context->state->caught;
  if (fault == NULL) {
    return set_null(out);
  }
  switch (which) {
  case TDSD_FN_ERROR_NUMBER:
    out->integer = fault->number;
    return 0;
  case TDSD_FN_ERROR_SEVERITY:
    out->integer = fault->class;
    return 0;
  case TDSD_FN_ERROR_STATE:
    out->integer = fault->state;
    return 0;
  case TDSD_FN_ERROR_LINE:
    out->integer = fault->line;
    return 0;
  case TDSD_FN_ERROR_MESSAGE:
    return set_string(context, fault->text, out);
  default:
    return set_null(out); /* no procedure has a name here */
  }
}

static int database(uint32_t which,
                    const struct tdsd_expr *expr,
                    const struct tdsd_value *arg,
                    const struct tdsd_context *context,
                    struct tdsd_value *out) {
  const char *current = context->state->database;
  struct tdsd_value text;
  if (which == TDSD_FN_DB_NAME) {
    const char *name = expr->nargs == 0 ? current
                       : arg->is_null
                           ? NULL
                           : tdsd_state_database_name((int32_t)arg->integer);
    return set_string(context, name, out);
  }
  if (expr->nargs != 0 && tdsd_as_text(arg, context, &text) < 0) {
    return -1;
  }
  out->integer =
      tdsd_state_database_id(expr->nargs == 0 ? current : text.bytes);
  out->is_null = out->integer == 0;
  return 0;
}

/* Only #temporary tables exist. */
static int object_id(const struct tdsd_value *arg,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value name;
  if (tdsd_as_text(arg, context, &name) < 0) {
    return -1;
  }
  const struct tdsd_temp *temp =
      name.is_null ? NULL : tdsd_temp_find(&context->state->temps, name.bytes);
  if (temp == NULL) {
    return set_null(out);
  }
  out->integer = temp->id;
  return 0;
}

static const char *who(uint32_t which, const struct tdsd_state *state) {
  bool user = which == TDSD_FN_USER_NAME || which == TDSD_FN_CURRENT_USER ||
              which == TDSD_FN_SESSION_USER;
  if (which == TDSD_FN_ORIGINAL_LOGIN) {
    return state->login;
  }
  if (user && state->app_role[0] != 0) {
    return state->app_role;
  }
  bool owner =
      user && state->nimpersonated == 0 && tdsd_text_same(state->login, "sa");
  return owner ? "dbo" : tdsd_state_user(state);
}

int tdsd_function_property(uint32_t which,
                           const struct tdsd_expr *expr,
                           const struct tdsd_value *args,
                           const struct tdsd_context *context,
                           struct tdsd_value *out) {
  const struct tdsd_state *state = context->state;
  switch ((int)which) {
  case TDSD_FN_SERVERPROPERTY:
  case TDSD_FN_CONNECTIONPROPERTY:
    return property(&args[0], context, out);
  case TDSD_FN_SESSIONPROPERTY:
    return session_property(&args[0], context, out);
  case TDSD_FN_SESSION_CONTEXT:
    return session_context(&args[0], context, out);
  case TDSD_FN_CONTEXT_INFO:
    return context_info(context, out);
  case TDSD_FN_DB_ID:
  case TDSD_FN_DB_NAME:
    return database(which, expr, &args[0], context, out);
  case TDSD_FN_OBJECT_ID:
    return object_id(&args[0], context, out);
  case TDSD_FN_XACT_STATE:
    out->integer = state->doomed ? -1 : state->tran_count != 0 ? 1 : 0;
    return 0;
  case TDSD_FN_ERROR_LINE:
  case TDSD_FN_ERROR_MESSAGE:
  case TDSD_FN_ERROR_NUMBER:
  case TDSD_FN_ERROR_PROCEDURE:
  case TDSD_FN_ERROR_SEVERITY:
  case TDSD_FN_ERROR_STATE:
    return caught(which, context, out);
  case TDSD_FN_SCOPE_IDENTITY:
    out->is_null = !state->has_identity;
    out->negative = state->identity < 0;
    out->magnitude = out->negative ? (tdsd_u128)0 - (tdsd_u128)state->identity
                                   : (tdsd_u128)state->identity;
    return 0;
  case TDSD_FN_APP_NAME:
    return set_string(context, state->app, out);
  case TDSD_FN_HOST_NAME:
    return set_string(context, state->host, out);
  case TDSD_FN_SCHEMA_NAME:
    return set_string(context, "dbo", out);
  default:
    return set_string(context, who(which, state), out);
  }
}
