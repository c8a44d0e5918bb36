/* SPDX-License-Identifier: MIT */
#include "sys/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "sys/seams.h"

_Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "thread fits a word");

int weir__thread_spawn(void *(*run)(void *), void *arg, uint64_t *out_thread);

int weir__thread_spawn(void *(*run)(void *), void *arg, uint64_t *out_thread) {
  sigset_t all;
  sigset_t before;
  pthread_t thread;
  (void)sigfillset(&all);
  int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
  if (rc != 0) {
    return -rc;
  }
  rc = pthread_create(&thread, NULL, run, arg);
  /* Cannot fail: the mask is one the system gave us. */
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc == 0) {
    memcpy(out_thread, &thread, sizeof thread);
  }
  return -rc;
}

int weir__thread_start(const char *name,
                       void *(*run)(void *arg),
                       void *arg,
                       uint64_t *out_thread) {
#if WEIR_SEAMS
  int rc = weir__seams.thread_start(run, arg, out_thread);
#else
  int rc = weir__thread_spawn(run, arg, out_thread);
#endif
  if (rc == 0) {
    pthread_t thread;
    memcpy(&thread, out_thread, sizeof thread);
    /* A name is a courtesy to whoever looks at the process. */
    (void)pthread_setname_np(thread, name);
  }
  return rc;
}

void weir__thread_detach(uint64_t thread) {
  pthread_t t;
  memcpy(&t, &thread, sizeof t);
  (void)pthread_detach(t);
}

void weir__thread_join(uint64_t thread) {
  pthread_t t;
  memcpy(&t, &thread, sizeof t);
  (void)pthread_join(t, NULL);
}
