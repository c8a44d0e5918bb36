/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "net/stream.h"
#include "sys/seams.h"

static struct weir__streams owner;
static char message[256];
static struct weir_drv_error err;
static struct weir_drv_addr to;
static int listener = -1;

static void listen_on(int backlog) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t len = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
  cr_assert_eq(listen(listener, backlog), 0);
  to.family = AF_INET;
  to.len = sizeof at;
  memcpy(to.bytes, &at, sizeof at);
}

static void set_up(void) {
  err.struct_size = sizeof err;
  err.message = message;
  err.message_cap = sizeof message;
  weir__streams_init(&owner);
  listen_on(16);
}

static void tear_down(void) {
  weir__streams_close_all(&owner, false);
  weir__streams_fini(&owner);
  if (listener >= 0) {
    close(listener);
  }
}

TestSuite(stream, .init = set_up, .fini = tear_down, .timeout = 5);

static short await(int fd, short events) {
  struct pollfd p = {.fd = fd, .events = events};
  cr_assert_eq(poll(&p, 1, 4000), 1);
  return p.revents;
}

static weir_drv_stream *connected(int *out_peer) {
  weir_drv_stream *s = NULL;
  cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_DONE);
  (void)await(weir__stream_fd(s), POLLOUT);
  cr_assert_eq(weir__stream_connected(s, &err), WEIR_DRV_DONE);
  *out_peer = accept(listener, NULL, NULL);
  cr_assert_geq(*out_peer, 0);
  return s;
}

static int option_of(int fd, int level, int name) {
  int value = -1;
  socklen_t len = sizeof value;
  cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
  return value;
}

/* Gateways drop a flow that is silent, and tell nobody (SqlClient#849). */
Test(stream, report_12_keeps_a_silent_path_alive) {
  int peer;
  int fd = weir__stream_fd(connected(&peer));
  cr_expect_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  cr_expect_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
  cr_expect_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 1);
  cr_expect_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 10);
  cr_expect_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  cr_expect_eq(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  close(peer);
}

Test(stream, moves_bytes_and_counts_them) {
  int peer;
  char got[8];
  weir_drv_stream *s = connected(&peer);
  cr_assert_eq(weir__stream_write(s, "hello", 5), 5);
  cr_assert_eq(read(peer, got, sizeof got), 5);
  cr_assert_eq(write(peer, "abc", 3), 3);
  (void)await(weir__stream_fd(s), POLLIN);
  cr_assert_eq(weir__stream_peek(s, got, sizeof got), 3);
  cr_assert_eq(weir__stream_read(s, got, 2), 2);
  cr_assert_eq(owner.bytes_out, 5);
  cr_assert_eq(owner.bytes_in, 2);
  close(peer);
}

Test(stream, says_again_when_there_is_nothing_and_closed_at_the_end) {
  int peer;
  char byte;
  weir_drv_stream *s = connected(&peer);
  cr_assert_eq(weir__stream_read(s, &byte, 1), WEIR_DRV_E_AGAIN);
  cr_assert_eq(weir__stream_peek(s, &byte, 1), WEIR_DRV_E_AGAIN);
  close(peer);
  (void)await(weir__stream_fd(s), POLLIN);
  cr_assert_eq(weir__stream_peek(s, &byte, 1), WEIR_DRV_E_CLOSED);
  cr_assert_eq(weir__stream_read(s, &byte, 1), WEIR_DRV_E_CLOSED);
}

Test(stream, says_again_when_the_peer_does_not_read) {
  int peer;
  static char data[1 << 16];
  weir_drv_stream *s = connected(&peer);
  int64_t rc = 1;
  while (rc > 0) {
    rc = weir__stream_write(s, data, sizeof data);
  }
  cr_assert_eq(rc, WEIR_DRV_E_AGAIN);
  close(peer);
}

Test(stream, refuses_to_move_no_bytes) {
  int peer;
  char byte = 0;
  weir_drv_stream *s = connected(&peer);
  cr_assert_eq(weir__stream_read(s, &byte, 0), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__stream_peek(s, &byte, 0), WEIR_DRV_E_INVALID);
  cr_assert_eq(weir__stream_write(s, &byte, 0), WEIR_DRV_E_INVALID);
  close(peer);
}

static weir_drv_status connect_result(void) {
  weir_drv_stream *s = NULL;
  weir_drv_status st = weir__stream_open(&owner, &to, &s, &err);
  if (st == WEIR_DRV_DONE) {
    (void)await(weir__stream_fd(s), POLLOUT);
    st = weir__stream_connected(s, &err);
  }
  return st;
}

Test(stream, names_address_and_reason_when_refused) {
  struct sockaddr_in at;
  char expected[64];
  memcpy(&at, to.bytes, sizeof at);
  close(listener);
  listener = -1;
  cr_assert_eq(connect_result(), WEIR_DRV_FAIL);
  (void)snprintf(expected, sizeof expected,
                 "cannot connect to 127.0.0.1:%u: Connection refused",
                 ntohs(at.sin_port));
  cr_assert_str_eq(message, expected);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_ENDPOINT);
  cr_assert_eq(err.kind, WEIR_DRV_K_NETWORK);
  cr_assert_eq(err.retry, WEIR_DRV_RETRY_ELSE);
}

static int connect_errno;

static int connect_fails(int fd, const struct sockaddr *at, socklen_t len) {
  (void)fd;
  (void)at;
  (void)len;
  return -connect_errno;
}

Test(stream, judges_each_way_to_fail) {
  static const struct {
    int error;
    int32_t scope;
    int32_t kind;
  } cases[] = {
      {ENETUNREACH, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK},
      {EHOSTUNREACH, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK},
      {ETIMEDOUT, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK},
      {EADDRNOTAVAIL, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE},
      {ECONNRESET, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK},
  };
  weir__seams.net_connect = connect_fails;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    connect_errno = cases[i].error;
    cr_assert_eq(connect_result(), WEIR_DRV_FAIL);
    cr_assert_eq(err.scope, cases[i].scope);
    cr_assert_eq(err.kind, cases[i].kind);
    cr_assert_not_null(strstr(message, strerror(cases[i].error)));
    cr_assert_null(owner.slot[0]);
  }
}

static int no_socket(int family) {
  (void)family;
  return -EMFILE;
}

Test(stream, says_that_descriptors_ran_out) {
  weir__seams.net_socket = no_socket;
  cr_assert_eq(connect_result(), WEIR_DRV_FAIL);
  cr_assert_eq(err.kind, WEIR_DRV_K_RESOURCE);
  cr_assert_not_null(strstr(message, "no descriptor left"));
  cr_assert_not_null(strstr(message, "Too many open files"));
  cr_assert_not_null(strstr(message, "raise `ulimit -n`"));
}

Test(stream, shows_an_ipv6_address_in_brackets) {
  struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(1433)};
  at.sin6_addr = in6addr_loopback;
  to.family = AF_INET6;
  to.len = sizeof at;
  memcpy(to.bytes, &at, sizeof at);
  weir__seams.net_connect = connect_fails;
  connect_errno = ECONNREFUSED;
  cr_assert_eq(connect_result(), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, " [::1]:1433: "));
}

Test(stream, refuses_what_is_not_an_address) {
  weir_drv_stream *s = NULL;
  to.len = 200;
  cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_FAIL);
  cr_assert_not_null(strstr(message, "length 200"));
  to.family = AF_UNIX;
  to.len = 16;
  cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_FAIL);
  cr_assert_null(s);
}

Test(stream, refuses_the_ninth) {
  weir_drv_stream *s = NULL;
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_DONE);
    cr_assert_eq(weir__stream_slot(s), i);
    cr_assert_eq(weir__stream_owner(s), &owner);
  }
  weir_drv_stream *ninth = NULL;
  cr_assert_eq(weir__stream_open(&owner, &to, &ninth, &err), WEIR_DRV_FAIL);
  cr_assert_null(ninth);
  weir__stream_close(owner.slot[3]);
  cr_assert_eq(weir__stream_open(&owner, &to, &ninth, &err), WEIR_DRV_DONE);
  cr_assert_eq(weir__stream_slot(ninth), 3);
}

static void reset_by(int peer) {
  struct linger hard = {.l_onoff = 1, .l_linger = 0};
  setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close(peer);
}

Test(stream, describes_a_reset) {
  int peer;
  char byte;
  weir_drv_stream *s = connected(&peer);
  reset_by(peer);
  (void)await(weir__stream_fd(s), POLLIN);
  cr_assert_eq(weir__stream_read(s, &byte, 1), WEIR_DRV_FAIL);
  cr_assert_eq(weir__stream_error(s, &err), WEIR_DRV_FAIL);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(err.kind, WEIR_DRV_K_NETWORK);
  cr_assert_not_null(strstr(message, "lost the connection to 127.0.0.1:"));
  cr_assert_not_null(strstr(message, "Connection reset by peer"));
}

Test(stream, wakes_its_owner_when_interrupted) {
  int peer;
  char byte;
  weir_drv_stream *s = connected(&peer);
  weir__streams_interrupt(&owner);
  (void)await(weir__stream_fd(s), POLLIN);
  cr_assert_eq(weir__stream_read(s, &byte, 1), WEIR_DRV_E_CLOSED);
  cr_assert_eq(weir__stream_write(s, &byte, 1), WEIR_DRV_FAIL);
  close(peer);
}

Test(stream, opens_nothing_after_an_interrupt) {
  weir_drv_stream *s = NULL;
  weir__streams_interrupt(&owner);
  cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_FAIL);
  cr_assert_eq(err.kind, WEIR_DRV_K_CANCELLED);
  cr_assert_null(owner.slot[0]);
}

static int (*true_connect)(int fd, const struct sockaddr *at, socklen_t len);

static int interrupt_before(int fd, const struct sockaddr *at, socklen_t len) {
  weir__streams_interrupt(&owner);
  return true_connect(fd, at, len);
}

Test(stream, notices_an_interrupt_that_comes_just_before_the_connect) {
  weir_drv_stream *s = NULL;
  true_connect = weir__seams.net_connect;
  weir__seams.net_connect = interrupt_before;
  cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_FAIL);
  cr_assert_null(owner.slot[0]);
}

/* A listener whose queue is full does not answer: the connect hangs. */
static weir_drv_stream *hanging(void) {
  close(listener);
  listen_on(0);
  weir_drv_stream *s = NULL;
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    cr_assert_eq(weir__stream_open(&owner, &to, &s, &err), WEIR_DRV_DONE);
    struct pollfd p = {.fd = weir__stream_fd(s), .events = POLLOUT};
    if (poll(&p, 1, 0) == 0) {
      return s;
    }
  }
  return s;
}

Test(stream, waits_on_while_a_connect_is_under_way) {
  weir_drv_stream *s = hanging();
  cr_assert_eq(weir__stream_connected(s, &err), WEIR_DRV_WAIT);
}

Test(stream, interrupts_a_connect_that_is_under_way) {
  weir_drv_stream *s = hanging();
  weir__streams_interrupt(&owner);
  (void)await(weir__stream_fd(s), POLLOUT);
  cr_assert_eq(weir__stream_connected(s, &err), WEIR_DRV_FAIL);
}

Test(stream, ends_in_order_after_a_half_close) {
  int peer;
  char byte;
  (void)connected(&peer);
  weir__streams_half_close(&owner);
  cr_assert_eq(read(peer, &byte, 1), 0);
  cr_assert_not(weir__streams_peer_done(&owner));
  cr_assert_eq(write(peer, "late", 4), 4);
  close(peer);
  (void)await(weir__stream_fd(owner.slot[0]), POLLRDHUP);
  cr_assert(weir__streams_peer_done(&owner));
  cr_assert_eq(owner.drained, 4);
}

static ssize_t endless(int fd, void *p, size_t n) {
  (void)fd;
  memset(p, 0, n);
  return (ssize_t)n;
}

Test(stream, loses_patience_with_a_peer_that_never_stops) {
  int peer;
  (void)connected(&peer);
  weir__seams.net_read = endless;
  int calls = 1;
  while (!weir__streams_peer_done(&owner)) {
    calls++;
  }
  cr_assert_eq(calls, 4);
  cr_assert_eq(owner.drained, WEIR_STREAMS_DRAIN_MAX);
  close(peer);
}

Test(stream, resets_the_peer_when_asked_to) {
  int peer;
  char byte;
  (void)connected(&peer);
  weir__streams_close_all(&owner, true);
  (void)await(peer, POLLIN);
  cr_assert_eq(read(peer, &byte, 1), -1);
  cr_assert_eq(errno, ECONNRESET);
  close(peer);
}

Test(stream, stays_its_drivers_when_the_peer_is_reset) {
  int peer;
  char byte;
  weir_drv_stream *s = connected(&peer);
  weir__streams_reset(&owner);
  (void)await(peer, POLLIN);
  cr_assert_eq(read(peer, &byte, 1), -1);
  cr_assert_eq(errno, ECONNRESET);
  cr_assert_lt(weir__stream_read(s, &byte, 1), 0);
  weir__stream_close(s);
  close(peer);
}

static int closing_flags;

static void note_closing(struct weir__streams *o, weir_drv_stream *s) {
  cr_assert_eq(o, &owner);
  closing_flags = fcntl(weir__stream_fd(s), F_GETFD);
}

Test(stream, tells_its_owner_before_the_descriptor_closes) {
  int peer;
  weir_drv_stream *s = connected(&peer);
  int fd = weir__stream_fd(s);
  closing_flags = -1;
  owner.closing = note_closing;
  weir__stream_close(s);
  cr_assert_eq(closing_flags, FD_CLOEXEC);
  cr_assert_eq(fcntl(fd, F_GETFD), -1);
  weir__stream_close(NULL);
  close(peer);
}

static int child_result(void) {
  weir__streams_forget(&owner);
  return fcntl(weir__stream_fd(owner.slot[0]), F_GETFD) == -1 ? 0 : 1;
}

Test(stream, closes_only_the_child_s_descriptor_after_a_fork) {
  int peer;
  int status = -1;
  weir_drv_stream *s = connected(&peer);
  pid_t child = fork();
  if (child == 0) {
    _exit(child_result());
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  cr_assert_eq(weir__stream_write(s, "x", 1), 1);
  close(peer);
}
