/* SPDX-License-Identifier: MIT */
/* tds_packet.h - the 8-byte packet header: split a byte stream into bodies. */
#ifndef TDS_PACKET_H
#define TDS_PACKET_H

#include "tds_wire.h"

/* Verdicts of tds_packet_next besides TDS_MORE and TDS_E_PROTO. */
#define TDS_PACKET_DATA 2 /* *out_body holds bytes of the message */
#define TDS_PACKET_END  3 /* the message has ended */

/* Where the reader stands.  All zero is the start of a message. */
struct tds_packet_reader {
  uint8_t head[8];
  uint8_t have;      /* bytes of head */
  uint8_t ending;    /* 1: the last packet's body is out, END is due */
  uint8_t handshake; /* 1: type 0x12 is legal as well as 0x04 */
  uint8_t type;
  uint16_t spid;
  uint32_t left;  /* bytes of this packet's body still to come */
  uint32_t limit; /* largest packet in force; 0 = TDS_PACKET_MAX */
  uint64_t at;    /* bytes of the stream taken so far, for messages */
  char why[96];   /* after TDS_E_PROTO */
};

/* Takes bytes off in.
 * Returns TDS_PACKET_DATA with a part of *in in *out_body (never empty);
 * TDS_PACKET_END once behind the last byte of a message; TDS_MORE if in is used
 * up; TDS_E_PROTO if a header is not legal: why says how. */
int tds_packet_next(struct tds_packet_reader *r,
                    struct tds_span *in,
                    struct tds_span *out_body);

/* 1 if the rest of the message is in whole in in, or if it cannot go on there; 0
 * if more bytes are needed.  Nothing is taken. */
int tds_packet_whole(const struct tds_packet_reader *r, struct tds_span in);

/* 1 if the reader stands between two messages with nothing taken. */
int tds_packet_idle(const struct tds_packet_reader *r);

/* Writes a header: type, status, the length of the whole packet, packet id. */
void tds_packet_head(uint8_t out[8],
                     uint8_t type,
                     uint8_t status,
                     size_t body,
                     uint8_t id);

#endif
