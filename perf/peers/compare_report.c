/* SPDX-License-Identifier: MIT */
/* What a comparison has shown, for machines and for people. */
#include <inttypes.h>

#include "compare.h"

void compare_json(const struct compare *c, FILE *to) {
  const char *between = "[";
  for (uint32_t i = 0; i < c->n_rows; i++) {
    for (uint32_t p = 0; p < POOLS; p++) {
      for (uint32_t r = 0; r < c->rounds; r++) {
        if (!compare_takes_part(&c->rows[i], p)) {
          continue;
        }
        (void)fprintf(to,
                      "%s\n{\"pool\":\"%s\",\"round\":%" PRIu32 ",\"result\":",
                      between, plan_pools[p].name, r + 1);
        result_json(to, &c->rows[i].results[p * c->rounds + r]);
        (void)fputc('}', to);
        between = ",";
      }
    }
  }
  (void)fputs("\n]\n", to);
}

/* Three digits are more than two processors deserve. */
static void print_number(FILE *to, double v) {
  (void)fprintf(to, "%11.*f", v < 10 ? 3 : v < 1000 ? 1 : 0, v);
}

/* What the spread of the ratio says: on one side of 1 in every round, and further
 * off than the same pool ever was from itself, to either side. */
static const char *verdict(struct spread ratio, struct spread noise) {
  double low =
      noise.max > 0 && 1 / noise.max < noise.min ? 1 / noise.max : noise.min;
  low = low < 1 ? low : 1;
  if (ratio.max < 1 && ratio.median < low) {
    return "less";
  }
  if (ratio.min > 1 && ratio.median * low > 1) {
    return "more";
  }
  return "same";
}

static void print_pool(const struct compare *c,
                       const struct compare_row *row,
                       uint32_t pool,
                       const struct figure *figure,
                       struct spread noise,
                       FILE *to) {
  struct spread f = compare_figure(c, row, pool, figure);
  (void)fprintf(to, "    %-15s ", plan_pools[pool].name);
  print_number(to, f.median);
  (void)fprintf(to, " [%.4g..%.4g]", f.min, f.max);
  if (pool != POOL_WEIR && compare_takes_part(row, POOL_WEIR) && f.min > 0) {
    struct spread ratio = compare_ratio(c, row, POOL_WEIR, pool, figure);
    (void)fprintf(to, "  weir is %.3f of it [%.3f..%.3f]%s%s", ratio.median,
                  ratio.min, ratio.max,
                  pool == POOL_WEIR_AGAIN ? ", the noise" : ", ",
                  pool == POOL_WEIR_AGAIN ? "" : verdict(ratio, noise));
  }
  (void)fputc('\n', to);
}

void compare_table(const struct compare *c, FILE *to) {
  char params[256];
  for (uint32_t i = 0; i < c->n_rows; i++) {
    const struct compare_row *row = &c->rows[i];
    (void)fprintf(to, "%s %s\n", row->part->workload->name,
                  result_params(&row->params, params, sizeof params));
    for (uint32_t k = 0; k < PLAN_FIGURES && row->part->figures[k] != NULL;
         k++) {
      const struct figure *figure = row->part->figures[k];
      struct spread noise =
          compare_ratio(c, row, POOL_WEIR, POOL_WEIR_AGAIN, figure);
      (void)fprintf(to, "  %s\n", figure->name);
      for (uint32_t p = 0; p < POOLS; p++) {
        if (compare_takes_part(row, p)) {
          print_pool(c, row, p, figure, noise, to);
        }
      }
    }
  }
}
