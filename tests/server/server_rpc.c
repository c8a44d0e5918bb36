/* SPDX-License-Identifier: MIT */
#include "server_rpc.h"

#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_lex.h"
#include "server_rpc_value.h"
#include "server_text.h"

#define NAME_UNITS_MAX 523u
#define FLAGS_KNOWN    0x0007u
#define STATUS_OUTPUT  0x01u
#define STATUS_KNOWN   0x03u

/* One call while it is read. */
struct call {
  struct tdsd_reader reader;
  struct tdsd_arena *arena;
  struct tdsd_problem *problem;
  const char *name;
  struct tdsd_variable *params;
  uint32_t nparams;
  bool output; /* one of them is OUTPUT */
  bool more;   /* another call follows */
};

static int read_text(struct call *call, size_t units, const char **out_text) {
  const uint8_t *bytes = tdsd_read_bytes(&call->reader, 2 * units);
  char *text = tdsd_arena_take(call->arena, 3 * units + 1);
  if (bytes == NULL || text == NULL) {
    return tdsd_problem_set(
        call->problem, "a name of %zu units in an RPC does not fit", units);
  }
  (void)tdsd_text_from_w16(bytes, units, text);
  *out_text = text;
  return 0;
}

static int read_name(struct call *call) {
  static const char *const names[] = {"",
                                      "sp_cursor",
                                      "sp_cursoropen",
                                      "sp_cursorprepare",
                                      "sp_cursorexecute",
                                      "sp_cursorprepexec",
                                      "sp_cursorunprepare",
                                      "sp_cursorfetch",
                                      "sp_cursoroption",
                                      "sp_cursorclose",
                                      "sp_executesql",
                                      "sp_prepare",
                                      "sp_execute",
                                      "sp_prepexec",
                                      "sp_prepexecrpc",
                                      "sp_unprepare"};
  uint32_t units = tdsd_read_u16(&call->reader);
  if (units == 0xFFFF) {
    uint32_t id = tdsd_read_u16(&call->reader);
    if (id == 0 || id >= sizeof names / sizeof names[0]) {
      return tdsd_problem_set(
          call->problem, "RPC of unknown procedure number %u", (unsigned)id);
    }
    call->name = names[id];
    return 0;
  }
  if (units == 0 || units > NAME_UNITS_MAX) {
    return tdsd_problem_set(call->problem, "RPC name of %u units",
                            (unsigned)units);
  }
  return read_text(call, units, &call->name);
}

static int read_param(struct call *call, struct tdsd_variable *param) {
  size_t units = tdsd_read_u8(&call->reader);
  if (read_text(call, units, &param->name) < 0) {
    return -1;
  }
  uint32_t status = tdsd_read_u8(&call->reader);
  if ((status & ~STATUS_KNOWN) != 0) {
    return tdsd_problem_set(call->problem, "RPC parameter status 0x%02x",
                            (unsigned)status);
  }
  if (param->name[0] != 0 && param->name[0] != '@') {
    return tdsd_problem_set(call->problem,
                            "RPC parameter name '%.60s' has no @", param->name);
  }
  call->output = call->output || (status & STATUS_OUTPUT) != 0;
  return tdsd_rpc_value(&call->reader, call->arena, &param->value,
                        call->problem);
}

/* Parameters, up to the end or the mark of another call. */
static int read_params(struct call *call) {
  uint32_t room = 0;
  while (call->reader.left != 0) {
    uint8_t first = call->reader.at[0];
    if (first == 0xFF || first == 0xFE || first == 0x80) {
      call->more = true;
      return 0;
    }
    if (call->nparams == TDSD_CAP_VARIABLES) {
      return tdsd_problem_set(call->problem, "RPC with over 2100 parameters");
    }
    if (call->nparams == room) {
      room = room == 0 ? 8 : 2 * room;
      struct tdsd_variable *params =
          tdsd_arena_take(call->arena, room * sizeof *params);
      if (params == NULL) {
        return tdsd_problem_set(call->problem, "no memory for parameters");
      }
      if (call->nparams != 0) {
        memcpy(params, call->params, call->nparams * sizeof *params);
      }
      call->params = params;
    }
    if (read_param(call, &call->params[call->nparams]) < 0) {
      return -1;
    }
    call->nparams++;
  }
  return 0;
}

/* Parameters without names take those of the declaration, in its order. */
static void name_params(struct call *call, const struct tdsd_value *declared) {
  struct tdsd_lexer lexer = {.sql = declared->bytes,
                             .len = declared->len,
                             .line = 1,
                             .arena = call->arena};
  struct tdsd_token token = {.lexeme = TDSD_LEX_WORD};
  struct tdsd_fault fault;
  uint32_t i = 2;
  while (i < call->nparams && tdsd_lex_next(&lexer, &token, &fault) == 0 &&
         token.lexeme != TDSD_LEX_END) {
    if (token.lexeme != TDSD_LEX_VARIABLE) {
      continue;
    }
    if (call->params[i].name[0] == 0) {
      const char *name = tdsd_arena_copy(call->arena, token.text, token.len);
      call->params[i].name = name != NULL ? name : "";
    }
    i++;
  }
}

static bool is_text(const struct tdsd_value *value) {
  return tdsd_kind_is_text(value->type.kind) && !value->is_null;
}

/* What we cannot do is told as an error, because the bytes were right. */
static int check_served(struct call *call, struct tdsd_fault *fault) {
  if (strcasecmp(call->name, "sp_executesql") != 0) {
    return tdsd_fault_set(fault, 2812, 16,
                          "Could not find stored procedure '%.128s'.",
                          call->name);
  }
  if (call->more || call->output) {
    return tdsd_fault_set(fault, 40000, 16, "%s not built yet.",
                          call->more ? "Several calls in one RPC are"
                                     : "OUTPUT parameters are");
  }
  if (call->nparams == 0 || !is_text(&call->params[0].value) ||
      (call->nparams > 1 && !is_text(&call->params[1].value))) {
    return tdsd_fault_set(fault, 214, 16,
                          "Procedure expects parameter '@statement' of type "
                          "'ntext/nchar/nvarchar'.");
  }
  return 0;
}

int tdsd_rpc_parse(const uint8_t *body,
                   size_t len,
                   struct tdsd_arena *arena,
                   struct tdsd_batch *batch,
                   struct tdsd_rpc *out_rpc,
                   struct tdsd_problem *problem) {
  struct call call = {
      .reader = {body, len, false}, .arena = arena, .problem = problem};
  struct tdsd_rpc rpc = {.sql = ""};
  if (read_name(&call) < 0) {
    return -1;
  }
  uint32_t flags = tdsd_read_u16(&call.reader);
  if ((flags & ~FLAGS_KNOWN) != 0) {
    return tdsd_problem_set(problem, "RPC option flags 0x%04x",
                            (unsigned)flags);
  }
  if (read_params(&call) < 0) {
    return -1;
  }
  if (call.reader.over) {
    return tdsd_problem_set(problem, "RPC ends too early");
  }
  if (check_served(&call, &rpc.fault) == 0) {
    rpc.sql = call.params[0].value.bytes;
    rpc.sql_len = call.params[0].value.len;
    if (call.nparams > 2) {
      name_params(&call, &call.params[1].value);
      batch->variables = call.params + 2;
      batch->nvariables = call.nparams - 2;
      batch->variables_room = batch->nvariables;
    }
  }
  *out_rpc = rpc;
  return 0;
}
