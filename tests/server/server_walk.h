/* SPDX-License-Identifier: MIT */
/* Walking over a reply that the server has written: where each token begins and
 * where its lengths are, so that faults can tell lies about them.  Pure. */
#ifndef TDSD_SERVER_WALK_H
#define TDSD_SERVER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands at a place. */
enum tdsd_field {
  TDSD_FIELD_TOKEN,        /* the byte that begins a token */
  TDSD_FIELD_TOKEN_LENGTH, /* of the whole token */
  TDSD_FIELD_COLUMN_COUNT, /* of COLMETADATA */
  TDSD_FIELD_TYPE,         /* the byte that begins TYPE_INFO */
  TDSD_FIELD_TYPE_LENGTH,  /* the largest length in TYPE_INFO */
  TDSD_FIELD_NAME_LENGTH,  /* of a column, output value, server, procedure */
  TDSD_FIELD_TEXT_LENGTH,  /* of a message */
  TDSD_FIELD_VALUE_LENGTH, /* of a value */
  TDSD_FIELD_PLP_TOTAL,    /* of a value in chunks */
  TDSD_FIELD_PLP_CHUNK,    /* of one of them */
  TDSD_FIELD_ENV_TYPE,     /* of ENVCHANGE */
  TDSD_FIELD_ENV_LENGTH,   /* of its first value */
  TDSD_FIELD_FEATURE_ID,   /* of FEATUREEXTACK */
  TDSD_FIELD_FEATURE_LENGTH,
  TDSD_FIELD_DONE_STATUS,
  TDSD_FIELD_DONE_ROWS,
  TDSD_FIELDS
};

struct tdsd_place {
  enum tdsd_field field;
  uint8_t token; /* it belongs to */
  uint8_t width; /* bytes */
  size_t at;
};

/* Calls see for each place in order.  version is a TDSD_V.
 * Returns the bytes that were understood: fewer than len if a token is unknown
 * or cut off. */
size_t tdsd_walk(const uint8_t *tokens,
                 size_t len,
                 uint32_t version,
                 void (*see)(void *user, const struct tdsd_place *place),
                 void *user);

/* A field's name in faults, such as "token-length"; the reverse returns
 * TDSD_FIELDS if there is none of the name. */
const char *tdsd_field_name(enum tdsd_field field);
enum tdsd_field tdsd_field_find(const char *name);

#endif
