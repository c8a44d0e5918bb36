/* SPDX-License-Identifier: MIT */
/* The select list. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

int rw_append_item(struct rw *rw,
                   struct rw_items *items,
                   const struct rw_item *item) {
  if (items->n == TDSD_CAP_COLUMNS) {
    return tdsd_fault_set(rw->fault, 1056, 15,
                          "The number of elements in the select list exceeds "
                          "the maximum allowed number of 4096 elements.");
  }
  if (items->n == items->room) {
    uint32_t room = items->room == 0 ? 8 : 2 * items->room;
    struct rw_item *at = tdsd_arena_take(rw->arena, room * sizeof *at);
    if (at == NULL) {
      return rw_no_memory(rw);
    }
    if (items->n != 0) {
      memcpy(at, items->at, items->n * sizeof *at);
    }
    items->at = at;
    items->room = room;
  }
  items->at[items->n++] = *item;
  return 0;
}

static int add_star(struct rw *rw,
                    struct rw_items *items,
                    const struct rw_source *source) {
  for (uint32_t i = 0; i < source->ncolumns; i++) {
    const struct tdsd_rw_column *column = &source->columns[i];
    struct rw_item item = {
        .expr = {.sql = rw_format(rw, "%s.%s", rw_quote(rw, source->alias),
                                  rw_quote(rw, column->name)),
                 .type = column->type,
                 .known = column->known,
                 .column = true},
        .name = column->name,
        .variable = -1};
    item.expr.type.nullable = item.expr.type.nullable || source->nullable;
    item.expr.name = rw_format(rw, "%s.%s", source->alias, column->name);
    item.first_ref = rw->refs.n;
    item.last_ref = rw->refs.n + 1;
    if (rw_append(rw, &rw->refs, &item.expr) < 0 ||
        rw_append_item(rw, items, &item) < 0) {
      return -1;
    }
  }
  return 0;
}

static int star(struct rw *rw, struct rw_items *items, const char *table) {
  const struct rw_scope *scope = rw->scope;
  bool found = false;
  for (uint32_t i = 0; i < scope->n; i++) {
    if (table != NULL && strcasecmp(scope->sources[i].alias, table) != 0) {
      continue;
    }
    found = true;
    if (add_star(rw, items, &scope->sources[i]) < 0) {
      return -1;
    }
  }
  if (rw->catalog == NULL) {
    struct rw_item item = {.expr = {.sql = "*"}, .name = "", .variable = -1};
    return rw_append_item(rw, items, &item);
  }
  if (found) {
    return 0;
  }
  return table == NULL
             ? tdsd_fault_set(rw->fault, 263, 16,
                              "Must specify table to select from.")
             : tdsd_fault_set(rw->fault, 107, 15,
                              "The column prefix '%.128s' does not match with "
                              "a table name or alias name used in the query.",
                              table);
}

static int item_alias(struct rw *rw, struct rw_item *item) {
  static const char *const words[] = {"except", "intersect", "offset",
                                      "into",   "window",    "within"};
  bool as = rw_eat(rw, "as");
  const struct tdsd_token *token = rw_token(rw);
  bool text =
      token->lexeme == TDSD_LEX_STRING || token->lexeme == TDSD_LEX_WIDE;
  for (size_t i = 0; i < sizeof words / sizeof words[0] && !as; i++) {
    if (rw_is(rw, words[i])) {
      return 0;
    }
  }
  if (!as && !text && !rw_at_name(rw)) {
    return 0;
  }
  item->named = true;
  if (!text) {
    return rw_name(rw, &item->name);
  }
  item->name = tdsd_arena_copy(rw->arena, token->text, token->len);
  rw->at++;
  return item->name == NULL ? rw_no_memory(rw) : 0;
}

/* name = value and @x = value. */
static int item_prefix(struct rw *rw, struct rw_item *item) {
  const struct tdsd_token *token = rw_token(rw);
  if (!tdsd_lex_is_sign(rw_ahead(rw, 1), "=")) {
    return 0;
  }
  if (token->lexeme == TDSD_LEX_VARIABLE) {
    item->variable = tdsd_batch_find(rw->batch, token->text, token->len);
    if (item->variable < 0) {
      return tdsd_fault_set(
          rw->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
          (int)(token->len < 128 ? token->len : 128), token->text);
    }
    rw->at += 2;
    return 0;
  }
  if (rw_at_name(rw)) {
    item->named = true;
    if (rw_name(rw, &item->name) < 0) {
      return -1;
    }
    rw->at++;
  }
  return 0;
}

static int one_item(struct rw *rw, struct rw_arm *arm) {
  struct rw_item item = {.name = "", .variable = -1};
  if (rw_eat_sign(rw, "*")) {
    return star(rw, &arm->items, NULL);
  }
  if (rw_at_name(rw) && tdsd_lex_is_sign(rw_ahead(rw, 1), ".") &&
      tdsd_lex_is_sign(rw_ahead(rw, 2), "*")) {
    const char *table = NULL;
    if (rw_name(rw, &table) < 0) {
      return -1;
    }
    rw->at += 2;
    return star(rw, &arm->items, table);
  }
  if (item_prefix(rw, &item) < 0) {
    return -1;
  }
  item.first_ref = rw->refs.n;
  arm->assigns = arm->assigns || item.variable >= 0;
  if (rw_value(rw, &item.expr) < 0) {
    return -1;
  }
  if (item.expr.column && !item.named) {
    /* The name is what stands behind the last dot. */
    const struct tdsd_token *last = &rw->tokens[rw->at - 1];
    item.name = tdsd_arena_copy(rw->arena, last->text, last->len);
  }
  item.last_ref = rw->refs.n;
  if (!item.named && item_alias(rw, &item) < 0) {
    return -1;
  }
  return rw_append_item(rw, &arm->items, &item);
}

int rw_read_items(struct rw *rw, struct rw_arm *arm) {
  do {
    if (one_item(rw, arm) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  for (uint32_t i = 0; arm->assigns && i < arm->items.n; i++) {
    if (arm->items.at[i].variable < 0) {
      return tdsd_fault_set(rw->fault, 141, 15,
                            "A SELECT statement that assigns a value to a "
                            "variable must not be combined with data-retrieval "
                            "operations.");
    }
  }
  return 0;
}
