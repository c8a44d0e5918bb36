/* SPDX-License-Identifier: MIT */
/* reactor.h - the engine's own loop: tasks, deadlines, descriptors.
 *
 * It is run by a thread of its own, or, if it is foreign, by whoever has a turn:
 * the program that calls weir_engine_turn(), or a blocking caller that waits for
 * something only the loop can do.  Either way one thread at a time runs it, and
 * "the reactor's thread" is the one that does.  It sleeps until it has something
 * to do (P13).
 *
 * With weir__seams.virtual_time no timer of the kernel is armed: each move of
 * virtual time kicks the loop, which then fires what is due by
 * weir__clock_now(). */
#ifndef WEIR_REACTOR_H
#define WEIR_REACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "sys/clock.h"

struct weir__caller;
struct weir__reactor;

/* Work for the reactor thread, in its owner's memory.  The reactor does not
 * touch a task after it has called run(), which may free it or post it again. */
struct weir__task {
  void (*run)(struct weir__task *task);
  struct weir__task *next; /* the reactor's */
};

/* A deadline.  Zeroed memory is a timer that is not set.  The reactor does not
 * touch it after it has called fire(), unless fire() set it again. */
struct weir__timer {
  void (*fire)(struct weir__timer *timer);
  struct weir__heap_node node; /* the reactor's; key = deadline */
};

/* Events of a watch: WEIR_DRV_EV_READ (1), WEIR_DRV_EV_WRITE (2), and: */
#define WEIR_WATCH_HANGUP UINT32_C(4) /* the peer is gone or has ended */

/* A descriptor to be watched.  The owner sets ready and fd, zeroes the rest. */
struct weir__watch {
  /* events: those of the watched ones that hold.  An error on the descriptor
   * shows as every watched event, so that whoever looks finds out. */
  void (*ready)(struct weir__watch *watch, uint32_t events);
  int fd;
  uint32_t events; /* what is watched now; written by the reactor only */
};

/* Starts a reactor, with a thread or, if foreign, without.
 * Returns 0 or -errno (EMFILE, ENOMEM, EAGAIN).
 * Owns: *out until weir__reactor_stop().  Threads: any.  Blocks: no. */
int weir__reactor_start(bool foreign, struct weir__reactor **out);

/* Runs every task posted so far and those that they post, joins the thread and
 * frees all.  Timers that are set do not fire and watches are forgotten.  A
 * weir__reactor_post() whose task has run may still be returning; none may
 * begin after this has begun, but from the reactor thread.  Nobody is inside
 * weir__reactor_park() or _turn().  NULL is fine.
 * Threads: any but the reactor's.  Blocks: until the tasks have run. */
void weir__reactor_stop(struct weir__reactor *reactor);

/* In a forked child, where the thread does not exist: closes the descriptors with
 * close(2) and does nothing else; the memory stays.  No other call may follow. */
void weir__reactor_forget(struct weir__reactor *reactor);

/* Has task->run() called on the reactor thread.  Tasks of one thread run in the
 * order in which it posted them.  Takes no lock, so locks may be held.
 * Threads: any.  Blocks: no.  Never fails. */
void weir__reactor_post(struct weir__reactor *reactor, struct weir__task *task);

/* True on the thread that runs the loop now.  No system call. */
bool weir__reactor_here(const struct weir__reactor *reactor);

/* Sets, moves or (with WEIR_NEVER) clears a timer.  One that is due fires from
 * the loop, never from here; timers of one deadline fire in the order in which
 * they were set.  Real timers are never early and about 1 ms late.
 * Threads: the reactor's. */
void weir__reactor_timer(struct weir__reactor *reactor,
                         struct weir__timer *timer,
                         uint64_t at);

/* True while it is set.  Threads: the reactor's. */
static inline bool weir__timer_set(const struct weir__timer *timer) {
  return timer->node.member;
}

/* Watches a descriptor for events from now on, level-triggered: ready() is
 * called for as long as they hold.  WEIR_WATCH_HANGUP alone is edge-triggered:
 * one call for each change, so that a dead descriptor that nobody closes yet
 * does not spin.  With events 0 the descriptor leaves the set; do that before
 * closing it.  Inside a ready() any watch may be changed, removed and freed: no
 * event of the past is delivered to it afterwards.
 * Returns 0 or -errno (EBADF, EPERM: cannot be watched, ENOMEM, ENOSPC); on
 * failure the watch is as it was.  Removing always succeeds.
 * Threads: the reactor's.  Blocks: no. */
int weir__reactor_watch(struct weir__reactor *reactor,
                        struct weir__watch *watch,
                        uint32_t events);

/* True if no thread of its own runs it. */
bool weir__reactor_foreign(const struct weir__reactor *reactor);

/* weir__park() for a wait that may need the reactor.  A foreign one is run
 * meanwhile, by this thread if no other does.  self: the calling thread's record.
 * Whoever changes the word must wake by weir__reactor_unpark(), or, if it is
 * self->wake, by weir__caller_wake().
 * Returns 0, maybe for no reason, or -ETIMEDOUT.
 * Threads: any; no lock is held.  Blocks: yes. */
int weir__reactor_park(struct weir__reactor *reactor,
                       struct weir__caller *self,
                       _Atomic uint32_t *word,
                       uint32_t expected,
                       uint64_t deadline);

/* weir__unpark() for those. */
void weir__reactor_unpark(struct weir__reactor *reactor,
                          _Atomic uint32_t *word);

/* Of a foreign one, for the program: the descriptor to be polled for reading. */
int weir__reactor_fd(struct weir__reactor *reactor);

/* Of a foreign one, for the program: one turn.
 *   _begin_turn()  this thread runs the loop from here on; false: another one does
 *   _turn()        runs what is due
 *   _end_turn()    no more; answers the next deadline, 0 if there is more to do at
 *                  once, WEIR_NEVER if there is none
 * Threads: any.  Blocks: no. */
bool weir__reactor_begin_turn(struct weir__reactor *reactor);
void weir__reactor_turn(struct weir__reactor *reactor);
uint64_t weir__reactor_end_turn(struct weir__reactor *reactor);

/* How often the loop has woken up so far.  Threads: any. */
uint64_t weir__reactor_wakes(const struct weir__reactor *reactor);

#endif
