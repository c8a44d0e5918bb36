/* SPDX-License-Identifier: MIT */
/* Counting allocations.  Two ways to see them all, in every library:
 *
 *   - under a sanitizer, whose allocator must stay in place, its own hooks;
 *   - else malloc and its relatives are defined here, which the dynamic linker
 *     prefers to glibc's for the whole program, and end in glibc's own
 *     functions under their internal names.
 *
 * These functions run before main and inside the dynamic linker: they touch
 * nothing but the counters, whose storage is in the program's static TLS. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "count_calls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define HOOKED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
      __has_feature(memory_sanitizer)
#    define HOOKED 1
#  endif
#endif
#ifndef HOOKED
#  define HOOKED 0
#endif

static _Thread_local uint64_t of_thread;
static _Atomic uint64_t of_all;

static void note(void) {
  of_thread++;
  (void)atomic_fetch_add_explicit(&of_all, 1, memory_order_relaxed);
}

#if HOOKED
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void *p, size_t n),
    void (*free_hook)(const volatile void *p));

static void on_malloc(const volatile void *p, size_t n) {
  (void)p;
  (void)n;
  note();
}

static void on_free(const volatile void *p) {
  (void)p;
}

__attribute__((constructor)) static void install(void) {
  if (__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) == 0) {
    abort();
  }
}
#else
/* The names are glibc's.  NOLINTBEGIN(bugprone-reserved-identifier) */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
/* NOLINTEND(bugprone-reserved-identifier) */

#  define REPLACES __attribute__((visibility("default"), used))

REPLACES void *malloc(size_t n) {
  note();
  return __libc_malloc(n);
}

REPLACES void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}

REPLACES void *realloc(void *p, size_t n) {
  note();
  return __libc_realloc(p, n);
}

REPLACES void *memalign(size_t align, size_t n) {
  note();
  return __libc_memalign(align, n);
}

REPLACES void *aligned_alloc(size_t align, size_t n) {
  note();
  return __libc_memalign(align, n);
}

REPLACES int posix_memalign(void **out, size_t align, size_t n) {
  note();
  void *p = __libc_memalign(align, n);
  if (p == NULL) {
    return ENOMEM;
  }
  *out = p;
  return 0;
}
#endif

uint64_t count_allocations(void (*fn)(void *arg), void *arg) {
  uint64_t before = of_thread;
  fn(arg);
  return of_thread - before;
}

uint64_t count_allocations_all_threads(void (*fn)(void *arg), void *arg) {
  uint64_t before = atomic_load_explicit(&of_all, memory_order_relaxed);
  fn(arg);
  return atomic_load_explicit(&of_all, memory_order_relaxed) - before;
}
