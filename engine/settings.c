/* SPDX-License-Identifier: MIT */
/* The struct of settings.  Defaults are text in the table and read by the same
 * code as everything else, so that what the help says is what is in force. */
#include "settings.h"

#include <string.h>

#include "weir.h"

#include "settings_value.h"
#include "status.h"
#include "strategy.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"

#define BUILT WEIR_SETTING_BUILT
#define OFF   WEIR_SETTING_ZERO_OFF

static bool is_wide(const struct weir__setting *setting) {
  return setting->type == WEIR_SETTING_TIME ||
         setting->type == WEIR_SETTING_HANDLE;
}

/* Fields are uint32_t, or uint64_t for times and handles, as the table's types
 * say. */
static uint64_t get_field(const struct weir__settings *s,
                          const struct weir__setting *setting) {
  const char *at = (const char *)s + setting->offset;
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (is_wide(setting)) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return narrow;
}

static void set_field(struct weir__settings *s,
                      const struct weir__setting *setting,
                      uint64_t v) {
  char *at = (char *)s + setting->offset;
  bool off = v == 0 && (setting->flags & OFF) != 0;
  uint64_t wide = off ? WEIR_NEVER : v;
  uint32_t narrow = off ? UINT32_MAX : (uint32_t)v;
  if (is_wide(setting)) {
    memcpy(at, &wide, sizeof wide);
  } else {
    memcpy(at, &narrow, sizeof narrow);
  }
}

/* The value as it was read: a limit that is off is 0 again. */
static uint64_t get_value(const struct weir__settings *s,
                          const struct weir__setting *setting) {
  uint64_t v = get_field(s, setting);
  uint64_t off = setting->type == WEIR_SETTING_TIME ? WEIR_NEVER : UINT32_MAX;
  if ((setting->flags & OFF) != 0 && v == off) {
    return 0;
  }
  /* This default is another setting's value. */
  if (setting->offset == offsetof(struct weir__settings, max_connects) &&
      v >= s->max_pool_size) {
    return 0;
  }
  return v;
}

const char *weir__settings_default(const struct weir__setting *setting,
                                   uint32_t strategy) {
  const char *own = weir__strategy_default(strategy, setting->name);
  return own != NULL ? own : setting->fallback;
}

static uint64_t default_value(const struct weir__setting *setting,
                              uint32_t strategy) {
  uint64_t v = 0;
  const char *text = weir__settings_default(setting, strategy);
  const char *wrong = weir__setting_read(setting, text, strlen(text), &v);
  WEIR_ASSERT(wrong == NULL);
  (void)wrong;
  return v;
}

void weir__settings_preset(struct weir__settings *s, uint32_t strategy) {
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    if (table[i].type != WEIR_SETTING_TEXT) {
      set_field(s, &table[i], default_value(&table[i], strategy));
    }
  }
  s->strategy = strategy;
}

void weir__settings_init(struct weir__settings *s) {
  *s = (struct weir__settings){0};
  weir__settings_preset(s, WEIR_STRATEGY_DIRECT);
}

static bool put_sql(struct weir__settings *s, const char *text, size_t len) {
  char *copy = NULL;
  if (len != 0) {
    copy = weir__mem_new(len + 1);
    if (copy == NULL) {
      return false;
    }
    memcpy(copy, text, len);
  }
  weir__settings_fini(s);
  s->session_init = copy;
  return true;
}

void weir__settings_fini(struct weir__settings *s) {
  if (s->session_init != NULL) {
    weir__mem_wipe(s->session_init, strlen(s->session_init));
    weir__mem_free(s->session_init);
    s->session_init = NULL;
  }
}

static const char *kind_of(enum weir__setting_type type) {
  switch (type) {
  case WEIR_SETTING_COUNT:
    return "must be a whole number from";
  case WEIR_SETTING_PERCENT:
    return "must be a percentage from";
  case WEIR_SETTING_TIME:
    return "must be a time (ns, us, ms, s, min, h; s if none) from";
  case WEIR_SETTING_HANDLE:
    return "must be";
  case WEIR_SETTING_TEXT:
  case WEIR_SETTING_BOOL:
  case WEIR_SETTING_CHOICE:
  default:
    return "must be";
  }
}

static int refuse(const struct weir__setting *setting,
                  uint32_t position,
                  const char *wrong,
                  struct weir_error *err) {
  char range[WEIR_SETTINGS_TEXT_MAX];
  weir__settings_range(setting, range);
  return weir__error_set(
      err, WEIR_E_ARG, WEIR_PHASE_PARSE,
      "connection string, byte %u: \"%s\" %s%s%s %s", position, setting->name,
      wrong, wrong[0] != '\0' ? "; it " : "", kind_of(setting->type), range);
}

/* Nothing of the value is shown but the name of a known choice. */
static int refuse_unbuilt(const struct weir__setting *setting,
                          uint64_t v,
                          uint32_t position,
                          struct weir_error *err) {
  char choice[WEIR_SETTINGS_TEXT_MAX] = "";
  if (setting->type == WEIR_SETTING_CHOICE) {
    weir__setting_write(setting, v, choice);
  }
  return weir__error_set(
      err, WEIR_E_UNSUPPORTED, WEIR_PHASE_PARSE,
      "connection string, byte %u: \"%s%s%s\" is not built "
      "yet; leave it at its default (%s)",
      position, setting->name, choice[0] != '\0' ? "=" : "", choice,
      setting->fallback[0] != '\0' ? setting->fallback : "empty");
}

static bool is_driver(const char *p, size_t n) {
  if (n == 0 || n > WEIR_SETTINGS_DRIVER_MAX || p[0] == '/') {
    return n != 0 && n <= WEIR_SETTINGS_DRIVER_MAX;
  }
  for (size_t i = 0; i < n; i++) {
    bool letter = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z');
    if (!letter && !(p[i] >= '0' && p[i] <= '9') && p[i] != '_') {
      return false;
    }
  }
  return true;
}

int weir__settings_check_driver(const char *value,
                                size_t len,
                                uint32_t position,
                                struct weir_error *err) {
  if (is_driver(value, len)) {
    return WEIR_OK;
  }
  return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %u: \"Driver\" must be a "
                         "name of letters, digits and _, or an absolute path; "
                         "at most %d bytes",
                         position, WEIR_SETTINGS_DRIVER_MAX);
}

static int set_driver(struct weir__settings *s,
                      const char *value,
                      size_t len,
                      uint32_t position,
                      struct weir_error *err) {
  int rc = weir__settings_check_driver(value, len, position, err);
  if (rc == WEIR_OK) {
    memcpy(s->driver, value, len);
    memset(s->driver + len, 0, sizeof s->driver - len);
  }
  return rc;
}

static int set_sql(struct weir__settings *s,
                   const struct weir__setting *setting,
                   const char *value,
                   size_t len,
                   uint32_t position,
                   struct weir_error *err) {
  if (len > setting->max) {
    return refuse(setting, position, "", err);
  }
  return put_sql(s, value, len)
             ? WEIR_OK
             : weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_PARSE,
                               "connection string: no memory for \"%s\"",
                               setting->name);
}

static bool is_driver_setting(const struct weir__setting *setting) {
  return setting->offset == offsetof(struct weir__settings, driver);
}

/* 0 may stand for "no limit" without being a limit that is possible. */
static bool is_in_range(const struct weir__setting *setting, uint64_t v) {
  bool off = v == 0 && (setting->flags & WEIR_SETTING_ZERO_OFF) != 0;
  return off || (v >= setting->min && v <= setting->max);
}

int weir__settings_set(struct weir__settings *s,
                       const struct weir__setting *setting,
                       const char *value,
                       size_t len,
                       uint32_t position,
                       struct weir_error *err) {
  uint64_t v = 0;
  bool built = (setting->flags & BUILT) != 0;
  if (built && setting->type == WEIR_SETTING_TEXT) {
    return is_driver_setting(setting)
               ? set_driver(s, value, len, position, err)
               : set_sql(s, setting, value, len, position, err);
  }
  const char *wrong = weir__setting_read(setting, value, len, &v);
  if (wrong != NULL) {
    return refuse(setting, position, wrong, err);
  }
  if (setting->type == WEIR_SETTING_CHOICE) {
    built = built && v <= setting->max;
  } else if (!is_in_range(setting, v)) {
    return refuse(setting, position, "", err);
  }
  if (!built && v != default_value(setting, s->strategy)) {
    return refuse_unbuilt(setting, v, position, err);
  }
  if (built) {
    set_field(s, setting, v);
  }
  return WEIR_OK;
}

/* No more than the first look that could find something: whether it lives, and
 * whether it has been idle too long. */
static uint64_t trust_of(const struct weir__settings *s) {
  bool ages = s->idle_expiry == WEIR_EXPIRY_ENFORCED &&
              s->idle_timeout_ns < s->probe_window_ns;
  return ages ? s->idle_timeout_ns : s->probe_window_ns;
}

int weir__settings_finish(struct weir__settings *s, struct weir_error *err) {
  if (s->driver[0] == '\0') {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string: \"Driver\" is missing");
  }
  if (s->min_pool_size > s->max_pool_size) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string: \"Min Pool Size\" must not "
                           "exceed \"Max Pool Size\" (100 if not given)");
  }
  if (s->min_idle > s->max_pool_size) {
    return weir__error_set(err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string: \"Min Idle\" must not exceed "
                           "\"Max Pool Size\" (100 if not given)");
  }
  s->trust_ns = trust_of(s);
  return WEIR_OK;
}

bool weir__settings_text(const struct weir__settings *s,
                         const struct weir__setting *setting,
                         char *buf) {
  if ((setting->flags & BUILT) == 0) {
    return false; /* nothing but the default gets here */
  }
  if (setting->type == WEIR_SETTING_TEXT) {
    const char *text = is_driver_setting(setting) ? s->driver : s->session_init;
    size_t len = text == NULL ? 0 : strlen(text);
    memcpy(buf, text == NULL ? "" : text, len + 1);
    return len != 0;
  }
  uint64_t v = get_value(s, setting);
  if (v == default_value(setting, s->strategy)) {
    return false;
  }
  weir__setting_write(setting, v, buf);
  return true;
}
