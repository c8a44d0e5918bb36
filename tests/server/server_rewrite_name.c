/* SPDX-License-Identifier: MIT */
/* Variables and columns of the rewriter: what a name stands for. */
#include <strings.h>

#include "server_rewrite_impl.h"

int rw_variable(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  int len = (int)(token->len < 128 ? token->len : 128);
  const char *sql = "";
  if (token->len > 2 && token->text[1] == '@') {
    int32_t slot = tdsd_global_find(token->text, token->len);
    if (slot < 0) {
      return rw_bad(rw);
    }
    rw->at++;
    if (rw_param(rw, true, (uint32_t)slot, &sql) < 0) {
      return -1;
    }
    *out = rw_expr_of(sql, tdsd_global_type((uint32_t)slot));
    return 0;
  }
  int32_t slot = tdsd_batch_find(rw->batch, token->text, token->len);
  if (slot < 0) {
    rw->fault->line = token->line;
    return tdsd_fault_set(rw->fault, 137, 15,
                          "Must declare the scalar variable \"%.*s\".", len,
                          token->text);
  }
  rw->at++;
  if (rw_param(rw, false, (uint32_t)slot, &sql) < 0) {
    return -1;
  }
  *out = rw_expr_of(sql, rw->batch->variables[slot].value.type);
  return 0;
}

struct found {
  const struct rw_source *source;
  const struct tdsd_rw_column *column;
  bool open;
  uint32_t n;
};

static void search(const struct rw_scope *scope,
                   const char *table,
                   const char *name,
                   struct found *found) {
  for (uint32_t i = 0; i < scope->n; i++) {
    const struct rw_source *source = &scope->sources[i];
    if (table != NULL && strcasecmp(table, source->alias) != 0) {
      continue;
    }
    found->open = found->open || source->open;
    for (uint32_t c = 0; c < source->ncolumns; c++) {
      if (strcasecmp(source->columns[c].name, name) == 0) {
        found->source = source;
        found->column = &source->columns[c];
        found->n++;
      }
    }
  }
}

static int unbound(struct rw *rw, const char *table, const char *name) {
  return table == NULL
             ? tdsd_fault_set(rw->fault, 207, 16,
                              "Invalid column name '%.128s'.", name)
             : tdsd_fault_set(rw->fault, 4104, 16,
                              "The multi-part identifier \"%.128s.%.128s\" "
                              "could not be bound.",
                              table, name);
}

static bool has_source(const struct rw *rw, const char *table) {
  for (const struct rw_scope *scope = rw->scope; scope != NULL;
       scope = scope->outer) {
    for (uint32_t i = 0; i < scope->n; i++) {
      if (strcasecmp(scope->sources[i].alias, table) == 0) {
        return true;
      }
    }
  }
  return false;
}

/* An alias of the select list, which ORDER BY may name. */
static bool find_alias(struct rw *rw, const char *name, struct rw_expr *out) {
  const struct rw_items *items = rw->scope == NULL ? NULL : rw->scope->aliases;
  for (uint32_t i = 0; items != NULL && i < items->n; i++) {
    bool named = items->at[i].named || rw->scope->n == 0;
    if (named && items->at[i].name != NULL &&
        strcasecmp(items->at[i].name, name) == 0) {
      *out = items->at[i].expr;
      out->sql = rw_quote(rw, name);
      out->column = true;
      out->literal = NULL;
      return true;
    }
  }
  return false;
}

int rw_column(struct rw *rw,
              const char *table,
              const char *name,
              uint32_t line,
              struct rw_expr *out) {
  struct found found = {0};
  const struct rw_scope *scope = rw->scope;
  if (table == NULL && find_alias(rw, name, out)) {
    return 0;
  }
  for (; scope != NULL && found.n == 0 && !found.open; scope = scope->outer) {
    search(scope, table, name, &found);
  }
  rw->fault->line = line;
  if (found.n > 1) {
    return tdsd_fault_set(rw->fault, 209, 16, "Ambiguous column name '%.128s'.",
                          name);
  }
  if (found.n == 0) {
    if (rw->catalog != NULL && !found.open) {
      return unbound(rw, table != NULL && has_source(rw, table) ? NULL : table,
                     name);
    }
    *out = (struct rw_expr){
        .sql = table == NULL ? rw_quote(rw, name)
                             : rw_format(rw, "%s.%s", rw_quote(rw, table),
                                         rw_quote(rw, name)),
        .column = true};
    return 0;
  }
  *out = (struct rw_expr){
      .sql = found.source->bare
                 ? rw_quote(rw, found.column->name)
                 : rw_format(rw, "%s.%s", rw_quote(rw, found.source->alias),
                             rw_quote(rw, found.column->name)),
      .type = found.column->type,
      .known = found.column->known,
      .column = true};
  out->type.nullable = out->type.nullable || found.source->nullable;
  out->name = rw_format(rw, "%s.%s", found.source->alias, found.column->name);
  return !rw->inside && rw_append(rw, &rw->refs, out) < 0 ? -1
         : rw_ok(rw)                                      ? 0
                                                          : -1;
}
