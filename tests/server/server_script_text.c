/* SPDX-License-Identifier: MIT */
/* Text of scripts in the code page of its collation.  The C library's iconv
 * knows the pages; which collation has which is said here. */
#include <errno.h>
#include <iconv.h>

#include "server_script_parse.h"
#include "server_text.h"

#define COLLATION_UTF8 0x04000000u
#define LCID_MASK      0xFFFFu

/* Sort orders of SQL Server's own collations, in ranges. */
static const struct {
  uint8_t from;
  uint8_t to;
  uint16_t page;
} sort_pages[] = {
    {30, 34, 437},    {40, 49, 850},    {51, 54, 1252},   {55, 61, 850},
    {80, 98, 1250},   {104, 108, 1251}, {112, 124, 1253}, {128, 130, 1254},
    {136, 138, 1255}, {144, 146, 1256}, {152, 160, 1257}, {183, 186, 1252},
    {192, 193, 932},  {194, 195, 949},  {196, 197, 950},  {198, 199, 936},
    {200, 200, 932},  {201, 201, 949},  {202, 202, 950},  {203, 203, 936},
    {204, 206, 874},  {210, 217, 1252},
};

/* Languages whose Windows code page is not 1252; page 0 has none at all. */
static const struct {
  uint16_t lcid;
  uint16_t page;
} language_pages[] = {
    {0x0405, 1250}, {0x040E, 1250}, {0x0415, 1250}, {0x0418, 1250},
    {0x041A, 1250}, {0x041B, 1250}, {0x041C, 1250}, {0x0424, 1250},
    {0x0442, 1250}, {0x081A, 1250}, {0x101A, 1250}, {0x141A, 1250},
    {0x181A, 1250}, {0x0402, 1251}, {0x0419, 1251}, {0x0422, 1251},
    {0x0423, 1251}, {0x0428, 1251}, {0x042F, 1251}, {0x043F, 1251},
    {0x0440, 1251}, {0x0444, 1251}, {0x0450, 1251}, {0x046D, 1251},
    {0x0485, 1251}, {0x082C, 1251}, {0x0843, 1251}, {0x0850, 1251},
    {0x0C1A, 1251}, {0x1C1A, 1251}, {0x201A, 1251}, {0x0408, 1253},
    {0x041F, 1254}, {0x042C, 1254}, {0x0443, 1254}, {0x040D, 1255},
    {0x0401, 1256}, {0x0420, 1256}, {0x0429, 1256}, {0x0480, 1256},
    {0x048C, 1256}, {0x0425, 1257}, {0x0426, 1257}, {0x0427, 1257},
    {0x0827, 1257}, {0x042A, 1258}, {0x041E, 874},  {0x0411, 932},
    {0x0804, 936},  {0x1004, 936},  {0x0412, 949},  {0x0404, 950},
    {0x0C04, 950},  {0x1404, 950},  {0x0439, 0},    {0x0461, 0},
};

static unsigned page_of(const uint8_t collation[5]) {
  uint32_t lcid = tdsd_get_u32(collation) & LCID_MASK;
  uint8_t sort = collation[4];
  if (sort != 0) {
    for (size_t i = 0; i < sizeof sort_pages / sizeof sort_pages[0]; i++) {
      if (sort >= sort_pages[i].from && sort <= sort_pages[i].to) {
        return sort_pages[i].page;
      }
    }
    return 0;
  }
  for (size_t i = 0; i < sizeof language_pages / sizeof language_pages[0];
       i++) {
    if (language_pages[i].lcid == lcid) {
      return language_pages[i].page;
    }
  }
  /* Arabic has many sublanguages. */
  return (lcid & 0x3FF) == 0x001 ? 1256 : 1252;
}

/* The C library's name of a page. */
static const char *page_name(unsigned page) {
  static const struct {
    unsigned page;
    const char *name;
  } names[] = {
      {437, "CP437"},   {850, "CP850"},   {874, "CP874"},   {932, "CP932"},
      {936, "CP936"},   {949, "CP949"},   {950, "CP950"},   {1250, "CP1250"},
      {1251, "CP1251"}, {1253, "CP1253"}, {1254, "CP1254"}, {1255, "CP1255"},
      {1256, "CP1256"}, {1257, "CP1257"}, {1258, "CP1258"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i].page == page) {
      return names[i].name;
    }
  }
  return NULL;
}

static int recode(const char *page,
                  const char *text,
                  size_t len,
                  struct tdsd_buf *out) {
  const iconv_t bad = (iconv_t)-1;
  iconv_t cd = iconv_open(page, "UTF-8");
  /* No page here takes more bytes than UTF-8 does, but one for a shift. */
  uint8_t *to = tdsd_buf_reserve(out, len + 16);
  if (cd == bad || to == NULL) {
    if (cd != bad) {
      (void)iconv_close(cd);
    }
    return -1;
  }
  char *from = (char *)(uintptr_t)text; /* iconv's prototype lacks the const */
  char *at = (char *)to;
  size_t left = len;
  size_t room = len + 16;
  size_t rc = iconv(cd, &from, &left, &at, &room);
  (void)iconv_close(cd);
  if (rc == (size_t)-1) {
    return -1;
  }
  tdsd_buf_commit(out, len + 16 - room);
  return 0;
}

/* Windows-1252 without the '?' that stands for what it lacks. */
static int recode_1252(const char *text, size_t len, struct tdsd_buf *out) {
  uint8_t *to = tdsd_buf_reserve(out, len + 1);
  if (to == NULL) {
    return -1;
  }
  tdsd_buf_commit(out, tdsd_text_to_1252(text, len, to));
  return 0;
}

int tdsd_script_narrow(const uint8_t collation[5],
                       const char *text,
                       size_t len,
                       struct tdsd_buf *out) {
  if ((tdsd_get_u32(collation) & COLLATION_UTF8) != 0) {
    tdsd_buf_bytes(out, text, len);
    return 0;
  }
  unsigned page = page_of(collation);
  if (page == 1252) {
    return recode_1252(text, len, out);
  }
  const char *name = page_name(page);
  return name == NULL ? -1 : recode(name, text, len, out);
}
