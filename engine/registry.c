/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "conninfo.h"
#include "credential.h"
#include "growth.h"
#include "handle.h"
#include "key.h"
#include "options.h"
#include "pool.h"
#include "ready.h"
#include "settings.h"
#include "status.h"
#include "sys/assert.h"

/* A connection string understood: what a pool is made of. */
struct parts {
  const struct weir__driver *driver;
  struct weir__options options;
  weir_drv_cfg *config;
  struct weir__key *key;
  struct weir__credential *credential;
};

void weir__registry_init(struct weir__registry *registry) {
  weir__mutex_init(&registry->mu, WEIR_RANK_REGISTRY);
}

void weir__registry_fini(struct weir__registry *registry) {
  weir__mutex_fini(&registry->mu);
}

static void drop_parts(struct parts *parts) {
  if (parts->config != NULL) {
    parts->driver->table.config_destroy(parts->driver->instance, parts->config);
  }
  weir__key_free(parts->key);
  weir__options_fini(&parts->options);
  weir__credential_unref(parts->credential);
}

static int find_driver(struct weir__engine *engine,
                       const struct weir__conninfo *ci,
                       struct parts *parts,
                       struct weir_error *err) {
  const struct weir__conninfo_pair *pair = weir__conninfo_find(ci, "Driver");
  if (pair == NULL || pair->value_len == 0) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "the connection string does not say which driver "
                           "to use; add Driver=tds, say");
  }
  /* A damaged string may have a secret where the name belongs: look before the
   * loader tells what it looked for. */
  int rc = weir__settings_check_driver(pair->value, pair->value_len,
                                       pair->position, err);
  return rc != WEIR_OK
             ? rc
             : weir__loader_load(engine->loader, pair->value, pair->value_len,
                                 &parts->driver, err);
}

static int make_config(struct parts *parts, struct weir_error *err) {
  char text[512];
  struct weir_drv_error drv = {.struct_size = sizeof drv,
                               .message = text,
                               .message_cap = sizeof text - 1};
  const struct weir_driver *table = &parts->driver->table;
  weir_drv_status rc =
      table->config_create(parts->driver->instance, parts->options.drv,
                           parts->options.n_drv, &parts->config, &drv);
  if (rc == WEIR_DRV_DONE) {
    return WEIR_OK;
  }
  parts->config = NULL;
  if (rc == WEIR_DRV_E_NOMEM) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_PARSE,
                           "no memory for the driver's configuration");
  }
  if (drv.message_len == 0) {
    int n = snprintf(text, sizeof text,
                     "driver %s refused its options without a reason",
                     parts->driver->name);
    drv.message_len = n < 0 ? 0 : (uint32_t)n;
  }
  weir__error_from_driver(err, &drv, WEIR_E_FAIL, WEIR_PHASE_PARSE);
  return WEIR_E_FAIL;
}

static int split(struct parts *parts,
                 const struct weir__conninfo *ci,
                 struct weir_error *err) {
  const struct weir_drv_option_info *info = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  WEIR_ASSERT(parts->driver != NULL);
  const struct weir_driver *table = &parts->driver->table;
  if (table->options(parts->driver->instance, &info, &n, &stride) !=
      WEIR_DRV_DONE) {
    return weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_PARSE,
                           "driver %s does not tell its options",
                           parts->driver->name);
  }
  return weir__options_split(ci, info, n, stride, &parts->options, err);
}

static uint32_t credential_position(const struct weir__conninfo *ci) {
  const struct weir__conninfo_pair *pair =
      weir__conninfo_find(ci, "Credential");
  return pair == NULL ? 0 : pair->position;
}

/* As with SqlClient, who supplies the secret is said once: a credential that would
 * never be asked is a mistake, and would only keep pools apart. */
static int refuse_rivals(const struct parts *parts,
                         const struct weir__conninfo *ci,
                         struct weir_error *err) {
  static const char *const rivals[] = {"Password", "Access Token"};
  for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
    if (weir__options_secret(&parts->options, rivals[i], strlen(rivals[i])) !=
        NULL) {
      return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                             "connection string, byte %u: \"Credential\" "
                             "cannot be used together with \"%s\", which is "
                             "what the program would be asked for",
                             credential_position(ci), rivals[i]);
    }
  }
  return WEIR_OK;
}

/* Credential=N must be the handle of one that is open. */
static int find_credential(const struct weir__engine *engine,
                           struct parts *parts,
                           const struct weir__conninfo *ci,
                           struct weir_error *err) {
  uint64_t handle = parts->options.settings.credential;
  if (handle == 0) {
    return WEIR_OK;
  }
  int rc = refuse_rivals(parts, ci, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  parts->credential = weir__credential_ref(engine, handle);
  if (parts->credential != NULL) {
    return WEIR_OK;
  }
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %u: \"Credential\" is not "
                         "the handle of an open credential of this engine",
                         credential_position(ci));
}

static int make_key(struct parts *parts,
                    const struct weir__conninfo *ci,
                    struct weir_error *err) {
  struct weir__key_source source = {
      .table = &parts->driver->table,
      .driver = parts->driver->instance,
      .cfg = parts->config,
      .options = &parts->options,
      .conninfo = ci,
  };
  return weir__key_new(&source, &parts->key, err);
}

static int understand(struct weir__engine *engine,
                      const char *text,
                      uint64_t len,
                      struct parts *parts,
                      struct weir_error *err) {
  struct weir__conninfo ci;
  memset(parts, 0, sizeof *parts);
  int rc = weir__conninfo_parse(text, len, &ci, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = find_driver(engine, &ci, parts, err);
  if (rc == WEIR_OK) {
    rc = split(parts, &ci, err);
  }
  if (rc == WEIR_OK) {
    rc = find_credential(engine, parts, &ci, err);
  }
  if (rc == WEIR_OK) {
    rc = make_config(parts, err);
  }
  if (rc == WEIR_OK) {
    rc = make_key(parts, &ci, err);
  }
  weir__conninfo_fini(&ci);
  if (rc != WEIR_OK) {
    drop_parts(parts);
  }
  return rc;
}

static struct weir__pool **bucket_of(struct weir__registry *registry,
                                     const struct weir__key *key) {
  return &registry->buckets[weir__key_hash(key) % WEIR_REGISTRY_BUCKETS];
}

static struct weir__pool *find_locked(struct weir__registry *registry,
                                      const struct weir__key *key) {
  struct weir__pool *pool = *bucket_of(registry, key);
  while (pool != NULL && !weir__key_equal(pool->key, key)) {
    pool = pool->next_in_bucket;
  }
  return pool;
}

static int refuse_closed(struct weir_error *err) {
  return weir__error_set(err, WEIR_E_CLOSED, WEIR_PHASE_NONE,
                         "the engine is shutting down");
}

static int insert_locked(struct weir__engine *engine,
                         struct weir__pool *pool,
                         struct weir_error *err) {
  struct weir__pool **bucket = bucket_of(engine->registry, pool->key);
  if (!weir__engine_adopt(engine, pool)) {
    return refuse_closed(err);
  }
  pool->next_in_bucket = *bucket;
  *bucket = pool;
  return WEIR_OK;
}

/* The pool of the parts' key: the one there is, or a new one. */
static int find_or_make(struct weir__engine *engine,
                        struct parts *parts,
                        struct weir__pool **out_pool,
                        bool *out_new,
                        struct weir_error *err) {
  struct weir__pool_parts from = {engine,        parts->driver,
                                  parts->config, &parts->options,
                                  parts->key,    parts->credential};
  struct weir__pool *fresh = weir__pool_new(&from);
  struct weir__advice_item advice;
  bool advised = false;
  if (fresh == NULL) {
    drop_parts(parts);
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_NONE,
                           "no memory for a pool");
  }
  int rc = weir__handle_new(WEIR_TYPE_POOL, fresh, &fresh->handle);
  if (rc != 0) {
    weir__pool_free(fresh);
    return weir__error_set(err, rc, WEIR_PHASE_NONE,
                           "no handle left for a pool");
  }
  weir__mutex_lock(&engine->registry->mu);
  struct weir__pool *pool = find_locked(engine->registry, fresh->key);
  *out_new = pool == NULL;
  if (pool == NULL) {
    pool = fresh;
    rc = insert_locked(engine, pool, err);
    advised = rc == WEIR_OK &&
              weir__advice_opened(&engine->registry->advice, pool, &advice);
  } else if ((weir__load_seq_u64(&pool->q) & WEIR_Q_CLOSED) != 0) {
    /* Closed pools leave the table first, but not those that shutdown closes. */
    rc = refuse_closed(err);
  }
  pool->references += rc == WEIR_OK;
  *out_pool = pool;
  weir__mutex_unlock(&engine->registry->mu);
  if (advised) {
    weir__advice_log(engine, &advice);
  }
  if (!*out_new || rc != WEIR_OK) {
    (void)weir__handle_take(fresh->handle, WEIR_TYPE_POOL);
    weir__pool_free(fresh);
  }
  return rc;
}

int weir__registry_open(struct weir__engine *engine,
                        struct weir__caller *self,
                        const char *conninfo,
                        uint64_t len,
                        uint64_t *out_pool,
                        struct weir_error *err) {
  struct parts parts;
  struct weir__pool *pool = NULL;
  bool fresh = false;
  int rc = understand(engine, conninfo, len, &parts, err);
  if (rc == WEIR_OK) {
    rc = find_or_make(engine, &parts, &pool, &fresh, err);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  WEIR_ASSERT(pool != NULL);
  uint64_t handle = pool->handle;
  rc = weir__ready_start(pool, self, fresh, err);
  if (rc != WEIR_OK) {
    (void)weir__registry_close(handle);
    return rc;
  }
  *out_pool = handle;
  return WEIR_OK;
}

static void unlink_locked(struct weir__registry *registry,
                          struct weir__pool *pool) {
  struct weir__pool **at = bucket_of(registry, pool->key);
  while (*at != pool) {
    WEIR_ASSERT(*at != NULL);
    at = &(*at)->next_in_bucket;
  }
  *at = pool->next_in_bucket;
  weir__advice_closed(&registry->advice, pool);
}

int weir__registry_close(uint64_t handle) {
  struct weir__pool *pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  if (pool == NULL) {
    return WEIR_E_HANDLE;
  }
  struct weir__registry *registry = pool->engine->registry;
  bool last = false;
  bool good;
  weir__mutex_lock(&registry->mu);
  /* Again: another thread may have given the last one back meanwhile. */
  good = weir__handle_find(handle, WEIR_TYPE_POOL) == pool;
  if (good) {
    last = --pool->references == 0;
  }
  if (last) {
    (void)weir__handle_take(handle, WEIR_TYPE_POOL);
    unlink_locked(registry, pool);
  }
  weir__mutex_unlock(&registry->mu);
  if (last) {
    weir__pool_shut(pool);
  }
  return good ? WEIR_OK : WEIR_E_HANDLE;
}

int weir__copy_out(const char *text,
                   uint64_t len,
                   char *buf,
                   uint64_t cap,
                   uint64_t *out_need) {
  if (out_need != NULL) {
    *out_need = len + 1;
  }
  if (cap < len + 1) {
    return WEIR_E_SPACE;
  }
  memcpy(buf, text, len);
  buf[len] = '\0';
  return WEIR_OK;
}

int weir__registry_key(struct weir__engine *engine,
                       const char *conninfo,
                       uint64_t len,
                       char *buf,
                       uint64_t cap,
                       uint64_t *out_need,
                       struct weir_error *err) {
  struct parts parts;
  int rc = understand(engine, conninfo, len, &parts, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  size_t n = 0;
  const char *text = weir__key_text(parts.key, &n);
  rc = weir__copy_out(text, n, buf, cap, out_need);
  if (rc != WEIR_OK) {
    rc = weir__error_set(err, rc, WEIR_PHASE_NONE,
                         "the key needs %zu bytes with its NUL", n + 1);
  }
  drop_parts(&parts);
  return rc;
}

/* Lines of weir_conninfo_diff(), as far as there is room. */
struct lines {
  char *buf;
  uint64_t cap;
  uint64_t n;
};

static void put_line(struct lines *to, const char *p, size_t n) {
  if (n < to->cap && to->n < to->cap - n) {
    memcpy(to->buf + to->n, p, n);
  }
  to->n += n;
}

/* weir__key_part_fn. */
static void add_part(void *ctx, const struct weir__key_part *part) {
  static const char *const kinds[] = {
      [WEIR_KEY_PART_DRIVER] = "driver ",
      [WEIR_KEY_PART_SETTING] = "setting ",
      [WEIR_KEY_PART_SECRET] = "secret ",
      [WEIR_KEY_PART_TEXT] = "text ",
  };
  put_line(ctx, kinds[part->kind], strlen(kinds[part->kind]));
  put_line(ctx, part->name, part->name_len);
  put_line(ctx, "\n", 1);
}

static int compare_parts(const struct parts *a,
                         const struct parts *b,
                         char *buf,
                         uint64_t *inout_len,
                         struct weir_error *err) {
  struct lines lines = {buf, *inout_len, 0};
  (void)weir__key_compare(a->key, b->key, add_part, &lines);
  *inout_len = lines.n + 1;
  if (lines.n >= lines.cap) {
    return weir__error_set(err, WEIR_E_SPACE, WEIR_PHASE_NONE,
                           "the differences need %llu bytes with their NUL",
                           (unsigned long long)lines.n + 1);
  }
  buf[lines.n] = '\0';
  return WEIR_OK;
}

int weir__registry_diff(struct weir__engine *engine,
                        struct weir__text a,
                        struct weir__text b,
                        char *buf,
                        uint64_t *inout_len,
                        struct weir_error *err) {
  struct parts first;
  struct parts second;
  int rc = understand(engine, a.p, a.n, &first, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = understand(engine, b.p, b.n, &second, err);
  if (rc == WEIR_OK) {
    rc = compare_parts(&first, &second, buf, inout_len, err);
    drop_parts(&second);
  }
  drop_parts(&first);
  return rc;
}

int weir__registry_advice(struct weir__registry *registry,
                          char *buf,
                          uint64_t cap,
                          uint64_t *out_need) {
  char text[WEIR_ADVICE_BYTES];
  weir__mutex_lock(&registry->mu);
  size_t n = weir__advice_text(&registry->advice, text, sizeof text);
  weir__mutex_unlock(&registry->mu);
  return weir__copy_out(text, n, buf, cap, out_need);
}
