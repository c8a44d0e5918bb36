/* SPDX-License-Identifier: MIT */
#include "endpoint.h"

#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "cause.h"
#include "engine.h"
#include "key.h"
#include "policy.h"
#include "pool.h"
#include "slot.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/chance.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "tend.h"

/* How often a pool that waits for a unit looks whether a sibling has anything to
 * give by now. */
#define EVICT_LOOK_NS WEIR_NS_PER_S

static struct weir__endpoint *at(struct weir__pool *pool) {
  return pool->seat.endpoint;
}

static struct weir__pool *pool_of(struct weir__seat *seat) {
  return weir_container_of(seat, struct weir__pool, seat);
}

/* ------------------------------------------------------- opening, closing */

static bool is_of(const struct weir__endpoint *e,
                  const struct weir__driver *driver,
                  const uint8_t *key,
                  size_t len) {
  return e->driver == driver && e->len == len && memcmp(e->key, key, len) == 0;
}

static void free_endpoint(struct weir__endpoint *e) {
  if (e != NULL) {
    weir__mutex_fini(&e->mu);
    weir__cause_unref(e->last);
    weir__mem_free(e->key);
    weir__mem_free(e);
  }
}

static struct weir__endpoint *make(const struct weir__driver *driver,
                                   const uint8_t *key,
                                   size_t len) {
  struct weir__endpoint *e = weir__mem_new(sizeof *e);
  uint8_t *copy = weir__mem_new(len + 1);
  if (e == NULL || copy == NULL) {
    weir__mem_free(e);
    weir__mem_free(copy);
    return NULL;
  }
  memcpy(copy, key, len);
  e->driver = driver;
  e->key = copy;
  e->len = len;
  e->budget.capacity = UINT32_MAX;
  e->budget.ceiling = UINT32_MAX;
  weir__mutex_init(&e->mu, WEIR_RANK_ENDPOINT);
  return e;
}

static struct weir__endpoint *find_locked(const struct weir__engine *engine,
                                          const struct weir__driver *driver,
                                          const uint8_t *key,
                                          size_t len) {
  struct weir__endpoint *e = engine->endpoints;
  while (e != NULL && !is_of(e, driver, key, len)) {
    e = e->next;
  }
  return e;
}

bool weir__endpoint_open(struct weir__pool *pool) {
  struct weir__engine *engine = pool->engine;
  size_t len = 0;
  const uint8_t *key = weir__key_endpoint(pool->key, &len);
  struct weir__endpoint *fresh = make(pool->driver, key, len);
  weir__mutex_lock(&engine->mu);
  struct weir__endpoint *e = find_locked(engine, pool->driver, key, len);
  if (e == NULL && fresh != NULL) {
    e = fresh;
    fresh = NULL;
    e->next = engine->endpoints;
    engine->endpoints = e;
  }
  if (e != NULL) {
    e->references++;
  }
  weir__mutex_unlock(&engine->mu);
  free_endpoint(fresh);
  pool->seat.endpoint = e;
  pool->seat.member.weight = 1;
  return e != NULL;
}

void weir__endpoint_close(struct weir__pool *pool) {
  struct weir__engine *engine = pool->engine;
  struct weir__endpoint *e = at(pool);
  if (e == NULL) {
    return;
  }
  weir__endpoint_leave(pool);
  weir__mutex_lock(&engine->mu);
  bool last = --e->references == 0;
  if (last) {
    struct weir__endpoint **link = &engine->endpoints;
    while (*link != e) {
      link = &(*link)->next;
    }
    *link = e->next;
  }
  weir__mutex_unlock(&engine->mu);
  if (last) {
    free_endpoint(e);
  }
  pool->seat.endpoint = NULL;
}

/* ----------------------------------------------------------------- limits */

/* Units that are free are kept for those in the ring, who hear of it. */
static void assign(struct weir__endpoint *e) WEIR_REQUIRES(e->mu) {
  struct weir__budget_member *m;
  while ((m = weir__budget_assign(&e->budget)) != NULL) {
    weir__tend(pool_of(weir_container_of(m, struct weir__seat, member)));
  }
}

/* The tightest of what the pools were told, since nobody may be surprised. */
static void set_capacity(struct weir__endpoint *e) WEIR_REQUIRES(e->mu) {
  uint32_t capacity = UINT32_MAX;
  for (struct weir__seat *s = e->seats; s != NULL; s = s->next) {
    uint32_t max = weir__pool_settings(pool_of(s))->endpoint_max;
    capacity = max < capacity ? max : capacity;
  }
  if (capacity != e->budget.capacity) {
    e->budget.capacity = capacity;
    assign(e);
  }
}

/* What all pools together may ever have. */
static uint32_t all_of(const struct weir__endpoint *e) WEIR_REQUIRES(e->mu) {
  uint64_t all = 0;
  for (struct weir__seat *s = e->seats; s != NULL; s = s->next) {
    all += weir__pool_settings(pool_of(s))->max_pool_size;
  }
  return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

static void sit_down(struct weir__endpoint *e, struct weir__seat *seat)
    WEIR_REQUIRES(e->mu) {
  if (!seat->seated) {
    seat->seated = true;
    seat->next = e->seats;
    seat->prev = &e->seats;
    if (e->seats != NULL) {
      e->seats->prev = &seat->next;
    }
    e->seats = seat;
  }
  set_capacity(e); /* each time: settings may have changed */
}

static void tell_all(struct weir__endpoint *e) WEIR_REQUIRES(e->mu) {
  for (struct weir__seat *s = e->seats; s != NULL; s = s->next) {
    weir__tend(pool_of(s));
  }
}

void weir__endpoint_leave(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  struct weir__seat *seat = &pool->seat;
  weir__mutex_lock(&e->mu);
  if (seat->seated) {
    WEIR_ASSERT(seat->member.used == 0); /* P1 */
    *seat->prev = seat->next;
    if (seat->next != NULL) {
      seat->next->prev = seat->prev;
    }
    seat->seated = false;
    e->evicting = e->evicting && !seat->evict;
    weir__budget_leave(&e->budget, &seat->member);
    set_capacity(e);
    assign(e);
  }
  weir__mutex_unlock(&e->mu);
}

/* --------------------------------------------------------------- eviction */

/* When the pool's longest idle connection began to rest; UINT64_MAX: none is
 * idle.  By the words, as a sweep does: the pool is not locked. */
static uint64_t rests_since(const struct weir__pool *pool) {
  uint64_t best = UINT64_MAX;
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t since = weir__load_relaxed_u64(&slot->idle_since);
    if (weir__slot_state(weir__load_seq_u64(&slot->word)) == WEIR_SLOT_IDLE &&
        since < best) {
      best = since;
    }
  }
  return best;
}

/* Asks the sibling whose connection has rested longest.  Returns when to look
 * again. */
static uint64_t evict(struct weir__endpoint *e,
                      const struct weir__seat *needy,
                      uint64_t now) WEIR_REQUIRES(e->mu) {
  struct weir__seat *victim = NULL;
  uint64_t best = UINT64_MAX;
  for (struct weir__seat *s = e->seats; s != NULL && !e->evicting;
       s = s->next) {
    uint64_t since = s == needy ? UINT64_MAX : rests_since(pool_of(s));
    if (weir__budget_evicts(since, best, now)) {
      best = since;
      victim = s;
    }
  }
  if (victim != NULL) {
    victim->evict = true;
    e->evicting = true;
    weir__tend(pool_of(victim));
  }
  return weir__clock_add(now, EVICT_LOOK_NS);
}

bool weir__endpoint_evicts(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  bool asked = pool->seat.evict;
  pool->seat.evict = false;
  weir__mutex_unlock(&e->mu);
  return asked;
}

void weir__endpoint_kept(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  e->evicting = false;
  weir__mutex_unlock(&e->mu);
}

/* --------------------------------------------------------------- connects */

static bool asks_breaker(const struct weir__pool *pool) {
  return pool->policies.failure->breaker &&
         weir__pool_settings(pool)->blocking_period != WEIR_BLOCKING_NEVER;
}

/* No unit: in the ring by now.  Returns when to look again. */
static uint64_t no_unit(struct weir__endpoint *e,
                        struct weir__seat *seat,
                        uint64_t now) WEIR_REQUIRES(e->mu) {
  if (e->budget.ceiling < e->budget.capacity) {
    return e->budget.raise_at; /* the server's limit: nobody need give way */
  }
  return evict(e, seat, now);
}

enum weir__leave weir__endpoint_begin(struct weir__pool *pool,
                                      uint64_t now,
                                      uint32_t *out_ticket,
                                      uint64_t *out_at) {
  struct weir__endpoint *e = at(pool);
  enum weir__leave leave = WEIR_LEAVE_GIVEN;
  uint32_t ticket = WEIR_ENDPOINT_NO_TICKET;
  weir__mutex_lock(&e->mu);
  sit_down(e, &pool->seat);
  if (weir__budget_rise(&e->budget, now, all_of(e))) {
    assign(e);
  }
  if (asks_breaker(pool) && !weir__breaker_allows(&e->breaker, now)) {
    leave = WEIR_LEAVE_DOWN;
    *out_at = weir__breaker_next(&e->breaker);
  } else if (!weir__budget_take(&e->budget, &pool->seat.member)) {
    leave = WEIR_LEAVE_LATER;
    *out_at = no_unit(e, &pool->seat, now);
  } else if (asks_breaker(pool)) {
    bool begun = weir__breaker_begin(&e->breaker, now, &ticket);
    WEIR_ASSERT(begun);
    (void)begun;
  }
  if (leave == WEIR_LEAVE_GIVEN) {
    *out_ticket = ticket;
  }
  weir__mutex_unlock(&e->mu);
  return leave;
}

bool weir__endpoint_is_well(struct weir__pool *pool, uint32_t *out_ticket) {
  struct weir__endpoint *e = at(pool);
  uint32_t ticket = WEIR_ENDPOINT_NO_TICKET;
  weir__mutex_lock(&e->mu);
  bool well = !asks_breaker(pool) || e->breaker.state == WEIR_BREAKER_CLOSED;
  if (well && asks_breaker(pool)) {
    (void)weir__breaker_begin(&e->breaker, weir__clock_now(), &ticket);
  }
  weir__mutex_unlock(&e->mu);
  if (well) {
    *out_ticket = ticket;
  }
  return well;
}

/* What a failure tells the breaker.  A server that has too much to do is there,
 * unless it bears nobody at all; one that refuses a password has nothing to say
 * about others' connects; a connection that breaks is an accident, but not if it
 * was the probe. */
static bool bad(struct weir__endpoint *e,
                uint32_t ticket,
                enum weir__class class,
                uint64_t now) WEIR_REQUIRES(e->mu) {
  bool closed = e->breaker.state == WEIR_BREAKER_CLOSED;
  switch (class) {
  case WEIR_CLASS_UNREACHABLE:
  case WEIR_CLASS_ROLE:
    return weir__breaker_bad(&e->breaker, ticket, now, weir__random());
  case WEIR_CLASS_OVERLOADED:
    weir__budget_overloaded(&e->budget, now);
    if (closed && e->budget.used > 1) {
      break;
    }
    return weir__breaker_bad(&e->breaker, ticket, now, weir__random());
  case WEIR_CLASS_TRANSIENT:
    if (e->breaker.state == WEIR_BREAKER_HALF_OPEN) {
      return weir__breaker_bad(&e->breaker, ticket, now, weir__random());
    }
    break;
  case WEIR_CLASS_NONE:
  case WEIR_CLASS_PERMANENT:
  default:
    break;
  }
  return weir__breaker_drop(&e->breaker, ticket, now);
}

bool weir__endpoint_ended(struct weir__pool *pool,
                          uint32_t ticket,
                          enum weir__outcome outcome,
                          enum weir__class class,
                          const struct weir_error *error) {
  struct weir__endpoint *e = at(pool);
  uint64_t now = weir__clock_now();
  bool failed = outcome == WEIR_OUTCOME_BAD;
  bool tells = failed && pool->policies.failure->breaker;
  struct weir__cause *last = tells ? weir__cause_new(error) : NULL;
  weir__mutex_lock(&e->mu);
  bool changed = failed ? bad(e, ticket, class, now)
                 : outcome == WEIR_OUTCOME_GOOD
                     ? weir__breaker_good(&e->breaker, ticket, now)
                     : weir__breaker_drop(&e->breaker, ticket, now);
  bool opened = failed && changed && e->breaker.state == WEIR_BREAKER_OPEN;
  if (last != NULL) {
    struct weir__cause *older = e->last;
    e->last = last;
    last = older;
  }
  if (changed) {
    tell_all(e);
  }
  weir__mutex_unlock(&e->mu);
  weir__cause_unref(last);
  return opened;
}

void weir__endpoint_overloaded(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  weir__budget_overloaded(&e->budget, weir__clock_now());
  weir__mutex_unlock(&e->mu);
}

void weir__endpoint_lost(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  if (!pool->policies.failure->breaker) {
    return;
  }
  weir__mutex_lock(&e->mu);
  (void)weir__breaker_suspect(&e->breaker, weir__clock_now());
  weir__mutex_unlock(&e->mu);
}

void weir__endpoint_give(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  WEIR_ASSERT(pool->seat.member.used > 0 && e->budget.used > 0);
  weir__budget_give(&e->budget, &pool->seat.member);
  e->evicting = false;
  assign(e);
  weir__mutex_unlock(&e->mu);
}

void weir__endpoint_content(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  weir__budget_leave(&e->budget, &pool->seat.member);
  assign(e);
  weir__mutex_unlock(&e->mu);
}

/* ---------------------------------------------------------------- telling */

static void say_down(const struct weir__endpoint *e,
                     uint64_t now,
                     struct weir_error *err) WEIR_REQUIRES(e->mu) {
  uint64_t next = weir__breaker_next(&e->breaker);
  uint64_t wait = next > now && next != UINT64_MAX ? next - now : 0;
  char when[64];
  if (wait == 0) {
    (void)weir__text_format(when, sizeof when, "it is being tried now");
  } else {
    (void)weir__text_format(when, sizeof when, "it is tried again in %.1f s",
                            (double)wait / (double)WEIR_NS_PER_S);
  }
  (void)weir__error_set(
      err, WEIR_E_DOWN, WEIR_PHASE_CONNECT,
      "the server is down, and Pool Blocking Period=always waits for nobody; "
      "%s; the last connect failed: %.400s",
      when, e->last == NULL ? "not known why" : e->last->error.message);
  if (e->last != NULL) {
    weir__error_class(err, e->last->error.scope, e->last->error.kind,
                      e->last->error.retry);
  }
  err->retry_after_ms =
      (uint32_t)((wait + WEIR_NS_PER_MS - 1) / WEIR_NS_PER_MS);
}

struct weir__cause *weir__endpoint_down(struct weir__pool *pool, uint64_t now) {
  struct weir__endpoint *e = at(pool);
  struct weir_error err = {.struct_size = sizeof err};
  weir__mutex_lock(&e->mu);
  say_down(e, now, &err);
  weir__mutex_unlock(&e->mu);
  return weir__cause_new(&err);
}

struct weir__cause *weir__endpoint_trouble(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  weir__mutex_lock(&e->mu);
  bool closed = e->breaker.state == WEIR_BREAKER_CLOSED;
  struct weir__cause *last = closed ? NULL : weir__cause_ref(e->last);
  weir__mutex_unlock(&e->mu);
  return last;
}

void weir__endpoint_look(struct weir__pool *pool,
                         struct weir__endpoint_view *out) {
  struct weir__endpoint *e = at(pool);
  uint32_t max = pool->max_now;
  weir__mutex_lock(&e->mu);
  uint32_t reach = weir__budget_reach(&e->budget, &pool->seat.member);
  out->breaker = e->breaker.state;
  out->reach = reach < max ? reach : max;
  weir__mutex_unlock(&e->mu);
}

void weir__endpoint_changed(struct weir__pool *pool) {
  struct weir__endpoint *e = at(pool);
  if (e != NULL) {
    weir__mutex_lock(&e->mu);
    set_capacity(e);
    assign(e);
    weir__mutex_unlock(&e->mu);
  }
}
