/* SPDX-License-Identifier: MIT */
/* The steps of a session's transaction, whether they come as T-SQL or as
 * transaction manager requests: state, answerers and the client (ENVCHANGE) are
 * told alike. */
#ifndef TDSD_SERVER_TRAN_H
#define TDSD_SERVER_TRAN_H

#include "server_answer.h"

struct tdsd_tran {
  struct tdsd_state *state;
  struct tdsd_answer_session *session;
  struct tdsd_stream *stream;
};

/* Each returns 0, or -1 with the fault; a DONE is the caller's matter. */

/* Begins, or goes one level deeper.  name may be NULL. */
int tdsd_tran_begin(const struct tdsd_tran *tran,
                    const char *name,
                    struct tdsd_fault *fault);

/* Commits the outermost level, or goes one level up.  3902 without any, 3930 if
 * an error has doomed it.  It may also return 1: to be called again when the
 * session is woken. */
int tdsd_tran_commit(const struct tdsd_tran *tran, struct tdsd_fault *fault);

/* Rolls everything back; with a name that is not the transaction's, back to the
 * savepoint of that name.  3903 without any, 6401 for an unknown name. */
int tdsd_tran_rollback(const struct tdsd_tran *tran,
                       const char *name,
                       struct tdsd_fault *fault);

/* Marks a savepoint. */
int tdsd_tran_save(const struct tdsd_tran *tran,
                   const char *name,
                   struct tdsd_fault *fault);

/* Rolls back if there is anything to, because of an error. */
void tdsd_tran_abort(const struct tdsd_tran *tran);

#endif
