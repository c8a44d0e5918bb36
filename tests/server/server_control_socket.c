/* SPDX-License-Identifier: MIT */
/* The control socket: lines in, lines out, served by the same loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server_const.h"
#include "server_loop.h"

#define REPLY_BYTES 65536u

struct control_conn {
  struct tdsd_watch watch;
  struct control_conn *next;
  bool over;
  char line[TDSD_CAP_CONTROL_LINE];
  size_t len;
};

struct tdsd_control {
  struct tdsd_watch watch;
  struct control_conn *conns;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Removes a socket that an earlier server left behind, but nothing else. */
static void remove_stale(const char *path) {
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) {
    (void)unlink(path);
  }
}

static int bind_path(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  memcpy(address.sun_path, path, strlen(path) + 1);
  /* Before listen() nobody can connect, so the mode is set in time. */
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
      chmod(path, 0600) < 0 || listen(fd, 16) < 0) {
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

struct tdsd_control *tdsd_control_open(struct tdsd *server,
                                       const char *path,
                                       char *why,
                                       size_t cap) {
  struct tdsd_control *control = calloc(1, sizeof *control);
  if (control == NULL) {
    (void)snprintf(why, cap, "no memory");
    return NULL;
  }
  if (strlen(path) >= sizeof control->path) {
    (void)snprintf(why, cap, "%.60s...: a socket's path has at most %zu bytes",
                   path, sizeof control->path - 1);
    free(control);
    return NULL;
  }
  remove_stale(path);
  int fd = bind_path(path);
  if (fd < 0) {
    (void)snprintf(why, cap, "%s: %s", path, strerrordesc_np(errno));
    free(control);
    return NULL;
  }
  memcpy(control->path, path, strlen(path) + 1);
  control->watch =
      (struct tdsd_watch){.kind = TDSD_WATCH_CONTROL_LISTEN, .fd = fd};
  if (tdsd_loop_watch(server, &control->watch, EPOLLIN) < 0) {
    (void)snprintf(why, cap, "%s: %s", path, strerrordesc_np(errno));
    tdsd_control_close(control);
    return NULL;
  }
  return control;
}

static void sweep(struct tdsd_control *control, bool all) {
  struct control_conn **at = &control->conns;
  while (*at != NULL) {
    struct control_conn *conn = *at;
    if (all || conn->over) {
      *at = conn->next;
      (void)close(conn->watch.fd);
      free(conn);
    } else {
      at = &conn->next;
    }
  }
}

void tdsd_control_sweep(struct tdsd_control *control) {
  if (control != NULL) {
    sweep(control, false);
  }
}

void tdsd_control_close(struct tdsd_control *control) {
  if (control == NULL) {
    return;
  }
  sweep(control, true);
  (void)close(control->watch.fd);
  (void)unlink(control->path);
  free(control);
}

static void accept_one(struct tdsd *server) {
  struct tdsd_control *control = server->control;
  int fd = accept4(control->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  struct control_conn *conn = fd < 0 ? NULL : calloc(1, sizeof *conn);
  if (conn == NULL) {
    if (fd >= 0) {
      (void)close(fd);
    }
    return;
  }
  conn->watch = (struct tdsd_watch){.kind = TDSD_WATCH_CONTROL, .fd = fd};
  conn->next = control->conns;
  control->conns = conn;
  conn->over = tdsd_loop_watch(server, &conn->watch, EPOLLIN) < 0;
}

/* Replies fit a socket's buffer; a client that does not read loses them. */
static void run_line(struct tdsd *server, struct control_conn *conn) {
  char *reply = calloc(1, REPLY_BYTES);
  if (reply == NULL) {
    conn->over = true;
    return;
  }
  tdsd_control_run(server, conn->line, reply, REPLY_BYTES - 1);
  size_t len = strlen(reply);
  reply[len++] = '\n';
  ssize_t sent = send(conn->watch.fd, reply, len, MSG_NOSIGNAL);
  conn->over = conn->over || sent != (ssize_t)len;
  free(reply);
}

static void run_lines(struct tdsd *server, struct control_conn *conn) {
  char *end = NULL;
  while (!conn->over && (end = memchr(conn->line, '\n', conn->len)) != NULL) {
    *end = 0;
    run_line(server, conn);
    size_t used = (size_t)(end - conn->line) + 1;
    memmove(conn->line, conn->line + used, conn->len - used);
    conn->len -= used;
  }
}

static void read_lines(struct tdsd *server, struct control_conn *conn) {
  ssize_t n = recv(conn->watch.fd, conn->line + conn->len,
                   sizeof conn->line - conn->len, 0);
  if (n <= 0) {
    conn->over = n == 0 || (errno != EAGAIN && errno != EINTR);
    return;
  }
  conn->len += (size_t)n;
  run_lines(server, conn);
  /* A line that fills the buffer is none. */
  conn->over = conn->over || conn->len == sizeof conn->line;
}

void tdsd_control_event(struct tdsd *server, struct tdsd_watch *watch) {
  if (watch->kind == TDSD_WATCH_CONTROL_LISTEN) {
    accept_one(server);
    return;
  }
  struct control_conn *conn = (void *)watch;
  if (!conn->over) {
    read_lines(server, conn);
  }
}
