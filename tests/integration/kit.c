/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define FDS_MAX 4096

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static unsigned passed;
static unsigned failed;

void kit_check(bool good, const char *what, const char *seen) {
  (void)pthread_mutex_lock(&counting);
  passed += good;
  failed += !good;
  if (!good) {
    printf("FAIL %s: %s\n", what, seen);
  }
  (void)pthread_mutex_unlock(&counting);
}

void kit_check_number(bool good, const char *what, int64_t seen) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRId64, seen);
  kit_check(good, what, text);
}

int kit_end(void) {
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}

int64_t kit_now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void kit_pause_ms(int64_t ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  (void)nanosleep(&t, NULL);
}

uint64_t kit_hash(const void *p, uint64_t n) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (uint64_t i = 0; i < n; i++) {
    hash = (hash ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

/* ------------------------------------------------------- server and engine */

void kit_log(void *user, const char *line) {
  (void)user;
  printf("tdsd: %s\n", line);
}

void kit_open(struct kit *k, const struct tdsd_options *options) {
  struct tdsd_options own = *options;
  struct weir_error err = {.struct_size = sizeof err};
  char why[256] = "no thread";
  own.log = kit_log;
  memset(k, 0, sizeof *k);
  if (tdsd_open(&own, &k->server, why, sizeof why) != 0 ||
      tdsd_start(k->server) != 0 ||
      weir_engine_open(NULL, &k->engine, &err) != WEIR_OK) {
    printf("no server or no engine: %s %s\n0 passed, 1 failed\n", why,
           err.message);
    (void)fflush(stdout);
    _Exit(1);
  }
}

int32_t kit_pool(struct kit *k,
                 struct weir_error *out_err,
                 const char *fmt,
                 ...) {
  char text[512];
  int n = snprintf(text, sizeof text,
                   "Driver=tds;Server=127.0.0.1,%u;User ID=sa;Password=x;"
                   "Pool Blocking Period=never;",
                   tdsd_port(k->server));
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
  va_end(ap);
  return weir_pool_open(k->engine, text, strlen(text), &k->pool, out_err);
}

struct tdsd_stats kit_stats(const struct kit *k) {
  struct tdsd_stats stats;
  tdsd_stats(k->server, &stats);
  return stats;
}

void kit_order(const struct kit *k, const char *fmt, ...) {
  char line[256];
  char reply[256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  tdsd_command(k->server, line, reply, sizeof reply);
  kit_check(strncmp(reply, "ok", 2) == 0, line, reply);
}

void kit_close(struct kit *k, const char *what) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = weir_engine_shutdown(k->engine, 5 * KIT_S, &err);
  kit_check(rc == WEIR_OK, what, err.message);
  struct tdsd_stats stats = kit_stats(k);
  kit_check_number(stats.violations == k->violations, what,
                   (int64_t)stats.violations);
  tdsd_close(k->server);
}

/* ---------------------------------------------------------------- statements */

weir_h kit_acquire(const struct kit *k) {
  struct weir_error err = {.struct_size = sizeof err};
  weir_h lease = 0;
  int32_t rc = weir_acquire(k->pool, 10 * KIT_S, &lease, &err);
  kit_check(rc == WEIR_OK, "acquire", err.message);
  return rc == WEIR_OK ? lease : 0;
}

void kit_session(weir_h lease, char *out, size_t cap) {
  if (weir_lease_info(lease, WEIR_INFO_SESSION_ID, out, cap, NULL) != WEIR_OK) {
    (void)snprintf(out, cap, "?");
  }
}

static void keep(const struct weir_cell *cell, struct kit_cell *out) {
  if (out->n != 0 || cell->p == NULL) {
    return;
  }
  size_t n = cell->n < sizeof out->text ? cell->n : sizeof out->text - 1;
  memcpy(out->text, cell->p, n);
  out->text[n] = '\0';
  out->n = cell->n;
  out->hash = kit_hash(cell->p, cell->n);
  if (cell->n == sizeof out->number) {
    memcpy(&out->number, cell->p, sizeof out->number);
  }
}

int32_t kit_run(weir_h lease,
                const char *sql,
                const struct weir_exec_opts *opts,
                struct kit_cell *out,
                struct weir_error *err) {
  struct weir_item item = {.struct_size = sizeof item};
  struct kit_cell cell = {.n = 0};
  int32_t rc = weir_exec(lease, sql, strlen(sql), opts, err);
  while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE) {
    rc = weir_next(lease, &item, err);
    if (rc == WEIR_OK &&
        (item.type == WEIR_ITEM_ROWS || item.type == WEIR_ITEM_OUTPUT)) {
      keep(&item.cells[0], &cell);
      (void)weir_rows_free(item.rows);
    }
  }
  if (out != NULL) {
    *out = cell;
  }
  return rc;
}

/* The bytes that the peer has not taken, or -1: the descriptor is no socket of
 * ours to the server. */
static int unsent(const struct kit *k, int fd) {
  struct sockaddr_in at = {.sin_family = AF_UNSPEC};
  socklen_t len = sizeof at;
  int bytes = 0;
  if (getpeername(fd, (struct sockaddr *)&at, &len) != 0 ||
      at.sin_family != AF_INET || ntohs(at.sin_port) != tdsd_port(k->server) ||
      ioctl(fd, SIOCOUTQ, &bytes) != 0) {
    return -1;
  }
  return bytes;
}

unsigned kit_sockets(const struct kit *k) {
  unsigned found = 0;
  for (int fd = 0; fd < FDS_MAX; fd++) {
    found += unsent(k, fd) >= 0;
  }
  return found;
}

static int64_t all_unsent(const struct kit *k) {
  int64_t sum = 0;
  for (int fd = 0; fd < FDS_MAX; fd++) {
    int bytes = unsent(k, fd);
    sum += bytes > 0 ? bytes : 0;
  }
  return sum;
}

/* The kernel takes some megabytes for both sides, and then no more. */
void kit_wait_stuck(const struct kit *k) {
  int64_t begun = kit_now_ms();
  int64_t last = 0;
  for (unsigned same = 0; same < 3 && kit_now_ms() - begun < 5000;) {
    kit_pause_ms(10);
    int64_t now = all_unsent(k);
    same = now != 0 && now == last ? same + 1 : 0;
    last = now;
  }
}
