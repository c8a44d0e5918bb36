/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "endpoint.h"
#include "handle.h"
#include "host.h"
#include "log.h"
#include "observe/counters.h"
#include "pool.h"
#include "queue.h"
#include "registry.h"
#include "session.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/park.h"
#include "sys/thread.h"
#include "watch.h"

#define OFFLOAD_DEFAULT 16u

static struct weir__mutex list_lock = {PTHREAD_MUTEX_INITIALIZER,
                                       WEIR_RANK_LEAF};
static struct weir__engine *engines; /* guarded by list_lock */

static void enlist(struct weir__engine *engine) {
  weir__mutex_lock(&list_lock);
  engine->next = engines;
  engines = engine;
  weir__mutex_unlock(&list_lock);
}

/* The last one turns off the light: descriptors of caller records go. */
static void delist(struct weir__engine *engine) {
  weir__mutex_lock(&list_lock);
  struct weir__engine **at = &engines;
  while (*at != NULL && *at != engine) {
    at = &(*at)->next;
  }
  if (*at == engine) {
    *at = engine->next;
  }
  if (engines == NULL) {
    weir__caller_close_fds();
  }
  weir__mutex_unlock(&list_lock);
}

/* Frees what there is of an engine whose threads have nothing left to do. */
void weir__engine_dismantle(struct weir__engine *engine) {
  if (engine->reactor != NULL) {
    weir__reactor_stop(engine->reactor);
  }
  weir__queue_clear_limbo(engine, true);
  weir__watchers_free(engine->watchers);
  while (engine->limbo != NULL) {
    struct weir__pool *next = engine->limbo->next;
    weir__pool_free(engine->limbo);
    engine->limbo = next;
  }
  weir__resolver_free(engine->resolver);
  (void)weir__offload_stop(engine->offload, 0);
  weir__loader_free(engine->loader);
  weir__tls_free(engine->tls);
  if (engine->registry != NULL) {
    weir__registry_fini(engine->registry);
    weir__mem_free(engine->registry);
  }
  weir__mutex_fini(&engine->mu);
  delist(engine);
  weir__mem_free(engine);
}

static int no_resource(struct weir_error *err, int rc, const char *what) {
  char why[128];
  return weir__error_set(err, rc == -ENOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL,
                         WEIR_PHASE_NONE, "the engine cannot have its %s: %s",
                         what, weir__errno_text(-rc, why, sizeof why));
}

static int build(struct weir__engine *engine,
                 const struct weir_engine_opts *opts,
                 struct weir_error *err) {
  uint32_t threads = opts->offload_threads;
  engine->registry = weir__mem_new(sizeof *engine->registry);
  if (engine->registry == NULL) {
    return no_resource(err, -ENOMEM, "table of pools");
  }
  weir__registry_init(engine->registry);
  int rc = weir__offload_new(threads == 0 ? OFFLOAD_DEFAULT : threads,
                             &engine->offload);
  if (rc == 0) {
    rc = weir__resolver_new(engine->offload, &engine->resolver);
  }
  if (rc == 0) {
    rc = weir__tls_new(&engine->tls);
  }
  if (rc != 0) {
    return no_resource(err, rc, "services");
  }
  bool foreign = (opts->flags & WEIR_ENGINE_FOREIGN_LOOP) != 0;
  rc = weir__reactor_start(foreign, &engine->reactor);
  if (rc != 0) {
    return no_resource(err, rc, foreign ? "event loop" : "reactor thread");
  }
  rc = weir__watchers_new(engine, &engine->watchers);
  if (rc != 0) {
    return no_resource(err, rc, "watch of idle connections");
  }
  struct weir__loader_opts loader = {
      .dirs = opts->driver_dirs,
      .dirs_len = opts->driver_dirs_len,
      .no_env = (opts->flags & WEIR_ENGINE_NO_ENV) != 0,
      .host = &engine->host,
  };
  return weir__loader_new(&loader, &engine->loader, err);
}

int weir__engine_setup(struct weir_error *err) {
  int rc = weir__caller_setup();
  if (rc != 0) {
    return no_resource(err, rc, "fork page");
  }
  _Atomic uint32_t *page =
      atomic_load_explicit(&weir__fork_page, memory_order_acquire);
  if (weir__load_relaxed_u32(page) == 0) {
    return weir__error_set(err, WEIR_E_FORK, WEIR_PHASE_NONE,
                           "a forked child must call weir_forget_after_fork() "
                           "before it opens an engine");
  }
  return WEIR_OK;
}

int weir__engine_new(const struct weir_engine_opts *opts,
                     struct weir__engine **out_engine,
                     struct weir_error *err) {
  struct weir__engine *engine = weir__mem_new(sizeof *engine);
  if (engine == NULL) {
    return no_resource(err, -ENOMEM, "memory");
  }
  weir__mutex_init(&engine->mu, WEIR_RANK_ENGINE);
  engine->flags = opts->flags;
  engine->log_level = weir__log_level(engine);
  weir__host_init(engine);
  enlist(engine);
  int rc = build(engine, opts, err);
  if (rc == WEIR_OK) {
    rc = weir__handle_new(WEIR_TYPE_ENGINE, engine, &engine->handle);
    if (rc != WEIR_OK) {
      (void)weir__error_set(err, rc, WEIR_PHASE_NONE,
                            "no handle left for an engine");
    }
  }
  if (rc != WEIR_OK) {
    weir__engine_dismantle(engine);
    return rc;
  }
  *out_engine = engine;
  return WEIR_OK;
}

uint64_t weir__engine_turn(struct weir__engine *engine,
                           struct weir__caller *self) {
  if (!weir__reactor_begin_turn(engine->reactor)) {
    return WEIR_NEVER; /* whoever is at it sees to what comes */
  }
  engine->turner = self;
  weir__reactor_turn(engine->reactor);
  engine->turner = NULL;
  return weir__reactor_end_turn(engine->reactor);
}

int weir__engine_park(struct weir__engine *engine,
                      struct weir__caller *self,
                      _Atomic uint32_t *word,
                      uint32_t expected,
                      uint64_t deadline) {
  return engine == NULL ? weir__park(word, expected, deadline)
                        : weir__reactor_park(engine->reactor, self, word,
                                             expected, deadline);
}

void weir__engine_unpark(struct weir__engine *engine, _Atomic uint32_t *word) {
  if (engine == NULL) {
    weir__unpark(word);
  } else {
    weir__reactor_unpark(engine->reactor, word);
  }
}

void weir__engine_note_end(struct weir__engine *engine) {
  (void)weir__add_acq_rel_u32(&engine->quiet, 1);
  weir__engine_unpark(engine, &engine->quiet);
}

bool weir__engine_adopt(struct weir__engine *engine, struct weir__pool *pool) {
  weir__mutex_lock(&engine->mu);
  bool open = !engine->closing;
  if (open) {
    pool->next = engine->pools;
    pool->link = &engine->pools;
    if (pool->next != NULL) {
      pool->next->link = &pool->next;
    }
    engine->pools = pool;
  }
  weir__mutex_unlock(&engine->mu);
  return open;
}

static bool is_let_go(const struct weir__pool *pool) {
  return weir__load_seq_u32(&pool->tend_posted) == 0 &&
         weir__load_seq_u32(&pool->stirs) == 0 &&
         weir__load_acquire_u32(&pool->entries) == 0;
}

/* The oldest that only a caller could still hold; only this thread takes from the
 * list. */
static struct weir__pool **oldest(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  struct weir__pool **at = &engine->limbo;
  while (*at != NULL && !is_let_go(*at)) {
    at = &(*at)->next;
  }
  weir__mutex_unlock(&engine->mu);
  return at;
}

/* Frees the buried pools that no call can hold any more.  Reactor thread: a pool
 * is tended to there, so none of them is being looked at.  A weir_engine_turn()
 * that runs this holds none; another caller that leads may hold the one it waits
 * for.  It goes up to the first that a caller may hold, who may hold those after
 * it, too: so the end of many pools is not quadratic. */
static void clear_limbo(struct weir__engine *engine) {
  for (;;) {
    struct weir__pool **at = oldest(engine);
    struct weir__pool *pool = *at;
    if (pool == NULL ||
        weir__caller_count(pool->retired, NULL, engine->turner) != 0) {
      return;
    }
    weir__mutex_lock(&engine->mu);
    *at = pool->next;
    if (pool->next == NULL) {
      engine->limbo_end = at;
    }
    weir__mutex_unlock(&engine->mu);
    weir__pool_free(pool);
  }
}

static void unlink_locked(struct weir__pool *pool) {
  *pool->link = pool->next;
  if (pool->next != NULL) {
    pool->next->link = pool->link;
  }
}

void weir__engine_bury(struct weir__pool *pool) {
  struct weir__engine *engine = pool->engine;
  pool->buried = true;
  weir__endpoint_leave(pool); /* siblings post nothing to it any more */
  clear_limbo(engine);
  pool->retired = weir__caller_retire();
  weir__mutex_lock(&engine->mu);
  unlink_locked(pool);
  pool->next = NULL;
  if (engine->limbo == NULL) {
    engine->limbo_end = &engine->limbo;
  }
  weir__counters_keep(pool);
  *engine->limbo_end = pool;
  engine->limbo_end = &pool->next;
  weir__mutex_unlock(&engine->mu);
  weir__engine_note_end(engine);
}

/* What the child inherited of a pool's connections: closed without a word to the
 * servers, whose sessions are the parent's. */
static void forget_sessions(const struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir_drv_hconn *s = weir__slot_session(weir__pool_slot(pool, i));
    if (s != NULL) {
      weir__session_forget(s);
    }
  }
}

void weir__engine_forget_all(void) {
  for (struct weir__engine *e = engines; e != NULL; e = e->next) {
    for (const struct weir__pool *p = e->pools; p != NULL; p = p->next) {
      forget_sessions(p);
    }
    weir__queue_forget_all(e);
    if (e->reactor != NULL) {
      weir__reactor_forget(e->reactor);
    }
    weir__watchers_forget(e->watchers);
  }
  engines = NULL;
  (void)pthread_mutex_init(&list_lock.m, NULL);
}
