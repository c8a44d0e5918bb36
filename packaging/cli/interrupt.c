/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "exit_code.h"

#define CANCEL_EVERY_MS 250
#define CANCEL_TRIES    8

static struct {
  pthread_mutex_t mu;
  pthread_t thread;
  weir_h engine; /* guarded by mu */
  weir_h lease;  /* guarded by mu */
  int code;      /* guarded by mu */
  bool stopping; /* guarded by mu */
} watch = {.mu = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
  (void)pthread_mutex_lock(&watch.mu);
}

static void unlock(void) {
  (void)pthread_mutex_unlock(&watch.mu);
}

/* A signal that was ignored when the program started stays so: a shell does
 * that for commands in the background. */
static void add_unless_ignored(sigset_t *set, int sig) {
  struct sigaction action;
  if (sigaction(sig, NULL, &action) != 0 || action.sa_handler != SIG_IGN) {
    (void)sigaddset(set, sig);
  }
}

/* SIGUSR2 only wakes the thread so that it sees stopping. */
static void fill_set(sigset_t *set) {
  (void)sigemptyset(set);
  add_unless_ignored(set, SIGINT);
  add_unless_ignored(set, SIGTERM);
  (void)sigaddset(set, SIGUSR2);
}

/* Waits for a signal, after the first one only for a while.  Returns it, or 0
 * when the time passed. */
static int next_signal(const sigset_t *set, bool brief) {
  struct timespec wait = {.tv_nsec = CANCEL_EVERY_MS * 1000000L};
  for (;;) {
    int sig = brief ? sigtimedwait(set, NULL, &wait) : sigwaitinfo(set, NULL);
    if (sig >= 0 || errno != EINTR) {
      return sig < 0 ? 0 : sig;
    }
  }
}

static void shut_down(void) {
  lock();
  weir_h engine = watch.engine;
  watch.engine = 0;
  unlock();
  if (engine != 0) {
    /* The main thread's calls end with an error, whatever this one says. */
    (void)weir_engine_shutdown(engine, 0, NULL);
  }
}

/* The lock keeps the lease from being given back while it is cancelled. */
static bool cancel(void) {
  lock();
  bool done = watch.lease != 0 && weir_cancel(watch.lease) == WEIR_OK;
  unlock();
  return done;
}

static void end_work(int tries) {
  if (tries >= CANCEL_TRIES || !cancel()) {
    shut_down();
  }
}

/* Notes a signal.  Returns false when the thread is to end. */
static bool note(int sig) {
  lock();
  bool stop = watch.stopping;
  bool again = watch.code != 0;
  if (sig == SIGINT || sig == SIGTERM) {
    watch.code = sig == SIGINT ? EXIT_CODE_INTERRUPTED : EXIT_CODE_TERMINATED;
    if (again && !stop) {
      _exit(watch.code);
    }
  }
  unlock();
  return !stop;
}

static void *run(void *arg) {
  (void)arg;
  sigset_t set;
  fill_set(&set);
  int tries = 0;
  while (note(next_signal(&set, tries > 0))) {
    if (interrupt_code() != 0) {
      end_work(tries++);
    }
  }
  return NULL;
}

int interrupt_start(void) {
  sigset_t set;
  fill_set(&set);
  int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (error == 0) {
    error = pthread_create(&watch.thread, NULL, run, NULL);
  }
  return -error;
}

void interrupt_stop(void) {
  lock();
  watch.stopping = true;
  unlock();
  (void)pthread_kill(watch.thread, SIGUSR2);
  (void)pthread_join(watch.thread, NULL);
}

void interrupt_set_engine(weir_h engine) {
  lock();
  watch.engine = engine;
  unlock();
}

void interrupt_set_lease(weir_h lease) {
  lock();
  watch.lease = lease;
  unlock();
}

int interrupt_code(void) {
  lock();
  int code = watch.code;
  unlock();
  return code;
}
