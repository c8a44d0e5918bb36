/* SPDX-License-Identifier: MIT */
/* The plaintext tap: a pcap file of made-up IPv4 and TCP packets that carry the
 * decrypted TDS packets of all connections, for Wireshark's eyes. */
#ifndef TDSD_SERVER_TAP_H
#define TDSD_SERVER_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tdsd_tap;

/* One connection as the file shows it: from 10.x.y.z, which counts connections,
 * to port 1433. */
struct tdsd_tap_flow {
  uint32_t address;
  uint16_t port;
  bool open;
  uint32_t client_seq;
  uint32_t server_seq;
  size_t login_bytes;    /* of LOGIN7 that were written already */
  size_t token_bytes;    /* of the federated token message */
  size_t secret_from[3]; /* where in LOGIN7 its passwords and token are */
  size_t secret_to[3];
};

/* Creates the file, readable by its owner only.
 * Returns NULL with a sentence in why. */
struct tdsd_tap *tdsd_tap_open(const char *path, char *why, size_t cap);
void tdsd_tap_close(struct tdsd_tap *tap);

/* Writes the TCP handshake and the end of a connection. */
void tdsd_tap_begin(struct tdsd_tap *tap,
                    struct tdsd_tap_flow *flow,
                    uint32_t number,
                    uint16_t port);
void tdsd_tap_end(struct tdsd_tap *tap, struct tdsd_tap_flow *flow);

/* Writes one TDS packet.  Passwords and tokens are masked. */
void tdsd_tap_packet(struct tdsd_tap *tap,
                     struct tdsd_tap_flow *flow,
                     bool from_client,
                     const uint8_t *bytes,
                     size_t len);

#endif
