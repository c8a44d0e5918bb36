/* SPDX-License-Identifier: MIT */
/* The parser of actions: one small function for each that has arguments. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"
#include "mock_parse.h"

struct word {
  const char *name;
  int32_t value;
};

static const struct word scopes[] = {{"none", WEIR_DRV_SCOPE_NONE},
                                     {"statement", WEIR_DRV_SCOPE_STATEMENT},
                                     {"txn", WEIR_DRV_SCOPE_TXN},
                                     {"conn", WEIR_DRV_SCOPE_CONN},
                                     {"endpoint", WEIR_DRV_SCOPE_ENDPOINT},
                                     {"config", WEIR_DRV_SCOPE_CONFIG},
                                     {"driver", WEIR_DRV_SCOPE_DRIVER},
                                     {NULL, 0}};

static const struct word error_kinds[] = {
    {"other", WEIR_DRV_K_OTHER},
    {"network", WEIR_DRV_K_NETWORK},
    {"timeout", WEIR_DRV_K_TIMEOUT},
    {"cancelled", WEIR_DRV_K_CANCELLED},
    {"auth", WEIR_DRV_K_AUTH},
    {"auth_expired", WEIR_DRV_K_AUTH_EXPIRED},
    {"tls", WEIR_DRV_K_TLS},
    {"name", WEIR_DRV_K_NAME},
    {"protocol", WEIR_DRV_K_PROTOCOL},
    {"throttled", WEIR_DRV_K_THROTTLED},
    {"failover", WEIR_DRV_K_FAILOVER},
    {"deadlock", WEIR_DRV_K_DEADLOCK},
    {"constraint", WEIR_DRV_K_CONSTRAINT},
    {"syntax", WEIR_DRV_K_SYNTAX},
    {"resource", WEIR_DRV_K_RESOURCE},
    {"config", WEIR_DRV_K_CONFIG},
    {"unsupported", WEIR_DRV_K_UNSUPPORTED},
    {"internal", WEIR_DRV_K_INTERNAL},
    {NULL, 0}};

static const struct word retries[] = {
    {"no", WEIR_DRV_RETRY_NO},       {"same", WEIR_DRV_RETRY_SAME},
    {"other", WEIR_DRV_RETRY_OTHER}, {"else", WEIR_DRV_RETRY_ELSE},
    {"cred", WEIR_DRV_RETRY_CRED},   {NULL, 0}};

static const struct word txns[] = {{"none", WEIR_DRV_TXN_NONE},
                                   {"open", WEIR_DRV_TXN_OPEN},
                                   {"doomed", WEIR_DRV_TXN_DOOMED},
                                   {"unknown", WEIR_DRV_TXN_UNKNOWN},
                                   {NULL, 0}};

static const struct {
  const char *name;
  uint32_t bit;
} dirt[] = {{"none", 0},
            {"txn", WEIR_DRV_DIRTY_TXN},
            {"settings", WEIR_DRV_DIRTY_SETTINGS},
            {"temp", WEIR_DRV_DIRTY_TEMP},
            {"cursor", WEIR_DRV_DIRTY_CURSOR},
            {"locks", WEIR_DRV_DIRTY_LOCKS},
            {"results", WEIR_DRV_DIRTY_RESULTS},
            {"unknown", WEIR_DRV_DIRTY_UNKNOWN}};

static bool take_word(struct mock_parser *p,
                      const struct word *words,
                      const char *wanted,
                      int32_t *out) {
  for (const struct word *w = words; w->name != NULL; w++) {
    if (mock_parse_take(p, w->name)) {
      *out = w->value;
      return true;
    }
  }
  return mock_parse_fail(p, wanted);
}

static bool take_string(struct mock_parser *p,
                        const char *wanted,
                        struct weir_drv_text *out) {
  if (p->lex.now.kind != MOCK_T_STRING) {
    return mock_parse_fail(p, wanted);
  }
  *out = (struct weir_drv_text){.p = p->lex.now.p, .n = p->lex.now.n};
  mock_lex_next(&p->lex);
  return true;
}

static bool take_duration(struct mock_parser *p, uint64_t *out_ns) {
  const struct mock_token *t = &p->lex.now;
  if (t->kind != MOCK_T_WORD || !mock_duration_parse(t->p, t->n, out_ns)) {
    return mock_parse_fail(p, "a duration such as 5ms");
  }
  mock_lex_next(&p->lex);
  return true;
}

static bool take_i32(struct mock_parser *p, const char *wanted, int32_t *out) {
  uint64_t n;
  if (!mock_parse_number(p, INT32_MAX, wanted, &n)) {
    return false;
  }
  *out = (int32_t)n;
  return true;
}

/* -------------------------------------------------------------------- fail */

static bool take_sqlstate(struct mock_parser *p, struct mock_failure *f) {
  const struct mock_token *t = &p->lex.now;
  if (t->kind != MOCK_T_WORD || t->n != 5) {
    return mock_parse_fail(p, "an SQLSTATE of five characters");
  }
  memcpy(f->sqlstate, t->p, 5);
  mock_lex_next(&p->lex);
  return true;
}

static bool take_after(struct mock_parser *p, struct mock_failure *f) {
  uint64_t ns = 0;
  if (!take_duration(p, &ns)) {
    return false;
  }
  uint64_t ms = ns / 1000000u;
  f->retry_after_ms = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
  return true;
}

/* "state N" or "line N". */
static bool take_place(struct mock_parser *p, struct mock_failure *f) {
  uint32_t *to = mock_parse_is(p, "state") ? &f->state : &f->line;
  int32_t n = 0;
  mock_lex_next(&p->lex);
  bool ok = take_i32(p, "a number", &n);
  *to = (uint32_t)n;
  return ok;
}

static bool take_failure_part(struct mock_parser *p, struct mock_failure *f) {
  if (mock_parse_take(p, "retry")) {
    return take_word(p, retries, "no, same, other, else or cred", &f->retry);
  }
  if (mock_parse_take(p, "txn")) {
    return take_word(p, txns, "none, open, doomed or unknown", &f->txn);
  }
  if (mock_parse_take(p, "native")) {
    return take_i32(p, "the server's number", &f->native);
  }
  if (mock_parse_take(p, "severity")) {
    int32_t n = 0;
    bool ok = take_i32(p, "a severity", &n);
    f->severity = (uint32_t)n;
    return ok;
  }
  if (mock_parse_take(p, "sqlstate")) {
    return take_sqlstate(p, f);
  }
  if (mock_parse_is(p, "state") || mock_parse_is(p, "line")) {
    return take_place(p, f);
  }
  if (mock_parse_take(p, "after")) {
    return take_after(p, f);
  }
  if (mock_parse_take(p, "maybe")) {
    f->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
    return true;
  }
  return mock_parse_fail(p, "retry, txn, native, severity, state, line, "
                            "sqlstate, after, maybe or a message");
}

static bool parse_fail(struct mock_parser *p, struct mock_action *a) {
  a->failure.txn = -1;
  if (!take_word(p, scopes,
                 "a scope: none, statement, txn, conn, endpoint, config or "
                 "driver",
                 &a->failure.scope) ||
      !take_word(p, error_kinds, "a kind of error such as network or auth",
                 &a->failure.kind)) {
    return false;
  }
  while (p->lex.now.kind == MOCK_T_WORD) {
    if (!take_failure_part(p, &a->failure)) {
      return false;
    }
  }
  return p->lex.now.kind != MOCK_T_STRING ||
         take_string(p, "a message", &a->text);
}

/* -------------------------------------------------------------------- rows */

static bool append_cell(struct mock_parser *p, const struct mock_cell *cell) {
  struct mock_script *s = p->script;
  if (s->n_cells == MOCK_CELLS_MAX) {
    return mock_parse_fail(p, "no more than 16384 values in a script");
  }
  if (!mock_parse_room(p, &s->cells, &s->cells_cap, s->n_cells, sizeof *cell)) {
    return false;
  }
  s->cells[s->n_cells++] = *cell;
  return true;
}

/* A point is a point, whatever the locale of the program. */
static bool parse_float(const char *text, double *out) {
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  char *end = NULL;
  if (plain == (locale_t)0) {
    return false;
  }
  *out = strtod_l(text, &end, plain);
  freelocale(plain);
  return *end == '\0';
}

static bool number_cell(const struct mock_token *t, struct mock_cell *cell) {
  char text[32];
  if (t->n == 0 || t->n >= sizeof text ||
      (t->p[0] != '-' && t->p[0] != '+' && (t->p[0] < '0' || t->p[0] > '9'))) {
    return false;
  }
  memcpy(text, t->p, t->n);
  text[t->n] = '\0';
  uint64_t magnitude;
  bool minus = text[0] == '-';
  if (mock_number_parse(text + (minus ? 1 : 0), t->n - (minus ? 1 : 0),
                        INT64_MAX, &magnitude)) {
    cell->type = WEIR_DRV_T_INT;
    cell->i = minus ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
  }
  double value;
  if (!parse_float(text, &value)) {
    return false;
  }
  cell->type = WEIR_DRV_T_FLOAT;
  memcpy(&cell->i, &value, sizeof value);
  return true;
}

static bool take_cell(struct mock_parser *p) {
  const struct mock_token *t = &p->lex.now;
  struct mock_cell cell = {.type = WEIR_DRV_T_NULL};
  if (t->kind == MOCK_T_STRING || t->kind == MOCK_T_HEX) {
    cell.type = t->kind == MOCK_T_HEX ? WEIR_DRV_T_BYTES : WEIR_DRV_T_TEXT;
    cell.text = (struct weir_drv_text){.p = t->p, .n = t->n};
  } else if (mock_parse_is(p, "true") || mock_parse_is(p, "false")) {
    cell.type = WEIR_DRV_T_BOOL;
    cell.i = mock_parse_is(p, "true") ? 1 : 0;
  } else if (!mock_parse_is(p, "null") && !number_cell(t, &cell)) {
    return mock_parse_fail(p, "a value: a number, 'text', x'bytes', true, "
                              "false or null");
  }
  if (!append_cell(p, &cell)) {
    return false;
  }
  mock_lex_next(&p->lex);
  return true;
}

/* "3x2" is one word, "3 x 2" three. */
static bool take_size(struct mock_parser *p, struct mock_action *a) {
  static const char wanted[] = "rows x columns, such as 3x2";
  const struct mock_token t = p->lex.now;
  const char *x = t.kind == MOCK_T_WORD ? memchr(t.p, 'x', t.n) : NULL;
  uint64_t cols;
  if (x != NULL) {
    uint64_t head = (uint64_t)(x - t.p);
    if (!mock_number_parse(t.p, head, MOCK_ROWS_MAX, &a->n) ||
        !mock_number_parse(x + 1, t.n - head - 1, MOCK_COLUMNS_MAX, &cols)) {
      return mock_parse_fail(p, wanted);
    }
    mock_lex_next(&p->lex);
  } else if (!mock_parse_number(p, MOCK_ROWS_MAX, wanted, &a->n) ||
             !(mock_parse_take(p, "x") || mock_parse_fail(p, wanted)) ||
             !mock_parse_number(p, MOCK_COLUMNS_MAX, wanted, &cols)) {
    return false;
  }
  a->n_cols = (uint32_t)cols;
  return cols > 0 || mock_parse_fail(p, "at least one column");
}

/* A column has one type: that of its first value that is not null. */
static bool check_types(struct mock_parser *p, const struct mock_action *a) {
  const struct mock_cell *cells =
      a->n_cells == 0 ? NULL : &p->script->cells[a->first_cell];
  for (uint32_t col = 0; col < a->n_cols; col++) {
    int32_t type = WEIR_DRV_T_NULL;
    for (uint32_t i = col; i < a->n_cells; i += a->n_cols) {
      bool differs = type != WEIR_DRV_T_NULL &&
                     cells[i].type != WEIR_DRV_T_NULL && cells[i].type != type;
      if (differs) {
        return mock_parse_fail(p, "values of one type in each column");
      }
      type = type == WEIR_DRV_T_NULL ? cells[i].type : type;
    }
  }
  return true;
}

static bool parse_rows(struct mock_parser *p, struct mock_action *a) {
  if (!take_size(p, a)) {
    return false;
  }
  a->first_cell = p->script->n_cells;
  while (p->lex.now.kind == MOCK_T_WORD || p->lex.now.kind == MOCK_T_STRING ||
         p->lex.now.kind == MOCK_T_HEX) {
    if (!take_cell(p)) {
      return false;
    }
  }
  a->n_cells = p->script->n_cells - a->first_cell;
  if (a->n_cells != 0 && a->n_cells != a->n_cols &&
      a->n_cells != a->n * a->n_cols) {
    return mock_parse_fail(p, "no values, those of one row, or those of every "
                              "row");
  }
  return check_types(p, a);
}

/* One row, as wide as there are values. */
static bool parse_outputs(struct mock_parser *p, struct mock_action *a) {
  a->first_cell = p->script->n_cells;
  do {
    if (!take_cell(p)) {
      return false;
    }
  } while (p->lex.now.kind == MOCK_T_WORD || p->lex.now.kind == MOCK_T_STRING ||
           p->lex.now.kind == MOCK_T_HEX);
  a->n_cells = p->script->n_cells - a->first_cell;
  a->n_cols = a->n_cells;
  a->n = 1;
  return a->n_cols <= MOCK_COLUMNS_MAX ||
         mock_parse_fail(p, "at most 1024 values");
}

/* ------------------------------------------------------------------ others */

static bool parse_delay(struct mock_parser *p, struct mock_action *a) {
  return take_duration(p, &a->n);
}

static bool parse_again(struct mock_parser *p, struct mock_action *a) {
  return mock_parse_number(p, MOCK_AGAIN_MAX, "how often", &a->n);
}

static bool parse_count(struct mock_parser *p, struct mock_action *a) {
  return mock_parse_number(p, INT64_MAX, "a number of rows", &a->n);
}

static bool parse_die(struct mock_parser *p, struct mock_action *a) {
  return p->lex.now.kind != MOCK_T_STRING ||
         take_string(p, "a message", &a->text);
}

static bool parse_offload(struct mock_parser *p, struct mock_action *a) {
  if (mock_parse_take(p, "hang")) {
    a->what = MOCK_OFFLOAD_HANG;
  }
  return true;
}

static bool parse_resolve(struct mock_parser *p, struct mock_action *a) {
  return take_string(p, "a host name in quotes", &a->text) &&
         mock_parse_number(p, 65535, "a port", &a->n);
}

static bool parse_notice(struct mock_parser *p, struct mock_action *a) {
  int32_t severity = 0;
  if (!take_i32(p, "the number of the notice", &a->failure.native) ||
      !take_i32(p, "its severity", &severity)) {
    return false;
  }
  a->failure.severity = (uint32_t)severity;
  if (!take_string(p, "its text in quotes", &a->text)) {
    return false;
  }
  while (mock_parse_is(p, "state") || mock_parse_is(p, "line")) {
    if (!take_place(p, &a->failure)) {
      return false;
    }
  }
  return !mock_parse_take(p, "in") ||
         take_string(p, "the procedure in quotes", &a->procedure);
}

static bool parse_need(struct mock_parser *p, struct mock_action *a) {
  return mock_parse_number(p, MOCK_PARAMS_MAX, "a number of parameters", &a->n);
}

static bool parse_token(struct mock_parser *p, struct mock_action *a) {
  return take_string(p, "the token that is accepted, in quotes", &a->text);
}

static bool parse_password(struct mock_parser *p, struct mock_action *a) {
  return take_string(p, "the password that is accepted, in quotes", &a->text);
}

/* Bits joined by '+', in one word. */
static bool take_dirt(struct mock_parser *p, int64_t *out) {
  static const char wanted[] = "none or some of txn, settings, temp, cursor, "
                               "locks, results, unknown joined by +";
  const struct mock_token *t = &p->lex.now;
  uint32_t bits = 0;
  uint64_t at = 0;
  if (t->kind != MOCK_T_WORD) {
    return mock_parse_fail(p, wanted);
  }
  while (at <= t->n) {
    uint64_t end = at;
    uint32_t i = 0;
    while (end < t->n && t->p[end] != '+') {
      end++;
    }
    while (i < sizeof dirt / sizeof dirt[0] &&
           !mock_word_is(t->p + at, end - at, dirt[i].name)) {
      i++;
    }
    if (i == sizeof dirt / sizeof dirt[0]) {
      return mock_parse_fail(p, wanted);
    }
    bits |= dirt[i].bit;
    at = end + 1;
  }
  *out = bits;
  mock_lex_next(&p->lex);
  return true;
}

static bool take_report_part(struct mock_parser *p, struct mock_action *a) {
  uint64_t n = 0;
  if (mock_parse_take(p, "txn")) {
    return take_word(p, txns, "none, open, doomed or unknown", &a->txn);
  }
  if (mock_parse_take(p, "dirty")) {
    return take_dirt(p, &a->dirty);
  }
  if (mock_parse_take(p, "usable")) {
    bool ok = mock_parse_number(p, 1, "0 or 1", &n);
    a->usable = (int32_t)n;
    return ok;
  }
  if (mock_parse_take(p, "expires")) {
    bool ok = mock_parse_number(p, INT64_MAX, "seconds since 1970", &n);
    a->expires_unix_s = (int64_t)n;
    return ok;
  }
  return mock_parse_fail(p, "txn, dirty, usable or expires");
}

static bool parse_report(struct mock_parser *p, struct mock_action *a) {
  do {
    if (!take_report_part(p, a)) {
      return false;
    }
  } while (p->lex.now.kind == MOCK_T_WORD);
  return true;
}

/* -------------------------------------------------------------- the table */

#define ON(kind)  (1u << (kind))
#define OPERATION ((ON(MOCK_K_STEP) - 1u) | ON(MOCK_K_CANCEL))
/* What a cancellation meets: a server that goes on all the same. */
#define RESULT    (ON(MOCK_K_EXEC) | ON(MOCK_K_CANCEL))
#define ENDS      true

static const struct {
  const char *name;
  int32_t what;
  uint32_t kinds; /* bits of enum mock_kind: where it may stand */
  bool replaces;  /* what would happen without a rule */
  bool (*parse)(struct mock_parser *p, struct mock_action *a);
} verbs[] = {
    {"succeed", MOCK_SUCCEED, OPERATION, ENDS, NULL},
    {"fail", MOCK_FAIL, OPERATION | ON(MOCK_K_STEP), ENDS, parse_fail},
    {"die", MOCK_DIE, OPERATION | ON(MOCK_K_STEP), ENDS, parse_die},
    {"delay", MOCK_DELAY, OPERATION, !ENDS, parse_delay},
    {"again", MOCK_AGAIN, OPERATION, !ENDS, parse_again},
    {"hang", MOCK_HANG, OPERATION, !ENDS, NULL},
    {"offload", MOCK_OFFLOAD, OPERATION, !ENDS, parse_offload},
    {"resolve", MOCK_RESOLVE, OPERATION, !ENDS, parse_resolve},
    {"notice", MOCK_NOTICE, OPERATION, !ENDS, parse_notice},
    {"rows", MOCK_ROWS, RESULT, ENDS, parse_rows},
    {"count", MOCK_AFFECT, RESULT, ENDS, parse_count},
    {"outputs", MOCK_OUTPUTS, ON(MOCK_K_EXEC), ENDS, parse_outputs},
    {"need", MOCK_NEED, ON(MOCK_K_EXEC), !ENDS, parse_need},
    {"report", MOCK_REPORT, OPERATION, !ENDS, parse_report},
    {"password", MOCK_PASSWORD, ON(MOCK_K_CONNECT), !ENDS, parse_password},
    {"token", MOCK_TOKEN, ON(MOCK_K_CONNECT), !ENDS, parse_token},
    {"alive", MOCK_ALIVE, ON(MOCK_K_HEALTH), ENDS, NULL},
    {"dead", MOCK_DEAD, ON(MOCK_K_HEALTH), ENDS, NULL},
    {"pending", MOCK_PENDING, ON(MOCK_K_HEALTH), ENDS, NULL},
};

static bool append_action(struct mock_parser *p, const struct mock_action *a) {
  struct mock_script *s = p->script;
  if (!mock_parse_room(p, &s->actions, &s->actions_cap, s->n_actions,
                       sizeof *a)) {
    return false;
  }
  s->actions[s->n_actions++] = *a;
  return true;
}

static const char *allowed_in(int32_t kind) {
  if (kind == MOCK_K_HEALTH) {
    return "alive, dead or pending";
  }
  return kind == MOCK_K_STEP ? "fail or die"
                             : "an action that this kind of rule can have";
}

bool mock_action_parse(struct mock_parser *p, struct mock_rule *rule) {
  struct mock_action a;
  uint32_t i = 0;
  memset(&a, 0, sizeof a);
  a.txn = a.usable = -1;
  a.dirty = a.expires_unix_s = -1;
  while (i < sizeof verbs / sizeof verbs[0] &&
         !mock_parse_is(p, verbs[i].name)) {
    i++;
  }
  if (i == sizeof verbs / sizeof verbs[0] ||
      (verbs[i].kinds & ON(rule->kind)) == 0) {
    return mock_parse_fail(p, allowed_in(rule->kind));
  }
  mock_lex_next(&p->lex);
  a.what = verbs[i].what;
  rule->replaces = rule->replaces || verbs[i].replaces;
  if (verbs[i].parse != NULL && !verbs[i].parse(p, &a)) {
    return false;
  }
  return append_action(p, &a);
}
