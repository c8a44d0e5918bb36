/* SPDX-License-Identifier: MIT */
/* E: how long a connection may lie idle.  Min Pool Size keeps it from being closed
 * for idleness by the pool itself, so what is seen is the look at each acquire. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "presets.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)
#define YEAR   (UINT64_C(31536000) * SECOND)

static struct fixture f;
static weir_h pool;

static void open_with(unsigned preset, const char *expiry, const char *idle) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Pool Strategy=%s;Min Pool Size=1;Startup=lazy;"
                      "Max Pool Size=2;Idle Expiry=%s;"
                      "Connection Idle Timeout=%s",
                      preset_names[preset], expiry, idle);
}

/* The session of whoever asks now, which then lies idle. */
static int64_t use(void) {
  weir_h lease = fixture_acquire(&f, pool);
  int64_t session = fixture_number(&f, lease, "session", 0);
  PRESET_RELEASE(lease);
  fixture_sync(&f);
  AWAIT_STAT(pool, closing, 0);
  return session;
}

static void rest(uint64_t ns) {
  fixture_advance(&f, ns);
}

Test(idle_timeout,
     behaviour_084_the_option_in_seconds_is_the_duration,
     .timeout = 10) {
  static const struct {
    const char *text;
    uint64_t s;
  } rows[] = {{"1", 1}, {"300", 300}, {"86400", 86400}};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 3; k++) {
      open_with(i, "enforced", rows[k].text);
      int64_t first = use();
      rest(rows[k].s * SECOND);
      cr_assert_eq(use(), first, "%s s", rows[k].text);
      rest(rows[k].s * SECOND + 1);
      cr_assert_neq(use(), first, "%s s", rows[k].text);
      fixture_close(&f);
    }
  }
}

Test(idle_timeout, behaviour_085_a_return_begins_idleness_anew, .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "enforced", "60");
    int64_t first = use();
    for (unsigned k = 0; k < 10; k++) {
      rest(40 * SECOND);
      cr_assert_eq(use(), first, "round %u", k);
    }
    fixture_close(&f);
  }
}

Test(idle_timeout, behaviour_086_0_never_expires, .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "enforced", "0");
    int64_t first = use();
    rest(YEAR);
    cr_assert_eq(use(), first);
    fixture_close(&f);
  }
}

Test(idle_timeout,
     behaviour_087_what_lies_idle_too_long_is_closed_and_another_opened,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "enforced", "60");
    int64_t first = use();
    rest(61 * SECOND);
    cr_assert_neq(use(), first);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(fixture_stats(pool).closed, 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    fixture_close(&f);
  }
}

Test(idle_timeout, behaviour_088_what_has_not_is_used_again, .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "enforced", "60");
    int64_t first = use();
    rest(59 * SECOND);
    cr_assert_eq(use(), first);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

Test(idle_timeout,
     behaviour_089_idle_expiry_sqlclient_uses_it_again_however_old,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "sqlclient", "60");
    int64_t first = use();
    rest(YEAR);
    cr_assert_eq(use(), first);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
    /* Which is what they do unless told otherwise. */
    pool = preset_open(&f, i,
                       "Min Pool Size=1;Startup=lazy;"
                       "Connection Idle Timeout=1");
    first = use();
    rest(YEAR);
    cr_assert_eq(use(), first);
    fixture_close(&f);
  }
}

Test(idle_timeout, behaviour_090_a_long_use_is_not_idleness, .timeout = 10) {
  EACH_PRESET(i) {
    open_with(i, "enforced", "60");
    weir_h lease = fixture_acquire(&f, pool);
    int64_t first = fixture_number(&f, lease, "session", 0);
    rest(3600 * SECOND);
    PRESET_RELEASE(lease);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).idle, 1);
    rest(60 * SECOND);
    cr_assert_eq(use(), first);
    fixture_close(&f);
  }
}

Test(idle_timeout,
     behaviour_091_without_an_expiry_no_sweep_closes_anything,
     .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=legacy;Max Pool Size=4;"
                          "Idle Expiry=enforced;Connection Idle Timeout=0");
  weir_h leases[3];
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 3; i++) {
    PRESET_RELEASE(leases[i]);
  }
  fixture_sync(&f);
  for (unsigned i = 0; i < 4; i++) {
    rest(230 * SECOND);
    cr_assert_eq(fixture_stats(pool).idle, 3);
  }
  fixture_close(&f);
}
