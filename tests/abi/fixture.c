/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A test that cannot be set up must not pass. */
static void must(int good, const char *what) {
  if (!good) {
    perror(what);
    abort();
  }
}

static void *host_alloc(void *ctx, uint64_t size, uint32_t flags) {
  struct fixture *f = ctx;
  (void)flags;
  atomic_fetch_add(&f->live, 1);
  return calloc(1, (size_t)size);
}

static void host_release(void *ctx, void *p) {
  struct fixture *f = ctx;
  atomic_fetch_sub(&f->live, p == NULL ? 0 : 1);
  free(p);
}

static void host_log(void *ctx,
                     weir_drv_hconn *hc,
                     int32_t level,
                     const struct weir_drv_text *text) {
  struct fixture *f = ctx;
  (void)hc;
  (void)level;
  (void)text;
  atomic_fetch_add(&f->logs, 1);
}

void fixture_init(struct fixture *f) {
  /* No thread runs yet.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *tmp = getenv("TMPDIR");
  memset(f, 0, sizeof *f);
  (void)snprintf(f->dir, sizeof f->dir, "%.80s/weir-abi-XXXXXX",
                 tmp == NULL ? "/tmp" : tmp);
  must(mkdtemp(f->dir) != NULL, "mkdtemp");
  f->host.struct_size = sizeof f->host;
  f->host.ctx = f;
  f->host.alloc = host_alloc;
  f->host.release = host_release;
  f->host.log = host_log;
  f->err.struct_size = sizeof f->err;
}

void fixture_open(struct fixture *f) {
  const struct weir__loader_opts opts = {.dirs = f->dir,
                                         .dirs_len = strlen(f->dir),
                                         .no_env = true,
                                         .host = &f->host};
  must(weir__loader_new(&opts, &f->loader, &f->err) == WEIR_OK, f->err.message);
}

/* Two levels are all there are.  NOLINTNEXTLINE(misc-no-recursion) */
static void remove_all(const char *dir) {
  char path[512];
  DIR *d = opendir(dir);
  const struct dirent *e;
  /* The stream is ours alone.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  while (d != NULL && (e = readdir(d)) != NULL) {
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
      (void)snprintf(path, sizeof path, "%.200s/%.255s", dir, e->d_name);
      if (unlink(path) != 0) {
        remove_all(path);
      }
    }
  }
  if (d != NULL) {
    (void)closedir(d);
  }
  (void)rmdir(dir);
}

void fixture_fini(struct fixture *f) {
  weir__loader_free(f->loader);
  remove_all(f->dir);
}

const char *fixture_path(const struct fixture *f, const char *entry) {
  static _Thread_local char path[512];
  (void)snprintf(path, sizeof path, "%.127s/%.255s", f->dir, entry);
  return path;
}

void fixture_copy(const struct fixture *f,
                  const char *defect,
                  const char *entry) {
  char from[PATH_MAX];
  char bytes[16384];
  ssize_t n;
  if (defect[0] == '/') {
    (void)snprintf(from, sizeof from, "%s", defect);
  } else {
    (void)snprintf(from, sizeof from, "%s/%s.so", WEIR_BROKEN_DRIVERS, defect);
  }
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  must(in >= 0, from);
  const int out = open(fixture_path(f, entry),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  must(out >= 0 && fchmod(out, 0755) == 0, entry);
  while ((n = read(in, bytes, sizeof bytes)) > 0) {
    must(write(out, bytes, (size_t)n) == n, entry);
  }
  (void)close(in);
  (void)close(out);
}

void fixture_write(const struct fixture *f,
                   const char *entry,
                   long at,
                   const void *p,
                   size_t n) {
  const int fd =
      open(fixture_path(f, entry), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  must(fd >= 0 && pwrite(fd, p, n, at) == (ssize_t)n, entry);
  must(fchmod(fd, 0644) == 0, entry);
  (void)close(fd);
}

int fixture_load(struct fixture *f,
                 const char *name,
                 const struct weir__driver **out_driver) {
  const size_t n = strlen(name);
  const int rc = weir__loader_load(f->loader, name, n, out_driver, &f->err);
  if (rc != WEIR_OK) {
    must(weir__loader_load(f->loader, name, n, out_driver, NULL) == rc,
         "with err NULL");
    must(f->err.code == rc && f->err.phase == WEIR_PHASE_LOAD, "code, phase");
  }
  return rc;
}

int fixture_told(const struct fixture *f,
                 const char *found,
                 const char *wanted,
                 const char *advice) {
  const char *message = f->err.message;
  if (strstr(message, found) != NULL && strstr(message, wanted) != NULL &&
      strstr(message, advice) != NULL) {
    return 1;
  }
  (void)fprintf(stderr, "the message is: %s\n", message);
  return 0;
}
