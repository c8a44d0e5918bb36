/* SPDX-License-Identifier: MIT */
#include "server_cert.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

static int add_extension(X509 *cert, int nid, const char *value) {
  X509V3_CTX context = {0};
  X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  if (extension == NULL) {
    return -1;
  }
  int rc = X509_add_ext(cert, extension, -1) == 1 ? 0 : -1;
  X509_EXTENSION_free(extension);
  return rc;
}

static int set_serial(X509 *cert) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) {
    return -1;
  }
  bytes[0] &= 0x7F; /* serial numbers are positive */
  BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
  int rc = number != NULL && BN_to_ASN1_INTEGER(
                                 number, X509_get_serialNumber(cert)) != NULL
               ? 0
               : -1;
  BN_free(number);
  return rc;
}

/* What is in a certificate. */
struct contents {
  const char *name;
  const char *names; /* subjectAltName */
  long from_s;       /* from now */
  long to_s;
  X509 *issuer; /* NULL = itself */
  EVP_PKEY *issuer_key;
};

static int set_names(X509 *cert, const struct contents *contents) {
  X509_NAME *name = X509_get_subject_name(cert);
  const unsigned char *cn = (const unsigned char *)contents->name;
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, cn, -1, -1, 0) !=
      1) {
    return -1;
  }
  X509_NAME *issuer =
      contents->issuer == NULL ? name : X509_get_subject_name(contents->issuer);
  return X509_set_issuer_name(cert, issuer) == 1 ? 0 : -1;
}

static int fill(X509 *cert, EVP_PKEY *key, const struct contents *contents) {
  bool own = contents->issuer == NULL;
  if (X509_set_version(cert, 2) != 1 || set_serial(cert) < 0 ||
      X509_gmtime_adj(X509_getm_notBefore(cert), contents->from_s) == NULL ||
      X509_gmtime_adj(X509_getm_notAfter(cert), contents->to_s) == NULL ||
      X509_set_pubkey(cert, key) != 1 || set_names(cert, contents) < 0) {
    return -1;
  }
  /* The usual one is its own authority, so that clients can name it as the CA to
   * trust. */
  if ((own &&
       add_extension(cert, NID_basic_constraints, "critical,CA:TRUE") < 0) ||
      add_extension(cert, NID_subject_key_identifier, "hash") < 0 ||
      add_extension(cert, NID_ext_key_usage, "serverAuth") < 0 ||
      add_extension(cert, NID_subject_alt_name, contents->names) < 0) {
    return -1;
  }
  EVP_PKEY *signer = own ? key : contents->issuer_key;
  return X509_sign(cert, signer, EVP_sha256()) > 0 ? 0 : -1;
}

static int make(const struct contents *contents,
                X509 **out_cert,
                EVP_PKEY **out_key) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = X509_new();
  if (key == NULL || cert == NULL || fill(cert, key, contents) < 0) {
    X509_free(cert);
    EVP_PKEY_free(key);
    return -1;
  }
  *out_cert = cert;
  *out_key = key;
  return 0;
}

#define HOUR_S 3600L
#define DAY_S  (24 * HOUR_S)
#define NAMES  "DNS:localhost,IP:127.0.0.1,IP:::1"

int tdsd_cert_make(X509 **out_cert, EVP_PKEY **out_key) {
  const struct contents usual = {.name = "localhost",
                                 .names = NAMES,
                                 .from_s = -HOUR_S,
                                 .to_s = 10 * DAY_S};
  return make(&usual, out_cert, out_key);
}

int tdsd_cert_make_odd(enum tdsd_cert_kind kind,
                       X509 *issuer,
                       EVP_PKEY *issuer_key,
                       X509 **out_cert,
                       EVP_PKEY **out_key) {
  /* Another name than the issuer's, else it would look self-signed. */
  struct contents contents = {.name = "odd localhost",
                              .names = NAMES,
                              .from_s = -HOUR_S,
                              .to_s = 10 * DAY_S,
                              .issuer = issuer,
                              .issuer_key = issuer_key};
  if (kind == TDSD_CERT_WRONG_NAME) {
    contents.name = "wrong.test";
    contents.names = "DNS:wrong.test,IP:192.0.2.1";
  } else if (kind == TDSD_CERT_EXPIRED) {
    contents.from_s = -10 * DAY_S;
    contents.to_s = -HOUR_S;
  } else if (kind == TDSD_CERT_FUTURE) {
    contents.from_s = DAY_S;
  } else {
    contents.issuer = NULL;
  }
  return make(&contents, out_cert, out_key);
}

static FILE *open_file(const char *path, char *why, size_t cap) {
  FILE *file = path == NULL ? NULL : fopen(path, "re");
  if (path == NULL) {
    (void)snprintf(why, cap, "a certificate file needs a key file");
  } else if (file == NULL) {
    (void)snprintf(why, cap, "%s: %s", path, strerrordesc_np(errno));
  }
  return file;
}

int tdsd_cert_load(const char *cert_file,
                   const char *key_file,
                   X509 **out_cert,
                   EVP_PKEY **out_key,
                   char *why,
                   size_t cap) {
  FILE *file = open_file(cert_file, why, cap);
  if (file == NULL) {
    return -1;
  }
  X509 *cert = PEM_read_X509(file, NULL, NULL, NULL);
  (void)fclose(file);
  if (cert == NULL) {
    (void)snprintf(why, cap, "%s: not a PEM certificate", cert_file);
    return -1;
  }
  file = open_file(key_file, why, cap);
  if (file == NULL) {
    X509_free(cert);
    return -1;
  }
  EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
  (void)fclose(file);
  if (key == NULL) {
    (void)snprintf(why, cap, "%s: not a PEM private key", key_file);
    X509_free(cert);
    return -1;
  }
  *out_cert = cert;
  *out_key = key;
  return 0;
}
