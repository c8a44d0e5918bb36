/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "chart.h"

#define BLOCK  "\xe2\x96\x88"
#define EIGHTH "\xe2\x96\x8f"

static const struct chart_bar pair[] = {
    {.label = "slow", .ratio = 4, .note = "40 ms"},
    {.label = "base", .ratio = 1, .note = "10 ms", .base = true},
};

/* The text of a chart.  Owns: until free(). */
/* noinline: else gcc 12 takes the text for a pointer to the variable. */
__attribute__((noinline)) static char *drawn(struct term term,
                                             const struct chart_bar *bars,
                                             uint32_t n) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  chart_bars(to, &term, bars, n);
  (void)fclose(to);
  return text;
}

static char *paragraph(struct term term, const char *text) {
  char *out = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&out, &len);
  chart_paragraph(to, &term, "  a", 5, text);
  (void)fclose(to);
  return out;
}

/* So many of a piece in the text, whatever is between them. */
static unsigned count(const char *text, const char *piece) {
  unsigned n = 0;
  while ((text = strstr(text, piece)) != NULL) {
    text += strlen(piece);
    n++;
  }
  return n;
}

static void expect(char *got, const char *want) {
  cr_assert_str_eq(got, want, "got:\n%swanted:\n%s", got, want);
  free(got);
}

Test(chart, draws_ratios_in_ascii_on_one_scale, .timeout = 5) {
  struct term term = {.width = 48};
  expect(drawn(term, pair, 2),
         "  slow ########################    4.00 x  40 ms\n"
         "  base ######                      1.00 x  10 ms\n");
}

Test(chart, draws_blocks_where_they_can_be_shown, .timeout = 5) {
  struct term term = {.width = 48, .utf8 = true};
  char *text = drawn(term, pair, 2);
  cr_assert_eq(count(text, BLOCK), 24 + 6);
  cr_assert_null(strchr(text, '#'));
  free(text);
}

Test(chart, shows_something_of_the_shortest_bar, .timeout = 5) {
  const struct chart_bar far[] = {{.label = "a", .ratio = 1000},
                                  {.label = "b", .ratio = 1}};
  struct term term = {.width = 60, .utf8 = true};
  char *text = drawn(term, far, 2);
  cr_assert_eq(count(text, EIGHTH), 1);
  free(text);
  term.utf8 = false;
  text = drawn(term, far, 2);
  cr_assert_not_null(strstr(text, "  b # "), "%s", text);
  free(text);
}

Test(chart, no_line_is_longer_than_the_width, .timeout = 5) {
  for (uint32_t width = TERM_WIDTH_MIN; width <= TERM_WIDTH_MAX; width++) {
    struct term term = {.width = width};
    char *text = drawn(term, pair, 2);
    const char *second = strchr(text, '\n') + 1;
    cr_assert_leq(strcspn(text, "\n"), width, "%u: %s", width, text);
    cr_assert_leq(strcspn(second, "\n"), width, "%u: %s", width, text);
    free(text);
  }
}

Test(chart, leaves_notes_out_where_bars_would_have_no_room, .timeout = 5) {
  const struct chart_bar bar = {
      .label = "a", .ratio = 1, .note = "a note of twenty bytes"};
  struct term term = {.width = 40};
  char *text = drawn(term, &bar, 1);
  cr_assert_null(strstr(text, "note"), "%s", text);
  free(text);
  term.width = 60;
  text = drawn(term, &bar, 1);
  cr_assert_not_null(strstr(text, "note"), "%s", text);
  free(text);
}

Test(chart, colours_the_base_alone_and_where_it_may, .timeout = 5) {
  struct term term = {.width = 60, .colour = true};
  char *text = drawn(term, pair, 2);
  cr_assert_eq(count(text, "\033[32m"), 1);
  cr_assert_not_null(strstr(text, "  base \033[32m#"), "%s", text);
  free(text);
  term.colour = false;
  text = drawn(term, pair, 2);
  cr_assert_null(strchr(text, '\033'));
  free(text);
}

Test(chart, takes_a_ratio_of_nothing, .timeout = 5) {
  const struct chart_bar none[] = {{.label = "a"}, {.label = "b"}};
  struct term term = {.width = 40};
  char *text = drawn(term, none, 2);
  cr_assert_null(strchr(text, '#'));
  cr_assert_eq(count(text, "0.00 x"), 2);
  free(text);
}

Test(chart, keeps_three_digits_of_a_ratio, .timeout = 5) {
  static const struct {
    double ratio;
    const char *text;
  } rows[] = {{0.123, " 0.12 x"}, {9.994, " 9.99 x"}, {9.996, " 10.0 x"},
              {99.94, " 99.9 x"}, {99.96, " 100 x"},  {1234, " 1234 x"}};
  struct term term = {.width = 40};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct chart_bar bar = {.label = "a", .ratio = rows[i].ratio};
    char *text = drawn(term, &bar, 1);
    cr_assert_not_null(strstr(text, rows[i].text), "%s: %s", rows[i].text,
                       text);
    free(text);
  }
}

Test(chart, breaks_a_paragraph_at_blanks, .timeout = 5) {
  struct term term = {.width = 12};
  expect(paragraph(term, "one two three four"),
         "  a  one two\n     three\n     four\n");
}

Test(chart, does_not_break_a_word, .timeout = 5) {
  struct term term = {.width = 10};
  expect(paragraph(term, "incomprehensible it is"),
         "  a  incomprehensible\n     it is\n");
}
