/* SPDX-License-Identifier: MIT */
#include "net/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "net/drv_error.h"
#include "net/tls_internal.h"
#include "sys/clock.h"
#include "sys/mem.h"

/* OpenSSL keeps a queue of errors for each thread, and the thread is often the
 * embedder's: it is emptied before and after each use. */

int weir__tls_new(struct weir__tls **out) {
  /* Without OpenSSL's atexit handler, which would pull its tables from under
   * threads that still run when an embedder exits without a shutdown. */
  (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
  struct weir__tls *tls = weir__mem_new(sizeof *tls);
  if (tls == NULL) {
    return -ENOMEM;
  }
  weir__mutex_init(&tls->mu, WEIR_RANK_LEAF);
  *out = tls;
  return 0;
}

void weir__tls_free(struct weir__tls *tls) {
  if (tls == NULL) {
    return;
  }
  weir__tls_ticket_drop_all(tls);
  weir__tls_config_drop_all(tls);
  weir__mutex_fini(&tls->mu);
  weir__mem_free(tls);
}

/* ------------------------------------------------------------------ failing */

static weir_drv_status name_error(struct weir_drv_error *err,
                                  const char *what) {
  return weir__drv_error_set(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                             WEIR_DRV_RETRY_NO, "TLS: %s", what);
}

/* A certificate will be as bad at the next attempt, and for every connection;
 * anything else may be the trouble of one server for a while. */
weir_drv_status weir__tls_error(const weir_drv_tls *t,
                                struct weir_drv_error *err) {
  return weir__drv_error_set(err,
                             t->bad_certificate ? WEIR_DRV_SCOPE_CONFIG
                             : t->done          ? WEIR_DRV_SCOPE_CONN
                                                : WEIR_DRV_SCOPE_ENDPOINT,
                             WEIR_DRV_K_TLS,
                             t->bad_certificate ? WEIR_DRV_RETRY_NO
                             : t->done          ? WEIR_DRV_RETRY_OTHER
                                                : WEIR_DRV_RETRY_ELSE,
                             "TLS: %s",
                             t->why[0] == '\0' ? "no failure" : t->why);
}

static bool not_tls(unsigned long code) {
  int reason = ERR_GET_REASON(code);
  return ERR_GET_LIB(code) == ERR_LIB_SSL &&
         (reason == SSL_R_WRONG_VERSION_NUMBER ||
          reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST ||
          reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
          reason == SSL_R_BAD_RECORD_TYPE);
}

/* Marks the state dead.  The certificate's problem, if that is it, was written
 * when it was found; else OpenSSL's last error is the reason. */
static void fail(weir_drv_tls *t) {
  t->failed = true;
  unsigned long code = ERR_peek_last_error();
  if (t->why[0] == '\0' && !t->done && not_tls(ERR_peek_error())) {
    (void)snprintf(t->why, sizeof t->why,
                   "the server's answer is not TLS: it may not offer "
                   "encryption here");
  } else if (t->why[0] == '\0') {
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    (void)snprintf(t->why, sizeof t->why, "%s: %.200s",
                   t->done ? "the session broke" : "the handshake failed",
                   reason == NULL ? "no reason given" : reason);
  }
  ERR_clear_error();
}

/* ------------------------------------------------------------------ opening */

/* [G4] and [G5]: what is absent is zero, what we do not know must be zero. */
static bool copy_args(const struct weir_drv_tls_args *from,
                      struct weir_drv_tls_args *to) {
  uint32_t n = from->struct_size;
  const uint8_t *bytes = (const uint8_t *)from;
  for (uint32_t i = (uint32_t)sizeof *to; i < n; i++) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  memset(to, 0, sizeof *to);
  memcpy(to, from, n < sizeof *to ? n : sizeof *to);
  return n >= WEIR_DRV_TLS_ARGS_SIZE_V0;
}

/* A host name as text without the dot at its end.  Only bytes that a name in the
 * DNS or an address can have: others would be compared in ways nobody expects. */
static bool copy_name(const struct weir_drv_text *from, char *to) {
  if (from->n > WEIR_TLS_NAME_MAX) {
    return false;
  }
  uint64_t n = from->n;
  for (uint64_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)from->p[i];
    if (c <= 0x20 || c >= 0x7F) {
      return false;
    }
    to[i] = from->p[i];
  }
  if (n > 1 && to[n - 1] == '.') {
    n--;
  }
  to[n] = '\0';
  return true;
}

static bool expect_name(weir_drv_tls *t) {
  char ip[WEIR_TLS_NAME_MAX + 1];
  X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
  X509_VERIFY_PARAM_set_time(param, (time_t)(weir__clock_unix_ms() / 1000));
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (weir__tls_ip_text(t->name, ip)) {
    return X509_VERIFY_PARAM_set1_ip_asc(param, ip) == 1;
  }
  return X509_VERIFY_PARAM_set1_host(param, t->name, 0) == 1;
}

static bool send_name(SSL *ssl, char *server) {
  char ip[WEIR_TLS_NAME_MAX + 1];
  if (server[0] == '\0' || weir__tls_ip_text(server, ip)) {
    return true; /* RFC 6066: no literal addresses */
  }
  return SSL_set_tlsext_host_name(ssl, server) == 1;
}

static bool key_tickets(weir_drv_tls *t,
                        uint64_t partition,
                        const char *server,
                        const struct weir_drv_text *peer) {
  struct weir__tls_digest d;
  weir__tls_digest_begin(&d);
  weir__tls_digest_part(&d, &partition, sizeof partition);
  weir__tls_digest_part(&d, t->config->id, sizeof t->config->id);
  weir__tls_digest_part(&d, server, strlen(server));
  weir__tls_digest_part(&d, t->name, strlen(t->name));
  weir__tls_digest_part(&d, peer->p, peer->n);
  return weir__tls_digest_end(&d, t->ticket_key);
}

static void offer_ticket(weir_drv_tls *t) {
  SSL_SESSION *session = weir__tls_ticket_take(t->tls, t->ticket_key);
  if (session != NULL) {
    /* Without it the handshake is a full one, that is all. */
    (void)SSL_set_session(t->ssl, session);
    SSL_SESSION_free(session);
  }
}

static bool make_ssl(weir_drv_tls *t) {
  t->ssl = SSL_new(t->config->ctx);
  if (t->ssl == NULL) {
    return false;
  }
  t->in = BIO_new(BIO_s_mem());
  t->out = BIO_new(BIO_s_mem());
  if (t->in == NULL || t->out == NULL) {
    (void)BIO_free(t->in);
    (void)BIO_free(t->out);
    return false;
  }
  /* Empty means "not yet", never the end. */
  (void)BIO_set_mem_eof_return(t->in, -1);
  SSL_set_bio(t->ssl, t->in, t->out);
  SSL_set_app_data(t->ssl, t);
  SSL_set_connect_state(t->ssl);
  return true;
}

static weir_drv_status check_names(weir_drv_tls *t,
                                   const struct weir_drv_tls_args *args,
                                   char *server,
                                   struct weir_drv_error *err) {
  const struct weir_drv_text *verify =
      args->verify_name.n != 0 ? &args->verify_name : &args->server_name;
  if (!copy_name(&args->server_name, server) || !copy_name(verify, t->name)) {
    return name_error(err, "the server's name is too long or holds characters "
                           "that no host name has");
  }
  if (t->config->verify && t->config->pin == NULL && t->name[0] == '\0') {
    return name_error(err, "there is no name to verify the certificate for");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status set_up(weir_drv_tls *t,
                              uint64_t partition,
                              const struct weir_drv_tls_args *args,
                              struct weir_drv_error *err) {
  char server[WEIR_TLS_NAME_MAX + 1];
  weir_drv_status st = weir__tls_config_get(t->tls, args, &t->config, err);
  if (st != WEIR_DRV_DONE) {
    return st;
  }
  st = check_names(t, args, server, err);
  if (st != WEIR_DRV_DONE) {
    return st;
  }
  if (!make_ssl(t) || !send_name(t->ssl, server) ||
      (t->name[0] != '\0' && !expect_name(t))) {
    return WEIR_DRV_E_NOMEM;
  }
  t->keep_tickets = t->config->tickets && args->peer.n != 0 &&
                    key_tickets(t, partition, server, &args->peer);
  if (t->keep_tickets) {
    offer_ticket(t);
  }
  return WEIR_DRV_DONE;
}

weir_drv_status weir__tls_open(struct weir__tls *tls,
                               uint64_t partition,
                               const struct weir_drv_tls_args *args,
                               weir_drv_tls **out,
                               struct weir_drv_error *err) {
  struct weir_drv_tls_args known;
  if (!copy_args(args, &known)) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  weir_drv_tls *t = weir__mem_new(sizeof *t);
  if (t == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  t->tls = tls;
  ERR_clear_error();
  weir_drv_status st = set_up(t, partition, &known, err);
  ERR_clear_error();
  if (st != WEIR_DRV_DONE) {
    weir__tls_close(t);
    return st;
  }
  *out = t;
  return WEIR_DRV_DONE;
}

/* ---------------------------------------------------------------- transform */

weir_drv_status weir__tls_handshake(weir_drv_tls *t,
                                    struct weir_drv_error *err) {
  if (t->failed) {
    return weir__tls_error(t, err);
  }
  if (t->done) {
    return WEIR_DRV_DONE;
  }
  ERR_clear_error();
  int rc = SSL_do_handshake(t->ssl);
  if (rc == 1) {
    t->done = true;
    return WEIR_DRV_DONE;
  }
  if (SSL_get_error(t->ssl, rc) == SSL_ERROR_WANT_READ) {
    return WEIR_DRV_WAIT;
  }
  fail(t);
  return weir__tls_error(t, err);
}

int64_t weir__tls_feed(weir_drv_tls *t, const void *p, uint64_t n) {
  if (t->failed) {
    return WEIR_DRV_FAIL;
  }
  if (n == 0) {
    return 0;
  }
  bool fits = n <= WEIR_TLS_FEED_MAX - BIO_ctrl_pending(t->in);
  if (!fits || BIO_write(t->in, p, (int)n) != (int)n) {
    (void)snprintf(t->why, sizeof t->why, "%s",
                   fits ? "out of memory"
                        : "more was received than may be buffered");
    fail(t);
    return WEIR_DRV_FAIL;
  }
  return (int64_t)n;
}

int64_t weir__tls_drain(weir_drv_tls *t, void *p, uint64_t cap) {
  int n = BIO_read(t->out, p, cap < INT_MAX ? (int)cap : INT_MAX);
  return n < 0 ? 0 : n;
}

/* What a read or a peek that gave nothing means. */
static int64_t no_plaintext(weir_drv_tls *t, int rc) {
  switch (SSL_get_error(t->ssl, rc)) {
  case SSL_ERROR_WANT_READ:
    return WEIR_DRV_E_AGAIN;
  case SSL_ERROR_ZERO_RETURN:
    t->closed = true;
    return WEIR_DRV_E_CLOSED;
  default:
    fail(t);
    return WEIR_DRV_FAIL;
  }
}

static int64_t state(const weir_drv_tls *t) {
  return t->failed ? WEIR_DRV_FAIL : t->done ? 0 : WEIR_DRV_E_INVALID;
}

int64_t weir__tls_read(weir_drv_tls *t, void *p, uint64_t cap) {
  size_t n = 0;
  if (state(t) != 0 || cap == 0) {
    return state(t) != 0 ? state(t) : WEIR_DRV_E_INVALID;
  }
  if (t->closed) {
    return WEIR_DRV_E_CLOSED;
  }
  ERR_clear_error();
  int rc = SSL_read_ex(t->ssl, p, cap < INT_MAX ? (size_t)cap : INT_MAX, &n);
  return rc == 1 ? (int64_t)n : no_plaintext(t, rc);
}

int64_t weir__tls_write(weir_drv_tls *t, const void *p, uint64_t n) {
  size_t taken = 0;
  if (state(t) != 0 || n == 0) {
    return state(t) != 0 ? state(t) : WEIR_DRV_E_INVALID;
  }
  if (BIO_ctrl_pending(t->out) >= WEIR_TLS_WRITE_MAX) {
    return WEIR_DRV_E_AGAIN;
  }
  ERR_clear_error();
  int rc = SSL_write_ex(t->ssl, p, n < INT_MAX ? (size_t)n : INT_MAX, &taken);
  if (rc == 1) {
    return (int64_t)taken;
  }
  if (SSL_get_error(t->ssl, rc) == SSL_ERROR_WANT_READ) {
    return WEIR_DRV_E_AGAIN;
  }
  fail(t);
  return WEIR_DRV_FAIL;
}

/* Peeking makes OpenSSL deal with tickets and key updates, which it does not
 * count as plaintext. */
int32_t weir__tls_pending(weir_drv_tls *t) {
  char byte;
  size_t n = 0;
  if (!t->done) {
    return t->failed;
  }
  if (t->failed || t->closed || SSL_pending(t->ssl) > 0) {
    return 1;
  }
  if (BIO_ctrl_pending(t->in) == 0 && SSL_has_pending(t->ssl) == 0) {
    return 0;
  }
  ERR_clear_error();
  int rc = SSL_peek_ex(t->ssl, &byte, 1, &n);
  return rc == 1 || no_plaintext(t, rc) != WEIR_DRV_E_AGAIN;
}

/* ------------------------------------------------------------------- asking */

static int64_t give(const void *from, size_t n, void *p, uint64_t cap) {
  if (n > cap) {
    return WEIR_DRV_E_SPACE;
  }
  memcpy(p, from, n);
  return (int64_t)n;
}

/* RFC 5929 4.1: the certificate's own hash, but never a weaker one than
 * SHA-256.  Signatures without a hash of their own have no binding. */
static const EVP_MD *end_point_hash(X509 *cert) {
  int md = NID_undef;
  if (X509_get_signature_info(cert, &md, NULL, NULL, NULL) != 1) {
    return NULL;
  }
  return md == NID_md5 || md == NID_sha1 ? EVP_sha256()
         : md == NID_undef               ? NULL
                                         : EVP_get_digestbynid(md);
}

static int64_t bind_end_point(const weir_drv_tls *t, void *p, uint64_t cap) {
  X509 *cert = SSL_get0_peer_certificate(t->ssl);
  const EVP_MD *md = cert == NULL ? NULL : end_point_hash(cert);
  uint8_t hash[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  if (md == NULL || X509_digest(cert, md, hash, &n) != 1) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  return give(hash, n, p, cap);
}

/* The first Finished of the handshake: the client's in a full one, the server's
 * in a resumed one.  Without the extended master secret it binds nothing. */
static int64_t bind_unique(const weir_drv_tls *t, void *p, uint64_t cap) {
  uint8_t finished[EVP_MAX_MD_SIZE];
  if (SSL_version(t->ssl) != TLS1_2_VERSION ||
      SSL_get_extms_support(t->ssl) != 1) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  size_t n = SSL_session_reused(t->ssl) == 1
                 ? SSL_get_peer_finished(t->ssl, finished, sizeof finished)
                 : SSL_get_finished(t->ssl, finished, sizeof finished);
  return give(finished, n, p, cap);
}

int64_t weir__tls_binding(weir_drv_tls *t,
                          int32_t kind,
                          void *p,
                          uint64_t cap) {
  if (!t->done) {
    return WEIR_DRV_E_INVALID;
  }
  ERR_clear_error();
  int64_t rc = kind == WEIR_DRV_TLS_BIND_END_POINT ? bind_end_point(t, p, cap)
               : kind == WEIR_DRV_TLS_BIND_UNIQUE  ? bind_unique(t, p, cap)
                                                   : WEIR_DRV_E_UNSUPPORTED;
  ERR_clear_error();
  return rc;
}

int64_t weir__tls_info(weir_drv_tls *t, char *p, uint64_t cap) {
  char text[128];
  if (!t->done) {
    return WEIR_DRV_E_INVALID;
  }
  int n = snprintf(text, sizeof text, "%s %s", SSL_get_version(t->ssl),
                   SSL_get_cipher_name(t->ssl));
  uint64_t fits = cap < (uint64_t)n ? cap : (uint64_t)n;
  if (fits != 0) {
    memcpy(p, text, (size_t)fits);
  }
  return n;
}

int32_t weir__tls_resumed(const weir_drv_tls *t) {
  return SSL_session_reused(t->ssl) == 1;
}

/* Freeing a session that was not shut down makes OpenSSL call it, and every
 * ticket of it, not resumable.  The end of a healthy one is announced in the
 * driver's protocol, so it counts as shut down. */
void weir__tls_close(weir_drv_tls *t) {
  if (t == NULL) {
    return;
  }
  if (t->ssl != NULL && t->done && !t->failed) {
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  SSL_free(t->ssl);
  if (t->config != NULL) {
    weir__tls_config_put(t->tls, t->config);
  }
  weir__mem_wipe(t, sizeof *t);
  weir__mem_free(t);
}
