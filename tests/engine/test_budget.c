/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "budget.h"

#define S UINT64_C(1000000000)

static struct weir__budget b;
static struct weir__budget_member m[3];

static void set_up(uint32_t capacity) {
  b = (struct weir__budget){.capacity = capacity, .ceiling = UINT32_MAX};
  for (int i = 0; i < 3; i++) {
    m[i] = (struct weir__budget_member){.weight = 1};
  }
}

static void take(int i, uint32_t n) {
  while (n-- > 0) {
    cr_assert(weir__budget_take(&b, &m[i]));
  }
}

/* Who gets the unit that member `from` gives back, -1: nobody. */
static int heir_of(int from) {
  weir__budget_give(&b, &m[from]);
  struct weir__budget_member *heir = weir__budget_assign(&b);
  cr_assert_null(weir__budget_assign(&b));
  return heir == NULL ? -1 : (int)(heir - m);
}

Test(budget, gives_no_more_than_its_capacity, .timeout = 5) {
  set_up(4);
  take(0, 3);
  take(1, 1);
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_not(weir__budget_take(&b, &m[0]));
  cr_assert_eq(b.used, 4);
  cr_assert_eq(weir__budget_reach(&b, &m[0]), 3);
}

Test(budget, gives_a_returned_unit_to_the_rings_next, .timeout = 5) {
  set_up(2);
  take(0, 2);
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_not(weir__budget_take(&b, &m[2]));
  cr_assert_eq(heir_of(0), 1);
  /* Kept: neither the giver nor the next in the ring may have it. */
  cr_assert_not(weir__budget_take(&b, &m[0]));
  cr_assert_not(weir__budget_take(&b, &m[2]));
  take(1, 1);
  cr_assert_eq(heir_of(0), 2);
  take(2, 1);
  cr_assert_eq(heir_of(1), 0);
}

Test(budget, serves_everyone_in_a_round, .timeout = 5) {
  set_up(1);
  take(0, 1);
  int served[3] = {0};
  int holder = 0;
  for (int i = 0; i < 30; i++) {
    for (int k = 0; k < 3; k++) {
      if (m[k].next == NULL) {
        cr_assert_not(weir__budget_take(&b, &m[k]));
      }
    }
    holder = heir_of(holder);
    served[holder]++;
    take(holder, 1);
  }
  cr_assert_eq(served[0], 10);
  cr_assert_eq(served[1], 10);
  cr_assert_eq(served[2], 10);
}

Test(budget, makes_a_turn_worth_the_weight, .timeout = 5) {
  set_up(6);
  m[1].weight = 2;
  take(0, 6);
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_not(weir__budget_take(&b, &m[2]));
  cr_assert_eq(heir_of(0), 1);
  cr_assert_eq(heir_of(0), 1);
  cr_assert_eq(heir_of(0), 2);
}

Test(budget, passes_on_what_is_not_wanted_any_more, .timeout = 5) {
  set_up(1);
  take(0, 1);
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_not(weir__budget_take(&b, &m[2]));
  cr_assert_eq(heir_of(0), 1);
  weir__budget_leave(&b, &m[1]);
  cr_assert_eq(weir__budget_assign(&b), &m[2]);
  weir__budget_leave(&b, &m[2]);
  cr_assert_null(weir__budget_assign(&b));
  cr_assert_eq(weir__budget_free(&b), 1);
  cr_assert_eq(b.kept, 0);
  take(0, 1);
}

Test(budget, leaves_from_anywhere_in_the_ring, .timeout = 5) {
  for (int out = 0; out < 3; out++) {
    set_up(1);
    struct weir__budget_member owner = {.weight = 1};
    cr_assert(weir__budget_take(&b, &owner));
    for (int i = 0; i < 3; i++) {
      cr_assert_not(weir__budget_take(&b, &m[i]));
    }
    weir__budget_leave(&b, &m[out]);
    weir__budget_give(&b, &owner);
    for (int i = 0; i < 3; i++) {
      if (i != out) {
        cr_assert_eq(weir__budget_assign(&b), &m[i]);
        cr_assert(weir__budget_take(&b, &m[i]));
        weir__budget_give(&b, &m[i]);
      }
    }
    cr_assert_null(b.turn);
  }
}

Test(budget, gives_nothing_kept_beyond_a_lowered_capacity, .timeout = 5) {
  set_up(2);
  take(0, 2);
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_eq(heir_of(0), 1);
  b.capacity = 1;
  cr_assert_not(weir__budget_take(&b, &m[1]));
  cr_assert_eq(weir__budget_free(&b), 0);
}

Test(budget, steps_down_below_what_the_server_refused, .timeout = 5) {
  set_up(UINT32_MAX);
  take(0, 10);
  weir__budget_overloaded(&b, 0);
  cr_assert_eq(b.ceiling, 9);
  weir__budget_give(&b, &m[0]); /* the one that was refused */
  cr_assert_not(weir__budget_take(&b, &m[0]));
  cr_assert_eq(weir__budget_reach(&b, &m[0]), 9);
}

Test(budget, steps_down_once_for_refusals_that_come_together, .timeout = 5) {
  set_up(UINT32_MAX);
  take(0, 10);
  weir__budget_overloaded(&b, 0);
  weir__budget_overloaded(&b, 0);
  cr_assert_eq(b.ceiling, 9);
}

Test(budget, never_steps_down_to_nothing, .timeout = 5) {
  set_up(UINT32_MAX);
  take(0, 1);
  weir__budget_overloaded(&b, 0);
  cr_assert_eq(b.ceiling, 1);
}

Test(budget, rises_by_one_in_each_quiet_interval, .timeout = 5) {
  set_up(UINT32_MAX);
  take(0, 10);
  weir__budget_overloaded(&b, 5 * S);
  cr_assert_not(weir__budget_rise(&b, 6 * S - 1, 100));
  cr_assert(weir__budget_rise(&b, 6 * S, 100));
  cr_assert_eq(b.ceiling, 10);
  cr_assert_not(weir__budget_rise(&b, 6 * S, 100));
  cr_assert(weir__budget_rise(&b, 9 * S + S / 2, 100));
  cr_assert_eq(b.ceiling, 13);
  weir__budget_overloaded(&b, 9 * S + S / 2); /* not quiet */
  cr_assert_not(weir__budget_rise(&b, 10 * S, 100));
  cr_assert(weir__budget_rise(&b, 1000 * S, 100));
  cr_assert_eq(b.ceiling, UINT32_MAX); /* over what there can be: off */
}

Test(budget, evicts_the_longest_idle_that_has_rested_enough, .timeout = 5) {
  uint64_t now = 100 * S;
  cr_assert(weir__budget_evicts(95 * S, UINT64_MAX, now));
  cr_assert_not(weir__budget_evicts(95 * S + 1, UINT64_MAX, now));
  cr_assert_not(weir__budget_evicts(95 * S, 94 * S, now));
  cr_assert(weir__budget_evicts(93 * S, 94 * S, now));
  cr_assert_not(weir__budget_evicts(101 * S, UINT64_MAX, now));
}
