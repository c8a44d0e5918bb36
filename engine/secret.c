/* SPDX-License-Identifier: MIT */
/* The arena for secrets.
 *
 * One reserved region, cut into chunks of 64 KiB and those into units of 64
 * bytes.  Its book-keeping is outside, so that it survives what happens to the
 * pages, and holds two bits per unit: used, and last of its allocation.  An
 * allocation lies in one chunk, or, if it is longer, in a run of whole ones.
 *
 *   S1  A unit that is not used reads as zeros: pages start so, and release
 *       wipes before it clears the bits.  So alloc need not clear anything.
 *   S2  The region never moves and is never unmapped, so that
 *       weir__secret_owns() is two comparisons.
 *   S3  No system call is made with the lock held.
 */
#include "secret.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "sys/assert.h"
#include "sys/atomic.h"
#include "sys/mem.h"
#include "sys/mutex.h"

#define UNIT        ((size_t)64)
#define CHUNK       ((size_t)65536)
#define CHUNK_UNITS (CHUNK / UNIT)
#define WORDS       (CHUNK_UNITS / 64)
#define CHUNKS      ((size_t)2048)
#define REGION      (CHUNK * CHUNKS)

/* Chunks below this keep their pages when they fall empty. */
#define CHUNKS_KEPT 4

struct chunk {
  uint64_t used[WORDS];
  uint64_t last[WORDS];
  uint32_t n_free; /* units to be had; 0 while the pages are given back */
  uint32_t run;    /* chunks of the long allocation that begins here */
  bool touched;    /* was in use since its pages were empty */
};

static struct weir__mutex mu = {PTHREAD_MUTEX_INITIALIZER, WEIR_RANK_LEAF};
static struct chunk chunks[CHUNKS]; /* guarded by mu */
static size_t n_chunks;             /* in use so far; guarded by mu */

/* Address of the region, 0 before there is one.  Written once, under mu;
 * released there for the acquire in region(). */
static _Atomic uint64_t region_word;

static unsigned char *region(void) {
  return (unsigned char *)(uintptr_t)weir__load_acquire_u64(&region_word);
}

/* ------------------------------------------------------------ the bits */

static bool get_bit(const uint64_t *words, size_t i) {
  return (words[i / 64] >> (i % 64) & 1u) != 0;
}

static void set_bits(uint64_t *words, size_t from, size_t n, bool on) {
  for (size_t i = from; i < from + n; i++) {
    uint64_t bit = UINT64_C(1) << (i % 64);
    words[i / 64] = on ? words[i / 64] | bit : words[i / 64] & ~bit;
  }
}

/* The first run of n free units, or CHUNK_UNITS. */
static size_t find_units(const struct chunk *c, size_t n) {
  size_t have = 0;
  for (size_t i = 0; i < CHUNK_UNITS; i++) {
    if (i % 64 == 0 && c->used[i / 64] == UINT64_MAX) {
      have = 0;
      i += 63;
      continue;
    }
    have = get_bit(c->used, i) ? 0 : have + 1;
    if (have == n) {
      return i + 1 - n;
    }
  }
  return CHUNK_UNITS;
}

/* How many units the allocation that begins at from has. */
static size_t units_from(const struct chunk *c, size_t from) {
  size_t i = from;
  while (!get_bit(c->last, i)) {
    i++;
  }
  return i + 1 - from;
}

/* ------------------------------------------------------------ the region */

/* Reserves the region if there is none yet. */
static bool have_region(void) {
  if (region() != NULL) {
    return true;
  }
  void *p = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return false;
  }
  /* Without these two promises there are no secrets here.  Huge pages would
   * bring 2 MiB into memory for a password. */
  if (madvise(p, REGION, MADV_DONTDUMP) != 0 ||
      madvise(p, REGION, MADV_WIPEONFORK) != 0) {
    (void)munmap(p, REGION);
    return false;
  }
  (void)madvise(p, REGION, MADV_NOHUGEPAGE);
  weir__mutex_lock(&mu);
  bool mine = region() == NULL;
  if (mine) {
    weir__store_release_u64(&region_word, (uint64_t)(uintptr_t)p);
  }
  weir__mutex_unlock(&mu);
  if (!mine) {
    (void)munmap(p, REGION);
  }
  return true;
}

/* Keeps n chunks from being swapped out, page by page as they are written to.
 * Best effort: RLIMIT_MEMLOCK is often 64 KiB. */
static void lock_pages(size_t chunk, size_t n) {
#if defined(MLOCK_ONFAULT)
  (void)mlock2(region() + chunk * CHUNK, n * CHUNK, MLOCK_ONFAULT);
#else
  (void)mlock(region() + chunk * CHUNK, n * CHUNK);
#endif
}

/* Gives the pages of n chunks back to the system; they read as zeros again. */
static void drop_pages(size_t chunk, size_t n) {
  unsigned char *p = region() + chunk * CHUNK;
  (void)munlock(p, n * CHUNK);
  (void)madvise(p, n * CHUNK, MADV_DONTNEED);
}

/* ---------------------------------------------------------- allocation */

/* A place for n units in one chunk: *out_chunk, *out_unit. */
static bool take_units_locked(size_t n, size_t *out_chunk, size_t *out_unit)
    WEIR_REQUIRES(mu) {
  for (size_t k = 0; k < CHUNKS; k++) {
    struct chunk *c = &chunks[k];
    if (k == n_chunks) {
      c->n_free = CHUNK_UNITS;
      n_chunks++;
    }
    size_t at = c->n_free >= n ? find_units(c, n) : CHUNK_UNITS;
    if (at != CHUNK_UNITS) {
      set_bits(c->used, at, n, true);
      set_bits(c->last, at + n - 1, 1, true);
      c->n_free -= (uint32_t)n;
      *out_chunk = k;
      *out_unit = at;
      return true;
    }
  }
  return false;
}

/* n whole chunks in a row. */
static bool take_run_locked(size_t n, size_t *out_chunk) WEIR_REQUIRES(mu) {
  size_t have = 0;
  for (size_t k = 0; k < CHUNKS; k++) {
    if (k == n_chunks) {
      chunks[k].n_free = CHUNK_UNITS;
      n_chunks++;
    }
    have = chunks[k].n_free == CHUNK_UNITS ? have + 1 : 0;
    if (have == n) {
      *out_chunk = k + 1 - n;
      for (size_t i = *out_chunk; i <= k; i++) {
        chunks[i].n_free = 0;
      }
      chunks[*out_chunk].run = (uint32_t)n;
      return true;
    }
  }
  return false;
}

/* Marks n chunks as touched; true if one was not. */
static bool touch_locked(size_t chunk, size_t n) WEIR_REQUIRES(mu) {
  bool fresh = false;
  for (size_t k = chunk; k < chunk + n; k++) {
    fresh = fresh || !chunks[k].touched;
    chunks[k].touched = true;
  }
  return fresh;
}

void *weir__secret_alloc(size_t n) {
  if (n > WEIR_SECRET_MAX || !have_region()) {
    return NULL;
  }
  size_t units = n == 0 ? 1 : (n + UNIT - 1) / UNIT;
  size_t run = units > CHUNK_UNITS ? (n + CHUNK - 1) / CHUNK : 1;
  size_t chunk = 0;
  size_t unit = 0;
  bool fresh = false;
  weir__mutex_lock(&mu);
  bool found = units > CHUNK_UNITS ? take_run_locked(run, &chunk)
                                   : take_units_locked(units, &chunk, &unit);
  if (found) {
    fresh = touch_locked(chunk, run);
  }
  weir__mutex_unlock(&mu);
  if (fresh) {
    lock_pages(chunk, run);
  }
  return found ? region() + chunk * CHUNK + unit * UNIT : NULL;
}

bool weir__secret_owns(const void *p) {
  uintptr_t base = (uintptr_t)region();
  return base != 0 && (uintptr_t)p - base < REGION;
}

/* Length in bytes of the allocation at (chunk, unit).  Only its owner asks, so
 * that its bits stand still; the lock is for the neighbours in its words. */
static size_t size_of(size_t chunk, size_t unit) {
  weir__mutex_lock(&mu);
  const struct chunk *c = &chunks[chunk];
  size_t n = c->run != 0 ? c->run * CHUNK : 0;
  if (n == 0) {
    /* A second release, or an address inside something else, is a bug of the
     * caller's. */
    WEIR_ASSERT(get_bit(c->used, unit));
    WEIR_ASSERT(unit == 0 || !get_bit(c->used, unit - 1) ||
                get_bit(c->last, unit - 1));
    n = get_bit(c->used, unit) ? units_from(c, unit) * UNIT : 0;
  }
  weir__mutex_unlock(&mu);
  return n;
}

/* Clears the bits of n units.  True if the chunk is now empty and its pages
 * are to be dropped; it is then taken out of use until keep_locked(). */
static bool put_units_locked(size_t chunk, size_t unit, size_t n)
    WEIR_REQUIRES(mu) {
  struct chunk *c = &chunks[chunk];
  set_bits(c->used, unit, n, false);
  set_bits(c->last, unit + n - 1, 1, false);
  c->n_free += (uint32_t)n;
  if (c->n_free != CHUNK_UNITS || chunk < CHUNKS_KEPT) {
    return false;
  }
  c->n_free = 0;
  return true;
}

/* Puts n chunks without pages back into use. */
static void revive(size_t chunk, size_t n) {
  weir__mutex_lock(&mu);
  for (size_t k = chunk; k < chunk + n; k++) {
    chunks[k].n_free = CHUNK_UNITS;
    chunks[k].run = 0;
    chunks[k].touched = false;
  }
  weir__mutex_unlock(&mu);
}

static void release_units(size_t chunk, size_t unit, size_t n) {
  weir__mutex_lock(&mu);
  bool drop = put_units_locked(chunk, unit, n);
  weir__mutex_unlock(&mu);
  if (drop) {
    drop_pages(chunk, 1);
    revive(chunk, 1);
  }
}

void weir__secret_release(void *p) {
  if (p == NULL) {
    return;
  }
  WEIR_ASSERT(weir__secret_owns(p));
  size_t offset = (size_t)((unsigned char *)p - region());
  size_t chunk = offset / CHUNK;
  size_t unit = offset % CHUNK / UNIT;
  WEIR_ASSERT(offset % UNIT == 0);
  size_t n = size_of(chunk, unit);
  if (n == 0) {
    return;
  }
  weir__mem_wipe(p, n);
  if (n > CHUNK) {
    drop_pages(chunk, n / CHUNK);
    revive(chunk, n / CHUNK);
  } else {
    release_units(chunk, unit, n / UNIT);
  }
}

void weir__secret_forget(void) WEIR_UNCHECKED {
  /* The parent's lock may have been held by a thread that is not here; its
   * pages stay mapped, empty, for those who still hold addresses in them. */
  weir__mutex_init(&mu, WEIR_RANK_LEAF);
  memset(chunks, 0, sizeof chunks);
  n_chunks = 0;
  weir__store_release_u64(&region_word, 0);
}

/* ---------------------------------------------------------------- values */

struct weir__secret {
  size_t n;
  unsigned char bytes[];
};

struct weir__secret *weir__secret_new(const void *p, size_t n) {
  if (n >= WEIR_SECRET_MAX - sizeof(struct weir__secret)) {
    return NULL;
  }
  struct weir__secret *s = weir__secret_alloc(sizeof *s + n + 1);
  if (s != NULL) {
    s->n = n;
    if (n != 0) {
      memcpy(s->bytes, p, n);
    }
  }
  return s;
}

void weir__secret_free(struct weir__secret *secret) {
  weir__secret_release(secret);
}

const void *weir__secret_bytes(const struct weir__secret *secret) {
  return secret->bytes;
}

size_t weir__secret_len(const struct weir__secret *secret) {
  return secret->n;
}
