/* SPDX-License-Identifier: MIT */
/* Three passes over the pairs: whose is each; the engine's settings, in the
 * order of the text; the driver's options, in the order of its array.  What the
 * driver gets is in one block of plain memory: values that are secret never
 * come near it. */
#include "options.h"

#include <string.h>

#include "weir.h"

#include "names.h"
#include "options_value.h"
#include "status.h"
#include "sys/mem.h"

/* Options one driver may declare. */
#define DRIVER_OPTIONS_MAX 1024

#define OWNER_NONE   (-1)
#define OWNER_ENGINE (-2)

/* The driver's array.  Elements may be shorter or longer than ours. */
struct catalog {
  const struct weir_drv_option_info *info;
  uint32_t n;
  uint32_t stride;
};

struct split {
  const struct weir__conninfo *ci;
  struct catalog catalog;
  struct weir__options *out;
  struct weir_error *err;
  /* Per pair: index in the driver's array, or OWNER_*. */
  int32_t owner[WEIR_CONNINFO_OPTIONS_MAX];
  char *at; /* where the next text of the block goes */
};

/* The i-th element; what it does not have is zero. */
static struct weir_drv_option_info info_at(const struct catalog *c,
                                           uint32_t i) {
  struct weir_drv_option_info info = {0};
  const char *p = (const char *)c->info + (size_t)i * c->stride;
  uint32_t size = 0;
  memcpy(&size, p, sizeof size);
  size = size < c->stride ? size : c->stride;
  memcpy(&info, p, size < sizeof info ? size : sizeof info);
  return info;
}

static bool info_is_named(const struct weir_drv_option_info *info,
                          const char *name,
                          size_t len) {
  return weir__names_equal(name, len, info->name.p, info->name.n) ||
         weir__names_listed(name, len, info->aliases.p, info->aliases.n);
}

/* ---------------------------------------------------------- whose is it */

static int32_t find_owner(const struct split *sp,
                          const struct weir__conninfo_pair *pair) {
  if (weir__settings_find(pair->name, pair->name_len) != NULL) {
    return OWNER_ENGINE;
  }
  for (uint32_t i = 0; i < sp->catalog.n; i++) {
    struct weir_drv_option_info info = info_at(&sp->catalog, i);
    if ((info.flags & WEIR_DRV_OPT_ENGINE) == 0 &&
        info_is_named(&info, pair->name, pair->name_len)) {
      return (int32_t)i;
    }
  }
  return OWNER_NONE;
}

/* The best candidate so far for a name nobody knows. */
struct nearest {
  const struct weir__conninfo_pair *pair;
  const char *name;
  size_t len;
  int distance;
};

static void consider(struct nearest *best, const char *list, size_t list_len) {
  size_t at = 0;
  const char *name = NULL;
  size_t len = 0;
  while (weir__names_next(list, list_len, &at, &name, &len)) {
    int d =
        weir__names_distance(best->pair->name, best->pair->name_len, name, len);
    if (d < best->distance) {
      best->name = name;
      best->len = len;
      best->distance = d;
    }
  }
}

static struct nearest find_nearest(const struct split *sp,
                                   const struct weir__conninfo_pair *pair) {
  struct nearest best = {pair, NULL, 0, WEIR_NAMES_FAR};
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    consider(&best, table[i].name, strlen(table[i].name));
    consider(&best, table[i].aliases, strlen(table[i].aliases));
  }
  for (uint32_t i = 0; i < sp->catalog.n; i++) {
    struct weir_drv_option_info info = info_at(&sp->catalog, i);
    consider(&best, info.name.p, info.name.n);
    consider(&best, info.aliases.p, info.aliases.n);
  }
  return best;
}

/* Blanks in a name may be line ends, which have no place in an error. */
static bool is_one_line(const struct weir__conninfo_pair *pair) {
  for (uint32_t i = 0; i < pair->name_len; i++) {
    if ((unsigned char)pair->name[i] < ' ') {
      return false;
    }
  }
  return true;
}

/* An unknown name may be a piece of a password that was not quoted, so it is
 * shown only if it is a known one but for a slip, or the beginning of one. */
static int refuse_unknown(const struct split *sp,
                          const struct weir__conninfo_pair *pair) {
  struct nearest best = find_nearest(sp, pair);
  if (best.distance <= WEIR_NAMES_PREFIX && is_one_line(pair)) {
    return weir__error_set(sp->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string, byte %u: unknown option \"%s\"; "
                           "did you mean \"%.*s\"?",
                           pair->position, pair->name, (int)best.len,
                           best.name);
  }
  if (best.distance < WEIR_NAMES_FAR) {
    return weir__error_set(sp->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string, byte %u: unknown option of %u "
                           "bytes; did you mean \"%.*s\"?",
                           pair->position, pair->name_len, (int)best.len,
                           best.name);
  }
  return weir__error_set(sp->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "connection string, byte %u: unknown option of %u "
                         "bytes, and no known name is like it (a value with "
                         "\";\" in it needs quotes)",
                         pair->position, pair->name_len);
}

/* Of which keys hold a digest, also those that compare the text. */
static void hide_pair(struct split *sp, uint32_t i) {
  sp->out->secret_pairs[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool is_private(const struct weir__conninfo_pair *pair) {
  const struct weir__setting *setting =
      weir__settings_find(pair->name, pair->name_len);
  return (setting->flags & WEIR_SETTING_PRIVATE) != 0;
}

static int find_owners(struct split *sp) {
  for (uint32_t i = 0; i < sp->ci->n; i++) {
    const struct weir__conninfo_pair *pair = &sp->ci->pairs[i];
    sp->owner[i] = find_owner(sp, pair);
    if (sp->owner[i] == OWNER_NONE) {
      return refuse_unknown(sp, pair);
    }
    if (sp->owner[i] == OWNER_ENGINE && is_private(pair)) {
      hide_pair(sp, i);
    }
    if (sp->owner[i] >= 0) {
      uint32_t k = (uint32_t)sp->owner[i];
      if ((info_at(&sp->catalog, k).flags & WEIR_DRV_OPT_SECRET) != 0) {
        hide_pair(sp, i);
      }
    }
  }
  return WEIR_OK;
}

/* ------------------------------------------------------- engine settings */

static const struct weir__setting *setting_of(const struct split *sp,
                                              uint32_t i) {
  return weir__settings_find(sp->ci->pairs[i].name, sp->ci->pairs[i].name_len);
}

static bool repeated_later(const struct split *sp,
                           uint32_t i,
                           const struct weir__setting *setting) {
  for (uint32_t j = i + 1; j < sp->ci->n; j++) {
    if (sp->owner[j] == OWNER_ENGINE && setting_of(sp, j) == setting) {
      return true;
    }
  }
  return false;
}

static bool is_default(const struct weir__conninfo_pair *pair) {
  return pair->value_len == 0 && !pair->quoted;
}

/* Before all others: it says what their defaults are. */
static int apply_strategy(struct split *sp) {
  struct weir__settings *s = &sp->out->settings;
  weir__settings_init(s);
  for (uint32_t i = sp->ci->n; i > 0; i--) {
    const struct weir__conninfo_pair *pair = &sp->ci->pairs[i - 1];
    if (sp->owner[i - 1] != OWNER_ENGINE ||
        setting_of(sp, i - 1)->offset !=
            offsetof(struct weir__settings, strategy)) {
      continue;
    }
    int rc = is_default(pair)
                 ? WEIR_OK
                 : weir__settings_set(s, setting_of(sp, i - 1), pair->value,
                                      pair->value_len, pair->position, sp->err);
    if (rc == WEIR_OK) {
      weir__settings_preset(s, s->strategy);
    }
    return rc; /* the last of several counts */
  }
  return WEIR_OK;
}

static int apply_settings(struct split *sp) {
  int given = apply_strategy(sp);
  if (given != WEIR_OK) {
    return given;
  }
  for (uint32_t i = 0; i < sp->ci->n; i++) {
    const struct weir__conninfo_pair *pair = &sp->ci->pairs[i];
    if (sp->owner[i] != OWNER_ENGINE || is_default(pair)) {
      continue;
    }
    const struct weir__setting *setting = setting_of(sp, i);
    if (repeated_later(sp, i, setting)) {
      continue;
    }
    int rc = weir__settings_set(&sp->out->settings, setting, pair->value,
                                pair->value_len, pair->position, sp->err);
    if (rc != WEIR_OK) {
      return rc;
    }
  }
  return weir__settings_finish(&sp->out->settings, sp->err);
}

/* ------------------------------------------------------- driver options */

/* The pair that counts for option i of the driver, NULL if it is not given. */
static const struct weir__conninfo_pair *pair_for(const struct split *sp,
                                                  uint32_t i) {
  for (uint32_t k = sp->ci->n; k > 0; k--) {
    if (sp->owner[k - 1] == (int32_t)i) {
      const struct weir__conninfo_pair *pair = &sp->ci->pairs[k - 1];
      return is_default(pair) ? NULL : pair;
    }
  }
  return NULL;
}

static int take_secret(struct split *sp,
                       struct weir_drv_text name,
                       const struct weir__conninfo_pair *pair) {
  struct weir__secret *secret = weir__secret_new(pair->value, pair->value_len);
  if (secret == NULL) {
    return weir__error_set(sp->err, WEIR_E_NOMEM, WEIR_PHASE_PARSE,
                           "connection string: no memory for secrets");
  }
  struct weir__options *out = sp->out;
  out->secrets[out->n_secrets++] =
      (struct weir__options_secret){.name = name, .value = secret};
  return WEIR_OK;
}

static int take_option(struct split *sp,
                       const struct weir_drv_option_info *info,
                       const struct weir__conninfo_pair *pair,
                       struct weir_drv_option *out) {
  out->name.p = weir__option_keep(&sp->at, info->name.p, (size_t)info->name.n);
  out->name.n = info->name.n;
  if ((info->flags & WEIR_DRV_OPT_SECRET) == 0) {
    return weir__option_read(info, pair, &sp->at, &out->value, sp->err);
  }
  out->value.type = WEIR_DRV_T_NULL;
  out->value.flags = WEIR_DRV_V_SECRET;
  return take_secret(sp, out->name, pair);
}

/* The block that *out points into: options, secrets, texts. */
struct sizes {
  uint32_t options;
  uint32_t secrets;
  size_t bytes;
};

static struct sizes measure(const struct split *sp) {
  struct sizes z = {0, 0, 0};
  for (uint32_t i = 0; i < sp->catalog.n; i++) {
    const struct weir__conninfo_pair *pair = pair_for(sp, i);
    if (pair == NULL) {
      continue;
    }
    struct weir_drv_option_info info = info_at(&sp->catalog, i);
    z.options++;
    z.secrets += (info.flags & WEIR_DRV_OPT_SECRET) != 0;
    z.bytes += (size_t)info.name.n + 1;
    if ((info.flags & WEIR_DRV_OPT_SECRET) == 0) {
      z.bytes += weir__option_room(&info, pair);
    }
  }
  return z;
}

static struct weir_drv_option *new_block(struct split *sp) {
  struct sizes z = measure(sp);
  size_t options = z.options * sizeof(struct weir_drv_option);
  size_t secrets = z.secrets * sizeof(struct weir__options_secret);
  char *p = weir__mem_new(options + secrets + z.bytes + 1);
  if (p == NULL) {
    return NULL;
  }
  sp->out->memory = p;
  sp->out->secrets = (struct weir__options_secret *)(void *)(p + options);
  sp->at = p + options + secrets;
  return (struct weir_drv_option *)(void *)p;
}

static int take_options(struct split *sp) {
  struct weir_drv_option *drv = new_block(sp);
  if (drv == NULL) {
    return weir__error_set(sp->err, WEIR_E_NOMEM, WEIR_PHASE_PARSE,
                           "connection string: no memory");
  }
  sp->out->drv = drv;
  for (uint32_t i = 0; i < sp->catalog.n; i++) {
    struct weir_drv_option_info info = info_at(&sp->catalog, i);
    const struct weir__conninfo_pair *pair = pair_for(sp, i);
    int rc = WEIR_OK;
    if (pair != NULL) {
      rc = take_option(sp, &info, pair, &drv[sp->out->n_drv++]);
    } else if ((info.flags & WEIR_DRV_OPT_REQUIRED) != 0 &&
               (info.flags & WEIR_DRV_OPT_ENGINE) == 0) {
      rc = weir__error_set(sp->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                           "connection string: \"%.*s\" is missing; the driver "
                           "requires it",
                           (int)info.name.n, info.name.p);
    }
    if (rc != WEIR_OK) {
      return rc;
    }
  }
  return WEIR_OK;
}

/* ------------------------------------------------------------------- API */

static bool text_is_sound(struct weir_drv_text t, uint64_t max) {
  return t.n <= max && (t.p != NULL || t.n == 0);
}

/* What the driver declares is checked like any other input. */
static int check_catalog(const struct catalog *c, struct weir_error *err) {
  bool sound =
      c->n <= DRIVER_OPTIONS_MAX &&
      (c->n == 0 || (c->info != NULL && c->stride >= sizeof(uint32_t)));
  for (uint32_t i = 0; sound && i < c->n; i++) {
    struct weir_drv_option_info info = info_at(c, i);
    sound = info.name.n != 0 && text_is_sound(info.name, WEIR_NAME_MAX) &&
            text_is_sound(info.aliases, 1024) &&
            text_is_sound(info.choices, 1024);
  }
  return sound ? WEIR_OK
               : weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_LOAD,
                                 "the driver's list of options is not usable: "
                                 "at most %d options, names of 1 to %d bytes, "
                                 "lists of at most 1024",
                                 DRIVER_OPTIONS_MAX, WEIR_NAME_MAX);
}

int weir__options_split(const struct weir__conninfo *ci,
                        const struct weir_drv_option_info *info,
                        uint32_t n,
                        uint32_t stride,
                        struct weir__options *out,
                        struct weir_error *err) {
  struct weir__options made = {0};
  struct split sp = {
      .ci = ci, .catalog = {info, n, stride}, .out = &made, .err = err};
  int rc = check_catalog(&sp.catalog, err);
  if (rc == WEIR_OK) {
    rc = find_owners(&sp);
  }
  if (rc == WEIR_OK) {
    rc = apply_settings(&sp);
  }
  if (rc == WEIR_OK) {
    rc = take_options(&sp);
  }
  if (rc != WEIR_OK) {
    weir__options_fini(&made);
    return rc;
  }
  *out = made;
  return WEIR_OK;
}

static int refuse_fixed(const struct split *sp,
                        const struct weir__conninfo_pair *pair,
                        const char *name,
                        int name_len) {
  return weir__error_set(sp->err, WEIR_E_ARG, WEIR_PHASE_PARSE,
                         "changes, byte %u: \"%.*s\" cannot change while a "
                         "pool runs; open a pool with another connection "
                         "string",
                         pair->position, name_len, name);
}

int weir__options_changeable(const struct weir__conninfo *ci,
                             const struct weir_drv_option_info *info,
                             uint32_t n,
                             uint32_t stride,
                             struct weir_error *err) {
  struct weir__options unused = {0};
  struct split sp = {
      .ci = ci, .catalog = {info, n, stride}, .out = &unused, .err = err};
  int rc = check_catalog(&sp.catalog, err);
  if (rc == WEIR_OK) {
    rc = find_owners(&sp);
  }
  for (uint32_t i = 0; rc == WEIR_OK && i < ci->n; i++) {
    if (sp.owner[i] >= 0) {
      struct weir_drv_option_info of =
          info_at(&sp.catalog, (uint32_t)sp.owner[i]);
      rc = refuse_fixed(&sp, &ci->pairs[i], of.name.p, (int)of.name.n);
    } else if ((setting_of(&sp, i)->flags & WEIR_SETTING_LIVE) == 0) {
      const char *name = setting_of(&sp, i)->name;
      rc = refuse_fixed(&sp, &ci->pairs[i], name, (int)strlen(name));
    }
  }
  return rc;
}

/* In the order of the text, so that the last of several counts. */
int weir__options_change(const struct weir__conninfo *ci,
                         struct weir__settings *s,
                         struct weir_error *err) {
  for (uint32_t i = 0; i < ci->n; i++) {
    const struct weir__conninfo_pair *pair = &ci->pairs[i];
    const struct weir__setting *setting =
        weir__settings_find(pair->name, pair->name_len);
    const char *usual = weir__settings_default(setting, s->strategy);
    bool reset = is_default(pair);
    int rc = weir__settings_set(s, setting, reset ? usual : pair->value,
                                reset ? strlen(usual) : pair->value_len,
                                pair->position, err);
    if (rc != WEIR_OK) {
      return rc;
    }
  }
  return WEIR_OK;
}

void weir__options_fini(struct weir__options *o) {
  for (uint32_t i = 0; i < o->n_secrets; i++) {
    weir__secret_free(o->secrets[i].value);
  }
  weir__settings_fini(&o->settings);
  weir__mem_free(o->memory);
  *o = (struct weir__options){0};
}

const struct weir__secret *weir__options_secret(const struct weir__options *o,
                                                const char *name,
                                                size_t len) {
  for (uint32_t i = 0; i < o->n_secrets; i++) {
    if (weir__names_equal(name, len, o->secrets[i].name.p,
                          o->secrets[i].name.n)) {
      return o->secrets[i].value;
    }
  }
  return NULL;
}
