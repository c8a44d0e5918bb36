/* SPDX-License-Identifier: MIT */
/* tds_message.c - what the server says of a request: messages, and what a DONE
 * says without words. */
#include <string.h>

#include "tds_reply.h"
#include "tds_session.h"

static struct weir_drv_text text(const char *p, size_t n) {
  struct weir_drv_text t = {n == 0 ? NULL : p, n};
  return t;
}

static void tell(struct weir_drv_conn *c, const struct tds_message *m) {
  const struct weir_drv_host *host = &c->drv->host;
  struct weir_drv_diag d;
  memset(&d, 0, sizeof d);
  d.struct_size = sizeof d;
  d.native = m->number;
  d.severity = m->severity;
  d.line = m->line;
  d.state = m->state;
  d.message = text(m->text, m->text_n);
  d.server = text(m->server, m->server_n);
  d.procedure = text(m->procedure, m->procedure_n);
  host->diag(host->ctx, c->hc, &d);
}

/* Keeps an error if it is the first or costs more than the one kept. */
static void keep(struct weir_drv_conn *c, const struct tds_message *m) {
  struct tds_failure *f = &c->reply.failure;
  struct tds_error_rule rule;
  tds_errors_find(m->number, m->state, m->severity, c->op == TDS_OP_CONNECT,
                  &rule);
  if ((rule.flags & TDS_EF_DOOMED) != 0 && c->transaction != 0) {
    c->scope.doomed = true;
  }
  if (f->set && rule.scope <= f->rule.scope) {
    return;
  }
  f->set = true;
  f->number = m->number;
  f->state = m->state;
  f->severity = m->severity;
  f->line = m->line;
  f->rule = rule;
  f->text_n = m->text_n;
  memcpy(f->text, m->text,
         m->text_n < sizeof f->text ? m->text_n : sizeof f->text);
}

/* The same for what a DONE says without words. */
static void keep_own(struct weir_drv_conn *c,
                     uint8_t severity,
                     const char *words) {
  struct tds_message m = {.severity = severity, .text = words};
  m.text_n = strlen(words);
  keep(c, &m);
}

void tds_message_fatal(struct tds_failure *f) {
  if (f->rule.scope < WEIR_DRV_SCOPE_CONN) {
    f->rule.scope = WEIR_DRV_SCOPE_CONN;
  }
}

int tds_message_take(struct weir_drv_conn *c, int event) {
  const struct tds_message *m = &c->decoder.message;
  if (c->op == TDS_OP_CONNECT && m->server_n > 0) {
    (void)tds_conn_set(&c->server_name, m->server, m->server_n);
  }
  /* "Changed database context" after a statement of our own helps nobody. */
  bool noise = event == TDS_EV_INFO && c->op == TDS_OP_RESET;
  bool ours = c->outputs.front > 0 ||
              tds_stmt_is_stale(c, m->number, m->text, m->text_n);
  bool quiet = c->reply.drain || noise || ours;
  if (!quiet || m->severity >= TDS_SEVERITY_FATAL) {
    tell(c, m);
  }
  if (c->outputs.front > 0 && m->severity < TDS_SEVERITY_FATAL) {
    c->reply.error_seen = true; /* of a handle that was given back */
    return TDS_OK;
  }
  if (event == TDS_EV_ERROR) {
    c->reply.error_seen = true;
    keep(c, m);
  }
  return TDS_OK;
}

int tds_message_done(struct weir_drv_conn *c) {
  static const char fatal[] = "the server ended the request with an error and "
                              "wants its results discarded";
  static const char unsaid[] = "the server reported an error without saying "
                               "which";
  const struct tds_done *d = &c->decoder.done;
  struct tds_reply *r = &c->reply;
  if ((d->status & TDS_DONE_ATTN) != 0) {
    if (!r->attention) {
      return tds_session_bad(c,
                             "an attention is acknowledged that was not sent");
    }
    r->acknowledged = true;
    r->final = true;
    c->suspect = true;
  }
  if ((d->status & TDS_DONE_SRVERR) != 0 && r->failure.set) {
    tds_message_fatal(&r->failure);
  } else if ((d->status & TDS_DONE_SRVERR) != 0) {
    keep_own(c, TDS_SEVERITY_FATAL, fatal);
  } else if ((d->status & TDS_DONE_ERROR) != 0 && !r->error_seen && !r->drain) {
    keep_own(c, 16, unsaid);
  }
  r->error_seen = false;
  r->final = r->final || (d->status & TDS_DONE_MORE) == 0;
  if (c->outputs.front > 0 && d->token != TDS_TOKEN_DONEINPROC) {
    c->outputs.front--;
    tds_stmt_unprepared(c);
    if (r->final && !r->drain && !r->failure.set) {
      return tds_session_bad(
          c, "the server ended the request before the statement");
    }
  }
  return TDS_OK;
}
