/* SPDX-License-Identifier: MIT */
/* A binary heap of deadlines; each connection knows its place in it. */
#include <stdlib.h>

#include "server_loop.h"

static void place(struct tdsd_heap *heap, size_t at, struct tdsd_conn *conn) {
  heap->conns[at] = conn;
  conn->heap_index = at;
}

static void sift_up(struct tdsd_heap *heap, size_t at) {
  struct tdsd_conn *conn = heap->conns[at];
  while (at > 0) {
    size_t parent = (at - 1) / 2;
    if (heap->conns[parent]->deadline_ns <= conn->deadline_ns) {
      break;
    }
    place(heap, at, heap->conns[parent]);
    at = parent;
  }
  place(heap, at, conn);
}

static void sift_down(struct tdsd_heap *heap, size_t at) {
  struct tdsd_conn *conn = heap->conns[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->n) {
      break;
    }
    if (child + 1 < heap->n &&
        heap->conns[child + 1]->deadline_ns < heap->conns[child]->deadline_ns) {
      child++;
    }
    if (conn->deadline_ns <= heap->conns[child]->deadline_ns) {
      break;
    }
    place(heap, at, heap->conns[child]);
    at = child;
  }
  place(heap, at, conn);
}

static void drop(struct tdsd_heap *heap, struct tdsd_conn *conn) {
  size_t at = conn->heap_index;
  struct tdsd_conn *last = heap->conns[--heap->n];
  conn->deadline_ns = 0;
  if (last != conn) {
    place(heap, at, last);
    sift_up(heap, at);
    sift_down(heap, last->heap_index);
  }
}

static bool add(struct tdsd_heap *heap,
                struct tdsd_conn *conn,
                uint64_t deadline_ns) {
  if (heap->n == heap->room) {
    size_t room = heap->room == 0 ? 64 : 2 * heap->room;
    struct tdsd_conn **conns =
        realloc(heap->conns, room * sizeof(struct tdsd_conn *));
    if (conns == NULL) {
      return false;
    }
    heap->conns = conns;
    heap->room = room;
  }
  conn->deadline_ns = deadline_ns;
  place(heap, heap->n++, conn);
  sift_up(heap, heap->n - 1);
  return true;
}

bool tdsd_heap_set(struct tdsd_heap *heap,
                   struct tdsd_conn *conn,
                   uint64_t deadline_ns) {
  if (conn->deadline_ns == deadline_ns) {
    return true;
  }
  if (deadline_ns == 0) {
    drop(heap, conn);
    return true;
  }
  if (conn->deadline_ns == 0) {
    return add(heap, conn, deadline_ns);
  }
  conn->deadline_ns = deadline_ns;
  sift_up(heap, conn->heap_index);
  sift_down(heap, conn->heap_index);
  return true;
}
