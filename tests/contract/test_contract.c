/* SPDX-License-Identifier: MIT */
/* test_contract.c - each clause for each strategy, and for each policy swapped alone:
 * alone, in virtual time, in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"
#include "fixture.h"
#include "variants.h"

#define LIMIT_S 100u

static void hold(const struct contract_clause *clause, const char *settings) {
  struct fixture f = {0};
  (void)alarm(LIMIT_S);
  fixture_open_virtual(&f);
  struct contract c = {.engine = f.engine,
                       .settings = settings,
                       .clause = clause->name,
                       .alone = &f};
  clause->hold(&c);
  fixture_close(&f);
}

static bool holds(const struct contract_clause *clause, const char *settings) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    hold(clause, settings);
    exit(0); /* NOLINT(concurrency-mt-unsafe): leaks are told of at exit */
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    (void)printf("FAILED: %s: %s\n", settings, clause->name);
    return false;
  }
  return true;
}

/* With an argument: only clauses that have it in their name. */
int main(int argc, char **argv) {
  unsigned passed = 0;
  unsigned failed = 0;
  for (size_t i = 0; contract_at(i) != NULL; i++) {
    const struct contract_clause *clause = contract_at(i);
    if (argc > 1 && strstr(clause->name, argv[1]) == NULL) {
      continue;
    }
    for (size_t k = 0; k < CONTRACT_COUNT(contract_strategies); k++) {
      *(holds(clause, contract_strategies[k]) ? &passed : &failed) += 1;
    }
    for (size_t k = 0; k < CONTRACT_COUNT(contract_policies); k++) {
      *(holds(clause, contract_policies[k]) ? &passed : &failed) += 1;
    }
  }
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed != 0 || passed == 0;
}
