/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "forecast.h"

#define MS UINT64_C(1000000)

static struct weir__forecast f;

static void know(uint64_t hold_ns, uint64_t connect_ns) {
  weir__average_feed(&f.hold, hold_ns);
  weir__average_feed(&f.connect, connect_ns);
}

static struct weir__outlook line_of(uint32_t waiting, uint32_t leased) {
  return (struct weir__outlook){.now = 1000 * MS,
                                .head_since = 1000 * MS,
                                .waiting = waiting,
                                .leased = leased};
}

/* How many connects are begun for that line, one after the other. */
static uint32_t begun_for(struct weir__outlook o) {
  uint32_t n = 0;
  while (weir__forecast_ask(&f, &o) != WEIR_FORECAST_ENOUGH) {
    o.waiting--; /* a caller opens one itself */
    n++;
  }
  return n;
}

/* The published spike: five connections, fifty requests of 2 ms, a connect of
 * 150 ms. */
Test(forecast, opens_nothing_for_a_spike_of_short_requests, .timeout = 5) {
  know(2 * MS, 150 * MS);
  cr_assert_eq(begun_for(line_of(45, 5)), 0);
}

/* With 40 ms the last in line would wait 45 x 40 / 5 = 360 ms: it grows until
 * k x 8 ms is no more than 150 ms. */
Test(forecast, grows_for_a_spike_of_long_requests, .timeout = 5) {
  know(40 * MS, 150 * MS);
  cr_assert_eq(begun_for(line_of(45, 5)), 45 - 18);
}

Test(forecast, gives_the_last_in_line_what_the_last_would_lack, .timeout = 5) {
  know(40 * MS, 150 * MS);
  struct weir__outlook o = line_of(45, 5);
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_TAIL);
}

Test(forecast, opens_for_everyone_without_history, .timeout = 5) {
  cr_assert_eq(begun_for(line_of(50, 5)), 50);
  weir__average_feed(&f.connect, 150 * MS);
  cr_assert_eq(begun_for(line_of(50, 5)), 50); /* no hold time yet */
}

Test(forecast, opens_when_nothing_is_out, .timeout = 5) {
  know(2 * MS, 150 * MS);
  cr_assert_eq(begun_for(line_of(3, 0)), 3);
}

Test(forecast, counts_connects_that_nobody_drives, .timeout = 5) {
  know(40 * MS, 150 * MS);
  struct weir__outlook o = line_of(45, 5);
  o.unclaimed = 27;
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
  o.unclaimed = 26;
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_TAIL);
  o = line_of(2, 0);
  o.unclaimed = 2;
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
}

Test(forecast, lets_the_head_believe_only_for_so_long, .timeout = 5) {
  static const struct {
    uint64_t connect;
    uint64_t patience;
  } rows[] = {{150 * MS, 150 * MS}, {4000 * MS, 250 * MS}, {1 * MS, 1 * MS}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    f = (struct weir__forecast){0};
    know(0, rows[i].connect);
    struct weir__outlook o = line_of(1, 5);
    uint64_t at = weir__forecast_next(&f, &o);
    cr_assert_eq(at, o.head_since + rows[i].patience + 1);
    o.now = at - 1;
    cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
    o.now = at;
    cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_HEAD);
  }
}

Test(forecast, grows_when_the_queue_stands, .timeout = 5) {
  know(1 * MS, 20 * MS);
  struct weir__outlook o = line_of(1, 5);
  uint64_t now = 1000 * MS;
  for (int i = 0; i < 12; i++, now += 50 * MS) {
    cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
    weir__forecast_waited(&f, now, 101 * MS); /* all of them, for a window */
    if (f.standing) {
      break;
    }
  }
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_HEAD);
  weir__forecast_acted(&f);
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
}

Test(forecast, forgives_a_burst, .timeout = 5) {
  know(1 * MS, 20 * MS);
  uint64_t now = 1000 * MS;
  for (int i = 0; i < 40; i++, now += 50 * MS) {
    /* One short wait in each window. */
    weir__forecast_waited(&f, now, i % 5 == 0 ? 99 * MS : 300 * MS);
    cr_assert_not(f.standing);
  }
}

Test(forecast, forgets_a_standing_queue_when_nobody_waits, .timeout = 5) {
  know(1 * MS, 20 * MS);
  for (uint64_t i = 0; i < 12; i++) {
    weir__forecast_waited(&f, (1000 + 50 * i) * MS, 200 * MS);
  }
  cr_assert(f.standing);
  weir__forecast_waited(&f, 1600 * MS, 0);
  cr_assert_not(f.standing);
}

Test(forecast, asks_for_nothing_when_nobody_waits, .timeout = 5) {
  struct weir__outlook o = line_of(0, 0);
  cr_assert_eq(weir__forecast_ask(&f, &o), WEIR_FORECAST_ENOUGH);
  cr_assert_eq(weir__forecast_next(&f, &o), UINT64_MAX);
}

Test(forecast, does_not_overflow, .timeout = 5) {
  know(UINT64_MAX, UINT64_MAX);
  cr_assert_eq(begun_for(line_of(9, 3)), 7);
}

Test(average, moves_by_an_eighth, .timeout = 5) {
  struct weir__average a = {0};
  weir__average_feed(&a, 800);
  cr_assert_eq(a.ns, 800);
  weir__average_feed(&a, 1600);
  cr_assert_eq(a.ns, 900);
  weir__average_feed(&a, 100);
  cr_assert_eq(a.ns, 800);
}

Test(average, reaches_zero, .timeout = 5) {
  struct weir__average a = {0};
  weir__average_feed(&a, 9);
  for (int i = 0; i < 20; i++) {
    weir__average_feed(&a, 0);
  }
  cr_assert_eq(a.ns, 0);
  cr_assert(a.known);
}
