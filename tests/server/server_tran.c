/* SPDX-License-Identifier: MIT */
#include "server_tran.h"

#include <stdio.h>

#include "server_const.h"
#include "server_text.h"

int tdsd_tran_begin(const struct tdsd_tran *tran,
                    const char *name,
                    struct tdsd_fault *fault) {
  struct tdsd_state *state = tran->state;
  if (state->tran_count != 0) {
    state->tran_count++;
    return 0;
  }
  if (tdsd_answer_transact(tran->session, TDSD_TRAN_BEGIN, name, fault) < 0) {
    return -1;
  }
  (void)tdsd_state_begin(state);
  (void)snprintf(state->tran_name, sizeof state->tran_name, "%s",
                 name == NULL ? "" : name);
  tdsd_stream_descriptor(tran->stream, TDSD_ENV_BEGIN, state->descriptor, 0);
  return 0;
}

int tdsd_tran_commit(const struct tdsd_tran *tran, struct tdsd_fault *fault) {
  struct tdsd_state *state = tran->state;
  if (state->tran_count == 0) {
    return tdsd_fault_set(fault, 3902, 16,
                          "The COMMIT TRANSACTION request has no corresponding "
                          "BEGIN TRANSACTION.");
  }
  if (state->doomed) {
    return tdsd_fault_set(fault, 3930, 16,
                          "The current transaction cannot be committed and "
                          "cannot support operations that write to the log "
                          "file. Roll back the transaction.");
  }
  if (state->tran_count > 1) {
    state->tran_count--;
    return 0;
  }
  int rc = tdsd_answer_transact(tran->session, TDSD_TRAN_COMMIT, NULL, fault);
  if (rc != 0) {
    return rc;
  }
  tdsd_stream_descriptor(tran->stream, TDSD_ENV_COMMIT, 0,
                         tdsd_state_end(state));
  return 0;
}

static int rollback_to(const struct tdsd_tran *tran,
                       const char *name,
                       struct tdsd_fault *fault) {
  if (!tdsd_state_has_savepoint(tran->state, name)) {
    return tdsd_fault_set(fault, 6401, 16,
                          "Cannot roll back %.128s. No transaction or "
                          "savepoint of that name was found.",
                          name);
  }
  if (tdsd_answer_transact(tran->session, TDSD_TRAN_ROLLBACK_TO, name, fault) <
      0) {
    return -1;
  }
  (void)tdsd_state_rollback_to(tran->state, name);
  return 0;
}

int tdsd_tran_rollback(const struct tdsd_tran *tran,
                       const char *name,
                       struct tdsd_fault *fault) {
  struct tdsd_state *state = tran->state;
  if (state->tran_count == 0) {
    return tdsd_fault_set(fault, 3903, 16,
                          "The ROLLBACK TRANSACTION request has no "
                          "corresponding BEGIN TRANSACTION.");
  }
  bool whole = name == NULL || name[0] == 0 ||
               (tdsd_text_same(state->tran_name, name) &&
                !tdsd_state_has_savepoint(state, name));
  if (!whole) {
    return rollback_to(tran, name, fault);
  }
  if (tdsd_answer_transact(tran->session, TDSD_TRAN_ROLLBACK, NULL, fault) <
      0) {
    return -1;
  }
  tdsd_stream_descriptor(tran->stream, TDSD_ENV_ROLLBACK, 0,
                         tdsd_state_end(state));
  return 0;
}

int tdsd_tran_save(const struct tdsd_tran *tran,
                   const char *name,
                   struct tdsd_fault *fault) {
  if (tran->state->tran_count == 0) {
    return tdsd_fault_set(fault, 628, 16,
                          "Cannot issue SAVE TRANSACTION when there is no "
                          "active transaction.");
  }
  if (tran->state->nsavepoints == TDSD_SAVEPOINTS_MAX) {
    return tdsd_fault_set(fault, 40000, 16,
                          "A transaction has at most %u savepoints here.",
                          TDSD_SAVEPOINTS_MAX);
  }
  if (tdsd_answer_transact(tran->session, TDSD_TRAN_SAVE, name, fault) < 0) {
    return -1;
  }
  (void)tdsd_state_save(tran->state, name);
  return 0;
}

void tdsd_tran_abort(const struct tdsd_tran *tran) {
  struct tdsd_fault fault;
  if (tran->state->tran_count != 0) {
    (void)tdsd_tran_rollback(tran, NULL, &fault);
  }
}
