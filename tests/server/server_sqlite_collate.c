/* SPDX-License-Identifier: MIT */
/* Collations: texts, exact numbers, instants, GUIDs. */
#include <string.h>
#include <strings.h>

#include "server_sqlite_fn.h"
#include "server_text.h"

/* T-SQL's comparison of texts: no case, no blanks at the end. */
static int compare_texts(void *user,
                         int na,
                         const void *a,
                         int nb,
                         const void *b) {
  const char *left = a;
  const char *right = b;
  size_t nleft = (size_t)na;
  size_t nright = (size_t)nb;
  size_t i = 0;
  size_t j = 0;
  (void)user;
  while (nleft > 0 && left[nleft - 1] == ' ') {
    nleft--;
  }
  while (nright > 0 && right[nright - 1] == ' ') {
    nright--;
  }
  while (i < nleft && j < nright) {
    uint32_t c = lite_fold(tdsd_text_next(left, nleft, &i));
    uint32_t d = lite_fold(tdsd_text_next(right, nright, &j));
    if (c != d) {
      return c < d ? -1 : 1;
    }
  }
  return i < nleft ? 1 : j < nright ? -1 : 0;
}

static int compare_numbers(void *user,
                           int na,
                           const void *a,
                           int nb,
                           const void *b) {
  struct tdsd_value left = {0};
  struct tdsd_value right = {0};
  (void)user;
  int bad_left = tdsd_decimal_parse(a, (size_t)na, &left);
  int bad_right = tdsd_decimal_parse(b, (size_t)nb, &right);
  if (bad_left < 0 || bad_right < 0) {
    return bad_left != bad_right ? (bad_left < 0 ? -1 : 1)
                                 : compare_texts(NULL, na, a, nb, b);
  }
  if (left.magnitude == 0 && right.magnitude == 0) {
    return 0;
  }
  if (left.negative != right.negative) {
    return left.negative ? -1 : 1;
  }
  /* Whole parts first, then what stands behind the point, so that nothing
   * outgrows 38 digits. */
  tdsd_u128 unit_left = tdsd_pow10(left.type.scale);
  tdsd_u128 unit_right = tdsd_pow10(right.type.scale);
  tdsd_u128 x = left.magnitude / unit_left;
  tdsd_u128 y = right.magnitude / unit_right;
  if (x == y) {
    x = left.magnitude % unit_left * tdsd_pow10(38u - left.type.scale);
    y = right.magnitude % unit_right * tdsd_pow10(38u - right.type.scale);
  }
  int order = x < y ? -1 : x > y ? 1 : 0;
  return left.negative ? -order : order;
}

static int compare_instants(void *user,
                            int na,
                            const void *a,
                            int nb,
                            const void *b) {
  struct tdsd_value left;
  struct tdsd_value right;
  (void)user;
  if (tdsd_date_parse(a, (size_t)na, &left) < 0 ||
      tdsd_date_parse(b, (size_t)nb, &right) < 0) {
    return compare_texts(NULL, na, a, nb, b);
  }
  const int64_t day = INT64_C(864000000000);
  const int64_t minute = INT64_C(600000000);
  int64_t x = left.days * day + left.ticks - left.offset_min * minute;
  int64_t y = right.days * day + right.ticks - right.offset_min * minute;
  return x < y ? -1 : x > y ? 1 : 0;
}

/* SQL Server looks at the last group of a GUID first. */
static int compare_guids(void *user,
                         int na,
                         const void *a,
                         int nb,
                         const void *b) {
  static const uint8_t groups[][2] = {
      {24, 12}, {19, 4}, {14, 4}, {9, 4}, {0, 8}};
  (void)user;
  if (na != 36 || nb != 36) {
    return compare_texts(NULL, na, a, nb, b);
  }
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    int order = strncasecmp((const char *)a + groups[i][0],
                            (const char *)b + groups[i][0], groups[i][1]);
    if (order != 0) {
      return order;
    }
  }
  return 0;
}

int lite_add_collations(sqlite3 *db) {
  static const struct {
    const char *name;
    int (*compare)(void *, int, const void *, int, const void *);
  } collations[] = {{"tsql_text", compare_texts},
                    {"tsql_number", compare_numbers},
                    {"tsql_instant", compare_instants},
                    {"tsql_guid", compare_guids}};
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof collations / sizeof collations[0] && rc == 0;
       i++) {
    rc = sqlite3_create_collation_v2(db, collations[i].name, SQLITE_UTF8, NULL,
                                     collations[i].compare, NULL);
  }
  return rc;
}
