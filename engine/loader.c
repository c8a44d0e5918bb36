/* SPDX-License-Identifier: MIT */
/* The list of drivers is guarded by a mutex, which is not held while a file is
 * read, mapped or called into: constructors, the entry and open() are the
 * driver's code.  Instead one thread at a time has the turn to load, so that
 * open() is called once per driver and loader. */
#include "loader.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loader_file.h"
#include "loader_manifest.h"
#include "loader_map.h"
#include "loader_search.h"
#include "loader_table.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/park.h"

#define OPEN_MESSAGE_MAX 512u

struct weir__loader {
  struct weir__mutex mu;      /* rank LOADER; guards first and busy */
  struct weir__driver *first; /* the one loaded last */
  bool busy;                  /* somebody has the turn */
  _Atomic uint32_t turns;     /* bumped when a turn ends; parked on */
  const struct weir_drv_host *host;
  struct weir__driver_dirs dirs;
};

/* What is asked for: a name, or a path. */
struct wish {
  char name[WEIR_DRIVER_NAME_MAX]; /* "" if a path is */
  char path[PATH_MAX];             /* as it was given */
  char real[PATH_MAX];             /* the file it leads to */
};

/* A file to load and what it must be. */
struct target {
  char path[PATH_MAX];
  char dir[PATH_MAX];              /* where it or its manifest was found */
  char name[WEIR_DRIVER_NAME_MAX]; /* "": any */
  char sha256[65];                 /* "": any */
};

/* ------------------------------------------------------------------- turns */

static void take_turn(struct weir__loader *loader) {
  weir__mutex_lock(&loader->mu);
  while (loader->busy) {
    const uint32_t seen = weir__load_relaxed_u32(&loader->turns);
    weir__mutex_unlock(&loader->mu);
    (void)weir__park(&loader->turns, seen, WEIR_NEVER);
    weir__mutex_lock(&loader->mu);
  }
  loader->busy = true;
  weir__mutex_unlock(&loader->mu);
}

/* Wakes one waiter, which either takes the turn or finds that a newcomer has
 * it, whose end then wakes one again: no waiter is forgotten. */
static void give_turn(struct weir__loader *loader) {
  weir__mutex_lock(&loader->mu);
  loader->busy = false;
  (void)weir__add_relaxed_u32(&loader->turns, 1);
  weir__mutex_unlock(&loader->mu);
  weir__unpark(&loader->turns);
}

/* ------------------------------------------------------------------ lookup */

static const struct weir__driver *lookup(struct weir__loader *loader,
                                         const struct wish *wish) {
  weir__mutex_lock(&loader->mu);
  const struct weir__driver *d = loader->first;
  while (d != NULL &&
         (wish->name[0] != '\0' ? strcmp(d->name, wish->name)
                                : strcmp(d->path, wish->real)) != 0) {
    d = d->next;
  }
  weir__mutex_unlock(&loader->mu);
  return d;
}

static void publish(struct weir__loader *loader, struct weir__driver *d) {
  weir__mutex_lock(&loader->mu);
  d->next = loader->first;
  loader->first = d;
  weir__mutex_unlock(&loader->mu);
}

static int no_memory(struct weir_error *err) {
  return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_LOAD,
                         "no memory to load a driver");
}

/* ----------------------------------------------------- from file to driver */

/* A driver's own words about a failed open(), with its name and file before
 * them. */
static int tell_open(const struct weir__driver *d,
                     struct weir_drv_error *said,
                     weir_drv_status status,
                     struct weir_error *err) {
  char text[OPEN_MESSAGE_MAX + 320];
  const bool breach = status >= 0;
  uint32_t n = said->message_len;
  n = n < said->message_cap ? n : said->message_cap;
  const char *why = said->message;
  if (breach || n == 0) {
    why = breach ? "its open() gave no instance" : "its open() gave no reason";
    n = (uint32_t)strlen(why);
  }
  said->message_len =
      weir__text_format(text, sizeof text, "driver %s (%.256s): %.*s", d->name,
                        d->path, (int)n, why);
  said->message = text;
  said->message_cap = sizeof text;
  if (said->scope == WEIR_DRV_SCOPE_NONE) {
    said->scope = WEIR_DRV_SCOPE_DRIVER;
  }
  const int32_t code = status == WEIR_DRV_E_NOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL;
  weir__error_from_driver(err, said, code, WEIR_PHASE_LOAD);
  said->message = NULL; /* text ends here */
  return code;
}

/* Makes this engine's instance. */
static int open_instance(const struct weir__loader *loader,
                         struct weir__driver *d,
                         const char *dir,
                         struct weir_error *err) {
  char message[OPEN_MESSAGE_MAX];
  struct weir_drv_error said = {.struct_size = sizeof said,
                                .message = message,
                                .message_cap = sizeof message};
  const struct weir_drv_open_args args = {.struct_size = sizeof args,
                                          .resource_dir = {dir, strlen(dir)}};
  WEIR_ASSERT(weir__mutex_none_held());
  const weir_drv_status status =
      d->table.open(loader->host, &args, &d->instance, &said);
  if (status == WEIR_DRV_DONE && d->instance != NULL) {
    weir__driver_stmt_take(d);
    return WEIR_OK;
  }
  d->instance = NULL;
  return tell_open(d, &said, status, err);
}

/* A name stands for one file in an engine. */
static int check_unique(struct weir__loader *loader,
                        const struct weir__driver *d,
                        struct weir_error *err) {
  struct wish wish = {.path = ""};
  memcpy(wish.name, d->name, sizeof wish.name);
  const struct weir__driver *other = lookup(loader, &wish);
  if (other == NULL) {
    return WEIR_OK;
  }
  char found[320];
  (void)weir__text_format(
      found, sizeof found,
      "a driver called %s, which this engine has from %.200s", d->name,
      other->path);
  return weir__driver_refuse(err, "driver", d->path, found,
                             "one file for each name",
                             "use that one, or another engine");
}

/* Takes an open, trusted file all the way to an instance in d. */
static int load_file(struct weir__loader *loader,
                     const struct weir__driver_file *file,
                     const struct target *target,
                     struct weir__driver *d,
                     struct weir_error *err) {
  const struct weir_driver *theirs = NULL;
  const char *name = target->name[0] == '\0' ? NULL : target->name;
  int rc = weir__driver_map(file, target->sha256, &theirs, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__driver_table_take(d, theirs, file->path, name, err);
  rc = rc == WEIR_OK ? check_unique(loader, d, err) : rc;
  return rc == WEIR_OK ? open_instance(loader, d, target->dir, err) : rc;
}

static void free_driver(struct weir__driver *d) {
  if (d != NULL) {
    weir__mem_free(d->path);
    weir__mem_free(d);
  }
}

/* A driver with nothing but its path, or NULL. */
static struct weir__driver *new_driver(const char *path) {
  struct weir__driver *d = weir__mem_new(sizeof *d);
  if (d != NULL) {
    d->path = weir__mem_text(path, strlen(path));
  }
  if (d != NULL && d->path == NULL) {
    free_driver(d);
    d = NULL;
  }
  return d;
}

/* ------------------------------------------------------ from wish to target */

/* The directory of a path. */
static void dir_of(const char *path, char dir[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  const size_t len = slash == path ? 1 : (size_t)(slash - path);
  memcpy(dir, path, len);
  dir[len] = '\0';
}

/* Replaces the manifest in target->path by the file it names. */
static int follow_manifest(struct target *target, struct weir_error *err) {
  struct weir__manifest manifest;
  const int rc = weir__manifest_read(target->path, &manifest, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  if (strcmp(manifest.name, target->name) != 0) {
    char found[64];
    (void)weir__text_format(found, sizeof found, "name %s", manifest.name);
    return weir__driver_refuse(err, "manifest", target->path, found,
                               "the name that the manifest's file has",
                               "rename the file or correct the manifest");
  }
  char dir[PATH_MAX];
  dir_of(target->path, dir);
  if (strlen(dir) + 1 + strlen(manifest.file) >= sizeof target->path) {
    return weir__driver_refuse(err, "manifest", dir, "a path that is too long",
                               "less than 4096 bytes", "use a shorter path");
  }
  (void)stpcpy(stpcpy(stpcpy(target->path, dir), "/"), manifest.file);
  memcpy(target->sha256, manifest.sha256, sizeof target->sha256);
  return WEIR_OK;
}

static int aim(const struct weir__loader *loader,
               const struct wish *wish,
               struct target *target,
               struct weir_error *err) {
  struct weir__driver_found found;
  if (wish->name[0] == '\0') {
    memcpy(target->path, wish->path, sizeof target->path);
    dir_of(target->path, target->dir);
    return WEIR_OK;
  }
  int rc = weir__driver_dirs_find(&loader->dirs, wish->name, &found, err);
  if (rc == WEIR_OK) {
    memcpy(target->path, found.path, sizeof target->path);
    memcpy(target->name, wish->name, sizeof target->name);
    dir_of(target->path, target->dir);
    rc = found.is_manifest ? follow_manifest(target, err) : WEIR_OK;
  }
  return rc;
}

/* Loads what nobody has loaded yet.  The caller has the turn. */
static int load_new(struct weir__loader *loader,
                    const struct wish *wish,
                    const struct weir__driver **out_driver,
                    struct weir_error *err) {
  struct target target = {.path = ""};
  struct weir__driver_file file;
  int rc = aim(loader, wish, &target, err);
  rc = rc == WEIR_OK ? weir__driver_file_open(target.path, "driver", &file, err)
                     : rc;
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__driver *d = new_driver(file.path);
  if (d == NULL) {
    weir__driver_file_close(&file);
    return no_memory(err);
  }
  rc = load_file(loader, &file, &target, d, err);
  weir__driver_file_close(&file);
  if (rc != WEIR_OK) {
    free_driver(d);
    return rc;
  }
  publish(loader, d);
  *out_driver = d;
  return WEIR_OK;
}

/* -------------------------------------------------------------- interface */

int weir__loader_new(const struct weir__loader_opts *opts,
                     struct weir__loader **out_loader,
                     struct weir_error *err) {
  struct weir__loader *loader = weir__mem_new(sizeof *loader);
  if (loader == NULL) {
    return no_memory(err);
  }
  weir__mutex_init(&loader->mu, WEIR_RANK_LOADER);
  loader->host = opts->host;
  const int rc = weir__driver_dirs_init(&loader->dirs, opts, err);
  if (rc != WEIR_OK) {
    weir__loader_free(loader);
    return rc;
  }
  *out_loader = loader;
  return WEIR_OK;
}

void weir__loader_free(struct weir__loader *loader) {
  if (loader == NULL) {
    return;
  }
  WEIR_ASSERT(weir__mutex_none_held());
  while (loader->first != NULL) {
    struct weir__driver *d = loader->first;
    loader->first = d->next;
    d->table.close(d->instance);
    free_driver(d);
  }
  weir__driver_dirs_fini(&loader->dirs);
  weir__mutex_fini(&loader->mu);
  weir__mem_free(loader);
}

static int bad_name(struct weir_error *err, const char *name, size_t len) {
  return weir__error_set(
      err, WEIR_E_ARG, WEIR_PHASE_LOAD,
      "driver '%.*s': wanted a name of 1 to 31 letters, digits and _, or an "
      "absolute path",
      (int)(len < 200 ? len : 200), name);
}

static int wish_path(struct wish *wish,
                     const char *name,
                     size_t len,
                     struct weir_error *err) {
  if (name[0] != '/' || len >= sizeof wish->path ||
      memchr(name, '\0', len) != NULL) {
    return bad_name(err, name, len);
  }
  memcpy(wish->path, name, len);
  wish->path[len] = '\0';
  /* What leads nowhere is not loaded; opening it will tell the reason. */
  if (realpath(wish->path, wish->real) == NULL) {
    wish->real[0] = '\0';
  }
  return WEIR_OK;
}

static int wish_name(struct wish *wish,
                     const char *name,
                     size_t len,
                     struct weir_error *err) {
  if (len >= sizeof wish->name) {
    return bad_name(err, name, len);
  }
  for (size_t i = 0; i < len; i++) {
    const char c = name[i];
    wish->name[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  }
  return weir__driver_name_ok(wish->name, len) ? WEIR_OK
                                               : bad_name(err, name, len);
}

int weir__loader_load(struct weir__loader *loader,
                      const char *name,
                      size_t name_len,
                      const struct weir__driver **out_driver,
                      struct weir_error *err) {
  struct wish wish = {.name = ""};
  const bool is_path = name_len != 0 && memchr(name, '/', name_len) != NULL;
  int rc = is_path ? wish_path(&wish, name, name_len, err)
                   : wish_name(&wish, name, name_len, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  const struct weir__driver *d = lookup(loader, &wish);
  if (d == NULL) {
    take_turn(loader);
    d = lookup(loader, &wish);
    rc = d == NULL ? load_new(loader, &wish, &d, err) : WEIR_OK;
    give_turn(loader);
  }
  if (rc == WEIR_OK) {
    *out_driver = d;
  }
  return rc;
}

/* -------------------------------------------------------------------- list */

static void copy_to(char *to, size_t cap, const char *from) {
  (void)weir__text_copy(to, cap, from, strlen(from));
}

/* Fills one element; struct_size stays the caller's. */
static void tell(struct weir__loader *loader,
                 const char *name,
                 struct weir_driver_info *info) {
  struct weir_error err = {.struct_size = sizeof err};
  const struct weir__driver *d = NULL;
  const uint32_t size = info->struct_size;
  memset(info, 0, sizeof *info);
  info->struct_size = size;
  info->status = weir__loader_load(loader, name, strlen(name), &d, &err);
  copy_to(info->name, sizeof info->name, name);
  if (d != NULL) {
    info->caps = d->table.caps;
    copy_to(info->version, sizeof info->version, d->version);
    copy_to(info->path, sizeof info->path, d->path);
  } else {
    copy_to(info->problem, sizeof info->problem, err.message);
  }
}

static struct weir_driver_info *element(struct weir_driver_info *info,
                                        uint32_t stride,
                                        uint32_t i) {
  return (void *)((char *)info + (size_t)stride * i);
}

/* Each element must have the first's size, which is ours or larger. */
static int check_elements(struct weir_driver_info *info,
                          uint32_t cap,
                          struct weir_error *err) {
  const uint32_t stride = cap == 0 ? 0 : info->struct_size;
  for (uint32_t i = 0; i < cap; i++) {
    if (stride < sizeof *info || stride % _Alignof(struct weir_driver_info) ||
        element(info, stride, i)->struct_size != stride) {
      return weir__error_set(
          err, WEIR_E_ARG, WEIR_PHASE_LOAD,
          "driver list: element %u: struct_size is %u, wanted the size of one "
          "element, at least %zu, in each",
          i, element(info, stride, i)->struct_size, sizeof *info);
    }
  }
  return WEIR_OK;
}

static void add_loaded(struct weir__loader *loader,
                       struct weir__driver_names *names) {
  weir__mutex_lock(&loader->mu);
  for (const struct weir__driver *d = loader->first; d != NULL; d = d->next) {
    weir__driver_names_add(names, d->name, strlen(d->name));
  }
  weir__mutex_unlock(&loader->mu);
}

int weir__loader_list(struct weir__loader *loader,
                      struct weir_driver_info *info,
                      uint32_t cap,
                      uint32_t *out_n,
                      struct weir_error *err) {
  const int rc = check_elements(info, cap, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__driver_names *names = weir__mem_new(sizeof *names);
  if (names == NULL) {
    return no_memory(err);
  }
  add_loaded(loader, names);
  weir__driver_dirs_list(&loader->dirs, names);
  for (uint32_t i = 0; i < names->n && i < cap; i++) {
    tell(loader, names->name[i], element(info, info->struct_size, i));
  }
  *out_n = names->n;
  weir__mem_free(names);
  return WEIR_OK;
}
