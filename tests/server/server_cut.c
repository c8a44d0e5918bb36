/* SPDX-License-Identifier: MIT */
/* From tokens to packets: as servers cut them, or as the faults that hit the
 * message say. */
#include <string.h>

#include "server_const.h"
#include "server_session.h"
#include "server_tran.h"

/* A reply that faults hold back is let go at this size, whole or not. */
#define HELD_MAX TDSD_CAP_VALUE

/* Notes the packets that were appended to out since it had len bytes; its
 * connection must know where they end even if their headers lie. */
static void note_packets(struct tdsd_session *session, size_t len) {
  const uint8_t *out = tdsd_buf_at(&session->out);
  size_t end = tdsd_buf_len(&session->out);
  session->said += end - len;
  while (end - len >= TDSD_HEADER_BYTES) {
    uint32_t unit = tdsd_get_u16be(out + len + 2);
    tdsd_buf_u32(&session->units, unit);
    len += unit;
  }
}

static void one_packet(struct tdsd_session *session, bool final) {
  struct tdsd_buf *reply = &session->reply;
  tdsd_packet_write(&session->out, TDSD_PKT_REPLY, final ? TDSD_ST_EOM : 0,
                    session->spid, ++session->packet_id, tdsd_buf_at(reply),
                    tdsd_buf_len(reply));
  tdsd_buf_clear(reply);
  session->packet_id = final ? 0 : session->packet_id;
}

static void cut(struct tdsd_session *session,
                uint32_t size,
                enum tdsd_cut how) {
  size_t before = tdsd_buf_len(&session->out);
  tdsd_packets_write(&session->out, &session->reply, size, session->spid,
                     &session->packet_id, how == TDSD_CUT_MESSAGE);
  if (how == TDSD_CUT_PACKET && tdsd_buf_len(&session->reply) != 0) {
    one_packet(session, false);
  }
  note_packets(session, before);
}

void tdsd_session_say(struct tdsd_session *session,
                      const uint8_t *bytes,
                      size_t len) {
  tdsd_buf_bytes(&session->out, bytes, len);
  tdsd_buf_u32(&session->units, (uint32_t)len);
  session->said += len;
}

/* What a transaction fault does to the session itself, and the descriptor that
 * it tells of. */
static uint64_t change_transaction(struct tdsd_session *session,
                                   const struct tdsd_fault_rule *rule) {
  struct tdsd_state *state = &session->state;
  struct tdsd_fault ignored;
  if (rule->word == 2) { /* begin */
    if (state->descriptor == 0) {
      (void)tdsd_state_begin(state);
      (void)tdsd_answer_transact(&session->answerers, TDSD_TRAN_BEGIN, "",
                                 &ignored);
    }
    return state->descriptor;
  }
  uint64_t descriptor =
      state->descriptor != 0 ? state->descriptor : session->armed->descriptor;
  if (state->descriptor != 0) {
    (void)tdsd_state_end(state);
    (void)tdsd_answer_transact(&session->answerers, TDSD_TRAN_ROLLBACK, "",
                               &ignored);
  }
  return descriptor;
}

static void edit(struct tdsd_session *session) {
  const struct tdsd_armed *armed = session->armed;
  const struct tdsd_fault_rule *tran = tdsd_armed_find(armed, TDSD_FAULT_TRAN);
  uint64_t descriptor = tran == NULL ? 0 : change_transaction(session, tran);
  if (armed->on == TDSD_ON_PRELOGIN) {
    tdsd_fault_edit_prelogin(armed, &session->reply);
  } else {
    tdsd_fault_edit(armed, session->state.version, descriptor, &session->reply);
  }
}

/* Where each row begins, as bytes on the way to the socket. */
struct rows {
  struct tdsd_session *session;
  const struct tdsd_fault_rule *rule;
  uint32_t size;
};

static void pause_at_row(void *user, const struct tdsd_place *place) {
  const struct rows *rows = user;
  uint64_t most = rows->size - TDSD_HEADER_BYTES;
  if (place->field != TDSD_FIELD_TOKEN ||
      (place->token != TDSD_TOK_ROW && place->token != TDSD_TOK_NBCROW)) {
    return;
  }
  uint64_t headers = TDSD_HEADER_BYTES * (place->at / most + 1);
  (void)tdsd_gates_add(
      &rows->session->gates,
      (struct tdsd_gate){.at = rows->session->said + headers + place->at,
                         .kind = TDSD_GATE_PAUSE,
                         .arg = rows->rule->ms * UINT64_C(1000000)});
}

static void delay_rows(struct tdsd_session *session, uint32_t size) {
  const struct tdsd_fault_rule *rule =
      tdsd_armed_find(session->armed, TDSD_FAULT_ROW_DELAY);
  struct rows rows = {session, rule, size};
  if (rule != NULL) {
    (void)tdsd_walk(tdsd_buf_at(&session->reply), tdsd_buf_len(&session->reply),
                    session->state.version, pause_at_row, &rows);
  }
}

/* Two messages of one: the first ends after byte= bytes. */
static void cut_twice(struct tdsd_session *session,
                      uint32_t size,
                      uint64_t at) {
  struct tdsd_buf rest = {0};
  struct tdsd_buf *reply = &session->reply;
  size_t len = tdsd_buf_len(reply);
  size_t first = at < len ? (size_t)at : len;
  tdsd_buf_bytes(&rest, tdsd_buf_at(reply) + first, len - first);
  reply->end -= len - first;
  cut(session, size, TDSD_CUT_MESSAGE);
  tdsd_buf_bytes(reply, tdsd_buf_at(&rest), len - first);
  tdsd_buf_fini(&rest);
  cut(session, size, TDSD_CUT_MESSAGE);
}

static void lie_in_header(struct tdsd_session *session,
                          const struct tdsd_fault_rule *rule,
                          size_t at) {
  static const struct {
    uint8_t at;
    uint8_t width;
  } fields[] = {{0, 1}, {1, 1}, {2, 2}, {4, 2}, {6, 1}, {7, 1}};
  uint8_t *header = tdsd_buf_at(&session->out) + at;
  if (tdsd_buf_len(&session->out) < at + TDSD_HEADER_BYTES) {
    return;
  }
  for (unsigned i = 0; i < fields[rule->word].width; i++) {
    unsigned shift = 8 * (fields[rule->word].width - 1u - i);
    header[fields[rule->word].at + i] = (uint8_t)(rule->value >> shift);
  }
}

/* Cuts a whole reply that faults have changed. */
static void cut_armed(struct tdsd_session *session) {
  const struct tdsd_armed *armed = session->armed;
  const struct tdsd_fault_rule *packets =
      tdsd_armed_find(armed, TDSD_FAULT_PACKETS);
  const struct tdsd_fault_rule *twice = tdsd_armed_find(armed, TDSD_FAULT_EOM);
  const struct tdsd_fault_rule *header =
      tdsd_armed_find(armed, TDSD_FAULT_HEADER);
  uint32_t size =
      packets != NULL ? (uint32_t)packets->number : session->packet_size;
  size_t before = tdsd_buf_len(&session->out);
  delay_rows(session, size);
  if (twice != NULL) {
    cut_twice(session, size, twice->byte);
  } else if (tdsd_armed_find(armed, TDSD_FAULT_NO_EOM) != NULL) {
    cut(session, size, TDSD_CUT_PACKET);
  } else {
    cut(session, size, TDSD_CUT_MESSAGE);
  }
  if (header != NULL) {
    lie_in_header(session, header, before);
  }
}

/* Keeps what there is of the reply.  Returns whether the whole is there. */
static bool hold(struct tdsd_session *session, enum tdsd_cut how) {
  struct tdsd_buf *reply = &session->reply;
  struct tdsd_buf *held = &session->armed->held;
  tdsd_buf_bytes(held, tdsd_buf_at(reply), tdsd_buf_len(reply));
  tdsd_buf_clear(reply);
  if (how != TDSD_CUT_MESSAGE && tdsd_buf_len(held) < HELD_MAX) {
    return false;
  }
  tdsd_buf_bytes(reply, tdsd_buf_at(held), tdsd_buf_len(held));
  tdsd_buf_fini(held);
  return true;
}

/* Gates behind the end of a reply are at its end. */
static void draw_gates_near(struct tdsd_session *session) {
  struct tdsd_gates *gates = &session->gates;
  for (size_t i = gates->first; i < gates->n; i++) {
    if (gates->list[i].at > session->said) {
      gates->list[i].at = session->said;
    }
  }
}

void tdsd_session_cut(struct tdsd_session *session, enum tdsd_cut how) {
  struct tdsd_armed *armed = session->armed;
  if (armed == NULL || !armed->hold) {
    cut(session, session->packet_size, how);
  } else if (hold(session, how)) {
    edit(session);
    if (tdsd_armed_find(armed, TDSD_FAULT_MUTE) != NULL) {
      tdsd_buf_clear(&session->reply);
    } else {
      cut_armed(session);
    }
  }
  if (armed != NULL && how == TDSD_CUT_MESSAGE) {
    if (armed->on != TDSD_ON_ATTENTION) {
      draw_gates_near(session);
    }
    tdsd_fault_schedule(session);
  }
}

void tdsd_session_send(struct tdsd_session *session) {
  tdsd_session_cut(session, TDSD_CUT_MESSAGE);
}
