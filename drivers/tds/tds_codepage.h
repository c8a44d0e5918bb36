/* SPDX-License-Identifier: MIT */
/* tds_codepage.h - code pages of char, varchar and text. */
#ifndef TDS_CODEPAGE_H
#define TDS_CODEPAGE_H

#include "tds_wire.h"

enum tds_codepage {
  TDS_CP1252,
  TDS_CP1250,
  TDS_CP1251,
  TDS_CP1253,
  TDS_CP1254,
  TDS_CP1255,
  TDS_CP1256,
  TDS_CP1257,
  TDS_CP1258,
  TDS_CP874,
  TDS_CP437,
  TDS_CP850,
  TDS_CP932, /* from here on characters may have two bytes */
  TDS_CP936,
  TDS_CP949,
  TDS_CP950,
  TDS_CODEPAGES
};

/* A byte that begins a character of two. */
#define TDS_CP_LEAD 1u

/* A page of two-byte characters. */
struct tds_codepage_wide {
  const uint16_t *single; /* bytes 80 to FF; TDS_CP_LEAD: another one follows */
  const uint16_t *pairs;  /* rows of high - low + 1, one a lead byte */
  uint8_t first;          /* lead bytes */
  uint8_t last;
  uint8_t low; /* trail bytes */
  uint8_t high;
};

/* The characters of bytes 80 to FF of a page before TDS_CP932; 0 where the page
 * has none. */
const uint16_t *tds_codepage_high(uint8_t page);

/* The page TDS_CP932 or one behind it. */
const struct tds_codepage_wide *tds_codepage_wide(uint8_t page);

/* The character of two bytes, 0 if there is none. */
uint32_t tds_codepage_pair(const struct tds_codepage_wide *w,
                           uint8_t lead,
                           uint8_t trail);

/* The other way: how many units there are, and for each the two bytes (lead
 * first) or the byte of the page TDS_CP932 or one behind it; 0: it has none.
 * ASCII is left out. */
#define TDS_CODEPAGE_BACK 65536u
void tds_codepage_back(uint8_t page, uint16_t back[TDS_CODEPAGE_BACK]);

/* The page of a collation without the UTF-8 bit.  Unknown ones, and those that
 * have no page because they hold no varchar, have TDS_CP1252. */
uint8_t tds_codepage_of(const uint8_t collation[5]);

#endif
