/* SPDX-License-Identifier: MIT */
/* stress_misuse.c - every public function with arguments that nobody should give
 * it: handles of all types, stale, random and 0; NULL; huge lengths; structs of
 * 0, 4, 8 and 65,537 bytes; negative time-outs; from several threads at once and
 * on one and the same lease.  Each call must answer a code of weir.h, and what
 * it must refuse it must refuse; the sanitizers see to the rest.
 *
 * WEIR_STRESS_SECONDS (1), WEIR_STRESS_SEED. */
#include <pthread.h>

#include "stress.h"

#define THREADS 6
#define HUGE_N  UINT64_MAX

static const char conninfo[] =
    "Driver=mock;Max Pool Size=2;Connect Timeout=20ms;Mock Connect Delay=10us";

static weir_h engine;
static weir_h pool;
static _Atomic uint64_t common_lease; /* all threads call on this one */
static _Atomic uint64_t common_rows;
static _Atomic int stop;
static _Atomic uint64_t calls;

/* ---------------------------------------------------------------- material */

/* The sizes a caller may say; the memory behind is always large enough for the
 * largest that the library may believe. */
static const uint32_t sizes[] = {0, 4, 7, 8, 9, 24, 65536, 65537, UINT32_MAX};
#define SIZES (sizeof sizes / sizeof sizes[0])

struct room { /* a struct of any size, as the caller filled it */
  _Alignas(16) unsigned char bytes[65600];
};

/* Zero but for struct_size and now and then a byte behind what is known. */
static void *fill(struct room *room, struct stress_random *r) {
  uint32_t size = sizes[stress_below(r, SIZES)];
  memset(room->bytes, 0, sizeof room->bytes);
  memcpy(room->bytes, &size, sizeof size);
  if (stress_below(r, 4) == 0) {
    room->bytes[8 + stress_below(r, 2000)] = 0xFF;
  }
  return stress_below(r, 8) == 0 ? NULL : room->bytes;
}

static uint64_t any_bits(struct stress_random *r) {
  uint64_t high = stress_below(r, 1u << 30);
  uint64_t low = stress_below(r, 1u << 30);
  return high << 34 ^ low << 4 ^ stress_below(r, 16);
}

/* A handle for a function that wants something else, mostly. */
static weir_h any_handle(struct stress_random *r) {
  switch (stress_below(r, 9)) {
  case 0:
    return 0;
  case 1:
    return engine;
  case 2:
    return pool;
  case 3:
    return atomic_load(&common_lease);
  case 4:
    return atomic_load(&common_rows);
  case 5:
    return any_bits(r);
  case 6: /* the right type and index, another generation */
    return pool ^ (1u << stress_below(r, 32));
  case 7: /* another index, in chunks of slots that do not exist: the neighbour in
           * this one may have been leased as often, and its handle be good */
    return atomic_load(&common_lease) ^ UINT64_C(1)
                                            << (35 + stress_below(r, 14));
  default: /* bits beyond the 53 */
    return atomic_load(&common_lease) | UINT64_C(1)
                                            << (53 + stress_below(r, 11));
  }
}

static int64_t any_timeout(struct stress_random *r) {
  static const int64_t span[] = {0, 1, -1, -2, INT64_MIN, STRESS_US, STRESS_MS};
  return span[stress_below(r, sizeof span / sizeof span[0])];
}

static uint64_t any_length(struct stress_random *r) {
  static const uint64_t length[] = {0, 1, 5, 64, 65536, 65537, HUGE_N};
  return length[stress_below(r, sizeof length / sizeof length[0])];
}

/* A text and a length that fits it, or NULL, or a length that no text has. */
struct text {
  const char *p;
  uint64_t n;
};

static struct text any_text(struct stress_random *r, uint64_t cap) {
  static const char *const text[] = {conninfo,
                                     "",
                                     "Driver=;",
                                     "Driver=/",
                                     "Driver=mock;Max Pool Size=0",
                                     "SELECT 1",
                                     "mock",
                                     "../mock",
                                     "/etc/passwd",
                                     "rows 3",
                                     "sleep 1ms"};
  const char *p = text[stress_below(r, sizeof text / sizeof text[0])];
  struct text t = {p, strlen(p)};
  switch (stress_below(r, 6)) {
  case 0:
    t = (struct text){NULL, any_length(r)};
    break;
  case 1:
    t.n = cap + 1 + stress_below(r, 2) * (HUGE_N - cap - 1);
    break;
  default:
    break;
  }
  return t;
}

/* ------------------------------------------------------------------- calls */

struct scratch {
  struct room a;
  struct room err;
  char buf[256];
};

static void known(const char *what, int32_t rc) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  if (rc > WEIR_PENDING || rc < WEIR_E_CANCELLED) {
    stress_broken(what, rc);
  }
}

static void must_refuse(const char *what, int32_t rc) {
  known(what, rc);
  if (rc >= 0) {
    stress_broken(what, rc);
  }
}

static void try_engine(struct scratch *s, struct stress_random *r) {
  weir_h out = 0;
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = 4u << stress_below(r, 30)};
  must_refuse("engine_open", weir_engine_open(&opts, &out, fill(&s->err, r)));
  must_refuse("engine_open", weir_engine_open(NULL, NULL, fill(&s->err, r)));
  opts = (struct weir_engine_opts){.struct_size = sizes[stress_below(r, 4)] % 8,
                                   .flags = 0};
  must_refuse("engine_open", weir_engine_open(&opts, &out, NULL));
  weir_h h = any_handle(r);
  if (h != engine) {
    must_refuse("shutdown", weir_engine_shutdown(h, 0, fill(&s->err, r)));
  }
  must_refuse("shutdown", weir_engine_shutdown(engine, -1, fill(&s->err, r)));
  must_refuse("forget", weir_forget_after_fork());
}

static void try_names(struct scratch *s, struct stress_random *r) {
  struct text t = any_text(r, 4095);
  (void)weir_status_name((int32_t)any_bits(r));
  (void)weir_feature(t.p, t.n);
  known("driver_load",
        weir_driver_load(any_handle(r), t.p, t.n, fill(&s->err, r)));
  if (strlen(weir_status_name(INT32_MIN)) == 0 || weir_version() == 0) {
    stress_broken("names", 0);
  }
}

static void try_list(struct scratch *s, struct stress_random *r) {
  uint32_t n = 0;
  struct weir_driver_info info[2];
  memset(info, 0, sizeof info);
  info[0].struct_size = sizes[stress_below(r, 4)];
  must_refuse("list", weir_driver_list(engine, NULL, 1, &n, fill(&s->err, r)));
  must_refuse("list", weir_driver_list(engine, info, 1, NULL, NULL));
  must_refuse("list", weir_driver_list(pool, info, 1, &n, fill(&s->err, r)));
  known("list", weir_driver_list(engine, info, 1, &n, fill(&s->err, r)));
}

static void try_open(struct scratch *s, struct stress_random *r) {
  struct text t = any_text(r, 65536);
  weir_h out = 0;
  must_refuse("open", weir_pool_open(engine, t.p, t.n, NULL, NULL));
  int rc = weir_pool_open(any_handle(r), t.p, t.n, &out, fill(&s->err, r));
  known("open", rc);
  if (rc == WEIR_OK && weir_pool_close(out) != WEIR_OK) {
    stress_broken("close", rc);
  }
  known("key", weir_conninfo_key(any_handle(r), t.p, t.n,
                                 stress_below(r, 2) == 0 ? NULL : s->buf,
                                 stress_below(r, sizeof s->buf), NULL,
                                 fill(&s->err, r)));
  uint64_t room = stress_below(r, sizeof s->buf);
  must_refuse("diff", weir_conninfo_diff(engine, t.p, t.n, t.p, t.n, s->buf,
                                         NULL, NULL));
  known("diff", weir_conninfo_diff(any_handle(r), t.p, t.n, t.p, t.n,
                                   stress_below(r, 2) == 0 ? NULL : s->buf,
                                   &room, fill(&s->err, r)));
  must_refuse("advice", weir_engine_advice(pool, s->buf, sizeof s->buf, NULL));
  known("advice", weir_engine_advice(any_handle(r), s->buf,
                                     stress_below(r, sizeof s->buf), NULL));
}

static void try_pool(struct scratch *s, struct stress_random *r) {
  weir_h h = any_handle(r);
  weir_h out = 0;
  known("stats", weir_pool_stats(h, fill(&s->a, r)));
  must_refuse("stats", weir_pool_stats(pool, NULL));
  must_refuse("key", weir_pool_key(pool, NULL, any_length(r) | 1, NULL));
  known("key", weir_pool_key(h, s->buf, stress_below(r, sizeof s->buf), NULL));
  known("clear", weir_pool_clear(h));
  if (h != pool) {
    must_refuse("close", weir_pool_close(h));
  }
  must_refuse("acquire", weir_acquire(pool, 0, NULL, fill(&s->err, r)));
  must_refuse("acquire", weir_acquire(pool, -2, &out, fill(&s->err, r)));
  int rc = weir_acquire(h, any_timeout(r), &out, fill(&s->err, r));
  known("acquire", rc);
  rc = rc == WEIR_OK ? weir_release(out) : WEIR_OK;
  if (rc != WEIR_OK) {
    stress_broken("release", rc);
  }
}

static void try_exec(struct scratch *s, struct stress_random *r) {
  struct text t = any_text(r, UINT64_C(64) << 20);
  weir_h h = any_handle(r);
  known("exec", weir_exec(h, t.p, t.n, fill(&s->a, r), fill(&s->err, r)));
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = INT64_MIN};
  must_refuse("exec", weir_exec(h, "x", 1, &opts, fill(&s->err, r)));
  must_refuse("next", weir_next(h, NULL, fill(&s->err, r)));
  struct weir_item *item = fill(&s->a, r);
  if (weir_next(h, item, fill(&s->err, r)) == WEIR_OK &&
      item->type == WEIR_ITEM_ROWS) {
    known("rows_free",
          weir_rows_free(atomic_exchange(&common_rows, item->rows)));
  }
}

static void try_txn(struct scratch *s, struct stress_random *r) {
  struct text t = any_text(r, 4095);
  weir_h h = any_handle(r);
  known("begin",
        weir_begin(h, (int32_t)stress_below(r, 9) - 1, fill(&s->err, r)));
  known("save", weir_save(h, t.p, t.n, fill(&s->err, r)));
  known("rollback_to", weir_rollback_to(h, t.p, t.n, fill(&s->err, r)));
  known("commit", weir_commit(h, fill(&s->err, r)));
  known("rollback", weir_rollback(h, fill(&s->err, r)));
  must_refuse("save", weir_save(h, NULL, any_length(r), fill(&s->err, r)));
}

static void try_credential(struct scratch *s, struct stress_random *r) {
  struct text t = any_text(r, UINT64_C(1) << 20);
  weir_h h = any_handle(r);
  weir_h out = 0;
  int rc = weir_credential_open(h, &out, fill(&s->err, r));
  known("credential_open", rc);
  must_refuse("credential_open", weir_credential_open(h, NULL, NULL));
  known("credential_next",
        weir_credential_next(rc == WEIR_OK ? out : h, any_timeout(r),
                             fill(&s->a, r), fill(&s->err, r)));
  must_refuse("credential_answer",
              weir_credential_answer(h, t.p, t.n, 0, fill(&s->err, r)));
  must_refuse(
      "credential_refuse",
      weir_credential_refuse(h, t.p, t.p == NULL ? t.n : 1, fill(&s->err, r)));
  if (rc == WEIR_OK && weir_credential_close(out) != WEIR_OK) {
    stress_broken("credential_close", rc);
  }
  must_refuse("credential_close", weir_credential_close(h));
}

/* Two parameters, of which anything may be wrong but where they are. */
static void try_params(struct scratch *s, struct stress_random *r) {
  struct weir_param params[2];
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .flags = stress_below(r, 3),
                                .params = params,
                                .n_params = stress_below(r, 3)};
  memset(params, 0, sizeof params);
  for (unsigned i = 0; i < 2; i++) {
    struct text t = any_text(r, 64);
    params[i].struct_size = sizeof params[i];
    params[i].type = (int32_t)stress_below(r, 12) - 1;
    params[i].flags = stress_below(r, 3);
    params[i].p = t.n <= 64 ? t.p : NULL;
    params[i].n = t.n;
    params[i].name = "@a";
    params[i].name_len = stress_below(r, 3);
    params[i].i = stress_below(r, 3);
  }
  weir_h h = any_handle(r);
  known("exec", weir_exec(h, "q", 1, &opts, fill(&s->err, r)));
  opts.params = NULL;
  opts.n_params = 1 + stress_below(r, 70000);
  must_refuse("exec", weir_exec(h, "q", 1, &opts, fill(&s->err, r)));
  opts.params = params;
  opts.n_params = 65536;
  must_refuse("exec", weir_exec(h, "q", 1, &opts, fill(&s->err, r)));
  params[0].struct_size = sizes[stress_below(r, 6)];
  opts.n_params = 1;
  must_refuse("exec", weir_exec(h, "q", 1, &opts, fill(&s->err, r)));
}

static void try_lease(struct scratch *s, struct stress_random *r) {
  weir_h h = any_handle(r);
  uint64_t need = 0;
  int32_t what = (int32_t)stress_below(r, 12) - 2;
  known("info",
        weir_lease_info(h, what, stress_below(r, 3) == 0 ? NULL : s->buf,
                        stress_below(r, sizeof s->buf),
                        stress_below(r, 2) == 0 ? NULL : &need));
  known("cancel", weir_cancel(h));
  known("rows_free", weir_rows_free(h));
  known("release", stress_below(r, 2) == 0 ? weir_release(h) : weir_discard(h));
}

/* A new lease for all to misuse, when the last one is gone. */
static void renew(void) {
  weir_h out = 0;
  weir_h old = atomic_load(&common_lease);
  if (weir_cancel(old) == WEIR_E_HANDLE &&
      weir_acquire(pool, STRESS_MS, &out, NULL) == WEIR_OK &&
      !atomic_compare_exchange_strong(&common_lease, &old, out)) {
    known("release", weir_release(out));
  }
}

static void (*const tries[])(struct scratch *s, struct stress_random *r) = {
    try_engine, try_names, try_list,   try_open, try_pool,      try_exec,
    try_lease,  try_txn,   try_params, try_exec, try_credential};

static void *work(void *arg) {
  struct stress_random r = *(struct stress_random *)arg;
  struct scratch *s = calloc(1, sizeof *s);
  while (s != NULL && atomic_load(&stop) == 0) {
    renew();
    tries[stress_below(&r, sizeof tries / sizeof tries[0])](s, &r);
  }
  free(s);
  return NULL;
}

/* ----------------------------------------------------------------- the end */

static void run(long seed, long seconds) {
  pthread_t threads[THREADS];
  struct stress_random seeds[THREADS];
  for (int i = 0; i < THREADS; i++) {
    seeds[i] = stress_seed(seed, i + 1);
    if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(seconds * STRESS_S);
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* Nothing is alive any more; the same calls with what used to be good. */
static void misuse_afterwards(long seed) {
  struct scratch *s = calloc(1, sizeof *s);
  struct stress_random r = stress_seed(seed, 0);
  weir_h out = 0;
  if (s == NULL) {
    stress_broken("memory", WEIR_E_NOMEM);
  }
  for (int i = 0; i < 2000; i++) {
    try_pool(s, &r);
    try_exec(s, &r);
    try_lease(s, &r);
    try_txn(s, &r);
    try_params(s, &r);
    try_credential(s, &r);
    try_names(s, &r);
    must_refuse("acquire", weir_acquire(pool, 0, &out, NULL));
    must_refuse("shutdown", weir_engine_shutdown(engine, 0, NULL));
  }
  free(s);
}

int main(void) {
  struct weir_error err = {.struct_size = sizeof err};
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 1);
  long seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  misuse_afterwards(seed); /* before there is anything, too */
  engine = stress_open_engine();
  if (weir_pool_open(engine, conninfo, sizeof conninfo - 1, &pool, &err) !=
      WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  run(seed, seconds);
  (void)weir_rows_free(atomic_load(&common_rows));
  if (weir_engine_shutdown(engine, 0, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  misuse_afterwards(seed);
  (void)printf("seed %ld: %lu calls\n1 passed, 0 failed\n", seed,
               (unsigned long)atomic_load(&calls));
  return 0;
}
