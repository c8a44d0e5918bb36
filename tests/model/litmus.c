/* SPDX-License-Identifier: MIT */
/* litmus.c - the pairs of accesses that the engine relies on, one litmus test each,
 * under the axioms of machines and of C11; what each becomes when an order is
 * weakened; and tests whose answers are known, to test the axioms. */
#include <stdio.h>

#include "axioms.h"

/* One bit for each model; none allows what SC does not. */
#define TSO 2u
#define ARM 4u
#define C11 8u

#define R(order, where, found) \
  { READ, order, where, found, 0 }
#define W(order, where, value) \
  { WRITE, order, where, 0, value }
#define U(order, where, found, value) \
  { UPDATE, order, where, found, value }
#define F \
  { FENCE, SEQ, 0, 0, 0 }
#define MB \
  { MEMBARRIER, SEQ, 0, 0, 0 }

static const struct litmus known[] = {
    {"SB",
     "both read the past",
     TSO | ARM | C11,
     0,
     0,
     {{W(RELAXED, 'a', 1), R(RELAXED, 'b', 0)},
      {W(RELAXED, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"SB+seq",
     "both read the past",
     0,
     0,
     0,
     {{W(SEQ, 'a', 1), R(SEQ, 'b', 0)}, {W(SEQ, 'b', 1), R(SEQ, 'a', 0)}}},
    {"SB+fences",
     "both read the past",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1), F, R(RELAXED, 'b', 0)},
      {W(RELAXED, 'b', 1), F, R(RELAXED, 'a', 0)}}},
    {"SB+rel-acq",
     "both read the past",
     TSO | C11,
     0,
     0,
     {{W(RELEASE, 'a', 1), R(ACQUIRE, 'b', 0)},
      {W(RELEASE, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"SB+seq-rlx",
     "both read the past",
     ARM | C11,
     0,
     0,
     {{W(SEQ, 'a', 1), R(RELAXED, 'b', 0)},
      {W(SEQ, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"SB+rmw-rlx",
     "both read the past",
     ARM | C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(RELAXED, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(RELAXED, 'a', 0)}}},
    {"MP",
     "the flag and not the data",
     ARM | C11,
     0,
     0,
     {{W(RELAXED, 'a', 1), W(RELAXED, 'b', 1)},
      {R(RELAXED, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"MP+rel-acq",
     "the flag and not the data",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1), W(RELEASE, 'b', 1)},
      {R(ACQUIRE, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"MP+rel-rlx",
     "the flag and not the data",
     ARM | C11,
     0,
     0,
     {{W(RELAXED, 'a', 1), W(RELEASE, 'b', 1)},
      {R(RELAXED, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"LB",
     "both read the future",
     ARM,
     0,
     0, /* RC11 forbids what C11 does not */
     {{R(RELAXED, 'a', 1), W(RELAXED, 'b', 1)},
      {R(RELAXED, 'b', 1), W(RELAXED, 'a', 1)}}},
    {"R",
     "the later write reads the past",
     TSO | ARM | C11,
     'b',
     2,
     {{W(RELAXED, 'a', 1), W(RELAXED, 'b', 1)},
      {W(RELAXED, 'b', 2), R(RELAXED, 'a', 0)}}},
    {"R+seq",
     "the later write reads the past",
     0,
     'b',
     2,
     {{W(SEQ, 'a', 1), W(SEQ, 'b', 1)}, {W(SEQ, 'b', 2), R(SEQ, 'a', 0)}}},
    {"S+rel",
     "a write before what was read",
     ARM | C11,
     'a',
     2,
     {{W(RELAXED, 'a', 2), W(RELEASE, 'b', 1)},
      {R(RELAXED, 'b', 1), W(RELAXED, 'a', 1)}}},
    {"CoRR",
     "a new value and then the old",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1)}, {R(RELAXED, 'a', 1), R(RELAXED, 'a', 0)}}},
    {"WRC+acq-rel",
     "what another has seen",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1)},
      {R(ACQUIRE, 'a', 1), W(RELEASE, 'b', 1)},
      {R(ACQUIRE, 'b', 1), R(RELAXED, 'a', 0)}}},
};

/* The engine's pairs: nothing may be allowed anywhere. */
static const struct litmus engine[] = {
    {"Q/slot",
     "a release sees no waiter, and he no idle slot",
     0,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"Q/claim",
     "a claim sees no CLOSED, and the sweep no claim",
     0,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"bit/slot",
     "tidying sees no idle slot, and its owner the bit",
     0,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"bits tidied",
     "a search misses a cleared summary and its count",
     0,
     0,
     0,
     {{U(ACQ_REL, 'a', 0, 1), U(SEQ, 'b', 0, 1)},
      {R(SEQ, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"wake/state",
     "a sleeper sees the wake and not why",
     0,
     0,
     0,
     {{W(RELEASE, 'a', 1), U(ACQ_REL, 'b', 0, 1)},
      {R(ACQUIRE, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"fd/kickers",
     "a kick has the descriptor, the closer no kicker",
     0,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"cancel/driver",
     "a mark nobody is kicked for, and nobody reads",
     0,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)}, {W(SEQ, 'b', 1), R(SEQ, 'a', 0)}}},
    {"tend_posted",
     "found posted, and the tending sees the past",
     0,
     'b',
     2,
     {{U(SEQ, 'a', 0, 1), U(SEQ, 'b', ANY, 1)},
      {W(SEQ, 'b', 2), R(SEQ, 'a', 0)}}},
    {"posting/inbox",
     "no poster, and his task not there",
     0,
     0,
     0,
     {{U(ACQ_REL, 'a', 0, 1), U(ACQ_REL, 'b', 0, 1)},
      {R(ACQUIRE, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"op/answer",
     "REPLIED and not the answer",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1), U(SEQ, 'b', 0, 1)},
      {R(SEQ, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"handle",
     "an old key twice, and a new object between",
     0,
     0,
     0,
     {{W(RELEASE, 'a', 1), W(RELEASE, 'b', 1)},
      {R(ACQUIRE, 'a', 0), R(ACQUIRE, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"recycled",
     "a mark that is over, and a use that is not",
     0,
     'b',
     2,
     {{W(RELAXED, 'b', 2), W(RELEASE, 'a', 1)},
      {R(ACQUIRE, 'a', 1), W(RELAXED, 'b', 1)}}},
    {"mark/handle",
     "no mark, and a handle that is still good",
     0,
     0,
     0,
     {{W(RELAXED, 'a', 1), R(ACQUIRE, 'b', 0)},
      {W(RELEASE, 'b', 1), MB, R(ACQUIRE, 'a', 0)}}},
    {"leave/awaited",
     "a mark still there, and nobody told",
     0,
     0,
     0,
     {{W(RELEASE, 'a', 1), R(RELAXED, 'b', 0)},
      {U(ACQ_REL, 'b', 0, 1), MB, R(ACQUIRE, 'a', 0)}}},
};

/* The same with one thing less: where it must show. */
static const struct litmus weakened[] = {
    {"Q/slot, reread relaxed",
     "a lost wake-up",
     ARM | C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(RELAXED, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"Q/slot, reread acquire",
     "a lost wake-up",
     C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(ACQUIRE, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"Q/slot, idle by a release store",
     "a lost wake-up",
     TSO | C11,
     0,
     0,
     {{W(RELEASE, 'a', 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"Q/slot, scan relaxed",
     "a lost wake-up",
     ARM | C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(RELAXED, 'a', 0)}}},
    {"fd/kickers, count acq_rel",
     "a stray kick",
     C11,
     0,
     0,
     {{U(ACQ_REL, 'a', 0, 1), R(SEQ, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"fd/kickers, fd relaxed",
     "a stray kick",
     ARM | C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(RELAXED, 'b', 0)},
      {U(SEQ, 'b', 0, 1), R(SEQ, 'a', 0)}}},
    {"cancel/driver, driver by release",
     "a cancel is lost",
     TSO | C11,
     0,
     0,
     {{U(SEQ, 'a', 0, 1), R(SEQ, 'b', 0)},
      {W(RELEASE, 'b', 1), R(SEQ, 'a', 0)}}},
    {"tend_posted, exchange acq_rel",
     "a tending that sees the past",
     C11,
     'b',
     2,
     {{U(SEQ, 'a', 0, 1), U(ACQ_REL, 'b', ANY, 1)},
      {W(SEQ, 'b', 2), R(SEQ, 'a', 0)}}},
    {"tend_posted, store release",
     "a tending that sees the past",
     TSO | C11,
     'b',
     2,
     {{U(SEQ, 'a', 0, 1), U(SEQ, 'b', ANY, 1)},
      {W(RELEASE, 'b', 2), R(SEQ, 'a', 0)}}},
    {"wake/state, state relaxed read",
     "a wake without a reason",
     0,
     0,
     0,
     {{W(RELEASE, 'a', 1), U(ACQ_REL, 'b', 0, 1)},
      {R(ACQUIRE, 'b', 1), R(RELAXED, 'a', 0)}}},
    {"wake/state, word relaxed",
     "a wake without a reason",
     ARM | C11,
     0,
     0,
     {{W(RELEASE, 'a', 1), U(ACQ_REL, 'b', 0, 1)},
      {R(RELAXED, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"mark/handle, no membarrier",
     "a use after free",
     TSO | ARM | C11,
     0,
     0,
     {{W(RELAXED, 'a', 1), R(ACQUIRE, 'b', 0)},
      {W(RELEASE, 'b', 1), R(ACQUIRE, 'a', 0)}}},
    {"leave/awaited, no membarrier",
     "sleeps for ever",
     TSO | ARM | C11,
     0,
     0,
     {{W(RELEASE, 'a', 1), R(RELAXED, 'b', 0)},
      {U(ACQ_REL, 'b', 0, 1), R(ACQUIRE, 'a', 0)}}},
    {"recycled, mark relaxed",
     "recycled before the last use",
     ARM | C11,
     'b',
     2,
     {{W(RELAXED, 'b', 2), W(RELAXED, 'a', 1)},
      {R(ACQUIRE, 'a', 1), W(RELAXED, 'b', 1)}}},
};

static unsigned passed;
static unsigned failed;

/* C11 says nothing of membarrier, and the language's fences are not in use. */
static bool is_of_machines(const struct litmus *t) {
  for (unsigned i = 0; i < AXIOMS_LINES * AXIOMS_LENGTH; i++) {
    enum access access = t->line[i / AXIOMS_LENGTH][i % AXIOMS_LENGTH].access;
    if (access == FENCE || access == MEMBARRIER) {
      return true;
    }
  }
  return false;
}

static void run(const struct litmus *t) {
  static const char *const names[] = {"SC", "TSO", "ARM", "C11"};
  (void)printf("%-34s", t->name);
  for (int m = 0; m < MODELS; m++) {
    if (m == MODEL_C11 && is_of_machines(t)) {
      (void)printf("  %s -", names[m]);
      continue;
    }
    bool allowed = axioms_allow(t, (enum axioms_model)m);
    bool good = allowed == ((t->allowed & (1u << m)) != 0);
    passed += good;
    failed += !good;
    (void)printf("  %s %s%s", names[m], allowed ? "allows" : "forbids",
                 good ? "" : " WRONG");
  }
  (void)printf("  (%s)\n", t->what);
}

static void run_all(const char *title, const struct litmus *tests, size_t n) {
  (void)printf("%s\n", title);
  for (size_t i = 0; i < n; i++) {
    run(&tests[i]);
  }
}

int main(void) {
  run_all("-- known answers", known, sizeof known / sizeof known[0]);
  run_all("-- the engine's pairs", engine, sizeof engine / sizeof engine[0]);
  run_all("-- weakened", weakened, sizeof weakened / sizeof weakened[0]);
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed != 0 ? 0 : 1;
}
