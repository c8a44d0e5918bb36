/* SPDX-License-Identifier: MIT */
/* The policy by itself, and in a queue before ten connections, event by event. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "codel.h"

#define MS    UINT64_C(1000000)
#define S     (1000 * MS)
#define NEVER UINT64_MAX

static struct weir__codel codel;

/* ------------------------------------------------------------- by itself */

Test(codel, gives_a_burst_half_the_time_out) {
  weir__codel_served(&codel, 10 * S, 0); /* the queue was empty */
  cr_assert_eq(weir__codel_refuse_at(&codel, 10 * S, S), 10 * S + 500 * MS);
  cr_assert_eq(weir__codel_refuse_at(&codel, 10 * S, 15 * S),
               17 * S + 500 * MS);
}

Test(codel, lets_everybody_wait_for_a_tenth_of_the_time_out) {
  weir__codel_served(&codel, 10 * S, 0);
  cr_assert_eq(weir__codel_refuse_at(&codel, 20 * S, S), 20 * S + 100 * MS);
  cr_assert_eq(weir__codel_refuse_at(&codel, 20 * S, 15 * S),
               21 * S + 500 * MS);
}

/* A wait that was short enough for one says nothing to another. */
Test(codel, judges_the_queue_for_each_time_out) {
  weir__codel_served(&codel, 10 * S, 0);
  weir__codel_served(&codel, 30 * S, 200 * MS);
  cr_assert_eq(weir__codel_refuse_at(&codel, 29 * S, S), 29 * S + 100 * MS);
  cr_assert_eq(weir__codel_refuse_at(&codel, 29 * S, 15 * S),
               37 * S + 500 * MS);
}

Test(codel, meets_its_target_to_within_a_fifth) {
  for (uint64_t target = 50000; target < 3600 * S; target += target / 7) {
    uint64_t span = target * 20;
    struct weir__codel c = {.served = {0}};
    weir__codel_served(&c, S, 0);
    weir__codel_served(&c, 2 * S, target);
    weir__codel_served(&c, 3 * S, target + target / 4);
    cr_assert_eq(weir__codel_refuse_at(&c, 0, span), 2 * S + span / 2);
  }
}

Test(codel, never_refuses_who_waits_for_ever) {
  cr_assert_eq(weir__codel_refuse_at(&codel, 0, NEVER), NEVER);
  cr_assert_eq(weir__codel_stuck_at(&codel, 0, NEVER), NEVER);
}

Test(codel, survives_the_ends_of_time) {
  weir__codel_served(&codel, NEVER - 1, NEVER);
  weir__codel_served(&codel, NEVER - 1, 0);
  cr_assert_eq(weir__codel_refuse_at(&codel, NEVER - 1, NEVER - 1), NEVER);
  cr_assert_eq(weir__codel_stuck_at(&codel, NEVER - 1, NEVER - 1), NEVER);
  cr_assert_eq(weir__codel_refuse_at(&codel, NEVER - 1, 0), NEVER - 1);
}

/* As long as somebody is served, whoever takes them out of the queue refuses. */
Test(codel, counts_as_stuck_when_nobody_is_served_at_all) {
  weir__codel_served(&codel, 10 * S, 0);
  cr_assert_eq(weir__codel_stuck_at(&codel, 10 * S, S), 10 * S + 500 * MS);
  weir__codel_served(&codel, 30 * S, 3 * S);
  cr_assert_eq(weir__codel_refuse_at(&codel, 29 * S, S), 29 * S + 100 * MS);
  cr_assert_eq(weir__codel_stuck_at(&codel, 29 * S, S), 30 * S + 100 * MS);
  cr_assert_eq(weir__codel_stuck_at(&codel, 31 * S, S), 31 * S + 100 * MS);
}

/* ------------------------------------------------------------ in a queue */

#define SERVERS 10u
#define LINE    65536u
#define SAMPLES 200000u

struct caller {
  uint64_t since;
  uint64_t span;
  uint32_t who;
};

static struct {
  bool shedding;
  uint64_t now;
  uint64_t service; /* mean */
  uint64_t free_at[SERVERS];
  struct caller line[LINE];
  uint32_t first;
  uint32_t n;
  uint64_t random;
  uint64_t *asks; /* when each worker asks again; NULL: none does */
  /* what became of them */
  uint64_t useful; /* done within a second of coming */
  uint64_t late;
  uint64_t timeouts;
  uint64_t refused;
  uint64_t refused_patient; /* of them, with more than a second to wait */
  uint64_t waits[SAMPLES];
  uint32_t n_waits;
} q;

static double uniform(void) {
  q.random =
      q.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((double)(q.random >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t exponential(uint64_t mean) {
  return (uint64_t)(-(double)mean * log(uniform()));
}

static void start(bool shedding, uint64_t service) {
  memset(&q, 0, sizeof q);
  memset(&codel, 0, sizeof codel);
  q.shedding = shedding;
  q.service = service;
  q.random = 20261130;
}

static void note_wait(uint64_t wait) {
  if (q.n_waits < SAMPLES) {
    q.waits[q.n_waits++] = wait;
  }
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static uint64_t wait_of_percent(uint32_t percent) {
  qsort(q.waits, q.n_waits, sizeof q.waits[0], by_size);
  return q.waits[(uint64_t)q.n_waits * percent / 100];
}

static uint32_t first_free(void) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < SERVERS; i++) {
    best = q.free_at[i] < q.free_at[best] ? i : best;
  }
  return best;
}

static void serve(uint32_t server, struct caller c) {
  uint64_t done = q.now + exponential(q.service);
  note_wait(q.now - c.since);
  q.free_at[server] = done;
  if (done - c.since <= S) {
    q.useful++;
  } else {
    q.late++;
  }
}

static void refuse(const struct caller *c) {
  q.refused++;
  q.refused_patient += c->span > S;
  if (q.asks != NULL) {
    q.asks[c->who] = q.now + 100 * MS;
  }
}

/* What the pool does with the head of its line (shed.c, direct.c). */
static bool dequeue(struct caller *out) {
  while (q.n != 0) {
    *out = q.line[q.first++ % LINE];
    q.n--;
    if (q.now - out->since >= out->span) {
      q.timeouts++;
    } else if (q.shedding &&
               q.now >= weir__codel_refuse_at(&codel, out->since, out->span)) {
      refuse(out);
    } else {
      weir__codel_served(&codel, q.now, q.now - out->since);
      return true;
    }
  }
  return false;
}

static void arrive(struct caller c) {
  uint32_t server = first_free();
  if (q.free_at[server] <= q.now && q.n == 0) {
    serve(server, c);
    return;
  }
  if (q.n == 0) {
    weir__codel_served(&codel, q.now, 0);
  }
  cr_assert_lt(q.n, LINE);
  q.line[(q.first + q.n++) % LINE] = c;
}

/* Callers come at random; `patient` in a hundred come with 15 s, the others with
 * 1 s. */
static void run_open(double per_second, uint64_t until, unsigned patient) {
  uint64_t gap = (uint64_t)(1e9 / per_second);
  uint64_t next = exponential(gap);
  while (q.now < until) {
    uint32_t server = first_free();
    struct caller c;
    if (q.n != 0 && q.free_at[server] <= next) {
      q.now = q.free_at[server];
      if (dequeue(&c)) {
        serve(server, c);
      }
      continue;
    }
    q.now = next;
    next += exponential(gap);
    bool is_patient = uniform() * 100 < (double)patient;
    arrive((struct caller){.since = q.now, .span = is_patient ? 15 * S : S});
  }
}

struct load {
  double per_second; /* of about 1,000 that ten connections serve */
  bool shedding;
  uint64_t useful_min; /* per second */
  uint64_t useful_max;
  uint64_t late_max;
  uint64_t p99_max;
};

/* The rows of a published comparison: the service takes 10 ms on average, callers
 * give up after a second, waiting and being served included. */
static const struct load loads[] = {
    {900, false, 880, 920, 1, 100 * MS}, {900, true, 880, 920, 1, 100 * MS},
    {1500, false, 0, 300, 900, S},       {1500, true, 970, 1030, 0, 145 * MS},
    {3000, false, 0, 150, 1000, S},      {3000, true, 970, 1030, 0, 145 * MS},
};

Test(codel, keeps_useful_work_and_short_waits_under_overload, .timeout = 30) {
  for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
    const struct load *l = &loads[i];
    start(l->shedding, 10 * MS);
    run_open(l->per_second, 60 * S, 0);
    uint64_t p99 = wait_of_percent(99);
    cr_assert(q.useful / 60 >= l->useful_min && q.useful / 60 <= l->useful_max,
              "row %zu: %lu useful a second", i, (unsigned long)q.useful / 60);
    cr_assert_leq(q.late / 60, l->late_max, "row %zu: %lu late a second", i,
                  (unsigned long)q.late / 60);
    cr_assert_leq(p99, l->p99_max, "row %zu: p99 %lu ms", i,
                  (unsigned long)(p99 / MS));
  }
}

/* A burst of three times as much for two seconds, then less than there is room
 * for: as much useful work is done, and few wait long. */
Test(codel, costs_a_burst_little, .timeout = 30) {
  uint64_t useful[2];
  uint64_t p95[2];
  for (int shedding = 0; shedding < 2; shedding++) {
    start(shedding == 1, 10 * MS);
    run_open(3000, 2 * S, 0);
    run_open(700, 20 * S, 0);
    useful[shedding] = q.useful;
    p95[shedding] = wait_of_percent(95);
  }
  cr_assert_geq(useful[1], useful[0]);
  cr_assert_gt(p95[0], 900 * MS);
  cr_assert_leq(p95[1], 120 * MS);
}

/* Who is ready to wait for longer is not refused for what others do not like. */
Test(codel, refuses_nobody_who_could_wait_longer, .timeout = 30) {
  start(true, 10 * MS);
  run_open(1500, 60 * S, 10);
  cr_assert_gt(q.refused, 20000);
  cr_assert_eq(q.refused_patient, 0);
  cr_assert_leq(wait_of_percent(99), 145 * MS);
}

#define WORKERS 100u

struct outcome {
  uint64_t done; /* per second */
  uint64_t refused;
  uint64_t p99;
};

static uint32_t owner[SERVERS]; /* WORKERS: nobody */

static uint32_t first_to_ask(void) {
  uint32_t who = 0;
  for (uint32_t i = 1; i < WORKERS; i++) {
    who = q.asks[i] < q.asks[who] ? i : who;
  }
  return who;
}

static void ask(uint32_t who, uint64_t span) {
  q.now = q.asks[who];
  q.asks[who] = NEVER;
  if (q.n == 0) {
    weir__codel_served(&codel, q.now, 0);
  }
  q.line[(q.first + q.n++) % LINE] =
      (struct caller){.since = q.now, .span = span, .who = who};
}

static void serve_idle(void) {
  struct caller c;
  for (uint32_t i = 0; i < SERVERS; i++) {
    if (owner[i] == WORKERS && dequeue(&c)) {
      owner[i] = c.who;
      serve(i, c);
    }
  }
}

/* A hundred workers take turns: each asks, holds a connection for 100 ms, and asks
 * again; one that is refused asks after 100 ms.  The queue stands for ever, and
 * nothing is overloaded. */
static struct outcome run_closed(bool shedding, uint64_t span) {
  static uint64_t asks[WORKERS];
  uint64_t done = 0;
  memset(asks, 0, sizeof asks);
  start(shedding, 100 * MS);
  q.asks = asks;
  for (uint32_t i = 0; i < SERVERS; i++) {
    owner[i] = WORKERS;
    q.free_at[i] = NEVER;
  }
  while (q.now < 300 * S) {
    uint32_t server = first_free();
    uint32_t who = first_to_ask();
    if (asks[who] <= q.free_at[server]) {
      ask(who, span);
    } else {
      q.now = q.free_at[server];
      q.free_at[server] = NEVER;
      done++;
      asks[owner[server]] = q.now;
      owner[server] = WORKERS;
    }
    serve_idle();
  }
  return (struct outcome){done / 300, q.refused / 300, wait_of_percent(99)};
}

Test(codel, leaves_workers_alone_that_take_turns, .timeout = 30) {
  struct outcome fifo = run_closed(false, 15 * S);
  struct outcome scaled = run_closed(true, 15 * S);
  struct outcome hasty = run_closed(true, S);
  cr_assert_geq(fifo.done, 99);
  cr_assert_geq(scaled.done, 99);
  cr_assert_eq(scaled.refused, 0);
  cr_assert_eq(scaled.p99, fifo.p99);
  /* As many are served, at the cost of refusals, if they will not wait. */
  cr_assert_geq(hasty.done, 98);
  cr_assert_gt(hasty.refused, 100);
}
