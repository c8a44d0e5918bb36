/* SPDX-License-Identifier: MIT */
/* crowd.c - who holds which session, and what was submitted and told. */
#include "crowd.h"

struct crowd crowd;

static uint64_t session_of(weir_h lease) {
  char text[32];
  int rc =
      weir_lease_info(lease, WEIR_INFO_SESSION_ID, text, sizeof text, NULL);
  STRESS_ALLOW("session", rc, WEIR_E_HANDLE, WEIR_E_CLOSED);
  return rc == WEIR_OK ? strtoull(text, NULL, 10) : 0;
}

static _Atomic weir_h *holder(uint64_t session) {
  return &crowd.holder[session % CROWD_SESSIONS];
}

struct crowd_lease crowd_hold(weir_h lease) {
  struct crowd_lease l = {.lease = lease, .session = session_of(lease)};
  if (l.session != 0 && atomic_exchange(holder(l.session), lease) != 0) {
    stress_broken("a session is in two hands", WEIR_E_FAIL);
  }
  uint64_t n = atomic_fetch_add(&crowd.leases, 1);
  atomic_store(&crowd.recent_lease[n % CROWD_RECENT], lease);
  return l;
}

void crowd_give(struct crowd_lease *l, struct stress_random *r) {
  weir_h mine = l->lease;
  if (l->session != 0 &&
      !atomic_compare_exchange_strong(holder(l->session), &mine, 0)) {
    stress_broken("a session changed hands", WEIR_E_FAIL);
  }
  int rc = stress_below(r, 16) == 0 ? weir_discard(l->lease)
                                    : weir_release(l->lease);
  STRESS_ALLOW("release", rc, WEIR_E_HANDLE);
  if (weir_release(l->lease) != WEIR_E_HANDLE ||
      weir_discard(l->lease) != WEIR_E_HANDLE ||
      weir_exec(l->lease, "rows 1", 6, NULL, NULL) != WEIR_E_HANDLE) {
    stress_broken("a released lease was taken", WEIR_OK);
  }
  l->lease = 0;
}

uint32_t crowd_ticket(uint64_t session, int64_t deadline) {
  uint32_t n = atomic_fetch_add(&crowd.tickets_used, 1);
  if (n >= CROWD_TICKETS) {
    atomic_store(&crowd.tickets_used, CROWD_TICKETS);
    return CROWD_TICKETS;
  }
  crowd.tickets[n].session = session;
  crowd.tickets[n].deadline = deadline;
  (void)atomic_fetch_add(&crowd.out, 1);
  atomic_store(&crowd.tickets[n].state, CROWD_OUT);
  return n;
}

void crowd_submitted(uint32_t ticket, int rc, weir_h op) {
  if (rc == WEIR_PENDING) {
    atomic_store(&crowd.recent_op[ticket % CROWD_RECENT], op);
    return;
  }
  (void)atomic_fetch_sub(&crowd.out, 1);
  if (atomic_exchange(&crowd.tickets[ticket].state, CROWD_REFUSED) !=
      CROWD_OUT) {
    stress_broken("a refused submission completed", rc);
  }
}

const struct crowd_ticket *crowd_told(const struct weir_completion *c) {
  if (c->user >= CROWD_TICKETS ||
      atomic_exchange(&crowd.tickets[c->user].state, CROWD_TOLD) != CROWD_OUT) {
    stress_broken("a completion too many", c->status);
  }
  (void)atomic_fetch_sub(&crowd.out, 1);
  (void)atomic_fetch_add(&crowd.completions, 1);
  crowd_in_time("completion", crowd.tickets[c->user].deadline);
  return &crowd.tickets[c->user];
}

void crowd_in_time(const char *what, int64_t deadline) {
  if (deadline != INT64_MAX && stress_now() - deadline > STRESS_PATIENCE_NS) {
    stress_broken(what, WEIR_E_TIMEOUT);
  }
}

int64_t crowd_deadline(int64_t timeout_ns) {
  return timeout_ns == WEIR_TIMEOUT_NEVER ? INT64_MAX
         : timeout_ns < 0                 ? stress_now() + STRESS_S
                                          : stress_now() + timeout_ns;
}
