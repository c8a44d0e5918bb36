/* SPDX-License-Identifier: MIT */
/*
 * check_silence.c - peers that are there and say nothing: a path that has
 * forgotten the connection, an address where nobody takes calls, and a name
 * server that does not answer: scenarios 81, 82, 135 and 138, in real time, through
 * libweir.so and tds.so against tdsd.
 *
 * Names are looked up here: getaddrinfo() of this program is the one that the
 * library calls.
 *
 * Prints "N passed, N failed" last.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"

#define PLAIN "Encrypt=optional;"
#define TLS   "Encrypt=mandatory;TrustServerCertificate=true;"

#define PING_MS   5000 /* a ping gets that long */
#define CANCEL_MS 2000 /* and a cancellation: weir.h, weir_cancel() */

static struct kit k;

static struct weir_pool_stats stats(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  (void)weir_pool_stats(k.pool, &s);
  return s;
}

/* ----------------------------------------------------- the names of the test */

typedef int lookup(const char *host,
                   const char *service,
                   const struct addrinfo *hints,
                   struct addrinfo **out);

static _Atomic int slow_asked; /* look-ups of slow.test so far */
static sem_t slow_go;

static int look_up(const char *host,
                   const char *service,
                   const struct addrinfo *hints,
                   struct addrinfo **out) {
  static _Atomic(void *) real;
  if (atomic_load(&real) == NULL) {
    atomic_store(&real, dlsym(RTLD_NEXT, "getaddrinfo"));
  }
  lookup *call = NULL;
  void *found = atomic_load(&real);
  memcpy(&call, &found, sizeof call);
  return call(host, service, hints, out);
}

/* two.test is 127.0.0.2, where nobody answers, and then 127.0.0.1; slow.test is
 * 127.0.0.1 once slow_go says so. */
__attribute__((visibility("default"))) int getaddrinfo(
    const char *host,
    const char *service,
    const struct addrinfo *hints,
    struct addrinfo **out) {
  bool numeric = hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (host == NULL || numeric) {
    return look_up(host, service, hints, out);
  }
  if (strcmp(host, "slow.test") == 0) {
    atomic_fetch_add(&slow_asked, 1);
    (void)sem_wait(&slow_go);
    return look_up("127.0.0.1", service, hints, out);
  }
  if (strcmp(host, "two.test") != 0) {
    return look_up(host, service, hints, out);
  }
  int rc = look_up("127.0.0.2", service, hints, out);
  struct addrinfo *last = rc == 0 ? *out : NULL;
  while (last != NULL && last->ai_next != NULL) {
    last = last->ai_next;
  }
  return last == NULL ? rc
                      : look_up("127.0.0.1", service, hints, &last->ai_next);
}

/* --------------------------------------------------------------- scenario 81 */

static void use_once(const char *what) {
  struct weir_error err = {.struct_size = sizeof err};
  struct kit_cell cell = {.n = 0};
  weir_h lease = kit_acquire(&k);
  int32_t rc = kit_run(lease, "SELECT 6 * 7", NULL, &cell, &err);
  kit_check(rc == WEIR_OK && cell.number == 42, what, err.message);
  (void)weir_release(lease);
}

/* Waits until one connection is (or none is) being pinged. */
static int64_t await_reserved(uint32_t n, int64_t limit_ms) {
  int64_t begun = kit_now_ms();
  while (stats().reserved != n && kit_now_ms() - begun < limit_ms) {
    kit_pause_ms(1);
  }
  return kit_now_ms() - begun;
}

/* The server reads no more while the connection lies idle.  The ping has its
 * limit, whoever waits meanwhile has his own.  The place is the old session's for
 * Close Timeout (P1: the server may count it), but nobody waits for a polite end:
 * who needs the place has the session cut off at once. */
static void check_probe(const char *mode) {
  const char *what = "81: a probe on a path that has forgotten it";
  weir_h lease = 0;
  (void)kit_pool(&k, NULL,
                 "%sMax Pool Size=1;Close Timeout=60;Keepalive Interval=100ms",
                 mode);
  use_once(what);
  kit_order(&k, "freeze all");
  (void)await_reserved(1, KIT_SLACK_MS);
  int64_t begun = kit_now_ms();
  int32_t rc = weir_acquire(k.pool, KIT_S, &lease, NULL);
  int64_t took = kit_now_ms() - begun;
  kit_check(rc == WEIR_E_TIMEOUT, what, weir_status_name(rc));
  kit_check_number(took >= 1000 && took < 1000 + KIT_SLACK_MS, what, took);
  (void)await_reserved(0, PING_MS + KIT_SLACK_MS);
  took = kit_now_ms() - begun;
  kit_check_number(took >= PING_MS - 100 && took < PING_MS + KIT_SLACK_MS, what,
                   took);
  begun = kit_now_ms();
  use_once(what);
  took = kit_now_ms() - begun;
  kit_check_number(took < KIT_SLACK_MS, what, took);
  kit_check_number(stats().connects_begun == 2, what,
                   (int64_t)stats().connects_begun);
  kit_order(&k, "drop all");
  (void)weir_pool_close(k.pool);
}

/* --------------------------------------------------------------- scenario 82 */

static void check_deadline(const char *mode) {
  const char *what = "82: a statement on a dead network";
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = 2 * KIT_S};
  struct weir_error err = {.struct_size = sizeof err};
  (void)kit_pool(&k, NULL, "%sMax Pool Size=1", mode);
  weir_h lease = kit_acquire(&k);
  int32_t rc = kit_run(lease, "SELECT 1", NULL, NULL, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  kit_order(&k, "freeze all");
  int64_t begun = kit_now_ms();
  rc = kit_run(lease, "SELECT 2", &opts, NULL, &err);
  int64_t took = kit_now_ms() - begun;
  kit_check(rc == WEIR_E_TIMEOUT, what, weir_status_name(rc));
  kit_check(err.scope >= WEIR_SCOPE_CONN, what, err.message);
  kit_check((err.flags & WEIR_FLAG_MAYBE_EXECUTED) != 0, what, err.message);
  kit_check_number(took >= 2000 && took < 2000 + CANCEL_MS + KIT_SLACK_MS, what,
                   took);
  begun = kit_now_ms();
  (void)weir_release(lease);
  while (kit_sockets(&k) != 0 && kit_now_ms() - begun < KIT_SLACK_MS) {
    kit_pause_ms(1);
  }
  kit_check_number(kit_sockets(&k) == 0, what, kit_sockets(&k));
  kit_order(&k, "drop all");
  use_once(what);
  (void)weir_pool_close(k.pool);
}

static void silent_paths(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_FULL};
  static const char *const modes[] = {PLAIN, TLS};
  kit_open(&k, &options);
  for (unsigned i = 0; i < 2; i++) {
    check_probe(modes[i]);
    check_deadline(modes[i]);
  }
  kit_close(&k, "scenarios 81 and 82");
}

/* -------------------------------------------------------------- scenario 138 */

#define FILLERS 8

/* A listener with a full queue at the server's port of 127.0.0.2: what knocks
 * there is not answered. */
struct hole {
  int fds[1 + FILLERS];
};

static bool connects(int fd, const struct sockaddr_in *at) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  return connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 ||
         (errno == EINPROGRESS && poll(&p, 1, 50) == 1);
}

static void dig(struct hole *h) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)tdsd_port(k.server))};
  bool full = false;
  (void)inet_pton(AF_INET, "127.0.0.2", &at.sin_addr);
  for (unsigned i = 0; i <= FILLERS; i++) {
    h->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  }
  if (bind(h->fds[0], (struct sockaddr *)&at, sizeof at) != 0 ||
      listen(h->fds[0], 0) != 0) {
    kit_check(false, "138: no black hole", strerror(errno));
  }
  for (unsigned i = 1; i <= FILLERS && !full; i++) {
    full = !connects(h->fds[i], &at);
  }
  kit_check(full, "138: a black hole", "its queue does not fill");
}

static void fill_in(const struct hole *h) {
  for (unsigned i = 0; i <= FILLERS; i++) {
    (void)close(h->fds[i]);
  }
}

static unsigned open_fds(void) {
  unsigned n = 0;
  for (int fd = 0; fd < 1024; fd++) {
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    n += getsockname(fd, (struct sockaddr *)&at, &len) == 0;
  }
  return n;
}

static void check_addresses(bool at_once, int64_t least_ms, int64_t most_ms) {
  const char *what = at_once ? "138: addresses at once" : "138: one by one";
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct weir_error err = {.struct_size = sizeof err};
  struct hole hole;
  weir_h lease = 0;
  kit_open(&k, &options);
  dig(&hole);
  int32_t rc = kit_pool(&k, &err,
                        PLAIN "Server=two.test,%u;Max Pool Size=1;"
                              "MultiSubnetFailover=%s;Connect Timeout=3",
                        tdsd_port(k.server), at_once ? "true" : "false");
  kit_check(rc == WEIR_OK, what, err.message);
  unsigned before = open_fds();
  int64_t begun = kit_now_ms();
  rc = weir_acquire(k.pool, WEIR_TIMEOUT_POOL, &lease, &err);
  int64_t took = kit_now_ms() - begun;
  kit_check(rc == WEIR_OK, what, err.message);
  kit_check_number(took >= least_ms && took < most_ms, what, took);
  (void)weir_release(lease);
  /* One socket here, one at the server, which is in this process. */
  kit_check_number(open_fds() == before + 2, what,
                   (int64_t)open_fds() - before);
  (void)weir_pool_close(k.pool);
  fill_in(&hole);
  kit_close(&k, what);
}

static void scenario_138_a_dead_address_does_not_use_up_the_limit(void) {
  check_addresses(true, 0, 1000);
  check_addresses(false, 1000, 3000);
}

/* -------------------------------------------------------------- scenario 135 */

/* The heart of a program that acquires on its own loop beats on while a name is
 * looked up. */
static void scenario_135_a_heart_beats_through_a_look_up(void) {
  struct tdsd_options options = {.tls = TDSD_TLS_OFF};
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_completion c = {.struct_size = sizeof c};
  weir_h queue = 0;
  weir_h lease = 0;
  weir_h op = 0;
  int64_t longest = 0;
  (void)sem_init(&slow_go, 0, 0);
  kit_open(&k, &options);
  (void)kit_pool(&k, &err, PLAIN "Server=slow.test,%u", tdsd_port(k.server));
  (void)weir_queue_open(k.engine, 4, &queue, &err);
  int64_t begun = kit_now_ms();
  int32_t rc =
      weir_submit_acquire(k.pool, 10 * KIT_S, queue, 1, &lease, &op, &err);
  kit_check(rc == WEIR_PENDING, "135: submitted", weir_status_name(rc));
  for (int64_t last = begun; last - begun < 1000;) {
    rc = weir_queue_take(queue, 10 * KIT_MS, &c, &err);
    kit_check(rc == WEIR_E_TIMEOUT, "135: a beat", weir_status_name(rc));
    int64_t now = kit_now_ms();
    longest = now - last > longest ? now - last : longest;
    last = now;
  }
  kit_check_number(longest < 500, "135: the longest pause", longest);
  kit_check_number(atomic_load(&slow_asked) == 1, "135: look-ups",
                   atomic_load(&slow_asked));
  (void)sem_post(&slow_go);
  rc = weir_queue_take(queue, 10 * KIT_S, &c, &err);
  kit_check(rc == WEIR_OK && c.status == WEIR_OK, "135: served", err.message);
  (void)weir_release(c.lease);
  (void)weir_queue_close(queue);
  kit_close(&k, "scenario 135");
}

int main(void) {
  silent_paths();
  scenario_138_a_dead_address_does_not_use_up_the_limit();
  scenario_135_a_heart_beats_through_a_look_up();
  return kit_end();
}
