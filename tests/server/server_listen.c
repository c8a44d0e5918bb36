/* SPDX-License-Identifier: MIT */
#include "server_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_loop.h"

#define BACKLOG 4096

static int bind_found(const struct addrinfo *found, uint16_t *out_port) {
  const int one = 1;
  int fd =
      socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  struct sockaddr_storage bound;
  socklen_t len = sizeof bound;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
      bind(fd, found->ai_addr, found->ai_addrlen) < 0 ||
      listen(fd, BACKLOG) < 0 ||
      getsockname(fd, (struct sockaddr *)&bound, &len) < 0) {
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
  }
  /* The port is at the same place in both families. */
  memcpy(out_port, (const char *)&bound + 2, sizeof *out_port);
  *out_port = ntohs(*out_port);
  return fd;
}

static int bind_listener(struct tdsd_listener *listener,
                         uint16_t port,
                         char *why,
                         size_t cap) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                           .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  char service[8];
  (void)snprintf(service, sizeof service, "%u", (unsigned)port);
  int rc = getaddrinfo(listener->address, service, &hints, &found);
  if (rc != 0) {
    (void)snprintf(why, cap, "%.64s port %s: %s", listener->address, service,
                   gai_strerror(rc));
    return -1;
  }
  int fd = bind_found(found, &listener->port);
  freeaddrinfo(found);
  if (fd < 0) {
    (void)snprintf(why, cap, "%.64s port %s: %s", listener->address, service,
                   strerrordesc_np(errno));
    return -1;
  }
  listener->watch = (struct tdsd_watch){.kind = TDSD_WATCH_LISTEN, .fd = fd};
  return 0;
}

/* Another address gets the first one's port, so that names with several addresses
 * work; an address that comes again gets a port of its own. */
static uint16_t usual_port(const struct tdsd *server, const char *address) {
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    if (strcmp(server->listeners[i].address, address) == 0) {
      return 0;
    }
  }
  return server->listeners[0].port;
}

static int add(struct tdsd *server,
               const struct tdsd_listen *wanted,
               char *why,
               size_t cap) {
  struct tdsd_listener *listener = &server->listeners[server->nlisteners];
  bool first = server->nlisteners == 0;
  uint16_t port = wanted->port != 0 ? wanted->port
                  : first           ? server->shared.options.port
                                    : usual_port(server, wanted->address);
  (void)snprintf(listener->address, sizeof listener->address, "%s",
                 wanted->address);
  (void)snprintf(listener->instance, sizeof listener->instance, "%s",
                 wanted->instance != NULL ? wanted->instance : "MSSQLSERVER");
  listener->number = server->nlisteners + 1;
  if (bind_listener(listener, port, why, cap) < 0) {
    return -1;
  }
  server->shared.roles[server->nlisteners] = wanted->role;
  server->nlisteners++;
  return 0;
}

int tdsd_listeners_open(struct tdsd *server, char *why, size_t cap) {
  const struct tdsd_options *options = &server->shared.options;
  const struct tdsd_listen only = {
      .address = options->listen != NULL ? options->listen : "127.0.0.1"};
  size_t n = options->nlisteners != 0 ? options->nlisteners : 1;
  if (n > TDSD_LISTENERS_MAX) {
    (void)snprintf(why, cap, "at most %u listeners", TDSD_LISTENERS_MAX);
    return -1;
  }
  for (size_t i = 0; i < n; i++) {
    const struct tdsd_listen *wanted =
        options->nlisteners != 0 ? &options->listeners[i] : &only;
    if (add(server, wanted, why, cap) < 0) {
      return -1;
    }
  }
  return 0;
}

void tdsd_listeners_close(struct tdsd *server) {
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    if (server->listeners[i].watch.fd >= 0) {
      (void)close(server->listeners[i].watch.fd);
    }
  }
}

int tdsd_listener_refuse(struct tdsd *server,
                         struct tdsd_listener *listener,
                         bool on) {
  char why[200];
  if (on == (listener->watch.fd < 0)) {
    return 0;
  }
  if (on) {
    (void)close(listener->watch.fd); /* which takes it out of epoll */
    listener->watch.fd = -1;
    listener->watch.events = 0;
    return 0;
  }
  if (bind_listener(listener, listener->port, why, sizeof why) < 0) {
    tdsd_log(&server->shared, 0, "%s", why);
    return -1;
  }
  return tdsd_loop_watch(server, &listener->watch, EPOLLIN);
}
