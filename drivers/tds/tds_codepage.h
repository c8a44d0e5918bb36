/* SPDX-License-Identifier: MIT */
/* tds_codepage.h - single-byte code pages of char, varchar and text. */
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
  TDS_CODEPAGES
};

/* The characters of bytes 80 to FF; 0 where the page has none. */
const uint16_t *tds_codepage_high(uint8_t page);

/* The page of a collation without the UTF-8 bit; TDS_CP1252 for the multi-byte
 * pages, too. */
uint8_t tds_codepage_of(const uint8_t collation[5]);

#endif
