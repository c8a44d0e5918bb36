/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "weir_driver.h"

#include "reactor.h"
#include "sys/seams.h"

/* ------------------------------------------------------ calling the reactor */

struct call {
  struct weir__task task;
  void (*run)(void *arg);
  void *arg;
  sem_t done;
};

static void run_call(struct weir__task *task) {
  struct call *call = (struct call *)task;
  call->run(call->arg);
  sem_post(&call->done);
}

/* Runs run(arg) on the reactor thread and waits until it has. */
static void on_reactor(struct weir__reactor *r,
                       void (*run)(void *),
                       void *arg) {
  struct call call = {.task = {.run = run_call}, .run = run, .arg = arg};
  sem_init(&call.done, 0, 0);
  weir__reactor_post(r, &call.task);
  sem_wait(&call.done);
  sem_destroy(&call.done);
}

static void nothing(void *arg) {
  (void)arg;
}

static struct weir__reactor *start(void) {
  struct weir__reactor *r = NULL;
  cr_assert_eq(weir__reactor_start(false, &r), 0);
  return r;
}

/* ------------------------------------------------------------ virtual time */

static _Atomic uint64_t virtual_now;
static void (*kick_reactor)(void *arg);
static void *kick_arg;

static uint64_t now_virtual(void) {
  return atomic_load(&virtual_now);
}

static void watch_virtual(void (*kick)(void *arg), void *arg) {
  kick_reactor = kick;
  kick_arg = arg;
}

static void unwatch_virtual(void (*kick)(void *arg), void *arg) {
  cr_assert_eq(kick, kick_reactor);
  cr_assert_eq(arg, kick_arg);
  kick_reactor = NULL;
}

static struct weir__reactor *start_virtual(void) {
  atomic_store(&virtual_now, 1000);
  weir__seams.virtual_time = 1;
  weir__seams.now = now_virtual;
  weir__seams.watch_clock = watch_virtual;
  weir__seams.unwatch_clock = unwatch_virtual;
  return start();
}

/* Moves time and waits until the reactor has had two turns since. */
static void move_to(struct weir__reactor *r, uint64_t to) {
  atomic_store(&virtual_now, to);
  kick_reactor(kick_arg);
  on_reactor(r, nothing, NULL);
  on_reactor(r, nothing, NULL);
}

/* -------------------------------------------------------------------- tasks */

struct numbered {
  struct weir__task task;
  int number;
};

static int order[64];
static int order_n;
static int order_limit = 64;

static void note_number(struct weir__task *task) {
  order[order_n++] = ((struct numbered *)task)->number;
}

Test(reactor, runs_tasks_in_the_order_of_posting, .timeout = 5) {
  struct weir__reactor *r = start();
  struct numbered tasks[64];
  for (int i = 0; i < 64; i++) {
    tasks[i].task.run = note_number;
    tasks[i].number = i;
    weir__reactor_post(r, &tasks[i].task);
  }
  weir__reactor_stop(r);
  cr_assert_eq(order_n, 64);
  for (int i = 0; i < 64; i++) {
    cr_assert_eq(order[i], i);
  }
}

static struct weir__reactor *asked;
static bool answered_here;

static void ask_here(void *arg) {
  (void)arg;
  answered_here = weir__reactor_here(asked);
}

Test(reactor, knows_its_own_thread, .timeout = 5) {
  asked = start();
  cr_assert_not(weir__reactor_here(asked));
  on_reactor(asked, ask_here, NULL);
  cr_assert(answered_here);
  weir__reactor_stop(asked);
}

Test(reactor, is_two_reactors_when_two_are_started, .timeout = 5) {
  asked = start();
  struct weir__reactor *other = start();
  on_reactor(other, ask_here, NULL);
  cr_assert_not(answered_here);
  weir__reactor_stop(other);
  weir__reactor_stop(asked);
}

static struct weir__reactor *chain_reactor;
static int chain_left;

static void post_again(struct weir__task *task) {
  if (--chain_left > 0) {
    weir__reactor_post(chain_reactor, task);
  }
}

Test(reactor, runs_what_tasks_post_even_while_stopping, .timeout = 5) {
  struct weir__task task = {.run = post_again};
  chain_reactor = start();
  chain_left = 100;
  weir__reactor_post(chain_reactor, &task);
  weir__reactor_stop(chain_reactor);
  cr_assert_eq(chain_left, 0);
}

Test(reactor, stops_nothing_when_there_is_none, .timeout = 5) {
  weir__reactor_stop(NULL);
}

/* ------------------------------------------------------------------- timers */

struct alarm {
  struct weir__timer timer;
  struct weir__reactor *reactor;
  uint64_t at;
  int number;
  int fired;
  int again; /* times to set itself anew, to the past */
  sem_t *done;
};

static void ring(struct weir__timer *timer) {
  struct alarm *alarm = (struct alarm *)timer;
  alarm->fired++;
  if (order_n < order_limit) {
    order[order_n++] = alarm->number;
  }
  if (alarm->again-- > 0) {
    weir__reactor_timer(alarm->reactor, timer, 1);
  }
  if (alarm->done != NULL) {
    sem_post(alarm->done);
  }
}

static void set_alarm(void *arg) {
  struct alarm *alarm = arg;
  alarm->timer.fire = ring;
  weir__reactor_timer(alarm->reactor, &alarm->timer, alarm->at);
}

static void set(struct weir__reactor *r, struct alarm *alarm, uint64_t at) {
  alarm->reactor = r;
  alarm->at = at;
  on_reactor(r, set_alarm, alarm);
}

Test(reactor, fires_timers_in_the_order_of_their_deadlines, .timeout = 5) {
  struct weir__reactor *r = start_virtual();
  struct alarm a = {.number = 1};
  struct alarm b = {.number = 2};
  struct alarm c = {.number = 3};
  set(r, &a, 3000);
  set(r, &b, 2000);
  set(r, &c, 3000);
  move_to(r, 1999);
  cr_assert_eq(order_n, 0);
  move_to(r, 5000);
  weir__reactor_stop(r);
  cr_assert_eq(order_n, 3);
  cr_assert_eq(order[0], 2);
  cr_assert_eq(order[1], 1);
  cr_assert_eq(order[2], 3);
}

Test(reactor, moves_a_timer_that_is_set_again, .timeout = 5) {
  struct weir__reactor *r = start_virtual();
  struct alarm a = {.number = 1};
  set(r, &a, 2000);
  set(r, &a, 4000);
  move_to(r, 3999);
  cr_assert_eq(a.fired, 0);
  move_to(r, 4000);
  cr_assert_eq(a.fired, 1);
  cr_assert_not(weir__timer_set(&a.timer));
  weir__reactor_stop(r);
}

Test(reactor, never_fires_a_timer_that_was_cleared, .timeout = 5) {
  struct weir__reactor *r = start_virtual();
  struct alarm a = {.number = 1};
  set(r, &a, 2000);
  set(r, &a, WEIR_NEVER);
  move_to(r, 9000);
  cr_assert_eq(a.fired, 0);
  weir__reactor_stop(r);
}

Test(reactor, fires_a_timer_of_the_past_without_a_move_of_time, .timeout = 5) {
  struct weir__reactor *r = start_virtual();
  sem_t done;
  sem_init(&done, 0, 0);
  struct alarm a = {.again = 3, .done = &done};
  set(r, &a, 1);
  for (int i = 0; i < 4; i++) {
    sem_wait(&done);
  }
  weir__reactor_stop(r);
  cr_assert_eq(a.fired, 4);
}

Test(reactor,
     lets_no_timer_starve_behind_one_that_is_always_due,
     .timeout = 5) {
  struct weir__reactor *r = start_virtual();
  struct alarm greedy = {.number = 1, .again = 1 << 30};
  struct alarm b = {.number = 2};
  order_limit = 8;
  set(r, &b, 2000);
  set(r, &greedy, 1500);
  move_to(r, 3000);
  cr_assert_eq(b.fired, 1);
  weir__reactor_stop(r);
}

/* Whose deadline has always passed before the loop can wait for it. */
Test(reactor, runs_tasks_beside_a_timer_that_is_always_due, .timeout = 5) {
  struct weir__reactor *r = start();
  struct alarm greedy = {.number = 1, .again = 1 << 30};
  order_limit = 8;
  set(r, &greedy, 1);
  for (int i = 0; i < 10; i++) {
    on_reactor(r, nothing, NULL);
  }
  weir__reactor_stop(r);
}

Test(reactor, fires_in_real_time_and_never_early, .timeout = 5) {
  struct weir__reactor *r = start();
  sem_t done;
  sem_init(&done, 0, 0);
  struct alarm a = {.done = &done};
  uint64_t at = weir__clock_now() + 3 * WEIR_NS_PER_MS;
  set(r, &a, at);
  sem_wait(&done);
  cr_assert_geq(weir__clock_now(), at);
  weir__reactor_stop(r);
}

Test(reactor, forgets_timers_that_are_set_when_it_stops, .timeout = 5) {
  struct weir__reactor *r = start();
  struct alarm a = {.number = 1};
  set(r, &a, weir__clock_now() + 3600 * WEIR_NS_PER_S);
  weir__reactor_stop(r);
  cr_assert_eq(a.fired, 0);
}

/* ------------------------------------------------------------------ watches */

struct seen {
  struct weir__watch watch;
  struct weir__reactor *reactor;
  struct seen *remove; /* inside ready() */
  uint32_t want;
  uint32_t events;
  int rc;
  int count;
  int limit; /* remove itself after so many calls; 0 = never */
  sem_t called;
};

static void see(struct weir__watch *watch, uint32_t events) {
  struct seen *seen = (struct seen *)watch;
  seen->events = events;
  seen->count++;
  if (seen->remove != NULL) {
    (void)weir__reactor_watch(seen->reactor, &seen->remove->watch, 0);
    /* As if the memory were in use again for something else. */
    seen->remove->watch.events = WEIR_DRV_EV_WRITE;
  }
  if (seen->count == seen->limit) {
    (void)weir__reactor_watch(seen->reactor, watch, 0);
  }
  sem_post(&seen->called);
}

static void apply(void *arg) {
  struct seen *seen = arg;
  seen->rc = weir__reactor_watch(seen->reactor, &seen->watch, seen->want);
}

static int watch(struct seen *seen, uint32_t events) {
  seen->want = events;
  on_reactor(seen->reactor, apply, seen);
  return seen->rc;
}

static void init_seen(struct seen *seen, struct weir__reactor *r, int fd) {
  memset(seen, 0, sizeof *seen);
  seen->watch.ready = see;
  seen->watch.fd = fd;
  seen->reactor = r;
  sem_init(&seen->called, 0, 0);
}

static void pair(int fd[2]) {
  cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
}

static void close_pair(const int fd[2]) {
  close(fd[0]);
  close(fd[1]);
}

Test(reactor,
     says_that_a_descriptor_is_readable_until_it_is_read,
     .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  seen.limit = 3;
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), 0);
  cr_assert_eq(write(fd[1], "x", 1), 1);
  for (int i = 0; i < 3; i++) {
    sem_wait(&seen.called);
  }
  cr_assert_eq(seen.events, WEIR_DRV_EV_READ);
  weir__reactor_stop(r);
  close_pair(fd);
}

Test(reactor, changes_what_it_watches_for, .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  seen.limit = 1;
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), 0);
  cr_assert_eq(seen.count, 0);
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_WRITE), 0);
  sem_wait(&seen.called);
  cr_assert_eq(seen.events, WEIR_DRV_EV_WRITE);
  weir__reactor_stop(r);
  close_pair(fd);
}

static struct seen *both;

static void apply_both(void *arg) {
  (void)arg;
  apply(&both[0]);
  apply(&both[1]);
}

/* Both are ready in the same batch; whichever is called first removes the
 * other, whose event is then of the past. */
Test(reactor,
     delivers_nothing_to_a_watch_removed_in_the_same_batch,
     .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen[2];
  int fd[2];
  pair(fd);
  for (int i = 0; i < 2; i++) {
    init_seen(&seen[i], r, fd[i]);
    seen[i].remove = &seen[1 - i];
    seen[i].want = WEIR_DRV_EV_WRITE;
    seen[i].limit = 1;
  }
  both = seen;
  on_reactor(r, apply_both, NULL);
  on_reactor(r, nothing, NULL);
  weir__reactor_stop(r);
  cr_assert_eq(seen[0].count + seen[1].count, 1);
  close_pair(fd);
}

Test(reactor, shows_the_end_of_the_peer_as_readable, .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  seen.limit = 1;
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), 0);
  close(fd[1]);
  sem_wait(&seen.called);
  cr_assert_eq(seen.events, WEIR_DRV_EV_READ);
  weir__reactor_stop(r);
  close(fd[0]);
}

Test(reactor, reports_a_hang_up_once_and_does_not_spin, .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  cr_assert_eq(watch(&seen, WEIR_WATCH_HANGUP), 0);
  close(fd[1]);
  sem_wait(&seen.called);
  cr_assert_eq(seen.events, WEIR_WATCH_HANGUP);
  uint64_t before = weir__reactor_wakes(r);
  for (int i = 0; i < 100; i++) {
    on_reactor(r, nothing, NULL);
  }
  cr_assert_leq(weir__reactor_wakes(r) - before, 101);
  cr_assert_eq(seen.count, 1);
  weir__reactor_stop(r);
  close(fd[0]);
}

Test(reactor,
     is_silent_about_data_when_only_a_hang_up_is_watched,
     .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  cr_assert_eq(watch(&seen, WEIR_WATCH_HANGUP), 0);
  cr_assert_eq(write(fd[1], "x", 1), 1);
  on_reactor(r, nothing, NULL);
  on_reactor(r, nothing, NULL);
  cr_assert_eq(seen.count, 0);
  weir__reactor_stop(r);
  close_pair(fd);
}

Test(reactor, refuses_a_descriptor_that_cannot_be_watched, .timeout = 5) {
  struct weir__reactor *r = start();
  struct seen seen;
  init_seen(&seen, r, -1);
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), -EBADF);
  FILE *file = tmpfile();
  seen.watch.fd = fileno(file);
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), -EPERM);
  cr_assert_eq(seen.watch.events, 0);
  weir__reactor_stop(r);
  fclose(file);
}

/* P13: nothing but the posts themselves wakes it, whatever is set and watched. */
Test(reactor, does_not_wake_up_without_work, .timeout = 5) {
  struct weir__reactor *r = start();
  struct alarm a = {.number = 1};
  struct seen seen;
  int fd[2];
  pair(fd);
  init_seen(&seen, r, fd[0]);
  set(r, &a, weir__clock_now() + 3600 * WEIR_NS_PER_S);
  cr_assert_eq(watch(&seen, WEIR_DRV_EV_READ), 0);
  uint64_t before = weir__reactor_wakes(r);
  for (int i = 0; i < 100; i++) {
    on_reactor(r, nothing, NULL);
  }
  cr_assert_leq(weir__reactor_wakes(r) - before, 101);
  weir__reactor_stop(r);
  close_pair(fd);
}

/* --------------------------------------------------------------------- fork */

static int count_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 1024; fd++) {
    n += fcntl(fd, F_GETFD) != -1;
  }
  return n;
}

Test(reactor, leaves_no_descriptor_of_its_own_to_a_child, .timeout = 5) {
  weir__reactor_stop(start()); /* libuv opens a pipe for the process, once */
  int before = count_descriptors();
  struct weir__reactor *r = start();
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    weir__reactor_forget(r);
    _exit(count_descriptors() - before);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  on_reactor(r, nothing, NULL);
  weir__reactor_stop(r);
  cr_assert_eq(count_descriptors(), before);
}

/* ---------------------------------------------------------------- failures */

static int refuse_thread(void *(*run)(void *), void *arg, uint64_t *out) {
  (void)run;
  (void)arg;
  (void)out;
  return -EAGAIN;
}

Test(reactor,
     leaves_nothing_behind_when_its_thread_cannot_start,
     .timeout = 5) {
  struct weir__reactor *r = NULL;
  weir__seams.thread_start = refuse_thread;
  cr_assert_eq(weir__reactor_start(false, &r), -EAGAIN);
  cr_assert_null(r);
}

static void *no_memory(size_t n) {
  (void)n;
  return NULL;
}

Test(reactor, says_so_when_there_is_no_memory, .timeout = 5) {
  struct weir__reactor *r = NULL;
  weir__seams.alloc = no_memory;
  cr_assert_eq(weir__reactor_start(false, &r), -ENOMEM);
}
