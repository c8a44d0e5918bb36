/* SPDX-License-Identifier: MIT */
/* submitted_forms.h - has a test of blocking calls use the submit forms instead:
 * each call submits, takes its completion from a queue of its own, and answers
 * what the blocking form would.  Force-included (submitted.cmake), so that the
 * tests of exec and txn say the same of both. */
#ifndef WEIR_TEST_SUBMITTED_FORMS_H
#define WEIR_TEST_SUBMITTED_FORMS_H

#include "weir.h"

int32_t submitted_exec(weir_h lease,
                       const char *sql,
                       uint64_t sql_len,
                       const struct weir_exec_opts *opts,
                       struct weir_error *err);
int32_t submitted_next(weir_h lease,
                       struct weir_item *out,
                       struct weir_error *err);
int32_t submitted_begin(weir_h lease,
                        int32_t isolation,
                        struct weir_error *err);
int32_t submitted_commit(weir_h lease, struct weir_error *err);
int32_t submitted_rollback(weir_h lease, struct weir_error *err);
int32_t submitted_save(weir_h lease,
                       const char *name,
                       uint64_t name_len,
                       struct weir_error *err);
int32_t submitted_rollback_to(weir_h lease,
                              const char *name,
                              uint64_t name_len,
                              struct weir_error *err);

#ifndef SUBMITTED_FORMS_PLAIN
#  define weir_exec        submitted_exec
#  define weir_next        submitted_next
#  define weir_begin       submitted_begin
#  define weir_commit      submitted_commit
#  define weir_rollback    submitted_rollback
#  define weir_save        submitted_save
#  define weir_rollback_to submitted_rollback_to
#endif

#endif
