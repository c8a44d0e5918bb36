/* SPDX-License-Identifier: MIT */
#include "gates.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/seams.h"

#define PATIENCE_S 10

struct gate {
  const char *name;
  bool held;
  unsigned passes;  /* how many may go through a held gate */
  unsigned reached; /* arrivals so far */
  unsigned waiting; /* threads standing in it */
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;       /* any field below; uses CLOCK_MONOTONIC */
static struct gate gates[GATES_MAX]; /* guarded by mu */
static unsigned n_gates;             /* guarded by mu */
static bool installed;               /* guarded by mu */
static void (*saved)(const char *name, const void *object);

_Noreturn static void misused(const char *what, const char *name) {
  (void)fprintf(stderr, "gates: %s: %s\n", what, name);
  abort();
}

static struct gate *find_locked(const char *name) {
  for (unsigned i = 0; i < n_gates; i++) {
    if (strcmp(gates[i].name, name) == 0) {
      return &gates[i];
    }
  }
  return NULL;
}

static struct gate *need_locked(const char *name) {
  struct gate *gate = find_locked(name);
  if (gate == NULL) {
    misused("neither held nor watched", name);
  }
  return gate;
}

static void pass_through(const char *name, const void *object) {
  (void)object;
  (void)pthread_mutex_lock(&mu);
  struct gate *gate = find_locked(name);
  if (gate != NULL) {
    gate->reached++;
    gate->waiting++;
    (void)pthread_cond_broadcast(&changed);
    while (gate->held && gate->passes == 0) {
      (void)pthread_cond_wait(&changed, &mu);
    }
    gate->passes -= gate->held ? 1 : 0;
    gate->waiting--;
    (void)pthread_cond_broadcast(&changed);
  }
  (void)pthread_mutex_unlock(&mu);
}

void gates_install(void) {
  pthread_condattr_t attr;
  (void)pthread_mutex_lock(&mu);
  if (installed) {
    misused("installed twice", "gates_install");
  }
  installed = true;
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&changed, &attr);
  (void)pthread_condattr_destroy(&attr);
  saved = weir__seams.point;
  weir__seams.point = pass_through;
  (void)pthread_mutex_unlock(&mu);
}

static bool empty_locked(void) {
  for (unsigned i = 0; i < n_gates; i++) {
    if (gates[i].waiting != 0) {
      return false;
    }
  }
  return true;
}

void gates_restore(void) {
  (void)pthread_mutex_lock(&mu);
  if (!installed) {
    misused("restored without having been installed", "gates_restore");
  }
  for (unsigned i = 0; i < n_gates; i++) {
    gates[i].held = false;
  }
  (void)pthread_cond_broadcast(&changed);
  while (!empty_locked()) {
    (void)pthread_cond_wait(&changed, &mu);
  }
  n_gates = 0;
  installed = false;
  weir__seams.point = saved;
  (void)pthread_cond_destroy(&changed);
  (void)pthread_mutex_unlock(&mu);
}

static void add(const char *name, bool held) {
  (void)pthread_mutex_lock(&mu);
  if (!installed) {
    misused("gates_install was not called", name);
  }
  struct gate *gate = find_locked(name);
  if (gate == NULL) {
    if (n_gates == GATES_MAX) {
      misused("too many names", name);
    }
    gate = &gates[n_gates++];
  }
  unsigned waiting = gate->waiting;
  *gate = (struct gate){.name = name, .held = held, .waiting = waiting};
  (void)pthread_cond_broadcast(&changed);
  (void)pthread_mutex_unlock(&mu);
}

void gate_hold(const char *name) {
  add(name, true);
}

void gate_watch(const char *name) {
  add(name, false);
}

int gate_wait_reached(const char *name, unsigned n) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += PATIENCE_S;
  int rc = 0;
  (void)pthread_mutex_lock(&mu);
  const struct gate *gate = need_locked(name);
  while (rc == 0 && gate->reached < n) {
    rc = pthread_cond_timedwait(&changed, &mu, &until);
  }
  rc = gate->reached >= n ? 0 : rc;
  (void)pthread_mutex_unlock(&mu);
  return -rc;
}

unsigned gate_reached(const char *name) {
  (void)pthread_mutex_lock(&mu);
  unsigned n = need_locked(name)->reached;
  (void)pthread_mutex_unlock(&mu);
  return n;
}

unsigned gate_waiting(const char *name) {
  (void)pthread_mutex_lock(&mu);
  unsigned n = need_locked(name)->waiting;
  (void)pthread_mutex_unlock(&mu);
  return n;
}

void gate_pass(const char *name, unsigned n) {
  (void)pthread_mutex_lock(&mu);
  need_locked(name)->passes += n;
  (void)pthread_cond_broadcast(&changed);
  (void)pthread_mutex_unlock(&mu);
}

void gate_open(const char *name) {
  (void)pthread_mutex_lock(&mu);
  need_locked(name)->held = false;
  (void)pthread_cond_broadcast(&changed);
  (void)pthread_mutex_unlock(&mu);
}
