/* SPDX-License-Identifier: MIT */
#include "server_session.h"

#include <string.h>

#include "server_const.h"
#include "server_manners.h"
#include "server_tran.h"

void tdsd_session_init(struct tdsd_session *session,
                       struct tdsd_shared *shared,
                       uint16_t spid) {
  memset(session, 0, sizeof *session);
  session->shared = shared;
  session->spid = spid;
  session->packet_size = TDSD_PACKET_DEFAULT;
  session->state.version = TDSD_V74;
}

static void end_calls(struct tdsd_session *session) {
  if (session->executing) {
    tdsd_calls_fini(&session->calls);
    session->executing = false;
  }
  tdsd_script_stop(session);
}

void tdsd_session_fini(struct tdsd_session *session) {
  end_calls(session);
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

static void end(struct tdsd_session *session) {
  session->phase = TDSD_PHASE_ENDED;
  session->wake_ns = 0;
  session->full = false;
  end_calls(session);
}

static void say_and_end(struct tdsd_session *session,
                        const struct tdsd_fault *fault) {
  end_calls(session); /* a row under way is ended first */
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_message(&writer, fault);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
  end(session);
}

void tdsd_session_refuse(struct tdsd_session *session, const char *problem) {
  struct tdsd_fault fault;
  bool talks = session->phase != TDSD_PHASE_PRELOGIN;
  tdsd_log(session->shared, session->spid, "%s", problem);
  tdsd_count(&session->shared->counters.violations, 1);
  if (!talks) {
    end(session); /* nobody reads tokens before the PRELOGIN reply */
    return;
  }
  (void)tdsd_fault_set(&fault, 4002, 20,
                       "The incoming tabular data stream (TDS) protocol stream "
                       "is incorrect: %s.",
                       problem);
  fault.line = 1;
  say_and_end(session, &fault);
}

void tdsd_session_end(struct tdsd_session *session) {
  end(session);
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
    end(session);
  }
}

/* The client needs encryption and we have none, or the reverse. */
static void refuse_encryption(struct tdsd_session *session) {
  tdsd_log(session->shared, session->spid,
           "PRELOGIN: client and server do not agree on encryption");
  end(session);
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

static void write_attention_done(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ATTN, TDSD_CMD_SET, 0);
  tdsd_session_send(session);
}

/* The request that runs is ended in a message of its own, because clients have
 * been seen that need the acknowledgement apart from it. */
static void cancel_request(struct tdsd_session *session) {
  struct tdsd_stream stream = {.writer = tdsd_session_writer(session)};
  struct tdsd_tran tran = {&session->state, &session->answerers, &stream};
  end_calls(session);
  if (session->state.xact_abort) {
    tdsd_tran_abort(&tran);
  }
  tdsd_stream_done(&stream, TDSD_DONE_ERROR, 0, 0);
  tdsd_stream_end(&stream);
  tdsd_session_send(session);
  session->wake_ns = 0;
  session->full = false;
}

/* The request is given up without a word: a script says it all. */
static void abandon_request(struct tdsd_session *session) {
  tdsd_buf_clear(&session->reply);
  end_calls(session);
  session->wake_ns = 0;
  session->full = false;
  session->hung = false;
  session->phase = TDSD_PHASE_READY;
}

static void acknowledge(struct tdsd_session *session) {
  if (session->phase == TDSD_PHASE_RUNNING) {
    cancel_request(session);
    session->phase = TDSD_PHASE_READY;
    session->hung = false;
  }
  write_attention_done(session);
}

/* The words of the fault ack, in the order of its row. */
enum ack {
  ACK_SAME,
  ACK_LATE,
  ACK_NONE,
  ACK_TWICE,
  ACK_BEFORE,
  ACK_GARBAGE,
  ACK_FIN,
  ACK_RST,
  ACK_PARTIAL,
};

/* The end of the cancelled request and the acknowledgement as one message. */
static void acknowledge_at_once(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  end_calls(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR | TDSD_DONE_MORE, 0,
                  0);
  write_attention_done(session);
}

static void acknowledge_first(struct tdsd_session *session) {
  struct tdsd_buf rest = session->reply;
  memset(&session->reply, 0, sizeof session->reply);
  write_attention_done(session);
  tdsd_buf_fini(&session->reply);
  session->reply = rest;
  cancel_request(session);
}

static void acknowledge_later(struct tdsd_session *session,
                              const struct tdsd_fault_rule *fault,
                              uint64_t now_ns) {
  uint64_t ms = fault->ms != 0 ? fault->ms : 200;
  if (session->phase == TDSD_PHASE_RUNNING) {
    cancel_request(session);
  }
  session->late_ack = true;
  session->phase = TDSD_PHASE_RUNNING;
  session->wake_ns = now_ns + ms * UINT64_C(1000000);
}

/* Half of a DONE in a packet that does not end the message. */
static void acknowledge_partly(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  abandon_request(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ATTN, 0, 0);
  session->reply.end -= 8;
  tdsd_session_cut(session, TDSD_CUT_PACKET);
  session->hung = true;
}

static void acknowledge_garbage(struct tdsd_session *session) {
  static const uint8_t noise[] = "\x00\x00\x7F\xDE\xAD\xBE\xEF";
  abandon_request(session);
  tdsd_buf_bytes(&session->reply, noise, sizeof noise - 1);
  tdsd_session_send(session);
}

static void acknowledge_badly(struct tdsd_session *session,
                              const struct tdsd_fault_rule *fault,
                              uint64_t now_ns) {
  session->wake_ns = 0;
  session->full = false;
  session->hung = false;
  switch (fault->word) {
  case ACK_SAME:
    acknowledge_at_once(session);
    break;
  case ACK_LATE:
    acknowledge_later(session, fault, now_ns);
    return;
  case ACK_TWICE:
    acknowledge(session);
    write_attention_done(session);
    break;
  case ACK_BEFORE:
    acknowledge_first(session);
    break;
  case ACK_GARBAGE:
    acknowledge_garbage(session);
    break;
  case ACK_PARTIAL:
    acknowledge_partly(session);
    return;
  case ACK_FIN:
  case ACK_RST:
  default:
    session->abort = fault->word == ACK_RST;
    tdsd_buf_clear(&session->reply);
    end(session);
    return;
  }
  session->phase = TDSD_PHASE_READY;
}

static void attention(struct tdsd_session *session, uint64_t now_ns) {
  if (session->phase != TDSD_PHASE_READY &&
      session->phase != TDSD_PHASE_RUNNING) {
    tdsd_session_refuse(session, "an attention before the login was answered");
    return;
  }
  tdsd_count(&session->shared->counters.attentions, 1);
  if (tdsd_buf_len(&session->postponed) != 0) {
    session->attention_late = true; /* a commit is not to be stopped */
    return;
  }
  struct tdsd_armed *running = session->armed;
  session->armed = NULL;
  tdsd_fault_arm(session, TDSD_ON_ATTENTION);
  const struct tdsd_fault_rule *fault =
      tdsd_armed_find(session->armed, TDSD_FAULT_ACK);
  if (fault != NULL && fault->word == ACK_NONE) {
    /* The request runs on, with its own faults. */
    tdsd_fault_disarm(session);
    session->armed = running;
    return;
  }
  struct tdsd_armed *hit = session->armed;
  session->armed = running;
  tdsd_fault_disarm(session);
  session->armed = hit;
  const struct tdsd_script_rule *rule =
      tdsd_script_look(session, TDSD_SCRIPT_ATTENTION, NULL, 0);
  if (fault != NULL) {
    acknowledge_badly(session, fault, now_ns);
  } else if (rule == NULL) {
    acknowledge(session);
  } else {
    abandon_request(session);
    tdsd_script_start(session, rule, TDSD_SCRIPT_ATTENTION, now_ns);
  }
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
    acknowledge(session);
    return;
  }
  if (play->kind == TDSD_SCRIPT_IGNORED) {
    answer_ignored(session);
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
    attention(session, now_ns);
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
    end_calls(session);
    session->phase = TDSD_PHASE_READY;
    break;
  case TDSD_ANSWER_RAISED:
  case TDSD_ANSWER_KILL:
  default:
    tdsd_session_send(session);
    end(session);
    break;
  }
  if (session->reply.failed || session->out.failed) {
    tdsd_log(session->shared, session->spid, "no memory for the reply");
    end(session);
  }
}

void tdsd_session_wake(struct tdsd_session *session, uint64_t now_ns) {
  session->wake_ns = 0;
  session->now_ns = now_ns;
  if (session->late_ack) {
    session->late_ack = false;
    session->phase = TDSD_PHASE_READY;
    write_attention_done(session);
  } else if (session->play.script != NULL) {
    tdsd_script_run(session, now_ns);
  } else if (session->phase == TDSD_PHASE_ANSWER) {
    tdsd_session_answer(session);
  } else if (tdsd_buf_len(&session->postponed) != 0) {
    tdsd_session_manage_again(session);
    if (session->attention_late && session->phase == TDSD_PHASE_READY) {
      session->attention_late = false;
      acknowledge(session);
    }
  } else if (session->phase == TDSD_PHASE_RUNNING) {
    tdsd_session_run(session, now_ns);
  }
}
