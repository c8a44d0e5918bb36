/* SPDX-License-Identifier: MIT */
#include "server_cert.h"

#include <errno.h>
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

static int fill(X509 *cert, EVP_PKEY *key) {
  static const char names[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
  X509_NAME *name = X509_get_subject_name(cert);
  const unsigned char *cn = (const unsigned char *)"localhost";
  const long hour = 3600;
  const long ten_days = 10 * 24 * hour;
  if (X509_set_version(cert, 2) != 1 || set_serial(cert) < 0 ||
      X509_gmtime_adj(X509_getm_notBefore(cert), -hour) == NULL ||
      X509_gmtime_adj(X509_getm_notAfter(cert), ten_days) == NULL ||
      X509_set_pubkey(cert, key) != 1 ||
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, cn, -1, -1, 0) !=
          1 ||
      X509_set_issuer_name(cert, name) != 1) {
    return -1;
  }
  /* It is its own authority, so that clients can name it as the CA to trust. */
  if (add_extension(cert, NID_basic_constraints, "critical,CA:TRUE") < 0 ||
      add_extension(cert, NID_subject_key_identifier, "hash") < 0 ||
      add_extension(cert, NID_ext_key_usage, "serverAuth") < 0 ||
      add_extension(cert, NID_subject_alt_name, names) < 0) {
    return -1;
  }
  return X509_sign(cert, key, EVP_sha256()) > 0 ? 0 : -1;
}

int tdsd_cert_make(X509 **out_cert, EVP_PKEY **out_key) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = X509_new();
  if (key == NULL || cert == NULL || fill(cert, key) < 0) {
    X509_free(cert);
    EVP_PKEY_free(key);
    return -1;
  }
  *out_cert = cert;
  *out_key = key;
  return 0;
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
