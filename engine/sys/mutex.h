/* SPDX-License-Identifier: MIT */
/* mutex.h - ranked mutexes.
 *
 * Locks are taken in the order of their ranks, and two of one rank never at
 * once.  Debug builds keep the ranks a thread holds and abort on a breach; the
 * driver guard asserts that none is held (P6). */
#ifndef WEIR_SYS_MUTEX_H
#define WEIR_SYS_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__)
#  define WEIR_LOCKABLE    __attribute__((capability("mutex")))
#  define WEIR_ACQUIRES(m) __attribute__((acquire_capability(m)))
#  define WEIR_RELEASES(m) __attribute__((release_capability(m)))
#  define WEIR_REQUIRES(m) __attribute__((requires_capability(m)))
#  define WEIR_EXCLUDES(m) __attribute__((locks_excluded(m)))
#  define WEIR_UNCHECKED   __attribute__((no_thread_safety_analysis))
#else
#  define WEIR_LOCKABLE
#  define WEIR_ACQUIRES(m)
#  define WEIR_RELEASES(m)
#  define WEIR_REQUIRES(m)
#  define WEIR_EXCLUDES(m)
#  define WEIR_UNCHECKED
#endif

/* From left to right in engine/README.md. */
enum weir__rank {
  WEIR_RANK_REGISTRY = 1, /* key -> pool */
  WEIR_RANK_ENGINE,       /* an engine's list of pools */
  WEIR_RANK_CLEAR,        /* clears of a pool, one at a time */
  WEIR_RANK_POOL,         /* a pool's waiters and creation */
  WEIR_RANK_IDLE,         /* a pool's list of idle slots */
  WEIR_RANK_ENDPOINT,     /* breaker and budget of a server */
  WEIR_RANK_CREDENTIAL,   /* every credential of the process */
  WEIR_RANK_LOADER,       /* the drivers of an engine */
  WEIR_RANK_REACTOR,      /* who waits for a reactor */
  WEIR_RANK_OFFLOAD,      /* the offload queue */
  WEIR_RANK_LEAF          /* anything that takes no other lock */
};

struct WEIR_LOCKABLE weir__mutex {
  pthread_mutex_t m;
  uint32_t rank;
};

void weir__mutex_init(struct weir__mutex *mu, enum weir__rank rank);
void weir__mutex_fini(struct weir__mutex *mu);
void weir__mutex_lock(struct weir__mutex *mu) WEIR_ACQUIRES(*mu);
void weir__mutex_unlock(struct weir__mutex *mu) WEIR_RELEASES(*mu);

/* A condition to be waited for with a mutex; deadlines as in clock.h but of the
 * real clock: for the engine's own threads, never for a caller's time-out. */
struct weir__cond {
  pthread_cond_t c;
};

void weir__cond_init(struct weir__cond *cond);
void weir__cond_fini(struct weir__cond *cond);
void weir__cond_wait(struct weir__cond *cond, struct weir__mutex *mu)
    WEIR_REQUIRES(*mu);
void weir__cond_signal(struct weir__cond *cond);
void weir__cond_broadcast(struct weir__cond *cond);

/* True if the calling thread holds no lock of the engine.  Always true in
 * builds without assertions. */
bool weir__mutex_none_held(void);

#endif
