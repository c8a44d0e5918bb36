/* SPDX-License-Identifier: MIT */
/* tds_text.h - UTF-16LE, UTF-8 and code pages, whole or in pieces.
 *
 * Cells are always valid UTF-8: a lone surrogate or a broken sequence becomes
 * U+FFFD and never fails a row. */
#ifndef TDS_TEXT_H
#define TDS_TEXT_H

#include "tds_wire.h"

/* How the characters of a value are encoded on the wire. */
#define TDS_CHARSET_NONE  0 /* bytes */
#define TDS_CHARSET_UTF16 1
#define TDS_CHARSET_UTF8  2
#define TDS_CHARSET_PAGE  8 /* plus an enum tds_codepage */

/* What is left of a character that was cut between two pieces.  Zero at the
 * start of a text, but for charset and mark. */
struct tds_text {
  uint8_t charset;
  uint8_t odd_set; /* a byte of a UTF-16 unit, or a lead byte, is in odd */
  uint8_t odd;
  uint8_t mark;  /* UTF-16: a byte order mark at the start is dropped */
  uint8_t need;  /* UTF-8: continuation bytes still to come */
  uint32_t code; /* UTF-16: high surrogate; UTF-8: bits so far */
  uint32_t low;  /* UTF-8: smallest code the sequence may have */
};

/* Most bytes that n bytes of input can become, what is pending included. */
#define TDS_TEXT_BOUND(n) (((size_t)(n) + 4) * 3)

/* Converts the next n bytes.  out holds TDS_TEXT_BOUND(n) bytes.
 * Returns the bytes written. */
size_t tds_text_push(struct tds_text *t,
                     const uint8_t *in,
                     size_t n,
                     uint8_t *out);

/* Ends the text: what is pending becomes U+FFFD.  out holds
 * TDS_TEXT_BOUND(0) bytes.  Returns the bytes written. */
size_t tds_text_finish(struct tds_text *t, uint8_t *out);

/* A closer bound than TDS_TEXT_BOUND for the next n bytes, found by looking at
 * them: exact for text that is ASCII. */
size_t tds_text_size(const struct tds_text *t, const uint8_t *in, size_t n);

/* The charset of a collation (MS-TDS 2.2.5.1.2): TDS_CHARSET_UTF8 if its UTF-8
 * bit is set, else the page of tds_codepage_of(). */
uint8_t tds_text_charset(const uint8_t collation[5]);

/* One character from UTF-8.  Returns the code point and advances s, or
 * UINT32_MAX if s does not start with a valid one; s is then unchanged. */
uint32_t tds_text_next(struct tds_span *s);

/* Bytes at the start of s that are valid UTF-8; n if all are. */
size_t tds_text_valid(const void *s, size_t n);

/* Writes code as UTF-16LE.  Returns 2 or 4 bytes. */
size_t tds_text_put16(uint32_t code, uint8_t out[4]);

/* Converts a whole UTF-8 text to UTF-16LE in out (cap bytes).
 * Returns TDS_OK and *out_n; TDS_E_SPACE if it does not fit; TDS_E_PROTO if it
 * is not UTF-8. */
int tds_text_to16(const void *s,
                  size_t n,
                  uint8_t *out,
                  size_t cap,
                  size_t *out_n);

/* LOGIN7's disguise of a password (MS-TDS 2.2.6.4), in place. */
void tds_text_scramble(uint8_t *p, size_t n);

#endif
