/* SPDX-License-Identifier: MIT */
/* The "when" of a rule, and which rule fits a message. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_script_parse.h"

struct word {
  const char *name;
  uint32_t value;
};

static const struct word kinds[] = {
    {"any", TDSD_SCRIPT_ANY},         {"prelogin", TDSD_SCRIPT_PRELOGIN},
    {"login", TDSD_SCRIPT_LOGIN},     {"batch", TDSD_SCRIPT_BATCH},
    {"rpc", TDSD_SCRIPT_RPC},         {"tm", TDSD_SCRIPT_TM},
    {"bulk", TDSD_SCRIPT_BULK},       {"attention", TDSD_SCRIPT_ATTENTION},
    {"ignored", TDSD_SCRIPT_IGNORED},
};

static const struct word verbs[] = {
    {"begin", TDSD_TM_BEGIN},
    {"commit", TDSD_TM_COMMIT},
    {"rollback", TDSD_TM_ROLLBACK},
    {"save", TDSD_TM_SAVE},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Takes the word if it is in the table.  Returns whether it was. */
static bool take_word(struct tdsd_script_parser *parser,
                      const struct word *words,
                      size_t n,
                      uint32_t *out) {
  for (size_t i = 0; i < n; i++) {
    if (tdsd_script_accept_word(parser, words[i].name)) {
      *out = words[i].value;
      return true;
    }
  }
  return false;
}

static int copy(struct tdsd_script_parser *parser,
                const char *text,
                char **out) {
  *out = tdsd_arena_copy(&parser->program->arena, text, strlen(text));
  return *out == NULL ? tdsd_script_error(parser, "no memory for the rule") : 0;
}

/* The procedure of an rpc, the verb of a tm. */
static int read_call(struct tdsd_script_parser *parser,
                     struct tdsd_script_rule *out) {
  uint64_t number = 0;
  if (out->kind == TDSD_SCRIPT_TM &&
      take_word(parser, verbs, COUNT(verbs), &out->number)) {
    return 0;
  }
  if (parser->token.lexeme == TDSD_SL_NUMBER &&
      (out->kind == TDSD_SCRIPT_TM || out->kind == TDSD_SCRIPT_RPC)) {
    if (tdsd_script_number(parser, 1, 0xFFFF, &number) < 0) {
      return -1;
    }
    out->number = (uint32_t)number;
    return 0;
  }
  if (out->kind == TDSD_SCRIPT_RPC && parser->token.lexeme == TDSD_SL_WORD &&
      strcmp(parser->token.text, "prefix") != 0 &&
      strcmp(parser->token.text, "glob") != 0) {
    size_t at = parser->at;
    while (at < parser->len && parser->text[at] == ' ') {
      at++;
    }
    bool option = at < parser->len && parser->text[at] == '=';
    bool flag = tdsd_script_is_word(parser, "nocase") ||
                tdsd_script_is_word(parser, "ownreset");
    if (!option && !flag) {
      int rc = copy(parser, parser->token.text, &out->name);
      return rc < 0 ? -1 : tdsd_script_next(parser);
    }
  }
  return 0;
}

static int read_text(struct tdsd_script_parser *parser,
                     enum tdsd_script_text how,
                     struct tdsd_script_rule *out) {
  const char *text = NULL;
  if (tdsd_script_string(parser, &text) < 0) {
    return -1;
  }
  out->how = how;
  return copy(parser, text, &out->text);
}

static int read_count(struct tdsd_script_parser *parser, uint32_t *out) {
  uint64_t value = 0;
  if (tdsd_script_number(parser, 1, UINT32_MAX, &value) < 0) {
    return -1;
  }
  *out = (uint32_t)value;
  return 0;
}

static int read_reset(struct tdsd_script_parser *parser, uint8_t *out) {
  uint64_t value = 0;
  if (tdsd_script_number(parser, 8, 16, &value) < 0) {
    return -1;
  }
  if (value != TDSD_ST_RESET && value != 10 && value != 16) {
    return tdsd_script_expected(parser, "8 or 0x10");
  }
  *out = value == TDSD_ST_RESET ? TDSD_ST_RESET : TDSD_ST_RESET_SKIPTRAN;
  return 0;
}

static int read_condition(struct tdsd_script_parser *parser,
                          struct tdsd_script_rule *out) {
  if (parser->token.lexeme == TDSD_SL_STRING) {
    return read_text(parser, TDSD_TEXT_EXACT, out);
  }
  if (tdsd_script_accept_word(parser, "prefix")) {
    return read_text(parser, TDSD_TEXT_PREFIX, out);
  }
  if (tdsd_script_accept_word(parser, "glob")) {
    return read_text(parser, TDSD_TEXT_GLOB, out);
  }
  if (tdsd_script_accept_word(parser, "nocase")) {
    out->nocase = true;
    return 0;
  }
  if (tdsd_script_accept_word(parser, "ownreset")) {
    out->own_reset = true;
    return 0;
  }
  if (tdsd_script_accept_option(parser, "conn")) {
    return read_count(parser, &out->conn);
  }
  if (tdsd_script_accept_option(parser, "msg")) {
    return read_count(parser, &out->msg);
  }
  if (tdsd_script_accept_option(parser, "first")) {
    return read_count(parser, &out->first);
  }
  if (tdsd_script_accept_option(parser, "reset")) {
    return read_reset(parser, &out->reset);
  }
  return tdsd_script_expected(parser,
                              "\"text\", prefix, glob, nocase, ownreset, "
                              "conn=, msg=, first=, reset= or {");
}

int tdsd_script_rule_read(struct tdsd_script_parser *parser,
                          struct tdsd_script_rule *out) {
  uint32_t kind = 0;
  *out = (struct tdsd_script_rule){.how = TDSD_TEXT_ANY};
  if (!take_word(parser, kinds, COUNT(kinds), &kind)) {
    return tdsd_script_expected(parser,
                                "any, prelogin, login, batch, rpc, tm, bulk, "
                                "attention or ignored");
  }
  out->kind = (enum tdsd_script_kind)kind;
  if (read_call(parser, out) < 0) {
    return -1;
  }
  while (!tdsd_script_is_sign(parser, '{')) {
    if (read_condition(parser, out) < 0) {
      return -1;
    }
  }
  return tdsd_script_next(parser);
}

static char fold(char c, bool nocase) {
  return nocase && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(const char *a, const char *b, size_t n, bool nocase) {
  for (size_t i = 0; i < n; i++) {
    if (fold(a[i], nocase) != fold(b[i], nocase)) {
      return false;
    }
  }
  return true;
}

/* * is any run of bytes, ? any one.  The last star is where to try again, which
 * is enough, because an earlier one need not take more. */
static bool globs(const char *pattern,
                  const char *text,
                  size_t len,
                  bool nocase) {
  const char *star = NULL;
  size_t star_at = 0;
  size_t at = 0;
  while (at < len) {
    if (*pattern == '*') {
      star = ++pattern;
      star_at = at;
    } else if (*pattern != 0 &&
               (*pattern == '?' ||
                fold(*pattern, nocase) == fold(text[at], nocase))) {
      pattern++;
      at++;
    } else if (star != NULL) {
      pattern = star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (*pattern == '*') {
    pattern++;
  }
  return *pattern == 0;
}

/* Clients put line ends behind a batch; they do not count. */
static size_t trimmed(const struct tdsd_script_asked *asked) {
  size_t len = asked->text_len;
  while (len != 0 && strchr(" \t\r\n", asked->text[len - 1]) != NULL) {
    len--;
  }
  return len;
}

static bool text_fits(const struct tdsd_script_rule *rule,
                      const struct tdsd_script_asked *asked) {
  size_t len = rule->how == TDSD_TEXT_ANY ? 0 : strlen(rule->text);
  switch (rule->how) {
  case TDSD_TEXT_EXACT:
    return trimmed(asked) == len &&
           same(rule->text, asked->text, len, rule->nocase);
  case TDSD_TEXT_PREFIX:
    return asked->text_len >= len &&
           same(rule->text, asked->text, len, rule->nocase);
  case TDSD_TEXT_GLOB:
    return globs(rule->text, asked->text, trimmed(asked), rule->nocase);
  case TDSD_TEXT_ANY:
  default:
    return true;
  }
}

static bool kind_fits(const struct tdsd_script_rule *rule,
                      const struct tdsd_script_asked *asked) {
  if (rule->kind == TDSD_SCRIPT_ANY) {
    return asked->kind == TDSD_SCRIPT_BATCH || asked->kind == TDSD_SCRIPT_RPC ||
           asked->kind == TDSD_SCRIPT_TM || asked->kind == TDSD_SCRIPT_BULK;
  }
  return rule->kind == asked->kind;
}

static bool fits(const struct tdsd_script_rule *rule,
                 const struct tdsd_script_asked *asked) {
  return kind_fits(rule, asked) &&
         (rule->number == 0 || rule->number == asked->number) &&
         (rule->name == NULL || strcasecmp(rule->name, asked->name) == 0) &&
         (rule->conn == 0 || rule->conn == asked->conn) &&
         (rule->msg == 0 || rule->msg == asked->msg) &&
         (rule->reset == 0 || rule->reset == asked->reset) &&
         text_fits(rule, asked);
}

const struct tdsd_script_rule *tdsd_script_find(
    struct tdsd_script *script,
    enum tdsd_script_layout layout,
    const struct tdsd_script_asked *asked) {
  const struct tdsd_program *program = &script->programs[layout];
  for (uint32_t i = 0; i < program->nrules; i++) {
    const struct tdsd_script_rule *rule = &program->rules[i];
    bool left = rule->first == 0 || script->used[i] < rule->first;
    if (left && fits(rule, asked)) {
      script->used[i]++;
      return rule;
    }
  }
  return NULL;
}
