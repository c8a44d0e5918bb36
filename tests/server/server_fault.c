/* SPDX-License-Identifier: MIT */
/* Faults in a session: which rules a message meets, answers that are none, and
 * what happens unasked on an idle session. */
#include "server_fault.h"

#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_role.h"
#include "server_session.h"

#define MS UINT64_C(1000000)

static bool is_request(enum tdsd_fault_on on) {
  return on == TDSD_ON_BATCH || on == TDSD_ON_RPC || on == TDSD_ON_TM;
}

static bool meets(const struct tdsd_session *session,
                  const struct tdsd_fault_rule *rule,
                  enum tdsd_fault_on on) {
  if (rule->msg != 0 && rule->msg != session->requests) {
    return false;
  }
  switch (rule->on) {
  case TDSD_ON_ANY:
    return true;
  case TDSD_ON_REQUEST:
    return is_request(on);
  case TDSD_ON_RESET:
    return is_request(on) && session->joiner.reset != 0;
  case TDSD_ON_CONNECT:
  case TDSD_ON_PRELOGIN:
  case TDSD_ON_LOGIN:
  case TDSD_ON_BATCH:
  case TDSD_ON_RPC:
  case TDSD_ON_TM:
  case TDSD_ON_ATTENTION:
  case TDSD_ON_IGNORED:
  case TDSD_ON_BROWSER:
  default:
    return rule->on == on;
  }
}

void tdsd_fault_disarm(struct tdsd_session *session) {
  struct tdsd_armed *armed = session->armed;
  if (armed == NULL) {
    return;
  }
  if (armed->pieces) {
    (void)tdsd_gates_add(
        &session->gates,
        (struct tdsd_gate){.at = session->said, .kind = TDSD_GATE_PIECES});
  }
  tdsd_buf_fini(&armed->held);
  free(armed);
  session->armed = NULL;
}

/* The gates of a rule, seen from where the reply begins. */
static void add_gates(struct tdsd_session *session,
                      const struct tdsd_fault_rule *rule) {
  struct tdsd_gate gate = {.at = session->said + rule->byte};
  unsigned kind = rule->row->kind;
  switch (kind) {
  case TDSD_FAULT_CLOSE:
    gate.kind = TDSD_GATE_CLOSE;
    break;
  case TDSD_FAULT_RST:
    gate.kind = TDSD_GATE_RST;
    break;
  case TDSD_FAULT_STALL:
    gate.kind = TDSD_GATE_STALL;
    break;
  case TDSD_FAULT_FREEZE:
    gate.kind = TDSD_GATE_FREEZE;
    break;
  case TDSD_FAULT_PAUSE:
    gate.kind = TDSD_GATE_PAUSE;
    gate.arg = rule->ms * MS;
    break;
  case TDSD_FAULT_SPLIT:
    gate.kind = TDSD_GATE_PIECES;
    gate.arg = rule->number;
    session->armed->pieces = true;
    break;
  case TDSD_FAULT_DRIP:
  default:
    gate.kind = TDSD_GATE_PIECES;
    gate.arg = rule->number < 100 ? 1 : rule->number / 100;
    gate.piece_ns = gate.arg * UINT64_C(1000000000) / rule->number;
    session->armed->pieces = true;
    break;
  }
  (void)tdsd_gates_add(&session->gates, gate);
}

void tdsd_fault_arm_own(struct tdsd_session *session,
                        const struct tdsd_fault_rule *rule) {
  if (session->armed == NULL) {
    session->armed = calloc(1, sizeof *session->armed);
  }
  struct tdsd_armed *armed = session->armed;
  if (armed == NULL || armed->n == TDSD_CAP_ARMED) {
    return;
  }
  armed->rules[armed->n++] = *rule;
  armed->hold = armed->hold || rule->row->stage == TDSD_STAGE_TOKENS ||
                rule->row->stage == TDSD_STAGE_CUT;
  if (rule->row->stage == TDSD_STAGE_GATE) {
    add_gates(session, rule);
  }
}

void tdsd_fault_arm(struct tdsd_session *session, enum tdsd_fault_on on) {
  static const enum tdsd_fault_stage stages[] = {
      TDSD_STAGE_ANSWER, TDSD_STAGE_TOKENS, TDSD_STAGE_CUT, TDSD_STAGE_GATE,
      TDSD_STAGE_IDLE};
  struct tdsd_fault_list *list = &session->shared->faults;
  tdsd_fault_disarm(session);
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    uint32_t at = 0;
    struct tdsd_fault_rule *rule = NULL;
    while ((rule = tdsd_fault_next(list, stages[i], session->number,
                                   session->listener, &at)) != NULL) {
      if (meets(session, rule, on) && tdsd_fault_take(rule)) {
        tdsd_fault_arm_own(session, rule);
      }
    }
  }
  if (on == TDSD_ON_LOGIN) {
    tdsd_role_arm_login(session);
  }
  if (session->armed != NULL) {
    session->armed->on = on;
    session->armed->descriptor = session->state.descriptor;
  }
}

/* Whether reading must stop, now that len bytes of a message have come. */
bool tdsd_fault_deafens(struct tdsd_session *session, size_t len) {
  struct tdsd_fault_list *list = &session->shared->faults;
  struct tdsd_fault_rule *rule = NULL;
  uint32_t at = 0;
  while ((rule = tdsd_fault_next(list, TDSD_STAGE_INPUT, session->number,
                                 session->listener, &at)) != NULL) {
    bool ready = session->phase == TDSD_PHASE_READY;
    bool due = rule->msg == 0 || rule->msg == session->requests + 1;
    if (ready && due && len >= rule->byte && tdsd_fault_take(rule)) {
      return true;
    }
  }
  return false;
}

/* ERROR and DONE instead of an answer, then what then= says. */
static void answer_error(struct tdsd_session *session,
                         const struct tdsd_fault_rule *rule) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  bool login = session->armed->on == TDSD_ON_LOGIN ||
               session->armed->on == TDSD_ON_PRELOGIN;
  enum tdsd_fault_then then = rule->then;
  uint8_t class = (uint8_t)(rule->class != 0 ? rule->class : login ? 14 : 16);
  struct tdsd_fault fault;
  (void)tdsd_fault_set(&fault, (int32_t)rule->number, class,
                       login ? "Login failed with error %u by order of a fault."
                             : "Failed with error %u by order of a fault.",
                       (unsigned)rule->number);
  fault.state = (uint8_t)(rule->state != 0 ? rule->state : 1);
  fault.line = 1;
  tdsd_write_message(&writer, &fault);
  tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  tdsd_session_send(session);
  if (!rule->has_then) {
    then = login || class >= 20 ? TDSD_THEN_FIN : TDSD_THEN_STAY;
  }
  if (login) {
    tdsd_count(&session->shared->counters.logins_failed, 1);
  }
  if (then != TDSD_THEN_STAY) {
    session->abort = then == TDSD_THEN_RST;
    session->phase = TDSD_PHASE_ENDED;
  } else if (login) {
    session->hung = true; /* nothing can follow */
  }
}

bool tdsd_fault_answer(struct tdsd_session *session) {
  const struct tdsd_fault_rule *rule = NULL;
  if (session->armed == NULL) {
    return false;
  }
  rule = tdsd_armed_find(session->armed, TDSD_FAULT_FORGET_HANDLES);
  if (rule != NULL) {
    tdsd_handle_drop_all(&session->state.handles, true);
  }
  if (tdsd_armed_find(session->armed, TDSD_FAULT_HANG) != NULL) {
    session->hung = true;
    if (session->phase == TDSD_PHASE_READY) {
      session->phase = TDSD_PHASE_RUNNING;
    }
    return true;
  }
  rule = tdsd_armed_find(session->armed, TDSD_FAULT_ERROR);
  if (rule != NULL) {
    answer_error(session, rule);
    return true;
  }
  return false;
}

/* Idle faults. */

void tdsd_fault_schedule(struct tdsd_session *session) {
  const struct tdsd_fault_rule *rule =
      tdsd_armed_find(session->armed, TDSD_FAULT_IDLE);
  if (rule != NULL) {
    session->idle_word = rule->word;
    session->idle_ns = session->now_ns + rule->ms * MS + 1;
  }
}

static void say_unasked(struct tdsd_session *session, bool error, bool done) {
  struct tdsd_writer writer = tdsd_session_writer(session);
  struct tdsd_fault fault;
  (void)tdsd_fault_set(&fault, error ? 17142 : 5701, error ? 21 : 10,
                       error ? "SQL Server service has been paused."
                             : "Nobody asked.");
  fault.line = 1;
  tdsd_write_message(&writer, &fault);
  if (done) {
    tdsd_write_done(&writer, TDSD_TOK_DONE, TDSD_DONE_ERROR, 0, 0);
  }
  tdsd_session_send(session);
}

enum tdsd_idle tdsd_fault_idle(struct tdsd_session *session) {
  static const uint8_t noise[] = "\xDE\xAD\xBE\xEF, not a packet";
  struct tdsd_writer writer = tdsd_session_writer(session);
  int32_t word = session->idle_word;
  session->idle_ns = 0;
  if (session->phase != TDSD_PHASE_READY) {
    return TDSD_IDLE_DONE; /* the session is idle no more */
  }
  tdsd_fault_disarm(session);
  switch (word) {
  case 0:
  case 1:
    say_unasked(session, true, true);
    session->phase = word == 1 ? TDSD_PHASE_ENDED : session->phase;
    return TDSD_IDLE_DONE;
  case 2:
    say_unasked(session, false, true);
    return TDSD_IDLE_DONE;
  case 3:
    tdsd_session_say(session, noise, sizeof noise - 1);
    return TDSD_IDLE_DONE;
  case 4:
    tdsd_write_env_text(&writer, TDSD_ENV_DATABASE, "tempdb", "master");
    tdsd_session_send(session);
    return TDSD_IDLE_DONE;
  case 5:
  case 6:
    session->abort = word == 6;
    session->phase = TDSD_PHASE_ENDED;
    return TDSD_IDLE_DONE;
  case 7:
    return TDSD_IDLE_TICKET;
  case 8:
    return TDSD_IDLE_KEYUPDATE;
  default:
    return TDSD_IDLE_RENEGOTIATE;
  }
}
