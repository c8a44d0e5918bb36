/* SPDX-License-Identifier: MIT */
/* Requests of a logged-in client: ALL_HEADERS, batches, transaction manager
 * requests, and the reset bits they carry. */
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_rpc.h"
#include "server_session.h"
#include "server_text.h"

#define HEADER_TRANSACTION 2u
#define HEADER_TRACE       3u

/* Reads ALL_HEADERS.
 * Returns its length and the transaction descriptor, or -1 with the problem. */
static int64_t read_headers(const uint8_t *body,
                            size_t len,
                            uint64_t *out_descriptor,
                            struct tdsd_problem *problem) {
  if (len < 4) {
    return tdsd_problem_set(problem, "ALL_HEADERS is missing");
  }
  size_t total = tdsd_get_u32(body);
  bool transaction = false;
  if (total < 4 || total > len) {
    return tdsd_problem_set(
        problem, "ALL_HEADERS of %zu bytes in a message of %zu", total, len);
  }
  for (size_t at = 4; at < total;) {
    if (total - at < 6 || tdsd_get_u32(body + at) < 6 ||
        tdsd_get_u32(body + at) > total - at) {
      return tdsd_problem_set(problem,
                              "a header at %zu does not fit ALL_HEADERS", at);
    }
    size_t header = tdsd_get_u32(body + at);
    unsigned type = tdsd_get_u16(body + at + 4);
    if (type == 0 || type > HEADER_TRACE) {
      return tdsd_problem_set(problem, "unknown header type %u", type);
    }
    if (type == HEADER_TRANSACTION) {
      if (header != 18 || transaction) {
        return tdsd_problem_set(
            problem, "a transaction header of %zu bytes or twice", header);
      }
      transaction = true;
      *out_descriptor = tdsd_get_u64(body + at + 6);
    }
    at += header;
  }
  return transaction
             ? (int64_t)total
             : tdsd_problem_set(problem, "ALL_HEADERS has no transaction "
                                         "header");
}

/* What every kind of request needs. */
struct request {
  const uint8_t *body; /* behind ALL_HEADERS */
  size_t len;
  uint64_t descriptor;
};

static int open_request(struct tdsd_session *session, struct request *out) {
  const struct tdsd_buf *message = &session->joiner.message;
  struct tdsd_problem problem;
  *out = (struct request){.body = tdsd_buf_at(message),
                          .len = tdsd_buf_len(message),
                          .descriptor = session->state.descriptor};
  if (session->state.version == TDSD_V71) {
    return 0; /* ALL_HEADERS came with 7.2 */
  }
  int64_t headers =
      read_headers(out->body, out->len, &out->descriptor, &problem);
  if (headers < 0) {
    tdsd_session_refuse(session, problem.text);
    return -1;
  }
  out->body += headers;
  out->len -= (size_t)headers;
  return 0;
}

static void answer_fault(struct tdsd_session *session,
                         struct tdsd_fault *fault) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  fault->line = 1;
  session->state.error = fault->number;
  tdsd_write_message(&writer, fault);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
}

/* The descriptor must be the session's; with a reset bit it may also be that of
 * a session without a transaction. */
static int check_descriptor(struct tdsd_session *session,
                            const struct request *request,
                            uint64_t before_reset) {
  struct tdsd_fault fault;
  if (request->descriptor == session->state.descriptor ||
      request->descriptor == before_reset) {
    return 0;
  }
  tdsd_log(session->shared, session->spid, "a stale transaction descriptor");
  tdsd_count(&session->shared->counters.violations, 1);
  (void)tdsd_fault_set(&fault, 3989, 16,
                       "New request is not allowed to start because it should "
                       "come with valid transaction descriptor.");
  answer_fault(session, &fault);
  return -1;
}

/* The acknowledgement is the first token of the response. */
static void reset(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  bool keep = session->joiner.reset == TDSD_ST_RESET_SKIPTRAN;
  tdsd_state_reset(&session->state, keep);
  tdsd_count(&session->shared->counters.resets, 1);
  if (!session->shared->faults.omit_reset_ack) {
    tdsd_write_env_bytes(&writer, TDSD_ENV_RESET, "", 0, "", 0);
  }
}

static void start(struct tdsd_session *session,
                  const char *sql,
                  size_t len,
                  uint64_t now_ns) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  session->executing = true;
  session->phase = TDSD_PHASE_RUNNING;
  tdsd_exec_begin(&session->exec, &session->state, &writer, sql, len);
  tdsd_session_run(session, now_ns);
}

static void batch(struct tdsd_session *session,
                  const struct request *request,
                  uint64_t now_ns) {
  if (request->len % 2 != 0) {
    tdsd_session_refuse(session, "a batch with half a character at its end");
    return;
  }
  char *sql = malloc(request->len / 2 * 3 + 1);
  if (sql == NULL) {
    tdsd_session_refuse(session, "no memory for the batch");
    return;
  }
  size_t len = tdsd_text_from_w16(request->body, request->len / 2, sql);
  start(session, sql, len, now_ns);
  free(sql);
}

static void rpc(struct tdsd_session *session,
                const struct request *request,
                uint64_t now_ns) {
  struct tdsd_rpc call;
  struct tdsd_problem problem;
  memset(&session->exec, 0, sizeof session->exec);
  session->executing = true; /* its arena holds the parameters */
  if (tdsd_rpc_parse(request->body, request->len, &session->exec.arena,
                     &session->exec.batch, &call, &problem) < 0) {
    tdsd_session_refuse(session, problem.text);
    return;
  }
  session->exec.procedure = true;
  if (call.fault.number != 0) {
    tdsd_exec_fini(&session->exec);
    memset(&session->exec, 0, sizeof session->exec);
    session->executing = false;
    answer_fault(session, &call.fault);
    return;
  }
  start(session, call.sql, call.sql_len, now_ns);
}

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

static void write_env_descriptor(struct tdsd_session *session,
                                 uint32_t type,
                                 uint64_t descriptor) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  uint8_t bytes[8];
  for (unsigned i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(descriptor >> (8 * i));
  }
  bool begin = type == TDSD_ENV_BEGIN;
  tdsd_write_env_bytes(&writer, type, bytes, begin ? 8 : 0, bytes,
                       begin ? 0 : 8);
}

static void tm_done(struct tdsd_session *session, uint32_t command) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, 0, command, 0);
  tdsd_session_send(session);
}

static void tm_begin_now(struct tdsd_session *session, uint8_t isolation) {
  if (isolation != 0) {
    session->state.isolation = isolation; /* stays with the session */
  }
  if (tdsd_state_begin(&session->state)) {
    write_env_descriptor(session, TDSD_ENV_BEGIN, session->state.descriptor);
  }
}

/* iso(1) name.  Returns the isolation level, or -1. */
static int read_begin(const uint8_t *body,
                      size_t len,
                      struct tdsd_problem *problem) {
  char name[TDSD_OPTION_BYTES];
  if (len < 2 || body[0] > 5) {
    return tdsd_problem_set(problem, "a transaction manager BEGIN of %zu bytes",
                            len);
  }
  int used = read_name(body + 1, len - 1, name, sizeof name, problem);
  if (used < 0) {
    return -1;
  }
  return (size_t)used + 1 == len
             ? body[0]
             : tdsd_problem_set(problem,
                                "bytes behind a transaction manager request");
}

static int tm_begin(struct tdsd_session *session,
                    const uint8_t *body,
                    size_t len,
                    struct tdsd_problem *problem) {
  int isolation = read_begin(body, len, problem);
  if (isolation < 0) {
    return -1;
  }
  tm_begin_now(session, (uint8_t)isolation);
  tm_done(session, TDSD_CMD_BEGIN);
  return 0;
}

static void no_transaction(struct tdsd_session *session, bool commit) {
  struct tdsd_fault fault;
  (void)tdsd_fault_set(&fault, commit ? 3902 : 3903, 16,
                       "The %s TRANSACTION request has no corresponding BEGIN "
                       "TRANSACTION.",
                       commit ? "COMMIT" : "ROLLBACK");
  answer_fault(session, &fault);
}

static int rollback_to(struct tdsd_session *session, const char *name) {
  struct tdsd_fault fault;
  if (tdsd_state_rollback_to(&session->state, name)) {
    tm_done(session, TDSD_CMD_ROLLBACK);
    return 0;
  }
  (void)tdsd_fault_set(&fault, 6401, 16,
                       "Cannot roll back %.128s. No transaction or savepoint "
                       "of that name was found.",
                       name);
  answer_fault(session, &fault);
  return 0;
}

/* name flags [iso name]: bit 0 of flags starts a new transaction at once. */
static int tm_end(struct tdsd_session *session,
                  bool commit,
                  const uint8_t *body,
                  size_t len,
                  struct tdsd_problem *problem) {
  char name[TDSD_OPTION_BYTES];
  int used = read_name(body, len, name, sizeof name, problem);
  if (used < 0) {
    return -1;
  }
  if (len - (size_t)used < 1) {
    return tdsd_problem_set(problem,
                            "a transaction manager request without its flags");
  }
  bool again = (body[used] & 1) != 0;
  int isolation = 0;
  if (again) {
    isolation = read_begin(body + used + 1, len - (size_t)used - 1, problem);
    if (isolation < 0) {
      return -1;
    }
  } else if ((size_t)used + 1 != len) {
    return tdsd_problem_set(problem,
                            "bytes behind a transaction manager request");
  }
  if (session->state.tran_count == 0) {
    no_transaction(session, commit);
    return 0;
  }
  if (!commit && name[0] != 0) {
    return rollback_to(session, name);
  }
  if (!commit || --session->state.tran_count == 0) {
    write_env_descriptor(session, commit ? TDSD_ENV_COMMIT : TDSD_ENV_ROLLBACK,
                         tdsd_state_end(&session->state));
  }
  if (again) {
    tm_begin_now(session, (uint8_t)isolation);
  }
  tm_done(session, commit ? TDSD_CMD_COMMIT : TDSD_CMD_ROLLBACK);
  return 0;
}

static int tm_save(struct tdsd_session *session,
                   const uint8_t *body,
                   size_t len,
                   struct tdsd_problem *problem) {
  char name[TDSD_OPTION_BYTES];
  int used = read_name(body, len, name, sizeof name, problem);
  if (used < 0) {
    return -1;
  }
  if ((size_t)used != len || name[0] == 0) {
    return tdsd_problem_set(problem, "a savepoint without a name");
  }
  if (session->state.tran_count == 0 ||
      !tdsd_state_save(&session->state, name)) {
    no_transaction(session, true);
    return 0;
  }
  tm_done(session, TDSD_CMD_SET);
  return 0;
}

static void manage(struct tdsd_session *session,
                   const struct request *request) {
  struct tdsd_problem problem;
  if (request->len < 2) {
    tdsd_session_refuse(session, "an empty transaction manager request");
    return;
  }
  const uint8_t *body = request->body + 2;
  size_t len = request->len - 2;
  unsigned type = tdsd_get_u16(request->body);
  int rc = 0;
  switch (type) {
  case TDSD_TM_BEGIN:
    rc = tm_begin(session, body, len, &problem);
    break;
  case TDSD_TM_COMMIT:
    rc = tm_end(session, true, body, len, &problem);
    break;
  case TDSD_TM_ROLLBACK:
    rc = tm_end(session, false, body, len, &problem);
    break;
  case TDSD_TM_SAVE:
    rc = tm_save(session, body, len, &problem);
    break;
  default:
    rc = tdsd_problem_set(
        &problem, "transaction manager request %u is not supported", type);
    break;
  }
  if (rc < 0) {
    tdsd_session_refuse(session, problem.text);
  }
}

static void count_request(struct tdsd_session *session) {
  struct tdsd_counters *counters = &session->shared->counters;
  switch (session->joiner.type) {
  case TDSD_PKT_BATCH:
    tdsd_count(&counters->batches, 1);
    break;
  case TDSD_PKT_RPC:
    tdsd_count(&counters->rpcs, 1);
    break;
  default:
    tdsd_count(&counters->transactions, 1);
    break;
  }
}

static void dispatch(struct tdsd_session *session,
                     const struct request *request,
                     uint64_t now_ns) {
  switch (session->joiner.type) {
  case TDSD_PKT_BATCH:
    batch(session, request, now_ns);
    break;
  case TDSD_PKT_RPC:
    rpc(session, request, now_ns);
    break;
  default:
    manage(session, request);
    break;
  }
}

void tdsd_session_request(struct tdsd_session *session, uint64_t now_ns) {
  struct request request;
  uint8_t type = session->joiner.type;
  if (type != TDSD_PKT_BATCH && type != TDSD_PKT_RPC && type != TDSD_PKT_TM) {
    struct tdsd_problem problem;
    (void)tdsd_problem_set(&problem, "a %s where a request was expected",
                           tdsd_packet_name(type));
    tdsd_session_refuse(session, problem.text);
    return;
  }
  if (open_request(session, &request) < 0) {
    return;
  }
  count_request(session);
  if (session->shared->faults.hang_batch) {
    session->hung = true;
    session->phase = TDSD_PHASE_RUNNING;
    return;
  }
  uint64_t before = session->state.descriptor;
  if (session->joiner.reset != 0) {
    reset(session);
  }
  if (check_descriptor(session, &request, before) == 0) {
    dispatch(session, &request, now_ns);
  }
}
