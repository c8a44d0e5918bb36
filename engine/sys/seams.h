/* SPDX-License-Identifier: MIT */
/* seams.h - where tests and the simulator take over the outside world.
 *
 * Everything the engine takes from the operating system (clock, parking,
 * polling, sockets, threads, memory, name look-ups) and each named test point
 * goes through one of these functions when the engine is built with
 * WEIR_SEAMS=1, which is what the tests link.  libweir.so is built without it:
 * there the wrappers in this folder are direct calls.
 *
 * A test replaces members before it opens an engine and puts them back after it
 * has shut it down; nothing here is safe to change while an engine is open. */
#ifndef WEIR_SYS_SEAMS_H
#define WEIR_SYS_SEAMS_H

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifndef WEIR_SEAMS
#  define WEIR_SEAMS 0
#endif

struct addrinfo;

struct weir__seams {
  /* Clock: nanoseconds; see clock.h. */
  uint64_t (*now)(void);
  uint64_t (*coarse)(void);
  uint64_t (*unix_ms)(void);
  /* 1: time moves only when a test moves it.  The reactor then arms no timer of
   * the kernel and is kicked through watch_clock instead. */
  int virtual_time;
  /* Registers kick(arg), called after each move of virtual time. */
  void (*watch_clock)(void (*kick)(void *arg), void *arg);
  void (*unwatch_clock)(void (*kick)(void *arg), void *arg);

  /* 64 random bits; see chance.h. */
  uint64_t (*random)(void);

  /* Scheduler; see park.h and thread.h. */
  int (*park)(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
  void (*unpark)(_Atomic uint32_t *word);
  int (*poll)(struct pollfd *fds, nfds_t n, uint64_t deadline);
  int (*thread_start)(void *(*run)(void *), void *arg, uint64_t *out_thread);

  /* Memory; see mem.h. */
  void *(*alloc)(size_t n);
  void *(*resize)(void *p, size_t n);

  /* Network; see net.h.  Each has the result of the call it is named after. */
  int (*net_socket)(int family);
  int (*net_connect)(int fd, const struct sockaddr *to, socklen_t len);
  int (*net_error)(int fd);
  ssize_t (*net_read)(int fd, void *p, size_t n);
  ssize_t (*net_write)(int fd, const void *p, size_t n);
  ssize_t (*net_peek)(int fd, void *p, size_t n);
  int (*net_shutdown)(int fd, int how);
  int (*net_close)(int fd);
  int (*net_resolve)(const char *host,
                     const char *service,
                     const struct addrinfo *hints,
                     struct addrinfo **out);
  void (*net_resolve_free)(struct addrinfo *list);

  /* Called at WEIR_POINT(name, object); see point.h. */
  void (*point)(const char *name, const void *object);
};

#if WEIR_SEAMS
extern struct weir__seams weir__seams;

/* Puts the operating system's own functions back into every member. */
void weir__seams_reset(void);
#endif

#endif
