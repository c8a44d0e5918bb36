/* SPDX-License-Identifier: MIT */
#include "options_value.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

#include "names.h"
#include "settings_value.h"
#include "status.h"

static int refuse(const struct weir_drv_option_info *info,
                  const struct weir__conninfo_pair *pair,
                  const char *wanted,
                  struct weir_drv_text more,
                  struct weir_error *err) {
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %u: \"%.*s\" must be %s%.*s",
                         pair->position, (int)info->name.n, info->name.p,
                         wanted, (int)more.n, more.p != NULL ? more.p : "");
}

/* Reads "-123"; negative says whether a sign may be there. */
static bool read_whole(const char *p, size_t n, bool negative, int64_t *out) {
  char digits[24];
  const size_t sign = n != 0 && p[0] == '-' ? 1 : 0;
  if (n == sign || n >= sizeof digits || (sign != 0 && !negative) ||
      strspn(p + sign, "0123456789") != n - sign) {
    return false;
  }
  memcpy(digits, p, n);
  digits[n] = '\0';
  errno = 0;
  long long v = strtoll(digits, NULL, 10);
  *out = v;
  return errno == 0;
}

static bool read_unsigned(const char *p, size_t n, uint64_t *out) {
  errno = 0;
  if (n == 0 || n >= 24 || strspn(p, "0123456789") != n) {
    return false;
  }
  *out = strtoull(p, NULL, 10);
  return errno == 0;
}

/* In the C locale, whatever the program has set. */
static bool read_float(const char *p, size_t n, double *out) {
  if (n == 0 || strspn(p, "+-.0123456789eE") != n) {
    return false;
  }
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) {
    return false;
  }
  char *end = NULL;
  errno = 0;
  double v = strtod_l(p, &end, plain);
  freelocale(plain);
  if (end != p + n || errno != 0) {
    return false;
  }
  *out = v;
  return true;
}

const char *weir__option_keep(char **at, const char *p, size_t n) {
  char *copy = *at;
  if (n != 0) {
    memcpy(copy, p, n);
  }
  copy[n] = '\0';
  *at += n + 1;
  return copy;
}

size_t weir__option_room(const struct weir_drv_option_info *info,
                         const struct weir__conninfo_pair *pair) {
  /* A choice is kept in the driver's spelling. */
  return (info->choices.n != 0 ? (size_t)info->choices.n : pair->value_len) + 1;
}

static int read_text(const struct weir_drv_option_info *info,
                     const struct weir__conninfo_pair *pair,
                     char **to,
                     struct weir_drv_value *out,
                     struct weir_error *err) {
  const char *p = pair->value;
  size_t n = pair->value_len;
  if (info->choices.n != 0) {
    size_t at = 0;
    const char *choice = NULL;
    size_t len = 0;
    bool found = false;
    while (!found && weir__names_next(info->choices.p, info->choices.n, &at,
                                      &choice, &len)) {
      found = weir__names_equal(p, n, choice, len);
    }
    if (!found) {
      return refuse(info, pair, "one of ", info->choices, err);
    }
    p = choice;
    n = len;
  }
  out->p = weir__option_keep(to, p, n);
  out->n = n;
  return WEIR_OK;
}

static int read_number(const struct weir_drv_option_info *info,
                       const struct weir__conninfo_pair *pair,
                       struct weir_drv_value *out,
                       struct weir_error *err) {
  const char *p = pair->value;
  size_t n = pair->value_len;
  const char *wanted = NULL;
  if (info->type == WEIR_DRV_T_BOOL) {
    out->i = weir__setting_truth(p, n);
    wanted = out->i < 0 ? "true or false (or yes, no, 1, 0)" : NULL;
  } else if (info->type == WEIR_DRV_T_INT) {
    wanted = read_whole(p, n, true, &out->i) ? NULL : "a whole number";
  } else if (info->type == WEIR_DRV_T_UINT) {
    wanted =
        read_unsigned(p, n, &out->u) ? NULL : "a whole number, not negative";
  } else {
    wanted = read_float(p, n, &out->f) ? NULL : "a number";
  }
  struct weir_drv_text none = {NULL, 0};
  if (wanted == NULL && info->choices.n != 0 && info->type != WEIR_DRV_T_BOOL &&
      !weir__names_listed(p, n, info->choices.p, (size_t)info->choices.n)) {
    return refuse(info, pair, "one of ", info->choices, err);
  }
  return wanted == NULL ? WEIR_OK : refuse(info, pair, wanted, none, err);
}

int weir__option_read(const struct weir_drv_option_info *info,
                      const struct weir__conninfo_pair *pair,
                      char **at,
                      struct weir_drv_value *out,
                      struct weir_error *err) {
  out->type = info->type;
  switch (info->type) {
  case WEIR_DRV_T_TEXT:
  case WEIR_DRV_T_BYTES:
    return read_text(info, pair, at, out, err);
  case WEIR_DRV_T_BOOL:
  case WEIR_DRV_T_INT:
  case WEIR_DRV_T_UINT:
  case WEIR_DRV_T_FLOAT:
    return read_number(info, pair, out, err);
  default:
    return weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_PARSE,
                           "option \"%.*s\": the driver gives it a type (%d) "
                           "that a connection string cannot hold",
                           (int)info->name.n, info->name.p, info->type);
  }
}
