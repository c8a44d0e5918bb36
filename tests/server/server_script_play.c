/* SPDX-License-Identifier: MIT */
/* Scripts in a session: finding the rule for a message, and playing it. */
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_session.h"
#include "server_text.h"

#define PROC_NAME_BYTES 256u
/* The reply is cut into packets once it has this many bytes. */
#define FLUSH_BYTES     (32u * 1024u)
/* Others have their turn after so many ops, because loops may be empty. */
#define OPS_A_TURN      10000u

static enum tdsd_script_layout layout_of(const struct tdsd_session *session) {
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

/* What is left of a request while it is looked at. */
struct view {
  const uint8_t *at;
  size_t left;
};

static const uint8_t *take(struct view *view, size_t n) {
  const uint8_t *at = view->at;
  if (n > view->left) {
    view->left = 0;
    return NULL;
  }
  view->at += n;
  view->left -= n;
  return at;
}

/* A text being read: malloc'ed UTF-8. */
struct text {
  char *bytes;
  size_t len;
};

static void set_w16(struct text *text, const uint8_t *w16, size_t bytes) {
  text->bytes = malloc(bytes / 2 * 3 + 1);
  text->len =
      text->bytes == NULL ? 0 : tdsd_text_from_w16(w16, bytes / 2, text->bytes);
}

/* Joins the chunks of a PLP value. */
static void set_plp(struct text *text, struct view *view) {
  struct tdsd_buf whole = {0};
  const uint8_t *length = take(view, 8);
  while (length != NULL && (length = take(view, 4)) != NULL) {
    size_t n = tdsd_get_u32(length);
    const uint8_t *chunk = n == 0 ? NULL : take(view, n);
    if (chunk == NULL) {
      break;
    }
    tdsd_buf_bytes(&whole, chunk, n);
  }
  if (tdsd_buf_len(&whole) != 0) {
    set_w16(text, tdsd_buf_at(&whole), tdsd_buf_len(&whole));
  }
  tdsd_buf_fini(&whole);
}

/* Reads a value of the types that statements come in; others end the search.
 * Returns whether it was one of them; *text is set if it was N-text. */
static bool read_value(struct view *view, struct text *text) {
  const uint8_t *type = take(view, 1);
  const uint8_t *length = NULL;
  if (type == NULL) {
    return false;
  }
  if (*type == 0x26) { /* intN: a handle */
    const uint8_t *head = take(view, 2);
    return head != NULL && take(view, head[1]) != NULL;
  }
  if (*type == 0x63) { /* ntext */
    (void)take(view, 9);
    length = take(view, 4);
    size_t n = length == NULL ? UINT32_MAX : tdsd_get_u32(length);
    const uint8_t *bytes = n == UINT32_MAX ? NULL : take(view, n);
    if (bytes != NULL) {
      set_w16(text, bytes, n);
    }
    return length != NULL;
  }
  if (*type != 0xE7 && *type != 0xEF) {
    return false;
  }
  const uint8_t *head = take(view, 7);
  if (head == NULL) {
    return false;
  }
  if (tdsd_get_u16(head) == 0xFFFF) {
    set_plp(text, view);
    return true;
  }
  length = take(view, 2);
  size_t n = length == NULL ? 0xFFFF : tdsd_get_u16(length);
  const uint8_t *bytes = n == 0xFFFF ? NULL : take(view, n);
  if (bytes != NULL) {
    set_w16(text, bytes, n);
  }
  return length != NULL;
}

/* The statement: the first parameter of sp_executesql and of what is unknown, the
 * third of those that return a handle. */
static void find_statement(struct view *view,
                           uint32_t number,
                           struct text *out) {
  unsigned wanted = number == 11 || number == 13 ? 2 : 0;
  for (unsigned i = 0; i <= wanted; i++) {
    struct text text = {NULL, 0};
    const uint8_t *name = take(view, 1);
    if (name == NULL || take(view, 2u * *name + 1u) == NULL ||
        !read_value(view, &text)) {
      return;
    }
    if (i == wanted) {
      *out = text;
    } else {
      free(text.bytes);
    }
  }
}

static const struct {
  const char *name;
  uint32_t number;
} procedures[] = {{"sp_cursor", 1},         {"sp_cursoropen", 2},
                  {"sp_cursorprepare", 3},  {"sp_cursorexecute", 4},
                  {"sp_cursorprepexec", 5}, {"sp_cursorunprepare", 6},
                  {"sp_cursorfetch", 7},    {"sp_cursoroption", 8},
                  {"sp_cursorclose", 9},    {"sp_executesql", 10},
                  {"sp_prepare", 11},       {"sp_execute", 12},
                  {"sp_prepexec", 13},      {"sp_prepexecrpc", 14},
                  {"sp_unprepare", 15}};

#define PROCEDURES (sizeof procedures / sizeof procedures[0])

/* The name behind the last point, without brackets. */
static const char *bare_name(char *name) {
  char *point = strrchr(name, '.');
  char *bare = point != NULL ? point + 1 : name;
  size_t len = strlen(bare);
  if (len > 1 && bare[0] == '[' && bare[len - 1] == ']') {
    bare[len - 1] = 0;
    bare++;
  }
  return bare;
}

static void look_at_rpc(struct view view,
                        struct tdsd_script_asked *asked,
                        char name[PROC_NAME_BYTES],
                        struct text *text) {
  const uint8_t *units = take(&view, 2);
  size_t n = units == NULL ? 0 : tdsd_get_u16(units);
  if (n == 0xFFFF) {
    const uint8_t *id = take(&view, 2);
    asked->number = id == NULL ? 0 : tdsd_get_u16(id);
    if (asked->number >= 1 && asked->number <= PROCEDURES) {
      asked->name = procedures[asked->number - 1].name;
    }
  } else {
    const uint8_t *w16 = take(&view, 2 * n);
    if (w16 == NULL || 3 * n >= PROC_NAME_BYTES) {
      return;
    }
    name[tdsd_text_from_w16(w16, n, name)] = 0;
    asked->name = bare_name(name);
    for (size_t i = 0; i < PROCEDURES; i++) {
      if (tdsd_text_same(procedures[i].name, asked->name)) {
        asked->number = procedures[i].number;
      }
    }
  }
  (void)take(&view, 2); /* flags */
  find_statement(&view, asked->number, text);
}

const struct tdsd_script_rule *tdsd_script_look(struct tdsd_session *session,
                                                enum tdsd_script_kind kind,
                                                const uint8_t *body,
                                                size_t len) {
  struct tdsd_script *script = session->shared->script;
  struct text text = {NULL, 0};
  char name[PROC_NAME_BYTES];
  struct tdsd_script_asked asked = {.kind = kind,
                                    .name = "",
                                    .conn = session->number,
                                    .msg = session->requests,
                                    .reset = session->joiner.reset};
  if (script == NULL) {
    return NULL;
  }
  if (kind == TDSD_SCRIPT_BATCH) {
    set_w16(&text, body, len);
  } else if (kind == TDSD_SCRIPT_RPC) {
    look_at_rpc((struct view){body, len}, &asked, name, &text);
  } else if (kind == TDSD_SCRIPT_TM && len >= 2) {
    asked.number = tdsd_get_u16(body);
  }
  bool own = kind == TDSD_SCRIPT_LOGIN;
  asked.text = own ? (const char *)body : text.bytes != NULL ? text.bytes : "";
  asked.text_len = own ? len : text.len;
  const struct tdsd_script_rule *rule =
      tdsd_script_find(script, layout_of(session), &asked);
  free(text.bytes);
  return rule;
}

char *tdsd_script_request_text(const struct tdsd_session *session,
                               const uint8_t *body,
                               size_t len,
                               size_t *out_len) {
  struct text text = {NULL, 0};
  struct tdsd_script_asked asked = {.kind = TDSD_SCRIPT_RPC, .name = ""};
  char name[PROC_NAME_BYTES];
  if (session->joiner.type == TDSD_PKT_BATCH) {
    set_w16(&text, body, len);
  } else if (session->joiner.type == TDSD_PKT_RPC) {
    look_at_rpc((struct view){body, len}, &asked, name, &text);
  }
  *out_len = text.len;
  return text.bytes;
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
  play->program = &play->script->programs[layout_of(session)];
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
