/* SPDX-License-Identifier: MIT */
/* Playing scripts in a session. */
#include <string.h>

#include "server_const.h"
#include "server_session.h"

/* The reply is cut into packets once it has this many bytes. */
#define FLUSH_BYTES (32u * 1024u)
/* Others have their turn after so many ops, because loops may be empty. */
#define OPS_A_TURN  10000u

enum tdsd_script_layout tdsd_script_layout_of(
    const struct tdsd_session *session) {
  switch (session->state.version) {
  case TDSD_V71:
    return TDSD_LAYOUT_71;
  case TDSD_V72:
  case TDSD_V73A:
    return TDSD_LAYOUT_72;
  default:
    return TDSD_LAYOUT_73B;
  }
}

void tdsd_script_stop(struct tdsd_session *session) {
  struct tdsd_script_play *play = &session->play;
  tdsd_buf_wipe(&play->message);
  tdsd_script_drop(play->script);
  memset(play, 0, sizeof *play);
}

void tdsd_script_start(struct tdsd_session *session,
                       const struct tdsd_script_rule *rule,
                       enum tdsd_script_kind kind,
                       uint64_t now_ns) {
  struct tdsd_script_play *play = &session->play;
  const struct tdsd_buf *message = &session->joiner.message;
  tdsd_script_stop(session);
  play->script = tdsd_script_hold(session->shared->script);
  play->program = &play->script->programs[tdsd_script_layout_of(session)];
  play->kind = kind;
  play->own_reset = rule->own_reset;
  play->op = rule->op;
  play->type = session->joiner.type;
  play->reset = session->joiner.reset;
  if (rule->passes) {
    tdsd_buf_bytes(&play->message, tdsd_buf_at(message), tdsd_buf_len(message));
  }
  if (session->phase == TDSD_PHASE_READY) {
    session->phase = TDSD_PHASE_RUNNING;
  }
  tdsd_script_run(session, now_ns);
}

/* The answer has been given; what the session is in then. */
static void finish(struct tdsd_session *session) {
  enum tdsd_script_kind kind = session->play.kind;
  uint32_t packet_size = session->play.packet_size;
  tdsd_script_stop(session);
  if (session->phase == TDSD_PHASE_ENDED) {
    return;
  }
  if (kind == TDSD_SCRIPT_PRELOGIN) {
    session->phase = TDSD_PHASE_LOGIN;
  } else if (kind == TDSD_SCRIPT_LOGIN) {
    session->phase = packet_size != 0 ? TDSD_PHASE_READY : TDSD_PHASE_ENDED;
    session->packet_size = packet_size;
    session->joiner.packet_size = packet_size;
    tdsd_login_wipe(&session->login);
  } else {
    session->phase = TDSD_PHASE_READY;
  }
}

/* Says what is left without an end of message, then ends the session. */
static void end_now(struct tdsd_session *session, bool abort) {
  if (tdsd_buf_len(&session->reply) != 0) {
    tdsd_session_cut(session, TDSD_CUT_PACKET);
  }
  session->abort = abort;
  session->phase = TDSD_PHASE_ENDED;
  session->wake_ns = 0;
}

/* The server's own answer follows what the script has said. */
static void pass(struct tdsd_session *session, uint64_t now_ns) {
  struct tdsd_script_play play = session->play;
  memset(&session->play, 0, sizeof session->play);
  tdsd_session_pass(session, &play, now_ns);
  tdsd_buf_wipe(&play.message);
  tdsd_script_drop(play.script);
}

static void change_state(struct tdsd_session *session,
                         const struct tdsd_script_op *op) {
  const uint8_t *pool = tdsd_buf_at(&session->play.program->pool);
  struct tdsd_state *state = &session->state;
  switch ((enum tdsd_script_state)op->at) {
  case TDSD_STATE_DESCRIPTOR:
    state->descriptor = op->n;
    state->tran_count = op->n != 0 ? 1 : 0;
    break;
  case TDSD_STATE_ISOLATION:
    state->isolation = (uint8_t)op->n;
    break;
  case TDSD_STATE_DATABASE:
    (void)strncpy(state->database, (const char *)pool + op->n,
                  sizeof state->database - 1);
    break;
  case TDSD_STATE_LANGUAGE:
    (void)strncpy(state->language, (const char *)pool + op->n,
                  sizeof state->language - 1);
    break;
  case TDSD_STATE_RESET:
    tdsd_state_reset(state, session->play.reset == TDSD_ST_RESET_SKIPTRAN);
    tdsd_answer_session_reset(&session->answerers);
    break;
  case TDSD_STATE_READY:
  default:
    if (session->play.kind == TDSD_SCRIPT_LOGIN) {
      if (session->play.packet_size == 0) {
        tdsd_session_admit(session);
      }
      session->play.packet_size = (uint32_t)op->n;
    }
    break;
  }
}

static void append(struct tdsd_session *session,
                   const struct tdsd_script_op *op) {
  const uint8_t *pool = tdsd_buf_at(&session->play.program->pool);
  tdsd_buf_bytes(&session->reply, pool + op->at, (size_t)op->n);
  session->play.open = true;
  session->play.ended = false;
}

static void end_message(struct tdsd_session *session) {
  tdsd_session_cut(session, TDSD_CUT_MESSAGE);
  session->play.open = false;
  session->play.ended = true;
}

static void begin_loop(struct tdsd_script_play *play,
                       const struct tdsd_script_op *op) {
  if (op->n == 0) {
    play->op = op->at; /* behind its NEXT */
  } else {
    play->loops[play->nloops++] = op->n;
  }
}

static void next_turn(struct tdsd_script_play *play,
                      const struct tdsd_script_op *op) {
  if (--play->loops[play->nloops - 1] != 0) {
    play->op = op->at;
  } else {
    play->nloops--;
  }
}

enum step {
  STEP_ON,
  STEP_WAIT,  /* wake_ns or full is set */
  STEP_OVER,  /* the answer is complete */
  STEP_AWAY,  /* the server's own answer has taken over */
  STEP_STUCK, /* nothing more comes */
};

static enum step run_op(struct tdsd_session *session,
                        const struct tdsd_script_op *op,
                        uint64_t now_ns) {
  switch (op->verb) {
  case TDSD_OP_BYTES:
    append(session, op);
    return STEP_ON;
  case TDSD_OP_DELAY:
    session->wake_ns = now_ns + op->n * UINT64_C(1000000);
    return STEP_WAIT;
  case TDSD_OP_PACKET:
    tdsd_session_cut(session, TDSD_CUT_PACKET);
    return STEP_ON;
  case TDSD_OP_EOM:
    end_message(session);
    return STEP_ON;
  case TDSD_OP_CLOSE:
  case TDSD_OP_RESET:
    end_now(session, op->verb == TDSD_OP_RESET);
    return STEP_OVER;
  case TDSD_OP_HANG:
    session->hung = true;
    return STEP_STUCK;
  case TDSD_OP_LOOP:
    begin_loop(&session->play, op);
    return STEP_ON;
  case TDSD_OP_NEXT:
    next_turn(&session->play, op);
    return STEP_ON;
  case TDSD_OP_STATE:
    change_state(session, op);
    return STEP_ON;
  case TDSD_OP_PASS:
    pass(session, now_ns);
    return STEP_AWAY;
  case TDSD_OP_DEFAULT:
  default:
    if (!session->play.ended) {
      end_message(session);
    }
    return STEP_OVER;
  }
}

/* A reply that grows is cut and, while nobody reads it, held back. */
static bool is_full(struct tdsd_session *session) {
  if (tdsd_buf_len(&session->reply) < FLUSH_BYTES) {
    return false;
  }
  tdsd_session_cut(session, TDSD_CUT_FULL);
  session->full = true;
  return true;
}

void tdsd_script_run(struct tdsd_session *session, uint64_t now_ns) {
  struct tdsd_script_play *play = &session->play;
  enum step step = STEP_ON;
  session->full = false;
  session->wake_ns = 0;
  for (uint32_t n = 0; step == STEP_ON; n++) {
    if (n == OPS_A_TURN) {
      session->full = true;
      break;
    }
    step = run_op(session, &play->program->ops[play->op++], now_ns);
    if (step == STEP_ON && is_full(session)) {
      step = STEP_WAIT;
    }
  }
  if (step == STEP_OVER) {
    finish(session);
  } else if (step == STEP_STUCK) {
    tdsd_script_stop(session);
  }
  if (session->reply.failed || session->out.failed) {
    tdsd_log(session->shared, session->spid, "no memory for the reply");
    session->phase = TDSD_PHASE_ENDED;
  }
}
