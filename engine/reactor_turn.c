/* SPDX-License-Identifier: MIT */
/* reactor_turn.c - a loop without a thread of its own (threads = 0).
 *
 * Who runs it: the leader, one thread at a time (`led`).  A call of
 * weir__reactor_turn() leads while it runs what is due.  A thread in
 * weir__reactor_park() leads, if nobody does, until its own wait is over: it runs
 * what is due and then sleeps in poll(2) on the loop's epoll set and on its own
 * eventfd.  The others, the followers, sleep on their eventfds.
 *
 * No wake is missed:
 *   - A sleeper says `polling` in its record and then reads its word; a waker
 *     changes the word and then reads `polling` (weir__caller_wake()); all four
 *     sequentially consistent, so one of the two sees the other.  A waker that
 *     has only the word finds the sleeper in the line, which it joined before it
 *     read the word, both under line_mu (weir__reactor_unpark()).
 *   - Kicks are counted by an eventfd: one that comes before the poll ends it.
 *   - A post that finds the inbox empty makes the wake descriptor readable, and
 *     only a turn that goes on to empty the inbox reads it.
 *   - Timers are set by whoever leads, who sees them before he sleeps.
 *
 * The loop is not left alone while somebody waits: each thread that leaves the
 * line, or ends a turn, looks under line_mu whether anybody leads; if nobody
 * does, it kicks the one who waits longest, who then leads.  One who was chosen
 * and leaves instead does the same.
 *
 * Nobody spins: a kick is read before the next sleep; the leader sleeps on what a
 * turn has not used up.  The program's descriptor is a gate in front of the epoll
 * set, shut while a thread sleeps on that, or the program would be woken for
 * events that are not its own.  When it opens again it is readable if something is
 * there, and it is made readable if the next deadline is earlier than the program
 * was told. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "weir_driver.h"

#include "caller.h"
#include "reactor_internal.h"
#include "sys/assert.h"
#include "sys/park.h"
#include "sys/point.h"

/* How often one who cannot be kicked, because no descriptor is to be had, looks
 * by itself. */
#define TICK_NS (UINT64_C(10) * WEIR_NS_PER_MS)

void weir__reactor_turn_wake(struct weir__reactor *reactor) {
  /* A full counter is readable already. */
  (void)eventfd_write(reactor->wake.fd, 1);
}

static void on_wake(struct weir__watch *watch, uint32_t events) {
  eventfd_t value;
  (void)events;
  (void)eventfd_read(watch->fd, &value);
}

/* ------------------------------------------------------------------- a turn */

static uint64_t next_due(const struct weir__reactor *r) {
  return weir__load_acquire_u64(&r->inbox) != 0 ? 0 : weir__reactor_earliest(r);
}

/* Watches first: the wake descriptor is read before the inbox is emptied. */
static void turn(struct weir__reactor *r) {
  weir__reactor_enter(r);
  weir__reactor_count_wake(r);
  weir__reactor_run_watches(r);
  weir__reactor_run_tasks(r);
  weir__reactor_run_timers(r);
  weir__reactor_exit(r);
}

/* ----------------------------------------------------------------- the gate */

static void move_gate(struct weir__reactor *r, bool shut)
    WEIR_REQUIRES(r->line_mu) {
  struct epoll_event event = {.events = shut ? 0u : (uint32_t)EPOLLIN};
  if (r->gate_used && r->gate_shut != shut) {
    (void)epoll_ctl(r->gate, EPOLL_CTL_MOD, r->epoll, &event);
    r->gate_shut = shut;
  }
}

/* Nobody sleeps on the loop any more: it is the program's. */
static void open_gate(struct weir__reactor *r) WEIR_REQUIRES(r->line_mu) {
  move_gate(r, false);
  if (r->gate_used && next_due(r) < r->told_due) {
    r->told_due = 0; /* until it has asked */
    weir__reactor_turn_wake(r);
  }
}

/* ----------------------------------------------------------------- the line */

static bool take_lead(struct weir__reactor *r) WEIR_REQUIRES(r->line_mu) {
  bool mine = !r->led;
  r->led = true;
  return mine;
}

/* After somebody has left: the one to be kicked so that he leads, or NULL. */
static struct weir__caller *successor(struct weir__reactor *r)
    WEIR_REQUIRES(r->line_mu) {
  if (r->led) {
    return NULL;
  }
  if (r->first == NULL) {
    open_gate(r);
    return NULL;
  }
  return r->first->caller;
}

static void kick(struct weir__caller *who) {
  if (who != NULL) {
    weir__caller_kick(who);
  }
}

static void join_line(struct weir__reactor *r, struct weir__parker *p) {
  weir__mutex_lock(&r->line_mu);
  p->prev = r->last;
  if (r->last == NULL) {
    r->first = p;
  } else {
    r->last->next = p;
  }
  r->last = p;
  p->leads = take_lead(r);
  if (p->leads) {
    move_gate(r, true);
  }
  weir__mutex_unlock(&r->line_mu);
}

static void leave_line(struct weir__reactor *r, struct weir__parker *p) {
  weir__mutex_lock(&r->line_mu);
  *(p->prev == NULL ? &r->first : &p->prev->next) = p->next;
  *(p->next == NULL ? &r->last : &p->next->prev) = p->prev;
  if (p->leads) {
    r->led = false;
  }
  struct weir__caller *next = successor(r);
  weir__mutex_unlock(&r->line_mu);
  WEIR_POINT("reactor.left", r);
  kick(next);
}

/* After a sleep.  True: an unpark was for this one. */
static bool look_up(struct weir__reactor *r, struct weir__parker *p) {
  weir__mutex_lock(&r->line_mu);
  bool told = p->told;
  if (!told && !p->leads && take_lead(r)) {
    p->leads = true;
    move_gate(r, true);
  }
  weir__mutex_unlock(&r->line_mu);
  return told;
}

/* -------------------------------------------------------------------- sleep */

static void set_polling(struct weir__parker *p, uint32_t polling) {
  if (p->caller != NULL) {
    weir__store_seq_u32(&p->caller->polling, polling);
  }
}

static void sleep_once(struct weir__reactor *r,
                       struct weir__parker *p,
                       uint32_t expected,
                       uint64_t until) {
  int own = p->caller == NULL ? -1 : weir__caller_fd(p->caller);
  struct pollfd fds[2] = {{.fd = own, .events = POLLIN},
                          {.fd = r->epoll, .events = POLLIN}};
  set_polling(p, 1);
  if (weir__load_seq_u32(p->word) == expected) {
    WEIR_POINT("reactor.sleep", r);
    (void)weir__poll(fds, p->leads ? 2 : 1, until);
  }
  set_polling(p, 0);
  if (fds[0].revents != 0) {
    weir__caller_drain(p->caller);
  }
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t sleep_until(const struct weir__reactor *r,
                            const struct weir__parker *p,
                            uint64_t deadline) {
  uint64_t until = p->leads ? earlier(deadline, next_due(r)) : deadline;
  return p->caller == NULL
             ? earlier(until, weir__clock_add(weir__clock_now(), TICK_NS))
             : until;
}

static int wait_in_line(struct weir__reactor *r,
                        struct weir__parker *p,
                        uint32_t expected,
                        uint64_t deadline) {
  for (;;) {
    if (p->leads) {
      turn(r);
    }
    if (weir__load_seq_u32(p->word) != expected) {
      return 0;
    }
    if (weir__clock_now() >= deadline) {
      return -ETIMEDOUT;
    }
    sleep_once(r, p, expected, sleep_until(r, p, deadline));
    if (look_up(r, p)) {
      return 0;
    }
  }
}

int weir__reactor_park(struct weir__reactor *reactor,
                       struct weir__caller *self,
                       _Atomic uint32_t *word,
                       uint32_t expected,
                       uint64_t deadline) {
  if (!reactor->foreign) {
    return weir__park(word, expected, deadline);
  }
  WEIR_ASSERT(weir__mutex_none_held());
  bool kickable = self != NULL && weir__caller_fd(self) >= 0;
  struct weir__parker p = {.word = word, .caller = kickable ? self : NULL};
  join_line(reactor, &p);
  int rc = wait_in_line(reactor, &p, expected, deadline);
  leave_line(reactor, &p);
  return rc;
}

void weir__reactor_unpark(struct weir__reactor *reactor,
                          _Atomic uint32_t *word) {
  if (!reactor->foreign) {
    weir__unpark(word);
    return;
  }
  struct weir__caller *who = NULL;
  weir__mutex_lock(&reactor->line_mu);
  for (struct weir__parker *p = reactor->first; p != NULL; p = p->next) {
    if (p->word == word && !p->told) {
      p->told = true;
      who = p->caller;
      break;
    }
  }
  weir__mutex_unlock(&reactor->line_mu);
  kick(who);
}

/* ---------------------------------------------------------- for the program */

int weir__reactor_fd(struct weir__reactor *reactor) {
  weir__mutex_lock(&reactor->line_mu);
  if (!reactor->gate_used) {
    reactor->gate_used = true;
    move_gate(reactor, reactor->led);
    weir__reactor_turn_wake(reactor); /* so that it asks for the first time */
  }
  weir__mutex_unlock(&reactor->line_mu);
  return reactor->gate;
}

bool weir__reactor_begin_turn(struct weir__reactor *reactor) {
  weir__mutex_lock(&reactor->line_mu);
  bool mine = take_lead(reactor);
  if (!mine) {
    reactor->told_due = WEIR_NEVER; /* that is what the program is told now */
  }
  weir__mutex_unlock(&reactor->line_mu);
  return mine;
}

void weir__reactor_turn(struct weir__reactor *reactor) {
  turn(reactor);
}

uint64_t weir__reactor_end_turn(struct weir__reactor *reactor) {
  weir__mutex_lock(&reactor->line_mu);
  uint64_t due = next_due(reactor);
  reactor->told_due = due;
  reactor->led = false;
  struct weir__caller *next = successor(reactor);
  weir__mutex_unlock(&reactor->line_mu);
  kick(next);
  return due;
}

/* -------------------------------------------------------------- start, stop */

static int open_wake(struct weir__reactor *r) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return -errno;
  }
  r->wake.fd = fd;
  r->wake.ready = on_wake;
  weir__reactor_enter(r);
  int rc = weir__reactor_watch(r, &r->wake, WEIR_DRV_EV_READ);
  weir__reactor_exit(r);
  if (rc != 0) {
    (void)close(fd);
  }
  return rc;
}

static int open_gate_set(struct weir__reactor *r) {
  struct epoll_event event = {.events = EPOLLIN};
  r->gate = epoll_create1(EPOLL_CLOEXEC);
  if (r->gate < 0) {
    return -errno;
  }
  if (epoll_ctl(r->gate, EPOLL_CTL_ADD, r->epoll, &event) != 0) {
    int error = errno;
    (void)close(r->gate);
    return -error;
  }
  return 0;
}

int weir__reactor_turn_start(struct weir__reactor *reactor) {
  int rc = open_wake(reactor);
  if (rc != 0) {
    return rc;
  }
  rc = open_gate_set(reactor);
  if (rc != 0) {
    (void)close(reactor->wake.fd);
    return rc;
  }
  weir__mutex_init(&reactor->line_mu, WEIR_RANK_REACTOR);
  return 0;
}

void weir__reactor_turn_stop(struct weir__reactor *reactor) {
  WEIR_ASSERT(reactor->first == NULL && !reactor->led);
  reactor->stopping = true;
  weir__reactor_enter(reactor);
  weir__reactor_run_posters(reactor);
  weir__reactor_exit(reactor);
  weir__mutex_fini(&reactor->line_mu);
  (void)close(reactor->gate);
  (void)close(reactor->wake.fd);
}

void weir__reactor_turn_forget(const struct weir__reactor *reactor) {
  (void)close(reactor->gate);
  (void)close(reactor->wake.fd);
}
