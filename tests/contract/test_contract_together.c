/* SPDX-License-Identifier: MIT */
/* test_contract_together.c - three pools, one of each strategy, in one engine and in
 * real time: each clause holds for all three at once.
 *
 * WEIR_STRESS_SECONDS (3): the clauses are gone through again until then. */
#include <stdio.h>
#include <unistd.h>

#include "contract.h"
#include "stress/stress.h"
#include "variants.h"

#define STRATEGIES CONTRACT_COUNT(contract_strategies)
#define LIMIT_S    240u

struct party {
  pthread_t thread;
  struct contract contract;
  const struct contract_clause *clause;
};

static pthread_barrier_t together;

static void *hold(void *arg) {
  struct party *p = arg;
  (void)pthread_barrier_wait(&together);
  p->contract.clause = p->clause->name;
  p->clause->hold(&p->contract);
  return NULL;
}

/* Contracts whose pools have names that no other's have. */
static void hold_together(struct party *parties,
                          const struct contract_clause *clause) {
  for (unsigned i = 0; i < STRATEGIES; i++) {
    parties[i].clause = clause;
    if (pthread_create(&parties[i].thread, NULL, hold, &parties[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  for (unsigned i = 0; i < STRATEGIES; i++) {
    (void)pthread_join(parties[i].thread, NULL);
  }
}

int main(void) {
  struct party parties[STRATEGIES] = {0};
  struct weir_error err = {.struct_size = sizeof err};
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  int64_t end = stress_now() + seconds * STRESS_S;
  weir_h engine = stress_open_engine();
  unsigned passed = 0;
  (void)alarm(LIMIT_S);
  (void)pthread_barrier_init(&together, NULL, (unsigned)STRATEGIES);
  for (unsigned i = 0; i < STRATEGIES; i++) {
    parties[i].contract.engine = engine;
    parties[i].contract.settings = contract_strategies[i];
    parties[i].contract.number = i;
  }
  do {
    passed = 0;
    for (size_t i = 0; contract_at(i) != NULL; i++) {
      if (!contract_at(i)->virtual_only) {
        hold_together(parties, contract_at(i));
        passed += (unsigned)STRATEGIES;
      }
    }
  } while (stress_now() < end);
  int rc = weir_engine_shutdown(engine, STRESS_PATIENCE_NS, &err);
  (void)pthread_barrier_destroy(&together);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
  (void)printf("%u passed, 0 failed\n", passed);
  return passed == 0;
}
