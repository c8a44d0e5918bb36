/* SPDX-License-Identifier: MIT */
#include "budget.h"

#include <stddef.h>

static uint32_t limit(const struct weir__budget *b) {
  return b->ceiling < b->capacity ? b->ceiling : b->capacity;
}

uint32_t weir__budget_free(const struct weir__budget *b) {
  uint64_t taken = (uint64_t)b->used + b->kept;
  return taken < limit(b) ? (uint32_t)(limit(b) - taken) : 0;
}

static void enter_ring(struct weir__budget *b, struct weir__budget_member *m) {
  if (m->next != NULL) {
    return;
  }
  if (b->turn == NULL) {
    m->next = m;
    m->prev = m;
    b->turn = m;
  } else {
    m->next = b->turn; /* before the next one: behind all others */
    m->prev = b->turn->prev;
    m->prev->next = m;
    b->turn->prev = m;
  }
  m->deficit = 0;
}

static void leave_ring(struct weir__budget *b, struct weir__budget_member *m) {
  if (m->next == NULL) {
    return;
  }
  m->prev->next = m->next;
  m->next->prev = m->prev;
  if (b->turn == m) {
    b->turn = m->next == m ? NULL : m->next;
  }
  m->next = NULL;
  m->prev = NULL;
}

/* A free unit is anybody's only while nobody stands in the ring. */
bool weir__budget_allows(const struct weir__budget *b,
                         const struct weir__budget_member *m) {
  bool mine = m->kept != 0 && b->used < limit(b);
  return mine || (b->turn == NULL && weir__budget_free(b) != 0);
}

bool weir__budget_take(struct weir__budget *b, struct weir__budget_member *m) {
  if (!weir__budget_allows(b, m)) {
    enter_ring(b, m);
    return false;
  }
  if (m->kept != 0) {
    m->kept--;
    b->kept--;
  }
  m->used++;
  b->used++;
  return true;
}

void weir__budget_give(struct weir__budget *b, struct weir__budget_member *m) {
  m->used--;
  b->used--;
}

void weir__budget_leave(struct weir__budget *b, struct weir__budget_member *m) {
  leave_ring(b, m);
  b->kept -= m->kept;
  m->kept = 0;
}

struct weir__budget_member *weir__budget_assign(struct weir__budget *b) {
  struct weir__budget_member *m = b->turn;
  if (m == NULL || weir__budget_free(b) == 0) {
    return NULL;
  }
  if (m->deficit == 0) {
    m->deficit = m->weight;
  }
  m->deficit--;
  m->kept++;
  b->kept++;
  if (m->deficit == 0) {
    leave_ring(b, m); /* it comes back if it wants more */
  }
  return m;
}

void weir__budget_overloaded(struct weir__budget *b, uint64_t now) {
  uint32_t bears = b->used > 1 ? b->used - 1 : 1;
  b->ceiling = bears < b->ceiling ? bears : b->ceiling;
  b->raise_at = now + WEIR_BUDGET_QUIET_NS;
}

bool weir__budget_rise(struct weir__budget *b, uint64_t now, uint32_t all) {
  if (b->ceiling == UINT32_MAX || now < b->raise_at) {
    return false;
  }
  uint64_t steps = 1 + (now - b->raise_at) / WEIR_BUDGET_QUIET_NS;
  uint64_t to = b->ceiling + steps;
  b->raise_at += steps * WEIR_BUDGET_QUIET_NS;
  b->ceiling = to >= all ? UINT32_MAX : (uint32_t)to;
  return true;
}

uint32_t weir__budget_reach(const struct weir__budget *b,
                            const struct weir__budget_member *m) {
  uint64_t reach = (uint64_t)m->used + m->kept + weir__budget_free(b);
  return reach < UINT32_MAX ? (uint32_t)reach : UINT32_MAX;
}

bool weir__budget_evicts(uint64_t since, uint64_t best, uint64_t now) {
  return since < best && now >= since &&
         now - since >= WEIR_BUDGET_RESIDENCY_NS;
}
