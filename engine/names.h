/* SPDX-License-Identifier: MIT */
/* names.h - names of options: equality, aliases, nearest match.
 *
 * Two names are the same if they agree without blanks (space, tab) and without
 * regard to the case of ASCII letters: "MaxPoolSize", "max pool size". */
#ifndef WEIR_NAMES_H
#define WEIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Most bytes of an option's name. */
#define WEIR_NAME_MAX 128

/* True if the two are the same name. */
bool weir__names_equal(const char *a,
                       size_t a_len,
                       const char *b,
                       size_t b_len);

/* True if name is one of the names in list, which has commas between them. */
bool weir__names_listed(const char *name,
                        size_t name_len,
                        const char *list,
                        size_t list_len);

/* The next name of a comma-separated list, without blanks around it.  *at is
 * the place to go on from, 0 at first.  Returns false at the end. */
bool weir__names_next(const char *list,
                      size_t list_len,
                      size_t *at,
                      const char **out_name,
                      size_t *out_len);

/* How badly candidate fits a mistyped name: 0 the same, 1 and 2 that many
 * slips (a letter too many, missing, wrong, or two swapped; Damerau and
 * Levenshtein), 3 name is the beginning of candidate, 4 candidate is the
 * beginning of name; WEIR_NAMES_FAR otherwise. */
#define WEIR_NAMES_PREFIX 3
#define WEIR_NAMES_FAR    100
int weir__names_distance(const char *name,
                         size_t name_len,
                         const char *candidate,
                         size_t candidate_len);

#endif
