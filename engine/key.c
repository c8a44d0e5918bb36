/* SPDX-License-Identifier: MIT */
/* Building keys.
 *
 * A part is: kind (1 byte), 1 if it is a digest else 0 (1 byte), length of the
 * name and of the value (4 bytes each, as the machine has them: keys never
 * leave the process), name, value.  So one list of parts has one encoding, and
 * comparing keys is one memcmp.
 *
 * Kinds: m how the rest was made; d driver; p part given by the driver; s secret
 * option; e engine setting; x piece of the text. */
#include "key.h"

#include <string.h>

#include "weir.h"

#include "digest.h"
#include "key_escape.h"
#include "names.h"
#include "status.h"
#include "sys/mem.h"

#define HEAD_BYTES ((size_t)10)

struct weir__key {
  uint8_t *parts;
  size_t parts_len;
  uint8_t *endpoint;
  size_t endpoint_len;
  char *text;
  size_t text_len;
  uint64_t hash;
};

/* A buffer that grows; the first failure sticks and makes the rest no-ops. */
struct build {
  uint8_t *p;
  size_t n;
  size_t cap;
  uint32_t n_parts;
  int rc; /* WEIR_OK or WEIR_E_* */
};

static void append(struct build *b, const void *p, size_t n) {
  if (b->rc != WEIR_OK || n == 0) {
    return;
  }
  if (n > WEIR_KEY_BYTES_MAX - b->n) {
    b->rc = WEIR_E_SPACE;
    return;
  }
  if (n > b->cap - b->n) {
    size_t cap = (b->n + n) * 2;
    uint8_t *bigger = weir__mem_resize(b->p, cap);
    if (bigger == NULL) {
      b->rc = WEIR_E_NOMEM;
      return;
    }
    b->p = bigger;
    b->cap = cap;
  }
  memcpy(b->p + b->n, p, n);
  b->n += n;
}

static struct weir__digest_piece piece(const void *p, size_t n) {
  return (struct weir__digest_piece){p, n};
}

static void put_part(struct build *b,
                     char kind,
                     bool digest,
                     struct weir__digest_piece name,
                     struct weir__digest_piece value) {
  if (name.n > WEIR_KEY_BYTES_MAX || value.n > WEIR_KEY_BYTES_MAX) {
    b->rc = WEIR_E_SPACE;
    return;
  }
  uint8_t head[HEAD_BYTES] = {(uint8_t)kind, digest ? 1 : 0};
  uint32_t name_len = (uint32_t)name.n;
  uint32_t value_len = (uint32_t)value.n;
  memcpy(head + 2, &name_len, sizeof name_len);
  memcpy(head + 6, &value_len, sizeof value_len);
  append(b, head, sizeof head);
  append(b, name.p, name.n);
  append(b, value.p, value.n);
}

/* The digest is of the name, too: two options with the same password do not
 * show it. */
static void put_secret(struct build *b,
                       char kind,
                       struct weir__digest_piece name,
                       struct weir__digest_piece value) {
  uint8_t digest[WEIR_DIGEST_BYTES];
  uint64_t name_len = name.n;
  const struct weir__digest_piece pieces[] = {
      piece(&kind, 1), piece(&name_len, sizeof name_len), name, value};
  if (!weir__digest(pieces, sizeof pieces / sizeof pieces[0], digest)) {
    b->rc = b->rc == WEIR_OK ? WEIR_E_FAIL : b->rc;
    return;
  }
  put_part(b, kind, true, name, piece(digest, sizeof digest));
}

/* ------------------------------------------------- parts of the driver */

struct feed {
  struct build *build;
  bool display;
};

/* name is at most WEIR_NAME_MAX bytes: put_text() and part_is_sound(). */
static void put_name_text(struct build *b, struct weir__digest_piece name) {
  char text[4 * WEIR_NAME_MAX];
  const size_t n = weir__key_escape(name.p, name.n, text);
  if (b->n != 0) {
    append(b, ";", 1);
  }
  for (size_t i = 0; i < n; i++) {
    append(b, &text[i], 1);
    if (text[i] == '=') {
      append(b, "=", 1);
    }
  }
  append(b, "=", 1);
}

static void put_quoted(struct build *b, const char *p, size_t n) {
  size_t cap = weir__conninfo_quote(p, n, NULL, 0) + 1;
  char *quoted = weir__mem_new(cap);
  if (quoted == NULL) {
    b->rc = WEIR_E_NOMEM;
    return;
  }
  (void)weir__conninfo_quote(p, n, quoted, cap);
  append(b, quoted, cap - 1);
  weir__mem_free(quoted);
}

/* One "name=value" of the text for people, whatever bytes the driver gave. */
static void put_text(struct build *b,
                     struct weir__digest_piece name,
                     struct weir__digest_piece value) {
  if (value.n > WEIR_KEY_BYTES_MAX) {
    b->rc = WEIR_E_SPACE;
    return;
  }
  char *plain = weir__mem_new(4 * value.n + 1);
  if (plain == NULL) {
    b->rc = WEIR_E_NOMEM;
    return;
  }
  put_name_text(b, name);
  put_quoted(b, plain, weir__key_escape(value.p, value.n, plain));
  weir__mem_free(plain);
}

static bool part_is_sound(const struct weir_drv_text *name,
                          const struct weir_drv_bytes *value) {
  return name != NULL && value != NULL && name->p != NULL && name->n != 0 &&
         name->n <= WEIR_NAME_MAX && (value->p != NULL || value->n == 0);
}

static weir_drv_status drv_status(int rc) {
  return rc == WEIR_OK        ? WEIR_DRV_DONE
         : rc == WEIR_E_SPACE ? WEIR_DRV_E_SPACE
         : rc == WEIR_E_NOMEM ? WEIR_DRV_E_NOMEM
                              : WEIR_DRV_FAIL;
}

/* struct weir_drv_key_sink.part: a failure sticks in the build, whether or not
 * the driver passes it on. */
static weir_drv_status take_part(void *ctx,
                                 uint32_t flags,
                                 const struct weir_drv_text *name,
                                 const struct weir_drv_bytes *value) {
  struct feed *feed = ctx;
  struct build *b = feed->build;
  if (!part_is_sound(name, value)) {
    b->rc = b->rc == WEIR_OK ? WEIR_E_FAIL : b->rc;
    return WEIR_DRV_E_INVALID;
  }
  if (b->n_parts++ == WEIR_KEY_PARTS_MAX) {
    b->rc = WEIR_E_SPACE;
  }
  struct weir__digest_piece n = piece(name->p, (size_t)name->n);
  struct weir__digest_piece v = piece(value->p, (size_t)value->n);
  bool secret = (flags & WEIR_DRV_V_SECRET) != 0;
  if (b->rc != WEIR_OK) {
    return drv_status(b->rc);
  }
  if (feed->display) {
    if (!secret) {
      put_text(b, n, v);
    }
  } else if (secret) {
    put_secret(b, 'p', n, v);
  } else {
    put_part(b, 'p', false, n, v);
  }
  return drv_status(b->rc);
}

static void put_driver_parts(struct build *b,
                             const struct weir__key_source *source,
                             int32_t which) {
  struct feed feed = {b, which == WEIR_DRV_KEY_DISPLAY};
  struct weir_drv_key_sink sink = {
      .struct_size = sizeof sink, .ctx = &feed, .part = take_part};
  b->n_parts = 0;
  if (b->rc != WEIR_OK) {
    return;
  }
  weir_drv_status st =
      source->table->config_key(source->driver, source->cfg, which, &sink);
  if (b->rc == WEIR_OK && st != WEIR_DRV_DONE) {
    b->rc = st == WEIR_DRV_E_NOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL;
  }
}

/* Its name, and its instance: two files may hold drivers of one name. */
static void put_driver(struct build *b, const struct weir__key_source *source) {
  uint8_t value[sizeof(uintptr_t) + 256];
  uintptr_t instance = (uintptr_t)source->driver;
  size_t n = strnlen(source->table->name, 256);
  memcpy(value, &instance, sizeof instance);
  memcpy(value + sizeof instance, source->table->name, n);
  put_part(b, 'd', false, piece("Driver", 6),
           piece(value, sizeof instance + n));
}

/* ------------------------------------------------------- the whole key */

static void put_settings(struct build *b,
                         const struct weir__settings *s,
                         bool as_text) {
  char value[WEIR_SETTINGS_VALUE_MAX];
  uint32_t n = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    if ((table[i].flags & WEIR_SETTING_SHAPES) == 0 ||
        !weir__settings_text(s, &table[i], value)) {
      continue;
    }
    struct weir__digest_piece name =
        piece(table[i].name, strlen(table[i].name));
    if ((table[i].flags & WEIR_SETTING_PRIVATE) != 0) {
      if (!as_text) {
        put_secret(b, 'e', name, piece(value, strlen(value)));
      }
      weir__mem_wipe(value, sizeof value);
    } else if (as_text) {
      put_text(b, name, piece(value, strlen(value)));
    } else {
      put_part(b, 'e', false, name, piece(value, strlen(value)));
    }
  }
}

static void put_canonical(struct build *b,
                          const struct weir__key_source *source) {
  const struct weir__options *o = source->options;
  put_part(b, 'm', false, piece("Pool Key", 8), piece("canonical", 9));
  put_driver(b, source);
  put_driver_parts(b, source, WEIR_DRV_KEY_POOL);
  for (uint32_t i = 0; i < o->n_secrets; i++) {
    const struct weir__secret *value = o->secrets[i].value;
    put_secret(b, 's',
               piece(o->secrets[i].name.p, (size_t)o->secrets[i].name.n),
               piece(weir__secret_bytes(value), weir__secret_len(value)));
  }
  put_settings(b, &o->settings, false);
}

static bool pair_is_secret(const struct weir__options *o, uint32_t i) {
  return (o->secret_pairs[i / 64] >> (i % 64) & 1u) != 0;
}

/* The text in pieces that put together give it again, but for the values of
 * secret options.  Each is filed under the option it belongs to, so that
 * weir__key_diff() can name it. */
static void put_exact(struct build *b, const struct weir__key_source *source) {
  const struct weir__conninfo *ci = source->conninfo;
  put_part(b, 'm', false, piece("Pool Key", 8), piece("exact", 5));
  put_driver(b, source);
  size_t at = 0;
  for (uint32_t i = 0; i < ci->n; i++) {
    const struct weir__conninfo_pair *pair = &ci->pairs[i];
    struct weir__digest_piece name = piece(pair->name, pair->name_len);
    struct weir__digest_piece raw =
        piece(ci->text + pair->raw_at, pair->raw_len);
    put_part(b, 'x', false, name, piece(ci->text + at, pair->raw_at - at));
    if (pair_is_secret(source->options, i)) {
      put_secret(b, 'x', name, raw);
    } else {
      put_part(b, 'x', false, name, raw);
    }
    at = (size_t)pair->raw_at + pair->raw_len;
  }
  put_part(b, 'x', false, piece("end of text", 11),
           piece(ci->text + at, ci->text_len - at));
}

static void put_display(struct build *b,
                        const struct weir__key_source *source) {
  const struct weir__settings *s = &source->options->settings;
  const char *name = source->table->name;
  put_text(b, piece("Driver", 6), piece(name, strlen(name)));
  put_driver_parts(b, source, WEIR_DRV_KEY_DISPLAY);
  put_settings(b, s, true);
  if (s->key == WEIR_KEY_EXACT) {
    put_text(b, piece("Pool Key", 8), piece("exact", 5));
  }
  append(b, "", 1);
}

static int describe(int rc,
                    const struct weir__key_source *source,
                    struct weir_error *err) {
  const char *why = rc == WEIR_E_NOMEM   ? "no memory"
                    : rc == WEIR_E_SPACE ? "it is too long"
                                         : "the driver or OpenSSL failed";
  return weir__error_set(err, rc, WEIR_PHASE_PARSE,
                         "driver \"%s\": cannot make the pool's key: %s",
                         source->table->name, why);
}

static bool hash_parts(struct weir__key *key) {
  uint8_t digest[WEIR_DIGEST_BYTES];
  struct weir__digest_piece all = piece(key->parts, key->parts_len);
  if (!weir__digest(&all, 1, digest)) {
    return false;
  }
  memcpy(&key->hash, digest, sizeof key->hash);
  return true;
}

/* Gives up the spare room of a buffer. */
static uint8_t *finish(struct build *b) {
  uint8_t *fit = weir__mem_resize(b->p, b->n);
  return fit != NULL ? fit : b->p;
}

int weir__key_new(const struct weir__key_source *source,
                  struct weir__key **out_key,
                  struct weir_error *err) {
  struct build parts = {0};
  struct build endpoint = {0};
  struct build text = {0};
  struct weir__key *key = weir__mem_new(sizeof *key);
  int rc = key == NULL ? WEIR_E_NOMEM : WEIR_OK;
  if (rc == WEIR_OK) {
    if (source->options->settings.key == WEIR_KEY_EXACT) {
      put_exact(&parts, source);
    } else {
      put_canonical(&parts, source);
    }
    put_driver(&endpoint, source);
    put_driver_parts(&endpoint, source, WEIR_DRV_KEY_ENDPOINT);
    put_display(&text, source);
    rc = parts.rc != WEIR_OK      ? parts.rc
         : endpoint.rc != WEIR_OK ? endpoint.rc
                                  : text.rc;
  }
  if (rc != WEIR_OK) {
    weir__mem_free(parts.p);
    weir__mem_free(endpoint.p);
    weir__mem_free(text.p);
    weir__mem_free(key);
    return describe(rc, source, err);
  }
  *key = (struct weir__key){.parts = finish(&parts),
                            .parts_len = parts.n,
                            .endpoint = finish(&endpoint),
                            .endpoint_len = endpoint.n,
                            .text = (char *)finish(&text),
                            .text_len = text.n - 1};
  if (!hash_parts(key)) {
    weir__key_free(key);
    return describe(WEIR_E_FAIL, source, err);
  }
  *out_key = key;
  return WEIR_OK;
}

void weir__key_free(struct weir__key *key) {
  if (key != NULL) {
    weir__mem_free(key->parts);
    weir__mem_free(key->endpoint);
    weir__mem_free(key->text);
    weir__mem_free(key);
  }
}

bool weir__key_equal(const struct weir__key *a, const struct weir__key *b) {
  return a->hash == b->hash && a->parts_len == b->parts_len &&
         memcmp(a->parts, b->parts, a->parts_len) == 0;
}

uint64_t weir__key_hash(const struct weir__key *key) {
  return key->hash;
}

const char *weir__key_text(const struct weir__key *key, size_t *out_len) {
  if (out_len != NULL) {
    *out_len = key->text_len;
  }
  return key->text;
}

const uint8_t *weir__key_endpoint(const struct weir__key *key,
                                  size_t *out_len) {
  *out_len = key->endpoint_len;
  return key->endpoint;
}

const uint8_t *weir__key_parts(const struct weir__key *key, size_t *out_len) {
  *out_len = key->parts_len;
  return key->parts;
}
