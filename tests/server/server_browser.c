/* SPDX-License-Identifier: MIT */
#include "server_browser.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_loop.h"

#define QUESTION_MAX   512u
#define QUESTIONS_TURN 64

/* Kinds of questions. */
#define ASK_BROADCAST 0x02
#define ASK_ALL       0x03
#define ASK_ONE       0x04
#define ASK_DAC       0x0F

/* The words of the fault ssrp, in the order of its row. */
enum ssrp {
  SSRP_USUAL = -1,
  SSRP_NONE,
  SSRP_WRONG_INSTANCE,
  SSRP_OTHER_ADDRESS,
  SSRP_NO_TCP,
  SSRP_PORT0,
  SSRP_HUGE,
  SSRP_SHORT,
};

static int bind_udp(const char *address, uint16_t port, uint16_t *out_port) {
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                           .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  struct sockaddr_storage bound;
  socklen_t len = sizeof bound;
  char service[8];
  (void)snprintf(service, sizeof service, "%u", (unsigned)port);
  if (getaddrinfo(address, service, &hints, &found) != 0) {
    errno = EINVAL;
    return -1;
  }
  int fd =
      socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) < 0 ||
                  getsockname(fd, (struct sockaddr *)&bound, &len) < 0)) {
    int error = errno;
    (void)close(fd);
    errno = error;
    fd = -1;
  }
  freeaddrinfo(found);
  if (fd >= 0) {
    memcpy(out_port, (const char *)&bound + 2, sizeof *out_port);
    *out_port = ntohs(*out_port);
  }
  return fd;
}

int tdsd_browser_open(struct tdsd *server,
                      uint16_t port,
                      char *why,
                      size_t cap) {
  struct tdsd_browser *browser = &server->browser;
  const char *address = server->listeners[0].address;
  uint16_t ignored = 0;
  int fd = bind_udp(address, port, &browser->port);
  if (fd < 0) {
    (void)snprintf(why, cap, "browser on %.64s port %u: %s", address,
                   (unsigned)port, strerrordesc_np(errno));
    return -1;
  }
  browser->watch = (struct tdsd_watch){.kind = TDSD_WATCH_BROWSER, .fd = fd};
  /* Without it the fault "other address" answers from another port. */
  browser->other = bind_udp("127.0.0.99", browser->port, &ignored);
  if (browser->other < 0) {
    browser->other = bind_udp(address, 0, &ignored);
  }
  return 0;
}

void tdsd_browser_close(struct tdsd *server) {
  struct tdsd_browser *browser = &server->browser;
  if (browser->watch.fd >= 0) {
    (void)close(browser->watch.fd);
  }
  if (browser->other >= 0) {
    (void)close(browser->other);
  }
}

/* The fault that hits this question, or SSRP_USUAL. */
static int fault_word(struct tdsd *server) {
  uint32_t at = 0;
  struct tdsd_fault_rule *rule = NULL;
  while ((rule = tdsd_fault_next(&server->shared.faults, TDSD_STAGE_BROWSER,
                                 server->browser.asked, 0, &at)) != NULL) {
    if (tdsd_fault_take(rule)) {
      return rule->word;
    }
  }
  return SSRP_USUAL;
}

/* One instance as a list of pairs. */
static void describe(struct tdsd_buf *out,
                     const struct tdsd_listener *listener,
                     int word) {
  char text[256];
  bool wrong = word == SSRP_WRONG_INSTANCE;
  int n = snprintf(text, sizeof text,
                   "ServerName;TDSD;InstanceName;%s;IsClustered;No;Version;"
                   "16.0.1000.6;",
                   wrong ? "ANOTHER" : listener->instance);
  tdsd_buf_bytes(out, text, (size_t)n);
  if (word != SSRP_NO_TCP) {
    n = snprintf(text, sizeof text, "tcp;%u;",
                 word == SSRP_PORT0 ? 0u : (unsigned)listener->port);
    tdsd_buf_bytes(out, text, (size_t)n);
  }
  n = snprintf(text, sizeof text, "np;\\\\TDSD\\pipe\\sql\\query;;");
  tdsd_buf_bytes(out, text, (size_t)n);
}

/* Fills the answer up to the largest that UDP carries. */
static void make_huge(struct tdsd_buf *out) {
  const size_t most = 65507; /* of UDP over IPv4 */
  while (tdsd_buf_len(out) + 64 < most) {
    tdsd_buf_bytes(out, "ServerName;X;InstanceName;FILLER;IsClustered;No;;",
                   49);
  }
}

static void answer_instances(struct tdsd *server,
                             const char *name,
                             int word,
                             struct tdsd_buf *out) {
  tdsd_buf_u8(out, 0x05);
  tdsd_buf_u16(out, 0);
  size_t before = tdsd_buf_len(out);
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    const struct tdsd_listener *listener = &server->listeners[i];
    if (name == NULL || strcasecmp(name, listener->instance) == 0) {
      describe(out, listener, word);
    }
  }
  if (tdsd_buf_len(out) == before) {
    tdsd_buf_clear(out); /* nobody of that name: no answer */
    return;
  }
  if (word == SSRP_HUGE) {
    make_huge(out);
  }
  size_t len = tdsd_buf_len(out) - 3;
  tdsd_buf_put_u16(out, 1, (uint32_t)(word == SSRP_SHORT ? len + 9 : len));
}

/* The admin connection: the instance's usual port serves. */
static void answer_dac(struct tdsd *server,
                       const char *name,
                       struct tdsd_buf *out) {
  for (uint32_t i = 0; i < server->nlisteners; i++) {
    const struct tdsd_listener *listener = &server->listeners[i];
    if (strcasecmp(name, listener->instance) == 0) {
      tdsd_buf_u8(out, 0x05);
      tdsd_buf_u16(out, 6);
      tdsd_buf_u8(out, 1);
      tdsd_buf_u16(out, listener->port);
      return;
    }
  }
}

/* Writes the answer, nothing if there is none. */
static void make_answer(struct tdsd *server,
                        const uint8_t *question,
                        size_t len,
                        int word,
                        struct tdsd_buf *out) {
  char name[QUESTION_MAX];
  size_t from = question[0] == ASK_DAC ? 2 : 1;
  size_t n = len > from ? len - from : 0;
  if (n != 0) {
    memcpy(name, question + from, n);
  }
  name[n] = 0;
  switch (question[0]) {
  case ASK_BROADCAST:
  case ASK_ALL:
    answer_instances(server, NULL, word, out);
    break;
  case ASK_ONE:
    answer_instances(server, name, word, out);
    break;
  case ASK_DAC:
    answer_dac(server, name, out);
    break;
  default:
    tdsd_log(&server->shared, 0, "browser: question of kind 0x%02x",
             (unsigned)question[0]);
    break;
  }
}

static void answer_one(struct tdsd *server,
                       const uint8_t *question,
                       size_t len,
                       const struct sockaddr_storage *from,
                       socklen_t from_len) {
  struct tdsd_browser *browser = &server->browser;
  struct tdsd_buf out = {0};
  browser->asked++;
  tdsd_count(&server->shared.counters.browser_asked, 1);
  int word = fault_word(server);
  if (word != SSRP_NONE) {
    make_answer(server, question, len, word, &out);
  }
  if (tdsd_buf_len(&out) != 0) {
    int fd = word == SSRP_OTHER_ADDRESS ? browser->other : browser->watch.fd;
    (void)sendto(fd, tdsd_buf_at(&out), tdsd_buf_len(&out), MSG_NOSIGNAL,
                 (const struct sockaddr *)from, from_len);
  }
  tdsd_buf_fini(&out);
}

void tdsd_browser_event(struct tdsd *server) {
  for (int i = 0; i < QUESTIONS_TURN; i++) {
    uint8_t question[QUESTION_MAX];
    struct sockaddr_storage from;
    socklen_t from_len = sizeof from;
    ssize_t n =
        recvfrom(server->browser.watch.fd, question, sizeof question - 1, 0,
                 (struct sockaddr *)&from, &from_len);
    if (n <= 0) {
      return;
    }
    answer_one(server, question, (size_t)n, &from, from_len);
  }
}
