/* SPDX-License-Identifier: MIT */
/* tds_option_key.c - what makes two configurations the same. */
#include <stdio.h>
#include <string.h>

#include "tds_limits.h"
#include "tds_option.h"
#include "tds_prelogin.h"

static weir_drv_status part(const struct weir_drv_key_sink *sink,
                            const char *name,
                            const char *p,
                            size_t n) {
  struct weir_drv_text t = {name, strlen(name)};
  struct weir_drv_bytes v = {(const uint8_t *)p, n};
  return sink->part(sink->ctx, 0, &t, &v);
}

/* Options at their default are left out. */
static weir_drv_status part_if(const struct weir_drv_key_sink *sink,
                               enum tds_option o,
                               const struct tds_setting *s) {
  return s->n == 0 ? WEIR_DRV_DONE : part(sink, tds_option_name(o), s->p, s->n);
}

static weir_drv_status part_server(const struct weir_drv_cfg *cfg,
                                   const struct weir_drv_key_sink *sink) {
  char text[300];
  int n = snprintf(text, sizeof text, "%s,%u", cfg->host.p, cfg->port);
  return part(sink, tds_option_name(O_SERVER), text, (size_t)n);
}

static weir_drv_status part_modes(const struct weir_drv_cfg *cfg,
                                  const struct weir_drv_key_sink *sink) {
  static const char *const words[] = {"optional", "mandatory", "strict"};
  const char *word = words[cfg->encrypt];
  weir_drv_status rc = WEIR_DRV_DONE;
  char size[16];
  int n = snprintf(size, sizeof size, "%u", cfg->packet_size);
  if (cfg->encrypt != TDS_ENCRYPT_MANDATORY) {
    rc = part(sink, tds_option_name(O_ENCRYPT), word, strlen(word));
  }
  if (rc == WEIR_DRV_DONE && cfg->trust) {
    rc = part(sink, tds_option_name(O_TRUST), "true", 4);
  }
  if (rc == WEIR_DRV_DONE && cfg->packet_size != TDS_PACKET_DEFAULT) {
    rc = part(sink, tds_option_name(O_PACKET_SIZE), size, (size_t)n);
  }
  if (rc == WEIR_DRV_DONE && cfg->auth != TDS_AUTH_PASSWORD) {
    word = cfg->auth == TDS_AUTH_TOKEN ? "AccessToken" : cfg->auth_word.p;
    rc = part(sink, tds_option_name(O_AUTHENTICATION), word, strlen(word));
  }
  if (rc == WEIR_DRV_DONE && cfg->addresses != TDS_ADDRESSES_IPV4) {
    word = cfg->addresses == TDS_ADDRESSES_IPV6 ? "IPv6First"
                                                : "UsePlatformDefault";
    rc = part(sink, tds_option_name(O_ADDRESSES), word, strlen(word));
  }
  if (rc == WEIR_DRV_DONE && cfg->multi_subnet) {
    rc = part(sink, tds_option_name(O_MULTI_SUBNET), "true", 4);
  }
  n = snprintf(size, sizeof size, "%u", cfg->prepared);
  if (rc == WEIR_DRV_DONE && cfg->prepared != TDS_PREPARED_DEFAULT) {
    rc = part(sink, tds_option_name(O_PREPARED), size, (size_t)n);
  }
  if (rc == WEIR_DRV_DONE && cfg->read_only) {
    rc = part(sink, tds_option_name(O_INTENT), "ReadOnly", 8);
  }
  return rc;
}

weir_drv_status tds_options_key(const struct weir_drv_cfg *cfg,
                                int32_t which,
                                const struct weir_drv_key_sink *sink) {
  const struct {
    enum tds_option o;
    const struct tds_setting *s;
  } texts[] = {{O_DATABASE, &cfg->database},
               {O_USER, &cfg->user},
               {O_CERT_HOST, &cfg->host_in_certificate},
               {O_CERT_FILE, &cfg->server_certificate},
               {O_CA_FILE, &cfg->ca_file},
               {O_APP, &cfg->app},
               {O_WORKSTATION, &cfg->workstation},
               {O_LANGUAGE, &cfg->language}};
  weir_drv_status rc = part_server(cfg, sink);
  if (which == WEIR_DRV_KEY_ENDPOINT) {
    return rc;
  }
  if (which != WEIR_DRV_KEY_POOL && which != WEIR_DRV_KEY_DISPLAY) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    rc = rc == WEIR_DRV_DONE ? part_if(sink, texts[i].o, texts[i].s) : rc;
  }
  return rc == WEIR_DRV_DONE ? part_modes(cfg, sink) : rc;
}

bool tds_options_cloud(const struct weir_drv_cfg *cfg) {
  static const char *const suffixes[] = {
      ".database.windows.net",          ".database.chinacloudapi.cn",
      ".database.usgovcloudapi.net",    ".database.cloudapi.de",
      ".database.fabric.microsoft.com", ".datawarehouse.fabric.microsoft.com",
      ".sql.azuresynapse.net"};
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    size_t n = strlen(suffixes[i]);
    if (cfg->host.n > n &&
        memcmp(cfg->host.p + cfg->host.n - n, suffixes[i], n) == 0) {
      return true;
    }
  }
  return false;
}
