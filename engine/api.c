/* SPDX-License-Identifier: MIT */
#include "api.h"

#include <string.h>

#include "handle.h"
#include "status.h"

static const char *text_of(int code) {
  switch (code) {
  case WEIR_E_HANDLE:
    return "the handle is stale, foreign or already released";
  case WEIR_E_FORK:
    return "called in a forked child; call weir_forget_after_fork() and open "
           "an engine of its own";
  case WEIR_E_BUSY:
    return "another call on this lease is still running";
  case WEIR_E_NOMEM:
    return "no memory";
  default:
    return "not possible now";
  }
}

int weir__api_refuse(int code, struct weir_error *err) {
  return weir__error_set(err, code, WEIR_PHASE_NONE, "%s", text_of(code));
}

/* "an engine", "a pool", ...; NULL if the handle has no type of ours. */
static const char *owner_of(weir_h handle) {
  static const char *const owners[] = {
      [WEIR_TYPE_ENGINE] = "an engine",
      [WEIR_TYPE_POOL] = "a pool",
      [WEIR_TYPE_LEASE] = "a lease",
      [WEIR_TYPE_ROWS] = "a batch of rows",
      [WEIR_TYPE_CREDENTIAL] = "a credential",
      [WEIR_TYPE_REQUEST] = "a credential's request",
      [WEIR_TYPE_QUEUE] = "a queue",
      [WEIR_TYPE_OP] = "an operation",
  };
  uint32_t index;
  uint32_t generation;
  for (int type = WEIR_TYPE_ENGINE; type <= WEIR_TYPE_OP; type++) {
    if (weir__handle_split(handle, (enum weir__type)type, &index,
                           &generation)) {
      return owners[type];
    }
  }
  return NULL;
}

int weir__api_refuse_handle(int code,
                            weir_h handle,
                            enum weir__type wanted,
                            struct weir_error *err) {
  const char *is = owner_of(handle);
  const char *should_be = owner_of(weir__handle_make(wanted, 0, 0));
  if (code != WEIR_E_HANDLE || is == NULL || is == should_be) {
    return weir__api_refuse(code, err);
  }
  return weir__error_set(err, code, WEIR_PHASE_NONE,
                         "this is %s's handle; wanted %s's", is, should_be);
}

static bool all_zero(const unsigned char *p, uint32_t n) {
  while (n != 0 && *p == 0) {
    p++;
    n--;
  }
  return n == 0;
}

int weir__api_opts(const void *from,
                   void *to,
                   uint32_t size,
                   struct weir_error *err) {
  uint32_t theirs;
  memset(to, 0, size);
  if (from == NULL) {
    memcpy(to, &size, sizeof size);
    return WEIR_OK;
  }
  memcpy(&theirs, from, sizeof theirs);
  if (theirs < 2 * sizeof theirs || theirs > 65536) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "struct_size of the options is %u; set it to "
                           "sizeof the struct",
                           theirs);
  }
  if (theirs > size &&
      !all_zero((const unsigned char *)from + size, theirs - size)) {
    return weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_NONE,
                           "the options use members this library does not "
                           "know; update it");
  }
  memcpy(to, from, theirs < size ? theirs : size);
  return WEIR_OK;
}

bool weir__api_result(void *to, const void *from, uint32_t size) {
  uint32_t theirs;
  if (to == NULL) {
    return false;
  }
  memcpy(&theirs, to, sizeof theirs);
  if (theirs < 2 * sizeof theirs) {
    return false;
  }
  uint32_t n = theirs < size ? theirs : size;
  memcpy((char *)to + sizeof theirs, (const char *)from + sizeof theirs,
         n - sizeof theirs);
  return true;
}

struct weir__engine *weir__api_engine(weir_h handle,
                                      struct weir__caller **out_self,
                                      int *out_code) {
  *out_code = weir__caller_enter(out_self);
  if (*out_code != WEIR_OK) {
    return NULL;
  }
  struct weir__engine *engine = weir__handle_find(handle, WEIR_TYPE_ENGINE);
  if (engine == NULL) {
    weir__caller_leave(*out_self);
    *out_code = WEIR_E_HANDLE;
    return NULL;
  }
  atomic_store_explicit(&(*out_self)->engine, engine, memory_order_relaxed);
  return engine;
}

struct weir__pool *weir__api_pool(weir_h handle,
                                  struct weir__caller **out_self,
                                  int *out_code) {
  *out_code = weir__caller_enter(out_self);
  if (*out_code != WEIR_OK) {
    return NULL;
  }
  struct weir__pool *pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  if (pool == NULL) {
    weir__caller_leave(*out_self);
    *out_code = WEIR_E_HANDLE;
    return NULL;
  }
  atomic_store_explicit(&(*out_self)->engine, pool->engine,
                        memory_order_relaxed);
  return pool;
}

bool weir__api_timeout_ok(int64_t timeout_ns) {
  return timeout_ns >= 0 || timeout_ns == WEIR_TIMEOUT_POOL;
}
