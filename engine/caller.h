/* SPDX-License-Identifier: MIT */
/* caller.h - one record per thread that calls into the library.
 *
 * A record tells others that its thread is inside a call (so that nothing the
 * call may have resolved is recycled under it), holds the word on which a
 * blocking call sleeps, and a descriptor by which a thread that polls sockets
 * can be woken.  Records are never freed: a thread that exits leaves its record
 * for the next one, so a late wake-up is spurious and never stray. */
#ifndef WEIR_CALLER_H
#define WEIR_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/atomic.h"

struct weir__engine;

struct weir__caller {
  /* Epoch at entry, 0 outside of calls.  Written by its thread with plain
   * stores; read after membarrier(2) by weir__caller_count(). */
  _Atomic uint64_t mark;
  /* The engine of the call, once resolved; NULL before. */
  struct weir__engine *_Atomic engine;
  /* Sleeping place: see weir__waiter_sleep(). */
  _Atomic uint32_t wake;
  /* 1: asleep in a poll that includes fd, and not on `wake` (reactor_turn.c). */
  _Atomic uint32_t polling;
  /* An eventfd, or -1 until first needed. */
  _Atomic int fd;
  _Atomic uint32_t kickers;  /* threads inside weir__caller_kick() for it */
  struct weir__caller *next; /* in the list of all records; never changes */
  _Atomic uint32_t taken;    /* 1 while a thread owns the record */
};

/* Page that the kernel zeroes in a forked child; NULL before the first engine.
 * Word 0 is 1 in the process that made it. */
extern _Atomic uint32_t *_Atomic weir__fork_page;
/* Counts retirements; starts at 1. */
extern _Atomic uint64_t weir__caller_epoch;
/* Non-zero while someone waits for callers to leave. */
extern _Atomic uint32_t weir__caller_awaited;

/* Makes the fork page and registers for membarrier(2); idempotent.  Returns 0
 * or -errno. */
int weir__caller_setup(void);

/* True in a child of the process that made the page, and before there is one. */
bool weir__caller_forgettable(void);

/* In such a child: forgets the page, so that the child may set up its own, and
 * closes the inherited descriptors of all records. */
void weir__caller_forget(void);

/* Enters a call.  Returns WEIR_OK with the thread's record, WEIR_E_FORK in a
 * forked child, WEIR_E_HANDLE before the first engine (no handle can be good),
 * WEIR_E_NOMEM.  Each success needs weir__caller_leave(). */
int weir__caller_enter(struct weir__caller **out_self);
void weir__caller_leave(struct weir__caller *self);

/* Starts a new epoch and returns it: what is retired now may be recycled once
 * weir__caller_count(epoch, NULL, NULL) is 0. */
uint64_t weir__caller_retire(void);

/* The number of calls still running that began before epoch, but self's (may be
 * NULL); with an engine, only those that may be inside it. */
uint32_t weir__caller_count(uint64_t epoch,
                            const struct weir__engine *engine,
                            const struct weir__caller *self);

/* Waits until that number is 0, at most until deadline; returns what is left. */
uint32_t weir__caller_await(uint64_t epoch,
                            const struct weir__engine *engine,
                            const struct weir__caller *self,
                            uint64_t deadline);

/* The record's eventfd, made on first use; -errno. */
int weir__caller_fd(struct weir__caller *self);
/* Makes a poll on that eventfd return.  Any thread; never blocks. */
void weir__caller_kick(struct weir__caller *who);
/* Changes `wake` and wakes its thread, however it sleeps.  Any thread; never
 * blocks. */
void weir__caller_wake(struct weir__caller *who);
/* Swallows kicks. */
void weir__caller_drain(struct weir__caller *self);
/* Closes the eventfds of all records: when no engine is left.  Waits for kicks
 * that are under way. */
void weir__caller_close_fds(void);

#endif
