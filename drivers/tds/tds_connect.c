/* SPDX-License-Identifier: MIT */
/* tds_connect.c - from a name to a session: the steps before IDLE. */
#include <string.h>
#include <sys/socket.h>

#include "tds_conn.h"
#include "tds_fail.h"
#include "tds_prelogin.h"
#include "tds_race.h"

struct weir_drv_error *tds_inner_init(struct tds_inner *i) {
  memset(i, 0, sizeof *i);
  i->err.struct_size = sizeof i->err;
  i->err.message = i->text;
  i->err.message_cap = sizeof i->text;
  return &i->err;
}

/* The host's text, which need not end in a NUL, without a "TLS: " of its own:
 * the phase says that already. */
static struct weir_drv_text inner_text(const struct tds_inner *i) {
  static const char tls[] = "TLS: ";
  size_t n = strnlen(i->text, sizeof i->text - 1);
  if (n > i->err.message_len) {
    n = i->err.message_len;
  }
  size_t skip = n >= sizeof tls && memcmp(i->text, tls, sizeof tls - 1) == 0
                    ? sizeof tls - 1
                    : 0;
  return (struct weir_drv_text){i->text + skip, n - skip};
}

weir_drv_status tds_inner_fail(struct weir_drv_conn *c,
                               struct tds_turn *t,
                               const struct tds_inner *i,
                               int32_t kind) {
  int32_t scope = i->err.scope >= WEIR_DRV_SCOPE_CONN ? i->err.scope
                                                      : WEIR_DRV_SCOPE_ENDPOINT;
  struct weir_drv_text text = inner_text(i);
  return tds_conn_fail(
      c, t, scope, i->err.kind != WEIR_DRV_K_OTHER ? i->err.kind : kind, "%.*s",
      text.n == 0 ? 6 : (int)text.n, text.n == 0 ? "failed" : text.p);
}

/* ------------------------------------------------------------------ resolve */

weir_drv_status tds_connect_start(struct weir_drv_conn *c,
                                  const struct weir_drv_connect_args *a,
                                  struct weir_drv_wait *wait,
                                  struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  const struct tds_mem *mem = &c->drv->mem;
  if (c->step != TDS_STEP_NEW) {
    return WEIR_DRV_E_INVALID;
  }
  c->op = TDS_OP_CONNECT;
  c->attempt = a->attempt;
  c->deadline = a->deadline;
  (void)tds_conn_go(c, TDS_STEP_RESOLVE);
  if (a->app_name.n > 0 && a->app_name.n <= TDS_OPTION_MAX) {
    c->app.p = mem->alloc(mem->ctx, a->app_name.n, 0);
    if (c->app.p == NULL) {
      return tds_conn_no_memory(c, &t);
    }
    memcpy(c->app.p, a->app_name.p, a->app_name.n);
    c->app.n = (size_t)a->app_name.n;
  }
  return tds_conn_run(c, &t);
}

weir_drv_status tds_connect_ask(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int32_t request,
                                const void *arg) {
  if (!c->asked) {
    c->asked = true;
    t->wait->request = request;
    t->wait->request_arg = arg;
  }
  return WEIR_DRV_WAIT;
}

bool tds_connect_answered(const struct weir_drv_conn *c,
                          const struct tds_turn *t) {
  return c->asked && t->wake != NULL &&
         (t->wake->why & WEIR_DRV_WHY_REPLY) != 0;
}

weir_drv_status tds_connect_refused(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    int32_t kind,
                                    int32_t scope,
                                    const char *what) {
  const struct weir_drv_error *e = t->wake->reply_error;
  bool said = e != NULL && e->message != NULL && e->message_len > 0;
  uint32_t n = said ? e->message_len : 0;
  if (said && n >= e->message_cap) {
    n = e->message_cap - 1;
  }
  return tds_conn_fail(c, t, said && e->scope > scope ? e->scope : scope,
                       said && e->kind != 0 ? e->kind : kind, "%s%s%.*s", what,
                       said ? ": " : "", (int)n, said ? e->message : "");
}

/* Those of a family, or all others, in their order. */
static void add_addresses(struct weir_drv_conn *c,
                          const struct weir_drv_rep_resolve *r,
                          int32_t family,
                          bool of_family) {
  for (uint32_t i = 0; i < r->n && c->n_addresses < TDS_ADDRESSES_MAX; i++) {
    if ((r->addr[i].family == family) == of_family) {
      c->addresses[c->n_addresses++] = r->addr[i];
    }
  }
}

static void keep_addresses(struct weir_drv_conn *c,
                           const struct weir_drv_rep_resolve *r) {
  bool ipv6 = c->cfg->addresses == TDS_ADDRESSES_IPV6;
  c->n_addresses = 0;
  c->address = 0;
  if (c->cfg->addresses == TDS_ADDRESSES_SYSTEM) {
    add_addresses(c, r, AF_UNSPEC, false);
    return;
  }
  add_addresses(c, r, ipv6 ? AF_INET6 : AF_INET, true);
  add_addresses(c, r, ipv6 ? AF_INET6 : AF_INET, false);
}

weir_drv_status tds_connect_resolve(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  if (!tds_connect_answered(c, t)) {
    c->resolve.struct_size = sizeof c->resolve;
    c->resolve.port = c->cfg->port;
    c->resolve.host.p = c->cfg->host.p;
    c->resolve.host.n = c->cfg->host.n;
    return tds_connect_ask(c, t, WEIR_DRV_REQ_RESOLVE, &c->resolve);
  }
  c->asked = false;
  if (t->wake->reply_status < 0 || t->wake->reply == NULL) {
    return tds_connect_refused(c, t, WEIR_DRV_K_NAME, WEIR_DRV_SCOPE_ENDPOINT,
                               "the host name did not resolve");
  }
  const struct weir_drv_rep_resolve *r = t->wake->reply;
  if (r->n == 0) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NAME,
                         "the host name has no address");
  }
  keep_addresses(c, r);
  return tds_conn_go(c, TDS_STEP_CONNECT);
}

/* ---------------------------------------------------------------------- tcp */

/* The address does not serve: try the next one, if there is any. */
static bool next_address(struct weir_drv_conn *c) {
  if (c->address + 1 >= c->n_addresses) {
    return false;
  }
  c->address++;
  tds_link_close(&c->link);
  c->prelogin_sent = false;
  c->message.n = 0;
  (void)tds_conn_go(c, TDS_STEP_CONNECT);
  return true;
}

/* Time is shared out: a dead address, or one where something takes connections
 * for a server that does not answer, must not use up all of it.  The last one
 * has the rest, which is the engine's to watch. */
weir_drv_time tds_connect_share(const struct weir_drv_conn *c,
                                uint32_t together) {
  const struct weir_drv_host *host = &c->drv->host;
  uint32_t left = (c->n_addresses - c->address + together - 1) / together;
  if (left < 2) {
    return WEIR_DRV_NEVER;
  }
  weir_drv_time now = host->now(host->ctx);
  bool known = c->deadline != WEIR_DRV_NEVER && c->deadline > now;
  return now + (known ? (c->deadline - now) / left : TDS_ADDRESS_NS);
}

/* Waits until PRELOGIN is answered.  Returns WEIR_DRV_WAIT, or TDS_NEXT: the
 * address has had its share. */
static weir_drv_status wait_for_address(struct weir_drv_conn *c,
                                        struct tds_turn *t,
                                        uint32_t events) {
  const struct weir_drv_host *host = &c->drv->host;
  bool over = c->next_address != WEIR_DRV_NEVER &&
              host->now(host->ctx) >= c->next_address;
  if (over && next_address(c)) {
    return TDS_NEXT;
  }
  t->wait->timer = over ? WEIR_DRV_NEVER : c->next_address;
  return tds_conn_wait(c, t, events);
}

weir_drv_status tds_connect_open(struct weir_drv_conn *c) {
  return tds_conn_go(c, c->cfg->encrypt == TDS_ENCRYPT_STRICT
                            ? TDS_STEP_STRICT
                            : TDS_STEP_PRELOGIN);
}

weir_drv_status tds_connect_tcp(struct weir_drv_conn *c, struct tds_turn *t) {
  const struct weir_drv_host *host = &c->drv->host;
  struct tds_inner inner;
  struct weir_drv_error *err = tds_inner_init(&inner);
  weir_drv_status rc = WEIR_DRV_DONE;
  if (c->link.stream == NULL && c->cfg->multi_subnet &&
      c->address + 1 < c->n_addresses) {
    return tds_conn_go(c, TDS_STEP_RACE);
  }
  if (c->link.stream == NULL) {
    weir_drv_stream *stream = NULL;
    c->next_address = tds_connect_share(c, 1);
    rc = host->stream_open(host->ctx, c->hc, &c->addresses[c->address], 0,
                           &stream, err);
    if (rc >= 0) {
      c->link.stream = stream;
      c->link.written = 0;
      rc = WEIR_DRV_WAIT;
    }
  } else {
    rc = host->stream_connected(c->link.stream, err);
  }
  if (rc == WEIR_DRV_E_AGAIN || rc == WEIR_DRV_WAIT) {
    return wait_for_address(c, t, WEIR_DRV_EV_WRITE);
  }
  if (rc < 0) {
    return next_address(c) ? TDS_NEXT
                           : tds_inner_fail(c, t, &inner, WEIR_DRV_K_NETWORK);
  }
  return tds_connect_open(c);
}

/* ---------------------------------------------------------------------- tls */

static struct weir_drv_text text_of(const struct tds_setting *s) {
  struct weir_drv_text t = {s->n == 0 ? NULL : s->p, s->n};
  return t;
}

/* Certificates are checked where TLS was asked for.  With Encrypt=optional
 * anyone in the middle could refuse TLS altogether, so a check would only
 * pretend (SqlClient decides likewise), unless it guards a token: without TLS
 * none is sent. */
static uint32_t tls_flags(const struct weir_drv_conn *c) {
  bool pretends = c->cfg->encrypt == TDS_ENCRYPT_OPTIONAL &&
                  c->cfg->auth == TDS_AUTH_PASSWORD;
  if (c->cfg->encrypt == TDS_ENCRYPT_STRICT) {
    return 0;
  }
  return WEIR_DRV_TLS_MAX_1_2 |
         (pretends || c->cfg->trust ? WEIR_DRV_TLS_NO_VERIFY : 0);
}

static weir_drv_status open_tls(struct weir_drv_conn *c,
                                struct weir_drv_error *err) {
  const struct weir_drv_host *host = &c->drv->host;
  struct weir_drv_tls_args a;
  bool strict = c->cfg->encrypt == TDS_ENCRYPT_STRICT;
  memset(&a, 0, sizeof a);
  a.struct_size = sizeof a;
  a.flags = tls_flags(c);
  a.server_name = text_of(&c->cfg->host);
  a.verify_name = text_of(&c->cfg->host_in_certificate);
  a.ca_file = text_of(&c->cfg->ca_file);
  a.pin_file = text_of(&c->cfg->server_certificate);
  a.peer = text_of(&c->cfg->server);
  if (strict) {
    a.alpn.p = "tds/8.0";
    a.alpn.n = 7;
  }
  c->link.tls_api = host->service(host->ctx, "weir.tls", 0);
  if (c->link.tls_api == NULL) {
    return tds_fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_UNSUPPORTED,
                    WEIR_DRV_RETRY_NO, "this program offers no TLS");
  }
  c->link.shaken = false;
  c->link.handshake_bytes = 0;
  c->link.reader.handshake = 1;
  return c->link.tls_api->open(host->ctx, c->hc, &a, &c->link.tls, err);
}

static weir_drv_status shake(struct weir_drv_conn *c,
                             struct tds_turn *t,
                             bool wrapped,
                             enum tds_step next) {
  struct tds_inner inner;
  struct weir_drv_error *err = tds_inner_init(&inner);
  weir_drv_status rc = WEIR_DRV_DONE;
  if (c->link.tls == NULL) {
    rc = open_tls(c, err);
  }
  if (rc == WEIR_DRV_DONE) {
    rc = tds_link_handshake(&c->link, wrapped, err);
  }
  if (rc == WEIR_DRV_WAIT) {
    uint32_t events = c->link.shaken ? 0 : WEIR_DRV_EV_READ;
    return wrapped ? tds_conn_wait(c, t, events)
                   : wait_for_address(c, t, events);
  }
  if (rc < 0) {
    return tds_inner_fail(c, t, &inner, WEIR_DRV_K_TLS);
  }
  return tds_conn_go(c, next);
}

weir_drv_status tds_connect_strict(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  return shake(c, t, false, TDS_STEP_PRELOGIN);
}

weir_drv_status tds_connect_wrapped(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  weir_drv_status rc = shake(c, t, true, TDS_STEP_CREDENTIAL);
  if (rc == TDS_NEXT && c->channel == TDS_CHANNEL_LOGIN_ONLY) {
    c->link.tls_in = false;
  }
  return rc;
}

/* ----------------------------------------------------------------- prelogin */

static weir_drv_status send_prelogin(struct weir_drv_conn *c) {
  uint8_t *body = tds_link_body(&c->link, TDS_PRELOGIN_REQUEST_MAX);
  if (body == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  size_t n = tds_prelogin_write(body, c->cfg->encrypt,
                                c->cfg->auth != TDS_AUTH_PASSWORD);
  memset(&c->link.reader, 0, sizeof c->link.reader);
  c->link.reader.limit = TDS_PACKET_LOGIN;
  c->prelogin_sent = true;
  return tds_link_send(&c->link, TDS_PKT_PRELOGIN, TDS_ST_EOM, n);
}

/* Whoever listens could use a token elsewhere, and a record that holds one does
 * not fit the single packet that login-only encryption covers. */
static weir_drv_status refuse_link(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_TLS,
                       "an access token is sent over full encryption only, "
                       "and the server %s; use Encrypt=mandatory",
                       c->channel == TDS_CHANNEL_LOGIN_ONLY
                           ? "would encrypt nothing but the login"
                           : "does not encrypt");
}

/* What both sides said decides on TLS. */
static weir_drv_status choose(struct weir_drv_conn *c, struct tds_turn *t) {
  struct tds_prelogin reply;
  const char *why = NULL;
  if (tds_prelogin_read(c->message.p, c->message.n, &reply, &why) != TDS_OK) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                         "%s", why);
  }
  tds_buf_fini(&c->message);
  c->login.echo = reply.fedauth != 0;
  c->login.has_nonce = reply.has_nonce != 0;
  memcpy(c->login.nonce, reply.nonce, sizeof c->login.nonce);
  if (reply.instance) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
                         "another instance listens on this port");
  }
  if (c->cfg->encrypt == TDS_ENCRYPT_STRICT) {
    c->channel = TDS_CHANNEL_FULL;
    return tds_conn_go(c, TDS_STEP_CREDENTIAL);
  }
  c->channel = tds_prelogin_channel(c->cfg->encrypt, reply.encryption);
  if (c->channel == TDS_CHANNEL_REFUSED) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_TLS,
                         "the server does not support encryption, which "
                         "Encrypt=mandatory demands");
  }
  if (c->cfg->auth != TDS_AUTH_PASSWORD && c->channel != TDS_CHANNEL_FULL) {
    return refuse_link(c, t);
  }
  return tds_conn_go(c, c->channel == TDS_CHANNEL_PLAIN ? TDS_STEP_CREDENTIAL
                                                        : TDS_STEP_WRAPPED);
}

static weir_drv_status prelogin_broken(struct weir_drv_conn *c,
                                       struct tds_turn *t,
                                       int64_t why) {
  if (why != WEIR_DRV_E_NOMEM && next_address(c)) {
    return TDS_NEXT;
  }
  return tds_conn_broken(c, t, why);
}

weir_drv_status tds_connect_prelogin(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  weir_drv_status rc = c->prelogin_sent ? WEIR_DRV_DONE : send_prelogin(c);
  if (rc == WEIR_DRV_DONE) {
    rc = tds_link_flush(&c->link);
  }
  if (rc < 0) {
    return prelogin_broken(c, t, rc);
  }
  for (;;) {
    struct tds_span body = {NULL, 0};
    int got = tds_packet_next(&c->link.reader, &c->link.in, &body);
    if (got == TDS_PACKET_END) {
      return choose(c, t);
    }
    if (got == TDS_PACKET_DATA) {
      if (c->message.n + body.n > TDS_PRELOGIN_MAX) {
        return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                             "the reply is too long");
      }
      if (tds_buf_add(&c->message, body.p, body.n) != TDS_OK) {
        return tds_conn_no_memory(c, t);
      }
      continue;
    }
    if (got < 0) {
      return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                           "%s; is this a SQL Server?", c->link.reader.why);
    }
    /* Packets that hold nothing lengthen no message. */
    if (c->link.reader.at > TDS_HANDSHAKE_MAX) {
      return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                           "the reply does not end");
    }
    int64_t n = tds_link_fill(&c->link);
    if (n == WEIR_DRV_E_AGAIN) {
      return wait_for_address(c, t, WEIR_DRV_EV_READ);
    }
    if (n < 0) {
      return prelogin_broken(c, t, n);
    }
  }
}
