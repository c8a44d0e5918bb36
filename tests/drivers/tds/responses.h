/* SPDX-License-Identifier: MIT */
/* responses.h - whole responses of a server, one of each kind: cut, lied about
 * and fuzzed by several tests. */
#ifndef TDS_TEST_RESPONSES_H
#define TDS_TEST_RESPONSES_H

#include <stddef.h>

struct response {
  const char *name;
  const char *hex; /* the token stream of one message */
};

extern const struct response responses[];
extern const size_t n_responses;

#endif
