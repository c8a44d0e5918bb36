/* SPDX-License-Identifier: MIT */
/* mock_parse.h - what the two halves of the script parser share. */
#ifndef MOCK_PARSE_H
#define MOCK_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mock_lex.h"
#include "mock_script.h"

struct mock_parser {
  const struct weir_drv_host *host;
  struct mock_script *script;
  struct mock_lex lex;
  struct weir_drv_error *err;
};

/* Says what was expected at the current token.  Returns false. */
bool mock_parse_fail(struct mock_parser *p, const char *wanted);

/* True if the current token is this word; take goes past it. */
bool mock_parse_is(const struct mock_parser *p, const char *word);
bool mock_parse_take(struct mock_parser *p, const char *word);

/* Takes a number of at most max; fails naming what was wanted. */
bool mock_parse_number(struct mock_parser *p,
                       uint64_t max,
                       const char *wanted,
                       uint64_t *out);

/* Makes room for one more element behind n of them; array is the address of the
 * pointer. */
bool mock_parse_room(struct mock_parser *p,
                     void *array,
                     uint32_t *cap,
                     uint32_t n,
                     uint64_t elem);

/* Takes one action of the rule and appends it to the script. */
bool mock_action_parse(struct mock_parser *p, struct mock_rule *rule);

#endif
