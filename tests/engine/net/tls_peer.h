/* SPDX-License-Identifier: MIT */
/* tls_peer.h - certificates made on the spot, and a TLS server over memory. */
#ifndef WEIR_TESTS_TLS_PEER_H
#define WEIR_TESTS_TLS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#define PEER_DAY 86400L

struct peer_cert {
  X509 *x509;
  EVP_PKEY *key;
};

/* A certificate for names ("DNS:a,IP:127.0.0.1", or NULL), valid from and to so
 * many seconds from now, signed by issuer or, if that is NULL, by itself. */
struct peer_cert peer_cert_new(const char *common_name,
                               const char *names,
                               long from,
                               long to,
                               const struct peer_cert *issuer);
void peer_cert_free(struct peer_cert *cert);

/* Writes it to a new file as PEM or DER; the path is valid until the end. */
const char *peer_cert_file(const struct peer_cert *cert, bool der);

/* A server that shows cert.  max_version: 0 or e.g. TLS1_2_VERSION. */
SSL_CTX *peer_server(const struct peer_cert *cert, int max_version);

/* One connection of it, between two memory BIOs. */
SSL *peer_accept(SSL_CTX *server);

/* Ciphertext into and out of it; both may be called at any time. */
void peer_feed(SSL *peer, const void *p, size_t n);
size_t peer_drain(SSL *peer, void *p, size_t cap);

#endif
