/* SPDX-License-Identifier: MIT */
/* Compiling scripts: rules, the actions in their braces, loops. */
#include "server_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server_const.h"
#include "server_script_parse.h"

static int no_memory(struct tdsd_script_parser *parser) {
  return tdsd_script_error(parser, "no memory for the script");
}

static int emit(struct tdsd_script_parser *parser,
                enum tdsd_script_verb verb,
                uint32_t at,
                uint64_t n) {
  struct tdsd_program *program = parser->program;
  if (program->nops % 64 == 0) { /* there is room for a multiple of 64 */
    struct tdsd_script_op *ops =
        realloc(program->ops, (program->nops + 64) * sizeof *ops);
    if (ops == NULL) {
      return no_memory(parser);
    }
    program->ops = ops;
  }
  program->ops[program->nops++] =
      (struct tdsd_script_op){.verb = verb, .at = at, .n = n};
  return 0;
}

/* Makes the bytes that were appended to the pool one op, joined to the one
 * before where that is possible. */
static int emit_bytes(struct tdsd_script_parser *parser, size_t from) {
  struct tdsd_program *program = parser->program;
  size_t n = tdsd_buf_len(&program->pool) - from;
  if (program->pool.failed) {
    return no_memory(parser);
  }
  if (tdsd_buf_len(&program->pool) > TDSD_CAP_VALUE) {
    return tdsd_script_error(parser,
                             "expected a script of at most %u bytes "
                             "of answers",
                             TDSD_CAP_VALUE);
  }
  return n == 0 ? 0 : emit(parser, TDSD_OP_BYTES, (uint32_t)from, n);
}

/* N[ms|s]. */
static int read_delay(struct tdsd_script_parser *parser) {
  uint64_t ms = 0;
  if (tdsd_script_number(parser, 0, 3600000, &ms) < 0) {
    return -1;
  }
  if (tdsd_script_accept_word(parser, "s")) {
    ms *= 1000;
  } else {
    (void)tdsd_script_accept_word(parser, "ms");
  }
  return emit(parser, TDSD_OP_DELAY, 0, ms);
}

/* A text of a state, kept in the pool. */
static int read_state_text(struct tdsd_script_parser *parser,
                           enum tdsd_script_state state) {
  const char *text = NULL;
  if (tdsd_script_string(parser, &text) < 0) {
    return -1;
  }
  size_t from = tdsd_buf_len(&parser->program->pool);
  tdsd_buf_bytes(&parser->program->pool, text, strlen(text) + 1);
  return emit(parser, TDSD_OP_STATE, (uint32_t)state, from);
}

static int read_state_number(struct tdsd_script_parser *parser,
                             enum tdsd_script_state state,
                             uint64_t most) {
  uint64_t value = 0;
  if (tdsd_script_number(parser, 0, most, &value) < 0) {
    return -1;
  }
  return emit(parser, TDSD_OP_STATE, (uint32_t)state, value);
}

/* state descriptor=N | isolation=N | database=".." | language=".." | reset. */
static int read_state(struct tdsd_script_parser *parser) {
  if (tdsd_script_accept_option(parser, "descriptor")) {
    return read_state_number(parser, TDSD_STATE_DESCRIPTOR, UINT64_MAX);
  }
  if (tdsd_script_accept_option(parser, "isolation")) {
    return read_state_number(parser, TDSD_STATE_ISOLATION, 5);
  }
  if (tdsd_script_accept_option(parser, "database")) {
    return read_state_text(parser, TDSD_STATE_DATABASE);
  }
  if (tdsd_script_accept_option(parser, "language")) {
    return read_state_text(parser, TDSD_STATE_LANGUAGE);
  }
  if (tdsd_script_accept_word(parser, "reset")) {
    return emit(parser, TDSD_OP_STATE, TDSD_STATE_RESET, 0);
  }
  return tdsd_script_expected(
      parser, "descriptor=, isolation=, database=, language= or reset");
}

/* ready [packetsize=N]. */
static int read_ready(struct tdsd_script_parser *parser) {
  uint64_t size = TDSD_PACKET_DEFAULT;
  if (tdsd_script_accept_option(parser, "packetsize") &&
      tdsd_script_number(parser, TDSD_PACKET_MIN, TDSD_PACKET_MAX, &size) < 0) {
    return -1;
  }
  return emit(parser, TDSD_OP_STATE, TDSD_STATE_READY, size);
}

static int read_actions(struct tdsd_script_parser *parser,
                        struct tdsd_script_rule *rule);

/* One action that is no token.  Returns 1, 0 if it is none, or -1. */
static int read_simple(struct tdsd_script_parser *parser,
                       struct tdsd_script_rule *rule) {
  static const struct {
    const char *name;
    enum tdsd_script_verb verb;
  } verbs[] = {{"packet", TDSD_OP_PACKET}, {"eom", TDSD_OP_EOM},
               {"close", TDSD_OP_CLOSE},   {"reset", TDSD_OP_RESET},
               {"hang", TDSD_OP_HANG},     {"pass", TDSD_OP_PASS}};
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    if (tdsd_script_accept_word(parser, verbs[i].name)) {
      rule->passes = rule->passes || verbs[i].verb == TDSD_OP_PASS;
      return emit(parser, verbs[i].verb, 0, 0) < 0 ? -1 : 1;
    }
  }
  if (tdsd_script_accept_word(parser, "delay")) {
    return read_delay(parser) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_word(parser, "state")) {
    return read_state(parser) < 0 ? -1 : 1;
  }
  if (tdsd_script_accept_word(parser, "ready")) {
    return read_ready(parser) < 0 ? -1 : 1;
  }
  return parser->failed ? -1 : 0;
}

/* A token, or hex.  Returns 1, 0 if it is none, or -1. */
static int read_token(struct tdsd_script_parser *parser) {
  struct tdsd_buf *pool = &parser->program->pool;
  size_t from = tdsd_buf_len(pool);
  int rc = 0;
  if (tdsd_script_is_word(parser, "hex")) {
    rc = tdsd_script_hex(parser, pool) < 0 ? -1 : 1;
  } else {
    rc = tdsd_script_row_read(parser, pool);
    rc = rc != 0 ? rc : tdsd_script_token_read(parser, pool);
  }
  if (rc <= 0) {
    return rc;
  }
  return emit_bytes(parser, from) < 0 ? -1 : 1;
}

/* Where repeats have begun that have not ended. */
struct loops {
  uint32_t ops[TDSD_SCRIPT_LOOPS];
  uint32_t n;
};

/* repeat N { */
static int open_loop(struct tdsd_script_parser *parser, struct loops *loops) {
  uint64_t turns = 0;
  if (loops->n == TDSD_SCRIPT_LOOPS) {
    return tdsd_script_error(parser,
                             "expected at most %u repeats in one "
                             "another",
                             TDSD_SCRIPT_LOOPS);
  }
  if (tdsd_script_number(parser, 0, 1000000000, &turns) < 0 ||
      tdsd_script_expect_sign(parser, '{') < 0) {
    return -1;
  }
  loops->ops[loops->n++] = parser->program->nops;
  return emit(parser, TDSD_OP_LOOP, 0, turns);
}

/* The } of a repeat: LOOP learns where it ends, NEXT where it began. */
static int close_loop(struct tdsd_script_parser *parser, struct loops *loops) {
  uint32_t from = loops->ops[--loops->n];
  if (emit(parser, TDSD_OP_NEXT, from + 1, 0) < 0) {
    return -1;
  }
  parser->program->ops[from].at = parser->program->nops;
  return tdsd_script_next(parser);
}

static int read_action(struct tdsd_script_parser *parser,
                       struct tdsd_script_rule *rule,
                       struct loops *loops) {
  if (tdsd_script_accept_word(parser, "repeat")) {
    return open_loop(parser, loops);
  }
  int rc = read_simple(parser, rule);
  rc = rc != 0 ? rc : read_token(parser);
  if (rc == 0) {
    return tdsd_script_expected(parser, "an action or }");
  }
  if (rc > 0 && !tdsd_script_is_end(parser)) {
    return tdsd_script_expected(parser, "the end of the action");
  }
  return rc < 0 ? -1 : 0;
}

/* Everything between the braces of a rule. */
static int read_actions(struct tdsd_script_parser *parser,
                        struct tdsd_script_rule *rule) {
  struct loops loops = {.n = 0};
  while (loops.n != 0 || !tdsd_script_is_sign(parser, '}')) {
    int rc = 0;
    if (parser->token.lexeme == TDSD_SL_LINE) {
      rc = tdsd_script_next(parser);
    } else if (tdsd_script_is_sign(parser, '}')) {
      rc = close_loop(parser, &loops);
    } else {
      rc = read_action(parser, rule, &loops);
    }
    if (rc < 0) {
      return -1;
    }
  }
  if (emit(parser, TDSD_OP_DEFAULT, 0, 0) < 0) {
    return -1;
  }
  return tdsd_script_next(parser);
}

static int add_rule(struct tdsd_script_parser *parser,
                    struct tdsd_script_rule **out) {
  struct tdsd_program *program = parser->program;
  if (program->nrules == TDSD_CAP_SCRIPT_RULES) {
    return tdsd_script_error(parser, "expected at most %u rules",
                             TDSD_CAP_SCRIPT_RULES);
  }
  struct tdsd_script_rule *rules =
      realloc(program->rules, (program->nrules + 1) * sizeof *rules);
  if (rules == NULL) {
    return no_memory(parser);
  }
  program->rules = rules;
  *out = &rules[program->nrules++];
  **out = (struct tdsd_script_rule){.how = TDSD_TEXT_ANY};
  return 0;
}

static int read_rules(struct tdsd_script_parser *parser) {
  if (tdsd_script_next(parser) < 0) {
    return -1;
  }
  while (parser->token.lexeme != TDSD_SL_END) {
    struct tdsd_script_rule *rule = NULL;
    if (parser->token.lexeme == TDSD_SL_LINE) {
      if (tdsd_script_next(parser) < 0) {
        return -1;
      }
      continue;
    }
    if (!tdsd_script_accept_word(parser, "when")) {
      return tdsd_script_expected(parser, "when");
    }
    if (add_rule(parser, &rule) < 0 || rule == NULL ||
        tdsd_script_rule_read(parser, rule) < 0) {
      return -1;
    }
    rule->op = parser->program->nops;
    if (read_actions(parser, rule) < 0) {
      return -1;
    }
  }
  return 0;
}

static void free_program(struct tdsd_program *program) {
  tdsd_arena_fini(&program->arena);
  tdsd_buf_fini(&program->pool);
  free(program->rules);
  free(program->ops);
}

static void free_script(struct tdsd_script *script) {
  for (int i = 0; i < TDSD_LAYOUTS; i++) {
    free_program(&script->programs[i]);
  }
  free(script->used);
  free(script);
}

static int compile(const char *name,
                   const char *text,
                   size_t len,
                   enum tdsd_script_layout layout,
                   struct tdsd_program *program,
                   char *why,
                   size_t cap) {
  struct tdsd_script_parser parser = {.name = name,
                                      .text = text,
                                      .len = len,
                                      .line = 1,
                                      .layout = layout,
                                      .program = program,
                                      .why = why,
                                      .cap = cap};
  int rc = read_rules(&parser);
  for (uint32_t i = 0; i < parser.ncolumns; i++) {
    tdsd_script_type_fini(&parser.columns[i].type);
  }
  free(parser.columns);
  tdsd_arena_fini(&parser.arena);
  /* An error met while a look ahead was answered with "no". */
  return parser.failed ? -1 : rc;
}

int tdsd_script_parse(const char *name,
                      const char *text,
                      size_t len,
                      struct tdsd_script **out_script,
                      char *why,
                      size_t cap) {
  struct tdsd_script *script = calloc(1, sizeof *script);
  if (script == NULL) {
    (void)snprintf(why, cap, "%s: no memory for the script", name);
    return -1;
  }
  script->holds = 1;
  for (int i = 0; i < TDSD_LAYOUTS; i++) {
    if (compile(name, text, len, (enum tdsd_script_layout)i,
                &script->programs[i], why, cap) < 0) {
      free_script(script);
      return -1;
    }
  }
  script->used = calloc(script->programs[0].nrules + 1u, sizeof *script->used);
  if (script->used == NULL) {
    (void)snprintf(why, cap, "%s: no memory for the script", name);
    free_script(script);
    return -1;
  }
  *out_script = script;
  return 0;
}

/* Only files: whoever opens a FIFO waits for its writer, and the one thread of
 * all sessions would.  Returns NULL with errno set. */
static FILE *open_file(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat found = {.st_mode = 0};
  if (fd < 0) {
    return NULL;
  }
  if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode)) {
    (void)close(fd);
    errno = S_ISDIR(found.st_mode) ? EISDIR : EINVAL;
    return NULL;
  }
  FILE *file = fdopen(fd, "r");
  if (file == NULL) {
    (void)close(fd);
  }
  return file;
}

int tdsd_script_load(const char *path,
                     struct tdsd_script **out_script,
                     char *why,
                     size_t cap) {
  FILE *file = open_file(path);
  char *text = file == NULL ? NULL : malloc(TDSD_CAP_SCRIPT + 1u);
  if (text == NULL) {
    (void)snprintf(why, cap, "%s: %s", path, strerrordesc_np(errno));
    if (file != NULL) {
      (void)fclose(file);
    }
    return -1;
  }
  size_t len = fread(text, 1, TDSD_CAP_SCRIPT + 1u, file);
  int rc = -1;
  if (ferror(file) != 0) {
    (void)snprintf(why, cap, "%s: cannot be read", path);
  } else if (len > TDSD_CAP_SCRIPT) {
    (void)snprintf(why, cap, "%s: has more than %u bytes", path,
                   TDSD_CAP_SCRIPT);
  } else {
    rc = tdsd_script_parse(path, text, len, out_script, why, cap);
  }
  free(text);
  (void)fclose(file);
  return rc;
}

struct tdsd_script *tdsd_script_hold(struct tdsd_script *script) {
  if (script != NULL) {
    script->holds++;
  }
  return script;
}

void tdsd_script_drop(struct tdsd_script *script) {
  if (script != NULL && --script->holds == 0) {
    free_script(script);
  }
}
