/* SPDX-License-Identifier: MIT */
/* One request under way: a batch, or the calls of an RPC message one after the
 * other, each with its text answered (server_answer.h) and its output values. */
#ifndef TDSD_SERVER_CALLS_H
#define TDSD_SERVER_CALLS_H

#include "server_answer.h"
#include "server_proc.h"
#include "server_rpc.h"

struct tdsd_calls {
  struct tdsd_arena arena; /* of the whole request */
  struct tdsd_stream stream;
  struct tdsd_state *state;
  struct tdsd_answer_session *session;
  struct tdsd_call *call;    /* the call at hand or the next; NULL = none */
  struct tdsd_invoke invoke; /* of the call at hand */
  struct tdsd_answer answer; /* of its text, or of the batch */
  bool rpc;
  bool killed;
};

/* Makes the request ready for one of the starts below. */
void tdsd_calls_init(struct tdsd_calls *calls,
                     struct tdsd_state *state,
                     struct tdsd_answer_session *session,
                     const struct tdsd_writer *writer);

/* Starts a batch.  sql is copied.  Returns 0, or -1 without memory. */
int tdsd_calls_batch(struct tdsd_calls *calls, const char *sql, size_t len);

/* Starts the calls of a message, which live in calls->arena. */
void tdsd_calls_rpc(struct tdsd_calls *calls, struct tdsd_call *first);

/* Runs on; at TDSD_ANSWER_DONE and TDSD_ANSWER_KILL the response is complete.
 * TDSD_ANSWER_WAIT: again at answer.wake_ns. */
enum tdsd_answer_result tdsd_calls_step(struct tdsd_calls *calls,
                                        uint64_t now_ns);

/* Ends it, wherever it is, and frees everything. */
void tdsd_calls_fini(struct tdsd_calls *calls);

#endif
