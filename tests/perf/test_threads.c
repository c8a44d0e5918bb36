/* SPDX-License-Identifier: MIT */
/* Crews, executors and their meeting points. */
#include <stdatomic.h>
#include <string.h>

#include <criterion/criterion.h>

#include "crew.h"
#include "executor.h"
#include "rendezvous.h"

#define TEN_MS INT64_C(10000000)

static _Atomic uint32_t jobs_done;
static struct rendezvous meeting;
static struct fault fault;

static void count_job(struct worker *w) {
  w->done++;
  (void)atomic_fetch_add(&jobs_done, 1);
}

static void meet(struct worker *w) {
  rendezvous_arrive(&meeting, 1);
  if (rendezvous_wait(&meeting, INT64_C(30000000000))) {
    count_job(w);
  }
}

Test(rendezvous, is_over_when_all_are_there, .timeout = 5) {
  rendezvous_init(&meeting, 2);
  rendezvous_arrive(&meeting, 2);
  cr_assert(rendezvous_wait(&meeting, TEN_MS));
  rendezvous_fini(&meeting);
}

Test(rendezvous, is_given_up_when_one_does_not_come, .timeout = 5) {
  rendezvous_init(&meeting, 2);
  rendezvous_arrive(&meeting, 1);
  cr_assert_not(rendezvous_wait(&meeting, TEN_MS));
  rendezvous_fini(&meeting);
}

Test(rendezvous, does_not_mind_more_than_expected, .timeout = 5) {
  rendezvous_init(&meeting, 2);
  rendezvous_arrive(&meeting, 5);
  cr_assert(rendezvous_wait(&meeting, TEN_MS));
  rendezvous_fini(&meeting);
}

Test(crew, has_a_thread_for_each_worker_at_once, .timeout = 10) {
  struct worker workers[8];
  struct crew crew;
  memset(workers, 0, sizeof workers);
  rendezvous_init(&meeting, 8);
  cr_assert_eq(crew_start(&crew, workers, 8, &fault), 0);
  crew_run(&crew, meet);
  cr_assert_eq(atomic_load(&jobs_done), 8u);
  crew_stop(&crew);
  rendezvous_fini(&meeting);
}

Test(crew, does_each_job_once, .timeout = 10) {
  struct worker workers[4];
  struct crew crew;
  memset(workers, 0, sizeof workers);
  cr_assert_eq(crew_start(&crew, workers, 4, &fault), 0);
  for (int i = 0; i < 100; i++) {
    crew_run(&crew, count_job);
  }
  crew_stop(&crew);
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(workers[i].done, 100u);
    cr_assert_geq(workers[i].ended_ns, workers[i].begun_ns);
  }
}

Test(crew, that_was_not_started_can_be_stopped, .timeout = 5) {
  struct crew crew;
  memset(&crew, 0, sizeof crew);
  crew_stop(&crew);
}

Test(executor, does_more_tasks_than_it_has_threads, .timeout = 10) {
  struct worker workers[50];
  struct executor e;
  memset(workers, 0, sizeof workers);
  cr_assert_eq(executor_start(&e, 2, 50, &fault), 0);
  executor_run(&e, count_job, workers, 50);
  executor_run(&e, count_job, workers, 50);
  cr_assert_eq(e.n_threads, 2u);
  executor_stop(&e);
  for (int i = 0; i < 50; i++) {
    cr_assert_eq(workers[i].done, 2u);
  }
}

/* Three tasks that wait for each other need three threads. */
Test(executor, grows_when_its_threads_are_stuck, .timeout = 30) {
  struct worker workers[3];
  struct executor e;
  memset(workers, 0, sizeof workers);
  rendezvous_init(&meeting, 3);
  cr_assert_eq(executor_start(&e, 1, 3, &fault), 0);
  executor_run(&e, meet, workers, 3);
  cr_assert_eq(atomic_load(&jobs_done), 3u);
  cr_assert_eq(e.n_threads, 3u);
  executor_stop(&e);
  rendezvous_fini(&meeting);
}
