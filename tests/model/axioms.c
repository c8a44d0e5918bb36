/* SPDX-License-Identifier: MIT */
#include "axioms.h"

#include <stddef.h>
#include <string.h>

#define EVENTS 28
#define VARS   4
#define NONE   0xFFu

/* rel[i] has bit j: i is before j. */
struct relation {
  uint32_t from[EVENTS];
};

struct event {
  enum access access; /* READ or WRITE, FENCE, MEMBARRIER */
  enum order order;
  uint8_t thread; /* NONE: the initial writes */
  uint8_t var;
  uint8_t value;
  uint8_t source;  /* a read's write */
  uint8_t partner; /* the other half of an update */
};

struct execution {
  struct event e[EVENTS];
  uint8_t n;
  uint8_t last_of[AXIOMS_LINES]; /* one past the thread's last event */
  struct relation po, rf, co, fr;
  uint8_t order[VARS][EVENTS]; /* the writes of each variable, as tried */
  uint8_t n_writes[VARS];
  uint8_t fence_at[AXIOMS_LINES]; /* of a membarrier, in each other thread */
  const struct litmus *test;
  enum axioms_model model;
  bool found;
};

static bool is_write(const struct event *e) {
  return e->access == WRITE;
}

static bool is_read(const struct event *e) {
  return e->access == READ;
}

static bool acquires(const struct event *e) {
  return is_read(e) &&
         (e->order == ACQUIRE || e->order == ACQ_REL || e->order == SEQ);
}

static bool releases(const struct event *e) {
  return is_write(e) &&
         (e->order == RELEASE || e->order == ACQ_REL || e->order == SEQ);
}

static void relate(struct relation *r, unsigned i, unsigned j) {
  r->from[i] |= UINT32_C(1) << j;
}

static bool has(const struct relation *r, unsigned i, unsigned j) {
  return (r->from[i] >> j & 1u) != 0;
}

static void unite(struct relation *into, const struct relation *r) {
  for (unsigned i = 0; i < EVENTS; i++) {
    into->from[i] |= r->from[i];
  }
}

static void close_over(struct relation *r) {
  for (unsigned k = 0; k < EVENTS; k++) {
    for (unsigned i = 0; i < EVENTS; i++) {
      if (has(r, i, k)) {
        r->from[i] |= r->from[k];
      }
    }
  }
}

static struct relation then(const struct relation *a,
                            const struct relation *b) {
  struct relation r = {{0}};
  for (unsigned i = 0; i < EVENTS; i++) {
    for (unsigned k = 0; k < EVENTS; k++) {
      if (has(a, i, k)) {
        r.from[i] |= b->from[k];
      }
    }
  }
  return r;
}

static bool is_acyclic(struct relation r) {
  close_over(&r);
  for (unsigned i = 0; i < EVENTS; i++) {
    if (has(&r, i, i)) {
      return false;
    }
  }
  return true;
}

static bool is_external(const struct execution *x, unsigned i, unsigned j) {
  return x->e[i].thread != x->e[j].thread;
}

/* Adds to `into` what of r lies between threads. */
static void unite_external(const struct execution *x,
                           struct relation *into,
                           const struct relation *r) {
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (has(r, i, j) && is_external(x, i, j)) {
        relate(into, i, j);
      }
    }
  }
}

/* ------------------------------------------------------- what all models ask */

static bool same_var(const struct execution *x, unsigned i, unsigned j) {
  return x->e[i].var != NONE && x->e[i].var == x->e[j].var;
}

static bool is_coherent(const struct execution *x) {
  struct relation r = {{0}};
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (has(&x->po, i, j) && same_var(x, i, j)) {
        relate(&r, i, j);
      }
    }
  }
  unite(&r, &x->rf);
  unite(&r, &x->co);
  unite(&r, &x->fr);
  return is_acyclic(r);
}

/* Nothing is written between the two halves of an update. */
static bool is_atomic(const struct execution *x) {
  struct relation between = then(&x->fr, &x->co);
  for (unsigned i = 0; i < x->n; i++) {
    if (is_read(&x->e[i]) && x->e[i].partner != NONE &&
        has(&between, i, x->e[i].partner)) {
      return false;
    }
  }
  return true;
}

/* What membarrier(2) orders: what comes before it, before what follows the moment
 * at which it interrupts each other thread, and the other way round. */
static void add_membarrier(const struct execution *x, struct relation *r) {
  for (unsigned b = 0; b < x->n; b++) {
    if (x->e[b].access != MEMBARRIER) {
      continue;
    }
    for (unsigned i = 0; i < x->n; i++) {
      uint8_t t = x->e[i].thread;
      if (t == NONE || t == x->e[b].thread) {
        continue;
      }
      for (unsigned j = 0; j < x->n; j++) {
        bool before = i < x->fence_at[t];
        if (!before && has(&x->po, j, b)) {
          relate(r, j, i);
        } else if (before && has(&x->po, b, j)) {
          relate(r, i, j);
        } else if (before && x->e[j].thread == t && j >= x->fence_at[t]) {
          relate(r, i, j);
        }
      }
    }
    for (unsigned i = 0; i < x->n; i++) {
      for (unsigned j = 0; j < x->n; j++) {
        if (has(&x->po, i, b) && has(&x->po, b, j)) {
          relate(r, i, j);
        }
      }
    }
  }
}

/* True if k lies between i and j in their thread. */
static bool is_between(const struct execution *x,
                       unsigned i,
                       unsigned k,
                       unsigned j) {
  return has(&x->po, i, k) && has(&x->po, k, j);
}

static bool fenced(const struct execution *x, unsigned i, unsigned j) {
  for (unsigned k = 0; k < x->n; k++) {
    if (x->e[k].access == FENCE && is_between(x, i, k, j)) {
      return true;
    }
  }
  return false;
}

/* --------------------------------------------------------------------- models */

static bool sc_allows(const struct execution *x) {
  struct relation r = x->po;
  unite(&r, &x->rf);
  unite(&r, &x->co);
  unite(&r, &x->fr);
  return is_acyclic(r);
}

/* A seq_cst store is an exchange and an update is locked: both drain. */
static bool drains(const struct event *e) {
  return is_write(e) && (e->partner != NONE || e->order == SEQ);
}

static bool tso_orders(const struct execution *x, unsigned i, unsigned j) {
  if (!is_write(&x->e[i]) || !is_read(&x->e[j]) || drains(&x->e[i]) ||
      x->e[j].partner != NONE || fenced(x, i, j)) {
    return true;
  }
  for (unsigned k = 0; k < x->n; k++) {
    if (drains(&x->e[k]) && is_between(x, i, k, j)) {
      return true;
    }
  }
  return false;
}

static bool tso_allows(const struct execution *x) {
  struct relation r = {{0}};
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (has(&x->po, i, j) && tso_orders(x, i, j)) {
        relate(&r, i, j);
      }
    }
  }
  unite_external(x, &r, &x->rf);
  unite(&r, &x->co);
  unite(&r, &x->fr);
  add_membarrier(x, &r);
  return is_acyclic(r);
}

/* Barrier-ordered-before, without dependencies: the tests have none. */
static bool arm_orders(const struct execution *x, unsigned i, unsigned j) {
  const struct event *a = &x->e[i];
  const struct event *b = &x->e[j];
  return acquires(a) || releases(b) || (releases(a) && acquires(b)) ||
         fenced(x, i, j) || a->partner == j;
}

/* What an update has written and its own thread acquires again. */
static bool arm_reads_update(const struct execution *x,
                             unsigned i,
                             unsigned j) {
  return is_write(&x->e[i]) && x->e[i].partner != NONE && acquires(&x->e[j]) &&
         x->e[j].source == i;
}

static bool arm_allows(const struct execution *x) {
  struct relation r = {{0}};
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (has(&x->po, i, j) &&
          (arm_orders(x, i, j) || arm_reads_update(x, i, j))) {
        relate(&r, i, j);
      }
    }
  }
  unite_external(x, &r, &x->rf);
  unite_external(x, &r, &x->co);
  unite_external(x, &r, &x->fr);
  add_membarrier(x, &r);
  return is_acyclic(r);
}

/* Synchronizes-with: a release, the updates that continue it, an acquire. */
static struct relation synchronizes(const struct execution *x) {
  struct relation sw = {{0}};
  for (unsigned j = 0; j < x->n; j++) {
    if (!acquires(&x->e[j])) {
      continue;
    }
    for (uint8_t w = x->e[j].source; w != NONE;) {
      const struct event *write = &x->e[w];
      if (releases(write)) {
        relate(&sw, w, j);
      }
      w = write->partner == NONE ? (uint8_t)NONE : x->e[write->partner].source;
    }
  }
  return sw;
}

static bool is_seq(const struct event *e) {
  return e->order == SEQ;
}

/* The order that all seq_cst accesses must have room for. */
static bool seq_is_ordered(const struct execution *x,
                           const struct relation *hb) {
  struct relation other = {{0}};
  struct relation scb = x->po;
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (has(&x->po, i, j) && !same_var(x, i, j)) {
        relate(&other, i, j);
      }
      if (has(hb, i, j) && same_var(x, i, j)) {
        relate(&scb, i, j);
      }
    }
  }
  struct relation far = then(&other, hb);
  far = then(&far, &other);
  unite(&scb, &far);
  unite(&scb, &x->co);
  unite(&scb, &x->fr);
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (!is_seq(&x->e[i]) || !is_seq(&x->e[j])) {
        scb.from[i] &= ~(UINT32_C(1) << j);
      }
    }
  }
  return is_acyclic(scb);
}

static bool c11_allows(const struct execution *x) {
  struct relation hb = synchronizes(x);
  unite(&hb, &x->po);
  for (unsigned i = 0; i < x->n; i++) {
    for (unsigned j = 0; j < x->n; j++) {
      if (x->e[i].thread == NONE && x->e[j].thread != NONE) {
        relate(&hb, i, j);
      }
    }
  }
  close_over(&hb);
  struct relation eco = x->rf;
  unite(&eco, &x->co);
  unite(&eco, &x->fr);
  close_over(&eco);
  struct relation both = then(&hb, &eco);
  struct relation thin = x->po;
  unite(&thin, &x->rf);
  for (unsigned i = 0; i < x->n; i++) {
    if (has(&hb, i, i) || has(&both, i, i)) {
      return false;
    }
  }
  return is_acyclic(thin) && seq_is_ordered(x, &hb);
}

static bool model_allows(const struct execution *x) {
  if (!is_coherent(x) || !is_atomic(x)) {
    return false;
  }
  switch (x->model) {
  case MODEL_SC:
    return sc_allows(x);
  case MODEL_TSO:
    return tso_allows(x);
  case MODEL_ARM:
    return arm_allows(x);
  case MODEL_C11:
  case MODELS:
  default:
    return c11_allows(x);
  }
}

/* ---------------------------------------------------- every execution in turn */

static void derive(struct execution *x) {
  memset(&x->rf, 0, sizeof x->rf);
  memset(&x->co, 0, sizeof x->co);
  for (unsigned v = 0; v < VARS; v++) {
    for (unsigned i = 0; i < x->n_writes[v]; i++) {
      for (unsigned j = i + 1; j < x->n_writes[v]; j++) {
        relate(&x->co, x->order[v][i], x->order[v][j]);
      }
    }
  }
  memset(&x->fr, 0, sizeof x->fr);
  for (unsigned i = 0; i < x->n; i++) {
    if (is_read(&x->e[i])) {
      relate(&x->rf, x->e[i].source, i);
      x->fr.from[i] = x->co.from[x->e[i].source];
    }
  }
}

static bool ends_well(const struct execution *x) {
  if (x->test->last == 0) {
    return true;
  }
  unsigned v = (unsigned)(x->test->last - 'a');
  return x->e[x->order[v][x->n_writes[v] - 1]].value == x->test->last_value;
}

/* Every moment of a membarrier in thread t and those after it. */
static void try_fences(struct execution *x, unsigned t, unsigned first) {
  if (t == AXIOMS_LINES) {
    x->found = x->found || model_allows(x);
    return;
  }
  for (unsigned at = first; at <= x->last_of[t] && !x->found; at++) {
    x->fence_at[t] = (uint8_t)at;
    try_fences(x, t + 1, x->last_of[t]);
  }
}

/* Every source of read i and those after it. */
static void try_sources(struct execution *x, unsigned i) {
  if (i == x->n) {
    derive(x);
    if (ends_well(x)) {
      try_fences(x, 0, VARS);
    }
    return;
  }
  struct event *read = &x->e[i];
  if (!is_read(read)) {
    try_sources(x, i + 1);
    return;
  }
  for (unsigned w = 0; w < x->n && !x->found; w++) {
    const struct event *write = &x->e[w];
    if (is_write(write) && write->var == read->var && read->partner != w &&
        (read->value == ANY || read->value == write->value)) {
      read->source = (uint8_t)w;
      try_sources(x, i + 1);
    }
  }
}

/* Every order of the writes of variable v from place k on, and of those after. */
static void try_orders(struct execution *x, unsigned v, unsigned k) {
  if (v == VARS) {
    try_sources(x, 0);
    return;
  }
  if (k >= x->n_writes[v]) {
    try_orders(x, v + 1, 1);
    return;
  }
  uint8_t *order = x->order[v];
  for (unsigned i = k; i < x->n_writes[v] && !x->found; i++) {
    uint8_t first = order[k];
    order[k] = order[i];
    order[i] = first;
    try_orders(x, v, k + 1);
    order[i] = order[k];
    order[k] = first;
  }
}

static void add_event(struct execution *x,
                      enum access access,
                      const struct access_line *line,
                      unsigned thread) {
  struct event *e = &x->e[x->n];
  *e = (struct event){.access = access,
                      .order = line->order,
                      .thread = (uint8_t)thread,
                      .var = NONE,
                      .partner = NONE,
                      .source = NONE};
  if (access == READ || access == WRITE) {
    e->var = (uint8_t)(line->where - 'a');
    e->value = access == READ ? line->reads : line->value;
  }
  if (access == WRITE) {
    x->order[e->var][x->n_writes[e->var]++] = x->n;
  }
  x->n++;
}

static void add_line(struct execution *x,
                     const struct access_line *line,
                     unsigned thread) {
  if (line->access != UPDATE) {
    add_event(x, line->access, line, thread);
    return;
  }
  uint8_t read = x->n;
  add_event(x, READ, line, thread);
  add_event(x, WRITE, line, thread);
  x->e[read].partner = (uint8_t)(read + 1);
  x->e[read + 1].partner = read;
}

static void add_thread(struct execution *x, unsigned t) {
  unsigned first = x->n;
  for (unsigned i = 0; i < AXIOMS_LENGTH; i++) {
    if (x->test->line[t][i].access != END) {
      add_line(x, &x->test->line[t][i], t);
    }
  }
  x->last_of[t] = x->n;
  for (unsigned i = first; i < x->n; i++) {
    for (unsigned j = i + 1; j < x->n; j++) {
      relate(&x->po, i, j);
    }
  }
}

bool axioms_allow(const struct litmus *test, enum axioms_model model) {
  struct execution x;
  memset(&x, 0, sizeof x);
  x.test = test;
  x.model = model;
  for (unsigned v = 0; v < VARS; v++) {
    struct access_line zero = {.where = (char)('a' + (int)v)};
    add_event(&x, WRITE, &zero, NONE);
  }
  for (unsigned t = 0; t < AXIOMS_LINES; t++) {
    add_thread(&x, t);
  }
  try_orders(&x, 0, 1);
  return x.found;
}
