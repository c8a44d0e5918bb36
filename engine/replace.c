/* SPDX-License-Identifier: MIT */
#include "replace.h"

#include <stddef.h>

#include "growth.h"
#include "pool.h"
#include "slot.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mutex.h"

/* The driver says in so many words that it is the connection that failed and that
 * nothing was executed; and nobody has asked for the end meanwhile. */
static bool may(const struct weir_drv_hconn *session) {
  const struct weir_drv_error *e = &session->error;
  return session->replaceable && e->scope >= WEIR_DRV_SCOPE_CONN &&
         (e->flags & WEIR_DRV_EF_MAYBE_EXECUTED) == 0 && !session->cancelling &&
         !session->expired && !session->closed &&
         session->request == WEIR_DRV_REQ_NONE && !session->reply_pending;
}

/* The place, and with it the unit of the endpoint's budget, stays the session's. */
bool weir__replace_begin(struct weir_drv_hconn *session) {
  return may(session) &&
         weir__growth_replace_begin(session->pool, &session->ticket);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

void weir__replace_renew(struct weir_drv_hconn *session) {
  struct weir__pool *pool = session->pool;
  weir__session_renew(session);
  session->replacing = true;
  session->replaced_at = weir__clock_now();
  session->connect_by = earlier(session->deadline,
                                weir__growth_limit(pool, session->replaced_at));
  weir__mutex_lock(&pool->mu);
  pool->sessions_closed++;
  weir__mutex_unlock(&pool->mu);
}

void weir__replace_ended(struct weir_drv_hconn *session, bool good) {
  session->replacing = false;
  weir__growth_replaced(session->pool, session, good);
}
