/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>

#include "api.h"
#include "credential.h"
#include "handle.h"
#include "loader.h"
#include "secret.h"
#include "shutdown.h"
#include "slot.h"
#include "status.h"
#include "sys/clock.h"

uint32_t weir_version(void) {
  return WEIR_VERSION_MAJOR << 16 | WEIR_VERSION_MINOR << 8 |
         WEIR_VERSION_PATCH;
}

static const char *const features[] = {
    "blocking",   "credentials", "direct", "driver-abi-0", "foreign-loop",
    "parameters", "submit",      "tls",    "transactions"};

int32_t weir_feature(const char *name, uint64_t name_len) {
  for (size_t i = 0; name != NULL && i < sizeof features / sizeof *features;
       i++) {
    if (strlen(features[i]) == name_len &&
        memcmp(features[i], name, name_len) == 0) {
      return 1;
    }
  }
  return 0;
}

static int check_opts(const struct weir_engine_opts *opts,
                      struct weir_error *err) {
  if ((opts->flags & ~(WEIR_ENGINE_NO_ENV | WEIR_ENGINE_FOREIGN_LOOP)) != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "engine flags 0x%x are not known", opts->flags);
  }
  if ((opts->flags & WEIR_ENGINE_FOREIGN_LOOP) != 0 && opts->threads != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "%u reactor threads and WEIR_ENGINE_FOREIGN_LOOP, "
                           "which means none",
                           opts->threads);
  }
  if (opts->threads > 1) {
    return weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_NONE,
                           "%u reactor threads: more than one is not built yet",
                           opts->threads);
  }
  if (opts->offload_threads > WEIR_OFFLOAD_THREADS_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "%u offload threads: at most %u",
                           opts->offload_threads, WEIR_OFFLOAD_THREADS_MAX);
  }
  if (opts->driver_dirs == NULL && opts->driver_dirs_len != 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "driver_dirs is NULL but has a length");
  }
  return WEIR_OK;
}

int32_t weir_engine_open(const struct weir_engine_opts *opts,
                         weir_h *out_engine,
                         struct weir_error *err) {
  struct weir_engine_opts own;
  struct weir__engine *engine = NULL;
  if (out_engine == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "out_engine is NULL");
  }
  int rc = weir__api_opts(opts, &own, sizeof own, err);
  if (rc == WEIR_OK) {
    rc = check_opts(&own, err);
  }
  if (rc == WEIR_OK) {
    rc = weir__engine_setup(err);
  }
  if (rc == WEIR_OK) {
    rc = weir__engine_new(&own, &engine, err);
  }
  if (rc == WEIR_OK) {
    *out_engine = engine->handle;
  }
  return rc;
}

int32_t weir_engine_shutdown(weir_h handle,
                             int64_t grace_ns,
                             struct weir_error *err) {
  struct weir__caller *self;
  if (grace_ns < 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "grace_ns is negative");
  }
  int rc = weir__caller_enter(&self);
  if (rc != WEIR_OK) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  struct weir__engine *engine = weir__handle_take(handle, WEIR_TYPE_ENGINE);
  if (engine == NULL) {
    rc = weir__api_refuse_handle(WEIR_E_HANDLE, handle, WEIR_TYPE_ENGINE, err);
  } else {
    uint64_t deadline =
        grace_ns == WEIR_TIMEOUT_NEVER
            ? WEIR_NEVER
            : weir__clock_add(weir__clock_now(), (uint64_t)grace_ns);
    /* Or two engines shut down at once would wait for each other. */
    atomic_store_explicit(&self->engine, engine, memory_order_relaxed);
    rc = weir__engine_shutdown(engine, self, deadline, err);
  }
  weir__caller_leave(self);
  return rc;
}

/* An engine whose loop is the program's. */
static struct weir__engine *foreign(weir_h handle,
                                    struct weir__caller **out_self,
                                    int *out_code,
                                    struct weir_error *err) {
  struct weir__engine *engine = weir__api_engine(handle, out_self, out_code);
  if (engine == NULL) {
    *out_code =
        weir__api_refuse_handle(*out_code, handle, WEIR_TYPE_ENGINE, err);
  } else if (!weir__reactor_foreign(engine->reactor)) {
    *out_code = weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                                "the engine has a thread of its own; open it "
                                "with WEIR_ENGINE_FOREIGN_LOOP");
    weir__caller_leave(*out_self);
    engine = NULL;
  }
  return engine;
}

int32_t weir_engine_fd(weir_h handle, int64_t *out_fd, struct weir_error *err) {
  struct weir__caller *self;
  int rc = WEIR_OK;
  if (out_fd == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE, "out_fd is NULL");
  }
  struct weir__engine *engine = foreign(handle, &self, &rc, err);
  if (engine == NULL) {
    return rc;
  }
  *out_fd = weir__reactor_fd(engine->reactor);
  weir__caller_leave(self);
  return WEIR_OK;
}

static int64_t span_to(uint64_t due) {
  uint64_t now = weir__clock_now();
  uint64_t span = due <= now ? 0 : due - now;
  return due == WEIR_NEVER || span > (uint64_t)INT64_MAX ? WEIR_TIMEOUT_NEVER
                                                         : (int64_t)span;
}

int32_t weir_engine_turn(weir_h handle,
                         int64_t *out_due_ns,
                         struct weir_error *err) {
  struct weir__caller *self;
  int rc = WEIR_OK;
  struct weir__engine *engine = foreign(handle, &self, &rc, err);
  if (engine == NULL) {
    return rc;
  }
  uint64_t due = weir__engine_turn(engine, self);
  weir__caller_leave(self);
  if (out_due_ns != NULL) {
    *out_due_ns = span_to(due);
  }
  return WEIR_OK;
}

int32_t weir_forget_after_fork(void) {
  if (!weir__caller_forgettable()) {
    return WEIR_E_ARG;
  }
  weir__engine_forget_all();
  weir__handle_forget_all();
  weir__slot_forget_all();
  weir__secret_forget();
  weir__credential_forget_all();
  weir__caller_forget();
  return WEIR_OK;
}

int32_t weir_driver_load(weir_h handle,
                         const char *name,
                         uint64_t name_len,
                         struct weir_error *err) {
  struct weir__caller *self;
  const struct weir__driver *driver;
  int rc;
  if (name == NULL) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_LOAD, "name is NULL");
  }
  if (name_len >= PATH_MAX) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_LOAD,
                           "the name is longer than any path");
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__loader_load(engine->loader, name, name_len, &driver, err);
  weir__caller_leave(self);
  return rc;
}

int32_t weir_driver_list(weir_h handle,
                         struct weir_driver_info *info,
                         uint32_t cap,
                         uint32_t *out_n,
                         struct weir_error *err) {
  struct weir__caller *self;
  int rc;
  if (out_n == NULL || (info == NULL && cap != 0)) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_LOAD,
                           "info or out_n is NULL");
  }
  struct weir__engine *engine = weir__api_engine(handle, &self, &rc);
  if (engine == NULL) {
    return weir__api_refuse_handle(rc, handle, WEIR_TYPE_ENGINE, err);
  }
  rc = weir__loader_list(engine->loader, info, cap, out_n, err);
  weir__caller_leave(self);
  return rc;
}
