/* SPDX-License-Identifier: MIT */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE UINT32_MAX

/* What is kept of a visited state. */
struct visit {
  uint64_t print;
  uint32_t parent;
  uint8_t mover;
  uint8_t alternative;
};

struct search {
  const struct model *model;
  const void *setup;
  int mutant;
  struct visit *visits;
  uint32_t n, room;
  uint32_t *table; /* of numbers of visits + 1; open addressing */
  uint32_t mask;
  /* States not looked at yet, a ring in the order of their numbers. */
  unsigned char *ring;
  uint32_t ring_room, ring_first, ring_n;
  struct found *out;
};

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ b) * UINT64_C(0x9E3779B97F4A7C15);
  x ^= x >> 29;
  x *= UINT64_C(0xBF58476D1CE4E5B9);
  return x ^ x >> 32;
}

static uint64_t print_of(const unsigned char *state, size_t size) {
  uint64_t print = size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word;
    memcpy(&word, state + i, sizeof word);
    print = mix(print, word + i);
  }
  return print;
}

static void rehash(struct search *s) {
  memset(s->table, 0, ((size_t)s->mask + 1) * sizeof *s->table);
  for (uint32_t i = 0; i < s->n; i++) {
    uint32_t at = (uint32_t)s->visits[i].print & s->mask;
    while (s->table[at] != 0) {
      at = (at + 1) & s->mask;
    }
    s->table[at] = i + 1;
  }
}

static bool make_room(struct search *s) {
  uint32_t room = s->room == 0 ? 4096 : s->room * 2;
  struct visit *visits = realloc(s->visits, room * sizeof *visits);
  if (visits == NULL) {
    return false;
  }
  s->visits = visits;
  uint32_t *table =
      realloc(s->table, 2 * (size_t)room * sizeof *table); /* half full */
  if (table == NULL) {
    return false;
  }
  s->table = table;
  s->room = room;
  s->mask = 2 * room - 1;
  rehash(s);
  return true;
}

static bool widen_ring(struct search *s) {
  size_t size = s->model->state_size;
  uint32_t room = s->ring_room == 0 ? 1024 : s->ring_room * 2;
  unsigned char *ring = malloc(room * size);
  if (ring == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < s->ring_n; i++) {
    uint32_t from = (s->ring_first + i) & (s->ring_room - 1);
    memcpy(ring + i * size, s->ring + from * size, size);
  }
  free(s->ring);
  s->ring = ring;
  s->ring_room = room;
  s->ring_first = 0;
  return true;
}

static bool push(struct search *s, const unsigned char *state) {
  if (s->ring_n == s->ring_room && !widen_ring(s)) {
    return false;
  }
  size_t size = s->model->state_size;
  uint32_t at = (s->ring_first + s->ring_n) & (s->ring_room - 1);
  memcpy(s->ring + at * size, state, size);
  s->ring_n++;
  return true;
}

static void shift(struct search *s, unsigned char *out) {
  size_t size = s->model->state_size;
  memcpy(out, s->ring + s->ring_first * size, size);
  s->ring_first = (s->ring_first + 1) & (s->ring_room - 1);
  s->ring_n--;
}

/* Notes a state that may be new.  False: no memory. */
static bool visit(struct search *s,
                  const unsigned char *state,
                  uint32_t parent,
                  int mover,
                  int alternative) {
  if (s->n == s->room && !make_room(s)) {
    return false;
  }
  uint64_t print = print_of(state, s->model->state_size);
  uint32_t at = (uint32_t)print & s->mask;
  for (; s->table[at] != 0; at = (at + 1) & s->mask) {
    if (s->visits[s->table[at] - 1].print == print) {
      return true;
    }
  }
  s->visits[s->n] =
      (struct visit){print, parent, (uint8_t)mover, (uint8_t)alternative};
  s->table[at] = ++s->n;
  return push(s, state);
}

static struct move move_of(const struct search *s,
                           void *state,
                           int mover,
                           int alternative) {
  struct move move = {.state = state,
                      .mover = mover,
                      .alternative = alternative,
                      .setup = s->setup,
                      .mutant = s->mutant};
  return move;
}

/* Prints the line of a move and makes it. */
static void replay(const struct search *s,
                   unsigned char *state,
                   uint32_t line,
                   int mover,
                   int alternative) {
  char text[256] = "";
  struct move move = move_of(s, state, mover, alternative);
  s->model->tell(&move, text, sizeof text);
  (void)printf("    %3u  %s\n", line, text);
  (void)s->model->make(&move);
}

static void show_way(const struct search *s,
                     uint32_t to,
                     int mover,
                     int alternative) {
  unsigned char state[CHECKER_STATE_MAX] = {0};
  uint32_t depth = 0;
  for (uint32_t i = to; s->visits[i].parent != NONE; i = s->visits[i].parent) {
    depth++;
  }
  s->model->start(state, s->setup);
  for (uint32_t line = 1; line <= depth; line++) {
    uint32_t at = to;
    for (uint32_t up = line; up < depth; up++) {
      at = s->visits[at].parent;
    }
    replay(s, state, line, s->visits[at].mover, s->visits[at].alternative);
  }
  if (mover >= 0) {
    replay(s, state, depth + 1, mover, alternative);
  }
  (void)printf("         -> %s\n", s->out->broken);
}

static uint32_t depth_of(const struct search *s, uint32_t at) {
  uint32_t depth = 0;
  for (; s->visits[at].parent != NONE; at = s->visits[at].parent) {
    depth++;
  }
  return depth;
}

/* Makes every move that a state has.  False: the search is over. */
static bool expand(struct search *s,
                   const unsigned char *state,
                   uint32_t number,
                   bool show) {
  const struct model *m = s->model;
  unsigned char next[CHECKER_STATE_MAX];
  bool rests = true;
  memcpy(next, state, m->state_size);
  for (int mover = 0; mover < m->movers; mover++) {
    for (int alt = 0; alt < m->alternatives; alt++) {
      struct move move = move_of(s, next, mover, alt);
      if (!m->make(&move)) {
        continue;
      }
      s->out->moves++;
      rests = rests && move.passes_time;
      s->out->broken =
          move.broken != NULL ? move.broken : m->never(next, s->setup);
      if (s->out->broken != NULL) {
        if (show) {
          show_way(s, number, mover, alt);
        }
        return false;
      }
      if (!visit(s, next, number, mover, alt)) {
        s->out->no_memory = true;
        return false;
      }
      memcpy(next, state, m->state_size);
    }
  }
  s->out->broken = rests ? m->at_rest(state, s->setup) : NULL;
  if (s->out->broken != NULL && show) {
    show_way(s, number, -1, 0);
  }
  return s->out->broken == NULL;
}

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void checker_run(const struct model *model,
                 const void *setup,
                 int mutant,
                 uint32_t limit,
                 bool show,
                 struct found *out) {
  struct search s = {
      .model = model, .setup = setup, .mutant = mutant, .out = out};
  unsigned char state[CHECKER_STATE_MAX] = {0};
  double begun = now();
  memset(out, 0, sizeof *out);
  model->start(state, setup);
  out->no_memory = !visit(&s, state, NONE, 0, 0);
  uint32_t number = 0;
  while (!out->no_memory && s.ring_n != 0) {
    if (number >= limit) {
      out->too_many = true;
      break;
    }
    shift(&s, state);
    if (!expand(&s, state, number, show)) {
      break;
    }
    number++;
  }
  out->states = s.n;
  out->depth = number == 0 ? 0 : depth_of(&s, number - 1);
  out->seconds = now() - begun;
  free(s.visits);
  free(s.table);
  free(s.ring);
}
