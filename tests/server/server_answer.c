/* SPDX-License-Identifier: MIT */
#include "server_answer.h"

#include <string.h>

int tdsd_answerers_add(struct tdsd_answerers *answerers,
                       const struct tdsd_answerer *by,
                       void *context) {
  if (answerers->n == TDSD_ANSWERERS_MAX) {
    return -1;
  }
  answerers->links[answerers->n].by = by;
  answerers->links[answerers->n].context = context;
  answerers->n++;
  return 0;
}

void tdsd_answer_session_open(struct tdsd_answer_session *session,
                              const struct tdsd_answerers *answerers,
                              struct tdsd_state *state) {
  memset(session, 0, sizeof *session);
  session->answerers = answerers;
  for (uint32_t i = 0; i < answerers->n; i++) {
    if (answerers->links[i].by->open != NULL) {
      answerers->links[i].by->open(answerers->links[i].context, state,
                                   &session->own[i]);
    }
  }
}

void tdsd_answer_session_reset(struct tdsd_answer_session *session) {
  const struct tdsd_answerers *answerers = session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    if (answerers->links[i].by->reset != NULL) {
      answerers->links[i].by->reset(session->own[i]);
    }
  }
}

void tdsd_answer_session_close(struct tdsd_answer_session *session) {
  const struct tdsd_answerers *answerers = session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    if (answerers->links[i].by->close != NULL) {
      answerers->links[i].by->close(session->own[i]);
    }
  }
  session->answerers = NULL;
}

int tdsd_answer_transact(struct tdsd_answer_session *session,
                         enum tdsd_tran_verb verb,
                         const char *name,
                         struct tdsd_fault *fault) {
  const struct tdsd_answerers *answerers = session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    const struct tdsd_answerer *by = answerers->links[i].by;
    int rc = by->transact == NULL
                 ? 0
                 : by->transact(session->own[i], verb, name, fault);
    if (rc != 0) {
      return rc;
    }
  }
  return 0;
}

bool tdsd_answer_committing(const struct tdsd_answer_session *session) {
  const struct tdsd_answerers *answerers = session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    const struct tdsd_answerer *by = answerers->links[i].by;
    if (by->committing != NULL && by->committing(session->own[i])) {
      return true;
    }
  }
  return false;
}

void *tdsd_answer_own(const struct tdsd_answer *answer,
                      const struct tdsd_answerer *by) {
  const struct tdsd_answerers *answerers = answer->session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    if (answerers->links[i].by == by) {
      return answer->session->own[i];
    }
  }
  return NULL;
}

bool tdsd_answer_has_tables(const struct tdsd_answer_session *session) {
  const struct tdsd_answerers *answerers = session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    if (answerers->links[i].by->tables != NULL) {
      return true;
    }
  }
  return false;
}

void tdsd_answer_begin_tables(struct tdsd_answer *answer) {
  const struct tdsd_answerers *answerers = answer->session->answerers;
  for (uint32_t i = 0; i < answerers->n; i++) {
    const struct tdsd_answerer *by = answerers->links[i].by;
    if (by->tables != NULL) {
      answer->by = by;
      (void)by->tables(answerers->links[i].context, answer);
      return;
    }
  }
}

void tdsd_answer_begin(struct tdsd_answer *answer) {
  const struct tdsd_answerers *answerers = answer->session->answerers;
  for (uint32_t i = 0; answerers != NULL && i < answerers->n; i++) {
    const struct tdsd_answerer *by = answerers->links[i].by;
    if (by->begin(answerers->links[i].context, answer) != 0) {
      answer->by = by;
      return;
    }
  }
  (void)tdsd_subset.begin(NULL, answer);
  answer->by = &tdsd_subset;
}

enum tdsd_answer_result tdsd_answer_step(struct tdsd_answer *answer,
                                         uint64_t now_ns) {
  return answer->by->step(answer, now_ns);
}

void tdsd_answer_cancel(struct tdsd_answer *answer) {
  if (answer->by != NULL && answer->by->cancel != NULL) {
    answer->by->cancel(answer);
  }
}

void tdsd_answer_end(struct tdsd_answer *answer) {
  if (answer->by != NULL) {
    answer->by->end(answer);
    answer->by = NULL;
    answer->own = NULL;
  }
}
