/* SPDX-License-Identifier: MIT */
/* The canonical path is resolved first and opened without following links
 * relative to its directory, which is held open: what is checked is what is
 * read.  What dlopen() then maps is compared in loader_elf.c. */
#include "loader_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "weir_driver.h"

#include "status.h"

#define DIGEST_MAX_BYTES (UINT64_C(256) << 20)
#define DIGEST_CHUNK     16384u
#define PATH_SHOWN       200u

int weir__driver_refuse(struct weir_error *err,
                        const char *what,
                        const char *path,
                        const char *found,
                        const char *wanted,
                        const char *advice) {
  const size_t len = strlen(path);
  const bool cut = len > PATH_SHOWN;
  (void)weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_LOAD,
                        "%s %s%s: found %s; wanted %s; %s", what,
                        cut ? "..." : "", cut ? path + len - PATH_SHOWN : path,
                        found, wanted, advice);
  weir__error_class(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_CONFIG,
                    WEIR_DRV_RETRY_NO);
  return WEIR_E_FAIL;
}

/* Nothing is wrong with the file. */
static int refuse_no_descriptor(struct weir_error *err,
                                const char *what,
                                const char *path,
                                int error) {
  char why[128];
  const size_t len = strlen(path);
  (void)weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_LOAD,
                        "%s %s cannot be opened: %s", what,
                        len > PATH_SHOWN ? path + len - PATH_SHOWN : path,
                        weir__errno_text(error, why, sizeof why));
  weir__error_class(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_SAME);
  return WEIR_E_FAIL;
}

/* The system said no. */
static int refuse_errno(struct weir_error *err,
                        const char *what,
                        const char *path,
                        int error) {
  char found[128];
  if (weir__errno_no_descriptor(error)) {
    return refuse_no_descriptor(err, what, path, error);
  }
  (void)weir__text_format(found, sizeof found, "that it cannot be opened (%s)",
                          strerrordesc_np(error));
  return weir__driver_refuse(err, what, path, found,
                             "a file this process may read",
                             error == ENOENT || error == ENOTDIR
                                 ? "check the path"
                                 : "check the permissions of the path");
}

/* Owner and mode: the same rule for a file and for a directory. */
static int check_trust(const struct stat *st,
                       const char *what,
                       const char *path,
                       struct weir_error *err) {
  char found[128];
  if (st->st_uid != 0 && st->st_uid != geteuid()) {
    (void)weir__text_format(found, sizeof found, "that it belongs to user %lu",
                            (unsigned long)st->st_uid);
    char wanted[64];
    (void)weir__text_format(wanted, sizeof wanted,
                            "root or user %lu as its owner",
                            (unsigned long)geteuid());
    return weir__driver_refuse(
        err, what, path, found, wanted,
        "use a copy of your own, or change the owner with chown");
  }
  if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    (void)weir__text_format(
        found, sizeof found, "mode %04o, which lets %s write it",
        (unsigned)(st->st_mode & 07777u),
        (st->st_mode & S_IWOTH) != 0 ? "everyone" : "its group");
    return weir__driver_refuse(err, what, path, found,
                               "write permission for its owner only",
                               "take it away with chmod go-w");
  }
  return WEIR_OK;
}

/* Splits a path at its last slash: the directory into dir ("/" for the root's
 * own entries), the name is returned. */
static const char *split(const char *path, char dir[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  const size_t len = slash == path ? 1 : (size_t)(slash - path);
  memcpy(dir, path, len);
  dir[len] = '\0';
  return slash + 1;
}

/* Opens the directory of path for use as a place to look from; -1 and *err. */
static int open_dir(const char *dir,
                    const char *what,
                    const char *path,
                    struct weir_error *err) {
  struct stat st;
  const int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    (void)refuse_errno(err, what, path, errno);
    return -1;
  }
  if (fstat(fd, &st) != 0 ||
      check_trust(&st, "directory of drivers", dir, err) != WEIR_OK) {
    (void)close(fd);
    return -1;
  }
  return fd;
}

/* Checks the open file and completes *file. */
static int check_file(struct weir__driver_file *file,
                      const char *what,
                      struct weir_error *err) {
  struct stat st;
  if (fstat(file->fd, &st) != 0) {
    return refuse_errno(err, what, file->path, errno);
  }
  if (!S_ISREG(st.st_mode)) {
    return weir__driver_refuse(
        err, what, file->path,
        S_ISDIR(st.st_mode) ? "a directory" : "something that is not a file",
        "a regular file", "check the path");
  }
  file->device = st.st_dev;
  file->inode = st.st_ino;
  file->size = (uint64_t)st.st_size;
  return check_trust(&st, what, file->path, err);
}

static int open_canonical(struct weir__driver_file *file,
                          const char *what,
                          struct weir_error *err) {
  char dir[PATH_MAX];
  const char *name = split(file->path, dir);
  const int dirfd = open_dir(dir, what, file->path, err);
  if (dirfd < 0) {
    return WEIR_E_FAIL;
  }
  /* O_NONBLOCK: a FIFO or a device in that place must not hold us. */
  file->fd = openat(dirfd, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  const int error = errno;
  (void)close(dirfd);
  return file->fd < 0 ? refuse_errno(err, what, file->path, error)
                      : check_file(file, what, err);
}

int weir__driver_file_open(const char *path,
                           const char *what,
                           struct weir__driver_file *out_file,
                           struct weir_error *err) {
  struct weir__driver_file file = {.fd = -1};
  char dir[PATH_MAX];
  if (strlen(path) >= PATH_MAX || realpath(path, file.path) == NULL) {
    return refuse_errno(err, what, path,
                        strlen(path) >= PATH_MAX ? ENAMETOOLONG : errno);
  }
  (void)split(path, dir);
  const int named = open_dir(dir, what, path, err);
  if (named < 0) {
    return WEIR_E_FAIL;
  }
  (void)close(named);
  const int rc = open_canonical(&file, what, err);
  if (rc != WEIR_OK) {
    weir__driver_file_close(&file);
    return rc;
  }
  *out_file = file;
  return WEIR_OK;
}

void weir__driver_file_close(struct weir__driver_file *file) {
  if (file->fd >= 0) {
    (void)close(file->fd);
    file->fd = -1;
  }
}

int weir__driver_file_read(const struct weir__driver_file *file,
                           uint64_t at,
                           void *p,
                           size_t n) {
  unsigned char *to = p;
  if (at > file->size || n > file->size - at) {
    return -1;
  }
  while (n != 0) {
    const ssize_t got = pread(file->fd, to, n, (off_t)at);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return -1; /* it shrank, or the disk fails */
    }
    to += got;
    at += (uint64_t)got;
    n -= (size_t)got;
  }
  return 0;
}

/* Feeds the whole file to ctx.  Returns 0 or -1. */
static int digest_all(EVP_MD_CTX *ctx, const struct weir__driver_file *file) {
  unsigned char chunk[DIGEST_CHUNK];
  for (uint64_t at = 0; at < file->size; at += sizeof chunk) {
    const uint64_t left = file->size - at;
    const size_t n = left < sizeof chunk ? (size_t)left : sizeof chunk;
    if (weir__driver_file_read(file, at, chunk, n) != 0 ||
        EVP_DigestUpdate(ctx, chunk, n) != 1) {
      return -1;
    }
  }
  return 0;
}

int weir__driver_file_digest(const struct weir__driver_file *file,
                             char out_hex[65],
                             struct weir_error *err) {
  static const char digits[] = "0123456789abcdef";
  unsigned char sum[EVP_MAX_MD_SIZE];
  EVP_MD_CTX *ctx = file->size > DIGEST_MAX_BYTES ? NULL : EVP_MD_CTX_new();
  const bool done =
      ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
      digest_all(ctx, file) == 0 && EVP_DigestFinal_ex(ctx, sum, NULL) == 1;
  EVP_MD_CTX_free(ctx);
  if (!done) {
    return weir__driver_refuse(
        err, "driver", file->path, "that its SHA-256 cannot be computed",
        "a readable file of at most 256 MiB", "check the file");
  }
  for (size_t i = 0; i < 32; i++) {
    out_hex[2 * i] = digits[sum[i] >> 4];
    out_hex[2 * i + 1] = digits[sum[i] & 15];
  }
  out_hex[64] = '\0';
  return WEIR_OK;
}
