/* SPDX-License-Identifier: MIT */
/* net.h - the socket calls of the engine: non-blocking TCP, and name look-up.
 *
 * Each returns what the call it stands for returns, with errno as -errno in
 * place of -1. */
#ifndef WEIR_SYS_NET_H
#define WEIR_SYS_NET_H

#include <netdb.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* A non-blocking, close-on-exec TCP socket with TCP_NODELAY that asks a silent
 * peer after 30 s whether it lives, and is in error 10 s later; -errno. */
int weir__net_socket(int family);

/* Starts a connect: 0, -EINPROGRESS or another -errno. */
int weir__net_connect(int fd, const struct sockaddr *to, socklen_t len);

/* SO_ERROR as -errno, 0 when the connect succeeded. */
int weir__net_error(int fd);

/* Bytes moved; 0 (read, peek: the peer closed); -EAGAIN; another -errno.  Never
 * raises SIGPIPE. */
ssize_t weir__net_read(int fd, void *p, size_t n);
ssize_t weir__net_write(int fd, const void *p, size_t n);
ssize_t weir__net_peek(int fd, void *p, size_t n);

/* shutdown(2) and close(2).  0 or -errno. */
int weir__net_shutdown(int fd, int how);
int weir__net_close(int fd);

/* getaddrinfo(3) and freeaddrinfo(3).  Blocks: yes, for long. */
int weir__net_resolve(const char *host,
                      const char *service,
                      const struct addrinfo *hints,
                      struct addrinfo **out);
void weir__net_resolve_free(struct addrinfo *list);

#endif
