/* SPDX-License-Identifier: MIT */
/* settings_dump.c - the engine's table of settings as text for settings.py: one
 * line each, with tabs between name, aliases, unit, default (under direct, legacy
 * and channel), range, "yes" if it
 * may change while a pool runs, "yes" if it is built, and what it does. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "settings.h"

static const char *unit_of(enum weir__setting_type type) {
  switch (type) {
  case WEIR_SETTING_BOOL:
    return "true or false";
  case WEIR_SETTING_COUNT:
    return "count";
  case WEIR_SETTING_TIME:
    return "time";
  case WEIR_SETTING_CHOICE:
    return "one of";
  case WEIR_SETTING_PERCENT:
    return "%";
  case WEIR_SETTING_HANDLE:
    return "handle";
  case WEIR_SETTING_TEXT:
  default:
    return "text";
  }
}

static const char *default_of(const struct weir__setting *s,
                              uint32_t strategy) {
  const char *value = weir__settings_default(s, strategy);
  if (value[0] != '\0') {
    return value;
  }
  return (s->flags & WEIR_SETTING_REQUIRED) != 0 ? "required" : "empty";
}

/* "a, b (c, d: not built yet)"; all alike where nothing is built. */
static void print_choices(const struct weir__setting *s) {
  bool built = (s->flags & WEIR_SETTING_BUILT) != 0;
  const char *item = NULL;
  size_t at = 0;
  size_t len = 0;
  uint64_t i = 0;
  bool more = false;
  while (weir__names_next(s->choices, strlen(s->choices), &at, &item, &len)) {
    more = built && i > s->max;
    (void)printf("%s%.*s",
                 i == 0                    ? ""
                 : more && i == s->max + 1 ? " ("
                                           : ", ",
                 (int)len, item);
    i++;
  }
  (void)fputs(more ? ": not built yet)" : "", stdout);
}

static void print_range(const struct weir__setting *s) {
  char range[WEIR_SETTINGS_TEXT_MAX];
  if (s->type == WEIR_SETTING_BOOL) {
    return;
  }
  if (s->type == WEIR_SETTING_CHOICE) {
    print_choices(s);
    return;
  }
  weir__settings_range(s, range);
  (void)fputs(range, stdout);
}

int main(void) {
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__setting *s = &table[i];
    (void)printf("%s\t%s\t%s\t%s\t%s\t%s\t", s->name, s->aliases,
                 unit_of(s->type), default_of(s, WEIR_STRATEGY_DIRECT),
                 default_of(s, WEIR_STRATEGY_LEGACY),
                 default_of(s, WEIR_STRATEGY_CHANNEL));
    print_range(s);
    (void)printf("\t%s\t%s\t%s\n",
                 (s->flags & WEIR_SETTING_LIVE) != 0 ? "yes" : "no",
                 (s->flags & WEIR_SETTING_BUILT) != 0 ? "yes" : "no", s->help);
  }
  return 0;
}
