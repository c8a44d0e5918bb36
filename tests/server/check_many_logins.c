/* SPDX-License-Identifier: MIT */
/* A thousand clients of one thread log in at once to a server of one thread:
 * raw sockets, epoll on both sides, a login delay so that all are under way
 * together.  The server must have had exactly a thousand sessions at its peak,
 * and none when all have hung up. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "server_const.h"
#include "test_support.h"

#define CLIENTS    1000
#define DELAY_MS   50
#define TIMEOUT_MS 60000

struct client {
  int fd;
  int replies; /* 0: PRELOGIN awaited, 1: login awaited, 2: logged in */
  struct tdsd_buf in;
};

static unsigned passed;
static unsigned failed;

static void check(bool ok, const char *what) {
  (void)printf("%s: %s\n", ok ? "ok" : "FAILED", what);
  passed += ok ? 1 : 0;
  failed += ok ? 0 : 1;
}

static int64_t now_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool send_all(int fd, struct tdsd_buf *buf) {
  size_t len = tdsd_buf_len(buf);
  bool sent = send(fd, tdsd_buf_at(buf), len, MSG_NOSIGNAL) == (ssize_t)len;
  tdsd_buf_fini(buf);
  return sent;
}

static bool open_client(struct client *client, int epoll, uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = client}};
  struct tdsd_buf buf = {0};
  client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client->fd < 0 ||
      connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
      epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) < 0) {
    return false;
  }
  prelogin_packet(&buf, TDSD_ENC_NOT_SUP);
  return send_all(client->fd, &buf);
}

/* Takes the replies that are complete.  Returns false if the server hung up. */
static bool serve_client(struct client *client) {
  uint8_t *to = tdsd_buf_reserve(&client->in, 4096);
  ssize_t n = to == NULL ? -1 : recv(client->fd, to, 4096, 0);
  if (n <= 0) {
    return false;
  }
  tdsd_buf_commit(&client->in, (size_t)n);
  while (tdsd_buf_len(&client->in) >= 8) {
    size_t len = tdsd_get_u16be(tdsd_buf_at(&client->in) + 2);
    if (tdsd_buf_len(&client->in) < len) {
      break;
    }
    tdsd_buf_consume(&client->in, len);
    if (client->replies++ == 0) {
      struct tdsd_buf buf = {0};
      login_packet(&buf, TDSD_V74, 4096);
      if (!send_all(client->fd, &buf)) {
        return false;
      }
    }
  }
  return true;
}

static unsigned log_all_in(struct client *clients, int epoll) {
  struct epoll_event events[64];
  unsigned done = 0;
  int64_t end = now_ms() + TIMEOUT_MS;
  while (done < CLIENTS && now_ms() < end) {
    int n = epoll_wait(epoll, events, 64, 1000);
    for (int i = 0; i < n; i++) {
      struct client *client = events[i].data.ptr;
      if (!serve_client(client)) {
        return done;
      }
      done += client->replies == 2 ? 1 : 0;
    }
  }
  (void)clients;
  return done;
}

static void raise_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/* The server sees the clients' ends in its own time; it has ten seconds. */
static bool all_gone(const struct tdsd *server) {
  struct tdsd_stats stats;
  const struct timespec pause = {.tv_nsec = 1000000};
  int64_t end = now_ms() + 10000;
  do {
    (void)nanosleep(&pause, NULL);
    tdsd_stats(server, &stats);
  } while (stats.connections_open != 0 && now_ms() < end);
  return stats.connections_open == 0 && stats.sessions_open == 0;
}

static void run(struct tdsd *server, struct client *clients, int epoll) {
  struct tdsd_stats stats;
  unsigned opened = 0;
  int64_t start = now_ms();
  while (opened < CLIENTS &&
         open_client(&clients[opened], epoll, tdsd_port(server))) {
    opened++;
  }
  check(opened == CLIENTS, "1000 connections opened");
  check(log_all_in(clients, epoll) == CLIENTS, "1000 logins answered");
  (void)printf("%lld ms for all logins, %d ms of them delay\n",
               (long long)(now_ms() - start), DELAY_MS);
  tdsd_stats(server, &stats);
  check(stats.sessions_open == CLIENTS, "1000 sessions open");
  check(stats.sessions_max == CLIENTS, "1000 sessions at the peak");
  check(stats.logins_ok == CLIENTS && stats.logins_failed == 0,
        "every login succeeded once");
  check(stats.violations == 0, "nothing to complain about");
  for (unsigned i = 0; i < CLIENTS; i++) {
    if (clients[i].fd >= 0) {
      (void)close(clients[i].fd);
    }
    tdsd_buf_fini(&clients[i].in);
  }
  check(all_gone(server), "no session left");
}

int main(void) {
  static struct client clients[CLIENTS];
  struct tdsd_options options = {.tls = TDSD_TLS_OFF,
                                 .login_delay_ms = DELAY_MS};
  struct tdsd *server = NULL;
  char why[256] = "";
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  raise_limit();
  for (unsigned i = 0; i < CLIENTS; i++) {
    clients[i].fd = -1;
  }
  if (epoll < 0 || tdsd_open(&options, &server, why, sizeof why) < 0 ||
      tdsd_start(server) < 0) {
    (void)fprintf(stderr, "cannot start: %s\n", why);
    check(false, "the server starts");
  } else {
    run(server, clients, epoll);
  }
  tdsd_close(server);
  (void)close(epoll);
  (void)printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
