/* SPDX-License-Identifier: MIT */
#include "server_report.h"

#include <string.h>

#include "server_option.h"
#include "server_state.h"

enum column {
  COL_SESSION_ID,
  COL_HOST_NAME,
  COL_PROGRAM_NAME,
  COL_LOGIN_NAME,
  COL_ORIGINAL_LOGIN_NAME,
  COL_STATUS,
  COL_IS_USER_PROCESS,
  COL_DATABASE_ID,
  COL_TRANSACTION_ISOLATION_LEVEL,
  COL_OPEN_TRANSACTION_COUNT,
  COL_ROW_COUNT,
  COL_PREV_ERROR,
  COL_TEXT_SIZE,
  COL_LOCK_TIMEOUT,
  COL_DATE_FIRST,
  COL_DATE_FORMAT,
  COL_LANGUAGE,
  COL_ANSI_NULLS,
  COL_ANSI_PADDING,
  COL_ANSI_WARNINGS,
  COL_ANSI_NULL_DFLT_ON,
  COL_ARITHABORT,
  COL_CONCAT_NULL_YIELDS_NULL,
  COL_QUOTED_IDENTIFIER,
};

static const struct {
  const char *name;
  enum tdsd_kind kind;
  uint32_t size;
} columns[] = {
    [COL_SESSION_ID] = {"session_id", TDSD_SMALLINT, 0},
    [COL_HOST_NAME] = {"host_name", TDSD_NVARCHAR, 128},
    [COL_PROGRAM_NAME] = {"program_name", TDSD_NVARCHAR, 128},
    [COL_LOGIN_NAME] = {"login_name", TDSD_NVARCHAR, 128},
    [COL_ORIGINAL_LOGIN_NAME] = {"original_login_name", TDSD_NVARCHAR, 128},
    [COL_STATUS] = {"status", TDSD_NVARCHAR, 30},
    [COL_IS_USER_PROCESS] = {"is_user_process", TDSD_BIT, 0},
    [COL_DATABASE_ID] = {"database_id", TDSD_SMALLINT, 0},
    [COL_TRANSACTION_ISOLATION_LEVEL] = {"transaction_isolation_level",
                                         TDSD_SMALLINT, 0},
    [COL_OPEN_TRANSACTION_COUNT] = {"open_transaction_count", TDSD_INT, 0},
    [COL_ROW_COUNT] = {"row_count", TDSD_BIGINT, 0},
    [COL_PREV_ERROR] = {"prev_error", TDSD_INT, 0},
    [COL_TEXT_SIZE] = {"text_size", TDSD_INT, 0},
    [COL_LOCK_TIMEOUT] = {"lock_timeout", TDSD_INT, 0},
    [COL_DATE_FIRST] = {"date_first", TDSD_SMALLINT, 0},
    [COL_DATE_FORMAT] = {"date_format", TDSD_NVARCHAR, 3},
    [COL_LANGUAGE] = {"language", TDSD_NVARCHAR, 128},
    [COL_ANSI_NULLS] = {"ansi_nulls", TDSD_BIT, 0},
    [COL_ANSI_PADDING] = {"ansi_padding", TDSD_BIT, 0},
    [COL_ANSI_WARNINGS] = {"ansi_warnings", TDSD_BIT, 0},
    [COL_ANSI_NULL_DFLT_ON] = {"ansi_null_dflt_on", TDSD_BIT, 0},
    [COL_ARITHABORT] = {"arithabort", TDSD_BIT, 0},
    [COL_CONCAT_NULL_YIELDS_NULL] = {"concat_null_yields_null", TDSD_BIT, 0},
    [COL_QUOTED_IDENTIFIER] = {"quoted_identifier", TDSD_BIT, 0},
};

#define NCOLUMNS (sizeof columns / sizeof columns[0])

uint32_t tdsd_report_columns(void) {
  return (uint32_t)NCOLUMNS;
}

const char *tdsd_report_column(uint32_t i, struct tdsd_type *out_type) {
  *out_type = (struct tdsd_type){
      .kind = columns[i].kind, .size = columns[i].size, .nullable = true};
  return columns[i].name;
}

uint64_t tdsd_report_sessions(const struct tdsd_state *state) {
  uint64_t n = 0;
  if (state->world == NULL) {
    return 1;
  }
  for (const struct tdsd_state *s = state->world->first; s != NULL;
       s = s->next) {
    n++;
  }
  return n;
}

static const struct tdsd_state *nth(const struct tdsd_state *state,
                                    uint64_t n) {
  if (state->world == NULL) {
    return n == 0 ? state : NULL;
  }
  const struct tdsd_state *s = state->world->first;
  while (s != NULL && n-- > 0) {
    s = s->next;
  }
  return s;
}

static const char *text_of(size_t column,
                           const struct tdsd_state *of,
                           const struct tdsd_state *asking) {
  switch (column) {
  case COL_HOST_NAME:
    return of->host;
  case COL_PROGRAM_NAME:
    return of->app;
  case COL_LOGIN_NAME:
    return tdsd_state_user(of);
  case COL_ORIGINAL_LOGIN_NAME:
    return of->login;
  case COL_STATUS:
    return of == asking ? "running" : "sleeping";
  case COL_DATE_FORMAT:
    return tdsd_option_get(of, "dateformat");
  default:
    return of->language;
  }
}

static int64_t number_of(size_t column, const struct tdsd_state *of) {
  switch (column) {
  case COL_SESSION_ID:
    return of->spid;
  case COL_IS_USER_PROCESS:
    return 1;
  case COL_DATABASE_ID:
    return tdsd_state_database_id(of->database);
  case COL_TRANSACTION_ISOLATION_LEVEL:
    return of->isolation;
  case COL_OPEN_TRANSACTION_COUNT:
    return of->tran_count;
  case COL_ROW_COUNT:
    return of->rowcount;
  case COL_PREV_ERROR:
    return of->error;
  case COL_TEXT_SIZE:
    return tdsd_option_number(of, "textsize");
  case COL_LOCK_TIMEOUT:
    return tdsd_option_number(of, "lock_timeout");
  case COL_DATE_FIRST:
    return tdsd_option_number(of, "datefirst");
  default:
    return tdsd_option_on(of, columns[column].name) ? 1 : 0;
  }
}

int tdsd_report_row(const struct tdsd_state *state,
                    uint64_t n,
                    struct tdsd_arena *arena,
                    struct tdsd_value *out_row) {
  const struct tdsd_state *of = nth(state, n);
  if (of == NULL) {
    return 0;
  }
  for (size_t i = 0; i < NCOLUMNS; i++) {
    struct tdsd_value *value = &out_row[i];
    *value = (struct tdsd_value){.bytes = ""};
    (void)tdsd_report_column((uint32_t)i, &value->type);
    if (columns[i].kind != TDSD_NVARCHAR) {
      value->integer = number_of(i, of);
      continue;
    }
    const char *text = text_of(i, of, state);
    value->len = strlen(text);
    value->bytes = tdsd_arena_copy(arena, text, value->len);
    if (value->bytes == NULL) {
      return -1;
    }
  }
  return 1;
}
