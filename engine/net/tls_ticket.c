/* SPDX-License-Identifier: MIT */
/* Session tickets.  A list, newest first: with at most WEIR_TLS_TICKETS_MAX of
 * them a walk is cheaper than the handshake it saves by a factor of hundreds. */
#include <string.h>

#include "net/tls_internal.h"
#include "sys/clock.h"
#include "sys/mem.h"

static void free_ticket(struct weir__tls_ticket *ticket) {
  SSL_SESSION_free(ticket->session);
  weir__mem_free(ticket);
}

static bool is_for(const struct weir__tls_ticket *ticket, const uint8_t *key) {
  return memcmp(ticket->key, key, WEIR_TLS_ID_BYTES) == 0;
}

static bool fresh(const SSL_SESSION *session) {
  uint64_t now = weir__clock_unix_ms() / 1000;
  uint64_t ends = (uint64_t)SSL_SESSION_get_time(session) +
                  (uint64_t)SSL_SESSION_get_timeout(session);
  return now < ends && SSL_SESSION_is_resumable(session) == 1;
}

static struct weir__tls_ticket *unlink_at(struct weir__tls *tls,
                                          struct weir__tls_ticket **link) {
  struct weir__tls_ticket *ticket = *link;
  *link = ticket->next;
  tls->n_tickets--;
  return ticket;
}

static void drop_list(struct weir__tls_ticket *ticket) {
  while (ticket != NULL) {
    struct weir__tls_ticket *next = ticket->next;
    free_ticket(ticket);
    ticket = next;
  }
}

static void move_to(struct weir__tls_ticket *ticket,
                    struct weir__tls_ticket **list) {
  ticket->next = *list;
  *list = ticket;
}

static SSL_SESSION *take_locked(struct weir__tls *tls,
                                const uint8_t *key,
                                struct weir__tls_ticket **dropped) {
  struct weir__tls_ticket **link = &tls->tickets;
  while (*link != NULL) {
    struct weir__tls_ticket *ticket = *link;
    if (!is_for(ticket, key)) {
      link = &ticket->next;
      continue;
    }
    SSL_SESSION *session = ticket->session;
    bool good = fresh(session);
    if (good) {
      (void)SSL_SESSION_up_ref(session);
    }
    if (!good || SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION) {
      move_to(unlink_at(tls, link), dropped);
    }
    if (good) {
      return session;
    }
  }
  return NULL;
}

SSL_SESSION *weir__tls_ticket_take(struct weir__tls *tls, const uint8_t *key) {
  struct weir__tls_ticket *dropped = NULL;
  weir__mutex_lock(&tls->mu);
  SSL_SESSION *session = take_locked(tls, key, &dropped);
  weir__mutex_unlock(&tls->mu);
  drop_list(dropped);
  return session;
}

/* Makes room: the oldest of this peer beyond its share, or the oldest of all. */
static void evict_locked(struct weir__tls *tls,
                         const uint8_t *key,
                         struct weir__tls_ticket **dropped) {
  uint32_t of_peer = 0;
  struct weir__tls_ticket **link = &tls->tickets;
  while (*link != NULL) {
    of_peer += is_for(*link, key);
    bool too_many = is_for(*link, key) && of_peer >= WEIR_TLS_TICKETS_PEER_MAX;
    bool last = (*link)->next == NULL;
    if (too_many || (last && tls->n_tickets >= WEIR_TLS_TICKETS_MAX)) {
      move_to(unlink_at(tls, link), dropped);
    } else {
      link = &(*link)->next;
    }
  }
}

int weir__tls_ticket_keep(SSL *ssl, SSL_SESSION *session) {
  const weir_drv_tls *t = SSL_get_app_data(ssl);
  if (!t->keep_tickets) {
    return 0;
  }
  struct weir__tls_ticket *ticket = weir__mem_new(sizeof *ticket);
  if (ticket == NULL) {
    return 0;
  }
  struct weir__tls_ticket *dropped = NULL;
  memcpy(ticket->key, t->ticket_key, sizeof ticket->key);
  ticket->session = session;
  weir__mutex_lock(&t->tls->mu);
  evict_locked(t->tls, ticket->key, &dropped);
  move_to(ticket, &t->tls->tickets);
  t->tls->n_tickets++;
  weir__mutex_unlock(&t->tls->mu);
  drop_list(dropped);
  return 1;
}

void weir__tls_ticket_drop_all(struct weir__tls *tls) {
  weir__mutex_lock(&tls->mu);
  struct weir__tls_ticket *all = tls->tickets;
  tls->tickets = NULL;
  tls->n_tickets = 0;
  weir__mutex_unlock(&tls->mu);
  drop_list(all);
}
