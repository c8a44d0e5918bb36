/* SPDX-License-Identifier: MIT */
#include "loader_search.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "weir_driver.h"

#include "loader_file.h"
#include "status.h"
#include "sys/mem.h"

/* Two sources of up to 64, the library's neighbour and the compiled-in one. */
#define ALL_DIRS_MAX (2 * WEIR_DRIVER_DIRS_MAX + 2)

#define MANIFEST ".weirdriver"
#define OBJECT   ".so"

bool weir__driver_name_ok(const char *text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    const char c = text[i];
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') {
      return false;
    }
  }
  return len != 0 && len < WEIR_DRIVER_NAME_MAX;
}

/* ------------------------------------------------------------- directories */

static int add(struct weir__driver_dirs *dirs,
               const char *path,
               size_t len,
               struct weir_error *err) {
  char *copy = weir__mem_text(path, len);
  if (copy == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_LOAD,
                           "no memory for the directories of drivers");
  }
  dirs->dir[dirs->n++] = copy;
  return WEIR_OK;
}

static bool dir_ok(const char *path, size_t len) {
  return path[0] == '/' && len < PATH_MAX - WEIR_DRIVER_NAME_MAX - 16 &&
         memchr(path, '\0', len) == NULL;
}

/* Adds the directories of a list.  strict: refuse what is wrong with an entry,
 * else skip the entry. */
static int add_list(struct weir__driver_dirs *dirs,
                    const char *list,
                    size_t n,
                    bool strict,
                    struct weir_error *err) {
  uint32_t left = WEIR_DRIVER_DIRS_MAX;
  while (n != 0) {
    const char *colon = memchr(list, ':', n);
    const size_t len = colon == NULL ? n : (size_t)(colon - list);
    const size_t used = colon == NULL ? len : len + 1;
    const bool good = len != 0 && left != 0 && dir_ok(list, len);
    if (strict && len != 0 && !good) {
      return weir__error_set(
          err, WEIR_E_ARG, WEIR_PHASE_LOAD,
          "directory of drivers '%.*s': wanted at most %u absolute paths of "
          "less than %d bytes, ':' between them",
          (int)(len < 200 ? len : 200), list, WEIR_DRIVER_DIRS_MAX,
          (int)(PATH_MAX - WEIR_DRIVER_NAME_MAX - 16));
    }
    const int rc = good ? add(dirs, list, len, err) : WEIR_OK;
    if (rc != WEIR_OK) {
      return rc;
    }
    left -= good ? 1 : 0;
    list += used;
    n -= used;
  }
  return WEIR_OK;
}

/* The file that a line of /proc/self/maps is about, if the line covers address:
 * the text from the first slash.  NULL otherwise. */
static const char *covers(const char *line, uintptr_t address) {
  char *end;
  const uintmax_t from = strtoumax(line, &end, 16);
  if (*end != '-') {
    return NULL;
  }
  const uintmax_t to = strtoumax(end + 1, NULL, 16);
  return address < from || address >= to ? NULL : strchr(line, '/');
}

/* The absolute path of the file this very code is in.  dladdr() would tell what
 * the library was opened as, which may be relative to a directory that is no
 * longer the current one, or argv[0]; the kernel knows.  Returns its length, 0
 * if /proc is not there. */
static size_t own_path(char path[PATH_MAX]) {
  static const char here = 0;
  size_t len = 0;
  char *line = NULL;
  size_t cap = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) {
    return 0;
  }
  while (len == 0 && getline(&line, &cap, maps) > 0) {
    const char *file = covers(line, (uintptr_t)&here);
    const size_t n = file == NULL ? 0 : strcspn(file, "\n");
    if (n != 0 && n < PATH_MAX) {
      memcpy(path, file, n);
      path[n] = '\0';
      len = n;
    }
  }
  free(line); /* getline()'s, not ours */
  (void)fclose(maps);
  return len;
}

static int add_beside(struct weir__driver_dirs *dirs, struct weir_error *err) {
  static const char tail[] = "/weir/drivers";
  char path[PATH_MAX + sizeof tail];
  if (own_path(path) == 0) {
    return WEIR_OK;
  }
  char *slash = strrchr(path, '/');
  memcpy(slash, tail, sizeof tail);
  const size_t len = strlen(path);
  return dir_ok(path, len) ? add(dirs, path, len, err) : WEIR_OK;
}

int weir__driver_dirs_init(struct weir__driver_dirs *dirs,
                           const struct weir__loader_opts *opts,
                           struct weir_error *err) {
  dirs->n = 0;
  dirs->dir = weir__mem_array(ALL_DIRS_MAX, sizeof dirs->dir[0]);
  if (dirs->dir == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_LOAD,
                           "no memory for the directories of drivers");
  }
  const char *env = opts->no_env ? NULL : secure_getenv("WEIR_DRIVER_PATH");
  int rc = add_list(dirs, opts->dirs, opts->dirs_len, true, err);
  if (rc == WEIR_OK && env != NULL) {
    rc = add_list(dirs, env, strlen(env), false, err);
  }
  rc = rc == WEIR_OK ? add_beside(dirs, err) : rc;
  return rc == WEIR_OK ? add(dirs, WEIR_SYSTEM_DRIVER_DIR,
                             strlen(WEIR_SYSTEM_DRIVER_DIR), err)
                       : rc;
}

void weir__driver_dirs_fini(struct weir__driver_dirs *dirs) {
  for (uint32_t i = 0; i < dirs->n; i++) {
    weir__mem_free(dirs->dir[i]);
  }
  weir__mem_free(dirs->dir);
  dirs->dir = NULL;
  dirs->n = 0;
}

/* -------------------------------------------------------------------- find */

/* "at /a, /b and /c" for the text, as far as it fits. */
static void tell_dirs(const struct weir__driver_dirs *dirs,
                      char *to,
                      size_t cap) {
  size_t at = 0;
  to[0] = '\0';
  for (uint32_t i = 0; i < dirs->n; i++) {
    const size_t len = strlen(dirs->dir[i]);
    if (len + sizeof ", ..." >= cap - at) {
      (void)weir__text_format(to + at, cap - at, " ...");
      return;
    }
    at += weir__text_format(to + at, cap - at, "%s%s", i == 0 ? "" : ", ",
                            dirs->dir[i]);
  }
}

static bool exists(const char *path) {
  struct stat st;
  /* lstat: a dangling link is there, and opening it tells what is wrong. */
  return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static bool find_in(const char *dir,
                    const char *name,
                    struct weir__driver_found *found) {
  static const char *const ends[] = {MANIFEST, OBJECT};
  for (unsigned i = 0; i < 2; i++) {
    /* dir_ok() left room for the name. */
    (void)stpcpy(stpcpy(stpcpy(stpcpy(found->path, dir), "/"), name), ends[i]);
    found->is_manifest = i == 0;
    if (exists(found->path)) {
      return true;
    }
  }
  return false;
}

int weir__driver_dirs_find(const struct weir__driver_dirs *dirs,
                           const char *name,
                           struct weir__driver_found *out_found,
                           struct weir_error *err) {
  for (uint32_t i = 0; i < dirs->n; i++) {
    if (find_in(dirs->dir[i], name, out_found)) {
      return WEIR_OK;
    }
  }
  char searched[640];
  tell_dirs(dirs, searched, sizeof searched);
  (void)weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_LOAD,
                        "driver %s: found neither %s" OBJECT " nor %s" MANIFEST
                        " in %s; install the driver there, or name its "
                        "directory in WEIR_DRIVER_PATH or its file by an "
                        "absolute path",
                        name, name, name, searched);
  weir__error_class(err, WEIR_DRV_SCOPE_DRIVER, WEIR_DRV_K_CONFIG,
                    WEIR_DRV_RETRY_NO);
  return WEIR_E_FAIL;
}

/* -------------------------------------------------------------------- list */

void weir__driver_names_add(struct weir__driver_names *names,
                            const char *name,
                            size_t len) {
  char key[WEIR_DRIVER_NAME_MAX] = {0};
  memcpy(key, name, len);
  uint32_t at = 0;
  int order = -1;
  while (at < names->n && (order = strcmp(names->name[at], key)) < 0) {
    at++;
  }
  if ((at < names->n && order == 0) || names->n == WEIR_DRIVER_NAMES_MAX) {
    return;
  }
  memmove(names->name[at + 1], names->name[at],
          (names->n - at) * sizeof names->name[0]);
  memcpy(names->name[at], key, sizeof key);
  names->n++;
}

/* Adds the name of a directory entry if it is one of ours. */
static void take_entry(struct weir__driver_names *names, const char *entry) {
  const char *dot = strchr(entry, '.');
  if (dot == NULL || (strcmp(dot, MANIFEST) != 0 && strcmp(dot, OBJECT) != 0)) {
    return;
  }
  const size_t len = (size_t)(dot - entry);
  if (weir__driver_name_ok(entry, len)) {
    weir__driver_names_add(names, entry, len);
  }
}

void weir__driver_dirs_list(const struct weir__driver_dirs *dirs,
                            struct weir__driver_names *names) {
  for (uint32_t i = 0; i < dirs->n; i++) {
    DIR *d = opendir(dirs->dir[i]);
    const struct dirent *entry;
    /* Each stream is ours alone.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while (d != NULL && (entry = readdir(d)) != NULL) {
      take_entry(names, entry->d_name);
    }
    if (d != NULL) {
      (void)closedir(d);
    }
  }
}
