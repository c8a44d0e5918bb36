/* SPDX-License-Identifier: MIT */
#include "server_rpc.h"

#include <string.h>

#include "server_const.h"
#include "server_rpc_value.h"
#include "server_text.h"

#define NAME_UNITS_MAX 523u
#define FLAGS_KNOWN    0x0007u
#define STATUS_OUTPUT  0x01u
#define STATUS_KNOWN   0x03u

#define STATUS_DEFAULT 0x02u
#define BATCH_FLAG     0xFFu
#define NO_EXEC_FLAG   0xFEu
#define BATCH_FLAG_71  0x80u

/* One message while it is read. */
struct reading {
  struct tdsd_reader reader;
  uint32_t version;
  struct tdsd_arena *arena;
  struct tdsd_fault *fault;
  struct tdsd_problem *problem;
};

static int no_memory(const struct reading *reading) {
  return tdsd_problem_set(reading->problem, "no memory for an RPC");
}

static int read_text(struct reading *reading,
                     size_t units,
                     const char **out_text) {
  const uint8_t *bytes = tdsd_read_bytes(&reading->reader, 2 * units);
  if (bytes == NULL) {
    return tdsd_problem_set(
        reading->problem, "a name of %zu units in an RPC does not fit", units);
  }
  char *text = tdsd_arena_take(reading->arena, 3 * units + 1);
  if (text == NULL) {
    return no_memory(reading);
  }
  (void)tdsd_text_from_w16(bytes, units, text);
  *out_text = text;
  return 0;
}

/* What stands behind the last dot, without brackets around it. */
static const char *last_part(struct tdsd_arena *arena, const char *whole) {
  const char *dot = strrchr(whole, '.');
  const char *part = dot == NULL ? whole : dot + 1;
  size_t len = strlen(part);
  bool quoted = len >= 2 && part[0] == '[' && part[len - 1] == ']';
  return tdsd_arena_copy(arena, quoted ? part + 1 : part,
                         quoted ? len - 2 : len);
}

static int read_name(struct reading *reading, struct tdsd_call *call) {
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
  uint32_t units = tdsd_read_u16(&reading->reader);
  if (units == 0xFFFF) {
    uint32_t id = tdsd_read_u16(&reading->reader);
    if (id == 0 || id >= sizeof names / sizeof names[0]) {
      return tdsd_problem_set(
          reading->problem, "RPC of unknown procedure number %u", (unsigned)id);
    }
    call->name = names[id];
    call->whole = names[id];
    return 0;
  }
  if (units == 0 || units > NAME_UNITS_MAX) {
    return tdsd_problem_set(reading->problem, "RPC name of %u units",
                            (unsigned)units);
  }
  if (read_text(reading, units, &call->whole) < 0) {
    return -1;
  }
  call->name = last_part(reading->arena, call->whole);
  return call->name == NULL ? no_memory(reading) : 0;
}

static int read_param(struct reading *reading, struct tdsd_variable *param) {
  size_t units = tdsd_read_u8(&reading->reader);
  *param = (struct tdsd_variable){.name = ""};
  if (read_text(reading, units, &param->name) < 0) {
    return -1;
  }
  uint32_t status = tdsd_read_u8(&reading->reader);
  if ((status & ~STATUS_KNOWN) != 0) {
    return tdsd_problem_set(reading->problem, "RPC parameter status 0x%02x",
                            (unsigned)status);
  }
  if (param->name[0] != 0 && param->name[0] != '@') {
    return tdsd_problem_set(reading->problem,
                            "RPC parameter name '%.60s' has no @", param->name);
  }
  param->output = (status & STATUS_OUTPUT) != 0;
  param->is_default = (status & STATUS_DEFAULT) != 0;
  return tdsd_rpc_value(&reading->reader, reading->arena, &param->value,
                        reading->fault, reading->problem);
}

/* Whether the byte at hand ends a call's parameters.  80 did so before 7.2,
 * where a name of 128 units cannot be (names are shorter). */
static bool at_separator(const struct reading *reading) {
  uint8_t first = reading->reader.at[0];
  return first == BATCH_FLAG || first == NO_EXEC_FLAG ||
         (reading->version == TDSD_V71 && first == BATCH_FLAG_71);
}

static int grow_params(struct reading *reading,
                       struct tdsd_call *call,
                       uint32_t *room) {
  if (call->nparams == TDSD_CAP_VARIABLES) {
    return tdsd_problem_set(reading->problem, "RPC with over 2100 parameters");
  }
  if (call->nparams < *room) {
    return 0;
  }
  uint32_t more = *room == 0 ? 8 : 2 * *room;
  struct tdsd_variable *params =
      tdsd_arena_take(reading->arena, more * sizeof *params);
  if (params == NULL) {
    return no_memory(reading);
  }
  if (call->nparams != 0) {
    memcpy(params, call->params, call->nparams * sizeof *params);
  }
  call->params = params;
  *room = more;
  return 0;
}

/* Parameters, up to the end or the mark of another call. */
static int read_params(struct reading *reading, struct tdsd_call *call) {
  uint32_t room = 0;
  while (reading->reader.left != 0 && !at_separator(reading)) {
    if (grow_params(reading, call, &room) < 0 ||
        read_param(reading, &call->params[call->nparams]) < 0) {
      return -1;
    }
    if (reading->fault->number != 0) {
      return 0;
    }
    call->nparams++;
  }
  return 0;
}

static int read_call(struct reading *reading, struct tdsd_call **out_call) {
  struct tdsd_call *call = tdsd_arena_take(reading->arena, sizeof *call);
  if (call == NULL) {
    (void)no_memory(reading);
    return -1; /* in so many words, for the analyzer; likewise below */
  }
  if (read_name(reading, call) < 0) {
    return -1;
  }
  call->flags = tdsd_read_u16(&reading->reader);
  if ((call->flags & ~FLAGS_KNOWN) != 0) {
    (void)tdsd_problem_set(reading->problem, "RPC option flags 0x%04x",
                           (unsigned)call->flags);
    return -1;
  }
  if (read_params(reading, call) < 0) {
    return -1;
  }
  if (reading->reader.over) {
    (void)tdsd_problem_set(reading->problem, "RPC ends too early");
    return -1;
  }
  *out_call = call;
  return 0;
}

int tdsd_rpc_parse(const uint8_t *body,
                   size_t len,
                   uint32_t version,
                   struct tdsd_arena *arena,
                   struct tdsd_call **out_first,
                   struct tdsd_fault *out_fault,
                   struct tdsd_problem *problem) {
  struct reading reading = {.reader = {body, len, false},
                            .version = version,
                            .arena = arena,
                            .fault = out_fault,
                            .problem = problem};
  struct tdsd_call *first = NULL;
  struct tdsd_call **at = &first;
  out_fault->number = 0;
  bool more = true;
  while (more) {
    if (read_call(&reading, at) < 0) {
      return -1;
    }
    /* A separator may stand behind the last call, too. */
    more = out_fault->number == 0 && reading.reader.left != 0;
    if (more) {
      (*at)->skipped = tdsd_read_u8(&reading.reader) == NO_EXEC_FLAG;
      more = reading.reader.left != 0;
    }
    at = &(*at)->next;
  }
  *out_first = first;
  return 0;
}
