/* SPDX-License-Identifier: MIT */
/* atomic.h - C11 atomics with the memory order in the name.
 *
 * Everything atomic in the engine goes through here, so the orders in use are a
 * list on one screen and a reviewer reads the order at the call. */
#ifndef WEIR_SYS_ATOMIC_H
#define WEIR_SYS_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WEIR_ATOMIC_OPS(suffix, type)                                        \
  static inline type weir__load_relaxed_##suffix(const _Atomic type *p) {    \
    return atomic_load_explicit(p, memory_order_relaxed);                    \
  }                                                                          \
  static inline type weir__load_acquire_##suffix(const _Atomic type *p) {    \
    return atomic_load_explicit(p, memory_order_acquire);                    \
  }                                                                          \
  static inline type weir__load_seq_##suffix(const _Atomic type *p) {        \
    return atomic_load_explicit(p, memory_order_seq_cst);                    \
  }                                                                          \
  static inline void weir__store_relaxed_##suffix(_Atomic type *p, type v) { \
    atomic_store_explicit(p, v, memory_order_relaxed);                       \
  }                                                                          \
  static inline void weir__store_release_##suffix(_Atomic type *p, type v) { \
    atomic_store_explicit(p, v, memory_order_release);                       \
  }                                                                          \
  static inline void weir__store_seq_##suffix(_Atomic type *p, type v) {     \
    atomic_store_explicit(p, v, memory_order_seq_cst);                       \
  }                                                                          \
  static inline type weir__exchange_acq_rel_##suffix(_Atomic type *p,        \
                                                     type v) {               \
    return atomic_exchange_explicit(p, v, memory_order_acq_rel);             \
  }                                                                          \
  static inline type weir__exchange_seq_##suffix(_Atomic type *p, type v) {  \
    return atomic_exchange_explicit(p, v, memory_order_seq_cst);             \
  }                                                                          \
  static inline bool weir__cas_acq_rel_##suffix(_Atomic type *p,             \
                                                type *expected, type v) {    \
    return atomic_compare_exchange_strong_explicit(                          \
        p, expected, v, memory_order_acq_rel, memory_order_acquire);         \
  }                                                                          \
  static inline bool weir__cas_seq_##suffix(_Atomic type *p, type *expected, \
                                            type v) {                        \
    return atomic_compare_exchange_strong_explicit(                          \
        p, expected, v, memory_order_seq_cst, memory_order_seq_cst);         \
  }

#define WEIR_ATOMIC_INT_OPS(suffix, type)                                  \
  static inline type weir__add_relaxed_##suffix(_Atomic type *p, type v) { \
    return atomic_fetch_add_explicit(p, v, memory_order_relaxed);          \
  }                                                                        \
  static inline type weir__add_acq_rel_##suffix(_Atomic type *p, type v) { \
    return atomic_fetch_add_explicit(p, v, memory_order_acq_rel);          \
  }                                                                        \
  static inline type weir__sub_acq_rel_##suffix(_Atomic type *p, type v) { \
    return atomic_fetch_sub_explicit(p, v, memory_order_acq_rel);          \
  }                                                                        \
  static inline type weir__add_seq_##suffix(_Atomic type *p, type v) {     \
    return atomic_fetch_add_explicit(p, v, memory_order_seq_cst);          \
  }                                                                        \
  static inline type weir__or_seq_##suffix(_Atomic type *p, type v) {      \
    return atomic_fetch_or_explicit(p, v, memory_order_seq_cst);           \
  }                                                                        \
  static inline type weir__and_seq_##suffix(_Atomic type *p, type v) {     \
    return atomic_fetch_and_explicit(p, v, memory_order_seq_cst);          \
  }

/* NOLINTBEGIN(readability-non-const-parameter): compare-and-swap writes what it
 * expected, which the check does not see. */
WEIR_ATOMIC_OPS(u32, uint32_t)
WEIR_ATOMIC_OPS(u64, uint64_t)
/* NOLINTEND(readability-non-const-parameter) */
WEIR_ATOMIC_INT_OPS(u32, uint32_t)
WEIR_ATOMIC_INT_OPS(u64, uint64_t)

/* A compiler barrier: pairs with membarrier(2) on the other side. */
static inline void weir__fence_compiler(void) {
  atomic_signal_fence(memory_order_seq_cst);
}

#endif
