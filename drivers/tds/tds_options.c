/* SPDX-License-Identifier: MIT */
/* tds_options.c - a configuration out of the options that were given. */
#include "tds_options.h"

#include <string.h>

#include "tds_fail.h"
#include "tds_limits.h"
#include "tds_option.h"
#include "tds_prelogin.h"

#define PORT_DEFAULT 1433u

static weir_drv_status set_encrypt(struct weir_drv_cfg *cfg,
                                   const struct weir_drv_value *v,
                                   struct weir_drv_error *err) {
  struct weir_drv_text t = tds_option_text(v);
  int b = tds_option_bool(v);
  if (tds_option_same(t, "strict")) {
    cfg->encrypt = TDS_ENCRYPT_STRICT;
  } else if (b == 1 || tds_option_same(t, "mandatory")) {
    cfg->encrypt = TDS_ENCRYPT_MANDATORY;
  } else if (b == 0 || tds_option_same(t, "optional")) {
    cfg->encrypt = TDS_ENCRYPT_OPTIONAL;
  } else {
    return tds_option_bad(err, O_ENCRYPT,
                          "must be optional, mandatory or strict");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status set_bool(bool *out,
                                enum tds_option o,
                                const struct weir_drv_value *v,
                                struct weir_drv_error *err) {
  int b = tds_option_bool(v);
  if (b < 0) {
    return tds_option_bad(err, o, "must be true or false");
  }
  *out = b == 1;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_packet_size(struct weir_drv_cfg *cfg,
                                       const struct weir_drv_value *v,
                                       struct weir_drv_error *err) {
  int64_t n = tds_option_number(v);
  /* SqlClient lets 32768 pass, which the protocol does not know. */
  if (n < TDS_PACKET_MIN || n > TDS_PACKET_MAX + 1) {
    return tds_option_bad(err, O_PACKET_SIZE, "must be 512 to 32768");
  }
  cfg->packet_size = n > TDS_PACKET_MAX ? TDS_PACKET_MAX : (uint32_t)n;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_prepared(struct weir_drv_cfg *cfg,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err) {
  int64_t n = tds_option_number(v);
  if (n < 0 || n > TDS_PREPARED_MAX) {
    return tds_option_bad(err, O_PREPARED, "must be 0 to 1024");
  }
  cfg->prepared = (uint32_t)n;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_intent(struct weir_drv_cfg *cfg,
                                  const struct weir_drv_value *v,
                                  struct weir_drv_error *err) {
  struct weir_drv_text t = tds_option_text(v);
  cfg->read_only = tds_option_same(t, "ReadOnly");
  if (!cfg->read_only && !tds_option_same(t, "ReadWrite")) {
    return tds_option_bad(err, O_INTENT, "must be ReadWrite or ReadOnly");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status set_addresses(struct weir_drv_cfg *cfg,
                                     const struct weir_drv_value *v,
                                     struct weir_drv_error *err) {
  struct weir_drv_text t = tds_option_text(v);
  if (tds_option_same(t, "IPv4First")) {
    cfg->addresses = TDS_ADDRESSES_IPV4;
  } else if (tds_option_same(t, "IPv6First")) {
    cfg->addresses = TDS_ADDRESSES_IPV6;
  } else if (tds_option_same(t, "UsePlatformDefault")) {
    cfg->addresses = TDS_ADDRESSES_SYSTEM;
  } else {
    return tds_option_bad(err, O_ADDRESSES,
                          "must be IPv4First, IPv6First or "
                          "UsePlatformDefault");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status check_range(enum tds_option o,
                                   const struct weir_drv_value *v,
                                   int64_t least,
                                   int64_t most,
                                   const char *why,
                                   struct weir_drv_error *err) {
  int64_t n = tds_option_number(v);
  return n < least || n > most ? tds_option_bad(err, o, why) : WEIR_DRV_DONE;
}

/* The setting of an option that goes into LOGIN7 as it is, NULL for others. */
static struct tds_setting *login_text(struct weir_drv_cfg *cfg,
                                      enum tds_option o) {
  switch ((int)o) {
  case O_DATABASE:
    return &cfg->database;
  case O_USER:
    return &cfg->user;
  case O_APP:
    return &cfg->app;
  case O_WORKSTATION:
    return &cfg->workstation;
  case O_LANGUAGE:
    return &cfg->language;
  default:
    return NULL;
  }
}

/* The setting of an option about certificates. */
static struct tds_setting *certificate_text(struct weir_drv_cfg *cfg,
                                            enum tds_option o) {
  return o == O_CERT_HOST   ? &cfg->host_in_certificate
         : o == O_CERT_FILE ? &cfg->server_certificate
                            : &cfg->ca_file;
}

/* Options that are checked, as SqlClient does, and not used. */
static weir_drv_status check_unused(enum tds_option o,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err) {
  bool ignored = false;
  if (o == O_RETRY_COUNT) {
    return check_range(o, v, 0, 255, "must be 0 to 255", err);
  }
  return o == O_RETRY_INTERVAL
             ? check_range(o, v, 1, 60, "must be 1 to 60", err)
             : set_bool(&ignored, o, v, err);
}

static weir_drv_status set(struct weir_drv_cfg *cfg,
                           enum tds_option o,
                           const struct weir_drv_value *v,
                           struct weir_drv_error *err) {
  switch (o) {
  case O_SERVER:
    return tds_option_set_server(cfg, v, err);
  case O_DATABASE:
  case O_USER:
  case O_APP:
  case O_WORKSTATION:
  case O_LANGUAGE:
    return tds_option_set_login_text(cfg, login_text(cfg, o), o, v, err);
  case O_PASSWORD:
    cfg->password_given = true;
    return WEIR_DRV_DONE;
  case O_ENCRYPT:
    return set_encrypt(cfg, v, err);
  case O_TRUST:
    return set_bool(&cfg->trust, o, v, err);
  case O_MULTI_SUBNET:
    return set_bool(&cfg->multi_subnet, o, v, err);
  case O_CERT_HOST:
  case O_CERT_FILE:
  case O_CA_FILE:
    return tds_option_set_text(cfg, certificate_text(cfg, o), o, v, err);
  case O_PACKET_SIZE:
    return set_packet_size(cfg, v, err);
  case O_PREPARED:
    return set_prepared(cfg, v, err);
  case O_INTENT:
    return set_intent(cfg, v, err);
  case O_ADDRESSES:
    return set_addresses(cfg, v, err);
  case O_AUTHENTICATION:
    return tds_option_set_auth(cfg, v, err);
  case O_TOKEN:
    cfg->token_given = true;
    return WEIR_DRV_DONE;
  case O_RETRY_COUNT:
  case O_RETRY_INTERVAL:
  case O_PERSIST:
  case O_ASYNC:
    return check_unused(o, v, err);
  case O_INTEGRATED:
  case O_PARTNER:
  case O_PARTNER_SPN:
  case O_SERVER_SPN:
  case O_TYPE_SYSTEM:
  case O_MARS:
  case O_ENCRYPTION_SETTING:
  case O_ENCLAVE_URL:
  case O_ATTESTATION:
  case O_ATTACH:
  case O_USER_INSTANCE:
  case O_REPLICATION:
  case O_CONTEXT:
  case O_LIBRARY:
    return tds_option_refuse(o, v, err);
  case O_COUNT:
  default:
    return WEIR_DRV_E_INVALID;
  }
}

/* ------------------------------------------------------------------- whole */

/* Rules between options. */
static weir_drv_status check_whole(struct weir_drv_cfg *cfg,
                                   struct weir_drv_error *err) {
  if (cfg->host.n == 0) {
    return tds_option_bad(err, O_SERVER, "is required");
  }
  if (cfg->server_certificate.n > 0 && cfg->ca_file.n > 0) {
    return tds_option_bad(err, O_CERT_FILE,
                          "cannot be used together with CA File");
  }
  return tds_option_check_auth(cfg, err);
}

/* Every setting exists, so that no reader has to ask for NULL. */
static int fill_empty(struct weir_drv_cfg *cfg) {
  struct tds_setting *all[] = {&cfg->server,   &cfg->host,
                               &cfg->database, &cfg->user,
                               &cfg->ca_file,  &cfg->host_in_certificate,
                               &cfg->app,      &cfg->workstation,
                               &cfg->language, &cfg->server_certificate,
                               &cfg->auth_word};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    int rc = tds_option_copy(cfg->mem, all[i], "", 0);
    if (rc != TDS_OK) {
      return rc;
    }
  }
  return TDS_OK;
}

weir_drv_status tds_options_parse(const struct tds_mem *mem,
                                  const struct weir_drv_option *o,
                                  uint32_t n,
                                  struct weir_drv_cfg **out,
                                  struct weir_drv_error *err) {
  struct weir_drv_cfg *cfg = mem->alloc(mem->ctx, sizeof *cfg, 0);
  if (cfg == NULL) {
    return tds_option_no_memory(err);
  }
  cfg->mem = mem;
  cfg->port = PORT_DEFAULT;
  cfg->packet_size = TDS_PACKET_DEFAULT;
  cfg->prepared = TDS_PREPARED_DEFAULT;
  cfg->encrypt = TDS_ENCRYPT_MANDATORY;
  weir_drv_status rc =
      fill_empty(cfg) == TDS_OK ? WEIR_DRV_DONE : tds_option_no_memory(err);
  for (uint32_t i = 0; rc == WEIR_DRV_DONE && i < n; i++) {
    enum tds_option which = tds_option_find(o[i].name);
    if (which == O_COUNT) {
      rc = tds_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                    WEIR_DRV_RETRY_NO, "unknown option '%.*s'",
                    (int)(o[i].name.n > 100 ? 100 : o[i].name.n), o[i].name.p);
      break;
    }
    rc = set(cfg, which, &o[i].value, err);
  }
  if (rc == WEIR_DRV_DONE) {
    rc = check_whole(cfg, err);
  }
  if (rc != WEIR_DRV_DONE) {
    tds_options_free(cfg);
    return rc;
  }
  *out = cfg;
  return WEIR_DRV_DONE;
}

void tds_options_free(struct weir_drv_cfg *cfg) {
  if (cfg == NULL) {
    return;
  }
  struct tds_setting *all[] = {&cfg->server,   &cfg->host,
                               &cfg->database, &cfg->user,
                               &cfg->ca_file,  &cfg->host_in_certificate,
                               &cfg->app,      &cfg->workstation,
                               &cfg->language, &cfg->server_certificate,
                               &cfg->auth_word};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (all[i]->p != NULL) {
      cfg->mem->release(cfg->mem->ctx, all[i]->p);
    }
  }
  cfg->mem->release(cfg->mem->ctx, cfg);
}
