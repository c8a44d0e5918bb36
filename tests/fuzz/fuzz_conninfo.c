/* SPDX-License-Identifier: MIT */
/* Connection strings: parser, settings, options of a driver, key.
 *
 * Beyond not crashing: every value that was read survives both escapers, every
 * pair lies inside the text, equal input makes equal keys, and a refusal says
 * something. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

#include "key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT(s) \
  { s, sizeof(s) - 1 }
#define INFO(t, f, name, aliases, choices)                                 \
  {                                                                        \
    sizeof(struct weir_drv_option_info), WEIR_DRV_T_##t, f, 0, TEXT(name), \
        TEXT(aliases), TEXT(choices), TEXT(""), TEXT("")                   \
  }

static const struct weir_drv_option_info catalog[] = {
    INFO(TEXT, WEIR_DRV_OPT_KEY, "Server", "Data Source,a", ""),
    INFO(TEXT, WEIR_DRV_OPT_SECRET, "Password", "PWD,b", ""),
    INFO(TEXT, WEIR_DRV_OPT_KEY, "Encrypt", "c", "mandatory,optional,strict"),
    INFO(BOOL, WEIR_DRV_OPT_KEY, "Trust", "d", ""),
    INFO(INT, 0, "Packet Size", "e", ""),
    INFO(UINT, 0, "Window", "f", ""),
    INFO(FLOAT, 0, "Factor", "g", ""),
};

static void check(int ok) {
  if (!ok) {
    abort();
  }
}

static const struct weir__options *current;

static weir_drv_status config_key(weir_drv_drv *d,
                                  const weir_drv_cfg *cfg,
                                  int32_t which,
                                  const struct weir_drv_key_sink *sink) {
  (void)d;
  (void)cfg;
  (void)which;
  for (uint32_t i = 0; i < current->n_drv; i++) {
    const struct weir_drv_option *o = &current->drv[i];
    struct weir_drv_bytes value = {o->value.p, o->value.n};
    weir_drv_status st = sink->part(sink->ctx, 0, &o->name, &value);
    if (st != WEIR_DRV_DONE) {
      return st;
    }
  }
  return WEIR_DRV_DONE;
}

static const struct weir_driver driver = {.struct_size = sizeof driver,
                                          .name = "fuzz",
                                          .config_key = config_key};

typedef size_t (*escaper)(const char *, size_t, char *, size_t);

static void round_trip(escaper escape, const struct weir__conninfo_pair *pair) {
  struct weir__conninfo again;
  size_t need = escape(pair->value, pair->value_len, NULL, 0);
  char *text = malloc(need + 3);
  check(text != NULL);
  memcpy(text, "x=", 2);
  check(escape(pair->value, pair->value_len, text + 2, need + 1) == need);
  if (need + 2 <= WEIR_CONNINFO_MAX) {
    check(weir__conninfo_parse(text, need + 2, &again, NULL) == WEIR_OK);
    check(again.n == 1 && again.pairs[0].value_len == pair->value_len &&
          memcmp(again.pairs[0].value, pair->value, pair->value_len) == 0);
    weir__conninfo_fini(&again);
  }
  free(text);
}

static void check_pairs(const struct weir__conninfo *ci) {
  for (uint32_t i = 0; i < ci->n; i++) {
    const struct weir__conninfo_pair *pair = &ci->pairs[i];
    check(pair->name_len != 0 && pair->name[pair->name_len] == '\0');
    check(pair->value[pair->value_len] == '\0');
    check(pair->position >= 1 && pair->position <= pair->raw_at);
    check((uint64_t)pair->raw_at + pair->raw_len <= ci->text_len);
    round_trip(weir__conninfo_quote, pair);
    round_trip(weir__conninfo_brace, pair);
  }
}

static void check_key(const struct weir__conninfo *ci,
                      const struct weir__options *o) {
  struct weir__key_source source = {
      .table = &driver, .options = o, .conninfo = ci};
  struct weir__key *key = NULL;
  struct weir__key *again = NULL;
  current = o;
  if (weir__key_new(&source, &key, NULL) == WEIR_OK) {
    check(weir__key_new(&source, &again, NULL) == WEIR_OK);
    check(weir__key_equal(key, again));
    check(weir__key_diff(key, again, NULL, 0) == 0);
    weir__key_free(again);
    weir__key_free(key);
  }
}

/* Another value of one setting, whatever else the key has in it, is one difference
 * in its canonical form and none in its text. */
static void check_difference(const struct weir__conninfo *ci,
                             const struct weir__options *o) {
  struct weir__options other = *o; /* owns nothing */
  struct weir__key_source source = {
      .table = &driver, .options = o, .conninfo = ci};
  struct weir__key_part part = {.name_len = 0};
  struct weir__key *a = NULL;
  struct weir__key *b = NULL;
  bool exact = o->settings.key == WEIR_KEY_EXACT;
  other.settings.max_uses = o->settings.max_uses == 7 ? 8 : 7;
  current = o;
  int rc = weir__key_new(&source, &a, NULL);
  source.options = &other;
  if (rc == WEIR_OK && weir__key_new(&source, &b, NULL) == WEIR_OK) {
    check(weir__key_equal(a, b) == exact);
    check(weir__key_diff(a, b, NULL, 0) == (exact ? 0 : 1));
    check(weir__key_only(a, b, &part) == !exact);
    check(exact || (part.name_len == 8 && part.kind == WEIR_KEY_PART_SETTING &&
                    memcmp(part.name, "Max Uses", 8) == 0));
    weir__key_free(b);
  }
  weir__key_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct weir__conninfo ci;
  struct weir__options o;
  struct weir_error err = {.struct_size = sizeof err};
  if (weir__conninfo_parse((const char *)data, size, &ci, &err) != WEIR_OK) {
    check(err.message_len != 0);
    return 0;
  }
  check_pairs(&ci);
  int rc = weir__options_split(&ci, catalog, sizeof catalog / sizeof catalog[0],
                               sizeof catalog[0], &o, &err);
  if (rc == WEIR_OK) {
    check_key(&ci, &o);
    check_difference(&ci, &o);
    weir__options_fini(&o);
  } else {
    check(err.message_len != 0);
  }
  weir__conninfo_fini(&ci);
  return 0;
}
