/* SPDX-License-Identifier: MIT */
/* SELECT at work: types are settled over all parts of a UNION ALL, then rows are
 * computed one by one, each in memory of its own. */
#include <stdio.h>
#include <string.h>

#include "server_const.h"
#include "server_eval.h"
#include "server_option.h"
#include "server_report.h"
#include "server_sql.h"

/* Rows between two looks at the size of the reply. */
#define ROWS_A_STEP 64u

static int no_memory(struct tdsd_exec *exec) {
  return tdsd_fault_set(&exec->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

static struct tdsd_context context_of(struct tdsd_exec *exec,
                                      const struct tdsd_value *row) {
  struct tdsd_context context = tdsd_exec_context(exec);
  context.row = row;
  return context;
}

/* The columns of VALUES have the type in which all rows meet. */
static int bind_values(struct tdsd_exec *exec, struct tdsd_source *source) {
  for (uint32_t i = 0; i < source->nrows * source->ncolumns; i++) {
    struct tdsd_expr *expr = source->values[i];
    struct tdsd_type *type = &source->types[i % source->ncolumns];
    if (tdsd_bind(expr, NULL, &exec->batch, &exec->fault) < 0) {
      return -1;
    }
    *type =
        i < source->ncolumns ? expr->type : tdsd_type_meet(*type, expr->type);
    type->untyped = false;
  }
  return 0;
}

static int bind_table(struct tdsd_exec *exec, struct tdsd_source *source) {
  const struct tdsd_temp *temp =
      tdsd_temp_find(&exec->state->temps, source->name);
  source->ncolumns = 0;
  return temp == NULL || !tdsd_temp_is_name(source->name)
             ? tdsd_fault_set(&exec->fault, 208, 16,
                              "Invalid object name '%.128s'.", source->name)
             : tdsd_exec_read_columns(exec, temp->columns, source);
}

static int bind_source(struct tdsd_exec *exec, struct tdsd_source *source) {
  switch (source->kind) {
  case TDSD_FROM_VALUES:
    return bind_values(exec, source);
  case TDSD_FROM_ROWS:
    source->types[0] = (struct tdsd_type){.kind = TDSD_INT};
    return tdsd_bind(source->count, NULL, &exec->batch, &exec->fault);
  case TDSD_FROM_TABLE:
    return bind_table(exec, source);
  case TDSD_FROM_SESSIONS:
    return 0;
  case TDSD_FROM_NOTHING:
  default:
    return 0;
  }
}

/* Replaces the stars of the select list by the columns of the source. */
static int expand_stars(struct tdsd_exec *exec, struct tdsd_select *select) {
  const struct tdsd_source *source = &select->source;
  uint32_t stars = 0;
  for (uint32_t i = 0; i < select->nitems; i++) {
    stars += select->items[i].expr == NULL ? 1 : 0;
  }
  if (stars == 0) {
    return 0;
  }
  if (source->kind == TDSD_FROM_NOTHING) {
    return tdsd_fault_set(&exec->fault, 263, 16,
                          "Must specify table to select from.");
  }
  size_t n = select->nitems + (size_t)stars * source->ncolumns;
  struct tdsd_item *items = tdsd_arena_take(&exec->arena, n * sizeof *items);
  struct tdsd_expr *columns = tdsd_arena_take(
      &exec->arena, source->ncolumns * sizeof(struct tdsd_expr));
  if (items == NULL || columns == NULL) {
    return no_memory(exec);
  }
  uint32_t at = 0;
  for (uint32_t i = 0; i < select->nitems; i++) {
    if (select->items[i].expr != NULL) {
      items[at++] = select->items[i];
      continue;
    }
    for (uint32_t c = 0; c < source->ncolumns; c++) {
      columns[c] = (struct tdsd_expr){.kind = TDSD_EXPR_COLUMN,
                                      .name = source->names[c]};
      items[at++] = (struct tdsd_item){
          .expr = &columns[c], .name = source->names[c], .variable = -1};
    }
  }
  select->items = items;
  select->nitems = at;
  return 0;
}

static int bind_part(struct tdsd_exec *exec, struct tdsd_select *select) {
  struct tdsd_source *source = &select->source;
  if (bind_source(exec, source) < 0 || expand_stars(exec, select) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < select->nitems; i++) {
    if (tdsd_bind(select->items[i].expr, source, &exec->batch, &exec->fault) <
        0) {
      return -1;
    }
    if ((select->items[i].variable >= 0) != (select->items[0].variable >= 0)) {
      return tdsd_fault_set(&exec->fault, 141, 15,
                            "A SELECT statement that assigns a value to a "
                            "variable must not be combined with data-retrieval "
                            "operations.");
    }
  }
  if (select->where != NULL &&
      tdsd_bind(select->where, source, &exec->batch, &exec->fault) < 0) {
    return -1;
  }
  return select->top == NULL
             ? 0
             : tdsd_bind(select->top, NULL, &exec->batch, &exec->fault);
}

static int make_columns(struct tdsd_exec *exec, struct tdsd_select *first) {
  exec->ncolumns = first->nitems;
  exec->columns =
      tdsd_arena_take(&exec->arena, first->nitems * sizeof *exec->columns);
  if (exec->columns == NULL) {
    return no_memory(exec);
  }
  for (uint32_t i = 0; i < first->nitems; i++) {
    exec->columns[i].name = first->items[i].name;
    exec->columns[i].type = first->items[i].expr->type;
  }
  for (struct tdsd_select *s = first->next; s != NULL; s = s->next) {
    if (s->nitems != first->nitems) {
      return tdsd_fault_set(&exec->fault, 205, 16,
                            "All queries combined using a UNION, INTERSECT or "
                            "EXCEPT operator must have an equal number of "
                            "expressions in their target lists.");
    }
    for (uint32_t i = 0; i < s->nitems; i++) {
      struct tdsd_type *type = &exec->columns[i].type;
      *type = tdsd_type_meet(*type, s->items[i].expr->type);
    }
  }
  for (uint32_t i = 0; i < exec->ncolumns; i++) {
    exec->columns[i].type.untyped = false;
  }
  return 0;
}

static int evaluate_count(struct tdsd_exec *exec,
                          const struct tdsd_expr *expr,
                          uint64_t *out) {
  struct tdsd_context context = context_of(exec, NULL);
  struct tdsd_type type = {.kind = TDSD_INT};
  struct tdsd_value value;
  if (tdsd_eval(expr, &context, &value) < 0 ||
      tdsd_convert(&value, &type, 0, &exec->scratch, &value, &exec->fault) <
          0) {
    return -1;
  }
  *out = value.integer < 0 ? 0 : (uint64_t)value.integer;
  return 0;
}

static int begin_part(struct tdsd_exec *exec, struct tdsd_select *select) {
  exec->part = select;
  exec->at = 0;
  exec->end = 1;
  exec->limit = UINT64_MAX;
  if (tdsd_option_on(exec->state, "fmtonly") ||
      select->source.kind == TDSD_FROM_TABLE) {
    exec->end = 0;
  } else if (select->source.kind == TDSD_FROM_VALUES) {
    exec->end = select->source.nrows;
  } else if (select->source.kind == TDSD_FROM_SESSIONS) {
    exec->end = tdsd_report_sessions(exec->state);
  } else if (select->source.kind == TDSD_FROM_ROWS &&
             evaluate_count(exec, select->source.count, &exec->end) < 0) {
    return -1;
  }
  return select->top == NULL ? 0
                             : evaluate_count(exec, select->top, &exec->limit);
}

static void fail(struct tdsd_exec *exec) {
  /* A result that has begun is ended even if a CATCH takes its error. */
  bool caught = exec->fault.class < 20 &&
                (exec->op->handler != TDSD_NO_SLOT || exec->answer->catching);
  exec->part = NULL;
  if (exec->described && caught) {
    tdsd_stream_done(exec->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT,
                     exec->sent);
  }
  tdsd_exec_fail(exec, TDSD_CMD_SELECT);
}

static bool assigns(const struct tdsd_exec *exec) {
  return exec->first->items[0].variable >= 0;
}

/* SELECT ... INTO #t makes the table; its rows are counted and not kept. */
static void make_table(struct tdsd_exec *exec, struct tdsd_select *select) {
  char *text = tdsd_arena_take(&exec->scratch, exec->ncolumns * 512u + 1);
  size_t len = 0;
  if (text == NULL) {
    (void)no_memory(exec);
    fail(exec);
    return;
  }
  for (uint32_t i = 0; i < exec->ncolumns; i++) {
    const struct tdsd_column *column = &exec->columns[i];
    if (column->name[0] == 0) {
      (void)tdsd_fault_set(&exec->fault, 1038, 15,
                           "An object or column name is missing or empty. For "
                           "SELECT INTO statements, verify each column has a "
                           "name.");
      fail(exec);
      return;
    }
    char type[64];
    tdsd_type_print(&column->type, type, sizeof type);
    int n = snprintf(text + len, 512, "%s[%.384s] %s", i == 0 ? "" : ", ",
                     column->name, type);
    len += n < 0 ? 0 : (size_t)n;
  }
  if (tdsd_exec_create(exec, select->into, text) < 0) {
    fail(exec);
  }
}

void tdsd_select_begin(struct tdsd_exec *exec, struct tdsd_select *select) {
  exec->first = select;
  exec->sent = 0;
  exec->described = false;
  struct tdsd_select *part = select;
  do {
    if (bind_part(exec, part) < 0) {
      fail(exec);
      return;
    }
    part = part->next;
  } while (part != NULL);
  if (make_columns(exec, select) < 0 || begin_part(exec, select) < 0) {
    fail(exec);
    return;
  }
  if (select->into != NULL) {
    make_table(exec, select);
  } else if (!assigns(exec)) {
    tdsd_stream_flush(exec->stream);
    tdsd_write_columns(&exec->stream->writer, exec->columns, exec->ncolumns);
    exec->described = true;
  }
}

/* Computes the row of the source that the part stands at. */
static int source_row(struct tdsd_exec *exec, struct tdsd_value **out_row) {
  const struct tdsd_source *source = &exec->part->source;
  struct tdsd_context context = context_of(exec, NULL);
  struct tdsd_value *row = NULL;
  if (source->ncolumns != 0) {
    row = tdsd_arena_take(&exec->scratch, source->ncolumns * sizeof *row);
    if (row == NULL) {
      return no_memory(exec);
    }
  }
  if (source->kind == TDSD_FROM_ROWS && row != NULL) {
    row[0] = (struct tdsd_value){.type = source->types[0],
                                 .integer = (int64_t)exec->at + 1};
  }
  if (source->kind == TDSD_FROM_SESSIONS && row != NULL) {
    /* A session that has gone meanwhile leaves its row empty. */
    int rc = tdsd_report_row(exec->state, exec->at, &exec->scratch, row);
    *out_row = rc == 1 ? row : NULL;
    return rc < 0 ? no_memory(exec) : 0;
  }
  for (uint32_t i = 0; source->kind == TDSD_FROM_VALUES && i < source->ncolumns;
       i++) {
    const struct tdsd_expr *expr =
        source->values[exec->at * source->ncolumns + i];
    if (tdsd_eval(expr, &context, &row[i]) < 0 ||
        tdsd_convert(&row[i], &source->types[i], 0, &exec->scratch, &row[i],
                     &exec->fault) < 0) {
      return -1;
    }
  }
  *out_row = row;
  return 0;
}

/* A value that repeats is written out unless it goes piece by piece. */
static int write_row(struct tdsd_exec *exec, struct tdsd_value *values) {
  const struct tdsd_writer *writer = &exec->stream->writer;
  bool large = false;
  for (uint32_t i = 0; i < exec->ncolumns; i++) {
    bool suits = tdsd_flow_suits(writer, &exec->columns[i], &values[i], 1);
    if (!suits &&
        tdsd_value_flatten(&values[i], &exec->scratch, &exec->fault) < 0) {
      return -1;
    }
    large = large || suits;
  }
  if (large) {
    tdsd_flow_begin(&exec->flow, writer, exec->columns, values, exec->ncolumns);
  } else {
    tdsd_write_row(writer, exec->columns, values, exec->ncolumns);
  }
  return 0;
}

static int give_row(struct tdsd_exec *exec, const struct tdsd_value *row) {
  struct tdsd_context context = context_of(exec, row);
  struct tdsd_value *values =
      tdsd_arena_take(&exec->scratch, exec->ncolumns * sizeof *values);
  if (values == NULL) {
    return no_memory(exec);
  }
  for (uint32_t i = 0; i < exec->ncolumns; i++) {
    if (tdsd_eval(exec->part->items[i].expr, &context, &values[i]) < 0 ||
        tdsd_convert(&values[i], &exec->columns[i].type, 0, &exec->scratch,
                     &values[i], &exec->fault) < 0) {
      return -1;
    }
  }
  if (exec->first->into != NULL) {
    return 0;
  }
  if (!assigns(exec)) {
    return write_row(exec, values);
  }
  for (uint32_t i = 0; i < exec->ncolumns; i++) {
    uint32_t slot = (uint32_t)exec->part->items[i].variable;
    if (tdsd_exec_assign(exec, slot, &values[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

static int one_row(struct tdsd_exec *exec) {
  struct tdsd_value *row = NULL;
  int truth = 1;
  tdsd_arena_fini(&exec->scratch);
  if (source_row(exec, &row) < 0) {
    return -1;
  }
  if (row == NULL && exec->part->source.ncolumns != 0) {
    exec->at = exec->end;
    return 0;
  }
  if (exec->part->where != NULL) {
    struct tdsd_context context = context_of(exec, row);
    if (tdsd_eval_condition(exec->part->where, &context, &truth) < 0) {
      return -1;
    }
  }
  exec->at++;
  if (truth != 1) {
    return 0;
  }
  exec->limit--;
  exec->sent++;
  return give_row(exec, row);
}

static void end_select(struct tdsd_exec *exec) {
  exec->part = NULL;
  exec->state->rowcount = (int64_t)exec->sent;
  exec->state->error = 0;
  tdsd_stream_done(exec->stream, TDSD_DONE_COUNT, TDSD_CMD_SELECT, exec->sent);
}

void tdsd_select_step(struct tdsd_exec *exec) {
  for (unsigned n = 0; n < ROWS_A_STEP; n++) {
    if (exec->flow.columns != NULL) {
      (void)tdsd_flow_step(&exec->flow, &exec->stream->writer);
      if (tdsd_exec_used_up(exec)) {
        return;
      }
      continue;
    }
    while (exec->at >= exec->end || exec->limit == 0) {
      struct tdsd_select *next = exec->part->next;
      if (next == NULL) {
        end_select(exec);
        return;
      }
      if (begin_part(exec, next) < 0) {
        fail(exec);
        return;
      }
    }
    if (one_row(exec) < 0) {
      fail(exec);
      return;
    }
    if (tdsd_exec_used_up(exec)) {
      return;
    }
  }
}
