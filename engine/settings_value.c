/* SPDX-License-Identifier: MIT */
/* Reading and writing one value by its row of the table. */
#include "settings_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "sys/assert.h"
#include "sys/clock.h"

#define NS_S   WEIR_NS_PER_S
#define NS_MIN (60 * NS_S)
#define NS_H   (60 * NS_MIN)

/* The readers return NULL, or what is wrong with the text. */
static const char malformed[] = "";

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Digits from *at on, at most as many as there are; UINT64_MAX when too big. */
static uint64_t read_digits(const char *p, size_t n, size_t *at) {
  uint64_t v = 0;
  for (; *at < n && is_digit(p[*at]); (*at)++) {
    uint64_t digit = (uint64_t)(p[*at] - '0');
    v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
  }
  return v;
}

static const char *read_count(const char *p, size_t n, uint64_t *out) {
  size_t at = 0;
  *out = read_digits(p, n, &at);
  return n != 0 && at == n ? NULL : malformed;
}

static const char *read_percent(const char *p, size_t n, uint64_t *out) {
  size_t at = 0;
  *out = read_digits(p, n, &at);
  bool some = at != 0;
  while (at < n && p[at] == ' ') {
    at++;
  }
  at += at < n && p[at] == '%';
  return some && at == n ? NULL : malformed;
}

/* Nanoseconds of the unit at p; 0 if it is none. */
static uint64_t unit_of(const char *p, size_t n) {
  static const struct {
    const char *name;
    uint64_t ns;
  } units[] = {{"", NS_S},
               {"ns", 1},
               {"us", WEIR_NS_PER_US},
               {"s", NS_S},
               {"ms", WEIR_NS_PER_MS},
               {"min", NS_MIN},
               {"h", NS_H}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (weir__names_equal(p, n, units[i].name, strlen(units[i].name))) {
      return units[i].ns;
    }
  }
  return 0;
}

/* The value of the fraction's digits at p in a unit of ns nanoseconds. */
static const char *read_fraction(const char *p,
                                 size_t n,
                                 uint64_t ns,
                                 uint64_t *out) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    bool whole = ns % 10 == 0;
    ns /= 10;
    if (p[i] != '0' && !whole) {
      return "is finer than a nanosecond";
    }
    sum += (uint64_t)(p[i] - '0') * ns;
  }
  *out = sum;
  return NULL;
}

static const char *read_time(const char *p, size_t n, uint64_t *out) {
  size_t at = 0;
  uint64_t whole = read_digits(p, n, &at);
  size_t digits = at;
  size_t dot = at;
  if (at < n && p[at] == '.') {
    dot = ++at;
    (void)read_digits(p, n, &at);
    digits += at - dot;
  }
  uint64_t unit = unit_of(p + at, n - at);
  if (digits == 0 || unit == 0) {
    return malformed;
  }
  uint64_t part = 0;
  const char *wrong = read_fraction(p + dot, at - dot, unit, &part);
  bool over = whole > (UINT64_MAX - part) / unit;
  *out = over ? UINT64_MAX : whole * unit + part;
  return wrong;
}

int weir__setting_truth(const char *p, size_t n) {
  static const char yes[] = "true,yes,1";
  static const char no[] = "false,no,0";
  if (weir__names_listed(p, n, yes, sizeof yes - 1)) {
    return 1;
  }
  return weir__names_listed(p, n, no, sizeof no - 1) ? 0 : -1;
}

static const char *read_bool(const char *p, size_t n, uint64_t *out) {
  int truth = weir__setting_truth(p, n);
  *out = truth == 1;
  return truth < 0 ? malformed : NULL;
}

/* Index of the choice. */
static const char *read_choice(const struct weir__setting *setting,
                               const char *p,
                               size_t n,
                               uint64_t *out) {
  const char *item = NULL;
  size_t len = 0;
  size_t at = 0;
  while (weir__names_next(setting->synonyms, strlen(setting->synonyms), &at,
                          &item, &len)) {
    const char *sign = memchr(item, '=', len);
    WEIR_ASSERT(sign != NULL);
    if (weir__names_equal(p, n, item, (size_t)(sign - item))) {
      p = sign + 1;
      n = len - (size_t)(p - item);
      break;
    }
  }
  at = 0;
  for (uint64_t i = 0; weir__names_next(
           setting->choices, strlen(setting->choices), &at, &item, &len);
       i++) {
    if (weir__names_equal(p, n, item, len)) {
      *out = i;
      return NULL;
    }
  }
  return malformed;
}

const char *weir__setting_read(const struct weir__setting *setting,
                               const char *p,
                               size_t n,
                               uint64_t *out) {
  switch (setting->type) {
  case WEIR_SETTING_BOOL:
    return read_bool(p, n, out);
  case WEIR_SETTING_COUNT:
  case WEIR_SETTING_HANDLE:
    return read_count(p, n, out);
  case WEIR_SETTING_TIME:
    return read_time(p, n, out);
  case WEIR_SETTING_PERCENT:
    return read_percent(p, n, out);
  case WEIR_SETTING_CHOICE:
    return read_choice(setting, p, n, out);
  case WEIR_SETTING_TEXT:
  default:
    *out = n; /* only its length has limits */
    return NULL;
  }
}

/* ------------------------------------------------------ writing a value */

/* A time in the largest unit, up to seconds, that holds it in whole numbers. */
static void time_text(uint64_t ns, char *buf) {
  static const struct {
    uint64_t ns;
    const char *name;
  } units[] = {
      {NS_S, "s"}, {WEIR_NS_PER_MS, "ms"}, {WEIR_NS_PER_US, "us"}, {1, "ns"}};
  size_t i = 0;
  while (ns % units[i].ns != 0) {
    i++;
  }
  (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "%" PRIu64 " %s",
                 ns / units[i].ns, units[i].name);
}

static void choice_text(const struct weir__setting *setting,
                        uint64_t index,
                        char *buf) {
  size_t at = 0;
  const char *item = "";
  size_t len = 0;
  for (uint64_t i = 0; i <= index; i++) {
    (void)weir__names_next(setting->choices, strlen(setting->choices), &at,
                           &item, &len);
  }
  len = len < WEIR_SETTINGS_TEXT_MAX ? len : WEIR_SETTINGS_TEXT_MAX - 1;
  memcpy(buf, item, len);
  buf[len] = '\0';
}

void weir__setting_write(const struct weir__setting *setting,
                         uint64_t v,
                         char *buf) {
  switch (setting->type) {
  case WEIR_SETTING_TIME:
    time_text(v, buf);
    break;
  case WEIR_SETTING_CHOICE:
    choice_text(setting, v, buf);
    break;
  case WEIR_SETTING_BOOL:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, v != 0 ? "true" : "false");
    break;
  case WEIR_SETTING_PERCENT:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "%" PRIu64 " %%", v);
    break;
  case WEIR_SETTING_COUNT:
  case WEIR_SETTING_HANDLE:
  case WEIR_SETTING_TEXT:
  default:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "%" PRIu64, v);
    break;
  }
}

void weir__settings_range(const struct weir__setting *setting, char *buf) {
  char low[WEIR_SETTINGS_TEXT_MAX / 4];
  char high[WEIR_SETTINGS_TEXT_MAX];
  bool off = (setting->flags & WEIR_SETTING_ZERO_OFF) != 0 && setting->min != 0;
  switch (setting->type) {
  case WEIR_SETTING_BOOL:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "true or false");
    break;
  case WEIR_SETTING_CHOICE:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "one of %s", setting->choices);
    break;
  case WEIR_SETTING_HANDLE:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX,
                   "a handle of weir_credential_open() in decimal, or 0");
    break;
  case WEIR_SETTING_TEXT:
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "at most %" PRIu64 " bytes",
                   setting->max);
    break;
  case WEIR_SETTING_COUNT:
  case WEIR_SETTING_TIME:
  case WEIR_SETTING_PERCENT:
  default:
    weir__setting_write(setting, setting->min, high);
    (void)snprintf(low, sizeof low, "%.60s", setting->min == 0 ? "0" : high);
    weir__setting_write(setting, setting->max, high);
    (void)snprintf(buf, WEIR_SETTINGS_TEXT_MAX, "%.60s to %.60s%s", low, high,
                   off ? ", or 0" : "");
    break;
  }
}
