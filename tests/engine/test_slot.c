/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "slot.h"

#define E WEIR_SLOT_EMPTY
#define C WEIR_SLOT_CONNECTING
#define I WEIR_SLOT_IDLE
#define L WEIR_SLOT_LEASED
#define R WEIR_SLOT_RESERVED
#define X WEIR_SLOT_CLOSING

static const struct {
  uint32_t from;
  uint32_t to;
} legal[] = {{E, C}, {C, C}, {C, L}, {C, I}, {C, X}, {I, I},
             {I, L}, {I, R}, {I, X}, {L, L}, {L, I}, {L, R},
             {L, X}, {R, R}, {R, I}, {R, L}, {R, X}, {X, E}};

static bool is_legal(uint32_t from, uint32_t to) {
  for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++) {
    if (legal[i].from == from && legal[i].to == to) {
      return true;
    }
  }
  return false;
}

static struct weir__slot slot;

static void put(uint32_t state,
                uint32_t flags,
                uint32_t generation,
                uint32_t lease) {
  weir__store_seq_u64(&slot.word,
                      weir__slot_word(state, flags, generation, lease));
}

static uint64_t word(void) {
  return weir__load_seq_u64(&slot.word);
}

/* True if the move kills a child with SIGABRT. */
static bool aborts(uint64_t from, uint64_t to) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    (void)close(STDERR_FILENO);
    (void)signal(SIGABRT, SIG_DFL);
    weir__store_seq_u64(&slot.word, from);
    (void)weir__slot_move(&slot, &from, to);
    _exit(0);
  }
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGABRT;
}

Test(slot, has_the_parts_of_its_word, .timeout = 5) {
  uint64_t w = weir__slot_word(L, WEIR_SLOT_DOOMED, 0x1FFFF, 0xFFFFFFFFu);
  cr_assert_eq(weir__slot_state(w), L);
  cr_assert_eq(weir__slot_flags(w), WEIR_SLOT_DOOMED);
  cr_assert_eq(weir__slot_generation(w), 0xFFFFu);
  cr_assert_eq(weir__slot_lease(w), 0xFFFFFFFFu);
}

Test(slot, goes_every_legal_way, .timeout = 5) {
  for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++) {
    uint64_t from = weir__slot_word(legal[i].from, 0, 3, 9);
    uint64_t to = weir__slot_word(legal[i].to, 0, 3, 9);
    weir__store_seq_u64(&slot.word, from);
    cr_assert(weir__slot_may_move(legal[i].from, legal[i].to));
    cr_assert(weir__slot_move(&slot, &from, to));
    cr_assert_eq(word(), to);
  }
}

/* P2. */
Test(slot, aborts_on_every_illegal_way, .timeout = 30) {
#if defined(NDEBUG)
  cr_skip_test("no assertions in this build");
#endif
  for (uint32_t from = 0; from < WEIR_SLOT_STATES; from++) {
    for (uint32_t to = 0; to < WEIR_SLOT_STATES; to++) {
      cr_assert_eq(weir__slot_may_move(from, to), is_legal(from, to));
      cr_assert_eq(
          aborts(weir__slot_word(from, 0, 1, 1), weir__slot_word(to, 0, 1, 1)),
          !is_legal(from, to), "from %s to %s", weir__slot_state_name(from),
          weir__slot_state_name(to));
    }
  }
}

Test(slot, knows_no_state_beyond_the_last, .timeout = 5) {
  cr_assert_not(weir__slot_may_move(WEIR_SLOT_STATES, E));
  cr_assert_not(weir__slot_may_move(E, WEIR_SLOT_STATES));
  cr_assert_str_eq(weir__slot_state_name(WEIR_SLOT_STATES), "unknown");
  cr_assert_str_eq(weir__slot_state_name(X), "closing");
}

Test(slot, leaves_a_word_that_is_not_the_expected_one, .timeout = 5) {
  put(L, 0, 1, 5);
  uint64_t expected = weir__slot_word(L, 0, 1, 4);
  cr_assert_not(weir__slot_move(&slot, &expected, weir__slot_word(I, 0, 1, 4)));
  cr_assert_eq(expected, weir__slot_word(L, 0, 1, 5));
  cr_assert_eq(word(), expected);
}

/* I11. */
Test(slot, aborts_when_a_lease_shrinks_or_jumps, .timeout = 5) {
#if defined(NDEBUG)
  cr_skip_test("no assertions in this build");
#endif
  uint64_t from = weir__slot_word(L, 0, 1, 5);
  cr_assert(aborts(from, weir__slot_word(L, 0, 1, 4)));
  cr_assert(aborts(from, weir__slot_word(L, 0, 1, 7)));
  cr_assert_not(aborts(from, weir__slot_word(L, 0, 1, 6)));
  cr_assert_not(aborts(weir__slot_word(L, 0, 1, UINT32_MAX),
                       weir__slot_word(L, 0, 1, 0)));
}

Test(slot, is_claimed_with_the_next_lease, .timeout = 5) {
  put(I, 0, 7, 41);
  uint64_t claimed = weir__slot_claim(&slot, 7);
  cr_assert_eq(claimed, weir__slot_word(L, 0, 7, 42));
  cr_assert_eq(word(), claimed);
  cr_assert_eq(weir__slot_claim(&slot, 7), 0);
}

Test(slot,
     is_not_claimed_unless_idle_clean_and_of_the_generation,
     .timeout = 5) {
  static const struct {
    uint32_t state;
    uint32_t flags;
    uint32_t generation;
  } cases[] = {{E, 0, 7}, {C, 0, 7}, {L, 0, 7}, {R, 0, 7},
               {X, 0, 7}, {I, 0, 6}, {I, 0, 8}, {I, WEIR_SLOT_DOOMED, 7}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    put(cases[i].state, cases[i].flags, cases[i].generation, 1);
    uint64_t before = word();
    cr_assert_eq(weir__slot_claim(&slot, 7), 0);
    cr_assert_eq(word(), before);
  }
}

Test(slot, counts_its_leases, .timeout = 5) {
  weir__slot_start_lease(&slot);
  weir__slot_start_lease(&slot);
  cr_assert_eq(weir__load_relaxed_u32(&slot.served), 2);
  cr_assert_eq(weir__load_relaxed_u64(&slot.uses), 2);
}

/* It may come late (race.a_late_note_of_a_lost_lease_hides_nothing). */
Test(slot, leaves_what_has_run_to_the_end_of_a_lease, .timeout = 5) {
  weir__store_relaxed_u32(&slot.ran, 1);
  weir__store_relaxed_u32(&slot.active, 1);
  slot.mark = 7;
  weir__slot_start_lease(&slot);
  cr_assert_eq(weir__load_relaxed_u32(&slot.ran), 1);
  cr_assert_eq(weir__load_relaxed_u32(&slot.active), 1);
  cr_assert_eq(slot.mark, 7);
  weir__slot_end_lease(&slot);
  cr_assert_eq(weir__load_relaxed_u32(&slot.ran), 0);
  cr_assert_eq(weir__load_relaxed_u32(&slot.active), 0);
}

Test(slot, is_found_by_its_number_for_ever, .timeout = 5) {
  struct weir__pool *pool = (struct weir__pool *)(void *)&slot;
  struct weir__slot_chunk *a = weir__slot_chunk_new(pool, 0);
  struct weir__slot_chunk *b = weir__slot_chunk_new(pool, 8);
  cr_assert_not_null(a);
  cr_assert_not_null(b);
  for (uint32_t i = 0; i < WEIR_SLOT_CHUNK; i++) {
    cr_assert_eq(weir__slot_find(a->slots[i].number), &a->slots[i]);
    cr_assert_eq(b->slots[i].index, 8 + i);
  }
  cr_assert_null(weir__slot_find(131071));
  uint32_t number = b->slots[0].number;
  weir__slot_chunk_free(b);
  cr_assert_eq(weir__slot_find(number), &b->slots[0]);
  cr_assert_eq(weir__slot_chunk_new(pool, 16), b);
  cr_assert_eq(b->slots[3].index, 19);
  weir__slot_chunk_free(a);
  weir__slot_chunk_free(b);
}

Test(slot, runs_out_at_131072, .timeout = 30) {
  static struct weir__slot_chunk *chunks[131072 / WEIR_SLOT_CHUNK];
  size_t n = 0;
  struct weir__slot_chunk *chunk;
  while ((chunk = weir__slot_chunk_new(NULL, 0)) != NULL) {
    cr_assert_lt(n, sizeof chunks / sizeof chunks[0]);
    chunks[n++] = chunk;
  }
  cr_assert_eq(n, sizeof chunks / sizeof chunks[0]);
  while (n != 0) {
    weir__slot_chunk_free(chunks[--n]);
  }
  cr_assert_not_null(weir__slot_chunk_new(NULL, 0));
}
