/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <stdint.h>
#include <string.h>

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* ASCII only: the names of options are ASCII, and a locale must not change what
 * a connection string means. */
static char fold(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next character that counts, from *at on; false at the end. */
static bool next_char(const char *p, size_t n, size_t *at, char *out) {
  while (*at < n && is_blank(p[*at])) {
    (*at)++;
  }
  if (*at >= n) {
    return false;
  }
  *out = fold(p[(*at)++]);
  return true;
}

bool weir__names_equal(const char *a,
                       size_t a_len,
                       const char *b,
                       size_t b_len) {
  size_t i = 0;
  size_t j = 0;
  for (;;) {
    char x = 0;
    char y = 0;
    bool more_a = next_char(a, a_len, &i, &x);
    bool more_b = next_char(b, b_len, &j, &y);
    if (more_a != more_b || x != y) {
      return false;
    }
    if (!more_a) {
      return true;
    }
  }
}

bool weir__names_next(const char *list,
                      size_t list_len,
                      size_t *at,
                      const char **out_name,
                      size_t *out_len) {
  if (*at >= list_len) {
    return false;
  }
  const char *name = list + *at;
  const char *comma = memchr(name, ',', list_len - *at);
  size_t n = comma != NULL ? (size_t)(comma - name) : list_len - *at;
  *at += comma != NULL ? n + 1 : n;
  while (n != 0 && is_blank(name[0])) {
    name++;
    n--;
  }
  while (n != 0 && is_blank(name[n - 1])) {
    n--;
  }
  *out_name = name;
  *out_len = n;
  return true;
}

bool weir__names_listed(const char *name,
                        size_t name_len,
                        const char *list,
                        size_t list_len) {
  size_t at = 0;
  const char *item = NULL;
  size_t item_len = 0;
  while (weir__names_next(list, list_len, &at, &item, &item_len)) {
    if (item_len != 0 && weir__names_equal(name, name_len, item, item_len)) {
      return true;
    }
  }
  return false;
}

/* Folds a name into out of WEIR_NAME_MAX bytes; SIZE_MAX if it is too long. */
static size_t fold_name(const char *p, size_t n, char *out) {
  size_t at = 0;
  size_t len = 0;
  char c = 0;
  while (next_char(p, n, &at, &c)) {
    if (len == WEIR_NAME_MAX) {
      return SIZE_MAX;
    }
    out[len++] = c;
  }
  return len;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Optimal string alignment over three rows of the usual matrix. */
static int slips(const char *a, size_t n, const char *b, size_t m) {
  int rows[3][WEIR_NAME_MAX + 1];
  for (size_t j = 0; j <= m; j++) {
    rows[0][j] = (int)j;
  }
  for (size_t i = 1; i <= n; i++) {
    int *now = rows[i % 3];
    const int *above = rows[(i + 2) % 3];
    const int *before = rows[(i + 1) % 3];
    now[0] = (int)i;
    for (size_t j = 1; j <= m; j++) {
      int best = least(above[j], now[j - 1]) + 1;
      best = least(best, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = least(best, before[j - 2] + 1);
      }
      now[j] = best;
    }
  }
  return rows[n % 3][m];
}

int weir__names_distance(const char *name,
                         size_t name_len,
                         const char *candidate,
                         size_t candidate_len) {
  char a[WEIR_NAME_MAX];
  char b[WEIR_NAME_MAX];
  size_t n = fold_name(name, name_len, a);
  size_t m = fold_name(candidate, candidate_len, b);
  if (n == SIZE_MAX || m == SIZE_MAX || n == 0 || m == 0) {
    return WEIR_NAMES_FAR;
  }
  size_t shorter = n < m ? n : m;
  if (n + m - 2 * shorter <= 2) {
    int d = slips(a, n, b, m);
    /* In short words two slips are a different word. */
    if (d == 0 || (d <= 2 && 2 * (size_t)d < shorter)) {
      return d;
    }
  }
  if (shorter >= 3 && memcmp(a, b, shorter) == 0) {
    return n < m ? WEIR_NAMES_PREFIX : WEIR_NAMES_PREFIX + 1;
  }
  return WEIR_NAMES_FAR;
}
