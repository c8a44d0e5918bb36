/* SPDX-License-Identifier: MIT */
/* crowd_work.c - threads that get leases, in every way there is, and use them. */
#include "crowd.h"

static const char *const statements[] = {"rows 3",
                                         "sleep 100us; rows 2; count 1",
                                         "count 4",
                                         "sleep 5ms",
                                         "rows 60; sleep 50us; rows 5",
                                         "fail 208 no",
                                         "notice 1 1 hello",
                                         "begin",
                                         "set x",
                                         "kill",
                                         "hang",
                                         "rows 900"};

/* Whatever a lease may answer.  BUSY: a queue is full, or a result is read. */
static void allow(const char *what, int rc) {
  STRESS_ALLOW(what, rc, WEIR_PENDING, WEIR_E_FAIL, WEIR_E_TIMEOUT,
               WEIR_E_CANCELLED, WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_BUSY);
  (void)atomic_fetch_add(&crowd.failures, rc < 0);
}

/* Whatever an acquire may answer.  Handles of the last pool become stale, all do
 * when the engine ends. */
static void allow_acquire(const char *what, unsigned pool, int rc) {
  if (rc == WEIR_E_HANDLE && pool != CROWD_POOLS - 1 && !crowd.rough) {
    stress_broken(what, rc);
  }
  STRESS_ALLOW(what, rc, WEIR_PENDING, WEIR_E_FAIL, WEIR_E_TIMEOUT,
               WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_OVERLOADED, WEIR_E_DOWN,
               WEIR_E_BUSY);
  (void)atomic_fetch_add(&crowd.failures, rc < 0);
}

static weir_h any_queue(struct stress_random *r) {
  return crowd.queue[stress_below(r, CROWD_QUEUES)];
}

static int64_t any_timeout(struct stress_random *r) {
  switch (stress_below(r, 8)) {
  case 0:
    return 0;
  case 1:
  case 2:
    return 20 * STRESS_US;
  case 3:
    return stress_below(r, 1000) * STRESS_US;
  case 4:
    return WEIR_TIMEOUT_POOL;
  case 5:
    return WEIR_TIMEOUT_NEVER;
  default:
    return stress_below(r, 50) * STRESS_MS;
  }
}

static void see(struct crowd_lease *l, int rc, const struct weir_item *item) {
  l->reading = rc == WEIR_OK && item->type != WEIR_ITEM_DONE;
  if (l->reading &&
      (item->type == WEIR_ITEM_ROWS || item->type == WEIR_ITEM_OUTPUT) &&
      weir_rows_free(item->rows) != WEIR_OK) {
    stress_broken("rows_free", WEIR_E_HANDLE);
  }
}

static int blocking(struct crowd_lease *l, struct stress_random *r) {
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_exec_opts opts = {.struct_size = sizeof opts};
  const char *sql = statements[stress_below(r, 12)];
  int rc;
  if (l->reading) {
    rc = weir_next(l->lease, &item, NULL);
    see(l, rc, &item);
    return rc;
  }
  switch (stress_below(r, 8)) {
  case 0:
    return weir_begin(l->lease, (int32_t)stress_below(r, 6), NULL);
  case 1:
    return weir_commit(l->lease, NULL);
  case 2:
    return weir_rollback(l->lease, NULL);
  case 3:
    return weir_save(l->lease, "s", 1, NULL);
  default:
    opts.timeout_ns = stress_below(r, 4) == 0 ? 20 * STRESS_US : 0;
    rc = weir_exec(l->lease, sql, strlen(sql), &opts, NULL);
    l->reading = rc == WEIR_OK;
    return rc;
  }
}

/* The lease is somebody else's as soon as the submission answers PENDING. */
static int submit(struct crowd_lease *l, struct stress_random *r) {
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_exec_opts opts = {.struct_size = sizeof opts};
  const char *sql = statements[stress_below(r, 12)];
  uint32_t t = crowd_ticket(l->session, INT64_MAX);
  weir_h op = 0;
  int rc;
  if (t == CROWD_TICKETS) {
    return blocking(l, r);
  }
  if (l->reading) {
    rc = weir_submit_next(l->lease, &item, any_queue(r), t, &op, NULL);
    if (rc != WEIR_E_BUSY) {
      see(l, rc, &item);
    }
  } else if (stress_below(r, 3) == 0) {
    rc = weir_submit_txn(l->lease, WEIR_OP_BEGIN + (int32_t)stress_below(r, 3),
                         NULL, any_queue(r), t, &op, NULL);
  } else {
    opts.timeout_ns = stress_below(r, 4) == 0 ? 20 * STRESS_US : 0;
    rc = weir_submit_exec(l->lease, sql, strlen(sql), &opts, any_queue(r), t,
                          &op, NULL);
    l->reading = rc == WEIR_OK;
  }
  crowd_submitted(t, rc, op);
  return rc;
}

/* Some steps, until it is given back or left to an operation. */
static void use(struct crowd_lease *l, struct stress_random *r) {
  while (l->lease != 0) {
    if (stress_below(r, 4) == 0 || atomic_load(&crowd.over) != 0) {
      crowd_give(l, r);
      return;
    }
    int rc = stress_below(r, 2) == 0 ? blocking(l, r) : submit(l, r);
    allow("use", rc);
    if (rc == WEIR_PENDING) {
      return;
    }
  }
}

static void acquire(struct stress_random *r) {
  unsigned i = stress_below(r, CROWD_POOLS);
  int64_t timeout = any_timeout(r);
  int64_t deadline = crowd_deadline(timeout);
  weir_h lease = 0;
  int rc = weir_acquire(atomic_load(&crowd.pool[i]), timeout, &lease, NULL);
  allow_acquire("acquire", i, rc);
  crowd_in_time("acquire", deadline);
  if (rc == WEIR_OK) {
    struct crowd_lease l = crowd_hold(lease);
    use(&l, r);
  }
}

static void submit_acquire(struct stress_random *r) {
  unsigned i = stress_below(r, CROWD_POOLS);
  int64_t timeout = any_timeout(r);
  uint32_t t = crowd_ticket(0, crowd_deadline(timeout));
  weir_h lease = 0;
  weir_h op = 0;
  if (t == CROWD_TICKETS) {
    return;
  }
  int rc = weir_submit_acquire(atomic_load(&crowd.pool[i]), timeout,
                               any_queue(r), t, &lease, &op, NULL);
  allow_acquire("submit_acquire", i, rc);
  crowd_submitted(t, rc, op);
  if (rc == WEIR_OK) {
    struct crowd_lease l = crowd_hold(lease);
    use(&l, r);
  }
}

/* What has completed goes on here. */
static void go_on(const struct weir_completion *c, struct stress_random *r) {
  const struct crowd_ticket *t = crowd_told(c);
  struct crowd_lease l = {.lease = c->lease, .session = t->session};
  if (c->type == WEIR_OP_ACQUIRE) {
    STRESS_ALLOW("acquired", c->status, WEIR_E_FAIL, WEIR_E_TIMEOUT,
                 WEIR_E_CLOSED, WEIR_E_OVERLOADED, WEIR_E_DOWN,
                 WEIR_E_CANCELLED);
    if (c->status != WEIR_OK) {
      return;
    }
    l = crowd_hold(c->lease);
  } else {
    allow("completion", c->status);
    l.reading = c->status == WEIR_OK &&
                (c->type == WEIR_OP_EXEC || c->type == WEIR_OP_NEXT);
  }
  use(&l, r);
}

static void take(struct stress_random *r, int64_t timeout_ns) {
  struct weir_completion c = {.struct_size = sizeof c};
  weir_h queue = any_queue(r);
  int rc = weir_queue_take(queue, timeout_ns, &c, NULL);
  if (rc == WEIR_OK) {
    go_on(&c, r);
  } else if (crowd.rough) {
    STRESS_ALLOW("take", rc, WEIR_E_TIMEOUT, WEIR_E_CANCELLED, WEIR_E_CLOSED,
                 WEIR_E_HANDLE);
  } else {
    STRESS_ALLOW("take", rc, WEIR_E_TIMEOUT, WEIR_E_CANCELLED);
  }
}

void *crowd_call(void *random) {
  struct stress_random *r = random;
  while (atomic_load(&crowd.over) == 0) {
    switch (stress_below(r, 4)) {
    case 0:
      submit_acquire(r);
      break;
    case 1:
      take(r, stress_below(r, 500) * STRESS_US);
      break;
    default:
      acquire(r);
      break;
    }
    if (stress_below(r, 4) == 0) {
      stress_pause(stress_below(r, 2000) * STRESS_US);
    }
  }
  (void)atomic_fetch_sub(&crowd.callers, 1);
  return NULL;
}

/* What each pool says of itself, in the time-out of one more acquire. */
_Noreturn static void forgotten(void) {
  static _Atomic int told;
  while (atomic_exchange(&told, 1) != 0) {
    stress_pause(STRESS_S); /* another taker is telling */
  }
  (void)fprintf(stderr, "seed %ld, %u callers, %lld out\n", crowd.seed,
                atomic_load(&crowd.callers),
                (long long)atomic_load(&crowd.out));
  for (unsigned i = 0; i < CROWD_POOLS; i++) {
    struct weir_error err = {.struct_size = sizeof err};
    struct weir_pool_stats s = {.struct_size = sizeof s};
    weir_h lease = 0;
    weir_h pool = atomic_load(&crowd.pool[i]);
    (void)weir_pool_stats(pool, &s);
    int rc = weir_acquire(pool, 20 * STRESS_MS, &lease, &err);
    (void)fprintf(
        stderr,
        "pool %u: %s: %s; idle %u, leased %u, connecting %u, reserved "
        "%u, closing %u, %u waiters, %u of %u, state %u, breaker %u\n",
        i, weir_status_name(rc), err.message, s.idle, s.leased, s.connecting,
        s.reserved, s.closing, s.waiters, s.effective_max, s.max_size, s.state,
        s.breaker);
  }
  stress_broken("somebody is forgotten", WEIR_E_TIMEOUT);
}

/* Until nothing is out and nobody is left who could submit. */
void *crowd_take(void *random) {
  struct stress_random *r = random;
  int64_t end = 0;
  for (;;) {
    bool over = atomic_load(&crowd.over) != 0;
    bool alone = atomic_load(&crowd.callers) == 0;
    if (over && alone && (crowd.rough || atomic_load(&crowd.out) == 0)) {
      return NULL;
    }
    end = over && end == 0 ? stress_now() + 3 * STRESS_PATIENCE_NS : end;
    if (end != 0 && stress_now() > end) {
      forgotten();
    }
    take(r, stress_below(r, 2) * STRESS_MS);
  }
}
