/* SPDX-License-Identifier: MIT */
/* Packets and messages (MS-TDS 2.2.3): cutting packets out of a byte stream,
 * joining them to messages while every rule for clients is checked, and cutting
 * a reply into packets.  Pure: no sockets, no clock. */
#ifndef TDSD_SERVER_WIRE_H
#define TDSD_SERVER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_buf.h"

/* What a client did wrong, as a sentence that names the thing. */
struct tdsd_problem {
  char text[240];
};

/* Writes the sentence.  Returns -1, so that a check can be one return. */
int tdsd_problem_set(struct tdsd_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct tdsd_packet {
  uint8_t type;
  uint8_t status;
  uint8_t id;
  uint8_t window;
  uint16_t spid;
  uint16_t length;     /* header included */
  const uint8_t *body; /* length - 8 bytes */
};

/* Cuts one packet off the front of in.
 * Returns 1 with *out_packet (pointing into in), 0 if bytes are missing, -1 with
 * the problem if the header cannot be one. */
int tdsd_packet_parse(const uint8_t *in,
                      size_t len,
                      struct tdsd_packet *out_packet,
                      struct tdsd_problem *problem);

enum tdsd_joined {
  TDSD_JOIN_BAD = -1,      /* the client broke a rule; problem says which */
  TDSD_JOIN_MORE = 0,      /* the message goes on */
  TDSD_JOIN_MESSAGE = 1,   /* the message is complete */
  TDSD_JOIN_IGNORED = 2,   /* the client took its message back */
  TDSD_JOIN_ATTENTION = 3, /* an attention; a message cut by it is dropped */
};

/* The message being received. */
struct tdsd_joiner {
  struct tdsd_buf message; /* bodies of its packets so far */
  bool open;               /* a first packet has come, the last has not */
  uint8_t type;            /* of the message, once open */
  uint8_t reset;           /* TDSD_ST_RESET or _SKIPTRAN of its first packet */
  uint32_t packet_size;    /* negotiated; 0 before the login is answered */
};

/* Adds a packet.  After TDSD_JOIN_MESSAGE the caller reads message, type and
 * reset, then calls tdsd_joiner_next(). */
enum tdsd_joined tdsd_joiner_add(struct tdsd_joiner *joiner,
                                 const struct tdsd_packet *packet,
                                 struct tdsd_problem *problem);

/* Forgets the message, wiping it. */
void tdsd_joiner_next(struct tdsd_joiner *joiner);
void tdsd_joiner_fini(struct tdsd_joiner *joiner);

/* Moves the bytes of reply into out as packets of at most packet_size bytes.
 * Unless final is set only full packets are written and the rest stays; final
 * ends the message.  *id counts packets. */
void tdsd_packets_write(struct tdsd_buf *out,
                        struct tdsd_buf *reply,
                        uint32_t packet_size,
                        uint16_t spid,
                        uint8_t *id,
                        bool final);

/* Appends one packet with this type and body; the body fits. */
void tdsd_packet_write(struct tdsd_buf *out,
                       uint32_t type,
                       uint32_t status,
                       uint16_t spid,
                       uint8_t id,
                       const uint8_t *body,
                       size_t len);

/* A client's packet type by name, for messages to people. */
const char *tdsd_packet_name(uint8_t type);

#endif
