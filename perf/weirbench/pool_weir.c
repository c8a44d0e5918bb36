/* SPDX-License-Identifier: MIT */
/* Weir as a pool under test: nothing but weir.h is used. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

#include "clock.h"
#include "pool.h"

#define KEY_BYTES     16384u
#define NAME_BYTES    64u
#define STATEMENT     "SELECT 1"
#define GRACE_NS      INT64_C(5000000000)
#define SETTLE_NS     INT64_C(10000000000) /* longest a renewal takes */
#define SETTLE_STEP   INT64_C(200000)
/* Longer than any acquire may wait. */
#define COMPLETION_NS INT64_C(130000000000)

struct weir_bench {
  weir_h engine;
  weir_h pool;
  char *text; /* the connection string with the workload's settings */
  size_t text_len;
  char driver[NAME_BYTES];
  char strategy[NAME_BYTES];
  struct pool_counts before; /* of the pools closed by renew */
};

static void tell(struct fault *fault,
                 const char *doing,
                 int32_t rc,
                 const struct weir_error *err) {
  if (err->phase == WEIR_PHASE_PARSE || err->phase == WEIR_PHASE_LOAD) {
    fault_usage(fault, "%s", err->message);
  } else {
    fault_set(fault, "%s: %s: %s", doing, weir_status_name(rc), err->message);
  }
}

/* Copies the value of an option that a key shows, or the fallback. */
static void copy_option(const char *key,
                        const char *option,
                        const char *fallback,
                        char out[NAME_BYTES]) {
  const char *found = strstr(key, option);
  const char *value = found == NULL ? fallback : found + strlen(option);
  size_t len = strcspn(value, ";");
  len = len < NAME_BYTES ? len : NAME_BYTES - 1;
  memcpy(out, value, len);
  out[len] = '\0';
}

/* The driver's name stands first in a pool's key; what is not at its default
 * follows. */
static int read_names(struct weir_bench *b,
                      const char *conninfo,
                      struct fault *fault) {
  struct weir_error err = {.struct_size = sizeof err};
  char key[KEY_BYTES];
  int32_t rc = weir_conninfo_key(b->engine, conninfo, strlen(conninfo), key,
                                 sizeof key, NULL, &err);
  if (rc != WEIR_OK) {
    tell(fault, "reading the connection string", rc, &err);
    return -1;
  }
  copy_option(key, "Driver=", "unknown", b->driver);
  copy_option(key, ";Pool Strategy=", "direct", b->strategy);
  return 0;
}

/* What stands before the user's text is a default, what stands behind it is
 * the workload's: the last of several options of one name counts. */
static int compose(struct weir_bench *b,
                   const struct pool_config *config,
                   struct fault *fault) {
  bool mock = strcmp(b->driver, "mock") == 0;
  const char *strategy = config->strategy;
  int n = asprintf(&b->text,
                   "Connect Timeout=60;%s%s;Max Pool Size=%" PRIu32
                   ";Min Pool Size=0%s%s",
                   mock ? "Mock Connect Delay=5ms;" : "", config->conninfo,
                   config->max_pool, strategy == NULL ? "" : ";Pool Strategy=",
                   strategy == NULL ? "" : strategy);
  if (n < 0) {
    b->text = NULL;
    fault_set(fault, "no memory");
    return -1;
  }
  b->text_len = (size_t)n;
  if (strategy != NULL) {
    (void)snprintf(b->strategy, sizeof b->strategy, "%s", strategy);
  }
  return 0;
}

static int open_pool(struct weir_bench *b, struct fault *fault) {
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = weir_pool_open(b->engine, b->text, b->text_len, &b->pool, &err);
  if (rc == WEIR_OK) {
    return 0;
  }
  if (err.phase == WEIR_PHASE_PARSE) {
    /* Its position counts what compose() put in front, too. */
    fault_usage(fault, "--conn with what the workload adds: %s", err.message);
  } else {
    tell(fault, "opening the pool", rc, &err);
  }
  return -1;
}

static void close_bench(void *pool) {
  struct weir_bench *b = pool;
  if (b->engine != 0) {
    (void)weir_engine_shutdown(b->engine, GRACE_NS, NULL);
  }
  if (b->text != NULL) {
    explicit_bzero(b->text, b->text_len);
    free(b->text);
  }
  free(b);
}

static int open_engine(struct weir_bench *b, struct fault *fault) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {.struct_size = sizeof opts};
  /* In a child that is traced the parent's engine, which is closed, is to be
   * forgotten; elsewhere this is refused, which does not matter. */
  (void)weir_forget_after_fork();
  int32_t rc = weir_engine_open(&opts, &b->engine, &err);
  if (rc != WEIR_OK) {
    b->engine = 0;
    tell(fault, "opening an engine", rc, &err);
    return -1;
  }
  return 0;
}

static int open_bench(const struct pool_config *config,
                      void **out_pool,
                      struct fault *fault) {
  struct weir_bench *b = calloc(1, sizeof *b);
  if (b == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  if (open_engine(b, fault) != 0 ||
      read_names(b, config->conninfo, fault) != 0 ||
      compose(b, config, fault) != 0 || open_pool(b, fault) != 0) {
    close_bench(b);
    return -1;
  }
  *out_pool = b;
  return 0;
}

/* Clears the pool and waits until its sessions have ended. */
static int settle(struct weir_bench *b, struct weir_pool_stats *out_stats) {
  int64_t limit = clock_now() + SETTLE_NS;
  (void)weir_pool_clear(b->pool);
  for (;;) {
    struct weir_pool_stats s = {.struct_size = sizeof s};
    if (weir_pool_stats(b->pool, &s) != WEIR_OK) {
      return -1;
    }
    if (s.connecting + s.idle + s.leased + s.reserved + s.closing == 0) {
      *out_stats = s;
      return 0;
    }
    if (clock_now() > limit) {
      return -1;
    }
    clock_sleep(SETTLE_STEP);
  }
}

static void add_stats(struct pool_counts *to, const struct weir_pool_stats *s) {
  to->connects += s->connects_begun;
  to->timeouts += s->timeouts;
  to->waits += s->wait_count;
  to->wait_sum_ns += s->wait_sum_ns;
  to->overtakes += s->overtakes;
  to->wait_max_ns =
      s->wait_max_ns > to->wait_max_ns ? s->wait_max_ns : to->wait_max_ns;
  for (unsigned i = 0; i < POOL_BUCKETS; i++) {
    to->wait_bucket[i] += s->wait_bucket[i];
  }
}

static int renew(void *pool, struct fault *fault) {
  struct weir_bench *b = pool;
  struct weir_pool_stats s;
  if (settle(b, &s) != 0) {
    fault_set(fault, "the pool's connections did not end within 10 s of "
                     "weir_pool_clear()");
    return -1;
  }
  add_stats(&b->before, &s);
  (void)weir_pool_close(b->pool);
  return open_pool(b, fault);
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  const struct weir_bench *b = pool;
  struct weir_error err;
  err.struct_size = sizeof err;
  int32_t rc = weir_acquire(b->pool, WEIR_TIMEOUT_POOL, out_lease, &err);
  if (rc == WEIR_OK) {
    return POOL_OK;
  }
  tell(fault, "acquiring a connection", rc, &err);
  return rc == WEIR_E_TIMEOUT ? POOL_TIMEOUT : POOL_FAILED;
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  (void)pool;
  int32_t rc = weir_release(lease);
  if (rc != WEIR_OK) {
    fault_set(fault, "releasing a connection: %s", weir_status_name(rc));
    return -1;
  }
  return 0;
}

/* Reads the result to its end. */
static int drain(weir_h lease, struct fault *fault) {
  struct weir_error err;
  err.struct_size = sizeof err;
  for (;;) {
    struct weir_item item;
    item.struct_size = sizeof item;
    int32_t rc = weir_next(lease, &item, &err);
    if (rc != WEIR_OK) {
      tell(fault, "reading the result of " STATEMENT, rc, &err);
      return -1;
    }
    if (item.type == WEIR_ITEM_ROWS) {
      (void)weir_rows_free(item.rows);
    } else if (item.type == WEIR_ITEM_DONE) {
      return 0;
    }
  }
}

static int query(void *pool, uint64_t lease, struct fault *fault) {
  (void)pool;
  struct weir_error err;
  err.struct_size = sizeof err;
  int32_t rc = weir_exec(lease, STATEMENT, sizeof STATEMENT - 1, NULL, &err);
  if (rc != WEIR_OK) {
    tell(fault, "running " STATEMENT, rc, &err);
    return -1;
  }
  return drain(lease, fault);
}

static int queue_open(void *pool,
                      uint32_t capacity,
                      uint64_t *out_queue,
                      struct fault *fault) {
  const struct weir_bench *b = pool;
  struct weir_error err = {.struct_size = sizeof err};
  int32_t rc = weir_queue_open(b->engine, capacity, out_queue, &err);
  if (rc != WEIR_OK) {
    tell(fault, "opening a completion queue", rc, &err);
    return -1;
  }
  return 0;
}

static void queue_close(void *pool, uint64_t queue) {
  (void)pool;
  (void)weir_queue_close(queue);
}

static enum pool_result submit(void *pool,
                               uint64_t queue,
                               uint64_t number,
                               uint64_t *out_lease,
                               struct fault *fault) {
  const struct weir_bench *b = pool;
  struct weir_error err;
  err.struct_size = sizeof err;
  int32_t rc = weir_submit_acquire(b->pool, WEIR_TIMEOUT_POOL, queue, number,
                                   out_lease, NULL, &err);
  if (rc == WEIR_OK) {
    return POOL_OK;
  }
  if (rc == WEIR_PENDING) {
    return POOL_PENDING;
  }
  tell(fault, "submitting an acquire", rc, &err);
  return rc == WEIR_E_TIMEOUT ? POOL_TIMEOUT : POOL_FAILED;
}

static enum pool_result next(void *pool,
                             uint64_t queue,
                             uint64_t *out_number,
                             uint64_t *out_lease,
                             struct fault *fault) {
  (void)pool;
  struct weir_error err;
  struct weir_completion c;
  err.struct_size = sizeof err;
  c.struct_size = sizeof c;
  int32_t rc = weir_queue_take(queue, COMPLETION_NS, &c, &err);
  if (rc != WEIR_OK) {
    tell(fault, "waiting for a completion", rc, &err);
    return POOL_FAILED;
  }
  *out_number = c.user;
  if (c.status == WEIR_OK) {
    *out_lease = c.lease;
    return POOL_OK;
  }
  tell(fault, "a submitted acquire", c.status, &err);
  return c.status == WEIR_E_TIMEOUT ? POOL_TIMEOUT : POOL_FAILED;
}

static void count(void *pool, struct pool_counts *out) {
  const struct weir_bench *b = pool;
  struct weir_pool_stats s = {.struct_size = sizeof s};
  (void)weir_pool_stats(b->pool, &s);
  *out = b->before;
  add_stats(out, &s);
}

static const char *driver(const void *pool) {
  return ((const struct weir_bench *)pool)->driver;
}

static const char *strategy(const void *pool) {
  return ((const struct weir_bench *)pool)->strategy;
}

const struct pool_kind pool_weir = {
    .name = "weir",
    .open = open_bench,
    .close = close_bench,
    .renew = renew,
    .take = take,
    .give = give,
    .query = query,
    .count = count,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .submit = submit,
    .next = next,
    .driver = driver,
    .strategy = strategy,
};
