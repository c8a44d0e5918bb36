/* SPDX-License-Identifier: MIT */
/* Scenarios 135 and 136: what waits never stops those who do not. */
#include <netdb.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "sys/seams.h"
#include "virtual_clock.h"

static struct fixture f;

/* -------------------------------------------------------------- scenario 135 */

static sem_t asked;
static sem_t answer;

/* A name server that is silent until the test has seen enough. */
static int resolve_slowly(const char *host,
                          const char *service,
                          const struct addrinfo *hints,
                          struct addrinfo **out) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
    return EAI_NONAME;
  }
  (void)host;
  (void)sem_post(&asked);
  (void)sem_wait(&answer);
  return getaddrinfo("127.0.0.1", service, hints, out);
}

static void slow_names(void) {
  (void)sem_init(&asked, 0, 0);
  (void)sem_init(&answer, 0, 0);
  weir__seams.net_resolve = resolve_slowly;
}

#define NAMED "Mock Script Text=\"connect: resolve 'db.example' 1433\""

/* The loop is this thread's own.  It turns as often as it likes while a name is
 * being looked up for a submitted acquire, and other pools are served meanwhile. */
Test(scenario_async,
     scenario_135_a_look_up_does_not_stop_the_loop,
     .timeout = 10) {
  slow_names();
  fixture_open_foreign(&f);
  weir_h named = fixture_pool(&f, "Max Pool Size=1;" NAMED);
  weir_h other = fixture_pool(&f, "Max Pool Size=1");
  weir_h queue = queue_of(&f, 4);
  (void)submit_waiting(&f, named, 60 * FIXTURE_S, queue, 1);
  while (sem_trywait(&asked) != 0) {
    fixture_turn(&f);
  }
  for (unsigned beat = 0; beat < 500; beat++) {
    fixture_turn(&f);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  }
  (void)submit_waiting(&f, other, 60 * FIXTURE_S, queue, 2);
  struct weir_completion c = take_one(&f, queue, 2, WEIR_OK);
  cr_assert_eq(weir_release(c.lease), WEIR_OK);
  (void)sem_post(&answer);
  c = take_one(&f, queue, 1, WEIR_OK);
  cr_assert_eq(weir_release(c.lease), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).resolves, 1);
  fixture_close(&f);
}

/* The reactor's thread serves other pools, and an acquire's time-out ends it to the
 * nanosecond though the look-up goes on. */
Test(scenario_async,
     scenario_135_a_look_up_does_not_stop_the_reactor,
     .timeout = 10) {
  slow_names();
  fixture_open_virtual(&f);
  weir_h named = fixture_pool(&f, "Max Pool Size=1;" NAMED);
  weir_h other = fixture_pool(&f, "Max Pool Size=1");
  weir_h queue = queue_of(&f, 4);
  (void)submit_waiting(&f, named, 5 * FIXTURE_S, queue, 1);
  (void)sem_wait(&asked);
  (void)submit_waiting(&f, other, 5 * FIXTURE_S, queue, 2);
  struct weir_completion c = take_one(&f, queue, 2, WEIR_OK);
  cr_assert_eq(weir_release(c.lease), WEIR_OK);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  (void)sem_post(&answer);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 136 */

#define PENDING 10000u

static unsigned threads(void) {
  char line[256];
  unsigned n = 0;
  FILE *file = fopen("/proc/self/status", "re");
  cr_assert_not_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Threads:", 8) == 0) {
      n = (unsigned)strtoul(line + 8, NULL, 10);
    }
  }
  (void)fclose(file);
  return n;
}

/* Ten thousand wait for connects that hang.  No thread waits with them, and
 * another pool is served as ever: at the same instant of virtual time. */
Test(scenario_async, scenario_136_waiting_takes_no_threads, .timeout = 60) {
  fixture_open_virtual(&f);
  weir_h stuck =
      fixture_pool(&f, "Max Pool Size=100;Mock Script Text=\"connect: hang\"");
  weir_h other = fixture_pool(&f, "Max Pool Size=1;Mock Server=other");
  weir_h queue = queue_of(&f, PENDING + 1);
  unsigned before = threads();
  for (unsigned i = 0; i < PENDING; i++) {
    (void)submit_waiting(&f, stuck, 30 * FIXTURE_S, queue, i);
  }
  AWAIT_STAT(stuck, waiters, PENDING);
  AWAIT_COUNT(&f, hung, 100);
  cr_assert_eq(threads(), before);
  for (unsigned i = 0; i < 10; i++) {
    uint64_t begun = virtual_clock_now();
    weir_h lease = fixture_acquire(&f, other);
    cr_assert_eq(virtual_clock_now(), begun);
    cr_assert_eq(weir_discard(lease), WEIR_OK);
  }
  fixture_advance(&f, 30 * (uint64_t)FIXTURE_S);
  for (unsigned i = 0; i < PENDING; i++) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err),
                 WEIR_OK);
    cr_assert_eq(c.status, WEIR_E_TIMEOUT, "%s", weir_status_name(c.status));
  }
  cr_assert_eq(threads(), before);
  fixture_close(&f);
}
