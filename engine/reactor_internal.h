/* SPDX-License-Identifier: MIT */
/* reactor_internal.h - what the files of the reactor share: reactor.c (tasks,
 * timers, watches), reactor_thread.c (a thread of its own, by libuv) and
 * reactor_turn.c (no thread: whoever has a turn). */
#ifndef WEIR_REACTOR_INTERNAL_H
#define WEIR_REACTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "reactor.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

#define WEIR_REACTOR_BATCH 64

/* One who waits and would run the loop: on the stack of its thread. */
struct weir__parker {
  struct weir__parker *next;
  struct weir__parker *prev;
  const _Atomic uint32_t *word;
  struct weir__caller *caller; /* NULL: has no descriptor to be kicked by */
  bool leads;                  /* guarded by line_mu, as is */
  bool told;                   /* an unpark of its word was for this one */
};

struct weir__reactor {
  bool foreign;
  int epoll;              /* every watch is in it */
  _Atomic uint64_t inbox; /* struct weir__task *, newest first */
  _Atomic uint32_t posting;
  _Atomic uint64_t wakes;

  /* Whoever runs the loop's. */
  bool stopping;
  struct weir__heap deadlines;
  uint64_t firing; /* the time of the turn whose timers are firing, or 0 */
  struct epoll_event batch[WEIR_REACTOR_BATCH];
  int batch_n;
  int batch_i; /* the event being delivered */

  struct weir__loop *loop; /* reactor_thread.c's; NULL if foreign */

  /* reactor_turn.c */
  struct weir__watch wake; /* an eventfd, in epoll */
  int gate; /* an epoll set with epoll in it: what the program polls */
  struct weir__mutex line_mu; /* rank REACTOR; guards the rest */
  struct weir__parker *first; /* who waits, longest first */
  struct weir__parker *last;
  bool led;          /* somebody runs the loop, or is asleep on it */
  bool gate_used;    /* the program has asked for it */
  bool gate_shut;    /* it tells nothing while a thread is asleep on the loop */
  uint64_t told_due; /* the deadline that the program was told last */
};

/* Makes the loop look at its inbox and its clock. */
void weir__reactor_wake(struct weir__reactor *reactor);

/* The thread that runs the loop from here on, and no more. */
void weir__reactor_enter(struct weir__reactor *reactor);
void weir__reactor_exit(struct weir__reactor *reactor);

/* For the one who runs the loop. */
void weir__reactor_count_wake(struct weir__reactor *reactor);
void weir__reactor_run_tasks(struct weir__reactor *reactor);
void weir__reactor_run_watches(struct weir__reactor *reactor);
void weir__reactor_run_timers(struct weir__reactor *reactor);
uint64_t weir__reactor_earliest(const struct weir__reactor *reactor);

/* Runs what is posted until no poster is left inside weir__reactor_post(). */
void weir__reactor_run_posters(struct weir__reactor *reactor);

/* The two kinds.  start: 0 or -errno; stop: runs what is posted first. */
int weir__reactor_thread_start(struct weir__reactor *reactor);
void weir__reactor_thread_stop(struct weir__reactor *reactor);
void weir__reactor_thread_forget(const struct weir__reactor *reactor);
void weir__reactor_thread_wake(struct weir__reactor *reactor);
int weir__reactor_turn_start(struct weir__reactor *reactor);
void weir__reactor_turn_stop(struct weir__reactor *reactor);
void weir__reactor_turn_forget(const struct weir__reactor *reactor);
void weir__reactor_turn_wake(struct weir__reactor *reactor);

#endif
