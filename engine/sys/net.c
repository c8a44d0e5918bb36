/* SPDX-License-Identifier: MIT */
#include "sys/net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "sys/seams.h"

/* A peer that is gone without a word is noticed after 40 s of silence, and a
 * gateway that drops silent flows hears of this one: Azure's do so after four
 * minutes.  The kernel does it; nobody wakes. */
#define KEEP_IDLE_S     30
#define KEEP_INTERVAL_S 1
#define KEEP_PROBES     10

/* Best effort: a stream without these is slow, or notices late; not wrong.
 *
 * Not TCP_USER_TIMEOUT: it would also end a connection whose peer lives but has
 * not read for a while, as a server does that waits for a lock.  What is sent is
 * bounded by the limit of the request. */
static void set_options(int fd) {
  static const struct {
    int level;
    int name;
    int value;
  } options[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1},
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
      {IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
      {IPPROTO_TCP, TCP_KEEPCNT, KEEP_PROBES},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                     sizeof options[i].value);
  }
}

static int real_socket(int family) {
  int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -errno;
  }
  set_options(fd);
  return fd;
}

static int real_connect(int fd, const struct sockaddr *to, socklen_t len) {
  int rc = connect(fd, to, len);
  return rc == 0 ? 0 : errno == EINTR ? -EINPROGRESS : -errno;
}

static int real_error(int fd) {
  int error = 0;
  socklen_t len = sizeof error;
  int rc = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
  return rc != 0 ? -errno : -error;
}

static ssize_t real_read(int fd, void *p, size_t n) {
  for (;;) {
    ssize_t rc = recv(fd, p, n, 0);
    if (rc >= 0 || errno != EINTR) {
      return rc >= 0 ? rc : -errno;
    }
  }
}

static ssize_t real_write(int fd, const void *p, size_t n) {
  for (;;) {
    ssize_t rc = send(fd, p, n, MSG_NOSIGNAL);
    if (rc >= 0 || errno != EINTR) {
      return rc >= 0 ? rc : -errno;
    }
  }
}

static ssize_t real_peek(int fd, void *p, size_t n) {
  for (;;) {
    ssize_t rc = recv(fd, p, n, MSG_PEEK);
    if (rc >= 0 || errno != EINTR) {
      return rc >= 0 ? rc : -errno;
    }
  }
}

static int real_shutdown(int fd, int how) {
  return shutdown(fd, how) == 0 ? 0 : -errno;
}

/* Linux releases the descriptor even when close(2) reports EINTR. */
static int real_close(int fd) {
  return close(fd) == 0 ? 0 : -errno;
}

static int real_resolve(const char *host,
                        const char *service,
                        const struct addrinfo *hints,
                        struct addrinfo **out) {
  return getaddrinfo(host, service, hints, out);
}

static void real_resolve_free(struct addrinfo *list) {
  freeaddrinfo(list);
}

#if WEIR_SEAMS
#  define CALL(name) weir__seams.net_##name
void weir__net_real(struct weir__seams *out);
void weir__net_real(struct weir__seams *out) {
  out->net_socket = real_socket;
  out->net_connect = real_connect;
  out->net_error = real_error;
  out->net_read = real_read;
  out->net_write = real_write;
  out->net_peek = real_peek;
  out->net_shutdown = real_shutdown;
  out->net_close = real_close;
  out->net_resolve = real_resolve;
  out->net_resolve_free = real_resolve_free;
}
#else
#  define CALL(name) real_##name
#endif

int weir__net_socket(int family) {
  return CALL(socket)(family);
}

int weir__net_connect(int fd, const struct sockaddr *to, socklen_t len) {
  return CALL(connect)(fd, to, len);
}

int weir__net_error(int fd) {
  return CALL(error)(fd);
}

ssize_t weir__net_read(int fd, void *p, size_t n) {
  return CALL(read)(fd, p, n);
}

ssize_t weir__net_write(int fd, const void *p, size_t n) {
  return CALL(write)(fd, p, n);
}

ssize_t weir__net_peek(int fd, void *p, size_t n) {
  return CALL(peek)(fd, p, n);
}

int weir__net_shutdown(int fd, int how) {
  return CALL(shutdown)(fd, how);
}

int weir__net_close(int fd) {
  return CALL(close)(fd);
}

int weir__net_resolve(const char *host,
                      const char *service,
                      const struct addrinfo *hints,
                      struct addrinfo **out) {
  return CALL(resolve)(host, service, hints, out);
}

void weir__net_resolve_free(struct addrinfo *list) {
  CALL(resolve_free)(list);
}
