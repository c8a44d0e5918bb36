/* SPDX-License-Identifier: MIT */
/* The server's inside: one epoll set, one thread, one heap of deadlines. */
#ifndef TDSD_SERVER_LOOP_H
#define TDSD_SERVER_LOOP_H

#include <pthread.h>

#include "server_browser.h"
#include "server_conn.h"
#include "server_listen.h"

struct tdsd_heap {
  struct tdsd_conn **conns; /* least deadline first */
  size_t n;
  size_t room;
};

/* Sets, moves or (deadline 0) removes the deadline of a connection.  Returns
 * false without memory. */
bool tdsd_heap_set(struct tdsd_heap *heap,
                   struct tdsd_conn *conn,
                   uint64_t deadline_ns);

struct tdsd_control;

/* A line handed to the serving thread by tdsd_command(). */
struct tdsd_order {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  const char *line; /* NULL = none waits; guarded by mu */
  char *reply;      /* guarded by mu */
  size_t cap;
  bool closed; /* nobody serves any more; guarded by mu */
};

struct tdsd {
  struct tdsd_shared shared;
  struct tdsd_listener listeners[TDSD_LISTENERS_MAX];
  uint32_t nlisteners;
  struct tdsd_browser browser;
  struct tdsd_watch waker;      /* an eventfd */
  struct tdsd_watch lite_watch; /* readable when SQLite has something */
  struct tdsd_lite *lite;       /* NULL = no tables */
  struct tdsd_control *control; /* NULL = none */
  int epoll;
  int reserve; /* a descriptor to give up when all are used */
  uint16_t next_spid;
  uint8_t spids[4096]; /* bit n: spid n is taken */
  uint32_t accepted;
  struct tdsd_conn *conns;
  struct tdsd_conn *dead; /* freed after the events at hand */
  struct tdsd_heap heap;
  _Atomic bool quit;
  bool threaded;
  pthread_t thread;
  struct tdsd_order order;
};

/* Watches a descriptor for events, or changes for what.  Returns 0 or -1. */
int tdsd_loop_watch(struct tdsd *server,
                    struct tdsd_watch *watch,
                    uint32_t events);

/* Nanoseconds of the steady clock. */
uint64_t tdsd_loop_now(void);

/* After anything was done to a connection: sets its events and deadline, or
 * buries it. */
void tdsd_loop_settle(struct tdsd *server,
                      struct tdsd_conn *conn,
                      uint64_t now_ns);

/* Runs a line of the control language (server_control.c). */
void tdsd_control_run(struct tdsd *server,
                      const char *line,
                      char *reply,
                      size_t cap);

/* Commands for listeners and many connections (server_control_cluster.c).
 * Returns 0, or -1 if there is none of the name. */
int tdsd_control_cluster(struct tdsd *server,
                         const char *name,
                         const char *argument,
                         char *reply,
                         size_t cap);

/* The control socket (server_control_socket.c). */
struct tdsd_control *tdsd_control_open(struct tdsd *server,
                                       const char *path,
                                       char *why,
                                       size_t cap);
void tdsd_control_close(struct tdsd_control *control);
void tdsd_control_event(struct tdsd *server, struct tdsd_watch *watch);
/* Frees the control connections that ended during this turn. */
void tdsd_control_sweep(struct tdsd_control *control);

#endif
