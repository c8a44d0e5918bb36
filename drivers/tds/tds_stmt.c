/* SPDX-License-Identifier: MIT */
/* tds_stmt.c - which statement has which handle.
 *
 * Handles are numbers that the server gives out anew for each session, so they
 * belong to one connection, die with a reset, and mean another statement in
 * another session.  A statement is known by the database it ran in, its
 * declarations and its whole text: a digest alone could run the wrong one. */
#include "tds_stmt.h"

#include <string.h>

#include "tds_conn.h"

/* "Could not find prepared statement with handle", and "is not valid in this
 * context". */
#define ERROR_NO_HANDLE  8179
#define ERROR_BAD_HANDLE 586

struct prepared {
  struct tds_buf key;
  uint64_t hash;
  uint64_t used; /* stmts.clock of its last use */
  int32_t handle;
};

static struct prepared *cached(const struct weir_drv_conn *c, size_t *out_n) {
  void *all = c->stmts.cached.p; /* aligned for any type */
  *out_n = c->stmts.cached.n / sizeof(struct prepared);
  return all;
}

void tds_stmt_init(struct weir_drv_conn *c) {
  const struct tds_mem *mem = &c->drv->mem;
  c->stmts.cached.mem = mem;
  c->stmts.unwanted.mem = mem;
  c->stmts.key.mem = mem;
}

void tds_stmt_forget(struct weir_drv_conn *c) {
  size_t n = 0;
  struct prepared *all = cached(c, &n);
  for (size_t i = 0; i < n; i++) {
    tds_buf_fini(&all[i].key);
  }
  tds_buf_fini(&c->stmts.cached);
  tds_buf_fini(&c->stmts.unwanted);
}

void tds_stmt_fini(struct weir_drv_conn *c) {
  tds_stmt_forget(c);
  tds_buf_fini(&c->stmts.key);
}

/* --------------------------------------------------------------------- cache */

/* A handle that is not wanted any more.  Without memory it stays at the server
 * until the session ends or is reset. */
static void give_back(struct weir_drv_conn *c, int32_t handle) {
  (void)tds_buf_add(&c->stmts.unwanted, &handle, sizeof handle);
}

/* Takes an entry out; its place is filled by the last one. */
static void drop(struct weir_drv_conn *c, size_t i) {
  size_t n = 0;
  struct prepared *all = cached(c, &n);
  tds_buf_fini(&all[i].key);
  all[i] = all[n - 1];
  c->stmts.cached.n -= sizeof *all;
}

static void evict_oldest(struct weir_drv_conn *c) {
  size_t n = 0;
  size_t oldest = 0;
  const struct prepared *all = cached(c, &n);
  for (size_t i = 1; i < n; i++) {
    oldest = all[i].used < all[oldest].used ? i : oldest;
  }
  give_back(c, all[oldest].handle);
  drop(c, oldest);
}

/* FNV-1a: only to skip comparing most keys. */
static uint64_t hash_of(const struct tds_buf *key) {
  uint64_t h = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < key->n; i++) {
    h = (h ^ key->p[i]) * UINT64_C(0x100000001B3);
  }
  return h;
}

/* Lengths first, so that no two statements share a key. */
static int set_key(struct weir_drv_conn *c) {
  struct tds_buf *key = &c->stmts.key;
  const struct tds_exec *e = &c->exec;
  const struct tds_buf *database = &c->now.database;
  uint8_t lengths[16];
  tds_put64(lengths, database->n);
  tds_put64(lengths + 8, e->types.n);
  key->n = 0;
  int rc = tds_buf_add(key, lengths, sizeof lengths);
  rc = rc == TDS_OK ? tds_buf_add(key, database->p, database->n) : rc;
  rc = rc == TDS_OK ? tds_buf_add(key, e->types.p, e->types.n) : rc;
  return rc == TDS_OK ? tds_buf_add(key, e->sql.p, e->sql.n) : rc;
}

static struct prepared *find(struct weir_drv_conn *c) {
  const struct tds_buf *key = &c->stmts.key;
  uint64_t hash = hash_of(key);
  size_t n = 0;
  struct prepared *all = cached(c, &n);
  for (size_t i = 0; i < n; i++) {
    if (all[i].hash == hash && all[i].key.n == key->n &&
        memcmp(all[i].key.p, key->p, key->n) == 0) {
      return &all[i];
    }
  }
  return NULL;
}

static void forget_handle(struct weir_drv_conn *c, int32_t handle) {
  size_t n = 0;
  const struct prepared *all = cached(c, &n);
  for (size_t i = 0; i < n; i++) {
    if (all[i].handle == handle) {
      drop(c, i);
      return;
    }
  }
}

/* Keeps the handle that came.  Without memory it is given back. */
static void keep(struct weir_drv_conn *c) {
  struct tds_stmts *s = &c->stmts;
  size_t n = 0;
  (void)cached(c, &n);
  if (n >= c->cfg->prepared) {
    evict_oldest(c);
  }
  struct prepared one = {s->key, hash_of(&s->key), ++s->clock, s->handle};
  if (tds_buf_add(&s->cached, &one, sizeof one) != TDS_OK) {
    give_back(c, s->handle);
    return;
  }
  struct tds_buf none = {.mem = s->key.mem};
  s->key = none; /* it is the entry's now */
  s->prepared++;
}

/* --------------------------------------------------------------------- calls */

int tds_stmt_put_unprepare(struct weir_drv_conn *c, uint32_t *out_n) {
  const struct tds_buf *unwanted = &c->stmts.unwanted;
  size_t n = unwanted->n / sizeof(int32_t);
  n = n < TDS_UNPREPARE_MAX ? n : TDS_UNPREPARE_MAX;
  int rc = TDS_OK;
  for (size_t i = 0; i < n && rc == TDS_OK; i++) {
    int32_t handle = 0;
    memcpy(&handle, unwanted->p + i * sizeof handle, sizeof handle);
    rc = tds_rpc_call(&c->exec.rpc, TDS_PROC_UNPREPARE);
    rc = rc == TDS_OK ? tds_rpc_int(&c->exec.rpc, false, handle) : rc;
  }
  *out_n = (uint32_t)n;
  return rc;
}

static int put_execute(struct weir_drv_conn *c, struct prepared *p) {
  struct tds_stmts *s = &c->stmts;
  s->mode = TDS_STMT_RUN;
  s->handle = p->handle;
  p->used = ++s->clock;
  int rc = tds_rpc_call(&c->exec.rpc, TDS_PROC_EXECUTE);
  return rc == TDS_OK ? tds_rpc_int(&c->exec.rpc, false, p->handle) : rc;
}

static int put_prepexec(struct weir_drv_conn *c) {
  struct tds_exec *e = &c->exec;
  struct tds_rpc *r = &e->rpc;
  const uint8_t *collation = tds_args_collation(c);
  c->stmts.mode = TDS_STMT_PREPARE;
  c->stmts.came = false;
  int rc = tds_rpc_call(r, TDS_PROC_PREPEXEC);
  rc = rc == TDS_OK ? tds_rpc_int(r, true, 0) : rc;
  rc = rc == TDS_OK
           ? tds_rpc_text(r, tds_args_types(c), e->types_bytes, collation)
           : rc;
  return rc == TDS_OK ? tds_rpc_text(r, e->sql, e->sql_bytes, collation) : rc;
}

int tds_stmt_put(struct weir_drv_conn *c, uint32_t *out_lead) {
  *out_lead = 0;
  if (c->cfg->prepared == 0 || c->exec.sql.n > TDS_PREPARED_TEXT_MAX) {
    return TDS_OK;
  }
  int rc = set_key(c);
  if (rc != TDS_OK) {
    return rc;
  }
  struct prepared *p = c->stmts.again ? NULL : find(c);
  *out_lead = p != NULL ? 1 : 3;
  return p != NULL ? put_execute(c, p) : put_prepexec(c);
}

/* -------------------------------------------------------------------- answers */

void tds_stmt_unprepared(struct weir_drv_conn *c) {
  if (c->stmts.unwanted.n >= sizeof(int32_t)) {
    tds_buf_drop(&c->stmts.unwanted, sizeof(int32_t));
  }
}

/* The first parameter of sp_prepexec has no name. */
bool tds_stmt_take(struct weir_drv_conn *c) {
  struct tds_stmts *s = &c->stmts;
  const struct tds_decoder *d = &c->decoder;
  const struct tds_outputs *o = &c->outputs;
  if (s->mode != TDS_STMT_PREPARE || d->column != 0 || d->value_name_n > 0) {
    return false;
  }
  bool number = d->value.type.rule->cell == WEIR_DRV_T_INT && !o->null &&
                o->value.n == sizeof(int64_t);
  s->handle = number ? (int32_t)tds_u64(o->value.p) : 0;
  s->came = s->handle != 0;
  return true;
}

static bool says_stale(int32_t number) {
  return number == ERROR_NO_HANDLE || number == ERROR_BAD_HANDLE;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Whether the words name handles, and ours is none of them: the statement itself
 * has run another one, and must not run twice for that. */
static bool names_another(int32_t number,
                          const char *text,
                          size_t n,
                          int32_t handle) {
  bool named = false;
  for (size_t i = 0; i < n; i++) {
    bool minus = i > 0 && text[i - 1] == '-';
    int64_t v = 0;
    if (!is_digit(text[i])) {
      continue;
    }
    for (; i < n && is_digit(text[i]); i++) {
      v = v > INT32_MAX ? v : v * 10 + (text[i] - '0');
    }
    if ((minus ? -v : v) == handle) {
      return false;
    }
    named = named || v != number; /* it may tell its own number, too */
  }
  return named;
}

bool tds_stmt_is_stale(const struct weir_drv_conn *c,
                       int32_t number,
                       const char *text,
                       size_t n) {
  const struct tds_stmts *s = &c->stmts;
  return s->mode == TDS_STMT_RUN && !s->told && says_stale(number) &&
         !names_another(number, text, n, s->handle);
}

static size_t text_of(const struct tds_failure *f) {
  return f->text_n < sizeof f->text ? f->text_n : sizeof f->text;
}

bool tds_stmt_again(struct weir_drv_conn *c) {
  struct tds_stmts *s = &c->stmts;
  const struct tds_failure *f = &c->reply.failure;
  if (!f->set || !tds_stmt_is_stale(c, f->number, f->text, text_of(f))) {
    return false;
  }
  forget_handle(c, s->handle);
  s->mode = TDS_STMT_PLAIN;
  s->again = true;
  return true;
}

static void end_prepare(struct weir_drv_conn *c, bool well) {
  if (well) {
    keep(c);
  } else {
    give_back(c, c->stmts.handle);
  }
}

static void end_run(struct weir_drv_conn *c, bool well, bool cancelled) {
  struct tds_stmts *s = &c->stmts;
  const struct tds_failure *f = &c->reply.failure;
  if (well) {
    s->reused++;
  } else if (f->set && says_stale(f->number) &&
             !names_another(f->number, f->text, text_of(f), s->handle)) {
    forget_handle(c, s->handle);
  } else if (cancelled) {
    forget_handle(c, s->handle);
    give_back(c, s->handle);
  }
}

void tds_stmt_end(struct weir_drv_conn *c, bool well, bool cancelled) {
  struct tds_stmts *s = &c->stmts;
  uint8_t mode = c->request.started ? s->mode : TDS_STMT_PLAIN;
  if (c->step == TDS_STEP_DEAD) {
    tds_stmt_forget(c);
  } else if (mode == TDS_STMT_PREPARE && s->came) {
    end_prepare(c, well);
  } else if (mode == TDS_STMT_RUN) {
    end_run(c, well, cancelled);
  }
  s->mode = TDS_STMT_PLAIN;
  s->told = false;
  s->again = false;
  s->came = false;
  s->key.n = 0;
}

/* --------------------------------------------------------------------- table */

static weir_drv_status exec(weir_drv_conn *c,
                            const struct weir_drv_exec_args *a,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  return tds_exec_start(c, a, true, &t);
}

static weir_drv_status stats(weir_drv_conn *c,
                             struct weir_drv_stmt_stats *out) {
  struct weir_drv_stmt_stats s = {.struct_size = out->struct_size};
  size_t n = 0;
  (void)cached(c, &n);
  s.cached = (uint32_t)n;
  s.prepared = c->stmts.prepared;
  s.reused = c->stmts.reused;
  memcpy(out, &s, out->struct_size < sizeof s ? out->struct_size : sizeof s);
  return WEIR_DRV_DONE;
}

const struct weir_drv_stmt_api tds_stmt_api = {
    .struct_size = sizeof tds_stmt_api,
    .version = 1,
    .exec = exec,
    .stats = stats,
};
