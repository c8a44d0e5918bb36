/* SPDX-License-Identifier: MIT */
/* tds_options.c - SqlClient's names and rules, as far as they concern the wire.
 * Pool and time-out options belong to the engine and never arrive here. */
#include "tds_options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tds_fail.h"
#include "tds_limits.h"
#include "tds_prelogin.h"
#include "tds_text.h"

#define PORT_DEFAULT 1433u

enum option {
  O_SERVER,
  O_DATABASE,
  O_USER,
  O_PASSWORD,
  O_ENCRYPT,
  O_TRUST,
  O_CERT_HOST,
  O_CERT_FILE,
  O_CA_FILE,
  O_APP,
  O_WORKSTATION,
  O_PACKET_SIZE,
  O_PREPARED,
  O_LANGUAGE,
  O_INTENT,
  O_MULTI_SUBNET,
  O_PERSIST,
  O_MARS,
  O_INTEGRATED,
  O_AUTHENTICATION,
  O_COUNT
};

#define TEXT(s) \
  { (s), sizeof(s) - 1 }
#define NOTHING \
  { NULL, 0 }
#define INFO(type, flags, name, aliases, choices, fallback, help)        \
  {                                                                      \
    sizeof(struct weir_drv_option_info), (type), (flags), 0, TEXT(name), \
        aliases, choices, fallback, TEXT(help)                           \
  }

#define KEY WEIR_DRV_OPT_KEY

static const struct weir_drv_option_info list[O_COUNT] = {
    [O_SERVER] = INFO(WEIR_DRV_T_TEXT,
                      KEY | WEIR_DRV_OPT_REQUIRED,
                      "Server",
                      TEXT("Data Source,Address,Addr,Network Address"),
                      NOTHING,
                      NOTHING,
                      "[tcp:]host[,port]; (local) and . are this machine"),
    [O_DATABASE] = INFO(WEIR_DRV_T_TEXT,
                        KEY,
                        "Database",
                        TEXT("Initial Catalog"),
                        NOTHING,
                        NOTHING,
                        "database to open; the login's default if absent"),
    [O_USER] = INFO(WEIR_DRV_T_TEXT,
                    KEY,
                    "User ID",
                    TEXT("UID,User"),
                    NOTHING,
                    NOTHING,
                    "SQL Server login"),
    [O_PASSWORD] = INFO(WEIR_DRV_T_TEXT,
                        WEIR_DRV_OPT_SECRET,
                        "Password",
                        TEXT("PWD"),
                        NOTHING,
                        NOTHING,
                        "password of the login"),
    [O_ENCRYPT] = INFO(WEIR_DRV_T_TEXT,
                       KEY,
                       "Encrypt",
                       NOTHING,
                       TEXT("optional,no,false,mandatory,yes,true,strict"),
                       TEXT("mandatory"),
                       "optional: TLS only if the server demands it, else for "
                       "the login alone; mandatory: TLS or nothing; strict: "
                       "TLS before the first byte of TDS"),
    [O_TRUST] = INFO(WEIR_DRV_T_BOOL,
                     KEY,
                     "TrustServerCertificate",
                     TEXT("Trust Server Certificate"),
                     NOTHING,
                     TEXT("false"),
                     "accept any certificate; no effect with Encrypt=strict"),
    [O_CERT_HOST] = INFO(WEIR_DRV_T_TEXT,
                         KEY,
                         "HostNameInCertificate",
                         TEXT("Host Name In Certificate"),
                         NOTHING,
                         NOTHING,
                         "name to look for in the certificate"),
    [O_CERT_FILE] = INFO(WEIR_DRV_T_TEXT,
                         KEY,
                         "ServerCertificate",
                         TEXT("Server Certificate"),
                         NOTHING,
                         NOTHING,
                         "file with the one certificate to accept"),
    [O_CA_FILE] = INFO(WEIR_DRV_T_TEXT,
                       KEY,
                       "CA File",
                       TEXT("CAFile"),
                       NOTHING,
                       NOTHING,
                       "PEM file of authorities, instead of the system's"),
    [O_APP] = INFO(WEIR_DRV_T_TEXT,
                   KEY,
                   "Application Name",
                   TEXT("App"),
                   NOTHING,
                   NOTHING,
                   "name shown by the server"),
    [O_WORKSTATION] = INFO(WEIR_DRV_T_TEXT,
                           KEY,
                           "Workstation ID",
                           TEXT("WSID"),
                           NOTHING,
                           NOTHING,
                           "this machine's name, as the server shows it"),
    [O_PACKET_SIZE] = INFO(WEIR_DRV_T_INT,
                           KEY,
                           "Packet Size",
                           NOTHING,
                           NOTHING,
                           TEXT("8000"),
                           "512 to 32767; at most 16383 with TLS"),
    [O_PREPARED] = INFO(WEIR_DRV_T_INT,
                        KEY,
                        "Prepared Statements",
                        NOTHING,
                        NOTHING,
                        TEXT("64"),
                        "kept on a connection, 0 to 1024; 0: none is prepared"),
    [O_LANGUAGE] = INFO(WEIR_DRV_T_TEXT,
                        KEY,
                        "Language",
                        TEXT("Current Language"),
                        NOTHING,
                        NOTHING,
                        "language of server messages"),
    [O_INTENT] = INFO(WEIR_DRV_T_TEXT,
                      KEY,
                      "ApplicationIntent",
                      TEXT("Application Intent"),
                      TEXT("ReadWrite,ReadOnly"),
                      TEXT("ReadWrite"),
                      "ReadOnly lets the server send us to a replica"),
    [O_MULTI_SUBNET] = INFO(WEIR_DRV_T_BOOL,
                            0,
                            "MultiSubnetFailover",
                            TEXT("Multi Subnet Failover"),
                            NOTHING,
                            TEXT("false"),
                            "accepted; addresses are tried in turn either way"),
    [O_PERSIST] = INFO(WEIR_DRV_T_BOOL,
                       0,
                       "Persist Security Info",
                       TEXT("PersistSecurityInfo"),
                       NOTHING,
                       TEXT("false"),
                       "accepted; secrets are never shown"),
    [O_MARS] = INFO(WEIR_DRV_T_BOOL,
                    0,
                    "MultipleActiveResultSets",
                    TEXT("Multiple Active Result Sets"),
                    NOTHING,
                    TEXT("false"),
                    "only false is supported"),
    [O_INTEGRATED] = INFO(WEIR_DRV_T_TEXT,
                          0,
                          "Integrated Security",
                          TEXT("Trusted_Connection"),
                          TEXT("false,no,true,yes,sspi"),
                          TEXT("false"),
                          "only false is supported so far"),
    [O_AUTHENTICATION] = INFO(WEIR_DRV_T_TEXT,
                              0,
                              "Authentication",
                              NOTHING,
                              NOTHING,
                              NOTHING,
                              "only SqlPassword is supported so far"),
};

const struct weir_drv_option_info *tds_options_list(uint32_t *out_n) {
  *out_n = O_COUNT;
  return list;
}

/* ---------------------------------------------------------------- refusals */

static weir_drv_status refuse(struct weir_drv_error *err,
                              int kind,
                              enum option o,
                              const char *why) {
  return tds_fail(err, WEIR_DRV_SCOPE_CONFIG, kind, WEIR_DRV_RETRY_NO, "%s: %s",
                  list[o].name.p, why);
}

static weir_drv_status bad(struct weir_drv_error *err,
                           enum option o,
                           const char *why) {
  return refuse(err, WEIR_DRV_K_CONFIG, o, why);
}

static weir_drv_status unsupported(struct weir_drv_error *err,
                                   enum option o,
                                   const char *why) {
  return refuse(err, WEIR_DRV_K_UNSUPPORTED, o, why);
}

static weir_drv_status no_memory(struct weir_drv_error *err) {
  return tds_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_RESOURCE,
                  WEIR_DRV_RETRY_NO, "out of memory");
}

/* ----------------------------------------------------------------- values */

static bool same(struct weir_drv_text a, const char *b) {
  return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

/* The text of a value; numbers and booleans have none. */
static struct weir_drv_text value_text(const struct weir_drv_value *v) {
  struct weir_drv_text t = {NULL, 0};
  if (v->type == WEIR_DRV_T_TEXT) {
    t.p = v->p;
    t.n = v->n;
  }
  return t;
}

/* 0 or 1, or -1 if v is no truth value. */
static int value_bool(const struct weir_drv_value *v) {
  struct weir_drv_text t = value_text(v);
  if (v->type == WEIR_DRV_T_BOOL || v->type == WEIR_DRV_T_INT) {
    return v->i == 0 ? 0 : v->i == 1 ? 1 : -1;
  }
  if (same(t, "true") || same(t, "yes")) {
    return 1;
  }
  return same(t, "false") || same(t, "no") ? 0 : -1;
}

/* Digits only, at most 65535; else -1. */
static int64_t text_number(const char *p, size_t n) {
  int64_t v = 0;
  if (n == 0 || n > 5) {
    return -1;
  }
  for (size_t i = 0; i < n; i++) {
    if (p[i] < '0' || p[i] > '9') {
      return -1;
    }
    v = v * 10 + (p[i] - '0');
  }
  return v > 65535 ? -1 : v;
}

static int64_t value_number(const struct weir_drv_value *v) {
  struct weir_drv_text t = value_text(v);
  if (v->type == WEIR_DRV_T_INT) {
    return v->i;
  }
  if (v->type == WEIR_DRV_T_UINT) {
    return v->u > INT32_MAX ? -1 : (int64_t)v->u;
  }
  return text_number(t.p, (size_t)t.n);
}

/* ------------------------------------------------------------ setting text */

static int copy(const struct tds_mem *mem,
                struct tds_setting *s,
                const char *p,
                size_t n) {
  char *to = mem->alloc(mem->ctx, n + 1, 0);
  if (to == NULL) {
    return TDS_E_NOMEM;
  }
  if (n > 0) {
    memcpy(to, p, n);
  }
  to[n] = '\0';
  if (s->p != NULL) {
    mem->release(mem->ctx, s->p);
  }
  s->p = to;
  s->n = n;
  return TDS_OK;
}

/* Takes a text that goes to the server or names a file. */
static weir_drv_status set_text(struct weir_drv_cfg *cfg,
                                struct tds_setting *s,
                                enum option o,
                                const struct weir_drv_value *v,
                                struct weir_drv_error *err) {
  struct weir_drv_text t = value_text(v);
  if (v->type != WEIR_DRV_T_TEXT) {
    return bad(err, o, "must be text");
  }
  if (t.n > TDS_OPTION_MAX) {
    return bad(err, o, "is too long");
  }
  if (memchr(t.n > 0 ? t.p : "", '\0', (size_t)t.n) != NULL) {
    return bad(err, o, "contains a zero byte");
  }
  if (tds_text_valid(t.p, (size_t)t.n) != t.n) {
    return bad(err, o, "is not valid UTF-8");
  }
  return copy(cfg->mem, s, t.p, (size_t)t.n) == TDS_OK ? WEIR_DRV_DONE
                                                       : no_memory(err);
}

/* A text that LOGIN7 carries: at most 128 UTF-16 units. */
static weir_drv_status set_login_text(struct weir_drv_cfg *cfg,
                                      struct tds_setting *s,
                                      enum option o,
                                      const struct weir_drv_value *v,
                                      struct weir_drv_error *err) {
  uint8_t units[TDS_LOGIN_UNITS * 2];
  size_t n = 0;
  weir_drv_status rc = set_text(cfg, s, o, v, err);
  if (rc == WEIR_DRV_DONE &&
      tds_text_to16(s->p, s->n, units, sizeof units, &n) != TDS_OK) {
    return bad(err, o, "is longer than 128 characters");
  }
  return rc;
}

/* ------------------------------------------------------------------ server */

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
      return unsupported(err, O_SERVER, "only the protocol tcp: is supported");
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
  int64_t v = text_number(port.p, (size_t)port.n);
  if (v < 1) {
    return bad(err, O_SERVER, "the port after the comma must be 1 to 65535");
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
    return bad(err, O_SERVER, "write the port after a comma: host,port");
  }
  if (memchr(t->n > 0 ? t->p : "", '\\', (size_t)t->n) != NULL) {
    return unsupported(err, O_SERVER,
                       "named instances (host\\instance) are not supported "
                       "yet; name the port: host,port");
  }
  if (t->n == 0) {
    return bad(err, O_SERVER, "the host name is empty");
  }
  if (has_stranger(t)) {
    return bad(err, O_SERVER,
               "the host name has a blank, control, quote, bracket or another "
               "character that names cannot hold");
  }
  return t->n > 255 ? bad(err, O_SERVER, "the host name is too long")
                    : WEIR_DRV_DONE;
}

static weir_drv_status set_server(struct weir_drv_cfg *cfg,
                                  const struct weir_drv_value *v,
                                  struct weir_drv_error *err) {
  weir_drv_status rc = set_text(cfg, &cfg->server, O_SERVER, v, err);
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
  if (same(t, ".") || same(t, "(local)")) {
    t.p = "localhost";
    t.n = strlen(t.p);
  }
  if (copy(cfg->mem, &cfg->host, t.p, (size_t)t.n) != TDS_OK) {
    return no_memory(err);
  }
  for (size_t i = 0; i < cfg->host.n; i++) {
    char *c = &cfg->host.p[i];
    if (*c >= 'A' && *c <= 'Z') {
      *c = (char)(*c | 0x20);
    }
  }
  return WEIR_DRV_DONE;
}

/* --------------------------------------------------------- single options */

static weir_drv_status set_encrypt(struct weir_drv_cfg *cfg,
                                   const struct weir_drv_value *v,
                                   struct weir_drv_error *err) {
  struct weir_drv_text t = value_text(v);
  int b = value_bool(v);
  if (same(t, "strict")) {
    cfg->encrypt = TDS_ENCRYPT_STRICT;
  } else if (b == 1 || same(t, "mandatory")) {
    cfg->encrypt = TDS_ENCRYPT_MANDATORY;
  } else if (b == 0 || same(t, "optional")) {
    cfg->encrypt = TDS_ENCRYPT_OPTIONAL;
  } else {
    return bad(err, O_ENCRYPT, "must be optional, mandatory or strict");
  }
  return WEIR_DRV_DONE;
}

static weir_drv_status set_bool(bool *out,
                                enum option o,
                                const struct weir_drv_value *v,
                                struct weir_drv_error *err) {
  int b = value_bool(v);
  if (b < 0) {
    return bad(err, o, "must be true or false");
  }
  *out = b == 1;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_packet_size(struct weir_drv_cfg *cfg,
                                       const struct weir_drv_value *v,
                                       struct weir_drv_error *err) {
  int64_t n = value_number(v);
  if (n < TDS_PACKET_MIN || n > TDS_PACKET_MAX) {
    return bad(err, O_PACKET_SIZE, "must be 512 to 32767");
  }
  cfg->packet_size = (uint32_t)n;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_prepared(struct weir_drv_cfg *cfg,
                                    const struct weir_drv_value *v,
                                    struct weir_drv_error *err) {
  int64_t n = value_number(v);
  if (n < 0 || n > TDS_PREPARED_MAX) {
    return bad(err, O_PREPARED, "must be 0 to 1024");
  }
  cfg->prepared = (uint32_t)n;
  return WEIR_DRV_DONE;
}

static weir_drv_status set_intent(struct weir_drv_cfg *cfg,
                                  const struct weir_drv_value *v,
                                  struct weir_drv_error *err) {
  struct weir_drv_text t = value_text(v);
  cfg->read_only = same(t, "ReadOnly");
  if (!cfg->read_only && !same(t, "ReadWrite")) {
    return bad(err, O_INTENT, "must be ReadWrite or ReadOnly");
  }
  return WEIR_DRV_DONE;
}

/* Options that exist so that they can be refused by name. */
static weir_drv_status check_refused(enum option o,
                                     const struct weir_drv_value *v,
                                     struct weir_drv_error *err) {
  struct weir_drv_text t = value_text(v);
  if (o == O_AUTHENTICATION) {
    bool sql = same(t, "SqlPassword") || same(t, "Sql Password");
    return sql ? WEIR_DRV_DONE
               : unsupported(err, o,
                             "only SqlPassword is supported so far; use User "
                             "ID and Password");
  }
  if (value_bool(v) == 0) {
    return WEIR_DRV_DONE;
  }
  return unsupported(err, o,
                     o == O_MARS ? "only false is supported"
                                 : "integrated authentication is not supported "
                                   "yet; use User ID and Password");
}

static weir_drv_status set(struct weir_drv_cfg *cfg,
                           enum option o,
                           const struct weir_drv_value *v,
                           struct weir_drv_error *err) {
  bool ignored = false;
  switch (o) {
  case O_SERVER:
    return set_server(cfg, v, err);
  case O_DATABASE:
    return set_login_text(cfg, &cfg->database, o, v, err);
  case O_USER:
    return set_login_text(cfg, &cfg->user, o, v, err);
  case O_PASSWORD:
    cfg->password_given = true;
    return WEIR_DRV_DONE;
  case O_ENCRYPT:
    return set_encrypt(cfg, v, err);
  case O_TRUST:
    return set_bool(&cfg->trust, o, v, err);
  case O_CERT_HOST:
    return set_text(cfg, &cfg->host_in_certificate, o, v, err);
  case O_CERT_FILE:
    return set_text(cfg, &cfg->server_certificate, o, v, err);
  case O_CA_FILE:
    return set_text(cfg, &cfg->ca_file, o, v, err);
  case O_APP:
    return set_login_text(cfg, &cfg->app, o, v, err);
  case O_WORKSTATION:
    return set_login_text(cfg, &cfg->workstation, o, v, err);
  case O_PACKET_SIZE:
    return set_packet_size(cfg, v, err);
  case O_PREPARED:
    return set_prepared(cfg, v, err);
  case O_LANGUAGE:
    return set_login_text(cfg, &cfg->language, o, v, err);
  case O_INTENT:
    return set_intent(cfg, v, err);
  case O_MULTI_SUBNET:
  case O_PERSIST:
    return set_bool(&ignored, o, v, err);
  case O_MARS:
  case O_INTEGRATED:
  case O_AUTHENTICATION:
    return check_refused(o, v, err);
  case O_COUNT:
  default:
    return WEIR_DRV_E_INVALID;
  }
}

/* ------------------------------------------------------------------- whole */

/* The option of a name or an alias; O_COUNT if there is none. */
static enum option find(struct weir_drv_text name) {
  for (int i = 0; i < O_COUNT; i++) {
    const char *p = list[i].aliases.p;
    if (same(name, list[i].name.p)) {
      return (enum option)i;
    }
    while (p != NULL) {
      const char *comma = strchr(p, ',');
      size_t n = comma == NULL ? strlen(p) : (size_t)(comma - p);
      if (n == name.n && strncasecmp(p, name.p, n) == 0) {
        return (enum option)i;
      }
      p = comma == NULL ? NULL : comma + 1;
    }
  }
  return O_COUNT;
}

/* Rules between options. */
static weir_drv_status check_whole(struct weir_drv_cfg *cfg,
                                   struct weir_drv_error *err) {
  if (cfg->host.n == 0) {
    return bad(err, O_SERVER, "is required");
  }
  if (cfg->server_certificate.n > 0 && cfg->ca_file.n > 0) {
    return bad(err, O_CERT_FILE, "cannot be used together with CA File");
  }
  return WEIR_DRV_DONE;
}

/* Every setting exists, so that no reader has to ask for NULL. */
static int fill_empty(struct weir_drv_cfg *cfg) {
  struct tds_setting *all[] = {&cfg->server,   &cfg->host,
                               &cfg->database, &cfg->user,
                               &cfg->ca_file,  &cfg->host_in_certificate,
                               &cfg->app,      &cfg->workstation,
                               &cfg->language, &cfg->server_certificate};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    int rc = copy(cfg->mem, all[i], "", 0);
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
    return no_memory(err);
  }
  cfg->mem = mem;
  cfg->port = PORT_DEFAULT;
  cfg->packet_size = TDS_PACKET_DEFAULT;
  cfg->prepared = TDS_PREPARED_DEFAULT;
  cfg->encrypt = TDS_ENCRYPT_MANDATORY;
  weir_drv_status rc =
      fill_empty(cfg) == TDS_OK ? WEIR_DRV_DONE : no_memory(err);
  for (uint32_t i = 0; rc == WEIR_DRV_DONE && i < n; i++) {
    enum option which = find(o[i].name);
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
                               &cfg->language, &cfg->server_certificate};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (all[i]->p != NULL) {
      cfg->mem->release(cfg->mem->ctx, all[i]->p);
    }
  }
  cfg->mem->release(cfg->mem->ctx, cfg);
}

/* -------------------------------------------------------------------- keys */

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
                               enum option o,
                               const struct tds_setting *s) {
  return s->n == 0 ? WEIR_DRV_DONE : part(sink, list[o].name.p, s->p, s->n);
}

static weir_drv_status part_server(const struct weir_drv_cfg *cfg,
                                   const struct weir_drv_key_sink *sink) {
  char text[300];
  int n = snprintf(text, sizeof text, "%s,%u", cfg->host.p, cfg->port);
  return part(sink, list[O_SERVER].name.p, text, (size_t)n);
}

static weir_drv_status part_modes(const struct weir_drv_cfg *cfg,
                                  const struct weir_drv_key_sink *sink) {
  static const char *const words[] = {"optional", "mandatory", "strict"};
  const char *word = words[cfg->encrypt];
  weir_drv_status rc = WEIR_DRV_DONE;
  char size[16];
  int n = snprintf(size, sizeof size, "%u", cfg->packet_size);
  if (cfg->encrypt != TDS_ENCRYPT_MANDATORY) {
    rc = part(sink, list[O_ENCRYPT].name.p, word, strlen(word));
  }
  if (rc == WEIR_DRV_DONE && cfg->trust) {
    rc = part(sink, list[O_TRUST].name.p, "true", 4);
  }
  if (rc == WEIR_DRV_DONE && cfg->packet_size != TDS_PACKET_DEFAULT) {
    rc = part(sink, list[O_PACKET_SIZE].name.p, size, (size_t)n);
  }
  n = snprintf(size, sizeof size, "%u", cfg->prepared);
  if (rc == WEIR_DRV_DONE && cfg->prepared != TDS_PREPARED_DEFAULT) {
    rc = part(sink, list[O_PREPARED].name.p, size, (size_t)n);
  }
  if (rc == WEIR_DRV_DONE && cfg->read_only) {
    rc = part(sink, list[O_INTENT].name.p, "ReadOnly", 8);
  }
  return rc;
}

weir_drv_status tds_options_key(const struct weir_drv_cfg *cfg,
                                int32_t which,
                                const struct weir_drv_key_sink *sink) {
  const struct {
    enum option o;
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
