/* SPDX-License-Identifier: MIT */
/* The server's certificate: made fresh for localhost, or read from files. */
#ifndef TDSD_SERVER_CERT_H
#define TDSD_SERVER_CERT_H

#include <stddef.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

/* The usual certificate, and those that clients should refuse. */
enum tdsd_cert_kind {
  TDSD_CERT_USUAL,
  TDSD_CERT_WRONG_NAME, /* for wrong.test */
  TDSD_CERT_EXPIRED,
  TDSD_CERT_FUTURE,     /* not valid yet */
  TDSD_CERT_UNKNOWN_CA, /* right, but of an authority nobody knows */
  TDSD_CERT_KINDS
};

/* Makes a self-signed certificate for CN=localhost with the alternative names
 * localhost, 127.0.0.1 and ::1, valid for ten days, with a P-256 key, because
 * that signs much faster than RSA.
 * Returns 0, or -1 (OpenSSL's error queue says why).  Owns: the caller frees
 * both. */
int tdsd_cert_make(X509 **out_cert, EVP_PKEY **out_key);

/* Makes one of the others, signed by the usual one unless it is of an unknown
 * authority.  As tdsd_cert_make(). */
int tdsd_cert_make_odd(enum tdsd_cert_kind kind,
                       X509 *issuer,
                       EVP_PKEY *issuer_key,
                       X509 **out_cert,
                       EVP_PKEY **out_key);

/* Reads both from PEM files.  Returns 0, or -1 with a sentence in why. */
int tdsd_cert_load(const char *cert_file,
                   const char *key_file,
                   X509 **out_cert,
                   EVP_PKEY **out_key,
                   char *why,
                   size_t cap);

#endif
