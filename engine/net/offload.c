/* SPDX-License-Identifier: MIT */
/* Jobs wait in lanes, one lane for each fair_key that has something waiting or
 * running.  Lanes with waiting jobs stand in a ring; a free thread goes round it
 * and takes the first job of the first lane that may run one more, then moves
 * the head of the ring past that lane.  A lane is refused only while it runs
 * something, so a thread passes at most as many lanes as there are threads.
 *
 * The state is counted: one reference for the owner, one for each thread.  A
 * thread that comes back from foreign code after the stop finds `stopping`, and
 * the last to leave frees. */
#include "net/offload.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "sys/assert.h"
#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"
#include "sys/park.h"
#include "sys/thread.h"

#define BUCKETS 256u

struct weir__lane {
  uint64_t key;
  uint32_t running;
  struct weir__job *first; /* waiting, oldest first */
  struct weir__job *last;
  struct weir__lane *ring_next; /* not NULL while in the ring */
  struct weir__lane *ring_prev;
  struct weir__lane *chain; /* next in its bucket */
};

enum worker_state {
  NONE,
  STARTING, /* the slot is taken, thread not yet valid */
  STARTED
};

struct worker {
  struct weir__offload *offload;
  uint64_t thread;
  enum worker_state state;
  bool inside; /* a job */
};

struct weir__offload {
  struct weir__mutex mu; /* guards all below but `returned` */
  struct weir__cond work;
  struct weir__lane *bucket[BUCKETS];
  struct weir__lane *ring; /* the lane whose turn it is, or NULL */
  uint64_t queued;
  uint64_t done;
  uint32_t busy;    /* workers inside a job */
  uint32_t asleep;  /* workers in cond_wait ... */
  uint32_t called;  /* ... and those of them that were signalled */
  uint32_t workers; /* STARTING and STARTED */
  uint32_t refs;    /* the owner and each worker */
  bool stopping;
  bool left; /* the stop has given up waiting: nobody joins any more */

  /* Counts the jobs that have returned: what the stop sleeps on. */
  _Atomic uint32_t returned;

  uint32_t max;
  struct worker worker[];
};

/* -------------------------------------------------------------------- lanes */

static struct weir__lane **bucket_of(struct weir__offload *o, uint64_t key) {
  uint64_t mixed = key * UINT64_C(0x9E3779B97F4A7C15);
  return &o->bucket[mixed >> 56];
}

static struct weir__lane *find_lane(struct weir__offload *o, uint64_t key) {
  struct weir__lane *lane = *bucket_of(o, key);
  while (lane != NULL && lane->key != key) {
    lane = lane->chain;
  }
  return lane;
}

static struct weir__lane *get_lane(struct weir__offload *o, uint64_t key) {
  struct weir__lane *lane = find_lane(o, key);
  if (lane == NULL) {
    lane = weir__mem_new(sizeof *lane);
    if (lane != NULL) {
      struct weir__lane **bucket = bucket_of(o, key);
      lane->key = key;
      lane->chain = *bucket;
      *bucket = lane;
    }
  }
  return lane;
}

/* A lane with nothing waiting and nothing running goes. */
static void drop_lane(struct weir__offload *o, struct weir__lane *lane) {
  if (lane->running != 0 || lane->first != NULL) {
    return;
  }
  struct weir__lane **link = bucket_of(o, lane->key);
  while (*link != lane) {
    link = &(*link)->chain;
  }
  *link = lane->chain;
  weir__mem_free(lane);
}

/* Joins behind the lane that will have its turn last. */
static void ring_add(struct weir__offload *o, struct weir__lane *lane) {
  if (o->ring == NULL) {
    lane->ring_next = lane;
    lane->ring_prev = lane;
    o->ring = lane;
    return;
  }
  lane->ring_next = o->ring;
  lane->ring_prev = o->ring->ring_prev;
  lane->ring_prev->ring_next = lane;
  lane->ring_next->ring_prev = lane;
}

static void ring_remove(struct weir__offload *o, struct weir__lane *lane) {
  if (o->ring == lane) {
    o->ring = lane->ring_next == lane ? NULL : lane->ring_next;
  }
  lane->ring_next->ring_prev = lane->ring_prev;
  lane->ring_prev->ring_next = lane->ring_next;
  lane->ring_next = NULL;
  lane->ring_prev = NULL;
}

/* ------------------------------------------------------------- queued jobs */

static void enqueue(struct weir__offload *o,
                    struct weir__lane *lane,
                    struct weir__job *job) {
  job->lane = lane;
  job->next = NULL;
  job->prev = lane->last;
  if (lane->last == NULL) {
    lane->first = job;
    ring_add(o, lane);
  } else {
    lane->last->next = job;
  }
  lane->last = job;
  o->queued++;
}

static void dequeue(struct weir__offload *o, struct weir__job *job) {
  struct weir__lane *lane = job->lane;
  WEIR_ASSERT(lane != NULL);
  if (job->prev == NULL) {
    lane->first = job->next;
  } else {
    job->prev->next = job->next;
  }
  if (job->next == NULL) {
    lane->last = job->prev;
  } else {
    job->next->prev = job->prev;
  }
  if (lane->first == NULL) {
    ring_remove(o, lane);
  }
  job->lane = NULL;
  o->queued--;
}

/* The fairness rule of the header. */
static bool may_run(const struct weir__offload *o,
                    const struct weir__lane *lane) {
  return lane->running == 0 || lane->running < o->max - o->busy;
}

/* The lane that a free thread serves next, or NULL. */
static struct weir__lane *next_lane(const struct weir__offload *o) {
  struct weir__lane *lane = o->ring;
  while (lane != NULL && !may_run(o, lane)) {
    lane = lane->ring_next == o->ring ? NULL : lane->ring_next;
  }
  return o->busy < o->max ? lane : NULL;
}

/* ------------------------------------------------------------------ workers */

static void free_offload(struct weir__offload *o) {
  weir__cond_fini(&o->work);
  weir__mutex_fini(&o->mu);
  weir__mem_free(o);
}

static void release(struct weir__offload *o) {
  weir__mutex_lock(&o->mu);
  bool last = --o->refs == 0;
  weir__mutex_unlock(&o->mu);
  if (last) {
    free_offload(o);
  }
}

/* Sees to it that somebody runs what may run: wakes a worker, or takes a slot
 * for a new one, which the caller then starts without the lock. */
static struct worker *call_worker(struct weir__offload *o) {
  if (o->stopping || next_lane(o) == NULL) {
    return NULL;
  }
  if (o->asleep > o->called) {
    o->called++;
    weir__cond_signal(&o->work);
    return NULL;
  }
  for (uint32_t i = 0; i < o->max; i++) {
    if (o->worker[i].state == NONE) {
      o->worker[i].state = STARTING;
      o->workers++;
      o->refs++;
      return &o->worker[i];
    }
  }
  return NULL;
}

/* sys/thread.h knows only threads that are joined. */
static void let_go(uint64_t thread) {
  pthread_t t;
  memcpy(&t, &thread, sizeof t);
  (void)pthread_detach(t);
}

static void *work(void *arg);

static int start_worker(struct weir__offload *o, struct worker *w) {
  uint64_t thread = 0;
  w->offload = o;
  int rc = weir__thread_start("weir-offload", work, w, &thread);
  weir__mutex_lock(&o->mu);
  if (rc == 0) {
    w->thread = thread;
    w->state = STARTED;
    if (o->left) {
      let_go(thread);
      w->state = NONE;
    }
  } else {
    w->state = NONE;
    o->workers--;
    o->refs--; /* not the last: the caller has one */
  }
  weir__mutex_unlock(&o->mu);
  return rc;
}

/* Takes the next job that may run; its lane counts it as running. */
static struct weir__job *begin_job(struct weir__offload *o,
                                   struct weir__lane **out_lane) {
  struct weir__lane *lane = next_lane(o);
  if (lane == NULL) {
    return NULL;
  }
  struct weir__job *job = lane->first;
  o->ring = lane->ring_next;
  dequeue(o, job);
  lane->running++;
  o->busy++;
  *out_lane = lane;
  return job;
}

static void end_job(struct weir__offload *o, struct weir__lane *lane) {
  lane->running--;
  o->busy--;
  o->done++;
  drop_lane(o, lane);
  (void)weir__add_acq_rel_u32(&o->returned, 1);
  weir__unpark(&o->returned);
}

/* Runs one job, with the lock held before and after; false: nothing to do.  One
 * more worker is called if there is still something to run, because the end of
 * a job may have lifted the refusal of more than one lane. */
static bool work_once(struct weir__offload *o, struct worker *self)
    WEIR_REQUIRES(o->mu) {
  struct weir__lane *lane = NULL;
  struct weir__job *job = begin_job(o, &lane);
  if (job == NULL) {
    return false;
  }
  self->inside = true;
  struct worker *another = call_worker(o);
  weir__mutex_unlock(&o->mu);
  if (another != NULL) {
    /* Failing only makes the others wait for a thread that is there. */
    (void)start_worker(o, another);
  }
  job->run(job);
  weir__mutex_lock(&o->mu);
  self->inside = false;
  end_job(o, lane);
  return true;
}

static void *work(void *arg) {
  struct worker *self = arg;
  struct weir__offload *o = self->offload;
  weir__mutex_lock(&o->mu);
  while (!o->stopping) {
    if (!work_once(o, self)) {
      o->asleep++;
      weir__cond_wait(&o->work, &o->mu);
      o->asleep--;
      o->called -= o->called > 0;
    }
  }
  weir__mutex_unlock(&o->mu);
  release(o);
  return NULL;
}

/* -------------------------------------------------------------- for callers */

int weir__offload_new(uint32_t max_threads, struct weir__offload **out) {
  if (max_threads == 0 || max_threads > WEIR_OFFLOAD_THREADS_MAX) {
    return -EINVAL;
  }
  struct weir__offload *o =
      weir__mem_new(sizeof *o + (size_t)max_threads * sizeof(struct worker));
  if (o == NULL) {
    return -ENOMEM;
  }
  weir__mutex_init(&o->mu, WEIR_RANK_OFFLOAD);
  weir__cond_init(&o->work);
  o->max = max_threads;
  o->refs = 1;
  *out = o;
  return 0;
}

/* Takes every waiting job out of the queue, as a list. */
static struct weir__job *take_all(struct weir__offload *o) {
  struct weir__job *taken = NULL;
  while (o->ring != NULL) {
    struct weir__lane *lane = o->ring;
    struct weir__job *job = lane->first;
    dequeue(o, job);
    drop_lane(o, lane);
    job->next = taken;
    taken = job;
  }
  return taken;
}

static void drop_jobs(struct weir__job *job) {
  while (job != NULL) {
    struct weir__job *next = job->next;
    if (job->drop != NULL) {
      job->drop(job);
    }
    job = next;
  }
}

/* The thread that was to run this job could not be started.  If there is another
 * the job waits for that one, and may even have been run and freed by it.  If
 * there is none, nobody can have touched it, and jobs that counted on our thread
 * are dropped. */
static int give_up(struct weir__offload *o, struct weir__job *job, int rc) {
  weir__mutex_lock(&o->mu);
  struct weir__job *lost = NULL;
  bool alone = o->workers == 0;
  if (alone) {
    struct weir__lane *lane = job->lane;
    dequeue(o, job);
    drop_lane(o, lane);
    lost = take_all(o);
  }
  weir__mutex_unlock(&o->mu);
  drop_jobs(lost);
  return alone ? rc : 0;
}

int weir__offload_submit(struct weir__offload *offload, struct weir__job *job) {
  weir__mutex_lock(&offload->mu);
  struct weir__lane *lane = NULL;
  struct worker *fresh = NULL;
  int rc = offload->stopping ? -ESHUTDOWN : 0;
  if (rc == 0) {
    lane = get_lane(offload, job->fair_key);
    rc = lane == NULL ? -ENOMEM : 0;
  }
  if (rc == 0) {
    enqueue(offload, lane, job);
    fresh = call_worker(offload);
  }
  weir__mutex_unlock(&offload->mu);
  if (fresh != NULL) {
    rc = start_worker(offload, fresh);
    rc = rc == 0 ? 0 : give_up(offload, job, rc);
  }
  return rc;
}

bool weir__offload_withdraw(struct weir__offload *offload,
                            struct weir__job *job) {
  weir__mutex_lock(&offload->mu);
  struct weir__lane *lane = job->lane;
  if (lane != NULL) {
    dequeue(offload, job);
    drop_lane(offload, lane);
  }
  weir__mutex_unlock(&offload->mu);
  return lane != NULL;
}

void weir__offload_stats(struct weir__offload *offload,
                         struct weir__offload_stats *out) {
  weir__mutex_lock(&offload->mu);
  out->threads = offload->workers;
  out->busy = offload->busy;
  out->queued = offload->queued;
  out->done = offload->done;
  weir__mutex_unlock(&offload->mu);
}

static uint32_t busy(struct weir__offload *o) {
  weir__mutex_lock(&o->mu);
  uint32_t n = o->busy;
  weir__mutex_unlock(&o->mu);
  return n;
}

static void wait_for_jobs(struct weir__offload *o, uint64_t deadline) {
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(&o->returned);
    if (busy(o) == 0 || weir__clock_now() >= deadline) {
      return;
    }
    (void)weir__park(&o->returned, seen, deadline);
  }
}

/* Decides each worker's end under the lock, for good: a worker outside a job is
 * on its way out and is joined, one inside is let go. */
static uint32_t let_go_of_stuck(struct weir__offload *o) {
  uint32_t stuck = 0;
  weir__mutex_lock(&o->mu);
  o->left = true;
  for (uint32_t i = 0; i < o->max; i++) {
    struct worker *w = &o->worker[i];
    if (w->state == STARTED && w->inside) {
      let_go(w->thread);
      w->state = NONE;
      stuck++;
    }
  }
  weir__mutex_unlock(&o->mu);
  return stuck;
}

static void join_rest(struct weir__offload *o) {
  for (uint32_t i = 0; i < o->max; i++) {
    weir__mutex_lock(&o->mu);
    bool join = o->worker[i].state == STARTED;
    weir__mutex_unlock(&o->mu);
    if (join) {
      weir__thread_join(o->worker[i].thread);
    }
  }
}

uint32_t weir__offload_stop(struct weir__offload *offload, uint64_t deadline) {
  if (offload == NULL) {
    return 0;
  }
  weir__mutex_lock(&offload->mu);
  offload->stopping = true;
  struct weir__job *waiting = take_all(offload);
  weir__cond_broadcast(&offload->work);
  weir__mutex_unlock(&offload->mu);
  drop_jobs(waiting);
  wait_for_jobs(offload, deadline);
  uint32_t stuck = let_go_of_stuck(offload);
  join_rest(offload);
  release(offload);
  return stuck;
}
