/* SPDX-License-Identifier: MIT */
/* digest.h - HMAC-SHA-256 under a random key that this process made for itself
 * and keeps in secret memory.  Equal inputs give equal digests within the
 * process; outside it they say nothing. */
#ifndef WEIR_DIGEST_H
#define WEIR_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_DIGEST_BYTES 32

struct weir__digest_piece {
  const void *p;
  size_t n;
};

/* The digest of the pieces one behind the other; the caller sees to it that two
 * lists of pieces do not read the same.  Returns false if there is no memory, no
 * randomness or no OpenSSL to be had.
 * Threads: any.  Blocks: the first call may, for randomness. */
bool weir__digest(const struct weir__digest_piece *pieces,
                  size_t n,
                  uint8_t out[WEIR_DIGEST_BYTES]);

#endif
