/* SPDX-License-Identifier: MIT */
#include "test_rewrite_support.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server_rewrite.h"

struct declared {
  const char *name;
  const char *type;
  bool nullable;
  bool identity;
};

static const struct declared t_columns[] = {
    {"id", "int", false, true},
    {"name", "nvarchar(20)", true, false},
    {"price", "decimal(10,2)", true, false},
    {"at", "datetime2(3)", true, false},
    {"qty", "int", true, false},
    {"b", "varbinary(8)", true, false},
    {"g", "uniqueidentifier", true, false},
    {"ok", "bit", true, false},
    {"f", "float", true, false},
    {"m", "money", true, false},
    {"d", "date", true, false}};
static const struct declared u_columns[] = {
    {"id", "int", true, false},
    {"t_id", "int", true, false},
    {"note", "varchar(30)", true, false}};
static const struct declared tmp_columns[] = {{"a", "int", true, false},
                                              {"b", "varchar(5)", true, false}};

static const struct {
  const char *name;
  const struct declared *columns;
  uint32_t n;
} tables[] = {{"t", t_columns, 11},
              {"u", u_columns, 3},
              {"#tmp", tmp_columns, 2}};

static int find(void *user,
                const char *name,
                struct tdsd_arena *arena,
                const struct tdsd_rw_table **out_table,
                struct tdsd_fault *fault) {
  (void)user;
  (void)fault;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    if (strcasecmp(tables[i].name, name) != 0) {
      continue;
    }
    struct tdsd_rw_table *table = tdsd_arena_take(arena, sizeof *table);
    table->name = tables[i].name;
    table->ncolumns = tables[i].n;
    table->columns =
        tdsd_arena_take(arena, tables[i].n * sizeof *table->columns);
    for (uint32_t c = 0; c < tables[i].n; c++) {
      const struct declared *from = &tables[i].columns[c];
      struct tdsd_rw_column *to = &table->columns[c];
      *to = (struct tdsd_rw_column){
          .name = from->name, .known = true, .identity = from->identity};
      (void)tdsd_rw_type_scan(from->type, &to->type);
      to->type.nullable = from->nullable;
    }
    *out_table = table;
    return 1;
  }
  return 0;
}

static int rewrite(const char *sql,
                   struct tdsd_arena *arena,
                   struct tdsd_rewrite *out,
                   struct tdsd_fault *fault) {
  static const struct tdsd_rw_catalog catalog = {find, NULL};
  struct tdsd_variable variables[] = {
      {.name = "@id", .value = {.type = {.kind = TDSD_INT}}},
      {.name = "@n", .value = {.type = {.kind = TDSD_INT}}},
      {.name = "@name",
       .value = {.type = {.kind = TDSD_NVARCHAR, .size = 20}}}};
  struct tdsd_batch batch = {.variables = variables, .nvariables = 3};
  struct tdsd_rw_input input = {.sql = sql,
                                .len = strlen(sql),
                                .line = 1,
                                .batch = &batch,
                                .catalog = &catalog};
  memset(fault, 0, sizeof *fault);
  return tdsd_rewrite(&input, arena, out, fault);
}

void rewrite_text(const char *sql, char *out, size_t cap) {
  struct tdsd_arena arena = {0};
  struct tdsd_rewrite rewritten;
  struct tdsd_fault fault;
  if (rewrite(sql, &arena, &rewritten, &fault) < 0) {
    (void)snprintf(out, cap, "!%d %s", (int)fault.number, fault.text);
  } else {
    (void)snprintf(out, cap, "%s", rewritten.sql);
  }
  tdsd_arena_fini(&arena);
}

void rewrite_columns(const char *sql, char *out, size_t cap) {
  struct tdsd_arena arena = {0};
  struct tdsd_rewrite rewritten;
  struct tdsd_fault fault;
  size_t len = 0;
  out[0] = 0;
  if (rewrite(sql, &arena, &rewritten, &fault) < 0) {
    (void)snprintf(out, cap, "!%d %s", (int)fault.number, fault.text);
  } else {
    for (uint32_t i = 0; i < rewritten.ncolumns && len < cap; i++) {
      char type[64];
      const struct tdsd_rw_column *column = &rewritten.columns[i];
      (void)tdsd_rw_type_print(&column->type, type, sizeof type);
      int n = snprintf(out + len, cap - len, "%s%s %s%s", i == 0 ? "" : ", ",
                       column->name, column->known ? type : "?",
                       column->type.nullable ? " null" : "");
      len += n < 0 ? 0 : (size_t)n;
    }
  }
  tdsd_arena_fini(&arena);
}
