/* SPDX-License-Identifier: MIT */
/* handle.h - 64-bit handles: type 4 bits, index 17 bits, generation 32 bits.
 *
 * A lease's index and generation are those of its slot (slot.h); the other
 * types live in a table here.  Looking a handle up writes nothing.  Entries are
 * never freed, so a stale handle is always answered and never followed. */
#ifndef WEIR_HANDLE_H
#define WEIR_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_HANDLE_MAX 131072u /* objects of one type */

enum weir__type {
  WEIR_TYPE_ENGINE = 1,
  WEIR_TYPE_POOL = 2,
  WEIR_TYPE_LEASE = 3,
  WEIR_TYPE_ROWS = 4,
  WEIR_TYPE_CREDENTIAL = 5,
  WEIR_TYPE_REQUEST = 6, /* of a credential */
  WEIR_TYPE_QUEUE = 7,
  WEIR_TYPE_OP = 8 /* submitted, not yet over */
};

static inline uint64_t weir__handle_make(enum weir__type type,
                                         uint32_t index,
                                         uint32_t generation) {
  return (uint64_t)type << 49 | (uint64_t)index << 32 | generation;
}

/* True if h has that type; index and generation are its parts. */
static inline bool weir__handle_split(uint64_t h,
                                      enum weir__type type,
                                      uint32_t *out_index,
                                      uint32_t *out_generation) {
  if (h >> 49 != (uint64_t)type) {
    return false;
  }
  *out_index = (uint32_t)(h >> 32) & (WEIR_HANDLE_MAX - 1);
  *out_generation = (uint32_t)h;
  return true;
}

/* Enters object into the table.  Returns 0, WEIR_E_SPACE or WEIR_E_NOMEM. */
int weir__handle_new(enum weir__type type, void *object, uint64_t *out_handle);

/* The object, or NULL when the handle is not good.  Whether the object is still
 * there while it is used is its type's affair (caller.h for engine and pool). */
void *weir__handle_find(uint64_t handle, enum weir__type type);

/* Makes the handle stale; returns its object to exactly one caller, NULL to
 * others. */
void *weir__handle_take(uint64_t handle, enum weir__type type);

/* For objects that come and go faster than the table's lock allows: an index of
 * the table whose handle is made good and stale by its owner alone, without a lock
 * and without failing.  Returns 0, WEIR_E_SPACE or WEIR_E_NOMEM. */
int weir__handle_reserve(enum weir__type type, uint32_t *out_index);

/* Makes the handle of a reserved index good, for object; returns it. */
uint64_t weir__handle_arm(enum weir__type type, uint32_t index, void *object);

/* Makes it stale. */
void weir__handle_disarm(enum weir__type type, uint32_t index);

/* Gives a reserved index back; its handle is stale. */
void weir__handle_unreserve(enum weir__type type, uint32_t index);

/* In a forked child: makes every handle stale. */
void weir__handle_forget_all(void);

#endif
