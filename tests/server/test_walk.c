/* SPDX-License-Identifier: MIT */
/* The walk over written replies: every length of every token is found, and
 * nothing is read beyond the end. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "server_walk.h"
#include "test_support.h"

/* What was seen, as "field@place/width" words. */
struct seen {
  char text[1024];
};

static void see(void *user, const struct tdsd_place *place) {
  struct seen *seen = user;
  size_t len = strlen(seen->text);
  (void)snprintf(seen->text + len, sizeof seen->text - len, "%s%s@%zu/%u",
                 len == 0 ? "" : " ", tdsd_field_name(place->field), place->at,
                 (unsigned)place->width);
}

static void assert_walk(const char *tokens, const char *expected) {
  struct tdsd_buf buf = {0};
  struct seen seen = {""};
  hex(&buf, tokens);
  size_t len = tdsd_buf_len(&buf);
  cr_assert_eq(tdsd_walk(tdsd_buf_at(&buf), len, TDSD_V74, see, &seen), len,
               "%s", tokens);
  cr_assert_str_eq(seen.text, expected);
  tdsd_buf_fini(&buf);
}

Test(walk, finds_the_lengths_of_every_kind_of_token, .timeout = 5) {
  assert_walk("FD 00 00 00 00 00 00 00 00 00 00 00 00",
              "token@0/1 done-status@1/2 done-rows@5/8");
  assert_walk("79 00 00 00 00", "token@0/1");
  assert_walk("E3 03 00 12 00 00",
              "token@0/1 token-length@1/2 env-type@3/1 env-length@4/1");
  assert_walk("AB 0E 00 01 00 00 00 01 00 00 00 00 00 00 00 00 00",
              "token@0/1 token-length@1/2 text-length@9/2 name-length@11/1 "
              "name-length@12/1");
  assert_walk("AE 0A 01 00 00 00 01 FF",
              "token@0/1 feature-id@1/1 feature-length@2/4 feature-id@7/1");
  assert_walk("A9 02 00 01 00", "token@0/1 token-length@1/2");
  assert_walk("EE 01 00 00 00 AA", "token@0/1 token-length@1/4");
  assert_walk("AC 00 00 00 01 00 00 00 00 00 00 26 04 04 01 00 00 00",
              "token@0/1 name-length@3/1 type@11/1 type-length@12/1 "
              "value-length@13/1");
}

Test(walk, finds_the_lengths_of_values_by_their_columns, .timeout = 5) {
  assert_walk("81 02 00 00 00 00 00 00 00 38 00 00 00 00 00 01 00 "
              "A7 FF FF 09 04 D0 00 34 00 "
              "D1 01 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 61 00 00 00 "
              "00 D2 02 02 00 00 00",
              "token@0/1 column-count@1/2 type@9/1 name-length@10/1 type@17/1 "
              "type-length@18/2 name-length@25/1 token@26/1 plp-total@31/8 "
              "plp-chunk@39/4 plp-chunk@44/4 token@48/1");
}

Test(walk, stops_where_it_understands_no_more, .timeout = 5) {
  static const struct {
    const char *tokens;
    size_t known;
  } cases[] = {
      {"79 00 00 00 00 B7 00", 5},
      {"79 00 00", 0},
      {"FD 00 00 00 00 00 00 00 00 00 00 00", 0},
      {"E3 FF FF 12", 0},
      {"81 01 00 00 00 00 00 00 00 77", 0},
      {"AE 0A FF FF FF FF", 0},
      {"D1", 1}, /* a row of no columns */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_buf buf = {0};
    struct seen seen = {""};
    hex(&buf, cases[i].tokens);
    cr_assert_eq(
        tdsd_walk(tdsd_buf_at(&buf), tdsd_buf_len(&buf), TDSD_V74, see, &seen),
        cases[i].known, "%s", cases[i].tokens);
    tdsd_buf_fini(&buf);
  }
}

Test(walk, knows_its_fields_by_name, .timeout = 5) {
  for (unsigned i = 0; i < TDSD_FIELDS; i++) {
    cr_assert_eq(tdsd_field_find(tdsd_field_name((enum tdsd_field)i)), i);
  }
  cr_assert_eq(tdsd_field_find("nothing"), TDSD_FIELDS);
}
