/* SPDX-License-Identifier: MIT */
/* conninfo.h - the text of a connection string taken apart.
 *
 * The dialect is that of ADO.NET as SqlClient reads it, with ODBC's braces
 * added:
 *
 *   string  = [BOM] { [name "=" value] ";" }       blanks anywhere between
 *   name    = any characters but "=" and controls, blanks around it dropped;
 *             "==" stands for "="
 *   value   = '"' ... '"'    "" inside stands for "
 *           | "'" ... "'"    '' inside stands for '
 *           | "{" ... "}"    }} inside stands for }
 *           | up to the next ";", blanks around it dropped
 *
 * A value is quoted only if the quote is its first character.  Unquoted, it may
 * hold = { } and quotes in the middle, but may not end with a quote (that is
 * how SqlClient finds a forgotten one), and no control characters but blanks.
 * Quoted, it may hold anything but NUL.  After a closing quote only blanks may
 * follow up to the ";".  So a value that begins with "{" must be quoted; that
 * is the one place where SqlClient reads the same string differently.
 *
 * Blanks are the ASCII ones (space, \t, \n, \v, \f, \r) and those of Unicode
 * that .NET counts.  The text must be UTF-8.  NUL bytes at the very end are
 * ignored, elsewhere refused.  Empty options (";;") are skipped.  "name=" with
 * nothing behind means "the default", "name=''" an empty text.  Of several
 * options of one name the last wins; weir__conninfo_find() sees to that.
 *
 * Everything parsed stays in secret memory: it may hold passwords.  Errors give
 * positions (bytes, the first is 1) and never a value; they give a name only if
 * it is one that connection strings are known to use, because in a damaged
 * string a part of a password can stand where a name belongs. */
#ifndef WEIR_CONNINFO_H
#define WEIR_CONNINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_error;

#define WEIR_CONNINFO_MAX         65536 /* bytes of a connection string */
#define WEIR_CONNINFO_OPTIONS_MAX 128   /* options in one, duplicates counted */

/* One option as it stands in the text. */
struct weir__conninfo_pair {
  const char *name;  /* as written, "==" resolved; a NUL behind */
  const char *value; /* without quotes; a NUL behind */
  uint32_t name_len;
  uint32_t value_len;
  uint32_t position; /* of the name in the text; 1 is the first byte */
  uint32_t raw_at;   /* of the value with its quotes: index into text */
  uint32_t raw_len;
  bool quoted; /* false and value_len 0: "the default" */
};

struct weir__conninfo {
  const char *text; /* the whole string as written */
  uint32_t text_len;
  uint32_t n;
  const struct weir__conninfo_pair *pairs; /* in the order of the text */
  void *memory;
};

/* Takes text of len bytes apart into *out.
 * Returns WEIR_OK; WEIR_E_ARG (malformed or too big: *err says what and where);
 * WEIR_E_NOMEM.  text may be NULL if len is 0.
 * Owns: *out until weir__conninfo_fini(). */
int weir__conninfo_parse(const char *text,
                         uint64_t len,
                         struct weir__conninfo *out,
                         struct weir_error *err);

/* Wipes and frees; fine on a zeroed struct and twice. */
void weir__conninfo_fini(struct weir__conninfo *ci);

/* The option that counts among those with this name (names.h), or NULL.  An
 * option that asks for the default (empty, not quoted) is returned as it is. */
const struct weir__conninfo_pair *weir__conninfo_find(
    const struct weir__conninfo *ci,
    const char *name);

/* Writes value so that it reads back as the same bytes, quoted where needed,
 * with a NUL behind.  value must be UTF-8 without NUL.  Returns the bytes
 * needed, without the NUL; buf is written only if cap is greater than that. */
size_t weir__conninfo_quote(const char *value,
                            size_t len,
                            char *buf,
                            size_t cap);

/* The same in ODBC's way: {value}, } doubled. */
size_t weir__conninfo_brace(const char *value,
                            size_t len,
                            char *buf,
                            size_t cap);

#endif
