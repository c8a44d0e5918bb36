/* SPDX-License-Identifier: MIT */
#include "server_wire.h"

#include <stdarg.h>
#include <stdio.h>

#include <openssl/crypto.h>

#include "server_const.h"

int tdsd_problem_set(struct tdsd_problem *problem, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(problem->text, sizeof problem->text, format, args);
  va_end(args);
  return -1;
}

const char *tdsd_packet_name(uint8_t type) {
  switch (type) {
  case TDSD_PKT_BATCH:
    return "SQL batch";
  case TDSD_PKT_RPC:
    return "RPC";
  case TDSD_PKT_ATTENTION:
    return "attention";
  case TDSD_PKT_BULK:
    return "bulk load";
  case TDSD_PKT_FEDAUTH:
    return "federated token";
  case TDSD_PKT_TM:
    return "transaction manager request";
  case TDSD_PKT_LOGIN7:
    return "LOGIN7";
  case TDSD_PKT_SSPI:
    return "SSPI";
  case TDSD_PKT_PRELOGIN:
    return "PRELOGIN";
  default:
    return NULL;
  }
}

int tdsd_packet_parse(const uint8_t *in,
                      size_t len,
                      struct tdsd_packet *out_packet,
                      struct tdsd_problem *problem) {
  if (len >= 1 && tdsd_packet_name(in[0]) == NULL) {
    return tdsd_problem_set(
        problem, "packet type 0x%02x is none that a client may send", in[0]);
  }
  if (len < TDSD_HEADER_BYTES) {
    return 0;
  }
  uint16_t length = tdsd_get_u16be(in + 2);
  if (length < TDSD_HEADER_BYTES) {
    return tdsd_problem_set(problem, "packet length %u is less than its header",
                            (unsigned)length);
  }
  if (length > TDSD_PACKET_MAX) {
    return tdsd_problem_set(problem, "packet length %u is more than 32767",
                            (unsigned)length);
  }
  if (in[7] != 0) {
    return tdsd_problem_set(problem, "packet window is %u, not 0", in[7]);
  }
  if (len < length) {
    return 0;
  }
  *out_packet = (struct tdsd_packet){
      .type = in[0],
      .status = in[1],
      .length = length,
      .spid = tdsd_get_u16be(in + 4),
      .id = in[6],
      .window = in[7],
      .body = in + TDSD_HEADER_BYTES,
  };
  return 1;
}

static bool may_reset(uint8_t type) {
  return type == TDSD_PKT_BATCH || type == TDSD_PKT_RPC || type == TDSD_PKT_TM;
}

static int check_status(const struct tdsd_joiner *joiner,
                        const struct tdsd_packet *packet,
                        struct tdsd_problem *problem) {
  const uint8_t reset = TDSD_ST_RESET | TDSD_ST_RESET_SKIPTRAN;
  const uint8_t more = packet->status & TDSD_ST_EOM ? 0 : TDSD_ST_MORE;
  const uint8_t known = TDSD_ST_EOM | TDSD_ST_IGNORE | reset | more;
  if ((packet->status & ~known) != 0) {
    return tdsd_problem_set(problem, "packet status 0x%02x has unknown bits",
                            packet->status);
  }
  if ((packet->status & TDSD_ST_IGNORE) && !(packet->status & TDSD_ST_EOM)) {
    return tdsd_problem_set(problem, "IGNORE on a packet without EOM");
  }
  if ((packet->status & reset) == 0) {
    return 0;
  }
  if ((packet->status & reset) == reset) {
    return tdsd_problem_set(problem, "both reset bits on one packet");
  }
  if (joiner->open) {
    return tdsd_problem_set(problem,
                            "a reset bit on a packet that is not the first");
  }
  if (!may_reset(packet->type)) {
    return tdsd_problem_set(problem, "a reset bit on a %s",
                            tdsd_packet_name(packet->type));
  }
  return 0;
}

/* Before the login is answered 4096 is the most; after it every packet but the
 * last is exactly as large as agreed. */
static int check_size(const struct tdsd_joiner *joiner,
                      const struct tdsd_packet *packet,
                      struct tdsd_problem *problem) {
  uint32_t most =
      joiner->packet_size != 0 ? joiner->packet_size : TDSD_PACKET_DEFAULT;
  if (packet->length > most) {
    return tdsd_problem_set(problem,
                            "packet of %u bytes where at most %u are agreed",
                            (unsigned)packet->length, (unsigned)most);
  }
  if (joiner->packet_size != 0 && !(packet->status & TDSD_ST_EOM) &&
      packet->length != most) {
    return tdsd_problem_set(problem,
                            "packet of %u bytes inside a message must have %u",
                            (unsigned)packet->length, (unsigned)most);
  }
  return 0;
}

static size_t message_cap(uint8_t type) {
  switch (type) {
  case TDSD_PKT_PRELOGIN:
    return TDSD_CAP_PRELOGIN;
  case TDSD_PKT_LOGIN7:
  case TDSD_PKT_FEDAUTH:
    return TDSD_CAP_LOGIN;
  default:
    return TDSD_CAP_MESSAGE;
  }
}

static enum tdsd_joined add_attention(struct tdsd_joiner *joiner,
                                      const struct tdsd_packet *packet,
                                      struct tdsd_problem *problem) {
  if (packet->length != TDSD_HEADER_BYTES || packet->status != TDSD_ST_EOM) {
    (void)tdsd_problem_set(problem, "attention of %u bytes with status 0x%02x",
                           (unsigned)packet->length, packet->status);
    return TDSD_JOIN_BAD;
  }
  tdsd_joiner_next(joiner);
  return TDSD_JOIN_ATTENTION;
}

static int append(struct tdsd_joiner *joiner,
                  const struct tdsd_packet *packet,
                  struct tdsd_problem *problem) {
  size_t body = packet->length - TDSD_HEADER_BYTES;
  size_t cap = message_cap(packet->type);
  if (tdsd_buf_len(&joiner->message) + body > cap) {
    return tdsd_problem_set(problem, "%s of more than %zu bytes",
                            tdsd_packet_name(packet->type), cap);
  }
  tdsd_buf_bytes(&joiner->message, packet->body, body);
  return joiner->message.failed ? tdsd_problem_set(problem, "no memory") : 0;
}

enum tdsd_joined tdsd_joiner_add(struct tdsd_joiner *joiner,
                                 const struct tdsd_packet *packet,
                                 struct tdsd_problem *problem) {
  if (packet->type == TDSD_PKT_ATTENTION) {
    return add_attention(joiner, packet, problem);
  }
  if (joiner->open && packet->type != joiner->type) {
    (void)tdsd_problem_set(problem, "a %s packet inside a %s message",
                           tdsd_packet_name(packet->type),
                           tdsd_packet_name(joiner->type));
    return TDSD_JOIN_BAD;
  }
  if (check_status(joiner, packet, problem) < 0 ||
      check_size(joiner, packet, problem) < 0 ||
      append(joiner, packet, problem) < 0) {
    return TDSD_JOIN_BAD;
  }
  if (!joiner->open) {
    joiner->open = true;
    joiner->type = packet->type;
    joiner->reset =
        packet->status & (uint8_t)(TDSD_ST_RESET | TDSD_ST_RESET_SKIPTRAN);
  }
  if (!(packet->status & TDSD_ST_EOM)) {
    return TDSD_JOIN_MORE;
  }
  return packet->status & TDSD_ST_IGNORE ? TDSD_JOIN_IGNORED
                                         : TDSD_JOIN_MESSAGE;
}

void tdsd_joiner_next(struct tdsd_joiner *joiner) {
  tdsd_buf_wipe(&joiner->message);
  joiner->open = false;
  joiner->type = 0;
  joiner->reset = 0;
}

void tdsd_joiner_fini(struct tdsd_joiner *joiner) {
  tdsd_buf_wipe(&joiner->message);
}

void tdsd_packet_write(struct tdsd_buf *out,
                       uint32_t type,
                       uint32_t status,
                       uint16_t spid,
                       uint8_t id,
                       const uint8_t *body,
                       size_t len) {
  tdsd_buf_u8(out, type);
  tdsd_buf_u8(out, status);
  tdsd_buf_u16be(out, (uint32_t)(len + TDSD_HEADER_BYTES));
  tdsd_buf_u16be(out, spid);
  tdsd_buf_u8(out, id);
  tdsd_buf_u8(out, 0);
  tdsd_buf_bytes(out, body, len);
}

void tdsd_packets_write(struct tdsd_buf *out,
                        struct tdsd_buf *reply,
                        uint32_t packet_size,
                        uint16_t spid,
                        uint8_t *id,
                        bool final) {
  size_t most = packet_size - TDSD_HEADER_BYTES;
  /* A full packet may turn out to be the last one, so one byte more must wait
   * behind it before it may go without EOM. */
  while (tdsd_buf_len(reply) > most) {
    tdsd_packet_write(out, TDSD_PKT_REPLY, 0, spid, ++*id, tdsd_buf_at(reply),
                      most);
    tdsd_buf_consume(reply, most);
  }
  if (final) {
    size_t len = tdsd_buf_len(reply);
    tdsd_packet_write(out, TDSD_PKT_REPLY, TDSD_ST_EOM, spid, ++*id,
                      tdsd_buf_at(reply), len);
    tdsd_buf_consume(reply, len);
    *id = 0;
  }
}
