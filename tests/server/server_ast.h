/* SPDX-License-Identifier: MIT */
/* The parsed form of a batch: a flat list of operations, so that execution can
 * stop at any of them and go on later. */
#ifndef TDSD_SERVER_AST_H
#define TDSD_SERVER_AST_H

#include "server_value.h"

enum tdsd_expr_kind {
  TDSD_EXPR_LITERAL,  /* literal */
  TDSD_EXPR_VARIABLE, /* slot of the batch's variables */
  TDSD_EXPR_GLOBAL,   /* slot: index in the table of @@ names */
  TDSD_EXPR_COLUMN,   /* name; slot in the source once bound */
  TDSD_EXPR_COLLATE,  /* args[0]; slot: the collation */
  TDSD_EXPR_CAST,     /* args[0] to type; args[1] the style, if any */
  TDSD_EXPR_CALL,     /* slot: index in the table of functions; args */
  TDSD_EXPR_NEGATE,   /* args[0] */
  TDSD_EXPR_BINARY,   /* op: + - * / % on args[0], args[1] */
  TDSD_EXPR_COMPARE,  /* op: = ! < > l (<=) g (>=); a condition */
  TDSD_EXPR_AND,      /* conditions over conditions */
  TDSD_EXPR_OR,
  TDSD_EXPR_NOT,
  TDSD_EXPR_IS_NULL,
};

struct tdsd_expr {
  enum tdsd_expr_kind kind;
  char op;
  bool quiet; /* TRY_CAST, TRY_CONVERT: NULL instead of an error */
  uint32_t line;
  uint32_t slot;
  uint32_t nargs;
  const char *name;
  struct tdsd_expr **args;
  struct tdsd_value literal;
  struct tdsd_type type; /* of the result; set by tdsd_bind() */
};

enum tdsd_source_kind {
  TDSD_FROM_NOTHING,
  TDSD_FROM_VALUES,   /* (VALUES (..), (..)) AS t (a, b) */
  TDSD_FROM_ROWS,     /* dbo.rows(n): a column n from 1 to n */
  TDSD_FROM_SESSIONS, /* sys.dm_exec_sessions */
  TDSD_FROM_TABLE,    /* a #temporary table without rows; else error 208 */
};

struct tdsd_source {
  enum tdsd_source_kind kind;
  const char *name;        /* of the table */
  struct tdsd_expr *count; /* of dbo.rows */
  uint32_t ncolumns;
  uint32_t nrows;
  const char **names;        /* ncolumns */
  struct tdsd_type *types;   /* ncolumns; set by binding */
  struct tdsd_expr **values; /* nrows * ncolumns */
};

struct tdsd_item {
  struct tdsd_expr *expr; /* NULL for a star */
  const char *name;
  int32_t variable; /* slot that SELECT @x = assigns, or -1 */
};

struct tdsd_select {
  uint32_t nitems;
  struct tdsd_item *items;
  struct tdsd_expr *top;
  struct tdsd_expr *where;
  const char *into; /* the #table that SELECT ... INTO makes, or NULL */
  struct tdsd_source source;
  struct tdsd_select *next; /* UNION ALL */
};

enum tdsd_op_kind {
  TDSD_OP_NOTHING, /* a statement with a DONE and no effect */
  TDSD_OP_SELECT,
  TDSD_OP_PRINT,
  TDSD_OP_RAISERROR,  /* exprs: text, severity, state, arguments */
  TDSD_OP_THROW,      /* exprs: number, text, state; all NULL = rethrow */
  TDSD_OP_SET_OPTION, /* name, text */
  TDSD_OP_ASSIGN,     /* slot = exprs[0]; silent */
  TDSD_OP_USE,        /* name */
  TDSD_OP_BEGIN,
  TDSD_OP_COMMIT,
  TDSD_OP_ROLLBACK, /* name: a savepoint, or NULL */
  TDSD_OP_SAVE,
  TDSD_OP_WAITFOR,   /* exprs[0]: the delay as text */
  TDSD_OP_EXEC,      /* name, arguments; slot: @rc or TDSD_NO_SLOT */
  TDSD_OP_EXEC_TEXT, /* exprs[0]: the text of EXEC (...) */
  TDSD_OP_TABLES,    /* text: a statement on tables, as it was written */
  TDSD_OP_UNKNOWN,   /* a statement on a table; name: 208 */
  TDSD_OP_CREATE,    /* name; text: its columns */
  TDSD_OP_DROP,      /* name; with_log: IF EXISTS */
  TDSD_OP_USEROPTIONS,
  TDSD_OP_CONTEXT_INFO, /* exprs[0] */
  TDSD_OP_KILL,         /* exprs[0] */
  TDSD_OP_EXECUTE_AS,   /* exprs[0]: of whom */
  TDSD_OP_REVERT,
  TDSD_OP_JUMP,       /* target */
  TDSD_OP_JUMP_FALSE, /* target unless exprs[0] */
  TDSD_OP_RETURN,
};

/* No variable. */
#define TDSD_NO_SLOT 0xFFFFFFFFu

/* One argument of EXEC. */
struct tdsd_argument {
  const char *name;       /* with its @; empty = by position */
  struct tdsd_expr *expr; /* NULL = DEFAULT */
  uint32_t output;        /* slot of the variable that takes the value */
};

struct tdsd_op {
  enum tdsd_op_kind kind;
  uint32_t line;
  uint32_t slot;
  uint32_t target;
  uint32_t nexprs;
  bool with_log; /* RAISERROR ... WITH LOG; DROP ... IF EXISTS */
  const char *name;
  const char *text;
  struct tdsd_expr **exprs;
  struct tdsd_select *select;
  uint32_t narguments;
  struct tdsd_argument *arguments;
  uint32_t handler; /* where the CATCH of its TRY begins, or TDSD_NO_SLOT */
  uint32_t catches; /* how many CATCH blocks it stands in */
};

struct tdsd_batch {
  struct tdsd_op *ops;
  uint32_t nops;
  uint32_t room;
  struct tdsd_variable *variables;
  uint32_t nvariables;
  uint32_t variables_room;
  bool tables; /* somebody has tables: statements on them are not unknown */
};

#endif
