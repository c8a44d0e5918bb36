/* SPDX-License-Identifier: MIT */
#include "change.h"

#include <stddef.h>

#include "conninfo.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
#include "growth.h"
#include "loader.h"
#include "options.h"
#include "settings.h"
#include "status.h"
#include "sys/mem.h"
#include "tend.h"

/* What is to be done to a copy of the settings in force.  Returns WEIR_OK or why
 * not.  mu is held. */
struct edit {
  int (*apply)(const struct edit *edit,
               struct weir__settings *s,
               struct weir_error *err);
  uint32_t min_size;
  uint32_t max_size;
  const struct weir__conninfo *ci;
  bool forgives; /* it may have mended what made connects fail */
};

static int refuse_full(struct weir_error *err) {
  return weir__error_set(err, WEIR_E_SPACE, WEIR_PHASE_NONE,
                         "%u changes of this pool are still being read by "
                         "calls that began before them; try again later",
                         WEIR_POOL_BLOCKS_MAX);
}

/* Publishes a block; the one before it waits to be freed.  Returns WEIR_OK or why
 * not.  mu held. */
static int swap_locked(struct weir__pool *pool,
                       const struct edit *edit,
                       struct weir__settings_block *fresh,
                       struct weir_error *err) WEIR_REQUIRES(pool->mu) {
  if (pool->closed) {
    return weir__error_set(err, WEIR_E_CLOSED, WEIR_PHASE_NONE,
                           "the pool is closed");
  }
  if (pool->n_blocks == WEIR_POOL_BLOCKS_MAX) {
    weir__tend(pool); /* some may be free by now */
    return refuse_full(err);
  }
  /* Texts are shared: those that may change are none. */
  fresh->settings = *weir__pool_settings(pool);
  int rc = edit->apply(edit, &fresh->settings, err);
  if (rc == WEIR_OK) {
    rc = weir__settings_finish(&fresh->settings, err);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  /* Release: publishes the block to the acquire in weir__pool_settings(). */
  atomic_store_explicit(&pool->settings, &fresh->settings,
                        memory_order_release);
  if (pool->block != NULL) {
    pool->block->retired = weir__caller_retire();
    pool->block->older = pool->blocks;
    pool->blocks = pool->block;
    pool->n_blocks++;
  }
  pool->block = fresh;
  if (edit->forgives) {
    weir__growth_forgive_locked(pool);
  }
  weir__pool_limit_locked(pool);
  pool->review_asked = true;
  weir__control_news_locked(pool);
  return WEIR_OK;
}

/* Everything that a setting may have an effect on is looked at once: those who
 * wait, what is idle, Min Pool Size, the pool's timer. */
static int change(struct weir__pool *pool,
                  const struct weir__caller *self,
                  const struct edit *edit,
                  struct weir_error *err) {
  struct weir__settings_block *fresh = weir__mem_new(sizeof *fresh);
  if (fresh == NULL) {
    return weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_NONE,
                           "no memory for settings");
  }
  weir__mutex_lock(&pool->mu);
  int rc = swap_locked(pool, edit, fresh, err);
  pool->review_asked = true; /* idle times and sizes may be others */
  weir__mutex_unlock(&pool->mu);
  if (rc != WEIR_OK) {
    weir__mem_free(fresh);
    return rc;
  }
  weir__endpoint_changed(pool);
  weir__control_shed_idle(pool);
  weir__dispatch(pool, self);
  weir__tend(pool);
  return WEIR_OK;
}

static int apply_size(const struct edit *edit,
                      struct weir__settings *s,
                      struct weir_error *err) {
  (void)err;
  s->min_pool_size = edit->min_size;
  s->max_pool_size = edit->max_size;
  return WEIR_OK;
}

int weir__change_size(struct weir__pool *pool,
                      const struct weir__caller *self,
                      uint32_t min_size,
                      uint32_t max_size,
                      struct weir_error *err) {
  if (max_size == 0 || max_size > WEIR_SETTINGS_POOL_MAX ||
      min_size > max_size) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_NONE,
                           "max_size %u must be 1 to %u, and min_size %u not "
                           "more than that",
                           max_size, (uint32_t)WEIR_SETTINGS_POOL_MAX,
                           min_size);
  }
  const struct edit edit = {
      .apply = apply_size, .min_size = min_size, .max_size = max_size};
  return change(pool, self, &edit, err);
}

static int apply_text(const struct edit *edit,
                      struct weir__settings *s,
                      struct weir_error *err) {
  return weir__options_change(edit->ci, s, err);
}

/* What no pool may change is refused before one is touched: this asks the driver,
 * so no lock is held. */
static int check(const struct weir__pool *pool,
                 const struct weir__conninfo *ci,
                 struct weir_error *err) {
  const struct weir_drv_option_info *info = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  const struct weir__driver *driver = pool->driver;
  if (driver->table.options(driver->instance, &info, &n, &stride) !=
      WEIR_DRV_DONE) {
    return weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_PARSE,
                           "driver %s does not tell its options", driver->name);
  }
  return weir__options_changeable(ci, info, n, stride, err);
}

int weir__change_settings(struct weir__pool *pool,
                          const struct weir__caller *self,
                          const char *changes,
                          uint64_t len,
                          struct weir_error *err) {
  struct weir__conninfo ci;
  int rc = weir__conninfo_parse(changes, len, &ci, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = check(pool, &ci, err);
  if (rc == WEIR_OK) {
    const struct edit edit = {.apply = apply_text, .ci = &ci, .forgives = true};
    rc = change(pool, self, &edit, err);
  }
  weir__conninfo_fini(&ci);
  return rc;
}

/* Taken out first, because counting callers is a system call; they count until
 * they are freed. */
void weir__change_reap(struct weir__pool *pool) {
  struct weir__settings_block *read = NULL;
  struct weir__settings_block **end = &read;
  uint32_t freed = 0;
  weir__mutex_lock(&pool->mu);
  struct weir__settings_block *block = pool->blocks;
  pool->blocks = NULL;
  weir__mutex_unlock(&pool->mu);
  while (block != NULL) {
    struct weir__settings_block *older = block->older;
    if (weir__caller_count(block->retired, NULL, NULL) == 0) {
      weir__mem_free(block);
      freed++;
    } else {
      *end = block;
      end = &block->older;
    }
    block = older;
  }
  weir__mutex_lock(&pool->mu);
  *end = pool->blocks; /* retired meanwhile */
  pool->blocks = read;
  pool->n_blocks -= freed;
  weir__mutex_unlock(&pool->mu);
}
