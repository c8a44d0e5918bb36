/* SPDX-License-Identifier: MIT */
/* The @@ names. */
#include <string.h>
#include <strings.h>

#include "server_function.h"
#include "server_option.h"
#include "server_reply.h"

enum global {
  GLOBAL_DATEFIRST,
  GLOBAL_ERROR,
  GLOBAL_IDENTITY,
  GLOBAL_LANGUAGE,
  GLOBAL_LOCK_TIMEOUT,
  GLOBAL_MAX_CONNECTIONS,
  GLOBAL_MAX_PRECISION,
  GLOBAL_NESTLEVEL,
  GLOBAL_OPTIONS,
  GLOBAL_PROCID,
  GLOBAL_ROWCOUNT,
  GLOBAL_SERVERNAME,
  GLOBAL_SERVICENAME,
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
    [GLOBAL_IDENTITY] = {"@@IDENTITY", TDSD_BIGINT, 0},
    [GLOBAL_LANGUAGE] = {"@@LANGUAGE", TDSD_NVARCHAR, 128},
    [GLOBAL_LOCK_TIMEOUT] = {"@@LOCK_TIMEOUT", TDSD_INT, 0},
    [GLOBAL_MAX_CONNECTIONS] = {"@@MAX_CONNECTIONS", TDSD_INT, 0},
    [GLOBAL_MAX_PRECISION] = {"@@MAX_PRECISION", TDSD_TINYINT, 0},
    [GLOBAL_NESTLEVEL] = {"@@NESTLEVEL", TDSD_INT, 0},
    [GLOBAL_OPTIONS] = {"@@OPTIONS", TDSD_INT, 0},
    [GLOBAL_PROCID] = {"@@PROCID", TDSD_INT, 0},
    [GLOBAL_ROWCOUNT] = {"@@ROWCOUNT", TDSD_INT, 0},
    [GLOBAL_SERVERNAME] = {"@@SERVERNAME", TDSD_NVARCHAR, 128},
    [GLOBAL_SERVICENAME] = {"@@SERVICENAME", TDSD_NVARCHAR, 128},
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

static int64_t global_integer(uint32_t slot,
                              const struct tdsd_context *context) {
  const struct tdsd_state *state = context->state;
  switch (slot) {
  case GLOBAL_DATEFIRST:
    return tdsd_option_number(state, "datefirst");
  case GLOBAL_ERROR:
    return state->error;
  case GLOBAL_LOCK_TIMEOUT:
    return tdsd_option_number(state, "lock_timeout");
  case GLOBAL_MAX_PRECISION:
    return 38;
  case GLOBAL_MAX_CONNECTIONS:
    return 32767;
  case GLOBAL_NESTLEVEL:
    return context->nesting;
  case GLOBAL_PROCID:
    return 0;
  case GLOBAL_OPTIONS:
    return tdsd_option_bits(state);
  case GLOBAL_ROWCOUNT:
    return state->rowcount;
  case GLOBAL_SPID:
    return state->spid;
  case GLOBAL_TEXTSIZE:
    return tdsd_option_number(state, "textsize");
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
  } else if (slot == GLOBAL_SERVICENAME) {
    text = "MSSQLSERVER";
  } else if (slot == GLOBAL_IDENTITY) {
    out->is_null = !context->state->has_identity;
    out->integer = context->state->identity;
    return 0;
  } else if (slot == GLOBAL_LANGUAGE) {
    text = context->state->language;
  } else {
    out->integer = global_integer(slot, context);
    return 0;
  }
  return tdsd_set_text(context, text, strlen(text), out);
}
