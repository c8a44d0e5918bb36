/* SPDX-License-Identifier: MIT */
/* heap.h - a binary heap of nodes that live in their owners.
 *
 * A linked tree and not an array, so that inserting never allocates and thus
 * never fails: a deadline can always be set.  Nodes with equal keys come out in
 * the order in which they went in. */
#ifndef WEIR_BASE_HEAP_H
#define WEIR_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir__heap_node {
  struct weir__heap_node *parent;
  struct weir__heap_node *child[2];
  uint64_t key;   /* smallest first */
  uint64_t order; /* given by insert; breaks ties */
  bool member;    /* false in zeroed memory */
};

/* Zeroed memory is an empty heap. */
struct weir__heap {
  struct weir__heap_node *root;
  size_t n;
  uint64_t inserted; /* so far */
};

/* Adds a node that is in no heap.  O(log n). */
void weir__heap_insert(struct weir__heap *heap,
                       struct weir__heap_node *node,
                       uint64_t key);

/* Takes a node out; nothing happens if it is not in.  O(log n). */
void weir__heap_remove(struct weir__heap *heap, struct weir__heap_node *node);

/* The node with the smallest key, or NULL. */
struct weir__heap_node *weir__heap_first(const struct weir__heap *heap);

/* Walks the whole heap: true if order, links and count are right. */
bool weir__heap_check(const struct weir__heap *heap);

#endif
