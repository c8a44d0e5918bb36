/* SPDX-License-Identifier: MIT */
/* Orders of two or three threads that went wrong once. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include <criterion/criterion.h>

#include "caller.h"
#include "failing_alloc.h"
#include "fixture.h"
#include "gates.h"
#include "handle.h"
#include "pool.h"
#include "slot.h"
#include "sys/park.h"
#include "virtual_clock.h"

/* ------------------------------------------------------------ small helpers */

struct seeker {
  weir_h pool;
  int64_t timeout;
  int cpu; /* -1: any */
  int rc;
  weir_h lease;
};

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  cr_assert_eq(sched_setaffinity(0, sizeof set, &set), 0);
}

/* The nth CPU this process may use, or -1. */
static int nth_cpu(int n) {
  cpu_set_t set;
  cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET((size_t)cpu, &set) && n-- == 0) {
      return cpu;
    }
  }
  return -1;
}

static void *acquire(void *arg) {
  struct seeker *a = arg;
  if (a->cpu >= 0) {
    pin(a->cpu);
  }
  a->rc = weir_acquire(a->pool, a->timeout, &a->lease, NULL);
  return NULL;
}

static pthread_t start(void *(*run)(void *), void *arg) {
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, run, arg), 0);
  return thread;
}

static void join(pthread_t thread) {
  cr_assert_eq(pthread_join(thread, NULL), 0);
}

static struct weir__slot *slot_of(weir_h lease) {
  return weir__slot_find((uint32_t)(lease >> 32) & 0x1FFFFu);
}

/* -------------------------------------------------------------- idle slots */

Test(race, a_waiter_is_served_though_the_idle_bit_was_away, .timeout = 20) {
  struct fixture f;
  int here = nth_cpu(0);
  int there = nth_cpu(1);
  if (there < 0) {
    return; /* with one CPU the hint finds the slot without its bit */
  }
  pin(here);
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  gates_install();
  gate_hold("idle.tidy.locked");
  gate_hold("idle.untidied.locked");
  gate_watch("waiter.park");
  /* One that only tries finds the bit of a leased slot, twice. */
  struct seeker passer = {.pool = pool, .cpu = there};
  pthread_t by = start(acquire, &passer);
  cr_assert_eq(gate_wait_reached("idle.tidy.locked", 1), 0);
  gate_pass("idle.tidy.locked", 1);
  cr_assert_eq(gate_wait_reached("idle.tidy.locked", 2), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  gate_open("idle.tidy.locked");
  cr_assert_eq(gate_wait_reached("idle.untidied.locked", 1), 0);
  /* The slot is idle and its bit away: here comes one who waits. */
  struct seeker waiter = {
      .pool = pool, .timeout = WEIR_TIMEOUT_NEVER, .cpu = there};
  pthread_t with = start(acquire, &waiter);
  cr_assert_eq(gate_wait_reached("waiter.park", 1), 0);
  gate_open("idle.untidied.locked");
  join(by);
  join(with);
  gates_restore();
  cr_expect_eq(passer.rc, WEIR_E_TIMEOUT);
  cr_expect_eq(waiter.rc, WEIR_OK);
  cr_expect_eq(weir_release(waiter.lease), WEIR_OK);
  fixture_close(&f);
}

/* ---------------------------------------------------------------- shutdown */

static void *close_pool(void *arg) {
  cr_assert_eq(weir_pool_close(*(const weir_h *)arg), WEIR_OK);
  return NULL;
}

struct closer {
  struct fixture *f;
  int rc;
};

static void *shut_down(void *arg) {
  struct closer *c = arg;
  c->rc = weir_engine_shutdown(c->f->engine, 0, NULL);
  return NULL;
}

Test(race, a_shutdown_leaves_a_connection_to_who_looks_at_it, .timeout = 20) {
  struct fixture f;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=0");
  weir_h first = fixture_acquire(&f, pool);
  struct weir__slot *slot = slot_of(first);
  cr_assert_eq(weir_release(first), WEIR_OK);
  gates_install();
  gate_hold("acquire.probe");
  struct seeker a = {.pool = pool, .timeout = WEIR_TIMEOUT_NEVER, .cpu = -1};
  pthread_t seeker = start(acquire, &a);
  cr_assert_eq(gate_wait_reached("acquire.probe", 1), 0);
  uint64_t probed = weir__load_seq_u64(&slot->word);
  struct closer c = {.f = &f};
  pthread_t closer = start(shut_down, &c);
  while (weir__load_seq_u64(&slot->word) == probed) {
    (void)sched_yield();
  }
  cr_expect_eq(weir__slot_state(weir__load_seq_u64(&slot->word)),
               WEIR_SLOT_LEASED);
  gates_restore();
  join(seeker);
  join(closer);
  cr_expect_eq(a.rc, WEIR_E_CLOSED);
  cr_expect_eq(c.rc, WEIR_OK);
}

static void *discard(void *arg) {
  cr_expect_eq(weir_discard(*(const weir_h *)arg), WEIR_OK);
  return NULL;
}

Test(race,
     a_lease_taken_away_while_it_is_discarded_is_still_closed,
     .timeout = 20) {
  struct fixture f;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  struct weir__slot *slot = slot_of(lease);
  gates_install();
  gate_hold("retire.begin.locked");
  pthread_t discarder = start(discard, &lease);
  cr_assert_eq(gate_wait_reached("retire.begin.locked", 1), 0);
  uint64_t seen = weir__load_seq_u64(&slot->word);
  struct closer c = {.f = &f};
  pthread_t closer = start(shut_down, &c);
  while (weir__load_seq_u64(&slot->word) == seen) {
    (void)sched_yield();
  }
  gates_restore();
  join(discarder);
  join(closer);
  cr_expect_eq(c.rc, WEIR_OK);
}

#define MANY 40u /* more than are woken at once */

/* All have connected and have not been told so; the close has told the first
 * few that it is over and is about to tell the others. */
Test(race, a_close_reaches_those_who_have_just_connected, .timeout = 20) {
  struct fixture f;
  struct seeker many[MANY];
  pthread_t threads[MANY];
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=%u", MANY);
  gates_install();
  gate_hold("connect.done");
  gate_hold("shut.batch.locked");
  for (unsigned i = 0; i < MANY; i++) {
    many[i] =
        (struct seeker){.pool = pool, .timeout = WEIR_TIMEOUT_NEVER, .cpu = -1};
    threads[i] = start(acquire, &many[i]);
  }
  cr_assert_eq(gate_wait_reached("connect.done", MANY), 0);
  pthread_t closer = start(close_pool, &pool);
  cr_assert_eq(gate_wait_reached("shut.batch.locked", 1), 0);
  gate_open("connect.done");
  AWAIT_COUNT(&f, sessions_live, 0);
  gate_open("shut.batch.locked");
  join(closer);
  for (unsigned i = 0; i < MANY; i++) {
    join(threads[i]);
    cr_expect_eq(many[i].rc, WEIR_E_CLOSED, "%s", weir_status_name(many[i].rc));
  }
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------------------------ cancel */

static void *cancel(void *arg) {
  (void)weir_cancel(*(const weir_h *)arg);
  return NULL;
}

Test(race, a_late_cancel_does_not_undo_a_later_one, .timeout = 20) {
  struct fixture f;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h first = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_exec(&f, first, "rows 1"), WEIR_OK);
  gates_install();
  gate_hold("lease.cancel");
  pthread_t late = start(cancel, &first);
  cr_assert_eq(gate_wait_reached("lease.cancel", 1), 0);
  cr_assert_eq(weir_release(first), WEIR_OK);
  weir_h second = fixture_acquire(&f, pool);
  struct weir__slot *slot = slot_of(second);
  uint64_t mark = second << 32 | 77;
  weir__store_seq_u64(&slot->cancel, mark);
  gates_restore();
  join(late);
  cr_expect_eq(weir__load_seq_u64(&slot->cancel), mark);
  cr_expect_eq(weir_release(second), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- sums */

Test(race, a_new_pool_does_not_count_what_its_slots_did_before) {
  struct fixture f;
  fixture_open(&f);
  for (int i = 0; i < 4; i++) {
    weir_h pool = fixture_pool(&f, "Max Pool Size=1;Max Uses=%d", 100 + i);
    cr_expect_eq(fixture_stats(pool).acquired, 0, "pool %d", i);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    cr_expect_eq(fixture_stats(pool).acquired, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_sync(&f);
  }
  fixture_close(&f);
}

/* ----------------------------------------------------- two who wait for calls */

struct inside { /* a thread in a call on an engine of its own */
  struct weir__engine *engine;
  sem_t entered;
  sem_t go;
};

static void *stay(void *arg) {
  struct inside *in = arg;
  struct weir__caller *self = NULL;
  cr_assert_eq(weir__caller_enter(&self), WEIR_OK);
  atomic_store_explicit(&self->engine, in->engine, memory_order_relaxed);
  (void)sem_post(&in->entered);
  (void)sem_wait(&in->go);
  weir__caller_leave(self);
  return NULL;
}

static void *await(void *arg) {
  const struct inside *in = arg;
  cr_expect_eq(
      weir__caller_await(weir__caller_retire(), in->engine, NULL, WEIR_NEVER),
      0);
  return NULL;
}

static pthread_t go_inside(struct inside *in, void *engine) {
  in->engine = engine; /* never looked into */
  (void)sem_init(&in->entered, 0, 0);
  (void)sem_init(&in->go, 0, 0);
  pthread_t thread = start(stay, in);
  (void)sem_wait(&in->entered);
  return thread;
}

static sem_t parking;

/* The system's own: it wakes one thread, the first to sleep. */
static int tell_and_park(_Atomic uint32_t *word, uint32_t seen, uint64_t at) {
  (void)sem_post(&parking);
  return weir__park_futex(word, seen, at);
}

Test(race, each_who_waits_for_calls_is_woken_by_its_own, .timeout = 20) {
  char a_engine;
  char b_engine;
  struct inside a;
  struct inside b;
  (void)sem_init(&parking, 0, 0);
  weir__seams.park = tell_and_park;
  cr_assert_eq(weir__caller_setup(), 0);
  pthread_t a_call = go_inside(&a, &a_engine);
  pthread_t b_call = go_inside(&b, &b_engine);
  pthread_t a_await = start(await, &a);
  (void)sem_wait(&parking);
  pthread_t b_await = start(await, &b);
  (void)sem_wait(&parking);
  (void)sem_post(&b.go);
  join(b_call);
  join(b_await); /* though the first to sleep waits for another */
  (void)sem_post(&a.go);
  join(a_call);
  join(a_await);
  weir__seams_reset();
}

/* --------------------------------------------------------------- no memory */

Test(race, an_acquire_that_no_memory_can_serve_says_so, .timeout = 20) {
  struct fixture f;
  weir_h lease;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  failing_alloc_install();
  failing_alloc_from(1);
  cr_expect_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL),
               WEIR_E_NOMEM);
  failing_alloc_restore();
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_close(&f);
}

/* --------------------------------------------------------------- hand-over */

Test(race, a_connection_that_is_handed_over_is_not_probed, .timeout = 20) {
  struct fixture f;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=1ms");
  weir_h lease = fixture_acquire(&f, pool);
  struct seeker a = {.pool = pool, .timeout = WEIR_TIMEOUT_NEVER, .cpu = -1};
  pthread_t seeker = start(acquire, &a);
  AWAIT_STAT(pool, waiters, 1);
  fixture_advance(&f, 10 * WEIR_NS_PER_S);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  join(seeker);
  cr_expect_eq(a.rc, WEIR_OK);
  cr_expect_eq(fixture_counts(&f).calls[MOCK_HEALTH], 0);
  cr_assert_eq(weir_release(a.lease), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ refill */

static bool timer_is_late(const struct weir__pool *pool, uint64_t now) {
  return weir__timer_set(&pool->tend_timer) && pool->tend_timer.node.key <= now;
}

Test(race, a_refill_under_way_does_not_turn_the_reactor, .timeout = 20) {
  struct fixture f;
  fixture_open_virtual(&f);
  weir_h handle = fixture_pool(
      &f, "Min Pool Size=1;Connect Timeout=60;"
          "Mock Script Text='connect 1: fail conn network; connect: hang'");
  struct weir__pool *pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  AWAIT_STAT(handle, connects_failed, 1);
  fixture_sync(&f);
  fixture_advance(&f, 2 * WEIR_NS_PER_S); /* beyond the pause */
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  cr_expect_not(timer_is_late(pool, virtual_clock_now()));
  fixture_close(&f);
}

/* A drain takes a lease away before its thread has noted that it begins, and the
 * place is another's meanwhile: what the first one notes late must not make the
 * other's lease one that ran nothing, or the next user would see what it left. */
Test(race, a_late_note_of_a_lost_lease_hides_nothing, .timeout = 20) {
  struct fixture f;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Close Timeout=0");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  gates_install();
  gate_hold("acquire.claimed");
  struct seeker late = {.pool = pool, .timeout = 0, .cpu = -1};
  pthread_t thread = start(acquire, &late);
  cr_assert_eq(gate_wait_reached("acquire.claimed", 1), 0);
  (void)weir_pool_drain(pool, 0, NULL);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
  gate_open("acquire.claimed");
  join(thread);
  gates_restore();
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "show", 3), 1); /* resets */
  cr_assert_eq(weir_release(lease), WEIR_OK);
  if (late.rc == WEIR_OK) {
    cr_assert_eq(weir_release(late.lease), WEIR_E_HANDLE);
  }
  fixture_close(&f);
}
