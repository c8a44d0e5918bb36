/* SPDX-License-Identifier: MIT */
/* tds_credential.c - asks for what proves who we are, and sends it: LOGIN7, and
 * the token for which the server has asked (MS-TDS 2.2.6.4, 2.2.6.3).
 *
 * A secret lies in memory of its own kind from the engine's answer to the last
 * byte written, and nowhere afterwards. */
#include <string.h>
#include <unistd.h>

#include "tds_conn.h"
#include "tds_fail.h"
#include "tds_feature.h"
#include "tds_fedauth.h"
#include "tds_login7.h"
#include "tds_prelogin.h"

static struct weir_drv_text text_of(const struct tds_setting *s) {
  struct weir_drv_text t = {s->n == 0 ? NULL : s->p, s->n};
  return t;
}

static struct weir_drv_text text_in(const struct tds_buf *b) {
  struct weir_drv_text t = {b->n == 0 ? NULL : (const char *)b->p, b->n};
  return t;
}

/* ------------------------------------------------------------- the message */

/* The size to ask for: a packet and its TLS overhead must fit one record. */
static uint32_t wanted_size(const struct weir_drv_conn *c) {
  uint32_t size = c->cfg->packet_size;
  bool capped = c->link.tls_in && size > TDS_PACKET_MAX_TLS;
  return capped ? TDS_PACKET_MAX_TLS : size;
}

/* The texts of the configuration; this machine's name lies in host. */
static void fill_texts(const struct weir_drv_conn *c,
                       const char *host,
                       struct tds_login *l) {
  const struct weir_drv_cfg *cfg = c->cfg;
  const struct tds_setting *app = cfg->app.n > 0 ? &cfg->app : &c->app;
  bool named = cfg->workstation.n > 0;
  l->host = named ? cfg->workstation.p : host;
  l->host_n = named ? cfg->workstation.n : strlen(host);
  l->app = app->n > 0 ? app->p : "Weir";
  l->app_n = app->n > 0 ? app->n : 4;
  l->server = cfg->host.p;
  l->server_n = cfg->host.n > TDS_LOGIN_UNITS ? TDS_LOGIN_UNITS : cfg->host.n;
  l->language = cfg->language.p;
  l->language_n = cfg->language.n;
  l->database = cfg->database.p;
  l->database_n = cfg->database.n;
}

/* Whose login it is: his name and password, or nobody's. */
static void fill_user(const struct weir_drv_conn *c,
                      const struct weir_drv_bytes *secret,
                      struct tds_login *l) {
  if (c->cfg->auth == TDS_AUTH_PASSWORD) {
    l->user = (const char *)c->user.p;
    l->user_n = c->user.n;
    l->password = (const char *)secret->p;
    l->password_n = (size_t)secret->n;
  }
}

/* The data of the feature, empty without federated authentication.  Returns as
 * tds_fedauth_put_token. */
static int put_fedauth(const struct weir_drv_conn *c,
                       const struct weir_drv_bytes *secret,
                       struct tds_buf *to) {
  const struct tds_login_state *s = &c->login;
  switch (c->cfg->auth) {
  case TDS_AUTH_TOKEN:
    return tds_fedauth_put_token(to, s->echo, secret->p, (size_t)secret->n,
                                 s->has_nonce ? s->nonce : NULL);
  case TDS_AUTH_ASKED:
    return tds_fedauth_put_wish(to, s->echo, c->cfg->workflow);
  default:
    return TDS_OK;
  }
}

static weir_drv_status bad_token(struct weir_drv_conn *c, struct tds_turn *t) {
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                       "the access token is not valid UTF-8 or longer than a "
                       "login may be");
}

/* Fills c->login.record with LOGIN7.  Returns TDS_NEXT or WEIR_DRV_FAIL. */
static weir_drv_status write_record(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    const struct tds_login *l) {
  struct tds_buf *record = &c->login.record;
  const char *what = NULL;
  size_t n = 0;
  if (tds_login7_room(l) > TDS_LOGIN_RECORD_MAX) {
    return bad_token(c, t);
  }
  record->n = 0;
  if (tds_buf_room(record, tds_login7_room(l)) != TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  if (tds_login7_write(l, record->p, &n, &what) != TDS_OK) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                         "%s is not valid UTF-8 or longer than 128 characters",
                         what);
  }
  record->n = n;
  c->login.record_at = 0;
  c->login.record_type = TDS_PKT_LOGIN7;
  tds_link_secret(&c->link, true);
  return tds_conn_go(c, TDS_STEP_LOGIN);
}

static weir_drv_status make_login(struct weir_drv_conn *c,
                                  struct tds_turn *t,
                                  const struct weir_drv_bytes *secret) {
  static const uint8_t yes[] = {1};
  bool strict = c->cfg->encrypt == TDS_ENCRYPT_STRICT;
  struct tds_buf fed = {.mem = &c->drv->mem, .flags = WEIR_DRV_V_SECRET};
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) {
    host[0] = '\0';
  }
  int rc = put_fedauth(c, secret, &fed);
  struct tds_ask asks[] = {{TDS_FEATURE_UTF8, {yes, sizeof yes}},
                           {TDS_FEATURE_FEDAUTH, {fed.p, fed.n}}};
  bool federated = c->cfg->auth != TDS_AUTH_PASSWORD;
  c->agreed_size = wanted_size(c);
  c->login.asked = TDS_ASKED_UTF8 | (federated ? TDS_ASKED_FEDAUTH : 0);
  struct tds_login l = {.version = strict ? TDS_V80 : TDS_V74,
                        .packet_size = c->agreed_size,
                        .pid = (uint32_t)getpid(),
                        .read_only = c->cfg->read_only,
                        .asks = asks,
                        .n_asks = federated ? 2 : 1};
  fill_texts(c, host, &l);
  fill_user(c, secret, &l);
  weir_drv_status end = rc == TDS_OK        ? write_record(c, t, &l)
                        : rc == TDS_E_NOMEM ? tds_conn_no_memory(c, t)
                                            : bad_token(c, t);
  tds_buf_fini(&fed);
  return end;
}

/* --------------------------------------------------------------- asking for it */

static weir_drv_status ask_password(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  struct weir_drv_req_cred *q = &c->credential;
  q->kind = WEIR_DRV_CRED_PASSWORD;
  q->option.p = "Password";
  q->option.n = 8;
  return tds_connect_ask(c, t, WEIR_DRV_REQ_CREDENTIAL, q);
}

static weir_drv_status ask_token(struct weir_drv_conn *c, struct tds_turn *t) {
  struct weir_drv_req_cred *q = &c->credential;
  const struct tds_login_state *l = &c->login;
  q->kind = WEIR_DRV_CRED_BEARER;
  q->resource = text_in(&l->spn);
  q->authority = text_in(&l->sts);
  q->nonce.p = l->has_nonce ? l->nonce : NULL;
  q->nonce.n = l->has_nonce ? sizeof l->nonce : 0;
  q->option.p = "Access Token";
  q->option.n = 12;
  return tds_connect_ask(c, t, WEIR_DRV_REQ_CREDENTIAL, q);
}

static weir_drv_status ask(struct weir_drv_conn *c, struct tds_turn *t) {
  struct weir_drv_req_cred *q = &c->credential;
  q->struct_size = sizeof *q;
  q->attempt = c->attempt;
  q->server = text_of(&c->cfg->server);
  q->principal = text_of(&c->cfg->user);
  return c->cfg->auth == TDS_AUTH_PASSWORD ? ask_password(c, t)
                                           : ask_token(c, t);
}

/* The engine's answer, or NULL with *out filled. */
static const struct weir_drv_rep_cred *taken(struct weir_drv_conn *c,
                                             struct tds_turn *t,
                                             const char *missing,
                                             weir_drv_status *out) {
  const struct weir_drv_rep_cred *r = t->wake->reply;
  c->asked = false;
  if (t->wake->reply_status < 0 || r == NULL) {
    *out = tds_connect_refused(c, t, WEIR_DRV_K_AUTH, WEIR_DRV_SCOPE_CONFIG,
                               missing);
    return NULL;
  }
  return r;
}

static weir_drv_status take_password(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  weir_drv_status rc = WEIR_DRV_FAIL;
  const struct weir_drv_rep_cred *r =
      taken(c, t,
            c->cfg->password_given ? "no password could be had"
                                   : "no password was given",
            &rc);
  if (r == NULL) {
    return rc;
  }
  bool own = c->cfg->user.n > 0;
  const char *user = own ? c->cfg->user.p : r->principal.p;
  size_t n = own ? c->cfg->user.n : (size_t)r->principal.n;
  if (n == 0) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                         "User ID is missing");
  }
  if (tds_conn_set(&c->user, user, n) != TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  return make_login(c, t, &r->secret);
}

/* A token, and when it ends.  NULL with *out filled if there is none. */
static const struct weir_drv_rep_cred *take_token(struct weir_drv_conn *c,
                                                  struct tds_turn *t,
                                                  weir_drv_status *out) {
  const struct weir_drv_rep_cred *r =
      taken(c, t, "no access token could be had", out);
  if (r != NULL && r->secret.n == 0) {
    *out = tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH,
                         "the access token is empty");
    return NULL;
  }
  c->auth_expires_s = r == NULL ? 0 : r->expires_unix_s;
  return r;
}

weir_drv_status tds_credential_wait(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  static const struct weir_drv_bytes nothing = {NULL, 0};
  weir_drv_status rc = WEIR_DRV_FAIL;
  if (c->cfg->auth == TDS_AUTH_ASKED) {
    return make_login(c, t, &nothing);
  }
  if (!tds_connect_answered(c, t)) {
    return ask(c, t);
  }
  if (c->cfg->auth == TDS_AUTH_PASSWORD) {
    return take_password(c, t);
  }
  const struct weir_drv_rep_cred *r = take_token(c, t, &rc);
  return r == NULL ? rc : make_login(c, t, &r->secret);
}

weir_drv_status tds_credential_token(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  struct tds_login_state *l = &c->login;
  weir_drv_status end = WEIR_DRV_FAIL;
  if (!tds_connect_answered(c, t)) {
    return ask(c, t);
  }
  const struct weir_drv_rep_cred *r = take_token(c, t, &end);
  if (r == NULL) {
    return end;
  }
  l->record.n = 0;
  int rc = tds_fedauth_put_message(&l->record, r->secret.p, (size_t)r->secret.n,
                                   l->has_nonce ? l->nonce : NULL);
  if (rc != TDS_OK) {
    return rc == TDS_E_NOMEM ? tds_conn_no_memory(c, t) : bad_token(c, t);
  }
  l->record_at = 0;
  l->record_type = TDS_PKT_FEDAUTH;
  l->told = true;
  tds_link_secret(&c->link, true);
  return tds_conn_go(c, TDS_STEP_LOGIN);
}

/* ------------------------------------------------------------------ sending */

/* Each packet but the last is full; none is larger than before the login. */
static weir_drv_status queue_piece(struct weir_drv_conn *c) {
  struct tds_login_state *l = &c->login;
  const size_t most = TDS_PACKET_LOGIN - TDS_PACKET_HEAD;
  size_t left = l->record.n - l->record_at;
  size_t n = left < most ? left : most;
  uint8_t *body = tds_link_body(&c->link, n);
  if (body == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  memcpy(body, l->record.p + l->record_at, n);
  l->record_at += n;
  return tds_link_send(&c->link, l->record_type, left == n ? TDS_ST_EOM : 0, n);
}

static weir_drv_status sent(struct weir_drv_conn *c) {
  tds_buf_fini(&c->login.record);
  tds_link_secret(&c->link, false);
  if (c->channel == TDS_CHANNEL_LOGIN_ONLY) {
    tds_link_drop_tls(&c->link);
  }
  tds_reply_begin(c, NULL);
  c->decoder.no_results = true;
  c->link.reader.handshake = 0;
  c->link.reader.limit =
      c->agreed_size > TDS_PACKET_LOGIN ? c->agreed_size : TDS_PACKET_LOGIN;
  return tds_conn_go(c, TDS_STEP_LOGIN_READ);
}

weir_drv_status tds_credential_send(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  for (;;) {
    weir_drv_status rc = tds_link_flush(&c->link);
    if (rc == WEIR_DRV_WAIT) {
      return tds_conn_wait(c, t, 0);
    }
    /* A server that hung up while we wrote may have said why: read on. */
    if (rc < 0 || c->login.record_at == c->login.record.n) {
      return sent(c);
    }
    rc = queue_piece(c);
    if (rc < 0) {
      return tds_conn_broken(c, t, rc);
    }
  }
}
