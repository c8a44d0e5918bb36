/* SPDX-License-Identifier: MIT */
/* Counting, and the two assertions: T5 (no lock of the engine is held) and T1
 * (calls on a connection never overlap).
 *
 * The counters are relaxed: each is exact by itself and orders nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock.h"

static const char *const names[MOCK_CALLS] = {
    "config_create", "config_destroy", "conn_create",
    "conn_destroy",  "abort_conn",     "get",
    "health",        "idle",           "connect",
    "ping",          "reset",          "txn",
    "exec",          "logout",         "step",
    "cancel",        "columns"};

static uint64_t get(const _Atomic uint64_t *p) {
  return atomic_load_explicit(p, memory_order_relaxed);
}

static uint64_t add(_Atomic uint64_t *p, uint64_t n) {
  return atomic_fetch_add_explicit(p, n, memory_order_relaxed);
}

void mock_count(weir_drv_drv *d, enum mock_counter which) {
  (void)add(&d->counters[which], 1);
}

void mock_gauge_up(struct mock_gauge *g) {
  uint64_t now = add(&g->live, 1) + 1;
  uint64_t max = get(&g->max);
  while (now > max &&
         !atomic_compare_exchange_weak_explicit(
             &g->max, &max, now, memory_order_relaxed, memory_order_relaxed)) {
  }
}

void mock_gauge_down(struct mock_gauge *g) {
  (void)atomic_fetch_sub_explicit(&g->live, 1, memory_order_relaxed);
}

void mock_call_note(weir_drv_drv *d, enum mock_call call) {
  (void)add(&d->calls[call], 1);
  int32_t held = d->test == NULL ? 0 : d->test->locks_held();
  if (held != 0) {
    (void)fprintf(stderr,
                  "mock: %s called with %d lock(s) of the engine held\n",
                  names[call], (int)held);
    abort();
  }
}

bool mock_call_enter(weir_drv_conn *c, enum mock_call call) {
  mock_call_note(c->drv, call);
  /* Acquire: what the call before did happens before this one, as T1 says. */
  if (atomic_exchange_explicit(&c->inside, 1, memory_order_acq_rel) == 0) {
    return true;
  }
  mock_count(c->drv, MOCK_N_OVERLAPS);
  if (c->cfg->strict) {
    (void)fprintf(stderr, "mock: %s overlaps another call on session %llu\n",
                  names[call], (unsigned long long)c->id);
    abort();
  }
  return false;
}

void mock_call_leave(weir_drv_conn *c) {
  atomic_store_explicit(&c->inside, 0, memory_order_release);
}

weir_drv_status mock_misuse(weir_drv_conn *c, enum mock_call call) {
  mock_count(c->drv, MOCK_N_MISUSES);
  if (c->cfg->strict) {
    (void)fprintf(stderr, "mock: %s is not legal now on session %llu\n",
                  names[call], (unsigned long long)c->id);
    abort();
  }
  return WEIR_DRV_E_INVALID;
}

/* ----------------------------------------------------------------- control */

static void read_counts(weir_drv_drv *d, struct mock_counts *out) {
  struct mock_counts now;
  memset(&now, 0, sizeof now);
  for (uint32_t i = 0; i < MOCK_CALLS; i++) {
    now.calls[i] = get(&d->calls[i]);
  }
  now.conns_live = get(&d->conns.live);
  now.conns_max = get(&d->conns.max);
  now.sessions_live = get(&d->sessions.live);
  now.sessions_max = get(&d->sessions.max);
  now.connects_running = get(&d->connects.live);
  now.connects_max = get(&d->connects.max);
  now.running = get(&d->running.live);
  now.running_max = get(&d->running.max);
  now.hung = get(&d->counters[MOCK_N_HUNG]);
  now.failed = get(&d->counters[MOCK_N_FAILED]);
  now.cancelled = get(&d->counters[MOCK_N_CANCELLED]);
  now.died = get(&d->counters[MOCK_N_DIED]);
  now.rows = get(&d->counters[MOCK_N_ROWS]);
  now.resets = get(&d->counters[MOCK_N_RESETS]);
  now.credentials = get(&d->counters[MOCK_N_CREDENTIALS]);
  now.resolves = get(&d->counters[MOCK_N_RESOLVES]);
  now.offloads = get(&d->counters[MOCK_N_OFFLOADS]);
  now.forgets = get(&d->counters[MOCK_N_FORGETS]);
  now.overlaps = get(&d->counters[MOCK_N_OVERLAPS]);
  now.misuses = get(&d->counters[MOCK_N_MISUSES]);
  now.leaked = get(&d->counters[MOCK_N_LEAKED]);
  now.begins = get(&d->counters[MOCK_N_BEGINS]);
  now.commits = get(&d->counters[MOCK_N_COMMITS]);
  now.rollbacks = get(&d->counters[MOCK_N_ROLLBACKS]);
  now.saves = get(&d->counters[MOCK_N_SAVES]);
  now.prepared = get(&d->counters[MOCK_N_PREPARED]);
  now.reused = get(&d->counters[MOCK_N_REUSED]);
  uint32_t size =
      out->struct_size < sizeof now ? out->struct_size : (uint32_t)sizeof now;
  now.struct_size = out->struct_size;
  memcpy(out, &now, size);
}

/* An eventfd refuses a write only when its counter is full, and then it is
 * readable, which is all that matters. */
static void wake_locked(const weir_drv_conn *c) {
  uint64_t one = 1;
  if (c->event_fd >= 0 && write(c->event_fd, &one, sizeof one) < 0) {
    return;
  }
}

static void release_locked(weir_drv_conn *c) {
  c->hang_order = 0;
  (void)atomic_fetch_sub_explicit(&c->drv->counters[MOCK_N_HUNG], 1,
                                  memory_order_relaxed);
  atomic_store_explicit(&c->released, 1, memory_order_release);
  wake_locked(c);
}

static weir_drv_conn *longest_hung_locked(weir_drv_drv *d) {
  weir_drv_conn *found = NULL;
  for (weir_drv_conn *c = d->oldest; c != NULL; c = c->newer) {
    if (c->hang_order != 0 &&
        (found == NULL || c->hang_order < found->hang_order)) {
      found = c;
    }
  }
  return found;
}

static uint32_t release_hung(weir_drv_drv *d, uint32_t n) {
  uint32_t done = 0;
  (void)pthread_mutex_lock(&d->mu);
  while (n == 0 || done < n) {
    weir_drv_conn *c = longest_hung_locked(d);
    if (c == NULL) {
      break;
    }
    release_locked(c);
    done++;
  }
  (void)pthread_mutex_unlock(&d->mu);
  return done;
}

static bool is_live(const weir_drv_conn *c) {
  return atomic_load_explicit(&c->live, memory_order_acquire) == 1 &&
         atomic_load_explicit(&c->killed, memory_order_acquire) == 0;
}

static void kill_locked(weir_drv_conn *c) {
  mock_count(c->drv, MOCK_N_DIED);
  mock_session_end(c);
  atomic_store_explicit(&c->killed, 1, memory_order_release);
  if (c->hang_order != 0) {
    release_locked(c);
  } else {
    wake_locked(c);
  }
}

static int32_t kill_idle(weir_drv_drv *d, uint32_t nth) {
  uint32_t seen = 0;
  int32_t done = 0;
  (void)pthread_mutex_lock(&d->mu);
  for (weir_drv_conn *c = d->oldest; c != NULL && done == 0; c = c->newer) {
    bool idle = atomic_load_explicit(&c->busy, memory_order_acquire) == 0;
    seen += idle && is_live(c) ? 1 : 0;
    if (idle && is_live(c) && seen == nth) {
      kill_locked(c);
      done = 1;
    }
  }
  (void)pthread_mutex_unlock(&d->mu);
  return done;
}

static int32_t kill_session(weir_drv_drv *d, uint64_t id) {
  int32_t done = 0;
  (void)pthread_mutex_lock(&d->mu);
  for (weir_drv_conn *c = d->oldest; c != NULL && done == 0; c = c->newer) {
    if (c->id == id && is_live(c)) {
      kill_locked(c);
      done = 1;
    }
  }
  (void)pthread_mutex_unlock(&d->mu);
  return done;
}

const struct mock_control mock_control_table = {
    .struct_size = (uint32_t)sizeof(struct mock_control),
    .version = MOCK_CONTROL_VERSION,
    .counts = read_counts,
    .release_hung = release_hung,
    .kill_idle = kill_idle,
    .kill_session = kill_session,
};

_Static_assert(sizeof(struct mock_counts) == MOCK_COUNTS_SIZE_V1,
               "mock_counts changed size");
