/* SPDX-License-Identifier: MIT */
/* The traced threads tell where they are through a page that both processes
 * share, so that a mark costs no system call of its own: a traced thread that
 * enters a system call is stopped, and its words do not change meanwhile. */
#include "trace.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 60u

enum {
  CHILD_OK = 0,
  CHILD_GAVE_UP = 81,
  CHILD_UNTRACED = 82
};

struct place {
  _Atomic pid_t thread;
  _Atomic bool inside;
};

struct page {
  _Atomic bool on;
  _Atomic uint64_t ops;
  _Atomic uint32_t n_places;
  struct place places[TRACE_THREADS];
};

static struct page *page; /* NULL outside of the child */
static _Thread_local struct place *here;

/* ------------------------------------------------------------- in the child */

void trace_begin(void) {
  if (page != NULL) {
    atomic_store(&page->on, true);
  }
}

void trace_end(uint64_t ops) {
  if (page != NULL) {
    atomic_store(&page->on, false);
    atomic_store(&page->ops, ops);
  }
}

void trace_register(void) {
  if (page == NULL || here != NULL) {
    return;
  }
  uint32_t i = atomic_fetch_add(&page->n_places, 1);
  if (i < TRACE_THREADS) {
    here = &page->places[i];
    atomic_store(&here->thread, gettid());
  }
}

void trace_enter(void) {
  if (here != NULL) {
    atomic_store_explicit(&here->inside, true, memory_order_relaxed);
  }
}

void trace_leave(void) {
  if (here != NULL) {
    atomic_store_explicit(&here->inside, false, memory_order_relaxed);
  }
}

_Noreturn static void run_child(struct page *shared,
                                int (*work)(void *arg),
                                void *arg) {
  (void)alarm(PATIENCE_S);
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
    _exit(CHILD_UNTRACED);
  }
  (void)raise(SIGSTOP);
  page = shared;
  trace_register();
  _exit(work(arg) == 0 ? CHILD_OK : CHILD_GAVE_UP);
}

/* ------------------------------------------------------------ in the parent */

/* Whether a system call of this thread counts. */
static bool counts(struct page *shared, pid_t thread) {
  if (!atomic_load(&shared->on)) {
    return false;
  }
  uint32_t n = atomic_load(&shared->n_places);
  n = n < TRACE_THREADS ? n : TRACE_THREADS;
  /* From the newest: the kernel may give a thread's number again. */
  for (uint32_t i = n; i-- > 0;) {
    if (atomic_load(&shared->places[i].thread) == thread) {
      return atomic_load(&shared->places[i].inside);
    }
  }
  return true;
}

/* A thread stops at the entry of each call and at its end, in turn, unless it
 * was stopped or killed between; the kernel tells which it is. */
static bool is_entry(pid_t thread) {
  struct {
    uint8_t op;
    uint8_t rest[95];
  } info;
  memset(&info, 0, sizeof info);
  long n = ptrace((enum __ptrace_request)0x420e /* PTRACE_GET_SYSCALL_INFO */,
                  thread, (void *)sizeof info, &info);
  return n > 0 && info.op == 1;
}

/* The signal to go on with, after a stop that is no system call's.  A new
 * thread begins with a SIGSTOP of the tracing's own. */
static uintptr_t signal_of(int status) {
  int sig = WSTOPSIG(status);
  bool event = status >> 16 != 0;
  return event || sig == SIGSTOP ? 0 : (uintptr_t)sig;
}

static pid_t wait_any(int *out_status) {
  pid_t id;
  do {
    id = waitpid(-1, out_status, __WALL);
  } while (id < 0 && errno == EINTR);
  return id;
}

/* Follows all threads until the child ends; returns its status. */
static int follow(struct page *shared, pid_t child, uint64_t *out_calls) {
  int status = 0;
  for (;;) {
    pid_t id = wait_any(&status);
    if (id < 0 || (id == child && !WIFSTOPPED(status))) {
      return status;
    }
    if (!WIFSTOPPED(status)) {
      continue; /* a thread has ended */
    }
    uintptr_t sig = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      *out_calls += counts(shared, id) && is_entry(id) ? 1 : 0;
    } else {
      sig = signal_of(status);
    }
    (void)ptrace(PTRACE_SYSCALL, id, NULL, (void *)sig);
  }
}

static int explain(int status, char *why, unsigned cap) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK) {
    return 0;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_UNTRACED) {
    (void)snprintf(why, cap, "ptrace(2) is refused here");
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    (void)snprintf(why, cap, "the traced pass took over a minute");
  } else if (WIFSIGNALED(status)) {
    (void)snprintf(why, cap, "the traced pass died of signal %d",
                   WTERMSIG(status));
  } else {
    (void)snprintf(why, cap, "the traced pass failed");
  }
  return -1;
}

static int trace_child(struct page *shared,
                       pid_t child,
                       struct trace_result *out,
                       char *why,
                       unsigned cap) {
  int status = 0;
  long options =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
    (void)ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options);
    (void)ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    status = follow(shared, child, &out->calls);
  }
  if (explain(status, why, cap) != 0) {
    return -1;
  }
  out->ops = atomic_load(&shared->ops);
  return 0;
}

int trace_count(int (*work)(void *arg),
                void *arg,
                struct trace_result *out,
                char *why,
                unsigned cap) {
  struct page *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    (void)snprintf(why, cap, "no memory");
    return -1;
  }
  (void)fflush(NULL);
  struct trace_result result = {0, 0};
  int rc = -1;
  pid_t child = fork();
  if (child == 0) {
    run_child(shared, work, arg);
  } else if (child < 0) {
    (void)snprintf(why, cap, "fork: %s", strerrordesc_np(errno));
  } else {
    rc = trace_child(shared, child, &result, why, cap);
  }
  (void)munmap(shared, sizeof *shared);
  if (rc == 0) {
    *out = result;
  }
  return rc;
}
