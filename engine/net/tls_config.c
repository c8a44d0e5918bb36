/* SPDX-License-Identifier: MIT */
/* One SSL_CTX for each configuration, because reading a bundle of authorities
 * costs some 26 ms.  Configurations are told apart by a digest of everything
 * that goes into one, files by path, place, size and time of change: a changed
 * file makes a new configuration, and the old one ages out. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "net/drv_error.h"
#include "net/tls_internal.h"
#include "sys/mem.h"

#define CA_FILE_MAX  (INT64_C(16) << 20)
#define PIN_FILE_MAX (INT64_C(1) << 20)

#define KNOWN_FLAGS \
  (WEIR_DRV_TLS_NO_VERIFY | WEIR_DRV_TLS_MAX_1_2 | WEIR_DRV_TLS_NO_TICKET)

/* What args come down to. */
struct wish {
  uint32_t flags;
  int min_version;
  int max_version; /* 0: no cap */
  char ca_file[WEIR_TLS_PATH_MAX + 1];
  char pin_file[WEIR_TLS_PATH_MAX + 1];
  struct weir_drv_text alpn;
  uint8_t id[WEIR_TLS_ID_BYTES];
};

/* ------------------------------------------------------------------- digest */

void weir__tls_digest_begin(struct weir__tls_digest *d) {
  d->md = EVP_MD_CTX_new();
  d->ok = d->md != NULL && EVP_DigestInit_ex(d->md, EVP_sha256(), NULL) == 1;
}

void weir__tls_digest_part(struct weir__tls_digest *d,
                           const void *p,
                           uint64_t n) {
  d->ok = d->ok && EVP_DigestUpdate(d->md, &n, sizeof n) == 1 &&
          (n == 0 || EVP_DigestUpdate(d->md, p, (size_t)n) == 1);
}

bool weir__tls_digest_end(struct weir__tls_digest *d, uint8_t *out_id) {
  unsigned n = 0;
  uint8_t id[EVP_MAX_MD_SIZE];
  bool ok =
      d->ok && EVP_DigestFinal_ex(d->md, id, &n) == 1 && n == WEIR_TLS_ID_BYTES;
  if (ok) {
    memcpy(out_id, id, WEIR_TLS_ID_BYTES);
  }
  EVP_MD_CTX_free(d->md);
  return ok;
}

/* ------------------------------------------------------------------- wishes */

__attribute__((format(printf, 2, 3))) static weir_drv_status config_error(
    struct weir_drv_error *err,
    const char *fmt,
    ...) {
  char text[WEIR_TLS_PATH_MAX + 256];
  va_list args;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return weir__drv_error_set(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                             WEIR_DRV_RETRY_NO, "TLS: %s", text);
}

static bool text_is(const struct weir_drv_text *text, const char *s) {
  return text->n == strlen(s) && memcmp(text->p, s, text->n) == 0;
}

static weir_drv_status wish_versions(struct wish *w,
                                     const struct weir_drv_text *min,
                                     struct weir_drv_error *err) {
  w->min_version = TLS1_2_VERSION;
  if (text_is(min, "1.3")) {
    w->min_version = TLS1_3_VERSION;
  } else if (min->n != 0 && !text_is(min, "1.2")) {
    return config_error(err, "minimum version '%.*s' is neither 1.2 nor 1.3",
                        (int)(min->n < 32 ? min->n : 32), min->p);
  }
  if ((w->flags & WEIR_DRV_TLS_MAX_1_2) != 0) {
    w->max_version = TLS1_2_VERSION;
    if (w->min_version > w->max_version) {
      return config_error(err, "at least version 1.3 is asked for where the "
                               "protocol allows 1.2 at most");
    }
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status wish_path(const char *what,
                                 const struct weir_drv_text *from,
                                 char *to,
                                 struct weir_drv_error *err) {
  if (from->n > WEIR_TLS_PATH_MAX) {
    return config_error(err, "the path of the %s is longer than %u bytes", what,
                        WEIR_TLS_PATH_MAX);
  }
  if (from->n != 0) {
    if (memchr(from->p, '\0', (size_t)from->n) != NULL) {
      return config_error(err, "the path of the %s holds a NUL", what);
    }
    memcpy(to, from->p, (size_t)from->n);
  }
  to[from->n] = '\0';
  return WEIR_DRV_DONE;
}

/* Adds a file's identity to the digest.  Refuses what is not a plain file, as
 * reading a pipe would hang. */
static weir_drv_status digest_file(struct weir__tls_digest *d,
                                   const char *what,
                                   const char *path,
                                   int64_t max,
                                   struct weir_drv_error *err) {
  struct stat st;
  weir__tls_digest_part(d, path, strlen(path));
  if (path[0] == '\0') {
    return WEIR_DRV_DONE;
  }
  if (stat(path, &st) != 0) {
    char buffer[96];
    return config_error(err, "cannot read the %s %s: %s", what, path,
                        strerror_r(errno, buffer, sizeof buffer));
  }
  if (!S_ISREG(st.st_mode) || st.st_size > max) {
    return config_error(err, "the %s %s is not a file of at most %lld MiB",
                        what, path, (long long)(max >> 20));
  }
  int64_t facts[] = {(int64_t)st.st_dev,          (int64_t)st.st_ino,
                     (int64_t)st.st_size,         (int64_t)st.st_mtim.tv_sec,
                     (int64_t)st.st_mtim.tv_nsec, (int64_t)st.st_ctim.tv_sec,
                     (int64_t)st.st_ctim.tv_nsec};
  weir__tls_digest_part(d, facts, sizeof facts);
  return WEIR_DRV_DONE;
}

/* The system's store may be updated under a running process. */
static void digest_system(struct weir__tls_digest *d) {
  const char *paths[] = {X509_get_default_cert_file(),
                         X509_get_default_cert_dir()};
  for (size_t i = 0; i < 2; i++) {
    struct stat st;
    int64_t when[2] = {0, 0};
    if (stat(paths[i], &st) == 0) {
      when[0] = (int64_t)st.st_mtim.tv_sec;
      when[1] = (int64_t)st.st_mtim.tv_nsec;
    }
    weir__tls_digest_part(d, when, sizeof when);
  }
}

static weir_drv_status identify(struct wish *w, struct weir_drv_error *err) {
  struct weir__tls_digest d;
  int versions[2] = {w->min_version, w->max_version};
  weir__tls_digest_begin(&d);
  weir__tls_digest_part(&d, &w->flags, sizeof w->flags);
  weir__tls_digest_part(&d, versions, sizeof versions);
  weir__tls_digest_part(&d, w->alpn.p, w->alpn.n);
  weir_drv_status st =
      digest_file(&d, "file of authorities", w->ca_file, CA_FILE_MAX, err);
  if (st == WEIR_DRV_DONE) {
    st = digest_file(&d, "certificate file", w->pin_file, PIN_FILE_MAX, err);
  }
  if (w->ca_file[0] == '\0') {
    digest_system(&d);
  }
  bool ok = weir__tls_digest_end(&d, w->id);
  return st != WEIR_DRV_DONE ? st : ok ? WEIR_DRV_DONE : WEIR_DRV_E_NOMEM;
}

static weir_drv_status wish(struct wish *w,
                            const struct weir_drv_tls_args *args,
                            struct weir_drv_error *err) {
  w->flags = args->flags;
  w->max_version = 0;
  w->alpn = args->alpn;
  if ((w->flags & ~KNOWN_FLAGS) != 0) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  if (w->alpn.n > 255) {
    return config_error(err, "a protocol name of ALPN has at most 255 bytes");
  }
  weir_drv_status st = wish_versions(w, &args->min_version, err);
  if (st == WEIR_DRV_DONE) {
    st = wish_path("file of authorities", &args->ca_file, w->ca_file, err);
  }
  if (st == WEIR_DRV_DONE) {
    st = wish_path("certificate file", &args->pin_file, w->pin_file, err);
  }
  return st == WEIR_DRV_DONE ? identify(w, err) : st;
}

/* -------------------------------------------------------------- making one */

static void free_config(struct weir__tls_config *config) {
  SSL_CTX_free(config->ctx);
  weir__mem_free(config->pin);
  weir__mem_free(config);
}

static X509 *read_certificate(const char *path) {
  BIO *file = BIO_new_file(path, "rb");
  if (file == NULL) {
    return NULL;
  }
  X509 *cert = PEM_read_bio_X509(file, NULL, NULL, NULL);
  if (cert == NULL && BIO_reset(file) == 0) {
    cert = d2i_X509_bio(file, NULL);
  }
  (void)BIO_free(file);
  return cert;
}

static weir_drv_status load_pin(struct weir__tls_config *config,
                                const char *path,
                                struct weir_drv_error *err) {
  X509 *cert = read_certificate(path);
  if (cert == NULL) {
    return config_error(err, "%s holds no certificate, neither PEM nor DER",
                        path);
  }
  unsigned char *der = NULL;
  int n = i2d_X509(cert, &der);
  X509_free(cert);
  config->pin = n > 0 ? weir__mem_new((size_t)n) : NULL;
  if (config->pin != NULL) {
    memcpy(config->pin, der, (size_t)n);
    config->pin_bytes = (size_t)n;
  }
  OPENSSL_free(der);
  return config->pin == NULL ? WEIR_DRV_E_NOMEM : WEIR_DRV_DONE;
}

/* Trust in a certificate that a file names is complete: it need not lead up to a
 * self-signed one. */
static weir_drv_status load_authorities(struct weir__tls_config *config,
                                        const char *path,
                                        struct weir_drv_error *err) {
  if (path[0] == '\0') {
    (void)SSL_CTX_set_default_verify_paths(config->ctx);
    return WEIR_DRV_DONE;
  }
  if (SSL_CTX_load_verify_file(config->ctx, path) != 1) {
    return config_error(err, "%s holds no readable PEM certificate", path);
  }
  X509_VERIFY_PARAM *param = SSL_CTX_get0_param(config->ctx);
  (void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
  return WEIR_DRV_DONE;
}

static weir_drv_status load_files(struct weir__tls_config *config,
                                  const struct wish *w,
                                  struct weir_drv_error *err) {
  if (w->pin_file[0] != '\0') {
    return load_pin(config, w->pin_file, err);
  }
  if (!config->verify) {
    return WEIR_DRV_DONE;
  }
  return load_authorities(config, w->ca_file, err);
}

static bool set_alpn(SSL_CTX *ctx, const struct weir_drv_text *alpn) {
  uint8_t list[256];
  if (alpn->n == 0) {
    return true;
  }
  list[0] = (uint8_t)alpn->n;
  memcpy(list + 1, alpn->p, (size_t)alpn->n);
  /* 0 is success here. */
  return SSL_CTX_set_alpn_protos(ctx, list, (unsigned)alpn->n + 1) == 0;
}

static bool set_up(struct weir__tls_config *config, const struct wish *w) {
  SSL_CTX *ctx = config->ctx;
  bool ok = SSL_CTX_set_min_proto_version(ctx, w->min_version) == 1 &&
            SSL_CTX_set_max_proto_version(ctx, w->max_version) == 1 &&
            set_alpn(ctx, &w->alpn);
  (void)SSL_CTX_set_options(ctx,
                            SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  (void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_cert_verify_callback(ctx, weir__tls_verify, NULL);
  if (config->tickets) {
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
                                                  SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, weir__tls_ticket_keep);
  } else {
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  }
  return ok;
}

static weir_drv_status make(const struct wish *w,
                            struct weir__tls_config **out,
                            struct weir_drv_error *err) {
  struct weir__tls_config *config = weir__mem_new(sizeof *config);
  if (config == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  config->refs = 1;
  config->verify = (w->flags & WEIR_DRV_TLS_NO_VERIFY) == 0;
  config->tickets = (w->flags & WEIR_DRV_TLS_NO_TICKET) == 0;
  memcpy(config->id, w->id, sizeof config->id);
  config->ctx = SSL_CTX_new(TLS_client_method());
  weir_drv_status st = config->ctx != NULL && set_up(config, w)
                           ? load_files(config, w, err)
                           : WEIR_DRV_E_NOMEM;
  ERR_clear_error();
  if (st != WEIR_DRV_DONE) {
    free_config(config);
    return st;
  }
  *out = config;
  return WEIR_DRV_DONE;
}

/* -------------------------------------------------------------------- cache */

static struct weir__tls_config *find_locked(struct weir__tls *tls,
                                            const uint8_t *id) {
  struct weir__tls_config *config = tls->configs;
  while (config != NULL && memcmp(config->id, id, sizeof config->id) != 0) {
    config = config->next;
  }
  if (config != NULL) {
    config->used = ++tls->ticks;
    config->refs++;
  }
  return config;
}

static struct weir__tls_config *find(struct weir__tls *tls, const uint8_t *id) {
  weir__mutex_lock(&tls->mu);
  struct weir__tls_config *config = find_locked(tls, id);
  weir__mutex_unlock(&tls->mu);
  return config;
}

/* Unlinks the one unused longest; its reference goes to the caller. */
static struct weir__tls_config *evict_locked(struct weir__tls *tls) {
  struct weir__tls_config **oldest = &tls->configs;
  for (struct weir__tls_config **at = oldest; *at != NULL; at = &(*at)->next) {
    oldest = (*at)->used < (*oldest)->used ? at : oldest;
  }
  struct weir__tls_config *config = *oldest;
  *oldest = config->next;
  tls->n_configs--;
  return config;
}

/* Adds a new one, unless another thread was faster: then that one serves.
 * Returns the one to use, with a reference. */
static struct weir__tls_config *publish(struct weir__tls *tls,
                                        struct weir__tls_config *config) {
  struct weir__tls_config *old = NULL;
  weir__mutex_lock(&tls->mu);
  struct weir__tls_config *use = find_locked(tls, config->id);
  if (use == NULL) {
    if (tls->n_configs == WEIR_TLS_CONFIGS_MAX) {
      old = evict_locked(tls);
    }
    use = config;
    config->used = ++tls->ticks;
    config->refs++;
    config->next = tls->configs;
    tls->configs = config;
    tls->n_configs++;
  } else {
    old = config;
  }
  weir__mutex_unlock(&tls->mu);
  if (old != NULL) {
    weir__tls_config_put(tls, old);
  }
  return use;
}

weir_drv_status weir__tls_config_get(struct weir__tls *tls,
                                     const struct weir_drv_tls_args *args,
                                     struct weir__tls_config **out,
                                     struct weir_drv_error *err) {
  struct wish w;
  weir_drv_status st = wish(&w, args, err);
  if (st != WEIR_DRV_DONE) {
    return st;
  }
  struct weir__tls_config *config = find(tls, w.id);
  if (config == NULL) {
    st = make(&w, &config, err);
    if (st != WEIR_DRV_DONE) {
      return st;
    }
    config = publish(tls, config);
  }
  *out = config;
  return WEIR_DRV_DONE;
}

void weir__tls_config_put(struct weir__tls *tls,
                          struct weir__tls_config *config) {
  weir__mutex_lock(&tls->mu);
  bool last = --config->refs == 0;
  weir__mutex_unlock(&tls->mu);
  if (last) {
    free_config(config);
  }
}

void weir__tls_config_drop_all(struct weir__tls *tls) {
  for (;;) {
    weir__mutex_lock(&tls->mu);
    struct weir__tls_config *config =
        tls->configs == NULL ? NULL : evict_locked(tls);
    weir__mutex_unlock(&tls->mu);
    if (config == NULL) {
      return;
    }
    weir__tls_config_put(tls, config);
  }
}
