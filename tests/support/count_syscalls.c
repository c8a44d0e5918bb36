/* SPDX-License-Identifier: MIT */
/* Counting system calls: the parent traces one thread of a child with
 * PTRACE_SYSCALL and counts the entries between two marker calls, which are
 * getppid(2) with an argument that nobody else passes. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "count_calls.h"

#define MARK_BEGIN UINT64_C(0x77656972001)
#define MARK_END   UINT64_C(0x77656972002)
#define PATIENCE_S 30u

/* As the kernel's struct ptrace_syscall_info of Linux 5.3, of which glibc 2.36
 * gives no definition that can be included beside sys/ptrace.h portably. */
struct call_info {
  uint8_t op;
  uint8_t pad[3];
  uint32_t arch;
  uint64_t instruction_pointer;
  uint64_t stack_pointer;
  uint64_t nr;
  uint64_t args[6];
  uint64_t spare[2];
};

enum {
  OP_ENTRY = 1,
  GET_SYSCALL_INFO = 0x420e
};

enum {
  CHILD_OK = 0,
  CHILD_GAVE_UP = 81,
  CHILD_UNTRACED = 82
};

_Noreturn static void run_child(const struct count_calls *what) {
  /* A traced child that hangs must not hold the test for ever. */
  (void)alarm(PATIENCE_S);
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
    _exit(CHILD_UNTRACED);
  }
  (void)raise(SIGSTOP);
  if (what->prepare != NULL && what->prepare(what->arg) != 0) {
    _exit(CHILD_GAVE_UP);
  }
  (void)syscall(SYS_getppid, MARK_BEGIN);
  what->run(what->arg);
  (void)syscall(SYS_getppid, MARK_END);
  if (what->finish != NULL) {
    what->finish(what->arg);
  }
  _exit(CHILD_OK);
}

struct tracer {
  struct count_calls_result found;
  bool reaped; /* the child is gone; its id may be somebody else's */
  bool counting;
  bool ended; /* the second marker was seen */
};

static void note_entry(struct tracer *t, const struct call_info *call) {
  bool marker = call->nr == (uint64_t)SYS_getppid;
  if (marker && call->args[0] == MARK_BEGIN) {
    t->counting = true;
  } else if (marker && call->args[0] == MARK_END) {
    t->ended = t->counting;
    t->counting = false;
  } else if (t->counting) {
    if (t->found.calls < COUNT_CALLS_SHOWN) {
      t->found.shown[t->found.calls] = (int64_t)call->nr;
    }
    t->found.calls++;
  }
}

static int on_syscall_stop(struct tracer *t, pid_t child) {
  struct call_info call;
  memset(&call, 0, sizeof call);
  long rc = ptrace((enum __ptrace_request)GET_SYSCALL_INFO, child,
                   (void *)sizeof call, &call);
  if (rc < 0) {
    return -errno;
  }
  if (call.op == OP_ENTRY) {
    note_entry(t, &call);
  }
  return 0;
}

static int wait_for(pid_t child, int *out_status) {
  pid_t rc;
  do {
    rc = waitpid(child, out_status, __WALL);
  } while (rc < 0 && errno == EINTR);
  return rc < 0 ? -errno : 0;
}

/* The reason in a sentence, since a code alone says little about a child. */
static int explain_end(const struct tracer *t, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK && t->ended) {
    return 0;
  }
  if (WIFSIGNALED(status)) {
    (void)fprintf(stderr, "count_system_calls: the child died of signal %d%s\n",
                  WTERMSIG(status),
                  WTERMSIG(status) == SIGALRM ? " after 30 seconds" : "");
    return -ECHILD;
  }
  if (WEXITSTATUS(status) == CHILD_UNTRACED) {
    (void)fprintf(stderr, "count_system_calls: ptrace is refused here\n");
    return -EPERM;
  }
  (void)fprintf(stderr, "count_system_calls: %s (exit status %d)\n",
                WEXITSTATUS(status) == CHILD_GAVE_UP ? "prepare gave up"
                                                     : "run did not return",
                WEXITSTATUS(status));
  return -ECHILD;
}

/* Signals other than the traps of tracing go on to the child. */
static int follow(struct tracer *t, pid_t child) {
  int status;
  int rc = wait_for(child, &status);
  if (rc == 0 && WIFSTOPPED(status)) {
    rc = ptrace(PTRACE_SETOPTIONS, child, NULL,
                (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) == 0
             ? 0
             : -errno;
    status = SIGSTOP << 8 | 0x7f;
  }
  bool first = true;
  while (rc == 0 && WIFSTOPPED(status)) {
    uintptr_t pass_on = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      rc = on_syscall_stop(t, child);
    } else if (!first) {
      pass_on = (uintptr_t)WSTOPSIG(status);
    }
    first = false;
    if (rc == 0 && ptrace(PTRACE_SYSCALL, child, NULL, (void *)pass_on) != 0) {
      rc = -errno;
    }
    rc = rc == 0 ? wait_for(child, &status) : rc;
  }
  t->reaped = rc == 0;
  return rc == 0 ? explain_end(t, status) : rc;
}

int count_system_calls(const struct count_calls *what,
                       struct count_calls_result *out_result) {
  struct tracer tracer;
  memset(&tracer, 0, sizeof tracer);
  (void)fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    return -errno;
  }
  if (child == 0) {
    run_child(what);
  }
  int rc = follow(&tracer, child);
  if (rc == 0) {
    *out_result = tracer.found;
  } else if (!tracer.reaped && kill(child, SIGKILL) == 0) {
    int status;
    (void)wait_for(child, &status);
  }
  return rc;
}
