/* SPDX-License-Identifier: MIT */
#include "server_session.h"

#include <string.h>

#include "server_const.h"
#include "server_manners.h"

void tdsd_session_init(struct tdsd_session *session,
                       struct tdsd_shared *shared,
                       uint16_t spid) {
  memset(session, 0, sizeof *session);
  session->shared = shared;
  session->spid = spid;
  session->packet_size = TDSD_PACKET_DEFAULT;
  session->state.version = TDSD_V74;
}

void tdsd_session_end_calls(struct tdsd_session *session) {
  if (session->executing) {
    tdsd_calls_fini(&session->calls);
    session->executing = false;
  }
  tdsd_script_stop(session);
}

void tdsd_session_fini(struct tdsd_session *session) {
  tdsd_session_end_calls(session);
  tdsd_answer_session_close(&session->answerers);
  tdsd_state_fini(&session->state);
  tdsd_buf_fini(&session->postponed);
  tdsd_joiner_fini(&session->joiner);
  tdsd_login_wipe(&session->login);
  tdsd_buf_fini(&session->reply);
  tdsd_buf_fini(&session->out);
  tdsd_buf_fini(&session->units);
  tdsd_fault_disarm(session);
  tdsd_gates_fini(&session->gates);
  if (session->logged_in) {
    tdsd_uncount(&session->shared->counters.sessions_open);
    session->logged_in = false;
  }
}

struct tdsd_writer tdsd_session_writer(struct tdsd_session *session) {
  return (struct tdsd_writer){.reply = &session->reply,
                              .version = session->state.version,
                              .utf8 = session->state.utf8};
}

void tdsd_session_end(struct tdsd_session *session) {
  session->phase = TDSD_PHASE_ENDED;
  tdsd_state_leave(&session->state);
  session->wake_ns = 0;
  session->full = false;
  tdsd_session_end_calls(session);
}

static void say_and_end(struct tdsd_session *session,
                        const struct tdsd_fault *fault) {
  tdsd_session_end_calls(session); /* a row under way is ended first */
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_message(&writer, fault);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
  tdsd_session_end(session);
}

void tdsd_session_refuse(struct tdsd_session *session, const char *problem) {
  struct tdsd_fault fault;
  bool talks = session->phase != TDSD_PHASE_PRELOGIN;
  tdsd_log(session->shared, session->spid, "%s", problem);
  tdsd_count(&session->shared->counters.violations, 1);
  if (!talks) { /* nobody reads tokens before the PRELOGIN reply */
    tdsd_session_end(session);
    return;
  }
  (void)tdsd_fault_set(&fault, 4002, 20,
                       "The incoming tabular data stream (TDS) protocol stream "
                       "is incorrect: %s.",
                       problem);
  fault.line = 1;
  say_and_end(session, &fault);
}

void tdsd_session_kill(struct tdsd_session *session) {
  struct tdsd_fault fault;
  (void)tdsd_fault_set(&fault, 596, 21,
                       "Cannot continue the execution because the session is "
                       "in the kill state.");
  fault.line = 1;
  if (session->logged_in && session->phase != TDSD_PHASE_ENDED) {
    say_and_end(session, &fault);
  } else {
    tdsd_session_end(session);
  }
}

/* The client needs encryption and we have none, or the reverse. */
static void refuse_encryption(struct tdsd_session *session) {
  tdsd_log(session->shared, session->spid,
           "PRELOGIN: client and server do not agree on encryption");
  tdsd_session_end(session);
}

static void answer_prelogin(struct tdsd_session *session,
                            const struct tdsd_prelogin *client,
                            uint8_t value) {
  const struct tdsd_options *options = &session->shared->options;
  bool asked = (client->seen & UINT32_C(1) << TDSD_PRE_FEDAUTH) != 0 &&
               client->fedauth == 1;
  session->greeted = true;
  session->fedauth_required =
      asked && options->ntokens != 0 && !options->fedauth_echo_0;
  tdsd_prelogin_reply(&session->reply, client, value,
                      session->fedauth_required ? 1 : 0);
  tdsd_session_send(session);
  if (session->encryption == TDSD_CRYPT_REFUSE) {
    refuse_encryption(session);
    return;
  }
  session->phase = TDSD_PHASE_LOGIN;
}

/* passed: a script has had its say about it. */
static void prelogin(struct tdsd_session *session,
                     bool passed,
                     uint64_t now_ns) {
  struct tdsd_prelogin client;
  struct tdsd_problem problem;
  const struct tdsd_buf *message = &session->joiner.message;
  const struct tdsd_script_rule *rule = NULL;
  uint8_t value = 0;
  if (tdsd_prelogin_parse(tdsd_buf_at(message), tdsd_buf_len(message), &client,
                          &problem) < 0) {
    tdsd_session_refuse(session, problem.text);
    return;
  }
  session->encryption = tdsd_prelogin_decide(session->shared->options.tls,
                                             &client, session->strict, &value);
  if (!passed) {
    tdsd_fault_arm(session, TDSD_ON_PRELOGIN);
    if (tdsd_fault_answer(session)) {
      return;
    }
  }
  rule = passed ? NULL
                : tdsd_script_look(session, TDSD_SCRIPT_PRELOGIN,
                                   tdsd_buf_at(message), tdsd_buf_len(message));
  if (rule != NULL) {
    tdsd_script_start(session, rule, TDSD_SCRIPT_PRELOGIN, now_ns);
  } else {
    answer_prelogin(session, &client, value);
  }
}

/* Old clients begin with LOGIN7; that means no encryption. */
static void first_message(struct tdsd_session *session, uint64_t now_ns) {
  if (session->joiner.type == TDSD_PKT_PRELOGIN) {
    prelogin(session, false, now_ns);
    return;
  }
  if (session->joiner.type != TDSD_PKT_LOGIN7) {
    tdsd_session_refuse(session, "the first message is no PRELOGIN");
    return;
  }
  enum tdsd_tls_mode mode = session->shared->options.tls;
  if (mode == TDSD_TLS_FULL) {
    tdsd_session_refuse(session, "LOGIN7 in clear where TLS is demanded");
    return;
  }
  session->phase = TDSD_PHASE_LOGIN;
  tdsd_session_login(session, now_ns);
}

static void login_message(struct tdsd_session *session, uint64_t now_ns) {
  if (session->joiner.type != TDSD_PKT_LOGIN7) {
    tdsd_session_refuse(session, "a LOGIN7 was expected");
    return;
  }
  tdsd_session_login(session, now_ns);
}

static void whole_message(struct tdsd_session *session, uint64_t now_ns) {
  switch (session->phase) {
  case TDSD_PHASE_PRELOGIN:
    first_message(session, now_ns);
    break;
  case TDSD_PHASE_LOGIN:
    login_message(session, now_ns);
    break;
  case TDSD_PHASE_TOKEN:
    tdsd_session_token(session);
    break;
  case TDSD_PHASE_READY:
    tdsd_session_request(session, now_ns);
    break;
  case TDSD_PHASE_ANSWER:
  case TDSD_PHASE_RUNNING:
  case TDSD_PHASE_ENDED:
  default:
    break; /* feed() does not let messages through then */
  }
  tdsd_joiner_next(&session->joiner);
}

/* A message taken back is answered by an error DONE and nothing else. */
static void answer_ignored(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
}

static void ignored(struct tdsd_session *session, uint64_t now_ns) {
  tdsd_joiner_next(&session->joiner);
  if (session->phase != TDSD_PHASE_READY) {
    tdsd_session_refuse(session, "IGNORE on a login message");
    return;
  }
  tdsd_count(&session->shared->counters.ignored, 1);
  tdsd_fault_arm(session, TDSD_ON_IGNORED);
  if (tdsd_fault_answer(session)) {
    return;
  }
  const struct tdsd_script_rule *rule =
      tdsd_script_look(session, TDSD_SCRIPT_IGNORED, NULL, 0);
  if (rule != NULL) {
    tdsd_script_start(session, rule, TDSD_SCRIPT_IGNORED, now_ns);
  } else {
    answer_ignored(session);
  }
}

void tdsd_session_pass(struct tdsd_session *session,
                       const struct tdsd_script_play *play,
                       uint64_t now_ns) {
  struct tdsd_joiner *joiner = &session->joiner;
  const uint8_t *bytes = tdsd_buf_at(&play->message);
  if (play->kind == TDSD_SCRIPT_LOGIN) {
    tdsd_session_greet(session, now_ns);
    return;
  }
  if (play->kind != TDSD_SCRIPT_PRELOGIN) {
    session->phase = TDSD_PHASE_READY;
  }
  if (play->kind == TDSD_SCRIPT_ATTENTION) {
    tdsd_session_acknowledge(session);
    return;
  }
  if (play->kind == TDSD_SCRIPT_IGNORED) {
    answer_ignored(session);
    return;
  }
  if (play->kind == TDSD_SCRIPT_BULK) {
    tdsd_session_refuse(session, "a bulk load that a script passed on");
    return;
  }
  /* While a script plays no other message is received, so the joiner is free to
   * hold this one again. */
  tdsd_buf_clear(&joiner->message);
  tdsd_buf_bytes(&joiner->message, bytes, tdsd_buf_len(&play->message));
  joiner->type = play->type;
  joiner->reset = play->reset;
  if (play->kind == TDSD_SCRIPT_PRELOGIN) {
    prelogin(session, true, now_ns);
  } else {
    tdsd_session_request_passed(session, now_ns);
  }
  tdsd_joiner_next(joiner);
}

static bool is_busy(const struct tdsd_session *session) {
  return session->hung || session->play.script != NULL ||
         session->phase == TDSD_PHASE_ANSWER ||
         session->phase == TDSD_PHASE_RUNNING;
}

static void packet(struct tdsd_session *session,
                   const struct tdsd_packet *packet,
                   uint64_t now_ns) {
  struct tdsd_problem problem = {""};
  size_t len = packet->length - TDSD_HEADER_BYTES;
  if (packet->type != TDSD_PKT_ATTENTION &&
      tdsd_fault_deafens(session,
                         tdsd_buf_len(&session->joiner.message) + len)) {
    session->deaf = true;
    return;
  }
  switch (tdsd_joiner_add(&session->joiner, packet, &problem)) {
  case TDSD_JOIN_MESSAGE:
    whole_message(session, now_ns);
    break;
  case TDSD_JOIN_ATTENTION:
    tdsd_session_attention(session, now_ns);
    break;
  case TDSD_JOIN_IGNORED:
    ignored(session, now_ns);
    break;
  case TDSD_JOIN_BAD:
    tdsd_session_refuse(session, problem.text);
    break;
  case TDSD_JOIN_MORE:
  default:
    break;
  }
}

size_t tdsd_session_feed(struct tdsd_session *session,
                         const uint8_t *in,
                         size_t len,
                         uint64_t now_ns) {
  struct tdsd_packet head;
  struct tdsd_problem problem;
  session->now_ns = now_ns;
  if (session->phase == TDSD_PHASE_ENDED) {
    return len;
  }
  bool waits = is_busy(session) && len != 0 && in[0] != TDSD_PKT_ATTENTION;
  if (len == 0 || (waits && !session->shared->manners.strict)) {
    return 0;
  }
  int rc = tdsd_packet_parse(in, len, &head, &problem);
  if (rc < 0) {
    tdsd_session_refuse(session, problem.text);
    return len;
  }
  if (rc == 0) {
    return 0;
  }
  const char *unwise = tdsd_strict_packet(session, &head);
  if (unwise != NULL) {
    tdsd_session_refuse(session, unwise);
    return len;
  }
  if (waits) {
    return 0;
  }
  packet(session, &head, now_ns);
  return head.length;
}

/* Full packets leave as they come; the last waits for the end. */
static void send_full_packets(struct tdsd_session *session) {
  tdsd_session_cut(session, TDSD_CUT_FULL);
}

void tdsd_session_run(struct tdsd_session *session, uint64_t now_ns) {
  enum tdsd_answer_result result = tdsd_calls_step(&session->calls, now_ns);
  session->full = result == TDSD_ANSWER_FULL;
  session->wake_ns = 0;
  switch (result) {
  case TDSD_ANSWER_WAIT:
    session->wake_ns = session->calls.answer.wake_ns;
    send_full_packets(session);
    break;
  case TDSD_ANSWER_FULL:
    send_full_packets(session);
    break;
  case TDSD_ANSWER_DONE:
    tdsd_session_send(session);
    tdsd_session_end_calls(session);
    session->phase = TDSD_PHASE_READY;
    break;
  case TDSD_ANSWER_RAISED:
  case TDSD_ANSWER_KILL:
  default:
    tdsd_session_send(session);
    tdsd_session_end(session);
    break;
  }
  if (session->reply.failed || session->out.failed) {
    tdsd_log(session->shared, session->spid, "no memory for the reply");
    tdsd_session_end(session);
  }
}

void tdsd_session_wake(struct tdsd_session *session, uint64_t now_ns) {
  session->wake_ns = 0;
  session->now_ns = now_ns;
  if (session->late_ack) {
    session->late_ack = false;
    session->phase = TDSD_PHASE_READY;
    tdsd_session_attention_done(session);
  } else if (session->play.script != NULL) {
    tdsd_script_run(session, now_ns);
  } else if (session->phase == TDSD_PHASE_ANSWER) {
    tdsd_session_answer(session);
  } else if (tdsd_buf_len(&session->postponed) != 0) {
    tdsd_session_manage_again(session);
  } else if (session->phase == TDSD_PHASE_RUNNING) {
    tdsd_session_run(session, now_ns);
  }
  if (session->attention_late && session->phase != TDSD_PHASE_ENDED &&
      !tdsd_answer_committing(&session->answerers)) {
    session->attention_late = false;
    tdsd_session_acknowledge(session);
  }
}
