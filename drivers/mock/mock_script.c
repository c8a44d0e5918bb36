/* SPDX-License-Identifier: MIT */
/* The parser of scripts: rules here, actions in mock_action.c. */
#include <string.h>

#include "mock.h"
#include "mock_parse.h"

static const char *const kinds[MOCK_KINDS] = {"connect", "exec",   "reset",
                                              "ping",    "txn",    "logout",
                                              "step",    "health", "cancel"};

/* --------------------------------------------------------------- the tools */

/* The token as text for a message, cut at 40 bytes. */
static const char *short_text(const struct mock_token *t, char *out) {
  uint64_t n = t->n < 40 ? t->n : 40;
  memcpy(out, t->p, n);
  out[n] = '\0';
  return out;
}

bool mock_parse_fail(struct mock_parser *p, const char *wanted) {
  const struct mock_token *t = &p->lex.now;
  char found[96];
  char text[41];
  switch (t->kind) {
  case MOCK_T_BAD:
    (void)snprintf(found, sizeof found, "%s", t->why);
    break;
  case MOCK_T_END:
    (void)snprintf(found, sizeof found, "the end");
    break;
  case MOCK_T_RULE:
    (void)snprintf(found, sizeof found, "the end of the rule");
    break;
  default:
    (void)snprintf(found, sizeof found, "'%.40s'", short_text(t, text));
    break;
  }
  (void)mock_fail(p->err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                  "mock script, line %u, column %u: expected %s, found %s",
                  t->line, t->column, wanted, found);
  return false;
}

bool mock_parse_is(const struct mock_parser *p, const char *word) {
  const struct mock_token *t = &p->lex.now;
  return t->kind == MOCK_T_WORD && mock_word_is(t->p, t->n, word);
}

bool mock_parse_take(struct mock_parser *p, const char *word) {
  if (!mock_parse_is(p, word)) {
    return false;
  }
  mock_lex_next(&p->lex);
  return true;
}

bool mock_parse_number(struct mock_parser *p,
                       uint64_t max,
                       const char *wanted,
                       uint64_t *out) {
  const struct mock_token *t = &p->lex.now;
  if (t->kind != MOCK_T_WORD || !mock_number_parse(t->p, t->n, max, out)) {
    return mock_parse_fail(p, wanted);
  }
  mock_lex_next(&p->lex);
  return true;
}

/* The host gives no realloc: twice the room, copied.  elem bytes each. */
bool mock_parse_room(struct mock_parser *p,
                     void *array,
                     uint32_t *cap,
                     uint32_t n,
                     uint64_t elem) {
  if (n < *cap) {
    return true;
  }
  uint32_t bigger = *cap == 0 ? 16 : *cap * 2;
  void *fresh = p->host->alloc(p->host->ctx, bigger * elem, 0);
  if (fresh == NULL) {
    (void)mock_fail(p->err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                    "no memory for the script");
    return false;
  }
  void *old;
  memcpy(&old, array, sizeof old);
  if (old != NULL) {
    memcpy(fresh, old, n * elem);
    p->host->release(p->host->ctx, old);
  }
  memcpy(array, &fresh, sizeof fresh);
  *cap = bigger;
  return true;
}

/* ------------------------------------------------------------------- rules */

/* "3", "3-5", "3-", "every", "every 2", or nothing, which is every. */
static bool parse_ordinal(struct mock_parser *p, struct mock_rule *rule) {
  static const char wanted[] = "which ones: a number, a range or every";
  const struct mock_token *t = &p->lex.now;
  rule->from = 1;
  rule->to = UINT64_MAX;
  rule->stride = 1;
  if (mock_parse_take(p, "every")) {
    if (p->lex.now.kind == MOCK_T_WORD && !mock_parse_is(p, "on")) {
      bool ok =
          mock_parse_number(p, INT64_MAX, "a number from 1", &rule->stride);
      rule->from = rule->stride;
      return ok && (rule->stride > 0 || mock_parse_fail(p, "more than 0"));
    }
    return true;
  }
  if (t->kind != MOCK_T_WORD || mock_parse_is(p, "on")) {
    return true;
  }
  const char *dash = memchr(t->p, '-', t->n);
  uint64_t head = dash == NULL ? t->n : (uint64_t)(dash - t->p);
  uint64_t tail = dash == NULL ? 0 : t->n - head - 1;
  bool ok =
      mock_number_parse(t->p, head, INT64_MAX, &rule->from) && rule->from > 0;
  if (dash == NULL) {
    rule->to = rule->from;
  } else if (tail != 0) {
    ok = ok && mock_number_parse(dash + 1, tail, INT64_MAX, &rule->to) &&
         rule->to >= rule->from;
  }
  if (!ok) {
    return mock_parse_fail(p, wanted);
  }
  mock_lex_next(&p->lex);
  return true;
}

static bool parse_selector(struct mock_parser *p, struct mock_rule *rule) {
  int32_t kind = 0;
  while (kind < MOCK_KINDS && !mock_parse_is(p, kinds[kind])) {
    kind++;
  }
  if (kind == MOCK_KINDS) {
    return mock_parse_fail(p, "connect, exec, reset, ping, txn, logout, step, "
                              "health or cancel");
  }
  rule->kind = kind;
  mock_lex_next(&p->lex);
  if (!parse_ordinal(p, rule)) {
    return false;
  }
  if (mock_parse_take(p, "on") &&
      !mock_parse_number(p, INT64_MAX, "the number of a connection",
                         &rule->on)) {
    return false;
  }
  if (p->lex.now.kind != MOCK_T_COLON) {
    return mock_parse_fail(p, "':' and then what happens");
  }
  mock_lex_next(&p->lex);
  return true;
}

static bool parse_actions(struct mock_parser *p, struct mock_rule *rule) {
  rule->first = p->script->n_actions;
  for (;;) {
    if (rule->n_actions == MOCK_RULE_ACTIONS_MAX) {
      return mock_parse_fail(p, "no more than 32 actions in a rule");
    }
    if (!mock_action_parse(p, rule)) {
      return false;
    }
    rule->n_actions++;
    if (p->lex.now.kind != MOCK_T_COMMA) {
      break;
    }
    mock_lex_next(&p->lex);
  }
  if (p->lex.now.kind != MOCK_T_RULE && p->lex.now.kind != MOCK_T_END) {
    return mock_parse_fail(p, "',' or the end of the rule");
  }
  return true;
}

static bool parse_rule(struct mock_parser *p) {
  struct mock_script *s = p->script;
  struct mock_rule rule;
  memset(&rule, 0, sizeof rule);
  if (s->n_rules == MOCK_RULES_MAX) {
    return mock_parse_fail(p, "no more than 256 rules");
  }
  if (!parse_selector(p, &rule) || !parse_actions(p, &rule) ||
      !mock_parse_room(p, &s->rules, &s->rules_cap, s->n_rules, sizeof rule)) {
    return false;
  }
  memcpy(&s->rules[s->n_rules], &rule, sizeof rule);
  s->n_rules++;
  return true;
}

static bool parse_rules(struct mock_parser *p) {
  while (p->lex.now.kind != MOCK_T_END) {
    if (p->lex.now.kind == MOCK_T_RULE) {
      mock_lex_next(&p->lex);
    } else if (!parse_rule(p)) {
      return false;
    }
  }
  return true;
}

/* The cells have moved while they were collected. */
static void tie_cells(struct mock_script *s) {
  for (uint32_t i = 0; i < s->n_actions; i++) {
    struct mock_action *a = &s->actions[i];
    a->cells = a->n_cells == 0 ? NULL : &s->cells[a->first_cell];
  }
}

weir_drv_status mock_script_parse(const struct weir_drv_host *host,
                                  const struct weir_drv_text *text,
                                  struct mock_script **out_script,
                                  struct weir_drv_error *err) {
  struct mock_parser p = {.host = host, .err = err};
  if (text->n > MOCK_SCRIPT_BYTES_MAX) {
    return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                     "mock script: %llu bytes, more than 65536",
                     (unsigned long long)text->n);
  }
  p.script = host->alloc(host->ctx, sizeof *p.script, 0);
  if (p.script != NULL) {
    p.script->text = host->alloc(host->ctx, text->n + 1, 0);
  }
  if (p.script == NULL || p.script->text == NULL) {
    mock_script_free(host, p.script);
    return mock_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                     "no memory for the script");
  }
  if (text->n != 0) {
    memcpy(p.script->text, text->p, text->n);
  }
  mock_lex_start(&p.lex, p.script->text, text->n);
  if (!parse_rules(&p)) {
    mock_script_free(host, p.script);
    return WEIR_DRV_FAIL;
  }
  tie_cells(p.script);
  *out_script = p.script;
  return WEIR_DRV_DONE;
}

void mock_script_free(const struct weir_drv_host *host, struct mock_script *s) {
  if (s == NULL) {
    return;
  }
  void *parts[] = {s->text, s->rules, s->actions, s->cells, s};
  for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (parts[i] != NULL) {
      host->release(host->ctx, parts[i]);
    }
  }
}

const struct mock_rule *mock_script_match(struct mock_script *s,
                                          enum mock_kind kind,
                                          uint64_t conn) {
  const struct mock_rule *found = NULL;
  if (s == NULL) {
    return NULL;
  }
  for (uint32_t i = 0; i < s->n_rules; i++) {
    struct mock_rule *r = &s->rules[i];
    if (r->kind != (int32_t)kind || (r->on != 0 && r->on != conn)) {
      continue;
    }
    uint64_t n =
        1 + atomic_fetch_add_explicit(&r->seen, 1, memory_order_relaxed);
    bool hit = n >= r->from && n <= r->to && (n - r->from) % r->stride == 0;
    found = found == NULL && hit ? r : found;
  }
  return found;
}
