/* SPDX-License-Identifier: MIT */
/* key.h - what makes two connection strings mean the same pool.
 *
 * A key is a list of parts, each with its length, so that no two lists read
 * the same.  Canonical: the driver, the parts its config_key() gives, its
 * secret options, and each setting that shapes the pool and is not at its
 * default.  Exact (Pool Key=exact): the text as written, as SqlClient compares
 * it.  Secrets are in neither: HMAC-SHA-256 under a random key of this process
 * stands for them, all 32 bytes of it compared. */
#ifndef WEIR_KEY_H
#define WEIR_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

#include "conninfo.h"
#include "names.h"
#include "options.h"

struct weir_error;

#define WEIR_KEY_PARTS_MAX 256              /* parts from one config_key() */
#define WEIR_KEY_BYTES_MAX ((size_t)262144) /* bytes of a key's parts */

struct weir__key;

/* Where a key comes from.  All are read during weir__key_new() only. */
struct weir__key_source {
  const struct weir_driver *table;
  weir_drv_drv *driver;
  const weir_drv_cfg *cfg;
  const struct weir__options *options;
  const struct weir__conninfo *conninfo;
};

/* Makes the key.  Calls the driver's config_key(), so no lock may be held.
 * Returns WEIR_OK; WEIR_E_FAIL (the driver failed, or OpenSSL did);
 * WEIR_E_SPACE (more than the limits above); WEIR_E_NOMEM.
 * Owns: *out_key until weir__key_free().  Two engines never have equal keys. */
int weir__key_new(const struct weir__key_source *source,
                  struct weir__key **out_key,
                  struct weir_error *err);

/* Frees; NULL is fine. */
void weir__key_free(struct weir__key *key);

/* True if the two mean the same pool.  Does not allocate or block. */
bool weir__key_equal(const struct weir__key *a, const struct weir__key *b);

/* A hash under the same random key: equal keys have equal hashes. */
uint64_t weir__key_hash(const struct weir__key *key);

/* The key for people, as a connection string without secrets, NUL-terminated;
 * *out_len (optional) gets its bytes.  UTF-8 without control characters: other
 * bytes of the driver's are written as \xNN (key_escape.h).  Valid until
 * weir__key_free(). */
const char *weir__key_text(const struct weir__key *key, size_t *out_len);

/* Bytes that are equal for two keys if and only if the driver says they mean
 * the same server; *out_len gets how many.  Valid until weir__key_free(). */
const uint8_t *weir__key_endpoint(const struct weir__key *key, size_t *out_len);

/* The encoded parts, as key.c describes them; for key_diff.c and tests. */
const uint8_t *weir__key_parts(const struct weir__key *key, size_t *out_len);

/* What a part that two keys do not have in common is. */
enum weir__key_part_kind {
  WEIR_KEY_PART_DRIVER,  /* the driver, or what it says about itself */
  WEIR_KEY_PART_SETTING, /* of the engine */
  WEIR_KEY_PART_SECRET,  /* of either: its value is in no key */
  WEIR_KEY_PART_TEXT     /* exact: how the string is written */
};

struct weir__key_part {
  enum weir__key_part_kind kind;
  size_t name_len;
  char name[4 * WEIR_NAME_MAX]; /* escaped as in weir__key_text(), no NUL */
};

typedef void (*weir__key_part_fn)(void *ctx, const struct weir__key_part *part);

/* Calls fn for each name on which the two differ.  Returns how many they are.
 * Does not allocate. */
uint32_t weir__key_compare(const struct weir__key *a,
                           const struct weir__key *b,
                           weir__key_part_fn fn,
                           void *ctx);

/* True if the two differ in one name only, which goes to *out.  False for a
 * canonical key and an exact one; and it may be false for keys whose parts a driver
 * gave in two orders.  Does not allocate; much quicker than weir__key_compare(). */
bool weir__key_only(const struct weir__key *a,
                    const struct weir__key *b,
                    struct weir__key_part *out);

/* Writes the names of what makes two keys differ, ", " between them and escaped
 * as in weir__key_text(), into buf of cap bytes with a NUL behind; "" if they are
 * equal.  Names that do not fit
 * are left out.  Returns how many differ. */
uint32_t weir__key_diff(const struct weir__key *a,
                        const struct weir__key *b,
                        char *buf,
                        size_t cap);

#endif
