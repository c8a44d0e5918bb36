/* SPDX-License-Identifier: MIT */
/* test_storm.c - a fleet and a server that comes back, in virtual time.
 *
 * 200 processes want 20 connections each.  The server is gone for 30 s, refuses at
 * once while it is, and then performs 400 logins a second, first come, first
 * served; a login whose client has given up after 5 s still costs the server its
 * turn.  Restoring 90 % cannot take less than 9.0 s.  Each process decides with
 * the engine's own policies: breaker, forecast, limiter, budget and classes, in the
 * order in which growth.c asks them. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir.h"
#include "weir_driver.h"

#include "breaker.h"
#include "budget.h"
#include "classify.h"
#include "forecast.h"
#include "limiter.h"

#define MS          UINT64_C(1000000)
#define S           (1000 * MS)
#define PROCESSES   200u
#define WANTED      20u
#define LOGINS      400u /* a second */
#define BACKLOG     2000u
#define LOGIN_LIMIT (5 * S)
#define OUTAGE      (30 * S)
#define END         (180 * S)
#define SEEDS       20u
#define EVENTS_MAX  200000u

enum what {
  START,
  LOOK,
  REFUSED,
  GAVE_UP,
  SERVED
};

struct event {
  uint64_t at;
  uint64_t order; /* of two at one moment the one planned first */
  enum what what;
  uint32_t process;
  uint32_t login; /* index in logins */
};

struct login {
  uint32_t process;
  uint32_t ticket;
  uint64_t begun;
  uint64_t deadline;
  bool gone;
};

struct process {
  struct weir__breaker breaker;
  struct weir__limiter limiter;
  struct weir__forecast forecast;
  struct weir__budget budget;
  struct weir__budget_member member;
  uint32_t have;
  uint32_t connecting;
  uint64_t wakes_at; /* the earliest LOOK that is planned */
};

struct policy {
  const char *name;
  uint32_t max_connects; /* at once */
  bool lost;             /* had connections and lost them: a fail-over */
  bool blind;            /* no breaker; only the outage is played */
};

struct result {
  uint32_t in_outage;
  uint32_t peak; /* attempts in one second after the return */
  uint32_t wasted;
  uint64_t restored; /* 90 %, after the return */
};

static struct event heap[EVENTS_MAX];
static uint32_t n_heap;
static uint64_t n_planned;
static struct login logins[EVENTS_MAX];
static uint32_t n_logins;
static struct process fleet[PROCESSES];
static uint32_t line[BACKLOG];
static uint32_t line_first;
static uint32_t line_n;
static bool server_busy;
static uint32_t restored_n;
static uint32_t per_second[END / S + 1];
static uint64_t dice;
static struct result result;
static const struct policy *policy;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = dice += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* ----------------------------------------------------------------- events */

static bool sooner(const struct event *a, const struct event *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void plan(uint64_t at,
                 enum what what,
                 uint32_t process,
                 uint32_t login) {
  struct event e = {at, n_planned++, what, process, login};
  uint32_t i = n_heap++;
  cr_assert_lt(i, EVENTS_MAX);
  for (; i > 0 && sooner(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) {
    heap[i] = heap[(i - 1) / 2];
  }
  heap[i] = e;
}

static struct event take_event(void) {
  struct event first = heap[0];
  struct event last = heap[--n_heap];
  uint32_t i = 0;
  for (uint32_t child; (child = 2 * i + 1) < n_heap; i = child) {
    child += child + 1 < n_heap && sooner(&heap[child + 1], &heap[child]);
    if (!sooner(&heap[child], &last)) {
      break;
    }
    heap[i] = heap[child];
  }
  heap[i] = last;
  return first;
}

/* ----------------------------------------------------------------- server */

static void serve(uint64_t now) {
  if (!server_busy && line_n != 0) {
    server_busy = true;
    plan(now + S / LOGINS, SERVED, 0, line[line_first]);
    line_first = (line_first + 1) % BACKLOG;
    line_n--;
  }
}

static void attempt(uint64_t now, uint32_t process, uint32_t ticket) {
  uint32_t i = n_logins++;
  cr_assert_lt(i, EVENTS_MAX);
  logins[i] = (struct login){process, ticket, now, now + LOGIN_LIMIT, false};
  result.in_outage += now < OUTAGE;
  per_second[now / S]++;
  if (now < OUTAGE || line_n == BACKLOG) {
    plan(now + 5 * MS, REFUSED, process, i);
    return;
  }
  line[(line_first + line_n++) % BACKLOG] = i;
  plan(now + LOGIN_LIMIT, GAVE_UP, process, i);
  serve(now);
}

/* ---------------------------------------------------------------- process */

static void wake_at(uint32_t process, uint64_t at) {
  struct process *p = &fleet[process];
  if (at != UINT64_MAX && at < p->wakes_at) {
    p->wakes_at = at;
    plan(at, LOOK, process, 0);
  }
}

/* Opens for those who wait, as far as every limit allows. */
static void grow(uint64_t now, uint32_t process) {
  struct process *p = &fleet[process];
  (void)weir__budget_rise(&p->budget, now, WANTED);
  for (;;) {
    struct weir__outlook o = {
        .now = now,
        .head_since = now,
        .waiting = WANTED - p->have - p->connecting,
        .leased = p->have, /* for good: no hold time is ever known */
    };
    uint32_t ticket;
    uint64_t token = weir__limiter_next(&p->limiter, UINT32_MAX, 1, now);
    if (weir__forecast_ask(&p->forecast, &o) == WEIR_FORECAST_ENOUGH ||
        p->connecting >= policy->max_connects) {
      return;
    }
    if (token > now) {
      wake_at(process, token);
      return;
    }
    if (!weir__budget_allows(&p->budget, &p->member)) {
      wake_at(process, p->budget.raise_at);
      return;
    }
    if (!weir__breaker_begin(&p->breaker, now, &ticket)) {
      wake_at(process, weir__breaker_next(&p->breaker));
      return;
    }
    (void)weir__budget_take(&p->budget, &p->member);
    weir__limiter_take(&p->limiter, UINT32_MAX, now);
    p->connecting++;
    attempt(now, process, ticket);
  }
}

static void failed(uint64_t now, const struct login *l, int32_t kind) {
  struct process *p = &fleet[l->process];
  enum weir__class class = weir__classify_connect(
      WEIR_DRV_SCOPE_ENDPOINT, kind,
      kind == WEIR_DRV_K_TIMEOUT ? WEIR_PHASE_LOGIN : WEIR_PHASE_CONNECT);
  if (class == WEIR_CLASS_OVERLOADED) {
    weir__budget_overloaded(&p->budget, now);
  }
  if (class != WEIR_CLASS_OVERLOADED || p->budget.used <= 1 ||
      p->breaker.state != WEIR_BREAKER_CLOSED) {
    (void)weir__breaker_bad(&p->breaker, l->ticket, now, random_bits());
  }
  weir__budget_give(&p->budget, &p->member);
  p->connecting--;
  if (policy->blind) {
    weir__breaker_reset(&p->breaker);
    wake_at(l->process, now + S);
  } else {
    grow(now, l->process);
  }
}

static void served(uint64_t now, const struct login *l) {
  struct process *p = &fleet[l->process];
  server_busy = false;
  if (l->gone) {
    result.wasted++;
  } else {
    weir__average_feed(&p->forecast.connect, now - l->begun);
    (void)weir__breaker_good(&p->breaker, l->ticket, now);
    p->connecting--;
    p->have++;
    if (++restored_n == PROCESSES * WANTED * 9 / 10) {
      result.restored = now - OUTAGE;
    }
    grow(now, l->process);
  }
  serve(now);
}

static void happen(const struct event *e) {
  struct process *p = &fleet[e->process];
  struct login *l = &logins[e->login];
  switch (e->what) {
  case REFUSED:
    failed(e->at, l, WEIR_DRV_K_NETWORK);
    break;
  case GAVE_UP:
    if (p->have != WANTED && !l->gone && l->deadline == e->at &&
        l->begun != UINT64_MAX) {
      l->gone = true;
      failed(e->at, l, WEIR_DRV_K_TIMEOUT);
    }
    break;
  case SERVED:
    served(e->at, l);
    l->begun = UINT64_MAX; /* over */
    break;
  case START:
    if (policy->lost) {
      (void)weir__breaker_suspect(&p->breaker, e->at);
    }
    grow(e->at, e->process);
    break;
  case LOOK:
  default:
    p->wakes_at = UINT64_MAX;
    grow(e->at, e->process);
    break;
  }
}

static void run(const struct policy *with, uint64_t seed) {
  policy = with;
  dice = seed;
  n_heap = n_logins = line_first = line_n = restored_n = 0;
  server_busy = false;
  memset(fleet, 0, sizeof fleet);
  memset(per_second, 0, sizeof per_second);
  result = (struct result){.restored = UINT64_MAX};
  for (uint32_t i = 0; i < PROCESSES; i++) {
    fleet[i].budget = (struct weir__budget){UINT32_MAX, UINT32_MAX, 0, 0, 0, 0};
    fleet[i].member.weight = 1;
    fleet[i].wakes_at = UINT64_MAX;
    plan(random_bits() % (200 * MS), START, i, 0);
  }
  uint64_t end = with->blind ? OUTAGE : END;
  while (n_heap != 0 && heap[0].at < end && restored_n < PROCESSES * WANTED) {
    struct event e = take_event();
    happen(&e);
  }
  for (uint64_t s = OUTAGE / S; s < END / S; s++) {
    result.peak = per_second[s] > result.peak ? per_second[s] : result.peak;
  }
}

static int by_value(const void *a, const void *b) {
  const uint64_t *x = a;
  const uint64_t *y = b;
  return (*x > *y) - (*x < *y);
}

static uint64_t median(uint64_t *v) {
  qsort(v, SEEDS, sizeof *v, by_value);
  return (v[SEEDS / 2 - 1] + v[SEEDS / 2]) / 2;
}

/* The medians of all seeds, shown and returned. */
static struct result storm(const struct policy *with) {
  uint64_t v[4][SEEDS];
  for (uint32_t i = 0; i < SEEDS; i++) {
    run(with, i + 1);
    v[0][i] = result.in_outage;
    v[1][i] = result.peak;
    v[2][i] = result.wasted;
    v[3][i] = result.restored;
  }
  struct result m = {(uint32_t)median(v[0]), (uint32_t)median(v[1]),
                     (uint32_t)median(v[2]), median(v[3])};
  (void)fprintf(stderr,
                "%-34s attempts in the outage %5" PRIu32 " (%" PRIu64
                " to %" PRIu64 "), peak/s after it %4" PRIu32
                ", logins wasted %4" PRIu32 ", 90 %% restored after %.2f s "
                "(worst %.2f s)\n",
                with->name, m.in_outage, v[0][0], v[0][SEEDS - 1], m.peak,
                m.wasted, (double)m.restored / (double)S,
                (double)v[3][SEEDS - 1] / (double)S);
  return m;
}

/* 200 pools that had their connections, and lost them with the server. */
Test(storm, is_weathered_by_a_fleet_that_lost_its_server, .timeout = 60) {
  static const struct policy p = {"fail-over", WANTED, true, false};
  struct result r = storm(&p);
  cr_assert_leq(r.in_outage, 1500);
  cr_assert_leq(r.restored, 10 * S);
}

/* Without history each of 20 waiters gets a connect, which fails: only then does
 * the breaker know. */
Test(storm, costs_a_cold_fleet_one_burst_more, .timeout = 60) {
  static const struct policy p = {"cold start", WANTED, false, false};
  struct result r = storm(&p);
  cr_assert_leq(r.in_outage, PROCESSES * WANTED + 1500);
  cr_assert_leq(r.restored, 10 * S);
}

Test(storm, is_smaller_where_two_connects_at_once_are_enough, .timeout = 60) {
  static const struct policy p = {"Max Concurrent Connects=2", 2, false, false};
  struct result r = storm(&p);
  cr_assert_leq(r.in_outage, PROCESSES + 1500);
  cr_assert_leq(r.restored, 10 * S);
}

/* A model in which nothing can go wrong would prove nothing: without breakers
 * each of the twenty tries again every second. */
Test(storm, rages_where_nobody_has_a_breaker, .timeout = 60) {
  static const struct policy p = {"no breaker", WANTED, true, true};
  run(&p, 1);
  cr_assert_gt(result.in_outage, 100000);
}
