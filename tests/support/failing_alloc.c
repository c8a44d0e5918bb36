/* SPDX-License-Identifier: MIT */
#include "failing_alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sys/seams.h"

static void *(*saved_alloc)(size_t n);
static void *(*saved_resize)(void *p, size_t n);
static _Atomic uint64_t asked;
static _Atomic uint64_t failed;
static _Atomic uint64_t first; /* the first one to fail; 0: none */
static _Atomic uint64_t last;  /* the last one to fail */

/* Relaxed throughout: the numbers order nothing but themselves. */
static uint64_t get(const _Atomic uint64_t *p) {
  return atomic_load_explicit(p, memory_order_relaxed);
}

static void put(_Atomic uint64_t *p, uint64_t v) {
  atomic_store_explicit(p, v, memory_order_relaxed);
}

static bool fails_now(void) {
  uint64_t n = 1 + atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
  if (get(&first) == 0 || n < get(&first) || n > get(&last)) {
    return false;
  }
  (void)atomic_fetch_add_explicit(&failed, 1, memory_order_relaxed);
  return true;
}

static void *alloc(size_t n) {
  return fails_now() ? NULL : saved_alloc(n);
}

static void *resize(void *p, size_t n) {
  return fails_now() ? NULL : saved_resize(p, n);
}

static void fail_between(uint64_t from, uint64_t to) {
  put(&asked, 0);
  put(&failed, 0);
  put(&first, from);
  put(&last, to);
}

void failing_alloc_install(void) {
  fail_between(0, 0);
  saved_alloc = weir__seams.alloc;
  saved_resize = weir__seams.resize;
  weir__seams.alloc = alloc;
  weir__seams.resize = resize;
}

void failing_alloc_restore(void) {
  weir__seams.alloc = saved_alloc;
  weir__seams.resize = saved_resize;
}

void failing_alloc_at(uint64_t n) {
  fail_between(n, n);
}

void failing_alloc_from(uint64_t n) {
  fail_between(n, UINT64_MAX);
}

uint64_t failing_alloc_count(void) {
  return get(&asked);
}

uint64_t failing_alloc_failed(void) {
  return get(&failed);
}
