/* SPDX-License-Identifier: MIT */
/* tds_feature.h - the features that LOGIN7 may ask for, and their answers
 * (MS-TDS 2.2.7.11), pure. */
#ifndef TDS_FEATURE_H
#define TDS_FEATURE_H

#include "tds_token.h"

/* Bits of what was asked and what was answered. */
#define TDS_ASKED_FEDAUTH 1u
#define TDS_ASKED_UTF8    2u

/* Checks one entry of FEATUREEXTACK against what was asked; *acked grows.  nonce:
 * what was sent with a token, or NULL.
 * Returns TDS_OK, or TDS_E_PROTO with a text in why (cap bytes). */
int tds_feature_ack(const struct tds_feature *f,
                    uint32_t asked,
                    uint32_t *acked,
                    const uint8_t *nonce,
                    char *why,
                    size_t cap);

#endif
