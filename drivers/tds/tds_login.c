/* SPDX-License-Identifier: MIT */
/* tds_login.c - reads the answer to LOGIN7. */
#include <stdio.h>
#include <string.h>

#include "tds_feature.h"
#include "tds_reply.h"
#include "tds_session.h"

/* "login as 'sa': the server's words", with the database if one was named. */
static weir_drv_status fail_login(struct weir_drv_conn *c, struct tds_turn *t) {
  /* Names have at most 128 UTF-16 units, so these bounds cut nothing. */
  char prefix[1400];
  char user[513] = "";
  bool known = c->cfg->auth == TDS_AUTH_PASSWORD;
  bool named = c->cfg->database.n > 0;
  if (c->user.n > 0) {
    memcpy(user, c->user.p, c->user.n < 512 ? c->user.n : 512);
  }
  (void)snprintf(
      prefix, sizeof prefix, "login: %s%.512s%s to %.255s,%u%s%.512s%s: ",
      known ? "as '" : "with an access token", user, known ? "'" : "",
      c->cfg->host.p, c->cfg->port, named ? ", database '" : "",
      c->cfg->database.p, named ? "'" : "");
  (void)tds_reply_failure(c, t, prefix);
  if (t->err != NULL && t->err->scope < WEIR_DRV_SCOPE_CONN) {
    t->err->scope = WEIR_DRV_SCOPE_CONN;
  }
  (void)tds_conn_go(c, TDS_STEP_DEAD);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

static weir_drv_status finish_login(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  const struct tds_failure *f = &c->reply.failure;
  bool fatal = f->set && f->severity >= TDS_SEVERITY_FATAL;
  if (f->set && (fatal || !c->logged_in)) {
    return fail_login(c, t);
  }
  if (c->login.informed && !c->login.told && !c->logged_in) {
    return tds_conn_go(c, TDS_STEP_TOKEN);
  }
  if (!c->reply.final) {
    (void)tds_session_bad(c, "the reply ends without a final DONE");
    return tds_reply_malformed(c, t, TDS_E_PROTO);
  }
  if (c->routed.n > 0) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_UNSUPPORTED,
                         "the server routes to %.*s; routing is not supported "
                         "yet",
                         (int)c->routed.n, (const char *)c->routed.p);
  }
  if (!c->logged_in) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                         "the server neither accepts nor refuses the login");
  }
  if ((c->login.asked & ~c->login.acked & TDS_ASKED_FEDAUTH) != 0) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                         "the server does not acknowledge federated "
                         "authentication");
  }
  if (tds_link_unread(&c->link)) {
    (void)tds_session_bad(c, "the server says more than the login asked for");
    return tds_reply_malformed(c, t, TDS_E_PROTO);
  }
  if (tds_session_keep_baseline(c) != TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  c->link.packet_size = c->agreed_size;
  c->link.reader.limit = c->agreed_size;
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_DONE);
}

weir_drv_status tds_login_read(struct weir_drv_conn *c, struct tds_turn *t) {
  /* What TLS answered by itself; a broken stream shows itself when read. */
  (void)tds_link_flush(&c->link);
  for (;;) {
    int64_t why = 0;
    int ev = tds_reply_event(c, &why);
    if (ev < 0) {
      return tds_reply_malformed(c, t, ev);
    }
    switch (ev) {
    case TDS_EV_END:
      return finish_login(c, t);
    case TDS_EV_WAIT:
      return tds_conn_wait(c, t, WEIR_DRV_EV_READ);
    case TDS_EV_AGAIN:
      return tds_conn_again(t);
    case TDS_EV_LOST:
      return c->reply.failure.set ? fail_login(c, t)
                                  : tds_conn_broken(c, t, why);
    default:
      break;
    }
    int rc = tds_reply_apply(c, ev);
    if (rc < 0) {
      return tds_reply_malformed(c, t, rc);
    }
  }
}
