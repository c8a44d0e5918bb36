/* SPDX-License-Identifier: MIT */
#include "server_proc.h"

#include <string.h>
#include <strings.h>

#include "server_declare.h"

static int no_memory(struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 701, 17,
                        "There is insufficient memory for this query.");
}

struct tdsd_variable *tdsd_invoke_arg(const struct tdsd_invoke *invoke,
                                      uint32_t place,
                                      const char *name) {
  struct tdsd_variable *found = NULL;
  for (uint32_t i = 0; i < invoke->nargs; i++) {
    struct tdsd_variable *arg = &invoke->args[i];
    if (arg->name[0] == 0 ? i == place : strcasecmp(arg->name, name) == 0) {
      found = arg;
    }
  }
  return found != NULL && found->is_default ? NULL : found;
}

int tdsd_invoke_text(const struct tdsd_invoke *invoke,
                     uint32_t place,
                     const char *name,
                     const char **out_text,
                     size_t *out_len,
                     struct tdsd_fault *fault) {
  const struct tdsd_variable *arg = tdsd_invoke_arg(invoke, place, name);
  struct tdsd_type type = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  struct tdsd_value text;
  if (arg == NULL || arg->value.is_null) {
    *out_text = NULL;
    *out_len = 0;
    return 0;
  }
  if (tdsd_convert(&arg->value, &type, 0, invoke->arena, &text, fault) < 0) {
    return -1;
  }
  *out_text = text.bytes;
  *out_len = text.len;
  return 0;
}

/* The statement, declarations and handle of the procedures here stand at fixed
 * places whatever their names, because each client has names of its own. */
static int text_at(const struct tdsd_invoke *invoke,
                   uint32_t place,
                   const char *name,
                   bool needed,
                   const char **out_text,
                   size_t *out_len,
                   struct tdsd_fault *fault) {
  const struct tdsd_variable *arg =
      place < invoke->nargs ? &invoke->args[place] : NULL;
  bool text = arg != NULL && tdsd_kind_is_text(arg->value.type.kind) &&
              !arg->value.is_null && !arg->is_default;
  bool null = arg == NULL || arg->value.is_null || arg->is_default;
  if (text || (null && !needed)) {
    *out_text = text ? arg->value.bytes : "";
    *out_len = text ? arg->value.len : 0;
    return 0;
  }
  return tdsd_fault_set(fault, 214, 16,
                        "Procedure expects parameter '%s' of type "
                        "'ntext/nchar/nvarchar'.",
                        name);
}

static int handle_at(const struct tdsd_invoke *invoke,
                     int32_t *out_handle,
                     struct tdsd_fault *fault) {
  const struct tdsd_variable *arg =
      invoke->nargs != 0 ? &invoke->args[0] : NULL;
  struct tdsd_type type = {.kind = TDSD_INT};
  struct tdsd_value value = {.is_null = true};
  if (arg != NULL && !arg->is_default &&
      tdsd_convert(&arg->value, &type, 0, invoke->arena, &value, fault) < 0) {
    return -1;
  }
  *out_handle = value.is_null ? 0 : (int32_t)value.integer;
  return 0;
}

static int unknown_handle(struct tdsd_fault *fault, int32_t handle) {
  return tdsd_fault_set(fault, 8179, 16,
                        "Could not find prepared statement with handle %d.",
                        (int)handle);
}

/* Binds the arguments from place on to the declarations. */
static int bind_text(struct tdsd_invoke *invoke,
                     const char *sql,
                     size_t len,
                     const char *declared,
                     size_t declared_len,
                     uint32_t place,
                     struct tdsd_fault *fault) {
  struct tdsd_binding binding = {0};
  uint32_t nargs = invoke->nargs > place ? invoke->nargs - place : 0;
  if (tdsd_declare_bind(declared, declared_len, invoke->args + place, nargs,
                        sql, invoke->arena, &binding, fault) < 0) {
    return -1;
  }
  for (uint32_t p = 0; p < binding.nparams; p++) {
    if (binding.sources[p] != UINT32_MAX) {
      binding.sources[p] += place;
    }
  }
  /* A handle may be dropped while its text runs. */
  invoke->sql = tdsd_arena_copy(invoke->arena, sql, len);
  invoke->len = len;
  invoke->params = binding.params;
  invoke->nparams = binding.nparams;
  invoke->sources = binding.sources;
  return invoke->sql == NULL ? no_memory(fault) : 0;
}

static int run_executesql(struct tdsd_invoke *invoke,
                          struct tdsd_fault *fault) {
  const char *sql = NULL;
  const char *declared = NULL;
  size_t len = 0;
  size_t declared_len = 0;
  if (text_at(invoke, 0, "@statement", true, &sql, &len, fault) < 0 ||
      text_at(invoke, 1, "@params", false, &declared, &declared_len, fault) <
          0) {
    return -1;
  }
  return bind_text(invoke, sql, len, declared, declared_len, 2, fault);
}

/* Keeps a statement and stores its number in the first argument. */
static int prepare(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  const char *sql = NULL;
  const char *declared = NULL;
  size_t len = 0;
  size_t declared_len = 0;
  if (text_at(invoke, 1, "@params", false, &declared, &declared_len, fault) <
          0 ||
      text_at(invoke, 2, "@stmt", true, &sql, &len, fault) < 0) {
    return -1;
  }
  int32_t number = tdsd_handle_add(&invoke->state->handles, sql, len, declared,
                                   declared_len);
  if (number == 0) {
    return no_memory(fault);
  }
  struct tdsd_value *out = &invoke->args[0].value;
  *out = (struct tdsd_value){.type = {.kind = TDSD_INT, .nullable = true},
                             .bytes = "",
                             .integer = number};
  return 0;
}

/* An old handle that is passed in is given up.  One that does not exist is no
 * error: SqlClient begins with -1. */
static int run_prepexec(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  int32_t old = 0;
  if (handle_at(invoke, &old, fault) < 0) {
    return -1;
  }
  (void)tdsd_handle_drop(&invoke->state->handles, old);
  if (prepare(invoke, fault) < 0) {
    return -1;
  }
  int32_t number = (int32_t)invoke->args[0].value.integer;
  const struct tdsd_handle *handle =
      tdsd_handle_find(&invoke->state->handles, number);
  return bind_text(invoke, handle->sql, handle->len, handle->declared,
                   handle->declared_len, 3, fault);
}

static int run_execute(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  int32_t number = 0;
  if (handle_at(invoke, &number, fault) < 0) {
    return -1;
  }
  const struct tdsd_handle *handle =
      tdsd_handle_find(&invoke->state->handles, number);
  return handle == NULL
             ? unknown_handle(fault, number)
             : bind_text(invoke, handle->sql, handle->len, handle->declared,
                         handle->declared_len, 1, fault);
}

static int run_unprepare(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  int32_t number = 0;
  if (handle_at(invoke, &number, fault) < 0) {
    return -1;
  }
  return tdsd_handle_drop(&invoke->state->handles, number)
             ? 0
             : unknown_handle(fault, number);
}

static int refuse_cursor(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 16937, 16,
                        "Server cursors are not supported by this server: "
                        "'%.128s'.",
                        invoke->name);
}

static int refuse_prepexecrpc(struct tdsd_invoke *invoke,
                              struct tdsd_fault *fault) {
  (void)invoke;
  return tdsd_fault_set(fault, 40000, 16,
                        "sp_prepexecrpc is not supported by this server: call "
                        "the procedure itself.");
}

static const struct {
  const char *name;
  int (*run)(struct tdsd_invoke *invoke, struct tdsd_fault *fault);
} procedures[] = {
    {"sp_executesql", run_executesql}, {"sp_prepare", prepare},
    {"sp_prepexec", run_prepexec},     {"sp_execute", run_execute},
    {"sp_unprepare", run_unprepare},   {"sp_prepexecrpc", refuse_prepexecrpc},
};

int tdsd_invoke_begin(struct tdsd_invoke *invoke, struct tdsd_fault *fault) {
  invoke->sql = NULL;
  invoke->status = 0;
  for (size_t i = 0; i < sizeof procedures / sizeof procedures[0]; i++) {
    if (strcasecmp(procedures[i].name, invoke->name) == 0) {
      return procedures[i].run(invoke, fault);
    }
  }
  if (strncasecmp(invoke->name, "sp_cursor", 9) == 0) {
    return refuse_cursor(invoke, fault);
  }
  int rc = tdsd_invoke_misc(invoke, fault);
  return rc != 1 ? rc
                 : tdsd_fault_set(fault, 2812, 16,
                                  "Could not find stored procedure '%.128s'.",
                                  invoke->name);
}

void tdsd_invoke_end(struct tdsd_invoke *invoke) {
  for (uint32_t p = 0; p < invoke->nparams; p++) {
    uint32_t source = invoke->sources[p];
    if (source != UINT32_MAX && invoke->args[source].output) {
      invoke->args[source].value = invoke->params[p].value;
      invoke->args[source].variant = invoke->params[p].variant;
    }
  }
}
