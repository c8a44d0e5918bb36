/* SPDX-License-Identifier: MIT */
/* api_exec.h - arguments of statements, which have two forms each. */
#ifndef WEIR_API_EXEC_H
#define WEIR_API_EXEC_H

#include <stdint.h>

#include "weir.h"

/* Each returns WEIR_OK or WEIR_E_ARG. */

/* Copies *opts (may be NULL) and checks it and the statement. */
int weir__api_exec_opts(const char *sql,
                        uint64_t sql_len,
                        const struct weir_exec_opts *opts,
                        struct weir_exec_opts *out_own,
                        struct weir_error *err);

/* Checks a caller's item and makes one of ours to be filled in its stead. */
int weir__api_item(const struct weir_item *item,
                   struct weir_item *out_own,
                   struct weir_error *err);

int weir__api_isolation(int32_t isolation, struct weir_error *err);
int weir__api_savepoint(const char *name,
                        uint64_t name_len,
                        struct weir_error *err);

#endif
