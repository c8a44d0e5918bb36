/* SPDX-License-Identifier: MIT */
/* demo_cpu.c - processor time of this process and of another. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "demo.h"

static int64_t timeval_ns(const struct timeval *t) {
  return (int64_t)t->tv_sec * 1000000000 + (int64_t)t->tv_usec * 1000;
}

static int64_t read_own(void) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
}

/* Reads the first line of a file.  Returns 0 or -errno. */
static int read_line(const char *path, char *buf, int size) {
  FILE *f = fopen(path, "re");
  if (f == NULL) {
    return -errno;
  }
  int rc = fgets(buf, size, f) != NULL ? 0 : -ENODATA;
  (void)fclose(f);
  return rc;
}

/* Reads a number that is not negative.  Returns where it ends, or NULL. */
static const char *read_number(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  if (end == text || errno != 0 || n < 0) {
    return NULL;
  }
  *out = n;
  return end;
}

/* Time on a processor of one thread, in ns: schedstat's first number. */
static int read_thread(pid_t pid, const char *tid, int64_t *sum) {
  char path[320];
  char line[128];
  int64_t ns = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid,
                 tid);
  int rc = read_line(path, line, sizeof line);
  if (rc == 0 && read_number(line, &ns) == NULL) {
    rc = -EPROTO;
  }
  *sum += rc == 0 ? ns : 0;
  return rc;
}

/* The sum over threads; those that have ended are missing from it. */
static int read_schedstat(pid_t pid, int64_t *out_ns) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *dir = opendir(path);
  if (dir == NULL) {
    return -errno;
  }
  int64_t sum = 0;
  int rc = 0;
  struct dirent *entry;
  /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this dir. */
  while (rc == 0 && (entry = readdir(dir)) != NULL) {
    if (entry->d_name[0] != '.') {
      rc = read_thread(pid, entry->d_name, &sum);
      /* A thread may end while we look. */
      rc = rc == -ENOENT && access(path, F_OK) == 0 && sum > 0 ? 0 : rc;
    }
  }
  (void)closedir(dir);
  if (rc == 0) {
    *out_ns = sum;
  }
  return rc;
}

/* Skips n fields, each with the space before it.  Returns NULL if there are
 * fewer. */
static const char *skip_fields(const char *text, int n) {
  while (text != NULL && n-- > 0) {
    text = strchr(text + 1, ' ');
  }
  return text;
}

/* utime and stime of /proc/PID/stat: in ticks, but always there.  They are
 * fields 14 and 15; the name in field 2 may hold anything, so that counting
 * starts behind its last parenthesis, before field 3. */
static int read_stat(pid_t pid, int64_t *out_ns) {
  char path[64];
  char line[1024];
  (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int rc = read_line(path, line, sizeof line);
  if (rc < 0) {
    return rc;
  }
  int64_t user = 0;
  int64_t system = 0;
  const char *name_end = strrchr(line, ')');
  const char *at = name_end == NULL ? NULL : skip_fields(name_end, 12);
  at = at == NULL ? NULL : read_number(at, &user);
  at = at == NULL ? NULL : read_number(at, &system);
  if (at == NULL) {
    return -EPROTO;
  }
  *out_ns = (user + system) * (1000000000 / sysconf(_SC_CLK_TCK));
  return 0;
}

int demo_cpu_read(pid_t server, struct demo_cpu *out) {
  struct demo_cpu cpu = {.client = read_own()};
  if (server > 0) {
    int rc = read_schedstat(server, &cpu.server);
    if (rc < 0) {
      rc = read_stat(server, &cpu.server);
    }
    if (rc < 0) {
      return rc;
    }
  }
  *out = cpu;
  return 0;
}
