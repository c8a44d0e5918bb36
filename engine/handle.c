/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include "weir.h"

#include "sys/assert.h"
#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/mutex.h"

#define CHUNK  64u
#define TABLES 7

/* key: generation << 1 | live.  The object is read between two reads of the
 * key, so a reader has either the object of its generation or nothing. */
struct entry {
  _Atomic uint64_t key;
  void *_Atomic object;
  uint32_t next_free; /* index + 1; guarded by lock */
};

struct table {
  struct entry *_Atomic chunks[WEIR_HANDLE_MAX / CHUNK];
  uint32_t used;       /* entries ever made; guarded by lock */
  uint32_t first_free; /* index + 1; guarded by lock */
  uint32_t last_free;
};

static struct table tables[TABLES];
static struct weir__mutex lock = {PTHREAD_MUTEX_INITIALIZER, WEIR_RANK_LEAF};

static struct table *table_of(enum weir__type type) {
  switch (type) {
  case WEIR_TYPE_ENGINE:
    return &tables[0];
  case WEIR_TYPE_POOL:
    return &tables[1];
  case WEIR_TYPE_ROWS:
    return &tables[2];
  case WEIR_TYPE_CREDENTIAL:
    return &tables[3];
  case WEIR_TYPE_REQUEST:
    return &tables[4];
  case WEIR_TYPE_QUEUE:
    return &tables[5];
  case WEIR_TYPE_OP:
    return &tables[6];
  case WEIR_TYPE_LEASE:
  default:
    WEIR_ASSERT(type != WEIR_TYPE_LEASE); /* leases live in slots */
    return &tables[0];
  }
}

static struct entry *entry_at(const struct table *t, uint32_t index) {
  struct entry *chunk =
      atomic_load_explicit(&t->chunks[index / CHUNK], memory_order_acquire);
  return chunk == NULL ? NULL : &chunk[index % CHUNK];
}

/* The same for an index below t->used. */
static struct entry *made_entry(const struct table *t, uint32_t index) {
  return &atomic_load_explicit(&t->chunks[index / CHUNK],
                               memory_order_acquire)[index % CHUNK];
}

/* Generations start at a number of this process, so that a handle of another
 * copy of the library is not mistaken for ours. */
static uint64_t first_generation(const void *salt) {
  uint64_t x = weir__clock_now() ^ (uint64_t)(uintptr_t)salt;
  x *= UINT64_C(0x9E3779B97F4A7C15);
  return (x >> 40) + 1;
}

static int add_chunk(struct table *t) {
  struct entry *chunk = weir__mem_array(CHUNK, sizeof *chunk);
  if (chunk == NULL) {
    return WEIR_E_NOMEM;
  }
  uint64_t generation = first_generation(chunk);
  for (uint32_t i = 0; i < CHUNK; i++) {
    weir__store_relaxed_u64(&chunk[i].key, generation << 1);
  }
  atomic_store_explicit(&t->chunks[t->used / CHUNK], chunk,
                        memory_order_release);
  return 0;
}

/* Freed entries are used again in the order in which they were freed, which
 * makes the horizon before a handle repeats as long as it can be. */
static int take_index_locked(struct table *t, uint32_t *out_index) {
  if (t->first_free != 0) {
    *out_index = t->first_free - 1;
    t->first_free = made_entry(t, *out_index)->next_free;
    if (t->first_free == 0) {
      t->last_free = 0;
    }
    return 0;
  }
  if (t->used == WEIR_HANDLE_MAX) {
    return WEIR_E_SPACE;
  }
  if (t->used % CHUNK == 0) {
    int rc = add_chunk(t);
    if (rc != 0) {
      return rc;
    }
  }
  *out_index = t->used++;
  return 0;
}

static uint64_t arm(struct entry *e,
                    enum weir__type type,
                    uint32_t index,
                    void *object) {
  uint64_t generation = weir__load_relaxed_u64(&e->key) >> 1;
  /* Release: who reads this object finds that the key of the last is over. */
  atomic_store_explicit(&e->object, object, memory_order_release);
  /* Release: publishes the object to the acquire in find. */
  weir__store_release_u64(&e->key, generation << 1 | 1);
  return weir__handle_make(type, index, (uint32_t)generation);
}

int weir__handle_new(enum weir__type type, void *object, uint64_t *out_handle) {
  struct table *t = table_of(type);
  uint32_t index = 0;
  weir__mutex_lock(&lock);
  int rc = take_index_locked(t, &index);
  if (rc == 0) {
    *out_handle = arm(made_entry(t, index), type, index, object);
  }
  weir__mutex_unlock(&lock);
  return rc;
}

void *weir__handle_find(uint64_t handle, enum weir__type type) {
  uint32_t index;
  uint32_t generation;
  if (!weir__handle_split(handle, type, &index, &generation)) {
    return NULL;
  }
  struct entry *e = entry_at(table_of(type), index);
  if (e == NULL) {
    return NULL;
  }
  uint64_t key = weir__load_acquire_u64(&e->key);
  void *object = atomic_load_explicit(&e->object, memory_order_acquire);
  bool good = (key & 1) != 0 && (uint32_t)(key >> 1) == generation &&
              weir__load_relaxed_u64(&e->key) == key;
  return good ? object : NULL;
}

static uint32_t next_generation(uint64_t key) {
  uint32_t g = (uint32_t)(key >> 1) + 1;
  return g == 0 ? 1 : g; /* 0 would make handle 0 of type 0 thinkable */
}

/* Makes a good handle stale. */
static void disarm(struct entry *e) {
  uint64_t key = weir__load_relaxed_u64(&e->key);
  WEIR_ASSERT((key & 1) != 0);
  weir__store_release_u64(&e->key, (uint64_t)next_generation(key) << 1);
}

static void give_index_back_locked(struct table *t, uint32_t index) {
  made_entry(t, index)->next_free = 0;
  if (t->last_free == 0) {
    t->first_free = index + 1;
  } else {
    made_entry(t, t->last_free - 1)->next_free = index + 1;
  }
  t->last_free = index + 1;
}

void *weir__handle_take(uint64_t handle, enum weir__type type) {
  uint32_t index;
  uint32_t generation;
  if (!weir__handle_split(handle, type, &index, &generation)) {
    return NULL;
  }
  struct table *t = table_of(type);
  struct entry *e = entry_at(t, index);
  if (e == NULL) {
    return NULL;
  }
  void *object = NULL;
  weir__mutex_lock(&lock);
  uint64_t key = weir__load_relaxed_u64(&e->key);
  if ((key & 1) != 0 && (uint32_t)(key >> 1) == generation) {
    object = atomic_load_explicit(&e->object, memory_order_relaxed);
    disarm(e);
    give_index_back_locked(t, index);
  }
  weir__mutex_unlock(&lock);
  return object;
}

int weir__handle_reserve(enum weir__type type, uint32_t *out_index) {
  weir__mutex_lock(&lock);
  int rc = take_index_locked(table_of(type), out_index);
  weir__mutex_unlock(&lock);
  return rc;
}

uint64_t weir__handle_arm(enum weir__type type, uint32_t index, void *object) {
  return arm(made_entry(table_of(type), index), type, index, object);
}

void weir__handle_disarm(enum weir__type type, uint32_t index) {
  disarm(made_entry(table_of(type), index));
}

void weir__handle_unreserve(enum weir__type type, uint32_t index) {
  weir__mutex_lock(&lock);
  give_index_back_locked(table_of(type), index);
  weir__mutex_unlock(&lock);
}

/* Takes no lock: another thread of the parent may have held it at the fork.  The
 * child has one thread, so nobody else is here. */
void weir__handle_forget_all(void) {
  (void)pthread_mutex_init(&lock.m, NULL);
  for (uint32_t i = 0; i < TABLES; i++) {
    struct table *t = &tables[i];
    for (uint32_t index = 0; index < t->used; index++) {
      struct entry *e = made_entry(t, index);
      uint64_t key = weir__load_relaxed_u64(&e->key);
      if ((key & 1) != 0) {
        weir__store_relaxed_u64(&e->key, (uint64_t)next_generation(key) << 1);
      }
    }
  }
}
