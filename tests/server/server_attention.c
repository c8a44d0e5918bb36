/* SPDX-License-Identifier: MIT */
/* Attentions: a request that is cancelled, and the acknowledgement, right or as
 * the fault ack wants it. */
#include <string.h>

#include "server_const.h"
#include "server_session.h"
#include "server_tran.h"

void tdsd_session_attention_done(struct tdsd_session *session) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ATTN, TDSD_CMD_SET, 0);
  tdsd_session_send(session);
}

/* The request that runs is ended in a message of its own, because clients have
 * been seen that need the acknowledgement apart from it. */
static void cancel_request(struct tdsd_session *session) {
  struct tdsd_stream stream = {.writer = tdsd_session_writer(session)};
  struct tdsd_tran tran = {&session->state, &session->answerers, &stream};
  tdsd_session_end_calls(session);
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
  tdsd_session_end_calls(session);
  session->wake_ns = 0;
  session->full = false;
  session->hung = false;
  session->phase = TDSD_PHASE_READY;
}

void tdsd_session_acknowledge(struct tdsd_session *session) {
  if (session->phase == TDSD_PHASE_RUNNING) {
    cancel_request(session);
    session->phase = TDSD_PHASE_READY;
    session->hung = false;
  }
  tdsd_session_attention_done(session);
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
  tdsd_session_end_calls(session);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR | TDSD_DONE_MORE, 0,
                  0);
  tdsd_session_attention_done(session);
}

static void acknowledge_first(struct tdsd_session *session) {
  struct tdsd_buf rest = session->reply;
  memset(&session->reply, 0, sizeof session->reply);
  tdsd_session_attention_done(session);
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
    tdsd_session_acknowledge(session);
    tdsd_session_attention_done(session);
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
    tdsd_session_end(session);
    return;
  }
  session->phase = TDSD_PHASE_READY;
}

void tdsd_session_attention(struct tdsd_session *session, uint64_t now_ns) {
  if (session->phase != TDSD_PHASE_READY &&
      session->phase != TDSD_PHASE_RUNNING) {
    tdsd_session_refuse(session, "an attention before the login was answered");
    return;
  }
  tdsd_count(&session->shared->counters.attentions, 1);
  if (tdsd_answer_committing(&session->answerers)) {
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
    tdsd_session_acknowledge(session);
  } else {
    abandon_request(session);
    tdsd_script_start(session, rule, TDSD_SCRIPT_ATTENTION, now_ns);
  }
}
