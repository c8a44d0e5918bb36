/* SPDX-License-Identifier: MIT */
/* The @@ names and functions that clients ask for. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_reply.h"
#include "server_text.h"

static int no_memory(const struct tdsd_context *context) {
  return tdsd_fault_set(context->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

/* Text results are copied, because the state may change before they are sent. */
static int set_text(const struct tdsd_context *context,
                    const char *text,
                    size_t len,
                    struct tdsd_value *out) {
  out->bytes = tdsd_arena_copy(context->arena, text, len);
  out->len = len;
  return out->bytes == NULL ? no_memory(context) : 0;
}

enum global {
  GLOBAL_DATEFIRST,
  GLOBAL_ERROR,
  GLOBAL_LANGUAGE,
  GLOBAL_LOCK_TIMEOUT,
  GLOBAL_MAX_PRECISION,
  GLOBAL_OPTIONS,
  GLOBAL_ROWCOUNT,
  GLOBAL_SERVERNAME,
  GLOBAL_SPID,
  GLOBAL_TEXTSIZE,
  GLOBAL_TRANCOUNT,
  GLOBAL_VERSION,
};

static const struct {
  const char *name;
  enum tdsd_kind kind;
  uint32_t size;
} globals[] = {
    [GLOBAL_DATEFIRST] = {"@@DATEFIRST", TDSD_TINYINT, 0},
    [GLOBAL_ERROR] = {"@@ERROR", TDSD_INT, 0},
    [GLOBAL_LANGUAGE] = {"@@LANGUAGE", TDSD_NVARCHAR, 128},
    [GLOBAL_LOCK_TIMEOUT] = {"@@LOCK_TIMEOUT", TDSD_INT, 0},
    [GLOBAL_MAX_PRECISION] = {"@@MAX_PRECISION", TDSD_TINYINT, 0},
    [GLOBAL_OPTIONS] = {"@@OPTIONS", TDSD_INT, 0},
    [GLOBAL_ROWCOUNT] = {"@@ROWCOUNT", TDSD_INT, 0},
    [GLOBAL_SERVERNAME] = {"@@SERVERNAME", TDSD_NVARCHAR, 128},
    [GLOBAL_SPID] = {"@@SPID", TDSD_SMALLINT, 0},
    [GLOBAL_TEXTSIZE] = {"@@TEXTSIZE", TDSD_INT, 0},
    [GLOBAL_TRANCOUNT] = {"@@TRANCOUNT", TDSD_INT, 0},
    [GLOBAL_VERSION] = {"@@VERSION", TDSD_NVARCHAR, 300},
};

int32_t tdsd_global_find(const char *name, size_t len) {
  for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++) {
    if (strlen(globals[i].name) == len &&
        strncasecmp(globals[i].name, name, len) == 0) {
      return (int32_t)i;
    }
  }
  return -1;
}

struct tdsd_type tdsd_global_type(uint32_t slot) {
  return (struct tdsd_type){
      .kind = globals[slot].kind, .size = globals[slot].size, .nullable = true};
}

/* The bits of @@OPTIONS that were SET ON. */
static int64_t option_bits(const struct tdsd_state *state) {
  static const struct {
    const char *name;
    int64_t bit;
  } bits[] = {{"implicit_transactions", 2}, {"cursor_close_on_commit", 4},
              {"ansi_warnings", 8},         {"ansi_padding", 16},
              {"ansi_nulls", 32},           {"arithabort", 64},
              {"quoted_identifier", 256},   {"nocount", 512},
              {"ansi_null_dflt_on", 1024},  {"concat_null_yields_null", 4096},
              {"numeric_roundabort", 8192}, {"xact_abort", 16384}};
  int64_t sum = 0;
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    sum += tdsd_text_same(tdsd_state_get(state, bits[i].name, "off"), "on")
               ? bits[i].bit
               : 0;
  }
  return sum;
}

static int64_t option_number(const struct tdsd_state *state,
                             const char *name,
                             const char *otherwise) {
  return strtol(tdsd_state_get(state, name, otherwise), NULL, 10);
}

static int64_t global_integer(uint32_t slot, const struct tdsd_state *state) {
  switch (slot) {
  case GLOBAL_DATEFIRST:
    return option_number(state, "datefirst", "7");
  case GLOBAL_ERROR:
    return state->error;
  case GLOBAL_LOCK_TIMEOUT:
    return option_number(state, "lock_timeout", "-1");
  case GLOBAL_MAX_PRECISION:
    return 38;
  case GLOBAL_OPTIONS:
    return option_bits(state);
  case GLOBAL_ROWCOUNT:
    return state->rowcount;
  case GLOBAL_SPID:
    return state->spid;
  case GLOBAL_TEXTSIZE:
    return option_number(state, "textsize", "2147483647");
  default:
    return state->tran_count;
  }
}

int tdsd_global_eval(uint32_t slot,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  *out = (struct tdsd_value){.type = tdsd_global_type(slot), .bytes = ""};
  const char *text = NULL;
  if (slot == GLOBAL_VERSION) {
    text = tdsd_version_text;
  } else if (slot == GLOBAL_SERVERNAME) {
    text = TDSD_SERVER_NAME;
  } else if (slot == GLOBAL_LANGUAGE) {
    text = context->state->language;
  } else {
    out->integer = global_integer(slot, context->state);
    return 0;
  }
  return set_text(context, text, strlen(text), out);
}

enum function {
  FN_APP_NAME,
  FN_CHAR,
  FN_COALESCE,
  FN_CONNECTIONPROPERTY,
  FN_DATALENGTH,
  FN_DB_NAME,
  FN_GETDATE,
  FN_GETUTCDATE,
  FN_HOST_NAME,
  FN_ISNULL,
  FN_LEN,
  FN_LOWER,
  FN_NCHAR,
  FN_ORIGINAL_LOGIN,
  FN_REPLICATE,
  FN_SERVERPROPERTY,
  FN_SESSIONPROPERTY,
  FN_SUSER_NAME,
  FN_SUSER_SNAME,
  FN_SYSDATETIME,
  FN_SYSUTCDATETIME,
  FN_SYSTEM_USER,
  FN_UPPER,
  FN_XACT_STATE,
};

static const struct {
  const char *name;
  uint8_t least, most;
  enum tdsd_kind kind;
  uint8_t scale;
  uint32_t size;
} functions[] = {
    [FN_APP_NAME] = {"app_name", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_CHAR] = {"char", 1, 1, TDSD_VARCHAR, 0, 1},
    [FN_COALESCE] = {"coalesce", 2, 16, TDSD_INT, 0, 0},
    [FN_CONNECTIONPROPERTY] = {"connectionproperty", 1, 1, TDSD_NVARCHAR, 0,
                               128},
    [FN_DATALENGTH] = {"datalength", 1, 1, TDSD_INT, 0, 0},
    [FN_DB_NAME] = {"db_name", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_GETDATE] = {"getdate", 0, 0, TDSD_DATETIME, 0, 0},
    [FN_GETUTCDATE] = {"getutcdate", 0, 0, TDSD_DATETIME, 0, 0},
    [FN_HOST_NAME] = {"host_name", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_ISNULL] = {"isnull", 2, 2, TDSD_INT, 0, 0},
    [FN_LEN] = {"len", 1, 1, TDSD_INT, 0, 0},
    [FN_LOWER] = {"lower", 1, 1, TDSD_NVARCHAR, 0, 0},
    [FN_NCHAR] = {"nchar", 1, 1, TDSD_NVARCHAR, 0, 2},
    [FN_ORIGINAL_LOGIN] = {"original_login", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_REPLICATE] = {"replicate", 2, 2, TDSD_NVARCHAR, 0, 0},
    [FN_SERVERPROPERTY] = {"serverproperty", 1, 1, TDSD_NVARCHAR, 0, 128},
    [FN_SESSIONPROPERTY] = {"sessionproperty", 1, 1, TDSD_INT, 0, 0},
    [FN_SUSER_NAME] = {"suser_name", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_SUSER_SNAME] = {"suser_sname", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_SYSDATETIME] = {"sysdatetime", 0, 0, TDSD_DATETIME2, 7, 0},
    [FN_SYSUTCDATETIME] = {"sysutcdatetime", 0, 0, TDSD_DATETIME2, 7, 0},
    [FN_SYSTEM_USER] = {"system_user", 0, 0, TDSD_NVARCHAR, 0, 128},
    [FN_UPPER] = {"upper", 1, 1, TDSD_NVARCHAR, 0, 0},
    [FN_XACT_STATE] = {"xact_state", 0, 0, TDSD_SMALLINT, 0, 0},
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
  case FN_ISNULL:
    type = expr->args[expr->args[0]->type.untyped ? 1 : 0]->type;
    type.nullable = true;
    break;
  case FN_COALESCE:
    type = expr->args[0]->type;
    for (uint32_t i = 1; i < expr->nargs; i++) {
      type = tdsd_type_meet(type, expr->args[i]->type);
    }
    type.nullable = true;
    break;
  case FN_LOWER:
  case FN_UPPER:
    type = same_text(&expr->args[0]->type, false);
    break;
  case FN_REPLICATE:
    type = same_text(&expr->args[0]->type, true);
    break;
  default:
    break;
  }
  return type;
}

static void set_now(struct tdsd_value *out) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  out->days = tdsd_days_from_civil(1970, 1, 1) + (int32_t)(now.tv_sec / 86400);
  out->ticks = (now.tv_sec % 86400) * INT64_C(10000000) + now.tv_nsec / 100;
}

static int replicate(const struct tdsd_value *args,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_convert(&args[0], &out->type, 0, context->arena, &text,
                   context->fault) < 0) {
    return -1;
  }
  out->is_null = text.is_null || args[1].is_null || args[1].integer < 0;
  if (out->is_null || text.len == 0) {
    return 0;
  }
  size_t units = tdsd_text_units(text.bytes, text.len);
  uint64_t most = out->type.size == TDSD_SIZE_MAX ? TDSD_CAP_VALUE / text.len
                                                  : out->type.size / units;
  uint64_t times = (uint64_t)args[1].integer;
  times = times < most ? times : most;
  char *bytes = tdsd_arena_take(context->arena, times * text.len + 1);
  if (bytes == NULL) {
    return no_memory(context);
  }
  for (uint64_t i = 0; i < times; i++) {
    memcpy(bytes + i * text.len, text.bytes, text.len);
  }
  out->bytes = bytes;
  out->len = times * text.len;
  return 0;
}

static int change_case(const struct tdsd_value *args,
                       bool upper,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_convert(&args[0], &out->type, 0, context->arena, &text,
                   context->fault) < 0) {
    return -1;
  }
  out->is_null = text.is_null;
  char *copy = tdsd_arena_copy(context->arena, text.bytes, text.len);
  if (copy == NULL) {
    return no_memory(context);
  }
  for (size_t i = 0; i < text.len; i++) {
    copy[i] = (char)(upper ? toupper((unsigned char)copy[i])
                           : tolower((unsigned char)copy[i]));
  }
  out->bytes = copy;
  out->len = text.len;
  return 0;
}

static int as_text(const struct tdsd_value *in,
                   const struct tdsd_context *context,
                   struct tdsd_value *out) {
  struct tdsd_type max = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  return tdsd_convert(in, &max, 0, context->arena, out, context->fault);
}

static int length_of(const struct tdsd_value *args,
                     bool bytes,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  struct tdsd_value text;
  if (tdsd_kind_is_binary(args[0].type.kind)) {
    out->is_null = args[0].is_null;
    out->integer = (int64_t)args[0].len;
    return 0;
  }
  if (as_text(&args[0], context, &text) < 0) {
    return -1;
  }
  out->is_null = text.is_null;
  size_t len = text.len;
  while (!bytes && len > 0 && text.bytes[len - 1] == ' ') {
    len--; /* LEN does not count blanks at the end */
  }
  size_t width = bytes && tdsd_kind_is_wide(args[0].type.kind) ? 2 : 1;
  out->integer = (int64_t)(width * tdsd_text_units(text.bytes, len));
  return 0;
}

static int character(const struct tdsd_value *arg,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  bool wide = tdsd_kind_is_wide(out->type.kind);
  char text[4];
  uint8_t unit[2] = {(uint8_t)arg->integer, (uint8_t)(arg->integer >> 8)};
  out->is_null =
      arg->is_null || arg->integer < 0 || arg->integer > (wide ? 65535 : 255);
  size_t len = wide ? tdsd_text_from_w16(unit, 1, text)
                    : tdsd_text_from_1252(unit, 1, text);
  return set_text(context, text, len, out);
}

static int first_not_null(const struct tdsd_expr *expr,
                          const struct tdsd_value *args,
                          const struct tdsd_context *context,
                          struct tdsd_value *out) {
  uint32_t i = 0;
  while (i + 1 < expr->nargs && args[i].is_null) {
    i++;
  }
  return tdsd_convert(&args[i], &expr->type, 0, context->arena, out,
                      context->fault);
}

/* Properties by name; NULL for those that nobody was seen to ask for. */
static int property(const struct tdsd_value *arg,
                    const struct tdsd_context *context,
                    struct tdsd_value *out) {
  static const char *const known[][2] = {
      {"EngineEdition", "3"},
      {"Edition", "Developer Edition (64-bit)"},
      {"ProductVersion", "16.0.1000.6"},
      {"ProductLevel", "RTM"},
      {"ServerName", TDSD_SERVER_NAME},
      {"MachineName", TDSD_SERVER_NAME},
      {"InstanceName", ""},
      {"net_transport", "TCP"},
      {"protocol_type", "TSQL"},
      {"auth_scheme", "SQL"}};
  struct tdsd_value name;
  if (as_text(arg, context, &name) < 0) {
    return -1;
  }
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (!name.is_null && tdsd_text_same(known[i][0], name.bytes)) {
      return set_text(context, known[i][1], strlen(known[i][1]), out);
    }
  }
  out->is_null = true;
  return 0;
}

static int session_property(const struct tdsd_value *arg,
                            const struct tdsd_context *context,
                            struct tdsd_value *out) {
  struct tdsd_value name;
  if (as_text(arg, context, &name) < 0) {
    return -1;
  }
  const char *value = tdsd_state_get(context->state, name.bytes, "off");
  out->is_null = name.is_null;
  out->integer = tdsd_text_same(value, "on") ? 1 : 0;
  return 0;
}

static const char *state_text(uint32_t slot, const struct tdsd_state *state) {
  switch (slot) {
  case FN_DB_NAME:
    return state->database;
  case FN_APP_NAME:
    return state->app;
  case FN_HOST_NAME:
    return state->host;
  default:
    return state->login;
  }
}

int tdsd_function_eval(const struct tdsd_expr *expr,
                       const struct tdsd_value *args,
                       const struct tdsd_context *context,
                       struct tdsd_value *out) {
  *out = (struct tdsd_value){.type = expr->type, .bytes = ""};
  switch ((enum function)expr->slot) {
  case FN_CHAR:
  case FN_NCHAR:
    return character(&args[0], context, out);
  case FN_COALESCE:
  case FN_ISNULL:
    return first_not_null(expr, args, context, out);
  case FN_LEN:
    return length_of(args, false, context, out);
  case FN_DATALENGTH:
    return length_of(args, true, context, out);
  case FN_GETDATE:
  case FN_GETUTCDATE:
  case FN_SYSDATETIME:
  case FN_SYSUTCDATETIME:
    set_now(out);
    return 0;
  case FN_LOWER:
    return change_case(args, false, context, out);
  case FN_UPPER:
    return change_case(args, true, context, out);
  case FN_REPLICATE:
    return replicate(args, context, out);
  case FN_SERVERPROPERTY:
  case FN_CONNECTIONPROPERTY:
    return property(&args[0], context, out);
  case FN_SESSIONPROPERTY:
    return session_property(&args[0], context, out);
  case FN_XACT_STATE:
    out->integer = context->state->tran_count != 0 ? 1 : 0;
    return 0;
  case FN_APP_NAME:
  case FN_DB_NAME:
  case FN_HOST_NAME:
  case FN_ORIGINAL_LOGIN:
  case FN_SUSER_NAME:
  case FN_SUSER_SNAME:
  case FN_SYSTEM_USER:
  default: {
    const char *text = state_text(expr->slot, context->state);
    return set_text(context, text, strlen(text), out);
  }
  }
}
