/* SPDX-License-Identifier: MIT */
/* tds_option_server.c - [tcp:]host[,port]. */
#include <string.h>
#include <strings.h>

#include "tds_option.h"

/* "tcp:" is taken off; other protocols are refused. */
static weir_drv_status strip_protocol(struct weir_drv_text *t,
                                      struct weir_drv_error *err) {
  static const char *const refused[] = {"np:", "lpc:", "admin:", "sm:"};
  if (t->n >= 4 && strncasecmp(t->p, "tcp:", 4) == 0) {
    t->p += 4;
    t->n -= 4;
  }
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    size_t n = strlen(refused[i]);
    if (t->n >= n && strncasecmp(t->p, refused[i], n) == 0) {
      return tds_option_unsupported(err, O_SERVER,
                                    "only the protocol tcp: is supported");
    }
  }
  return WEIR_DRV_DONE;
}

static void trim(struct weir_drv_text *t) {
  while (t->n > 0 && t->p[0] == ' ') {
    t->p++;
    t->n--;
  }
  while (t->n > 0 && t->p[t->n - 1] == ' ') {
    t->n--;
  }
}

/* ",port" is taken off the end. */
static weir_drv_status strip_port(struct weir_drv_text *t,
                                  uint32_t *out_port,
                                  struct weir_drv_error *err) {
  const char *comma = memchr(t->n > 0 ? t->p : "", ',', (size_t)t->n);
  if (comma == NULL) {
    return WEIR_DRV_DONE;
  }
  struct weir_drv_text port = {comma + 1, t->n - (uint64_t)(comma - t->p) - 1};
  trim(&port);
  int64_t v = tds_option_digits(port.p, (size_t)port.n);
  if (v < 1) {
    return tds_option_bad(err, O_SERVER,
                          "the port after the comma must be 1 to 65535");
  }
  *out_port = (uint32_t)v;
  t->n = (uint64_t)(comma - t->p);
  return WEIR_DRV_DONE;
}

/* What neither a name nor an address can hold; it would be looked up in vain. */
static bool has_stranger(const struct weir_drv_text *t) {
  static const char strangers[] = "[]/\"'@?#<>";
  for (uint64_t i = 0; i < t->n; i++) {
    unsigned char c = (unsigned char)t->p[i];
    if (c <= ' ' || c == 0x7F || strchr(strangers, c) != NULL) {
      return true;
    }
  }
  return false;
}

/* "[::1]" loses its brackets; "host:1433" is a frequent mistake. */
static weir_drv_status check_host(struct weir_drv_text *t,
                                  struct weir_drv_error *err) {
  if (t->n >= 2 && t->p[0] == '[' && t->p[t->n - 1] == ']') {
    t->p++;
    t->n -= 2;
  }
  const char *colon = memchr(t->n > 0 ? t->p : "", ':', (size_t)t->n);
  if (colon != NULL &&
      memchr(colon + 1, ':', (size_t)(t->p + t->n - colon - 1)) == NULL) {
    return tds_option_bad(err, O_SERVER,
                          "write the port after a comma: host,port");
  }
  if (memchr(t->n > 0 ? t->p : "", '\\', (size_t)t->n) != NULL) {
    return tds_option_unsupported(
        err, O_SERVER,
        "named instances (host\\instance) are not supported "
        "yet; name the port: host,port");
  }
  if (t->n == 0) {
    return tds_option_bad(err, O_SERVER, "the host name is empty");
  }
  if (has_stranger(t)) {
    return tds_option_bad(
        err, O_SERVER,
        "the host name has a blank, control, quote, bracket or another "
        "character that names cannot hold");
  }
  return t->n > 255 ? tds_option_bad(err, O_SERVER, "the host name is too long")
                    : WEIR_DRV_DONE;
}

weir_drv_status tds_option_set_server(struct weir_drv_cfg *cfg,
                                      const struct weir_drv_value *v,
                                      struct weir_drv_error *err) {
  weir_drv_status rc = tds_option_set_text(cfg, &cfg->server, O_SERVER, v, err);
  if (rc != WEIR_DRV_DONE) {
    return rc;
  }
  struct weir_drv_text t = {cfg->server.p, cfg->server.n};
  trim(&t);
  rc = strip_protocol(&t, err);
  rc = rc == WEIR_DRV_DONE ? strip_port(&t, &cfg->port, err) : rc;
  trim(&t);
  rc = rc == WEIR_DRV_DONE ? check_host(&t, err) : rc;
  if (rc != WEIR_DRV_DONE) {
    return rc;
  }
  if (tds_option_same(t, ".") || tds_option_same(t, "(local)")) {
    t.p = "localhost";
    t.n = strlen(t.p);
  }
  if (tds_option_copy(cfg->mem, &cfg->host, t.p, (size_t)t.n) != TDS_OK) {
    return tds_option_no_memory(err);
  }
  for (size_t i = 0; i < cfg->host.n; i++) {
    char *c = &cfg->host.p[i];
    if (*c >= 'A' && *c <= 'Z') {
      *c = (char)(*c | 0x20);
    }
  }
  return WEIR_DRV_DONE;
}
