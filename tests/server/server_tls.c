/* SPDX-License-Identifier: MIT */
#include "server_tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "server_cert.h"

#define READ_BYTES 16384u

static const unsigned char alpn_name[] = "tds/8.0";

struct tdsd_tls_context {
  /* Of each kind of certificate, the odd ones made when first asked for. */
  SSL_CTX *wrapped[TDSD_CERT_KINDS]; /* TDS 7.x: TLS 1.2 at most */
  SSL_CTX *strict[TDSD_CERT_KINDS];  /* TDS 8: TLS 1.3 and ALPN */
  X509 *cert;
  EVP_PKEY *key;
  char *pem;
};

struct tdsd_tls {
  SSL *ssl;
  BIO *in;  /* owned by ssl */
  BIO *out; /* owned by ssl */
  enum tdsd_alpn alpn;
};

static void explain(char *why, size_t cap, const char *what) {
  char text[160] = "no reason given";
  unsigned long code = ERR_peek_last_error();
  if (code != 0) {
    ERR_error_string_n(code, text, sizeof text);
  }
  ERR_clear_error();
  (void)snprintf(why, cap, "%s: %s", what, text);
}

/* A client without ALPN is taken to mean TDS 8; one that names other protocols
 * only is refused. */
static int choose_alpn(SSL *ssl,
                       const unsigned char **out,
                       unsigned char *out_len,
                       const unsigned char *in,
                       unsigned in_len,
                       void *user) {
  static const unsigned char other[] = "h2";
  const struct tdsd_tls *tls = SSL_get_app_data(ssl);
  (void)user;
  if (tls->alpn == TDSD_ALPN_NONE) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  if (tls->alpn == TDSD_ALPN_OTHER) {
    *out = other;
    *out_len = sizeof other - 1;
    return SSL_TLSEXT_ERR_OK;
  }
  const unsigned name_len = sizeof alpn_name - 1;
  for (unsigned at = 0; at < in_len; at += in[at] + 1u) {
    if (in[at] == name_len && in_len - at > name_len &&
        memcmp(in + at + 1, alpn_name, name_len) == 0) {
      *out = in + at + 1;
      *out_len = (unsigned char)name_len;
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(X509 *cert, EVP_PKEY *key, bool strict) {
  static const unsigned char id[] = "tdsd";
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  if (ctx == NULL) {
    return NULL;
  }
  int most = strict ? TLS1_3_VERSION : TLS1_2_VERSION;
  (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate(ctx, cert) != 1 ||
      SSL_CTX_use_PrivateKey(ctx, key) != 1 ||
      SSL_CTX_check_private_key(ctx) != 1 ||
      SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ctx, most) != 1 ||
      SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1) != 1) {
    SSL_CTX_free(ctx);
    return NULL;
  }
  if (strict) {
    SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
  }
  return ctx;
}

static int make_kind(struct tdsd_tls_context *context,
                     enum tdsd_cert_kind kind,
                     X509 *cert,
                     EVP_PKEY *key) {
  context->wrapped[kind] = make_context(cert, key, false);
  context->strict[kind] = make_context(cert, key, true);
  return context->wrapped[kind] != NULL && context->strict[kind] != NULL ? 0
                                                                         : -1;
}

/* Makes an odd certificate when it is asked for. */
static int make_odd(struct tdsd_tls_context *context,
                    enum tdsd_cert_kind kind) {
  X509 *cert = NULL;
  EVP_PKEY *key = NULL;
  if (context->strict[kind] != NULL) {
    return 0;
  }
  if (tdsd_cert_make_odd(kind, context->cert, context->key, &cert, &key) < 0) {
    return -1;
  }
  int rc = make_kind(context, kind, cert, key);
  X509_free(cert);
  EVP_PKEY_free(key);
  return rc;
}

static char *to_pem(X509 *cert) {
  char *text = NULL;
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio != NULL && PEM_write_bio_X509(bio, cert) == 1) {
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);
    text = len > 0 ? calloc(1, (size_t)len + 1) : NULL;
    if (text != NULL) {
      memcpy(text, data, (size_t)len);
    }
  }
  BIO_free(bio);
  return text;
}

static int get_pair(const char *cert_file,
                    const char *key_file,
                    X509 **cert,
                    EVP_PKEY **key,
                    char *why,
                    size_t cap) {
  if (cert_file == NULL) {
    if (tdsd_cert_make(cert, key) < 0) {
      explain(why, cap, "cannot make a certificate");
      return -1;
    }
    return 0;
  }
  return tdsd_cert_load(cert_file, key_file, cert, key, why, cap);
}

struct tdsd_tls_context *tdsd_tls_context_new(const char *cert_file,
                                              const char *key_file,
                                              char *why,
                                              size_t cap) {
  X509 *cert = NULL;
  EVP_PKEY *key = NULL;
  struct tdsd_tls_context *context = calloc(1, sizeof *context);
  if (context == NULL) {
    (void)snprintf(why, cap, "no memory");
    return NULL;
  }
  if (get_pair(cert_file, key_file, &cert, &key, why, cap) < 0) {
    free(context);
    return NULL;
  }
  context->cert = cert;
  context->key = key;
  context->pem = to_pem(cert);
  if (make_kind(context, TDSD_CERT_USUAL, cert, key) < 0 ||
      context->pem == NULL) {
    explain(why, cap, "cannot use the certificate and its key");
    tdsd_tls_context_free(context);
    return NULL;
  }
  return context;
}

void tdsd_tls_context_free(struct tdsd_tls_context *context) {
  if (context == NULL) {
    return;
  }
  for (int i = 0; i < TDSD_CERT_KINDS; i++) {
    SSL_CTX_free(context->wrapped[i]);
    SSL_CTX_free(context->strict[i]);
  }
  X509_free(context->cert);
  EVP_PKEY_free(context->key);
  free(context->pem);
  free(context);
}

const char *tdsd_tls_context_pem(const struct tdsd_tls_context *context) {
  return context->pem;
}

struct tdsd_tls *tdsd_tls_new(struct tdsd_tls_context *context,
                              bool strict,
                              const struct tdsd_tls_faults *faults) {
  struct tdsd_tls *tls = calloc(1, sizeof *tls);
  if (tls == NULL || make_odd(context, faults->cert) < 0) {
    free(tls);
    return NULL;
  }
  tls->ssl = SSL_new(strict ? context->strict[faults->cert]
                            : context->wrapped[faults->cert]);
  tls->in = BIO_new(BIO_s_mem());
  tls->out = BIO_new(BIO_s_mem());
  if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
    BIO_free(tls->in);
    BIO_free(tls->out);
    SSL_free(tls->ssl);
    free(tls);
    return NULL;
  }
  /* An empty memory BIO means "come back later", not the end. */
  (void)BIO_set_mem_eof_return(tls->in, -1);
  (void)BIO_set_mem_eof_return(tls->out, -1);
  SSL_set_bio(tls->ssl, tls->in, tls->out);
  SSL_set_accept_state(tls->ssl);
  tls->alpn = faults->alpn;
  (void)SSL_set_app_data(tls->ssl, tls);
  if (faults->late_tickets) {
    (void)SSL_set_num_tickets(tls->ssl, 0);
  }
  return tls;
}

void tdsd_tls_free(struct tdsd_tls *tls) {
  if (tls != NULL) {
    SSL_free(tls->ssl);
    free(tls);
  }
}

bool tdsd_tls_give(struct tdsd_tls *tls, const uint8_t *bytes, size_t len) {
  return len == 0 || BIO_write(tls->in, bytes, (int)len) == (int)len;
}

void tdsd_tls_take(struct tdsd_tls *tls, struct tdsd_buf *out) {
  size_t waiting = BIO_ctrl_pending(tls->out);
  uint8_t *to = waiting == 0 ? NULL : tdsd_buf_reserve(out, waiting);
  if (to == NULL) {
    return;
  }
  int n = BIO_read(tls->out, to, (int)waiting);
  if (n > 0) {
    tdsd_buf_commit(out, (size_t)n);
  }
}

int tdsd_tls_handshake(struct tdsd_tls *tls, char *why, size_t cap) {
  ERR_clear_error();
  int rc = SSL_do_handshake(tls->ssl);
  if (rc == 1) {
    return 1;
  }
  int error = SSL_get_error(tls->ssl, rc);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return 0;
  }
  explain(why, cap, "TLS handshake failed");
  return -1;
}

bool tdsd_tls_resumed(const struct tdsd_tls *tls) {
  return SSL_session_reused(tls->ssl) == 1;
}

int tdsd_tls_read(struct tdsd_tls *tls,
                  struct tdsd_buf *out,
                  char *why,
                  size_t cap) {
  ERR_clear_error();
  for (;;) {
    uint8_t *to = tdsd_buf_reserve(out, READ_BYTES);
    if (to == NULL) {
      (void)snprintf(why, cap, "no memory");
      return -1;
    }
    int n = SSL_read(tls->ssl, to, (int)READ_BYTES);
    if (n > 0) {
      tdsd_buf_commit(out, (size_t)n);
      continue;
    }
    int error = SSL_get_error(tls->ssl, n);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      return 0;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
      return 1;
    }
    explain(why, cap, "TLS record refused");
    return -1;
  }
}

bool tdsd_tls_write(struct tdsd_tls *tls, const uint8_t *bytes, size_t len) {
  ERR_clear_error();
  return SSL_write(tls->ssl, bytes, (int)len) == (int)len;
}

void tdsd_tls_unasked(struct tdsd_tls *tls, enum tdsd_tls_thing thing) {
  bool new = SSL_version(tls->ssl) == TLS1_3_VERSION;
  if (new &&thing == TDSD_TLS_TICKET) {
    (void)SSL_new_session_ticket(tls->ssl);
  } else if (new &&thing == TDSD_TLS_KEYUPDATE) {
    (void)SSL_key_update(tls->ssl, SSL_KEY_UPDATE_REQUESTED);
  } else if (!new &&thing == TDSD_TLS_RENEGOTIATE) {
    (void)SSL_renegotiate(tls->ssl);
  }
  (void)SSL_do_handshake(tls->ssl);
  ERR_clear_error();
}

void tdsd_tls_shutdown(struct tdsd_tls *tls) {
  if (SSL_is_init_finished(tls->ssl)) {
    (void)SSL_shutdown(tls->ssl);
  }
  ERR_clear_error();
}
