/* SPDX-License-Identifier: MIT */
/* count_calls.h - how many allocations and system calls a piece of code makes.
 *
 * Link weir_count_calls (beside weir_support): it replaces malloc and its
 * relatives in the whole program, or hooks the sanitizer's (ThreadSanitizer's
 * does not tell of the aligned ones). */
#ifndef WEIR_TEST_COUNT_CALLS_H
#define WEIR_TEST_COUNT_CALLS_H

#include <stdint.h>

/* Runs fn(arg) and returns the number of calls of malloc, calloc, realloc and
 * their aligned relatives by the calling thread in it, in any library. */
uint64_t count_allocations(void (*fn)(void *arg), void *arg);

/* The same for all threads of the program. */
uint64_t count_allocations_all_threads(void (*fn)(void *arg), void *arg);

#define COUNT_CALLS_SHOWN 8u

struct count_calls {
  int (*prepare)(void *arg); /* before; may be NULL; not 0: give up */
  void (*run)(void *arg);    /* what is counted */
  void (*finish)(void *arg); /* after; may be NULL */
  void *arg;
};

struct count_calls_result {
  uint64_t calls;                   /* system calls made by run */
  int64_t shown[COUNT_CALLS_SHOWN]; /* numbers of the first of them */
};

/* Forks; in the child calls prepare, run and finish in the same thread; counts
 * the system calls of that thread in run with ptrace(2).  Other threads of the
 * child run unobserved.  What needs an engine opens it in prepare, as an engine
 * does not survive fork.
 *
 * Returns 0; -ECHILD if the child died or prepare gave up (a sentence on
 * standard error says which); another -errno if tracing is refused.
 * Threads: the caller should be the only one, since it forks.  Blocks: until
 * the child has ended; a child that takes over 30 seconds is killed. */
int count_system_calls(const struct count_calls *what,
                       struct count_calls_result *out_result);

#endif
