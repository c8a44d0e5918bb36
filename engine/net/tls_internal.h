/* SPDX-License-Identifier: MIT */
/* tls_internal.h - what the files tls*.c share. */
#ifndef WEIR_NET_TLS_INTERNAL_H
#define WEIR_NET_TLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "weir_driver.h"

#include "net/tls.h"
#include "sys/mutex.h"

#define WEIR_TLS_ID_BYTES 32u
#define WEIR_TLS_NAME_MAX 255u
#define WEIR_TLS_PATH_MAX 4095u

/* A configuration: what shapes a handshake, whoever the peer is. */
struct weir__tls_config {
  struct weir__tls_config *next; /* guarded by tls->mu, as refs and used */
  uint32_t refs;                 /* the cache, and each state */
  uint64_t used;                 /* tls->ticks when it was last used */
  uint8_t id[WEIR_TLS_ID_BYTES]; /* digest of all that went into it */
  SSL_CTX *ctx;
  bool verify;  /* chain and name */
  bool tickets; /* keep and offer them */
  uint8_t *pin; /* DER of the one certificate to accept, or NULL */
  size_t pin_bytes;
};

struct weir__tls_ticket {
  struct weir__tls_ticket *next;
  uint8_t key[WEIR_TLS_ID_BYTES];
  SSL_SESSION *session;
};

struct weir__tls {
  struct weir__mutex mu; /* rank LEAF; guards all below */
  struct weir__tls_config *configs;
  uint32_t n_configs;
  uint64_t ticks;
  struct weir__tls_ticket *tickets; /* newest first */
  uint32_t n_tickets;
};

struct weir_drv_tls {
  struct weir__tls *tls;
  struct weir__tls_config *config;
  SSL *ssl;
  BIO *in;  /* ciphertext that was fed; the SSL's */
  BIO *out; /* ciphertext to be drained; the SSL's */
  bool keep_tickets;
  bool done;   /* the handshake */
  bool closed; /* the peer has ended TLS in order */
  bool failed; /* for good; the error below says why */
  bool bad_certificate;
  uint8_t ticket_key[WEIR_TLS_ID_BYTES];
  char name[WEIR_TLS_NAME_MAX + 1]; /* to verify; "" if none */
  char why[384];
};

/* A digest of parts, each with its length, so that no two lists of parts have
 * one digest. */
struct weir__tls_digest {
  EVP_MD_CTX *md;
  bool ok;
};

void weir__tls_digest_begin(struct weir__tls_digest *d);
void weir__tls_digest_part(struct weir__tls_digest *d,
                           const void *p,
                           uint64_t n);

/* Stores the digest and frees.  Returns false: no memory somewhere on the way. */
bool weir__tls_digest_end(struct weir__tls_digest *d, uint8_t *out_id);

/* The configuration for args, from the cache or made.
 * Returns as weir__tls_open().  Owns: one reference of *out. */
weir_drv_status weir__tls_config_get(struct weir__tls *tls,
                                     const struct weir_drv_tls_args *args,
                                     struct weir__tls_config **out,
                                     struct weir_drv_error *err);
void weir__tls_config_put(struct weir__tls *tls,
                          struct weir__tls_config *config);
void weir__tls_config_drop_all(struct weir__tls *tls);

/* A session to offer, or NULL.  Owns: one reference.  A TLS 1.3 ticket is given
 * out once, as RFC 8446 C.4 asks. */
SSL_SESSION *weir__tls_ticket_take(struct weir__tls *tls, const uint8_t *key);

/* OpenSSL's callback for a new session; 1: the reference is ours now. */
int weir__tls_ticket_keep(SSL *ssl, SSL_SESSION *session);
void weir__tls_ticket_drop_all(struct weir__tls *tls);

/* OpenSSL's callback in place of its own chain verification.  On refusal it
 * writes into the state in words what is wrong. */
int weir__tls_verify(X509_STORE_CTX *store, void *arg);

/* An IP literal, perhaps in brackets: its canonical text in out (at least
 * WEIR_TLS_NAME_MAX + 1 bytes).  False: not a literal. */
bool weir__tls_ip_text(const char *name, char *out);

#endif
