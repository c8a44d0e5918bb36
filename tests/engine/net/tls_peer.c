/* SPDX-License-Identifier: MIT */
#include "tls_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static void add_extension(X509 *cert, int nid, const char *value) {
  X509V3_CTX ctx;
  memset(&ctx, 0, sizeof ctx);
  X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
  X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  cr_assert_not_null(ext);
  X509_add_ext(cert, ext, -1);
  X509_EXTENSION_free(ext);
}

struct peer_cert peer_cert_new(const char *common_name,
                               const char *names,
                               long from,
                               long to,
                               const struct peer_cert *issuer) {
  static long serial = 1;
  struct peer_cert cert = {X509_new(), EVP_EC_gen("P-256")};
  X509_NAME *subject = X509_get_subject_name(cert.x509);
  X509_set_version(cert.x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.x509), serial++);
  X509_gmtime_adj(X509_getm_notBefore(cert.x509), from);
  X509_gmtime_adj(X509_getm_notAfter(cert.x509), to);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             (const unsigned char *)common_name, -1, -1, 0);
  X509_set_issuer_name(cert.x509, issuer == NULL
                                      ? subject
                                      : X509_get_subject_name(issuer->x509));
  X509_set_pubkey(cert.x509, cert.key);
  if (names == NULL) {
    add_extension(cert.x509, NID_basic_constraints, "critical,CA:TRUE");
  } else {
    add_extension(cert.x509, NID_subject_alt_name, names);
  }
  cr_assert_gt(X509_sign(cert.x509, issuer == NULL ? cert.key : issuer->key,
                         EVP_sha256()),
               0);
  return cert;
}

void peer_cert_free(struct peer_cert *cert) {
  X509_free(cert->x509);
  EVP_PKEY_free(cert->key);
}

const char *peer_cert_file(const struct peer_cert *cert, bool der) {
  static char path[8][64];
  static unsigned used;
  char *mine = path[used++ % 8];
  (void)snprintf(mine, sizeof path[0], "/tmp/weir-test-tls-XXXXXX");
  int fd = mkstemp(mine);
  cr_assert_geq(fd, 0);
  FILE *file = fdopen(fd, "wb");
  cr_assert_eq(der ? i2d_X509_fp(file, cert->x509)
                   : PEM_write_X509(file, cert->x509),
               1);
  fclose(file);
  return mine;
}

SSL_CTX *peer_server(const struct peer_cert *cert, int max_version) {
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_max_proto_version(ctx, max_version);
  cr_assert_eq(SSL_CTX_use_certificate(ctx, cert->x509), 1);
  cr_assert_eq(SSL_CTX_use_PrivateKey(ctx, cert->key), 1);
  SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1);
  return ctx;
}

SSL *peer_accept(SSL_CTX *server) {
  SSL *peer = SSL_new(server);
  BIO *in = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(peer, in, BIO_new(BIO_s_mem()));
  SSL_set_accept_state(peer);
  return peer;
}

void peer_feed(SSL *peer, const void *p, size_t n) {
  cr_assert_eq(BIO_write(SSL_get_rbio(peer), p, (int)n), (int)n);
}

size_t peer_drain(SSL *peer, void *p, size_t cap) {
  int n = BIO_read(SSL_get_wbio(peer), p, (int)cap);
  return n < 0 ? 0 : (size_t)n;
}
