/* SPDX-License-Identifier: MIT */
/*
 * hostile_client.c - one pool, one lease and one statement a line of input, for
 * hostile_server.py, which plays the server and judges what is printed here.
 *
 * Input: "conninfo TAB sql".  Of a statement that begins with "leave" only the
 * first piece is read.  Output, one line for each, tabs between:
 *   stage   the call that failed, or "done"
 *   code phase kind   of its error, 0 if none
 *   acquire_ms request_ms shutdown_ms
 *   shutdown    result of weir_engine_shutdown()
 *   fds threads left behind, more than there were before
 *   rss_kib     memory afterwards
 *   message
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir.h"

#define LINE_MAX_BYTES 70000

static unsigned long long touched; /* every byte of every cell was readable */

struct report {
  const char *stage;
  int64_t acquire_ms;
  int64_t request_ms;
  int64_t shutdown_ms;
  int32_t shutdown;
  int fds;
  int threads;
  struct weir_error err;
};

static int64_t now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int entries(const char *path) {
  DIR *dir = opendir(path);
  int n = 0;
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  if (dir != NULL) {
    (void)closedir(dir);
  }
  return n;
}

static long rss_kib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL) {
    if (fscanf(f, "%*s %ld", &pages) != 1) {
      pages = 0;
    }
    (void)fclose(f);
  }
  return pages * 4;
}

static void touch(const void *p, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    touched += ((const unsigned char *)p)[i];
  }
}

static void touch_item(const struct weir_item *item) {
  if (item->type == WEIR_ITEM_META) {
    for (uint32_t i = 0; i < item->n_columns; i++) {
      const struct weir_column *c =
          (const void *)((const char *)item->columns +
                         (size_t)i * item->columns_stride);
      touch(c->name, c->name_len + 1);
      touch(c->native_type, c->native_type_len);
    }
  } else if (item->type == WEIR_ITEM_ROWS) {
    for (uint64_t i = 0; i < item->n_rows * item->n_columns; i++) {
      if (item->cells[i].p != NULL) {
        touch(item->cells[i].p, item->cells[i].n);
      }
    }
    (void)weir_rows_free(item->rows);
  } else if (item->type == WEIR_ITEM_NOTICE) {
    touch(item->message, item->message_len);
  }
}

static void run_request(weir_h lease, const char *sql, struct report *r) {
  struct weir_item item = {.struct_size = sizeof item};
  r->stage = "exec";
  int32_t rc = weir_exec(lease, sql, strlen(sql), NULL, &r->err);
  if (rc == WEIR_OK) {
    r->stage = "next";
  }
  bool leave = strncmp(sql, "leave", 5) == 0;
  while (rc == WEIR_OK) {
    rc = weir_next(lease, &item, &r->err);
    if (rc != WEIR_OK) {
      break;
    }
    touch_item(&item);
    if (item.type == WEIR_ITEM_DONE || leave) {
      r->stage = "done";
      break;
    }
  }
}

static void run_pool(weir_h engine,
                     const char *conninfo,
                     const char *sql,
                     struct report *r) {
  weir_h pool = 0;
  weir_h lease = 0;
  /* Each failure is its own: nothing waits or is held off. */
  char text[LINE_MAX_BYTES + 100] = "Pool Blocking Period=never;";
  size_t n = strlen(text);
  memcpy(text + n, conninfo, strlen(conninfo) + 1);
  r->stage = "pool_open";
  if (weir_pool_open(engine, text, strlen(text), &pool, &r->err) != 0) {
    return;
  }
  r->stage = "acquire";
  int64_t begun = now_ms();
  int32_t rc = weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &r->err);
  int64_t leased = now_ms();
  r->acquire_ms = leased - begun;
  if (rc == WEIR_OK) {
    run_request(lease, sql, r);
    r->request_ms = now_ms() - leased;
    if (weir_release(lease) != WEIR_OK) {
      r->stage = "release";
    }
  }
  if (weir_pool_close(pool) != WEIR_OK) {
    r->stage = "pool_close";
  }
}

static void run_line(char *line, struct report *r) {
  weir_h engine = 0;
  char *tab = strchr(line, '\t');
  r->stage = "input";
  if (tab == NULL) {
    return;
  }
  *tab = '\0';
  r->stage = "engine_open";
  if (weir_engine_open(NULL, &engine, &r->err) != WEIR_OK) {
    return;
  }
  run_pool(engine, line, tab + 1, r);
  int64_t begun = now_ms();
  r->shutdown = weir_engine_shutdown(engine, INT64_C(1000000000), NULL);
  r->shutdown_ms = now_ms() - begun;
}

/* A thread that was joined may still be listed for a moment. */
static int threads_left(int before) {
  int n = 0;
  for (int i = 0; i < 100; i++) {
    const struct timespec ms = {.tv_nsec = 1000000};
    n = entries("/proc/self/task") - before;
    if (n <= 0) {
      break;
    }
    (void)nanosleep(&ms, NULL);
  }
  return n;
}

static void print_report(struct report *r) {
  for (uint32_t i = 0; r->err.message[i] != '\0'; i++) {
    if ((unsigned char)r->err.message[i] < ' ') {
      r->err.message[i] = '?';
    }
  }
  (void)printf("%s\t%" PRId32 "\t%" PRId32 "\t%" PRId32, r->stage, r->err.code,
               r->err.phase, r->err.kind);
  (void)printf("\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId32,
               r->acquire_ms, r->request_ms, r->shutdown_ms, r->shutdown);
  (void)printf("\t%d\t%d\t%ld\t%s\n", r->fds, r->threads, rss_kib(),
               r->err.message);
  (void)fflush(stdout);
}

/* libuv keeps a pipe for signals once a loop was open; that is no leak. */
static void warm_up(void) {
  weir_h engine = 0;
  if (weir_engine_open(NULL, &engine, NULL) == WEIR_OK) {
    (void)weir_engine_shutdown(engine, 0, NULL);
  }
}

int main(void) {
  static char line[LINE_MAX_BYTES];
  warm_up();
  while (fgets(line, (int)sizeof line, stdin) != NULL) {
    struct report r = {.err = {.struct_size = sizeof r.err}};
    line[strcspn(line, "\n")] = '\0';
    int fds = entries("/proc/self/fd");
    int threads = entries("/proc/self/task");
    run_line(line, &r);
    r.threads = threads_left(threads);
    r.fds = entries("/proc/self/fd") - fds;
    print_report(&r);
  }
  return touched == 1 ? 2 : 0;
}
