/* SPDX-License-Identifier: MIT */
/* Who answers a text.  Each batch, each text of sp_executesql and each execution
 * of a prepared statement is one answer.  The answerers of the server are asked
 * in the order in which they were added whether it is theirs; the T-SQL subset
 * (server_sql.c) takes what nobody wanted.
 *
 *   begin --> step, step, ... --> [cancel] --> end
 *
 * An answerer writes tokens into answer->stream: COLMETADATA and rows with the
 * stream's writer after tdsd_stream_flush(), statements' ends with
 * tdsd_stream_done(), messages with tdsd_stream_message().  RETURNSTATUS, output
 * values and the end of a procedure are its caller's matter. */
#ifndef TDSD_SERVER_ANSWER_H
#define TDSD_SERVER_ANSWER_H

#include "server_state.h"
#include "server_stream.h"

/* Answerers one server may have beside the subset. */
#define TDSD_ANSWERERS_MAX 4u
/* Texts that may be under way within one another, as in SQL Server. */
#define TDSD_NESTING_MAX   32u

enum tdsd_answer_result {
  TDSD_ANSWER_DONE,   /* everything is written */
  TDSD_ANSWER_WAIT,   /* step again at wake_ns, or when somebody calls
                         tdsd_session_wake(); wake_ns 0 = only then */
  TDSD_ANSWER_FULL,   /* step again when some of the reply has been sent */
  TDSD_ANSWER_RAISED, /* over; fault is for the CATCH of the asking text */
  TDSD_ANSWER_KILL,   /* as DONE, and the session must end */
};

struct tdsd_answer_session;

/* What is asked, and how far it is answered. */
struct tdsd_answer {
  /* Set by who asks; everything pointed at lives until end. */
  const char *sql; /* UTF-8, not terminated by a zero */
  size_t len;
  struct tdsd_variable *params; /* without their declarations' defaults */
  uint32_t nparams;             /* 0 for a batch */
  uint32_t nesting;             /* 0 = the client's own text */
  struct tdsd_batch *batch;     /* of a statement on tables: its variables */
  uint32_t line;                /* of a statement on tables: where it begins */
  uint32_t slot; /* variable that takes the one value there is, in
                                   silence; TDSD_NO_SLOT = none */
  bool catching; /* errors above 10 and below 20 are not written
                                   but raised: step returns TDSD_ANSWER_RAISED */
  struct tdsd_state *state;
  struct tdsd_stream *stream;
  struct tdsd_answer_session *session;

  /* Set by the answerer. */
  const struct tdsd_answerer *by;
  void *own;               /* what it needs until end */
  uint64_t wake_ns;        /* of TDSD_ANSWER_WAIT */
  struct tdsd_fault fault; /* of TDSD_ANSWER_RAISED */
  int32_t status;          /* of RETURN */
  bool aborted;            /* an error ended the whole batch */
  bool terminated;         /* fault ended a change of rows: 3621 follows it */
  const int32_t *targets;  /* of SELECT @x = col: slots that values go to */
  const struct tdsd_value *values; /* they live until end() */
  uint32_t ntargets;
};

enum tdsd_tran_verb {
  TDSD_TRAN_BEGIN,       /* the outermost */
  TDSD_TRAN_COMMIT,      /* the outermost */
  TDSD_TRAN_ROLLBACK,    /* of everything */
  TDSD_TRAN_SAVE,        /* name */
  TDSD_TRAN_ROLLBACK_TO, /* name */
};

struct tdsd_answerer {
  const char *name;

  /* A text is offered.
   * Returns 1 if taken: by step() it is answered, with errors where it fails;
   * 0 if it is not this answerer's.
   * Owns: answer->own from 1 until end(). */
  int (*begin)(void *context, struct tdsd_answer *answer);

  /* A statement on tables within a text of the subset's is offered; it is the
   * answerer's who has this function, the first one's.  As begin.  Its errors are
   * always raised.  NULL = this answerer has no tables. */
  int (*tables)(void *context, struct tdsd_answer *answer);

  /* Goes on; never blocks.  OUTPUT values are in answer->params when it returns
   * TDSD_ANSWER_DONE, and stay there until end(). */
  enum tdsd_answer_result (*step)(struct tdsd_answer *answer, uint64_t now_ns);

  /* The client has lost interest: no step() comes any more, only end(), at once
   * or later.  May be NULL. */
  void (*cancel)(struct tdsd_answer *answer);

  /* Frees what is own.  Comes once after begin() returned 1. */
  void (*end)(struct tdsd_answer *answer);

  /* A session has begun, was reset, has ended.  What open stores is given to the
   * others and is in tdsd_answer_own().  Each may be NULL. */
  void (*open)(void *context, struct tdsd_state *state, void **out_own);
  void (*reset)(void *own);
  void (*close)(void *own);

  /* A transaction of the session goes on; no answer is under way but one that is
   * the subset's.  Returns 0; -1 with the fault: then nothing has changed; 1 for
   * TDSD_TRAN_COMMIT that takes time: ask again when somebody calls
   * tdsd_session_wake().  May be NULL. */
  int (*transact)(void *own,
                  enum tdsd_tran_verb verb,
                  const char *name,
                  struct tdsd_fault *fault);
};

/* The answerers of a server, first asked first. */
struct tdsd_answerers {
  struct {
    const struct tdsd_answerer *by;
    void *context;
  } links[TDSD_ANSWERERS_MAX];
  uint32_t n;
};

/* Adds one at the end.  Returns 0, or -1 if there are as many as can be. */
int tdsd_answerers_add(struct tdsd_answerers *answerers,
                       const struct tdsd_answerer *by,
                       void *context);

/* What a session's answerers keep for it. */
struct tdsd_answer_session {
  const struct tdsd_answerers *answerers; /* NULL until the login */
  void *own[TDSD_ANSWERERS_MAX];
};

void tdsd_answer_session_open(struct tdsd_answer_session *session,
                              const struct tdsd_answerers *answerers,
                              struct tdsd_state *state);
void tdsd_answer_session_reset(struct tdsd_answer_session *session);
void tdsd_answer_session_close(struct tdsd_answer_session *session);

/* Tells all of a session's answerers of a transaction's step.  Returns 0; -1 with
 * the fault of the first that refused; 1 if one needs time. */
int tdsd_answer_transact(struct tdsd_answer_session *session,
                         enum tdsd_tran_verb verb,
                         const char *name,
                         struct tdsd_fault *fault);

/* What open stored for the answerer that has taken the answer (or is asked). */
void *tdsd_answer_own(const struct tdsd_answer *answer,
                      const struct tdsd_answerer *by);

/* Whether statements on tables are somebody's. */
bool tdsd_answer_has_tables(const struct tdsd_answer_session *session);
/* Begins one of them; only if they are. */
void tdsd_answer_begin_tables(struct tdsd_answer *answer);

/* Finds an answerer for what the first half of *answer asks. */
void tdsd_answer_begin(struct tdsd_answer *answer);
enum tdsd_answer_result tdsd_answer_step(struct tdsd_answer *answer,
                                         uint64_t now_ns);
/* Cancels; end is still needed. */
void tdsd_answer_cancel(struct tdsd_answer *answer);
/* Frees.  Does nothing on an answer that did not begin or has ended. */
void tdsd_answer_end(struct tdsd_answer *answer);

/* The T-SQL subset, which takes everything (server_sql.c). */
extern const struct tdsd_answerer tdsd_subset;

#endif
