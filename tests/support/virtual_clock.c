/* SPDX-License-Identifier: MIT */
/* Sleepers of both kinds are on one list, guarded by mu.  A parked thread waits
 * for a condition of its own, so that unpark wakes exactly one thread, as a
 * futex does.  A polling thread polls its descriptors and an eventfd that is
 * written when time moves.
 *
 * Two locks, taken in this order: watch_mu (the kick functions, held while they
 * are called, so that none is called after unwatch_clock returned), then mu. */
#include "virtual_clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sys/seams.h"

#define NS_PER_MS     UINT64_C(1000000)
#define WALL_START_MS INT64_C(1700000000000)
#define WATCH_MAX     32u
#define POLL_MAX      64u
#define PATIENCE_S    10

struct sleeper {
  struct sleeper *next;
  uint64_t deadline;
  _Atomic uint32_t *word;   /* parked: the address; polling: NULL */
  bool woken;               /* parked: unpark has chosen it */
  pthread_cond_t cond;      /* parked */
  int kick_fd;              /* polling */
  const struct pollfd *fds; /* polling: the caller's descriptors */
  nfds_t n_fds;
};

struct watch {
  void (*kick)(void *arg);
  void *arg;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;   /* a sleeper came; uses CLOCK_MONOTONIC */
static struct sleeper *sleepers; /* guarded by mu; oldest first */
static bool installed;           /* guarded by mu */
static int64_t wall_offset_ms;   /* guarded by mu */
static struct weir__seams saved; /* what install replaced */
static _Atomic uint64_t now_ns;  /* written under mu, read by anybody */

static pthread_mutex_t watch_mu = PTHREAD_MUTEX_INITIALIZER;
static struct watch watches[WATCH_MAX]; /* guarded by watch_mu */
static unsigned n_watches;              /* guarded by watch_mu */

_Noreturn static void misused(const char *what) {
  (void)fprintf(stderr, "virtual_clock: %s\n", what);
  abort();
}

static void append_locked(struct sleeper *s) {
  struct sleeper **at = &sleepers;
  while (*at != NULL) {
    at = &(*at)->next;
  }
  s->next = NULL;
  *at = s;
  (void)pthread_cond_broadcast(&changed);
}

static void remove_locked(const struct sleeper *s) {
  struct sleeper **at = &sleepers;
  while (*at != s) {
    at = &(*at)->next;
  }
  *at = s->next;
}

/* ------------------------------------------------------------------- clock */

uint64_t virtual_clock_now(void) {
  return atomic_load_explicit(&now_ns, memory_order_acquire);
}

static uint64_t unix_ms(void) {
  (void)pthread_mutex_lock(&mu);
  int64_t ms =
      WALL_START_MS + wall_offset_ms +
      (int64_t)((virtual_clock_now() - VIRTUAL_CLOCK_START) / NS_PER_MS);
  (void)pthread_mutex_unlock(&mu);
  return ms < 0 ? 0 : (uint64_t)ms;
}

void virtual_clock_jump_wall(int64_t ms) {
  (void)pthread_mutex_lock(&mu);
  wall_offset_ms += ms;
  (void)pthread_mutex_unlock(&mu);
}

static void watch_clock(void (*kick)(void *arg), void *arg) {
  (void)pthread_mutex_lock(&watch_mu);
  if (n_watches == WATCH_MAX) {
    misused("too many watchers of the clock");
  }
  watches[n_watches++] = (struct watch){.kick = kick, .arg = arg};
  (void)pthread_mutex_unlock(&watch_mu);
}

static void unwatch_clock(void (*kick)(void *arg), void *arg) {
  (void)pthread_mutex_lock(&watch_mu);
  for (unsigned i = 0; i < n_watches; i++) {
    if (watches[i].kick == kick && watches[i].arg == arg) {
      watches[i] = watches[--n_watches];
      break;
    }
  }
  (void)pthread_mutex_unlock(&watch_mu);
}

static void kick_locked(struct sleeper *s) {
  uint64_t one = 1;
  if (s->word != NULL) {
    (void)pthread_cond_signal(&s->cond);
  } else if (write(s->kick_fd, &one, sizeof one) != (ssize_t)sizeof one) {
    misused("an eventfd refused a kick");
  }
}

static void move_time(uint64_t at) {
  (void)pthread_mutex_lock(&watch_mu);
  (void)pthread_mutex_lock(&mu);
  if (at > virtual_clock_now()) {
    atomic_store_explicit(&now_ns, at, memory_order_release);
    for (struct sleeper *s = sleepers; s != NULL; s = s->next) {
      if (s->deadline <= at) {
        kick_locked(s);
      }
    }
  }
  (void)pthread_mutex_unlock(&mu);
  for (unsigned i = 0; i < n_watches; i++) {
    watches[i].kick(watches[i].arg);
  }
  (void)pthread_mutex_unlock(&watch_mu);
}

void virtual_clock_advance_to(uint64_t at) {
  move_time(at);
}

/* Tests advance from one thread; with several, the later of two equal targets
 * changes nothing, which is why the sum is not made under the lock. */
void virtual_clock_advance(uint64_t ns) {
  uint64_t now = virtual_clock_now();
  move_time(ns > UINT64_MAX - now ? UINT64_MAX : now + ns);
}

/* --------------------------------------------------------------- scheduler */

/* Like a futex: the word is read once, under the lock that unpark takes, so a
 * change followed by unpark is never missed. */
static int park(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline) {
  struct sleeper self = {.deadline = deadline, .word = word};
  int rc = 0;
  (void)pthread_cond_init(&self.cond, NULL);
  (void)pthread_mutex_lock(&mu);
  if (atomic_load_explicit(word, memory_order_acquire) == expected) {
    append_locked(&self);
    while (!self.woken && virtual_clock_now() < deadline) {
      (void)pthread_cond_wait(&self.cond, &mu);
    }
    remove_locked(&self);
    rc = self.woken ? 0 : -ETIMEDOUT;
  }
  (void)pthread_mutex_unlock(&mu);
  (void)pthread_cond_destroy(&self.cond);
  return rc;
}

static void unpark(_Atomic uint32_t *word) {
  (void)pthread_mutex_lock(&mu);
  for (struct sleeper *s = sleepers; s != NULL; s = s->next) {
    if (s->word == word && !s->woken) {
      s->woken = true;
      kick_locked(s);
      break;
    }
  }
  (void)pthread_mutex_unlock(&mu);
}

static int poll_really(struct pollfd *fds, nfds_t n, int timeout_ms) {
  int rc;
  do {
    rc = poll(fds, n, timeout_ms);
  } while (rc < 0 && errno == EINTR);
  return rc < 0 ? -errno : rc;
}

static int poll_until(struct sleeper *self, struct pollfd *all, nfds_t n) {
  for (;;) {
    bool due = virtual_clock_now() >= self->deadline;
    int rc = poll_really(all, n + 1, due ? 0 : -1);
    if (rc < 0) {
      return rc;
    }
    bool kicked = all[n].revents != 0;
    uint64_t drained;
    if (kicked && read(self->kick_fd, &drained, sizeof drained) < 0) {
      return -errno;
    }
    rc -= kicked ? 1 : 0;
    if (rc > 0 || due) {
      return rc;
    }
  }
}

static int sleep_in_poll(struct pollfd *fds, nfds_t n, uint64_t deadline) {
  struct pollfd all[POLL_MAX + 1];
  if (n > POLL_MAX) {
    return -EINVAL;
  }
  struct sleeper self = {.deadline = deadline, .fds = fds, .n_fds = n};
  self.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self.kick_fd < 0) {
    return -errno;
  }
  for (nfds_t i = 0; i < n; i++) {
    all[i] = fds[i];
  }
  all[n] = (struct pollfd){.fd = self.kick_fd, .events = POLLIN};
  (void)pthread_mutex_lock(&mu);
  append_locked(&self);
  (void)pthread_mutex_unlock(&mu);
  int rc = poll_until(&self, all, n);
  (void)pthread_mutex_lock(&mu);
  remove_locked(&self);
  (void)pthread_mutex_unlock(&mu);
  (void)close(self.kick_fd);
  for (nfds_t i = 0; i < n; i++) {
    fds[i].revents = all[i].revents;
  }
  return rc;
}

/* ----------------------------------------------------------------- asleep? */

static bool has_ready(const struct sleeper *s) {
  struct pollfd copy[POLL_MAX];
  for (nfds_t i = 0; i < s->n_fds; i++) {
    copy[i] = (struct pollfd){.fd = s->fds[i].fd, .events = s->fds[i].events};
  }
  return poll_really(copy, s->n_fds, 0) != 0;
}

static bool asleep_locked(const struct sleeper *s) {
  if (s->woken || s->deadline <= virtual_clock_now()) {
    return false;
  }
  return s->word != NULL || !has_ready(s);
}

static unsigned parked_locked(void) {
  unsigned n = 0;
  for (const struct sleeper *s = sleepers; s != NULL; s = s->next) {
    n += asleep_locked(s) ? 1 : 0;
  }
  return n;
}

unsigned virtual_clock_parked(void) {
  (void)pthread_mutex_lock(&mu);
  unsigned n = parked_locked();
  (void)pthread_mutex_unlock(&mu);
  return n;
}

uint64_t virtual_clock_next(void) {
  uint64_t next = UINT64_MAX;
  (void)pthread_mutex_lock(&mu);
  for (const struct sleeper *s = sleepers; s != NULL; s = s->next) {
    if (!s->woken && s->deadline < next) {
      next = s->deadline;
    }
  }
  (void)pthread_mutex_unlock(&mu);
  return next;
}

/* The count rises only when a sleeper comes: a thread that stops being asleep
 * leaves the list first. */
int virtual_clock_wait_parked(unsigned n) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += PATIENCE_S;
  int rc = 0;
  (void)pthread_mutex_lock(&mu);
  while (rc == 0 && parked_locked() < n) {
    rc = pthread_cond_timedwait(&changed, &mu, &until);
  }
  if (parked_locked() >= n) {
    rc = 0;
  }
  (void)pthread_mutex_unlock(&mu);
  return -rc;
}

/* ------------------------------------------------------- install, restore */

static _Atomic uint64_t bits_drawn;

static uint64_t drawn(void) {
  return atomic_load_explicit(&bits_drawn, memory_order_relaxed);
}

void virtual_clock_random(uint64_t bits) {
  atomic_store_explicit(&bits_drawn, bits, memory_order_relaxed);
}

void virtual_clock_install(void) {
  pthread_condattr_t attr;
  (void)pthread_mutex_lock(&mu);
  if (installed) {
    misused("installed twice");
  }
  installed = true;
  wall_offset_ms = 0;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&changed, &attr);
  (void)pthread_condattr_destroy(&attr);
  atomic_store_explicit(&now_ns, VIRTUAL_CLOCK_START, memory_order_release);
  saved = weir__seams;
  weir__seams.now = virtual_clock_now;
  weir__seams.coarse = virtual_clock_now;
  weir__seams.unix_ms = unix_ms;
  weir__seams.virtual_time = 1;
  weir__seams.random = drawn;
  virtual_clock_random(0);
  weir__seams.watch_clock = watch_clock;
  weir__seams.unwatch_clock = unwatch_clock;
  weir__seams.park = park;
  weir__seams.unpark = unpark;
  weir__seams.poll = sleep_in_poll;
  (void)pthread_mutex_unlock(&mu);
}

void virtual_clock_restore(void) {
  (void)pthread_mutex_lock(&watch_mu);
  (void)pthread_mutex_lock(&mu);
  if (!installed) {
    misused("restored without having been installed");
  }
  if (sleepers != NULL || n_watches != 0) {
    misused("restored while a thread sleeps or watches");
  }
  installed = false;
  weir__seams.now = saved.now;
  weir__seams.coarse = saved.coarse;
  weir__seams.unix_ms = saved.unix_ms;
  weir__seams.virtual_time = saved.virtual_time;
  weir__seams.random = saved.random;
  weir__seams.watch_clock = saved.watch_clock;
  weir__seams.unwatch_clock = saved.unwatch_clock;
  weir__seams.park = saved.park;
  weir__seams.unpark = saved.unpark;
  weir__seams.poll = saved.poll;
  (void)pthread_cond_destroy(&changed);
  (void)pthread_mutex_unlock(&mu);
  (void)pthread_mutex_unlock(&watch_mu);
}
