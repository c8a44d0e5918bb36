/* SPDX-License-Identifier: MIT */
#include "server_declare.h"

#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_parse.h"

static int no_memory(struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 701, 17,
                        "There is insufficient memory for this query.");
}

static int cut(size_t len, size_t most) {
  return (int)(len < most ? len : most);
}

/* @name [AS] type [= literal] [OUTPUT | OUT | READONLY] */
static int parse_one(struct tdsd_parser *parser, struct tdsd_variable *param) {
  const struct tdsd_token *token = &parser->token;
  bool as = false;
  bool assigned = false;
  bool out = false;
  if (token->lexeme != TDSD_LEX_VARIABLE) {
    return tdsd_parse_bad(parser);
  }
  *param = (struct tdsd_variable){.value = {.is_null = true, .bytes = ""}};
  param->name = tdsd_arena_copy(parser->arena, token->text, token->len);
  if (param->name == NULL) {
    return no_memory(parser->fault);
  }
  if (tdsd_parse_next(parser) < 0 || tdsd_parse_eat(parser, "as", &as) < 0 ||
      tdsd_parse_type(parser, 1, &param->value.type) < 0 ||
      tdsd_parse_eat_sign(parser, "=", &assigned) < 0) {
    return -1;
  }
  param->variant = param->value.type.kind == TDSD_VARIANT;
  if (assigned) {
    struct tdsd_expr *expr = NULL;
    if (tdsd_parse_value(parser, &expr) < 0 ||
        expr->kind != TDSD_EXPR_LITERAL ||
        tdsd_convert(&expr->literal, &param->value.type, 0, parser->arena,
                     &param->value, parser->fault) < 0) {
      return expr != NULL && expr->kind != TDSD_EXPR_LITERAL
                 ? tdsd_parse_bad(parser)
                 : -1;
    }
    param->is_default = true;
  }
  if (tdsd_parse_eat(parser, "output", &out) < 0 ||
      (!out && tdsd_parse_eat(parser, "out", &out) < 0)) {
    return -1;
  }
  param->output = out;
  if (tdsd_lex_is(&parser->token, "readonly")) {
    return tdsd_fault_set(parser->fault, 40000, 16,
                          "Table-valued parameters are not supported by this "
                          "server: '%.128s'.",
                          param->name);
  }
  return 0;
}

static bool is_declared(const struct tdsd_binding *binding, const char *name) {
  for (uint32_t i = 0; i < binding->nparams; i++) {
    if (strcasecmp(binding->params[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

/* Makes room for one more parameter. */
static int grow(struct tdsd_parser *parser,
                struct tdsd_binding *binding,
                uint32_t *room) {
  if (binding->nparams < *room) {
    return 0;
  }
  uint32_t more = *room == 0 ? 8 : 2 * *room;
  struct tdsd_variable *params =
      tdsd_arena_take(parser->arena, more * sizeof *params);
  if (params == NULL) {
    (void)no_memory(parser->fault);
    return -1; /* in so many words, for the analyzer */
  }
  if (binding->nparams != 0) {
    memcpy(params, binding->params, binding->nparams * sizeof *params);
  }
  binding->params = params;
  *room = more;
  return 0;
}

static int parse_all(struct tdsd_parser *parser, struct tdsd_binding *binding) {
  uint32_t room = 0;
  bool more = true;
  if (tdsd_parse_next(parser) < 0) {
    return -1;
  }
  if (parser->token.lexeme == TDSD_LEX_END) {
    return 0;
  }
  while (more) {
    struct tdsd_variable param;
    if (binding->nparams == TDSD_CAP_VARIABLES ||
        parse_one(parser, &param) < 0 || grow(parser, binding, &room) < 0) {
      return binding->nparams == TDSD_CAP_VARIABLES ? tdsd_parse_bad(parser)
                                                    : -1;
    }
    if (is_declared(binding, param.name)) {
      return tdsd_fault_set(
          parser->fault, 134, 15,
          "The variable name '%.128s' has already been declared.", param.name);
    }
    binding->params[binding->nparams++] = param;
    if (tdsd_parse_eat_sign(parser, ",", &more) < 0) {
      return -1;
    }
  }
  return parser->token.lexeme == TDSD_LEX_END ? 0 : tdsd_parse_bad(parser);
}

#define UNBOUND 0xFFFFFFFFu

/* The parameter an argument is for: that of its name, else that of its place. */
static uint32_t place_of(const struct tdsd_binding *binding,
                         const struct tdsd_variable *args,
                         uint32_t i) {
  if (args[i].name[0] == 0) {
    return i < binding->nparams ? i : UNBOUND;
  }
  for (uint32_t p = 0; p < binding->nparams; p++) {
    if (strcasecmp(binding->params[p].name, args[i].name) == 0) {
      return p;
    }
  }
  return UNBOUND;
}

static int bind_one(struct tdsd_variable *param,
                    const struct tdsd_variable *arg,
                    struct tdsd_arena *arena,
                    struct tdsd_fault *fault) {
  if (arg->output && !param->output) {
    return tdsd_fault_set(
        fault, 8162, 16,
        "The formal parameter \"%.128s\" was not declared as "
        "an OUTPUT parameter, but the actual parameter passed "
        "in requested output.",
        param->name);
  }
  param->output = arg->output;
  if (arg->is_default) {
    return 0;
  }
  struct tdsd_type type = tdsd_variable_type(param);
  param->is_default = false;
  return tdsd_convert(&arg->value, &type, 0, arena, &param->value, fault);
}

static int bind_all(struct tdsd_binding *binding,
                    const struct tdsd_variable *args,
                    uint32_t nargs,
                    struct tdsd_arena *arena,
                    struct tdsd_fault *fault) {
  for (uint32_t i = 0; i < nargs; i++) {
    uint32_t p = place_of(binding, args, i);
    if (p == UNBOUND && args[i].name[0] != 0) {
      return tdsd_fault_set(fault, 8145, 16,
                            "%.128s is not a parameter for procedure "
                            "sp_executesql.",
                            args[i].name);
    }
    if (p == UNBOUND || binding->sources[p] != UNBOUND) {
      return tdsd_fault_set(fault, 8144, 16,
                            "Procedure or function sp_executesql has too many "
                            "arguments specified.");
    }
    binding->sources[p] = i;
    if (bind_one(&binding->params[p], &args[i], arena, fault) < 0) {
      return -1;
    }
  }
  return 0;
}

/* A parameter without argument needs a default. */
static int check_missing(const struct tdsd_binding *binding,
                         const struct tdsd_variable *args,
                         const char *declared,
                         size_t len,
                         const char *text,
                         struct tdsd_fault *fault) {
  for (uint32_t p = 0; p < binding->nparams; p++) {
    uint32_t source = binding->sources[p];
    bool given = source != UNBOUND && !args[source].is_default;
    if (!given && !binding->params[p].is_default) {
      return tdsd_fault_set(fault, 8178, 16,
                            "The parameterized query '(%.*s)%.128s' expects "
                            "the parameter '%.128s', which was not supplied.",
                            cut(len, 256), declared, text,
                            binding->params[p].name);
    }
    if (source == UNBOUND) {
      binding->params[p].output = false;
    }
  }
  return 0;
}

int tdsd_declare_bind(const char *declared,
                      size_t len,
                      const struct tdsd_variable *args,
                      uint32_t nargs,
                      const char *text,
                      struct tdsd_arena *arena,
                      struct tdsd_binding *out_binding,
                      struct tdsd_fault *fault) {
  struct tdsd_batch batch = {0};
  struct tdsd_parser parser = {
      .lexer = {.sql = declared, .len = len, .line = 1, .arena = arena},
      .arena = arena,
      .fault = fault,
      .batch = &batch};
  struct tdsd_binding binding = {0};
  if (parse_all(&parser, &binding) < 0) {
    return -1;
  }
  binding.sources =
      tdsd_arena_take(arena, (binding.nparams + 1) * sizeof *binding.sources);
  if (binding.sources == NULL) {
    return no_memory(fault);
  }
  for (uint32_t p = 0; p < binding.nparams; p++) {
    binding.sources[p] = UNBOUND;
  }
  if (bind_all(&binding, args, nargs, arena, fault) < 0 ||
      check_missing(&binding, args, declared, len, text, fault) < 0) {
    return -1;
  }
  *out_binding = binding;
  return 0;
}
