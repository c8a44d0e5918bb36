/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <stddef.h>
#include <sys/resource.h>

#include "alloc.h"
#include "clock.h"
#include "trace.h"

void worker_thread_begin(void) {
  alloc_quiet(true);
  trace_register();
}

void worker_reset(struct worker *w) {
  w->done = 0;
  w->timeouts = 0;
  w->begun_ns = 0;
  w->ended_ns = 0;
  w->fault.set = false;
  w->n_stamps = 0;
  w->held_ns = 0;
}

/* How often this thread has gone to sleep of its own will. */
static long sleeps(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

static enum pool_result take_observed(struct worker *w, uint64_t *out_lease) {
  struct stamp s;
  long before = sleeps();
  s.asked_ns = clock_now();
  s.asked =
      atomic_fetch_add_explicit(&w->order->asked, 1, memory_order_relaxed);
  alloc_quiet(false);
  enum pool_result rc = w->kind->take(w->pool, out_lease, &w->fault);
  alloc_quiet(true);
  s.got = atomic_fetch_add_explicit(&w->order->got, 1, memory_order_relaxed);
  s.got_ns = clock_now();
  s.slept = sleeps() != before;
  w->got_ns = s.got_ns;
  if (rc == POOL_OK && w->n_stamps < w->quota) {
    w->stamps[w->n_stamps++] = s;
  }
  return rc;
}

static enum pool_result take_traced(struct worker *w, uint64_t *out_lease) {
  trace_enter();
  enum pool_result rc = w->kind->take(w->pool, out_lease, &w->fault);
  trace_leave();
  return rc;
}

static enum pool_result take(struct worker *w, uint64_t *out_lease) {
  switch (w->pass) {
  case PASS_OBSERVED:
    return take_observed(w, out_lease);
  case PASS_TRACED:
    return take_traced(w, out_lease);
  case PASS_PLAIN:
  default:
    return w->kind->take(w->pool, out_lease, &w->fault);
  }
}

bool worker_take(struct worker *w, uint64_t *out_lease) {
  enum pool_result rc = take(w, out_lease);
  if (rc == POOL_TIMEOUT) {
    w->timeouts++;
    w->fault.set = false; /* a figure, not a failure */
  }
  return rc == POOL_OK;
}

void worker_call_begin(const struct worker *w) {
  if (w->pass == PASS_OBSERVED) {
    alloc_quiet(false);
  } else if (w->pass == PASS_TRACED) {
    trace_enter();
  }
}

void worker_call_end(const struct worker *w) {
  if (w->pass == PASS_OBSERVED) {
    alloc_quiet(true);
  } else if (w->pass == PASS_TRACED) {
    trace_leave();
  }
}

void worker_give(struct worker *w, uint64_t lease) {
  if (w->pass == PASS_PLAIN) {
    w->done += w->kind->give(w->pool, lease, &w->fault) == 0 ? 1 : 0;
    return;
  }
  if (w->pass == PASS_OBSERVED) {
    w->held_ns += clock_now() - w->got_ns;
  }
  worker_call_begin(w);
  w->done += w->kind->give(w->pool, lease, &w->fault) == 0 ? 1 : 0;
  worker_call_end(w);
}

void worker_query(struct worker *w, uint64_t lease) {
  if (w->kind->query == NULL) {
    return;
  }
  worker_call_begin(w);
  (void)w->kind->query(w->pool, lease, &w->fault);
  worker_call_end(w);
}
