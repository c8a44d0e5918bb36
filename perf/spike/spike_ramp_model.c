/* SPDX-License-Identifier: MIT */
/* spike_ramp_model.c - a cold ramp with each caller opening its own connection on
 * its own thread, against one thread that opens all of them and wakes their
 * callers.
 *
 * Usage: spike_ramp_model [--quick]
 *
 * A model, not the engine: a connect is a timerfd of 5 ms and then some work of
 * the processor, none or 0.5 ms (a TLS handshake); both ways poll descriptors as
 * the engine does, ppoll() here and epoll there. */
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "spike.h"
#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/park.h"

#define CALLERS_MAX 100u
#define CONNECT_NS  5000000
#define MS          1e6

static const unsigned callers[] = {10, 50, 100};
static const uint64_t works[] = {0, 500000};
static const char *const ways[] = {"each caller its own", "one thread all"};

#define SIZES (sizeof callers / sizeof callers[0])
#define WORKS (sizeof works / sizeof works[0])
#define WAYS  (sizeof ways / sizeof ways[0])
#define CELLS (SIZES * WORKS)

enum figure {
  SERVED,
  P50,
  CPU,
  FIGURES
};

static double figures[CELLS][WAYS][FIGURES][SPIKE_ROUNDS_MAX];

struct wish {
  struct wish *next;
  int timer;
  _Atomic uint32_t granted;
};

struct ramp {
  uint64_t work_ns;
  uint64_t begun;
  bool one_thread;
  unsigned n;
  int epoll;
  int event;
  pthread_mutex_t mu;
  struct wish *wishes; /* guarded by mu */
  double served_ms[CALLERS_MAX];
};

static int begin_connect(void) {
  struct itimerspec in = {.it_value = {.tv_nsec = CONNECT_NS}};
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0 || timerfd_settime(fd, 0, &in, NULL) != 0) {
    spike_die("no timer");
  }
  return fd;
}

static void end_connect(int fd, uint64_t work_ns) {
  uint64_t until = spike_thread_ns() + work_ns;
  while (spike_thread_ns() < until) {
  }
  (void)close(fd);
}

static void open_own(const struct ramp *r) {
  struct pollfd fds[2] = {{.fd = begin_connect(), .events = POLLIN},
                          {.fd = r->event, .events = POLLIN}};
  while (weir__poll_ppoll(fds, 2, WEIR_NEVER) <= 0) {
  }
  end_connect(fds[0].fd, r->work_ns);
}

static void open_there(struct ramp *r) {
  struct wish wish = {.granted = 0};
  uint64_t one = 1;
  (void)pthread_mutex_lock(&r->mu);
  bool first = r->wishes == NULL;
  wish.next = r->wishes;
  r->wishes = &wish;
  (void)pthread_mutex_unlock(&r->mu);
  if (first && write(r->event, &one, sizeof one) != sizeof one) {
    spike_die("no event");
  }
  while (weir__load_acquire_u32(&wish.granted) == 0) {
    (void)weir__park_futex(&wish.granted, 0, WEIR_NEVER);
  }
}

static void begin_wishes(struct ramp *r) {
  uint64_t count;
  (void)!read(r->event, &count, sizeof count);
  (void)pthread_mutex_lock(&r->mu);
  struct wish *w = r->wishes;
  r->wishes = NULL;
  (void)pthread_mutex_unlock(&r->mu);
  for (; w != NULL; w = w->next) {
    struct epoll_event want = {.events = EPOLLIN, .data.ptr = w};
    w->timer = begin_connect();
    (void)epoll_ctl(r->epoll, EPOLL_CTL_ADD, w->timer, &want);
  }
}

/* The one thread. */
static void react(struct ramp *r) {
  struct epoll_event got[64];
  for (unsigned served = 0; served < r->n;) {
    int n = epoll_wait(r->epoll, got, 64, -1);
    for (int i = 0; i < n; i++) {
      struct wish *w = got[i].data.ptr;
      if (w == NULL) {
        begin_wishes(r);
        continue;
      }
      end_connect(w->timer, r->work_ns);
      weir__store_release_u32(&w->granted, 1);
      weir__unpark_futex(&w->granted);
      served++;
    }
  }
}

static void work(void *arg, unsigned which) {
  struct ramp *r = arg;
  if (which == r->n) {
    react(r);
    return;
  }
  if (r->one_thread) {
    open_there(r);
  } else {
    open_own(r);
  }
  r->served_ms[which] = (double)(spike_now() - r->begun) / MS;
}

static void run_one(unsigned cell, unsigned way, unsigned round) {
  struct ramp r = {.n = callers[cell % SIZES],
                   .work_ns = works[cell / SIZES],
                   .one_thread = way == 1,
                   .mu = PTHREAD_MUTEX_INITIALIZER};
  struct epoll_event want = {.events = EPOLLIN};
  double(*f)[SPIKE_ROUNDS_MAX] = figures[cell][way];
  r.epoll = epoll_create1(EPOLL_CLOEXEC);
  r.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (r.epoll < 0 || r.event < 0 ||
      epoll_ctl(r.epoll, EPOLL_CTL_ADD, r.event, &want) != 0) {
    spike_die("no descriptors");
  }
  uint64_t cpu = spike_cpu_ns();
  r.begun = spike_now();
  (void)spike_run(r.n + (r.one_thread ? 1 : 0), work, &r, NULL, 0);
  f[CPU][round] = (double)(spike_cpu_ns() - cpu) / r.n / 1e3;
  f[P50][round] = spike_median(r.served_ms, r.n);
  f[SERVED][round] = r.served_ms[r.n - 1]; /* sorted by now */
  (void)close(r.epoll);
  (void)close(r.event);
}

static void print(unsigned rounds) {
  (void)printf("%-12s %5s  %-20s %9s %6s %9s %10s\n", "work", "N", "who opens",
               "served ms", "x", "p50 ms", "cpu us/N");
  for (unsigned c = 0; c < CELLS; c++) {
    double base = 0;
    for (unsigned k = 0; k < WAYS; k++) {
      double served = spike_median(figures[c][k][SERVED], rounds);
      base = k == 0 ? served : base;
      (void)printf("%-12s %5u  %-20s %9.1f %6.2f %9.1f %10.0f\n",
                   works[c / SIZES] == 0 ? "none" : "0.5 ms each",
                   callers[c % SIZES], ways[k], served, served / base,
                   spike_median(figures[c][k][P50], rounds),
                   spike_median(figures[c][k][CPU], rounds));
    }
  }
}

int main(int argc, char **argv) {
  bool quick = spike_quick(argc, argv);
  unsigned rounds = quick ? 1 : 9;
  for (unsigned r = 0; r < rounds; r++) {
    for (unsigned c = 0; c < CELLS; c++) {
      for (unsigned i = 0; i < WAYS; i++) {
        run_one(c, spike_turn(r, i, WAYS), r);
      }
    }
  }
  print(rounds);
  return 0;
}
