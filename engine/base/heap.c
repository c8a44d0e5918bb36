/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include "sys/assert.h"

/* The heap is a complete tree.  The place of the i-th node, counted from 1 level
 * by level, is found by going down from the root: each bit of i below its
 * highest says left or right. */
static unsigned top_bit(size_t i) {
  unsigned bit = 0;
  while (i >> bit > 1) {
    bit++;
  }
  return bit;
}

static struct weir__heap_node *node_at(const struct weir__heap *heap,
                                       size_t i) {
  struct weir__heap_node *node = heap->root;
  for (unsigned bit = top_bit(i); bit > 0; bit--) {
    node = node->child[i >> (bit - 1) & 1u];
  }
  return node;
}

static bool before(const struct weir__heap_node *a,
                   const struct weir__heap_node *b) {
  return a->key != b->key ? a->key < b->key : a->order < b->order;
}

/* Makes whatever pointed to old, from above, point to node. */
static void set_below(struct weir__heap *heap,
                      struct weir__heap_node *parent,
                      const struct weir__heap_node *old,
                      struct weir__heap_node *node) {
  if (parent == NULL) {
    heap->root = node;
  } else {
    parent->child[parent->child[1] == old] = node;
  }
  if (node != NULL) {
    node->parent = parent;
  }
}

static void set_child(struct weir__heap_node *node,
                      unsigned side,
                      struct weir__heap_node *child) {
  node->child[side] = child;
  if (child != NULL) {
    child->parent = node;
  }
}

/* Swaps a node with its parent. */
static void raise(struct weir__heap *heap, struct weir__heap_node *node) {
  struct weir__heap_node *parent = node->parent;
  unsigned side = parent->child[1] == node;
  struct weir__heap_node *other = parent->child[1 - side];
  struct weir__heap_node *left = node->child[0];
  struct weir__heap_node *right = node->child[1];
  set_below(heap, parent->parent, parent, node);
  set_child(node, side, parent);
  set_child(node, 1 - side, other);
  set_child(parent, 0, left);
  set_child(parent, 1, right);
}

static void sift_up(struct weir__heap *heap, struct weir__heap_node *node) {
  while (node->parent != NULL && before(node, node->parent)) {
    raise(heap, node);
  }
}

static void sift_down(struct weir__heap *heap, struct weir__heap_node *node) {
  for (;;) {
    struct weir__heap_node *least = node->child[0];
    if (least != NULL && node->child[1] != NULL &&
        before(node->child[1], least)) {
      least = node->child[1];
    }
    if (least == NULL || !before(least, node)) {
      return;
    }
    raise(heap, least);
  }
}

void weir__heap_insert(struct weir__heap *heap,
                       struct weir__heap_node *node,
                       uint64_t key) {
  WEIR_ASSERT(!node->member);
  node->key = key;
  node->order = heap->inserted++;
  node->member = true;
  node->parent = NULL;
  node->child[0] = NULL;
  node->child[1] = NULL;
  size_t i = ++heap->n;
  if (i == 1) {
    heap->root = node;
  } else {
    set_child(node_at(heap, i / 2), i & 1u, node);
    sift_up(heap, node);
  }
}

void weir__heap_remove(struct weir__heap *heap, struct weir__heap_node *node) {
  if (!node->member) {
    return;
  }
  struct weir__heap_node *last = node_at(heap, heap->n);
  heap->n--;
  set_below(heap, last->parent, last, NULL);
  if (last != node) {
    set_below(heap, node->parent, node, last);
    set_child(last, 0, node->child[0]);
    set_child(last, 1, node->child[1]);
    sift_down(heap, last);
    sift_up(heap, last);
  }
  node->member = false;
}

struct weir__heap_node *weir__heap_first(const struct weir__heap *heap) {
  return heap->root;
}

static bool node_ok(const struct weir__heap_node *node, size_t i, size_t n) {
  for (size_t side = 0; side < 2; side++) {
    const struct weir__heap_node *child = node->child[side];
    bool wanted = 2 * i + side <= n;
    if ((child != NULL) != wanted) {
      return false;
    }
    if (child != NULL && (child->parent != node || before(child, node))) {
      return false;
    }
  }
  return node->member;
}

bool weir__heap_check(const struct weir__heap *heap) {
  if (heap->n == 0) {
    return heap->root == NULL;
  }
  bool ok = heap->root != NULL && heap->root->parent == NULL;
  for (size_t i = 1; ok && i <= heap->n; i++) {
    ok = node_ok(node_at(heap, i), i, heap->n);
  }
  return ok;
}
