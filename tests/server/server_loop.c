/* SPDX-License-Identifier: MIT */
/* The loop: accepting, events, deadlines, orders from other threads. */
#include "server_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server_sqlite.h"

#define EVENTS_A_TURN  256
#define ACCEPTS_A_TURN 128
#define SPID_FIRST     51u
#define SPID_LAST      32767u
#define SECOND_NS      UINT64_C(1000000000)

uint64_t tdsd_loop_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

int tdsd_loop_watch(struct tdsd *server,
                    struct tdsd_watch *watch,
                    uint32_t events) {
  if (watch->events == events) {
    return 0;
  }
  struct epoll_event event = {.events = events, .data = {.ptr = watch}};
  int op = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(server->epoll, op, watch->fd, &event) < 0) {
    return -1;
  }
  watch->events = events;
  return 0;
}

/* Takes a free session id; 0 if all 32,717 are used. */
static uint16_t take_spid(struct tdsd *server) {
  for (uint32_t tries = SPID_FIRST; tries <= SPID_LAST; tries++) {
    uint16_t spid = server->next_spid;
    server->next_spid =
        spid == SPID_LAST ? (uint16_t)SPID_FIRST : (uint16_t)(spid + 1);
    uint8_t bit = (uint8_t)(1u << spid % 8);
    if ((server->spids[spid / 8] & bit) == 0) {
      server->spids[spid / 8] |= bit;
      return spid;
    }
  }
  return 0;
}

static void give_spid(struct tdsd *server, uint16_t spid) {
  uint8_t bit = (uint8_t)(1u << spid % 8);
  server->spids[spid / 8] = (uint8_t)(server->spids[spid / 8] & ~bit);
}

static void unlink_conn(struct tdsd *server, struct tdsd_conn *conn) {
  if (conn->prev != NULL) {
    conn->prev->next = conn->next;
  } else {
    server->conns = conn->next;
  }
  if (conn->next != NULL) {
    conn->next->prev = conn->prev;
  }
}

/* Later events of this turn may still point at it, so it is freed afterwards. */
static void bury(struct tdsd *server, struct tdsd_conn *conn) {
  (void)tdsd_heap_set(&server->heap, conn, 0);
  (void)epoll_ctl(server->epoll, EPOLL_CTL_DEL, conn->watch.fd, NULL);
  unlink_conn(server, conn);
  give_spid(server, conn->session.spid);
  conn->watch.events = 0;
  conn->next = server->dead;
  server->dead = conn;
}

static void sweep(struct tdsd *server) {
  while (server->dead != NULL) {
    struct tdsd_conn *next = server->dead->next;
    tdsd_conn_free(server->dead);
    server->dead = next;
  }
}

void tdsd_loop_settle(struct tdsd *server,
                      struct tdsd_conn *conn,
                      uint64_t now_ns) {
  if (!conn->dead) {
    uint64_t deadline = tdsd_conn_deadline(conn, now_ns);
    conn->dead =
        !tdsd_heap_set(&server->heap, conn, deadline) ||
        tdsd_loop_watch(server, &conn->watch, tdsd_conn_wants(conn)) < 0;
  }
  if (conn->dead) {
    bury(server, conn);
  }
}

static uint16_t peer_port(const struct sockaddr_storage *peer) {
  struct sockaddr_in in4;
  struct sockaddr_in6 in6;
  if (peer->ss_family == AF_INET6) {
    memcpy(&in6, peer, sizeof in6);
    return ntohs(in6.sin6_port);
  }
  memcpy(&in4, peer, sizeof in4);
  return ntohs(in4.sin_port);
}

/* A rule may turn a connection away at once, or keep it in silence. */
static enum tdsd_fault_kind greet(struct tdsd *server,
                                  const struct tdsd_listener *listener) {
  uint32_t at = 0;
  struct tdsd_fault_rule *rule = NULL;
  while ((rule = tdsd_fault_next(&server->shared.faults, TDSD_STAGE_CONNECT,
                                 server->accepted + 1, listener->number,
                                 &at)) != NULL) {
    if (tdsd_fault_take(rule)) {
      return rule->row->kind;
    }
  }
  return TDSD_FAULT_KINDS;
}

static void refuse(struct tdsd *server, int fd) {
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  (void)close(fd);
  server->accepted++;
  tdsd_count(&server->shared.counters.connections_total, 1);
}

static void adopt(struct tdsd *server,
                  const struct tdsd_listener *listener,
                  int fd,
                  const struct sockaddr_storage *peer) {
  const int one = 1;
  enum tdsd_fault_kind fault = greet(server, listener);
  if (fault == TDSD_FAULT_REFUSE) {
    refuse(server, fd);
    return;
  }
  uint16_t spid = take_spid(server);
  struct tdsd_conn *conn =
      spid == 0 ? NULL
                : tdsd_conn_new(&server->shared, fd, listener->number, spid,
                                server->accepted++, peer_port(peer));
  if (conn == NULL) {
    tdsd_log(&server->shared, spid, "no room for another connection");
    (void)close(fd);
    return;
  }
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  conn->silent = fault == TDSD_FAULT_SILENT;
  conn->next = server->conns;
  if (server->conns != NULL) {
    server->conns->prev = conn;
  }
  server->conns = conn;
  tdsd_loop_settle(server, conn, tdsd_loop_now());
}

/* Out of descriptors: the one in reserve lets us take the caller in and turn it
 * away, else it would keep the loop spinning. */
static void turn_away(struct tdsd *server,
                      const struct tdsd_listener *listener) {
  tdsd_log(&server->shared, 0, "out of file descriptors");
  (void)close(server->reserve);
  int fd = accept4(listener->watch.fd, NULL, NULL, SOCK_CLOEXEC);
  if (fd >= 0) {
    (void)close(fd);
  }
  server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_some(struct tdsd *server,
                        const struct tdsd_listener *listener) {
  for (int i = 0; i < ACCEPTS_A_TURN; i++) {
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof peer;
    int fd = accept4(listener->watch.fd, (struct sockaddr *)&peer, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) {
        turn_away(server, listener);
      }
      return;
    }
    adopt(server, listener, fd, &peer);
  }
}

static void take_order(struct tdsd *server) {
  struct tdsd_order *order = &server->order;
  uint64_t count = 0;
  (void)!read(server->waker.fd, &count, sizeof count);
  (void)pthread_mutex_lock(&order->mu);
  if (order->line != NULL) {
    tdsd_control_run(server, order->line, order->reply, order->cap);
    order->line = NULL;
    (void)pthread_cond_broadcast(&order->changed);
  }
  (void)pthread_mutex_unlock(&order->mu);
}

static void conn_event(struct tdsd *server,
                       struct tdsd_conn *conn,
                       uint32_t events) {
  uint64_t now_ns = tdsd_loop_now();
  if (conn->watch.events == 0) {
    return; /* it died earlier in this turn */
  }
  if ((events & EPOLLOUT) != 0) {
    tdsd_conn_writable(conn, now_ns);
  }
  if (!conn->dead &&
      (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    tdsd_conn_readable(conn, now_ns);
  }
  tdsd_loop_settle(server, conn, now_ns);
}

/* The state is part of a session, which is part of a connection. */
static void wake_session(void *user, struct tdsd_state *state) {
  struct tdsd *server = user;
  struct tdsd_conn *conn =
      (void *)((char *)state - offsetof(struct tdsd_conn, session.state));
  uint64_t now_ns = tdsd_loop_now();
  if (conn->watch.events == 0) {
    return; /* it died earlier in this turn */
  }
  tdsd_conn_wake(conn, now_ns);
  tdsd_loop_settle(server, conn, now_ns);
}

static void dispatch(struct tdsd *server, const struct epoll_event *event) {
  struct tdsd_watch *watch = event->data.ptr;
  switch (watch->kind) {
  case TDSD_WATCH_LISTEN:
    if (watch->fd >= 0) { /* it may have been told to refuse in this turn */
      accept_some(server, (void *)watch);
    }
    break;
  case TDSD_WATCH_WAKE:
    take_order(server);
    break;
  case TDSD_WATCH_SQLITE:
    tdsd_lite_ready(server->lite, wake_session, server);
    break;
  case TDSD_WATCH_CONN:
    conn_event(server, (void *)watch, event->events);
    break;
  case TDSD_WATCH_BROWSER:
    tdsd_browser_event(server);
    break;
  case TDSD_WATCH_CONTROL_LISTEN:
  case TDSD_WATCH_CONTROL:
  default:
    tdsd_control_event(server, watch);
    break;
  }
}

/* Rings those that are due now; what they set anew waits for the next turn. */
static void ring(struct tdsd *server) {
  uint64_t now_ns = tdsd_loop_now();
  for (size_t budget = server->heap.n; budget > 0; budget--) {
    struct tdsd_conn *conn = server->heap.n == 0 ? NULL : server->heap.conns[0];
    if (conn == NULL || conn->deadline_ns > now_ns) {
      return;
    }
    (void)tdsd_heap_set(&server->heap, conn, 0);
    tdsd_conn_timer(conn, now_ns);
    tdsd_loop_settle(server, conn, now_ns);
  }
}

/* Waits for events until the first deadline, to the nanosecond where the kernel
 * can, because a login delay of 5 ms should not become 6. */
static int wait_events(struct tdsd *server, struct epoll_event *events) {
  if (server->heap.n == 0) {
    return epoll_wait(server->epoll, events, EVENTS_A_TURN, -1);
  }
  uint64_t now_ns = tdsd_loop_now();
  uint64_t due_ns = server->heap.conns[0]->deadline_ns;
  uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
  struct timespec left = {.tv_sec = (time_t)(left_ns / SECOND_NS),
                          .tv_nsec = (long)(left_ns % SECOND_NS)};
  int n = epoll_pwait2(server->epoll, events, EVENTS_A_TURN, &left, NULL);
  if (n < 0 && errno == ENOSYS) {
    uint64_t left_ms = (left_ns + 999999) / 1000000;
    int timeout_ms = left_ms > 60000 ? 60000 : (int)left_ms;
    n = epoll_wait(server->epoll, events, EVENTS_A_TURN, timeout_ms);
  }
  return n;
}

void tdsd_run(struct tdsd *server) {
  struct epoll_event events[EVENTS_A_TURN];
  /* Acquire pairs with the release in tdsd_quit(). */
  while (!atomic_load_explicit(&server->quit, memory_order_acquire)) {
    int n = wait_events(server, events);
    for (int i = 0; i < n; i++) {
      dispatch(server, &events[i]);
    }
    ring(server);
    sweep(server);
    tdsd_control_sweep(server->control);
  }
  take_order(server);
  (void)pthread_mutex_lock(&server->order.mu);
  server->order.closed = true;
  (void)pthread_mutex_unlock(&server->order.mu);
}
