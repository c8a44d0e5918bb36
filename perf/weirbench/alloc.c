/* SPDX-License-Identifier: MIT */
/* These functions run before main and inside the dynamic linker too: they touch
 * nothing but words in static storage and static TLS, and end in glibc's own
 * functions under their internal names. */
#include "alloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

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

static _Atomic bool counting;
static _Thread_local bool quiet_here;
static _Atomic uint64_t allocs;
static _Atomic uint64_t frees;

static void note(_Atomic uint64_t *counter) {
  if (atomic_load_explicit(&counting, memory_order_relaxed) && !quiet_here) {
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  }
}

void alloc_count(bool on) {
  if (on) {
    atomic_store_explicit(&allocs, 0, memory_order_relaxed);
    atomic_store_explicit(&frees, 0, memory_order_relaxed);
  }
  atomic_store_explicit(&counting, on, memory_order_relaxed);
}

void alloc_quiet(bool quiet) {
  quiet_here = quiet;
}

struct alloc_counts alloc_read(void) {
  return (struct alloc_counts){
      .allocs = atomic_load_explicit(&allocs, memory_order_relaxed),
      .frees = atomic_load_explicit(&frees, memory_order_relaxed),
  };
}

#if HOOKED
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void *p, size_t n),
    void (*free_hook)(const volatile void *p));

static void on_malloc(const volatile void *p, size_t n) {
  (void)p;
  (void)n;
  note(&allocs);
}

static void on_free(const volatile void *p) {
  (void)p;
  note(&frees);
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
void __libc_free(void *p);
/* NOLINTEND(bugprone-reserved-identifier) */

#  define REPLACES __attribute__((visibility("default"), used))

REPLACES void *malloc(size_t n) {
  note(&allocs);
  return __libc_malloc(n);
}

REPLACES void *calloc(size_t count, size_t size) {
  note(&allocs);
  return __libc_calloc(count, size);
}

REPLACES void *realloc(void *p, size_t n) {
  note(&allocs);
  return __libc_realloc(p, n);
}

REPLACES void *memalign(size_t align, size_t n) {
  note(&allocs);
  return __libc_memalign(align, n);
}

REPLACES void *aligned_alloc(size_t align, size_t n) {
  note(&allocs);
  return __libc_memalign(align, n);
}

REPLACES int posix_memalign(void **out, size_t align, size_t n) {
  note(&allocs);
  void *p = __libc_memalign(align, n);
  if (p == NULL) {
    return ENOMEM;
  }
  *out = p;
  return 0;
}

REPLACES void free(void *p) {
  if (p != NULL) {
    note(&frees);
  }
  __libc_free(p);
}
#endif
