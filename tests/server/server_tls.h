/* SPDX-License-Identifier: MIT */
/* TLS over memory: bytes in, bytes out.  In TDS 7.x the handshake travels inside
 * PRELOGIN packets and stops at TLS 1.2; in TDS 8 it stands bare and may be 1.3. */
#ifndef TDSD_SERVER_TLS_H
#define TDSD_SERVER_TLS_H

#include "server_buf.h"
#include "server_cert.h"

struct tdsd_tls_context;
struct tdsd_tls;

/* What is chosen of the client's ALPN list. */
enum tdsd_alpn {
  TDSD_ALPN_USUAL,
  TDSD_ALPN_NONE,
  TDSD_ALPN_OTHER
};

/* What goes wrong in one connection's TLS (server_fault.h). */
struct tdsd_tls_faults {
  enum tdsd_cert_kind cert;
  enum tdsd_alpn alpn;
  bool no_goodbye;
  bool late_tickets;
  bool kept;
  uint32_t pieces;  /* bytes of the handshake in one packet; 0 = usual */
  uint32_t burn_ms; /* CPU time before the handshake */
  uint32_t stall;   /* at which of the client's pieces; 0 = none */
};

/* Prepares certificate and key: from PEM files, or fresh ones for localhost if
 * cert_file is NULL.  Returns NULL with a sentence in why. */
struct tdsd_tls_context *tdsd_tls_context_new(const char *cert_file,
                                              const char *key_file,
                                              char *why,
                                              size_t cap);
void tdsd_tls_context_free(struct tdsd_tls_context *context);

/* The certificate as PEM text, which lives as long as the context. */
const char *tdsd_tls_context_pem(const struct tdsd_tls_context *context);

/* A server side of one connection; strict is TDS 8.  NULL without memory, or if
 * the certificate that faults ask for cannot be made. */
struct tdsd_tls *tdsd_tls_new(struct tdsd_tls_context *context,
                              bool strict,
                              const struct tdsd_tls_faults *faults);
void tdsd_tls_free(struct tdsd_tls *tls);

/* Gives TLS bytes that came from the peer. */
bool tdsd_tls_give(struct tdsd_tls *tls, const uint8_t *bytes, size_t len);

/* Appends the bytes that TLS wants to send. */
void tdsd_tls_take(struct tdsd_tls *tls, struct tdsd_buf *out);

/* Moves the handshake on.  Returns 1 when it is finished, 0 if it needs more
 * bytes, -1 with a sentence in why. */
int tdsd_tls_handshake(struct tdsd_tls *tls, char *why, size_t cap);

/* Whether the handshake resumed an earlier session. */
bool tdsd_tls_resumed(const struct tdsd_tls *tls);

/* Appends all clear bytes that can be had.  Returns 0; 1 if the peer said
 * goodbye; -1 with a sentence in why. */
int tdsd_tls_read(struct tdsd_tls *tls,
                  struct tdsd_buf *out,
                  char *why,
                  size_t cap);

/* Encrypts bytes as one record or more.  Returns false if that failed. */
bool tdsd_tls_write(struct tdsd_tls *tls, const uint8_t *bytes, size_t len);

/* Says something that nobody asked for; what the version does not have is
 * passed over. */
enum tdsd_tls_thing {
  TDSD_TLS_TICKET,      /* 1.3 */
  TDSD_TLS_KEYUPDATE,   /* 1.3 */
  TDSD_TLS_RENEGOTIATE, /* 1.2 */
};
void tdsd_tls_unasked(struct tdsd_tls *tls, enum tdsd_tls_thing thing);

/* Says goodbye. */
void tdsd_tls_shutdown(struct tdsd_tls *tls);

#endif
