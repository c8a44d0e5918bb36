/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include <criterion/criterion.h>

#include "net/offload.h"
#include "sys/clock.h"
#include "sys/seams.h"

struct work {
  struct weir__job job;
  sem_t *gate;  /* to wait for, or NULL */
  sem_t *begun; /* to post */
  sem_t *ended;
  int number;
};

static sem_t gate;
static sem_t begun;
static sem_t ended;
static struct weir__offload *offload;
static int order[32];
static _Atomic int order_n;
static _Atomic int dropped;

static void do_work(struct weir__job *job) {
  struct work *work = (struct work *)job;
  sem_t *when_done = work->ended;
  order[atomic_fetch_add(&order_n, 1)] = work->number;
  sem_post(work->begun);
  if (work->gate != NULL) {
    sem_wait(work->gate);
  }
  sem_post(when_done);
}

static void drop_work(struct weir__job *job) {
  (void)job;
  atomic_fetch_add(&dropped, 1);
}

static struct work gated(uint64_t key, int number) {
  struct work work = {
      .job = {.run = do_work, .drop = drop_work, .fair_key = key},
      .gate = &gate,
      .begun = &begun,
      .ended = &ended,
      .number = number,
  };
  return work;
}

static void set_up(void) {
  sem_init(&gate, 0, 0);
  sem_init(&begun, 0, 0);
  sem_init(&ended, 0, 0);
}

TestSuite(offload, .init = set_up, .timeout = 10);

static void await(sem_t *sem, int n) {
  for (int i = 0; i < n; i++) {
    while (sem_wait(sem) != 0) {
    }
  }
}

static void open_gate(int n) {
  for (int i = 0; i < n; i++) {
    sem_post(&gate);
  }
}

static void start(uint32_t threads) {
  cr_assert_eq(weir__offload_new(threads, &offload), 0);
}

static uint32_t stop_in(uint64_t ns) {
  return weir__offload_stop(offload, weir__clock_add(weir__clock_now(), ns));
}

static struct weir__offload_stats stats(void) {
  struct weir__offload_stats s;
  weir__offload_stats(offload, &s);
  return s;
}

Test(offload, refuses_a_number_of_threads_out_of_range) {
  cr_assert_eq(weir__offload_new(0, &offload), -EINVAL);
  cr_assert_eq(weir__offload_new(WEIR_OFFLOAD_THREADS_MAX + 1, &offload),
               -EINVAL);
}

Test(offload, starts_no_thread_without_work) {
  start(4);
  cr_assert_eq(stats().threads, 0);
  cr_assert_eq(stop_in(0), 0);
}

static sigset_t job_mask;

static void read_mask(struct weir__job *job) {
  (void)job;
  pthread_sigmask(SIG_SETMASK, NULL, &job_mask);
  sem_post(&ended);
}

Test(offload, runs_a_job_with_signals_blocked) {
  struct weir__job job = {.run = read_mask};
  start(1);
  cr_assert_eq(weir__offload_submit(offload, &job), 0);
  await(&ended, 1);
  cr_assert_eq(sigismember(&job_mask, SIGTERM), 1);
  cr_assert_eq(sigismember(&job_mask, SIGALRM), 1);
  cr_assert_eq(stop_in(WEIR_NS_PER_S), 0);
}

/* A worker that was called but is not awake yet must not count as one to spare:
 * otherwise the second of two quick jobs would wait for the first. */
Test(offload, runs_jobs_of_two_keys_at_once) {
  start(2);
  for (int round = 0; round < 200; round++) {
    struct work a = gated(1, 1);
    struct work b = gated(2, 2);
    cr_assert_eq(weir__offload_submit(offload, &a.job), 0);
    cr_assert_eq(weir__offload_submit(offload, &b.job), 0);
    await(&begun, 2);
    open_gate(2);
    await(&ended, 2);
    atomic_store(&order_n, 0);
  }
  cr_assert_eq(stats().threads, 2);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
}

Test(offload, keeps_threads_free_from_one_busy_key) {
  struct work busy[6];
  start(4);
  for (int i = 0; i < 6; i++) {
    busy[i] = gated(1, i);
    cr_assert_eq(weir__offload_submit(offload, &busy[i].job), 0);
  }
  await(&begun, 2);
  struct work other = gated(2, 9);
  other.gate = NULL;
  cr_assert_eq(weir__offload_submit(offload, &other.job), 0);
  await(&ended, 1);
  cr_assert_eq(order[2], 9);
  cr_assert_eq(stats().queued, 4);
  open_gate(6);
  await(&ended, 6);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
}

Test(offload, lets_keys_take_turns) {
  struct work first = gated(7, 0);
  struct work rest[5];
  static const uint64_t keys[] = {1, 1, 1, 2, 3};
  start(1);
  cr_assert_eq(weir__offload_submit(offload, &first.job), 0);
  await(&begun, 1);
  for (int i = 0; i < 5; i++) {
    rest[i] = gated(keys[i], i + 1);
    rest[i].gate = NULL;
    cr_assert_eq(weir__offload_submit(offload, &rest[i].job), 0);
  }
  open_gate(1);
  await(&ended, 6);
  static const int expected[] = {0, 1, 4, 5, 2, 3};
  cr_assert_arr_eq(order, expected, sizeof expected);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
}

Test(offload, gives_back_a_job_that_has_not_started) {
  struct work running = gated(1, 1);
  struct work waiting = gated(1, 2);
  start(1);
  cr_assert_eq(weir__offload_submit(offload, &running.job), 0);
  await(&begun, 1);
  cr_assert_eq(weir__offload_submit(offload, &waiting.job), 0);
  cr_assert(weir__offload_withdraw(offload, &waiting.job));
  cr_assert_not(weir__offload_withdraw(offload, &waiting.job));
  cr_assert_not(weir__offload_withdraw(offload, &running.job));
  open_gate(1);
  await(&ended, 1);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
  cr_assert_eq(atomic_load(&order_n), 1);
  cr_assert_eq(atomic_load(&dropped), 0);
}

Test(offload, gives_back_from_the_middle_of_a_queue) {
  struct work job[5];
  start(1);
  for (int i = 0; i < 5; i++) {
    job[i] = gated(1, i);
    cr_assert_eq(weir__offload_submit(offload, &job[i].job), 0);
  }
  await(&begun, 1);
  cr_assert(weir__offload_withdraw(offload, &job[2].job));
  cr_assert(weir__offload_withdraw(offload, &job[4].job));
  open_gate(3);
  await(&ended, 3);
  static const int expected[] = {0, 1, 3};
  cr_assert_arr_eq(order, expected, sizeof expected);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
}

Test(offload, drops_at_its_end_what_has_not_started) {
  struct work job[3];
  start(1);
  for (int i = 0; i < 3; i++) {
    job[i] = gated(1, i);
    cr_assert_eq(weir__offload_submit(offload, &job[i].job), 0);
  }
  await(&begun, 1);
  open_gate(3);
  uint32_t stuck = stop_in(5 * WEIR_NS_PER_S);
  cr_assert_eq(stuck, 0);
  cr_assert_eq(atomic_load(&order_n) + atomic_load(&dropped), 3);
}

/* The stuck thread frees what is left once it returns; under the leak checker
 * this is the proof that somebody does. */
Test(offload, counts_and_lets_go_of_jobs_that_do_not_return) {
  static struct work stuck;
  static struct work idle;
  stuck = gated(1, 1);
  idle = gated(2, 2);
  idle.gate = NULL;
  start(2);
  cr_assert_eq(weir__offload_submit(offload, &stuck.job), 0);
  cr_assert_eq(weir__offload_submit(offload, &idle.job), 0);
  await(&begun, 2);
  await(&ended, 1);
  uint32_t n = weir__offload_stop(offload, weir__clock_now());
  open_gate(1);
  await(&ended, 1);
  /* idle may have been caught between its last line and its return. */
  cr_assert(n == 1 || n == 2);
}

Test(offload, waits_at_its_end_for_jobs_that_do_return) {
  struct work job = gated(1, 1);
  start(1);
  cr_assert_eq(weir__offload_submit(offload, &job.job), 0);
  await(&begun, 1);
  open_gate(1);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
  cr_assert_eq(sem_trywait(&ended), 0);
}

Test(offload, ends_when_there_is_none) {
  cr_assert_eq(weir__offload_stop(NULL, 0), 0);
}

/* ---------------------------------------------------------------- failures */

static int (*true_start)(void *(*run)(void *), void *arg, uint64_t *out);
static int starts_left;

static int start_few(void *(*run)(void *), void *arg, uint64_t *out) {
  return starts_left-- > 0 ? true_start(run, arg, out) : -EAGAIN;
}

static void limit_starts(int n) {
  true_start = weir__seams.thread_start;
  weir__seams.thread_start = start_few;
  starts_left = n;
}

Test(offload, refuses_a_job_when_no_thread_can_start) {
  struct work job = gated(1, 1);
  limit_starts(0);
  start(2);
  cr_assert_eq(weir__offload_submit(offload, &job.job), -EAGAIN);
  cr_assert_null(job.job.lane);
  cr_assert_eq(stats().queued, 0);
  cr_assert_eq(stop_in(0), 0);
  cr_assert_eq(atomic_load(&dropped), 0);
}

Test(offload, makes_do_with_the_threads_it_has) {
  struct work job[3];
  limit_starts(1);
  start(4);
  for (int i = 0; i < 3; i++) {
    job[i] = gated((uint64_t)i, i);
    cr_assert_eq(weir__offload_submit(offload, &job[i].job), 0);
  }
  open_gate(3);
  await(&ended, 3);
  cr_assert_eq(stats().threads, 1);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
}

static void *no_memory(size_t n) {
  (void)n;
  return NULL;
}

Test(offload, refuses_a_job_when_there_is_no_memory) {
  struct work job = gated(1, 1);
  start(1);
  weir__seams.alloc = no_memory;
  cr_assert_eq(weir__offload_submit(offload, &job.job), -ENOMEM);
  weir__seams_reset();
  cr_assert_eq(stop_in(0), 0);
}

static void submit_late(struct weir__job *job) {
  static struct work late;
  (void)job;
  sem_post(&begun);
  sem_wait(&gate);
  late = gated(1, 1);
  order[0] = weir__offload_submit(offload, &late.job);
  sem_post(&ended);
}

static void open_on_drop(struct weir__job *job) {
  (void)job;
  sem_post(&gate);
}

/* The waiting job is dropped after the stop has begun, and opens the gate. */
Test(offload, refuses_jobs_once_it_is_stopping) {
  struct weir__job running = {.run = submit_late};
  struct weir__job waiting = {.run = submit_late, .drop = open_on_drop};
  start(1);
  cr_assert_eq(weir__offload_submit(offload, &running), 0);
  await(&begun, 1);
  cr_assert_eq(weir__offload_submit(offload, &waiting), 0);
  cr_assert_eq(stop_in(5 * WEIR_NS_PER_S), 0);
  cr_assert_eq(order[0], -ESHUTDOWN);
}
