/* SPDX-License-Identifier: MIT */
#include "duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
  const char *name;
  double ns;
} units[] = {{"", 1e9},  {"ns", 1},     {"us", 1e3},  {"ms", 1e6},
             {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};

static double unit_of(const char *name) {
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(name, units[i].name) == 0) {
      return units[i].ns;
    }
  }
  return 0;
}

int duration_parse(const char *text, int64_t *out_ns) {
  /* strtod() would take spaces, signs, "inf" and hexadecimal too. */
  size_t len = strspn(text, "0123456789.");
  if (!isdigit((unsigned char)text[0]) || len > 20) {
    return -1;
  }
  char number[24];
  memcpy(number, text, len);
  number[len] = '\0';
  char *end;
  double value = strtod(number, &end);
  const char *unit = text + len;
  unit += unit[0] == ' ' ? 1 : 0;
  double ns = value * unit_of(unit);
  if (*end != '\0' || unit_of(unit) <= 0 || ns > (double)DURATION_MAX) {
    return -1;
  }
  *out_ns = (int64_t)llround(ns);
  return 0;
}

const char *duration_text(int64_t ns, char buf[32]) {
  static const struct {
    const char *name;
    int64_t ns;
  } steps[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  size_t i = 0;
  while (i < 3 && ns >= steps[i].ns * 1000 - steps[i].ns / 2) {
    i++;
  }
  int64_t unit = steps[i].ns;
  /* Rounded where three digits end; the product stays far below 2^63. */
  int64_t tenths = ns < 100 * unit ? (ns * 10 + unit / 2) / unit : INT64_MAX;
  int64_t cents = ns < 10 * unit ? (ns * 100 + unit / 2) / unit : INT64_MAX;
  if (i > 0 && cents < 1000) {
    (void)snprintf(buf, 32, "%d.%02d %s", (int)cents / 100, (int)cents % 100,
                   steps[i].name);
  } else if (i > 0 && tenths < 1000) {
    (void)snprintf(buf, 32, "%d.%d %s", (int)tenths / 10, (int)tenths % 10,
                   steps[i].name);
  } else {
    (void)snprintf(buf, 32, "%" PRId64 " %s",
                   ns / unit + (ns % unit >= unit / 2 && unit > 1 ? 1 : 0),
                   steps[i].name);
  }
  return buf;
}

int64_t duration_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
