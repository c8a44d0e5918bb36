/* SPDX-License-Identifier: MIT */
/* text_width.h - columns of a terminal that a text takes.
 *
 * The answer comes from tables of our own, not from wcwidth(), so that a table
 * looks the same under LANG=C, in a container without locales and in a pipe. */
#ifndef WEIRCTL_TEXT_WIDTH_H
#define WEIRCTL_TEXT_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* Columns of one character: 0 for combining and invisible ones, 2 for wide
 * ones (East Asian Wide and Fullwidth, emoji), else 1. */
unsigned char_width(uint32_t c);

/* Columns of a text of len bytes, which holds no control characters; a byte
 * that is not UTF-8 takes one. */
size_t text_width(const char *s, size_t len);

/* The number of leading bytes of s that fit in the given number of columns;
 * never ends within a character, and takes the combining characters that
 * follow the last one along. */
size_t text_fit(const char *s, size_t len, size_t columns);

#endif
