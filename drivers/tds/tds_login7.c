/* SPDX-License-Identifier: MIT */
/* tds_login7.c - 94 fixed bytes, then the texts they point at, then the list of
 * features. */
#include "tds_login7.h"

#include <string.h>

#include "tds_text.h"

#define FIXED 94u

/* Offsets of the fixed part. */
#define AT_VERSION     4u
#define AT_PACKET_SIZE 8u
#define AT_PROGRAM     12u
#define AT_PID         16u
#define AT_FLAGS1      24u
#define AT_FLAGS2      25u
#define AT_TYPE_FLAGS  26u
#define AT_FLAGS3      27u
#define AT_LCID        32u
#define AT_HOST        36u
#define AT_USER        40u
#define AT_PASSWORD    44u
#define AT_APP         48u
#define AT_SERVER      52u
#define AT_EXTENSION   56u
#define AT_LIBRARY     60u
#define AT_LANGUAGE    64u
#define AT_DATABASE    68u
#define AT_SSPI        78u
#define AT_ATTACH      82u
#define AT_CHANGE      86u

#define FLAGS1_USE_DB    0x20u
#define FLAGS1_DATABASE  0x40u
#define FLAGS1_SET_LANG  0x80u
#define FLAGS2_LANGUAGE  0x01u
#define FLAGS2_ODBC      0x02u
#define TYPE_READ_ONLY   0x20u
#define FLAGS3_EXTENSION 0x10u

#define FEATURES_END 0xFFu

static const char library[] = "Weir TDS";

struct text {
  const char *what;
  unsigned at;
  const char *p;
  size_t n;
};

/* Appends one text and fills its offset and count. */
static int put_text(uint8_t *out, size_t *used, const struct text *t) {
  size_t n = 0;
  int rc =
      tds_text_to16(t->p, t->n, out + *used, (size_t)TDS_LOGIN_UNITS * 2, &n);
  if (rc != TDS_OK) {
    return rc;
  }
  if (t->at == AT_PASSWORD) {
    tds_text_scramble(out + *used, n);
  }
  tds_put16(out + t->at, (uint32_t)*used);
  tds_put16(out + t->at + 2, (uint32_t)(n / 2));
  *used += n;
  return TDS_OK;
}

/* A pointer to the list, then the list: id, length, data, each; FF. */
static void put_features(const struct tds_login *l,
                         uint8_t *out,
                         size_t *used) {
  tds_put16(out + AT_EXTENSION, (uint32_t)*used);
  tds_put16(out + AT_EXTENSION + 2, 4);
  tds_put32(out + *used, (uint32_t)(*used + 4));
  uint8_t *p = out + *used + 4;
  for (size_t i = 0; i < l->n_asks; i++) {
    *p++ = l->asks[i].id;
    tds_put32(p, (uint32_t)l->asks[i].data.n);
    p += 4;
    if (l->asks[i].data.n > 0) {
      memcpy(p, l->asks[i].data.p, l->asks[i].data.n);
      p += l->asks[i].data.n;
    }
  }
  *p++ = FEATURES_END;
  *used = (size_t)(p - out);
}

size_t tds_login7_room(const struct tds_login *l) {
  size_t n = TDS_LOGIN_MAX;
  for (size_t i = 0; i < l->n_asks; i++) {
    n += 5 + l->asks[i].data.n;
  }
  return n;
}

static void put_fixed(const struct tds_login *l, uint8_t *out) {
  tds_put32(out + AT_VERSION, l->version);
  tds_put32(out + AT_PACKET_SIZE, l->packet_size);
  tds_put32(out + AT_PROGRAM, UINT32_C(0x00010000));
  tds_put32(out + AT_PID, l->pid);
  out[AT_FLAGS1] = FLAGS1_USE_DB | FLAGS1_DATABASE | FLAGS1_SET_LANG;
  out[AT_FLAGS2] = FLAGS2_LANGUAGE | FLAGS2_ODBC;
  out[AT_TYPE_FLAGS] = l->read_only ? TYPE_READ_ONLY : 0;
  out[AT_FLAGS3] = FLAGS3_EXTENSION;
  tds_put32(out + AT_LCID, 0x0409);
}

int tds_login7_write(const struct tds_login *l,
                     uint8_t *out,
                     size_t *out_n,
                     const char **out_what) {
  const struct text texts[] = {
      {"Workstation ID", AT_HOST, l->host, l->host_n},
      {"User ID", AT_USER, l->user, l->user_n},
      {"Password", AT_PASSWORD, l->password, l->password_n},
      {"Application Name", AT_APP, l->app, l->app_n},
      {"Server", AT_SERVER, l->server, l->server_n},
      {"library name", AT_LIBRARY, library, sizeof library - 1},
      {"Language", AT_LANGUAGE, l->language, l->language_n},
      {"Database", AT_DATABASE, l->database, l->database_n},
  };
  static const unsigned unused[] = {AT_SSPI, AT_ATTACH, AT_CHANGE};
  size_t used = FIXED;
  memset(out, 0, TDS_LOGIN_MAX);
  put_fixed(l, out);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int rc = put_text(out, &used, &texts[i]);
    if (rc != TDS_OK) {
      *out_what = texts[i].what;
      return rc;
    }
  }
  for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++) {
    tds_put16(out + unused[i], (uint32_t)used);
  }
  put_features(l, out, &used);
  tds_put32(out, (uint32_t)used);
  *out_n = used;
  return TDS_OK;
}
