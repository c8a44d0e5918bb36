/* SPDX-License-Identifier: MIT */
/* Transaction manager requests (MS-TDS 2.2.6.9): begin, commit, roll back, save. */
#include <string.h>

#include "server_const.h"
#include "server_session.h"
#include "server_text.h"
#include "server_tran.h"

/* A B_VARBYTE name in UTF-16.  Returns the bytes it takes, or -1. */
static int read_name(const uint8_t *body,
                     size_t len,
                     char *out,
                     size_t cap,
                     struct tdsd_problem *problem) {
  if (len < 1 || body[0] > len - 1 || body[0] % 2 != 0) {
    return tdsd_problem_set(problem,
                            "the name in a transaction manager request does "
                            "not fit");
  }
  char name[3 * 128];
  size_t n = tdsd_text_from_w16(body + 1, body[0] / 2u, name);
  n = n < cap - 1 ? n : cap - 1;
  memcpy(out, name, n);
  out[n] = 0;
  return 1 + body[0];
}

/* One transaction manager request while it is read and served. */
struct management {
  struct tdsd_session *session;
  struct tdsd_stream stream;
  struct tdsd_tran tran;
  struct tdsd_fault fault;
  struct tdsd_problem problem;
};

/* Ends the response: a DONE, or the fault if there is one. */
static int answer(struct management *m, int rc, uint32_t command) {
  if (rc < 0) {
    m->fault.line = 1;
    m->session->state.error = m->fault.number;
    tdsd_stream_message(&m->stream, &m->fault);
  }
  tdsd_stream_done(&m->stream, rc < 0 ? TDSD_DONE_ERROR : 0, command, 0);
  tdsd_stream_end(&m->stream);
  tdsd_session_send(m->session);
  return 0;
}

static int begin(struct management *m, int isolation, const char *name) {
  if (isolation != 0) {
    m->session->state.isolation = (uint8_t)isolation; /* stays */
  }
  return tdsd_tran_begin(&m->tran, name, &m->fault);
}

/* iso(1) name.  Returns the isolation level, or -1. */
static int read_begin(const uint8_t *body,
                      size_t len,
                      char name[TDSD_OPTION_BYTES],
                      struct tdsd_problem *problem) {
  if (len < 2 || body[0] > 5) {
    return tdsd_problem_set(problem, "a transaction manager BEGIN of %zu bytes",
                            len);
  }
  int used = read_name(body + 1, len - 1, name, TDSD_OPTION_BYTES, problem);
  if (used < 0) {
    return -1;
  }
  return (size_t)used + 1 == len
             ? body[0]
             : tdsd_problem_set(problem,
                                "bytes behind a transaction manager request");
}

static int tm_begin(struct management *m, const uint8_t *body, size_t len) {
  char name[TDSD_OPTION_BYTES];
  int isolation = read_begin(body, len, name, &m->problem);
  return isolation < 0 ? -1
                       : answer(m, begin(m, isolation, name), TDSD_CMD_BEGIN);
}

/* name flags [iso name]: bit 0 of flags starts a new transaction at once. */
static int tm_end(struct management *m,
                  bool commit,
                  const uint8_t *body,
                  size_t len) {
  char name[TDSD_OPTION_BYTES];
  char next[TDSD_OPTION_BYTES];
  int used = read_name(body, len, name, sizeof name, &m->problem);
  if (used < 0) {
    return -1;
  }
  if (len - (size_t)used < 1) {
    return tdsd_problem_set(&m->problem,
                            "a transaction manager request without its flags");
  }
  bool again = (body[used] & 1) != 0;
  int isolation = 0;
  if (again) {
    isolation =
        read_begin(body + used + 1, len - (size_t)used - 1, next, &m->problem);
    if (isolation < 0) {
      return -1;
    }
  } else if ((size_t)used + 1 != len) {
    return tdsd_problem_set(&m->problem,
                            "bytes behind a transaction manager request");
  }
  int rc = commit ? tdsd_tran_commit(&m->tran, &m->fault)
                  : tdsd_tran_rollback(&m->tran, name, &m->fault);
  if (rc > 0) {
    return 1;
  }
  if (rc == 0 && again) {
    rc = begin(m, isolation, next);
  }
  return answer(m, rc, commit ? TDSD_CMD_COMMIT : TDSD_CMD_ROLLBACK);
}

static int tm_save(struct management *m, const uint8_t *body, size_t len) {
  char name[TDSD_OPTION_BYTES];
  int used = read_name(body, len, name, sizeof name, &m->problem);
  if (used < 0) {
    return -1;
  }
  if ((size_t)used != len || name[0] == 0) {
    return tdsd_problem_set(&m->problem, "a savepoint without a name");
  }
  return answer(m, tdsd_tran_save(&m->tran, name, &m->fault), TDSD_CMD_SET);
}

static int serve(struct management *m,
                 unsigned type,
                 const uint8_t *body,
                 size_t len) {
  switch (type) {
  case TDSD_TM_BEGIN:
    return tm_begin(m, body, len);
  case TDSD_TM_COMMIT:
    return tm_end(m, true, body, len);
  case TDSD_TM_ROLLBACK:
    return tm_end(m, false, body, len);
  case TDSD_TM_SAVE:
    return tm_save(m, body, len);
  default:
    return tdsd_problem_set(
        &m->problem, "transaction manager request %u is not supported", type);
  }
}

/* A COMMIT that takes time is served again when the session is woken. */
static void postpone(struct tdsd_session *session,
                     const uint8_t *body,
                     size_t len) {
  tdsd_buf_bytes(&session->postponed, body, len);
  session->phase = TDSD_PHASE_RUNNING;
}

void tdsd_session_manage(struct tdsd_session *session,
                         const uint8_t *body,
                         size_t len) {
  struct management m = {.session = session,
                         .stream = {.writer = tdsd_session_writer(session)}};
  m.tran = (struct tdsd_tran){&session->state, &session->answerers, &m.stream};
  if (len < 2) {
    tdsd_session_refuse(session, "an empty transaction manager request");
    return;
  }
  int rc = serve(&m, tdsd_get_u16(body), body + 2, len - 2);
  if (rc < 0) {
    tdsd_session_refuse(session, m.problem.text);
  } else if (rc > 0) {
    postpone(session, body, len);
  }
}

void tdsd_session_manage_again(struct tdsd_session *session) {
  struct tdsd_buf body = session->postponed;
  session->postponed = (struct tdsd_buf){0};
  session->phase = TDSD_PHASE_READY;
  tdsd_session_manage(session, tdsd_buf_at(&body), tdsd_buf_len(&body));
  tdsd_buf_fini(&body);
}
