/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <string.h>

/* Margin; ratio and the gaps around it. */
#define MARGIN      2u
#define RATIO_WIDTH 10u
/* Fewer columns tell nothing. */
#define BAR_MIN     12u

#define BASE_COLOUR "\033[32m"
#define NO_COLOUR   "\033[0m"

static uint32_t columns_of(const char *text) {
  return text == NULL ? 0 : (uint32_t)strlen(text);
}

struct layout {
  uint32_t label;
  uint32_t bar;
  double scale; /* eighths of a column for a ratio of 1 */
  bool notes;
};

static uint32_t left_for_bar(const struct term *term,
                             uint32_t label,
                             uint32_t note) {
  uint32_t others =
      MARGIN + label + 1 + RATIO_WIDTH + (note == 0 ? 0 : note + 2);
  return others + BAR_MIN > term->width ? 0 : term->width - others;
}

static struct layout lay_out(const struct term *term,
                             const struct chart_bar *bars,
                             uint32_t n) {
  struct layout l = {0};
  uint32_t note = 0;
  double most = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t label_i = columns_of(bars[i].label);
    uint32_t note_i = columns_of(bars[i].note);
    l.label = label_i > l.label ? label_i : l.label;
    note = note_i > note ? note_i : note;
    most = bars[i].ratio > most ? bars[i].ratio : most;
  }
  l.bar = left_for_bar(term, l.label, note);
  l.notes = l.bar != 0;
  if (!l.notes) {
    l.bar = left_for_bar(term, l.label, 0);
    l.bar = l.bar == 0 ? BAR_MIN : l.bar;
  }
  l.scale = most > 0 ? l.bar * 8 / most : 0;
  return l;
}

/* Eighths of a column; something is to be seen of each. */
static uint32_t eighths_of(const struct layout *l, double ratio) {
  uint32_t eighths = (uint32_t)(ratio * l->scale + 0.5);
  eighths = eighths > l->bar * 8 ? l->bar * 8 : eighths;
  return eighths == 0 && ratio > 0 ? 1 : eighths;
}

static void fill(FILE *to, const char *piece, uint32_t n) {
  while (n-- > 0) {
    (void)fputs(piece, to);
  }
}

/* Blocks of a whole column and of one to seven eighths, U+2588 to U+258F. */
static uint32_t bar_utf8(FILE *to, uint32_t eighths) {
  static const char *const parts[] = {"",
                                      "\xe2\x96\x8f",
                                      "\xe2\x96\x8e",
                                      "\xe2\x96\x8d",
                                      "\xe2\x96\x8c",
                                      "\xe2\x96\x8b",
                                      "\xe2\x96\x8a",
                                      "\xe2\x96\x89"};
  fill(to, "\xe2\x96\x88", eighths / 8);
  (void)fputs(parts[eighths % 8], to);
  return eighths / 8 + (eighths % 8 == 0 ? 0 : 1);
}

static uint32_t bar_ascii(FILE *to, uint32_t eighths) {
  uint32_t columns = (eighths + 4) / 8;
  columns = columns == 0 && eighths > 0 ? 1 : columns;
  fill(to, "#", columns);
  return columns;
}

/* Three digits of those that count. */
static void print_ratio(FILE *to, double ratio) {
  int decimals = ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
  (void)fprintf(to, "  %6.*f x", decimals, ratio);
}

static void draw(FILE *to,
                 const struct term *term,
                 const struct layout *l,
                 const struct chart_bar *bar) {
  uint32_t eighths = eighths_of(l, bar->ratio);
  bool coloured = term->colour && bar->base;
  (void)fprintf(to, "%*s%-*s ", (int)MARGIN, "", (int)l->label, bar->label);
  (void)fputs(coloured ? BASE_COLOUR : "", to);
  uint32_t used = term->utf8 ? bar_utf8(to, eighths) : bar_ascii(to, eighths);
  (void)fputs(coloured ? NO_COLOUR : "", to);
  fill(to, " ", l->bar - used);
  print_ratio(to, bar->ratio);
  if (l->notes && bar->note != NULL) {
    (void)fprintf(to, "  %s", bar->note);
  }
  (void)fputc('\n', to);
}

void chart_bars(FILE *to,
                const struct term *term,
                const struct chart_bar *bars,
                uint32_t n) {
  struct layout l = lay_out(term, bars, n);
  for (uint32_t i = 0; i < n; i++) {
    draw(to, term, &l, &bars[i]);
  }
}

void chart_paragraph(FILE *to,
                     const struct term *term,
                     const char *label,
                     uint32_t indent,
                     const char *text) {
  uint32_t at = (uint32_t)fprintf(to, "%-*s", (int)indent, label);
  bool fresh = true; /* nothing stands in this line behind the indentation */
  while (*text != '\0') {
    size_t word = strcspn(text, " ");
    if (!fresh && at + 1 + word > term->width) {
      (void)fprintf(to, "\n%*s", (int)indent, "");
      at = indent;
      fresh = true;
    }
    (void)fprintf(to, "%s%.*s", fresh ? "" : " ", (int)word, text);
    at += (uint32_t)word + (fresh ? 0 : 1);
    fresh = false;
    text += word;
    text += strspn(text, " ");
  }
  (void)fputc('\n', to);
}
