/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/bits.h"
#include "failing_alloc.h"

static const uint32_t sizes[] = {1,    2,    63,   64,     65,     4095,
                                 4096, 4097, 4160, 131072, 262143, 262144};
#define SIZES (sizeof sizes / sizeof sizes[0])

static struct weir__bits bits;

static void make(uint32_t size) {
  cr_assert(weir__bits_init(&bits, size));
}

Test(bits, is_empty_at_first, .timeout = 5) {
  for (size_t i = 0; i < SIZES; i++) {
    make(sizes[i]);
    cr_assert_eq(weir__bits_next(&bits, 0), WEIR_BITS_NONE);
    cr_assert_not(weir__bits_has(&bits, sizes[i] - 1));
    weir__bits_fini(&bits);
  }
}

Test(bits, finds_its_only_member_from_anywhere_before, .timeout = 20) {
  for (size_t i = 0; i < SIZES; i++) {
    const uint32_t last = sizes[i] - 1;
    const uint32_t members[] = {0, last / 2, last};
    make(sizes[i]);
    for (size_t m = 0; m < 3; m++) {
      uint32_t member = members[m];
      weir__bits_set(&bits, member);
      weir__bits_set(&bits, member);
      cr_assert(weir__bits_has(&bits, member));
      for (uint32_t from = 0; from <= member; from += 1 + from / 3) {
        cr_assert_eq(weir__bits_next(&bits, from), member);
      }
      cr_assert_eq(weir__bits_next(&bits, member), member);
      cr_assert_eq(weir__bits_next(&bits, member + 1), WEIR_BITS_NONE);
      weir__bits_clear(&bits, member);
      weir__bits_clear(&bits, member);
      cr_assert_not(weir__bits_has(&bits, member));
      cr_assert_eq(weir__bits_next(&bits, 0), WEIR_BITS_NONE);
    }
    cr_assert_eq(weir__bits_next(&bits, sizes[i]), WEIR_BITS_NONE);
    cr_assert_eq(weir__bits_next(&bits, UINT32_MAX), WEIR_BITS_NONE);
    weir__bits_fini(&bits);
  }
}

Test(bits, walks_all_members_in_order_when_full, .timeout = 20) {
  for (size_t i = 0; i < SIZES; i++) {
    make(sizes[i]);
    for (uint32_t m = 0; m < sizes[i]; m++) {
      weir__bits_set(&bits, m);
    }
    for (uint32_t m = 0; m < sizes[i]; m++) {
      cr_assert_eq(weir__bits_next(&bits, m), m);
    }
    cr_assert_eq(weir__bits_next(&bits, sizes[i]), WEIR_BITS_NONE);
    weir__bits_fini(&bits);
  }
}

/* Against an array of flags. */
Test(bits, agrees_with_a_plain_array, .timeout = 30) {
  static unsigned char plain[131072];
  uint64_t seed = 20260711;
  for (size_t i = 0; i < SIZES; i++) {
    uint32_t size = sizes[i];
    if (size > sizeof plain) {
      continue;
    }
    memset(plain, 0, sizeof plain);
    make(size);
    for (unsigned round = 0; round < 3000; round++) {
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
      uint32_t m = (uint32_t)(seed >> 33) % size;
      bool set = (seed >> 20 & 3) == 0;
      plain[m] = set;
      if (set) {
        weir__bits_set(&bits, m);
      } else {
        weir__bits_clear(&bits, m);
      }
      uint32_t from = (uint32_t)(seed >> 13) % size;
      uint32_t want = from;
      while (want < size && plain[want] == 0) {
        want++;
      }
      cr_assert_eq(weir__bits_next(&bits, from),
                   want == size ? WEIR_BITS_NONE : want);
    }
    weir__bits_fini(&bits);
  }
}

/* Who has looked up a member before the set grew finds it after. */
Test(bits, keeps_its_members_where_they_are_when_it_grows, .timeout = 20) {
  make(0);
  cr_assert_eq(weir__bits_next(&bits, 0), WEIR_BITS_NONE);
  for (uint32_t size = 1; size <= 262144; size = size * 2 + size / 3) {
    cr_assert(weir__bits_grow(&bits, size));
    const struct weir__bits_segment *first = bits.segments[0];
    weir__bits_set(&bits, size - 1);
    cr_assert(weir__bits_grow(&bits, size)); /* nothing to do */
    cr_assert_eq(bits.segments[0], first);
  }
  uint32_t at = 0;
  for (uint32_t size = 1; size <= 262144; size = size * 2 + size / 3) {
    cr_assert_eq(weir__bits_next(&bits, at), size - 1);
    at = size;
  }
  cr_assert_eq(weir__bits_next(&bits, at), WEIR_BITS_NONE);
  weir__bits_fini(&bits);
}

Test(bits, stays_as_it_was_when_it_cannot_grow, .timeout = 5) {
  make(64);
  weir__bits_set(&bits, 63);
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_not(weir__bits_grow(&bits, 65));
  failing_alloc_restore();
  cr_assert_eq(weir__bits_next(&bits, 0), 63);
  cr_assert(weir__bits_grow(&bits, 65));
  weir__bits_set(&bits, 64);
  cr_assert_eq(weir__bits_next(&bits, 64), 64);
  weir__bits_fini(&bits);
}

Test(bits, says_when_there_is_no_memory, .timeout = 5) {
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_not(weir__bits_init(&bits, 131072));
  weir__bits_fini(&bits);
  failing_alloc_restore();
}
