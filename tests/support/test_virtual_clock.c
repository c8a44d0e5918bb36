/* SPDX-License-Identifier: MIT */
/* Each seam of the virtual clock.  A plain program, so that it runs under
 * ThreadSanitizer; check.h counts. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "sys/clock.h"
#include "sys/park.h"
#include "virtual_clock.h"

#define MS UINT64_C(1000000)

struct parker {
  _Atomic uint32_t word;
  uint64_t deadline;
  int rc;
  pthread_t thread;
};

static void *park_thread(void *arg) {
  struct parker *p = arg;
  p->rc = weir__park(&p->word, 0, p->deadline);
  return NULL;
}

static void start_parker(struct parker *p, uint64_t deadline) {
  memset(p, 0, sizeof *p);
  p->deadline = deadline;
  p->rc = 99;
  CHECK(pthread_create(&p->thread, NULL, park_thread, p) == 0);
}

static void time_moves_only_when_told(void) {
  uint64_t start = weir__clock_now();
  uint64_t wall = weir__clock_unix_ms();
  CHECK(start == VIRTUAL_CLOCK_START);
  CHECK(weir__clock_now() == start);
  virtual_clock_advance(5 * MS);
  CHECK(weir__clock_now() == start + 5 * MS);
  CHECK(weir__clock_coarse() == start + 5 * MS);
  CHECK(weir__clock_unix_ms() == wall + 5);
  virtual_clock_advance_to(start);
  CHECK(weir__clock_now() == start + 5 * MS);
}

static void wall_clock_jumps_alone(void) {
  uint64_t now = weir__clock_now();
  uint64_t wall = weir__clock_unix_ms();
  virtual_clock_jump_wall(-3600000);
  CHECK(weir__clock_now() == now);
  CHECK(weir__clock_unix_ms() == wall - 3600000);
}

static void park_refuses_a_changed_word(void) {
  _Atomic uint32_t word = 1;
  CHECK(weir__park(&word, 0, WEIR_NEVER) == 0);
}

static void park_ends_at_its_deadline(void) {
  struct parker p;
  uint64_t now = weir__clock_now();
  start_parker(&p, now + 10 * MS);
  CHECK(virtual_clock_wait_parked(1) == 0);
  CHECK(virtual_clock_next() == now + 10 * MS);
  virtual_clock_advance(10 * MS - 1);
  CHECK(virtual_clock_parked() == 1);
  virtual_clock_advance(1);
  (void)pthread_join(p.thread, NULL);
  CHECK(p.rc == -ETIMEDOUT);
  CHECK(virtual_clock_next() == UINT64_MAX);
}

static void unpark_wakes_exactly_one(void) {
  struct parker a;
  struct parker b;
  start_parker(&a, WEIR_NEVER);
  CHECK(virtual_clock_wait_parked(1) == 0);
  start_parker(&b, WEIR_NEVER);
  CHECK(virtual_clock_wait_parked(2) == 0);
  weir__unpark(&a.word);
  CHECK(virtual_clock_parked() == 1);
  (void)pthread_join(a.thread, NULL);
  CHECK(a.rc == 0);
  CHECK(virtual_clock_parked() == 1);
  weir__unpark(&b.word);
  (void)pthread_join(b.thread, NULL);
  CHECK(b.rc == 0);
}

static void unpark_of_nobody_is_lost(void) {
  struct parker p;
  weir__unpark(&p.word);
  start_parker(&p, weir__clock_now() + MS);
  CHECK(virtual_clock_wait_parked(1) == 0);
  virtual_clock_advance(MS);
  (void)pthread_join(p.thread, NULL);
  CHECK(p.rc == -ETIMEDOUT);
}

struct poller {
  struct pollfd fd;
  uint64_t deadline;
  int rc;
  pthread_t thread;
};

static void *poll_thread(void *arg) {
  struct poller *p = arg;
  p->rc = weir__poll(&p->fd, 1, p->deadline);
  return NULL;
}

static void start_poller(struct poller *p, int fd, uint64_t deadline) {
  *p = (struct poller){
      .fd = {.fd = fd, .events = POLLIN}, .deadline = deadline, .rc = 99};
  CHECK(pthread_create(&p->thread, NULL, poll_thread, p) == 0);
}

static void poll_ends_when_a_descriptor_is_ready(void) {
  int pipe_fds[2];
  struct poller p;
  CHECK(pipe(pipe_fds) == 0);
  start_poller(&p, pipe_fds[0], WEIR_NEVER);
  CHECK(virtual_clock_wait_parked(1) == 0);
  CHECK(write(pipe_fds[1], "x", 1) == 1);
  (void)pthread_join(p.thread, NULL);
  CHECK(p.rc == 1);
  CHECK(p.fd.revents == POLLIN);
  (void)close(pipe_fds[0]);
  (void)close(pipe_fds[1]);
}

static void poll_ends_at_its_deadline(void) {
  int pipe_fds[2];
  struct poller p;
  CHECK(pipe(pipe_fds) == 0);
  start_poller(&p, pipe_fds[0], weir__clock_now() + 10 * MS);
  CHECK(virtual_clock_wait_parked(1) == 0);
  virtual_clock_advance(9 * MS);
  CHECK(virtual_clock_parked() == 1);
  virtual_clock_advance(MS);
  (void)pthread_join(p.thread, NULL);
  CHECK(p.rc == 0);
  CHECK(p.fd.revents == 0);
  (void)close(pipe_fds[0]);
  (void)close(pipe_fds[1]);
}

/* A thread about to wake must not pass for one that sleeps. */
static void ready_threads_do_not_count_as_asleep(void) {
  int pipe_fds[2];
  struct poller p;
  CHECK(pipe(pipe_fds) == 0);
  start_poller(&p, pipe_fds[0], WEIR_NEVER);
  CHECK(virtual_clock_wait_parked(1) == 0);
  CHECK(write(pipe_fds[1], "x", 1) == 1);
  CHECK(virtual_clock_parked() == 0);
  (void)pthread_join(p.thread, NULL);
  (void)close(pipe_fds[0]);
  (void)close(pipe_fds[1]);
}

static void poll_refuses_too_many_descriptors(void) {
  struct pollfd many[65];
  memset(many, 0, sizeof many);
  CHECK(weir__poll(many, 65, WEIR_NEVER) == -EINVAL);
}

static unsigned kicks;

static void kick(void *arg) {
  CHECK(arg == &kicks);
  kicks++;
}

static void watchers_hear_of_every_move(void) {
  weir__seams.watch_clock(kick, &kicks);
  virtual_clock_advance(1);
  virtual_clock_advance(1);
  CHECK(kicks == 2);
  weir__seams.unwatch_clock(kick, &kicks);
  virtual_clock_advance(1);
  CHECK(kicks == 2);
}

static void restore_puts_everything_back(void) {
  virtual_clock_restore();
  CHECK(weir__seams.virtual_time == 0);
  uint64_t before = weir__clock_read(CLOCK_MONOTONIC);
  uint64_t now = weir__clock_now();
  CHECK(now >= before && now <= weir__clock_read(CLOCK_MONOTONIC));
  virtual_clock_install();
}

int main(void) {
  virtual_clock_install();
  time_moves_only_when_told();
  wall_clock_jumps_alone();
  park_refuses_a_changed_word();
  park_ends_at_its_deadline();
  unpark_wakes_exactly_one();
  unpark_of_nobody_is_lost();
  poll_ends_when_a_descriptor_is_ready();
  poll_ends_at_its_deadline();
  ready_threads_do_not_count_as_asleep();
  poll_refuses_too_many_descriptors();
  watchers_hear_of_every_move();
  restore_puts_everything_back();
  virtual_clock_restore();
  return check_summary();
}
