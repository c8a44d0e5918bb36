/* SPDX-License-Identifier: MIT */
/* PRIMARY KEY, UNIQUE, CHECK and FOREIGN KEY, of a column or of the table. */
#include <strings.h>

#include "server_rewrite_schema.h"

int rw_read_key_columns(struct rw *rw, struct rw_key_columns *out) {
  struct rw_text quoted = {0};
  struct rw_text plain = {0};
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  do {
    const char *name = NULL;
    if (rw_name(rw, &name) < 0) {
      return -1;
    }
    out->first = out->n++ == 0 ? name : out->first;
    rw_add(rw, &quoted, quoted.len == 0 ? "" : ", ");
    rw_add(rw, &quoted, rw_quote(rw, name));
    rw_add(rw, &plain, plain.len == 0 ? "" : ",");
    rw_add(rw, &plain, name);
    rw_direction(rw, &quoted);
  } while (rw_eat_sign(rw, ","));
  out->quoted = quoted.bytes;
  out->plain = plain.bytes;
  return rw_need_sign(rw, ")");
}

void rw_skip_clustered(struct rw *rw) {
  if (!rw_eat(rw, "clustered")) {
    (void)rw_eat(rw, "nonclustered");
  }
}

static void record_key(struct rw *rw,
                       struct rw_definition *def,
                       char kind,
                       const char *name,
                       const char *plain) {
  rw_add(rw, &def->catalog,
         rw_format(rw, "INSERT INTO %s.tdsd_keys VALUES (%s, '%c', %s, %s);",
                   def->schema, rw_text_of(rw, def->name), kind,
                   rw_text_of(rw, name), rw_text_of(rw, plain)));
}

static const char *made_up(struct rw *rw,
                           const struct rw_definition *def,
                           const char *prefix,
                           const char *column) {
  return rw_format(rw, "%s__%s__%s", prefix, def->name, column);
}

/* PRIMARY KEY and UNIQUE, of a column or of the table. */
int rw_key(struct rw *rw,
           struct rw_definition *def,
           bool primary,
           const char *name,
           const char *column,
           struct rw_text *out) {
  struct rw_key_columns columns = {.plain = column, .first = column, .n = 1};
  if (primary && rw_need(rw, "key") < 0) {
    return -1;
  }
  rw_skip_clustered(rw);
  if (column == NULL && rw_read_key_columns(rw, &columns) < 0) {
    return -1;
  }
  if (primary && def->has_key) {
    return tdsd_fault_set(
        rw->fault, 8110, 16,
        "Cannot add multiple PRIMARY KEY constraints to table "
        "'%.128s'.",
        def->name);
  }
  if (name == NULL) {
    name = made_up(rw, def, primary ? "PK" : "UQ", columns.first);
  }
  record_key(rw, def, primary ? 'P' : 'U', name, columns.plain);
  def->has_key = def->has_key || primary;
  bool identity = def->identity != NULL && columns.n == 1 &&
                  strcasecmp(def->identity, columns.first) == 0;
  if (primary && identity) {
    def->key_is_identity = true; /* the column says so itself */
    return 0;
  }
  rw_add(rw, out,
         rw_format(rw, "%sCONSTRAINT %s %s", column == NULL ? ", " : " ",
                   rw_quote(rw, name), primary ? "PRIMARY KEY" : "UNIQUE"));
  if (column == NULL) {
    rw_add(rw, out, rw_format(rw, " (%s)", columns.quoted));
  }
  return 0;
}

int rw_check(struct rw *rw,
             struct rw_definition *def,
             const char *name,
             const char *column,
             struct rw_text *out) {
  const char *condition = "";
  if (rw_need_sign(rw, "(") < 0 || rw_condition(rw, &condition) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (rw->out->nparams != 0) {
    return rw_refuse(rw, "variables in CHECK");
  }
  if (name == NULL) {
    name = made_up(rw, def, "CK", column == NULL ? "table" : column);
  }
  rw_add(rw, out,
         rw_format(rw, "%sCONSTRAINT %s CHECK (%s)",
                   column == NULL ? ", " : " ", rw_quote(rw, name), condition));
  return 0;
}

static int action(struct rw *rw, struct rw_text *out) {
  while (rw_eat(rw, "on")) {
    bool update = rw_eat(rw, "update");
    if (!update && rw_need(rw, "delete") < 0) {
      return -1;
    }
    rw_add(rw, out, update ? " ON UPDATE" : " ON DELETE");
    if (rw_eat(rw, "cascade")) {
      rw_add(rw, out, " CASCADE");
    } else if (rw_eat(rw, "set")) {
      bool null = rw_eat(rw, "null");
      if (!null && rw_need(rw, "default") < 0) {
        return -1;
      }
      rw_add(rw, out, null ? " SET NULL" : " SET DEFAULT");
    } else {
      if (rw_need(rw, "no") < 0 || rw_need(rw, "action") < 0) {
        return -1;
      }
      rw_add(rw, out, " NO ACTION");
    }
  }
  return 0;
}

int rw_references(struct rw *rw, struct rw_text *out) {
  const char *name = NULL;
  const char *whole = NULL;
  struct rw_key_columns columns = {0};
  if (rw_need(rw, "references") < 0 || rw_table_name(rw, &name, &whole) < 0) {
    return -1;
  }
  rw_add(rw, out, rw_format(rw, " REFERENCES %s", rw_quote(rw, name)));
  if (rw_is_sign(rw, "(")) {
    if (rw_read_key_columns(rw, &columns) < 0) {
      return -1;
    }
    rw_add(rw, out, rw_format(rw, " (%s)", columns.quoted));
  }
  return action(rw, out);
}

static int foreign_key(struct rw *rw, const char *name, struct rw_text *out) {
  struct rw_key_columns columns = {0};
  if (rw_need(rw, "key") < 0 || rw_read_key_columns(rw, &columns) < 0) {
    return -1;
  }
  rw_add(rw, out, ", ");
  if (name != NULL) {
    rw_add(rw, out, rw_format(rw, "CONSTRAINT %s ", rw_quote(rw, name)));
  }
  rw_add(rw, out, rw_format(rw, "FOREIGN KEY (%s)", columns.quoted));
  return rw_references(rw, out);
}

int rw_table_constraint(struct rw *rw, struct rw_definition *def) {
  const char *name = NULL;
  if (rw_eat(rw, "constraint") && rw_name(rw, &name) < 0) {
    return -1;
  }
  if (rw_eat(rw, "primary")) {
    return rw_key(rw, def, true, name, NULL, &def->body);
  }
  if (rw_eat(rw, "unique")) {
    return rw_key(rw, def, false, name, NULL, &def->body);
  }
  if (rw_eat(rw, "check")) {
    return rw_check(rw, def, name, NULL, &def->body);
  }
  return rw_eat(rw, "foreign") ? foreign_key(rw, name, &def->body) : rw_bad(rw);
}
