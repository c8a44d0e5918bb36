/* SPDX-License-Identifier: MIT */
/* trace.h - system calls of a piece of work, counted without privileges.
 *
 * A child of this program does the work once more under ptrace(2), every
 * thread of it, and the parent counts.  Counted are, between trace_begin() and
 * trace_end(), the calls of threads inside trace_enter() ... trace_leave(), that
 * is of callers inside a call of the pool, and all calls of threads that never
 * used either: the library's own.  Tracing slows each system call down, so what
 * depends on timing (how often a caller must sleep) is that of a slower
 * machine. */
#ifndef WEIRBENCH_TRACE_H
#define WEIRBENCH_TRACE_H

#include <stdint.h>

/* Most threads that may register at once, beside one that leads. */
#define TRACE_THREADS 4200u

struct trace_result {
  uint64_t calls;
  uint64_t ops; /* as the child gave them to trace_end() */
};

/* Forks; in the child calls work(arg), which must call trace_begin() and
 * trace_end() once, and ends it.  work returns 0, or else nothing is counted.
 * Returns 0, or -1 with a sentence in why (cap bytes).  Threads: the caller must
 * be the only one.  Blocks: until the child has ended; one that takes over a
 * minute is killed. */
int trace_count(int (*work)(void *arg),
                void *arg,
                struct trace_result *out,
                char *why,
                unsigned cap);

/* In the child, from one thread.  Outside of trace_count() they do nothing. */
void trace_begin(void);
void trace_end(uint64_t ops);

/* The calling thread is the bench's own: only what it does between enter and
 * leave counts. */
void trace_register(void);
void trace_enter(void);
void trace_leave(void);

#endif
