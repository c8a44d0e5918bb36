/* SPDX-License-Identifier: MIT */
/* tds_feature.c - an answer that was not asked for, comes twice or has another
 * length means that the two sides speak of different things. */
#include "tds_feature.h"

#include <stdio.h>
#include <string.h>

#include "tds_fedauth.h"

static const struct rule {
  uint8_t id;
  uint32_t bit;
  const char *name;
  size_t length;
  size_t or_length; /* also legal */
} rules[] = {
    {TDS_FEATURE_FEDAUTH, TDS_ASKED_FEDAUTH, "FEDAUTH", 0, TDS_NONCE},
    {TDS_FEATURE_UTF8, TDS_ASKED_UTF8, "UTF8_SUPPORT", 1, 1},
};

static const struct rule *find(uint8_t id, uint32_t asked) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (rules[i].id == id && (rules[i].bit & asked) != 0) {
      return &rules[i];
    }
  }
  return NULL;
}

/* The nonce comes back as it was sent, or not at all. */
static bool same_nonce(const struct tds_feature *f, const uint8_t *nonce) {
  return f->data.n != TDS_NONCE ||
         (nonce != NULL && memcmp(f->data.p, nonce, TDS_NONCE) == 0);
}

int tds_feature_ack(const struct tds_feature *f,
                    uint32_t asked,
                    uint32_t *acked,
                    const uint8_t *nonce,
                    char *why,
                    size_t cap) {
  const struct rule *r = find(f->id, asked);
  if (r == NULL) {
    (void)snprintf(why, cap,
                   "the server acknowledges feature 0x%02X, which was not "
                   "asked for",
                   f->id);
    return TDS_E_PROTO;
  }
  if ((*acked & r->bit) != 0) {
    (void)snprintf(why, cap, "the server acknowledges %s twice", r->name);
    return TDS_E_PROTO;
  }
  if (f->data.n != r->length && f->data.n != r->or_length) {
    (void)snprintf(why, cap, "the answer to %s has %zu bytes instead of %zu",
                   r->name, f->data.n, r->length);
    return TDS_E_PROTO;
  }
  if (r->bit == TDS_ASKED_FEDAUTH && !same_nonce(f, nonce)) {
    (void)snprintf(why, cap, "the answer to FEDAUTH has another nonce");
    return TDS_E_PROTO;
  }
  *acked |= r->bit;
  return TDS_OK;
}
