/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "engine.h"
#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "session.h"
#include "watch.h"

static struct fixture f;

/* Injects an event on the reactor. */
struct injected {
  struct weir__task task;
  uint32_t slot;
  uint32_t birth;
  bool ended;
};

static void on_inject(struct weir__task *task) {
  const struct injected *i = (struct injected *)(void *)task;
  weir__watch_event(i->slot, i->birth, i->ended);
}

static void inject(uint32_t slot, uint32_t birth, bool ended) {
  struct injected i = {
      .task = {.run = on_inject}, .slot = slot, .birth = birth, .ended = ended};
  const struct weir__engine *e = weir__handle_find(f.engine, WEIR_TYPE_ENGINE);
  weir__reactor_post(e->reactor, &i.task);
  fixture_sync(&f);
}

static struct weir__slot *slot_of(weir_h lease) {
  uint32_t number = 0;
  uint32_t count = 0;
  cr_assert(weir__handle_split(lease, WEIR_TYPE_LEASE, &number, &count));
  return weir__slot_find(number);
}

static uint32_t birth_of(const struct weir__slot *slot) {
  return weir__slot_session(slot)->birth;
}

/* Nobody acquires, and no time passes. */
Test(watch, notices_a_dead_idle_connection_at_once, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=4;Close Timeout=0");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  AWAIT_STAT(pool, empty, 3);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* Min Pool Size is restored without anybody's asking. */
Test(watch, has_the_pool_filled_up_again, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 3);
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

/* Inside Probe Window nothing is asked on acquire, and yet the dead one is not
 * handed out. */
Test(watch, spares_the_acquire_a_look, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=1 h");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  AWAIT_COUNT(&f, conns_live, 0);
  uint64_t looks = fixture_counts(&f).calls[MOCK_HEALTH];
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], looks);
  fixture_close(&f);
}

Test(watch, closes_a_leased_one_that_died_when_it_comes_back, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).leased, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* An event without an end is only a reason to look: what lives stays. */
Test(watch, keeps_a_connection_that_the_driver_calls_good, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "Probe Window=1 h", &pool);
  struct weir__slot *slot = slot_of(lease);
  inject(slot->number, birth_of(slot), false);
  cr_assert_eq(weir__slot_flags(atomic_load(&slot->word)), WEIR_SLOT_SUSPECT);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(weir__slot_flags(atomic_load(&slot->word)), 0);
  inject(slot->number, birth_of(slot), false);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 2);
  fixture_close(&f);
}

/* The same with an unread result, a roll-back or a reset on the way back. */
Test(watch, keeps_a_suspect_one_through_its_cleaning, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease =
      fixture_single(&f, "Probe Window=1 h;Connection Reset=verified", &pool);
  struct weir__slot *slot = slot_of(lease);
  cr_assert_eq(fixture_exec(&f, lease, "rows 10000 4"), WEIR_OK);
  inject(slot->number, birth_of(slot), false);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(weir__slot_flags(atomic_load(&slot->word)), 0);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

Test(watch, closes_an_idle_one_whose_peer_has_ended, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  struct weir__slot *slot = slot_of(lease);
  uint32_t birth = birth_of(slot);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  inject(slot->number, birth, true);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* The peer has ended for good: what is unread may be read, but then it goes. */
Test(watch, dooms_a_leased_one_whose_peer_has_ended, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  struct weir__slot *slot = slot_of(lease);
  inject(slot->number, birth_of(slot), true);
  cr_assert_eq(fixture_run(&f, lease, "rows 3"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* An event that was fetched for the session before this one. */
Test(watch, ignores_an_event_of_an_earlier_session, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  struct weir__slot *slot = slot_of(lease);
  uint32_t birth = birth_of(slot);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  inject(slot->number, birth, true);
  lease = fixture_acquire(&f, pool);
  cr_assert_neq(birth_of(slot_of(lease)), birth);
  inject(slot->number, birth, true);
  cr_assert_eq(weir__slot_flags(atomic_load(&slot->word)), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  inject(WEIR_HANDLE_MAX - 1, 1, true);
  fixture_close(&f);
}

/* Registered once, and not once more for each lease. */
Test(watch, enters_the_set_once_for_each_connection, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_IDLE], 1);
  cr_assert_eq(weir__slot_session(slot_of(lease))->n_watched, 1);
  fixture_close(&f);
}

/* What cannot be watched is looked at before it is handed out. */
Test(watch, does_without, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Mock Idle Watch=false");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

/* Three within a second: the others are looked at, though nothing has told of
 * them. */
Test(watch, several_losses_make_all_idle_ones_suspect, .timeout = 10) {
  weir_h leases[6];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=6;Mock Idle Watch=false;Probe Window=1 h");
  for (unsigned i = 0; i < 6; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  uint32_t numbers[3];
  uint32_t births[3];
  for (unsigned i = 0; i < 3; i++) {
    numbers[i] = slot_of(leases[i])->number;
    births[i] = birth_of(slot_of(leases[i]));
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  }
  inject(numbers[0], births[0], true);
  inject(numbers[1], births[1], true);
  cr_assert_eq(fixture_stats(pool).idle, 4);
  inject(numbers[2], births[2], true);
  AWAIT_STAT(pool, empty, 6);
  fixture_close(&f);
}

/* Losses far apart are each their own. */
Test(watch, losses_far_apart_accuse_nobody, .timeout = 10) {
  weir_h leases[6];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=6;Mock Idle Watch=false;Probe Window=1 h");
  for (unsigned i = 0; i < 6; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  for (unsigned i = 0; i < 4; i++) {
    const struct weir__slot *slot = slot_of(leases[i]);
    inject(slot->number, birth_of(slot), true);
    AWAIT_STAT(pool, empty, i + 1);
    fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  }
  cr_assert_eq(fixture_stats(pool).idle, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 0);
  fixture_close(&f);
}
