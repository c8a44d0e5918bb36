/* SPDX-License-Identifier: MIT */
/* Scenario 153: a driver with a thread of its own and a destructor that runs at
 * a thread's exit, loaded by a hundred engines one after the other; and one that
 * many threads ask for at once.  A plain program, so that it runs under
 * ThreadSanitizer. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"

#define ROUNDS  100u
#define THREADS 8u

static unsigned passed;
static unsigned failed;

static void expect(int good, const char *what) {
  passed += good ? 1 : 0;
  failed += good ? 0 : 1;
  if (!good) {
    (void)fprintf(stderr, "failed: %s\n", what);
  }
}

/* Lines of the memory map that name the entry. */
static unsigned count_mappings(const struct fixture *f, const char *entry) {
  char *line = NULL;
  size_t cap = 0;
  unsigned n = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && getline(&line, &cap, maps) > 0) {
    n += strstr(line, fixture_path(f, entry)) != NULL;
  }
  free(line);
  if (maps != NULL) {
    (void)fclose(maps);
  }
  return n;
}

/* One engine's life, on a thread that ends after it. */
static void *one_round(void *arg) {
  struct fixture *f = arg;
  const struct weir__driver *d = NULL;
  fixture_open(f);
  if (fixture_load(f, "rowdy", &d) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", f->err.message);
  }
  weir__loader_free(f->loader);
  f->loader = NULL;
  return NULL;
}

static void stays_mapped_whatever_it_leaves_behind(void) {
  static struct fixture f;
  unsigned mapped = 0;
  fixture_init(&f);
  fixture_copy(&f, "rowdy", "rowdy.so");
  for (unsigned i = 0; i < ROUNDS; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, one_round, &f) == 0) {
      (void)pthread_join(thread, NULL);
    }
    mapped = i == 0 ? count_mappings(&f, "rowdy.so") : mapped;
  }
  expect(atomic_load(&f.logs) == ROUNDS, "each destructor ran");
  expect(atomic_load(&f.live) == 0, "each instance was closed");
  expect(mapped > 0 && count_mappings(&f, "rowdy.so") == mapped,
         "mapped once, and still");
  fixture_fini(&f);
}

struct racer {
  struct fixture *f;
  pthread_barrier_t *start;
  const struct weir__driver *d;
  int rc;
};

static void *race(void *arg) {
  struct racer *r = arg;
  (void)pthread_barrier_wait(r->start);
  r->rc = weir__loader_load(r->f->loader, "good", 4, &r->d, NULL);
  return NULL;
}

/* Every thread asks for the same driver at once. */
static void opens_once_for_many_threads(void) {
  static struct fixture f;
  struct racer racer[THREADS];
  pthread_t thread[THREADS];
  pthread_barrier_t start;
  unsigned same = 0;
  fixture_init(&f);
  fixture_open(&f);
  fixture_copy(&f, "good", "good.so");
  (void)pthread_barrier_init(&start, NULL, THREADS);
  for (unsigned i = 0; i < THREADS; i++) {
    racer[i] = (struct racer){&f, &start, NULL, 1};
    (void)pthread_create(&thread[i], NULL, race, &racer[i]);
  }
  for (unsigned i = 0; i < THREADS; i++) {
    (void)pthread_join(thread[i], NULL);
    same += racer[i].rc == WEIR_OK && racer[i].d == racer[0].d;
  }
  expect(same == THREADS, "all got the same driver");
  expect(atomic_load(&f.live) == 1, "open() was called once");
  (void)pthread_barrier_destroy(&start);
  fixture_fini(&f);
}

/* Every thread asks for a driver that cannot be loaded; each gets an error. */
static void fails_each_of_many_threads(void) {
  static struct fixture f;
  struct racer racer[THREADS];
  pthread_t thread[THREADS];
  pthread_barrier_t start;
  unsigned told = 0;
  fixture_init(&f);
  fixture_open(&f);
  fixture_copy(&f, "no_note", "good.so");
  (void)pthread_barrier_init(&start, NULL, THREADS);
  for (unsigned i = 0; i < THREADS; i++) {
    racer[i] = (struct racer){&f, &start, NULL, 1};
    (void)pthread_create(&thread[i], NULL, race, &racer[i]);
  }
  for (unsigned i = 0; i < THREADS; i++) {
    (void)pthread_join(thread[i], NULL);
    told += racer[i].rc == WEIR_E_FAIL && racer[i].d == NULL;
  }
  expect(told == THREADS, "each was refused");
  (void)pthread_barrier_destroy(&start);
  fixture_fini(&f);
}

int main(void) {
  stays_mapped_whatever_it_leaves_behind();
  opens_once_for_many_threads();
  fails_each_of_many_threads();
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
