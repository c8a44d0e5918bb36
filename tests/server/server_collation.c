/* SPDX-License-Identifier: MIT */
#include "server_collation.h"

#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "server_text.h"

#define CI_AS 0x00D00000u
#define CS_AS 0x00C00000u
#define BIN   0x01000000u
#define BIN2  0x02000000u
#define UTF8  0x04000000u
#define V100  0x20000000u

/* The first four bytes are LCID, comparison and version, the fifth the SortId of
 * the old SQL collations.  page is iconv's name; NULL is Windows-1252, which is
 * built in. */
static const struct collation {
  const char *name;
  uint32_t bits;
  uint8_t sort_id;
  const char *page;
  uint8_t bytes[5];
} collations[] = {
#define COLLATION(name, bits, sort_id, page)                                \
  {                                                                         \
    name, (bits), sort_id, page, {                                          \
      (uint8_t)((bits)&0xFFu), (uint8_t)((bits) >> 8 & 0xFFu),              \
          (uint8_t)((bits) >> 16 & 0xFFu), (uint8_t)((bits) >> 24), sort_id \
    }                                                                       \
  }
    COLLATION("SQL_Latin1_General_CP1_CI_AS", 0x0409u | CI_AS, 52, NULL),
    COLLATION("Latin1_General_100_CI_AS_SC_UTF8",
              0x0409u | CI_AS | UTF8 | V100,
              0,
              "UTF-8"),
    COLLATION("Latin1_General_100_BIN2_UTF8",
              0x0409u | BIN2 | UTF8 | V100,
              0,
              "UTF-8"),
    COLLATION("SQL_Latin1_General_CP1_CS_AS", 0x0409u | CS_AS, 51, NULL),
    COLLATION("Latin1_General_CI_AS", 0x0409u | CI_AS, 0, NULL),
    COLLATION("Latin1_General_CS_AS", 0x0409u | CS_AS, 0, NULL),
    COLLATION("Latin1_General_BIN", 0x0409u | BIN, 0, NULL),
    COLLATION("Latin1_General_BIN2", 0x0409u | BIN2, 0, NULL),
    COLLATION("Latin1_General_100_CI_AS", 0x0409u | CI_AS | V100, 0, NULL),
    COLLATION("Latin1_General_100_BIN2", 0x0409u | BIN2 | V100, 0, NULL),
    COLLATION("SQL_Latin1_General_CP437_CI_AS", 0x0409u | CI_AS, 32, "CP437"),
    COLLATION("SQL_Latin1_General_CP850_CI_AS", 0x0409u | CI_AS, 42, "CP850"),
    COLLATION("Polish_CI_AS", 0x0415u | CI_AS, 0, "CP1250"),
    COLLATION("Cyrillic_General_CI_AS", 0x0419u | CI_AS, 0, "CP1251"),
    COLLATION("Greek_CI_AS", 0x0408u | CI_AS, 0, "CP1253"),
    COLLATION("Turkish_CI_AS", 0x041Fu | CI_AS, 0, "CP1254"),
    COLLATION("Hebrew_CI_AS", 0x040Du | CI_AS, 0, "CP1255"),
    COLLATION("Arabic_CI_AS", 0x0401u | CI_AS, 0, "CP1256"),
    COLLATION("Lithuanian_CI_AS", 0x0427u | CI_AS, 0, "CP1257"),
    COLLATION("Vietnamese_CI_AS", 0x042Au | CI_AS, 0, "CP1258"),
    COLLATION("Thai_CI_AS", 0x041Eu | CI_AS, 0, "CP874"),
    COLLATION("Japanese_CI_AS", 0x0411u | CI_AS, 0, "CP932"),
    COLLATION("Chinese_PRC_CI_AS", 0x0804u | CI_AS, 0, "CP936"),
    COLLATION("Korean_Wansung_CI_AS", 0x0412u | CI_AS, 0, "CP949"),
    COLLATION("Chinese_Taiwan_Stroke_CI_AS", 0x0404u | CI_AS, 0, "CP950"),
#undef COLLATION
};

#define NCOLLATIONS (sizeof collations / sizeof collations[0])

int32_t tdsd_collation_find(const char *name) {
  for (size_t i = 0; i < NCOLLATIONS; i++) {
    if (tdsd_text_same(collations[i].name, name)) {
      return (int32_t)i;
    }
  }
  return -1;
}

uint8_t tdsd_collation_of(const uint8_t bytes[5]) {
  uint32_t bits = bytes[0] | (uint32_t)bytes[1] << 8 |
                  (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
  if ((bits & UTF8) != 0) {
    return 1;
  }
  for (size_t i = 0; i < NCOLLATIONS; i++) {
    bool same = bytes[4] != 0
                    ? collations[i].sort_id == bytes[4]
                    : (collations[i].bits & 0xFFFF) == (bits & 0xFFFF) &&
                          collations[i].sort_id == 0;
    if (same && (collations[i].bits & UTF8) == 0) {
      return (uint8_t)i;
    }
  }
  return 0;
}

const uint8_t *tdsd_collation_bytes(uint8_t collation) {
  return collations[collation].bytes;
}

bool tdsd_collation_is_utf8(uint8_t collation) {
  return (collations[collation].bits & UTF8) != 0;
}

bool tdsd_collation_is_plain(uint8_t collation) {
  return collations[collation].page == NULL ||
         tdsd_collation_is_utf8(collation);
}

/* Converts a text of one or more characters in one go; whatever has no place in
 * the target becomes '?', one for each character. */
static size_t convert(const char *to,
                      const char *from,
                      const char *in,
                      size_t len,
                      char *out,
                      size_t cap) {
  iconv_t cd = iconv_open(to, from);
  char *at = (char *)(uintptr_t)in; /* iconv only reads it */
  char *end = out;
  size_t left = len;
  size_t room = cap;
  bool to_utf8 = strcmp(to, "UTF-8") == 0;
  if (cd == (iconv_t)-1) { /* NOLINT(performance-no-int-to-ptr) */
    return 0;
  }
  while (left > 0 && room > 0 &&
         iconv(cd, &at, &left, &end, &room) == (size_t)-1 && room > 0) {
    size_t skip = 0;
    if (to_utf8) {
      skip = 1;
    } else {
      (void)tdsd_text_next(at, left, &skip);
    }
    at += skip;
    left -= skip;
    *end++ = '?';
    room--;
  }
  (void)iconv_close(cd);
  return (size_t)(end - out);
}

size_t tdsd_collation_encode(uint8_t collation,
                             const char *text,
                             size_t len,
                             uint8_t *out) {
  const char *page = collations[collation].page;
  if (page == NULL) {
    return tdsd_text_to_1252(text, len, out);
  }
  if (tdsd_collation_is_utf8(collation)) {
    if (len != 0) {
      memcpy(out, text, len);
    }
    return len;
  }
  return convert(page, "UTF-8", text, len, (char *)out, len);
}

/* Malformed UTF-8 is passed on as U+FFFD. */
static size_t clean_utf8(const uint8_t *bytes, size_t len, char *out) {
  static const char replacement[3] = {'\xEF', '\xBF', '\xBD'};
  const char *text = (const char *)bytes;
  size_t n = 0;
  for (size_t at = 0; at < len;) {
    size_t from = at;
    if (tdsd_text_next(text, len, &at) == 0xFFFD) {
      memcpy(out + n, replacement, sizeof replacement);
      n += sizeof replacement;
    } else {
      memcpy(out + n, text + from, at - from);
      n += at - from;
    }
  }
  return n;
}

size_t tdsd_collation_decode(uint8_t collation,
                             const uint8_t *bytes,
                             size_t len,
                             char *out) {
  const char *page = collations[collation].page;
  if (page == NULL) {
    return tdsd_text_from_1252(bytes, len, out);
  }
  if (tdsd_collation_is_utf8(collation)) {
    return clean_utf8(bytes, len, out);
  }
  return convert("UTF-8", page, (const char *)bytes, len, out, 3 * len);
}

/* Bytes of one character in the code page; 0 if it has no place there. */
static size_t width_of(uint8_t collation, const char *text, size_t len) {
  uint8_t encoded[4];
  char back[12];
  if (len == 1 || tdsd_collation_is_utf8(collation)) {
    return len;
  }
  size_t n = tdsd_collation_encode(collation, text, len, encoded);
  size_t m = tdsd_collation_decode(collation, encoded, n, back);
  return m == len && memcmp(back, text, len) == 0 ? n : 0;
}

/* There and back again: what has no place comes back as '?'. */
size_t tdsd_collation_narrow(uint8_t collation,
                             const char *text,
                             size_t len,
                             char *out) {
  if (collations[collation].page == NULL) {
    return tdsd_text_narrow(text, len, out);
  }
  if (tdsd_collation_is_utf8(collation)) {
    if (len != 0) {
      memcpy(out, text, len);
    }
    return len;
  }
  uint8_t *encoded = malloc(len + 1);
  if (encoded == NULL) {
    return 0;
  }
  size_t n = tdsd_collation_encode(collation, text, len, encoded);
  n = convert("UTF-8", collations[collation].page, (const char *)encoded, n,
              out, len);
  free(encoded);
  return n;
}

size_t tdsd_collation_cut(uint8_t collation,
                          const char *text,
                          size_t len,
                          size_t size,
                          size_t *out_size) {
  bool single = collations[collation].page == NULL;
  size_t taken = 0;
  size_t at = 0;
  while (at < len) {
    size_t next = at;
    (void)tdsd_text_next(text, len, &next);
    size_t width = single ? 1 : width_of(collation, text + at, next - at);
    width = width == 0 ? 1 : width;
    if (taken + width > size) {
      break;
    }
    taken += width;
    at = next;
  }
  *out_size = taken;
  return at;
}
