/* SPDX-License-Identifier: MIT */
#include "server_option.h"

#include <stdlib.h>

#include "server_state.h"
#include "server_text.h"

/* on_odbc: on after a login with the ODBC bit (OptionFlags2), as SqlClient and
 * ODBC have it; DB-Library clients send SETs of their own.  bit: in @@OPTIONS. */
static const struct option {
  const char *name;
  const char *value; /* after the login; NULL = on or off by on_odbc */
  uint32_t bit;
  bool on_odbc;
  bool ansi; /* one of those that SET ANSI_DEFAULTS changes */
} options[] = {
    {"ansi_nulls", NULL, 32, true, true},
    {"ansi_padding", NULL, 16, true, true},
    {"ansi_warnings", NULL, 8, true, true},
    {"ansi_null_dflt_on", NULL, 1024, true, true},
    {"quoted_identifier", NULL, 256, true, true},
    {"concat_null_yields_null", NULL, 4096, true, false},
    {"cursor_close_on_commit", NULL, 4, false, true},
    {"implicit_transactions", NULL, 2, false, true},
    {"ansi_defaults", NULL, 0, false, false},
    {"ansi_null_dflt_off", NULL, 2048, false, false},
    {"arithabort", NULL, 64, false, false},
    {"arithignore", NULL, 128, false, false},
    {"nocount", NULL, 512, false, false},
    {"numeric_roundabort", NULL, 8192, false, false},
    {"xact_abort", NULL, 16384, false, false},
    {"fmtonly", NULL, 0, false, false},
    {"forceplan", NULL, 0, false, false},
    {"noexec", NULL, 0, false, false},
    {"parseonly", NULL, 0, false, false},
    {"remote_proc_transactions", NULL, 0, false, false},
    {"showplan_all", NULL, 0, false, false},
    {"showplan_text", NULL, 0, false, false},
    {"showplan_xml", NULL, 0, false, false},
    {"io", NULL, 0, false, false},      /* SET STATISTICS */
    {"time", NULL, 0, false, false},    /* SET STATISTICS */
    {"profile", NULL, 0, false, false}, /* SET STATISTICS */
    {"xml", NULL, 0, false, false},     /* SET STATISTICS */
    {"datefirst", "7", 0, false, false},
    {"dateformat", "mdy", 0, false, false},
    {"deadlock_priority", "0", 0, false, false},
    {"identity_insert", "", 0, false, false}, /* the table */
    {"lock_timeout", "-1", 0, false, false},
    {"query_governor_cost_limit", "0", 0, false, false},
    {"rowcount", "0", 0, false, false},
    {"textsize", "2147483647", 0, false, false},
};

#define NOPTIONS (sizeof options / sizeof options[0])

static const struct option *find(const char *name) {
  for (size_t i = 0; i < NOPTIONS; i++) {
    if (tdsd_text_same(options[i].name, name)) {
      return &options[i];
    }
  }
  return NULL;
}

static const char *baseline(const struct tdsd_state *state,
                            const struct option *option) {
  if (option->value != NULL) {
    return option->value;
  }
  return option->on_odbc && state->odbc ? "on" : "off";
}

const char *tdsd_option_get(const struct tdsd_state *state, const char *name) {
  const struct option *option = find(name);
  return option == NULL
             ? ""
             : tdsd_state_get(state, option->name, baseline(state, option));
}

bool tdsd_option_on(const struct tdsd_state *state, const char *name) {
  return tdsd_text_same(tdsd_option_get(state, name), "on");
}

int64_t tdsd_option_number(const struct tdsd_state *state, const char *name) {
  return strtol(tdsd_option_get(state, name), NULL, 10);
}

/* A textsize of 0 or -1 stands for the default and for no limit. */
static const char *settle(const struct option *option, const char *value) {
  if (tdsd_text_same(option->name, "textsize")) {
    long size = strtol(value, NULL, 10);
    return size == 0 ? "4096" : size < 0 ? "2147483647" : value;
  }
  return value;
}

bool tdsd_option_set(struct tdsd_state *state,
                     const char *name,
                     const char *value) {
  const struct option *option = find(name);
  if (option == NULL) {
    return false;
  }
  bool set = tdsd_state_set(state, option->name, settle(option, value));
  bool all = tdsd_text_same(option->name, "ansi_defaults");
  for (size_t i = 0; all && i < NOPTIONS; i++) {
    set = set &&
          (!options[i].ansi || tdsd_state_set(state, options[i].name, value));
  }
  return set;
}

int64_t tdsd_option_bits(const struct tdsd_state *state) {
  int64_t sum = 0;
  for (size_t i = 0; i < NOPTIONS; i++) {
    bool on = options[i].bit != 0 && tdsd_option_on(state, options[i].name);
    sum += on ? options[i].bit : 0;
  }
  return sum;
}

const char *tdsd_isolation_name(uint8_t isolation) {
  static const char *const names[] = {"unspecified",    "read uncommitted",
                                      "read committed", "repeatable read",
                                      "serializable",   "snapshot"};
  return names[isolation < 6 ? isolation : 0];
}

/* First what always has a value, then the switches that are on, then the
 * isolation level. */
bool tdsd_option_line(const struct tdsd_state *state,
                      size_t n,
                      const char **out_name,
                      const char **out_value) {
  static const char *const valued[] = {"textsize", "language", "dateformat",
                                       "datefirst", "lock_timeout"};
  const size_t nvalued = sizeof valued / sizeof valued[0];
  if (n < nvalued) {
    *out_name = valued[n];
    *out_value = n == 1 ? state->language : tdsd_option_get(state, valued[n]);
    return true;
  }
  n -= nvalued;
  for (size_t i = 0; i < NOPTIONS; i++) {
    bool on = options[i].bit != 0 && tdsd_option_on(state, options[i].name);
    if (on && n-- == 0) {
      *out_name = options[i].name;
      *out_value = "SET";
      return true;
    }
  }
  *out_name = "isolation level";
  *out_value = tdsd_isolation_name(state->isolation);
  return n == 0;
}
