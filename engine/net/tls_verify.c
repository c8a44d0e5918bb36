/* SPDX-License-Identifier: MIT */
/* Accepting or refusing a server's certificate, and saying why in words.
 *
 * Everything read from a certificate comes from the peer: it is shown in
 * printable ASCII and cut to length. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "net/tls_internal.h"
#include "sys/mem.h"

#define NAMES_SHOWN 6

/* Text that grows at its end and never past it. */
struct text {
  char *p;
  size_t n;
  size_t cap;
};

static void add(struct text *text, const char *s, size_t n) {
  for (size_t i = 0; i < n && text->n + 1 < text->cap; i++) {
    unsigned char c = (unsigned char)s[i];
    text->p[text->n++] = c < 0x20 || c > 0x7E ? '?' : (char)c;
  }
  text->p[text->n] = '\0';
}

static void add_text(struct text *text, const char *s) {
  add(text, s, strlen(s));
}

/* ------------------------------------------------------- what it says of itself
 */

static void add_common_name(struct text *text, X509_NAME *name) {
  char cn[128];
  int n = X509_NAME_get_text_by_NID(name, NID_commonName, cn, sizeof cn);
  if (n > 0) {
    add(text, cn, (size_t)n);
    return;
  }
  char line[128];
  add_text(text, X509_NAME_oneline(name, line, (int)sizeof line) == NULL
                     ? "?"
                     : line);
}

static void add_ip(struct text *text, const ASN1_STRING *ip) {
  char buffer[INET6_ADDRSTRLEN];
  int n = ASN1_STRING_length(ip);
  int family = n == 4 ? AF_INET : AF_INET6;
  const char *s =
      n == 4 || n == 16
          ? inet_ntop(family, ASN1_STRING_get0_data(ip), buffer, sizeof buffer)
          : NULL;
  add_text(text, s == NULL ? "?" : s);
}

/* True if the name is one that a host can be verified against. */
static bool add_alternative(struct text *text,
                            const GENERAL_NAME *name,
                            int shown) {
  if (name->type != GEN_DNS && name->type != GEN_IPADD) {
    return false;
  }
  if (shown < NAMES_SHOWN) {
    add_text(text, shown == 0 ? "" : ", ");
    if (name->type == GEN_DNS) {
      add(text, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
          (size_t)ASN1_STRING_length(name->d.dNSName));
    } else {
      add_ip(text, name->d.iPAddress);
    }
  } else if (shown == NAMES_SHOWN) {
    add_text(text, ", ...");
  }
  return true;
}

static void add_names(struct text *text, const X509 *cert) {
  GENERAL_NAMES *names =
      X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
  int shown = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
    shown += add_alternative(text, sk_GENERAL_NAME_value(names, i), shown);
  }
  GENERAL_NAMES_free(names);
  if (shown == 0) {
    add_common_name(text, X509_get_subject_name(cert));
  }
}

static void add_date(struct text *text, const ASN1_TIME *when) {
  struct tm tm;
  char date[32];
  memset(&tm, 0, sizeof tm);
  if (ASN1_TIME_to_tm(when, &tm) == 1 &&
      strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &tm) > 0) {
    add_text(text, date);
  } else {
    add_text(text, "an unreadable date");
  }
}

/* ----------------------------------------------------------- what is wrong */

static void say_mismatch(struct text *text, const char *name, X509 *cert) {
  add_text(text, "it is not valid for '");
  add_text(text, name);
  add_text(text, "' but for ");
  add_names(text, cert);
}

static void say_untrusted(struct text *text, X509 *cert) {
  add_text(text, "it was issued by '");
  add_common_name(text, X509_get_issuer_name(cert));
  add_text(text, "', an authority that is not trusted here");
}

static void say_self_signed(struct text *text, X509 *cert) {
  add_text(text, "it is self-signed ('");
  add_common_name(text, X509_get_subject_name(cert));
  add_text(text, "') and not trusted here");
}

static void say_date(struct text *text, const char *what, const ASN1_TIME *at) {
  add_text(text, what);
  add_date(text, at);
}

static void say_problem(struct text *text,
                        int problem,
                        X509 *cert,
                        const char *name) {
  switch (problem) {
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH:
    say_mismatch(text, name, cert);
    break;
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    say_self_signed(text, cert);
    break;
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    say_untrusted(text, cert);
    break;
  case X509_V_ERR_CERT_HAS_EXPIRED:
    say_date(text, "it has expired on ", X509_get0_notAfter(cert));
    break;
  case X509_V_ERR_CERT_NOT_YET_VALID:
    say_date(text, "it is not valid before ", X509_get0_notBefore(cert));
    break;
  default:
    add_text(text, X509_verify_cert_error_string(problem));
    break;
  }
}

static void refuse(weir_drv_tls *t, X509_STORE_CTX *store) {
  struct text text = {t->why, 0, sizeof t->why};
  X509 *cert = X509_STORE_CTX_get_current_cert(store);
  if (cert == NULL) {
    cert = X509_STORE_CTX_get0_cert(store);
  }
  t->bad_certificate = true;
  add_text(&text, "the server's certificate is refused: ");
  if (X509_STORE_CTX_get_error_depth(store) > 0) {
    add_text(&text, "in its chain, of '");
    add_common_name(&text, X509_get_subject_name(cert));
    add_text(&text, "': ");
  }
  say_problem(&text, X509_STORE_CTX_get_error(store), cert, t->name);
}

/* Byte by byte, so that no digest has to be trusted. */
static bool is_pinned(const struct weir__tls_config *config, X509 *cert) {
  unsigned char *der = NULL;
  int n = i2d_X509(cert, &der);
  bool same = n > 0 && (size_t)n == config->pin_bytes &&
              memcmp(der, config->pin, config->pin_bytes) == 0;
  OPENSSL_free(der);
  return same;
}

static int verify_pin(weir_drv_tls *t, X509_STORE_CTX *store) {
  X509 *cert = X509_STORE_CTX_get0_cert(store);
  if (is_pinned(t->config, cert)) {
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
  }
  struct text text = {t->why, 0, sizeof t->why};
  t->bad_certificate = true;
  add_text(&text, "the server's certificate is refused: '");
  add_common_name(&text, X509_get_subject_name(cert));
  add_text(&text, "' is not the one in the file it must equal");
  X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
  return 0;
}

int weir__tls_verify(X509_STORE_CTX *store, void *arg) {
  (void)arg;
  const SSL *ssl =
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  weir_drv_tls *t = SSL_get_app_data(ssl);
  if (t->config->pin != NULL) {
    return verify_pin(t, store);
  }
  if (!t->config->verify) {
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
  }
  int ok = X509_verify_cert(store) > 0;
  if (!ok) {
    refuse(t, store);
  }
  return ok;
}

bool weir__tls_ip_text(const char *name, char *out) {
  uint8_t bytes[16];
  size_t n = strlen(name);
  if (n >= 2 && name[0] == '[' && name[n - 1] == ']') {
    name++;
    n -= 2;
  }
  /* A zone ("%eth0") says which link; no certificate names it. */
  const char *zone = memchr(name, '%', n);
  n = zone != NULL ? (size_t)(zone - name) : n;
  if (n > WEIR_TLS_NAME_MAX) {
    return false;
  }
  char text[WEIR_TLS_NAME_MAX + 1];
  memcpy(text, name, n);
  text[n] = '\0';
  bool ip = inet_pton(AF_INET, text, bytes) == 1 ||
            inet_pton(AF_INET6, text, bytes) == 1;
  if (ip) {
    memcpy(out, text, n + 1);
  }
  return ip;
}
