/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "engine.h"
#include "fixture.h"
#include "gates.h"
#include "handle.h"
#include "sys/park.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

static struct weir__reactor *reactor(void) {
  return ((struct weir__engine *)weir__handle_find(f.engine, WEIR_TYPE_ENGINE))
      ->reactor;
}

static int loop_fd(void) {
  int64_t fd = -1;
  cr_assert_eq(weir_engine_fd(f.engine, &fd, &f.err), WEIR_OK);
  return (int)fd;
}

static bool readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1;
}

static int64_t turn(void) {
  int64_t due = -2;
  cr_assert_eq(weir_engine_turn(f.engine, &due, &f.err), WEIR_OK);
  return due;
}

/* Turns while the descriptor says so; the due time told last. */
static int64_t turn_until_quiet(int fd) {
  int64_t due;
  do {
    due = turn();
  } while (readable(fd) || due == 0);
  return due;
}

static unsigned entries(const char *path) {
  unsigned n = 0;
  DIR *dir = opendir(path);
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

/* ------------------------------------------------------------- the contract */

Test(foreign_loop, is_of_an_engine_without_threads_only, .timeout = 10) {
  int64_t fd = -1;
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV |
                                           WEIR_ENGINE_FOREIGN_LOOP,
                                  .threads = 1};
  weir_h engine = 0;
  cr_assert_eq(weir_engine_open(&opts, &engine, NULL), WEIR_E_ARG);
  opts.flags = WEIR_ENGINE_NO_ENV;
  cr_assert_eq(weir_engine_open(&opts, &engine, NULL), WEIR_OK);
  f.err.struct_size = sizeof f.err;
  cr_assert_eq(weir_engine_fd(engine, &fd, &f.err), WEIR_E_ARG);
  cr_assert_not_null(strstr(f.err.message, "WEIR_ENGINE_FOREIGN_LOOP"));
  cr_assert_eq(weir_engine_turn(engine, NULL, NULL), WEIR_E_ARG);
  cr_assert_eq(weir_engine_shutdown(engine, 0, NULL), WEIR_OK);
  cr_assert_eq(weir_engine_turn(engine, NULL, NULL), WEIR_E_HANDLE);
  cr_assert_eq(weir_engine_fd(engine, &fd, NULL), WEIR_E_HANDLE);
  cr_assert_eq(fd, -1);
}

Test(foreign_loop, starts_no_thread, .timeout = 10) {
  unsigned before = entries("/proc/self/task");
  fixture_open_foreign(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 3"), WEIR_OK);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  cr_assert_eq(entries("/proc/self/task"), before);
  fixture_close(&f);
}

Test(foreign_loop, gives_back_its_descriptors, .timeout = 10) {
  fixture_open_foreign(&f);
  fixture_close(&f);
  unsigned before = entries("/proc/self/fd");
  for (unsigned i = 0; i < 10; i++) {
    fixture_open_foreign(&f);
    (void)loop_fd();
    weir_h pool = fixture_pool(&f, "Max Pool Size=2");
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    fixture_close(&f);
  }
  cr_assert_eq(entries("/proc/self/fd"), before);
}

Test(foreign_loop, leaves_no_descriptor_of_its_own_to_a_child, .timeout = 10) {
  fixture_open_foreign(&f);
  fixture_close(&f); /* what is the process's is there now */
  unsigned before = entries("/proc/self/fd");
  fixture_open_foreign(&f);
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    int rc = weir_forget_after_fork();
    _exit(rc != WEIR_OK ? 100 : (int)entries("/proc/self/fd"));
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(WEXITSTATUS(status), before);
  fixture_close(&f);
}

/* ----------------------------------------------------------- the descriptor */

Test(foreign_loop, is_readable_while_there_is_something_to_run, .timeout = 10) {
  fixture_open_foreign_virtual(&f);
  int fd = loop_fd();
  (void)turn_until_quiet(fd);
  cr_assert_not(readable(fd));
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=2");
  cr_assert(readable(fd)); /* a task was posted */
  (void)turn_until_quiet(fd);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_not(readable(fd));
  fixture_close(&f);
}

/* P13: what is idle is silent. */
Test(foreign_loop, is_silent_without_work, .timeout = 10) {
  fixture_open_foreign_virtual(&f);
  int fd = loop_fd();
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=2");
  (void)turn_until_quiet(fd);
  for (unsigned i = 0; i < 100; i++) {
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    cr_assert_not(readable(fd));
  }
  fixture_close(&f);
}

Test(foreign_loop, tells_when_the_next_timer_is_due, .timeout = 10) {
  fixture_open_foreign_virtual(&f);
  int fd = loop_fd();
  cr_assert_eq(turn_until_quiet(fd), WEIR_TIMEOUT_NEVER);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=0;Max Pool Size=1;Connection Idle Timeout=7;"
          "Connection Lifetime=0;Close Timeout=0");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  /* Whatever it looks for, it never looks later than that. */
  int64_t due = turn_until_quiet(fd);
  cr_assert_gt(due, 0);
  cr_assert_leq(due, 7 * FIXTURE_S);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  for (unsigned i = 0; i < 16 && fixture_stats(pool).idle != 0; i++) {
    virtual_clock_advance((uint64_t)(due > 0 ? due : 1));
    due = turn_until_quiet(fd);
  }
  cr_assert_eq(fixture_stats(pool).idle, 0);
  fixture_close(&f);
}

/* A thread in a blocking call has set a timer that the program, which was told of
 * none, must hear of. */
Test(foreign_loop,
     tells_of_a_timer_that_a_blocking_caller_has_set,
     .timeout = 10) {
  fixture_open_foreign_virtual(&f);
  struct acquirer w;
  int fd = loop_fd();
  cr_assert_eq(turn_until_quiet(fd), WEIR_TIMEOUT_NEVER);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connection Idle Timeout=60");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&w, pool, 5 * FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(5 * SECOND);
  cr_assert_eq(acquirer_join(&w), WEIR_E_TIMEOUT);
  cr_assert(readable(fd));
  int64_t due = turn_until_quiet(fd);
  cr_assert_neq(due, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ---------------------------------------------------- leader and followers */

/* While a thread sleeps on the loop the program is not woken, and a turn of its
 * own does nothing. */
Test(foreign_loop,
     leaves_the_program_alone_while_a_caller_leads,
     .timeout = 10) {
  fixture_open_foreign_virtual(&f);
  struct acquirer w;
  int fd = loop_fd();
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connection Reset=verified");
  weir_h lease = fixture_acquire(&f, pool);
  (void)turn_until_quiet(fd);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  uint64_t wakes = weir__reactor_wakes(reactor());
  cr_assert_not(readable(fd));
  cr_assert_eq(turn(), WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir__reactor_wakes(reactor()), wakes);
  /* Its reset is a round trip of the reactor's: the one who waits runs it. */
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK, "%s", w.err.message);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 1);
  cr_assert_eq(weir_release(w.lease), WEIR_OK);
  fixture_close(&f);
}

/* The leader is served first and leaves; the next one must not sleep on. */
Test(foreign_loop, hands_the_loop_to_one_who_still_waits, .timeout = 20) {
  enum {
    N = 8
  };
  fixture_open_foreign_virtual(&f);
  struct acquirer w[N];
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connection Reset=verified");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < N; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
    cr_assert_eq(virtual_clock_wait_parked(i + 1), 0);
  }
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK, "%s", w[i].err.message);
    lease = w[i].lease;
  }
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* The one who was chosen gives up before it has woken: the loop goes on to the
 * one behind it. */
Test(foreign_loop, survives_a_successor_that_leaves, .timeout = 20) {
  fixture_open_foreign_virtual(&f);
  struct acquirer w[3];
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connection Reset=verified");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&w[i], pool,
                   i == 2 ? WEIR_TIMEOUT_NEVER : (int64_t)(5 * SECOND));
    cr_assert_eq(virtual_clock_wait_parked(i + 1), 0);
  }
  /* Leader and successor go at one moment. */
  virtual_clock_advance(5 * SECOND);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[2]), WEIR_OK, "%s", w[2].err.message);
  cr_assert_eq(weir_release(w[2].lease), WEIR_OK);
  fixture_close(&f);
}

struct parked {
  pthread_t thread;
  _Atomic uint32_t *word;
  uint64_t deadline;
  int rc;
};

static void *park(void *arg) {
  struct parked *p = arg;
  struct weir__caller *self = NULL;
  cr_assert_eq(weir__caller_enter(&self), WEIR_OK);
  do {
    p->rc = weir__reactor_park(reactor(), self, p->word, 0, p->deadline);
  } while (p->rc == 0 && weir__load_acquire_u32(p->word) == 0);
  weir__caller_leave(self);
  return NULL;
}

static void park_start(struct parked *p,
                       _Atomic uint32_t *word,
                       uint64_t deadline) {
  *p = (struct parked){.word = word, .deadline = deadline};
  cr_assert_eq(pthread_create(&p->thread, NULL, park, p), 0);
}

/* As a futex does: each unpark wakes another one, leader or not. */
Test(foreign_loop, unparks_as_many_as_were_meant, .timeout = 20) {
  enum {
    N = 6
  };
  static _Atomic uint32_t word;
  struct parked p[N];
  fixture_open_foreign_virtual(&f);
  for (unsigned i = 0; i < N; i++) {
    park_start(&p[i], &word, WEIR_NEVER);
    cr_assert_eq(virtual_clock_wait_parked(i + 1), 0);
  }
  weir__store_seq_u32(&word, 1);
  for (unsigned i = 0; i < N; i++) {
    weir__reactor_unpark(reactor(), &word);
  }
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(pthread_join(p[i].thread, NULL), 0);
    cr_assert_eq(p[i].rc, 0);
  }
  fixture_close(&f);
}

/* The change and its unpark come when the sleeper has read the word and joined
 * the line but does not sleep yet. */
Test(foreign_loop, misses_no_wake_before_the_sleep, .timeout = 20) {
  static _Atomic uint32_t word;
  struct parked p;
  fixture_open_foreign_virtual(&f);
  gates_install();
  gate_hold("reactor.sleep");
  park_start(&p, &word, WEIR_NEVER);
  cr_assert_eq(gate_wait_reached("reactor.sleep", 1), 0);
  weir__store_seq_u32(&word, 1);
  weir__reactor_unpark(reactor(), &word);
  gate_open("reactor.sleep");
  cr_assert_eq(pthread_join(p.thread, NULL), 0);
  cr_assert_eq(p.rc, 0);
  gates_restore();
  fixture_close(&f);
}

struct setter {
  struct weir__task task;
  _Atomic uint32_t word;
};

static void set_word(struct weir__task *task) {
  weir__store_seq_u32(&((struct setter *)(void *)task)->word, 1);
}

/* A task comes when the leader has found nothing to do but does not sleep yet. */
Test(foreign_loop, misses_no_post_before_the_sleep, .timeout = 20) {
  static struct setter t = {.task = {.run = set_word}};
  struct parked p;
  fixture_open_foreign_virtual(&f);
  gates_install();
  gate_hold("reactor.sleep");
  park_start(&p, &t.word, WEIR_NEVER);
  cr_assert_eq(gate_wait_reached("reactor.sleep", 1), 0);
  weir__reactor_post(reactor(), &t.task);
  gate_open("reactor.sleep");
  cr_assert_eq(pthread_join(p.thread, NULL), 0);
  gates_restore();
  fixture_close(&f);
}

/* A follower finds that nobody leads any more, though it was kicked before it
 * slept. */
Test(foreign_loop, misses_no_succession_before_the_sleep, .timeout = 20) {
  static _Atomic uint32_t first;
  static struct setter t = {.task = {.run = set_word}};
  struct parked p[2];
  fixture_open_foreign_virtual(&f);
  park_start(&p[0], &first, WEIR_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  gates_install();
  gate_hold("reactor.sleep");
  park_start(&p[1], &t.word, WEIR_NEVER);
  cr_assert_eq(gate_wait_reached("reactor.sleep", 1), 0);
  weir__store_seq_u32(&first, 1);
  weir__reactor_unpark(reactor(), &first);
  cr_assert_eq(pthread_join(p[0].thread, NULL), 0);
  gate_open("reactor.sleep");
  weir__reactor_post(reactor(), &t.task);
  cr_assert_eq(pthread_join(p[1].thread, NULL), 0);
  gates_restore();
  fixture_close(&f);
}

struct alarm {
  struct weir__task task;
  struct weir__timer timer;
  uint64_t at;
  _Atomic uint32_t set; /* how often */
};

static void ring(struct weir__timer *timer) {
  (void)timer;
}

static void set_timer(struct weir__task *task) {
  struct alarm *alarm = (void *)task;
  alarm->timer.fire = ring;
  weir__reactor_timer(reactor(), &alarm->timer, alarm->at);
  (void)weir__add_seq_u32(&alarm->set, 1);
}

/* The program has asked while another led, and was told of nothing: it must hear
 * of what is due when that thread is through, also if that is later than what it
 * knew before. */
Test(foreign_loop, tells_anew_what_it_did_not_tell, .timeout = 20) {
  static struct alarm alarm = {.task = {.run = set_timer}};
  static _Atomic uint32_t word;
  struct parked p;
  fixture_open_foreign_virtual(&f);
  int fd = loop_fd();
  alarm.at = VIRTUAL_CLOCK_START + 10 * SECOND;
  weir__reactor_post(reactor(), &alarm.task);
  cr_assert_eq(turn_until_quiet(fd), 10 * FIXTURE_S);
  park_start(&p, &word, WEIR_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(turn(), WEIR_TIMEOUT_NEVER);
  alarm.at = VIRTUAL_CLOCK_START + 20 * SECOND;
  weir__reactor_post(reactor(), &alarm.task);
  while (weir__load_seq_u32(&alarm.set) != 2) {
  }
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  weir__store_seq_u32(&word, 1);
  weir__reactor_unpark(reactor(), &word);
  cr_assert_eq(pthread_join(p.thread, NULL), 0);
  cr_assert(readable(fd));
  cr_assert_eq(turn_until_quiet(fd), 20 * FIXTURE_S);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ by whom */

/* A whole life.  Who runs the loop: the test's thread by turns, or nobody but
 * those who wait. */
static void live(bool turned) {
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=2;Connection Reset=verified;Close Timeout=1");
  struct acquirer w;
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, a, "rows 3; notice 1 1 x"), WEIR_OK);
  acquirer_start(&w, pool, 5 * FIXTURE_S);
  cr_assert_eq(weir_release(a), WEIR_OK);
  while (turned && fixture_stats(pool).reserved != 0) {
    fixture_turn(&f);
  }
  cr_assert_eq(acquirer_join(&w), WEIR_OK, "%s", w.err.message);
  acquirer_start(&w, pool, FIXTURE_MS); /* nothing comes back in time */
  cr_assert_eq(acquirer_join(&w), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(weir_discard(b), WEIR_OK);
  b = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_exec(&f, b, "rows 3"), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK); /* a drain */
  if (turned) {
    AWAIT_STAT(pool, idle, 1);
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  if (turned) {
    AWAIT_COUNT(&f, conns_live, 1); /* the lease of w is out */
  }
}

Test(foreign_loop, is_turned_by_the_program, .timeout = 20) {
  fixture_open_foreign(&f);
  live(true);
  fixture_close(&f);
}

Test(foreign_loop, is_turned_by_nobody_but_those_who_wait, .timeout = 20) {
  fixture_open_foreign(&f);
  live(false);
  fixture_close(&f);
}

/* Two engines: a thread leads one while another leads the other. */
Test(foreign_loop, of_one_engine_is_not_that_of_another, .timeout = 20) {
  struct fixture g;
  fixture_open_foreign(&f);
  fixture_open_foreign(&g);
  weir_h pool[2] = {fixture_pool(&f, "Max Pool Size=1"),
                    fixture_pool(&g, "Max Pool Size=1")};
  weir_h lease[2] = {fixture_acquire(&f, pool[0]),
                     fixture_acquire(&g, pool[1])};
  struct acquirer w[2];
  for (unsigned i = 0; i < 2; i++) {
    acquirer_start(&w[i], pool[i], WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool[i], waiters, 1);
  }
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(weir_discard(lease[i]), WEIR_OK);
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK, "%s", w[i].err.message);
  }
  fixture_close(&f);
  fixture_close(&g);
}

/* ------------------------------------------------------------------ the end */

Test(foreign_loop, is_run_by_the_shutdown_itself, .timeout = 20) {
  fixture_open_foreign(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=3;Max Pool Size=5;"
                                 "Close Timeout=1");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "begin"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_engine_shutdown(f.engine, 5 * FIXTURE_S, &f.err), WEIR_OK,
               "%s", f.err.message);
}

/* A shutdown takes the lease of a statement away whose thread drives it, and ends
 * waiters of which one leads. */
Test(foreign_loop, lets_a_shutdown_end_those_who_wait, .timeout = 20) {
  fixture_open_foreign(&f);
  struct acquirer w[4];
  struct runner r;
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  for (unsigned i = 0; i < 4; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 4);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_OK, "%s",
               f.err.message);
  cr_assert_eq(runner_join(&r), WEIR_E_CLOSED);
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_E_CLOSED);
  }
}

/* Late calls are waited for by a thread, which runs the loop to the end. */
Test(foreign_loop, is_run_to_its_end_for_a_late_call, .timeout = 20) {
  fixture_open_foreign(&f);
  struct acquirer w;
  unsigned threads = entries("/proc/self/task");
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;"
                                 "Mock Script Text=\"connect: offload hang\"");
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  fixture_await_offload(&f, 1);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_E_TIMEOUT);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  while (entries("/proc/self/task") > threads) {
  }
}
