/* SPDX-License-Identifier: MIT */
/* The collations that COLLATE knows: their five bytes on the wire and the code
 * page in which varchar travels.  Number 0 is the server's own. */
#ifndef TDSD_SERVER_COLLATION_H
#define TDSD_SERVER_COLLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds one by its name.  Returns -1 if there is none. */
int32_t tdsd_collation_find(const char *name);

/* Finds one with the code page that five bytes of the wire ask for; 0 if there
 * is none. */
uint8_t tdsd_collation_of(const uint8_t bytes[5]);

const uint8_t *tdsd_collation_bytes(uint8_t collation);
bool tdsd_collation_is_utf8(uint8_t collation);
/* Windows-1252 or UTF-8: lengths in it are counted at no cost. */
bool tdsd_collation_is_plain(uint8_t collation);

/* Writes text in the code page, '?' for what it lacks; out has room for len
 * bytes.  Returns the number of bytes written. */
size_t tdsd_collation_encode(uint8_t collation,
                             const char *text,
                             size_t len,
                             uint8_t *out);

/* The way back; out has room for 3 * len bytes. */
size_t tdsd_collation_decode(uint8_t collation,
                             const uint8_t *bytes,
                             size_t len,
                             char *out);

/* Writes text with '?' for what the code page lacks; out has room for len bytes.
 * Returns the number of bytes written. */
size_t tdsd_collation_narrow(uint8_t collation,
                             const char *text,
                             size_t len,
                             char *out);

/* Length of the longest prefix of text that takes at most size bytes in the code
 * page; *out_size is what it takes. */
size_t tdsd_collation_cut(uint8_t collation,
                          const char *text,
                          size_t len,
                          size_t size,
                          size_t *out_size);

#endif
