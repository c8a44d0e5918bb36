/* SPDX-License-Identifier: MIT */
#include "advice.h"

#include <stdio.h>
#include <string.h>

#include "weir_driver.h"

#include "log.h"
#include "pool.h"

#define LINE_BYTES (sizeof((struct weir__key_part *)0)->name + 128)

static bool same_part(const struct weir__key_part *a,
                      const struct weir__key_part *b) {
  return a->kind == b->kind && a->name_len == b->name_len &&
         memcmp(a->name, b->name, a->name_len) == 0;
}

/* Of two servers nobody expects shared connections. */
static bool same_endpoint(const struct weir__pool *a,
                          const struct weir__pool *b) {
  size_t a_len = 0;
  size_t b_len = 0;
  const uint8_t *a_key = weir__key_endpoint(a->key, &a_len);
  const uint8_t *b_key = weir__key_endpoint(b->key, &b_len);
  return a_len == b_len && memcmp(a_key, b_key, a_len) == 0;
}

/* The item of that part; a new one with no pools; NULL: no room. */
static struct weir__advice_item *item_of(struct weir__advice_item *items,
                                         uint32_t *n,
                                         const struct weir__key_part *part) {
  for (uint32_t i = 0; i < *n; i++) {
    if (same_part(&items[i].part, part)) {
      return &items[i];
    }
  }
  if (*n == WEIR_ADVICE_MAX) {
    return NULL;
  }
  items[*n] = (struct weir__advice_item){.part = *part};
  return &items[(*n)++];
}

/* For each part how many of the recent ones differ from the pool in it alone. */
static uint32_t tally(const struct weir__advice *advice,
                      const struct weir__pool *pool,
                      struct weir__advice_item *items) {
  uint32_t n = 0;
  struct weir__key_part part;
  for (uint32_t i = 0; i < WEIR_ADVICE_RECENT; i++) {
    const struct weir__pool *other = advice->recent[i];
    if (other == NULL || !same_endpoint(other, pool) ||
        !weir__key_only(other->key, pool->key, &part)) {
      continue;
    }
    struct weir__advice_item *item = item_of(items, &n, &part);
    if (item != NULL) {
      item->pools++;
    }
  }
  return n;
}

/* True if nobody has been told of it. */
static bool note(struct weir__advice *advice,
                 const struct weir__advice_item *seen) {
  uint32_t known = advice->n;
  struct weir__advice_item *item =
      item_of(advice->items, &advice->n, &seen->part);
  if (item == NULL) {
    return false;
  }
  if (seen->pools > item->pools) {
    item->pools = seen->pools;
  }
  return advice->n != known;
}

bool weir__advice_opened(struct weir__advice *advice,
                         struct weir__pool *pool,
                         struct weir__advice_item *out_item) {
  struct weir__advice_item items[WEIR_ADVICE_MAX];
  bool fresh = false;
  uint32_t n = tally(advice, pool, items);
  for (uint32_t i = 0; i < n; i++) {
    items[i].pools++; /* the pool itself */
    if (items[i].pools >= WEIR_ADVICE_POOLS && note(advice, &items[i]) &&
        !fresh) {
      *out_item = items[i];
      fresh = true;
    }
  }
  advice->recent[advice->next] = pool;
  advice->next = (advice->next + 1) % WEIR_ADVICE_RECENT;
  return fresh;
}

void weir__advice_closed(struct weir__advice *advice,
                         const struct weir__pool *pool) {
  for (uint32_t i = 0; i < WEIR_ADVICE_RECENT; i++) {
    if (advice->recent[i] == pool) {
      advice->recent[i] = NULL;
    }
  }
}

/* The sentence of an item; returns its bytes. */
static size_t write_item(const struct weir__advice_item *item,
                         char line[LINE_BYTES]) {
  static const char *const what[] = {
      [WEIR_KEY_PART_DRIVER] = "",
      [WEIR_KEY_PART_SETTING] = "",
      [WEIR_KEY_PART_SECRET] = " (a secret)",
      [WEIR_KEY_PART_TEXT] = " (as it is written)",
  };
  size_t len = item->part.name_len;
  int n = snprintf(line, 64, "%u pools or more differ only in \"", item->pools);
  size_t at = n < 0 ? 0 : (size_t)n;
  memcpy(line + at, item->part.name, len);
  at += len;
  n = snprintf(line + at, LINE_BYTES - at,
               "\"%s, and share no connections for that",
               what[item->part.kind]);
  return at + (n < 0 ? 0 : (size_t)n);
}

void weir__advice_log(const struct weir__engine *engine,
                      const struct weir__advice_item *item) {
  char line[LINE_BYTES];
  weir__log(engine, WEIR_DRV_LOG_WARN, line, write_item(item, line));
}

size_t weir__advice_text(const struct weir__advice *advice,
                         char *buf,
                         size_t cap) {
  char line[LINE_BYTES];
  size_t total = 0;
  for (uint32_t i = 0; i < advice->n; i++) {
    size_t n = write_item(&advice->items[i], line);
    line[n++] = '\n';
    if (total < cap && n < cap - total) {
      memcpy(buf + total, line, n);
    }
    total += n;
  }
  if (total < cap) {
    buf[total] = '\0';
  }
  return total;
}
