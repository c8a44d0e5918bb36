/* SPDX-License-Identifier: MIT */
/* The server in this process: starting, stopping, counting, orders. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "server.h"
#include "server_const.h"
#include "test_support.h"

static struct tdsd *start(const struct tdsd_options *options) {
  struct tdsd *server = NULL;
  char why[256] = "";
  cr_assert_eq(tdsd_open(options, &server, why, sizeof why), 0, "%s", why);
  cr_assert_eq(tdsd_start(server), 0);
  return server;
}

static int dial(const struct tdsd *server) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(tdsd_port(server))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void send_buf(int fd, struct tdsd_buf *buf) {
  size_t len = tdsd_buf_len(buf);
  cr_assert_eq(send(fd, tdsd_buf_at(buf), len, MSG_NOSIGNAL), (ssize_t)len);
  tdsd_buf_clear(buf);
}

/* Reads one whole packet.  Returns its length, 0 at the end of the stream. */
static size_t receive(int fd, uint8_t *out) {
  if (recv(fd, out, 8, MSG_WAITALL) != 8) {
    return 0;
  }
  size_t len = tdsd_get_u16be(out + 2);
  cr_assert_eq(recv(fd, out + 8, len - 8, MSG_WAITALL), (ssize_t)len - 8);
  return len;
}

static int log_in(const struct tdsd *server, struct tdsd_buf *buf) {
  uint8_t packet[4096];
  int fd = dial(server);
  prelogin_packet(buf, TDSD_ENC_NOT_SUP);
  send_buf(fd, buf);
  cr_assert_neq(receive(fd, packet), 0);
  login_packet(buf, TDSD_V74, 4096);
  send_buf(fd, buf);
  cr_assert_neq(receive(fd, packet), 0);
  return fd;
}

Test(server, counts_sessions_as_they_come_and_go, .timeout = 10) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct tdsd *server = start(&options);
  struct tdsd_buf buf = {0};
  struct tdsd_stats stats;
  int a = log_in(server, &buf);
  int b = log_in(server, &buf);
  tdsd_stats(server, &stats);
  cr_assert_eq(stats.sessions_open, 2);
  cr_assert_eq(stats.logins_ok, 2);
  (void)close(a);
  (void)close(b);
  do {
    tdsd_stats(server, &stats);
  } while (stats.sessions_open != 0);
  cr_assert_eq(stats.sessions_max, 2);
  tdsd_buf_fini(&buf);
  tdsd_close(server);
}

Test(server, kill_tells_the_session_and_hangs_up, .timeout = 10) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct tdsd *server = start(&options);
  struct tdsd_buf buf = {0};
  uint8_t packet[4096];
  char reply[128];
  int fd = log_in(server, &buf);
  tdsd_command(server, "kill 51", reply, sizeof reply);
  cr_assert_str_eq(reply, "ok");
  cr_assert_neq(receive(fd, packet), 0);
  cr_assert_eq(packet[8], TDSD_TOK_ERROR);
  cr_assert_eq(tdsd_get_u32(packet + 11), 596);
  cr_assert_eq(receive(fd, packet), 0);
  (void)close(fd);
  tdsd_buf_fini(&buf);
  tdsd_close(server);
}

Test(server, commands_answer_and_wrong_ones_say_so, .timeout = 10) {
  static const struct {
    const char *line;
    const char *reply;
  } cases[] = {
      {"hang-login on", "ok"},
      {"hang-login maybe", "error: on or off is needed"},
      {"login-delay-ms 7", "ok"},
      {"login-delay-ms x", "error: a number is needed, 0 for off"},
      {"kill 99", "error: no such session"},
      {"kill", "error: kill needs a session number or all"},
      {"sessions", "[]"},
      {"nonsense", "error: unknown command"},
      {"", "error: unknown command"},
      {"stats", "{\"connections_open\":0,\"connections_total\":0,"},
  };
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct tdsd *server = start(&options);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char reply[1024];
    tdsd_command(server, cases[i].line, reply, sizeof reply);
    cr_expect_eq(strncmp(reply, cases[i].reply, strlen(cases[i].reply)), 0,
                 "%s: %s", cases[i].line, reply);
  }
  tdsd_close(server);
}

Test(server, drop_after_bytes_cuts_the_reply, .timeout = 10) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct tdsd *server = start(&options);
  struct tdsd_buf buf = {0};
  char reply[64];
  uint8_t bytes[64];
  tdsd_command(server, "drop-after-bytes 5", reply, sizeof reply);
  int fd = dial(server);
  prelogin_packet(&buf, TDSD_ENC_NOT_SUP);
  send_buf(fd, &buf);
  cr_assert_eq(recv(fd, bytes, sizeof bytes, MSG_WAITALL), 5);
  (void)close(fd);
  tdsd_buf_fini(&buf);
  tdsd_close(server);
}

Test(server, a_client_hello_is_refused_where_tls_is_off, .timeout = 10) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct tdsd *server = start(&options);
  uint8_t byte = 0x16;
  int fd = dial(server);
  cr_assert_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
  cr_assert_eq(recv(fd, &byte, 1, 0), 0);
  (void)close(fd);
  tdsd_close(server);
}

Test(server, what_cannot_be_opened_is_named, .timeout = 10) {
  static const struct {
    struct tdsd_options options;
    const char *says;
  } cases[] = {
      {{.listen = "nowhere"}, "nowhere port 0"},
      {{.tap = "/nonexistent/tap"}, "/nonexistent/tap: No such file"},
      {{.control = "/nonexistent/s"}, "/nonexistent/s: No such file"},
      {{.tls = TDSD_TLS_FULL, .cert_file = "/nonexistent/c"},
       "/nonexistent/c: No such file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd *server = NULL;
    char why[256] = "";
    cr_assert_eq(tdsd_open(&cases[i].options, &server, why, sizeof why), -1);
    cr_assert_not_null(strstr(why, cases[i].says), "%s", why);
  }
}
