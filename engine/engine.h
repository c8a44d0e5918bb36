/* SPDX-License-Identifier: MIT */
/* engine.h - an engine: what its pools share. */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

#include "caller.h"
#include "loader.h"
#include "net/offload.h"
#include "net/resolver.h"
#include "net/tls.h"
#include "reactor.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

struct weir__credential;
struct weir__endpoint;
struct weir__pool;
struct weir__queue;
struct weir__registry;
struct weir__watchers;

struct weir__engine {
  uint64_t handle;
  uint32_t flags;            /* WEIR_ENGINE_* */
  int32_t log_level;         /* WEIR_DRV_LOG_*; 0: off */
  struct weir_drv_host host; /* ctx is this engine */
  struct weir__reactor *reactor;
  struct weir__watchers *watchers; /* of idle connections */
  struct weir__offload *offload;
  struct weir__resolver *resolver;
  struct weir__tls *tls;
  struct weir__loader *loader;

  struct weir__registry *registry;

  struct weir__mutex mu;     /* rank ENGINE */
  struct weir__pool *pools;  /* every pool not yet buried; guarded by mu */
  struct weir__engine *next; /* in the process's list */
  struct weir__pool *limbo;  /* buried, to be freed, the oldest first; guarded
                              * by mu */
  struct weir__pool **limbo_end; /* where the next one goes */
  /* Whoever is inside weir_engine_turn(), running the loop; the reactor's. */
  struct weir__caller *turner;
  struct weir__queue *queues;       /* not yet ended; guarded by mu */
  struct weir__queue *queue_limbo;  /* ended, to be freed; guarded by mu */
  struct weir__endpoint *endpoints; /* of its pools; guarded by mu */
  struct weir_counters past;        /* of pools buried; guarded by mu */
  bool closing; /* guarded by mu: no pool is opened any more */
  struct weir__credential
      *credentials;        /* guarded by credential.c's mutex, as */
  bool credentials_closed; /* is this: none is opened any more */
  /* Sessions alive, and a word that changes when one ends, a pool empties or a queue
   * ends:
   * what shutdown waits on. */
  _Atomic uint32_t sessions;
  _Atomic uint32_t quiet;
};

/* Makes the process ready for engines; refuses in a forked child that has not
 * called weir_forget_after_fork(). */
int weir__engine_setup(struct weir_error *err);

/* Makes an engine and enters it in the handle table.  Results as
 * weir_engine_open(). */
int weir__engine_new(const struct weir_engine_opts *opts,
                     struct weir__engine **out_engine,
                     struct weir_error *err);

/* Stops the engine's threads and frees it: nothing of it is in use. */
void weir__engine_dismantle(struct weir__engine *engine);

/* Enters a pool among the engine's.  False: the engine is shutting down. */
bool weir__engine_adopt(struct weir__engine *engine, struct weir__pool *pool);

/* On the reactor: a closed pool is empty.  It is freed once no caller can hold it
 * any more. */
void weir__engine_bury(struct weir__pool *pool);

/* The engine of a call that this thread is inside of; NULL: not known yet. */
static inline struct weir__engine *weir__engine_of(
    const struct weir__caller *self) {
  return atomic_load_explicit(&self->engine, memory_order_relaxed);
}

/* weir_engine_turn(), within a call on the engine. */
uint64_t weir__engine_turn(struct weir__engine *engine,
                           struct weir__caller *self);

/* weir__reactor_park() and _unpark(), for whoever knows the engine only.  NULL: no
 * engine is concerned. */
int weir__engine_park(struct weir__engine *engine,
                      struct weir__caller *self,
                      _Atomic uint32_t *word,
                      uint32_t expected,
                      uint64_t deadline);
void weir__engine_unpark(struct weir__engine *engine, _Atomic uint32_t *word);

/* Tells shutdown that something ended. */
void weir__engine_note_end(struct weir__engine *engine);

/* In a forked child: close(2) on every descriptor of every engine. */
void weir__engine_forget_all(void);

#endif
