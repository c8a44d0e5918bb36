/* SPDX-License-Identifier: MIT */
/* secret.h - the only place where secrets are kept.
 *
 * One region of private anonymous pages for the process, many secrets to a
 * page, set aside at first use: left out of core dumps, empty in forked
 * children, locked in memory as far as the system allows, and wiped on release.
 * At most 128 MiB of secrets, 1 MiB for one. */
#ifndef WEIR_SECRET_H
#define WEIR_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Most bytes of one allocation: 1 MiB of a secret and its book-keeping. */
#define WEIR_SECRET_MAX ((size_t)1024 * 1024 + 64)

/* n zeroed bytes of secret memory, aligned to 64; n of 0 gives an address that
 * may be released.  NULL: more than WEIR_SECRET_MAX, or none left.
 * Owns: until weir__secret_release().  Threads: any.  Blocks: briefly. */
void *weir__secret_alloc(size_t n);

/* True if p points into secret memory.  Threads: any.  Does not block. */
bool weir__secret_owns(const void *p);

/* Wipes and gives back what weir__secret_alloc() returned; NULL is fine.
 * Threads: any.  Blocks: briefly. */
void weir__secret_release(void *p);

/* In a forked child, where every secret reads as zeros: starts afresh, taking
 * no lock and freeing nothing.  No other thread may exist. */
void weir__secret_forget(void);

/* A value that was given and must not be seen. */
struct weir__secret;

/* Keeps a copy of the n bytes at p; NULL: no memory. */
struct weir__secret *weir__secret_new(const void *p, size_t n);

/* Wipes and frees; NULL is fine. */
void weir__secret_free(struct weir__secret *secret);

/* The bytes, with a NUL behind them, valid until weir__secret_free(); never
 * NULL.  And how many, without the NUL. */
const void *weir__secret_bytes(const struct weir__secret *secret);
size_t weir__secret_len(const struct weir__secret *secret);

#endif
