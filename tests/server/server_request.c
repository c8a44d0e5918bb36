/* SPDX-License-Identifier: MIT */
/* Requests of a logged-in client: ALL_HEADERS, batches, transaction manager
 * requests, and the reset bits they carry. */
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_manners.h"
#include "server_role.h"
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
                            uint32_t *out_outstanding,
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
      *out_outstanding = tdsd_get_u32(body + at + 14);
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
  uint32_t outstanding = 0;
  int64_t headers = read_headers(out->body, out->len, &out->descriptor,
                                 &outstanding, &problem);
  if (headers < 0) {
    tdsd_session_refuse(session, problem.text);
    return -1;
  }
  const char *unwise = tdsd_strict_request(session, outstanding);
  if (unwise != NULL) {
    tdsd_session_refuse(session, unwise);
    return -1;
  }
  out->body += headers;
  out->len -= (size_t)headers;
  return 0;
}

void tdsd_session_fault(struct tdsd_session *session,
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
  /* Clients have been seen that keep the descriptor of a transaction that a
   * reset has ended, and send it from then on. */
  if (!session->shared->manners.strict &&
      (request->descriptor == 0 ||
       tdsd_state_had(&session->state, request->descriptor))) {
    return 0;
  }
  tdsd_log(session->shared, session->spid, "a stale transaction descriptor");
  tdsd_count(&session->shared->counters.violations, 1);
  (void)tdsd_fault_set(&fault, 3989, 16,
                       "New request is not allowed to start because it should "
                       "come with valid transaction descriptor.");
  tdsd_session_fault(session, &fault);
  return -1;
}

/* A session that acts as somebody else cannot be given to another. */
static bool refuse_reset(struct tdsd_session *session) {
  struct tdsd_fault fault;
  if (!tdsd_state_is_other(&session->state)) {
    return false;
  }
  (void)tdsd_fault_set(&fault, 18059, 20,
                       "The connection has been dropped because the principal "
                       "that opened it subsequently assumed a new security "
                       "context, and then tried to reset the connection under "
                       "its impersonated security context.");
  tdsd_session_fault(session, &fault);
  tdsd_session_end(session);
  return true;
}

/* The acknowledgement is the first token of the response. */
static void reset(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  bool keep = session->joiner.reset == TDSD_ST_RESET_SKIPTRAN;
  if (tdsd_armed_find(session->armed, TDSD_FAULT_RESET_STATE) == NULL) {
    tdsd_state_reset(&session->state, keep);
    tdsd_answer_session_reset(&session->answerers);
  }
  tdsd_count(&session->shared->counters.resets, 1);
  tdsd_count(keep ? &session->shared->counters.resets_10
                  : &session->shared->counters.resets_08,
             1);
  tdsd_write_env_bytes(&writer, TDSD_ENV_RESET, "", 0, "", 0);
}

/* A request is under way from here on; its reply may have begun. */
static struct tdsd_calls *start(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_calls_init(&session->calls, &session->state, &session->answerers,
                  &writer);
  session->executing = true;
  session->phase = TDSD_PHASE_RUNNING;
  return &session->calls;
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
  int rc = tdsd_calls_batch(start(session), sql, len);
  free(sql);
  if (rc < 0) {
    tdsd_session_refuse(session, "no memory for the batch");
    return;
  }
  tdsd_session_run(session, now_ns);
}

static void rpc(struct tdsd_session *session,
                const struct request *request,
                uint64_t now_ns) {
  struct tdsd_call *first = NULL;
  struct tdsd_problem problem;
  struct tdsd_fault fault;
  struct tdsd_calls *calls = start(session);
  if (tdsd_rpc_parse(request->body, request->len, session->state.version,
                     &calls->arena, &first, &fault, &problem) < 0) {
    tdsd_session_refuse(session, problem.text);
    return;
  }
  if (fault.number != 0) {
    tdsd_calls_fini(calls);
    session->executing = false;
    session->phase = TDSD_PHASE_READY;
    tdsd_session_fault(session, &fault);
    return;
  }
  tdsd_calls_rpc(calls, first);
  tdsd_session_run(session, now_ns);
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
    tdsd_session_manage(session, request->body, request->len);
    break;
  }
}

static enum tdsd_fault_on fault_on(const struct tdsd_session *session) {
  switch (session->joiner.type) {
  case TDSD_PKT_BATCH:
    return TDSD_ON_BATCH;
  case TDSD_PKT_RPC:
    return TDSD_ON_RPC;
  default:
    return TDSD_ON_TM;
  }
}

static enum tdsd_script_kind script_kind(const struct tdsd_session *session) {
  switch (session->joiner.type) {
  case TDSD_PKT_BATCH:
    return TDSD_SCRIPT_BATCH;
  case TDSD_PKT_RPC:
    return TDSD_SCRIPT_RPC;
  default:
    return TDSD_SCRIPT_TM;
  }
}

/* A script that answers takes care of descriptors, too. */
static bool scripted(struct tdsd_session *session,
                     const struct request *request,
                     uint64_t now_ns) {
  enum tdsd_script_kind kind = script_kind(session);
  const struct tdsd_script_rule *rule =
      tdsd_script_look(session, kind, request->body, request->len);
  if (rule == NULL) {
    return false;
  }
  if (session->joiner.reset != 0 && !rule->own_reset) {
    reset(session);
  }
  tdsd_script_start(session, rule, kind, now_ns);
  return true;
}

void tdsd_session_request_passed(struct tdsd_session *session,
                                 uint64_t now_ns) {
  struct request request;
  if (open_request(session, &request) == 0) {
    dispatch(session, &request, now_ns);
  }
}

/* A bulk load, which has no ALL_HEADERS, is answered by scripts only. */
static bool bulk_scripted(struct tdsd_session *session, uint64_t now_ns) {
  const struct tdsd_buf *message = &session->joiner.message;
  const struct tdsd_script_rule *rule = NULL;
  if (session->joiner.type != TDSD_PKT_BULK) {
    return false;
  }
  session->requests++;
  session->last_type = TDSD_PKT_BULK;
  rule = tdsd_script_look(session, TDSD_SCRIPT_BULK, tdsd_buf_at(message),
                          tdsd_buf_len(message));
  if (rule != NULL) {
    tdsd_script_start(session, rule, TDSD_SCRIPT_BULK, now_ns);
  }
  return rule != NULL;
}

void tdsd_session_request(struct tdsd_session *session, uint64_t now_ns) {
  struct request request;
  uint8_t type = session->joiner.type;
  if (bulk_scripted(session, now_ns)) {
    return;
  }
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
  session->requests++;
  session->last_type = type;
  tdsd_fault_arm(session, fault_on(session));
  tdsd_role_arm_request(session, request.body, request.len);
  if (tdsd_fault_answer(session) || scripted(session, &request, now_ns)) {
    return;
  }
  uint64_t before = session->state.descriptor;
  if (session->joiner.reset != 0) {
    if (refuse_reset(session)) {
      return;
    }
    reset(session);
  }
  if (check_descriptor(session, &request, before) == 0) {
    dispatch(session, &request, now_ns);
  }
}
