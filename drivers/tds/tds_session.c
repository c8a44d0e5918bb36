/* SPDX-License-Identifier: MIT */
/* tds_session.c - the truth about a session is what the server says of it, in
 * whatever answer it says it. */
#include "tds_session.h"

#include <stdio.h>
#include <string.h>

#include "tds_decode.h"
#include "tds_feature.h"
#include "tds_fedauth.h"
#include "tds_prelogin.h"
#include "tds_txn.h"

void tds_session_init(struct weir_drv_conn *c) {
  const struct tds_mem *mem = &c->drv->mem;
  c->now.database.mem = mem;
  c->now.language.mem = mem;
  c->baseline.database.mem = mem;
  c->baseline.language.mem = mem;
}

void tds_session_fini(struct weir_drv_conn *c) {
  tds_buf_fini(&c->now.database);
  tds_buf_fini(&c->now.language);
  tds_buf_fini(&c->baseline.database);
  tds_buf_fini(&c->baseline.language);
}

int tds_session_bad(struct weir_drv_conn *c, const char *why) {
  return tds_decode_bad(&c->decoder, TDS_E_PROTO, "%s", why);
}

static int copy_text(struct tds_buf *to, const struct tds_buf *from) {
  return tds_conn_set(to, (const char *)from->p, from->n);
}

static void copy_collation(struct tds_settings *to,
                           const struct tds_settings *from) {
  memcpy(to->collation, from->collation, sizeof to->collation);
  to->collation_n = from->collation_n;
}

int tds_session_keep_baseline(struct weir_drv_conn *c) {
  copy_collation(&c->baseline, &c->now);
  int rc = copy_text(&c->baseline.database, &c->now.database);
  return rc == TDS_OK ? copy_text(&c->baseline.language, &c->now.language) : rc;
}

bool tds_session_moved(const struct weir_drv_conn *c) {
  const struct tds_buf *now = &c->now.database;
  const struct tds_buf *home = &c->baseline.database;
  return home->n > 0 &&
         (now->n != home->n || memcmp(now->p, home->p, now->n) != 0);
}

void tds_session_state(const struct weir_drv_conn *c,
                       struct weir_drv_wait *wait) {
  wait->usable = c->step == TDS_STEP_IDLE;
  wait->txn = tds_txn_state(c);
  wait->dirty = c->dirty;
  wait->auth_expires_unix = c->auth_expires_s;
  if (wait->txn != WEIR_DRV_TXN_NONE) {
    wait->dirty |= WEIR_DRV_DIRTY_TXN;
  }
  /* The reset leaves the level as it is (MS-TDS 2.2.3.1.2), and servers differ
   * on the database. */
  if (c->isolation || tds_session_moved(c)) {
    wait->dirty |= WEIR_DRV_DIRTY_SETTINGS;
  }
}

/* ---------------------------------------------------------------- ENVCHANGE */

static int set_packet_size(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  uint32_t size = 0;
  for (size_t i = 0; i < e->text_n; i++) {
    if (e->text[i] < '0' || e->text[i] > '9' || size > TDS_PACKET_MAX) {
      return tds_session_bad(c, "the server set an impossible packet size");
    }
    size = size * 10 + (uint32_t)(e->text[i] - '0');
  }
  if (size < TDS_PACKET_MIN || size > TDS_PACKET_MAX) {
    return tds_session_bad(c, "the server set an impossible packet size");
  }
  c->agreed_size = size;
  return TDS_OK;
}

static int set_routed(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  char port[16];
  if (c->op != TDS_OP_CONNECT) {
    return tds_session_bad(c, "the server routes a session that is logged in");
  }
  if (c->routed.n > 0) {
    return tds_session_bad(c, "the server routes to two places at once");
  }
  int n = snprintf(port, sizeof port, ",%u", tds_u16(e->bytes.p + 3));
  int rc = tds_conn_set(&c->routed, e->text, e->text_n);
  return rc == TDS_OK ? tds_buf_add(&c->routed, port, (size_t)n) : rc;
}

static int set_collation(struct weir_drv_conn *c) {
  const struct tds_span *s = &c->decoder.env.bytes;
  if (s->n != 0 && s->n != sizeof c->now.collation) {
    return tds_session_bad(c, "a collation that is not 5 bytes");
  }
  memcpy(c->now.collation, s->n == 0 ? (const void *)"" : s->p, s->n);
  c->now.collation_n = (uint8_t)s->n;
  return TDS_OK;
}

static int begun(struct weir_drv_conn *c) {
  const struct tds_span *s = &c->decoder.env.bytes;
  if (s->n != 8) {
    return tds_session_bad(c, "a transaction descriptor that is not 8 bytes");
  }
  c->transaction = tds_u64(s->p);
  c->scope.doomed = false;
  return TDS_OK;
}

static int ended(struct weir_drv_conn *c) {
  c->transaction = 0;
  c->scope.doomed = false;
  c->scope.ended = c->decoder.env.type;
  return TDS_OK;
}

/* Everything the session carried is gone; the server does not say so one by one
 * (MS-TDS 2.2.3.1.2).  What the answer has told before this confirmation came is
 * newer than the reset: servers may confirm late. */
static int on_reset(struct weir_drv_conn *c) {
  uint8_t told = c->reply.told;
  int rc = TDS_OK;
  if (!c->reset_sent) {
    return tds_session_bad(
        c, "the server confirms a reset that was not asked for");
  }
  c->reset_done = true;
  tds_stmt_forget(c);
  c->dirty = 0;
  if (c->request.reset == TDS_ST_RESET) {
    c->scope.open = false;
    if ((told & TDS_TOLD_BEGUN) == 0) {
      c->transaction = 0;
      c->scope.doomed = false;
    }
  }
  if ((told & TDS_TOLD_COLLATION) == 0) {
    copy_collation(&c->now, &c->baseline);
  }
  if ((told & TDS_TOLD_LANGUAGE) == 0) {
    rc = copy_text(&c->now.language, &c->baseline.language);
  }
  if (rc == TDS_OK && (told & TDS_TOLD_DATABASE) == 0) {
    rc = copy_text(&c->now.database, &c->baseline.database);
  }
  return rc;
}

static int told(struct weir_drv_conn *c, uint8_t what, int rc) {
  c->reply.told |= what;
  return rc;
}

int tds_session_env(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  switch (e->type) {
  case TDS_ENV_DATABASE:
    return told(c, TDS_TOLD_DATABASE,
                tds_conn_set(&c->now.database, e->text, e->text_n));
  case TDS_ENV_LANGUAGE:
    return told(c, TDS_TOLD_LANGUAGE,
                tds_conn_set(&c->now.language, e->text, e->text_n));
  case TDS_ENV_COLLATION:
    return told(c, TDS_TOLD_COLLATION, set_collation(c));
  case TDS_ENV_PACKET:
    return c->op == TDS_OP_CONNECT ? set_packet_size(c) : TDS_OK;
  case TDS_ENV_BEGIN:
  case TDS_ENV_ENLIST:
    return told(c, TDS_TOLD_BEGUN, begun(c));
  case TDS_ENV_COMMIT:
  case TDS_ENV_ROLLBACK:
  case TDS_ENV_DEFECT:
  case TDS_ENV_ENDED:
    return told(c, TDS_TOLD_ENDED, ended(c));
  case TDS_ENV_RESET:
    return on_reset(c);
  case TDS_ENV_ROUTING:
  case TDS_ENV_ROUTING2:
    return set_routed(c);
  default:
    return TDS_OK;
  }
}

/* ------------------------------------------------------------------- login */

int tds_session_ack(struct weir_drv_conn *c) {
  uint32_t v = c->decoder.ack.version;
  bool strict = c->cfg->encrypt == TDS_ENCRYPT_STRICT;
  bool known = v == TDS_V74 || v == TDS_V73B || v == TDS_V73A || v == TDS_V72 ||
               (strict && v == TDS_V80);
  if (c->op != TDS_OP_CONNECT || c->logged_in) {
    return tds_session_bad(c, "a LOGINACK that nobody waits for");
  }
  if (!known) {
    return tds_decode_bad(&c->decoder, TDS_E_UNSUPPORTED,
                          "the server speaks TDS version 0x%08X, which is not "
                          "supported",
                          v);
  }
  c->logged_in = true;
  c->version = v;
  memcpy(c->server_version, c->decoder.ack.server, 4);
  return TDS_OK;
}

int tds_session_feature(struct weir_drv_conn *c) {
  struct tds_login_state *l = &c->login;
  char why[120];
  int rc = tds_feature_ack(&c->decoder.feature,
                           c->op == TDS_OP_CONNECT ? l->asked : 0, &l->acked,
                           l->has_nonce ? l->nonce : NULL, why, sizeof why);
  return rc == TDS_OK ? rc : tds_session_bad(c, why);
}

/* UTF-16 of the server as a text for the engine. */
static int keep_text(struct weir_drv_conn *c,
                     struct tds_buf *to,
                     const struct tds_span *from) {
  size_t at = 0;
  size_t n = 0;
  to->n = 0;
  int rc = tds_decode_text(to, from->p, from->n, &at, &n);
  if (rc == TDS_OK && memchr(to->p, 0, to->n) != NULL) {
    rc = tds_session_bad(c, "FEDAUTHINFO has a text with a zero in it");
  }
  return rc;
}

int tds_session_fedauth(struct weir_drv_conn *c) {
  struct tds_login_state *l = &c->login;
  struct tds_fedauth info;
  const char *why = NULL;
  if (c->op != TDS_OP_CONNECT || c->cfg->auth != TDS_AUTH_ASKED ||
      l->informed || c->logged_in) {
    return tds_session_bad(c, "FEDAUTHINFO that nobody waits for");
  }
  if (tds_fedauth_read(c->decoder.fedauth.p, c->decoder.fedauth.n, &info,
                       &why) != TDS_OK) {
    return tds_session_bad(c, why);
  }
  l->informed = true;
  int rc = keep_text(c, &l->sts, &info.sts);
  return rc == TDS_OK ? keep_text(c, &l->spn, &info.spn) : rc;
}
