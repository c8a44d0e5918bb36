/* SPDX-License-Identifier: MIT */
/* Text between the wire's UTF-16LE or Windows-1252 and the server's UTF-8.  A
 * lone surrogate is legal data in nvarchar: it is kept as its three-byte form
 * and comes back as the same unit. */
#ifndef TDSD_SERVER_TEXT_H
#define TDSD_SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes text as UTF-16LE; out has room for 2 * len bytes.  A malformed byte
 * becomes U+FFFD.
 * Returns the number of bytes written. */
size_t tdsd_text_to_w16(const char *text, size_t len, uint8_t *out);

/* Writes units 16-bit units as UTF-8; out has room for 3 * units bytes.
 * Returns the number of bytes written. */
size_t tdsd_text_from_w16(const uint8_t *w16, size_t units, char *out);

/* Counts the 16-bit units that text takes. */
size_t tdsd_text_units(const char *text, size_t len);

/* Length in bytes of the longest prefix of at most units 16-bit units that does
 * not cut a character. */
size_t tdsd_text_cut(const char *text, size_t len, size_t units);

/* Writes text in Windows-1252, '?' for what it lacks; out has room for len
 * bytes.  tdsd_text_from_1252 is the way back, out has room for 3 * len.
 * Returns the number of bytes written. */
size_t tdsd_text_to_1252(const char *text, size_t len, uint8_t *out);
size_t tdsd_text_from_1252(const uint8_t *bytes, size_t len, char *out);

/* Writes text with '?' for what Windows-1252 lacks, as a varchar would keep it;
 * out has room for len bytes.  Returns the number of bytes written. */
size_t tdsd_text_narrow(const char *text, size_t len, char *out);

/* Decodes one character and moves *at past it; U+FFFD if malformed. */
uint32_t tdsd_text_next(const char *text, size_t len, size_t *at);

/* Compares without regard to the case of ASCII letters. */
bool tdsd_text_same(const char *a, const char *b);

#endif
