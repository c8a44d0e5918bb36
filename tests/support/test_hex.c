/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>

#include <criterion/criterion.h>

#include "hex.h"

Test(hex, decodes_digits_of_both_cases_and_skips_blanks, .timeout = 5) {
  uint8_t out[4];
  cr_assert_eq(hex_decode(" 04 aB\n0f\tFF ", out, sizeof out), 4);
  cr_assert_eq(memcmp(out, "\x04\xab\x0f\xff", 4), 0);
}

Test(hex, encodes_what_it_decodes, .timeout = 5) {
  char text[9];
  cr_assert_str_eq(hex_encode((const uint8_t *)"\x00\x7f\x80\xff", 4, text),
                   "007f80ff");
}

Test(hex, aborts_on_half_a_byte, .timeout = 5, .signal = SIGABRT) {
  uint8_t out[4];
  (void)hex_decode("04 a", out, sizeof out);
}

Test(hex, aborts_when_there_is_no_room, .timeout = 5, .signal = SIGABRT) {
  uint8_t out[1];
  (void)hex_decode("0401", out, sizeof out);
}
